"""Comparators of two property vectors; the three of dominance take sets of them, too."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.comparison.comparator import (
    Aligned,
    ByTournament,
    Outcomes,
    Tournament,
    Values,
    Vector,
    align,
    align_sets,
    is_set,
    outcomes,
)
from pymoo_anon.comparison.indices import coverages, distances, hypervolumes, spreads
from pymoo_anon.table.domain_values import is_number


class _Compiled(ByTournament):
    """A comparator of vectors that are brought into line."""

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        """Compare every vector with every other.

        Args:
            vectors: n vectors as `index` takes them.

        Raises:
            ValueError: As `index`.
        """
        return self._play(align(vectors))

    def _play(self, aligned: Aligned) -> Tournament:
        raise NotImplementedError


class _Unary(_Compiled):
    """A comparator whose index is that of one vector alone."""

    def index(self, d1: Any, d2: Any = None) -> float:
        """The index of the first vector.

        Args:
            d1: A `PropertyVector` or an (N,) array.
            d2: Another one, which is not read; None leaves it out.

        Raises:
            ValueError: The two are not comparable, empty or not finite.
        """
        return float(self.tournament([d1] if d2 is None else [d1, d2]).indices[0, 0])


class _Dominance(ByTournament):
    """Whatever a comparator of dominance asks, its verdict is the relation of the two, from both directions.

    The index is 1.0 where the first is so related to the second, else 0.0.

    Sets are compared by Table 4 of Dewri et al. 2009: one weakly dominates another if each of its vectors does.
    """

    takes_sets = True

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        """Compare every vector or set with every other.

        Args:
            vectors: n vectors or n sets, as `index` takes them.

        Raises:
            ValueError: As `index`.
        """
        parts = align_sets(vectors) if len(vectors) > 0 and is_set(vectors[0]) else [align(vectors)]
        weak = np.logical_and.reduce([coverages(a.values, a.counts) == a.counts.sum() for a in parts])
        relation = np.select([weak & weak.T, weak, weak.T], [0, 1, -1], default=2).astype(np.int8)
        return Tournament(self._holds(weak).astype(float), relation)

    def _holds(self, weak: NDArray[np.bool_]) -> NDArray[np.bool_]:
        raise NotImplementedError


class WeakDominance(_Dominance):
    """d1 ⪰ d2: no tuple is worse off with the first (Dewri et al. 2009, Table 4)."""

    name = "weak dominance"

    def _holds(self, weak: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return weak


class StrongDominance(_Dominance):
    """d1 ≻ d2: no tuple is worse off with the first, and one is better off (Dewri et al. 2009, Table 4)."""

    name = "strong dominance"

    def _holds(self, weak: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return weak & ~weak.T


class NonDominance(_Dominance):
    """d1 ∥ d2: some tuple is worse off with the first, and some is with the second (Dewri et al. 2009, Table 4).

    For sets: neither weakly dominates the other. Table 4 asks there for a vector of each that strongly dominates its
    counterpart, which leaves sets without any relation whose vectors of one property are themselves incomparable.
    """

    name = "non-dominance"

    def _holds(self, weak: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return ~weak & ~weak.T


class Minimum(_Unary):
    """▶min: the least value that any tuple has (Dewri et al. 2009, section 4). Higher is better.

    Of class sizes it is k, unless fewer than k tuples are suppressed: these are a class, too. Of a property that is
    better when lower it is the least of the negative values.
    """

    name = "min"

    def _play(self, aligned: Aligned) -> Tournament:
        return _of_one(aligned.values.min(axis=1), self.maximize)


class Rank(_Unary):
    """▶rank: Euclidean distance from a point of interest (Dewri et al. 2009, section 5.1). Lower is better.

    Args:
        point: The point, with the natural sign of the property: a number for all tuples, or a vector like those that
            are compared. None takes the ideal that a `PropertyVector` knows.
        tolerance: Distances that differ by no more are equal.

    Raises:
        ValueError: The tolerance is no non-negative number. On comparing: the point does not fit the vectors, or there
            is no ideal.
    """

    name = "rank"
    maximize = False

    def __init__(self, point: Vector | None = None, tolerance: float = 0) -> None:
        if not is_number(tolerance) or not 0 <= tolerance < math.inf:
            raise ValueError(f"tolerance must be a finite number of at least 0, got {tolerance!r}")
        self.point = point
        self.tolerance = tolerance

    def _play(self, aligned: Aligned) -> Tournament:
        ranks = _of_one(distances(aligned.values, aligned.counts.astype(float), self._point(aligned)), self.maximize)
        return Tournament(ranks.indices, outcomes(ranks.indices, self.maximize, self.tolerance))

    def _point(self, aligned: Aligned) -> Values:
        known, point = aligned.property, self.point
        if point is None:
            if known is None or known.ideal is None:
                what = "plain arrays have none" if known is None else f"{known.name!r} has none"
                raise ValueError(f"point must be given where the property has no ideal value: {what}")
            point = known.ideal
        if isinstance(point, float | int | np.number):
            sign = -1.0 if known is not None and not known.maximize else 1.0
            if not math.isfinite(point):
                raise ValueError(f"point must be finite, got {point!r}")
            return np.full(aligned.values.shape[1], sign * float(point))
        own: Values = align([aligned.vectors[0], point]).values[1]
        return own

    def __repr__(self) -> str:
        return f"Rank(point={self.point!r}, tolerance={self.tolerance!r})"


class Coverage(_Compiled):
    """▶cov: the share of tuples that are no worse off with the first (Dewri et al. 2009, section 5.2).

    From 0 to 1; higher is better.
    """

    name = "cov"

    def _play(self, aligned: Aligned) -> Tournament:
        indices = coverages(aligned.values, aligned.counts) / aligned.counts.sum()
        return Tournament(indices, outcomes(indices, self.maximize))


class Spread(_Compiled):
    """▶spr: by how much tuples are better off with the first, summed over those that are (section 5.3).

    In units of the property, from 0; higher is better.
    """

    name = "spr"

    def _play(self, aligned: Aligned) -> Tournament:
        indices = spreads(aligned.values, aligned.counts.astype(float))
        return Tournament(indices, outcomes(indices, self.maximize))


class Hypervolume(_Compiled):
    """▶hv: the volume of vectors that the first weakly dominates and the second does not (section 5.4).

    P_hv = (product of d1) - (product of the smaller of d1 and d2) over all tuples; the index is its natural logarithm,
    -inf where it is 0, as the products of real tables are beyond all floats. Higher is better. A value of zero makes a
    product zero. Products count as equal if they do not differ by more than the rounding of logarithms.

    Raises:
        ValueError: On comparing: a value is negative.
    """

    name = "hv"

    def volume(self, d1: Vector, d2: Vector) -> float:
        """P_hv itself.

        Args:
            d1: A `PropertyVector` or an (N,) array.
            d2: Another one of the same property and table, or as long an array.

        Raises:
            ValueError: The two are not comparable, empty, negative or not finite.
            OverflowError: It is larger than any float.
        """
        log = self.index(d1, d2)
        if log > math.log(sys.float_info.max):
            raise OverflowError(
                f"the volume must be at most {sys.float_info.max:.1e} to be a float, got e ** {log:.6g}; index() gives "
                "its logarithm, and compare() needs no more"
            )
        aligned = align([d1, d2])
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            mine, common = (np.prod(v**aligned.counts) for v in (aligned.values[0], aligned.values.min(axis=0)))
        # A product whose parts are beyond the floats while the whole is not.
        return float(mine - common) if 0 < mine < math.inf else math.exp(log)

    def shares(self, indices: Values) -> Values:
        """(n, n) float array: both volumes of each pair divided by their sum; 0 where it is 0.

        Args:
            indices: (n, n) float array of logarithms.
        """
        larger = np.maximum(indices, indices.T)
        with np.errstate(under="ignore"):
            scaled = np.exp(np.subtract(indices, larger, out=np.full(indices.shape, -np.inf), where=larger > -np.inf))
        return super().shares(scaled)

    def _play(self, aligned: Aligned) -> Tournament:
        if (aligned.values < 0).any():
            known = aligned.property
            if known is None:
                raise ValueError(f"values for a hypervolume must not be negative, got {float(aligned.values.min())!r}")
            text = f"values for a hypervolume must not be negative, got {known!r}"
            if not known.maximize:
                text += (
                    ", which is compared as its negative; take a property that is better when higher, as TupleUtility "
                    "instead of TupleLoss or ClassSize instead of BreachProbability"
                )
            raise ValueError(text)
        with np.errstate(divide="ignore"):
            logs = np.log(aligned.values)
        indices, larger = hypervolumes(aligned.values, logs, aligned.counts.astype(float))
        return Tournament(indices, larger)


def _of_one(of_vectors: Values, maximize: bool) -> Tournament:
    indices = np.repeat(of_vectors[:, np.newaxis], len(of_vectors), axis=1)
    result: Outcomes = outcomes(indices, maximize)
    return Tournament(indices, result)
