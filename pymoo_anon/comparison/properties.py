"""The properties: privacy, loss and utility of every single tuple."""

from __future__ import annotations

import numpy as np

from pymoo_anon.comparison.property import ColumnProperty, Property, released
from pymoo_anon.comparison.vectors import Ints, Values
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.extents import group_extents
from pymoo_anon.engine.tuples import DistinctTuples


class ClassSize(Property):
    """Size of the tuple's equivalence class, whole, from 1 to the number of rows; higher is better.

    Suppressed tuples form one class of their own, so that the least of these sizes is k or, where fewer than k tuples
    are suppressed, their number.
    """

    name = "class size"
    maximize = True

    def values(self, classes: EquivalenceClasses) -> Ints:
        """(n_distinct,) int64 array of class sizes."""
        class_of, sizes = released(classes)
        return sizes[class_of]

    def ideal(self, tuples: DistinctTuples) -> float:
        """The number of rows."""
        return tuples.n_rows


class BreachProbability(Property):
    """1 / size of the tuple's class: the chance to pick its person from the class (section 1); lower is better."""

    name = "breach probability"
    words = "probability of a privacy breach"
    maximize = False

    def values(self, classes: EquivalenceClasses) -> Values:
        """(n_distinct,) float array of probabilities."""
        class_of, sizes = released(classes)
        chances: Values = (1 / sizes)[class_of]
        return chances

    def ideal(self, tuples: DistinctTuples) -> float:
        """1 / number of rows."""
        return 1 / tuples.n_rows


class SensitiveCount(ColumnProperty):
    """How many tuples of the tuple's class have its sensitive value, itself included (section 3); higher is better.

    Whole, from 1. Tuples that differ in the column only may have different counts: the vector has an entry for each
    distinct tuple and value of the column that occur together.

    Args:
        column: Name of the sensitive column.
    """

    name = "sensitive count"
    words = "tuples of the class with the same value"
    maximize = True

    @property
    def unit(self) -> str:  # type: ignore[override]
        """The column."""
        return self.column

    def values(self, classes: EquivalenceClasses) -> Ints:
        """(n_entries,) int64 array of counts."""
        return self._counts_in_class(classes)[0]

    def ideal(self, tuples: DistinctTuples) -> float:
        """How often the most frequent value occurs in the table."""
        return int(tuples.totals(self.column).max())


class DistinctValues(ColumnProperty):
    """Number of distinct values of a column in the tuple's class, whole, from 1; higher is better.

    Args:
        column: Name of the sensitive column.
    """

    name = "distinct values"
    maximize = True

    def values(self, classes: EquivalenceClasses) -> Ints:
        """(n_distinct,) int64 array of numbers of values."""
        return self._counts_in_class(classes)[1]

    def ideal(self, tuples: DistinctTuples) -> float:
        """The number of values that occur in the table."""
        return int(np.count_nonzero(tuples.totals(self.column)))


class TupleLoss(Property):
    """The tuple's share of the general loss metric, GLM (Iyengar 2002); lower is better.

    The sum over the quasi-identifiers of (values in the group - 1) / (values in the domain - 1), from 0 to the number
    of quasi-identifiers, which is what a suppressed tuple loses.
    """

    name = "loss"
    words = "general loss of a tuple"
    maximize = False

    def values(self, classes: EquivalenceClasses) -> Values:
        """(n_distinct,) float array of losses."""
        domains = np.diff(classes.tuples.offsets)
        losses = (_cells(classes) / np.maximum(domains - 1, 1)).sum(axis=1)
        losses[classes.suppressed] = len(domains)
        return _of_tuples(classes, losses)

    def ideal(self, tuples: DistinctTuples) -> float:
        """0."""
        return 0


class TupleUtility(Property):
    """What a tuple keeps of its information (Iyengar's utility as in section 5.5); higher is better.

    The sum over the quasi-identifiers of 1 - (values in the group) / (values in the domain), from 0, which a
    suppressed tuple has, to less than their number.
    """

    name = "utility"
    words = "utility of a tuple"
    maximize = True

    def values(self, classes: EquivalenceClasses) -> Values:
        """(n_distinct,) float array of utilities."""
        utilities = (1 - (_cells(classes) + 1) / np.diff(classes.tuples.offsets)).sum(axis=1)
        utilities[classes.suppressed] = 0
        return _of_tuples(classes, utilities)

    def ideal(self, tuples: DistinctTuples) -> float:
        """What a tuple has that is not generalized."""
        return float((1 - 1 / np.diff(tuples.offsets)).sum())


def _cells(classes: EquivalenceClasses) -> Ints:
    """(n_classes, n_attributes) int64 array: the number of domain values in each cell's group, less one."""
    tuples = classes.tuples
    extents = group_extents(classes.maps, tuples.offsets)[0]
    cells: Ints = extents[tuples.offsets[:-1] + tuples.codes[classes.representatives]]
    return cells


def _of_tuples(classes: EquivalenceClasses, of_classes: Values) -> Values:
    assert classes.class_of is not None
    found: Values = of_classes[classes.class_of[0]]
    return found
