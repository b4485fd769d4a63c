"""Properties and property vectors, against the rows themselves and plain arrays.

A further property joins by a line in `PROPERTIES` and one in `by_rows`.
"""

import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import at_levels, nodes, policies, rule_of, tables, unchanged
from vectors import REAL, WHOLE, groups

from benchmarks.papers import dewri2009_tables as paper
from pymoo_anon.comparison import *
from pymoo_anon.objectives import DistinctLDiversity
from pymoo_anon.table import Below, Hierarchy, Microdata, Violating

SAME_VALUE = "tuples of the class with the same value"
# Name, label, words, whether higher is better.
PROPERTIES = {
    ClassSize(): ("ClassSize()", "class size", "class size", True),
    BreachProbability(): ("BreachProbability()", "breach probability", "probability of a privacy breach", False),
    SensitiveCount("s0"): ("SensitiveCount('s0')", "sensitive count of s0", f"{SAME_VALUE} of s0", True),
    DistinctValues("s0"): ("DistinctValues('s0')", "distinct values of s0", "distinct values of s0", True),
    TupleLoss(): ("TupleLoss()", "loss", "general loss of a tuple", False),
    TupleUtility(): ("TupleUtility()", "utility", "utility of a tuple", True),
}
every_property = pytest.mark.parametrize("prop", PROPERTIES, ids=repr)


def drawn(data, table):
    """Draw classes of one node and each row's class, or -1."""
    node, policy = data.draw(nodes(table)), data.draw(policies(table))
    classes = table.microdata.equivalence_classes(table.generalization(node), rule_of(policy))
    measured = table.plain.measure(node, **policy)
    everything = measured.n_suppressed == len(table.frame)
    suppressed = (measured.size_of < measured.k) | everything
    return classes, node, measured.class_of.where(~suppressed, -1)


def by_rows(prop, table, node, class_of):
    """Compute the value of each row by the definition."""
    frame, plain = table.frame, table.plain
    own = class_of.groupby(class_of)
    sizes = own.transform("size")
    if isinstance(prop, ClassSize):
        return sizes
    if isinstance(prop, BreachProbability):
        return 1 / sizes
    if isinstance(prop, SensitiveCount):
        return class_of.groupby([class_of, frame[prop.column]]).transform("size")
    if isinstance(prop, DistinctValues):
        return frame[prop.column].groupby(class_of).transform("nunique")
    kept = class_of >= 0
    total = 0
    for choice in zip(plain.columns, node, strict=True):
        n_values = len(table.levels[choice[0]][0])
        loss = plain.costs[choice]
        if isinstance(prop, TupleLoss):
            total = total + loss.where(kept, 1.0)
        else:
            total = total + (1 - (loss * (n_values - 1) + 1) / n_values).where(kept, 0.0)
    return total


def of_rows(vector, table):
    """Read the value of each row from the vector by its unit."""
    tuple_of_row = table.tuple_of_row
    if vector.unit is None:
        return vector.values[tuple_of_row]
    column = table.microdata.tuples.columns[vector.unit]
    codes = [table.microdata.domain_of(vector.unit)[code] for code in column.values]
    place = {key: e for e, key in enumerate(zip(vector.distinct_tuples.tolist(), codes, strict=True))}
    own = zip(tuple_of_row.tolist(), table.frame[vector.unit], strict=True)
    return vector.values[[place[key] for key in own]]


@given(data=st.data(), table=tables(max_attributes=3, max_rows=15))
def test_values_are_those_of_the_rows(data, table):
    classes, node, class_of = drawn(data, table)
    for prop in PROPERTIES:
        vector = prop.measure(classes)
        expected = by_rows(prop, table, node, class_of)
        np.testing.assert_allclose(of_rows(vector, table), expected, rtol=1e-12, atol=1e-12, err_msg=repr(prop))
        ideal = vector.ideal if vector.maximize else -vector.ideal
        assert (vector.oriented <= ideal + 1e-12).all()


