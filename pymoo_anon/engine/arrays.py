"""The arrays that grouping works on, in named groups.

A compiled function is called quickly with many arrays and slowly with tuples of arrays. So `Workspace` keeps all arrays
in one flat tuple, `grouping.group` takes them one by one, and `named` gives them their names back. Everything compiled
below `group` takes groups.

In the shapes, n is the number of generalizations of one call and n_distinct the number of distinct tuples of the table.
A node is one of the join tree: the attributes come first, then the joins, the root last.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    class_of: Ints  # (n, n_distinct) int64, the class of every distinct tuple. Empty where nobody wants it.
    readers: Ints  # (n_columns,) int64, the reader of each column, in the columns of `fewest`
    # (n, n_readers) int64, the fewest distinct values in a kept class of each reader's columns, for those that are
    # asked for. Empty where all values are counted.
    fewest: Ints


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
    """A table to look up the number of a pair. `numbering.number_pairs` tells why it is never cleared."""

    # (n_slots,) uint32, a power of two and at least twice n_distinct: base plus number of the pair in a slot.
    marks: Numbers32
    keys: Ints  # (n_slots,) int64, the pair in a slot, where pairs are hashed
    base: Ints  # (1,) int64, at least 1. A smaller mark is of an earlier call: the slot is empty.


class Scratch(NamedTuple):
    """Memory for single steps. `cells` and `tally` are zero between them."""

    cells: Numbers32  # (n_cells,) uint32, a dense histogram of all classes; empty where a count can exceed 32 bits
    tally: Ints  # (longest,) int64, sums by class size or by value
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


# Where each group ends among all arrays. They stand in this order.
_REQUEST = len(Request._fields)
_TREE = _REQUEST + len(Tree._fields)
_LAYERS = _TREE + len(Layers._fields)
_ENTRIES = _LAYERS + len(Entries._fields)
_END_OF_NUMBERS = _ENTRIES + len(Numbers._fields)
_SLOTS = _END_OF_NUMBERS + len(Slots._fields)
_SCRATCH = _SLOTS + len(Scratch._fields)


@kernel
def named(arrays: Any) -> Any:
    """Return the eight named groups of a flat tuple of arrays."""
    return (
        Request(*arrays[:_REQUEST]),
        Tree(*arrays[_REQUEST:_TREE]),
        Layers(*arrays[_TREE:_LAYERS]),
        Entries(*arrays[_LAYERS:_ENTRIES]),
        Numbers(*arrays[_ENTRIES:_END_OF_NUMBERS]),
        Slots(*arrays[_END_OF_NUMBERS:_SLOTS]),
        Scratch(*arrays[_SLOTS:_SCRATCH]),
        Output(*arrays[_SCRATCH:]),
    )
