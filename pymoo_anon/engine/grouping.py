"""Inner loops of a grouping: row numbers, value counts, and their arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.compiled import kernel
from pymoo_anon.typing import Bools, Ints, Numbers32

#: An index of this type cannot be negative, so that numba leaves out the test whether it counts from the end. Loops
#: over rows and entries are a third faster.
U = np.uint64


class Request(NamedTuple):
    """The generalizations of one call, and the use of each."""

    maps: Ints  # (n, n_codes) int64, the group of every domain value, attribute after attribute
    n_groups: Ints  # (n, n_attributes) int64, the number of groups of every attribute
    # (n,) int64, the number of an earlier and more specific generalization, or -1. Empty where none has one.
    sources: Ints
    asked: Bools  # (n,) Boolean, the generalizations to output, or empty for all.
    # (n,) int64, the layer that holds the classes of a generalization, or 0; -1 for a source before it is grouped.
    # Empty where none is a source.
    layers: Ints
    starts: Ints  # (n + 1,) int64, where the classes of each generalization that is asked for begin in the output
    class_of: Ints  # (n, n_distinct) int64, the class of every distinct tuple; (n, 0) where nobody wants it


class Tree(NamedTuple):
    """The join tree of the distinct tuples, read-only."""

    children: Ints  # (n_joins, 2) int64, the two child nodes of each join
    # (n_nodes + 1,) int64, where the rows of each node begin. The rows of an attribute are its domain values.
    starts: Ints
    left: Numbers32  # (n_pairs,) uint32, for each row of a join its row of the left child, join after join
    right: Numbers32  # (n_pairs,) uint32, the same of the right child


class Layers(NamedTuple):
    """Layers to group: the distinct tuples, then classes of single generalizations.

    The layers are a stack, one after the other in the same arrays. Row r of any layer is a pair of rows of the root's
    children, like a row of the root itself.
    """

    starts: Ints  # (n_layers + 1,) int64, where each layer begins
    left: Numbers32  # (room,) uint32, for each row its row of the root's left child
    right: Numbers32  # (room,) uint32, the same of the right child
    counts: Ints  # (room,) int64, how many tuples of the table each row stands for
    tuples: Ints  # (room,) int64, one distinct tuple of each row


class Entries(NamedTuple):
    """Value counts of the rows of all layers, like `ValueCounts`."""

    n_values: Ints  # (n_columns,) int64, the number of distinct values of each column in the table
    starts: Ints  # (n_columns, room + 1) int64, where the entries of each row begin
    # (n_columns, entry_room) uint32, the row that each entry belongs to, counted from the layer's first.
    rows: Numbers32
    values: Numbers32  # (n_columns, entry_room) uint32
    counts: Ints  # (n_columns, entry_room) int64


class Numbers(NamedTuple):
    """Row numbers of each node, equal for equal generalized tuples."""

    ids: Numbers32  # (n_rows,) uint32, the number of every row of every node, where `Tree.starts` says
    n_ids: Ints  # (n_nodes,) int64, how many different numbers each node has; 0 before the first generalization
    changed: Bools  # (n_nodes,) Boolean, the nodes with changed numbers


class Slots(NamedTuple):
    """A table to look up the number of a pair. `number_pairs` tells why it is never cleared."""

    marks: Numbers32  # (n_slots,) uint32, base plus number of the pair in a slot
    # (n_hashed,) int64, the pair in each of the first slots, where pairs are hashed: a power of two, at least twice
    # n_distinct.
    keys: Ints
    base: Ints  # (1,) int64, at least 1. A smaller mark is of an earlier call: the slot is empty.


class Scratch(NamedTuple):
    """Memory for single steps. `cells` and `tally` are zero between them."""

    cells: Numbers32  # (n_cells,) uint32, a dense histogram of all classes; empty where a count can exceed 32 bits
    tally: Ints  # (n_values,) int64, sums by value
    members: Ints  # (n_distinct + 1,) int64, where each class ends, or the first row of each number
    values: Numbers32  # (n_entries,) uint32, the values of a column's entries sorted by class
    counts: Ints  # (n_entries,) int64, their counts


class Output(NamedTuple):
    """The classes of the requested generalizations, end to end."""

    sizes: Ints  # (class_room,) int64
    representatives: Ints  # (class_room + 1,) int64. The last element is only written past the end.
    kept: Bools  # (class_room,) Boolean
    value_starts: Ints  # (n_columns, class_room + 1) int64, where the value counts of each class begin
    values: Ints  # (n_columns, value_room + 1) int64. The last element is only written past the end.
    value_counts: Ints  # (n_columns, value_room + 1) int64, likewise


_LARGEST_MARK = np.iinfo(np.uint32).max

#: 2^64 divided by the golden ratio: multiplication by it spreads neighbouring keys over the upper bits (Knuth).
SPREAD = U(0x9E3779B97F4A7C15)


class Pairs(NamedTuple):
    """Pairs of rows of two nodes, with their numbers."""

    left: Numbers32  # (n,) uint32, the row of the left node in each pair
    right: Numbers32  # (n,) uint32, the row of the right node in each pair
    left_ids: Numbers32  # uint32, the number of every row of the left node, in 0..n_left - 1
    right_ids: Numbers32  # uint32, the number of every row of the right node, in 0..n_right - 1
    n_left: int  # How many numbers the left node has
    n_right: int  # How many numbers the right node has


@kernel
def take_maps(i, request, tree, numbers):
    """Load one generalization's maps, and mark changed nodes. A join is one if a child is."""
    n_attributes = request.n_groups.shape[1]
    groups = request.maps[i]
    for j in range(n_attributes):
        a, b = tree.starts[j], tree.starts[j + 1]
        old, new = numbers.ids[a:b], groups[a:b]
        differ = numbers.n_ids[j] != request.n_groups[i, j]
        for v in range(len(old)):
            differ |= old[v] != new[v]
            old[v] = new[v]
        numbers.n_ids[j] = request.n_groups[i, j]
        numbers.changed[j] = differ
    for join in range(len(tree.children)):
        left, right = tree.children[join, 0], tree.children[join, 1]
        numbers.changed[n_attributes + join] = numbers.changed[left] or numbers.changed[right]


