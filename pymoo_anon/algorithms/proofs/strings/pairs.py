"""Two attributes of a bit string at a time: the gains of all their boxes, and the best pair of cuts.

A cut of one attribute is a path from 0 to n, its number of values, in a graph without circles: its edges are the groups
that the attribute may have, a group of the values first..last - 1 leading from first to last. The groups of an
attribute are an (n_groups, 2) int64 array of first and last, in lexicographic order, so that a group stands after all
that can come before it on a path.

The **gain** of a box, one group of each attribute, is what its rows save against being suppressed, as `ClassGains`
says: mass (flat + worths of its groups) - square rows^2, where it has at least k rows, and else 0. The mass are its
rows or, where there are labels, those with its most frequent label. Here every row that is kept also saves a price, so
that strings that suppress less can be asked for. The gain of a string is the sum over its boxes. With all attributes
but two fixed, it is the sum of a table over pairs of groups: one that the first attribute's cut has, and one that the
second's has.
"""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.compiled import njit


@njit(cache=True, nogil=True)
def classes_without(codes, tallies, offsets, numbers, worths, pair, k):  # type: ignore[no-untyped-def]
    """The classes that all attributes but two make, without those of fewer than k rows.

    A box lies inside one of these classes. So those of fewer than k rows hold no box that gains.

    Args:
        codes: (n_tuples, n_attributes) int array of the distinct tuples.
        tallies: (n_tuples, 1 + n_labels) int64 array, the rows of each, and those of each label where there are labels.
        offsets: (n_attributes + 1,) int64 array, where the values of each attribute begin.
        numbers: (n_values,) int64 array, for every value of every attribute the number of its group in the cut.
        worths: (n_values,) float array, what a row with this value saves by its group.
        pair: The two attributes that are left out.
        k: The fewest rows that gain.

    Returns:
        (n_classes + 1,) int64 array, where the tuples of each class begin; (n_classes,) float array, what a row of each
        saves by the attributes that are fixed; (n, 3 + n_labels) int64 array of the tuples by class: the values of both
        attributes and the tallies.
    """
    n_tuples, n_attributes = codes.shape
    kept = np.arange(n_tuples)
    of = np.zeros(n_tuples, dtype=np.int64)
    saved = np.zeros(n_tuples)
    n_classes = 1
    for a in range(n_attributes):
        if a == pair[0] or a == pair[1]:
            continue
        first = offsets[a]
        n_groups = numbers[offsets[a + 1] - 1] + 1
        rows = np.zeros(n_classes * n_groups, dtype=np.int64)
        for i in range(len(kept)):
            rows[of[i] * n_groups + numbers[first + codes[kept[i], a]]] += tallies[kept[i], 0]
        # Classes only split from here on: what is too small stays so.
        place = np.full(len(rows), -1, dtype=np.int64)
        n_classes = 0
        for c in range(len(rows)):
            if rows[c] >= k and rows[c] > 0:
                place[c] = n_classes
                n_classes += 1
        n = 0
        for i in range(len(kept)):
            value = first + codes[kept[i], a]
            c = place[of[i] * n_groups + numbers[value]]
            if c >= 0:
                # n <= i, so that nothing is overwritten before it is read.
                kept[n], of[n], saved[n] = kept[i], c, saved[i] + worths[value]
                n += 1
        kept, of, saved = kept[:n], of[:n], saved[:n]
    return _sorted_by_class(codes, tallies, kept, of, saved, n_classes, pair)


@njit(cache=True, nogil=True)
def _sorted_by_class(codes, tallies, kept, of, saved, n_classes, pair):  # type: ignore[no-untyped-def]
    """What `classes_without` returns, of the tuples that are kept, the class of each and what its rows save."""
    starts = np.zeros(n_classes + 1, dtype=np.int64)
    for c in of:
        starts[c + 1] += 1
    starts = np.cumsum(starts)
    free = starts.copy()
    margins = np.empty(n_classes)
    cells = np.empty((len(kept), 2 + tallies.shape[1]), dtype=np.int64)
    for i in range(len(kept)):
        c, t = of[i], kept[i]
        margins[c] = saved[i]
        cells[free[c], 0], cells[free[c], 1] = codes[t, pair[0]], codes[t, pair[1]]
        cells[free[c], 2:] = tallies[t]
        free[c] += 1
    return starts, margins, cells


