"""Equivalence classes: a table as distinct tuples and counts, and what generalizations make of it.

A table is its distinct quasi-identifier tuples with counts (`DistinctTuples`); a generalization is one group map per
quasi-identifier; their `EquivalenceClasses` are flat arrays, for many generalizations at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.kernels.grouping import group

Ints = NDArray[np.int64]

# Room for the classes of several small generalizations, so that one compiled call serves a batch of them, and no more
# than a processor's cache holds, so that the objectives find the classes there.
_BATCH_CLASSES = 1 << 15
_BATCH_ENTRIES = 1 << 16
_SLOTS = 1 << 17
_CELLS = 1 << 18

# Beyond this limit of suppressed tuples sizes are sorted and not tallied, so that a limit takes no memory of its own.
_LONGEST_TALLY = 1 << 16


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Sparse counts of one column's values: row r holds `values[starts[r]:starts[r + 1]]`, each with its count.

    Attributes:
        starts: (n + 1,) int64 array, where each row begins. Rows are distinct tuples or equivalence classes.
        values: int64 array of value codes in 0..n_values - 1, each at most once in a row, in no particular order.
        counts: int64 array of positive counts, as long as `values`.
        n_values: Number of distinct values of the column in the whole table.
    """

    starts: Ints
    values: Ints
    counts: Ints
    n_values: int

    def histogram(self) -> Ints:
        """(n, n_values) int64 array: how often each row holds each value."""
        n = len(self.starts) - 1
        dense = np.zeros((n, self.n_values), dtype=np.int64)
        rows = np.repeat(np.arange(n), np.diff(self.starts))
        first, last = self.starts[0], self.starts[-1]
        dense[rows, self.values[first:last]] = self.counts[first:last]
        return dense


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The equivalence classes of one or several generalizations of one table, laid end to end.

    The classes of generalization i are `starts[i]:starts[i + 1]` of every per-class array. A class is suppressed where
    its size is less than `smallest_kept[i]`.

    Attributes:
        table: The distinct tuples that were grouped.
        maps: (n, n_codes) int64 array, the group of every domain value, attribute after attribute.
        starts: (n + 1,) int64 array.
        sizes: (n_classes,) int64 array, number of tuples (rows of the table) in each class.
        representatives: (n_classes,) int64 array, one distinct tuple of each class.
        smallest_kept: (n,) int64 array, the smallest size of a class that is not suppressed. Where every class is
            suppressed it is larger than all sizes.
        columns: Per sensitive or label column the value counts of the classes.
        class_of: (n, n_distinct) int64 array, the class of each distinct tuple, counted from 0 in each
            generalization; None where nobody asked for it.
    """

    table: DistinctTuples
    maps: Ints
    starts: Ints
    sizes: Ints
    representatives: Ints
    smallest_kept: Ints
    columns: Mapping[str, ValueCounts] = field(default_factory=dict)
    class_of: Ints | None = None

    def __len__(self) -> int:
        """Number of generalizations."""
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[EquivalenceClasses]:
        """The classes of one generalization after the other."""
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> EquivalenceClasses:
        """The classes of generalization i alone; its arrays are views."""
        if not 0 <= i < len(self):
            raise IndexError(f"index must be in 0..{len(self) - 1}, got {i}")
        a, b = self.starts[i], self.starts[i + 1]
        columns = {
            name: ValueCounts(counts.starts[a : b + 1], counts.values, counts.counts, counts.n_values)
            for name, counts in self.columns.items()
        }
        return EquivalenceClasses(
            self.table,
            self.maps[i : i + 1],
            self.starts[i : i + 2] - a,
            self.sizes[a:b],
            self.representatives[a:b],
            self.smallest_kept[i : i + 1],
            columns,
            None if self.class_of is None else self.class_of[i : i + 1],
        )

    def copy(self) -> EquivalenceClasses:
        """The same classes in arrays of their own, which nothing overwrites."""
        columns = {
            name: ValueCounts(
                counts.starts - counts.starts[0],
                counts.values[counts.starts[0] : counts.starts[-1]].copy(),
                counts.counts[counts.starts[0] : counts.starts[-1]].copy(),
                counts.n_values,
            )
            for name, counts in self.columns.items()
        }
        return EquivalenceClasses(
            self.table,
            self.maps.copy(),
            self.starts.copy(),
            self.sizes.copy(),
            self.representatives.copy(),
            self.smallest_kept.copy(),
            columns,
            None if self.class_of is None else self.class_of.copy(),
        )

    @property
    def n_rows(self) -> int:
        """Number of tuples in the table, suppressed ones included."""
        return self.table.n_rows

    @property
    def suppressed(self) -> NDArray[np.bool_]:
        """(n_classes,) Boolean array: the classes whose tuples are suppressed."""
        return self.sizes < np.repeat(self.smallest_kept, np.diff(self.starts))

    @property
    def n_suppressed(self) -> Ints:
        """(n,) int64 array: the number of suppressed tuples of each generalization."""
        totals = np.zeros(len(self.sizes) + 1, dtype=np.int64)
        np.cumsum(np.where(self.suppressed, self.sizes, 0), out=totals[1:])
        return totals[self.starts[1:]] - totals[self.starts[:-1]]


class DistinctTuples:
    """The distinct quasi-identifier tuples of a table and how often each occurs: all that a search ever reads.

    Args:
        codes: (n_distinct, n_attributes) integer array of domain positions.
        counts: (n_distinct,) integer array of positive counts.
        domain_sizes: Number of domain values of each attribute.
        columns: Per sensitive or label column its value counts in each distinct tuple.
    """

    def __init__(
        self, codes: Ints, counts: Ints, domain_sizes: tuple[int, ...], columns: Mapping[str, ValueCounts] | None = None
    ) -> None:
        self.codes = _frozen(codes)
        self.counts = _frozen(counts)
        self.domain_sizes = domain_sizes
        self.columns = {
            name: ValueCounts(_frozen(column.starts), _frozen(column.values), _frozen(column.counts), column.n_values)
            for name, column in (columns or {}).items()
        }
        self.n_rows = int(self.counts.sum())
        #: (n_attributes + 1,) int64 array: where each attribute's part of a group map begins.
        self.offsets = _frozen(np.concatenate([[0], np.cumsum(domain_sizes)]))
        self._joins = _JoinTree(self.codes, self.offsets)
        self._workspaces: list[_Workspace] = []

    def __len__(self) -> int:
        """Number of distinct tuples."""
        return len(self.counts)

    def __deepcopy__(self, memo: dict[int, Any]) -> DistinctTuples:
        """Itself: nothing in it changes."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_workspaces": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        joins, columns = self._joins, self.columns.values()
        arrays = [self.codes, self.counts, self.offsets, joins.children, joins.starts, joins.pairs]
        # A pickle forgets that they do not change, and numba would compile everything again for arrays that do.
        for array in arrays + [array for column in columns for array in (column.starts, column.values, column.counts)]:
            array.flags.writeable = False

    @cached_property
    def marginals(self) -> Ints:
        """(n_codes,) int64 array: how many tuples hold each domain value, attribute after attribute."""
        totals = np.zeros(self.offsets[-1], dtype=np.int64)
        for attribute, offset in enumerate(self.offsets[:-1]):
            np.add.at(totals, offset + self.codes[:, attribute], self.counts)
        return totals

    def classes(
        self,
        maps: Ints,
        n_groups: Ints,
        *,
        columns: tuple[str, ...] = (),
        limit: int = 0,
        below: int = 0,
        class_of: bool = False,
    ) -> Iterator[EquivalenceClasses]:
        """Group the table by many generalizations.

        Args:
            maps: (n, n_codes) int64 array, the group of every domain value, attribute after attribute; the groups of
                an attribute are counted from 0.
            n_groups: (n, n_attributes) int64 array, number of groups of each attribute.
            columns: The columns whose values are to be counted in every class.
            limit: At most so many tuples are suppressed; used where `below` is 0.
            below: Every class smaller than this is suppressed.
            class_of: Whether the class of every distinct tuple is wanted.

        Yields:
            The classes of the next few generalizations, in order. Their arrays are overwritten by the next batch: copy
            what is to stay.
        """
        wanted = tuple(self.columns[name] for name in columns)
        space = self._workspaces.pop() if self._workspaces else _Workspace(self)
        space.fit(wanted, limit)
        n = len(maps)
        keep = np.empty((n if class_of else 0, len(self)), dtype=np.int64)
        done = 0
        while done < n:
            starts = np.empty(n - done + 1, dtype=np.int64)
            smallest_kept = np.empty(n - done, dtype=np.int64)
            many = group(
                maps[done:],
                n_groups[done:],
                self.offsets,
                self._joins.children,
                self._joins.starts,
                self._joins.pairs,
                self.counts,
                limit,
                below,
                space.entry_starts,
                space.entry_tuples,
                space.entry_values,
                space.entry_counts,
                space.n_values,
                space.cells,
                space.slots,
                space.slot_keys,
                space.used,
                space.ids,
                space.tally,
                space.members,
                starts,
                space.sizes,
                space.representatives,
                smallest_kept,
                space.class_starts,
                space.class_values,
                space.class_counts,
                keep[done:] if class_of else keep,
            )
            n_classes = starts[many]
            yield EquivalenceClasses(
                self,
                maps[done : done + many],
                starts[: many + 1],
                space.sizes[:n_classes],
                space.representatives[:n_classes],
                smallest_kept[:many],
                {
                    name: ValueCounts(
                        space.class_starts[c, : n_classes + 1],
                        space.class_values[c],
                        space.class_counts[c],
                        wanted[c].n_values,
                    )
                    for c, name in enumerate(columns)
                },
                keep[done : done + many] if class_of else None,
            )
            done += many
        self._workspaces.append(space)


