"""A lattice and its table as arrays for the search over boxes, and the memory of that search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.box_arrays import GROWS, N_HEAP, Boxes, Classes, Learnt, Scratch, Space
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.bounds.base import Bounding
from pymoo_anon.problems.lattice import LatticeProblem

Ints = NDArray[np.int64]
Matrix = NDArray[np.float64]

# Nodes that are found in one slice, and room at the beginning.
_MOST_FOUND = 64
_FIRST_BOXES = 1 << 12

# Shares of the memory: clauses, nodes that are not refuted, and evaluated ones. The rest is the heap's.
_SHARES = 0.1, 0.05, 0.1


def space_of(problem: LatticeProblem, loss: Bounding, rule: Ints, values: NDArray[np.uint64]) -> Space:
    """The arrays of `Space`.

    Args:
        problem: The problem.
        loss: The family of the additive loss.
        rule: (5,) int64 array, as `Space` has it.
        values: (n_distinct,) uint64 array, the sensitive values of each tuple as bits.
    """
    tuples, lengths = problem.table.tuples, problem.lengths
    # An order that has nothing to do with the tuples: a refuted node shows many classes after few of them.
    order = np.random.default_rng(0).permutation(len(tuples))
    levels = np.minimum(np.arange(lengths.max() + 1)[:, np.newaxis], lengths)
    maps, n_groups = problem.group_maps(levels)
    terms = loss.attribute_floors(tuples, maps)
    floors = np.ascontiguousarray(np.asarray(terms).T)
    # Beyond the last level nothing is read; no level may look cheaper than those above it.
    least = np.minimum.accumulate(floors[:, ::-1], axis=1)[:, ::-1].copy()
    starts = np.arange(len(levels)) * tuples.offsets[-1] + tuples.offsets[:-1, np.newaxis]
    left, more = _left_to_lose(problem, loss, maps, lengths)
    words, shifts, masks, guards = _lanes(lengths)
    return Space(
        tuples.codes[order].astype(np.int32),
        tuples.counts[order],
        values[order],
        left[order],
        np.ascontiguousarray(starts),
        _keys(maps, n_groups, tuples.offsets),
        more,
        floors,
        least,
        np.ascontiguousarray(n_groups.T),
        lengths,
        words,
        shifts,
        masks,
        guards,
        rule,
    )


def _left_to_lose(problem: LatticeProblem, loss: Bounding, maps: Ints, lengths: Ints) -> tuple[Matrix, Matrix]:
    """What each tuple still loses by suppression at the most general node, and how much more each value at each level.

    Args:
        problem: The problem.
        loss: The family of the additive loss.
        maps: (n_levels, n_codes) int64 array, the groups of every level.
        lengths: (d,) int64 array.

    Returns:
        (n_distinct,) float array, and (n_levels * n_codes,) float array, level by level.
    """
    tuples, offsets = problem.table.tuples, problem.table.tuples.offsets
    top = maps[-1]

    def left(map_: Ints, representatives: Ints) -> Matrix:
        n = len(representatives)
        ends, one = np.array([0, n]), np.ones(n, dtype=np.int64)
        classes = EquivalenceClasses(tuples, map_[np.newaxis], ends, one, representatives, one.astype(bool))
        found: Matrix = loss.measure.left_to_lose(classes, np.arange(n))
        return found

    at_top = left(top, np.arange(len(tuples)))
    more = np.zeros(maps.shape)
    for j, length in enumerate(lengths):
        a, b = offsets[j : j + 2]
        present, first = np.unique(tuples.codes[:, j], return_index=True)
        for level in range(length):
            own = top.copy()
            own[a:b] = maps[level, a:b]
            more[level, a + present] = left(own, first) - at_top[first]
    return at_top, more.ravel()


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


def _lanes(lengths: Ints) -> tuple[Ints, NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
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
    return (
        np.array(words, dtype=np.int64),
        np.array(shifts, dtype=np.uint64),
        np.array(masks, dtype=np.uint64),
        np.array(guards, dtype=np.uint64),
    )


class BoxMemory:
    """All arrays of a search over boxes; the heap grows up to the memory that it may take.

    Args:
        space: The lattice.
        max_bytes: Memory that boxes, clauses and what is known of nodes may take, but for a few hundred of each.

    Attributes:
        scratch: The group that a caller reads and writes between slices.
        heap: The open boxes.
    """

    def __init__(self, space: Space, max_bytes: int) -> None:
        d, n_words = len(space.lengths), len(space.guards)
        n, n_keys = len(space.counts), len(space.keys)
        n_levels = space.floors.shape[1]
        limit = int(space.rule[1])
        clauses, good, known = (max(int(max_bytes * share), 1 << 12) for share in _SHARES)
        n_clauses = min(clauses // (8 * n_words + d + 16), 1 << 20)
        n_good = min(good // (8 * n_words + 8), 1 << 13)
        n_known = min(1 << (known // (8 * n_words + 32)).bit_length() - 1, 1 << 18)
        self.space = space
        self._box_bytes = 8 + 16 * n_words
        self._most_boxes = max(int(max_bytes * (1 - sum(_SHARES))) // self._box_bytes, 8 * d + 64)
        self.heap = _boxes(min(self._most_boxes, max(_FIRST_BOXES, 8 * d)), n_words)
        self._stack = _boxes(d * (int(space.lengths.sum()) + 2), n_words)
        self._classes = Classes(
            np.zeros(1 << (2 * n - 1).bit_length(), dtype=np.int64),
            np.zeros((n, n_keys), dtype=np.uint64),
            np.zeros(n, dtype=np.int64),
            np.zeros(n, dtype=np.uint64),
            np.zeros(n, dtype=np.int64),
            np.zeros(limit + 2, dtype=np.int64),
            np.zeros(d, dtype=np.int64),
            np.ones(1, dtype=np.int64),
        )
        self._learnt = Learnt(
            np.zeros((n_clauses, n_words), dtype=np.uint64),
            np.zeros((n_clauses, d), dtype=np.uint8),
            np.zeros((n_good, n_words), dtype=np.uint64),
            np.zeros(n_good, dtype=np.int64),
            np.zeros((n_known, n_words), dtype=np.uint64),
            np.zeros((n_known, 3), dtype=np.int64),
            np.zeros(n_known),
        )
        self.scratch = Scratch(
            np.zeros(n_clauses, dtype=np.int64),
            np.zeros(n_clauses, dtype=np.int64),
            np.zeros((d, n_levels)),
            np.zeros((d, n_levels)),
            np.zeros((6, d), dtype=np.int64),
            np.zeros((2, d), dtype=np.int64),
            np.zeros((4, n_words), dtype=np.uint64),
            np.zeros((_MOST_FOUND, d), dtype=np.int64),
            np.zeros(0, dtype=np.int64),
            np.zeros(0),
            np.array([np.inf, np.inf, -np.inf]),
            np.zeros(13, dtype=np.int64),
        )
        # The box of all nodes; the lowest node is 0 in every word.
        self.scratch.counts[N_HEAP] = 1
        self.heap.bounds[0] = space.least[:, 0].sum() if d == 0 else -np.inf
        for j, length in enumerate(space.lengths.tolist()):
            self.heap.high[0, space.words[j]] |= np.uint64(length) << space.shifts[j]

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """All arrays, in the order of `named`, with room for more boxes where there may be some."""
        counts = self.scratch.counts
        if 2 * counts[N_HEAP] > len(self.heap.bounds):
            room = min(2 * len(self.heap.bounds), self._most_boxes)
            grown = _boxes(room, len(self.space.guards))
            for old, new in zip(self.heap, grown, strict=True):
                new[: len(old)] = old
            self.heap = grown
        counts[GROWS] = len(self.heap.bounds) < self._most_boxes
        return (*self.space, *self._classes, *self.heap, *self._stack, *self._learnt, *self.scratch)

    def show_front(self, k: Ints, loss: Matrix) -> None:
        """Tell the search which members there are: what they do not stand for it finds.

        Args:
            k: (n,) int64 array, the k of every member.
            loss: (n,) float array.
        """
        order = np.argsort(k, kind="stable")
        least = np.minimum.accumulate(loss[order][::-1])[::-1].copy()
        self.scratch = self.scratch._replace(front_k=k[order], front_loss=least)


def _boxes(room: int, n_words: int) -> Boxes:
    """Empty ones."""
    return Boxes(np.zeros(room), np.zeros((room, n_words), dtype=np.uint64), np.zeros((room, n_words), dtype=np.uint64))
