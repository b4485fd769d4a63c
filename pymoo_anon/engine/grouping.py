"""Grouping of distinct tuples, one generalization after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.engine.numbering import U, named, number_joins, take_maps
from pymoo_anon.typing import Ints, Numbers32


@kernel
def nearest_layer(i, request):  # type: ignore[no-untyped-def]
    """Return the source layer of generalization i.

    A source of a source is a source: merging its classes gives the same classes, only from more rows.
    """
    if len(request.sources) == 0:
        return 0
    source = request.sources[i]
    while source >= 0 and request.layers[source] == 0:
        source = request.sources[source]
    return request.layers[source] if source >= 0 else 0


@kernel
def push(layer, a, b, layers, entries, output):  # type: ignore[no-untyped-def]
    """Keep classes a to b - 1 as a layer, or return 0.

    Generalizations come depth first. So everything above the layer below, which this overwrites, belongs to branches
    that are finished, and the layers that are still needed are a stack.
    """
    first = layers.starts[layer]
    last = first + b - a
    if layer + 1 >= len(layers.starts) or last > len(layers.counts):
        return 0
    for c in range(len(entries.n_values)):
        n_entries = output.value_starts[c, b] - output.value_starts[c, a]
        if entries.starts[c, first] + n_entries > entries.rows.shape[1]:
            return 0
    layers.starts[layer + 1] = last
    for row in range(first, last):
        # All tuples of a class have the same numbers, so the pair of one of them is the pair of the class.
        t = U(output.representatives[U(a + row - first)])
        layers.tuples[row] = t
        layers.left[row] = layers.left[t]
        layers.right[row] = layers.right[t]
        layers.counts[row] = output.sizes[U(a + row - first)]
    for c in range(len(entries.n_values)):
        starts = output.value_starts[c]
        begin, end = starts[a], starts[b]
        to = entries.starts[c, first]
        for e in range(end - begin):
            entries.values[c, to + e] = output.values[c, begin + e]
            entries.counts[c, to + e] = output.value_counts[c, begin + e]
            entries.rows[c, to + e] = 0
        # The row of an entry is the number of rows that begin after the layer's first entry and not after this one:
        # mark where they begin, and add up. A loop over each row's few entries would be mispredicted row by row.
        for row in range(1, b - a):
            at = to + starts[a + row] - begin
            entries.starts[c, first + row] = at
            if starts[a + row] < end:
                entries.rows[c, at] += 1
        entries.starts[c, last] = to + end - begin
        for e in range(to + 1, to + end - begin):
            entries.rows[c, e] += entries.rows[c, e - 1]
    return layer


class LayerColumn(NamedTuple):
    """Value counts of one column in a layer."""

    n_values: int  # Number of distinct values of the column in the table
    starts: Ints  # (n + 1,) int64, where the entries of each row begin
    rows: Numbers32  # uint32, the row of each entry
    values: Numbers32  # uint32, the value of each entry
    counts: Ints  # int64, the count of each entry


class Counted(NamedTuple):
    """Where the value counts of classes are written."""

    starts: Ints  # At least n_classes + 1 int64. The first element is given and tells where to write.
    values: Ints  # int64, one longer than it has room for
    counts: Ints  # int64, one longer than it has room for


@kernel
def _column_of(c, rows, entries):  # type: ignore[no-untyped-def]
    """Return column c of the layer from rows[0] to rows[1] - 1."""
    starts = entries.starts[c, rows[0] : rows[1] + 1]
    return LayerColumn(entries.n_values[c], starts, entries.rows[c], entries.values[c], entries.counts[c])


@kernel
def count_values(layer, n_classes, ids, a, layers, entries, scratch, output):  # type: ignore[no-untyped-def]
    """Count the values of every column in the classes."""
    for c in range(len(entries.n_values)):
        column = _column_of(c, layers.starts[layer : layer + 2], entries)
        counted = Counted(output.value_starts[c, a:], output.values[c], output.value_counts[c])
        if n_classes * column.n_values <= len(scratch.cells):
            add_values(ids, n_classes, column, scratch.cells, counted)
        else:
            sort_by_class(ids, n_classes, column, scratch)
            merge_values(n_classes, scratch, counted)


@kernel
def add_values(ids, n_classes, column, cells, counted):  # type: ignore[no-untyped-def]
    """Write the positive counts of each class by a histogram."""
    n_values = column.n_values
    rows, values, counts = column.rows, column.values, column.counts
    for e in range(U(column.starts[0]), U(column.starts[-1])):
        cells[ids[rows[e]] * U(n_values) + values[e]] += np.uint32(counts[e])
    at = U(counted.starts[0])
    # Invariant: before `at` are the positive counts of all cells so far.
    for c in range(n_classes):
        for value in range(n_values):
            count = cells[U(c * n_values + value)]
            # Write always and move on if positive: a branch would be mispredicted every other time.
            counted.values[at] = value
            counted.counts[at] = count
            at += U(count > 0)
        counted.starts[c + 1] = at
    for cell in range(U(n_classes * n_values)):
        cells[cell] = 0


@kernel
def sort_by_class(ids, n_classes, column, scratch):  # type: ignore[no-untyped-def]
    """Sort values and counts by class, by counting."""
    rows, ends = column.rows, scratch.members
    begin, end = U(column.starts[0]), U(column.starts[-1])
    for c in range(n_classes + 1):
        ends[c] = 0
    for e in range(begin, end):
        ends[ids[rows[e]] + U(1)] += 1
    # Now ends[c + 1] is the number of entries of class c. Added up, ends[c] is where class c begins.
    for c in range(n_classes):
        ends[c + 1] += ends[c]
    # Invariant: ends[c] is where the next entry of class c goes. After its last entry that is where it ends.
    for e in range(begin, end):
        c = ids[rows[e]]
        at = U(ends[c])
        scratch.values[at] = column.values[e]
        scratch.counts[at] = column.counts[e]
        ends[c] += 1


@kernel
def merge_values(n_classes, scratch, counted):  # type: ignore[no-untyped-def]
    """Count the values of each class entry by entry, after `sort_by_class`.

    This takes longer than `add_values` and no memory for classes times values.
    """
    ends, values, counts, tally = scratch.members, scratch.values, scratch.counts, scratch.tally
    begin, at = U(0), U(counted.starts[0])
    # Invariant: the entries of class c begin at `begin`, its value counts at `at`.
    for c in range(n_classes):
        first, end = at, U(ends[c])
        # Invariant: tally holds the counts so far. Its positive values are those from `first` to `at`.
        for e in range(begin, end):
            value = values[e]
            # Write always and move on if new: a branch would be mispredicted value by value.
            counted.values[at] = value
            at += U(tally[value] == 0)
            tally[value] += counts[e]
        for e in range(first, at):
            value = U(counted.values[e])
            counted.counts[e] = tally[value]
            tally[value] = 0
        counted.starts[c + 1] = at
        begin = end


@kernel
def find_fewest(rows, ids, sizes, kept, entries, scratch, readers, fewest):  # type: ignore[no-untyped-def]
    """Write the fewest distinct values in a kept class, for the columns of each reader.

    The rows are those of a layer, from rows[0] to rows[1] - 1. A class is read until it has as many values as the
    poorest so far.
    """
    most = _BEYOND_ALL
    for c in range(len(sizes)):
        most = min(most, sizes[c] if kept[c] else most)
    for reader in range(len(fewest)):
        fewest[reader] = most
    for c in range(len(readers)):
        column = _column_of(c, rows, entries)
        enough = min(fewest[readers[c]], column.n_values)
        by_cells = len(sizes) * column.n_values <= len(scratch.cells)
        if by_cells or (enough <= _SHORT_LIST and len(sizes) * enough <= len(scratch.cells)):
            _find_values(ids, kept, enough, column.n_values if by_cells else 0, column, scratch)
            for n in scratch.members[: len(kept)]:
                enough = min(enough, n)
        else:
            sort_by_class(ids, len(sizes), column, scratch)
            enough = _fewest_of_sorted(kept, enough, scratch)
        fewest[readers[c]] = enough


@kernel
def _find_values(ids, kept, enough, n_cells, column, scratch):  # type: ignore[no-untyped-def]
    """Count the distinct values of each class up to enough, in `scratch.members`.

    A class has `n_cells` cells, one for each value; with 0 it has a list of its values so far.
    """
    n_found, cells = scratch.members, scratch.cells
    n_open = 0
    for c in range(len(kept)):
        n_found[c] = 0 if kept[c] else enough
        n_open += kept[c]
    begin, end = U(column.starts[0]), U(column.starts[-1])
    # Rows far apart are of many classes, which soon have enough. For those that have not, all rows are read.
    for sample in range(_SAMPLES + 1):
        step = U(_STRIDE if sample < _SAMPLES else 1)
        for e in range(begin + U(sample % _SAMPLES), end, step):
            c = ids[column.rows[e]]
            if n_found[c] >= enough:
                continue
            value = column.values[e]
            if n_cells > 0:
                at = U(c * U(n_cells) + value)
                is_new = cells[at] == 0
            else:
                at = U(c * U(enough))
                to = at + U(n_found[c])
                while at < to and cells[at] != value:
                    at += U(1)
                is_new = at == to
            if is_new:
                cells[at] = 1 if n_cells > 0 else value
                n_found[c] += 1
                n_open -= n_found[c] == enough
        if n_open == 0:
            break
    for cell in range(U(len(kept) * max(n_cells, enough))):
        cells[cell] = 0


@kernel
def _fewest_of_sorted(kept, enough, scratch):  # type: ignore[no-untyped-def]
    """Return the fewest values, after `sort_by_class`."""
    ends, values, tally = scratch.members, scratch.values, scratch.tally
    begin = U(0)
    for c in range(len(kept)):
        at, end, n = begin, U(ends[c]), 0
        # Invariant: the n distinct values from `begin` to `at` are tallied.
        while kept[c] and at < end and n < enough:
            n += tally[values[at]] == 0
            tally[values[at]] = 1
            at += U(1)
        for one in range(begin, at):
            tally[values[one]] = 0
        enough = min(enough, n) if kept[c] else enough
        begin = end
    return enough


_BEYOND_ALL = np.iinfo(np.int64).max

# Lists of so many values are read faster than rows are sorted.
_SHORT_LIST = 8

# So many samples are read before all rows, and each takes every `_STRIDE`-th row.
_SAMPLES = 4
_STRIDE = 32


@njit(allocates=False)
def group(done, limit, below, *arrays):  # type: ignore[no-untyped-def]
    """Group by each generalization while the output has room.

    Args:
        done: Number of the generalization to begin with; those before it were grouped by earlier calls.
        limit: At most so many tuples are suppressed, the smallest classes first; used where `below` is 0.
        below: Every class smaller than this is suppressed.
        arrays: The arrays of `Request`, `Tree`, `Layers`, `Entries`, `Numbers`, `Slots`, `Scratch` and `Output`.

    Returns:
        The number of the generalization to go on with. It is above `done`: there is always room for one.
    """
    request, tree, layers, entries, numbers, slots, scratch, output = named(arrays)
    request.starts[0] = 0
    for c in range(len(entries.n_values)):
        output.value_starts[c, 0] = 0
    n_out = 0
    # Invariant: the output holds the n_out generalizations that were asked for from `done` to i - 1. Its classes end
    # at request.starts[n_out]. What was grouped and not asked for is overwritten there.
    for i in range(done, len(request.maps)):
        layer = nearest_layer(i, request)
        counts, is_source = len(request.readers) == 0, len(request.layers) > 0 and request.layers[i] < 0
        a = request.starts[n_out]
        if n_out > 0 and not _has_room(i, a, layer, request, layers, entries, output):
            return i
        take_maps(i, request, tree, numbers)
        n_classes = number_joins(layer, output.representatives[a:], tree, layers, numbers, slots, scratch.members)
        b = a + n_classes
        ids = numbers.ids[tree.starts[len(tree.starts) - 2] :]
        _make_classes(a, n_classes, layer, ids, layers, output)
        for t in range(request.class_of.shape[1]):
            request.class_of[i, t] = ids[t]
        if counts or is_source:
            count_values(layer, n_classes, ids, a, layers, entries, scratch, output)
        if is_source:
            request.layers[i] = push(layer + 1, a, b, layers, entries, output)
        if len(request.asked) == 0 or request.asked[i]:
            sizes, kept = output.sizes[a:b], output.kept[a:b]
            smallest = below if below > 0 else _smallest_kept(sizes, limit, scratch.tally)
            for c in range(len(sizes)):
                kept[c] = sizes[c] >= smallest
            if not counts:
                rows = layers.starts[layer : layer + 2]
                find_fewest(rows, ids, sizes, kept, entries, scratch, request.readers, request.fewest[n_out])
                for c in range(len(entries.n_values)):
                    output.value_starts[c, b] = output.value_starts[c, a]
            n_out += 1
            request.starts[n_out] = b
    return len(request.maps)


@kernel
def _has_room(i, a, layer, request, layers, entries, output):  # type: ignore[no-untyped-def]
    """Return whether the classes surely fit into the output.

    There are at most as many classes as combinations of groups, and as rows of the layer. There are at most as many
    value counts as entries of the layer, and as classes times values.
    """
    first, last = layers.starts[layer], layers.starts[layer + 1]
    most = 1
    for n in request.n_groups[i]:
        most = min(most * n, last - first)
    if a + most > len(output.sizes):
        return False
    for c in range(len(entries.n_values)):
        n_entries = min(entries.starts[c, last] - entries.starts[c, first], most * entries.n_values[c])
        if output.value_starts[c, a] + n_entries >= output.values.shape[1]:
            return False
    return True


@kernel
def _make_classes(a, n_classes, layer, ids, layers, output):  # type: ignore[no-untyped-def]
    """Write the classes of a layer's rows from `a` on."""
    first, last = layers.starts[layer], layers.starts[layer + 1]
    representatives, sizes, counts = output.representatives[a:], output.sizes[a:], layers.counts[first:last]
    for c in range(n_classes):
        # So far a representative is a row of the layer.
        representatives[c] = layers.tuples[U(first + representatives[c])]
        sizes[c] = 0
    for t in range(U(len(counts))):
        sizes[ids[t]] += counts[t]