@kernel
def number_joins(layer, firsts, tree, layers, numbers, slots, members):
    """Assign numbers to the rows of changed joins and the root.

    Children come before their join, so their numbers are up to date when it reads them. Returns how many numbers the
    root has, and writes the first row of each to `firsts`; `members` is scratch.
    """
    n_joins = len(tree.children)
    n_attributes = len(numbers.n_ids) - n_joins
    for join in range(n_joins):
        node, is_root = n_attributes + join, join == n_joins - 1
        if is_root or numbers.changed[node]:
            a, b = tree.starts[node], tree.starts[node + 1]
            first, last = a - tree.starts[n_attributes], b - tree.starts[n_attributes]
            left, right, own_firsts = tree.left[first:last], tree.right[first:last], members
            if is_root:
                first, last = layers.starts[layer], layers.starts[layer + 1]
                left, right, own_firsts = layers.left[first:last], layers.right[first:last], firsts
            one, other = tree.children[join, 0], tree.children[join, 1]
            pairs = Pairs(
                left,
                right,
                numbers.ids[tree.starts[one] :],
                numbers.ids[tree.starts[other] :],
                numbers.n_ids[one],
                numbers.n_ids[other],
            )
            numbers.n_ids[node] = number_pairs(pairs, slots, numbers.ids[a:b], own_firsts)
    return numbers.n_ids[n_attributes + n_joins - 1]


@kernel
def number_pairs(pairs, slots, ids, firsts):
    """Assign equal pairs one number by first appearance, and count them.

    A pair (l, r) of numbers is the key l * n_right + r. Both are below 2^32, so the key is below 2^64.

    The slots are never cleared. A slot holds base + number, and base grows by as many numbers as a call gives. So all
    marks of earlier calls are below base, and what is below base counts as empty. Marks have 32 bits: where the numbers
    of this call might not fit above base, everything is cleared once and base begins again at 1.

    Written are `ids`, the number of every pair, and `firsts`, the first pair of every number: it has to be at least one
    longer than there are numbers.
    """
    if slots.base[0] > _LARGEST_MARK - len(pairs.left):
        for slot in range(len(slots.marks)):
            slots.marks[slot] = 0
        slots.base[0] = 1
    if pairs.n_left * pairs.n_right <= len(slots.marks):
        n = _number_by_key(pairs, slots.marks, slots.base[0], ids, firsts)
    else:
        n = _number_by_hash(pairs, slots, ids, firsts)
    slots.base[0] += n
    return n


@kernel
def _number_by_key(pairs, marks, base, ids, firsts):
    """Assign numbers to pairs with a slot per key."""
    left, right, left_ids, right_ids, _, n_right = pairs
    n = U(0)
    # Invariant: the pairs before p hold n distinct keys, and the slot of each of them its number.
    for p in range(U(len(left))):
        slot = U(left_ids[left[p]] * n_right + right_ids[right[p]])
        number = np.int64(marks[slot]) - base
        # Write the next number always and count it if it is new: a branch would be mispredicted class by class.
        is_new = number < 0
        number = np.int64(n) if is_new else number
        marks[slot] = number + base
        firsts[n] = p
        n += U(is_new)
        ids[p] = number
    return np.int64(n)


@kernel
def _number_by_hash(pairs, slots, ids, firsts):
    """Assign numbers to pairs by open addressing. At most half of the slots are ever taken."""
    left, right, left_ids, right_ids, _, n_right = pairs
    marks, keys, base = slots.marks, slots.keys, slots.base[0]
    mask = U(len(keys) - 1)
    n = U(0)
    # Invariant: as above; no empty slot stands between the hash of a key and its slot.
    for p in range(U(len(left))):
        key = left_ids[left[p]] * n_right + right_ids[right[p]]
        slot = ((U(key) * SPREAD) >> U(32)) & mask
        number = np.int64(marks[slot]) - base
        while number >= 0 and keys[slot] != key:
            slot = (slot + U(1)) & mask
            number = np.int64(marks[slot]) - base
        if number < 0:
            number = np.int64(n)
            marks[slot] = number + base
            keys[slot] = key
            firsts[n] = p
            n += U(1)
        ids[p] = number
    return np.int64(n)


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
def count_values(layer, n_classes, ids, a, layers, entries, scratch, output):
    """Count the values of every column in the classes."""
    for c in range(len(entries.n_values)):
        starts = entries.starts[c, layers.starts[layer] : layers.starts[layer + 1] + 1]
        column = LayerColumn(entries.n_values[c], starts, entries.rows[c], entries.values[c], entries.counts[c])
        counted = Counted(output.value_starts[c, a:], output.values[c], output.value_counts[c])
        if n_classes * column.n_values <= len(scratch.cells):
            add_values(ids, n_classes, column, scratch.cells, counted)
        else:
            sort_by_class(ids, n_classes, column, scratch)
            merge_values(n_classes, scratch, counted)


@kernel
def add_values(ids, n_classes, column, cells, counted):
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
def sort_by_class(ids, n_classes, column, scratch):
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
def merge_values(n_classes, scratch, counted):
    """Count the values of each class after `sort_by_class`. It takes longer than `add_values`, and less memory."""
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
