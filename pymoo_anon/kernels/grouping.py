"""Grouping of distinct tuples by group maps."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def group_extents(maps: Ints, offsets: Ints) -> Ints:
    """(n, n_codes) int64 array: for every domain value the number of domain values in its group, less one.

    Args:
        maps: (n, n_codes) int64 array, the group of every domain value.
        offsets: (n_attributes + 1,) int64 array, where each attribute's values begin.
    """
    extents: Ints = _group_extents(maps, offsets)
    return extents


@njit(cache=True, nogil=True)
def group(  # type: ignore[no-untyped-def]
    maps,
    n_groups,
    offsets,
    children,
    join_starts,
    pairs,
    counts,
    limit,
    below,
    entry_starts,
    entry_tuples,
    entry_values,
    entry_counts,
    n_values,
    cells,
    slots,
    slot_keys,
    used,
    ids,
    tally,
    members,
    starts,
    sizes,
    representatives,
    smallest_kept,
    class_starts,
    class_values,
    class_counts,
    class_of,
):
    """Group by one map after the other while the output has room; returns how many were done, at least one."""
    n_attributes, n_joins, n_distinct = n_groups.shape[1], len(children), len(counts)
    n_columns, n_codes = len(n_values), offsets[n_attributes]
    root = n_codes + join_starts[n_joins - 1]
    n_ids = np.empty(n_attributes + n_joins, dtype=np.int64)
    starts[0] = 0
    if n_columns > 0:
        class_starts[:, 0] = 0
    for i in range(len(maps)):
        # At most so many classes, and so many entries of a column: stop before either overflows.
        most = 1
        for j in range(n_attributes):
            most = min(most * n_groups[i, j], n_distinct)
        full = starts[i] + most > len(sizes)
        for c in range(n_columns):
            n_entries = min(entry_starts[c, n_distinct] - entry_starts[c, 0], most * n_values[c])
            full |= class_starts[c, starts[i]] + n_entries >= class_values.shape[1]
        if full and i > 0:
            return i

        ids[:n_codes] = maps[i]
        n_ids[:n_attributes] = n_groups[i]
        for join in range(n_joins):
            left, right = children[join]
            n_ids[n_attributes + join] = _number_pairs(
                pairs[join_starts[join] : join_starts[join + 1]],
                ids[_first_row(left, n_attributes, offsets, n_codes, join_starts) :],
                ids[_first_row(right, n_attributes, offsets, n_codes, join_starts) :],
                n_ids[left],
                n_ids[right],
                slots,
                slot_keys,
                used,
                ids[n_codes + join_starts[join] :],
                representatives[starts[i] :],
                join == n_joins - 1,
            )
        n_classes = n_ids[n_attributes + n_joins - 1]
        a, b = starts[i], starts[i] + n_classes
        starts[i + 1] = b
        own = ids[root:]
        size = sizes[a:b]
        size[:] = 0
        for t in range(n_distinct):
            size[own[t]] += counts[t]
        smallest_kept[i] = below if below > 0 else _smallest_kept(size, limit, tally)
        if len(class_of) > 0:
            class_of[i] = own
        sorted_by_class = False
        for c in range(n_columns):
            if n_classes * n_values[c] <= len(cells):
                _add_values(
                    own,
                    n_classes,
                    n_values[c],
                    entry_starts[c, 0],
                    entry_starts[c, n_distinct],
                    entry_tuples,
                    entry_values,
                    entry_counts,
                    cells,
                    class_starts[c, a:],
                    class_values[c],
                    class_counts[c],
                )
            else:
                if not sorted_by_class:
                    _sort_by_class(own, n_distinct, n_classes, members)
                    sorted_by_class = True
                _merge_values(
                    members,
                    n_distinct,
                    n_classes,
                    entry_starts[c],
                    entry_values,
                    entry_counts,
                    tally,
                    class_starts[c, a:],
                    class_values[c],
                    class_counts[c],
                )
    return len(maps)


@njit(cache=True, nogil=True, inline="always")
def _first_row(node, n_attributes, offsets, n_codes, join_starts):  # type: ignore[no-untyped-def]
    """Where a node's numbers begin in `ids`: the attributes' maps come first, then the joins."""
    return offsets[node] if node < n_attributes else n_codes + join_starts[node - n_attributes]


@njit(cache=True, nogil=True)
def _number_pairs(  # type: ignore[no-untyped-def]
    pairs, left_ids, right_ids, n_left, n_right, slots, slot_keys, used, ids, representatives, is_root
):
    """Number the distinct (left id, right id) of all pairs by first appearance; returns how many there are."""
    n = 0
    if n_left * n_right <= len(slots):
        for p in range(len(pairs)):
            slot = left_ids[pairs[p, 0]] * n_right + right_ids[pairs[p, 1]]
            number = slots[slot]
            if number < 0:
                number = n
                slots[slot] = n
                used[n] = slot
                if is_root:
                    representatives[n] = p
                n += 1
            ids[p] = number
    else:
        # Open addressing: at most half of the slots are ever taken.
        mask = len(slots) - 1
        for p in range(len(pairs)):
            key = left_ids[pairs[p, 0]] * n_right + right_ids[pairs[p, 1]]
            mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
            slot = np.int64(mixed >> np.uint64(32)) & mask
            number = slots[slot]
            while number >= 0 and slot_keys[slot] != key:
                slot = (slot + 1) & mask
                number = slots[slot]
            if number < 0:
                number = n
                slots[slot] = n
                slot_keys[slot] = key
                used[n] = slot
                if is_root:
                    representatives[n] = p
                n += 1
            ids[p] = number
    for c in range(n):
        slots[used[c]] = -1
    return n


@njit(cache=True, nogil=True)
def _smallest_kept(sizes, limit, tally):  # type: ignore[no-untyped-def]
    """The smallest k for which the classes of at most k tuples hold more than `limit` tuples."""
    beyond = np.iinfo(np.int64).max
    total = 0
    if limit >= len(tally):
        for size in np.sort(sizes):
            total += size
            if total > limit:
                return size
    for size in sizes:
        if size <= limit:
            tally[size] += size
        elif size < beyond:
            beyond = size
    k = beyond
    for size in range(1, limit + 1):
        total += tally[size]
        if total > limit:
            k = size
            break
    for size in sizes:
        if size <= limit:
            tally[size] = 0
    return k


@njit(cache=True, nogil=True)
def _add_values(  # type: ignore[no-untyped-def]
    class_of, n_classes, n_values, first, last, tuples, entry_values, entry_counts, cells, class_starts, values, counts
):
    """Add up the value counts of each class in a dense table of cells, which is zero before and after."""
    for e in range(first, last):
        cells[class_of[tuples[e]] * n_values + entry_values[e]] += entry_counts[e]
    at = class_starts[0]
    for c in range(n_classes):
        for value in range(n_values):
            count = cells[c * n_values + value]
            # Written always, kept if positive: a branch here would be mispredicted every other time.
            values[at] = value
            counts[at] = count
            at += count > 0
        class_starts[c + 1] = at
    cells[: n_classes * n_values] = 0


@njit(cache=True, nogil=True)
def _sort_by_class(class_of, n_distinct, n_classes, members):  # type: ignore[no-untyped-def]
    """Counting sort: `members[:n_distinct]` are the tuples by class, the rest where each class ends."""
    ends = members[n_distinct:]
    ends[: n_classes + 1] = 0
    for t in range(n_distinct):
        ends[class_of[t] + 1] += 1
    for c in range(n_classes):
        ends[c + 1] += ends[c]
    for t in range(n_distinct):
        c = class_of[t]
        members[ends[c]] = t
        ends[c] += 1


@njit(cache=True, nogil=True)
def _merge_values(  # type: ignore[no-untyped-def]
    members, n_distinct, n_classes, entry_starts, entry_values, entry_counts, tally, class_starts, values, counts
):
    """Add up the value counts of each class's tuples."""
    ends = members[n_distinct:]
    begin = 0
    at = class_starts[0]
    for c in range(n_classes):
        end = ends[c]
        first = at
        if end - begin == 1:
            t = members[begin]
            for e in range(entry_starts[t], entry_starts[t + 1]):
                values[at] = entry_values[e]
                counts[at] = entry_counts[e]
                at += 1
        else:
            for m in range(begin, end):
                t = members[m]
                for e in range(entry_starts[t], entry_starts[t + 1]):
                    value = entry_values[e]
                    if tally[value] == 0:
                        values[at] = value
                        at += 1
                    tally[value] += entry_counts[e]
            for e in range(first, at):
                counts[e] = tally[values[e]]
                tally[values[e]] = 0
        class_starts[c + 1] = at
        begin = end


@njit(cache=True, nogil=True)
def _group_extents(maps, offsets):  # type: ignore[no-untyped-def]
    extents = np.empty_like(maps)
    sizes = np.empty(maps.shape[1], dtype=np.int64)
    for i in range(len(maps)):
        for j in range(len(offsets) - 1):
            a, b = offsets[j], offsets[j + 1]
            sizes[: b - a] = -1
            for v in range(a, b):
                sizes[maps[i, v]] += 1
            for v in range(a, b):
                extents[i, v] = sizes[maps[i, v]]
    return extents
