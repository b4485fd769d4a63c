"""Grouping of distinct tuples by group maps."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.values import add_values, merge_values, sort_by_class

# An index of this type cannot be negative, and numba does not test whether it counts from the end: a third of the time
# of the loops over tuples.
_U = np.uint64

_LARGEST = np.iinfo(np.uint32).max


@njit(cache=True, nogil=True)
def group(  # type: ignore[no-untyped-def]
    maps,
    n_groups,
    sources,
    asked,
    reused,
    places,
    done,
    offsets,
    children,
    join_starts,
    join_left,
    join_right,
    left,
    right,
    counts,
    tuples,
    tables,
    limit,
    below,
    entry_starts,
    entry_rows,
    entry_values,
    entry_counts,
    n_values,
    cells,
    slots,
    slot_keys,
    taken,
    ids,
    n_ids,
    tally,
    members,
    starts,
    sizes,
    representatives,
    kept,
    class_starts,
    class_values,
    class_counts,
    class_of,
):
    """Group by one map after the other while the output has room, from map number `done`; returns how many are done.

    Map i is applied to the classes of map `sources[i]` or of the nearest of its sources that is kept; the distinct
    tuples always are. Sources come before what is made of them, depth first, so that the tables that are kept are a
    stack. Only the classes that are `asked` for stay in the output.
    """
    n_attributes, n_joins = n_groups.shape[1], len(children)
    n_columns, n_codes = len(n_values), offsets[n_attributes]
    root = n_codes + join_starts[n_joins - 1]
    stale = np.empty(n_attributes + n_joins, dtype=np.bool_)
    starts[0] = 0
    if n_columns > 0:
        class_starts[:, 0] = 0
    n_out = 0
    for i in range(done, len(maps)):
        source = sources[i]
        while source >= 0 and places[source] == 0:
            source = sources[source]
        table = places[source] if source >= 0 else 0
        first, last = tables[table], tables[table + 1]
        n_rows = last - first

        # At most so many classes, and so many entries of a column: stop before either overflows.
        most = 1
        for j in range(n_attributes):
            most = min(most * n_groups[i, j], n_rows)
        a = starts[n_out]
        full = a + most > len(sizes)
        for c in range(n_columns):
            n_entries = min(entry_starts[c, last] - entry_starts[c, first], most * n_values[c])
            full |= class_starts[c, a] + n_entries >= class_values.shape[1]
        if full and n_out > 0:
            return i

        # What is numbered as for the last map needs not be numbered again, but at the root, where rows differ.
        for j in range(n_attributes):
            stale[j] = n_ids[j] != n_groups[i, j]
            for v in range(offsets[j], offsets[j + 1]):
                stale[j] |= ids[v] != maps[i, v]
                ids[v] = maps[i, v]
            n_ids[j] = n_groups[i, j]
        for join in range(n_joins):
            one, other = children[join]
            is_root = join == n_joins - 1
            stale[n_attributes + join] = stale[one] or stale[other]
            if not (is_root or stale[n_attributes + join]):
                continue
            from_row, to_row = (first, last) if is_root else (join_starts[join], join_starts[join + 1])
            n_ids[n_attributes + join] = _number_pairs(
                (left if is_root else join_left)[from_row:to_row],
                (right if is_root else join_right)[from_row:to_row],
                ids[_first_row(one, n_attributes, offsets, n_codes, join_starts) :],
                ids[_first_row(other, n_attributes, offsets, n_codes, join_starts) :],
                n_ids[one],
                n_ids[other],
                slots,
                slot_keys,
                taken,
                ids[n_codes + join_starts[join] :],
                representatives[a:] if is_root else members,
            )
        n_classes = n_ids[n_attributes + n_joins - 1]
        b = a + n_classes
        starts[n_out + 1] = b
        own = ids[root:]
        size = sizes[a:b]
        size[:] = 0
        for t in range(_U(n_rows)):
            size[own[t]] += counts[_U(first) + t]
        for c in range(a, b):
            representatives[c] = tuples[_U(first + representatives[c])]
        if len(class_of) > 0:
            class_of[i] = own
        sorted_by_class = False
        for c in range(n_columns):
            if n_classes * n_values[c] <= len(cells):
                add_values(
                    own,
                    n_classes,
                    n_values[c],
                    entry_starts[c, first],
                    entry_starts[c, last],
                    entry_rows[c],
                    entry_values[c],
                    entry_counts[c],
                    cells,
                    class_starts[c, a:],
                    class_values[c],
                    class_counts[c],
                )
            else:
                if not sorted_by_class:
                    sort_by_class(own, n_rows, n_classes, members)
                    sorted_by_class = True
                merge_values(
                    members,
                    n_rows,
                    n_classes,
                    entry_starts[c, first:],
                    entry_values[c],
                    entry_counts[c],
                    tally,
                    class_starts[c, a:],
                    class_values[c],
                    class_counts[c],
                )
        if reused[i]:
            places[i] = _keep(
                table + 1,
                a,
                b,
                sizes,
                representatives,
                class_starts,
                class_values,
                class_counts,
                left,
                right,
                counts,
                tuples,
                tables,
                entry_starts,
                entry_rows,
                entry_values,
                entry_counts,
            )
        if asked[i]:
            smallest = below if below > 0 else _smallest_kept(size, limit, tally)
            for c in range(a, b):
                kept[c] = sizes[c] >= smallest
            n_out += 1
    return len(maps)


@njit(cache=True, nogil=True, inline="always")
def _first_row(node, n_attributes, offsets, n_codes, join_starts):  # type: ignore[no-untyped-def]
    """Where a node's numbers begin in `ids`: the attributes' maps come first, then the joins."""
    return offsets[node] if node < n_attributes else n_codes + join_starts[node - n_attributes]


@njit(cache=True, nogil=True)
def _keep(  # type: ignore[no-untyped-def]
    table,
    a,
    b,
    sizes,
    representatives,
    class_starts,
    class_values,
    class_counts,
    left,
    right,
    counts,
    tuples,
    tables,
    entry_starts,
    entry_rows,
    entry_values,
    entry_counts,
):
    """Put classes a to b - 1 on the stack as table number `table`; returns that number, or 0 where it has no room."""
    first = tables[table]
    last = first + b - a
    if table + 1 >= len(tables) or last > len(counts):
        return 0
    for c in range(len(entry_starts)):
        if entry_starts[c, first] + class_starts[c, b] - class_starts[c, a] > entry_rows.shape[1]:
            return 0
    tables[table + 1] = last
    for row in range(first, last):
        t = _U(representatives[_U(a + row - first)])
        tuples[row] = t
        left[row] = left[t]
        right[row] = right[t]
        counts[row] = sizes[_U(a + row - first)]
    for c in range(len(entry_starts)):
        begin, end, to = class_starts[c, a], class_starts[c, b], entry_starts[c, first]
        entry_values[c, to : to + end - begin] = class_values[c, begin:end]
        entry_counts[c, to : to + end - begin] = class_counts[c, begin:end]
        # Marks where rows begin, added up: a loop over each row's few entries would be mispredicted row by row.
        rows = entry_rows[c, to : to + end - begin]
        rows[:] = 0
        for row in range(1, b - a):
            entry_starts[c, first + row] = to + class_starts[c, a + row] - begin
            if class_starts[c, a + row] < end:
                rows[class_starts[c, a + row] - begin] += 1
        entry_starts[c, last] = to + end - begin
        for e in range(1, len(rows)):
            rows[e] += rows[e - 1]
    return table


@njit(cache=True, nogil=True)
def _number_pairs(  # type: ignore[no-untyped-def]
    left, right, left_ids, right_ids, n_left, n_right, slots, slot_keys, taken, ids, representatives
):
    """Number the distinct (left id, right id) of all pairs by first appearance; returns how many there are.

    A slot holds a number plus `taken[0]`, which grows by as many as there are: what earlier calls left in the slots is
    below it and counts as nothing.
    """
    if taken[0] > _LARGEST - len(left):
        slots[:] = 0
        taken[0] = 1
    base = taken[0]
    n = _U(0)
    if n_left * n_right <= len(slots):
        for p in range(_U(len(left))):
            slot = _U(left_ids[left[p]] * n_right + right_ids[right[p]])
            number = np.int64(slots[slot]) - base
            # Written always, counted if new: a branch here would be mispredicted class by class.
            is_new = number < 0
            number = np.int64(n) if is_new else number
            slots[slot] = number + base
            representatives[n] = p
            n += _U(is_new)
            ids[p] = number
    else:
        # Open addressing: at most half of the slots are ever taken.
        mask = _U(len(slots) - 1)
        for p in range(_U(len(left))):
            key = left_ids[left[p]] * n_right + right_ids[right[p]]
            mixed = _U(key) * _U(0x9E3779B97F4A7C15)
            slot = (mixed >> _U(32)) & mask
            number = np.int64(slots[slot]) - base
            while number >= 0 and slot_keys[slot] != key:
                slot = (slot + _U(1)) & mask
                number = np.int64(slots[slot]) - base
            if number < 0:
                number = np.int64(n)
                slots[slot] = number + base
                slot_keys[slot] = key
                representatives[n] = p
                n += _U(1)
            ids[p] = number
    taken[0] += np.int64(n)
    return np.int64(n)


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
            tally[_U(size)] += size
        elif size < beyond:
            beyond = size
    k = beyond
    for size in range(1, limit + 1):
        total += tally[size]
        if total > limit:
            k = size
            break
    tally[: limit + 1] = 0
    return k
