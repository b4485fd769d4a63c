"""One contract for all objectives, and their values against the plain twin.

A further objective joins by a line in `CASES`.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import COLUMNS, drawn_classes, fewer, tables

from pymoo_anon.engine import EquivalenceClasses
from pymoo_anon.objectives import *
from pymoo_anon.table import Hierarchy, Microdata


@dataclass(frozen=True)
class Case:
    """An objective and its values on `two_tables`, raw and fully generalized."""

    make: Callable[[Microdata], Objective]
    name: str
    maximize: bool
    whole: bool
    first: list[float]
    second: list[float]


# The keys are the representations. A new objective needs one more line.
CASES = {
    "KAnonymity()": Case(lambda _: KAnonymity(), "k", True, True, [1, 3], [1, 4]),
    "DistinctLDiversity('s0')": Case(lambda _: DistinctLDiversity("s0"), "l", True, True, [1, 2], [1, 3]),
    "SquaredClassSizes()": Case(lambda _: SquaredClassSizes(), "S_k", True, True, [5, 9], [10, 16]),
    "SquaredValueCounts('s0')": Case(lambda _: SquaredValueCounts("s0"), "S_l", True, True, [3, 5], [4, 6]),
    "EntropyLDiversity('s0')": Case(
        lambda _: EntropyLDiversity("s0"), "entropy l", True, False, [1, 3 / 2 ** (2 / 3)], [1, 2**1.5]
    ),
    "RecursiveCLDiversity('s0', 3)": Case(
        lambda _: RecursiveCLDiversity("s0", 3), "recursive l", True, True, [1, 2], [1, 3]
    ),
    "TCloseness('s0')": Case(lambda _: TCloseness("s0"), "t", False, False, [1 / 3, 0], [1 / 2, 0]),
    "AlphaDeassociation('s0')": Case(lambda _: AlphaDeassociation("s0"), "alpha", False, False, [1, 2 / 3], [1, 1 / 2]),
    "BasicBetaLikeness('s0')": Case(lambda _: BasicBetaLikeness("s0"), "beta", False, False, [1 / 2, 0], [1, 0]),
    "EnhancedBetaLikeness('s0')": Case(
        lambda _: EnhancedBetaLikeness("s0"), "enhanced beta", False, False, [np.inf, 0], [np.inf, 0]
    ),
    "DeltaDisclosure('s0')": Case(lambda _: DeltaDisclosure("s0"), "delta", False, False, [np.log2(3 / 2), 0], [1, 0]),
    "DeltaDisclosure('s0', strict=True)": Case(
        lambda _: DeltaDisclosure("s0", strict=True), "delta", False, False, [np.inf, 0], [np.inf, 0]
    ),
    "ProsecutorRisk()": Case(lambda _: ProsecutorRisk(), "prosecutor risk", False, False, [1, 1 / 3], [1, 1 / 4]),
    "MarketerRisk()": Case(lambda _: MarketerRisk(), "marketer risk", False, False, [2 / 3, 1 / 3], [1 / 2, 1 / 4]),
    "RecordsAtRisk(0.5)": Case(
        lambda _: RecordsAtRisk(0.5), "records at risk 0.5", False, False, [1 / 3, 0], [1 / 4, 0]
    ),
    # The first table is the population.
    "KMap(...)": Case(KMap, "k-map", True, True, [1, 3], [1, 3]),
    "GeneralLossMetric()": Case(lambda _: GeneralLossMetric(), "GLM", False, False, [0, 3], [0, 4]),
    "ClassificationMetric('s1')": Case(lambda _: ClassificationMetric("s1"), "CM", False, True, [1, 1], [1, 2]),
    "NormalizedWeightedPenalty()": Case(lambda _: NormalizedWeightedPenalty(), "NWP", False, False, [0, 1], [0, 1]),
    "NormalizedClassDispersion()": Case(
        lambda _: NormalizedClassDispersion(), "NECD", False, False, [1 / 2, 0], [2 / 3, 0]
    ),
    "Discernibility()": Case(lambda _: Discernibility(), "DM", False, True, [5, 9], [10, 16]),
    "AverageClassSize()": Case(lambda _: AverageClassSize(), "AECS", False, False, [3 / 2, 3], [2, 4]),
    "NonUniformEntropy()": Case(
        lambda _: NonUniformEntropy(), "NUE", False, False, [0, np.log2(3 * 1.5**2)], [0, np.log2(4**4 / 3**3)]
    ),
    "Precision()": Case(lambda _: Precision(), "precision", True, False, [1, 0], [1, 0]),
    "KLDivergence()": Case(
        lambda _: KLDivergence(),
        "KL",
        False,
        False,
        [0, np.log2(2 / 3) / 3 + np.log2(4 / 3) * 2 / 3],
        [0, np.log2(1 / 2) / 4 + np.log2(3 / 2) * 3 / 4],
    ),
}


def arrays_of(classes):
    """Return every array that an objective can reach."""
    holders = [classes, classes.tuples, *classes.columns.values(), *classes.tuples.columns.values()]
    found = [value for holder in holders for value in vars(holder).values() if isinstance(value, np.ndarray)]
    return [*found, classes.tuples.marginals]


@pytest.mark.parametrize(("shown", "case"), CASES.items(), ids=list(CASES))
@fewer(2)
@given(data=st.data(), table=tables())
def test_the_contract_of_every_objective(shown, case, data, table):
    objective = case.make(table.microdata)
    assert fnmatchcase(repr(objective), shown.replace("...", "*"))
    assert (objective.name, objective.maximize, objective.whole) == (case.name, case.maximize, case.whole)
    objective.check(table.microdata)
    classes, some, _ = drawn_classes(data, table)
    arrays = arrays_of(classes)
    before = [array.copy() for array in arrays]
    values = objective.evaluate(classes)
    assert values.shape == (len(some),)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, [objective.evaluate(one)[0] for one in classes])
    np.testing.assert_array_equal(values, [objective.evaluate(one.copy())[0] for one in classes])
    np.testing.assert_array_equal(values, pickle.loads(pickle.dumps(objective)).evaluate(classes))
    least, greatest = objective.value_range(table.microdata.tuples)
    assert least <= values.min()
    assert values.max() <= greatest
    assert not objective.whole or (values == np.floor(values)).all()
    for array, earlier in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, earlier)


def two_tables():
    frames = (
        pd.DataFrame({"q": [0, 1, 1], "s0": ["a", "b", "a"], "s1": [1, 2, 1]}),
        pd.DataFrame({"q": [0, 0, 0, 1], "s0": [1, 2, 3, 3], "s1": ["x", "x", "y", "z"]}),
    )
    return [Microdata.from_frame(frame, {"q": Hierarchy.flat([0, 1])}, ["s0", "s1"]) for frame in frames]


def raw_and_general(table):
    """Return the classes of a table of `two_tables`, raw and fully generalized."""
    (batch,) = table.grouper.classes(np.array([[0, 1], [0, 0]]), np.array([[2], [1]]), columns=("s0", "s1"))
    return batch


# Loops are compiled once more for them.
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_frozen_arrays_will_do(case):
    table = two_tables()[0]
    frozen = raw_and_general(table).copy()
    for array in arrays_of(frozen):
        array.flags.writeable = False
    objective = case.make(table)
    np.testing.assert_array_equal(objective.evaluate(frozen), objective.evaluate(raw_and_general(table)))


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_one_object_serves_two_tables(case):
    both = two_tables()
    objective = case.make(both[0])
    for table, expected in zip(both * 2, [case.first, case.second] * 2, strict=True):
        np.testing.assert_allclose(objective.evaluate(raw_and_general(table)), expected, rtol=1e-12, atol=1e-15)


@given(data=st.data(), table=tables())
def test_values_are_those_of_the_rows(data, table):
    sensitive, label = data.draw(st.sampled_from(["s0", "s1"])), data.draw(st.sampled_from(["s0", "s1", "q0"]))
    classes, some, policy = drawn_classes(data, table)
    for node, one in zip(some, classes, strict=True):
        measured = table.plain.measure(node, sensitive, label, **policy)
        assert KAnonymity().evaluate(one) == [measured.k]
        assert DistinctLDiversity(sensitive).evaluate(one) == [measured.l]
        assert SquaredClassSizes().evaluate(one) == [measured.S_k]
        assert SquaredValueCounts(sensitive).evaluate(one) == [measured.S_l]
        assert ClassificationMetric(label).evaluate(one) == [measured.CM]
        np.testing.assert_allclose(GeneralLossMetric().evaluate(one), [measured.GLM], rtol=1e-12, atol=0)


@given(tables())
def test_where_every_tuple_is_suppressed_the_table_is_one_class(table):
    n_rows, columns = len(table.frame), list(table.levels)
    everything = {"below": n_rows + 1}
    (classes,) = table.microdata.grouper.classes(*table.group_maps([table.top]), columns=COLUMNS, **everything)
    assert KAnonymity().evaluate(classes) == [n_rows]
    assert SquaredClassSizes().evaluate(classes) == [n_rows**2]
    assert GeneralLossMetric().evaluate(classes) == [n_rows * len(columns)]
    assert ClassificationMetric("s1").evaluate(classes) == [n_rows]
    for column in COLUMNS:
        assert DistinctLDiversity(column).evaluate(classes) == [table.frame[column].nunique()]
        assert SquaredValueCounts(column).evaluate(classes) == [(table.frame[column].value_counts() ** 2).sum()]


class LargestClass(Objective):
    """A custom objective: a plain Python function of a generalization's classes."""

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
    assert LargestClass().value_range(table.microdata.tuples) == (-np.inf, np.inf)
    most = [one.columns["s0"].histogram().max() for one in classes]
    assert MostFrequentCount("s0").evaluate(classes).tolist() == most
    assert (repr(LargestClass()), repr(MostFrequentCount("s0"))) == ("LargestClass()", "MostFrequentCount('s0')")


def test_what_is_no_objective_says_so():
    class Empty(Objective):
        name, maximize = "nothing", True

    (batch,) = two_tables()[0].grouper.classes(np.array([[0, 1]]), np.array([[2]]))
    with pytest.raises(NotImplementedError, match=r"^Empty must define evaluate_one or evaluate$"):
        Empty().evaluate(batch)
    for bad in (None, ["s0"]):
        with pytest.raises(TypeError) as caught:
            EntropyLDiversity(bad)
        assert str(caught.value) == f"column must be the name of a column, got {bad!r}"
    with pytest.raises(TypeError, match=r"^person must be the name of a column, got \['s0'\]$"):
        KAnonymity(person=["s0"])
