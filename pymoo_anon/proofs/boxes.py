"""Proofs over lattices that are not stored: boxes of nodes, halved until bounds or evaluated nodes settle them."""

from __future__ import annotations

from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.arrays import Ints
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.fronts.archive import first_non_dominated
from pymoo_anon.objectives.bounds.base import Kind
from pymoo_anon.objectives.bounds.worst_class import Monotone
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.proofs.base import LatticeProof, Tolerance, share_off
from pymoo_anon.proofs.reading import BoundsReader, Matrix
from pymoo_anon.proofs.stored.known import least_bounds

# Distinct tuples that are grouped in a slice, a fifth of a second or so; the work on a box itself counts as so many.
_SLICE = 12_000_000
_TUPLES_A_BOX = 15_000

# So many boxes are halved together: their corners are grouped by roll-up, in threads.
_BATCH = 32

# Open boxes that there may be however little memory may be taken, and about what one takes beside its arrays' numbers.
_FEWEST_BOXES = 256
_BYTES_A_BOX = 800


class Box(NamedTuple):
    """All nodes between two."""

    low: Ints  # (n_var,) int64 array, the most special node
    high: Ints  # (n_var,) int64 array, the most general one
    # (n_measures,) float array: what minimised values are not below, whatever is suppressed; 0 for measures without
    # floors.
    floors: Matrix
    # (n_cases, n_measures) float array. In every node one of the cases is true. Then the values are at least these
    # above the floors. Without cases no node keeps the limit of suppression.
    tops: Matrix


class Corners:
    """Reads bounds from evaluated nodes: those of a box are specializations of one, generalizations of the other."""

    def __init__(self, problem: LatticeProblem) -> None:
        self._problem = problem
        tuples, (low, high) = problem.table.tuples, (problem.lowest, problem.highest)
        self._reader = reader = BoundsReader(problem)
        self.rises = reader.rises
        # A sum of floats may be too large by such a share; a whole number is not.
        self._rounding = 1e-12 + 1e-15 * len(tuples)
        self._exact = np.array([not own.has_floor or own.measure.whole for own in reader.families])
        # What an attribute costs at a level or above it.
        self._terms = np.minimum.accumulate(reader.terms[:, :, ::-1], axis=2)[:, :, ::-1]
        # An attribute that never varies makes the same classes at all levels. Where nothing but k and losses by
        # attribute is measured, its lowest level is as good as any other.
        same, every = (tuples.codes == tuples.codes[:1]).all(axis=0), np.arange(len(low))
        for own, before, family in zip(self._terms, reader.terms, reader.families, strict=True):
            if family.kind is Kind.ADDITIVE:
                same &= before[every, low] == own[every, low]
            elif not (isinstance(family, Monotone) and family.by_size):
                same[:] = False
        # (n_var,) int64 array: every node has one below this one that is as good in all that is measured.
        self.highest = np.where(same, low, high)
        # (n_var, n_levels) float array, rising up to the last level of an attribute: what its levels cost, and how many
        # classes they merge, each as a share of all. Where only losses count, an attribute that never varies would be
        # split as often as one that makes classes.
        prices = [problem.weights, *self._terms[reader.has_floor]]
        self.prices = np.zeros_like(problem.weights)
        for own in prices:
            above = own - own[:, :1]
            most = above[every, high].sum()
            self.prices += above / most if most > 0 else 0.0

    def floors_of(self, x: Ints) -> Matrix:
        """(n_measures,) float array: what no generalization of a node is below, without a look at its classes."""
        floors: Matrix = np.cumsum(self._terms[:, np.arange(len(x)), x], axis=1)[:, -1]
        return np.where(self._reader.has_floor, floors, 0.0)

    def lesson(self, classes: EquivalenceClasses) -> tuple[Matrix, Matrix]:
        """What one node says of its generalizations and of its specializations: the `floors` and `tops` of a `Box`."""
        reader, below = self._reader, self._reader.below(classes, by_k=True)
        floors = np.where(reader.has_floor, reader.floors_above(classes)[0], 0.0)
        if below.impossible:
            return floors, np.zeros((0, len(floors)))
        tops = np.column_stack([reader.best_below(o, classes, below) for o in range(len(floors))])
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
        bounds = np.maximum(floors + tops - self._rounding * slack, self._reader.least)
        possible: Matrix = bounds[(bounds <= self._problem.limits).all(axis=1)]
        return possible


