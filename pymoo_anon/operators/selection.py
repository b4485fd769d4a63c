"""Selections of parents."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.selection import Selection

from pymoo_anon.kernels.dominance import dominance_fitness


class DominanceCountTournament(Selection):  # type: ignore[misc]
    """Binary tournaments on the dominance-count fitness (Dewri et al. 2010, section 6).

    The fitness of an individual is the sum, over those that dominate it, of how many each of them dominates; lower is
    better. Two individuals are drawn, the one of lower fitness becomes a parent; of equal ones the first.
    """

    def _do(
        self,
        problem: Problem,
        pop: Population,
        n_select: int,
        n_parents: int,
        *args: Any,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> Any:
        fitness = dominance_fitness(np.array([one.F for one in pop], dtype=float))
        first, second = random_state.integers(len(pop), size=(2, n_select, n_parents))
        return np.where(fitness[second] < fitness[first], second, first)
