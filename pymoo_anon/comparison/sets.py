"""Comparators of sets of property vectors, one vector for each property (Dewri et al. 2009, sections 5.5 to 5.7).

Each combines the indices that comparators of vectors give for the single properties.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon.comparison.comparators import Comparator, Tournament, judged, leads
from pymoo_anon.comparison.vectors import align_sets, finite_values
from pymoo_anon.typing import Floats


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
    each = [comparators] * len(own) if isinstance(comparators, Comparator) else list(comparators)
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
    """Return the sum of (n, n) terms, rounded once, in whatever order."""
    stacked = np.stack(terms, axis=-1)
    return np.array([math.fsum(row) for row in stacked.reshape(-1, len(terms)).tolist()]).reshape(stacked.shape[:-1])