@every_property
@given(data=st.data(), table=tables(max_attributes=2))
def test_the_contract_of_every_property(prop, data, table):
    classes, _, _ = drawn(data, table)
    columns = [classes.tuples.columns[name] for name in ("s0", "q0")]
    holders = [classes, classes.tuples, *columns]
    arrays = [value for holder in holders for value in vars(holder).values() if isinstance(value, np.ndarray)]
    with unchanged(*arrays):
        vector = prop.measure(classes)
    assert (repr(prop), prop.label, vector.words, prop.maximize) == PROPERTIES[prop]
    assert (vector.name, vector.maximize, vector.unit) == (prop.label, prop.maximize, prop.unit)
    assert vector.tuples is table.microdata.tuples
    assert (vector.values.dtype, vector.counts.dtype) == (np.float64, np.int64)
    assert vector.counts.sum() == vector.n_rows == len(table.frame) == len(vector.expand())
    assert not vector.values.flags.writeable
    with pytest.raises(dataclasses.FrozenInstanceError):
        vector.values = vector.values


@given(tables())
def test_the_ideal_is_what_no_generalization_or_one_class_gives(table):
    raw, top = (
        table.microdata.equivalence_classes(table.generalization(node), suppression=Below(below))
        for node, below in (([0] * len(table.top), 1), (table.top, len(table.frame)))
    )
    for prop in (TupleLoss(), TupleUtility()):
        vector = prop.measure(raw)
        assert (vector.values == vector.ideal).all()
    for prop in (ClassSize(), BreachProbability(), SensitiveCount("s0"), DistinctValues("s0")):
        vector = prop.measure(top)
        assert vector.oriented.max() == (vector.ideal if vector.maximize else -vector.ideal)


EXPECTED = {
    "T3a": ([3, 3, 3, 3, 4, 4, 4, 3, 3, 4], [2, 2, 1, 2, 2, 1, 2, 1, 2, 1]),
    "T3b": ([3, 7, 7, 3, 7, 7, 7, 3, 7, 7], [2, 3, 1, 2, 2, 1, 2, 1, 3, 3]),
    "T4": ([4, 6, 4, 4, 6, 6, 6, 4, 6, 6], [2, 3, 1, 2, 2, 1, 2, 1, 3, 3]),
}
UTILITIES = {
    "T3a": [2.03, 1.7, 1.7, 2.03, 1.6, 1.6, 1.6, 2.03, 1.7, 1.6],
    "T3b": [2.03, 0.97, 0.97, 2.03, 0.97, 0.97, 0.97, 2.03, 0.97, 0.97],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_vectors_of_the_paper(name):
    classes = paper.TABLE.equivalence_classes(paper.GENERALIZATIONS[name])
    sizes, counts = EXPECTED[name]
    assert ClassSize().measure(classes).values[paper.ROWS].tolist() == sizes
    assert SensitiveCount("marital status").measure(classes).values[paper.ROWS].tolist() == counts
    if name in UTILITIES:
        assert TupleUtility().measure(classes).values[paper.ROWS].round(2).tolist() == UTILITIES[name]


@given(data=st.data(), drawn_group=groups(n=1))
def test_counts_stand_for_repeated_rows(data, drawn_group):
    (vector,) = drawn_group.vectors
    rows = vector.expand()
    assert vector.mean() == pytest.approx(rows.mean(), rel=1e-14, abs=1e-300)
    shares = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=5))
    np.testing.assert_allclose(vector.quantiles(shares), np.quantile(rows, shares), rtol=1e-9, atol=1e-9)
    assert vector.quantiles([0, 1]).tolist() == [rows.min(), rows.max()]


class Distance(Property):
    """A property of one's own."""

    name = "steps to the largest class"
    maximize = False

    def of_tuples(self, classes):
        class_of, sizes = released(classes)
        return (sizes.max() - sizes)[class_of]


def test_a_property_of_ones_own_is_one_method():
    classes = paper.TABLE.equivalence_classes(paper.GENERALIZATIONS["T3b"])
    vector = Distance().measure(classes)
    assert vector.values[paper.ROWS].tolist() == [4, 0, 0, 4, 0, 0, 0, 4, 0, 0]
    assert (vector.oriented == -vector.values).all()
    assert (vector.words, vector.ideal, repr(Distance())) == (Distance.name, None, "Distance()")


def test_vectors_survive_a_pickle():
    classes = paper.TABLE.equivalence_classes(paper.GENERALIZATIONS["T3b"])
    vector = ClassSize().measure(classes)
    again = pickle.loads(pickle.dumps(vector))
    assert not again.values.flags.writeable
    np.testing.assert_array_equal(again.values, vector.values)
    assert repr(again) == repr(vector) == "PropertyVector('class size' of 10 tuples, higher is better)"


