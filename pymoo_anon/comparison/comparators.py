"""Comparators of two property vectors by an index (Dewri et al. 2009, section 5, where they are called ▶-better)."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from pymoo_anon.comparison.alignment import Aligned, Vector, align
from pymoo_anon.comparison.base import Comparator, Tournament, judged
from pymoo_anon.comparison.indices import coverages, distances, hypervolumes, spreads
from pymoo_anon.comparison.vectors import Values
from pymoo_anon.table.domain_values import is_number


class Minimum(Comparator):
    """▶min: the least value that any tuple has (Dewri et al. 2009, section 4). Higher is better.

    Of class sizes it is k, unless fewer than k tuples are suppressed: these are a class, too. Of a property that is
    better when lower it is the least of the negated values.

    >>> Minimum().index([3, 3, 4]), Minimum().compare([3, 3, 4], [3, 7, 7])
    (3.0, 'equal')
    """

    name = "min"

    def index(self, d1: Any, d2: Any = None) -> float:
        """The least value of the first vector.

        Args:
            d1: A `PropertyVector` or an (N,) array.
            d2: Another one, which does not change the index; it may be left out.

        Raises:
            ValueError: The two are not comparable, empty or not finite.
        """
        return _index_of_one(self, d1, d2)

    def _play(self, vectors: Sequence[Any]) -> Tournament:
        return judged(_by_row(align(vectors).values.min(axis=1)), self.maximize)


class Rank(Comparator):
    """▶rank: Euclidean distance from a point of interest (Dewri et al. 2009, section 5.1). Lower is better.

    Args:
        point: The point, with the natural sign of the property: a number for all tuples, or a vector like those that
            are compared. None takes the ideal that a `PropertyVector` knows.
        tolerance: Distances that differ by no more are equal.

    Raises:
        ValueError: The tolerance is no non-negative number. On comparing: the point does not fit the vectors, or there
            is no ideal.

    >>> Rank(point=4).index([4, 1, 0])
    5.0
    >>> Rank(point=4).compare([4, 1, 0], [4, 4, 0])
    'worse'
    """

    name = "rank"
    maximize = False

    def __init__(self, point: Vector | None = None, tolerance: float = 0) -> None:
        if not is_number(tolerance) or not 0 <= tolerance < math.inf:
            raise ValueError(f"tolerance must be a finite number of at least 0, got {tolerance!r}")
        self.point = point
        self.tolerance = tolerance

    def index(self, d1: Any, d2: Any = None) -> float:
        """The distance of the first vector from the point.

        Args:
            d1: A `PropertyVector` or an (N,) array.
            d2: Another one, which does not change the index; it may be left out.

        Raises:
            ValueError: The two are not comparable, empty or not finite; the point does not fit them, or there is none.
        """
        return _index_of_one(self, d1, d2)

    def _play(self, vectors: Sequence[Any]) -> Tournament:
        aligned = align(vectors)
        found = distances(aligned.values, aligned.counts.astype(float), self._point(aligned))
        return judged(_by_row(found), self.maximize, self.tolerance)

    def _point(self, aligned: Aligned) -> Values:
        """(m,) float array: the point, such that higher is better."""
        known, point = aligned.known, self.point
        if point is None:
            if known is None or known.ideal is None:
                what = "plain arrays have none" if known is None else f"{known.name!r} has none"
                raise ValueError(f"point must be given where the property has no ideal value: {what}")
            point = known.ideal
        if isinstance(point, float | int | np.number):
            if not math.isfinite(point):
                raise ValueError(f"point must be finite, got {point!r}")
            higher_is_better = known is None or known.maximize
            return np.full(aligned.values.shape[1], float(point) if higher_is_better else -float(point))
        own: Values = align([aligned.vectors[0], point]).values[1]
        return own

    def __repr__(self) -> str:
        return f"Rank(point={self.point!r}, tolerance={self.tolerance!r})"


class Gainers(Comparator):
    """P_binary: how many tuples are better off with the first (Dewri et al. 2009, section 3). Higher is better.

    These are the tuples in which the second does not cover the first: P_binary(d1, d2) = N (1 - P_cov(d2, d1)). So its
    verdicts are those of `Coverage`, and its indices are numbers of people.

    >>> Gainers().index([3, 7, 7], [3, 3, 4]), Gainers().index([3, 3, 4], [3, 7, 7])
    (2.0, 0.0)
    """

    name = "gainers"

    def _play(self, vectors: Sequence[Any]) -> Tournament:
        aligned = align(vectors)
        better_off = aligned.counts.sum() - coverages(aligned.values, aligned.counts).T
        return judged(better_off.astype(float), self.maximize)


class Coverage(Comparator):
    """▶cov: the share of tuples that are no worse off with the first (Dewri et al. 2009, section 5.2).

    From 0 to 1; higher is better.

    >>> Coverage().index([2, 2, 3, 4, 5], [3, 2, 4, 2, 3])
    0.6
    >>> Coverage().compare([3, 7, 7], [3, 3, 4])
    'better'
    """

    name = "cov"

    def _play(self, vectors: Sequence[Any]) -> Tournament:
        aligned = align(vectors)
        return judged(coverages(aligned.values, aligned.counts) / aligned.counts.sum(), self.maximize)


class Spread(Comparator):
    """▶spr: by how much tuples are better off with the first, summed over those that are (section 5.3).

    In units of the property, from 0; higher is better.

    >>> Spread().index([2, 2, 3, 4, 5], [3, 2, 4, 2, 3]), Spread().index([3, 2, 4, 2, 3], [2, 2, 3, 4, 5])
    (4.0, 2.0)
    """

    name = "spr"

    def _play(self, vectors: Sequence[Any]) -> Tournament:
        aligned = align(vectors)
        return judged(spreads(aligned.values, aligned.counts.astype(float)), self.maximize)


class Hypervolume(Comparator):
    """▶hv: the volume of vectors that the first weakly dominates and the second does not (section 5.4).

    P_hv = (product of d1) - (product of the smaller of d1 and d2) over all tuples. Products of real tables are beyond
    all floats, so the index is the natural logarithm of P_hv, -inf where it is 0. Higher is better. A value of zero
    makes a product zero. Products are equal if they differ by no more than the rounding of their logarithms.

    Raises:
        ValueError: On comparing: a value is negative.

    >>> Hypervolume().compare([3, 3, 3, 5, 5, 5, 5, 5], [4] * 8)
    'better'
    >>> Hypervolume().volume([2, 3], [3, 1])
    4.0
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
        found = math.exp(log)
        whole = not (align([d1, d2]).values % 1).any()
        # The volume of whole numbers is whole: an error of the logarithm below one half is none.
        return float(round(found)) if whole else found

    def shares(self, indices: Values) -> Values:
        """Both volumes of each pair as shares of their sum.

        Args:
            indices: (n, n) float array of logarithms.

        Returns:
            (n, n) float array; 0 where both volumes are 0.
        """
        # The larger volume of each pair counts as 1, so that none is beyond the floats.
        larger = np.maximum(indices, indices.T)
        with np.errstate(under="ignore"):
            scaled = np.exp(np.subtract(indices, larger, out=np.full(indices.shape, -np.inf), where=larger > -np.inf))
        return super().shares(scaled)

    def _play(self, vectors: Sequence[Any]) -> Tournament:
        aligned = align(vectors)
        _check_not_negative(aligned)
        with np.errstate(divide="ignore"):
            logs = np.log(aligned.values)
        return Tournament(*hypervolumes(aligned.values, logs, aligned.counts.astype(float)))


def _index_of_one(comparator: Comparator, d1: Any, d2: Any) -> float:
    """The index of a vector; a second one, which may be None, has to be comparable."""
    return float(comparator.tournament([d1] if d2 is None else [d1, d2]).indices[0, 0])


def _by_row(of_vectors: Values) -> Values:
    """(n, n) float array: an index of one vector alone, the same against every other."""
    return np.repeat(of_vectors[:, np.newaxis], len(of_vectors), axis=1)


def _check_not_negative(aligned: Aligned) -> None:
    """Refuse vectors that enclose no volume above zero."""
    if not (aligned.values < 0).any():
        return
    known = aligned.known
    text = f"values for a hypervolume must not be negative, got {known or float(aligned.values.min())!r}"
    if known is not None and not known.maximize:
        text += (
            ", which is compared as its negative; take a property that is better when higher, as TupleUtility "
            "instead of TupleLoss or ClassSize instead of BreachProbability"
        )
    raise ValueError(text)
