"""Releases for several audiences, each inside the one before."""

from pathlib import Path

import pandas as pd
import pytest
from command import answer, command, run, search, write_persons, write_project_of_persons

from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems import joint
from pymoo_anon.publishing import read_evidence
from pymoo_anon.study import Study

AUDIENCES = """
[[audience]]
name = "public"
require = ["k>=20"]

[[audience]]
name = "research"
require = "k>=4"
file = "fine.csv"
"""


@pytest.fixture
def project(folder):
    """Search local recodings of 120 persons, for two audiences."""
    write_persons()
    write_project_of_persons(recoding="local")
    add(AUDIENCES)
    assert search("mine.toml").exit_code == 0
    return "mine.toml"


def add(text):
    path = Path("mine.toml")
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def test_audiences_have_releases_that_hold_together(project):
    run("release", project, "--audience", "public")
    exit_code, said = answer("release", project, "--audience", "research")
    released = Study.open(project).releases
    assert [(one.file, one.audience) for one in released] == [("out-public.csv", "public"), ("fine.csv", "research")]
    studies = [Study.open(project).for_audience(name) for name in ("public", "research")]
    both = KAnonymity().evaluate(joint([one.choice for one in studies])).item()
    assert both >= 4
    assert exit_code == 0
    seen = f"Whoever has both and links their rows sees joint k = {both:g}"
    assert f"out-public.csv is another release of this table. {seen}" in said
    for one, k in zip(studies, (20, 4), strict=True):
        assert pd.read_csv(one.project.release.path).groupby(["age", "sex"]).size().min() >= k
        told = read_evidence(f"{one.project.release.path}.evidence.json")
        assert told["reproduce"][-1].endswith(f"release mine.toml --audience {one.audience}")
    assert told["joint"]["k"] == both
    lines = run("verify", project).splitlines()
    assert lines[:2] == ["out-public.csv: holds.", "fine.csv: holds."]
    assert lines[2].startswith(f"Whoever has the 2 releases and links their rows sees joint k = {both:g}")
    Study.open(project).for_audience("research").report("report.html")
    told_in_report = f"Whoever has all of them and links their rows sees joint k = {both:g}"
    assert told_in_report in Path("report.html").read_text(encoding="utf-8")
    # They are no release of the chosen point.
    assert Study.open(project).released == Path("out.csv")
    written = Path("fine.csv").read_bytes()
    run(*told["reproduce"][-1].split()[1:], "--force")
    assert Path("fine.csv").read_bytes() == written


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n[audience]\nname = 1\n", "each audience must be a table of its own, [[audience]]"),
        ('\n[[audience]]\nname = "a"\n', "each [[audience]] must have a name of its own, and what it requires"),
        ('\n[[audience]]\nname = "a"\nrequire = "k"\n', "[audience] require must be bounds such as"),
        ('\n[[audience]]\nname = "a"\nrequire = "k>=2"\nk = 2\n', "[audience] may have name, require, file, got 'k'"),
        (AUDIENCES + AUDIENCES, "each [[audience]] must have a name of its own"),
    ],
)
def test_audiences_that_are_no_such_tables_are_refused(text, message, folder):
    write_persons()
    write_project_of_persons(recoding="local")
    add(text)
    exit_code, said = answer("search", "mine.toml")
    assert exit_code == 2
    assert f"mine.toml: {message}" in said


def test_other_audiences_and_searches_are_refused(project):
    assert "audience must be one of 'public', 'research', got 'press'" in run(
        "release", project, "--audience", "press", code=2
    )
    path = Path("mine.toml")
    path.write_text(path.read_text(encoding="utf-8").replace('recoding = "local"\n', ""), encoding="utf-8")
    assert command("search", project).exit_code == 0
    assert "audience needs local recodings" in run("release", project, "--audience", "public", code=2)
