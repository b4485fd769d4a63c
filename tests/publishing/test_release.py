"""Releases of a hospital: refused rows, roles and frames, and promises kept."""

import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st
from strategies import populations
from tasks import KINDS

from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.publishing import RecountError, release
from pymoo_anon.table import Hierarchy, Microdata


def all_measures(data, table):
    """Return measures of every kind, with arguments of any kind."""
    n = len(table.levels)
    weights = data.draw(st.lists(st.floats(0.1, 5), min_size=n, max_size=n))
    others = [TCloseness("s0", list("dabc")), GeneralLossMetric(weights), KMap(data.draw(populations(table))[1])]
    return [*KINDS, *others, *([ClassificationMetric("label")] if table.microdata.label == "label" else [])]


HOSPITAL = pd.DataFrame(
    {
        "name": [f"person {i}" for i in range(12)],
        "age": [21, 23, 24, 31, 33, 34, 36, 41, 42, 43, 47, 90],
        "born": [datetime.date(1990, 1, 1 + i) for i in range(12)],
        "sex": ["F", "M"] * 6,
        "diagnosis": ["flu", "cold", "asthma"] * 4,
        "weight": [60.5, 61.25, -0.0, 0.0, 70.0, 71.0, 72.5, 73.0, 74.0, 75.0, 76.0, 77.0],
        "patient": [1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 9],
    }
)
HIERARCHIES = {"age": Hierarchy.intervals(20, 100, [10, 40]), "sex": Hierarchy.flat(["F", "M"])}


def hospital(objectives=None, frame=HOSPITAL, **kwargs):
    table = Microdata.from_frame(frame, HIERARCHIES, "diagnosis", person="patient")
    usual = [KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric()]
    return LatticeProblem(table, objectives or usual, **kwargs)


KEPT = {"born": "because nobody knows these days", "weight": None}
ROLES = {"drop": "name", "keep": KEPT}


def test_marked_rows_that_are_too_few_are_refused_and_dropping_is_named():
    problem = hospital(suppression=1)
    with pytest.raises(RecountError) as caught:
        release(HOSPITAL, problem, [1, 1], **ROLES)
    assert str(caught.value) == (
        "nothing is released: counted again, k is 1 where 3 was promised, l of diagnosis is 1 where 3 was promised; "
        'to an attacker the rows marked *, here 1, are one more class; suppressed = "drop" leaves them out'
    )
    made = release(HOSPITAL, problem, [1, 1], suppressed="drop", **ROLES)
    assert made.claims.measure.tolist() == ["k", "l of diagnosis", "GLM"]
    assert made.claims.holds.tolist() == [True, True, True]
    assert (made.n_suppressed, made.suppressed, len(made.frame)) == (1, "drop", 11)


def test_columns_and_rows_come_out_plain():
    made = release(
        HOSPITAL.set_index(HOSPITAL.index[::-1]), hospital(), [2, 1], anyway="it is only a test", **ROLES
    ).frame
    assert list(made) == ["age", "born", "sex", "diagnosis", "weight"]
    assert made.index.tolist() == list(range(12))
    assert made.age.tolist() == ["20–59"] * 11 + ["60–99"]
    assert np.signbit(made.weight.to_numpy()).sum() == 0
    assert made.weight.tolist() == [weight + 0.0 for weight in made.sort_values(["age", "born"]).weight]


@pytest.mark.parametrize("times", [1, 3], ids=["rows", "distinct rows"])
def test_dropped_columns_are_counted_all_the_same(times):
    frame = pd.concat([HOSPITAL] * times, ignore_index=True)
    problem = hospital([KAnonymity(person="patient"), DistinctLDiversity("diagnosis"), TCloseness("diagnosis")], frame)
    made = release(frame, problem, [2, 1], drop=["name", "diagnosis", "born", "weight"], anyway="it is only a test")
    assert list(made.frame) == ["age", "sex"]
    assert made.claims.promised.tolist()[:2] == [1, 1]
    assert made.claims.holds.all()


def test_the_label_may_be_a_quasi_identifier():
    table = Microdata.from_frame(HOSPITAL, HIERARCHIES, "diagnosis", label="sex")
    problem = LatticeProblem(table, [KAnonymity(), ClassificationMetric("sex")])
    made = release(HOSPITAL, problem, [2, 0], drop=["name", "patient"], keep=KEPT, anyway="it is only a test")
    assert made.claims.holds.tolist() == [True, None]


def test_nothing_given_is_changed():
    before = HOSPITAL.copy(deep=True)
    release(HOSPITAL, hospital(), [2, 1], anyway="it is only a test", **ROLES)
    pd.testing.assert_frame_equal(HOSPITAL, before)


def test_a_missing_value_gets_the_label_of_its_group():
    frame = pd.DataFrame({"age": [None, None, "a", "a"]})
    ways = {"age": Hierarchy([[None, "a"], ["unknown", "known"], ["*", "*"]])}
    problem = LatticeProblem(Microdata.from_frame(frame, ways, missing="keep"), [KAnonymity(), GeneralLossMetric()])
    assert release(frame, problem, [1]).frame["age"].tolist() == ["known", "known", "unknown", "unknown"]
    assert release(frame, problem, [0]).frame["age"].tolist()[:2] == ["a", "a"]


def test_rows_without_a_value_stay_left_out_though_their_hierarchy_knows_such():
    frame = pd.DataFrame({"age": [None, "b", "a", "a"]})
    ways = {"age": Hierarchy([[None, "a", "b"], ["*", "*", "*"]])}
    problem = LatticeProblem(Microdata.from_frame(frame, ways, missing="drop"), [KAnonymity(), GeneralLossMetric()])
    assert release(frame, problem, [1]).frame["age"].tolist() == ["*", "*", "*"]
