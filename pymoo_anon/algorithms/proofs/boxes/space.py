"""A lattice and its table as arrays for the search over boxes, and the memory of that search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.boxes.arrays import (
    GROWS,
    LIMIT,
    N_HEAP,
    Boxes,
    Classes,
    Clauses,
    Known,
    Lattice,
    State,
    Table,
)
from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.objectives.bounds.losses import AdditiveLoss
from pymoo_anon.problems.lattice import LatticeProblem

Ints = NDArray[np.int64]
Matrix = NDArray[np.float64]

# Nodes that are found in one slice, and room at the beginning.
_MOST_FOUND = 64
_FIRST_BOXES = 1 << 12

# Room for boxes that there is however little memory may be taken, beside the parts of the box in hand.
_FEWEST_BOXES = 256

# Shares of the memory: clauses, nodes that are not refuted, and evaluated ones. The rest is the heap's.
_SHARES = 0.1, 0.05, 0.1


def lattice_of(problem: LatticeProblem, loss: AdditiveLoss) -> tuple[Lattice, Matrix]:
    """The arrays of `Lattice`, and those floors that are of a level alone.

    Args:
        problem: The problem.
        loss: The family of the additive loss.
    """
    terms = loss.attribute_floors(problem.table.tuples, problem.groups)
    floors = np.ascontiguousarray(np.asarray(terms).T)
    # Beyond the last level nothing is read; no level may look cheaper than those above it.
    least = np.minimum.accumulate(floors[:, ::-1], axis=1)[:, ::-1].copy()
    return Lattice(least, problem.lengths, *_lanes(problem.lengths)), floors


def table_of(
    problem: LatticeProblem, loss: AdditiveLoss, floors: Matrix, rule: Ints, values: NDArray[np.uint64]
) -> Table:
    """The arrays of `Table`.

    Args:
        problem: The problem.
        loss: The family of the additive loss.
        floors: (d, n_levels) float array.
        rule: (5,) int64 array, as `Table` has it.
        values: (n_distinct,) uint64 array, the sensitive values of each tuple as bits.
    """
    tuples = problem.table.tuples
    # An order that has nothing to do with the tuples: a refuted node shows many classes after few of them.
    order = np.random.default_rng(0).permutation(len(tuples))
    maps, n_groups = problem.groups, problem.n_groups
    starts = np.arange(len(maps)) * tuples.offsets[-1] + tuples.offsets[:-1, np.newaxis]
    left, more = _left_to_lose(tuples, loss, maps)
    return Table(
        tuples.codes[order].astype(np.int32),
        np.arange(len(tuples)),
        tuples.counts[order],
        values[order],
        left[order],
        np.ascontiguousarray(starts),
        _keys(maps, n_groups, tuples.offsets),
        more,
        floors,
        np.ascontiguousarray(n_groups.T),
        rule,
    )


def _left_to_lose(tuples: DistinctTuples, loss: AdditiveLoss, maps: Ints) -> tuple[Matrix, Matrix]:
    """What each tuple still loses by suppression at the most general node, and how much more each value at each level.

    Args:
        tuples: The distinct tuples.
        loss: The family of the additive loss.
        maps: (n_levels, n_codes) int64 array, the groups of every level.

    Returns:
        (n_distinct,) float array, and (n_levels * n_codes,) float array, level by level.
    """
    left = loss.left_by_value(tuples, maps)
    at_top: Matrix = left[-1][tuples.offsets[:-1] + tuples.codes].sum(axis=1)
    return at_top, (left - left[-1]).ravel()


def _keys(maps: Ints, n_groups: Ints, offsets: Ints) -> NDArray[np.uint64]:
    """(n_keys, n_cells) uint64 array: groups as digits of as many whole numbers as they take."""
    words: list[NDArray[np.uint64]] = []
    room = 0
    for j, most in enumerate(n_groups.max(axis=0).tolist()):
        a, b = offsets[j : j + 2]
        if most * room >= 1 << 63 or not words:
            words.append(np.zeros(maps.shape, dtype=np.uint64))
            room = 1
        words[-1][:, a:b] = maps[:, a:b].astype(np.uint64) * np.uint64(room)
        room *= most
    return np.array([word.ravel() for word in words])


def _lanes(lengths: Ints) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Word, shift and mask of each attribute's lane, and the guard bits of every word."""
    words, shifts, masks, guards, end = [], [], [], [0], 0
    for length in lengths.tolist():
        bits = length.bit_length()
        if end + bits + 1 > 64:
            guards.append(0)
            end = 0
        words.append(len(guards) - 1)
        shifts.append(end)
        masks.append((1 << bits) - 1)
        guards[-1] |= 1 << (end + bits)
        end += bits + 1
    return np.array([words, shifts, masks], dtype=np.uint64), np.array(guards, dtype=np.uint64)


