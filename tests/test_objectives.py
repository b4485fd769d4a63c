"""One contract for all objectives, and their values against the plain twin.

A further objective joins by a line in `OBJECTIVES` and one in `EXPECTED`.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import nodes, policies, tables

from pymoo_anon.equivalence import EquivalenceClasses
from pymoo_anon.hierarchy import Hierarchy
from pymoo_anon.microdata import Microdata
from pymoo_anon.objectives.base import ColumnObjective, Objective
from pymoo_anon.objectives.loss import ClassificationMetric, GeneralLossMetric
from pymoo_anon.objectives.privacy import ClassSizeSum, DistinctLDiversity, KAnonymity, SensitiveCountSum

OBJECTIVES = {
    "KAnonymity()": KAnonymity(),
    "DistinctLDiversity('s0')": DistinctLDiversity("s0"),
    "ClassSizeSum()": ClassSizeSum(),
    "SensitiveCountSum('s0')": SensitiveCountSum("s0"),
    "GeneralLossMetric()": GeneralLossMetric(),
    "ClassificationMetric('s1')": ClassificationMetric("s1"),
}
# Name, whether higher is better, whether whole.
EXPECTED = {
    "KAnonymity()": ("k", True, True),
    "DistinctLDiversity('s0')": ("l", True, True),
    "ClassSizeSum()": ("S_k", True, True),
    "SensitiveCountSum('s0')": ("S_l", True, True),
    "GeneralLossMetric()": ("GLM", False, False),
    "ClassificationMetric('s1')": ("CM", False, True),
}
COLUMNS = ("s0", "s1", "q0")


def drawn_classes(data, table):
    """The classes of some nodes, in arrays of their own, with the nodes and the policy."""
    some, policy = data.draw(st.lists(nodes(table), min_size=1, max_size=5)), data.draw(policies(table))
    (batch,) = table.microdata.tuples.classes(*table.group_maps(some), columns=COLUMNS, **policy)
    return batch.copy(), some, policy


def arrays_of(classes):
    """Every array that an objective can reach."""
    holders = [classes, classes.table, *classes.columns.values(), *classes.table.columns.values()]
    found = [value for holder in holders for value in vars(holder).values() if isinstance(value, np.ndarray)]
    return [*found, classes.table.marginals]


@pytest.mark.parametrize("name", OBJECTIVES)
@given(data=st.data(), table=tables())
def test_the_contract_of_every_objective(name, data, table):
    objective = OBJECTIVES[name]
    assert repr(objective) == name
    assert (objective.name, objective.maximize, objective.whole) == EXPECTED[name]
    classes, some, _ = drawn_classes(data, table)
    arrays = arrays_of(classes)
    before = [array.copy() for array in arrays]
    values = objective.evaluate(classes)
    assert values.shape == (len(some),)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, [objective.evaluate(one)[0] for one in classes])
    np.testing.assert_array_equal(values, [objective.evaluate(one.copy())[0] for one in classes])
    least, greatest = objective.bounds(table.microdata.tuples)
    assert least <= values.min()
    assert values.max() <= greatest
    assert not objective.whole or (values == np.floor(values)).all()
    for array, earlier in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, earlier)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_frozen_arrays_will_do(name):
    table = two_tables()[0]
    (batch,) = table.classes(np.array([[0, 1], [0, 0]]), np.array([[2], [1]]), columns=("s0", "s1"))
    frozen = batch.copy()
    for array in arrays_of(frozen):
        array.flags.writeable = False
    np.testing.assert_array_equal(OBJECTIVES[name].evaluate(frozen), OBJECTIVES[name].evaluate(batch))


def two_tables():
    frames = (
        pd.DataFrame({"q": [0, 1, 1], "s0": ["a", "b", "a"], "s1": [1, 2, 1]}),
        pd.DataFrame({"q": [0, 0, 0, 1], "s0": [1, 2, 3, 3], "s1": ["x", "x", "y", "z"]}),
    )
    return [Microdata.from_frame(frame, {"q": Hierarchy.flat([0, 1])}, ["s0", "s1"]).tuples for frame in frames]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("KAnonymity()", [1, 3], [1, 4]),
        ("DistinctLDiversity('s0')", [1, 2], [1, 3]),
        ("ClassSizeSum()", [5, 9], [10, 16]),
        ("SensitiveCountSum('s0')", [3, 5], [4, 6]),
        ("GeneralLossMetric()", [0, 3], [0, 4]),
        ("ClassificationMetric('s1')", [1, 1], [1, 2]),
    ],
)
def test_one_object_serves_two_tables(name, first, second):
    for table, expected in zip(two_tables() * 2, [first, second] * 2, strict=True):
        (batch,) = table.classes(np.array([[0, 1], [0, 0]]), np.array([[2], [1]]), columns=("s0", "s1"))
        assert OBJECTIVES[name].evaluate(batch).tolist() == expected


@given(data=st.data(), table=tables())
def test_values_are_those_of_the_rows(data, table):
    sensitive, label = data.draw(st.sampled_from(["s0", "s1"])), data.draw(st.sampled_from(["s0", "s1", "q0"]))
    classes, some, policy = drawn_classes(data, table)
    for node, one in zip(some, classes, strict=True):
        measured = table.plain.measure(node, sensitive, label, **policy)
        assert KAnonymity().evaluate(one) == [measured.k]
        assert DistinctLDiversity(sensitive).evaluate(one) == [measured.l]
        assert ClassSizeSum().evaluate(one) == [measured.S_k]
        assert SensitiveCountSum(sensitive).evaluate(one) == [measured.S_l]
        assert ClassificationMetric(label).evaluate(one) == [measured.CM]
        np.testing.assert_allclose(GeneralLossMetric().evaluate(one), [measured.GLM], rtol=1e-12, atol=0)


@given(tables())
def test_where_every_tuple_is_suppressed_the_table_is_one_class(table):
    n_rows, columns = len(table.frame), list(table.levels)
    everything = {"below": n_rows + 1}
    (classes,) = table.microdata.tuples.classes(*table.group_maps([table.top]), columns=COLUMNS, **everything)
    assert KAnonymity().evaluate(classes) == [n_rows]
    assert ClassSizeSum().evaluate(classes) == [n_rows**2]
    assert GeneralLossMetric().evaluate(classes) == [n_rows * len(columns)]
    assert ClassificationMetric("s1").evaluate(classes) == [n_rows]
    for column in COLUMNS:
        assert DistinctLDiversity(column).evaluate(classes) == [table.frame[column].nunique()]
        assert SensitiveCountSum(column).evaluate(classes) == [(table.frame[column].value_counts() ** 2).sum()]


class LargestClass(Objective):
    """An objective of one's own: a plain Python function of one generalization's classes."""

    name = "largest"
    maximize = False

    def evaluate_one(self, classes: EquivalenceClasses) -> float:
        assert len(classes) == 1
        return float(classes.sizes.max())


class MostFrequentCount(ColumnObjective):
    """The same with a column."""

    name = "most"
    maximize = False

    def evaluate_one(self, classes: EquivalenceClasses) -> float:
        return float(classes.columns[self.column].histogram().max())


@given(data=st.data(), table=tables())
def test_an_objective_of_ones_own_is_one_method(data, table):
    classes, some, policy = drawn_classes(data, table)
    sizes = [table.plain.measure(node, **policy).size_of.max() for node in some]
    assert LargestClass().evaluate(classes).tolist() == sizes
    assert LargestClass().bounds(table.microdata.tuples) == (-np.inf, np.inf)
    most = [one.columns["s0"].histogram().max() for one in classes]
    assert MostFrequentCount("s0").evaluate(classes).tolist() == most
    assert (repr(LargestClass()), repr(MostFrequentCount("s0"))) == ("LargestClass()", "MostFrequentCount('s0')")


def test_what_is_no_objective_says_so():
    class Empty(Objective):
        name, maximize = "nothing", True

    (batch,) = two_tables()[0].classes(np.array([[0, 1]]), np.array([[2]]))
    with pytest.raises(NotImplementedError, match=r"^Empty must define evaluate_one or evaluate$"):
        Empty().evaluate(batch)
    with pytest.raises(TypeError, match=r"^column must be the name of a column, got 5$"):
        DistinctLDiversity(5)
