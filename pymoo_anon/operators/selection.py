"""Selections of parents."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.selection import Selection

from pymoo_anon.fronts.archive import dominance_fitness


class DominanceCountTournament(Selection):  # type: ignore[misc]
    """Binary tournaments on the dominance-count fitness (Dewri et al. 2010, section 6).

    Two individuals are drawn, and the one of lower fitness becomes a parent, or the first of equal ones. Both draws may
    give the same individual: the paper draws without replacement only when it pairs the winners.

    Constraints come before fitness. The individual with the smaller violation becomes a parent, and only individuals
    without a violation count in the fitness of one another. A violation that the search still tolerates is none.
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
        F = np.array([one.F for one in pop], dtype=float).reshape(len(pop), -1)
        violation = np.zeros(len(pop))
        if problem is None or problem.has_constraints():
            violation[:] = [0.0 if one.feas else one.cv for one in pop]
        feasible = violation == 0
        fitness = np.zeros(len(pop))
        fitness[feasible] = dominance_fitness(F[feasible])
        first, second = random_state.integers(len(pop), size=(2, n_select, n_parents))
        better = (violation[second] < violation[first]) | (
            (violation[second] == violation[first]) & (fitness[second] < fitness[first])
        )
        return np.where(better, second, first)
