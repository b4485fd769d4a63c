"""Tables of gains of four attributes, and walks over them.

A cut of an attribute is a path over its groups. The gain of a string is the sum of a table over the product of its
paths.

**Nested bound.** Let the path of an inner attribute depend on the group of an outer one. That only enlarges the
maximum, and makes it a longest path of longest paths. Edges come in the order of their first place: when an edge is
read, the best way to its first place is final. Every order of nesting is a bound, and so is their minimum.

**Table.** A node of the search has fixed the cuts of some attributes. Four others are tabled, in the order a, e, p, q.
Attributes that are neither fixed nor tabled are left out, and the classes are then projections. A block is one group of
each tabled attribute. The table holds for every block a sum over the classes of the fixed attributes: the greatest gain
of the tuples of the class in the block.

**A projection does not lower the gain.** The attributes left out save at most their greatest worth, which every tuple
of the table gains. A class of fewer than k tuples has no kept part and gains nothing. So a bound from the table holds
for every string below the node.

**Pairs.** With all attributes but two fixed, the gain of a string is the sum of a table over pairs of groups.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.typing import Floats, Ints

# Below every sum of gains.
_NOWHERE = -1e300

#: Outcomes of a walk: no path is left, the budget is spent, or it is at the end of its last stage.
DONE, SPENT, FOUND = 0, 1, 2


@njit(inner=True)
def longest_path(gains: Any, spans: Any, n: int) -> float:
    """Return the longest path 0 -> n."""
    best = np.full(n + 1, _NOWHERE)
    best[0] = 0.0
    for g in range(len(gains)):
        best[spans[g, 1]] = max(best[spans[g, 1]], best[spans[g, 0]] + gains[g])
    return best[n]


@kernel
def completions(gains: Any, spans: Any, n: int, best: Any) -> None:
    """Write the longest paths x -> n to `best`."""
    best[:] = _NOWHERE
    best[n] = 0.0
    # Backwards: every edge that begins at the last place of this one has been read.
    for g in range(len(gains) - 1, -1, -1):
        best[spans[g, 0]] = max(best[spans[g, 0]], gains[g] + best[spans[g, 1]])


@kernel
def paths_of_columns(table: Any, spans: Any, n: int, best: Any) -> None:
    """Write the longest path of every column to best[n]."""
    best[0] = 0.0
    best[1 : n + 1] = _NOWHERE
    for g in range(len(spans)):
        before, after, own = best[spans[g, 0]], best[spans[g, 1]], table[g]
        for c in range(len(own)):
            after[c] = max(after[c], before[c] + own[c])


@njit(inner=True)
def pair_bound(table: Any, spans_p: Any, n_p: int, spans_q: Any, n_q: int) -> float:
    """Bound the gain of two free attributes."""
    best = np.empty((n_p + 1, len(spans_q)))
    paths_of_columns(table, spans_p, n_p, best)
    inner_p = longest_path(best[n_p], spans_q, n_q)
    turned = table.T.copy()
    best = np.empty((n_q + 1, len(spans_p)))
    paths_of_columns(turned, spans_q, n_q, best)
    return min(inner_p, longest_path(best[n_q], spans_p, n_p))


@njit()
def bound_block(block: Any, stage: int, shape: Any, spans: Any) -> float:
    """Return the nested bound of a block. The attributes after a stage are free, 0 for a to 3 for q."""
    if stage == 3:
        return block[0]
    if not block.any():
        return 0.0
    g_a, g_e, g_p, g_q = shape[1, 0], shape[1, 1], shape[1, 2], shape[1, 3]
    of_p, of_q = spans[g_a + g_e : g_a + g_e + g_p], spans[g_a + g_e + g_p :]
    n_p, n_q = shape[0, 2], shape[0, 3]
    if stage == 2:
        return longest_path(block, of_q, n_q)
    if stage == 1:
        return pair_bound(block.reshape((g_p, g_q)), of_p, n_p, of_q, n_q)
    of_e, n_e = spans[g_a : g_a + g_e], shape[0, 1]
    # The path of e is inside and may depend on the groups of p and q.
    best = np.empty((n_e + 1, g_p * g_q))
    paths_of_columns(block.reshape((g_e, g_p * g_q)), of_e, n_e, best)
    inside = pair_bound(best[n_e].reshape((g_p, g_q)), of_p, n_p, of_q, n_q)
    outside = np.empty(g_e)
    for e in range(g_e):
        own = block[e * g_p * g_q : (e + 1) * g_p * g_q]
        outside[e] = pair_bound(own.reshape((g_p, g_q)), of_p, n_p, of_q, n_q) if own.any() else 0.0
    return min(inside, longest_path(outside, of_e, n_e))


def split_classes(
    ids: Ints, base: Floats, groups: Ints, worths: Floats, counts: Ints, k: int
) -> tuple[Ints, Floats, int]:
    """Split classes by an attribute, and drop those below k rows.

    Each tuple has a class in `ids`, -1 for a dropped one, and a group in `groups`, and stands for `counts` rows. A row
    gains `base` in its class and `worths` in its group. Returned are ids, base and the number of dropped rows.
    """
    n = len(base) * len(worths)
    # Dropped tuples have the last key.
    keys = np.where(ids < 0, n, ids * len(worths) + groups)
    rows = np.bincount(keys, counts, n + 1)[:n]
    kept = rows >= k
    numbers = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)
    return numbers[keys], np.add.outer(base, worths).ravel()[kept], int(rows[~kept].sum())


@njit(inner=True)
def _cumulate(cells: Any, sums: Any, spans: Any) -> None:
    """Sum counts over the values of e below every x."""
    n_e, n_q = cells.shape
    n_groups = len(spans)
    before = np.empty(n_q + 1)
    before[0] = 0.0
    sums[0] = 0.0
    # Invariant: sums[x] holds the counts of the values of e below x.
    for x in range(n_e):
        for y in range(n_q):
            before[y + 1] = before[y] + cells[x, y]
        if before[n_q] == 0.0:
            sums[x + 1] = sums[x]
            continue
        for g in range(n_groups):
            sums[x + 1, g] = sums[x, g] + (before[spans[g, 1]] - before[spans[g, 0]])
        sums[x + 1, n_groups] = sums[x, n_groups] + before[n_q]


@kernel
def _add_blocks(rows: Any, spans: Any, worths: Any, k: float, saved: float, out: Any, p: int) -> None:
    """Add the gains of one class and group."""
    n_e, _, n_q = out.shape
    of_q = worths[n_e:]
    for e in range(n_e):
        low, high = rows[spans[e, 0]], rows[spans[e, 1]]
        if high[n_q] - low[n_q] < k:
            continue
        own, gain = out[e, p], saved + worths[e]
        for g in range(n_q):
            n = high[g] - low[g]
            own[g] += n * (gain + of_q[g]) if n >= k else 0.0


@kernel
def _count_below(tuples: Any, order: Any, starts: Any, low: int, high: int, held: Any) -> None:
    """Count rows of a class below every value of p."""
    for y in range(len(starts) - 1):
        held[y + 1] = held[y]
        for i in range(starts[y], starts[y + 1]):
            if low <= tuples[order[i], 1] < high:
                held[y + 1] += tuples[order[i], 5]


@njit()
def fill_table(tuples: Any, base: Any, spans: Any, worths: Any, shape: Any, k: float, saved: float, out: Any) -> None:
    """Fill the gains of all blocks.

    Args:
        tuples: (n, 6) int64 array: class, value of a, of e, of p, of q, and rows of every distinct tuple.
        base: (n_classes,) float array, the gain of a row of each class by the fixed attributes.
        spans: (n_groups, 2) int64 array, the groups of a, e, p and q, one after the other.
        worths: (n_groups,) float array, the gain of a row by each of them.
        shape: (2, 4) int64 array: values and groups of a, e, p, q.
        k: Fewest rows of a class that is kept.
        saved: Further gain of every kept row.
        out: Float array with an axis for the groups of each. It may hold anything before.
    """
    n_e, n_p, n_q, g_a, g_e, g_p = shape[0, 1], shape[0, 2], shape[0, 3], shape[1, 0], shape[1, 1], shape[1, 2]
    of_e, of_p, of_q = spans[g_a : g_a + g_e], spans[g_a + g_e : g_a + g_e + g_p], spans[g_a + g_e + g_p :]
    worths_eq = np.concatenate((worths[g_a : g_a + g_e], worths[g_a + g_e + g_p :]))
    # Tuples by class and value of p.
    keys = tuples[:, 0] * n_p + tuples[:, 3]
    order = np.argsort(keys, kind="mergesort")
    starts = np.searchsorted(keys[order], np.arange(len(base) * n_p + 1))
    out[:] = 0.0
    cells, sums = np.zeros((n_e, n_q)), np.zeros((n_e + 1, len(of_q) + 1))
    held = np.zeros(n_p + 1, dtype=np.int64)
    for g in range(g_a):
        low, high = spans[g, 0], spans[g, 1]
        for c in range(len(base)):
            _count_below(tuples, order, starts[c * n_p : (c + 1) * n_p + 1], low, high, held)
            if held[n_p] < k:
                continue
            # Invariant: `cells` holds the values of p from `first` to below `reached`. Groups come in the order of
            # their first value, then of their last, so that a group extends the one before it.
            first, reached = -1, 0
            for j in range(g_p):
                if held[of_p[j, 1]] - held[of_p[j, 0]] < k:
                    continue
                if of_p[j, 0] != first:
                    first = reached = of_p[j, 0]
                    cells[:] = 0.0
                for t in order[starts[c * n_p + reached] : starts[c * n_p + of_p[j, 1]]]:
                    if low <= tuples[t, 1] < high:
                        cells[tuples[t, 2], tuples[t, 4]] += tuples[t, 5]
                reached = of_p[j, 1]
                _cumulate(cells, sums, of_q)
                gain = saved + base[c] + worths[g] + worths[g_a + g_e + j]
                _add_blocks(sums, of_e, worths_eq, k, gain, out[g], j)


class StringWalk:
    """Walk over all paths that can gain enough.

    The attributes are its stages. A stage follows the groups of its attribute from the first value to the last, and
    adds up their slices of the table: after the last group the sum is the table of the next stage. No string that
    begins with the path gains more than the nested bound of the sum, plus the best completion of the path, which adds
    up nested bounds of single slices. A path ends where that is not more than the needed gain.
    """

    def __init__(
        self, table: Floats, shape: Ints, spans: Ints, last: int, rows: Floats | None = None, fewest: float = 0.0
    ) -> None:
        self.table, self.shape, self.spans, self.last = table, shape, spans, last
        # Rows that every block keeps, and the fewest of a string. numba would compile again for a whole number.
        self._rows, self._fewest = np.empty(0) if rows is None else rows.reshape(-1), float(fewest)
        blocks = [int(np.prod(shape[1, stage + 1 :])) for stage in range(4)]
        # Sums of a stage after each of its groups. Row 0 stays zero.
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
        # Stage, depth, the depth at which each stage began, and the count of numbers that were read.
        self._place = np.zeros(7, dtype=np.int64)
        # By depth the current group and the next to try.
        self._path = np.zeros((2, longest + 1), dtype=np.int64)
        # By depth the nested bound of the sum of its stage.
        self._gained = np.zeros(longest + 1)
        # Nested bound of the whole table.
        self.bound = float(_enter_stage(0, table.reshape(-1), shape, spans, self._slices, self._rests))

    def go(self, need: float, budget: int) -> int:
        """Go on to the next complete path: `FOUND`, `DONE` or `SPENT`."""
        arrays = (self._slices, self._rests, self._firsts, self._place, self._path, self._gained, self._sums)
        rows = (self._rows, self._fewest)
        return _walk(self.table.reshape(-1), self.shape, self.spans, arrays, rows, self.last, need, budget)

    @property
    def n_read(self) -> int:
        """Count of numbers of tables that were read."""
        return int(self._place[6])

    @property
    def cuts(self) -> list[Ints]:
        """Current path of each stage."""
        ends = [*self._place[2 : 3 + self.last].tolist(), int(self._place[1]) + 1]
        return [self._path[0, first:last].copy() for first, last in pairwise(ends)]

    @property
    def found_gain(self) -> float:
        """Upper bound of the gain of the current paths."""
        return float(self._gained[self._place[1] + 1])


def nested_bound(table: Floats, shape: Ints, spans: Ints) -> float:
    """Return the nested bound of a whole table."""
    slices, rests = np.zeros(len(spans)), np.zeros((4, int(shape[0].max()) + 1))
    return float(_enter_stage(0, table.reshape(-1), shape, spans, slices, rests))


@njit()
def _enter_stage(stage: int, table: Any, shape: Any, spans: Any, slices: Any, rests: Any) -> float:
    first = shape[1, :stage].sum()
    n_values, n_groups = shape[0, stage], shape[1, stage]
    block = len(table) // n_groups
    own = slices[first : first + n_groups]
    for g in range(n_groups):
        own[g] = bound_block(table[g * block : (g + 1) * block], stage, shape, spans)
    completions(own, spans[first : first + n_groups], n_values, rests[stage, : n_values + 1])
    return rests[stage, 0]


@kernel
def _rows_of(path: Any, begins: Any, depth: int, shape: Any, rows: Any) -> float:
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


@njit(allocates=False)
def _add(first: Any, second: Any, total: Any) -> None:
    for i in range(len(total)):
        total[i] = first[i] + second[i]


@njit()
def _walk(table, shape, spans, arrays, kept, last, need, budget):
    """Go on with a walk, as `StringWalk.go`.

    Invariant: path[0, :depth] are the current groups, stage after stage, and path[1, depth] is the next group to try.
    Every path before it was found, or does not gain enough.
    """
    slices, rests, firsts, place, path, gained, sums = arrays
    rows, fewest = kept
    stage, depth, told, left = place[0], place[1], SPENT, budget
    while left > 0:
        own = spans[shape[1, :stage].sum() : shape[1, : stage + 1].sum()]
        begin = place[2 + stage]
        g = path[1, depth]
        if g == len(own) or own[g, 0] != (0 if depth == begin else own[path[0, depth - 1], 1]):
            # No group is left that begins here. The one before may be the last of the stage before.
            if depth == 0:
                told = DONE
                break
            depth -= 1
            stage -= depth < begin
            continue
        path[0, depth], path[1, depth] = g, g + 1
        end = own[g, 1]
        left -= 16
        before = 0.0 if depth == begin else gained[depth]
        if before + slices[shape[1, :stage].sum() + g] + rests[stage, end] <= need:
            continue
        whole = table if stage == 0 else sums[stage - 1][begin - place[1 + stage]]
        total = sums[stage][depth - begin + 1]
        _add(sums[stage][depth - begin], whole[g * len(total) : (g + 1) * len(total)], total)
        gained[depth + 1] = bound_block(total, stage, shape, spans)
        left -= 4 * len(total)
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
        if _enter_stage(stage + 1, total, shape, spans, slices, rests) <= need:
            continue
        stage, depth = stage + 1, depth + 1
        place[2 + stage], path[1, depth] = depth, 0
    place[0], place[1] = stage, depth
    place[6] += budget - left
    return told


@njit(inner=True)
def longest_cut(gains, spans):
    """Return the first cut with the largest gain."""
    n = spans[-1, 1]
    best = np.full(n + 1, -np.inf)
    best[0] = 0.0
    last = np.full(n + 1, -1, dtype=np.int64)
    for i in range(len(spans)):
        reached = best[spans[i, 0]] + gains[i]
        if reached > best[spans[i, 1]]:
            best[spans[i, 1]] = reached
            last[spans[i, 1]] = i
    cut = np.empty(n, dtype=np.int64)
    at, n_groups = n, 0
    while at > 0:
        n_groups += 1
        cut[n - n_groups] = last[at]
        at = spans[last[at], 0]
    return cut[n - n_groups :]


@njit()
def best_pair(table, spans, other_spans, floor, most_nodes):
    """Return the pair of cuts with the largest gain, perhaps proven.

    The search goes depth first over the cuts of the first attribute, group by group. Let a prefix reach value x, and
    let `own[j]` be its gain with group j of the second attribute. For every completion and every cut of the second

    - the prefix gains at most the longest path of `own`, and each further group i at most the longest path of table[i];
    - group j of the second attribute gains at most own[j] and, from x on, the best completion for j alone.

    Prefixes whose smaller bound does not exceed the best so far are skipped. Before that, the two cuts are improved in
    turns, so that the best is mostly known before the proof. Cuts are places of groups, empty if none exceeds the
    floor. After `most_nodes` prefixes the best so far is returned.
    """
    n_other = other_spans[-1, 1]
    own_best = np.empty(len(spans))
    for i in range(len(spans)):
        own_best[i] = longest_path(table[i], other_spans, n_other)
    cut, value = _in_turns(table, spans, other_spans, longest_cut(own_best, spans))
    if value <= floor:
        cut, value = cut[:0], floor
    found, proven = _search_prefixes(table, spans, other_spans, own_best, value, most_nodes)
    if len(found):
        cut = found
    if not len(cut):
        return cut, cut.copy(), proven
    return cut, longest_cut(_summed(table, cut), other_spans), proven


@njit(inner=True)
def _summed(table, cut):
    total = np.zeros(table.shape[1])
    for i in cut:
        for j in range(len(total)):
            total[j] += table[i, j]
    return total


@njit(inner=True)
def _in_turns(table, spans, other_spans, cut):
    n_other = other_spans[-1, 1]
    value = longest_path(_summed(table, cut), other_spans, n_other)
    by_other = table.T.copy()
    while True:
        other = longest_cut(_summed(table, cut), other_spans)
        better = longest_cut(_summed(by_other, other), spans)
        reached = longest_path(_summed(table, better), other_spans, n_other)
        # Only a strict gain goes on, so that it ends.
        if reached <= value:
            return cut, value
        cut, value = better, reached


@njit(inner=True)
def _search_prefixes(table, spans, other_spans, own_best, value, most_nodes):
    """Search a cut of the first attribute above a value."""
    n, n_other, n_groups, n_others = spans[-1, 1], other_spans[-1, 1], len(spans), len(other_spans)
    rest = np.empty(n + 1)
    completions(own_best, spans, n, rest)
    # For each group of the second attribute its own best completion from every value.
    rests = np.empty((n + 1, n_others))
    for x in range(n + 1):
        for j in range(n_others):
            rests[x, j] = 0.0 if x == n else -np.inf
    begins = np.full(n + 1, n_groups, dtype=np.int64)
    for i in range(n_groups - 1, -1, -1):
        low, high = spans[i, 0], spans[i, 1]
        begins[low] = i
        for j in range(n_others):
            rests[low, j] = max(rests[low, j], table[i, j] + rests[high, j])
    # The prefix is path[:depth], gained[d] is `own` of its first d groups, and following[d] the next group to try.
    gained = np.zeros((n + 1, n_others))
    path, following = np.empty(n, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    best = path[:0].copy()
    depth, at, n_nodes = 0, 0, 0
    following[0] = begins[0]
    while depth >= 0:
        i = following[depth]
        if i >= n_groups or spans[i, 0] != at:
            depth -= 1
            if depth >= 0:
                at = spans[path[depth], 0]
            continue
        following[depth] += 1
        n_nodes += 1
        if n_nodes > most_nodes:
            return best, False
        reached = spans[i, 1]
        for j in range(n_others):
            gained[depth + 1, j] = gained[depth, j] + table[i, j]
        bound = longest_path(gained[depth + 1], other_spans, n_other) + rest[reached]
        if reached < n and bound > value:
            bound = min(bound, longest_path(gained[depth + 1] + rests[reached], other_spans, n_other))
        if bound <= value:
            continue
        path[depth] = i
        if reached == n:
            best, value = path[: depth + 1].copy(), bound
            continue
        depth += 1
        at = reached
        following[depth] = begins[at]
    return best, True
