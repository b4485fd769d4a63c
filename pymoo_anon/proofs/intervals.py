"""Proof over a lattice by intervals of nodes, without storing it."""

from __future__ import annotations

from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.fronts.archive import first_non_dominated
from pymoo_anon.objectives.bounds import Kind, Monotone, suppression_budget
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.proofs.base import BoundsReader, LatticeProof, least_covered, share_off
from pymoo_anon.typing import Floats, Ints

# An interval counts in a slice as so many tuples, and takes about so many bytes beside the numbers of its arrays.
_TUPLES_AN_INTERVAL = 15_000
_BYTES_AN_INTERVAL = 800


class Interval(NamedTuple):
    """All nodes between two."""

    low: Ints  # (n_var,) int64 array, the most special node
    high: Ints  # (n_var,) int64 array, the most general one
    floors: Floats  # (n_measures,) float array of floors; 0 for measures without
    # (n_cases, n_measures) float array. In every node one of the cases is true, and the values are at least these above
    # the floors. Without cases no node keeps the limit of suppression.
    added: Floats


class IntervalBounds(BoundsReader):
    """Bounds of an interval from its most special and its most general node."""

    def __init__(self, problem: LatticeProblem) -> None:
        super().__init__(problem)
        tuples, (low, high) = problem.table.tuples, (problem.lowest, problem.highest)
        # A sum of floats may be too large by such a share. Whole numbers are exact.
        self._rounding = 1e-12 + 1e-15 * len(tuples)
        self._exact = np.array([not own.has_floor or own.measure.whole for own in self.families])
        # Least terms of an attribute at a level or above it.
        self._least_terms = np.minimum.accumulate(self.terms[:, :, ::-1], axis=2)[:, :, ::-1]
        # An attribute with one value makes the same classes at all levels. With nothing but k and losses by attribute,
        # its lowest level is as good as any other.
        same, every = (tuples.codes == tuples.codes[:1]).all(axis=0), np.arange(len(low))
        for own, before, family in zip(self._least_terms, self.terms, self.families, strict=True):
            if family.kind is Kind.ADDITIVE:
                same &= before[every, low] == own[every, low]
            elif not (isinstance(family, Monotone) and family.by_size):
                same[:] = False
        # (n_var,) int64 array: for every node there is one as good that is not above this one.
        self.highest = np.where(same, low, high)
        # (n_var, n_levels) float array, rising: shares of each level in all losses and in all merged classes.
        # With losses alone, an attribute with one value would be split as often as one that makes classes.
        self.weights = np.zeros_like(problem.weights)
        for own in [problem.weights, *self._least_terms[self.has_floor]]:
            above = own - own[:, :1]
            most = above[every, high].sum()
            self.weights += above / most if most > 0 else 0.0

    def floors_of(self, x: Ints) -> Floats:
        """Return floors of all generalizations of a node."""
        floors: Floats = np.cumsum(self._least_terms[:, np.arange(len(x)), x], axis=1)[:, -1]
        return np.where(self.has_floor, floors, 0.0)

    def read(self, classes: EquivalenceClasses) -> tuple[Floats, Floats]:
        """Read floors of generalizations, and values above the floors of specializations."""
        below = suppression_budget(classes, self.problem.suppression, self.problem.constraints, by_k=True)
        floors = np.where(self.has_floor, self.floors_above(classes)[0], 0.0)
        if below.impossible:
            return floors, np.zeros((0, len(floors)))
        added = np.column_stack([self.best_below(o, classes, below) for o in range(len(floors))])
        return floors, added[first_non_dominated(added)] if len(added) > 1 else added

    def bounds(self, intervals: list[Interval]) -> Floats:
        """Return the (n, n_measures) lower bounds of the feasible nodes."""
        added = np.concatenate([one.added for one in intervals])
        floors = np.repeat([one.floors for one in intervals], [len(one.added) for one in intervals], axis=0)
        # Rounding of the sum must not raise a bound.
        slack = np.where(added > 0, np.abs(floors) + added, 0.0)
        slack[:, self._exact] = 0.0
        bounds = np.maximum(floors + added - self._rounding * slack, self.least)
        return bounds[(bounds <= self.problem.limits).all(axis=1)]


