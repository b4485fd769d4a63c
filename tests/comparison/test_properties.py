"""Properties and property vectors, against the rows themselves and plain arrays.

A further property joins by a line in `PROPERTIES` and one in `by_rows`.
"""

import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import nodes, policies, rule_of, tables, unchanged
from vectors import groups

from benchmarks.papers import dewri2009_tables as paper
from pymoo_anon.comparison import *
from pymoo_anon.table import Below

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
