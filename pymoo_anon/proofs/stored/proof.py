"""Proofs over lattices that are stored: what is known of every node, and which nodes are settled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np

from pymoo_anon.engine.arrays import Ints
from pymoo_anon.fronts.archive import first_non_dominated
from pymoo_anon.problems.journal import LESSON
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.proofs.base import LatticeProof, Tolerance
from pymoo_anon.proofs.reading import Matrix
from pymoo_anon.proofs.stored.covering import find_open, screen, spread
from pymoo_anon.proofs.stored.known import Measures, Members, Nodes, NodeScratch, projections, scratch_for

# Nodes that are evaluated, or looked at, in one slice.
_EVALUATED_A_SLICE = 50
_LOOKED_AT_A_SLICE = 1 << 16

# Bounds pay where they settle half of the nodes that are looked at: to learn from a node takes about as long again as
# to evaluate it. That is counted over so many nodes at least. Nodes that are visited without lessons come so many at a
# time.
_COUNTED = 512
_BATCH_OF_ALL = 4096

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

    Where bounds settle too little to be worth their time, all that they leave open is visited, as by exhaustive search.
    """

    shows_gap = False

    def __init__(
        self, problem: LatticeProblem, tolerance: Tolerance, max_bytes: int, random_state: np.random.Generator
    ) -> None:
        super().__init__(problem, tolerance, max_bytes, random_state)
        self._measures = own = Measures(problem, self.reader)
        # Whether there are layers, from general to special.
        self.sweeps = own.sweeps
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
        # Whether all open nodes are visited, without lessons.
        self.visits_all = False
        # Of layers the first are few nodes, of which most are evaluated: they say little of those to come.
        self._n_counted = max(_COUNTED, problem.n_nodes // 16) if self.sweeps else _COUNTED
        # Nodes that were looked at since bounds were last judged, and how many of them were open.
        self._n_looked_at = self._n_open = 0
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
                size = _BATCH_OF_ALL if self.visits_all else _BATCH
                self._visit(self._open[:size])
                self._open = self._open[size:]
            elif self._n_looked_at >= self._n_counted and (self._position == len(self._ahead) or not self.sweeps):
                self._judge_bounds()
            elif self._position == len(self._ahead):
                self._enter_next_layer()
            else:
                n_looked += self._look()

    def offer(self, X: Ints) -> None:
        """Evaluate nodes from elsewhere, each once, and learn from them."""
        self._visit(np.unique(self._measures.steps(X) @ self._measures.rules.strides))

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
        later: Iterable[Ints] = ()
        if self._layer > 0 and self.sweeps:
            nodes = Nodes(nodes.tops.copy(), nodes.bounds.copy(), nodes.done)
            later = self._brought_down(nodes)
        elif self._layer > 0:
            ahead = [np.arange(self.problem.n_nodes)]
        least = self.reader.least
        bounds = np.empty((0, n_obj))
        # Invariant: every open node that was looked at is at least as large as some row. Few nodes at a time: a row for
        # each would take far more memory than what is known of them.
        for part in chain(later, ahead):
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
        self._n_looked_at += self._position - start
        self._n_open += n_open
        return int(self._position - start)

    def _judge_bounds(self) -> None:
        """Visit all that bounds leave open from now on, unless they settled half of the nodes that were looked at."""
        if 2 * self._n_open > self._n_looked_at:
            later = self._brought_down(self._nodes) if self.sweeps else ()
            self._ahead = np.concatenate([self._ahead[self._position :], *later])
            self._layer = self._position = 0
            found = np.empty(len(self._ahead), dtype=np.int64)
            arrays = self._arrays(self._nodes, self._front(), self._scratches[0])
            self._position, n_open = find_open(self._ahead, 0, len(self._ahead), found, *arrays)
            self._open, self.visits_all = np.sort(found[:n_open]), True
        self._n_looked_at = self._n_open = 0

    def _brought_down(self, nodes: Nodes) -> Iterator[Ints]:
        """The nodes of the layers to come, once all bounds have come down to them."""
        # Without members that stand for anything no bound is passed over, and all nodes are left.
        nobody = Members(np.empty((0, len(self.reader.families))), np.empty((0, nodes.tops.shape[1])))
        for total in range(len(self._n_done) - 1, -1, -1):
            found = self._screen(total, nodes, nobody)
            if total < self._layer:
                yield found

    def _front(self) -> Members:
        if self._members is None:
            self._members = self._measures.members_of(self.F, self.tolerance)
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
                n_left = int(self._layer_sizes[self._layer - 1] - self._n_done[self._layer - 1])
                ahead = self._screen(self._layer - 1, self._nodes, self._front())
                self._n_looked_at += n_left - len(ahead)
                # Nodes of little loss are most likely to be in the front.
                self._ahead = ahead[np.argsort(self._measures.first_floors(ahead), kind="stable")]
            self._layer -= 1
        self._position = 0

    def _screen(self, total: int, nodes: Nodes, members: Members) -> Ints:
        """The nodes of a layer that are not plainly settled."""

        def find(levels: range) -> Ints:
            found = np.empty(sum(self._rest_sizes[total - level] for level in levels), dtype=np.int64)
            # Each of the threads has memory of its own.
            scratch = self._scratches.pop()
            try:
                n = screen(total, levels[0], levels[-1], found, *self._arrays(nodes, members, scratch))
            finally:
                self._scratches.append(scratch)
            return found[:n]

        lowest = max(total - len(self._rest_sizes) + 1, 0)
        levels = range(lowest, min(int(self.problem.lengths[0]), total) + 1)
        if len(self._scratches) == 1 or len(levels) == 1:
            # A call takes longer than a small part.
            return find(levels)
        with ThreadPoolExecutor(len(self._scratches)) as pool:
            return np.concatenate(list(pool.map(find, [range(level, level + 1) for level in levels])))

    def _visit(self, nodes: Ints) -> None:
        """Evaluate nodes and offer them to the front; learn from their classes, unless all are visited."""
        nodes = nodes[~self._nodes.done[nodes]]
        if len(nodes) == 0:
            return
        X = self._measures.levels(nodes)
        lessons = None if self.visits_all else self._lessons(X)
        self.take(X, *self.problem.evaluate(X, return_values_of=["F", "G"]))
        if lessons is not None:
            self._learn(nodes, X, lessons)
        # Last, so that nodes whose evaluation is interrupted stay open.
        self._nodes.done[nodes] = True
        self._n_done += np.bincount(self._measures.steps(X).sum(axis=1), minlength=len(self._n_done))
        self.n_evaluated += len(nodes)

    def _lessons(self, X: Ints) -> Matrix:
        """(n, n_values + 2 n_columns) float array: what the classes of nodes say of others; it may be in a journal."""
        journal = self.problem.journal
        found: list[Any] = [None if journal is None else journal.lessons.pop(x.tobytes(), None) for x in X]
        new = np.array([i for i, lesson in enumerate(found) if lesson is None], dtype=np.int64)
        learned = self.problem.study(X[new], self._measures.lessons_of) if len(new) else []
        for i, lesson in zip(new, learned, strict=True):
            found[i] = lesson
            if journal is not None:
                journal.append(LESSON, [X[i].tobytes()], lesson)
        # What comes behind was written by an earlier version.
        width = self._nodes.tops.shape[1] + 2 * self._nodes.bounds.shape[1]
        if any(len(lesson) < width for lesson in found):
            raise ValueError(f"{journal.path} holds what another version learned; search anew, without resume")
        return np.array([lesson[:width] for lesson in found])

    def _learn(self, nodes: Ints, X: Ints, lessons: Matrix) -> None:
        """Note what nodes say about their specializations and generalizations."""
        if not self.sweeps:
            spread(self._measures.steps(X), lessons, *self._arrays(self._nodes, self._front(), self._scratches[0]))
            return
        # These bounds come down to specializations when their layer is entered.
        n_values, n_columns = self._nodes.tops.shape[1], self._nodes.bounds.shape[1]
        tops, special, _ = np.split(lessons, [n_values, n_values + n_columns], axis=1)
        self._nodes.tops[nodes] = np.minimum(self._nodes.tops[nodes], tops)
        self._nodes.bounds[nodes] = np.maximum(self._nodes.bounds[nodes], special)


def bytes_of(problem: LatticeProblem) -> int:
    """Memory that what is known of all nodes takes."""
    # Two numbers for each measure at most, whether a node is done, and its place in a layer, which is sorted once.
    return problem.n_nodes * (8 * len(problem.measured) + 8 + 1)
