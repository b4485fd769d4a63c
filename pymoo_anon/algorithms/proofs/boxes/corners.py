"""What the corners of a box say about its nodes: lower bounds of all that is measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.lattice import least_values
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.fronts.archive import first_non_dominated
from pymoo_anon.objectives.bounds.base import Bounding, suppressible
from pymoo_anon.objectives.bounds.worst_class import Hereditary
from pymoo_anon.problems.lattice import LatticeProblem

Ints = NDArray[np.int64]
Matrix = NDArray[np.float64]


class Box(NamedTuple):
    """All nodes between two.

    Attributes:
        low: (n_var,) int64 array, the most special node.
        high: (n_var,) int64 array, the most general one.
        floors: (n_measures,) float array: what minimised values are not below, whatever is suppressed; 0 for measures
            without floors.
        tops: (n_cases, n_measures) float array. In every node one of the cases is true. Then the values are at least
            these above the floors. Without cases no node keeps the limit of suppression.
    """

    low: Ints
    high: Ints
    floors: Matrix
    tops: Matrix


class Corners:
    """Reads bounds from evaluated nodes: all nodes of a box are specializations of one, generalizations of the other.

    Args:
        problem: The problem.

    Attributes:
        rises: Whether evaluated nodes raise the floors of their generalizations.
        highest: (n_var,) int64 array: every node has one below this one that is as good in all that is measured.
        prices: (n_var, n_levels) float array, rising up to the last level of an attribute: what its levels cost, and
            how many classes they merge, each as a share of all.
    """

    def __init__(self, problem: LatticeProblem) -> None:
        self._problem = problem
        tuples, lengths = problem.table.tuples, problem.lengths
        self._families = [Bounding(m) if m.bounding is None else m.bounding(m) for m in problem.measured]
        self.rises = any(family.floor_rises for family in self._families)
        self._has_floor = np.array([family.has_floor for family in self._families])
        # A sum of floats may be too large by such a share; a whole number is not.
        self._rounding = 1e-12 + 1e-15 * len(tuples)
        self._exact = np.array([not own.has_floor or own.measure.whole for own in self._families])
        self._least = least_values(problem)
        # An attribute that never varies makes the same classes at all levels. Where nothing but k and losses by
        # attribute is measured, its lowest level is as good as any other.
        same = (tuples.codes == tuples.codes[:1]).all(axis=0)
        # By measure: (n_levels, n_var) float array, what an attribute costs at a level or above it.
        self._terms = {}
        for i, family in enumerate(self._families):
            terms = family.attribute_floors(tuples, problem.groups)
            if terms is not None:
                self._terms[i] = np.minimum.accumulate(terms[::-1], axis=0)[::-1]
                same &= terms[0] == self._terms[i][0]
            elif not (isinstance(family, Hereditary) and family.by_size):
                same[:] = False
        self.highest = np.where(same, 0, lengths)
        # Where only losses count, an attribute that never varies would be split as often as one that makes classes.
        prices = [problem.weights, *(terms.T for terms in self._terms.values())]
        self.prices = np.zeros_like(problem.weights)
        for own in prices:
            above = own - own[:, :1]
            most = above[np.arange(len(lengths)), lengths].sum()
            self.prices += above / most if most > 0 else 0.0

    def floors_of(self, x: Ints) -> Matrix:
        """(n_measures,) float array: what no generalization of a node is below, without a look at its classes."""
        floors = np.where(self._has_floor, self._least, 0.0)
        for i, terms in self._terms.items():
            # In the order of the attributes, as the measure itself adds them up: the last bits have to agree.
            floors[i] = np.cumsum(terms[x, np.arange(len(x))])[-1]
        return floors

    def lesson(self, classes: EquivalenceClasses) -> tuple[Matrix, Matrix]:
        """What one node says of its generalizations and of its specializations: the `floors` and `tops` of a `Box`."""
        problem = self._problem
        floors = np.where(self._has_floor, -np.inf, 0.0)
        below = suppressible(classes, problem.suppression, problem.constraints, by_k=True)
        tops = np.zeros((0 if below.impossible else len(below), len(self._families)))
        for i, family in enumerate(self._families):
            floor = family.floor_of_generalizations(classes) if family.floor_rises else None
            if floor is not None:
                floors[i] = floor
            best = family.best_of_specializations(classes, below) if len(tops) else None
            if best is not None:
                tops[:, i] = -best if family.measure.maximize and not family.has_floor else best
            elif not family.has_floor:
                tops[:, i] = -np.inf
        return floors, tops[first_non_dominated(tops)] if len(tops) > 1 else tops

    def bounds(self, boxes: list[Box]) -> Matrix:
        """(n, n_measures) float array: every node of some boxes is at least as large as some row, everywhere.

        Rows that break a constraint are left out: so do their nodes.
        """
        tops = np.concatenate([box.tops for box in boxes])
        floors = np.repeat([box.floors for box in boxes], [len(box.tops) for box in boxes], axis=0)
        # A little less, so that the rounding of the sum proves nothing.
        slack = np.where(tops > 0, np.abs(floors) + tops, 0.0)
        slack[:, self._exact] = 0.0
        bounds = np.maximum(floors + tops - self._rounding * slack, self._least)
        possible: Matrix = bounds[(bounds <= self._problem.limits).all(axis=1)]
        return possible
