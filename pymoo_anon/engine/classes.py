"""Distinct quasi-identifier tuples of a table, and their equivalence classes.

A search reads nothing else. A table of many rows and few distinct tuples is searched as fast as a small one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon._messages import examples
from pymoo_anon.engine.compiled import njit
from pymoo_anon.typing import Bools, Floats, Ints, Ints32


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Sparse counts of one column's values in each row.

    Row r holds `values[starts[r]:starts[r + 1]]` with their counts. The first begins at 0, the last ends with `values`.

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
        dense[np.repeat(np.arange(n), np.diff(self.starts)), self.values] = self.counts
        return dense

    def part(self, first: int, stop: int) -> ValueCounts:
        """Return the counts of some rows in a row, as views."""
        a, b = self.starts[first], self.starts[stop]
        return ValueCounts(self.starts[first : stop + 1] - a, self.values[a:b], self.counts[a:b], self.n_values)

    def most_frequent(self) -> Ints:
        """(n,) int64 array: how often each row holds its most frequent value."""
        return np.maximum.reduceat(self.counts, self.starts[:-1])

    def merged(self, row_of: Ints, n: int) -> ValueCounts:
        """Merge rows, (n_rows,) int64 numbers of their new rows."""
        return ValueCounts.added(np.repeat(row_of, np.diff(self.starts)), self.values, self.counts, n, self.n_values)

    @classmethod
    def added(cls, rows: Ints, values: Ints, counts: Ints, n: int, n_values: int) -> ValueCounts:
        """Return value counts from entries of row, value and count."""
        keys = rows * n_values + values
        members, first = row_ids(keys[:, np.newaxis], (n * n_values,))
        cells, totals = keys[first], np.bincount(members, counts, len(first)).astype(np.int64)
        starts = np.searchsorted(cells, np.arange(n + 1) * n_values)
        return cls(starts.astype(np.int64), cells % n_values, totals, n_values)


class DistinctTuples:
    """Distinct quasi-identifier tuples of a table, with their counts.

    Every array is a read-only copy, or the caller's own where that is read-only already.

    >>> tuples = DistinctTuples([[0, 2], [1, 2], [1, 0]], counts=[5, 1, 2], domain_sizes=(2, 3))
    >>> len(tuples), tuples.n_rows
    (3, 8)
    >>> tuples.marginals.tolist()
    [5, 3, 2, 0, 6]

    Args:
        codes: (n_distinct, n_attributes) integer array of domain positions.
        counts: (n_distinct,) integer array of positive counts.
        domain_sizes: Number of domain values of each attribute.
        columns: Per sensitive or label column its value counts in each distinct tuple.
        domains: Per such column, the values that the codes stand for.
        levels: Per attribute an (n_levels, n_values) integer array, the group maps of its hierarchy from special to
            general.
        names: The names of the attributes; their numbers where none are given.
        sensitive: The names of the sensitive columns.

    Attributes:
        n_rows: Number of tuples in the table, the sum of the counts.
        offsets: (n_attributes + 1,) int64 array, where each attribute's part of a group map begins.

    Raises:
        ValueError: There are no tuples or no attributes, or `codes` has another shape or positions that no domain has.
    """

    def __init__(
        self,
        codes: Ints,
        counts: Ints,
        domain_sizes: tuple[int, ...],
        columns: Mapping[Any, ValueCounts] | None = None,
        domains: Mapping[Any, Sequence[Hashable]] | None = None,
        levels: Sequence[Ints] = (),
        names: Sequence[Hashable] = (),
        sensitive: Sequence[Hashable] = (),
    ) -> None:
        self.codes = _frozen(codes)
        self.counts = _frozen(counts)
        self.domain_sizes = domain_sizes
        # Compiled loops read and write wherever a code leads them.
        n, n_attributes = len(self.counts), len(domain_sizes)
        if self.codes.shape != (n, n_attributes) or not self.codes.size:
            raise ValueError(
                "codes must have a row for each of counts and a column for each of domain_sizes, at least one, got "
                f"shape {self.codes.shape} for {n} counts and {n_attributes} sizes"
            )
        outside = (self.codes < 0) | (self.codes >= domain_sizes)
        if outside.any():
            raise ValueError(
                f"codes must be positions in domains of {examples(domain_sizes)} values, got "
                f"{examples(self.codes[outside].tolist())}"
            )
        self.columns = {
            name: ValueCounts(_frozen(column.starts), _frozen(column.values), _frozen(column.counts), column.n_values)
            for name, column in (columns or {}).items()
        }
        self.domains = {name: tuple(domain) for name, domain in (domains or {}).items()}
        self.levels = tuple(_frozen(maps) for maps in levels)
        self.names = tuple(names) or tuple(range(len(domain_sizes)))
        self.sensitive = tuple(sensitive)
        self.n_rows = int(self.counts.sum())
        self._totals: dict[Hashable, Ints] = {}
        self.offsets = _frozen(np.concatenate([[0], np.cumsum(domain_sizes)]))

    def __len__(self) -> int:
        """Return the number of distinct tuples."""
        return len(self.counts)

    def __deepcopy__(self, memo: dict[int, Any]) -> DistinctTuples:
        """Itself: nothing in it changes."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_totals": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        columns = self.columns.values()
        arrays = [self.codes, self.counts, self.offsets, *self.levels]
        # A pickle forgets that an array is read-only. For arrays that can be written numba compiles everything again.
        for array in arrays + [array for column in columns for array in (column.starts, column.values, column.counts)]:
            array.flags.writeable = False

    @cached_property
    def marginals(self) -> Ints:
        """(n_codes,) int64 array: how many tuples hold each domain value, attribute after attribute."""
        columns = zip(self.codes.T, self.domain_sizes, strict=True)
        return np.concatenate([np.bincount(own, self.counts, n) for own, n in columns]).astype(np.int64)

    def check_role(self, column: Hashable, reader: object) -> None:
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

    def totals(self, column: Hashable) -> Ints:
        """Return the counts of a column's values, (n_values,) int64.

        Raises:
            KeyError: The table does not count the values of such a column.
        """
        if column not in self._totals:
            counts = self.columns[column]
            self._totals[column] = _frozen(np.bincount(counts.values, counts.counts, counts.n_values))
        return self._totals[column]


