"""A walk over the strings of four tabled attributes, depth first, under the nested bound of what is still free."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.strings.bounds import bound_block, completions
from pymoo_anon.engine.compiled import njit

Ints = NDArray[np.int64]
Values = NDArray[np.float64]

#: What a walk says when it comes back: nothing is left, its budget is spent, or it stands at the end of its last stage.
DONE, SPENT, FOUND = 0, 1, 2


class Walk:
    """All paths of one to four tabled attributes whose gain can exceed what is needed.

    The attributes are the stages of the walk. A stage follows the groups of its attribute from the first value to the
    last, and adds up their slices of the table: after the last group the sum is the table of the next stage. No string
    that begins with the path so far gains more than the nested bound of the sum, plus the best completion of the path,
    which adds up nested bounds of single slices. So a path is left where that is no more than is needed.

    Args:
        table: (n_groups of a, of e, of p, of q) float array, contiguous; it is kept.
        filled: (n_groups of a,) Boolean array: the parts of the table that are not zero.
        shape: (2, 4) int64 array: values and groups of a, e, p, q.
        spans: (n_groups, 2) int64 array, the groups of a, e, p and q, one after the other.
        last: The last stage: 0 walks the paths of a alone, 3 those of all four.

    Attributes:
        gain: No string below the walk gains more; at first the nested bound of the whole table.
    """

    def __init__(self, table: Values, filled: NDArray[np.bool_], shape: Ints, spans: Ints, last: int) -> None:
        self.table, self.filled, self.shape, self.spans, self.last = table, filled, shape, spans, last
        self._rows, self._fewest = np.empty(0), 0.0
        blocks = [int(np.prod(shape[1, stage + 1 :])) for stage in range(4)]
        # What a stage has added up after each of its groups; row 0 stays zero.
        self._sums = tuple(np.empty((int(shape[0, stage]) + 1, blocks[stage])) for stage in range(4))
        for own in self._sums:
            own[0] = 0.0
        # Nested bounds of the slices of each stage, and of the best completions from each value on.
        self._slices = np.zeros(len(spans))
        self._rests = np.zeros((4, int(shape[0].max()) + 1))
        # The first group that begins at each value, of every stage.
        self._firsts = np.zeros((4, int(shape[0].max()) + 1), dtype=np.int64)
        for stage, groups in enumerate(np.split(spans, np.cumsum(shape[1])[:-1])):
            self._firsts[stage] = np.searchsorted(groups[:, 0], np.arange(self._firsts.shape[1]))
        longest = int(shape[0].sum())
        # Where the walk stands: its stage, its depth, and the depth at which each stage began.
        self._place = np.zeros(6, dtype=np.int64)
        # Per depth: the group that was taken, and the next to try.
        self._path = np.zeros((2, longest + 1), dtype=np.int64)
        # Per depth: the nested bound of what its stage had added up before.
        self._gained = np.zeros(longest + 1)
        self.gain = float(_enter(0, table.reshape(-1), shape, spans, self._slices, self._rests))

    def keep_rows(self, rows: Values, fewest: float) -> None:
        """Find only strings that keep enough rows."""
        self._rows, self._fewest = rows.reshape(-1), fewest

    def go(self, need: float, budget: int) -> int:
        """Go on until a path is complete, nothing is left, or the budget is spent.

        Returns:
            `FOUND`, `DONE` or `SPENT`.
        """
        arrays = (self._slices, self._rests, self._firsts, self._place, self._path, self._gained, self._sums)
        rows = (self._rows, self._fewest)
        found: int = _walk(self.table.reshape(-1), self.shape, self.spans, arrays, rows, self.last, need, budget)
        return found

    @property
    def cuts(self) -> list[Ints]:
        """The paths that were found, by stage: the numbers of the groups of the attribute."""
        ends = [*self._place[2 : 3 + self.last].tolist(), int(self._place[1]) + 1]
        return [self._path[0, first:last].copy() for first, last in pairwise(ends)]

    @property
    def found_gain(self) -> float:
        """No string with the paths that were found gains more; where the last stage is 3, it is their gain."""
        return float(self._gained[self._place[1] + 1])


def bound_of(table: Values, shape: Ints, spans: Ints) -> float:
    """The gain that a walk over a table begins with."""
    slices, rests = np.zeros(len(spans)), np.zeros((4, int(shape[0].max()) + 1))
    return float(_enter(0, table.reshape(-1), shape, spans, slices, rests))


@njit(cache=True, nogil=True)
def _enter(stage: int, table: Any, shape: Any, spans: Any, slices: Any, rests: Any) -> float:
    """Begin a stage: the nested bounds of its slices, and the best completions; returns the bound of the whole."""
    first = shape[1, :stage].sum()
    n_values, n_groups = shape[0, stage], shape[1, stage]
    block = len(table) // n_groups
    own = slices[first : first + n_groups]
    for g in range(n_groups):
        own[g] = bound_block(table[g * block : (g + 1) * block], stage, shape, spans)
    completions(own, spans[first : first + n_groups], n_values, rests[stage, : n_values + 1])
    return rests[stage, 0]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _rows_of(path: Any, begins: Any, depth: int, shape: Any, rows: Any) -> float:
    """The rows that a string keeps: the sum over the product of its paths.

    Args:
        path: (n,) int64 array, the groups of all stages, one after the other.
        begins: (4,) int64 array, where those of each stage begin.
        depth: Where the last of them stands.
        shape: (2, 4) int64 array: values and groups of a, e, p, q.
        rows: Float array, flat: the rows that every box keeps; empty where they do not matter.
    """
    kept = 0.0
    if len(rows) == 0:
        return kept
    for a in range(begins[1]):
        for e in range(begins[1], begins[2]):
            for p in range(begins[2], begins[3]):
                at = ((path[a] * shape[1, 1] + path[e]) * shape[1, 2] + path[p]) * shape[1, 3]
                for q in range(begins[3], depth + 1):
                    kept += rows[at + path[q]]
    return kept


@njit(cache=True, nogil=True)
def _add(first: Any, second: Any, total: Any) -> None:
    """The sum of two arrays, in a third."""
    for i in range(len(total)):
        total[i] = first[i] + second[i]


@njit(cache=True, nogil=True)
def _walk(table, shape, spans, arrays, kept, last, need, budget):  # type: ignore[no-untyped-def]
    """What `Walk.go` does.

    The invariant: path[0, :depth] are the groups that were taken, stage after stage; path[1, depth] is the next group
    to try. Every path that comes before it was found, or gains no more than was needed.
    """
    slices, rests, firsts, place, path, gained, sums = arrays
    rows, fewest = kept
    stage, depth = place[0], place[1]
    told = SPENT
    while budget > 0:
        own = spans[shape[1, :stage].sum() : shape[1, : stage + 1].sum()]
        begin = place[2 + stage]
        g = path[1, depth]
        if g == len(own) or own[g, 0] != (0 if depth == begin else own[path[0, depth - 1], 1]):
            # No group is left that begins here: back to the one before, which may be the last of the stage before.
            if depth == 0:
                told = DONE
                break
            depth -= 1
            stage -= depth < begin
            continue
        path[0, depth], path[1, depth] = g, g + 1
        end = own[g, 1]
        budget -= 16
        before = 0.0 if depth == begin else gained[depth]
        if before + slices[shape[1, :stage].sum() + g] + rests[stage, end] <= need:
            continue
        whole = table if stage == 0 else sums[stage - 1][begin - place[1 + stage]]
        total = sums[stage][depth - begin + 1]
        _add(sums[stage][depth - begin], whole[g * len(total) : (g + 1) * len(total)], total)
        gained[depth + 1] = bound_block(total, stage, shape, spans)
        budget -= 4 * len(total)
        if gained[depth + 1] + rests[stage, end] <= need:
            continue
        if end < shape[0, stage]:
            depth += 1
            path[1, depth] = firsts[stage, end]
            continue
        if stage == last:
            if _rows_of(path[0], place[2:], depth, shape, rows) < fewest:
                continue
            told = FOUND
            break
        if _enter(stage + 1, total, shape, spans, slices, rests) <= need:
            continue
        stage, depth = stage + 1, depth + 1
        place[2 + stage], path[1, depth] = depth, 0
    place[0], place[1] = stage, depth
    return told
