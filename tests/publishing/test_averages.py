"""Microaggregation: class means of kept numbers, and groups by distance."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from exact_cases import case
from hypothesis import given
from hypothesis import strategies as st
from malformed_projects import RIGHT
from strategies import more, promised

from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import Kept, RecountError, mdav, release
from pymoo_anon.publishing.release import Asked, recode
from pymoo_anon.study.project import read_project
from pymoo_anon.table import Below, Hierarchy, Microdata

AGES = Hierarchy.intervals(20, 40, widths=[10, 20])
FRAME = pd.DataFrame(
    {"age": [21, 24, 28, 31, 33, 37, 38, 39], "pay": [10, 20, 40, 3, 4, 5, 6, 7.5], "days": [1, 2, 2, 0, 0, 1, 0, 9]}
)
TABLE = Microdata.from_frame(FRAME, {"age": AGES})
PROBLEM = LatticeProblem(TABLE, [KAnonymity(), GeneralLossMetric()])
MEANS = {"pay": Kept(mean=True), "days": Kept(mean=True, reason="days off are studied here")}


@promised(60, 0.5)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_totals_stay_whatever_is_suppressed(seed, local):
    """Compare with a plain mean over the rows that look alike."""
    own, rng = case(seed), np.random.default_rng(seed)
    frame = pd.DataFrame(own.rows).drop(columns=["ill", "who"])
    frame["number"] = rng.integers(-50, 50, len(frame)) / 4
    table = Microdata.from_frame(frame, {name: tree.with_root() for name, tree in own.hierarchies.items()})
    measures = [GeneralLossMetric()]
    small = Below(int(rng.integers(1, min(4, len(frame)) + 1)))
    problem = LocalRecodingProblem(table, measures) if local else LatticeProblem(table, measures, suppression=small)
    x = rng.integers(problem.xl, problem.xu + 1)
    asked = {"drop": (), "anyway": "it is only a test"}
    made = release(frame, problem, x, keep={"number": Kept(mean=True, reason="it is only a test")}, **asked).frame
    assert made.number.sum() == pytest.approx(frame.number.sum(), abs=1e-9)
    plain = release(frame, problem, x, keep={"number": "it is only a test"}, **asked).frame
    names = [*table.quasi_identifiers]
    plain["number"] = plain.groupby(names).number.transform("mean")
    order = [*names, "number"]
    both = (one[order].sort_values(order).reset_index(drop=True) for one in (made, plain))
    pd.testing.assert_frame_equal(*both)


def test_a_file_with_other_means_is_found_out():
    made = recode(FRAME, PROBLEM, [1], Asked(keep=MEANS))
    frame = made.frame
    wrong = frame.assign(pay=frame.pay.where(frame.index > 0, 20.0))
    words = r"column 'pay' must be replaced by the mean of the class, got 3 means of 2 classes$"
    with pytest.raises(RecountError, match=words):
        made.counted_again(wrong)
    with pytest.raises(RecountError, match=r"5 rows are other than the recoding makes them$"):
        made.counted_again(frame.assign(pay=frame.pay.where(frame.pay > 6, 5.0)))
    with pytest.raises(RecountError, match=r" 1 row is other than the recoding makes it$"):
        made.counted_again(
            frame.assign(age=["30–39", *frame.age[1:]], pay=[5.1, *frame.pay[1:]], days=[2.0, *frame.days[1:]])
        )


def test_suppressed_rows_are_one_class_or_left_out():
    problem = LatticeProblem(TABLE, [GeneralLossMetric()], suppression=Below(4))
    marked = release(FRAME, problem, [1], keep=MEANS).frame
    assert marked[marked.age == "*"].pay.unique().tolist() == [float(Fraction(70, 3))]
    assert release(FRAME, problem, [1], keep=MEANS, suppressed="drop").frame.pay.unique().tolist() == [5.1]


def test_a_project_asks_for_means(own_table):
    Path("my.toml").write_text(RIGHT.replace('role = "drop"', 'role = "keep"\nmean = true'), encoding="utf-8")
    assert read_project(Path("my.toml")).kept == {"paid": Kept(), "note": Kept(mean=True)}


def plain_mdav(rows, k):
    """Group rows by MDAV-generic, as lists of fractions."""
    rows = [[Fraction(one) for one in row] for row in rows]
    left, groups = list(range(len(rows))), []

    def distance(one, other):
        return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))

    def take(center):
        group = sorted(left, key=lambda i: (distance(rows[i], center), i))[:k]
        groups.append(group)
        left[:] = [i for i in left if i not in group]

    while len(left) >= 2 * k:
        mean = [sum(rows[i][j] for i in left) / len(left) for j in range(len(rows[0]))]
        r = max(left, key=lambda i: (distance(rows[i], mean), -i))
        s = max(left, key=lambda i: (distance(rows[i], rows[r]), -i))
        both = len(left) >= 3 * k
        take(rows[r])
        if both:
            take(rows[s])
    return [*groups, left]


@more(8)
@given(st.integers(1, 4), st.integers(1, 30), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_groups_are_those_of_the_plain_algorithm(k, n, m, seed):
    # Multiples of a prime that is larger than any sum of rows: means are exact enough, and ties rare.
    rows = np.random.default_rng(seed).integers(0, 10**4, (max(n, k), m))
    found = mdav(rows, k)
    groups = plain_mdav(rows.tolist(), k)
    assert found.dtype == np.int64
    assert [sorted(np.flatnonzero(found == i).tolist()) for i in range(len(groups))] == [sorted(own) for own in groups]
    assert np.bincount(found).min() >= k
    assert np.bincount(found).max() < 2 * k or len(rows) < 2 * k
