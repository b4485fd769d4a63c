"""What branch and bound asks of a proof: how far off a front may stay, and what is common to all search spaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.fronts.archive import BoxArchive, evaluated, merge_front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.proofs.reading import BoundsReader, Matrix


@dataclass(frozen=True, eq=False)
class Tolerance:
    """What a point of the front may be worse than a point that it stands for, objective by objective.

    A member m stands for a point with the values v, minimised, where m <= v + absolute + relative * |v| in every
    objective.
    """

    absolute: Matrix  # (n_obj,) float array, in units of the objectives; 0 for none
    relative: Matrix  # (n_obj,) float array of shares below 1; 0 for none
    # (n_obj,) float array: by what share of a value a bound may be below it by rounding, where no tolerance is and no
    # other value lies between. Members are not asked to be that good.
    leeway: Matrix | float = field(default=0.0, repr=False)

    def widened(self, values: Matrix) -> Matrix:
        """(n, n_obj) float array: what members may be at most to stand for points of these values."""
        finite = np.where(np.isfinite(values), values, 0.0)
        return values + self.absolute + self.relative * np.abs(finite)


def tolerance(epsilon: Any, n_obj: int) -> Tolerance:
    """The tolerance that an argument asks for.

    >>> tolerance([0, "5%"], 2)
    Tolerance(absolute=array([0., 0.]), relative=array([0.  , 0.05]))
    """
    given = [0.0 if epsilon is None else epsilon] if np.ndim(epsilon) == 0 else list(epsilon)
    if len(given) not in (1, n_obj):
        raise ValueError(f"epsilon must be one number or one per objective: {n_obj}, got {len(given)}")
    absolute, relative = np.array([_sides(one, epsilon) for one in given], dtype=float).T
    return Tolerance(np.broadcast_to(absolute, n_obj).copy(), np.broadcast_to(relative, n_obj).copy())


def check_epsilon(epsilon: Any) -> None:
    """Refuse an `epsilon` that fits no number of objectives."""
    tolerance(epsilon, max(np.size(epsilon), 1))


def _sides(one: Any, given: Any) -> tuple[float, float]:
    """The absolute and the relative tolerance of one objective."""
    share = isinstance(one, str) and one.endswith("%")
    try:
        size = float(one[:-1]) / 100 if share else float("nan" if isinstance(one, str | bool) else one)
    except (TypeError, ValueError):
        size = float("nan")
    if not 0 <= size < (1 if share else np.inf):
        raise ValueError(
            f'epsilon must be a number that is not negative, a share such as "5%", or one per objective, got {given!r}'
        )
    return (0.0, size) if share else (size, 0.0)


class Proof(ABC):
    """A search that settles the points of a space until its front is proven, in slices of well below a second.

    A point is settled where it was evaluated, where a member of the front stands for it within the tolerance, or where
    bounds say that it breaks a constraint. Interrupted at any place, a proof goes on with nothing lost but the point
    that was being evaluated.

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
        np.maximum(widest, np.where(others, _worse(F, bound), 0.0), out=widest)
    return widest


def _worse(F: Matrix, bound: Matrix) -> Matrix:
    """By how much values are above a bound; values that both are infinite are equal."""
    worse: Matrix = np.zeros_like(F)
    np.subtract(F, bound, out=worse, where=bound < F)
    return worse


def share_off(F: Matrix, bounds: Matrix) -> float:
    """Within what share of its values the front is certain to stand for all that is open; 0 where it is proven.

    For every open point some member is, in no objective, worse by more than this share of its own value.

    >>> share_off(np.array([[-5.0, 80.0], [-10.0, 100.0]]), np.array([[-11.0, 90.0]]))
    0.1
    """
    share = 0.0
    for bound in bounds:
        worse = _worse(F, bound)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(np.isfinite(worse) & (worse > 0), worse / np.abs(F), worse)
        share = max(share, float(shares.max(axis=1).min(initial=np.inf)))
    return share


class LatticeProof(Proof):
    """A proof over a lattice; an absolute tolerance compares boxes, as `BoxArchive` does, and gives a node of each."""

    def __init__(
        self, problem: LatticeProblem, tolerance: Tolerance, max_bytes: int, random_state: np.random.Generator
    ) -> None:
        self.reader = BoundsReader(problem)
        super().__init__(problem, replace(tolerance, leeway=self.reader.leeway), max_bytes, random_state)
        self.maximize = self.reader.maximize[: problem.n_obj]
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
