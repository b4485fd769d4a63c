"""Properties: the privacy, loss and utility of every single tuple."""

from __future__ import annotations

from typing import Any

import numpy as np

from pymoo_anon.comparison.vectors import PropertyVector
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.objectives.base import checked_column
from pymoo_anon.typing import Array, Floats, Ints


class Property:
    """A value for every tuple of a table under one generalization.

    A property of your own is a subclass with a `name`, a direction and the method `of_tuples`. One that reads a column
    sets `column`. Properties hold nothing of a table, so one object serves many tables.

    Attributes:
        name: Short name.
        maximize: Whether higher is better.
        words: Name in pictures, or None for `name`.
        column: The column that is read, or None.
        unit: None, or the column whose values tell apart tuples that are equal otherwise; as in `PropertyVector`.

    >>> class Crowded(Property):
    ...     name = "in a class of at least 3"
    ...     maximize = True
    ...     def of_tuples(self, classes):
    ...         class_of, sizes = released(classes)
    ...         return sizes[class_of] >= 3
    >>> import pandas as pd
    >>> from pymoo_anon.table import Generalization, Hierarchy, Microdata
    >>> table = Microdata.from_frame(pd.DataFrame({"zip": [1, 1, 1, 2]}), {"zip": Hierarchy.flat([1, 2])})
    >>> generalization = Generalization({"zip": [0, 1]}, {"zip": ["1", "2"]})
    >>> Crowded().measure(table.equivalence_classes(generalization)).expand()
    array([1., 1., 1., 0.])
    """

    name: str
    maximize: bool
    words: str | None = None
    column: Any = None
    unit: Any = None

    def measure(self, classes: EquivalenceClasses) -> PropertyVector:
        """Return the property vector of one generalization, from `Microdata.equivalence_classes`.

        Raises:
            ValueError: The classes are not of one generalization, do not have the class of each distinct tuple, or the
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
            self.of_tuples(classes), tuples, self.label, self.maximize, self.unit, self.best(tuples), words
        )

    def of_tuples(self, classes: EquivalenceClasses) -> Array:
        """Return the value of every tuple.

        Args:
            classes: The classes of one generalization, with `class_of`. `released` merges the suppressed tuples into
                one class. The arrays are read, never kept or changed.

        Returns:
            (n_distinct,) array, one value for each distinct tuple; where there is a `unit`, one for each distinct tuple
            and value of that column that occur together.
        """
        raise NotImplementedError(f"{type(self).__name__} must define of_tuples")

    def best(self, tuples: DistinctTuples) -> float | None:
        """Return the best value of any tuple, or None."""
        return None

    def check(self, tuples: DistinctTuples) -> None:
        """Check that the table has the column.

        Raises:
            ValueError: It lacks the column.
        """
        if self.column is not None:
            tuples.check_role(self.column, self)

    @property
    def label(self) -> str:
        """The name, with the column if one is read."""
        return self.name if self.column is None else f"{self.name} of {self.column}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.column is None else repr(self.column)})"


class ClassSize(Property):
    """Size of the tuple's equivalence class.

    Whole, from 1 to the number of rows; higher is better. Suppressed tuples form one class of their own. So the least
    of these sizes is k or, where fewer than k tuples are suppressed, their number.
    """

    name = "class size"
    maximize = True

    def of_tuples(self, classes: EquivalenceClasses) -> Ints:
        class_of, sizes = released(classes)
        return sizes[class_of]

    def best(self, tuples: DistinctTuples) -> float:
        return tuples.n_rows


class BreachProbability(Property):
    """1 / size of the tuple's class.

    The chance to pick the tuple's person; lower is better (Dewri et al. 2009, section 1).
    """

    name = "breach probability"
    words = "probability of a privacy breach"
    maximize = False

    def of_tuples(self, classes: EquivalenceClasses) -> Floats:
        class_of, sizes = released(classes)
        chances: Floats = (1 / sizes)[class_of]
        return chances

    def best(self, tuples: DistinctTuples) -> float:
        return 1 / tuples.n_rows


class SensitiveCount(Property):
    """Number of tuples of the class with the tuple's value of a column with a role.

    Whole, from 1, the tuple included; higher is better (Dewri et al. 2009, section 3). Tuples that differ in the column
    only may have different counts: the vector has a value for each distinct tuple and value of the column that occur
    together.
    """

    name = "sensitive count"
    words = "tuples of the class with the same value"
    maximize = True

    def __init__(self, column: Any) -> None:
        self.column = self.unit = checked_column(column)

    def of_tuples(self, classes: EquivalenceClasses) -> Ints:
        of_pairs, _ = _values_in_class(classes, self.column)
        return of_pairs

    def best(self, tuples: DistinctTuples) -> float:
        return int(tuples.totals(self.column).max())


class DistinctValues(Property):
    """Number of distinct values of a column with a role in the tuple's class.

    Whole, from 1; higher is better.
    """

    name = "distinct values"
    maximize = True

    def __init__(self, column: Any) -> None:
        self.column = checked_column(column)

    def of_tuples(self, classes: EquivalenceClasses) -> Ints:
        _, distinct = _values_in_class(classes, self.column)
        return distinct

    def best(self, tuples: DistinctTuples) -> float:
        return int(np.count_nonzero(tuples.totals(self.column)))


class TupleLoss(Property):
    """The tuple's share of the general loss metric (Iyengar 2002).

    The sum over the quasi-identifiers of (values in the group - 1) / (values in the domain - 1). From 0 to the number
    of quasi-identifiers, the loss of a suppressed tuple; lower is better.
    """

    name = "loss"
    words = "general loss of a tuple"
    maximize = False

    def of_tuples(self, classes: EquivalenceClasses) -> Floats:
        domains = np.diff(classes.tuples.offsets)
        # A domain of one value has nothing to lose: 0 / 1.
        losses = (_extents(classes) / np.maximum(domains - 1, 1)).sum(axis=1)
        losses[classes.suppressed] = len(domains)
        return _of_classes(classes, losses)

    def best(self, tuples: DistinctTuples) -> float:
        return 0


class TupleUtility(Property):
    """The tuple's remaining information (Iyengar 2002, as in section 5.5).

    The sum over the quasi-identifiers of 1 - (values in the group) / (values in the domain). From 0, the utility of a
    suppressed tuple, to less than their number; higher is better.
    """

    name = "utility"
    words = "utility of a tuple"
    maximize = True

    def of_tuples(self, classes: EquivalenceClasses) -> Floats:
        utilities = (1 - (_extents(classes) + 1) / np.diff(classes.tuples.offsets)).sum(axis=1)
        utilities[classes.suppressed] = 0
        return _of_classes(classes, utilities)

    def best(self, tuples: DistinctTuples) -> float:
        return float((1 - 1 / np.diff(tuples.offsets)).sum())


def released(classes: EquivalenceClasses) -> tuple[Ints, Ints]:
    """Merge all suppressed tuples into one class, as in a release.

    Returns:
        (n_distinct,) int64 array, the class of every distinct tuple, numbered anew: the kept classes in their order,
        then the suppressed tuples; and (n,) int64 array, the size of every class.
    """
    assert classes.class_of is not None
    (class_of,), kept = classes.class_of, classes.kept
    if kept.all():
        return class_of, classes.sizes
    # A kept class is numbered by how many kept ones stand before it, the suppressed ones by how many there are.
    numbers = np.where(kept, np.cumsum(kept) - 1, np.count_nonzero(kept))
    return numbers[class_of], np.append(classes.sizes[kept], classes.sizes[~kept].sum())


def _values_in_class(classes: EquivalenceClasses, column: Any) -> tuple[Ints, Ints]:
    own = classes.tuples.columns[column]
    class_of, sizes = released(classes)
    of_pairs, distinct = counts_in_class(class_of, len(sizes), own.starts, own.values, own.counts, own.n_values)
    return of_pairs, distinct[class_of]


def _extents(classes: EquivalenceClasses) -> Ints:
    """Return the size of each cell's group, less one. (n_classes, n_attributes) int64 array."""
    own: Ints = classes.extents[0][classes.cells]
    return own


def _of_classes(classes: EquivalenceClasses, values: Floats) -> Floats:
    assert classes.class_of is not None
    found: Floats = values[classes.class_of[0]]
    return found


def counts_in_class(
    class_of: Ints, n_classes: int, starts: Ints, values: Ints, counts: Ints, n_values: int
) -> tuple[Ints, Ints]:
    """Count each entry's value in its class, and the class's values."""
    keys = np.repeat(class_of, np.diff(starts)).astype(np.int64) * n_values + values
    found, places = np.unique(keys, return_inverse=True)
    totals = np.zeros(len(found), dtype=np.int64)
    np.add.at(totals, places, counts)
    return totals[places], np.bincount(found // n_values, minlength=n_classes)