class BoxMemory:
    """All arrays of a search over boxes; the heap grows up to the memory that it may take.

    Args:
        lattice: The lattice.
        table: Its table.
        max_bytes: Memory that boxes, clauses and what is known of nodes may take, but for a few hundred of each.

    Attributes:
        heap: The open boxes.
        known: What evaluated nodes tell.
        state: What the search is at.
    """

    def __init__(self, lattice: Lattice, table: Table, max_bytes: int) -> None:
        d, n_words = len(lattice.lengths), len(lattice.guards)
        clauses, good, nodes = (max(int(max_bytes * share), 1 << 12) for share in _SHARES)
        n_clauses = min(clauses // (8 * n_words + d + 16), 1 << 20)
        n_good = min(good // (8 * n_words + 8), 1 << 13)
        n_nodes = min(1 << (nodes // (8 * n_words + 32)).bit_length() - 1, 1 << 18)
        self._most_boxes = max(int(max_bytes * (1 - sum(_SHARES))) // (8 + 16 * n_words), 2 * d + _FEWEST_BOXES)
        self.heap = _boxes(min(self._most_boxes, max(_FIRST_BOXES, 4 * d)), n_words)
        self._stack = _boxes(d * (int(lattice.lengths.sum()) + 2), n_words)
        self._lattice, self._table, self._classes = lattice, table, _classes(table)
        self._clauses = Clauses(np.zeros((n_clauses, n_words), np.uint64), np.zeros((n_clauses, d), np.uint8))
        self.known = Known(
            np.zeros((n_good, n_words), dtype=np.uint64),
            np.zeros(n_good, dtype=np.int64),
            np.zeros((n_nodes, n_words), dtype=np.uint64),
            np.zeros((n_nodes, 3), dtype=np.int64),
            np.zeros(n_nodes),
            np.zeros((_MOST_FOUND, d), dtype=np.int64),
            np.zeros(0, dtype=np.int64),
            np.zeros(0),
        )
        self.state = State(
            np.zeros((n_clauses, 2), dtype=np.int64),
            np.zeros((2, *lattice.least.shape)),
            np.zeros((6, d), dtype=np.int64),
            np.zeros((2, d), dtype=np.int64),
            np.zeros((3, n_words), dtype=np.uint64),
            np.array([np.inf, -np.inf, -np.inf, -np.inf]),
            np.zeros(14, dtype=np.int64),
        )
        # The box of all nodes; the lowest node is 0 in every word.
        self.state.counts[N_HEAP] = 1
        self.heap.bounds[0] = lattice.least[:, 0].sum()
        for j, length in enumerate(lattice.lengths.tolist()):
            self.heap.high[0, int(lattice.lanes[0, j])] |= np.uint64(length) << lattice.lanes[1, j]

    def for_search(self) -> tuple[NDArray[Any], ...]:
        """The arrays that `search` takes, with room for more boxes where there may be some."""
        counts = self.state.counts
        if 2 * counts[N_HEAP] > len(self.heap.bounds) and len(self.heap.bounds) < self._most_boxes:
            grown = _boxes(min(2 * len(self.heap.bounds), self._most_boxes), len(self._lattice.guards))
            for old, new in zip(self.heap, grown, strict=True):
                new[: len(old)] = old
            self.heap = grown
        counts[GROWS] = len(self.heap.bounds) < self._most_boxes
        return (*self._lattice, *self.heap, *self._stack, *self._clauses, *self.state)

    def for_lessons(self) -> tuple[NDArray[Any], ...]:
        """The arrays that `teach` takes."""
        return (*self._lattice, *self._table, *self._classes, *self._clauses, *self.known, *self.state)

    def show_front(self, k: Ints, loss: Matrix) -> None:
        """Tell which members there are: nodes that none of them stands for are found.

        Args:
            k: (n,) int64 array, the k of every member.
            loss: (n,) float array.
        """
        order = np.argsort(k, kind="stable")
        least = np.minimum.accumulate(loss[order][::-1])[::-1].copy()
        self.known = self.known._replace(front_k=k[order], front_loss=least)


def _boxes(room: int, n_words: int) -> Boxes:
    """Empty ones."""
    low, high = np.zeros((2, room, n_words), dtype=np.uint64)
    return Boxes(np.zeros(room), low, high)


def _classes(table: Table) -> Classes:
    """Room for the classes of one node."""
    n = len(table.counts)
    return Classes(
        np.zeros(1 << (2 * n - 1).bit_length(), dtype=np.int64),
        np.zeros((n, len(table.keys)), dtype=np.uint64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.uint64),
        np.zeros(n, dtype=np.int64),
        np.zeros(int(table.rule[LIMIT]) + 2, dtype=np.int64),
        np.ones(table.codes.shape[1] + 1, dtype=np.int64),
        np.zeros((2, n), dtype=np.int64),
        np.zeros(n, dtype=np.uint64),
    )
