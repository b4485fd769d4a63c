"""Local recodings on the command line, from the search to a refinement."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import front, record, run, write_persons, write_project_of_persons
from persons_of_a_report import read

from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import refining
from pymoo_anon.publishing import read_evidence
from pymoo_anon.study import Study


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
    run("pick", "mine.toml", "--require", f"k>={k}", "--explain")
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
    made, recode = [], refining.recode
    monkeypatch.setattr(refining, "recode", lambda *given: made.append(given[3]) or recode(*given))
    run("pick", "mine.toml", "--require", "k>=3")
    for name, *options in (("release", "--local"), ("verify",), ("report",)):
        made.clear()
        run(name, "mine.toml", *options)
        assert made == ["bottom-up"]
    told = read_evidence("out.csv.evidence.json")
    assert told["chosen"]["local"]["refined"] is True
    assert "--local" in told["reproduce"][-1]
    assert len(read(Path("out.report.html").read_text(encoding="utf-8")).tables["beside"]) == 3
