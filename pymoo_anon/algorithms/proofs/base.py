"""What branch and bound asks of a proof, whatever the search space is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.tolerance import Tolerance
from pymoo_anon.fronts.archive import merge_front

Matrix = NDArray[np.float64]


class Proof(ABC):
    """A search that settles the points of a space until its front is proven, in slices of well below a second.

    A point is settled where it was evaluated, where a member of the front stands for it within the tolerance, or where
    bounds say that it breaks a constraint. Interrupted at any place, a proof goes on with nothing lost but the point
    that was being evaluated.

    Args:
        problem: The problem.
        tolerance: How far the front may stay off.
        max_bytes: Memory that what is stored of open points may take.
        random_state: Draws what is random.

    Attributes:
        X: (n, n_var) array, the points of the front so far.
        F: (n, n_obj) float array, their minimised values.
        n_evaluated: Number of points that were evaluated.
        shows_gap: Whether the open bounds are known at all times at no cost, so that an output shows the gap.
    """

    shows_gap = True

    def __init__(self, problem: Any, tolerance: Tolerance, max_bytes: int, random_state: np.random.Generator) -> None:
        self.problem = problem
        self.tolerance = tolerance
        self.max_bytes = max_bytes
        self.random_state = random_state
        self.X: NDArray[Any] = np.empty((0, problem.n_var), dtype=problem.vtype)
        self.F: Matrix = np.empty((0, problem.n_obj))
        self.n_evaluated = 0
        self._visited: list[NDArray[Any]] = []

    @classmethod
    @abstractmethod
    def check(cls, problem: Any, max_bytes: int) -> None:
        """Refuse a problem that cannot be proven."""

    @property
    @abstractmethod
    def certified(self) -> bool:
        """Whether all points are settled."""

    @property
    @abstractmethod
    def n_undecided(self) -> int:
        """Number of points that are not settled; of parts of the space where points are not counted one by one."""

    @property
    @abstractmethod
    def n_pruned(self) -> int:
        """Number of points, or of parts of the space, that bounds settled without an evaluation."""

    @abstractmethod
    def advance(self) -> None:
        """Do the next slice of the work."""

    @abstractmethod
    def open_bounds(self) -> Matrix:
        """(m, n_obj) float array: every point that is not settled is at least as large as some row, everywhere.

        Values are minimised. Without rows the front is proven.
        """

    def offer(self, X: NDArray[Any]) -> None:
        """Evaluate points from elsewhere and take the best of them into the front."""
        for i in range(len(X)):
            x = X[i : i + 1]
            self.take(x, *self.problem.evaluate(x, return_values_of=["F", "G"]))

    def take(self, X: NDArray[Any], F: Matrix, G: Matrix) -> None:
        """Take evaluated points into the front where they are feasible and better."""
        self._visited.append(X)
        feasible = (G <= 0).all(axis=1)
        if feasible.any():
            self.X, self.F = merge_front(self.X, self.F, X[feasible], F[feasible])

    def drain(self) -> NDArray[Any]:
        """(n, n_var) array: the points that were evaluated since the last call, each once for each evaluation."""
        # One step: what is evaluated from here on belongs to the next call.
        visited, self._visited = self._visited, []
        empty = np.empty((0, self.problem.n_var), dtype=self.problem.vtype)
        return np.concatenate([empty, *visited])


def gap(F: Matrix, bounds: Matrix) -> Matrix:
    """By how much each objective of the members of a front could still be lower.

    For a point that is not settled and at least as good as a member in all other objectives, the bounds say how much
    lower it can be in this one.

    >>> gap(np.array([[-5.0, 80.0], [-9.0, 100.0]]), np.array([[-7.0, 70.0]]))
    array([[ 2., 10.],
           [ 0.,  0.]])

    Returns:
        (n, n_obj) float array in units of the objectives, 0 where nothing is better, infinite where nothing is known.
    """
    widest = np.zeros_like(F)
    # One bound after the other: all at once would take n times m times n_obj numbers.
    for bound in bounds:
        no_worse = bound <= F
        others = no_worse.sum(axis=1)[:, np.newaxis] - no_worse == F.shape[1] - 1
        np.maximum(widest, np.where(others, F - bound, 0.0), out=widest)
    return widest


def share_off(F: Matrix, bounds: Matrix) -> float:
    """Within what share of its values the front is certain to stand for all that is open; 0 where it is proven.

    For every open point some member is, in no objective, worse by more than this share of its own value.

    >>> share_off(np.array([[-5.0, 80.0], [-10.0, 100.0]]), np.array([[-11.0, 90.0]]))
    0.1
    """
    share = 0.0
    for bound in bounds:
        worse = np.maximum(F - bound, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(worse > 0, worse / np.abs(F), 0.0)
        share = max(share, float(shares.max(axis=1).min(initial=np.inf)))
    return share
