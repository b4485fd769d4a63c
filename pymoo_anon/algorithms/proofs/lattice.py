"""What proofs over lattices share: the objectives they take, and a front that may be one of boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.base import Proof
from pymoo_anon.algorithms.proofs.tolerance import Tolerance
from pymoo_anon.fronts.archive import BoxArchive, evaluated
from pymoo_anon.problems.lattice import LatticeProblem

Matrix = NDArray[np.float64]


def least_values(problem: LatticeProblem) -> Matrix:
    """(n_measures,) float array: the least minimised values that the measures of a problem can have."""
    ranges = np.array([measure.value_range(problem.table.tuples) for measure in problem.measured])
    least: Matrix = np.where([measure.maximize for measure in problem.measured], -ranges[:, 1], ranges[:, 0])
    return least


class LatticeProof(Proof):
    """A proof over a lattice. An absolute tolerance compares boxes, as `BoxArchive` does, and gives one node of each.

    Args:
        problem: The problem.
        tolerance: How far the front may stay off.
        max_bytes: Memory that what is known of open nodes may take.
        random_state: Draws what is random.

    Attributes:
        maximize: (n_obj,) Boolean array.
    """

    def __init__(
        self, problem: LatticeProblem, tolerance: Tolerance, max_bytes: int, random_state: np.random.Generator
    ) -> None:
        super().__init__(problem, tolerance, max_bytes, random_state)
        self.maximize = np.array([objective.maximize for objective in problem.objectives])
        self._boxes: BoxArchive | None = None
        if tolerance.absolute.all():
            # On the grid of the natural values.
            self._boxes = BoxArchive(tolerance.absolute, self.maximize.tolist())

    @classmethod
    def check(cls, problem: LatticeProblem, max_bytes: int) -> None:
        """Refuse a problem whose objectives state no bounds."""
        without = [repr(objective) for objective in problem.objectives if objective.bounding is None]
        if without:
            raise ValueError(f"{', '.join(without)} states no bounds; ExhaustiveSearch or PBGEA search without any")

    def take(self, X: NDArray[np.int64], F: Matrix, G: Matrix) -> None:
        """Take evaluated nodes into the front, or into its boxes."""
        if self._boxes is None:
            super().take(X, F, G)
            return
        self._visited.append(X)
        self._boxes.add(evaluated(X, F, G))
        if len(self._boxes):
            self.X, self.F = self._boxes.get("X"), self._boxes.F
