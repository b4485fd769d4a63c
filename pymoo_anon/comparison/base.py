"""What every comparator has, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.comparison.alignment import Aligned, align, align_sets, is_set
from pymoo_anon.comparison.vectors import Values

Outcomes = NDArray[np.int8]

#: The verdicts of the outcomes 0, 1, 2 and -1.
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
        """(n, n) array of "better", "worse", "equal" and "incomparable": what holds of the vector of the row."""
        return np.array(VERDICTS)[self.outcomes]


class Comparator:
    """A way to tell which of two property vectors is better (Dewri et al. 2009, definition 3).

    A comparator of one's own is a subclass with a `name`, a direction and the method `index`.

    Attributes:
        name: Short name.
        maximize: Whether a higher index is better.
        takes_vectors: Whether it compares vectors.
        takes_sets: Whether it compares sets of vectors, one for each property.

    >>> class Range(Comparator):
    ...     name = "range"
    ...     maximize = False
    ...     def index(self, d1, d2):
    ...         return max(d1) - min(d1)
    >>> Range().compare([3, 3, 4], [2, 7, 7])
    'better'
    """

    name: str
    maximize: bool = True
    takes_vectors: bool = True
    takes_sets: bool = False

    def index(self, d1: Any, d2: Any) -> float:
        """The index of the first vector against the second.

        Args:
            d1: A `PropertyVector` or an (N,) array; a set of them, one for each property, where sets are compared.
            d2: Another one of the same property and table, or as long an array; another such set.

        Raises:
            ValueError: The two are not comparable, empty or not finite.
        """
        return float(self._play([d1, d2]).indices[0, 1])

    def compare(self, d1: Any, d2: Any) -> str:
        """The verdict on the first of two vectors: "better", "worse", "equal" or "incomparable".

        Args:
            d1: As in `index`.
            d2: As in `index`.

        Raises:
            ValueError: As `index`.
        """
        return VERDICTS[self._play([d1, d2]).outcomes[0, 1]]

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        """Compare every vector with every other.

        Args:
            vectors: n vectors, or n sets of them, as `index` takes them.

        Raises:
            ValueError: As `index`.
        """
        return self._play(vectors)

    def shares(self, indices: Values) -> Values:
        """Both indices of each pair as shares of their sum, so that indices of different units can be added up.

        Args:
            indices: (n, n) float array of indices.

        Returns:
            (n, n) float array: each index divided by the sum of the absolute values of its pair; 0 where that is 0.
        """
        both = np.abs(indices) + np.abs(indices.T)
        found: Values = np.divide(indices, both, out=np.zeros_like(both), where=both > 0)
        return found

    def _play(self, vectors: Sequence[Any]) -> Tournament:
        """Compare every vector with every other, here by one call of `index` for each pair.

        A comparator that defines this in place of `index` reads all vectors at once.
        """
        if type(self).index is Comparator.index:
            raise NotImplementedError(f"{type(self).__name__} must define index")
        self._aligned(vectors)
        indices = np.array([[self.index(a, b) for b in vectors] for a in vectors], dtype=float)
        if np.isnan(indices).any():
            raise ValueError(f"index of {self!r} must be a number, got nan")
        return judged(indices, self.maximize)

    def _aligned(self, vectors: Sequence[Any]) -> list[Aligned]:
        """Vectors in line: one part for each property, and a single one where vectors and not sets are compared."""
        if self.takes_sets and (not self.takes_vectors or (len(vectors) > 0 and is_set(vectors[0]))):
            return align_sets(vectors)
        return [align(vectors)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def judged(indices: Values, maximize: bool, tolerance: float = 0) -> Tournament:
    """The tournament that the better index of each pair wins."""
    above = leads(indices) > tolerance
    wins = above if maximize else above.T
    return Tournament(indices, wins.astype(np.int8) - wins.T.astype(np.int8))


def leads(indices: Values) -> Values:
    """(n, n) float array: the index of the row less that of the column; 0 where both are the same infinity."""
    equal = indices == indices.T
    return np.subtract(indices, indices.T, out=np.zeros(indices.shape), where=~equal)