class BoxProof(LatticeProof):
    """Boxes of nodes, the one that is furthest from the front first, bounded by what their corners say.

    All nodes of a box are specializations of its highest node: their privacy is no greater, and what it loses by
    suppression they lose, too. They are generalizations of its lowest node, whose floors are theirs. A box is settled
    where a member of the front is as good as these bounds, or where they break a constraint. Otherwise it is halved
    along the attribute whose levels differ most in price, and the corners that this makes are evaluated.

    The front only gets better, so what is settled once stays settled and is forgotten.
    """

    n_pruned = 0

    def __init__(
        self, problem: LatticeProblem, tolerance: Tolerance, max_bytes: int, random_state: np.random.Generator
    ) -> None:
        super().__init__(problem, tolerance, max_bytes, random_state)
        self._corners = Corners(problem)
        self._needs = self.F
        # What a member is off, as a negative share, a number, and the box; what is searched depth first; and what is
        # being halved, by number.
        self._heap: list[tuple[float, int, Box]] = []
        self._stack: list[tuple[float, int, Box]] = []
        self._hand: dict[int, Box] = {}
        self._number = self._n_bytes = 0
        self._begun = False

    @property
    def certified(self) -> bool:
        """Whether all nodes are settled."""
        return self.n_undecided == 0

    @property
    def n_undecided(self) -> int:
        """Number of open boxes."""
        return len(self._heap) + len(self._stack) + len(self._hand) if self._begun else 1

    def advance(self) -> None:
        """Halve boxes until enough tuples are grouped."""
        if not self._begun:
            self._begin()
        left, n_distinct = _SLICE, len(self.problem.table.tuples)
        while left > 0 and not self.certified:
            before = self.n_evaluated
            left -= _TUPLES_A_BOX * self._halve()
            left -= n_distinct * (self.n_evaluated - before)

    def take(self, X: Ints, F: Matrix, G: Matrix) -> None:
        """Take evaluated nodes into the front, or into its boxes."""
        super().take(X, F, G)
        self._needs = least_bounds(self.F, self.tolerance, self.maximize)

    def open_bounds(self) -> Matrix:
        """The bounds of the open boxes."""
        if self.certified:
            return np.empty((0, self.problem.n_obj))
        if not self._begun:
            nothing_known = np.full((1, len(self.problem.measured)), -np.inf)
            low, high = self.problem.lowest, self.problem.highest
            return self._open_bounds([Box(low, high, self._corners.floors_of(low), nothing_known)])
        boxes = [*self._hand.values(), *(box for _, _, box in self._heap), *(box for _, _, box in self._stack)]
        return self._open_bounds(boxes)

    def _open_bounds(self, boxes: list[Box]) -> Matrix:
        """(n, n_obj) float array: the least bounds of boxes that no member stands for."""
        bounds = self._corners.bounds(boxes)[:, : self.problem.n_obj]
        if len(bounds) > 1:
            bounds = bounds[first_non_dominated(bounds)]
        open_ = np.array([not (self._needs <= bound).all(axis=1).any() for bound in bounds], dtype=np.bool_)
        return bounds[open_]

    def _begin(self) -> None:
        """Evaluate the most general and the most special node: the corners of all nodes that count."""
        high = self._corners.highest
        low = self.problem.lowest
        (_, tops), (floors, _) = self._study([high, low])
        if (low < high).any():
            self._put(Box(low, high, np.maximum(floors, self._corners.floors_of(low)), tops))
        self._begun = True

    def _halve(self) -> int:
        """Halve the next boxes, evaluate their new corners, and put the halves back; how many boxes it was."""
        source = self._stack or self._heap
        # First into the hand: what is interrupted may then be searched twice, but never lost.
        while source and len(self._hand) < _BATCH:
            _, number, box = source[-1] if source is self._stack else source[0]
            self._hand[number] = box
            self._n_bytes -= _bytes_of(box)
            if source is self._stack:
                source.pop()
            else:
                heappop(source)
        lower, upper = [], []
        for box in self._hand.values():
            if len(self._open_bounds([box])) == 0:
                self.n_pruned += 1
                continue
            below, above = self._halves(box)
            # The lowest node was evaluated where its classes say something.
            if not self._corners.rises or (below.low < below.high).any():
                lower.append(below)
            if (above.low < above.high).any() and len(self._open_bounds([above])):
                upper.append(above)
        X = [box.high for box in lower] + [box.low for box in upper if self._corners.rises]
        lessons = self._study(X) if X else []
        for box, (_, tops) in zip(lower, lessons[: len(lower)], strict=True):
            if (box.low < box.high).any():
                self._put(box._replace(tops=tops))
        own = lessons[len(lower) :] if self._corners.rises else [(box.floors, box.tops) for box in upper]
        for box, (floors, _) in zip(upper, own, strict=True):
            self._put(box._replace(floors=np.maximum(box.floors, floors)))
        n_boxes = len(self._hand)
        self._hand.clear()
        return n_boxes

    def _halves(self, box: Box) -> tuple[Box, Box]:
        """Two parts of a box, split where the dearest attribute has half of its price; bounds are those of the box.

        The first has a new highest node, the second a new lowest one.
        """
        prices, every = self._corners.prices, np.arange(len(box.low))
        rise = np.where(box.low < box.high, prices[every, box.high] - prices[every, box.low], -1.0)
        j = int(rise.argmax())
        own = prices[j, box.low[j] : box.high[j]]
        level = box.low[j] + np.count_nonzero(own <= own[0] + rise[j] / 2) - 1
        low, high = box.low.copy(), box.high.copy()
        high[j], low[j] = level, level + 1
        floors = np.maximum(box.floors, self._corners.floors_of(low))
        return Box(box.low, high, box.floors, box.tops), Box(low, box.high, floors, box.tops)

    def _study(self, nodes: list[Ints]) -> list[tuple[Matrix, Matrix]]:
        """Evaluate nodes, take them into the front, and read what they say of others."""
        # An interrupted step is done again, so that a box may be there twice.
        X, places = np.unique(np.array(nodes), axis=0, return_inverse=True)
        lessons = self.problem.study(X, partial(map, self._corners.lesson))
        self.n_evaluated += len(X)
        self.take(X, *self.problem.evaluate(X, return_values_of=["F", "G"]))
        return [lessons[place] for place in places.ravel().tolist()]

    def _put(self, box: Box) -> None:
        """Put a box into the heap, or on the stack where the heap is full; pass over what is settled."""
        bounds = self._open_bounds([box])
        if len(bounds) == 0:
            self.n_pruned += 1
            return
        entry = -share_off(self.F, bounds), self._number, box
        self._number += 1
        self._n_bytes += _bytes_of(box)
        if self._n_bytes > self.max_bytes and len(self._heap) + len(self._stack) >= _FEWEST_BOXES:
            self._stack.append(entry)
        else:
            heappush(self._heap, entry)


def _bytes_of(box: Box) -> int:
    """About the memory that a box takes."""
    return _BYTES_A_BOX + box.low.nbytes + box.high.nbytes + box.floors.nbytes + box.tops.nbytes
