"""Property vectors, one value for every tuple, and their alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import DistinctTuples, ValueCounts
from pymoo_anon.engine.sums import total
from pymoo_anon.typing import Floats, Ints

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
        """The different values in ascending order, and how many tuples have each."""
        different, places = np.unique(self.values, return_inverse=True)
        return different, np.bincount(places, self.counts).astype(np.int64)

    def expand(self) -> Floats:
        """Return a value for each tuple, equal ones side by side. (N,) float array."""
        return np.repeat(self.values, self.counts)

    def mean(self) -> float:
        """Return the mean over all tuples, P_s-avg for class sizes (section 3)."""
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
    found: Floats = below + (above - below) * (places % 1)
    return found


def finite_values(values: ArrayLike, name: str) -> Floats:
    """Return a checked copy of the values. (n,) float array."""
    try:
        own = np.array(values, dtype=float)
    except (TypeError, ValueError):
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
