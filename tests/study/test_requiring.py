"""Requirements in sentences, and those that no release can meet."""

from pathlib import Path

import pytest
from command import own

from pymoo_anon.study.editing import change_project
from pymoo_anon.study.names import MEASURES
from pymoo_anon.study.project import read_project
from pymoo_anon.study.tables import in_words, told_measures, unmet

pytestmark = pytest.mark.usefixtures("own_table")

MINE = Path("mine.toml")


@pytest.fixture(autouse=True)
def roles(own_table):
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
        ("l:lost>=x", "l:lost>=x: require must be a bound such as 'k>=5' or 't<=0.3', got 'l:lost>=x'."),
    ],
)
def test_a_bound_is_said_in_a_sentence(bound, told):
    assert in_words(read_project(MINE), [bound]) == told


def test_every_measure_is_explained_and_what_is_required_most_comes_first():
    found = told_measures()
    assert list(found)[:3] == ["k", "l", "t"]
    assert sorted(found) == sorted(MEASURES)
    assert found["k"] == "k: size of the smallest kept class"
    assert all(words and "(1" not in words and "(2" not in words for words in found.values())


def test_what_cannot_be_met_names_the_columns_and_the_audience():
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
    with pytest.raises(ValueError, match="is not decided"):
        unmet(read_project(MINE))