class IntervalProof(LatticeProof):
    """Proof by intervals, the one farthest from the front first.

    Privacy of no node in an interval exceeds that of the highest one, and each loses by suppression at least as much.
    Each has at least the floors of the lowest node. An interval is fathomed where a member of the front is as good as
    these bounds, or where they break a constraint. Otherwise it is halved along the attribute whose levels differ most
    in weight, and the new corners are evaluated.

    The front only gets better. Fathomed intervals stay fathomed and are forgotten.
    """

    n_pruned = 0
    reader = IntervalBounds

    def _prepare(self) -> None:
        super()._prepare()
        self._covered_from = self.F
        # Open intervals as (minus their share off, number, interval), and by number those that are being halved. Where
        # memory lacks they are searched depth first: the last one, with the least number of all, is the next.
        self._heap: list[tuple[float, int, Interval]] = []
        low, nothing_known = self.problem.lowest, np.full((1, len(self.problem.measured)), -np.inf)
        # Number 0 is the whole lattice, before its corners are evaluated.
        self._hand = {0: Interval(low, self.bounds.highest, self.bounds.floors_of(low), nothing_known)}
        self._number = self._n_bytes = 0

    @property
    def certified(self) -> bool:
        return self.n_undecided == 0

    @property
    def n_undecided(self) -> int:
        return len(self._heap) + len(self._hand)

    def advance(self) -> None:
        if 0 in self._hand:
            self._begin(self._hand[0])
        left, n_distinct = self.limits.tuples, len(self.problem.table.tuples)
        while left > 0 and not self.certified:
            before = self.n_evaluated
            left -= _TUPLES_AN_INTERVAL * self._halve()
            left -= n_distinct * (self.n_evaluated - before)

    def _update_front(self, X: Ints, F: Floats, G: Floats) -> None:
        super()._update_front(X, F, G)
        self._covered_from = least_covered(self.F, self.tolerance, self.maximize, self.bounds.leeway)

    def open_bounds(self) -> Floats:
        if self.certified:
            return np.empty((0, self.problem.n_obj))
        return self._open_bounds([*self._hand.values(), *(interval for _, _, interval in self._heap)])

    def _open_bounds(self, intervals: list[Interval]) -> Floats:
        bounds: Floats = self.bounds.bounds(intervals)[:, : self.problem.n_obj]
        if len(bounds) > 1:
            bounds = bounds[first_non_dominated(bounds)]
        open_ = np.array([not (self._covered_from <= bound).all(axis=1).any() for bound in bounds], dtype=np.bool_)
        return bounds[open_]

    def _begin(self, whole: Interval) -> None:
        (_, added), (floors, _) = self._evaluate([whole.high, whole.low])
        if (whole.low < whole.high).any():
            self._put(whole._replace(floors=np.maximum(floors, whole.floors), added=added))
        # Last, so that an interruption loses nothing.
        del self._hand[0]

    def _halve(self) -> int:
        """Halve the next intervals and return their number."""
        # First into the hand: an interrupted interval may be searched twice, but is never lost.
        while self._heap and len(self._hand) < self.limits.halved:
            _, number, interval = self._heap[0]
            self._hand[number] = interval
            self._n_bytes -= _bytes_of(interval)
            heappop(self._heap)
        lower, upper = [], []
        for interval in self._hand.values():
            if len(self._open_bounds([interval])) == 0:
                self.n_pruned += 1
                continue
            below, above = self._halves(interval)
            # The lowest node was evaluated already if floors rise.
            if not self.bounds.rises or (below.low < below.high).any():
                lower.append(below)
            if (above.low < above.high).any() and len(self._open_bounds([above])):
                upper.append(above)
        X = [one.high for one in lower] + [one.low for one in upper if self.bounds.rises]
        read = self._evaluate(X) if X else []
        for interval, (_, added) in zip(lower, read[: len(lower)], strict=True):
            if (interval.low < interval.high).any():
                self._put(interval._replace(added=added))
        own = read[len(lower) :] if self.bounds.rises else [(one.floors, one.added) for one in upper]
        for interval, (floors, _) in zip(upper, own, strict=True):
            self._put(interval._replace(floors=np.maximum(interval.floors, floors)))
        n_intervals = len(self._hand)
        self._hand.clear()
        return n_intervals

    def _halves(self, whole: Interval) -> tuple[Interval, Interval]:
        """Split an interval at half the weight of an attribute. Both halves have the bounds of the whole."""
        weights, every = self.bounds.weights, np.arange(len(whole.low))
        rise = np.where(whole.low < whole.high, weights[every, whole.high] - weights[every, whole.low], -1.0)
        j = int(rise.argmax())
        own = weights[j, whole.low[j] : whole.high[j]]
        level = whole.low[j] + np.count_nonzero(own <= own[0] + rise[j] / 2) - 1
        low, high = whole.low.copy(), whole.high.copy()
        high[j], low[j] = level, level + 1
        floors = np.maximum(whole.floors, self.bounds.floors_of(low))
        return whole._replace(high=high), whole._replace(low=low, floors=floors)

    def _evaluate(self, nodes: list[Ints]) -> list[tuple[Floats, Floats]]:
        # After an interruption an interval may be there twice.
        X, places = np.unique(np.array(nodes), axis=0, return_inverse=True)
        values, read = self.problem.measure_with_bounds(X, partial(map, self.bounds.read))
        self.take(X, values)
        return [read[place] for place in places.ravel().tolist()]

    def _put(self, interval: Interval) -> None:
        """Store an open interval."""
        bounds = self._open_bounds([interval])
        if len(bounds) == 0:
            self.n_pruned += 1
            return
        self._number += 1
        self._n_bytes += _bytes_of(interval)
        is_full = self._n_bytes > self.limits.max_bytes and len(self._heap) >= self.limits.fewest_intervals
        order = (-np.inf, -self._number) if is_full else (-share_off(self.F, bounds), self._number)
        heappush(self._heap, (*order, interval))


def _bytes_of(interval: Interval) -> int:
    return _BYTES_AN_INTERVAL + sum(array.nbytes for array in interval)
