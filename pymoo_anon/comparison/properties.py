"""Properties of every tuple: privacy, loss and utility as aligned vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, ValueCounts
from pymoo_anon.engine.sums import total
from pymoo_anon.objectives.base import checked_column
from pymoo_anon.typing import Array, Floats, Ints

# Squares of such values, and sums of these squares, are finite floats.
_GREATEST_VALUE = 1e150


@dataclass(frozen=True, eq=False)
class PropertyVector:
    """The value of a property for every tuple of a table (Dewri et al. 2009, definition 1).

    Equal tuples are kept once, with their count: a vector is as long as the table has distinct tuples. Two vectors are
    comparable if they are of one property and one table. Instances do not change.

    Attributes:
        values: (m,) float array of finite values with their natural sign, at most 1e150.
        tuples: The distinct tuples that they belong to.
        name: Name of the property.
        maximize: Whether higher is better.
        unit: None for one value of each distinct tuple. The name of a column for one value of each distinct tuple and
            value of the column that occur together, in the order of `tuples.columns[unit]`.
        ideal: The best value that any tuple could have, or None where it is not known.
        words: Name in pictures.

    Raises:
        ValueError: A value is missing or not finite, or the unit is no column with a role.

    >>> import pandas as pd
    >>> from pymoo_anon.table import Hierarchy, Microdata
    >>> frame = pd.DataFrame({"sex": ["Female", "Female", "Male"]})
    >>> table = Microdata.from_frame(frame, {"sex": Hierarchy.flat(["Female", "Male"])})
    >>> vector = PropertyVector([2, 1], table.tuples, "class size", maximize=True)
    >>> vector
    PropertyVector('class size' of 3 tuples, higher is better)
    >>> vector.values.tolist(), vector.counts.tolist(), vector.expand().tolist()
    ([2.0, 1.0], [2, 1], [2.0, 2.0, 1.0])
    """

    values: Floats
    tuples: DistinctTuples
    name: str
    maximize: bool
    unit: Any = None
    ideal: float | None = None
    words: str = ""

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit not in self.tuples.columns:
            raise ValueError(
                f"unit of {self.name!r} must be a column with a role, one of {examples(list(self.tuples.columns))}, "
                f"got {self.unit!r}"
            )
        own = finite_values(self.values, f"values of {self.name!r}")
        if len(own) != len(self.counts):
            of = "distinct tuples" if self.unit is None else f"pairs of a distinct tuple and a value of {self.unit!r}"
            raise ValueError(
                f"values of {self.name!r} must be one for each of the {len(self.counts)} {of}, got {len(own)}"
            )
        own.flags.writeable = False
        object.__setattr__(self, "values", own)
        object.__setattr__(self, "words", self.words or self.name)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A pickle does not keep the flag.
        self.values.flags.writeable = False

    @property
    def counts(self) -> Ints:
        """The number of tuples (rows of the table) with each value. (m,) int64 array."""
        return self.tuples.counts if self.unit is None else self._pairs.counts

    @property
    def n_rows(self) -> int:
        """Number of tuples (rows of the table), N."""
        return self.tuples.n_rows

    @property
    def oriented(self) -> Floats:
        """The values such that higher is better. (m,) float array."""
        return self.values if self.maximize else -self.values

    @property
    def distinct_tuples(self) -> Ints:
        """The distinct tuple of each value. (m,) int64 array."""
        rows = np.arange(len(self.tuples))
        return rows if self.unit is None else np.repeat(rows, np.diff(self._pairs.starts))

    @property
    def _pairs(self) -> ValueCounts:
        return self.tuples.columns[self.unit]

    @cached_property
    def ascending(self) -> tuple[Floats, Ints]:
        """The different values in ascending order, with their counts."""
        # Values are few, as classes are: hashing them is quicker than sorting.
        places, different = pd.factorize(self.values)
        order = np.argsort(different)
        return different[order], np.bincount(places, self.counts)[order].astype(np.int64)

    def expand(self) -> Floats:
        """Return a value for each tuple, equal ones side by side. (N,) float array."""
        return np.repeat(self.values, self.counts)

    def mean(self) -> float:
        """Return the mean, P_s-avg for class sizes (section 3)."""
        return float(total(self.values.copy(), self.counts.astype(float)) / self.n_rows)

    def quantiles(self, q: ArrayLike) -> Floats:
        """Return quantiles over all N tuples, interpolated as by `numpy.quantile`.

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
        return quantiles(*self.ascending, shares)

    def __repr__(self) -> str:
        direction = "higher" if self.maximize else "lower"
        return f"PropertyVector({self.name!r} of {self.n_rows} tuples, {direction} is better)"


def quantiles(ascending: Floats, counts: Ints, shares: Floats) -> Floats:
    """Return quantiles of repeated values, interpolated as by `numpy.quantile`."""
    # Written out in a row, value i stands at the places from ends[i] - counts[i] to ends[i] - 1.
    ends = np.cumsum(counts)
    places = shares * (ends[-1] - 1)
    below = ascending[np.searchsorted(ends, np.floor(places), side="right")]
    above = ascending[np.searchsorted(ends, np.ceil(places), side="right")]
    return below + (above - below) * (places % 1)


