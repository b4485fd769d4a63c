"""Local recodings and adversaries with partial knowledge on the command line, from the search to evidence."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import OF_PERSONS, front, project_of, record, run, write_persons, write_project_of_persons
from persons_of_a_report import read

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, any_of
from pymoo_anon.problems import refining
from pymoo_anon.problems.arguments import short_name
from pymoo_anon.publishing import read_evidence
from pymoo_anon.study import Study
from pymoo_anon.study.options import Settings
from pymoo_anon.study.project import read_project
from pymoo_anon.study.tables import objective
from pymoo_anon.table import Hierarchy


@pytest.fixture
def project(folder):
    """Write a table and hierarchies, and return a writer of its project."""
    write_persons()
    return write_project_of_persons


def test_a_project_file_asks_for_local_recodings_from_search_to_verify(project):
    project(recoding="local")
    run("search", "mine.toml")
    found = record("mine-front")
    assert found["options"]["local"] is True
    assert found["algorithm"]["name"] == "sweep"
    assert found["n_nodes"] is None
    assert len(found["front"]["x"]) == len(front("mine-front")) > 3
    said = run("pick", "mine.toml", "--require", "k>=4", "--explain")
    assert "at level 0" in said
    said = run("release", "mine.toml")
    assert "What was promised holds." in said
    evidence = read_evidence("out.csv.evidence.json")
    own = evidence["chosen"]["local"]
    released = pd.read_csv("out.csv", dtype=str)
    sizes = released.groupby(["age", "sex"]).size()
    assert sizes.min() >= 4
    assert (own["method"], own["structure"], own["refined"]) == ("bottom-up", "sizes", False)
    assert own["n_classes"] == len(sizes)
    assert own["mean_risk"] == pytest.approx(len(sizes) / 120)
    assert [sum(cells["shares"]) for cells in own["cells"]] == pytest.approx([1, 1])
    assert evidence["settings"]["space"] == "LocalRecodingProblem"
    run("verify", "mine.toml")
    # The front's table describes its points.
    assert set(front("mine-front")["made for"].str[:7]) == {"k from "}
    assert own["bound"] is None
    for external in ([], ["--external"]):
        run("report", "mine.toml", *external)
    run("release", "mine.toml", "--row", "1", "--local", "--force", code=2)
    # A second release of the same search is warned of.
    said = run("release", "mine.toml", "--row", "1", "--lower-bound", "3", "--force")
    bound = read_evidence("out.csv.evidence.json")["chosen"]["local"]["bound"]
    assert 0 <= bound["gap"] < 1
    assert bound["passes"] <= 3
    assert "Whoever has both and links their rows sees joint k = " in said


def test_a_required_k_between_the_targets_is_made_from_pick_to_report(project):
    project(recoding="local")
    run("search", "mine.toml")
    study = Study.open("mine-front")
    problem, n = study.problem.fresh_copy(), len(study.front)

    def loss(k):
        return float(problem.compute(problem.x_of(k)[np.newaxis])[0, problem.objective_names.index("GLM")])

    known = study.front.values(KAnonymity()), study.front.values(GeneralLossMetric())
    k = next(k for k in range(3, 120) if loss(k) < known[1][known[0] >= k].min())
    run("pick", "mine.toml", "--require", f"k>={k}", "--most", "k")
    said = run("pick", "mine.toml", "--require", f"k>={k}", "--explain")
    assert said.startswith(f"Row {n + 1}, made beside the front's {n}: k = ")
    choice = json.loads(Path("mine-front/choice.json").read_text(encoding="utf-8"))
    assert choice["values"]["GLM"] == pytest.approx(loss(k))
    assert choice["row"] == n + 1
    for command in ("release", "verify", "report"):
        run(command, "mine.toml")
    assert pd.read_csv("out.csv", dtype=str).groupby(["age", "sex"]).size().min() >= k
    again = read_evidence("out.csv.evidence.json")["reproduce"]
    run(*shlex.split(again[1])[1:])
    assert json.loads(Path("mine-front/choice.json").read_text(encoding="utf-8"))["x"] == choice["x"]


def test_a_refinement_that_is_worse_is_one_sentence_and_writes_nothing(project):
    project()
    run("search", "mine.toml")
    run("pick", "mine.toml", "--require", "k>=4")
    run("release", "mine.toml")
    # A refinement has more classes, and so a greater mean risk.
    risk = pd.read_csv("out.csv", dtype=str).groupby(["age", "sex"]).ngroups / 120
    for path in Path().glob("out*"):
        path.unlink()
    row = str(json.loads(Path("mine-front/choice.json").read_text(encoding="utf-8"))["row"])
    run("pick", "mine.toml", "--row", row, "--require", f"marketer-risk<={risk + 1e-9}")
    for more in ([], ["--anyway", "it is only a test"]):
        said = run("release", "mine.toml", "--local", *more, code=2)
        assert re.fullmatch(
            rf"Error: --local would raise marketer risk from {risk:.6g} to 0\.\d+\. Nothing was written\.\n", said
        ), said
        assert not list(Path().glob("out*"))


def test_a_refined_release_its_evidence_and_its_codebook_share_one_recoding(project, monkeypatch):
    project(suppression=0.05)
    run("search", "mine.toml")
    made, recode = [], refining.recode_some
    monkeypatch.setattr(refining, "recode_some", lambda *given: made.append(given[-1]) or recode(*given))
    run("pick", "mine.toml", "--require", "k>=3")
    for name, *options in (("release", "--local"), ("verify",), ("report",)):
        made.clear()
        run(name, "mine.toml", *options)
        assert made == ["bottom-up"]
    told = read_evidence("out.csv.evidence.json")
    assert told["chosen"]["local"]["refined"] is True
    assert "--local" in told["reproduce"][-1]
    assert len(read(Path("out.report.html").read_text(encoding="utf-8")).tables["beside"]) == 3


PROJECT = project_of(
    {**OF_PERSONS, "a,b": "ab.csv", "diagnosis": "sensitive"},
    search={"objectives": ["k[age,sex]", "GLM"], "suppression": "violating:0.1"},
    release={"file": "out.csv", "suppressed": "drop"},
)
TWO = """
[[adversary]]
known = [["sex", "age"], ["a,b"]]
require = ["k>=4", "l:diagnosis>=2"]
[[adversary]]
any_of = 2
require = "k>=3"
"""


@pytest.fixture
def with_adversaries(folder):
    """Write a table and hierarchies, and return a writer of its project."""
    write_persons(**{"a,b": "pqr"})
    Hierarchy.flat(list("pqr")).to_csv("ab.csv")

    def write(adversaries):
        Path("mine.toml").write_text(PROJECT + adversaries, encoding="utf-8")

    return write


def test_adversaries_of_a_project_go_from_search_to_evidence(with_adversaries):
    with_adversaries(TWO)
    run("search", "mine.toml")
    bounds = ['k["a,b"|age,sex]>=4', 'l["a,b"|age,sex]:diagnosis>=2', "k[any 2]>=3"]
    assert record("mine-front")["options"]["require"] == bounds
    found = front("mine-front")
    assert (found["k (a,b | age, sex)"] >= 4).all()
    assert record("mine-front")["certified"]
    # Other words for the same knowledge make the same search.
    with_adversaries(TWO.replace('["sex", "age"], ["a,b"]', '["a,b"], ["age", "sex"], ["sex"]'))
    output = run("pick", "mine.toml", "--require", "k[sex,age]>=5", "--weights", "k[age,sex]=1,GLM=2")
    output = run("release", "mine.toml")
    together = "This does not hold for somebody who knows what two of them know together."
    assert together in " ".join(output.split())
    out = pd.read_csv("out.csv", dtype=str)
    assert out.groupby(["age", "sex"]).size().min() >= 5
    assert min(out.groupby(list(pair)).size().min() for pair in (("age", "sex"), ("age", "a,b"), ("sex", "a,b"))) >= 3
    assert out.groupby(["age", "sex"]).diagnosis.nunique().min() >= 2
    told = read_evidence("out.csv.evidence.json")["settings"]["adversaries"]
    known = [["age and sex"], *[["a,b", "age and sex"]] * 2, ["any 2 of the quasi-identifiers"]]
    assert [one["known"] for one in told] == known
    assert told[1]["reach"].endswith(together)
    assert told[0]["reach"].endswith("This does not hold for somebody who knows more.")
    assert run("verify", "mine.toml") == "out.csv: holds.\n"
    asked = ["--quasi-identifier", "age", "--quasi-identifier", "sex", "--quasi-identifier", "a,b"]
    run("verify", "out.csv", *asked, "--require", 'k[age,sex|"a,b"]>=4')
    run("verify", "out.csv", *asked, "--require", 'k[age,sex,"a,b"]>=99', code=1)


def test_what_is_typed_frees_from_no_adversary(with_adversaries):
    with_adversaries(TWO)
    read = read_project(Path("mine.toml"))
    asked = read.settings(Settings(file=Path("mine.toml"), require=["k>=3"], given=frozenset({"file", "require"})))
    assert asked.require == ["k>=3", *read.adversaries]
    assert len(read.adversaries) == 3


@pytest.mark.parametrize("known", [["age", "race"], [["age", 'a"b|,]'], [" c "], ["d\\e", "ü"]], any_of(3)], ids=repr)
def test_short_names_are_read_again(known):
    measure = DistinctLDiversity("occupation", known=known)
    assert objective("require", short_name(measure), make_census(50)) == measure
