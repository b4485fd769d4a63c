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
from pymoo_anon.algorithms.proofs.stored.covering import is_plainly_covered, stands_beside
from pymoo_anon.algorithms.proofs.stored.evidence import Library, Teacher
from pymoo_anon.algorithms.proofs.stored.known import (
    Measures,
    Members,
    Nodes,
    NodeScratch,
    known_groups,
    members_of,
    projections,
    scratch_for,
)
from pymoo_anon.algorithms.proofs.stored.union import NO_ORDER, SLICE, settle
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.refuting import blocks_for, cells_of
from pymoo_anon.fronts.archive import first_non_dominated
from pymoo_anon.problems.journal import LESSON
from pymoo_anon.problems.lattice import LatticeProblem

Ints = NDArray[np.int64]


def layer_sizes(lengths: Ints) -> Ints:
    """(sum of the lengths + 1,) int64 array: how many nodes have each level sum."""
    sizes = np.ones(1, dtype=np.int64)
    for length in lengths:
        sizes = np.convolve(sizes, np.ones(int(length) + 1, dtype=np.int64))
    return sizes


@njit(cache=True, nogil=True, allocates=False)
def screen(total, lowest, highest, found, *arrays):  # type: ignore[no-untyped-def]
    """Bring bounds down to nodes of one level sum, and find those that no member plainly stands for.

    Args:
        total: The level sum; the nodes of the sum above have their bounds.
        lowest: The least level of the first attribute.
        highest: Its greatest level; with each level between the two there are such nodes.
        found: (n,) int64, written: the nodes that are left, in the order of their numbers.
        arrays: The arrays of all groups, as `known_groups` takes them.

    Returns:
        How many nodes are left.
    """
    rules, _, known, members, _, scratch, _ = known_groups(arrays)
    n_found = 0
    for first in range(lowest, highest + 1):
        n_found = _screen_level(total, first, found, n_found, rules, known, members, scratch)
    return n_found


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def _screen_level(total, first, found, n_found, rules, known, members, scratch):  # type: ignore[no-untyped-def]
    """What `screen` does with one level of the first attribute; returns how many nodes are left so far.

    Hints begin anew: bounds do not depend on how many levels one thread gets.
    """
    n_var, n_additive = len(rules.lengths), len(scratch.floors)
    x, floors, numbers = scratch.x, scratch.prefixes, scratch.numbers
    x[0] = first
    _fill(1, total - first, rules.lengths, x)
    changed, hint = 0, 0
    # Invariant: all nodes before x have their bounds, and those of them that are left were found.
    while changed >= 0:
        for j in range(changed, n_var):
            numbers[j + 1] = numbers[j] + x[j] * rules.strides[j]
            for a in range(n_additive):
                term = rules.terms[a, j, x[j]]
                # From the first attribute on, as the measure itself adds them up: the last bits have to agree.
                floors[a, j + 1] = term if j == 0 else floors[a, j] + term
        node = numbers[n_var]
        for a in range(n_additive):
            scratch.floors[a] = floors[a, n_var]
        _inherit(node, x, hint, rules, known, members, scratch)
        if not known.done[node]:
            stands = is_plainly_covered(node, hint, rules, known, members, scratch)
            if stands >= 0:
                hint = stands
            elif stands == -1:
                found[n_found] = node
                n_found += 1
        changed = _next(x, rules.lengths)
    return n_found


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def _inherit(node, x, hint, rules, known, members, scratch):  # type: ignore[no-untyped-def]
    """What no generalization can be, a node cannot be either.

    Its generalizations lie far apart in memory, and to read them is most of the work. So no more of them are read once
    the member of the hint stands for the node: the node's bounds are then true, but not the best.
    """
    for c in range(rules.amounts[3]):
        bound = known.bounds[node, c]
        for j in range(len(x)):
            if x[j] < rules.lengths[j]:
                bound = max(bound, known.bounds[node + rules.strides[j], c])
        known.bounds[node, c] = bound
    stands = hint < len(members.needs) and stands_beside(hint, node, rules, known, members, scratch)
    for h in range(known.tops.shape[1]):
        top, enough = known.tops[node, h], members.reaches[hint, h] if stands else -np.inf
        # Generalizations by the last attributes come first: they are the nearest.
        for j in range(len(x) - 1, -1, -1):
            if top <= enough:
                break
            if x[j] < rules.lengths[j]:
                top = min(top, known.tops[node + rules.strides[j], h])
        known.tops[node, h] = top


@njit(cache=True, nogil=True, allocates=False)
def _fill(start, total, lengths, x):  # type: ignore[no-untyped-def]
    """Write the lowest levels from an attribute on that have this sum: the last ones are raised first."""
    for j in range(len(lengths) - 1, start - 1, -1):
        x[j] = min(lengths[j], total)
        total -= x[j]


