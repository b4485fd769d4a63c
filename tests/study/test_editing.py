"""Changes of a project file and its hierarchies, as the screen makes them."""

from pathlib import Path

import pytest
from command import own

from pymoo_anon.study.names import source_of
from pymoo_anon.study.project import read_project
from pymoo_anon.study.proposal import Proposer, change_hierarchy, change_project, change_role, known_columns, reading_of

pytestmark = pytest.mark.usefixtures("own_table")

MINE = Path("mine.toml")


def test_a_change_keeps_comments_and_all_else():
    MINE.write_text("# mine\n" + MINE.read_text(encoding="utf-8") + "# the end\n", encoding="utf-8")
    before = MINE.read_text(encoding="utf-8")
    change_project(MINE, {("search", "require"): ["k>=3"], ("adversary",): [{"known": ["zip"], "require": ["k>=5"]}]})
    text = MINE.read_text(encoding="utf-8")
    assert text.startswith("# mine\n")
    assert "# the end" in text
    assert '[[adversary]]\nknown = ["zip"]\n' in text
    project = read_project(MINE)
    assert list(project.search["require"]) == ["k>=3", "k[zip]>=5"]
    change_project(MINE, {("search",): None, ("adversary",): None}, text)
    assert MINE.read_text(encoding="utf-8").split() == before.split()


def test_a_file_that_changed_meanwhile_or_would_be_none_is_left_alone():
    text = MINE.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"mine\.toml has changed meanwhile"):
        change_project(MINE, {("search", "seed"): 2}, text + "#")
    with pytest.raises(ValueError, match=r"^mine\.toml: \[search\] seed must be a whole number from 0, got 'x'"):
        change_project(MINE, {("search", "seed"): "x"}, text)
    assert MINE.read_text(encoding="utf-8") == text
    zips = Path("trees/zip.csv")
    before = zips.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match=r"zip\.csv has changed meanwhile"):
        change_hierarchy(zips, "a;*\n", "b;*\n")
    with pytest.raises(ValueError, match="coarsening"):
        change_hierarchy(zips, "a;x;1\nb;x;2\n", before)
    assert zips.read_text(encoding="utf-8") == before
    change_hierarchy(zips, "02130;*\n", before)
    assert zips.read_text(encoding="utf-8") == "02130;*\n"


def test_a_quasi_identifier_gets_a_draft_and_other_roles_lose_their_wishes():
    own(zip={"role": "quasi-identifier", "hierarchy": "trees/zip.csv", "levels": [0, 1], "weight": 2})
    proposer = Proposer(reading_of(source_of("mine.csv", Path()), "auto", None))
    change_role(read_project(MINE), proposer, "zip", "drop")
    assert read_project(MINE).columns["zip"].role == "drop"
    change_role(read_project(MINE), proposer, "zip", "quasi-identifier")
    assert not Path("hierarchies").exists()
    change_role(read_project(MINE), proposer, "diagnosis", "quasi-identifier")
    project = read_project(MINE)
    assert project.quasi_identifiers["diagnosis"] == Path("hierarchies/diagnosis.csv")
    assert project.quasi_identifiers["zip"] == Path("trees/zip.csv")
    assert "flu;" in Path("hierarchies/diagnosis.csv").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="role must be one of"):
        change_role(project, proposer, "note", "secret")


def test_columns_that_others_may_know_are_guessed_or_given():
    assert known_columns("mine.csv").columns == ["zip"]
    assert known_columns("mine.toml")[1:] == (["zip", "sex"], "of the project")
    assert known_columns("mine.csv", ["paid"])[1:] == (["paid"], "asked for")