def plain_gini(rows):
    """Return half the mean difference of two tuples, relative to the mean."""
    rows = np.asarray(rows)
    return np.abs(rows[:, None] - rows).mean() / 2 / rows.mean() if rows.any() else 0


@given(groups(of=st.one_of(WHOLE, REAL), n=1))
def test_gini_is_half_the_relative_mean_difference(group):
    (vector,) = group.vectors
    assert gini(vector) == pytest.approx(plain_gini(vector.expand()), abs=1e-12)
    assert gini(vector) == pytest.approx(gini(vector.expand()), abs=1e-15)


@given(groups(of=WHOLE, n=1))
def test_the_lorenz_curve_is_that_of_the_rows(group):
    (vector,) = group.vectors
    rows = np.sort(vector.expand())
    curve = lorenz_curve(vector)
    assert curve[0].tolist() == [0, 0]
    assert curve[-1].tolist() == [1, 1]
    if rows.any():
        share = np.arange(len(rows) + 1) / len(rows)
        held = np.concatenate([[0], np.cumsum(rows)]) / rows.sum()
        np.testing.assert_allclose(np.interp(share, *curve.T), held, atol=1e-12)
    else:
        np.testing.assert_array_equal(curve[:, 0], curve[:, 1])
    assert len(curve) == len(np.unique(rows)) + 1


def test_known_inequality():
    assert gini([1, 1, 1]) == 0
    assert gini([0, 0, 0, 8]) == 0.75
    assert gini([0, 0]) == 0
    assert gini([1e150] * 3) == 0
    # Rounded, the area under this curve is above that under the diagonal.
    assert gini([1.0] * 9 + [np.nextafter(1, 2)] * 29) == 0
    assert gini([1e-200, 3e-200]) == gini([1, 3]) == 0.25
    assert lorenz_curve([3, 1, 1]).tolist() == [[0, 0], [2 / 3, 0.4], [1, 1]]


@given(groups(of=st.one_of(WHOLE, REAL), n=3, maximize=None))
def test_distributions_are_those_of_the_rows(group):
    vectors = dict(zip("abc", group.vectors, strict=True))
    found = distribution(vectors)
    assert list(found.index) == list("abc")
    for name, vector in vectors.items():
        rows = vector.expand()
        shares = [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]
        worst = rows.min() if vector.maximize else rows.max()
        expected = [rows.mean(), *np.quantile(rows, shares), plain_gini(rows), (rows == worst).sum()]
        np.testing.assert_allclose(found.loc[name].to_numpy(float), expected, rtol=1e-9, atol=1e-9)


def test_distributions_of_arrays_and_of_negative_values():
    found = distribution({("a", 1): [-1, 2], "b": [0, 2]})
    assert list(found) == ["mean", "minimum", "5 %", "25 %", "median", "75 %", "95 %", "maximum", "Gini", "worst off"]
    assert found.dtypes["worst off"] == np.int64
    assert list(found.index) == [("a", 1), "b"]
    assert np.isnan(found["Gini"].iloc[0])
    assert found["Gini"].iloc[1] == 0.5


@given(data=st.data(), table=tables(max_attributes=3, max_rows=15))
def test_who_is_worst_off(data, table):
    prop = data.draw(st.sampled_from([ClassSize(), BreachProbability(), SensitiveCount("s0"), TupleLoss()]))
    node = data.draw(nodes(table))
    below = data.draw(st.integers(1, len(table.frame)))
    generalization = table.generalization(node)
    found = worst_off(table.microdata, generalization, prop, suppression=Below(below))
    classes = table.microdata.equivalence_classes(generalization, suppression=Below(below))
    vector = prop.measure(classes)
    released = classes.class_of[0][table.tuple_of_row]
    suppressed = classes.suppressed[released]
    values = of_rows(vector, table)
    worst = values == (values.min() if prop.maximize else values.max())
    rows = {}
    for i in range(len(table.frame)):
        key = tuple(
            "*" if suppressed[i] else table.levels[name][level][table.frame[name][i]]
            for name, level in zip(table.levels, node, strict=True)
        )
        size, members = rows.get((key, suppressed[i]), (0, 0))
        rows[key, suppressed[i]] = size + 1, members + worst[i]
    expected = {(key, *counts) for (key, _), counts in rows.items() if counts[1]}
    keys = [key if isinstance(key, tuple) else (key,) for key in found.index]
    assert set(zip(keys, found["size"], found["tuples"], strict=True)) == expected
    assert len(found) == len(expected)
    assert found["size"].is_monotonic_increasing
    assert (found[prop.label] == values[worst][0]).all()
    assert list(found.index.names) == list(table.levels)


