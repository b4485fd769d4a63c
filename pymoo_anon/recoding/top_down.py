"""Top-down recoding: split classes along the trees while that pays.

Multidimensional recoding as Mondrian's (LeFevre et al. 2006), by hierarchies. The paper cuts an ordered domain at its
median; since every cell is a node here, a node is split into its children, of numbers, too. In a strict split each
child that holds a tuple becomes a class, or there is no split. In a relaxed one children that have k rows become
classes, the others stay together where they are; the paper's spreads equal tuples over both sides of a cut.

Mondrian splits the attribute whose node is widest. Else the attribute is the one that saves most loss per bit of the
entropy of the split, which is ours: fine splits are not dearer than coarse ones then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.recoding.trees import Trees, join
from pymoo_anon.typing import Ints

# How an attribute is chosen and split, by method.
_BY_GAIN, _STRICT, _RELAXED = 0, 1, 2
RULES = {"top-down": _BY_GAIN, "mondrian": _STRICT, "mondrian-relaxed": _RELAXED}

# The fate of a child: a class of its own, or a place in the rest.
_OWN, _REST = 1, 2


class Children(NamedTuple):
    """Children of a node, with the tuples of a class below each."""

    touched: Ints  # (n_nodes,) int64, the children that hold a tuple, in the order of their first
    rows: Ints  # (n_nodes,) int64, 0 for all others
    low: Ints  # (n_nodes,) int64, the first position of a tuple below
    high: Ints  # (n_nodes,) int64, the last one
    begin: Ints  # (n_nodes,) int64, where its tuples begin among the members, once they are sorted
    n_tuples: Ints  # (n_nodes,) int64, how many tuples there are
    fate: Ints  # (n_nodes,) int64, 1 for a class of its own, 2 for the rest
    sorted: Ints  # (n_tuples,) int64, memory for sorting
    members: Ints  # (n_tuples,) int64, all tuples; the open classes are slices of them
    slices: Ints  # (n_tuples + 1, 2) int64, where each open class begins and ends


def top_down(trees: Trees, k: int, price: float = 0.0, enough: int = 1, method: str = "top-down") -> Ints:
    """Return the class of every tuple after all splits, (n_tuples,) int64.

    A class has k rows, unless all tuples have fewer, and costs a price beside the loss of its cells, in cells. One of
    at most `enough` tuples is not split.
    """
    class_of = np.empty(len(trees.rows), dtype=np.int64)
    _split_all(trees, int(k), float(price), int(enough), RULES[method], _children_of(trees), class_of)
    return class_of


def first_split(trees: Trees, k: int) -> tuple[float, Ints]:
    """Return the gain of splitting the only attribute, and each tuple's part.

    No gain is 0. A part has k rows. (n_tuples,) int64, a node for each part of its own, and -1 for the rest.
    """
    part_of = np.full(len(trees.rows), -1, dtype=np.int64)
    return _split_first(trees, int(k), _children_of(trees), part_of), part_of


def _children_of(trees: Trees) -> Children:
    n_nodes, n_tuples = len(trees.parent), len(trees.rows)
    return Children(*(np.zeros(n_nodes, dtype=np.int64) for _ in Children._fields))._replace(
        sorted=np.empty(n_tuples, dtype=np.int64),
        members=np.arange(n_tuples),
        slices=np.empty((n_tuples + 1, 2), dtype=np.int64),
    )


@njit(allocates=False)
def _split_first(trees, k, children, part_of):
    n_tuples = len(part_of)
    n_children = _count_children(np.int64(0), np.int64(0), np.int64(n_tuples), trees, children)
    gain = _weigh(n_children, k, trees, 0.0, np.int64(_BY_GAIN), children)
    if gain > 0.0:
        for r in range(n_tuples):
            child = _child(trees, trees.parent[children.touched[0]], np.int64(trees.positions[r, 0]))
            if children.fate[child] == _OWN:
                part_of[r] = child
    return gain


@njit(allocates=False)
def _split_all(trees, k, price, enough, rule, children, class_of):
    """Fill `class_of` by the arguments of `top_down`.

    Invariant: the open classes are slices of `members`, each in the order of the tuples, and have k rows, or there is
    one.
    """
    n_tuples, n_attributes = trees.positions.shape
    members, slices = children.members, children.slices
    slices[0, 0], slices[0, 1] = np.int64(0), np.int64(n_tuples)
    n_open, n_classes = np.int64(1), np.int64(0)
    while n_open > 0:
        n_open -= 1
        a, b = slices[n_open, 0], slices[n_open, 1]
        best, chosen = 0.0, np.int64(-1)
        if b - a > enough:
            for j in range(n_attributes):
                n_children = _count_children(j, a, b, trees, children)
                value = _weigh(n_children, k, trees, price, rule, children)
                _forget(n_children, children)
                if value > best:
                    best, chosen = value, np.int64(j)
        if chosen < 0:
            for i in range(a, b):
                class_of[members[i]] = n_classes
            n_classes += 1
        else:
            n_children = _count_children(chosen, a, b, trees, children)
            _weigh(n_children, k, trees, price, rule, children)
            n_open = _part(chosen, n_open, n_children, trees, children)
            _forget(n_children, children)


@kernel
def _count_children(j, a, b, trees, children):
    """Count the tuples below each child of a class's node. A value has none."""
    members = children.members
    low = high = trees.positions[members[a], j]
    for i in range(a + 1, b):
        position = trees.positions[members[i], j]
        low, high = min(low, position), max(high, position)
    n_children = np.int64(0)
    if low == high:
        return n_children
    node = join(trees, trees.leaves[low], high)
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
    return n_children