@njit(cache=True, nogil=True, allocates=False)
def _next(x, lengths):  # type: ignore[no-untyped-def]
    """Make x the next node of its level sum, with the same first level.

    Returns:
        The first attribute that changed, or -1 after the last node.
    """
    behind = 0
    # Invariant: the levels behind j have the sum `behind`, and are as high as they get from the first of them on.
    for j in range(len(x) - 1, 0, -1):
        if x[j] < lengths[j] and behind > 0:
            x[j] += 1
            _fill(j + 1, behind - 1, lengths, x)
            return j
        behind += x[j]
    return -1


Matrix = NDArray[np.float64]

# Nodes that are evaluated in one slice.
_NODES_A_SLICE = 50

# Open nodes that are evaluated together. With more of them roll-up saves more, with fewer the front prunes more.
_BATCH = 1
_BATCH_AT_RANDOM = 32

# Nodes of a layer that one thread sifts at a time.
_SIFTED_TOGETHER = 1024

# Nodes whose bounds are told together.
_BOUNDED_TOGETHER = 1 << 14

# Projections that are evaluated together.
_PROJECTIONS = 64


class StoredLatticeProof(LatticeProof):
    """The open nodes of a lattice, and the bounds that settle them.

    First come the nodes with few attributes below the top: they have few classes, and bound all nodes that share their
    levels. Then nodes are visited layer by layer. From general to special every bound from above is known when its node
    comes. A floor that rises from below is known nowhere then: with such objectives there is one layer in random order,
    which has evaluated nodes on both sides.

    Args:
        problem: The problem.
        tolerance: How far the front may stay off.
        max_bytes: Memory that the bounds of all nodes may take.
        random_state: Draws the random order.

    Attributes:
        n_full: Number of evaluated nodes with more attributes below the top than those that come first.
        n_refuted: Number of nodes that were grouped in part, until a bound said enough.
        n_read: Number of distinct tuples that were read for these.
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
        self._cells = cells_of(problem.table.tuples)
        self._measures = own = Measures(problem, self._cells)
        self.sweeps = own.sweeps
        self._teacher = Teacher(problem, own.families, own.thresholds, own.columns, self._cells, not own.sweeps)
        n_values = max(len(own.thresholds), 1)
        self._nodes = Nodes(
            np.full((problem.n_nodes, n_values), own.first_tops()),
            own.first_bounds(),
            np.zeros(problem.n_nodes, dtype=bool),
        )
        n_bytes = 8 * problem.table.n_distinct + 4 * own.entries.shape[1]
        self._library = Library(
            own.rules, n_values, self._cells, own.entries, most_orders=max(max_bytes // 4 // n_bytes, 1)
        )
        self._scratches = [scratch_for(own.rules, self._cells, n_values) for _ in range(problem.n_threads)]
        self._blocks = blocks_for(problem.table.n_distinct)
        self._members: Members | None = None
        self.n_full = 0
        self._depth, first = projections(problem.lengths, own.rules.strides, 2 if self.sweeps else 3)
        self._layer_sizes = layer_sizes(problem.lengths)
        # The same without the first attribute.
        self._rest_sizes = layer_sizes(problem.lengths[1:])
        # The nodes that are looked at, the place of the next one, and those that are to be evaluated.
        self._layer, self._ahead, self._position = len(self._layer_sizes), first[:0], 0
        self._open = first
        self._is_sifted = True
        # How many nodes of each layer were evaluated.
        self._n_done = np.zeros(len(self._layer_sizes), dtype=np.int64)

    @property
    def certified(self) -> bool:
        """Whether all nodes are settled."""
        return self._layer < 0

    @property
    def n_refuted(self) -> int:
        """Number of nodes that were grouped in part, until a bound said enough."""
        return int(self._scratches[0].work[1])

    @property
    def n_read(self) -> int:
        """Number of distinct tuples that were read for these."""
        return int(self._scratches[0].work[0])

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
        before = self.n_evaluated
        while not self.certified and self.n_evaluated - before < _NODES_A_SLICE:
            if len(self._open) > 0:
                size = _PROJECTIONS if self._layer == len(self._n_done) else len(self._open)
                self._visit(self._open[:size])
                self._open = self._open[size:]
            elif self._position == len(self._ahead):
                self._enter_next_layer()
            elif not self._is_sifted:
                self._sift()
            elif self._look() == SLICE:
                break

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
        """Look at nodes until some are open; returns why it ended."""
        self._make_room()
        found = np.empty(_BATCH if self.sweeps else _BATCH_AT_RANDOM, dtype=np.int64)
        arrays = self._arrays(self._nodes, self._front(), self._scratches[0])
        self._position, why, n_open = settle(self._ahead, self._position, found, True, *arrays)
        self._open = found[:n_open]
        if why == NO_ORDER:
            place = int(self._scratches[0].work[2])
            self._library.keep_order(place, self._groups(self._library.arrays.levels[place]))
        return int(why)

    def _make_room(self) -> None:
        """Make room for the evidence of one more node, and to gather all that there is."""
        self._library.make_room(self.problem.table.n_distinct)
        room = len(self._library.arrays.levels)
        for i, own in enumerate(self._scratches):
            if len(own.accepted) < room:
                grown = np.zeros((2, room), dtype=np.int64)
                words = np.zeros(room // 64, dtype=np.uint64)
                self._scratches[i] = own._replace(words=words, accepted=grown[0], places=grown[1])

    def _front(self) -> Members:
        if self._members is None:
            own = self._measures
            self._members = members_of(self.F, self.tolerance, self.maximize, own.families, own.thresholds)
        return self._members

    def _arrays(self, nodes: Nodes, members: Members, scratch: NodeScratch) -> tuple[Any, ...]:
        """All arrays for compiled loops, in the order in which they are named."""
        groups = self._measures.rules, self._cells, nodes, members, self._library.arrays, scratch, self._blocks
        return tuple(array for group in groups for array in group)

    def _enter_next_layer(self) -> None:
        """Go on to the next layer: bounds come down from the one above, nodes of little loss come first."""
        if not self.sweeps:
            n_nodes = self.problem.n_nodes
            self._ahead = self.random_state.permutation(n_nodes) if self._layer > 0 else self._ahead[:0]
            self._layer = 0 if self._layer > 0 else -1
        else:
            if self._layer > 0:
                self._ahead = self._screen(self._layer - 1, self._nodes, self._front())
            self._layer -= 1
            self._is_sifted = False
        self._position = 0

    def _sift(self) -> None:
        """Settle nodes of a large layer in the order of their numbers, in which the same evidence settles neighbours.

        What is left open is looked at by floors: nodes of little loss are most likely to be in the front.
        """
        # Parts that do not depend on the number of threads: the result does not either.
        parts = [self._ahead[i : i + _SIFTED_TOGETHER] for i in range(0, len(self._ahead), _SIFTED_TOGETHER)]
        # In a single part there is nothing to share among threads, and what is left open would be looked at twice.
        if len(parts) > 1:
            self._make_room()
            members, in_vain = self._front(), self._scratches[0].work[4]
            spent = []

            def sift(part: Ints, scratch: NodeScratch) -> Ints:
                found = np.empty(len(part), dtype=np.int64)
                scratch.work[4] = in_vain
                end, _, n_open = settle(part, 0, found, False, *self._arrays(self._nodes, members, scratch))
                spent.append(scratch.work[4] - in_vain)
                return np.append(found[:n_open], part[end:])

            self._ahead = np.concatenate(self._by_threads(sift, parts))
            self._scratches[0].work[4] = in_vain + sum(spent)
        self._ahead = self._ahead[np.argsort(self._measures.first_floors(self._ahead), kind="stable")]
        self._is_sifted = True

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
        full = ((self.problem.lengths > X).sum(axis=1) > self._depth).tolist()
        for i, node in enumerate(nodes.tolist()):
            self._learn(node, X[i], lessons[i])
            # Last, so that a node whose evaluation is interrupted stays open.
            self._nodes.done[node] = True
            self._n_done[totals[i]] += 1
            self.n_evaluated += 1
            self.n_full += full[i]

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
        # Where its parts end, in the order in which `Teacher` tells them.
        a = n_values
        b, c = a + n_columns, a + 2 * n_columns
        d = c + n_values
        e = (d + len(lesson)) // 2
        tops, special, general, numbers = lesson[:a], lesson[a:b], lesson[b:c], lesson[c:d].astype(np.int64)
        place = self._library.add(x, float(tops[0]), numbers, lesson[d:e], lesson[e:])
        if self._measures.entries.shape[1] > 0:
            self._library.keep_sums(place, self._groups(x))
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

    def _groups(self, x: Ints) -> Ints:
        """(n_codes,) int64 array: the group of every domain value at a node."""
        groups: Ints = self.problem.group_maps(x[np.newaxis])[0][0]
        return groups


def bytes_of(problem: LatticeProblem) -> int:
    """Memory that what is known of all nodes takes."""
    # Two numbers for each measure at most, whether a node is done, and its place in a layer, which is sorted once.
    return problem.n_nodes * (8 * len(problem.measured) + 8 + 1)