def _frozen(array: Any) -> Ints:
    """Return a read-only int64 array, copied if necessary."""
    if isinstance(array, np.ndarray) and array.dtype == np.int64 and not array.flags.writeable:
        return array
    copy = np.array(array, dtype=np.int64)
    copy.flags.writeable = False
    return copy


@dataclass(frozen=True, eq=False)
class Forest:
    """The nodes of all hierarchies, attribute after attribute, read-only.

    In tree order the values of each node stand side by side, so a node is an interval of places.
    """

    starts: Ints  # (n_attributes + 1,) int64 array, where the nodes of each attribute begin; the root comes first
    places: Ints  # (n_codes,) int64 array, the place of every domain value in the tree order of its attribute
    first: Ints  # (n_nodes,) int64 array, the first place of each node
    stop: Ints  # (n_nodes,) int64 array, the place after its last
    levels: Ints  # (n_nodes,) int64 array, the lowest level at which the node is a group

    @cached_property
    def extents(self) -> Ints:
        """(n_nodes,) int64 array: the number of domain values in each node, less one."""
        extents: Ints = self.stop - self.first - 1
        extents.flags.writeable = False
        return extents

    def held(self, offsets: Ints, marginals: Ints) -> Ints:
        """(n_nodes,) int64 array of the rows below each node."""
        in_tree_order = np.empty_like(marginals)
        in_tree_order[np.repeat(offsets[:-1], np.diff(offsets)) + self.places] = marginals
        before = np.append(0, np.cumsum(in_tree_order))
        begins = np.repeat(offsets[:-1], np.diff(self.starts))
        return before[begins + self.stop] - before[begins + self.first]


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """Equivalence classes of generalizations, end to end, or of one local recoding.

    A generalization has a group map for every quasi-identifier. In a local recoding every class has a node of each
    hierarchy of its own: then there are no maps, but nodes.

    The classes of generalization i are `starts[i]:starts[i + 1]` of every per-class array. Classes have no order: they
    are numbered as they first appear among the distinct tuples.

    Attributes:
        tuples: The distinct tuples that were grouped.
        maps: (n, n_codes) int64 array, the group of every domain value, attribute after attribute; None for local
            recodings.
        starts: (n + 1,) int64 array.
        sizes: (n_classes,) int64 array, number of tuples (rows of the table) in each class.
        representatives: (n_classes,) int64 array, one distinct tuple of each class.
        kept: (n_classes,) Boolean array, False for the classes whose tuples are suppressed.
        columns: Per sensitive or label column the value counts of the classes.
        class_of: (n, n_distinct) int64 array, the class of each distinct tuple, counted from 0 in each
            generalization; None where nobody asked for it.
        forest: The hierarchies of local recodings as trees, or None.
        nodes: (n_classes, n_attributes) int64 array, of local recodings the node that each cell of a class is, counted
            from 0 in each attribute; or None.
        beside: (n_distinct,) int64 array, the part of each distinct tuple in the releases beside these, as
            `partition_of` numbers them; or None.
        lease: What keeps the arrays from being written again while this object lives; None where they are its own.
    """

    tuples: DistinctTuples
    maps: Ints | None
    starts: Ints
    sizes: Ints
    representatives: Ints
    kept: Bools
    columns: Mapping[Hashable, ValueCounts] = field(default_factory=dict)
    class_of: Ints | None = None
    forest: Forest | None = None
    nodes: Ints | None = None
    beside: Ints | None = None
    lease: object = field(default=None, repr=False)

    def __len__(self) -> int:
        """Return the number of generalizations."""
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[EquivalenceClasses]:
        """Yield the classes of one generalization after the other, as views."""
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> EquivalenceClasses:
        """Return the classes of generalization i, as views."""
        if not 0 <= i < len(self):
            raise IndexError(f"index must be in 0..{len(self) - 1}, got {i}")
        a, b = self.starts[i], self.starts[i + 1]
        return replace(
            self,
            maps=None if self.maps is None else self.maps[i : i + 1],
            starts=self.starts[i : i + 2] - a,
            sizes=self.sizes[a:b],
            representatives=self.representatives[a:b],
            kept=self.kept[a:b],
            columns={name: counts.part(a, b) for name, counts in self.columns.items()},
            class_of=None if self.class_of is None else self.class_of[i : i + 1],
            nodes=None if self.nodes is None else self.nodes[a:b],
        )

    def copy(self) -> EquivalenceClasses:
        """Copy the classes into arrays of their own."""
        return deepcopy(replace(self, lease=None))

    @property
    def n_rows(self) -> int:
        """Number of tuples in the table, suppressed ones included."""
        return self.tuples.n_rows

    @property
    def checked_maps(self) -> Ints:
        """`maps` of full-domain generalizations.

        Raises:
            ValueError: The classes are joint ones.
        """
        if self.maps is None:
            raise ValueError(
                "classes must have cells for losses of cells, registers and background knowledge, got joint classes of "
                "several releases"
            )
        return self.maps

    @property
    def suppressed(self) -> Bools:
        """(n_classes,) Boolean array of the suppressed classes."""
        return ~self.kept

    @cached_property
    def cells(self) -> Ints:
        """(n_classes, n_attributes) int64 array: the group or node of each cell, a column of `extents`."""
        if self.forest is not None:
            assert self.nodes is not None
            return self.forest.starts[:-1] + self.nodes
        tuples, cells = self.tuples, np.empty((len(self.sizes), len(self.tuples.domain_sizes)), dtype=np.int64)
        _write_cells(self.checked_maps, tuples.offsets, tuples.codes, self.representatives, self.starts, cells)
        return cells

    @cached_property
    def generalizations(self) -> Ints:
        """(n_classes,) int64 array: the generalization of each class."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def extents(self) -> Ints:
        """(n, m) int64 array: the number of values in each of m groups or nodes, less one."""
        if self.forest is not None:
            return self.forest.extents[np.newaxis]
        return sums_of_groups(self.checked_maps, self.tuples.offsets, np.ones_like(self.tuples.marginals)) - 1

    @cached_property
    def held(self) -> Ints:
        """(n, m) int64 array: the rows of the table with a value in each group or node."""
        tuples = self.tuples
        if self.forest is not None:
            return self.forest.held(tuples.offsets, tuples.marginals)[np.newaxis]
        return sums_of_groups(self.checked_maps, tuples.offsets, tuples.marginals)

    @cached_property
    def kept_rows(self) -> Ints:
        """(n, m) int64 array: the kept rows released as each group or node."""
        if self.forest is None:
            tuples, rows, maps = self.tuples, self.held.copy(), self.checked_maps
            if len(self) == 1:
                values = tuples.offsets[:-1] + tuples.codes[self.representatives[~self.kept]]
                cells, sizes = tuples.offsets[:-1] + maps[0, values], self.sizes[~self.kept]
                np.subtract.at(rows[0], cells, sizes[:, np.newaxis])
            else:
                own = self.representatives, self.starts, self.sizes, self.kept
                _take_suppressed(rows, maps, tuples.offsets, tuples.codes, *own)
            return rows
        rows, n = np.zeros_like(self.extents), np.where(self.kept, self.sizes, 0)
        np.add.at(rows, (self.generalizations[:, np.newaxis], self.cells), n[:, np.newaxis])
        return rows

    @property
    def first_of_attributes(self) -> Ints:
        """(n_attributes,) int64 array: the first group or node of each attribute."""
        return (self.tuples.offsets if self.forest is None else self.forest.starts)[:-1]

    def totals(self, of_classes: Ints) -> Ints:
        """Sum an (n_classes,) or (n_classes, m) array by generalization."""
        return np.add.reduceat(of_classes, self.starts[:-1], axis=0)

    @cached_property
    def n_suppressed(self) -> Ints:
        """(n,) int64 array: the number of suppressed tuples of each generalization."""
        return self.totals(np.where(self.kept, 0, self.sizes))

    @property
    def n_released(self) -> Ints:
        """(n,) int64 array of released classes, suppressed tuples as one."""
        return self.totals(self.kept.astype(np.int64)) + (self.n_suppressed > 0)


class Column(NamedTuple):
    """One quasi-identifier of blocks. By places, the values of each group stand side by side."""

    places: Ints  # (n_values,), the place of every domain value
    first: Ints  # (n_groups,), the first place of each group
    stop: Ints  # (n_groups,), the place after its last
    cells: Ints  # (n_blocks,), the group of each block

    def shares(self, wanted: Bools) -> Floats:
        """Return the shares of the (n_queries, n_values) wanted values. (n_queries, n_groups) float array."""
        before = np.zeros((len(wanted), wanted.shape[1] + 1), dtype=np.int64)
        before[:, 1 + self.places] = wanted
        before = np.cumsum(before, axis=1)
        return (before[:, self.stop] - before[:, self.first]) / (self.stop - self.first)

    def midpoints(self, numbers: Floats) -> Floats:
        """Return the midpoint of each block's group, NaN without numbers. (n_blocks,) float array."""
        in_order = np.full(len(numbers) + 1, np.nan)
        in_order[self.places] = numbers
        # Each group is an interval of places. The gaps between the intervals are left out again.
        ends = np.column_stack([self.first, self.stop]).ravel()
        least, greatest = (np.asarray(end.reduceat(in_order, ends))[::2] for end in (np.fmin, np.fmax))
        middle: Floats = (least + greatest) / 2
        return middle[self.cells]