@kernel
def _child(trees, node, position):
    child = trees.leaves[position]
    while trees.parent[child] != node:
        child = trees.parent[child]
    return child


@kernel
def _forget(n_children, children):
    for c in range(n_children):
        children.rows[children.touched[c]] = 0
        children.n_tuples[children.touched[c]] = 0


@kernel
def _weigh(n_children, k, trees, price, rule, children):
    """Choose the children to split off, and return the gain, or 0.

    A rest below k rows takes the child that gives up least.
    """
    rest, n_own = np.int64(0), np.int64(0)
    for c in range(n_children):
        child = children.touched[c]
        children.fate[child] = _REST
        if children.rows[child] >= k:
            children.fate[child] = _OWN
            n_own += 1
        else:
            rest += children.rows[child]
    if rule == _STRICT and rest > 0:
        return 0.0
    whole = np.float64(rest)
    for c in range(n_children):
        if children.fate[children.touched[c]] == _OWN:
            whole += children.rows[children.touched[c]]
    while n_own > 0 and 0 < rest < k:
        least, joins = np.inf, np.int64(-1)
        for c in range(n_children):
            child = children.touched[c]
            if children.fate[child] == _OWN and _saved(child, trees, children) < least:
                least, joins = _saved(child, trees, children), child
        children.fate[joins] = _REST
        rest += children.rows[joins]
        n_own -= 1
    if n_own == 0:
        return 0.0
    # The class that was there is paid for.
    saved, bits = price, 0.0
    for c in range(n_children):
        child = children.touched[c]
        if children.fate[child] == _OWN:
            saved += _saved(child, trees, children) - price
            bits -= children.rows[child] * np.log2(children.rows[child] / whole)
    if rest > 0:
        saved -= price
        bits -= rest * np.log2(rest / whole)
    if rule != _BY_GAIN:
        return trees.costs[trees.parent[children.touched[0]]] if saved > 0.0 else 0.0
    return max(saved, 0.0) / max(bits, 1e-9)


@kernel
def _saved(child, trees, children):
    """Return the saved loss in an attribute of a child."""
    own = join(trees, trees.leaves[children.low[child]], children.high[child])
    return children.rows[child] * (trees.costs[trees.parent[child]] - trees.costs[own])


@kernel
def _part(j, n_open, n_children, trees, children):
    """Sort the class by child, and return the number of open classes."""
    members, slices = children.members, children.slices
    a, b = slices[n_open, 0], slices[n_open, 1]
    node = trees.parent[children.touched[0]]
    place = a
    for c in range(n_children):
        if children.fate[children.touched[c]] == _REST:
            place += children.n_tuples[children.touched[c]]
    if place > a:
        slices[n_open, 0], slices[n_open, 1] = a, place
        n_open += 1
    for c in range(n_children):
        child = children.touched[c]
        if children.fate[child] == _OWN:
            children.begin[child] = place
            slices[n_open, 0], slices[n_open, 1] = place, place + children.n_tuples[child]
            place += children.n_tuples[child]
            n_open += 1
    for i in range(a, b):
        children.sorted[i] = members[i]
    place = a
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


@kernel
def best_node(members, k, limit, attributes, trees):
    """Find the best node to part tuples.

    One class is of those below it, the other of all others, both of k rows. Returned are its attribute and the node, -1
    for none below the limit, and how many tuples were looked at.
    """
    attribute, found, n_looked = np.int64(-1), np.int64(-1), np.int64(0)
    for j in attributes:
        low = high = np.int64(trees.positions[members[0], j])
        for r in members:
            low, high = min(low, trees.positions[r, j]), max(high, trees.positions[r, j])
        top = join(trees, trees.leaves[low], high)
        node = top + 1
        while node < trees.after[top]:
            below, others = np.int64(0), np.int64(0)
            for r in members:
                if trees.first[node] <= trees.positions[r, j] < trees.stop[node]:
                    below += trees.rows[r]
                else:
                    others += trees.rows[r]
            n_looked += len(members)
            if below < k:
                node = trees.after[node]
                continue
            if others >= k:
                loss = _loss_parted(members, j, node, below, others, limit, attributes, trees)
                if loss < limit:
                    attribute, found, limit = np.int64(j), np.int64(node), loss
            node += 1
    return attribute, found, n_looked


@kernel
def _loss_parted(members, j, node, below, others, limit, attributes, trees):
    """Return the loss of two classes, or one above the limit."""
    loss = 0.0
    for i in attributes:
        low, high, first, last = np.int64(1 << 62), np.int64(-1), np.int64(1 << 62), np.int64(-1)
        for r in members:
            position = np.int64(trees.positions[r, i])
            if trees.first[node] <= trees.positions[r, j] < trees.stop[node]:
                low, high = min(low, position), max(high, position)
            else:
                first, last = min(first, position), max(last, position)
        loss += below * trees.costs[join(trees, trees.leaves[low], high)]
        loss += others * trees.costs[join(trees, trees.leaves[first], last)]
        if loss >= limit:
            break
    return loss
