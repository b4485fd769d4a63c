"""Selections of parents."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.selection import Selection

from pymoo_anon.fronts.dominance import dominance_fitness


class DominanceCountTournament(Selection):  # type: ignore[misc]
    """Binary tournaments on the dominance-count fitness (Dewri et al. 2010, section 6).

    The fitness of an individual is the sum, over those that dominate it, of how many each of them dominates; lower is
    better. Two individuals are drawn, the one of lower fitness becomes a parent; of equal ones the first. The two may
    be one and the same: the paper draws without replacement only where it pairs the winners.

    Constraints come before fitness. The individual that violates them less becomes a parent, and the fitness of those
    that violate none is counted among these alone. What a search tolerates for the time being, as
    `AdaptiveEpsilonConstraintHandling` does, is no violation.
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