def test_who_is_worst_off_where_classes_that_break_a_constraint_are_suppressed():
    three_kinds = [DistinctLDiversity("marital status") >= 3]
    found = worst_off(paper.TABLE, paper.GENERALIZATIONS["T3a"], TupleLoss(), Violating(0.6), three_kinds)
    assert (list(found), found.index.tolist()) == (["size", "tuples", "loss"], [("*", "*", "*")])
    assert found.to_numpy().tolist() == [[6, 6, 3.0]]
    kept = worst_off(paper.TABLE, paper.GENERALIZATIONS["T3a"], ClassSize(), Violating(0.6), three_kinds)
    assert kept.index.tolist() == [("1325*", "(45,55]", "Not Married")]
    assert kept.to_numpy().tolist() == [[4, 4, 4]]


@given(data=st.data(), table=tables(max_attributes=3, max_rows=15))
def test_gains_are_those_of_the_rows(data, table):
    prop = data.draw(st.sampled_from([ClassSize(), SensitiveCount("s0"), DistinctValues("s1"), TupleLoss()]))
    column = data.draw(st.sampled_from([*table.levels, "s0"]))
    level = data.draw(st.integers(0, len(table.levels[column]) - 1)) if column != "s0" else 0
    one, two = (drawn(data, table) for _ in range(2))
    d1, d2 = prop.measure(one[0]), prop.measure(two[0])
    found = gains(table.microdata, d1, d2, column, level)
    a, b = of_rows(d1, table), of_rows(d2, table)
    np.testing.assert_allclose(a, by_rows(prop, table, one[1], one[2]))
    sign = 1 if prop.maximize else -1
    own = table.frame[column] if column == "s0" else table.frame[column].map(table.levels[column][level])
    frame = pd.DataFrame({"of": own, "better": sign * a > sign * b, "worse": sign * a < sign * b, "difference": a - b})
    expected = frame.groupby("of").agg(
        tuples=("better", "size"), better=("better", "sum"), worse=("worse", "sum"), difference=("difference", "mean")
    )
    pd.testing.assert_frame_equal(
        found.loc[expected.index], expected, check_names=False, check_index_type=False, check_dtype=False, atol=1e-9
    )
    assert len(found) == len(expected)
    assert found.index.name == column


def told(q, r, s):
    """Return what is told of a small table whose columns have these names, with the names of what is told."""
    frame = pd.DataFrame([(0, "x", "a"), (0, "x", "b"), (1, "y", "a"), (2, "y", "b")])
    frame.columns = pd.Index([q, r, s], tupleize_cols=False)
    hierarchies = {q: Hierarchy([[0, 1, 2], ["0-1", "0-1", "2"]]), r: Hierarchy.flat(["x", "y"])}
    table = Microdata.from_frame(frame, hierarchies, [s])
    raw, half = (at_levels(hierarchies, levels) for levels in ([0, 0], [1, 1]))
    d1, d2 = (SensitiveCount(s).measure(table.equivalence_classes(one)) for one in (half, raw))
    found = [gains(table, d1, d2, s), gains(table, d1, d2, q, level=1), worst_off(table, half, DistinctValues(s))]
    return [one.to_numpy().tolist() for one in found], [[*one.index.names] for one in found], [*found[-1]][-1], d1.unit


@pytest.mark.parametrize(("q", "r", "s"), [(0, 1, 2), (("q", 1), ("r", 2), ("s", 3)), (2, ("a",), 1.5)])
def test_names_of_columns_need_not_be_text(q, r, s):
    (values, *_), (own, *names) = told("q", "r", "s"), told(q, r, s)
    assert own == values
    assert names == [[[s], [q], [q, r]], f"distinct values of {s}", s]
    assert repr(SensitiveCount(s)) == f"SensitiveCount({s!r})"


def test_nobody_knows_who_of_equal_tuples_has_which_value_of_another_column():
    frame = pd.DataFrame({"q": [0, 0, 1], "s": ["a", "b", "a"], "t": ["x", "y", "y"]})
    table = Microdata.from_frame(frame, {"q": Hierarchy.flat([0, 1])}, ["s", "t"])
    vector = PropertyVector([1, 2, 3], table.tuples, "x", True, unit="s")
    assert gains(table, vector, vector, "q")["tuples"].tolist() == [2, 1]
