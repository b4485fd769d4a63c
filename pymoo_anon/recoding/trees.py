"""The trees of all attributes and the tuples in them, as flat arrays.

Only values that occur have a place in these trees. A node stays where its values lie below two of its children, or
where it is a value; the smallest set that holds given tuples is such a node, so no recoding needs another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon.engine.classes import DistinctTuples, row_ids
from pymoo_anon.engine.compiled import kernel, njit
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
        """Give each node a leaf of its own, as dear as the node, at its number."""
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
        """Drop the positions of no tuple, and the nodes that are not needed then."""
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
def join(trees, node, position):  # type: ignore[no-untyped-def]
    """Return the smallest node that holds a node and a position of its attribute."""
    while position < trees.first[node] or position >= trees.stop[node]:
        node = trees.parent[node]
    return node


def cells_of_classes(trees: Trees, class_of: Ints, n_classes: int) -> Ints32:
    """Return the smallest nodes that hold all tuples of each class, -1 for none.

    (n_classes, n_attributes) int32. `class_of` is (n_tuples,) int64, and -1 for a tuple without a class.
    """
    cells = np.full((n_classes, trees.positions.shape[1]), -1, dtype=np.int32)
    _widen_all(trees, class_of, cells)
    return cells


@njit(allocates=False)
def _widen_all(trees, class_of, cells):  # type: ignore[no-untyped-def]
    for r in range(len(class_of)):
        if class_of[r] >= 0:
            widen(cells[class_of[r]], r, trees)


@kernel
def widen(cells, r, trees):  # type: ignore[no-untyped-def]
    """Widen cells to hold a tuple, and return their cost per row."""
    cost = 0.0
    for j in range(len(cells)):
        position = trees.positions[r, j]
        cells[j] = trees.leaves[position] if cells[j] < 0 else join(trees, cells[j], position)
        cost += trees.costs[cells[j]]
    return cost


@kernel
def shell_sort(n, chosen, keys, sign):  # type: ignore[no-untyped-def]
    """Sort the first n places by key (Shell 1959), descending for a sign of -1."""
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
