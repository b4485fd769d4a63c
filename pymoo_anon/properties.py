"""Properties: what an anonymization is worth to every single tuple, as property vectors (Dewri et al. 2009, section 3).

A property of one's own is a subclass of `Property` with a `name`, a direction, and one method, `values`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymoo_anon._messages import examples
from pymoo_anon.equivalence import DistinctTuples, EquivalenceClasses
from pymoo_anon.kernels.grouping import group_extents
from pymoo_anon.kernels.vectors import counts_in_class, total

Ints = NDArray[np.int64]
Values = NDArray[np.float64]

# Sums of squares of such values are finite.
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class PropertyVector:
    """What every tuple of a table has of a property (Dewri et al. 2009, definition 1).

    Equal tuples are kept once, with their count: a vector is as long as the table has distinct tuples, whatever the
    number of rows. Vectors are comparable where they are of one property and one table. Instances do not change.

    Attributes:
        values: (m,) float array of finite values with their natural sign.
        table: The distinct tuples that they belong to.
        name: Name of the property.
        maximize: Whether higher is better.
        unit: None where there is one value for each distinct tuple. A column's name where tuples that are equal but for
            that column differ: then there is one for each distinct tuple and value of the column that occur together,
            in the order of `table.columns[unit]`.
        ideal: The best value that any tuple could have, or None where nobody knows.
        words: What a picture calls the property.

    Raises:
        ValueError: There is not one value for each distinct tuple or entry, or one is not finite or above 1e150.
    """

    values: Values
    table: DistinctTuples
    name: str
    maximize: bool
    unit: str | None = None
    ideal: float | None = None
    words: str = ""

    def __post_init__(self) -> None:
        own = finite_values(self.values, f"values of {self.name!r}")
        if len(own) != len(self.counts):
            of = "distinct tuples" if self.unit is None else f"pairs of a distinct tuple and a value of {self.unit!r}"
            raise ValueError(
                f"values of {self.name!r} must be one for each of the {len(self.counts)} {of}, got {len(own)}"
            )
        own.flags.writeable = False
        object.__setattr__(self, "values", own)
        object.__setattr__(self, "words", self.words or self.name)

    @property
    def counts(self) -> Ints:
        """(m,) int64 array: how many tuples (rows of the table) have each value."""
        return self.table.counts if self.unit is None else self.table.columns[self.unit].counts

    @property
    def n_rows(self) -> int:
        """Number of tuples (rows of the table), N."""
        return self.table.n_rows

    @property
    def oriented(self) -> Values:
        """(m,) float array of the values such that higher is better: the negative ones of what is better when lower."""
        return self.values if self.maximize else -self.values

    @property
    def distinct_tuples(self) -> Ints:
        """(m,) int64 array: the distinct tuple that each value belongs to."""
        if self.unit is None:
            return np.arange(len(self.table))
        return np.repeat(np.arange(len(self.table)), np.diff(self.table.columns[self.unit].starts))

    def expand(self) -> Values:
        """(N,) float array, a value for each tuple, equal ones side by side, in the order of the distinct tuples."""
        return np.repeat(self.values, self.counts)

    def mean(self) -> float:
        """Mean over all tuples."""
        return float(total(self.values.copy(), self.counts.astype(float)) / self.n_rows)

    def quantiles(self, q: ArrayLike) -> Values:
        """Values that shares of the tuples do not exceed, as `numpy.quantile` finds them among all N.

        Args:
            q: (n,) array of shares from 0 to 1.

        Returns:
            (n,) float array.

        Raises:
            ValueError: A share is not from 0 to 1.
        """
        shares = np.atleast_1d(np.asarray(q, dtype=float))
        if not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError(f"q must be shares from 0 to 1, got {q!r}")
        order = np.argsort(self.values)
        ascending, last = self.values[order], np.cumsum(self.counts[order])
        places = shares * (self.n_rows - 1)
        below = ascending[np.searchsorted(last, np.floor(places), side="right")]
        above = ascending[np.searchsorted(last, np.ceil(places), side="right")]
        found: Values = below + (above - below) * (places % 1)
        return found

    def __repr__(self) -> str:
        direction = "higher" if self.maximize else "lower"
        return f"PropertyVector({self.name!r} of {self.n_rows} tuples, {direction} is better)"


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
        table = classes.table
        self.check(table)
        words = self.label.replace(self.name, self.words or self.name, 1)
        return PropertyVector(
            self.values(classes), table, self.label, self.maximize, self.unit, self.ideal(table), words
        )

    def values(self, classes: EquivalenceClasses) -> NDArray[Any]:
        """(n_distinct,) array: the value of every distinct tuple.

        Args:
            classes: The classes of one generalization, with `class_of`. `released` tells who is in one class once the
                suppressed tuples are one. The arrays are read, never kept or changed.
        """
        raise NotImplementedError(f"{type(self).__name__} must define values")

    def ideal(self, table: DistinctTuples) -> float | None:
        """The best value that any tuple of a table could have, or None where nobody knows."""
        return None

    def check(self, table: DistinctTuples) -> None:
        """Refuse a table that this property cannot measure.

        Raises:
            ValueError: It lacks the column.
        """
        if self.column is not None and self.column not in table.columns:
            raise ValueError(
                f"{self!r} reads column {self.column!r}, which has no role in the table; "
                f"columns with a role: {examples(list(table.columns))}"
            )

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
        own = classes.table.columns[self.column]
        class_of, sizes = released(classes)
        of_entry, distinct = counts_in_class(class_of, len(sizes), own.starts, own.values, own.counts, own.n_values)
        return of_entry, distinct[class_of]

    def _totals(self, table: DistinctTuples) -> Ints:
        own = table.columns[self.column]
        return np.bincount(own.values, own.counts, own.n_values).astype(np.int64)


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

    def ideal(self, table: DistinctTuples) -> float:
        """The number of rows."""
        return table.n_rows


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

    def ideal(self, table: DistinctTuples) -> float:
        """1 / number of rows."""
        return 1 / table.n_rows


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

    def ideal(self, table: DistinctTuples) -> float:
        """How often the most frequent value occurs in the table."""
        return int(self._totals(table).max())


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

    def ideal(self, table: DistinctTuples) -> float:
        """The number of values that occur in the table."""
        return int(np.count_nonzero(self._totals(table)))


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
        domains = np.diff(classes.table.offsets)
        losses = (_cells(classes) / np.maximum(domains - 1, 1)).sum(axis=1)
        losses[classes.suppressed] = len(domains)
        return _of_tuples(classes, losses)

    def ideal(self, table: DistinctTuples) -> float:
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
        utilities = (1 - (_cells(classes) + 1) / np.diff(classes.table.offsets)).sum(axis=1)
        utilities[classes.suppressed] = 0
        return _of_tuples(classes, utilities)

    def ideal(self, table: DistinctTuples) -> float:
        """What a tuple has that is not generalized."""
        return float((1 - 1 / np.diff(table.offsets)).sum())


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


def finite_values(values: ArrayLike, name: str) -> Values:
    """(n,) float array, a copy of the values.

    Raises:
        ValueError: They are no vector, there are none, or one is not finite or above 1e150.
    """
    try:
        own = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a vector of numbers, got {values!r:.80}") from None
    if own.ndim != 1 or len(own) == 0:
        raise ValueError(f"{name} must be a vector of at least one number, got shape {own.shape}")
    bad = own[~(np.abs(own) <= _LARGEST)]
    if len(bad):
        raise ValueError(f"{name} must be finite and at most {_LARGEST:.0e}, got {examples(bad.tolist())}")
    return own


def _cells(classes: EquivalenceClasses) -> Ints:
    """(n_classes, n_attributes) int64 array: the number of domain values in each cell's group, less one."""
    table = classes.table
    extents = group_extents(classes.maps, table.offsets)[0]
    cells: Ints = extents[table.offsets[:-1] + table.codes[classes.representatives]]
    return cells


def _of_tuples(classes: EquivalenceClasses, of_classes: Values) -> Values:
    assert classes.class_of is not None
    found: Values = of_classes[classes.class_of[0]]
    return found
