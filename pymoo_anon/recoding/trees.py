"""Trees of attributes, and requirements as tests.

Only values that occur have a place in these trees. A node stays where its values lie below two of its children, or
where it is a value; the smallest set that holds given tuples is such a node, so no recoding needs another one.

The union of two sets that hold a requirement holds it, too. So a set that breaks one can be merged with others, and if
the whole table breaks one, every recoding does.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon.engine.classes import DistinctTuples, row_ids
from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.engine.sums import add
from pymoo_anon.typing import Array, Floats, Ints, Ints32

#: Cost of a node that must not be released: more than all others together for any number of rows, and small enough
#: to count with.
FORBIDDEN = 1e12


class Trees(NamedTuple):
    """Trees of all attributes, and the distinct tuples by position.

    Nodes and positions are counted over all attributes. In each tree a node comes before those below it, and in tree
    order. Since tuples are sorted, nothing that is computed here depends on the order of the rows of a table.
    """

    offsets: Ints  # (n_attributes + 1,) int64, where the nodes of each attribute begin; its root is the first
    position_offsets: Ints  # (n_attributes + 1,) int64, where the positions of each attribute begin
    parent: Ints  # (n_nodes,) int64, the node above, -1 for a root
    after: Ints  # (n_nodes,) int64, the first node that is not below this one
    first: Ints  # (n_nodes,) int64, the first position of each node
    stop: Ints  # (n_nodes,) int64, the position after its last
    # (n_nodes,) float, (extent - 1) / (domain - 1) times the weight of the attribute; lower is better. Extent and
    # domain count all values of the hierarchy.
    costs: Floats
    leaves: Ints  # (n_positions,) int64, the node of each position
    positions: Ints32  # (n_tuples, n_attributes) int32, the position of each tuple, ascending
    rows: Ints  # (n_tuples,) int64, the rows of the table that each tuple stands for
    numbers: Ints32  # (n_nodes,) int32, the number of each node among all nodes of its attribute
    places: Ints  # (n_tuples,) int64, where each tuple stands in the table

    @classmethod
    def of(
        cls,
        tuples: DistinctTuples,
        nodes: Sequence[Any],
        weights: ArrayLike | None = None,
        apart: Ints | None = None,
    ) -> Trees:
        """Build the trees of a table.

        Args:
            tuples: Its distinct tuples.
            nodes: Per attribute the nodes of its hierarchy, `Hierarchy.nodes`; nothing of `table` is known here.
            weights: (n_attributes,) array, how much the loss of each attribute counts; None counts all alike.
            apart: (n_tuples,) int64 array, a part of each tuple; no class has tuples of two parts as long as each part
                holds what is required. It becomes one more attribute, the last. None is one part.
        """
        trees = [(own.first, own.stop, own.parent, own.losses) for own in nodes]
        positions = np.column_stack([own.order[codes] for own, codes in zip(nodes, tuples.codes.T, strict=True)])
        if apart is not None:
            positions, parts = np.column_stack([positions, apart]), np.arange(apart.max() + 1)
            first, stop, parent = np.append(0, parts), np.append(len(parts), parts + 1), np.append(-1, 0 * parts)
            trees.append((first, stop, parent, np.append(FORBIDDEN, 0.0 * parts)))
        places = np.lexsort(positions.T[::-1])
        offsets = np.cumsum([0, *(len(first) for first, *_ in trees)])
        position_offsets = np.cumsum([0, *(int(stop[0]) for _, stop, *_ in trees)])
        begins, shifts = (np.repeat(own[:-1], np.diff(offsets)) for own in (offsets, position_offsets))
        first, stop, parent, costs = map(np.concatenate, zip(*trees, strict=True))
        made = cls(
            offsets=offsets,
            position_offsets=position_offsets,
            parent=np.where(parent < 0, -1, parent + begins),
            after=np.searchsorted(first + shifts, stop + shifts),
            first=first + shifts,
            stop=stop + shifts,
            costs=costs,
            leaves=np.flatnonzero(stop - first == 1),
            positions=(positions[places] + position_offsets[:-1]).astype(np.int32),
            rows=tuples.counts[places],
            numbers=(np.arange(len(first)) - begins).astype(np.int32),
            places=places,
        )._reduced()
        return made if weights is None else made.weighted(np.append(weights, [1.0] * (apart is not None)))

    @property
    def parts(self) -> Ints:
        """(n_tuples,) int64 array of the part of each tuple."""
        if self.costs[self.offsets[-2]] < FORBIDDEN:
            return np.zeros(len(self.rows), dtype=np.int64)
        parts: Ints = (self.positions[:, -1] - self.position_offsets[-2]).astype(np.int64)
        return parts

    @property
    def heights(self) -> Ints:
        """(n_attributes,) int64 array of the heights of the trees in nodes."""
        n = len(self.leaves)
        n_above = np.cumsum(np.bincount(self.first, minlength=n) - np.bincount(self.stop)[:n])
        heights: Ints = np.maximum.reduceat(n_above, self.position_offsets[:-1])
        return heights

    def subset(self, chosen: Ints) -> Trees:
        """Return the trees of some tuples, (n,) int64 ascending, without needless nodes."""
        own = self._replace(positions=self.positions[chosen], rows=self.rows[chosen], places=self.places[chosen])
        return own._reduced()

    def narrowed(self, k: int) -> tuple[Trees, Ints]:
        """Return the trees without nodes below k rows, and each tuple's new number.

        No class of k rows needs such a node. Tuples that differ in nothing else become one, which is far less work
        where k is large. Parts that must be apart stay.
        """
        rows = np.bincount(self.positions.ravel(), np.repeat(self.rows, self.positions.shape[1]))
        before = np.append(0, np.cumsum(rows))
        held = before[self.stop] - before[self.first]
        if self.parts.any():
            held[self.offsets[-2] :] = k
        lowest = self.leaves.copy()
        while (small := (held[lowest] < k) & (self.parent[lowest] >= 0)).any():
            lowest[small] = self.parent[lowest[small]]
        trees, group_of = self._moved(lowest[self.positions])
        return (trees, group_of) if len(trees.rows) < len(self.rows) else (self, np.arange(len(self.rows)))

    def merged(self, unit_of: Ints) -> tuple[Trees, Ints]:
        """Return the trees with each unit as one tuple, and each tuple's new number.

        Units are numbered from 0. Those in equal cells become one.
        """
        return self._moved(cells_of_classes(self, unit_of, int(unit_of.max()) + 1)[unit_of])

    def _moved(self, cells: Array) -> tuple[Trees, Ints]:
        """Move each tuple to its cells, so that equal ones become one."""
        group_of, first = row_ids(cells - self.offsets[:-1], tuple(np.diff(self.offsets).tolist()))
        rows = np.bincount(group_of, self.rows).astype(np.int64)
        moved = self._with_own_leaves()._replace(positions=cells[first], rows=rows, places=np.arange(len(rows)))
        return moved._reduced(), group_of

    def _with_own_leaves(self) -> Trees:
        """Give each node a leaf of its own at its number. It is as dear as the node."""
        places = np.arange(len(self.first))
        is_inner = self.after - places > 1
        new = places + np.cumsum(is_inner) - is_inner
        nodes = np.repeat(places, 1 + is_inner)
        is_leaf = np.diff(nodes, prepend=-1) == 0
        above = self.parent[nodes]
        return self._replace(
            position_offsets=self.offsets,
            parent=np.where(is_leaf, new[nodes], np.where(above < 0, -1, new[above])),
            first=nodes,
            stop=np.where(is_leaf, nodes + 1, self.after[nodes]),
            costs=self.costs[nodes],
            numbers=self.numbers[nodes],
        )

    def _reduced(self) -> Trees:
        """Drop positions without a tuple, and the nodes that become needless."""
        occurs = np.bincount(self.positions.ravel(), minlength=self.position_offsets[-1]) > 0
        before = np.append(0, np.cumsum(occurs))
        first, stop = before[self.first], before[self.stop]
        holds = np.flatnonzero(stop > first)
        # Nodes that hold the same of these positions become one: the lowest of them.
        _, number = np.unique(first[holds] * (before[-1] + 1) - stop[holds], return_inverse=True)
        lowest, highest = np.empty((2, number.max() + 1), dtype=np.int64)
        lowest[number] = holds
        highest[number[::-1]] = holds[::-1]
        new = np.full(len(first), -1)
        new[holds] = number
        # Above the highest of them stands a node that holds more, or nothing.
        above = self.parent[highest]
        first, stop, position_offsets = first[lowest], stop[lowest], before[self.position_offsets]
        return self._replace(
            offsets=np.searchsorted(first, position_offsets),
            position_offsets=position_offsets,
            parent=np.where(above < 0, -1, new[above]),
            # In this order, the nodes below a node end where the next position begins.
            after=np.searchsorted(first, stop),
            first=first,
            stop=stop,
            costs=self.costs[lowest],
            leaves=np.flatnonzero(stop - first == 1),
            positions=before[self.positions].astype(np.int32),
            numbers=self.numbers[lowest],
        )

    def weighted(self, weights: ArrayLike) -> Trees:
        """Return the trees with the costs of each attribute times its weight."""
        return self._replace(costs=self.costs * np.repeat(weights, np.diff(self.offsets)))

    def released(self, cells: Array) -> Ints32:
        """Renumber cells within each attribute, and tuples in the order of the table."""
        numbered = np.empty(cells.shape, dtype=np.int32)
        numbered[self.places] = self.numbers[cells]
        return numbered


def by_first_step(trees: Trees) -> Ints:
    """Sort the attributes by the mean cost of the first step up."""
    above = trees.parent[trees.leaves[trees.positions]]
    # A value alone has nothing above it.
    costs = np.where(above < 0, 0.0, trees.costs[above])
    return np.argsort([-(own * trees.rows).sum() for own in costs.T], kind="stable")


@kernel
def join(trees, node, position):
    """Return the smallest node that holds a node and a position of its attribute."""
    while position < trees.first[node] or position >= trees.stop[node]:
        node = trees.parent[node]
    return node


def cells_of_classes(trees: Trees, class_of: Ints, n_classes: int) -> Ints32:
    """Return the smallest nodes around each class, -1 for none.

    (n_classes, n_attributes) int32. `class_of` is (n_tuples,) int64, and -1 for a tuple without a class.
    """
    cells = np.full((n_classes, trees.positions.shape[1]), -1, dtype=np.int32)
    _widen_all(trees, class_of, cells)
    return cells


@njit(allocates=False)
def _widen_all(trees, class_of, cells):
    for r in range(len(class_of)):
        if class_of[r] >= 0:
            widen(cells[class_of[r]], r, trees)


@kernel
def widen(cells, r, trees):
    """Widen cells to hold a tuple, and return their cost per row."""
    cost = 0.0
    for j in range(len(cells)):
        position = trees.positions[r, j]
        cells[j] = trees.leaves[position] if cells[j] < 0 else join(trees, cells[j], position)
        cost += trees.costs[cells[j]]
    return cost


def places_by_number(numbers: Ints) -> list[Ints]:
    """Return the places of each number that occurs, ascending."""
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1)


def sort_by_cells(keys: Ints32) -> tuple[Ints, Ints, Ints]:
    """Sort rows of cells, and index where their first attributes change.

    Returned are (n,) int64 arrays, the order, and in how many of the first attributes each row is like the one before.
    The third, (n, n_attributes) int64, tells where in that order the next row stands that differs in one of the
    attributes up to this one, n for none.
    """
    order = np.lexsort(keys.T[::-1])
    differs = np.diff(keys[order], axis=0) != 0
    shared = np.zeros(len(keys), dtype=np.int64)
    shared[1:] = np.where(differs.any(axis=1), differs.argmax(axis=1), keys.shape[1])
    skip = np.empty(keys.shape, dtype=np.int64)
    for depth in range(keys.shape[1]):
        starts = np.append(np.flatnonzero(shared <= depth), len(keys))
        skip[:, depth] = np.repeat(starts[1:], np.diff(starts))
    return order, shared, skip


@kernel
def shell_sort(n, chosen, keys, sign):
    """Sort the first n places by key (Shell 1959), descending for sign -1."""
    gap = np.int64(1)
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            r = chosen[i]
            key, place = sign * keys[r], np.int64(i)
            while place >= gap and sign * keys[chosen[place - gap]] > key:
                chosen[place] = chosen[place - gap]
                place -= gap
            chosen[place] = r
        gap //= 3


class RequirementKind(IntEnum):
    """Kinds of requirements on the values of a column in a class."""

    #: At least so many distinct values; of a column of persons, k in persons.
    DISTINCT = 0
    #: At least this exp(entropy).
    ENTROPY = 1
    #: Recursive (c, l) for this l.
    RECURSIVE = 2
    #: At most this share of the most frequent value.
    ALPHA = 3
    #: At most this earth mover's distance from the table, in a tree of values; equal distance is a tree of one level.
    TREE = 4
    #: At most this earth mover's distance from the table, in an order of values.
    ORDER = 5
    #: At most this relative gain (p - q) / q of a value.
    BETA = 6
    #: The same, and at most -ln q.
    ENHANCED_BETA = 7


# Whole numbers for kernels, since numba compiles members of an enumeration slowly.
_DISTINCT, _ENTROPY, _RECURSIVE, _ALPHA, _TREE, _ORDER, _BETA, _ENHANCED_BETA = (int(kind) for kind in RequirementKind)


@dataclass(frozen=True, eq=False)
class ColumnRequirement:
    """Requirement on the values of a column in every class.

    Args:
        kind: What it asks.
        column: Name of a column that the table counts.
        bound: What the number that the kind names is to reach, or not to exceed.
        c: For recursive (c, l), how often the most frequent value may outnumber the rare ones together: numerator and
            denominator.
        groups: For an earth mover's distance, an (n_levels, n_values) int64 array: the group of every value at each
            level of a tree but its root, or one row with the place of each in an order. None is equal distance.
        n_places: For an order, the number of its places.
    """

    kind: RequirementKind
    column: Hashable
    bound: float
    c: tuple[int, int] = (1, 1)
    groups: Ints | None = None
    n_places: int = 0


class Requirements(NamedTuple):
    """Requirements as arrays, for kernels.

    The values that a test reads are numbered apart from those of other tests, unless both read the same. A test in a
    tree of several levels reads each level as values of their own.
    """

    k: int  # The least number of rows
    kinds: Ints  # (n_tests,) int64, as `RequirementKind` numbers them
    first: Ints  # (n_tests,) int64, the first value that each test reads
    stop: Ints  # (n_tests,) int64, the value after the last
    bounds: Floats  # (n_tests,) float
    numerators: Ints  # (n_tests,) int64, of the c of recursive (c, l)
    denominators: Ints  # (n_tests,) int64, likewise
    levels: Ints  # (n_tests,) int64, the number of levels of a tree, 1 elsewhere
    totals: Ints  # (n_values,) int64, how often each value occurs in the table
    n_rows: int  # The number of rows of the table
    starts: Ints  # (n_tuples + 1,) int64, where the values of each tuple begin
    values: Ints  # int64, values of tuples; one that is read for two groups of a tree stands there twice
    counts: Ints  # int64, as long as `values`, how many rows of the tuple have that value

    @classmethod
    def of(cls, tuples: DistinctTuples, trees: Trees, k: int, others: Sequence[ColumnRequirement] = ()) -> Requirements:
        """Build the tests of k rows and other requirements, for tuples in the trees' order."""
        # By what is read: its first value, the value after its last, and its number of levels.
        known: dict[Hashable, tuple[int, int, int]] = {}
        read, totals, n_values, none = [], [], 0, np.zeros(0, dtype=np.int64)
        entries: list[tuple[Ints, Ints, Ints]] = [(none, none, none)]
        for one in others:
            column = tuples.columns[one.column]
            groups = np.arange(column.n_values)[np.newaxis] if one.groups is None else one.groups
            key = one.column, one.n_places, groups.shape, groups.tobytes()
            if key not in known:
                begin, rows = n_values, np.repeat(np.arange(len(tuples)), np.diff(column.starts))
                for own in groups:
                    entries.append((rows, n_values + own[column.values], column.counts))
                    totals.append(np.zeros(max(int(own.max()) + 1, one.n_places), dtype=np.int64))
                    np.add.at(totals[-1], own, tuples.totals(one.column))
                    n_values += len(totals[-1])
                known[key] = begin, n_values, len(groups)
            read.append(known[key])
        rows, values, counts = map(np.concatenate, zip(*entries, strict=True))
        by_tuple = np.argsort(rows, kind="stable")
        first, stop, levels = np.array(read, dtype=np.int64).reshape(-1, 3).T.copy()
        in_order_of_table = cls(
            k=int(k),
            kinds=np.array([int(one.kind) for one in others], dtype=np.int64),
            first=first,
            stop=stop,
            bounds=np.array([one.bound for one in others], dtype=np.float64),
            numerators=np.array([one.c[0] for one in others], dtype=np.int64),
            denominators=np.array([one.c[1] for one in others], dtype=np.int64),
            levels=levels,
            totals=np.concatenate([none, *totals]),
            n_rows=tuples.n_rows,
            starts=np.searchsorted(rows[by_tuple], np.arange(len(tuples) + 1)),
            values=values[by_tuple],
            counts=counts[by_tuple],
        )
        return in_order_of_table.subset(trees.places)

    def subset(self, chosen: Ints) -> Requirements:
        """Return the same tests for some of the tuples, (n,) int64 array."""
        lengths = np.diff(self.starts)[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        entries = np.arange(starts[-1]) + np.repeat(self.starts[chosen] - starts[:-1], lengths)
        return self._replace(starts=starts, values=self.values[entries], counts=self.counts[entries])

    def by_sizes(self) -> Requirements:
        """Return the part of the requirements that numbers of rows decide.

        A class of l values, or of k persons, has at least as many rows.
        """
        of_values = self.bounds[self.kinds <= _RECURSIVE]
        k = max(self.k, int(np.ceil(of_values.max(initial=1))))
        none = {name: own[:0] for name, own in self._asdict().items() if name not in ("k", "n_rows")}
        return self._replace(k=k, **none)

    def keeps_whole(self, rows: Ints) -> bool:
        """Return whether all tuples together, of (n_tuples,) int64 rows, hold the requirements."""
        if len(self.kinds) == 0:
            return bool(rows.sum() >= self.k)
        return bool(hold_whole(np.arange(len(rows)), rows.sum(), self, histogram_for(self)))


class Histogram(NamedTuple):
    """Memory for a test. The histogram is 0 between tests."""

    histogram: Ints  # (n_values,) int64
    touched: Ints  # (n_values,) int64


def histogram_for(tests: Requirements) -> Histogram:
    """Allocate memory for the tests of one thread."""
    return Histogram(np.zeros(len(tests.totals), dtype=np.int64), np.empty(len(tests.totals), dtype=np.int64))


@kernel
def hold(members, n, rows, tests, scratch):
    """Return whether the first n members, of so many rows, hold all requirements."""
    if rows < tests.k:
        return False
    if len(tests.kinds) == 0:
        return True
    n_touched = _fill_histogram(members, n, tests, scratch)
    kept = True
    for t in range(len(tests.kinds)):
        if kept:
            kept = _holds_one(t, rows, n_touched, tests, scratch)
    for i in range(n_touched):
        scratch.histogram[scratch.touched[i]] = 0
    return kept


@njit(allocates=False)
def hold_whole(members, rows, tests, scratch):
    """Return whether all members hold all requirements."""
    return hold(members, np.int64(len(members)), rows, tests, scratch)


@kernel
def _fill_histogram(members, n, tests, scratch):
    """Fill the histogram of a set, and count its distinct values."""
    n_touched = np.int64(0)
    for i in range(n):
        r = members[i]
        for e in range(tests.starts[r], tests.starts[r + 1]):
            value = tests.values[e]
            if scratch.histogram[value] == 0:
                scratch.touched[n_touched] = value
                n_touched += 1
            scratch.histogram[value] += tests.counts[e]
    return n_touched


@kernel
def _holds_one(t, rows, n_touched, tests, scratch):
    """Return whether the set holds one requirement. Terms are computed as the measures compute them."""
    kind, bound = tests.kinds[t], tests.bounds[t]
    first, stop = tests.first[t], tests.stop[t]
    if kind == _ORDER:
        return _in_order(first, stop, rows, tests, scratch) <= bound
    own, n_rows = np.float64(rows), np.float64(tests.n_rows)
    n_values, most, bits, high, low = np.int64(0), np.int64(0), 0.0, 0.0, 0.0
    for i in range(n_touched):
        value = scratch.touched[i]
        if value < first or value >= stop:
            continue
        count, total = scratch.histogram[value], np.float64(tests.totals[value])
        n_values += 1
        most = max(most, count)
        if kind == _ENTROPY:
            bits += count * np.log(np.float64(count))
        elif kind >= _TREE:
            surplus = count * n_rows - total * own
            if surplus > 0.0:
                high, low = add(high, low, surplus)
                gain = surplus / (total * own)
                if kind >= _BETA and (gain > bound or (kind == _ENHANCED_BETA and gain > np.log(n_rows / total))):
                    return False
    if kind == _DISTINCT:
        return n_values >= bound
    if kind == _ENTROPY:
        if n_values * most == rows:
            return n_values >= bound
        # Sets so near the bound that rounding would decide are refused.
        return np.log(own) - bits / own > np.log(max(bound, 1e-300)) + 1e-9
    if kind == _RECURSIVE:
        return _is_recursive(t, most, n_touched, tests, scratch)
    if kind == _ALPHA:
        return most / own <= bound
    return kind != _TREE or (high + low) / (tests.levels[t] * (own * n_rows)) <= bound


@kernel
def _is_recursive(t, most, n_touched, tests, scratch):
    """Return whether r_1 < c (r_l + ... + r_m), with the counts r of the values in descending order."""
    rank, n = np.int64(np.ceil(tests.bounds[t])), np.int64(0)
    if rank <= 1:
        return True
    touched, tail = scratch.touched, np.int64(0)
    for i in range(n_touched):
        value = touched[i]
        if tests.first[t] <= value < tests.stop[t]:
            touched[i], touched[n] = touched[n], value
            n += 1
    shell_sort(n, touched, scratch.histogram, -1)
    for i in range(rank - 1, n):
        tail += scratch.histogram[touched[i]]
    # Most is below c times the tail, which times the numerator could be beyond 2^63.
    return tail > most * tests.denominators[t] // tests.numerators[t]


@kernel
def _in_order(first, stop, rows, tests, scratch):
    """Return the ordered earth mover's distance of a set from the table."""
    own, n_rows = np.float64(rows), np.float64(tests.n_rows)
    high, low, below, expected = 0.0, 0.0, 0.0, 0.0
    for value in range(first, stop - 1):
        below += scratch.histogram[value]
        expected += tests.totals[value]
        high, low = add(high, low, abs(below * n_rows - expected * own))
    return (high + low) / (max(stop - first - 1, 1) * (own * n_rows))