def row_ids(codes: Ints, sizes: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Number the distinct rows of a code matrix in lexicographic order.

    Args:
        codes: (n, m) integer array.
        sizes: The codes of column j are in 0..sizes[j] - 1.

    Returns:
        (n,) int64 array with the number of every row, and (n_distinct,) int64 array with one row of every number.
    """
    keys, space = np.zeros(len(codes), dtype=np.int64), 1
    for j, size in enumerate(sizes):
        if space > np.iinfo(np.int64).max // max(size, 1):
            distinct, keys = np.unique(keys, return_inverse=True)
            space = len(distinct)
        keys = keys * size + codes[:, j]
        space *= size
    _, first, ids = np.unique(keys, return_index=True, return_inverse=True)
    return ids.astype(np.int64, copy=False), first.astype(np.int64, copy=False)


def _frozen(array: Any) -> Ints:
    """The array if it is of int64 and does not change, else such a copy."""
    if isinstance(array, np.ndarray) and array.dtype == np.int64 and not array.flags.writeable:
        return array
    copy = np.array(array, dtype=np.int64)
    copy.flags.writeable = False
    return copy


class _JoinTree:
    """The distinct tuples as a binary tree of distinct pairs, so that grouping touches few rows and never a long key.

    A leaf is an attribute. An inner node holds the distinct combinations of its attributes, each as a pair of rows of
    its two children; the root's are the distinct tuples. Grouping numbers the combinations of each node from its
    children's numbers, so a key is the product of two counts of classes, below 2^63 whatever the number of attributes,
    and the many-attribute keys are read once per distinct combination instead of once per tuple.

    Attributes:
        children: (n_joins, 2) int64 array, the two nodes that each join reads; attributes come first.
        starts: (n_joins + 1,) int64 array, where each join's rows begin in `pairs`.
        pairs: (n, 2) int64 array, for each combination its row of either child.
    """

    def __init__(self, codes: Ints, offsets: Ints) -> None:
        n_attributes = codes.shape[1]
        columns = {j: codes[:, j] for j in range(n_attributes)}
        n_rows = {j: int(offsets[j + 1] - offsets[j]) for j in range(n_attributes)}
        if n_attributes == 1:
            # A pair of the attribute with itself: one rule for all tables.
            joins = [(0, 0)]
            pairs = [np.column_stack([columns[0], columns[0]])]
        else:
            joins, pairs = [], []
            while len(columns) > 1:
                # The two smallest, as in a Huffman tree: what is long is read last and seldom.
                left, right = sorted(columns, key=lambda node: (n_rows[node], node))[1::-1]
                both = np.column_stack([columns.pop(left), columns.pop(right)])
                if columns:
                    ids, first = row_ids(both, (n_rows[left], n_rows[right]))
                    node = n_attributes + len(joins)
                    columns[node], n_rows[node] = ids, len(first)
                    both = both[first]
                joins.append((left, right))
                pairs.append(both)
        self.children = _frozen(joins)
        self.starts = _frozen(np.cumsum([0] + [len(p) for p in pairs]))
        self.pairs = _frozen(np.concatenate(pairs))


class _Workspace:
    """Scratch and output arrays of one thread, kept from call to call: fresh memory costs more than the grouping."""

    def __init__(self, table: DistinctTuples) -> None:
        n_distinct = len(table)
        n_slots = max(_SLOTS, 1 << (2 * n_distinct - 1).bit_length())
        n_classes = max(_BATCH_CLASSES, n_distinct)
        self.slots = np.full(n_slots, -1, dtype=np.int64)
        self.slot_keys = np.empty(n_slots, dtype=np.int64)
        self.used = np.empty(n_distinct, dtype=np.int64)
        self.ids = np.empty(table.offsets[-1] + table._joins.starts[-1], dtype=np.int64)
        self.members = np.empty(2 * n_distinct + 1, dtype=np.int64)
        self.cells = np.zeros(_CELLS, dtype=np.int64)
        self.sizes = np.empty(n_classes, dtype=np.int64)
        self.representatives = np.empty(n_classes, dtype=np.int64)
        self.tally = np.zeros(0, dtype=np.int64)
        self._wanted: tuple[ValueCounts, ...] | None = None

    def fit(self, wanted: tuple[ValueCounts, ...], limit: int) -> None:
        """Lay out the wanted columns; free where they are the same as in the last call."""
        longest = max([min(limit, _LONGEST_TALLY), *(column.n_values for column in wanted)]) + 1
        if len(self.tally) < longest:
            self.tally = np.zeros(longest, dtype=np.int64)
        if self._wanted is not None and [id(c) for c in self._wanted] == [id(c) for c in wanted]:
            return
        self._wanted = wanted
        n_distinct, n_classes = len(self.used), len(self.sizes)
        entries = max([_BATCH_ENTRIES, *(len(column.values) for column in wanted)])
        ends = np.cumsum([0] + [len(column.values) for column in wanted])
        self.entry_starts = np.empty((len(wanted), n_distinct + 1), dtype=np.int64)
        for c, column in enumerate(wanted):
            self.entry_starts[c] = column.starts + ends[c]
        none = np.empty(0, dtype=np.int64)
        self.entry_tuples = np.concatenate(
            [none, *(np.repeat(np.arange(n_distinct), np.diff(column.starts)) for column in wanted)]
        )
        self.entry_values = np.concatenate([none, *(column.values for column in wanted)])
        self.entry_counts = np.concatenate([none, *(column.counts for column in wanted)])
        self.n_values = np.array([column.n_values for column in wanted], dtype=np.int64)
        self.class_starts = np.empty((len(wanted), n_classes + 1), dtype=np.int64)
        self.class_values = np.empty((len(wanted), entries + 1), dtype=np.int64)
        self.class_counts = np.empty((len(wanted), entries + 1), dtype=np.int64)
