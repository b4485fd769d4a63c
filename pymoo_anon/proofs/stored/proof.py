"""Proof over a stored lattice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

import numpy as np

from pymoo_anon.fronts.archive import first_non_dominated
from pymoo_anon.problems.journal import BOUNDS
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.proofs.base import LatticeProof, Tolerance
from pymoo_anon.proofs.stored.covering import find_open, screen, spread
from pymoo_anon.proofs.stored.known import MeasureRules, Members, NodeBounds, NodeScratch, projections, scratch_for
from pymoo_anon.typing import Floats, Ints

# Nodes that are evaluated, or examined, in one slice.
_EVALUATED_A_SLICE = 50
_LOOKED_AT_A_SLICE = 1 << 16

# Bounds pay if they fathom half of the examined nodes: to read bounds from a node takes about as long as to evaluate
# it. At least so many nodes are counted. Nodes that are evaluated without bounds come so many at a time.
_COUNTED = 512
_BATCH_OF_ALL = 4096

# Open nodes that are evaluated together: more of them save more by roll-up, fewer let the front fathom more.
_BATCH = 64
_BATCH_AT_RANDOM = 32


def layer_sizes(lengths: Ints) -> Ints:
    """Return the number of nodes by level sum."""
    sizes = np.ones(1, dtype=np.int64)
    for length in lengths:
        sizes = np.convolve(sizes, np.ones(int(length) + 1, dtype=np.int64))
    return sizes


# Number of nodes to compute bounds of together.
_BOUNDED_TOGETHER = 1 << 14


class StoredLatticeProof(LatticeProof):
    """Proof with bounds of every node.

    It begins with the nodes that have few attributes below the top. They have few classes, and bound all nodes that
    share their levels. Then it visits layer by layer, from general to special, so that a node comes after all that
    bound it from above. Floors that rise from below would be unknown in that order: with such objectives there is one
    layer in random order, which has evaluated nodes on both sides.

    If bounds fathom too few nodes to be worth their time, all open nodes are evaluated, as by exhaustive search.
    """

    shows_gap = False

    def __init__(
        self, problem: LatticeProblem, tolerance: Tolerance, max_bytes: int, random_state: np.random.Generator
    ) -> None:
        super().__init__(problem, tolerance, max_bytes, random_state)
        self._measures = own = MeasureRules(problem, self.reader)
        # Whether it visits layers, from general to special.
        self.sweeps = own.sweeps
        n_values = max(len(own.thresholds), 1)
        self._nodes = NodeBounds(
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
        # The layer, its nodes to examine, the place of the next one, and the nodes to evaluate.
        self._layer, self._ahead, self._position = len(self._layer_sizes), first[:0], 0
        self._open = first
        # Whether all open nodes are evaluated, without bounds.
        self.visits_all = False
        # The first layers are small and mostly evaluated: they do not show how well bounds work later.
        self._n_counted = max(_COUNTED, problem.n_nodes // 16) if self.sweeps else _COUNTED
        # Number of nodes that were examined since bounds were last judged, and of the open ones among them.
        self._n_looked_at = self._n_open = 0
        # Number of evaluated nodes by layer.
        self._n_done = np.zeros(len(self._layer_sizes), dtype=np.int64)

    @property
    def certified(self) -> bool:
        """Whether all nodes are fathomed."""
        return self._layer < 0

    @property
    def n_undecided(self) -> int:
        """Number of nodes that are not fathomed."""
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
        """Number of nodes that bounds fathomed."""
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
        """Evaluate nodes from elsewhere, each once."""
        self._visit(np.unique(self._measures.steps(X) @ self._measures.rules.strides))

    def _update_front(self, X: Ints, F: Floats, G: Floats) -> None:
        self._members = None
        super()._update_front(X, F, G)

    def open_bounds(self) -> Floats:
        """Return the bounds of all open nodes."""
        if self.certified:
            return np.empty((0, self.problem.n_obj))
        n_obj, nodes = self.problem.n_obj, self._nodes
        ahead = [np.append(self._ahead[self._position :], self._open)]
        later: Iterable[Ints] = ()
        if self._layer > 0 and self.sweeps:
            nodes = NodeBounds(nodes.tops.copy(), nodes.bounds.copy(), nodes.done)
            later = self._brought_down(nodes)
        elif self._layer > 0:
            ahead = [np.arange(self.problem.n_nodes)]
        least = self.reader.least
        bounds = np.empty((0, n_obj))
        # Invariant: every open node so far is at least as large as some row. A row for each node at once would take far
        # more memory than the bounds of the nodes.
        for part in chain(later, ahead):
            for i in range(0, len(part), _BOUNDED_TOGETHER):
                chosen = part[i : i + _BOUNDED_TOGETHER]
                own = np.maximum(self._measures.bounds_of(chosen[~nodes.done[chosen]], nodes), least)
                possible = (own <= self._measures.rules.limits).all(axis=1)
                bounds = np.concatenate([bounds, own[possible, :n_obj]])
                bounds = bounds[first_non_dominated(bounds)]
        return bounds

    def _look(self) -> int:
        """Examine nodes until some are open, and count them."""
        found = np.empty(_BATCH if self.sweeps else _BATCH_AT_RANDOM, dtype=np.int64)
        arrays = self._arrays(self._nodes, self._front(), self._scratches[0])
        start, end = self._position, min(self._position + _LOOKED_AT_A_SLICE, len(self._ahead))
        self._position, n_open = find_open(self._ahead, start, end, found, *arrays)
        self._open = found[:n_open]
        self._n_looked_at += self._position - start
        self._n_open += n_open
        return int(self._position - start)

    def _judge_bounds(self) -> None:
        """Evaluate all open nodes if bounds fathom too few."""
        if 2 * self._n_open > self._n_looked_at:
            later = self._brought_down(self._nodes) if self.sweeps else ()
            self._ahead = np.concatenate([self._ahead[self._position :], *later])
            self._layer = self._position = 0
            found = np.empty(len(self._ahead), dtype=np.int64)
            arrays = self._arrays(self._nodes, self._front(), self._scratches[0])
            self._position, n_open = find_open(self._ahead, 0, len(self._ahead), found, *arrays)
            self._open, self.visits_all = np.sort(found[:n_open]), True
        self._n_looked_at = self._n_open = 0

    def _brought_down(self, nodes: NodeBounds) -> Iterator[Ints]:
        """Bring bounds down and yield the nodes to come."""
        # Without members no bound is skipped, and no node is covered.
        nobody = Members(np.empty((0, len(self.reader.families))), np.empty((0, nodes.tops.shape[1])))
        for total in range(len(self._n_done) - 1, -1, -1):
            found = self._screen(total, nodes, nobody)
            if total < self._layer:
                yield found

    def _front(self) -> Members:
        if self._members is None:
            self._members = self._measures.members_of(self.F, self.tolerance)
        return self._members

    def _arrays(self, nodes: NodeBounds, members: Members, scratch: NodeScratch) -> tuple[Any, ...]:
        groups = self._measures.rules, nodes, members, scratch
        return tuple(array for group in groups for array in group)

    def _enter_next_layer(self) -> None:
        """Bring bounds down to the next layer, and sort its open nodes by loss."""
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

    def _screen(self, total: int, nodes: NodeBounds, members: Members) -> Ints:
        """Return the open nodes of a layer."""

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
            # Starting threads takes longer than a small part.
            return find(levels)
        with ThreadPoolExecutor(len(self._scratches)) as pool:
            return np.concatenate(list(pool.map(find, [range(level, level + 1) for level in levels])))

    def _visit(self, nodes: Ints) -> None:
        """Evaluate nodes and apply their bounds."""
        nodes = nodes[~self._nodes.done[nodes]]
        if len(nodes) == 0:
            return
        X = self._measures.levels(nodes)
        if self.visits_all:
            self.take(X, self.problem.measure(X))
        else:
            values, read = self._measured(X)
            self.take(X, values)
            self._apply(nodes, X, read)
        # Last, so that interrupted nodes stay open.
        self._nodes.done[nodes] = True
        self._n_done += np.bincount(self._measures.steps(X).sum(axis=1), minlength=len(self._n_done))
        self.n_evaluated += len(nodes)

    def _measured(self, X: Ints) -> tuple[Floats, Floats]:
        """Measure nodes, and read bounds or take the journal's."""
        journal = self.problem.journal
        read: list[Any] = [None if journal is None else journal.bounds.pop(x.tobytes(), None) for x in X]
        new = np.array([i for i, one in enumerate(read) if one is None], dtype=np.int64)
        values = np.empty((len(X), len(self.problem.measured) + 1))
        if len(new):
            values[new], found = self.problem.measure_with_bounds(X[new], self._measures.read)
            for i, one in zip(new, found, strict=True):
                read[i] = one
                if journal is not None:
                    journal.append(BOUNDS, [X[i].tobytes()], one)
        if len(new) < len(X):
            old = np.setdiff1d(np.arange(len(X)), new)
            values[old] = self.problem.measure(X[old])
        # An earlier version may have written more numbers, after these.
        width = self._nodes.tops.shape[1] + 2 * self._nodes.bounds.shape[1]
        if any(len(one) < width for one in read):
            raise ValueError(f"{journal.path} holds bounds of another version; search anew, without resume")
        return values, np.array([one[:width] for one in read])

    def _apply(self, nodes: Ints, X: Ints, read: Floats) -> None:
        """Apply bounds of nodes to all others."""
        if not self.sweeps:
            spread(self._measures.steps(X), read, *self._arrays(self._nodes, self._front(), self._scratches[0]))
            return
        # These bounds come down to specializations when the proof enters their layer.
        n_values, n_columns = self._nodes.tops.shape[1], self._nodes.bounds.shape[1]
        tops, special, _ = np.split(read, [n_values, n_values + n_columns], axis=1)
        self._nodes.tops[nodes] = np.minimum(self._nodes.tops[nodes], tops)
        self._nodes.bounds[nodes] = np.maximum(self._nodes.bounds[nodes], special)


def bytes_of(problem: LatticeProblem) -> int:
    """Return the bytes that a stored proof takes."""
    # At most two numbers for each measure, whether a node is done, and its place in a layer, which is sorted once.
    return problem.n_nodes * (8 * len(problem.measured) + 8 + 1)
