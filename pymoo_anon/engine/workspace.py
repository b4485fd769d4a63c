"""Memory of the grouping, laid out once and used by many calls."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.arrays import Entries, Layers, Numbers, Output, Scratch, Slots, Tree
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts

Ints = NDArray[np.int64]

# Room for the classes of several small generalizations, so that one compiled call serves a batch of them. Not more than
# a processor's cache holds, so that the objectives find the classes there.
_BATCH_CLASSES = 1 << 17
_BATCH_ENTRIES = 1 << 18
_SLOTS = 1 << 19
_CELLS = 1 << 18

# Room for layers of classes, in layers as large as the distinct tuples.
_KEPT_LAYERS = 2.0

# Beyond this limit of suppressed tuples sizes are sorted and not tallied, so that a limit takes no memory of its own.
_LONGEST_TALLY = 1 << 16


class Workspace:
    """All arrays of the grouping but those of a single call. One call at a time may use them.

    They are kept from call to call, since fresh memory costs more than the grouping. Whatever numbers rows, classes or
    values has 32 bits: grouping waits for memory, and so half as long.

    Args:
        tuples: The distinct tuples.
        tree: Their join tree.

    Attributes:
        arrays: All arrays, in the order of `arrays.named`, without those of `Request`.
        output: The group of arrays where classes are written.
        slots: The group of arrays in which pairs are looked up.
    """

    def __init__(self, tuples: DistinctTuples, tree: Tree) -> None:
        self._tuples, self._tree = tuples, tree
        n_distinct, n_nodes = len(tuples), len(tree.starts) - 1
        n_slots = max(_SLOTS, 1 << (2 * n_distinct - 1).bit_length())
        self._layers = self._first_layer()
        self._numbers = Numbers(
            ids=np.empty(tree.starts[-1], dtype=np.uint32),
            n_ids=np.zeros(n_nodes, dtype=np.int64),
            changed=np.empty(n_nodes, dtype=np.bool_),
        )
        self.slots = Slots(
            marks=np.zeros(n_slots, dtype=np.uint32),
            keys=np.empty(n_slots, dtype=np.int64),
            base=np.ones(1, dtype=np.int64),
        )
        self._scratch = Scratch(
            # A cell could not count the rows of a larger table. Its values are merged row by row.
            cells=np.zeros(_CELLS if tuples.n_rows < 1 << 32 else 0, dtype=np.uint32),
            tally=np.zeros(0, dtype=np.int64),
            members=np.empty(2 * n_distinct + 1, dtype=np.int64),
        )
        n_classes = max(_BATCH_CLASSES, n_distinct)
        self.output = Output(
            np.empty(n_classes, dtype=np.int64),
            np.empty(n_classes + 1, dtype=np.int64),
            np.empty(n_classes, dtype=np.bool_),
            *_room_for_values(0, n_classes, 0),
        )
        self._columns: tuple[Hashable, ...] | None = None
        self.fit((), 0)

    def fit(self, columns: tuple[Hashable, ...], limit: int) -> None:
        """Lay out what depends on the columns and the limit; free where the columns are those of the last call."""
        longest = min(limit, _LONGEST_TALLY)
        if self._columns == columns and longest < len(self._scratch.tally):
            return
        wanted = [self._tuples.columns[name] for name in columns]
        longest = max([longest, *(column.n_values for column in wanted)])
        if longest >= len(self._scratch.tally):
            self._scratch = self._scratch._replace(tally=np.zeros(longest + 1, dtype=np.int64))
        if self._columns != columns:
            self._entries = self._first_entries(wanted)
            most = max([_BATCH_ENTRIES, *(len(column.values) for column in wanted)])
            room = _room_for_values(len(columns), len(self.output.sizes), most)
            self.output = Output(self.output.sizes, self.output.representatives, self.output.kept, *room)
            self._columns = columns
        self.arrays: tuple[NDArray[Any], ...] = (
            *self._tree,
            *self._layers,
            *self._entries,
            *self._numbers,
            *self.slots,
            *self._scratch,
            *self.output,
        )

    def _first_layer(self) -> Layers:
        """The distinct tuples as layer 0, and room for other layers."""
        tuples, tree = self._tuples, self._tree
        n_distinct = len(tuples)
        # Empty and then filled in part: memory that nobody writes costs nothing.
        room = int((1 + _KEPT_LAYERS) * n_distinct)
        layers = Layers(
            # A chain of ever more general generalizations is not longer than they have groups.
            starts=np.zeros(tuples.offsets[-1] + 2, dtype=np.int64),
            left=np.empty(room, dtype=np.uint32),
            right=np.empty(room, dtype=np.uint32),
            counts=np.empty(room, dtype=np.int64),
            tuples=np.empty(room, dtype=np.int64),
        )
        layers.starts[1] = n_distinct
        layers.left[:n_distinct] = tree.left[-n_distinct:]
        layers.right[:n_distinct] = tree.right[-n_distinct:]
        layers.counts[:n_distinct] = tuples.counts
        layers.tuples[:n_distinct] = np.arange(n_distinct)
        return layers

    def _first_entries(self, wanted: list[ValueCounts]) -> Entries:
        """The value counts of the distinct tuples in some columns, and room for those of other layers."""
        n_distinct, n_columns = len(self._tuples), len(wanted)
        longest = max([0, *(len(column.values) for column in wanted)])
        room = n_columns, int((1 + _KEPT_LAYERS) * longest)
        entries = Entries(
            n_values=np.array([column.n_values for column in wanted], dtype=np.int64),
            starts=np.empty((n_columns, len(self._layers.counts) + 1), dtype=np.int64),
            rows=np.empty(room, dtype=np.uint32),
            values=np.empty(room, dtype=np.uint32),
            counts=np.empty(room, dtype=np.int64),
        )
        for c, column in enumerate(wanted):
            n_entries = len(column.values)
            entries.starts[c, : n_distinct + 1] = column.starts
            entries.rows[c, :n_entries] = np.repeat(np.arange(n_distinct), np.diff(column.starts))
            entries.values[c, :n_entries] = column.values
            entries.counts[c, :n_entries] = column.counts
        return entries


def _room_for_values(n_columns: int, n_classes: int, n_entries: int) -> tuple[Ints, Ints, Ints]:
    """The value counts of `Output` for so many columns, classes and entries a column.

    There is room for one entry more, since an entry is written before it is known whether it counts.
    """
    return (
        np.empty((n_columns, n_classes + 1), dtype=np.int64),
        np.empty((n_columns, n_entries + 1), dtype=np.int64),
        np.empty((n_columns, n_entries + 1), dtype=np.int64),
    )
