"""The trees of all attributes and the tuples in them, as flat arrays.

Only values that occur have a place in these trees. A node stays where its values lie below two of its children, or
where it is a value; the smallest set that holds given tuples is such a node, so no recoding needs another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymoo_anon.engine.classes import DistinctTuples
from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.typing import Floats, Ints, Ints32

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
        factors = np.ones(len(nodes)) if weights is None else np.asarray(weights, dtype=np.float64)
        positions = np.column_stack([own.order[codes] for own, codes in zip(nodes, tuples.codes.T, strict=True)])
        trees = []
        for own, factor in zip(nodes, factors, strict=True):
            trees.append(_Tree(own.first, own.stop, own.parent, factor * own.losses, np.arange(len(own.first))))
        if apart is not None:
            positions = np.column_stack([positions, apart])
            trees.append(_tree_of_parts(int(apart.max()) + 1))
        places = np.lexsort(positions.T[::-1])
        return _joined(trees, positions[places], tuples.counts[places], places)

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
        depths = np.ones(len(self.parent), dtype=np.int64)
        for node, above in enumerate(self.parent.tolist()):
            if above >= 0:
                depths[node] = depths[above] + 1
        heights: Ints = np.maximum.reduceat(depths, self.offsets[:-1])
        return heights

    def subset(self, chosen: Ints) -> Trees:
        """Return the trees of some tuples, (n,) int64 ascending, without needless nodes."""
        positions = self.positions[chosen] - self.position_offsets[:-1]
        return _joined(self._each(), positions, self.rows[chosen], self.places[chosen])

    def narrowed(self, k: int) -> tuple[Trees, Ints]:
        """Return the trees without nodes of fewer than k rows, and the new tuple of each tuple.

        No class of k rows needs such a node. Tuples that differ in nothing else become one, which is far less work
        where k is large. Parts that must be apart stay.
        """
        trees, columns = [], []
        for j, tree in enumerate(self._each()):
            positions = self.positions[:, j] - self.position_offsets[j]
            apart = tree.costs[0] >= FORBIDDEN
            kept, moved = (tree, positions) if apart else _narrowed_tree(tree, positions, self.rows, k)
            trees.append(kept)
            columns.append(moved)
        keys, n_keys = np.zeros(len(self.rows), dtype=np.int64), 1
        for own, tree in zip(columns, trees, strict=True):
            width = int(tree.stop[0])
            if n_keys > (1 << 62) // width:
                named, keys = np.unique(keys, return_inverse=True)
                n_keys = len(named)
            keys, n_keys = keys * width + own, n_keys * width
        _, first, group_of = np.unique(keys, return_index=True, return_inverse=True)
        if len(first) == len(keys):
            return self, np.arange(len(keys))
        rows = np.bincount(group_of, self.rows).astype(np.int64)
        return _joined(trees, np.column_stack(columns)[first], rows, np.arange(len(first))), group_of

    def merged(self, unit_of: Ints) -> tuple[Trees, Ints]:
        """Return the trees with each unit of tuples as one tuple, and the new tuple of each tuple.

        Units are numbered from 0. Those in equal cells become one.
        """
        cells = cells_of_classes(self, unit_of, int(unit_of.max()) + 1) - self.offsets[:-1]
        positions, number_of = np.unique(cells, axis=0, return_inverse=True)
        group_of = number_of.reshape(-1)[unit_of]
        rows = np.bincount(group_of, self.rows).astype(np.int64)
        return _joined([*map(_with_own_leaves, self._each())], positions, rows, np.arange(len(rows))), group_of

    def weighted(self, weights: ArrayLike) -> Trees:
        """Return the trees with the costs of each attribute times its weight."""
        return self._replace(costs=self.costs * np.repeat(weights, np.diff(self.offsets)))

    def _each(self) -> list[_Tree]:
        """Return the tree of each attribute, its nodes and positions counted from 0."""
        trees = []
        for a, b, shift in zip(self.offsets[:-1], self.offsets[1:], self.position_offsets[:-1], strict=True):
            parent = np.where(self.parent[a:b] < 0, -1, self.parent[a:b] - a)
            own = _Tree(self.first[a:b] - shift, self.stop[a:b] - shift, parent, self.costs[a:b], self.numbers[a:b])
            trees.append(own)
        return trees

    def released(self, cells: NDArray[np.integer[Any]]) -> Ints32:
        """Renumber cells within each attribute, and tuples in the order of the table."""
        numbered = np.empty(cells.shape, dtype=np.int32)
        numbered[self.places] = self.numbers[cells]
        return numbered


class _Tree(NamedTuple):
    """Tree of one attribute, its nodes and positions counted from 0."""

    first: Ints
    stop: Ints
    parent: Ints
    costs: Floats
    numbers: NDArray[np.integer[Any]]


def _tree_of_parts(n: int) -> _Tree:
    parts = np.arange(n)
    first, stop, parent = np.append(0, parts), np.append(n, parts + 1), np.append(-1, np.zeros_like(parts))
    return _Tree(first, stop, parent, np.append(FORBIDDEN, np.zeros(n)), np.arange(n + 1))


def _joined(trees: Sequence[_Tree], positions: Ints, rows: Ints, places: Ints) -> Trees:
    """Concatenate the trees of all attributes, each without needless nodes."""
    kept, moved = [], np.empty(positions.shape, dtype=np.int32)
    n_nodes, n_positions = [0], [0]
    for j, tree in enumerate(trees):
        own, moved[:, j] = _reduced(tree, positions[:, j])
        moved[:, j] += n_positions[-1]
        above = np.where(own.parent < 0, -1, own.parent + n_nodes[-1])
        kept.append(own._replace(first=own.first + n_positions[-1], stop=own.stop + n_positions[-1], parent=above))
        n_nodes.append(n_nodes[-1] + len(own.first))
        n_positions.append(n_positions[-1] + int(own.stop[0]))
    first, stop, parent, costs, numbers = (np.concatenate(parts) for parts in zip(*kept, strict=True))
    return Trees(
        offsets=np.array(n_nodes),
        position_offsets=np.array(n_positions),
        parent=parent,
        # In this order, the nodes below a node end where the next position begins.
        after=np.searchsorted(first, stop),
        first=first,
        stop=stop,
        costs=costs,
        leaves=np.flatnonzero(stop - first == 1),
        positions=moved,
        rows=np.ascontiguousarray(rows),
        numbers=numbers.astype(np.int32),
        places=places,
    )


def _reduced(tree: _Tree, positions: Ints) -> tuple[_Tree, Ints]:
    """Reduce a tree to the positions that occur, and renumber these."""
    occurs = np.bincount(positions, minlength=int(tree.stop[0])) > 0
    before = np.concatenate([[0], np.cumsum(occurs)])
    first, stop = before[tree.first], before[tree.stop]
    holds = np.flatnonzero(stop > first)
    # Nodes that hold the same of these positions become one: the lowest of them.
    _, number = np.unique(first[holds] * (before[-1] + 1) - stop[holds], return_inverse=True)
    lowest, highest = np.empty(number.max() + 1, dtype=np.int64), np.empty(number.max() + 1, dtype=np.int64)
    lowest[number] = holds
    highest[number[::-1]] = holds[::-1]
    new = np.full(len(first), -1)
    new[holds] = number
    # Above the highest of them stands a node that holds more, or nothing.
    above = tree.parent[highest]
    parent = np.where(above < 0, -1, new[above])
    kept = _Tree(first[lowest], stop[lowest], parent, tree.costs[lowest], tree.numbers[lowest])
    return kept, before[positions]


def _narrowed_tree(tree: _Tree, positions: Ints, rows: Ints, k: int) -> tuple[_Tree, Ints]:
    """Drop the nodes of fewer than k rows, and renumber positions.

    A position moves to its lowest node that is left. Where others are left below that, it stands before them, in a leaf
    as dear as the node.
    """
    before = np.concatenate([[0], np.cumsum(np.bincount(positions, rows, int(tree.stop[0])))])
    left = np.flatnonzero(before[tree.stop] - before[tree.first] >= k)
    left = left if len(left) and left[0] == 0 else np.append(0, left)
    lowest = np.zeros(int(tree.stop[0]), dtype=np.int64)
    for node in left.tolist():
        lowest[tree.first[node] : tree.stop[node]] = node
    places = np.unique(lowest)
    below = np.searchsorted(tree.first, tree.stop)[left]
    first, stop = np.searchsorted(places, left), np.searchsorted(places, below)
    # A node that holds more than its own leaf has that leaf after it.
    own = np.flatnonzero(np.isin(left, places) & (stop - first > 1))
    order = np.argsort(np.concatenate([left, left[own]]), kind="stable")
    nodes = np.concatenate([left, left[own]])[order]
    is_leaf = (order >= len(left)).astype(np.int64)
    new = np.full(len(tree.first), -1)
    new[nodes[is_leaf == 0]] = np.flatnonzero(is_leaf == 0)
    above = np.where(is_leaf == 1, nodes, tree.parent[nodes])
    first, stop = np.concatenate([first, first[own]])[order], np.concatenate([stop, first[own] + 1])[order]
    parent = np.where(above < 0, -1, new[above])
    kept = _Tree(first, stop, parent, tree.costs[nodes], tree.numbers[nodes])
    return kept, np.searchsorted(places, lowest)[positions]


def _with_own_leaves(tree: _Tree) -> _Tree:
    """Return a tree in which each node has a leaf of its own, as dear as the node, at the position of its number."""
    places, below = np.arange(len(tree.first)), np.searchsorted(tree.first, tree.stop)
    is_inner = below - places > 1
    new = places + np.cumsum(is_inner) - is_inner
    nodes = np.repeat(places, 1 + is_inner)
    is_leaf = np.diff(nodes, prepend=-1) == 0
    parent = np.where(is_leaf, new[nodes], np.where(tree.parent[nodes] < 0, -1, new[tree.parent[nodes]]))
    return _Tree(nodes, np.where(is_leaf, nodes + 1, below[nodes]), parent, tree.costs[nodes], tree.numbers[nodes])


def by_first_step(trees: Trees) -> Ints:
    """Sort the attributes by the mean cost of the first step up."""
    steps = np.zeros(trees.positions.shape[1])
    for j in range(len(steps)):
        above = trees.parent[trees.leaves[trees.positions[:, j]]]
        # A value alone has nothing above it.
        costs = np.where(above < 0, 0.0, trees.costs[np.maximum(above, 0)])
        steps[j] = (costs * trees.rows).sum() / trees.rows.sum()
    return np.argsort(-steps, kind="stable")


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