def groups_of(classes: EquivalenceClasses, j: int) -> Column:
    """Return the groups of a quasi-identifier, and the group of each class."""
    a, b = classes.tuples.offsets[j : j + 2]
    if classes.maps is not None:
        groups = classes.maps[0, a:b]
        stop = np.cumsum(np.bincount(groups))
        places = np.empty(b - a, dtype=np.int64)
        places[np.argsort(groups, kind="stable")] = np.arange(b - a)
        first = np.append(0, stop[:-1])
        return Column(places, first, stop, groups[classes.tuples.codes[classes.representatives, j]])
    forest, nodes = classes.forest, classes.cells
    assert forest is not None
    start, end = forest.starts[j : j + 2]
    return Column(forest.places[a:b], forest.first[start:end], forest.stop[start:end], nodes[:, j] - start)


def sums_of_groups(maps: Ints, offsets: Ints, weights: Ints) -> Ints:
    """Sum an (n_codes,) array by group. (n, n_codes) int64 array, attribute after attribute."""
    sums = np.zeros(maps.shape, dtype=np.int64)
    # Loading compiled loops takes more memory than all else of a release, so one generalization does without.
    if len(maps) == 1:
        np.add.at(sums[0], np.repeat(offsets[:-1], np.diff(offsets)) + maps[0], weights)
    else:
        _add_to_groups(np.require(maps, requirements=["C", "W"]), offsets, weights, sums)
    return sums