@njit(cache=True, nogil=True)
def pair_table(starts, margins, cells, spans, worths, other_spans, other_worths, terms):  # type: ignore[no-untyped-def]
    """The gain of every pair of groups of two attributes, summed over the classes of all others.

    The rows of a box are four sums over rectangles of its class that begin at 0: the invariant of the inner loop is
    that `below[v]` holds the tallies of a value in the first attribute's group and one below v of the second's.

    Args:
        starts: (n_classes + 1,) int64 array, as `classes_without` returns it.
        margins: (n_classes,) float array: what a row of each class saves without the two attributes.
        cells: (n, 3 + n_labels) int64 array, as `classes_without` returns it.
        spans: The groups of the first attribute.
        worths: (n_groups,) float array, what a row of each group saves.
        other_spans: The groups of the second attribute.
        other_worths: (n_other_groups,) float array.
        terms: Float array of k, the price that every kept row saves, and `square`.

    Returns:
        (n_groups, n_other_groups) float array.
    """
    n, n_other, n_tallies = spans[-1, 1], other_spans[-1, 1], cells.shape[1] - 2
    k, price, square = terms[0], terms[1], terms[2]
    table = np.zeros((len(spans), len(other_spans)))
    sums = np.zeros((n + 1, n_tallies, n_other + 1), dtype=np.int64)
    for c in range(len(starts) - 1):
        _sum_rectangles(sums, cells[starts[c] : starts[c + 1]])
        for i in range(len(spans)):
            below = sums[spans[i, 1]] - sums[spans[i, 0]]
            if below[0, n_other] < k:
                continue
            margin = margins[c] + worths[i]
            for j in range(len(other_spans)):
                first, last = other_spans[j]
                rows = below[0, last] - below[0, first]
                if rows < k:
                    continue
                mass = rows
                if n_tallies > 1:
                    mass = 0
                    for label in range(1, n_tallies):
                        mass = max(mass, below[label, last] - below[label, first])
                table[i, j] += mass * (margin + other_worths[j]) + rows * (price - square * rows)
    return table


@njit(cache=True, nogil=True, inline="always")
def _sum_rectangles(sums, cells):  # type: ignore[no-untyped-def]
    """Fill in the tallies of all rectangles of one class that begin at 0."""
    sums[:] = 0
    for i in range(len(cells)):
        for tally in range(cells.shape[1] - 2):
            sums[cells[i, 0] + 1, tally, cells[i, 1] + 1] += cells[i, 2 + tally]
    for v in range(1, len(sums)):
        for tally in range(sums.shape[1]):
            row = 0
            for u in range(1, sums.shape[2]):
                row += sums[v, tally, u]
                sums[v, tally, u] = sums[v - 1, tally, u] + row


@njit(cache=True, nogil=True)
def longest_path(gains, spans):  # type: ignore[no-untyped-def]
    """The largest sum of gains over a cut.

    Args:
        gains: (n_groups,) float array.
        spans: The groups.
    """
    best = np.full(spans[-1, 1] + 1, -np.inf)
    best[0] = 0.0
    # Groups that end where this one begins stand before it: best[spans[i, 0]] is final.
    for i in range(len(spans)):
        reached = best[spans[i, 0]] + gains[i]
        if reached > best[spans[i, 1]]:
            best[spans[i, 1]] = reached
    return best[-1]


@njit(cache=True, nogil=True)
def longest_cut(gains, spans):  # type: ignore[no-untyped-def]
    """The cut with the largest sum of gains, as an int64 array of the places of its groups; of several the first."""
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


@njit(cache=True, nogil=True)
def completions(gains, spans):  # type: ignore[no-untyped-def]
    """(n_values + 1,) float array: the largest sum of gains over the rest of a cut, from each value on."""
    n = spans[-1, 1]
    best = np.full(n + 1, -np.inf)
    best[n] = 0.0
    for i in range(len(spans) - 1, -1, -1):
        reached = best[spans[i, 1]] + gains[i]
        if reached > best[spans[i, 0]]:
            best[spans[i, 0]] = reached
    return best


