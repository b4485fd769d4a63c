"""Releases for several audiences that hold together."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
from command import edit, made_in, refused, run, write_persons, write_project_of_persons

from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems import LatticeProblem, joint
from pymoo_anon.publishing import read_evidence
from pymoo_anon.study import Study
from pymoo_anon.study.project import read_project
from pymoo_anon.study.study import all_together

AUDIENCES = """
[[audience]]
name = "public"
require = ["k>=20"]

[[audience]]
name = "research"
require = "k>=4"
file = "fine.csv"
"""


#: Kinds of searches, by what the project file says of them.
KINDS = {"local": {"recoding": "local"}, "levels": {}, "violating": {"suppression": "violating:0.05"}}


@pytest.fixture(scope="module", params=KINDS)
def searched_once(request, tmp_path_factory):
    with made_in(tmp_path_factory) as folder:
        searched(**KINDS[request.param])
    return folder


#: What holds of every kind of search is tried with one.
of_any_kind = pytest.mark.parametrize("searched_once", ["levels"], indirect=True)


@pytest.fixture
def project(searched_once, folder):
    """Search 120 persons, for two audiences."""
    shutil.copytree(searched_once, folder, dirs_exist_ok=True)
    return "mine.toml"


def searched(audiences=AUDIENCES, **options):
    write_persons()
    write_project_of_persons(**options)
    add(audiences)
    assert run("search", "mine.toml").endswith("Next: pymoo-anon release mine.toml --audience public\n")
    return "mine.toml"


def add(text):
    with Path("mine.toml").open("a", encoding="utf-8") as file:
        file.write(text)


@of_any_kind
def test_a_project_in_another_folder_has_its_releases_beside_it(project, monkeypatch):
    folder = Path.cwd()
    monkeypatch.chdir(folder.parent)
    own = Study.open(Path(folder.name, project))
    files = [own.for_audience(name).project.documents for name in ("public", "research")]
    assert files == [Path(folder.name, "out-public.csv"), Path(folder.name, "fine.csv")]
    # Paths of a project file are relative to its folder.
    edit(Path(folder.name, project), 'file = "out.csv"', 'file = "made/out.csv"')
    made = read_project(Path(folder.name, project))
    files = [made.for_audience(name).documents for name in ("public", "research")]
    assert files == [Path(folder.name, "made", "out-public.csv"), Path(folder.name, "fine.csv")]


def test_audiences_have_releases_that_hold_together(project):
    run("release", project, "--audience", "public")
    said = run("release", project, "--audience", "research")
    released = Study.open(project).releases
    assert [(one.file, one.audience) for one in released] == [("out-public.csv", "public"), ("fine.csv", "research")]
    studies = [Study.open(project).for_audience(name) for name in ("public", "research")]
    both = KAnonymity().evaluate(joint([one.choice for one in studies])).item()
    assert both >= 4
    seen = f"Whoever has both and links their rows sees joint k = {both:g}"
    assert f"out-public.csv is another release of this table. {seen}" in said
    for one, k in zip(studies, (20, 4), strict=True):
        assert pd.read_csv(one.project.release.path).groupby(["age", "sex"]).size().min() >= k
        told = read_evidence(f"{one.project.release.path}.evidence.json")
        assert told["reproduce"][-1].endswith(f"release mine.toml --audience {one.audience}")
        is_proven = isinstance(one.problem, LatticeProblem)
        assert (told["search"]["certified"], len(told["front"]) > 1) == (is_proven, is_proven)
    assert told["joint"]["k"] == both
    lines = run("verify", project).splitlines()
    assert lines[:2] == ["out-public.csv: holds.", "fine.csv: holds."]
    assert lines[2].startswith(f"Whoever has the 2 releases and links their rows sees joint k = {both:g}")
    compared = run("compare", "out-public.csv", "fine.csv", "--project", project)
    assert re.search(r"By class size \d+ rows are better off with out-public.csv, 0 with fine.csv", compared)
    assert not re.search(r"(better|worse|equal) by \w+, \1 by", compared)
    with pytest.raises(ValueError, match="audience 'research' gets the least loss that holds: nobody picks"):
        studies[1].pick(row=1)
    # They are no release of the chosen point.
    assert Study.open(project).released == Path("out.csv")
    written = Path("fine.csv").read_bytes()
    run(*told["reproduce"][-1].split()[1:], "--force")
    assert Path("fine.csv").read_bytes() == written


def test_a_report_of_an_audience_counts_the_joint_classes(project):
    assert "release mine.toml --audience public writes them" in run("report", project, "--audience", "public")
    for name in ("public", "research"):
        run("release", project, "--audience", name)
    _, told = all_together(Study.open(project))
    for file, name in (("out-public.csv", "public"), ("fine.csv", "research")):
        said = run("report", project, "--audience", name, "--force")
        assert f"about {file}" in said
        page = Path(file).with_suffix(".report.html").read_text(encoding="utf-8")
        assert f"Whoever has all of them and links their rows sees {told}." in page
        (row,) = re.findall(r'<tbody data-table="joint">\s*<tr>(.*?)</tr>', page, re.DOTALL)
        cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row)
        assert cells == ["all releases", *map(str, (told.k, told.least_l["diagnosis"], told.alone, told.below))]


def test_an_audience_is_searched_beside_what_others_got(folder):
    project = searched(generations=3)
    # By the algorithm of the search, not by a proof.
    assert Study.open(project).for_audience("research").audience_search[1]["algorithm"]["name"] == "pbgea"
    project = searched()
    before = Study.open(project).for_audience("research").choice
    run("release", project, "--audience", "public")
    edit("mine.toml", "k>=20", "k>=3")
    # The table that the first audience has is beside the second one, and not a new choice for it.
    now = Study.open(project).for_audience("research")
    assert now.choice.x == before.x
    assert Study.open(project).for_audience("public").choice.x != tuple(Study.open(project).releases[0].x)
    edit("mine.toml", "k>=3", "k>=100")
    missed = (
        "audience 'research' comes after 'public', whose release misses what it requires by now; release that again"
    )
    assert missed.replace("audience", "--audience", 1) in run("release", project, "--audience", "research", code=2)


def test_a_replaced_release_refuses_no_other_audience(folder):
    """The first audience gets a coarser table in the place of one that would single rows out beside the second one."""
    project = searched(AUDIENCES.replace("k>=20", "k>=8"))
    # The only women are one of each age from 20 to 23, which the first table tells apart.
    rows = [(20 + i // 10, "F" if i < 40 and i % 10 == 0 else "M", ("flu", "cold")[i % 2]) for i in range(120)]
    pd.DataFrame(rows, columns=["age", "sex", "diagnosis"]).to_csv("mine.csv", index=False)
    run("search", project)
    for name in ("public", "research"):
        run("release", project, "--audience", name)
    edit("mine.toml", "k>=8", "k>=100")
    told = run("verify", project, code=1)
    assert re.search(r"out-public.csv: does not hold: its point, .*, is not for its audience; release again", told)
    run("release", project, "--audience", "public", "--force")
    said = run("release", project, "--audience", "research", "--force")
    assert "out-public.csv was another release of this table until now" in said
    assert "out-public.csv is another release of this table" in said
    assert "joint k = 1 " in said
    assert "joint k = 4" in run("verify", project)


@of_any_kind
def test_a_release_to_an_audience_that_the_project_forgot_does_not_hold(project):
    for name in ("public", "research"):
        run("release", project, "--audience", name)
    edit("mine.toml", '"research"', '"press"')
    assert run("verify", project, code=1).splitlines()[:2] == [
        "out-public.csv: holds.",
        "fine.csv: does not hold: audience must be one of 'public', 'press', got 'research'.",
    ]


@pytest.mark.parametrize(
    ("first", "second", "kind", "message"),
    [
        ("k>=4", "k>=60", "levels", " with k >= 2 and k >= 60 and joint k >= 2 and joint k >= 60"),
        ("k>=121", "k>=5", "levels", "'public' needs a generalization with k >= 2 and k >= 121, got none"),
        ("k>=121", "k>=4", "local", "'research' needs releases inside one another: "),
        ("k>=20", "l>=99", "local", "'research' needs releases inside one another: "),
    ],
)
def test_impossible_audiences_are_refused_in_a_sentence(first, second, kind, message, folder):
    project = searched(AUDIENCES.replace("k>=4", second).replace("k>=20", first), objectives="k,GLM", **KINDS[kind])
    told = run("release", project, "--audience", "research", code=2)
    assert told.startswith("Error: --audience")
    assert message in told
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize(
    ("bound", "kind", "why"),
    [
        ("k[age|sex]>=2", "levels", "bounds beside other releases must be without background knowledge, got KAnon"),
        ("k[age|sex]>=2", "local", "bounds beside other releases must be without background knowledge, got KAnon"),
        ("least-payout>=0", "levels", "cells of joint classes have no groups, so that least payout cannot be joint"),
        ("K>=2", "levels", "require must be one of AECS, "),
    ],
)
def test_what_cannot_hold_beside_another_release_is_told_before_the_search(bound, kind, why, folder):
    write_persons()
    write_project_of_persons(**KINDS[kind])
    add(AUDIENCES.replace("k>=4", bound))
    told, _, _ = run("search", "mine.toml").partition("\n")
    assert told.startswith(f"Warning: mine.toml: [[audience]] 'research': {why}")
    assert f"Warning: {refused('release', 'mine.toml', '--audience', 'research')}" == told


@of_any_kind
def test_an_audience_of_any_name_has_a_file_and_its_errors_name_it(project):
    edit(project, AUDIENCES, f'{AUDIENCES}\n[[audience]]\nname = "A/B"\nrequire = "nope>=2"\n')
    assert read_project(Path(project)).for_audience("A/B").documents.name.endswith("-A_B.csv")
    assert refused("release", project, "--audience", "A/B").startswith("mine.toml: [[audience]] 'A/B': require must be")
