"""Scratch and output arrays of the grouping."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.joins import JoinTree

Ints = NDArray[np.int64]

# Room for the classes of several small generalizations, so that one compiled call serves a batch of them, and no more
# than a processor's cache holds, so that the objectives find the classes there.
_BATCH_CLASSES = 1 << 17
_BATCH_ENTRIES = 1 << 18
_SLOTS = 1 << 19
_CELLS = 1 << 18

# Room for classes that are kept to be rolled up, in tables as large as the distinct tuples.
_KEPT_TABLES = 2.0

# Beyond this limit of suppressed tuples sizes are sorted and not tallied, so that a limit takes no memory of its own.
_LONGEST_TALLY = 1 << 16


class Workspace:
    """Scratch and output arrays of one thread, kept from call to call: fresh memory costs more than the grouping.

    The tables that can be grouped, the distinct tuples and classes that were kept, lie one after the other in `left`,
    `right`, `counts` and `tuples`, their value counts in the `entry_` arrays.

    Args:
        joins: The distinct tuples as a join tree.
        counts: (n_distinct,) int64 array, how often each occurs.
        n_codes: Number of domain values of all attributes.
    """

    def __init__(self, joins: JoinTree, counts: Ints, n_codes: int) -> None:
        n_distinct = len(counts)
        n_slots = max(_SLOTS, 1 << (2 * n_distinct - 1).bit_length())
        n_classes = max(_BATCH_CLASSES, n_distinct)
        # Grouping waits for memory: what numbers rows, classes or values is half as long as a whole number of counts.
        self.slots = np.zeros(n_slots, dtype=np.uint32)
        self.slot_keys = np.empty(n_slots, dtype=np.int64)
        # Numbers below this in a slot are of earlier groupings.
        self.taken = np.ones(1, dtype=np.int64)
        self.ids = np.empty(n_codes + joins.starts[-1], dtype=np.uint32)
        # How many numbers each node of the join tree has; at first none are known.
        self.n_ids = np.zeros(2 * len(joins.children) + 1, dtype=np.int64)
        self.members = np.empty(2 * n_distinct + 1, dtype=np.int64)
        # A table with more rows than a cell can count has none, and its values are merged class by class.
        self.cells = np.zeros(_CELLS if counts.sum() < 1 << 32 else 0, dtype=np.uint32)
        self.sizes = np.empty(n_classes, dtype=np.int64)
        self.kept = np.empty(n_classes, dtype=np.bool_)
        # One more than there can be: what is new is written before it is counted.
        self.representatives = np.empty(n_classes + 1, dtype=np.int64)
        self.tally = np.zeros(0, dtype=np.int64)
        root, room = joins.starts[-2], int((1 + _KEPT_TABLES) * n_distinct)
        # Empty and then filled in part: memory that nobody writes costs nothing.
        self.left, self.right = np.empty(room, dtype=np.uint32), np.empty(room, dtype=np.uint32)
        self.counts, self.tuples = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        self.left[:n_distinct], self.right[:n_distinct] = joins.left[root:], joins.right[root:]
        self.counts[:n_distinct], self.tuples[:n_distinct] = counts, np.arange(n_distinct)
        # Where the tables begin; a chain of generalizations is no longer than all their groups.
        self.tables = np.zeros(n_codes + 2, dtype=np.int64)
        self.tables[1] = n_distinct
        self._columns: tuple[int, ...] | None = None

    def fit(self, columns: Sequence[tuple[Ints, Ints, Ints, int]], limit: int) -> None:
        """Lay out columns of value counts; free where they are the same objects as in the last call.

        Args:
            columns: The starts, values, counts and number of values of each column.
            limit: At most so many tuples are to be suppressed.
        """
        longest = max([min(limit, _LONGEST_TALLY), *(n_values for *_, n_values in columns)]) + 1
        if len(self.tally) < longest:
            self.tally = np.zeros(longest, dtype=np.int64)
        same = tuple(id(starts) for starts, *_ in columns)
        if self._columns == same:
            return
        self._columns = same
        n_distinct, n_classes, n_columns = int(self.tables[1]), len(self.sizes), len(columns)
        longest = max([0, *(len(values) for _, values, _, _ in columns)])
        room = (n_columns, int((1 + _KEPT_TABLES) * longest))
        self.entry_starts = np.empty((n_columns, len(self.counts) + 1), dtype=np.int64)
        self.entry_rows = np.empty(room, dtype=np.uint32)
        self.entry_values = np.empty(room, dtype=np.uint32)
        self.entry_counts = np.empty(room, dtype=np.int64)
        for c, (starts, values, counts, _) in enumerate(columns):
            self.entry_starts[c, : n_distinct + 1] = starts
            self.entry_rows[c, : len(values)] = np.repeat(np.arange(n_distinct), np.diff(starts))
            self.entry_values[c, : len(values)] = values
            self.entry_counts[c, : len(values)] = counts
        self.n_values = np.array([n_values for *_, n_values in columns], dtype=np.int64)
        entries = max(_BATCH_ENTRIES, longest)
        self.class_starts = np.empty((n_columns, n_classes + 1), dtype=np.int64)
        self.class_values = np.empty((n_columns, entries + 1), dtype=np.int64)
        self.class_counts = np.empty((n_columns, entries + 1), dtype=np.int64)
