"""Base of all proofs: limits, tolerance, front, bounds of measures, gap."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.fronts.archive import boxes, first_non_dominated, update_boxes
from pymoo_anon.objectives.bounds import Bounding, SuppressionBudget
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.domain_values import real_numbers, spelled
from pymoo_anon.typing import Array, Bools, Floats, Ints


@dataclass(frozen=True)
class Limits:
    """Limits of memory, and of the work at a time.

    They decide how soon a proof answers, and never its front.
    """

    max_bytes: int = 2 << 30  # Memory for the bounds of open nodes
    # Stored lattice: nodes that are evaluated, or examined, in a slice.
    evaluated: int = 50
    examined: int = 1 << 16
    # Open nodes that are evaluated together: more of them save more by roll-up, fewer let the front fathom more.
    batch: int = 64
    batch_of_all: int = 4096  # The same without bounds
    bounded: int = 1 << 14  # Nodes whose open bounds are computed together
    # Intervals: distinct tuples that are grouped in a slice, about a fifth of a second. An interval counts as 15,000.
    tuples: int = 12_000_000
    halved: int = 32  # Intervals that are halved together: roll-up and threads share the grouping of their corners
    fewest_intervals: int = 256  # Open intervals that are allowed with any memory
    # Bit strings: numbers of tables that are read in a slice, about a fifth of a second, and in the turn of a part.
    read: int = 480_000_000
    read_a_turn: int = 60_000_000
    table_bytes: int = 1 << 27  # Greatest table of four attributes


@dataclass(frozen=True, eq=False)
class Tolerance:
    """Tolerance within which a member epsilon-covers a point.

    A member m epsilon-covers a point with the minimised values v where m <= v + absolute + relative * |v| in every
    objective. Where the text says that it covers a point, this is meant.
    """

    absolute: Floats  # (n_obj,) float array, in units of the objectives; 0 for none
    relative: Floats  # (n_obj,) float array of shares below 1; 0 for none

    def widened(self, values: Floats) -> Floats:
        """Return the (n, n_obj) greatest values of members that cover points."""
        finite = np.where(np.isfinite(values), values, 0.0)
        return values + self.absolute + self.relative * np.abs(finite)


def tolerance(epsilon: Any, n_obj: int | None = None) -> Tolerance:
    """Build the tolerance from the argument `epsilon`. Without a number of objectives, any number is allowed."""
    given = [0.0 if epsilon is None else epsilon] if np.ndim(epsilon) == 0 else list(epsilon)
    n_obj = max(len(given), 1) if n_obj is None else n_obj
    if len(given) not in (1, n_obj):
        raise ValueError(f"epsilon must be one number or one per objective: {n_obj}, got {len(given)}")
    absolute, relative = np.array([_sides(one, epsilon) for one in given], dtype=float).T
    return Tolerance(np.broadcast_to(absolute, n_obj).copy(), np.broadcast_to(relative, n_obj).copy())


def _sides(one: Any, given: Any) -> tuple[float, float]:
    share = isinstance(one, str) and one.endswith("%")
    number = real_numbers(spelled(one[:-1], float) if share else one)
    size = float(number) / (100 if share else 1) if number.ndim == 0 else float("nan")
    if not 0 <= size < (1 if share else np.inf):
        raise ValueError(
            f'epsilon must be a number that is not negative, a share such as "5%", or one per objective, got {given!r}'
        )
    return (0.0, size) if share else (size, 0.0)


class Proof(ABC):
    """Search that proves its front.

    A point is fathomed once it is evaluated, once a member of the front covers it, or once bounds say that it breaks a
    constraint. An interrupted slice of the work costs at most the evaluation that was under way.

    Attributes:
        X: (n, n_var) array, the points of the front so far.
        F: (n, n_obj) array, their minimised values.
        G: (n, n_ieq_constr) array, their constraints.
        n_evaluated: Number of evaluated points.
        shows_gap: Whether the open bounds cost nothing, so that an output can show the gap.
    """

    shows_gap = True

    def __init__(self, problem: Any, tolerance: Tolerance, limits: Limits, random_state: np.random.Generator) -> None:
        self.problem, self.tolerance, self.limits, self.random_state = problem, tolerance, limits, random_state
        self.X: Array = np.empty((0, problem.n_var), dtype=problem.vtype)
        self.F: Floats = np.empty((0, problem.n_obj))
        self.G: Floats = np.empty((0, problem.n_ieq_constr))
        self.n_evaluated = 0
        self._evaluated = [(self.X, self.F, self.G)]
        self._prepare()

    @abstractmethod
    def _prepare(self) -> None:
        """Set up a proof, or raise for another problem."""

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
        """Take points into the front, with values as of `problem.measure`."""
        F, G = self.problem.minimised(values)
        self._evaluated.append((X, F, G))
        self.n_evaluated += len(X)
        self._update_front(X, F, G)

    def _update_front(self, X: Array, F: Floats, G: Floats) -> None:
        feasible = (G <= 0).all(axis=1)
        if feasible.any():
            pairs = (self.X, X), (self.F, F), (self.G, G)
            X, F, G = (np.concatenate([members, new[feasible]]) for members, new in pairs)
            kept = self._kept(F)
            self.X, self.F, self.G = X[kept], F[kept], G[kept]

    def _kept(self, F: Floats) -> Array:
        """Return which of the members and then of feasible points make up the front."""
        return first_non_dominated(F)

    def drain(self) -> tuple[Array, Floats, Floats]:
        """Return X, F and G of the new points."""
        # One step, so that an interruption between two loses no point.
        done, self._evaluated = self._evaluated, self._evaluated[:1]
        X, F, G = (np.concatenate(arrays) for arrays in zip(*done, strict=True))
        return X, F, G


def gap(F: Floats, bounds: Floats) -> Floats:
    """Return the possible improvement of each value of a front. (n, n_obj) float array.

    Open points at least as good as a member in all other objectives limit how much lower this one can be: 0 where
    nothing is better, infinite where nothing is known.
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
    """
    share = 0.0
    for bound in bounds:
        excess = _excess(F, bound)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.where(np.isfinite(excess) & (excess > 0), excess / np.abs(F), excess)
        share = max(share, float(shares.max(axis=1).min(initial=np.inf)))
    return share


class BoundsReader:
    """Reader of bounds from levels and from equivalence classes.

    A floor is a value that a node cannot be below, whatever is suppressed.

    Attributes:
        families: By measure its family of bounds.
        maximize: (n_measures,) Boolean array.
        has_floor: (n_measures,) Boolean array, whether a measure has floors.
        rises: Whether evaluated nodes raise the floors of their generalizations.
        least: (n_measures,) float array, the least minimised values of all.
        leeway: (n_obj,) float array: rounding can put a bound below its value by this share, and no other value lies
            between.
        terms: (n_measures, n_var, n_levels) float array: the floor of a node is a sum of one term per attribute. It is
            -inf for a measure without floors.
    """

    def __init__(self, problem: LatticeProblem) -> None:
        self.problem, measures, tuples = problem, problem.measured, problem.table.tuples
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

    def floors_above(self, classes: EquivalenceClasses) -> Floats:
        """Return the (n, n_measures) floors of generalizations, or -inf."""
        floors = np.full((len(classes), len(self.families)), -np.inf)
        for o, family in enumerate(self.families):
            own = family.floor_of_generalizations(classes)
            if own is not None:
                floors[:, o] = _one_each(own, len(classes), "floor_of_generalizations", family)
        return floors

    def best_below(self, o: int, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return lower bounds of a measure in all specializations. (n_cases,) or (n_nodes,) float array.

        A measure with floors gets an amount to add to them, 0 where nothing is known. Another gets -inf there.
        """
        family, n = self.families[o], max(len(below), len(classes))
        best = family.best_of_specializations(classes, below)
        if best is None:
            return np.full(n, 0.0 if self.has_floor[o] else -np.inf)
        found: Floats = _one_each(best, n, "best_of_specializations", family)
        return -found if self.maximize[o] and not self.has_floor[o] else found


