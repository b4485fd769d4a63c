"""How often each class holds each value of a column."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.compiled import njit

# An index of this type cannot be negative, and numba does not test whether it counts from the end: a third of the time.
_U = np.uint64


@njit(cache=True, nogil=True)
def add_values(  # type: ignore[no-untyped-def]
    class_of, n_classes, n_values, first, last, rows, entry_values, entry_counts, cells, class_starts, values, counts
):
    """Add up the value counts of each class in a dense table of cells, which is zero before and after."""
    for e in range(_U(first), _U(last)):
        cells[class_of[rows[e]] * _U(n_values) + entry_values[e]] += np.uint32(entry_counts[e])
    at = _U(class_starts[0])
    for c in range(n_classes):
        for value in range(n_values):
            count = cells[_U(c * n_values + value)]
            # Written always, kept if positive: a branch here would be mispredicted every other time.
            values[at] = value
            counts[at] = count
            at += _U(count > 0)
        class_starts[c + 1] = at
    cells[: n_classes * n_values] = 0


@njit(cache=True, nogil=True)
def sort_by_class(class_of, n_rows, n_classes, members):  # type: ignore[no-untyped-def]
    """Counting sort: `members[:n_rows]` are the rows by class, the rest where each class ends."""
    ends = members[n_rows:]
    ends[: n_classes + 1] = 0
    for t in range(n_rows):
        ends[class_of[t] + 1] += 1
    for c in range(n_classes):
        ends[c + 1] += ends[c]
    for t in range(n_rows):
        c = class_of[t]
        members[ends[c]] = t
        ends[c] += 1


@njit(cache=True, nogil=True)
def merge_values(  # type: ignore[no-untyped-def]
    members, n_rows, n_classes, entry_starts, entry_values, entry_counts, tally, class_starts, values, counts
):
    """Add up the value counts of each class's rows."""
    ends = members[n_rows:]
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