@njit(cache=True, nogil=True)
def best_pair(table, spans, other_spans, floor, most_nodes):  # type: ignore[no-untyped-def]
    """The pair of cuts whose boxes gain most in all, if that is more than a floor.

    Depth first over the first attribute's cuts, group by group. Let a prefix reach value x, and let `own[j]` be what it
    gains with the second attribute's group j. For every completion and every cut of the second attribute

    - the prefix gains at most the longest path of `own`, and each further group i at most the longest path of table[i];
    - group j of the second attribute gains at most own[j] and, from x on, what the best completion for j alone gains.

    The first lets the second cut depend on the first attribute's groups, the other lets the first cut depend on the
    second attribute's groups: both only enlarge the maximum. Where a prefix ends, both are its exact value. Prefixes
    whose smaller bound is no more than the best so far are left. Before that, cuts are improved in turns, each the best
    for the other, so that the best is mostly known before the proof.

    Args:
        table: (n_groups, n_other_groups) float array.
        spans: The groups of the first attribute; it should be the one with fewer cuts.
        other_spans: The groups of the second attribute.
        floor: Pairs that gain no more do not count.
        most_nodes: After so many prefixes the best so far is returned.

    Returns:
        The two cuts, each an int64 array of the places of its groups, empty where none gains more than the floor, and
        whether that is proven.
    """
    own_best = np.empty(len(spans))
    for i in range(len(spans)):
        own_best[i] = longest_path(table[i], other_spans)
    cut, value = _in_turns(table, spans, other_spans, longest_cut(own_best, spans))
    if value <= floor:
        cut, value = cut[:0], floor
    found, proven = _search_prefixes(table, spans, other_spans, own_best, value, most_nodes)
    if len(found):
        cut = found
    if not len(cut):
        return cut, cut.copy(), proven
    return cut, longest_cut(_summed(table, cut), other_spans), proven


@njit(cache=True, nogil=True)
def _summed(table, cut):  # type: ignore[no-untyped-def]
    """What a cut of the first attribute gains with each group of the second."""
    total = np.zeros(table.shape[1])
    for i in cut:
        total += table[i]
    return total


@njit(cache=True, nogil=True)
def _in_turns(table, spans, other_spans, cut):  # type: ignore[no-untyped-def]
    """A cut of the first attribute, improved in turns with the second's; and what the two gain."""
    value = longest_path(_summed(table, cut), other_spans)
    by_other = table.T.copy()
    while True:
        other = longest_cut(_summed(table, cut), other_spans)
        better = longest_cut(_summed(by_other, other), spans)
        reached = longest_path(_summed(table, better), other_spans)
        # Strictly, so that it ends.
        if reached <= value:
            return cut, value
        cut, value = better, reached


@njit(cache=True, nogil=True)
def _search_prefixes(table, spans, other_spans, own_best, value, most_nodes):  # type: ignore[no-untyped-def]
    """The first attribute's cut that gains more than a value, or none, and whether that is proven."""
    n, n_groups, n_others = spans[-1, 1], len(spans), len(other_spans)
    rest = completions(own_best, spans)
    # For each group of the second attribute its own best completion from each value on.
    rests = np.full((n + 1, n_others), -np.inf)
    rests[n] = 0.0
    begins = np.full(n + 1, n_groups, dtype=np.int64)
    for i in range(n_groups - 1, -1, -1):
        low, high = spans[i]
        begins[low] = i
        for j in range(n_others):
            rests[low, j] = max(rests[low, j], table[i, j] + rests[high, j])
    # The prefix is path[:depth]; gained[d] is `own` of its first d groups; following[d] is the next group to try.
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
        bound = longest_path(gained[depth + 1], other_spans) + rest[reached]
        if reached < n and bound > value:
            bound = min(bound, longest_path(gained[depth + 1] + rests[reached], other_spans))
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
