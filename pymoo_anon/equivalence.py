"""Equivalence classes: a table as distinct tuples and counts, and what generalizations make of it.

A table is its distinct quasi-identifier tuples with counts (`DistinctTuples`); a generalization is one group map per
quasi-identifier; their `EquivalenceClasses` are flat arrays, for many generalizations at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon._messages import examples
from pymoo_anon.kernels.grouping import group
from pymoo_anon.kernels.joins import JoinTree
from pymoo_anon.kernels.sums import total
from pymoo_anon.kernels.workspace import Workspace

Ints = NDArray[np.int64]


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
        return self._sums(np.where(self.suppressed, self.sizes, 0))

    @property
    def n_released(self) -> Ints:
        """(n,) int64 array: the number of classes of each released table, all suppressed tuples being one."""
        return self._sums((~self.suppressed).astype(np.int64)) + (self.n_suppressed > 0)

    def _sums(self, of_classes: Ints) -> Ints:
        """(n,) int64 array: sums over the classes of each generalization."""
        totals = np.zeros(len(of_classes) + 1, dtype=np.int64)
        np.cumsum(of_classes, out=totals[1:])
        return totals[self.starts[1:]] - totals[self.starts[:-1]]


class DistinctTuples:
    """The distinct quasi-identifier tuples of a table and how often each occurs: all that a search ever reads.

    Args:
        codes: (n_distinct, n_attributes) integer array of domain positions.
        counts: (n_distinct,) integer array of positive counts.
        domain_sizes: Number of domain values of each attribute.
        columns: Per sensitive or label column its value counts in each distinct tuple.
        values: Per such column, the values that the codes stand for.
        levels: Per attribute an (n_levels, n_values) integer array, the group maps of its hierarchy from special to
            general.
    """

    def __init__(
        self,
        codes: Ints,
        counts: Ints,
        domain_sizes: tuple[int, ...],
        columns: Mapping[str, ValueCounts] | None = None,
        values: Mapping[str, Sequence[Hashable]] | None = None,
        levels: Sequence[Ints] = (),
    ) -> None:
        self.codes = _frozen(codes)
        self.counts = _frozen(counts)
        self.domain_sizes = domain_sizes
        self.columns = {
            name: ValueCounts(_frozen(column.starts), _frozen(column.values), _frozen(column.counts), column.n_values)
            for name, column in (columns or {}).items()
        }
        self.values = {name: tuple(known) for name, known in (values or {}).items()}
        self.levels = tuple(_frozen(maps) for maps in levels)
        self.n_rows = int(self.counts.sum())
        self._totals: dict[str, Ints] = {}
        #: (n_attributes + 1,) int64 array: where each attribute's part of a group map begins.
        self.offsets = _frozen(np.concatenate([[0], np.cumsum(domain_sizes)]))
        self._joins = JoinTree(self.codes, self.offsets)
        self._workspaces: list[Workspace] = []

    def __len__(self) -> int:
        """Number of distinct tuples."""
        return len(self.counts)

    def __deepcopy__(self, memo: dict[int, Any]) -> DistinctTuples:
        """Itself: nothing in it changes."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_workspaces": [], "_totals": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        columns = self.columns.values()
        arrays = [self.codes, self.counts, self.offsets, *self.levels]
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

    def check_role(self, column: str, reader: object) -> None:
        """Refuse a column without a role.

        Args:
            column: Its name.
            reader: What wants to read it, for the error.

        Raises:
            ValueError: The table does not count the values of such a column.
        """
        if column not in self.columns:
            raise ValueError(
                f"{reader!r} reads column {column!r}, which has no role in the table; "
                f"columns with a role: {examples(list(self.columns))}"
            )

    def totals(self, column: str) -> Ints:
        """(n_values,) int64 array: how often each value of a sensitive or label column occurs in the table."""
        if column not in self._totals:
            counts = self.columns[column]
            totals = np.zeros(counts.n_values, dtype=np.int64)
            np.add.at(totals, counts.values, counts.counts)
            self._totals[column] = _frozen(totals)
        return self._totals[column]

    @cached_property
    def count_bits(self) -> float:
        """Sum over the distinct tuples of their count times its logarithm to base 2."""
        return float(total(np.log2(self.counts), self.counts.astype(float)))

    def classes(
        self,
        maps: Ints,
        n_groups: Ints,
        *,
        sources: Ints | None = None,
        asked: NDArray[np.bool_] | None = None,
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
            sources: (n,) int64 array: for each generalization the number of an earlier and more specific one, so that
                its classes can be grouped and the table needs not, or -1. Every generalization is followed by those
                that have it as their source, directly or not, before any other comes. None is -1 for all.
            asked: (n,) Boolean array: which of the generalizations to yield; the others are sources only. None is all.
            columns: The columns whose values are to be counted in every class.
            limit: At most so many tuples are suppressed; used where `below` is 0.
            below: Every class smaller than this is suppressed.
            class_of: Whether the class of every distinct tuple is wanted.

        Yields:
            The classes of the next few generalizations, in order. Their arrays are overwritten by the next batch: copy
            what is to stay.
        """
        wanted = [self.columns[name] for name in columns]
        joins = self._joins
        try:
            space = self._workspaces.pop()
        except IndexError:  # and no question before: another thread may take the last one meanwhile
            space = Workspace(joins, self.counts, self.offsets[-1])
        space.fit([(column.starts, column.values, column.counts, column.n_values) for column in wanted], limit)
        n = len(maps)
        reused = np.zeros(n, dtype=bool)
        if sources is None or class_of:
            sources = np.full(n, -1)
        else:
            reused[sources[sources >= 0]] = True
        yields = np.ones(n, dtype=bool) if asked is None else asked
        places = np.zeros(n, dtype=np.int64)
        starts = np.empty(n + 1, dtype=np.int64)
        smallest_kept = np.empty(n, dtype=np.int64)
        keep = np.empty((n if class_of else 0, len(self)), dtype=np.int64)
        done = 0
        while done < n:
            before = done
            done = group(
                maps,
                n_groups,
                sources,
                yields,
                reused,
                places,
                done,
                self.offsets,
                joins.children,
                joins.starts,
                joins.left,
                joins.right,
                space.left,
                space.right,
                space.counts,
                space.tuples,
                space.tables,
                limit,
                below,
                space.entry_starts,
                space.entry_rows,
                space.entry_values,
                space.entry_counts,
                space.n_values,
                space.cells,
                space.slots,
                space.slot_keys,
                space.taken,
                space.ids,
                space.n_ids,
                space.tally,
                space.members,
                starts,
                space.sizes,
                space.representatives,
                smallest_kept,
                space.class_starts,
                space.class_values,
                space.class_counts,
                keep,
            )
            # Where all are asked for their rows are views, which for a single generalization is worth the question.
            rows = slice(before, done) if asked is None else before + np.flatnonzero(asked[before:done])
            own = maps[rows]
            if len(own) == 0:
                continue
            n_classes = starts[len(own)]
            yield EquivalenceClasses(
                self,
                own,
                starts[: len(own) + 1],
                space.sizes[:n_classes],
                space.representatives[:n_classes],
                smallest_kept[: len(own)],
                {
                    name: ValueCounts(
                        space.class_starts[c, : n_classes + 1],
                        space.class_values[c],
                        space.class_counts[c],
                        wanted[c].n_values,
                    )
                    for c, name in enumerate(columns)
                },
                keep[rows] if class_of else None,
            )
        self._workspaces.append(space)


def _frozen(array: Any) -> Ints:
    """The array if it is of int64 and does not change, else such a copy."""
    if isinstance(array, np.ndarray) and array.dtype == np.int64 and not array.flags.writeable:
        return array
    copy = np.array(array, dtype=np.int64)
    copy.flags.writeable = False
    return copy
