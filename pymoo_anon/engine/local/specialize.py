"""Top-down: begin with one class of all tuples, and split classes along the trees for as long as that pays.

Multidimensional recoding as Mondrian's (LeFevre et al. 2006), by hierarchies. A split is relaxed: children of a node
that hold all requirements become classes, the others stay together where they are. The attribute is the one that saves
most loss per bit of the entropy of the split, which is ours: fine splits are not dearer than coarse ones then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.local.requirements import Tests, hold, scratch_for
from pymoo_anon.engine.local.trees import Trees, join

Ints = NDArray[np.int64]

# What becomes of a child: a class of its own, or it stays with the rest.
_OWN, _REST = 1, 2


class Children(NamedTuple):
    """The children of the node at hand, and what of a class lies below each. All but the first array are by node.

    Attributes:
        touched: (n_nodes,) int64, the children that hold a tuple, in the order of their first.
        rows: (n_nodes,) int64, 0 for all others.
        low: (n_nodes,) int64, the first position of a tuple below.
        high: (n_nodes,) int64, the last one.
        begin: (n_nodes,) int64, where its tuples stand in `sorted`, if they are sorted.
        n_tuples: (n_nodes,) int64, how many tuples there are.
        fate: (n_nodes,) int64, 1 for a class of its own, 2 for what stays.
        sorted: (n_tuples,) int64, tuples by child.
    """

    touched: Ints
    rows: Ints
    low: Ints
    high: Ints
    begin: Ints
    n_tuples: Ints
    fate: Ints
    sorted: Ints


def top_down(trees: Trees, tests: Tests, price: float = 0.0, enough: int = 1) -> Ints:
    """The class of every tuple after all splits that pay.

    Args:
        trees: The trees and tuples.
        tests: What every class has to hold. Where all tuples together break it, they are the one class.
        price: What a class costs beside the loss of its cells, in cells.
        enough: A class of at most so many tuples is not split.

    Returns:
        (n_tuples,) int64 array, classes counted from 0.
    """
    n_nodes, n_tuples = len(trees.parent), len(trees.rows)
    children = Children(*(np.zeros(n_nodes, dtype=np.int64) for _ in Children._fields))
    children = children._replace(sorted=np.empty(n_tuples, dtype=np.int64))
    class_of: Ints = _split_all(
        trees, tests, float(price), int(enough), children, scratch_for(tests), np.empty(n_tuples, dtype=np.int64)
    )
    return class_of


@njit(cache=True, nogil=True)
def _split_all(trees, tests, price, enough, children, scratch, class_of):  # type: ignore[no-untyped-def]
    """Fill `class_of`; arguments as of `top_down`.

    The invariant: the open classes are slices of `members`, each in the order of the tuples, and hold all requirements,
    or there is one.
    """
    n_tuples, n_attributes = trees.positions.shape
    members = np.arange(n_tuples)
    begins, ends = np.empty(n_tuples + 1, dtype=np.int64), np.empty(n_tuples + 1, dtype=np.int64)
    begins[0], ends[0] = np.int64(0), np.int64(n_tuples)
    n_open, n_classes = np.int64(1), np.int64(0)
    while n_open > 0:
        n_open -= 1
        a, b = begins[n_open], ends[n_open]
        best, chosen = 0.0, np.int64(-1)
        if b - a > enough:
            for j in range(n_attributes):
                n_children, node = _spread(j, a, b, members, trees, tests, children)
                value = _weigh(n_children, node, trees, tests, price, children, scratch)
                _forget(n_children, children)
                if value > best:
                    best, chosen = value, np.int64(j)
        if chosen < 0:
            for i in range(a, b):
                class_of[members[i]] = n_classes
            n_classes += 1
            continue
        n_children, node = _spread(chosen, a, b, members, trees, tests, children)
        _weigh(n_children, node, trees, tests, price, children, scratch)
        n_open = _part(a, b, n_children, node, chosen, members, trees, children, begins, ends, n_open)
        _forget(n_children, children)
    return class_of


@njit(cache=True, nogil=True)
def _spread(j, a, b, members, trees, tests, children):  # type: ignore[no-untyped-def]
    """The smallest node of an attribute that holds a class, and what lies below its children.

    Returns:
        How many children hold a tuple, 0 where the node is a value, and the node.
    """
    low = high = trees.positions[members[a], j]
    for i in range(a + 1, b):
        position = trees.positions[members[i], j]
        low, high = min(low, position), max(high, position)
    node = join(trees, trees.leaves[low], high)
    n_children = np.int64(0)
    if low == high:
        return n_children, node
    for i in range(a, b):
        r = members[i]
        position = np.int64(trees.positions[r, j])
        child = _child(trees, node, position)
        if children.n_tuples[child] == 0:
            children.touched[n_children] = child
            n_children += 1
            children.low[child] = children.high[child] = position
        children.low[child] = min(children.low[child], position)
        children.high[child] = max(children.high[child], position)
        children.rows[child] += trees.rows[r]
        children.n_tuples[child] += 1
    if len(tests.kinds) > 0:
        _sort(j, a, b, n_children, node, members, trees, children)
    return n_children, node


@njit(cache=True, nogil=True)
def _child(trees, node, position):  # type: ignore[no-untyped-def]
    """The child of a node that holds a position."""
    child = trees.leaves[position]
    while trees.parent[child] != node:
        child = trees.parent[child]
    return child


@njit(cache=True, nogil=True)
def _sort(j, a, b, n_children, node, members, trees, children):  # type: ignore[no-untyped-def]
    """Sort the tuples of a class by child, for the tests."""
    place = np.int64(0)
    for c in range(n_children):
        children.begin[children.touched[c]] = place
        place += children.n_tuples[children.touched[c]]
    for i in range(a, b):
        child = _child(trees, node, np.int64(trees.positions[members[i], j]))
        children.sorted[children.begin[child]] = members[i]
        children.begin[child] += 1
    for c in range(n_children):
        children.begin[children.touched[c]] -= children.n_tuples[children.touched[c]]


@njit(cache=True, nogil=True)
def _forget(n_children, children):  # type: ignore[no-untyped-def]
    """Empty the counts of children."""
    for c in range(n_children):
        children.rows[children.touched[c]] = 0
        children.n_tuples[children.touched[c]] = 0


@njit(cache=True, nogil=True)
def _weigh(n_children, node, trees, tests, price, children, scratch):  # type: ignore[no-untyped-def]
    """Decide which children become classes; what that saves per bit, or 0 where nothing is to be gained.

    What stays has to hold the requirements, too. Where it does not, the child that gives up least joins it.
    """
    rest, n_own = np.int64(0), np.int64(0)
    for c in range(n_children):
        child = children.touched[c]
        a = children.begin[child]
        children.fate[child] = _REST
        if hold(children.sorted, a, a + children.n_tuples[child], children.rows[child], tests, scratch):
            children.fate[child] = _OWN
            n_own += 1
        else:
            rest += children.rows[child]
    while n_own > 0 and rest > 0 and not _rest_holds(n_children, rest, tests, children, scratch):
        least, joins = np.inf, np.int64(-1)
        for c in range(n_children):
            child = children.touched[c]
            saved = _saved(node, child, trees, children)
            if children.fate[child] == _OWN and saved < least:
                least, joins = saved, child
        children.fate[joins] = _REST
        rest += children.rows[joins]
        n_own -= 1
    if n_own == 0:
        return 0.0
    saved, bits, whole = price, 0.0, np.float64(0)
    for c in range(n_children):
        whole += children.rows[children.touched[c]]
    for c in range(n_children):
        child = children.touched[c]
        if children.fate[child] == _OWN:
            saved += _saved(node, child, trees, children) - price
            bits -= children.rows[child] * np.log2(children.rows[child] / whole)
    if rest > 0:
        saved -= price
        bits -= rest * np.log2(rest / whole)
    return max(saved, 0.0) / max(bits, 1e-9)


@njit(cache=True, nogil=True)
def _saved(node, child, trees, children):  # type: ignore[no-untyped-def]
    """The loss in an attribute that a child saves as a class of its own."""
    own = join(trees, trees.leaves[children.low[child]], children.high[child])
    return children.rows[child] * (trees.costs[node] - trees.costs[own])


@njit(cache=True, nogil=True)
def _rest_holds(n_children, rest, tests, children, scratch):  # type: ignore[no-untyped-def]
    """Whether what stays holds the requirements; its tuples are gathered behind each other first."""
    if rest < tests.k:
        return False
    if len(tests.kinds) == 0:
        return True
    n_gathered = np.int64(0)
    gathered = np.empty(len(children.sorted), dtype=np.int64)
    for c in range(n_children):
        child = children.touched[c]
        if children.fate[child] == _REST:
            for i in range(children.n_tuples[child]):
                gathered[n_gathered] = children.sorted[children.begin[child] + i]
                n_gathered += 1
    return hold(gathered, np.int64(0), n_gathered, rest, tests, scratch)


@njit(cache=True, nogil=True)
def _part(a, b, n_children, node, j, members, trees, children, begins, ends, n_open):  # type: ignore[no-untyped-def]
    """Sort a class by what becomes of its children, what stays first, and open the parts; how many are open then."""
    place = np.int64(a)
    for c in range(n_children):
        child = children.touched[c]
        if children.fate[child] == _REST:
            place += children.n_tuples[child]
    n_rest = place - a
    if n_rest > 0:
        begins[n_open], ends[n_open] = np.int64(a), place
        n_open += 1
    for c in range(n_children):
        child = children.touched[c]
        if children.fate[child] == _OWN:
            children.begin[child] = place
            begins[n_open] = place
            place += children.n_tuples[child]
            ends[n_open] = place
            n_open += 1
    for i in range(a, b):
        children.sorted[i] = members[i]
    place = np.int64(a)
    for i in range(a, b):
        r = children.sorted[i]
        child = _child(trees, node, np.int64(trees.positions[r, j]))
        if children.fate[child] == _REST:
            members[place] = r
            place += 1
        else:
            members[children.begin[child]] = r
            children.begin[child] += 1
    return n_open
