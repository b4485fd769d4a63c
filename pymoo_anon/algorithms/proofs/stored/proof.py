"""Proofs over lattices that are stored: what is known of every node, and which nodes are settled."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.base import LatticeProof, Tolerance, least_values
from pymoo_anon.algorithms.proofs.stored.covering import find_open, screen
from pymoo_anon.algorithms.proofs.stored.known import (
    Measures,
    Members,
    Nodes,
    NodeScratch,
    members_of,
    projections,
    scratch_for,
)
from pymoo_anon.algorithms.proofs.stored.teacher import Teacher
from pymoo_anon.fronts.archive import first_non_dominated
from pymoo_anon.problems.journal import LESSON
from pymoo_anon.problems.lattice import LatticeProblem

Ints = NDArray[np.int64]
Matrix = NDArray[np.float64]

# Nodes that are evaluated, or looked at, in one slice.
_EVALUATED_A_SLICE = 50
_LOOKED_AT_A_SLICE = 1 << 16

# Open nodes that are evaluated together: with more of them roll-up saves more, with fewer the front settles more.
_BATCH = 64
_BATCH_AT_RANDOM = 32


def layer_sizes(lengths: Ints) -> Ints:
    """(sum of the lengths + 1,) int64 array: how many nodes have each level sum."""
    sizes = np.ones(1, dtype=np.int64)
    for length in lengths:
        sizes = np.convolve(sizes, np.ones(int(length) + 1, dtype=np.int64))
    return sizes


# Nodes whose bounds are told together.
_BOUNDED_TOGETHER = 1 << 14


class StoredLatticeProof(LatticeProof):
    """The open nodes of a lattice, and the bounds that settle them.

    First come the nodes with few attributes below the top: they have few classes, and bound all nodes that share their
    levels. Then nodes are visited layer by layer. From general to special every bound from above is known when its node
    comes. A floor that rises from below is known nowhere then: with such objectives there is one layer in random order,
    which has evaluated nodes on both sides.
    """

    shows_gap = False

    def __init__(
        self,
        problem: LatticeProblem,
        tolerance: Tolerance,
        max_bytes: int,
        random_state: np.random.Generator,
    ) -> None:
        super().__init__(problem, tolerance, max_bytes, random_state)
        self._measures = own = Measures(problem)
        self.sweeps = own.sweeps
        self._teacher = Teacher(problem, own.families, own.thresholds, own.columns, not own.sweeps)
        n_values = max(len(own.thresholds), 1)
        self._nodes = Nodes(
            np.full((problem.n_nodes, n_values), own.first_tops()),
            own.first_bounds(),
            np.zeros(problem.n_nodes, dtype=bool),
        )
        self._scratches = [scratch_for(own.rules) for _ in range(problem.n_threads)]
        self._members: Members | None = None
        first = projections(problem.lengths, own.rules.strides, 2 if self.sweeps else 3)
        self._layer_sizes = layer_sizes(problem.lengths)
        # The same without the first attribute.
        self._rest_sizes = layer_sizes(problem.lengths[1:])
        # The nodes that are looked at, the place of the next one, and those that are to be evaluated.
        self._layer, self._ahead, self._position = len(self._layer_sizes), first[:0], 0
        self._open = first
        # How many nodes of each layer were evaluated.
        self._n_done = np.zeros(len(self._layer_sizes), dtype=np.int64)

    @property
    def certified(self) -> bool:
        """Whether all nodes are settled."""
        return self._layer < 0

    @property
    def n_undecided(self) -> int:
        """Number of nodes that are not settled."""
        if self.certified:
            return 0
        later = max(self._layer, 0)
        ahead = np.union1d(self._ahead[self._position :], self._open if self._layer < len(self._n_done) else [])
        own = int(np.count_nonzero(~self._nodes.done[ahead.astype(np.int64)]))
        if not self.sweeps:
            return own if self._layer == 0 else int(self._layer_sizes.sum() - self._n_done.sum())
        return own + int(self._layer_sizes[:later].sum() - self._n_done[:later].sum())

    @property
    def n_pruned(self) -> int:
        """Number of nodes that were settled without an evaluation."""
        return int(self.problem.n_nodes) - self.n_evaluated - self.n_undecided

    def advance(self) -> None:
        """Evaluate the next open nodes."""
        before, n_looked = self.n_evaluated, 0
        while not self.certified and self.n_evaluated - before < _EVALUATED_A_SLICE and n_looked < _LOOKED_AT_A_SLICE:
            if len(self._open) > 0:
                self._visit(self._open[:_BATCH])
                self._open = self._open[_BATCH:]
            elif self._position == len(self._ahead):
                self._enter_next_layer()
            else:
                n_looked += self._look()

    def offer(self, X: Ints) -> None:
        """Evaluate nodes from elsewhere, each once, and learn from them."""
        self._visit(np.unique(X @ self._measures.rules.strides))

    def take(self, X: Ints, F: Matrix, G: Matrix) -> None:
        """Take evaluated nodes into the front, or into its boxes."""
        self._members = None
        super().take(X, F, G)

    def open_bounds(self) -> Matrix:
        """The bounds of the nodes that are not settled; to bring them down to all layers takes a look at every node."""
        if self.certified:
            return np.empty((0, self.problem.n_obj))
        n_obj, nodes = self.problem.n_obj, self._nodes
        ahead = [np.append(self._ahead[self._position :], self._open)]
        # Without members that stand for anything all are left.
        nobody = Members(np.empty((0, len(self._measures.families))), np.empty((0, nodes.tops.shape[1])))
        later = range(0)
        if self._layer > 0 and self.sweeps:
            nodes = Nodes(nodes.tops.copy(), nodes.bounds.copy(), nodes.done)
            later = range(self._layer - 1, -1, -1)
            # While members stood for nodes, not all bounds came down to these.
            for total in range(len(self._n_done) - 1, self._layer - 1, -1):
                self._screen(total, nodes, nobody)
        elif self._layer > 0:
            ahead = [np.arange(self.problem.n_nodes)]
        least = least_values(self.problem)
        bounds = np.empty((0, n_obj))
        # Invariant: every open node that was looked at is at least as large as some row. Few nodes at a time: a row for
        # each would take far more memory than what is known of them.
        for part in chain(ahead, (self._screen(total, nodes, nobody) for total in later)):
            for i in range(0, len(part), _BOUNDED_TOGETHER):
                chosen = part[i : i + _BOUNDED_TOGETHER]
                own = np.maximum(self._measures.bounds_of(chosen[~nodes.done[chosen]], nodes), least)
                possible = (own <= self._measures.rules.limits).all(axis=1)
                bounds = np.concatenate([bounds, own[possible, :n_obj]])
                bounds = bounds[first_non_dominated(bounds)]
        return bounds

    def _look(self) -> int:
        """Look at nodes until some are open; returns how many were looked at."""
        found = np.empty(_BATCH if self.sweeps else _BATCH_AT_RANDOM, dtype=np.int64)
        arrays = self._arrays(self._nodes, self._front(), self._scratches[0])
        start, end = self._position, min(self._position + _LOOKED_AT_A_SLICE, len(self._ahead))
        self._position, n_open = find_open(self._ahead, start, end, found, *arrays)
        self._open = found[:n_open]
        return int(self._position - start)

    def _front(self) -> Members:
        if self._members is None:
            own = self._measures
            self._members = members_of(self.F, self.tolerance, self.maximize, own.families, own.thresholds)
        return self._members

    def _arrays(self, nodes: Nodes, members: Members, scratch: NodeScratch) -> tuple[Any, ...]:
        """All arrays for compiled loops, in the order in which they are named."""
        groups = self._measures.rules, nodes, members, scratch
        return tuple(array for group in groups for array in group)

    def _enter_next_layer(self) -> None:
        """Go on to the next layer: bounds come down from the one above, nodes of little loss come first."""
        if not self.sweeps:
            n_nodes = self.problem.n_nodes
            self._ahead = self.random_state.permutation(n_nodes) if self._layer > 0 else self._ahead[:0]
            self._layer = 0 if self._layer > 0 else -1
        else:
            if self._layer > 0:
                ahead = self._screen(self._layer - 1, self._nodes, self._front())
                # Nodes of little loss are most likely to be in the front.
                self._ahead = ahead[np.argsort(self._measures.first_floors(ahead), kind="stable")]
            self._layer -= 1
        self._position = 0

    def _screen(self, total: int, nodes: Nodes, members: Members) -> Ints:
        """The nodes of a layer that are not plainly settled."""

        def find(levels: range, scratch: NodeScratch) -> Ints:
            found = np.empty(sum(self._rest_sizes[total - level] for level in levels), dtype=np.int64)
            n = screen(total, levels[0], levels[-1], found, *self._arrays(nodes, members, scratch))
            return found[:n]

        lowest = max(total - len(self._rest_sizes) + 1, 0)
        levels = range(lowest, min(int(self.problem.lengths[0]), total) + 1)
        # A call takes longer than a small part, so that one thread gets a single one.
        parts = [levels] if len(self._scratches) == 1 else [range(level, level + 1) for level in levels]
        return np.concatenate(self._by_threads(find, parts))

    def _by_threads(self, work: Callable[[Any, NodeScratch], Ints], parts: Sequence[Any]) -> list[Ints]:
        """What the parts of some work give, in their order; each of the threads has memory of its own."""
        free = deque(self._scratches)

        def do(part: Any) -> Ints:
            scratch = free.pop()
            try:
                return work(part, scratch)
            finally:
                free.append(scratch)

        if len(free) < 2 or len(parts) < 2:
            return [do(part) for part in parts]
        with ThreadPoolExecutor(len(free)) as pool:
            return list(pool.map(do, parts))

    def _visit(self, nodes: Ints) -> None:
        """Evaluate nodes, learn from their classes, and offer them to the front."""
        nodes = nodes[~self._nodes.done[nodes]]
        if len(nodes) == 0:
            return
        X = nodes[:, np.newaxis] // self._measures.rules.strides % (self.problem.lengths + 1)
        F, G, lessons = self._lessons(X)
        self.take(X, F, G)
        totals = X.sum(axis=1).tolist()
        for i, node in enumerate(nodes.tolist()):
            self._learn(node, X[i], lessons[i])
            # Last, so that a node whose evaluation is interrupted stays open.
            self._nodes.done[node] = True
            self._n_done[totals[i]] += 1
            self.n_evaluated += 1

    def _lessons(self, X: Ints) -> tuple[Matrix, Matrix, list[Matrix]]:
        """F and G of nodes, and what their classes say about others: both may stand in a journal."""
        journal = self.problem.journal
        found: list[Any] = [None if journal is None else journal.lessons.pop(x.tobytes(), None) for x in X]
        new = np.array([i for i, lesson in enumerate(found) if lesson is None], dtype=np.int64)

        learned = self.problem.study(X[new], self._teacher.lessons) if len(new) else []
        for i, lesson in zip(new, learned, strict=True):
            found[i] = lesson
            if journal is not None:
                journal.append(LESSON, [X[i].tobytes()], lesson)
        F, G = self.problem.evaluate(X, return_values_of=["F", "G"])
        return F, G, found

    def _learn(self, node: int, x: Ints, lesson: Matrix) -> None:
        """Note what a node says about its specializations and generalizations."""
        n_values, n_columns = self._nodes.tops.shape[1], self._nodes.bounds.shape[1]
        # What comes behind was written by an earlier version.
        tops, special, general = np.split(lesson[: n_values + 2 * n_columns], [n_values, n_values + n_columns])
        if self.sweeps:
            self._nodes.tops[node] = np.minimum(self._nodes.tops[node], tops)
            known = self._nodes.bounds[node]
            np.maximum(known, special, out=known)
        else:
            self._spread(x, tops, special, general)

    def _spread(self, x: Ints, tops: Matrix, special: Matrix, general: Matrix) -> None:
        """Note what all specializations of a node cannot be above, and raise the floors of all its generalizations."""
        # An attribute of one level is no axis: numpy has a limit of them.
        axes = self.problem.lengths > 0
        shape, place = self.problem.lengths[axes] + 1, x[axes]
        below: Any = (*(slice(0, level + 1) for level in place), ...)
        above: Any = (*(slice(level, None) for level in place), ...)
        for values, own in zip(self._nodes.tops.T, tops, strict=True):
            grid = values.reshape(shape)
            np.minimum(grid[below], own, out=grid[below])
        for values, low, high in zip(self._nodes.bounds.T, special, general, strict=True):
            grid = values.reshape(shape)
            np.maximum(grid[below], low, out=grid[below])
            np.maximum(grid[above], high, out=grid[above])


def bytes_of(problem: LatticeProblem) -> int:
    """Memory that what is known of all nodes takes."""
    # Two numbers for each measure at most, whether a node is done, and its place in a layer, which is sorted once.
    return problem.n_nodes * (8 * len(problem.measured) + 8 + 1)
