"""Equivalence classes of many generalizations, as flat arrays."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from pymoo_anon.engine.arrays import U
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.numbering import SPREAD, row_ids
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts
from pymoo_anon.typing import Bools, Ints, Ints32


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
        held = np.empty(len(self.first), dtype=np.int64)
        for j, offset in enumerate(offsets[:-1]):
            own, nodes = slice(offset, offsets[j + 1]), slice(self.starts[j], self.starts[j + 1])
            before = np.zeros(offsets[j + 1] - offset + 1, dtype=np.int64)
            before[1 + self.places[own]] = marginals[own]
            before = np.cumsum(before)
            held[nodes] = before[self.stop[nodes]] - before[self.first[nodes]]
        return held


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """Equivalence classes of one or several generalizations, end to end.

    A generalization has a group map for every quasi-identifier, or it is a local recoding, in which every class has a
    node of each hierarchy of its own: then there are no maps, but nodes.

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
            `engine.joint` numbers them; or None.
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
        columns = {
            name: ValueCounts(counts.starts[a : b + 1], counts.values, counts.counts, counts.n_values)
            for name, counts in self.columns.items()
        }
        return EquivalenceClasses(
            self.tuples,
            None if self.maps is None else self.maps[i : i + 1],
            self.starts[i : i + 2] - a,
            self.sizes[a:b],
            self.representatives[a:b],
            self.kept[a:b],
            columns,
            None if self.class_of is None else self.class_of[i : i + 1],
            self.forest,
            None if self.nodes is None else self.nodes[a:b],
            self.beside,
            self.lease,
        )

    def copy(self) -> EquivalenceClasses:
        """Copy the classes into arrays of their own.

        The value counts of a part, `classes[i]`, may begin in the middle of the arrays of the whole. The copy's begin
        at 0.
        """
        parts = {name: counts.trimmed() for name, counts in self.columns.items()}
        columns = {
            name: ValueCounts(own.starts, own.values.copy(), own.counts.copy(), own.n_values)
            for name, own in parts.items()
        }
        names = "maps", "starts", "sizes", "representatives", "kept", "class_of", "nodes"
        arrays = {name: own.copy() for name in names if (own := getattr(self, name)) is not None}
        return replace(self, columns=columns, lease=None, **arrays)

    @property
    def n_rows(self) -> int:
        """Number of tuples in the table, suppressed ones included."""
        return self.tuples.n_rows

    @property
    def suppressed(self) -> Bools:
        """(n_classes,) Boolean array of the suppressed classes."""
        return ~self.kept

    def extents(self) -> tuple[Ints, Ints]:
        """Return the group sizes of all cells.

        Returns:
            (n, m) int64 array, for each generalization the size of every group less one, and (n_classes, n_attributes)
            int64 array, which of its m columns is that of each cell of a class.
        """
        if self.maps is not None:
            offsets = self.tuples.offsets
            return group_extents(self.maps, offsets), offsets[:-1] + self.tuples.codes[self.representatives]
        forest, places = self.cells()
        return np.tile(forest.extents, (len(self), 1)), places

    def cells(self) -> tuple[Forest, Ints]:
        """Return the forest of local recodings, and the node of each cell.

        Raises:
            ValueError: The generalizations have group maps, and no nodes.
        """
        if self.forest is None or self.nodes is None:
            raise ValueError("classes must be of local recodings, got those of group maps")
        return self.forest, self.forest.starts[:-1] + self.nodes

    def totals(self, of_classes: Ints) -> Ints:
        """Sum an (n_classes,) or (n_classes, m) array by generalization."""
        return np.add.reduceat(of_classes, self.starts[:-1], axis=0)

    @property
    def n_suppressed(self) -> Ints:
        """(n,) int64 array: the number of suppressed tuples of each generalization."""
        suppressed = np.empty(len(self), dtype=np.int64)
        _add_suppressed(self.starts, self.sizes, self.kept, suppressed)
        return suppressed

    @property
    def n_released(self) -> Ints:
        """(n,) int64 array of released classes, suppressed tuples as one."""
        return self.totals(self.kept.astype(np.int64)) + (self.n_suppressed > 0)


@njit(allocates=False)
def _add_suppressed(starts, sizes, kept, totals):  # type: ignore[no-untyped-def]
    """Write the suppressed tuples of each of n generalizations to `totals`, (n,) int64."""
    for i in range(len(totals)):
        own, stays = sizes[starts[i] : starts[i + 1]], kept[starts[i] : starts[i + 1]]
        total = np.int64(0)
        for c in range(len(own)):
            total += 0 if stays[c] else own[c]
        totals[i] = total


def group_extents(maps: Ints, offsets: Ints) -> Ints:
    """Return group sizes less one as an (n, n_codes) int64 array."""
    extents = np.empty(maps.shape, dtype=np.int64)
    _write_extents(np.require(maps, requirements=["C", "W"]), offsets, np.empty(maps.shape[1], dtype=np.int64), extents)
    return extents


@njit(allocates=False)
def _write_extents(maps, offsets, sizes, extents):  # type: ignore[no-untyped-def]
    """Write the result of `group_extents`, with `sizes` as scratch."""
    for i in range(len(maps)):
        for j in range(len(offsets) - 1):
            a, b = offsets[j], offsets[j + 1]
            # An attribute has no more groups than values. From -1 on, so that a value does not count itself.
            for g in range(b - a):
                sizes[g] = -1
            for v in range(a, b):
                sizes[maps[i, v]] += 1
            for v in range(a, b):
                extents[i, v] = sizes[maps[i, v]]


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
    sizes = np.zeros(n, dtype=np.int64)
    np.add.at(sizes, class_of, tuples.counts)
    return EquivalenceClasses(
        tuples,
        maps=None,
        starts=np.array([0, n], dtype=np.int64),
        sizes=sizes,
        representatives=grouping.representatives,
        kept=np.ones(n, dtype=np.bool_),
        columns={name: tuples.columns[name].merged(class_of, n) for name in columns},
        class_of=class_of[np.newaxis],
        forest=forest,
        nodes=grouping.nodes,
    )


