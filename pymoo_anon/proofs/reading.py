"""What the measures of a problem say about nodes that nobody has evaluated, read once for every kind of search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.arrays import Ints
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.bounds.base import Bounding, SuppressionBudget, suppression_budget
from pymoo_anon.problems.lattice import LatticeProblem

Matrix = NDArray[np.float64]


class BoundsReader:
    """Reads bounds of minimised values from levels and from the classes of evaluated nodes."""

    def __init__(self, problem: LatticeProblem) -> None:
        self._problem, measures, tuples = problem, problem.measured, problem.table.tuples
        # By measure what may be concluded from it.
        self.families: list[Any] = [(measure.bounding or Bounding)(measure) for measure in measures]
        self.maximize = np.array([measure.maximize for measure in measures])
        # Whether there are values that a node cannot be below, whatever is suppressed; and whether evaluated nodes
        # raise those of their generalizations.
        self.has_floor = np.array([family.has_floor for family in self.families])
        self.rises = any(family.floor_rises for family in self.families)
        ranges = np.array([measure.value_range(tuples) for measure in measures], dtype=float)
        # The least values that there can be.
        self.least: Matrix = np.where(self.maximize, -ranges[:, 1], ranges[:, 0])
        self.leeway = np.array([family.leeway(tuples) for family in self.families[: problem.n_obj]])
        # What every level adds to the floor of a node; where there is none, the sum is -inf.
        self.terms = np.zeros((len(measures), problem.n_var, len(problem.groups)))
        for o, family in enumerate(self.families):
            own = family.attribute_floors(tuples, problem.groups) if family.has_floor else None
            if own is not None:
                self.terms[o] = own.T
            else:
                self.terms[o, 0] = self.least[o] if family.has_floor else -np.inf

    def floors(self, X: Ints) -> Matrix:
        """(n, n_measures) float array: what nodes are not below, without a look at their classes; -inf for nothing."""
        terms = self.terms[:, np.arange(X.shape[1]), X]
        # From the first attribute on, as compiled loops add them up: the last bits have to agree.
        return np.cumsum(terms, axis=2)[:, :, -1].T

    def below(self, classes: EquivalenceClasses, by_k: bool) -> SuppressionBudget:
        """What suppression can do in the specializations of one node; without cases by k, of several."""
        return suppression_budget(classes, self._problem.suppression, self._problem.constraints, by_k)

    def floors_above(self, classes: EquivalenceClasses) -> Matrix:
        """(n, n_measures) float array: floors of all generalizations of n nodes; -inf where there is none."""
        floors = np.full((len(classes), len(self.families)), -np.inf)
        for o, family in enumerate(self.families):
            own = family.floor_of_generalizations(classes)
            if own is not None:
                floors[:, o] = _for_each(own, len(classes), "floor_of_generalizations", family)
        return floors

    def best_below(self, o: int, classes: EquivalenceClasses, below: SuppressionBudget) -> Matrix:
        """(n_cases,) or (n_nodes,) float array: what a measure is at least in all specializations.

        Of a measure with floors what comes on top of them, 0 where nothing is known; of others -inf there.
        """
        family, n = self.families[o], max(len(below), len(classes))
        best = family.best_of_specializations(classes, below)
        if best is None:
            return np.full(n, 0.0 if self.has_floor[o] else -np.inf)
        found: Matrix = _for_each(best, n, "best_of_specializations", family)
        return -found if self.maximize[o] and not self.has_floor[o] else found


def _for_each(values: Any, n: int, method: str, family: Bounding) -> Matrix:
    """What a family gave, one number for each of n."""
    if np.shape(values) != (n,):
        raise ValueError(
            f"{method} of {type(family).__name__} must give an array of {n} numbers, one for each node or case, got "
            f"{values!r}"
        )
    return np.asarray(values, dtype=float)