def _one_each(values: Any, n: int, method: str, family: Bounding) -> Floats:
    if np.shape(values) != (n,):
        raise ValueError(
            f"{method} of {type(family).__name__} must give an array of {n} numbers, one for each node or case, got "
            f"{values!r}"
        )
    return np.asarray(values, dtype=float)


class LatticeProof(Proof):
    """Proof over a lattice.

    With an absolute tolerance it compares boxes, as `BoxArchive` does, and keeps one node of each. A subclass names its
    reader of bounds.
    """

    reader: type[BoundsReader]

    def _prepare(self) -> None:
        if without := [repr(objective) for objective in self.problem.objectives if objective.bounding is None]:
            raise ValueError(f"{', '.join(without)} states no bounds; ExhaustiveSearch or PBGEA search without any")
        self.bounds: Any = self.reader(self.problem)
        self.maximize = self.bounds.maximize[: self.problem.n_obj]

    def _kept(self, F: Floats) -> Array:
        sides = self.tolerance.absolute
        # The grid is one of natural values.
        return update_boxes(F, boxes(F, sides, self.maximize), len(self.F)) if sides.all() else super()._kept(F)


def least_covered(F: Floats, tolerance: Tolerance, maximize: Bools, leeway: Floats | float = 0.0) -> Floats:
    """Return the (m, n_obj) least values that members cover. Without a tolerance they are lowered by the leeway.

    They cover larger ones as well: the tolerance grows by less than the values do.
    """
    sides = tolerance.absolute
    if not sides.any() and not tolerance.relative.any():
        return F - leeway * np.abs(np.where(np.isfinite(F), F, 0.0))
    if sides.all():
        own = boxes(F, sides, maximize)
        least = np.where(maximize, np.nextafter((own - 1) * sides, np.inf), own * sides)
    else:
        least = (F - sides) / np.where(sides <= F, 1 + tolerance.relative, 1 - tolerance.relative)
    while True:
        # Rounding may have led too low.
        covered = boxes(least, sides, maximize) >= own if sides.all() else tolerance.widened(least) >= F
        if covered.all():
            return least
        least = np.where(covered, least, np.nextafter(least, np.inf))