@kernel
def _smallest_kept(sizes, limit, tally):  # type: ignore[no-untyped-def]
    """Return the smallest size that the limit keeps."""
    if limit >= len(tally):
        return _smallest_by_halves(sizes, limit)
    # A class larger than the limit is always kept, so k is at most the smallest of them.
    k = _BEYOND_ALL
    for size in sizes:
        if size <= limit:
            tally[U(size)] += size
        elif size < k:
            k = size
    total = np.int64(0)
    # Invariant: `total` tuples are in classes smaller than `size`, no more than the limit.
    for size in range(1, limit + 1):
        total += tally[size]
        if total > limit:
            k = size
            break
    for size in range(limit + 1):
        tally[size] = 0
    return k


@kernel
def _smallest_by_halves(sizes, limit):  # type: ignore[no-untyped-def]
    """Return the same k by bisection, without a tally."""
    low, high, total = np.int64(0), np.int64(0), np.int64(0)
    for size in sizes:
        total += size
        high = max(high, size)
    if total <= limit:
        return _BEYOND_ALL
    # Invariant: classes of at most `low` tuples hold no more than the limit, those of at most `high` do.
    while high - low > 1:
        middle, total = (low + high) // 2, np.int64(0)
        for size in sizes:
            total += size if size <= middle else 0
        if total > limit:
            high = middle
        else:
            low = middle
    return high