def agreeing(
    classes: EquivalenceClasses, sets: Iterable[Sequence[int]], columns: Sequence[Hashable] = ()
) -> Iterator[tuple[EquivalenceClasses, Ints]]:
    """Merge classes that agree on some attributes, for several sets of these. Suppressed ones agree with none kept.

    A class is read once and its rows never: the work is that of the classes, whatever the number of tuples. For
    each set come the merged classes, with the values of some columns, and (n_classes,) int64 array, in which each is.
    """
    cells, longest = _cells(classes), int(np.diff(classes.starts).max(initial=0))
    # At most half of the slots are ever taken.
    slots = np.full(1 << max(2 * longest - 1, 1).bit_length(), -1, dtype=np.int64)
    for chosen in sets:
        ids, firsts = np.empty(len(cells), dtype=np.int64), np.empty(len(cells), dtype=np.int64)
        starts = np.empty_like(classes.starts)
        attributes = np.asarray(chosen, dtype=np.int64)
        _number(cells, attributes, classes.kept, classes.starts, slots, ids, firsts, starts)
        n, merged = int(starts[-1]), {}
        sizes = np.zeros(n, dtype=np.int64)
        np.add.at(sizes, ids, classes.sizes)
        for column in columns:
            own = classes.columns[column]
            begins, values, counts = _merge_values(ids, n, own.starts, own.values, own.counts, own.n_values)
            merged[column] = ValueCounts(begins, values, counts, own.n_values)
        firsts = firsts[:n]
        kept, representatives = classes.kept[firsts], classes.representatives[firsts]
        yield EquivalenceClasses(classes.tuples, classes.maps, starts, sizes, representatives, kept, merged), ids


def _cells(classes: EquivalenceClasses) -> Ints:
    """Return the group or node of each cell, (n_classes, n_attributes) int64."""
    if classes.maps is None:
        return classes.cells()[1]
    cells = np.empty((len(classes.sizes), len(classes.tuples.domain_sizes)), dtype=np.int64)
    tuples = classes.tuples
    _write_cells(classes.maps, tuples.offsets, tuples.codes, classes.representatives, classes.starts, cells)
    return cells


@njit(allocates=False)
def _write_cells(maps, offsets, codes, representatives, starts, cells):  # type: ignore[no-untyped-def]
    """Write the group of each cell of each class."""
    for i in range(len(maps)):
        for c in range(starts[i], starts[i + 1]):
            for j in range(cells.shape[1]):
                cells[c, j] = maps[i, offsets[j] + codes[representatives[c], j]]


@njit(allocates=False)
def _number(cells, attributes, kept, class_starts, slots, ids, firsts, starts):  # type: ignore[no-untyped-def]
    """Assign numbers to classes that agree on some attributes and are kept alike.

    Written are the number of each class, which rise from generalization to generalization, the first class of each
    number, and where the numbers of each generalization begin. There are a power of 2 of slots.
    """
    mask = len(slots) - 1
    slots[:] = -1
    n = np.int64(0)
    for i in range(len(starts) - 1):
        starts[i] = n
        for c in range(class_starts[i], class_starts[i + 1]):
            key = U(kept[c])
            for j in attributes:
                key = (key ^ U(cells[c, j])) * SPREAD
                key ^= key >> U(32)
            slot = np.int64(key >> U(32)) & mask
            # A number below the first of this generalization is one of another: the slot counts as empty. No empty slot
            # stands between the hash of a class and its slot.
            while slots[slot] >= starts[i]:
                other = firsts[slots[slot]]
                same = kept[other] == kept[c]
                for j in attributes:
                    same = same and cells[other, j] == cells[c, j]
                if same:
                    break
                slot = (slot + 1) & mask
            if slots[slot] < starts[i]:
                slots[slot] = n
                firsts[n] = c
                n += 1
            ids[c] = slots[slot]
    starts[len(starts) - 1] = n


@njit()
def _merge_values(ids, n, starts, values, counts, n_values):  # type: ignore[no-untyped-def]
    """Return the value counts of n merged classes: starts, values and counts."""
    # The classes of each number, side by side.
    ends = np.zeros(n + 1, dtype=np.int64)
    for number in ids:
        ends[number + 1] += 1
    ends = np.cumsum(ends)
    members, free = np.empty(len(ids), dtype=np.int64), ends[:-1].copy()
    for c in range(len(ids)):
        members[free[ids[c]]] = c
        free[ids[c]] += 1
    n_entries = starts[len(ids)] - starts[0]
    own_starts, own_values = np.zeros(n + 1, dtype=np.int64), np.empty(n_entries, dtype=np.int64)
    own_counts, place = np.empty(n_entries, dtype=np.int64), np.full(n_values, -1, dtype=np.int64)
    end = np.int64(0)
    for number in range(n):
        # A value stands in this merged class where its place is not before it.
        first = end
        for member in members[ends[number] : ends[number + 1]]:
            for e in range(starts[member], starts[member + 1]):
                value = values[e]
                if place[value] < first:
                    place[value] = end
                    own_values[end] = value
                    own_counts[end] = 0
                    end += 1
                own_counts[place[value]] += counts[e]
        own_starts[number + 1] = end
    return own_starts, own_values[:end], own_counts[:end]
