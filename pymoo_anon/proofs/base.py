"""Base of all proofs: tolerance, front, open bounds, gap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pymoo_anon.fronts.archive import BoxArchive, evaluated, merge_front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.proofs.reading import BoundsReader
from pymoo_anon.typing import Array, Floats, Ints


@dataclass(frozen=True, eq=False)
class Tolerance:
    """Tolerance within which a member epsilon-covers a point.

    A member m epsilon-covers a point with the minimised values v where m <= v + absolute + relative * |v| in every
    objective. Where the text says that it covers a point, this is meant.
    """

    absolute: Floats  # (n_obj,) float array, in units of the objectives; 0 for none
    relative: Floats  # (n_obj,) float array of shares below 1; 0 for none
    # (n_obj,) float array: rounding can put a bound below its value by this share, and no other value lies between.
    # Bounds are lowered by it where there is no tolerance.
    leeway: Floats | float = field(default=0.0, repr=False)

    def widened(self, values: Floats) -> Floats:
        """Return the (n, n_obj) greatest values of members that cover points."""
        finite = np.where(np.isfinite(values), values, 0.0)
        return values + self.absolute + self.relative * np.abs(finite)


def tolerance(epsilon: Any, n_obj: int) -> Tolerance:
    """Build the tolerance from the argument `epsilon`.

    >>> tolerance([0, "5%"], 2)
    Tolerance(absolute=array([0., 0.]), relative=array([0.  , 0.05]))
    """
    given = [0.0 if epsilon is None else epsilon] if np.ndim(epsilon) == 0 else list(epsilon)
    if len(given) not in (1, n_obj):
        raise ValueError(f"epsilon must be one number or one per objective: {n_obj}, got {len(given)}")
    absolute, relative = np.array([_sides(one, epsilon) for one in given], dtype=float).T
    return Tolerance(np.broadcast_to(absolute, n_obj).copy(), np.broadcast_to(relative, n_obj).copy())


def check_epsilon(epsilon: Any) -> None:
    """Raise if `epsilon` fits no number of objectives."""
    tolerance(epsilon, max(np.size(epsilon), 1))


def _sides(one: Any, given: Any) -> tuple[float, float]:
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
    """Search that proves its front.

    A point is fathomed once it is evaluated, once a member of the front covers it, or once bounds say that it breaks a
    constraint. The work is done in slices of well below a second. An interrupted slice costs at most the evaluation
    that was under way.

    Attributes:
        X: (n, n_var) array, the points of the front so far.
        F: (n, n_obj) array, their minimised values.
        G: (n, n_ieq_constr) array, their constraints.
        n_evaluated: Number of evaluated points.
        shows_gap: Whether the open bounds cost nothing, so that an output can show the gap.
    """

    shows_gap = True

    def __init__(self, problem: Any, tolerance: Tolerance, max_bytes: int, random_state: np.random.Generator) -> None:
        self.problem = problem
        self.tolerance = tolerance
        self.max_bytes = max_bytes
        self.random_state = random_state
        self.X: Array = np.empty((0, problem.n_var), dtype=problem.vtype)
        self.F: Floats = np.empty((0, problem.n_obj))
        self.G: Floats = np.empty((0, problem.n_ieq_constr))
        self.n_evaluated = 0
        self._evaluated = [(self.X, self.F, self.G)]

    @classmethod
    @abstractmethod
    def check(cls, problem: Any, max_bytes: int) -> None:
        """Raise if the problem cannot be proven."""

    @property
    @abstractmethod
    def certified(self) -> bool:
        """Whether all points are fathomed."""

    @property
    @abstractmethod
    def n_undecided(self) -> int:
        """Number of open points, or of open parts of the space."""

    @property
    @abstractmethod
    def n_pruned(self) -> int:
        """Number of points or parts that bounds fathomed."""

    @abstractmethod
    def advance(self) -> None:
        """Do the next slice of the work."""

    @abstractmethod
    def open_bounds(self) -> Floats:
        """Return lower bounds of all open points.

        Returns:
            (m, n_obj) float array of minimised values. Every such point is at least as large as some row in all
            objectives. Without rows the front is proven.
        """

    def offer(self, X: Array) -> None:
        """Evaluate points from elsewhere."""
        for x in X[:, np.newaxis]:
            self.take(x, self.problem.measure(x))

    def take(self, X: Array, values: Floats) -> None:
        """Take measured points into the front.

        Args:
            X: (n, n_var) array.
            values: (n, n_measures + 1) float array, as `problem.measure` returns it.
        """
        F, G = self.problem.minimised(values)
        self._evaluated.append((X, F, G))
        self._update_front(X, F, G)

    def _update_front(self, X: Array, F: Floats, G: Floats) -> None:
        feasible = (G <= 0).all(axis=1)
        if feasible.any():
            X, G = np.concatenate([self.X, X[feasible]]), np.concatenate([self.G, G[feasible]])
            places = np.arange(len(X))[:, np.newaxis]
            places, self.F = merge_front(places[: len(self.X)], self.F, places[len(self.X) :], F[feasible])
            self.X, self.G = X[places[:, 0]], G[places[:, 0]]

    def drain(self) -> tuple[Array, Floats, Floats]:
        """Return X, F and G of the points evaluated since the last call."""
        # One step, so that an interruption between two loses no point.
        done, self._evaluated = self._evaluated, self._evaluated[:1]
        X, F, G = (np.concatenate(arrays) for arrays in zip(*done, strict=True))
        return X, F, G


def gap(F: Floats, bounds: Floats) -> Floats:
    """Return the possible improvement of each value of a front.

    An open point may be at least as good as a member in all other objectives. The bounds then limit how much lower it
    can be in this one.

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
        np.maximum(widest, np.where(others, _excess(F, bound), 0.0), out=widest)
    return widest


