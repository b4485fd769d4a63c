"""Comparators of two vectors, or of two sets of them, by an index or by dominance (Dewri et al. 2009)."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymoo_anon._messages import in_order
from pymoo_anon.comparison.properties import Aligned, Vector, align, align_sets, finite_values, is_set
from pymoo_anon.engine.sums import total
from pymoo_anon.table.domain_values import is_number
from pymoo_anon.typing import Bools, Floats, Ints

Outcomes = NDArray[np.int8]

# Two values are close if the logarithm of their ratio is below this. The difference of their logarithms is then not
# precise enough: logarithms of floats are below 746, so that it may be off by 5e-13.
_CLOSE = 1e-9

# The relative error of the logarithms of a tuple. `_log_ratios` has the proof.
_LOG_ERROR = 2.0**-50

# The relative error of two values and of their difference.
_VALUE_ERROR = 2.0**-52

#: The verdicts of the outcomes 0, 1, 2 and -1.
VERDICTS = ("equal", "better", "incomparable", "worse")


@dataclass(frozen=True, eq=False)
class Tournament:
    """Every vector against every other.

    Attributes:
        indices: (n, n) float array, the index of the vector of the row against that of the column.
        outcomes: (n, n) int8 array: 1 where the vector of the row is better, -1 where it is worse, 0 where they are
            equal and 2 where they are incomparable.
    """

    indices: Floats
    outcomes: Outcomes

    @property
    def verdicts(self) -> NDArray[np.str_]:
        """The outcomes in words: "better", "worse", "equal" and "incomparable". (n, n) array of str."""
        return np.array(VERDICTS)[self.outcomes]


class Comparator:
    """A rule for the better of two property vectors (Dewri et al. 2009, definition 3).

    A comparator of your own is a subclass with a `name`, a direction and the method `index`.

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
        """Return the index of the first vector against the second.

        Args:
            d1: A `PropertyVector` or an (N,) array; a set of them, one for each property, where sets are compared.
            d2: Another one of the same property and table, or as long an array; another such set.

        Raises:
            ValueError: The two are not comparable, empty or not finite.
        """
        return float(self.tournament([d1, d2]).indices[0, 1])

    def compare(self, d1: Any, d2: Any) -> str:
        """Return "better", "worse", "equal" or "incomparable", the verdict on the first.

        Arguments and errors are those of `index`.
        """
        return VERDICTS[self.tournament([d1, d2]).outcomes[0, 1]]

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        """Compare every vector with every other.

        Args:
            vectors: n vectors, or n sets of them, as `index` takes them.

        Raises:
            ValueError: As `index`.
        """
        if type(self).index is Comparator.index:
            raise NotImplementedError(f"{type(self).__name__} must define index")
        self._aligned(vectors)
        indices = np.array([[self.index(a, b) for b in vectors] for a in vectors], dtype=float)
        if np.isnan(indices).any():
            raise ValueError(f"index of {self!r} must be a number, got nan")
        return judged(indices, self.maximize)

    def shares(self, indices: Floats) -> Floats:
        """Return each index over the absolute sum of its pair, or 0.

        Indices of different units can then be added up.
        """
        both = np.abs(indices) + np.abs(indices.T)
        return np.divide(indices, both, out=np.zeros_like(both), where=both > 0)

    def _aligned(self, vectors: Sequence[Any]) -> list[Aligned]:
        if self.takes_sets and (not self.takes_vectors or (len(vectors) > 0 and is_set(vectors[0]))):
            return align_sets(vectors)
        return [align(vectors)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def judged(indices: Floats, maximize: bool, tolerance: float | Floats = 0) -> Tournament:
    """Return the tournament that the better index of each pair wins. The tolerance may be one for each pair."""
    above = leads(indices) > tolerance
    wins = above if maximize else above.T
    return Tournament(indices, wins.astype(np.int8) - wins.T.astype(np.int8))


def leads(indices: Floats) -> Floats:
    """Return each row less each column, 0 for equal infinities."""
    equal = indices == indices.T
    return np.subtract(indices, indices.T, out=np.zeros(indices.shape), where=~equal)


class _OfOne(Comparator):
    def index(self, d1: Any, d2: Any = None) -> float:
        """Return the index of the first vector. The second does not change it."""
        return float(self.tournament([d1] if d2 is None else [d1, d2]).indices[0, 0])


class Minimum(_OfOne):
    """▶min: the least value of any tuple (Dewri et al. 2009, section 4). Higher is better.

    Of class sizes it is k, unless fewer than k tuples are suppressed: these are a class, too. Of a property that is
    better when lower it is the least of the negated values.

    >>> Minimum().index([3, 3, 4]), Minimum().compare([3, 3, 4], [3, 7, 7])
    (3.0, 'equal')
    """

    name = "min"

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        return judged(_by_row(align(vectors).values.min(axis=1)), self.maximize)


class Rank(_OfOne):
    """▶rank: Euclidean distance from a point of interest (Dewri et al. 2009, section 5.1).

    Lower is better.

    Args:
        point: The point, with the natural sign of the property: a number for all tuples, or a vector like the compared
            ones. None takes the ideal of a `PropertyVector`.
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

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        aligned = align(vectors)
        squares, counts = (aligned.values - self._point(aligned)) ** 2, aligned.counts.astype(float)
        found = np.sqrt([total(own, counts) for own in squares])
        return judged(_by_row(found), self.maximize, self.tolerance)

    def _point(self, aligned: Aligned) -> Floats:
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
        return align([aligned.vectors[0], point]).values[1]

    def __repr__(self) -> str:
        return f"Rank(point={self.point!r}, tolerance={self.tolerance!r})"


class Coverage(Comparator):
    """▶cov: the share of tuples no worse off with the first.

    From 0 to 1; higher is better (Dewri et al. 2009, section 5.2). N (1 - P_cov(d2, d1)) tuples are better off with the
    first, its P_binary of section 3.

    >>> Coverage().index([2, 2, 3, 4, 5], [3, 2, 4, 2, 3])
    0.6
    >>> Coverage().compare([3, 7, 7], [3, 3, 4])
    'better'
    """

    name = "cov"

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        aligned = align(vectors)
        return judged(_n_covered(aligned) / aligned.counts.sum(), self.maximize)


class Spread(Comparator):
    """▶spr: the gains of tuples better off with the first.

    In units of the property, summed up, from 0; higher is better (Dewri et al. 2009, section 5.3). Gains are equal if
    they differ by no more than the rounding of the values, where these are not whole.

    >>> Spread().index([2, 2, 3, 4, 5], [3, 2, 4, 2, 3]), Spread().index([3, 2, 4, 2, 3], [2, 2, 3, 4, 5])
    (4.0, 2.0)
    """

    name = "spr"

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        aligned = align(vectors)
        values, counts = aligned.values, aligned.counts.astype(float)
        gained = [[total(np.maximum(own - other, 0), counts) for other in values] for own in values]
        # A value that is not whole is off by 2^-53 of itself, and so is a difference.
        sizes = np.abs(values) @ counts * (values % 1).any()
        return judged(np.array(gained), self.maximize, _VALUE_ERROR * (sizes[:, np.newaxis] + sizes))


class Hypervolume(Comparator):
    """▶hv: the volume that the first dominates alone (Dewri et al. 2009, section 5.4).

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
        """Return P_hv itself.

        Raises:
            ValueError: As `index`.
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

    def shares(self, indices: Floats) -> Floats:
        # The larger volume of each pair counts as 1, so that none is beyond the floats.
        larger = np.maximum(indices, indices.T)
        with np.errstate(under="ignore"):
            scaled = np.exp(np.subtract(indices, larger, out=np.full(indices.shape, -np.inf), where=larger > -np.inf))
        return super().shares(scaled)

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        aligned = align(vectors)
        _check_not_negative(aligned)
        values, counts = aligned.values, aligned.counts.astype(float)
        # The logarithm of each product: -inf where a value is 0.
        logs = np.log(np.where(values > 0, values, 1.0))
        products = np.array([total(own, counts) for own in logs])
        products[(values == 0).any(axis=1)] = -np.inf
        # A product of zero has no volume. The common part is zero, too, so that the other volume is whole.
        indices, outcomes = _by_row(products), np.sign(leads(_by_row(products))).astype(np.int8)
        # No vector has a volume beyond itself.
        np.fill_diagonal(indices, -np.inf)
        for i, j in combinations(np.flatnonzero(products > -np.inf), 2):
            above, below, error = _log_ratios(values[[i, j]], logs[[i, j]], counts)
            with np.errstate(divide="ignore"):
                indices[i, j] = products[i] + np.log(-np.expm1(-above))
                indices[j, i] = products[j] + np.log(-np.expm1(-below))
            outcomes[i, j] = (above - below > error) - (below - above > error)
            outcomes[j, i] = -outcomes[i, j]
        return Tournament(indices, outcomes)


def _by_row(of_vectors: Floats) -> Floats:
    return np.repeat(of_vectors[:, np.newaxis], len(of_vectors), axis=1)


def _n_covered(aligned: Aligned) -> Ints:
    """Count the tuples with vector i at least vector j. (n, n) int64 array."""
    return np.array([(own >= aligned.values) @ aligned.counts for own in aligned.values])


def _log_ratios(values: Floats, logs: Floats, counts: Floats) -> tuple[float, float, float]:
    """Return the logarithmic distance of two positive products.

    With A the product of a, and C that of the smaller values of a and b, log(A / C) is the sum of log(a / b) where a is
    above b. So A - C = A (1 - C / A) has the logarithm log(A) + log(1 - exp(-that sum)), without any product.

    The product of a is the larger one if `above - below` is positive. That is certain beyond `error`:

    - A logarithm is off by at most one unit in its last place, 2^-52 of it, and their difference by 2^-53 of itself. So
      a ratio is off by at most 1.5 * 2^-52 of |log a| + |log b|, which is never smaller than the ratio.
    - Close values differ without a rounding error (Sterbenz). Their quotient is off by 2^-53 of it and `log1p` by
      2^-52, so the ratio is off by 1.5 * 2^-52 of itself.
    - The sums are compensated: they are off by 2^-53 of their value, as is their difference. A count of 2^26 or more
      adds 2^-53 of its product.

    In all this is at most 3 * 2^-52 of the sizes `off`, added up over the tuples. `error` is 4 * 2^-52 of them; the
    rest pays for the rounding of `error` itself.
    """
    ratio, off = logs[0] - logs[1], np.abs(logs).sum(axis=0)
    close = np.abs(ratio) < _CLOSE
    a, b = values[:, close]
    ratio[close] = np.log1p((a - b) / b)
    off[close] = np.abs(ratio[close])
    above, below = (total(np.maximum(own, 0), counts) for own in (ratio, -ratio))
    return above, below, _LOG_ERROR * float((off * counts).sum())


def _check_not_negative(aligned: Aligned) -> None:
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


class Dominance(Comparator):
    """d1 ⪰ d2: no tuple is worse off with the first (Dewri et al. 2009, Table 4).

    The index is 1.0 where that holds, and 0.0 elsewhere. The verdict looks from both directions: "better" is the
    paper's strong dominance, "incomparable" its non-dominance. A set dominates another if each of its vectors does.
    Sets with incomparable vectors, which the paper leaves open, are incomparable. No number of a vector alone takes its
    place: N tuples need N of them (theorem 1).

    >>> Dominance().index([3, 3, 4], [3, 3, 4]), Dominance().compare([3, 3, 4], [3, 3, 4])
    (1.0, 'equal')
    >>> Dominance().compare([3, 3, 4], [3, 4, 3])
    'incomparable'
    """

    name = "dominance"
    takes_sets = True

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        # A vector dominates another if it covers it in all tuples.
        covers = [_n_covered(part) == part.counts.sum() for part in self._aligned(vectors)]
        weak: Bools = np.logical_and.reduce(covers)
        outcomes = np.select([weak & weak.T, weak, weak.T], [0, 1, -1], default=2)
        return Tournament(weak.astype(float), outcomes.astype(np.int8))


class SetComparator(Comparator):
    """A rule for the better of two sets of property vectors (Dewri et al. 2009, section 5).

    `index`, `compare` and `tournament` take sets: sequences of as many vectors as there are properties, in one order. A
    comparator of your own is a subclass with a `name`, a direction and the method `index`. Those of the paper take one
    comparator of vectors for all properties, or a sequence of one for each; ValueError and TypeError refuse others.
    """

    takes_vectors = False
    takes_sets = True


class Weighted(SetComparator):
    """▶WTD: the weighted sum of the indices of the properties (Dewri et al. 2009, section 5.5).

    Higher is better. Indices that are better when lower enter negated.

    Args:
        weights: (r,) array, a weight for each property, above 0 and of sum 1.
        comparators: As `SetComparator` says.
        normalize: Whether both indices of a pair are divided by the sum of their absolute values, so that properties of
            different units can be added up; of a hypervolume these are the volumes, not their logarithms.

    Raises:
        ValueError: A weight is not above 0, their sum is not 1.

    >>> from pymoo_anon.comparison import Coverage
    >>> Weighted([0.75, 0.25], Coverage()).index([[3, 3, 4], [1, 1, 1]], [[3, 7, 7], [2, 2, 1]])
    0.3333333333333333
    """

    name = "WTD"

    def __init__(
        self, weights: ArrayLike, comparators: Comparator | Sequence[Comparator], normalize: bool = False
    ) -> None:
        self.weights, self.comparators = _of_properties("weights", weights, comparators)
        if (self.weights <= 0).any() or not math.isclose(math.fsum(self.weights), 1, abs_tol=1e-9):
            raise ValueError(f"weights must be numbers above 0 and of sum 1, got {self.weights.tolist()}")
        self.normalize = normalize

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        terms = []
        for weight, one, game in zip(self.weights, self.comparators, _games(self.comparators, vectors), strict=True):
            indices = one.shares(game.indices) if self.normalize else game.indices
            terms.append(weight * _higher_is_better(one, indices))
        return judged(_sums(terms), self.maximize)

    def __repr__(self) -> str:
        return f"Weighted({self.weights.tolist()}, {list(self.comparators)}, normalize={self.normalize})"


class Lexicographic(SetComparator):
    """▶LEX: number of the first property with a better first set.

    It counts from 1, and lower is better (Dewri et al. 2009, section 5.6). The first set is better in a property if its
    index is better by more than the tolerance. The number is infinite where there is no such property.

    Args:
        tolerances: (r,) array of non-negative differences, one for each property, the most important first.
        comparators: As `SetComparator` says.

    Raises:
        ValueError: A tolerance is negative.

    >>> from pymoo_anon.comparison import Minimum
    >>> Lexicographic([1, 0], Minimum()).index([[3, 3, 4], [2, 2, 1]], [[2, 7, 7], [0, 2, 1]])
    2.0
    """

    name = "LEX"
    maximize = False

    def __init__(self, tolerances: ArrayLike, comparators: Comparator | Sequence[Comparator]) -> None:
        self.tolerances, self.comparators = _of_properties("tolerances", tolerances, comparators)
        if (self.tolerances < 0).any():
            raise ValueError(f"tolerances must not be negative, got {self.tolerances.tolist()}")

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        games = _games(self.comparators, vectors)
        first = np.full(games[0].indices.shape, np.inf)
        # From the last property to the first: an earlier one overwrites a later one.
        for number in range(len(games), 0, -1):
            one, game = self.comparators[number - 1], games[number - 1]
            lead = leads(_higher_is_better(one, game.indices))
            # Indices of vectors that the comparator calls equal may differ by a rounding.
            first[(lead > self.tolerances[number - 1]) & (game.outcomes != 0)] = number
        return judged(first, self.maximize)

    def __repr__(self) -> str:
        return f"Lexicographic({self.tolerances.tolist()}, {list(self.comparators)})"


class Goal(SetComparator):
    """▶GOAL: squared distance of the indices from their goals.

    Lower is better (Dewri et al. 2009, section 5.7).

    Args:
        goals: (r,) array, the desired index of each property, with its natural sign.
        comparators: As `SetComparator` says.

    Raises:
        ValueError: A goal is not finite.

    >>> from pymoo_anon.comparison import Minimum
    >>> Goal([5, 2], Minimum()).index([[3, 3, 4], [2, 2, 1]], [[2, 7, 7], [0, 2, 1]])
    5.0
    """

    name = "GOAL"
    maximize = False

    def __init__(self, goals: ArrayLike, comparators: Comparator | Sequence[Comparator]) -> None:
        self.goals, self.comparators = _of_properties("goals", goals, comparators)

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        games = _games(self.comparators, vectors)
        terms = [(game.indices - goal) ** 2 for game, goal in zip(games, self.goals, strict=True)]
        return judged(_sums(terms), self.maximize)

    def __repr__(self) -> str:
        return f"Goal({self.goals.tolist()}, {list(self.comparators)})"


def _of_properties(
    name: str, numbers: ArrayLike, comparators: Comparator | Sequence[Comparator]
) -> tuple[Floats, tuple[Comparator, ...]]:
    own = finite_values(numbers, name)
    each = [comparators] * len(own) if isinstance(comparators, Comparator) else in_order("comparators", comparators)
    for one in each:
        if not isinstance(one, Comparator) or not one.takes_vectors:
            raise TypeError(f"comparators must be comparators of vectors, got {one!r}")
    if len(each) != len(own):
        raise ValueError(
            f"comparators must be one for all properties or one for each of the {len(own)} {name}, got {len(each)}"
        )
    return own, tuple(each)


def _games(comparators: Sequence[Comparator], sets: Sequence[Any]) -> list[Tournament]:
    parts = align_sets(sets, len(comparators))
    return [one.tournament(part.vectors) for one, part in zip(comparators, parts, strict=True)]


def _higher_is_better(comparator: Comparator, indices: Floats) -> Floats:
    return indices if comparator.maximize else -indices


def _sums(terms: Sequence[Floats]) -> Floats:
    """Return sums rounded once, in any order."""
    stacked = np.stack(terms, axis=-1)
    return np.array([math.fsum(row) for row in stacked.reshape(-1, len(terms)).tolist()]).reshape(stacked.shape[:-1])
