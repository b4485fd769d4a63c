"""Classes that tuples join and leave, each with the smallest cells that hold its tuples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.local.requirements import Scratch, Tests, hold, scratch_for
from pymoo_anon.engine.local.trees import Trees, cells_of_classes, join

Ints = NDArray[np.int64]


class Classes(NamedTuple):
    """Classes of tuples as chains. A class without rows is none.

    Attributes:
        class_of: (n_tuples,) int64, the class of each tuple, -1 for none.
        cells: (n_classes, n_attributes) int32, the smallest nodes that hold the tuples of each class.
        rows: (n_classes,) int64.
        costs: (n_classes,) float, what the cells of each class cost a row.
        heads: (n_classes,) int64, the first tuple of each class, -1 for none.
        following: (n_tuples,) int64, the next tuple of the class, -1 for none.
        preceding: (n_tuples,) int64, the one before, -1 for none.
        attributes: (n_attributes,) int64, those first whose cells cost most.
        members: (n_tuples,) int64, memory for the tuples of a class.
        moving: (n_tuples,) int64, memory for the tuples of a class that is dissolved.
        tally: (1,) int64, how many pairs of classes, or of tuple and class, were compared.
        scratch: Memory for tests.
    """

    class_of: Ints
    cells: NDArray[np.int32]
    rows: Ints
    costs: NDArray[np.float64]
    heads: Ints
    following: Ints
    preceding: Ints
    attributes: Ints
    members: Ints
    moving: Ints
    tally: Ints
    scratch: Scratch

    @classmethod
    def of(cls, trees: Trees, tests: Tests, class_of: Ints) -> Classes:
        """The classes of some tuples.

        Args:
            trees: The trees and tuples.
            tests: What will be tested.
            class_of: (n_tuples,) int64 array, classes counted from 0, -1 for tuples without one.
        """
        own = np.array(class_of, dtype=np.int64)
        n_classes, n_tuples = int(own.max(initial=-1)) + 1, len(own)
        cells = cells_of_classes(trees, own, n_classes)
        rows = np.bincount(own[own >= 0], trees.rows[own >= 0], n_classes).astype(np.int64)
        by_attribute = np.where(cells < 0, 0.0, trees.costs[cells])
        heads = np.full(n_classes, -1)
        chains = np.full((2, n_tuples), -1)
        _chain(own, heads, chains[0], chains[1])
        return cls(
            class_of=own,
            cells=cells,
            rows=rows,
            costs=by_attribute.sum(axis=1),
            heads=heads,
            following=chains[0],
            preceding=chains[1],
            attributes=np.argsort(-(by_attribute.T @ rows), kind="stable"),
            members=np.empty(n_tuples, dtype=np.int64),
            moving=np.empty(n_tuples, dtype=np.int64),
            tally=np.zeros(1, dtype=np.int64),
            scratch=scratch_for(tests),
        )


@njit(cache=True, nogil=True, allocates=False)
def _chain(class_of, heads, following, preceding):  # type: ignore[no-untyped-def]
    """Chain the tuples of every class, the first one first."""
    for i in range(len(class_of)):
        r = len(class_of) - 1 - i
        c = class_of[r]
        if c >= 0:
            following[r] = heads[c]
            if heads[c] >= 0:
                preceding[heads[c]] = r
            heads[c] = r


@njit(cache=True, nogil=True, allocates=False, inner=True)
def cost_with(c, r, limit, trees, classes):  # type: ignore[no-untyped-def]
    """What the cells of a class would cost a row if a tuple joined; where that is above the limit, something above."""
    cost = 0.0
    for j in classes.attributes:
        cost += trees.costs[join(trees, classes.cells[c, j], trees.positions[r, j])]
        if cost > limit:
            break
    return cost


@njit(cache=True, nogil=True, allocates=False, inner=True)
def nearest_class(r, limit, trees, tests, classes):  # type: ignore[no-untyped-def]
    """The class that takes a tuple at least added loss, and holds all requirements then.

    Args:
        r: The tuple.
        limit: What the loss has to be below.
        trees: The trees and tuples.
        tests: What every class has to hold.
        classes: The classes; that of the tuple itself does not count.

    Returns:
        The class, -1 for none, and the loss.
    """
    own, w = np.int64(-1), trees.rows[r]
    for c in range(len(classes.rows)):
        n, cost = classes.rows[c], classes.costs[c]
        # No cells are cheaper with one more tuple below them.
        if n == 0 or c == classes.class_of[r] or w * cost >= limit:
            continue
        classes.tally[0] += 1
        most = (limit + n * cost) / (n + w)
        joined = cost_with(c, r, most, trees, classes)
        if joined < most and (len(tests.kinds) == 0 or holds_with(c, r, trees, tests, classes)):
            added = (n + w) * joined - n * cost
            if added < limit:
                own, limit = np.int64(c), added
    return own, limit


@njit(cache=True, nogil=True, allocates=False, inner=True)
def holds_with(c, r, trees, tests, classes):  # type: ignore[no-untyped-def]
    """Whether a class and one more tuple hold all requirements but k."""
    n = list_members(c, np.int64(0), classes)
    classes.members[n] = r
    return hold(
        classes.members, np.int64(0), n + 1, max(classes.rows[c] + trees.rows[r], tests.k), tests, classes.scratch
    )


@njit(cache=True, nogil=True, allocates=False, inner=True)
def list_members(c, n, classes):  # type: ignore[no-untyped-def]
    """Append the tuples of a class to `members`, of which n are taken; how many are taken then."""
    r = classes.heads[c]
    while r >= 0:
        classes.members[n] = r
        n += 1
        r = classes.following[r]
    return n


@njit(cache=True, nogil=True, allocates=False, inner=True)
def enter(r, c, trees, classes):  # type: ignore[no-untyped-def]
    """A tuple that is in no class joins one."""
    cost = 0.0
    for j in range(classes.cells.shape[1]):
        position = trees.positions[r, j]
        if classes.rows[c] == 0:
            classes.cells[c, j] = trees.leaves[position]
        else:
            classes.cells[c, j] = join(trees, classes.cells[c, j], position)
        cost += trees.costs[classes.cells[c, j]]
    classes.costs[c] = cost
    classes.rows[c] += trees.rows[r]
    classes.class_of[r] = c
    classes.preceding[r], classes.following[r] = -1, classes.heads[c]
    if classes.heads[c] >= 0:
        classes.preceding[classes.heads[c]] = r
    classes.heads[c] = r


@njit(cache=True, nogil=True, allocates=False, inner=True)
def leave(r, trees, classes):  # type: ignore[no-untyped-def]
    """A tuple leaves its class; the cells of the class are found anew."""
    c = classes.class_of[r]
    if classes.preceding[r] >= 0:
        classes.following[classes.preceding[r]] = classes.following[r]
    else:
        classes.heads[c] = classes.following[r]
    if classes.following[r] >= 0:
        classes.preceding[classes.following[r]] = classes.preceding[r]
    classes.rows[c] -= trees.rows[r]
    classes.class_of[r] = -1
    classes.costs[c] = 0.0
    for j in range(classes.cells.shape[1]):
        node = _node_without(c, r, j, trees, classes)
        classes.cells[c, j] = node
        if node >= 0:
            classes.costs[c] += trees.costs[node]


@njit(cache=True, nogil=True, allocates=False, inner=True)
def cost_without(r, trees, classes):  # type: ignore[no-untyped-def]
    """What the cells of a tuple's class would cost a row without it; its class has other tuples."""
    cost = 0.0
    c = classes.class_of[r]
    for j in range(classes.cells.shape[1]):
        cost += trees.costs[_node_without(c, r, j, trees, classes)]
    return cost


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _node_without(c, r, j, trees, classes):  # type: ignore[no-untyped-def]
    """The smallest node of an attribute that holds a class without a tuple; -1 if nothing is left."""
    low, high = np.int64(-1), np.int64(-1)
    q = classes.heads[c]
    while q >= 0:
        if q != r:
            position = np.int64(trees.positions[q, j])
            if low < 0:
                low = high = position
            low, high = min(low, position), max(high, position)
        q = classes.following[q]
    if low < 0:
        return np.int64(-1)
    return join(trees, trees.leaves[low], high)
