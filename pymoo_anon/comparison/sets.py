"""Comparators of two sets of property vectors, by what the properties are worth to somebody."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon.comparison.comparator import (
    ByTournament,
    Comparator,
    SetComparator,
    Tournament,
    Values,
    align_sets,
    leads,
    outcomes,
)
from pymoo_anon.comparison.vectors import finite_values


class _BySingle(ByTournament, SetComparator):
    """A comparator of sets that puts together what comparators of vectors say of each property.

    Args:
        parameters: (r,) array, a number for each property.
        comparators: One comparator of vectors for all properties, or one for each of the r.
    """

    parameters: str

    def __init__(self, parameters: ArrayLike, comparators: Comparator | Sequence[Comparator]) -> None:
        self._given = finite_values(parameters, self.parameters)
        n = len(self._given)
        own = [comparators] * n if isinstance(comparators, Comparator) else list(comparators)
        for one in own:
            if not isinstance(one, Comparator) or not one.takes_vectors:
                raise TypeError(f"comparators must be comparators of vectors, got {one!r}")
        if len(own) != n:
            raise ValueError(
                f"comparators must be one for all properties or one for each of the {n} {self.parameters}, "
                f"got {len(own)}"
            )
        self.comparators = tuple(own)

    def tournament(self, vectors: Sequence[Any]) -> Tournament:
        """Compare every set with every other.

        Args:
            vectors: n sets as `index` takes them.

        Raises:
            ValueError: As `index`.
        """
        parts = align_sets(vectors, len(self.comparators))
        games = [one.tournament(part.vectors) for one, part in zip(self.comparators, parts, strict=True)]
        indices = self._combine(games)
        return Tournament(indices, outcomes(indices, self.maximize))

    def _combine(self, games: Sequence[Tournament]) -> Values:
        raise NotImplementedError

    def _signed(self, indices: Sequence[Values]) -> list[Values]:
        """Indices such that higher is better (section 5, before 5.5)."""
        return [p if one.maximize else -p for one, p in zip(self.comparators, indices, strict=True)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._given.tolist()}, {list(self.comparators)})"


class Weighted(_BySingle):
    """▶WTD: the weighted sum of the indices of the properties (Dewri et al. 2009, section 5.5). Higher is better.

    Indices that are better when lower enter negated.

    Args:
        weights: (r,) array, a weight between 0 and 1 for each property, of sum 1.
        comparators: One comparator of vectors for all properties, or one for each.
        normalize: Whether both indices of a pair are divided by the sum of their absolute values, so that properties
            of different units can be added up; of a hypervolume these are the volumes, not their logarithms.

    Raises:
        TypeError: There is no comparator of vectors for each property.
        ValueError: A weight is not between 0 and 1, their sum is not 1, or there are more or fewer comparators.
    """

    name = "WTD"
    parameters = "weights"

    def __init__(
        self, weights: ArrayLike, comparators: Comparator | Sequence[Comparator], normalize: bool = False
    ) -> None:
        super().__init__(weights, comparators)
        self.weights = self._given
        self.normalize = normalize
        if not (self.weights > 0).all() or not abs(self.weights.sum() - 1) <= 1e-9:
            raise ValueError(f"weights must be numbers above 0 and of sum 1, got {self.weights.tolist()}")

    def _combine(self, games: Sequence[Tournament]) -> Values:
        indices = [game.indices for game in games]
        if self.normalize:
            indices = [one.shares(p) for one, p in zip(self.comparators, indices, strict=True)]
        return _sums([w * p for w, p in zip(self.weights, self._signed(indices), strict=True)])

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, normalize={self.normalize})"


class Lexicographic(_BySingle):
    """▶LEX: number of the first property, from 1, in which the first set is better (section 5.6). Lower is better.

    Better is an index that is better by more than the tolerance; infinity where there is no such property.

    Args:
        tolerances: (r,) array of non-negative differences, one for each property, the most important first.
        comparators: One comparator of vectors for all properties, or one for each.

    Raises:
        TypeError: There is no comparator of vectors for each property.
        ValueError: A tolerance is negative, or there are more or fewer comparators.
    """

    name = "LEX"
    parameters = "tolerances"
    maximize = False

    def __init__(self, tolerances: ArrayLike, comparators: Comparator | Sequence[Comparator]) -> None:
        super().__init__(tolerances, comparators)
        self.tolerances = self._given
        if (self.tolerances < 0).any():
            raise ValueError(f"tolerances must not be negative, got {self.tolerances.tolist()}")

    def _combine(self, games: Sequence[Tournament]) -> Values:
        indices = np.full(games[0].indices.shape, np.inf)
        signed = self._signed([game.indices for game in games])
        for number in range(len(games), 0, -1):
            game = games[number - 1]
            # What the comparator itself calls equal differs by rounding only.
            won = (leads(signed[number - 1]) > self.tolerances[number - 1]) & (game.outcomes != 0)
            indices[won] = number
        return indices


class Goal(_BySingle):
    """▶GOAL: sum of the squared differences of the indices from their goals (section 5.7). Lower is better.

    Args:
        goals: (r,) array, the desired index of each property, with its natural sign.
        comparators: One comparator of vectors for all properties, or one for each.

    Raises:
        TypeError: There is no comparator of vectors for each property.
        ValueError: A goal is not finite, or there are more or fewer comparators.
    """

    name = "GOAL"
    parameters = "goals"
    maximize = False

    def __init__(self, goals: ArrayLike, comparators: Comparator | Sequence[Comparator]) -> None:
        super().__init__(goals, comparators)
        self.goals = self._given

    def _combine(self, games: Sequence[Tournament]) -> Values:
        return _sums([(game.indices - goal) ** 2 for game, goal in zip(games, self.goals, strict=True)])


def _sums(terms: Sequence[Values]) -> Values:
    """Sums of (n, n) float arrays, rounded once, so that they do not depend on the order of the properties."""
    stacked = np.stack(terms, axis=-1)
    return np.array([math.fsum(row) for row in stacked.reshape(-1, len(terms)).tolist()]).reshape(stacked.shape[:-1])
