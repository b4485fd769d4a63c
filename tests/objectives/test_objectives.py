"""Objectives of one's own: a method suffices, and mistakes are named."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn_classes, one_class_each, raw, tables

from pymoo_anon.engine import EquivalenceClasses
from pymoo_anon.objectives import *


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

    with pytest.raises(NotImplementedError, match=r"^Empty must define evaluate_one or evaluate$"):
        Empty().evaluate(raw(one_class_each(["a", "b"])))
    for bad in (None, ["s0"]):
        with pytest.raises(TypeError) as caught:
            EntropyLDiversity(bad)
        assert str(caught.value) == f"column must be the name of a column, got {bad!r}"
    with pytest.raises(TypeError, match=r"^person must be the name of a column, got \['s0'\]$"):
        KAnonymity(person=["s0"])
