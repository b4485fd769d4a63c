"""Tables of gains: what every box of four attributes adds, summed over the classes of the others.

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

from typing import Any

import numpy as np

from pymoo_anon.engine.compiled import njit


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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _cumulate(cells: Any, sums: Any, spans: Any) -> None:
    """Counts of (values of e below x, group of q) for every x, from the counts of (value of e, value of q).

    Args:
        cells: (n_e, n_q) float array.
        sums: (n_e + 1, n_groups of q + 1) float array that is filled; the last column counts all values of q.
        spans: (n_groups of q, 2) int64 array.
    """
    n_e, n_q = cells.shape
    n_groups = len(spans)
    before = np.empty(n_q + 1)
    before[0] = 0.0
    sums[0] = 0.0
    # The invariant: sums[x] holds what stands in the values of e below x.
    for x in range(n_e):
        for y in range(n_q):
            before[y + 1] = before[y] + cells[x, y]
        if before[n_q] == 0.0:
            sums[x + 1] = sums[x]
            continue
        for g in range(n_groups):
            sums[x + 1, g] = sums[x, g] + (before[spans[g, 1]] - before[spans[g, 0]])
        sums[x + 1, n_groups] = sums[x, n_groups] + before[n_q]


@njit(cache=True, nogil=True)
def _add_boxes(rows: Any, masses: Any, spans: Any, worths: Any, prices: Any, out: Any, p: int) -> None:
    """Add the gains of the boxes of one class and one group of a and p to the table.

    Args:
        rows: (n_e + 1, n_groups of q + 1) float array, rows below each value of e.
        masses: (n_masses, n_e + 1, n_groups of q + 1) float array, the same of every label, or none: mass is rows.
        spans: (n_groups of e, 2) int64 array.
        worths: (n_groups of e + n_groups of q,) float array.
        prices: (4,) float array: k, what a row saves elsewhere, the price of a suppressed row, and the square.
        out: (n_groups of e, n_groups of p, n_groups of q) float array, added to.
        p: The group of p.
    """
    k, base, price, square = prices
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


@njit(cache=True, nogil=True)
def _count(tuples: Any, order: Any, starts: Any, low: int, high: int, held: Any) -> None:
    """The rows of one class below every value of p, of those whose value of a is from `low` to below `high`.

    Args:
        tuples: As `fill_table`.
        order: The tuples by class and value of p.
        starts: (n_p + 1,) int64 array, where the values of p begin in this order.
        low: The first value of a.
        high: The value of a after the last.
        held: (n_p + 1,) int64 array that is filled.
    """
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
    (_, n_e, n_p, n_q), (g_a, g_e, g_p, g_q) = shape[0], shape[1]
    of_e, of_p, of_q = spans[g_a : g_a + g_e], spans[g_a + g_e : g_a + g_e + g_p], spans[g_a + g_e + g_p :]
    worths_eq = np.concatenate((worths[g_a : g_a + g_e], worths[g_a + g_e + g_p :]))
    order, starts = _sorted_by_class(tuples, len(base), n_p)
    cells, sums = np.zeros((1 + len(masses), n_e, n_q)), np.zeros((1 + len(masses), n_e + 1, g_q + 1))
    held, filled = np.zeros(n_p + 1, dtype=np.int64), np.zeros(g_a, dtype=np.bool_)
    own = prices.copy()
    for g in range(g_a):
        low, high = spans[g]
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


@njit(cache=True, nogil=True)
def add_price(table: Any, rows: Any, filled: Any, price: float, out: Any) -> None:
    """A table with another price of rows, in place of what `out` held.

    Args:
        table: Float array of four axes.
        rows: The rows that every box keeps, of the same shape.
        filled: (n_groups of a,) Boolean array: the parts of the table that are not zero.
        price: What a kept row gains on top.
        out: Float array of the same shape, zero where the table is.
    """
    for g in range(len(filled)):
        if filled[g]:
            own, kept, total = table[g].reshape(-1), rows[g].reshape(-1), out[g].reshape(-1)
            for i in range(len(own)):
                total[i] = own[i] + price * kept[i]