def finite_values(values: ArrayLike, name: str) -> Floats:
    """Return a checked copy of the values. (n,) float array."""
    try:
        own = np.array(values, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a vector of numbers, got {values!r:.80}") from None
    if own.ndim != 1 or len(own) == 0:
        raise ValueError(f"{name} must be a vector of at least one number, got shape {own.shape}")
    bad = own[~(np.abs(own) <= _GREATEST_VALUE)]
    if len(bad):
        raise ValueError(f"{name} must be finite and at most {_GREATEST_VALUE:.0e}, got {examples(bad.tolist())}")
    return own


Vector = PropertyVector | ArrayLike


@dataclass(frozen=True, eq=False)
class Aligned:
    """Vectors as given, and as rows such that higher is better."""

    values: Floats
    counts: Ints
    vectors: Sequence[Vector]

    @property
    def known(self) -> PropertyVector | None:
        """The first vector, or None for plain arrays. It knows the property of all."""
        return self.vectors[0] if isinstance(self.vectors[0], PropertyVector) else None


def align(vectors: Sequence[Vector], where: str = "") -> Aligned:
    """Align vectors of one property."""
    if len(vectors) == 0:
        raise ValueError("vectors must hold at least one vector, got none")
    first = vectors[0]
    rows = []
    for number, vector in enumerate(vectors, start=1):
        name = f"d{number}{where}"
        if isinstance(vector, PropertyVector) != isinstance(first, PropertyVector):
            raise ValueError(
                f"d1{where} and {name} must both be a PropertyVector or both plain arrays, got {_kind(first)} and "
                f"{_kind(vector)}; PropertyVector.expand() makes an array of all tuples"
            )
        if isinstance(vector, PropertyVector) and isinstance(first, PropertyVector):
            if vector.tuples is not first.tuples:
                raise ValueError(f"d1{where} and {name} must be of one table, got vectors of two Microdata objects")
            if (vector.name, vector.unit, vector.maximize) != (first.name, first.unit, first.maximize):
                raise ValueError(f"d1{where} and {name} must be of one property, got {first!r} and {vector!r}")
            rows.append(vector.oriented)
        else:
            rows.append(finite_values(vector, name))  # type: ignore[arg-type]
            if len(rows[-1]) != len(rows[0]):
                raise ValueError(
                    f"{name} must be as long as d1{where}, which has {len(rows[0])} values, got {len(rows[-1])}"
                )
    counts = first.counts if isinstance(first, PropertyVector) else np.ones(len(rows[0]))
    # A table's arrays are read-only. Numba would compile every loop once more for those, so the loops get copies.
    return Aligned(np.stack(rows), counts.astype(np.int64), vectors)


def align_sets(sets: Sequence[Sequence[Vector]], n: int | None = None) -> list[Aligned]:
    """Align the vectors of all sets, property by property."""
    if len(sets) == 0:
        raise ValueError("sets must hold at least one set of vectors, got none")
    for number, one in enumerate(sets, start=1):
        if not is_set(one):
            raise ValueError(
                f"set {number} must be a sequence of vectors, one for each property, got {_kind(one)}"  # type: ignore[arg-type]
            )
        n = n or len(one)
        if len(one) != n:
            raise ValueError(f"set {number} must hold {n} vectors, one for each property, got {len(one)}")
    return [align(vectors, f" of property {p}") for p, vectors in enumerate(zip(*sets, strict=True), start=1)]


def is_set(given: Any) -> bool:
    """Tell whether something is a set of vectors."""
    if isinstance(given, PropertyVector) or not isinstance(given, list | tuple | np.ndarray):
        return False
    return len(given) > 0 and all(isinstance(one, PropertyVector) or np.ndim(one) > 0 for one in given)


def _kind(vector: Vector) -> str:
    return repr(vector) if isinstance(vector, PropertyVector) else f"an array of shape {np.shape(vector)}"


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
        return (1 / sizes)[class_of]

    def best(self, tuples: DistinctTuples) -> float:
        return 1 / tuples.n_rows


class SensitiveCount(Property):
    """Tuples of the class with the tuple's value of a column.

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
    """Distinct values of a column in the tuple's class.

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
        losses = sums_of_shares(_extents(classes), np.maximum(domains - 1, 1))
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
        domains = np.diff(classes.tuples.offsets)
        utilities = sums_of_shares(domains - 1 - _extents(classes), domains)
        utilities[classes.suppressed] = 0
        return _of_classes(classes, utilities)

    def best(self, tuples: DistinctTuples) -> float:
        domains = np.diff(tuples.offsets)
        return float(sums_of_shares(domains[np.newaxis] - 1, domains).item())


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
    """Return entries' counts and tuples' numbers of values by class."""
    own = classes.tuples.columns[column]
    class_of, sizes = released(classes)
    keys = np.repeat(class_of, np.diff(own.starts)).astype(np.int64) * own.n_values + own.values
    found, places = np.unique(keys, return_inverse=True)
    totals = np.bincount(places, own.counts).astype(np.int64)
    return totals[places], np.bincount(found // own.n_values, minlength=len(sizes))[class_of]


def _extents(classes: EquivalenceClasses) -> Ints:
    """Return the size of each cell's group, less one. (n_classes, n_attributes) int64 array."""
    return classes.extents[0][classes.cells]


def sums_of_shares(parts: Ints, wholes: Ints) -> Floats:
    """Return the sum of parts over wholes of each row, equal for equal sums. (n,) float array.

    Sums of rounded shares would differ in their last bits, and people would be better off by a rounding.
    """
    unit = lcm(*wholes.tolist())
    # Whole numbers beyond those of numpy are Python's.
    kind: Any = np.int64 if unit * len(wholes) < 2**63 else object
    found = sum(own.astype(kind) * (unit // whole) for own, whole in zip(parts.T, wholes.tolist(), strict=True))
    return np.asarray(found / unit, dtype=float)


def _of_classes(classes: EquivalenceClasses, values: Floats) -> Floats:
    assert classes.class_of is not None
    return values[classes.class_of[0]]