@njit(allocates=False)
def _add_to_groups(maps, offsets, weights, sums):
    for i in range(len(maps)):
        for j in range(len(offsets) - 1):
            for v in range(offsets[j], offsets[j + 1]):
                sums[i, offsets[j] + maps[i, v]] += weights[v]


@njit(allocates=False)
def _write_cells(maps, offsets, codes, representatives, starts, cells):
    for i in range(len(maps)):
        for c in range(starts[i], starts[i + 1]):
            for j in range(cells.shape[1]):
                cells[c, j] = offsets[j] + maps[i, offsets[j] + codes[representatives[c], j]]


@njit(allocates=False)
def _take_suppressed(rows, maps, offsets, codes, representatives, starts, sizes, kept):
    for i in range(len(maps)):
        for c in range(starts[i], starts[i + 1]):
            if not kept[c]:
                for j in range(len(offsets) - 1):
                    rows[i, offsets[j] + maps[i, offsets[j] + codes[representatives[c], j]]] -= sizes[c]


#: Keys get a slot each where they have at most so many for every row.
SLOTS_OF_A_ROW = 8


def row_ids(codes: Ints, sizes: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Return each row's lexicographic number, and a row of each."""
    keys, space = np.zeros(len(codes), dtype=np.int64), 1
    # Invariant: the keys are in 0..space - 1 and order the rows by their columns before j.
    for j, size in enumerate(sizes):
        if space > np.iinfo(np.int64).max // max(size, 1):
            # The next keys would not fit 64 bits. Numbers in the order of the keys are smaller.
            distinct, keys = np.unique(keys, return_inverse=True)
            space = len(distinct)
        keys = keys * size + codes[:, j]
        space *= size
    if space >= SLOTS_OF_A_ROW * len(keys):
        distinct, keys = np.unique(keys, return_inverse=True)
        space = len(distinct)
    # A slot for each key: several times as quick as sorting.
    taken = np.zeros(space, dtype=bool)
    taken[keys] = True
    numbers = np.cumsum(taken)
    ids, first = numbers[keys] - 1, np.empty(np.count_nonzero(taken), dtype=np.int64)
    # The last one written stays, which is the first row.
    first[ids[::-1]] = np.arange(len(keys) - 1, -1, -1)
    return ids, first


@dataclass(frozen=True, eq=False)
class Grouping:
    """Distinct tuples by their released cells."""

    # (n_classes, n_attributes) int64 array, the cells of each class; classes are numbered as they first appear among
    # the distinct tuples.
    nodes: Ints
    class_of: Ints  # (n_distinct,) int64 array, the class of each distinct tuple
    representatives: Ints  # (n_classes,) int64 array, the first distinct tuple of each class


def grouped(cells: Ints32 | Ints, n_nodes: tuple[int, ...]) -> Grouping:
    """Merge distinct tuples with equal cells into classes."""
    ids, first = row_ids(np.asarray(cells, dtype=np.int64), n_nodes)
    order = np.argsort(first)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return Grouping(np.ascontiguousarray(cells[first[order]], dtype=np.int64), numbers[ids], first[order])


def classes_of(
    tuples: DistinctTuples, forest: Forest | None, grouping: Grouping, columns: tuple[Hashable, ...] = ()
) -> EquivalenceClasses:
    """Return the equivalence classes of one local recoding, none suppressed."""
    class_of, n = grouping.class_of, len(grouping.nodes)
    return EquivalenceClasses(
        tuples,
        maps=None,
        starts=np.array([0, n], dtype=np.int64),
        sizes=np.bincount(class_of, tuples.counts, n).astype(np.int64),
        representatives=grouping.representatives,
        kept=np.ones(n, dtype=np.bool_),
        columns={name: tuples.columns[name].merged(class_of, n) for name in columns},
        class_of=class_of[np.newaxis],
        forest=forest,
        nodes=grouping.nodes,
    )


def classes_of_maps(
    tuples: DistinctTuples, maps: Ints, n_groups: tuple[int, ...], columns: tuple[Hashable, ...], limit: int, below: int
) -> EquivalenceClasses:
    """Return the equivalence classes of one generalization without compiled loops.

    `maps` is an (n_codes,) int64 array. The smallest classes are suppressed: those of fewer than `below` tuples, or, at
    0, as many as hold no more than `limit`.
    """
    made = classes_of(tuples, None, grouped(maps[tuples.offsets[:-1] + tuples.codes], n_groups), columns)
    sizes = np.sort(made.sizes)
    smallest = below or sizes[np.searchsorted(np.cumsum(sizes), limit, side="right")]
    return replace(made, maps=maps[np.newaxis], nodes=None, kept=made.sizes >= smallest)


def one_class(tuples: DistinctTuples, *columns: Hashable) -> EquivalenceClasses:
    """Return the whole table as one class."""
    return _single(tuples, tuples.n_rows, {column: tuples.totals(column) for column in columns})


def marked_class(classes: EquivalenceClasses) -> EquivalenceClasses:
    """Return the suppressed tuples of one generalization as one class."""
    totals, hidden = {}, classes.suppressed
    for name, own in classes.columns.items():
        of_hidden = np.repeat(hidden, np.diff(own.starts))
        held = np.bincount(own.values[of_hidden], own.counts[of_hidden], own.n_values)
        totals[name] = held.astype(np.int64)
    return _single(classes.tuples, int(classes.sizes[hidden].sum()), totals)


def _single(tuples: DistinctTuples, n_rows: int, totals: Mapping[Hashable, Ints]) -> EquivalenceClasses:
    counts = {}
    for column, total in totals.items():
        present = np.flatnonzero(total)
        starts = np.array([0, len(present)], dtype=np.int64)
        counts[column] = ValueCounts(starts, present, total[present], len(total))
    return EquivalenceClasses(
        tuples,
        maps=np.zeros((1, tuples.offsets[-1]), dtype=np.int64),
        starts=np.array([0, 1], dtype=np.int64),
        sizes=np.array([n_rows], dtype=np.int64),
        representatives=np.zeros(1, dtype=np.int64),
        kept=np.ones(1, dtype=bool),
        columns=counts,
    )
