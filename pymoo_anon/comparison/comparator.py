"""What every comparator has, and how vectors are brought into line before they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymoo_anon.comparison.vectors import PropertyVector, finite_values

Ints = NDArray[np.int64]
Values = NDArray[np.float64]
Outcomes = NDArray[np.int8]
Vector = PropertyVector | ArrayLike

#: Verdicts by outcome: 0, 1, 2 and -1.
VERDICTS = ("equal", "better", "incomparable", "worse")


@dataclass(frozen=True, eq=False)
class Tournament:
    """Every vector against every other.

    Attributes:
        indices: (n, n) float array, the index of the vector of the row against that of the column.
        outcomes: (n, n) int8 array: 1 where the vector of the row is better than that of the column, -1 where it is
            worse, 0 where they are equal and 2 where they are incomparable.
    """

    indices: Values
    outcomes: Outcomes

    @property
    def verdicts(self) -> NDArray[np.str_]:
        """(n, n) array of "better", "worse", "equal" and "incomparable", on the vector of the row."""
        return np.array(VERDICTS)[self.outcomes]


class Comparator:
    """A way to tell which of two property vectors is better (Dewri et al. 2009, definition 3).

    Attributes:
        name: Short name.
        maximize: Whether a higher index is better.
        takes_vectors: Whether it compares vectors.
        takes_sets: Whether it compares sets of vectors, one for each property.
    """

    name: str
    maximize: bool = True
    takes_vectors: bool = True
    takes_sets: bool = False

    def index(self, d1: Any, d2: Any) -> float:
        """The index of the first vector against the second.

        Args:
            d1: A `PropertyVector` or an (N,) array.
            d2: Another one of the same property and table, or as long an array.

        Raises:
            ValueError: The two are not comparable, empty or not finite.
        """
        raise NotImplementedError(f"{type(self).__name__} must define index")

    def compare(self, d1: Any, d2: Any) -> str:
        """The verdict on the first of two vectors: "better", "worse", "equal" or "incomparable".

        Raises:
            ValueError: As `index`.
        """
        return VERDICTS[self.tournament([d1, d2]).outcomes[0, 1]]

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        """Compare every vector with every other.

        Args:
            vectors: n vectors as `index` takes them.

        Raises:
            ValueError: As `index`.
        """
        self._check(vectors)
        indices = np.array([[self.index(a, b) for b in vectors] for a in vectors], dtype=float)
        if np.isnan(indices).any():
            raise ValueError(f"index of {self!r} must be a number, got nan")
        return Tournament(indices, outcomes(indices, self.maximize))

    def shares(self, indices: Values) -> Values:
        """(n, n) float array: both indices of each pair divided by the sum of their absolute values; 0 where it is 0.

        Args:
            indices: (n, n) float array of indices.
        """
        both = np.abs(indices) + np.abs(indices.T)
        found: Values = np.divide(indices, both, out=np.zeros_like(both), where=both > 0)
        return found

    def _check(self, vectors: Sequence[Any]) -> None:
        align(vectors)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ByTournament(Comparator):
    """A comparator that plays whole tournaments; its index is that of a tournament of two."""

    def index(self, d1: Any, d2: Any) -> float:
        """The index of the first vector, or set of vectors, against the second.

        Args:
            d1: What `tournament` compares: a `PropertyVector`, an (N,) array, or a set with one for each property.
            d2: Another one of the same properties and table, or as long.

        Raises:
            ValueError: The two are not comparable, empty or not finite.
        """
        return float(self.tournament([d1, d2]).indices[0, 1])


class SetComparator(Comparator):
    """A way to tell which of two sets of property vectors is better (Dewri et al. 2009, section 5).

    `index`, `compare` and `tournament` take sets: sequences of as many vectors as there are properties, in one order.
    """

    takes_vectors = False
    takes_sets = True

    def _check(self, vectors: Sequence[Any]) -> None:
        align_sets(vectors)


@dataclass(frozen=True, eq=False)
class Aligned:
    """Vectors that can be compared.

    Attributes:
        values: (n, m) float array, one vector a row, such that higher is better.
        counts: (m,) int64 array, how many tuples each column stands for.
        vectors: The vectors as they were given.
    """

    values: Values
    counts: Ints
    vectors: Sequence[Vector]

    @property
    def property(self) -> PropertyVector | None:
        """A vector that knows its property, or None where they are plain arrays."""
        return self.vectors[0] if isinstance(self.vectors[0], PropertyVector) else None


def align(vectors: Sequence[Vector], where: str = "") -> Aligned:
    """Bring vectors of one property into line.

    Args:
        vectors: At least one.
        where: What errors add to the number of a vector.

    Raises:
        ValueError: There is none, some are of another property, table or length than the first, or one is empty or
            not finite.
    """
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
            _check_same_property(first, vector, f"d1{where}", name)
            rows.append(vector.oriented)
        else:
            rows.append(finite_values(vector, name))  # type: ignore[arg-type]
            if len(rows[-1]) != len(rows[0]):
                raise ValueError(
                    f"{name} must be as long as d1{where}, which has {len(rows[0])} values, got {len(rows[-1])}"
                )
    counts = first.counts if isinstance(first, PropertyVector) else np.ones(len(rows[0]))
    # In arrays of their own: those of a table do not change, and numba would compile everything once more for them.
    return Aligned(np.stack(rows), counts.astype(np.int64), vectors)


def align_sets(sets: Sequence[Sequence[Vector]], n: int | None = None) -> list[Aligned]:
    """Bring sets of vectors into line, property by property.

    Args:
        sets: At least one sequence of vectors, all of one length.
        n: How many vectors a set must have, or None for as many as the first has.

    Raises:
        ValueError: There is no set, one has another number of vectors, or their vectors are not comparable.
    """
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
    """Whether something is a set of at least one vector and no vector."""
    if isinstance(given, PropertyVector) or not isinstance(given, list | tuple | np.ndarray):
        return False
    return len(given) > 0 and all(isinstance(one, PropertyVector) or np.ndim(one) > 0 for one in given)


def outcomes(indices: Values, maximize: bool, tolerance: float = 0) -> Outcomes:
    """(n, n) int8 array: 1 where the index of the row is better by more than the tolerance, -1 where the column's is.

    Args:
        indices: (n, n) float array.
        maximize: Whether higher is better.
        tolerance: Non-negative difference that does not count.
    """
    over = leads(indices) > tolerance
    if not maximize:
        over = over.T
    return over.astype(np.int8) - over.T.astype(np.int8)


def leads(indices: Values) -> Values:
    """(n, n) float array: how far the index of the row is above that of the column; 0 if both are infinite."""
    equal = indices == indices.T
    return np.subtract(indices, indices.T, out=np.zeros(indices.shape), where=~equal)


def _check_same_property(first: PropertyVector, other: PropertyVector, first_name: str, name: str) -> None:
    if other.tuples is not first.tuples:
        raise ValueError(f"{first_name} and {name} must be of one table, got vectors of two Microdata objects")
    mine, theirs = (first.name, first.unit, first.maximize), (other.name, other.unit, other.maximize)
    if mine != theirs:
        raise ValueError(f"{first_name} and {name} must be of one property, got {first!r} and {other!r}")


def _kind(vector: Vector) -> str:
    return repr(vector) if isinstance(vector, PropertyVector) else f"an array of shape {np.shape(vector)}"
