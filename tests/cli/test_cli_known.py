"""The command line for adversaries with partial knowledge, from project to evidence."""

from pathlib import Path

import pandas as pd
import pytest
from command import OF_PERSONS, front, project_of, record, run, write_persons

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, any_of
from pymoo_anon.problems.arguments import short_name
from pymoo_anon.publishing import read_evidence
from pymoo_anon.study.options import Settings
from pymoo_anon.study.project import read_project
from pymoo_anon.study.tables import objective
from pymoo_anon.table import Hierarchy

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
def project(folder):
    """Write a table and hierarchies, and return a writer of its project."""
    write_persons(**{"a,b": "pqr"})
    Hierarchy.flat(list("pqr")).to_csv("ab.csv")

    def write(adversaries):
        Path("mine.toml").write_text(PROJECT + adversaries, encoding="utf-8")

    return write


def test_adversaries_of_a_project_go_from_search_to_evidence(project):
    project(TWO)
    run("search", "mine.toml")
    bounds = ['k["a,b"|age,sex]>=4', 'l["a,b"|age,sex]:diagnosis>=2', "k[any 2]>=3"]
    assert record("mine-front")["options"]["require"] == bounds
    found = front("mine-front")
    assert (found["k (a,b | age, sex)"] >= 4).all()
    assert record("mine-front")["certified"]
    # Other words for the same knowledge make the same search.
    project(TWO.replace('["sex", "age"], ["a,b"]', '["a,b"], ["age", "sex"], ["sex"]'))
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


def test_what_is_typed_frees_from_no_adversary(project):
    project(TWO)
    read = read_project(Path("mine.toml"))
    asked = read.settings(Settings(file=Path("mine.toml"), require=["k>=3"], given=frozenset({"file", "require"})))
    assert asked.require == ["k>=3", *read.adversaries]
    assert len(read.adversaries) == 3


@pytest.mark.parametrize("known", [["age", "race"], [["age", 'a"b|,]'], [" c "], ["d\\e", "ü"]], any_of(3)], ids=repr)
def test_short_names_are_read_again(known):
    measure = DistinctLDiversity("occupation", known=known)
    assert objective("require", short_name(measure), make_census(50)) == measure
