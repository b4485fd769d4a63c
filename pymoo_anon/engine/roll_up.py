"""In which order, and from which others, the nodes of a lattice are grouped."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.typing import Floats, Ints


def plan_roll_up(X: Ints, weights: Floats) -> tuple[Ints, Ints, Ints]:
    """Plan a forest in which every node is a generalization of its source.

    The classes of a node are merges of the classes of any more specific node. So nodes that have much in common are
    cheaper to group from their greatest common specialization, the lowest level of each attribute, than from the table.

    The given nodes are a part. A part is split in two by the level of one attribute, and its halves are split again.
    Where it pays, the greatest common specialization of a part is grouped once and becomes the source of the part.

    Returns:
        (m, n_attributes) int64 array of nodes, at most 2n. They come depth first: after a node come all that have it as
        their source, directly or not, and then the others.
        (m,) int64 array, the number of each node's source, or -1.
        (m,) int64 array, which row of X each node is, or -1.
    """
    # A copy where X cannot be written: numba would compile all of this once more for it.
    X = np.require(X, requirements=["C", "W"])
    n, n_attributes = X.shape
    nodes, links = np.empty((2 * n, n_attributes), dtype=np.int64), np.empty((2, 2 * n), dtype=np.int64)
    scratch = np.empty((2, max(n_attributes, weights.shape[1])), dtype=np.int64)
    order, parts = np.arange(n, dtype=np.int64), np.empty((n + 1, 3), dtype=np.int64)
    m = _plan(X, weights, nodes, links, order, parts, scratch)
    return nodes[:m], links[0, :m], links[1, :m]


@njit(allocates=False)
def _plan(X, weights, nodes, links, order, parts, scratch):  # type: ignore[no-untyped-def]
    """Write sources and rows of the forest to `links`, and return its size.

    A part is order[first:last], rows of X, with a source for all of them; `parts` is a stack of these three.
    """
    n, n_attributes = X.shape
    sources, given, lowest, at_level = links[0], links[1], scratch[0, :n_attributes], scratch[1, : weights.shape[1]]
    parts[0, 0], parts[0, 1], parts[0, 2] = 0, n, -1
    n_parts = 1 if n > 0 else 0
    m = 0
    # Invariant: the m nodes so far and the parts on the stack together hold every row of X once. The part on top comes
    # next, and a part's halves are put on top of all others: this is depth first.
    while n_parts > 0:
        n_parts -= 1
        first, last, source = parts[n_parts, 0], parts[n_parts, 1], parts[n_parts, 2]
        own = _common(X, order[first:last], lowest)
        if own >= 0 or _pays(lowest, last - first, source, nodes, weights):
            for j in range(n_attributes):
                nodes[m, j] = lowest[j]
            sources[m], given[m] = source, -1
            source = m
            if own >= 0:
                # The common specialization is itself a given node: take it out of the part.
                given[m] = order[first + own]
                order[first + own] = order[first]
                first += 1
            m += 1
        attribute, level = _best_split(X, order[first:last], lowest, weights, at_level)
        if attribute < 0:
            # Nothing is gained by a common specialization of fewer: all have the same source.
            for i in range(first, last):
                for j in range(n_attributes):
                    nodes[m, j] = X[order[i], j]
                sources[m], given[m] = source, order[i]
                m += 1
            continue
        middle = first + _split(X, order[first:last], attribute, level)
        for half in range(2):
            a, b = (first, middle) if half == 0 else (middle, last)
            if a < b:
                parts[n_parts, 0], parts[n_parts, 1], parts[n_parts, 2] = a, b, source
                n_parts += 1
    return m


@kernel
def _common(X, rows, lowest):  # type: ignore[no-untyped-def]
    """Write the greatest common specialization to `lowest`, and return its row or -1."""
    for j in range(len(lowest)):
        lowest[j] = X[rows[0], j]
        for i in range(1, len(rows)):
            lowest[j] = min(lowest[j], X[rows[i], j])
    for i in range(len(rows)):
        same = True
        for j in range(len(lowest)):
            same &= X[rows[i], j] == lowest[j]
        if same:
            return i
    return -1


@kernel
def _pays(lowest, n, source, nodes, weights):  # type: ignore[no-untyped-def]
    """Return whether grouping n nodes through their common specialization is cheaper.

    Costs are shares of the whole table's rows. Every node reads the rows of its source: `now` with the source it has,
    `then` with the common specialization. To make that one costs about twice what it reads, and about one table for
    what every grouping costs.
    """
    now, then = 0.0, 0.0
    for j in range(len(lowest)):
        now += 0.0 if source < 0 else weights[j, nodes[source, j]]
        then += weights[j, lowest[j]]
    now, then = np.exp(-now), np.exp(-then)
    return n * (now - then) > 2.0 * now + 1.0


@kernel
def _best_split(X, rows, lowest, weights, at_level):  # type: ignore[no-untyped-def]
    """Return the attribute and level of the best split, or attribute -1.

    The half are the rows at this level or above. Its gain is their number times what the level weighs more than the
    lowest one. `at_level` is scratch.
    """
    best, attribute, level = 0.0, -1, 0
    for j in range(len(lowest)):
        at_level[:] = 0
        for i in range(len(rows)):
            at_level[X[rows[i], j]] += 1
        count = 0
        # Invariant: `count` rows are at level t or above.
        for t in range(weights.shape[1] - 1, lowest[j], -1):
            count += at_level[t]
            gain = count * (weights[j, t] - weights[j, lowest[j]])
            if gain > best:
                best, attribute, level = gain, j, t
    return attribute, level


@kernel
def _split(X, rows, attribute, level):  # type: ignore[no-untyped-def]
    """Move the rows below a level to the front, and count them."""
    n_below = 0
    for i in range(len(rows)):
        if X[rows[i], attribute] < level:
            rows[i], rows[n_below] = rows[n_below], rows[i]
            n_below += 1
    return n_below