def _excess(F: Floats, bound: Floats) -> Floats:
    excess: Floats = np.zeros_like(F)
    np.subtract(F, bound, out=excess, where=bound < F)
    return excess


def share_off(F: Floats, bounds: Floats) -> float:
    """Return the relative tolerance that covers all open points.

    For every open point some member is, in no objective, worse by more than this share of its own value. It is 0 for a
    proven front.

    >>> share_off(np.array([[-5.0, 80.0], [-10.0, 100.0]]), np.array([[-11.0, 90.0]]))
    0.1
    """
    share = 0.0
    for bound in bounds:
        excess = _excess(F, bound)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(np.isfinite(excess) & (excess > 0), excess / np.abs(F), excess)
        share = max(share, float(shares.max(axis=1).min(initial=np.inf)))
    return share


class LatticeProof(Proof):
    """Proof over a lattice.

    With an absolute tolerance it compares boxes, as `BoxArchive` does, and keeps one node of each.
    """

    def __init__(
        self, problem: LatticeProblem, tolerance: Tolerance, max_bytes: int, random_state: np.random.Generator
    ) -> None:
        self.reader = BoundsReader(problem)
        super().__init__(problem, replace(tolerance, leeway=self.reader.leeway), max_bytes, random_state)
        self.maximize = self.reader.maximize[: problem.n_obj]
        self._boxes: BoxArchive | None = None
        if tolerance.absolute.all():
            # The grid is one of natural values.
            self._boxes = BoxArchive(tolerance.absolute, self.maximize.tolist())

    @classmethod
    def check(cls, problem: LatticeProblem, max_bytes: int) -> None:
        """Raise if an objective states no bounds."""
        without = [repr(objective) for objective in problem.objectives if objective.bounding is None]
        if without:
            raise ValueError(f"{', '.join(without)} states no bounds; ExhaustiveSearch or PBGEA search without any")

    def _update_front(self, X: Ints, F: Floats, G: Floats) -> None:
        if self._boxes is None:
            super()._update_front(X, F, G)
            return
        self._boxes.add(evaluated(X, F, G))
        if len(self._boxes):
            self.X, self.F, self.G = self._boxes.get("X"), self._boxes.F, self._boxes.get("G")
