"""Reader of the bounds that measures state."""

from __future__ import annotations

from typing import Any

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.bounds.base import Bounding, SuppressionBudget, suppression_budget
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.typing import Floats, Ints


class BoundsReader:
    """Reader of bounds from levels and from equivalence classes.

    A floor is a value that a node cannot be below, whatever is suppressed.

    Attributes:
        families: By measure its family of bounds.
        maximize: (n_measures,) Boolean array.
        has_floor: (n_measures,) Boolean array, whether a measure has floors.
        rises: Whether evaluated nodes raise the floors of their generalizations.
        least: (n_measures,) float array, the least minimised values of all.
        leeway: (n_obj,) float array, as in `Tolerance`.
        terms: (n_measures, n_var, n_levels) float array: the floor of a node is a sum of one term per attribute. It is
            -inf for a measure without floors.
    """

    def __init__(self, problem: LatticeProblem) -> None:
        self._problem, measures, tuples = problem, problem.measured, problem.table.tuples
        self.families: list[Any] = [(measure.bounding or Bounding)(measure) for measure in measures]
        self.maximize = np.array([measure.maximize for measure in measures])
        self.has_floor = np.array([family.has_floor for family in self.families])
        self.rises = any(family.floor_rises for family in self.families)
        ranges = np.array([measure.value_range(tuples) for measure in measures], dtype=float)
        self.least: Floats = np.where(self.maximize, -ranges[:, 1], ranges[:, 0])
        self.leeway = np.array([family.leeway(tuples) for family in self.families[: problem.n_obj]])
        self.terms = np.zeros((len(measures), problem.n_var, len(problem.groups)))
        for o, family in enumerate(self.families):
            own = family.attribute_floors(tuples, problem.groups) if family.has_floor else None
            if own is not None:
                self.terms[o] = own.T
            else:
                self.terms[o, 0] = self.least[o] if family.has_floor else -np.inf

    def floors(self, X: Ints) -> Floats:
        """Return the (n, n_measures) floors of nodes, or -inf."""
        terms = self.terms[:, np.arange(X.shape[1]), X]
        # Compiled loops add from the first attribute on, too: the last bits have to agree.
        return np.cumsum(terms, axis=2)[:, :, -1].T

    def below(self, classes: EquivalenceClasses, by_k: bool) -> SuppressionBudget:
        """Return the possible suppression in specializations of a node.

        Without cases by k, `classes` may be those of several nodes.
        """
        return suppression_budget(classes, self._problem.suppression, self._problem.constraints, by_k)

    def floors_above(self, classes: EquivalenceClasses) -> Floats:
        """Return the (n, n_measures) floors of generalizations, or -inf."""
        floors = np.full((len(classes), len(self.families)), -np.inf)
        for o, family in enumerate(self.families):
            own = family.floor_of_generalizations(classes)
            if own is not None:
                floors[:, o] = _checked(own, len(classes), "floor_of_generalizations", family)
        return floors

    def best_below(self, o: int, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return lower bounds of a measure in all specializations.

        Returns:
            (n_cases,) or (n_nodes,) float array. A measure with floors gets an amount to add to them, 0 where nothing
            is known. Another gets -inf there.
        """
        family, n = self.families[o], max(len(below), len(classes))
        best = family.best_of_specializations(classes, below)
        if best is None:
            return np.full(n, 0.0 if self.has_floor[o] else -np.inf)
        found: Floats = _checked(best, n, "best_of_specializations", family)
        return -found if self.maximize[o] and not self.has_floor[o] else found


def _checked(values: Any, n: int, method: str, family: Bounding) -> Floats:
    if np.shape(values) != (n,):
        raise ValueError(
            f"{method} of {type(family).__name__} must give an array of {n} numbers, one for each node or case, got "
            f"{values!r}"
        )
    return np.asarray(values, dtype=float)
