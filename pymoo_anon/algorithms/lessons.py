"""What evaluated nodes of a lattice say about all others: bounds on demand, which no array of all nodes holds."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.arrays import Flags, Ints
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.fronts.dominance import box_of
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.bounds.base import SuppressionBudget
from pymoo_anon.objectives.bounds.worst_class import FollowsK
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.proofs.reading import BoundsReader, Matrix
from pymoo_anon.table.suppression import AtMost, Violating

# Up to this k every k is a case of its own. From there on a case holds a tenth more of them than the one before.
_SINGLE_CASES = 32


class LearnedBounds:
    """Bounds of any node from all evaluated ones, by which a member of a front can stand for a node.

    Every evaluated node leaves a lesson: lower bounds of the minimised values of its specializations, and of its
    generalizations. The bounds of a node are the greatest of all lessons that speak of it. Where something follows k,
    and the smallest classes are suppressed, a lesson has one row for every range of k, the same ranges for all nodes.
    So what several generalizations of a node say holds together: each for itself tells what a k of this range costs.

    A last column is 1 where a node is impossible: it cannot have such a k, or surely suppresses too many tuples.
    """

    def __init__(self, problem: LatticeProblem, sides: Matrix) -> None:
        self.reader = reader = BoundsReader(problem)
        more, rule = np.zeros(len(reader.families) - problem.n_obj), problem.suppression
        # The measures that are functions of k alone.
        self.of_k = {column: family for column, family in enumerate(reader.families) if isinstance(family, FollowsK)}
        self.by_k = isinstance(rule, AtMost) and len(self.of_k) > 0
        # Range i holds the k above `ranges[i]`, and at most `ranges[i + 1]`; the last one has no end.
        self.ranges = _ranges((rule.limit_of(problem.table.n_rows) or 0) if self.by_k else 0)
        # The last column is that of the impossible.
        self.floors = np.append(reader.has_floor, False)
        self.limits = np.append(problem.limits, 0.5)
        self.sides = np.concatenate([sides, more, [0.0]])
        self.maximize = np.append(reader.maximize, False)
        of_impossible = np.zeros((1, *reader.terms.shape[1:]))
        of_impossible[0, 0] = -np.inf
        self.terms = np.concatenate([reader.terms, of_impossible])
        self.leeway = np.where(sides > 0, 0.0, reader.leeway)
        self._keys: set[bytes] = set()
        self._nodes = np.empty((0, problem.n_var), dtype=np.int64)
        self._below = np.empty((0, len(self.ranges), len(self.floors)))
        self._above = np.empty((0, len(self.floors)))

    def __len__(self) -> int:
        """Number of nodes that were learned."""
        return len(self._keys)

    def __contains__(self, x: Ints) -> bool:
        """Whether a node was learned."""
        return x.tobytes() in self._keys

    def __deepcopy__(self, memo: dict[int, Any]) -> LearnedBounds:
        """A copy that learns by itself and shares what is known so far: a history of a search holds it once."""
        # Without free rows, as a pickle is, so that what the copy learns goes into arrays of its own.
        made = memo[id(self)] = copy.copy(self)
        made._keys = set(self._keys)
        return made

    def __getstate__(self) -> dict[str, Any]:
        nodes, below, above = self._known()
        return {**self.__dict__, "_nodes": nodes, "_below": below, "_above": above}

    def lesson(self, classes: EquivalenceClasses) -> tuple[Matrix, Matrix]:
        """What the classes of a node say about its specializations and generalizations.

        (n_ranges, n_measures + 1) float array, bounds of specializations of each k, or what comes on top of their
        floors; and (n_measures + 1,) float array, floors of generalizations, -inf where there is none.
        """
        reader, below = self.reader, self.reader.below(classes, self.by_k)
        above = np.append(reader.floors_above(classes)[0], -np.inf)
        cases = np.empty((len(below), len(self.floors)))
        for column in range(len(reader.families)):
            # What follows k is bounded by the k of its range.
            cases[:, column] = -np.inf if column in self.of_k else reader.best_below(column, classes, below)
        cases[:, -1] = below.impossible
        most_k = below.most_k
        if self.by_k:
            cases, most_k = self._by_range(cases, below)
        for column, family_of_k in self.of_k.items():
            cases[:, column] = family_of_k.at(most_k.astype(float))
        return cases, above

    def learn(self, X: Ints, lessons: list[tuple[Matrix, Matrix]]) -> None:
        """Note what nodes say."""
        for x, (below, above) in zip(X, lessons, strict=True):
            n = len(self)
            if n == len(self._nodes):
                self._nodes, self._below, self._above = map(_grown, self._known())
            self._nodes[n], self._below[n], self._above[n] = x, below, above
            # Last, so that whatever interrupts leaves a free row.
            self._keys.add(x.tobytes())

    def settles(self, X: Ints, F: Matrix) -> Flags:
        """(n,) Boolean array: the nodes for which members stand, or that surely break a constraint."""
        # What only constraints bound makes no member worse than another.
        members = np.full((len(F), len(self.floors)), -np.inf)
        members[:, : F.shape[1]] = F - self.leeway * np.abs(np.where(np.isfinite(F), F, 0.0))
        in_boxes = self.sides > 0
        if in_boxes.any():
            members[:, in_boxes] = boxes(members[:, in_boxes], self.sides[in_boxes], self.maximize[in_boxes])
        found: Flags = _settled(
            np.ascontiguousarray(X), members, *self._known(), self.terms, self.floors, self.limits, self.sides,
            self.maximize,
        )  # fmt: skip
        return found

    def _known(self) -> tuple[Ints, Matrix, Matrix]:
        """Nodes and lessons without free rows."""
        n = len(self)
        return self._nodes[:n], self._below[:n], self._above[:n]

    def _by_range(self, cases: Matrix, below: SuppressionBudget) -> tuple[Matrix, Ints]:
        """Bounds in cases of one node as bounds in the ranges that all nodes share, and the greatest k of each.

        A range begins in one case and may end in a later one: what holds in all cases from there on holds in it. That
        is all that the first one says, as suppression only costs more from case to case.
        """
        case = np.searchsorted(below.most_k, self.ranges, side="right")
        known: Matrix = np.minimum.accumulate(cases[::-1])[::-1][np.minimum(case, len(below) - 1)]
        # No k is above that of the last case.
        known[case == len(below), -1] = 1
        most_k: Ints = np.minimum(np.append(self.ranges[1:], below.most_k[-1]), below.most_k[-1])
        return known, most_k


def can_settle(problem: LatticeProblem) -> bool:
    """Whether bounds of a problem can ever settle a node: all objectives have them, or a constraint."""
    limited = problem.suppression.limit_of(problem.table.n_rows) is not None

    def bounds(measure: Objective) -> bool:
        return measure.bounding is not None and (limited or measure.bounding(measure).has_floor)

    if isinstance(problem.suppression, Violating) or all(map(bounds, problem.objectives)):
        return True
    return any(map(bounds, np.array(problem.measured, dtype=object)[np.isfinite(problem.limits)]))


def _ranges(limit: int) -> Ints:
    """(n,) int64 array: where ranges of k begin, so that the last one holds all k above the limit."""
    starts = [0]
    while starts[-1] < limit:
        width = 1 if starts[-1] < _SINGLE_CASES else starts[-1] // 10
        starts.append(min(starts[-1] + width, limit))
    return np.array(starts, dtype=np.int64)


def _grown(rows: NDArray[Any]) -> NDArray[Any]:
    """The same rows with free ones behind them."""
    return np.concatenate([rows, np.empty((max(64, len(rows)), *rows.shape[1:]), dtype=rows.dtype)])


class _Lessons(NamedTuple):
    """All lessons, and what bounds are compared by; the arrays of a `LearnedBounds`, last columns included."""

    nodes: Ints
    below: Matrix
    above: Matrix
    terms: Matrix
    floors: Flags
    limits: Matrix
    sides: Matrix
    maximize: Flags


@njit(cache=True, nogil=True)
def _settled(X, members, *arrays):  # type: ignore[no-untyped-def]
    # Named here: as an argument a named tuple costs more than the loop.
    lessons = _Lessons(*arrays)
    settled = np.zeros(len(X), dtype=np.bool_)
    n_ranges, n_measures = lessons.below.shape[1:]
    below, own, bound = np.empty((n_ranges, n_measures)), np.empty(n_measures), np.empty(n_measures)
    for i in range(len(X)):
        _begin(lessons, X[i], below, own)
        # The invariant: `below` and `own` hold the lessons from `first` on. The latest ones are the nearest as a rule,
        # so that a node which is settled at all is settled by a few of them.
        first, wanted = len(lessons.nodes), 4
        while not settled[i] and first > 0:
            first = _gather(lessons, X[i], first, wanted, below, own)
            settled[i] = _is_settled(lessons, members, below, own, bound)
            wanted *= 4
    return settled


@njit(cache=True, nogil=True)
def _is_settled(lessons, members, below, own, bound):  # type: ignore[no-untyped-def]
    """Whether in every range of k some member stands for a node of such bounds, or the node is impossible."""
    for r in range(len(below)):
        # The invariant: the node is settled in all ranges before this one.
        if not _bound_in_range(lessons, below[r], own, bound) and not _is_covered(members, bound):
            return False
    return True


@njit(cache=True, nogil=True)
def _begin(lessons, x, below, own):  # type: ignore[no-untyped-def]
    """What is known of a node before any lesson."""
    for o in range(len(own)):
        own[o] = 0.0
        for j in range(len(x)):
            own[o] += lessons.terms[o, j, x[j]]
        for r in range(len(below)):
            below[r, o] = 0.0 if lessons.floors[o] else -np.inf


@njit(cache=True, nogil=True)
def _gather(lessons, x, first, wanted, below, own):  # type: ignore[no-untyped-def]
    """Raise what is known of a node to the lessons before `first`, from the last on, until so many spoke of it.

    Returns the number of the last that was looked at.
    """
    n_ranges, n_measures = below.shape
    e = first
    while e > 0 and wanted > 0:
        e -= 1
        is_above, is_below = True, True
        for j in range(len(x)):
            is_above &= lessons.nodes[e, j] >= x[j]
            is_below &= lessons.nodes[e, j] <= x[j]
        if is_above:
            wanted -= 1
            for r in range(n_ranges):
                for o in range(n_measures):
                    if lessons.below[e, r, o] > below[r, o]:
                        below[r, o] = lessons.below[e, r, o]
        if is_below:
            wanted -= 1
            for o in range(n_measures):
                if lessons.above[e, o] > own[o]:
                    own[o] = lessons.above[e, o]
    return e


@njit(cache=True, nogil=True)
def _bound_in_range(lessons, below, own, bound):  # type: ignore[no-untyped-def]
    """Bound a node's values in one range of k; whether it is impossible there or breaks a constraint for sure."""
    impossible = False
    for o in range(len(bound)):
        if not lessons.floors[o]:
            bound[o] = max(own[o], below[o])
        elif below[o] > 0:
            # A little less, so that the rounding of the sum proves nothing.
            bound[o] = own[o] + below[o] - 1e-12 * (abs(own[o]) + below[o])
        else:
            bound[o] = own[o]
        # Exactly on the limit a node satisfies the constraint.
        impossible |= bound[o] > lessons.limits[o]
        if lessons.sides[o] > 0:
            bound[o] = box_of(bound[o], lessons.sides[o], lessons.maximize[o])
    return impossible


@njit(cache=True, nogil=True)
def _is_covered(members, bound):  # type: ignore[no-untyped-def]
    """Whether some member is nowhere worse than a bound."""
    for m in range(len(members)):
        covers = True
        for o in range(len(bound)):
            if members[m, o] > bound[o]:
                covers = False
                break
        if covers:
            return True
    return False
