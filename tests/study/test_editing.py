"""Changes of a project's files, and its requirements in words."""

from pathlib import Path

import pandas as pd
import pytest
from command import own

from pymoo_anon.study.names import MEASURES, source_of
from pymoo_anon.study.project import ColumnDecision, change_project, read_project
from pymoo_anon.study.proposal import Proposer, change_roles, reading_of
from pymoo_anon.study.tables import in_words, told_measures, unmet
from pymoo_anon.table import hierarchy_edits as edits
from pymoo_anon.table.hierarchy_edits import change_hierarchy, open_hierarchy

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
    change_roles(read_project(MINE), proposer, ["zip"], "drop")
    assert read_project(MINE).columns["zip"].role == "drop"
    change_roles(read_project(MINE), proposer, ["zip"], "quasi-identifier")
    change_roles(read_project(MINE), proposer, ["sex"], "keep")
    assert read_project(MINE).columns["sex"] == ColumnDecision("keep", None)
    own(sex={"role": "keep", "hierarchy": "trees/sex.csv", "level": 1, "reason": "it is known of all"})
    change_roles(read_project(MINE), proposer, ["sex"], "quasi-identifier")
    assert read_project(MINE).columns["sex"] == ColumnDecision("quasi-identifier", Path("trees/sex.csv"))
    assert not Path("hierarchies").exists()
    change_roles(read_project(MINE), proposer, ["diagnosis"], "quasi-identifier")
    project = read_project(MINE)
    assert project.quasi_identifiers["diagnosis"] == Path("hierarchies/diagnosis.csv")
    assert project.quasi_identifiers["zip"] == Path("trees/zip.csv")
    assert "flu;" in Path("hierarchies/diagnosis.csv").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="role must be one of"):
        change_roles(project, proposer, ["note"], "secret")


def opened(name="zip", file="trees/zip.csv"):
    proposer = Proposer(reading_of(source_of("mine.csv", Path()), "auto", None))
    return open_hierarchy(Path(file), next(own for own in proposer.profiles if own.name == name))


def test_a_hierarchy_is_opened_with_the_rows_of_its_groups():
    found, column = opened(), pd.read_csv("mine.csv", dtype=str)["zip"]
    for level, labels in enumerate(found.hierarchy.labels):
        by_value = dict(zip(found.hierarchy.domain, found.hierarchy.groups[level], strict=True))
        counts = column.map(by_value).value_counts()
        assert found.rows_of(level).tolist() == [counts.get(group, 0) for group in range(len(labels))]
    assert found.text == Path("trees/zip.csv").read_text(encoding="utf-8")
    Path("few.csv").write_text("\n".join(found.text.splitlines()[1:]) + "\n", encoding="utf-8")
    few = opened(file="few.csv")
    assert few.findings[0].severity == "error"
    assert 0 < few.rows.sum() < found.rows.sum()
    Path("none.csv").write_text("a;x;1\nb;x;2\n", encoding="utf-8")
    none = opened(file="none.csv")
    assert none.hierarchy is None
    assert none.findings[0].severity == "error"


def test_a_change_by_hand_is_written_in_the_layout_of_arx_and_undone():
    file, before = Path("trees/zip.csv"), opened()
    changed = edits.merged(before.hierarchy, 1, before.hierarchy.labels[1], "all of them")
    change_hierarchy(file, str(changed.to_csv()), before.text)
    assert {line.split(";")[1] for line in file.read_text(encoding="utf-8").splitlines()} == {"all of them"}
    after = opened()
    assert after.rows_of(1).tolist() == [before.rows.sum()]
    change_hierarchy(file, before.text, after.text)
    assert opened().text == before.text


def test_values_that_stand_there_already_change_no_file():
    change_project(MINE, {("search", "seed"): 3})
    at = MINE.stat().st_mtime_ns
    change_project(MINE, {("search", "seed"): 3, ("report", "owner"): "", ("search", "require"): []})
    assert MINE.stat().st_mtime_ns == at
    change_project(MINE, {("report", "owner"): "Ann"})
    assert read_project(MINE).report["owner"] == "Ann"
    change_project(MINE, {("report", "owner"): "", ("search", "seed"): 0})
    assert dict(read_project(MINE).report) == {}
    assert read_project(MINE).search["seed"] == 0


@pytest.fixture
def with_sensitive(own_table):
    own(diagnosis="sensitive", paid="sensitive")


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("k>=5", "Everybody hides among at least 5 rows."),
        ("l>=2", "Everybody's class leaves at least 2 values of every sensitive column to guess from."),
        ("l:diagnosis>=2", "Everybody's class leaves at least 2 values of diagnosis to guess from."),
        ("t:paid<=0.3", "In no class are the values of paid more than 0.3 away from those of all rows."),
        ("GLM<=100", "General loss is at most 100."),
        ("prosecutor-risk<=0.2", "Maximum re-identification risk is at most 0.2."),
        ("k[zip]>=3", "For somebody who knows zip: everybody hides among at least 3 rows."),
        ("l:lost>=x", "l:lost>=x: require must be a bound in quotes, such as 'k>=5' or 't<=0.3', got 'l:lost>=x'."),
    ],
)
def test_a_bound_is_said_in_a_sentence(with_sensitive, bound, told):
    assert in_words(read_project(MINE), [bound]) == told


def test_every_measure_is_explained_and_what_is_required_most_comes_first():
    found = told_measures()
    assert list(found)[:3] == ["k", "l", "t"]
    assert sorted(found) == sorted(MEASURES)
    assert found["k"] == "k: size of the smallest kept class"
    assert all(words and "(1" not in words and "(2" not in words for words in found.values())


def test_what_cannot_be_met_names_the_columns_and_the_audience(with_sensitive):
    assert unmet(read_project(MINE)) == []
    n_diagnoses, n_paid = 3, 2
    change_project(MINE, {("search", "require"): [f"l>={n_paid}", "k>=2"]})
    assert unmet(read_project(MINE)) == []
    change_project(MINE, {("search", "require"): [f"l>={n_diagnoses}", "k>=2"]})
    (told,) = unmet(read_project(MINE))
    assert told.startswith("Impossible: Everybody's class leaves at least 3 values of every sensitive column")
    assert told.endswith("keeps it, because of paid: require it of other columns alone.")
    audiences = [{"name": "staff", "require": ["k>=100000"]}, {"name": "all", "require": ["k>=2"]}]
    change_project(MINE, {("search", "require"): None, ("audience",): audiences})
    assert unmet(read_project(MINE)) == [
        "Impossible for staff: Everybody hides among at least 100,000 rows. Not even one class of all rows keeps it."
    ]
    own(diagnosis="other")
    with pytest.raises(ValueError, match="every column must have a decided role"):
        unmet(read_project(MINE))
