"""The nested bound: longest paths inside longest paths over tables of gains.

A cut of an attribute is a path over its groups. The gain of a string is the sum of a table over the product of its
paths. Letting the path of an inner attribute depend on the group of an outer one only enlarges the maximum, and makes
of it a longest path of longest paths, each over a directed acyclic graph whose edges come in the order of their first
place: when an edge is read, the best way to its first place is final, since every edge that ends there begins before.

Every order of nesting is a bound, so that their minimum is one. With one attribute free it is exact.

Tables of gains: what every box of four attributes adds, summed over the classes of the others.

A node of the search has fixed the cuts of some attributes. Four others are tabled, in the order a, e, p, q; what is
neither fixed nor tabled is left out, and the classes then are projections. A box is one group of each tabled attribute.
The table holds, for every box, the sum over the classes of the fixed attributes of what the tuples of the class in the
box can gain. The gain of a string is the sum of the boxes that its cuts make of the tabled attributes.

**A projection does not lower the gain.** Let a projected class of n tuples split into parts of at least K tuples that
are kept and others that are suppressed. A kept part of n_i tuples and mass m_i in groups that save w in all gains
m_i (flat + w_i) - square n_i^2, where w_i counts the attributes left out, too.

- Where attributes save by groups, those left out save at most their greatest worth. It stands in `flat` of the table.
- n_i >= K, so that - square n_i^2 <= - square K n_i: the sum over the parts is at most - square K n. The table of a
  projection therefore has K square in place of square n.
- The mass of a part is n_i, or the number of its most frequent label, which is at most the sum over its distinct tuples
  of the number of each one's own most frequent label. The table of a projection takes these sums as mass.

A class of fewer than K tuples has no kept part and gains nothing. So what is not of the fixed and tabled attributes
only enlarges a table, and a bound from it holds for every string below the node.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.arrays import Ints, Values
from pymoo_anon.engine.compiled import njit

# Below every sum of gains.
_NOWHERE = -1e300

#: What a walk says when it comes back: nothing is left, its budget is spent, or it stands at the end of its last stage.
DONE, SPENT, FOUND = 0, 1, 2


@njit(cache=True, nogil=True, inner=True)
def longest_path(gains: Any, spans: Any, n: int) -> float:
    """The greatest sum of gains on a path 0 -> n."""
    best = np.full(n + 1, _NOWHERE)
    best[0] = 0.0
    for g in range(len(gains)):
        best[spans[g, 1]] = max(best[spans[g, 1]], best[spans[g, 0]] + gains[g])
    return best[n]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, allocates=False, inner=True)
def completions(gains: Any, spans: Any, n: int, best: Any) -> None:
    """Fill `best`, (n + 1,), with the greatest sum of gains on a path x -> n, for every x."""
    best[:] = _NOWHERE
    best[n] = 0.0
    # Backwards: every edge that begins at the last place of this one has been read.
    for g in range(len(gains) - 1, -1, -1):
        best[spans[g, 0]] = max(best[spans[g, 0]], gains[g] + best[spans[g, 1]])


@njit(cache=True, nogil=True, allocates=False, inner=True)
def paths_of_columns(table: Any, spans: Any, n: int, best: Any) -> None:
    """The longest path over the rows of a table, for every column; it is left in best[n]."""
    best[0] = 0.0
    best[1 : n + 1] = _NOWHERE
    for g in range(len(spans)):
        before, after, own = best[spans[g, 0]], best[spans[g, 1]], table[g]
        for c in range(len(own)):
            after[c] = max(after[c], before[c] + own[c])


@njit(cache=True, nogil=True, inner=True)
def pair_bound(table: Any, spans_p: Any, n_p: int, spans_q: Any, n_q: int) -> float:
    """No less than the sum of a table over the product of a path of p and one of q."""
    best = np.empty((n_p + 1, len(spans_q)))
    paths_of_columns(table, spans_p, n_p, best)
    inner_p = longest_path(best[n_p], spans_q, n_q)
    turned = table.T.copy()
    best = np.empty((n_q + 1, len(spans_p)))
    paths_of_columns(turned, spans_q, n_q, best)
    return min(inner_p, longest_path(best[n_q], spans_p, n_p))  # type: ignore[no-any-return]


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _is_zero(block: Any) -> bool:
    """Whether a block gains nothing: no class has rows enough in it."""
    for value in block:  # noqa: SIM110
        if value != 0.0:
            return False
    return True


@njit(cache=True, nogil=True)
def bound_block(block: Any, stage: int, shape: Any, spans: Any) -> float:
    """The nested bound of a block of a table, flat: the attributes after a stage, 0 for a to 3 for q, are free.

    `shape` and `spans` are as of `fill_table`.
    """
    if stage == 3:
        return block[0]  # type: ignore[no-any-return]
    if _is_zero(block):
        return 0.0
    g_a, g_e, g_p, g_q = shape[1, 0], shape[1, 1], shape[1, 2], shape[1, 3]
    of_p, of_q = spans[g_a + g_e : g_a + g_e + g_p], spans[g_a + g_e + g_p :]
    n_p, n_q = shape[0, 2], shape[0, 3]
    if stage == 2:
        return longest_path(block, of_q, n_q)  # type: ignore[no-any-return]
    if stage == 1:
        return pair_bound(block.reshape((g_p, g_q)), of_p, n_p, of_q, n_q)  # type: ignore[no-any-return]
    of_e, n_e = spans[g_a : g_a + g_e], shape[0, 1]
    # The path of e inside: it may depend on the groups of both p and q.
    best = np.empty((n_e + 1, g_p * g_q))
    paths_of_columns(block.reshape((g_e, g_p * g_q)), of_e, n_e, best)
    inside = pair_bound(best[n_e].reshape((g_p, g_q)), of_p, n_p, of_q, n_q)
    outside = np.empty(g_e)
    for e in range(g_e):
        own = block[e * g_p * g_q : (e + 1) * g_p * g_q]
        outside[e] = 0.0 if _is_zero(own) else pair_bound(own.reshape((g_p, g_q)), of_p, n_p, of_q, n_q)
    return min(inside, longest_path(outside, of_e, n_e))  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def refine(ids: Any, base: Any, groups: Any, worths: Any, counts: Any, k: int) -> Any:
    """Split classes by the groups of one more attribute, and drop those of fewer than k rows.

    Args:
        ids: (n_distinct,) int64 array, the class of every distinct tuple, or -1 for dropped ones.
        base: (n_classes,) float array, what a tuple saves in the groups of each class.
        groups: (n_distinct,) int64 array, the group of every distinct tuple in its attribute's cut.
        worths: (n_groups,) float array, what a tuple saves in each group of the cut.
        counts: (n_distinct,) int64 array, the rows of every distinct tuple.
        k: The fewest rows of a class that is not dropped.

    Returns:
        New ids and base, in place of those given, and the number of rows that were dropped.
    """
    n_groups = len(worths)
    rows = np.zeros(len(base) * n_groups, dtype=np.int64)
    for t in range(len(ids)):
        if ids[t] >= 0:
            rows[ids[t] * n_groups + groups[t]] += counts[t]
    number = np.full(len(rows), -1, dtype=np.int64)
    found = 0
    dropped = 0
    for key in range(len(rows)):
        if rows[key] >= k:
            number[key] = found
            found += 1
        else:
            dropped += rows[key]
    new_base = np.empty(found)
    for key in range(len(rows)):
        if number[key] >= 0:
            new_base[number[key]] = base[key // n_groups] + worths[key % n_groups]
    new_ids = np.empty_like(ids)
    for t in range(len(ids)):
        new_ids[t] = number[ids[t] * n_groups + groups[t]] if ids[t] >= 0 else -1
    return new_ids, new_base, dropped


@njit(cache=True, nogil=True, inner=True)
def _sorted_by_class(tuples: Any, n_classes: int, n_values: int) -> Any:
    """Order of the tuples by class and value of p, and where each of these pairs begins: a counting sort."""
    starts = np.zeros(n_classes * n_values + 1, dtype=np.int64)
    for t in range(len(tuples)):
        starts[tuples[t, 0] * n_values + tuples[t, 3] + 1] += 1
    for key in range(len(starts) - 1):
        starts[key + 1] += starts[key]
    fill = starts[:-1].copy()
    order = np.empty(len(tuples), dtype=np.int64)
    for t in range(len(tuples)):
        key = tuples[t, 0] * n_values + tuples[t, 3]
        order[fill[key]] = t
        fill[key] += 1
    return order, starts


@njit(cache=True, nogil=True, inner=True)
def _cumulate(cells: Any, sums: Any, spans: Any) -> None:
    """Counts of (values of e below x, group of q) for every x, from the counts of (value of e, value of q)."""
    n_e, n_q = cells.shape
    n_groups = len(spans)
    before = np.empty(n_q + 1)
    before[0] = 0.0
    for g in range(n_groups + 1):
        sums[0, g] = 0.0
    # The invariant: sums[x] holds what stands in the values of e below x.
    for x in range(n_e):
        for y in range(n_q):
            before[y + 1] = before[y] + cells[x, y]
        if before[n_q] == 0.0:
            for g in range(n_groups + 1):
                sums[x + 1, g] = sums[x, g]
            continue
        for g in range(n_groups):
            sums[x + 1, g] = sums[x, g] + (before[spans[g, 1]] - before[spans[g, 0]])
        sums[x + 1, n_groups] = sums[x, n_groups] + before[n_q]


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _add_boxes(rows: Any, masses: Any, spans: Any, worths: Any, prices: Any, out: Any, p: int) -> None:
    """Add the gains of the boxes of one class and one group of a and p to the table."""
    k, base, price, square = prices[0], prices[1], prices[2], prices[3]
    n_e, _, n_q = out.shape
    of_q = worths[n_e:]
    for e in range(n_e):
        low, high = rows[spans[e, 0]], rows[spans[e, 1]]
        if high[n_q] - low[n_q] < k:
            continue
        own = out[e, p]
        saved = base + worths[e]
        if len(masses) == 0:
            saved += price
            for g in range(n_q):
                n = high[g] - low[g]
                own[g] += n * (saved + of_q[g] - square * n) if n >= k else 0.0
            continue
        for g in range(n_q):
            n = high[g] - low[g]
            if n >= k:
                mass = 0.0
                for m in range(len(masses)):
                    mass = max(mass, masses[m, spans[e, 1], g] - masses[m, spans[e, 0], g])
                own[g] += mass * (saved + of_q[g]) + n * (price - square * n)


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _count(tuples: Any, order: Any, starts: Any, low: int, high: int, held: Any) -> None:
    """The rows of one class below every value of p, of those whose value of a is from `low` to below `high`."""
    for y in range(len(starts) - 1):
        held[y + 1] = held[y]
        for i in range(starts[y], starts[y + 1]):
            if low <= tuples[order[i], 1] < high:
                held[y + 1] += tuples[order[i], 5]


@njit(cache=True, nogil=True)
def fill_table(tuples: Any, masses: Any, base: Any, spans: Any, worths: Any, shape: Any, prices: Any, out: Any) -> Any:
    """The gains of all boxes of the groups of a that `out` has.

    Args:
        tuples: (n, 6) int64 array: class, value of a, of e, of p, of q, and rows of every distinct tuple.
        masses: (n_masses, n) int64 array, what counts as mass of every distinct tuple for every label; none for rows.
        base: (n_classes,) float array, what a row of each class saves already.
        spans: (n_groups, 2) int64 array, the groups of a, e, p and q, one after the other.
        worths: (n_groups,) float array, what a row saves in them.
        shape: (2, 4) int64 array: values and groups of a, e, p, q.
        prices: (4,) float array: k, what every row saves, the price of a suppressed row, and the square.
        out: (n_groups of a, ..., n_groups of q) float array of zeros that is filled.

    Returns:
        (n_groups of a,) Boolean array: whether anything was filled into each part of the table.
    """
    n_e, n_p, n_q, g_a, g_e, g_p = shape[0, 1], shape[0, 2], shape[0, 3], shape[1, 0], shape[1, 1], shape[1, 2]
    of_e, of_p, of_q = spans[g_a : g_a + g_e], spans[g_a + g_e : g_a + g_e + g_p], spans[g_a + g_e + g_p :]
    worths_eq = np.concatenate((worths[g_a : g_a + g_e], worths[g_a + g_e + g_p :]))
    order, starts = _sorted_by_class(tuples, len(base), n_p)
    cells, sums = np.zeros((1 + len(masses), n_e, n_q)), np.zeros((1 + len(masses), n_e + 1, len(of_q) + 1))
    held, filled = np.zeros(n_p + 1, dtype=np.int64), np.zeros(g_a, dtype=np.bool_)
    own = prices.copy()
    for g in range(g_a):
        low, high = spans[g, 0], spans[g, 1]
        for c in range(len(base)):
            _count(tuples, order, starts[c * n_p : (c + 1) * n_p + 1], low, high, held)
            if held[n_p] < prices[0]:
                continue
            filled[g] = True
            # The invariant: `cells` holds the values of p from `first` to below `reached`. Groups come in the order of
            # their first value, then of their last, so that a group extends the one before it.
            first, reached = -1, 0
            for j in range(g_p):
                if held[of_p[j, 1]] - held[of_p[j, 0]] < prices[0]:
                    continue
                if of_p[j, 0] != first:
                    first = reached = of_p[j, 0]
                    cells[:] = 0.0
                for t in order[starts[c * n_p + reached] : starts[c * n_p + of_p[j, 1]]]:
                    if low <= tuples[t, 1] < high:
                        cells[0, tuples[t, 2], tuples[t, 4]] += tuples[t, 5]
                        for m in range(len(masses)):
                            cells[1 + m, tuples[t, 2], tuples[t, 4]] += masses[m, t]
                reached = of_p[j, 1]
                for m in range(len(cells)):
                    _cumulate(cells[m], sums[m], of_q)
                own[1] = prices[1] + base[c] + worths[g] + worths[g_a + g_e + j]
                _add_boxes(sums[0], sums[1:], of_e, worths_eq, own, out[g], j)
    return filled


@njit(cache=True, nogil=True, allocates=False)
def add_price(table: Any, rows: Any, filled: Any, price: float, out: Any) -> None:
    """A table where a kept row gains so much more, in place of what `out` held; parts that are not filled are 0."""
    for g in range(len(filled)):
        if filled[g]:
            own, kept, total = table[g].reshape(-1), rows[g].reshape(-1), out[g].reshape(-1)
            for i in range(len(own)):
                total[i] = own[i] + price * kept[i]


class Walk:
    """All paths of one to four tabled attributes whose gain can exceed what is needed.

    The attributes are the stages of the walk. A stage follows the groups of its attribute from the first value to the
    last, and adds up their slices of the table: after the last group the sum is the table of the next stage. No string
    that begins with the path so far gains more than the nested bound of the sum, plus the best completion of the path,
    which adds up nested bounds of single slices. So a path is left where that is no more than is needed.
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
        # Where the walk stands: its stage, its depth, and the depth at which each stage began; then the numbers read.
        self._place = np.zeros(7, dtype=np.int64)
        # Per depth: the group that was taken, and the next to try.
        self._path = np.zeros((2, longest + 1), dtype=np.int64)
        # Per depth: the nested bound of what its stage had added up before.
        self._gained = np.zeros(longest + 1)
        _enter(0, table.reshape(-1), shape, spans, self._slices, self._rests)

    def keep_rows(self, rows: Values, fewest: float) -> None:
        """Find only strings that keep enough rows."""
        # A float, since numba would compile the walk once more for a whole number.
        self._rows, self._fewest = rows.reshape(-1), float(fewest)

    def go(self, need: float, budget: int) -> int:
        """Go on until a path is complete, nothing is left, or the budget is spent: `FOUND`, `DONE` or `SPENT`."""
        arrays = (self._slices, self._rests, self._firsts, self._place, self._path, self._gained, self._sums)
        rows = (self._rows, self._fewest)
        found: int = _walk(self.table.reshape(-1), self.shape, self.spans, arrays, rows, self.last, need, budget)
        return found

    @property
    def n_read(self) -> int:
        """How many numbers of tables were read."""
        return int(self._place[6])

    @property
    def position(self) -> tuple[Ints, Ints]:
        """Where the walk stands, as `stand_at` takes it."""
        return self._place.copy(), self._path.copy()

    def stand_at(self, position: tuple[Ints, Ints]) -> None:
        """Go to where a walk over an equal table stands."""
        self._place[:], self._path[:] = position
        stage, table = 0, self.table.reshape(-1)
        # As `_walk` has come there: group after group, and stage after stage.
        for depth in range(int(self._place[1])):
            begin = self._place[2 + stage]
            total = self._sums[stage][depth - begin + 1]
            g = self._path[0, depth]
            _add(self._sums[stage][depth - begin], table[g * len(total) : (g + 1) * len(total)], total)
            self._gained[depth + 1] = bound_block(total, stage, self.shape, self.spans)
            if stage < self._place[0] and depth + 1 == self._place[3 + stage]:
                stage, table = stage + 1, total
                _enter(stage, table, self.shape, self.spans, self._slices, self._rests)

    @property
    def cuts(self) -> list[Ints]:
        """The paths that were found, by stage: the numbers of the groups of the attribute."""
        ends = [*self._place[2 : 3 + self.last].tolist(), int(self._place[1]) + 1]
        return [self._path[0, first:last].copy() for first, last in pairwise(ends)]

    @property
    def found_gain(self) -> float:
        """No string with the paths that were found gains more; where the last stage is 3, it is their gain."""
        return float(self._gained[self._place[1] + 1])


def nested_bound(table: Values, shape: Ints, spans: Ints) -> float:
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


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _rows_of(path: Any, begins: Any, depth: int, shape: Any, rows: Any) -> float:
    """The rows that a string keeps: the sum over the product of its paths."""
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


@njit(cache=True, nogil=True, allocates=False)
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
    stage, depth, told, left = place[0], place[1], SPENT, budget
    while left > 0:
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
        if _enter(stage + 1, total, shape, spans, slices, rests) <= need:
            continue
        stage, depth = stage + 1, depth + 1
        place[2 + stage], path[1, depth] = depth, 0
    place[0], place[1] = stage, depth
    place[6] += budget - left
    return told
