"""How often each class holds each value of a column."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.arrays import Ints, Numbers32
from pymoo_anon.engine.compiled import njit

# An index of this type cannot be negative, so that numba leaves out the test whether it counts from the end. The loops
# over entries are a third faster.
_U = np.uint64


class Column(NamedTuple):
    """The value counts of one column in the n rows of a layer.

    Attributes:
        n_values: Number of distinct values of the column in the table.
        starts: (n + 1,) int64, where the entries of each row begin.
        rows: uint32, the row of each entry.
        values: uint32, the value of each entry.
        counts: int64, the count of each entry.
    """

    n_values: int
    starts: Ints
    rows: Numbers32
    values: Numbers32
    counts: Ints


class Counted(NamedTuple):
    """Where the value counts of classes are written.

    Attributes:
        starts: At least n_classes + 1 int64. The first element is given and tells where to write.
        values: int64, one longer than it has room for.
        counts: int64, one longer than it has room for.
    """

    starts: Ints
    values: Ints
    counts: Ints


@njit(cache=True, nogil=True)
def count_values(layer, n_classes, ids, a, layers, entries, scratch, output):  # type: ignore[no-untyped-def]
    """Count the values of every column in the classes of a layer's rows.

    Args:
        layer: Number of the layer.
        n_classes: Number of classes.
        ids: (n_rows,) uint32, the class of every row of the layer.
        a: Where the classes begin in the output.
        layers: `Layers`.
        entries: `Entries`.
        scratch: `Scratch`.
        output: `Output`; the value counts are written.
    """
    first, last = layers.starts[layer], layers.starts[layer + 1]
    is_sorted = False
    for c in range(len(entries.n_values)):
        column = Column(
            entries.n_values[c],
            entries.starts[c, first : last + 1],
            entries.rows[c],
            entries.values[c],
            entries.counts[c],
        )
        counted = Counted(output.value_starts[c, a:], output.values[c], output.value_counts[c])
        if n_classes * column.n_values <= len(scratch.cells):
            add_values(ids, n_classes, column, scratch.cells, counted)
            continue
        if not is_sorted:
            sort_by_class(ids, last - first, n_classes, scratch.members)
            is_sorted = True
        merge_values(n_classes, column, scratch, counted)


@njit(cache=True, nogil=True)
def add_values(ids, n_classes, column, cells, counted):  # type: ignore[no-untyped-def]
    """Count the values of each class in a dense histogram, and write down what is not zero.

    Args:
        ids: (n_rows,) uint32, the class of every row.
        n_classes: Number of classes.
        column: `Column`.
        cells: uint32, at least n_classes * n_values of them, zero before and after.
        counted: `Counted`.
    """
    n_values = column.n_values
    rows, values, counts = column.rows, column.values, column.counts
    for e in range(_U(column.starts[0]), _U(column.starts[-1])):
        cells[ids[rows[e]] * _U(n_values) + values[e]] += np.uint32(counts[e])
    at = _U(counted.starts[0])
    # Invariant: what comes before `at` are the positive counts of all cells so far.
    for c in range(n_classes):
        for value in range(n_values):
            count = cells[_U(c * n_values + value)]
            # Write always and move on if positive: a branch would be mispredicted every other time.
            counted.values[at] = value
            counted.counts[at] = count
            at += _U(count > 0)
        counted.starts[c + 1] = at
    cells[: n_classes * n_values] = 0


@njit(cache=True, nogil=True)
def sort_by_class(class_of, n_rows, n_classes, members):  # type: ignore[no-untyped-def]
    """Sort rows by class, by counting.

    Args:
        class_of: (n_rows,) integer array, the class of every row.
        n_rows: Number of rows.
        n_classes: Number of classes, all in 0..n_classes - 1.
        members: At least n_rows + n_classes + 1 int64, written: first the rows, class after class and ascending in each
            class, then for each class where it ends among them.
    """
    ends = members[n_rows:]
    ends[: n_classes + 1] = 0
    for t in range(n_rows):
        ends[class_of[t] + 1] += 1
    # Now ends[c + 1] is the size of class c. Added up, ends[c] is where class c begins.
    for c in range(n_classes):
        ends[c + 1] += ends[c]
    # Invariant: ends[c] is where the next row of class c goes. After its last row that is where it ends.
    for t in range(n_rows):
        c = class_of[t]
        members[ends[c]] = t
        ends[c] += 1


@njit(cache=True, nogil=True)
def merge_values(n_classes, column, scratch, counted):  # type: ignore[no-untyped-def]
    """Count the values of each class row by row, after `sort_by_class`.

    This takes longer than `add_values` and no memory for classes times values.

    Args:
        n_classes: Number of classes.
        column: `Column`.
        scratch: `Scratch`; `members` are the sorted rows, `tally` is zero before and after.
        counted: `Counted`.
    """
    members, ends = scratch.members, scratch.members[len(column.starts) - 1 :]
    begin, at = 0, counted.starts[0]
    # Invariant: the rows of class c begin at members[begin], its value counts at `at`.
    for c in range(n_classes):
        end = ends[c]
        if end - begin == 1:
            # One row: its counts are those of the class.
            t = members[begin]
            for e in range(column.starts[t], column.starts[t + 1]):
                counted.values[at] = column.values[e]
                counted.counts[at] = column.counts[e]
                at += 1
        else:
            at = _merge_rows(members[begin:end], column, scratch.tally, at, counted)
        counted.starts[c + 1] = at
        begin = end


@njit(cache=True, nogil=True)
def _merge_rows(rows, column, tally, at, counted):  # type: ignore[no-untyped-def]
    """Write the value counts of some rows together from `at` on; returns where they end."""
    first = at
    # Invariant: tally holds the counts so far. Its positive values are those from `first` to `at`.
    for t in rows:
        for e in range(column.starts[t], column.starts[t + 1]):
            value = column.values[e]
            if tally[value] == 0:
                counted.values[at] = value
                at += 1
            tally[value] += column.counts[e]
    for e in range(first, at):
        counted.counts[e] = tally[counted.values[e]]
        tally[counted.values[e]] = 0
    return at
