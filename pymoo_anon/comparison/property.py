"""What every property has: a name, a direction, and a value for each tuple of one generalization."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pymoo_anon.comparison.vectors import Ints, PropertyVector
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.engine.values import sort_by_class


class Property:
    """A value for every tuple of a table, from the equivalence classes of one generalization.

    A property of one's own is a subclass with a `name`, a direction and the method `values`. Properties hold nothing of
    a table, so that one object serves many tables.

    Attributes:
        name: Short name.
        maximize: Whether higher is better.
        words: What a picture calls it, or None for the name.
        column: The column that is read, or None.
        unit: The column by which tuples are told apart that are equal otherwise, or None; as in `PropertyVector`.
    """

    name: str
    maximize: bool
    words: str | None = None
    column: str | None = None
    unit: str | None = None

    def measure(self, classes: EquivalenceClasses) -> PropertyVector:
        """The property vector of one generalization.

        Args:
            classes: The classes of one generalization, as `Microdata.equivalence_classes` returns them.

        Raises:
            ValueError: They are not of one generalization, do not have the class of each distinct tuple, or the
                table lacks the column.
        """
        if len(classes) != 1 or classes.class_of is None:
            raise ValueError(
                "classes must be those of one generalization with the class of each distinct tuple, as "
                f"table.equivalence_classes returns them, got {len(classes)} generalizations "
                f"{'without' if classes.class_of is None else 'with'} the class of each distinct tuple"
            )
        tuples = classes.tuples
        self.check(tuples)
        words = self.label.replace(self.name, self.words or self.name, 1)
        return PropertyVector(
            self.values(classes), tuples, self.label, self.maximize, self.unit, self.ideal(tuples), words
        )

    def values(self, classes: EquivalenceClasses) -> NDArray[Any]:
        """(n_distinct,) array: the value of every distinct tuple.

        Args:
            classes: The classes of one generalization, with `class_of`. `released` tells who is in one class once the
                suppressed tuples are one. The arrays are read, never kept or changed.
        """
        raise NotImplementedError(f"{type(self).__name__} must define values")

    def ideal(self, tuples: DistinctTuples) -> float | None:
        """The best value that any tuple of a table could have, or None where nobody knows."""
        return None

    def check(self, tuples: DistinctTuples) -> None:
        """Refuse a table that this property cannot measure.

        Raises:
            ValueError: It lacks the column.
        """
        if self.column is not None:
            tuples.check_role(self.column, self)

    @property
    def label(self) -> str:
        """The name, with the column where one is read."""
        return self.name if self.column is None else f"{self.name} of {self.column}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.column is None else repr(self.column)})"


class ColumnProperty(Property):
    """A property that reads the values of one column.

    Args:
        column: Name of a column of the table with a role: sensitive, label or quasi-identifier.
    """

    column: str

    def __init__(self, column: str) -> None:
        if not isinstance(column, str):
            raise TypeError(f"column must be the name of a column, got {column!r}")
        self.column = column

    def _counts_in_class(self, classes: EquivalenceClasses) -> tuple[Ints, Ints]:
        """How often each entry's value occurs in its class, and the number of values around each distinct tuple."""
        own = classes.tuples.columns[self.column]
        class_of, sizes = released(classes)
        of_entry, distinct = counts_in_class(class_of, len(sizes), own.starts, own.values, own.counts, own.n_values)
        return of_entry, distinct[class_of]


def released(classes: EquivalenceClasses) -> tuple[Ints, Ints]:
    """Who is in one class once all suppressed tuples are one (section 3).

    Args:
        classes: The classes of one generalization, with the class of each distinct tuple.

    Returns:
        (n_distinct,) int64 array, the class of every distinct tuple, the suppressed ones in the last; and (n,) int64
        array, the size of every class.
    """
    assert classes.class_of is not None
    (class_of,), suppressed = classes.class_of, classes.suppressed
    if not suppressed.any():
        return class_of, classes.sizes
    numbers = np.cumsum(~suppressed) - 1
    kept = classes.sizes[~suppressed]
    numbers[suppressed] = len(kept)
    return numbers[class_of], np.append(kept, classes.sizes[suppressed].sum())


@njit(cache=True, nogil=True)
def counts_in_class(class_of, n_classes, starts, values, counts, n_values):  # type: ignore[no-untyped-def]
    """How often the values of a column occur in the classes of their tuples.

    Args:
        class_of: (n_distinct,) int64 array, the class of every distinct tuple.
        n_classes: Number of classes.
        starts: (n_distinct + 1,) int64 array, where the entries of each distinct tuple begin.
        values: (n_entries,) int64 array of value codes, each at most once in a distinct tuple.
        counts: (n_entries,) int64 array of positive counts.
        n_values: Number of values of the column.

    Returns:
        (n_entries,) int64 array, how often the class of the entry's tuple holds the entry's value; and (n_classes,)
        int64 array, how many values each class holds.
    """
    n_distinct = len(class_of)
    members = np.empty(n_distinct + n_classes + 1, dtype=np.int64)
    sort_by_class(class_of, n_distinct, n_classes, members)
    tally = np.zeros(n_values, dtype=np.int64)
    of_entry = np.empty(len(values), dtype=np.int64)
    distinct = np.zeros(n_classes, dtype=np.int64)
    begin = 0
    for c in range(n_classes):
        own = members[begin : members[n_distinct + c]]
        for t in own:
            for e in range(starts[t], starts[t + 1]):
                distinct[c] += tally[values[e]] == 0
                tally[values[e]] += counts[e]
        for t in own:
            for e in range(starts[t], starts[t + 1]):
                of_entry[e] = tally[values[e]]
        for t in own:
            for e in range(starts[t], starts[t + 1]):
                tally[values[e]] = 0
        begin = members[n_distinct + c]
    return of_entry, distinct
