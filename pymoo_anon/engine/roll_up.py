"""In which order, and from which others, the nodes of a lattice are grouped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import njit

Ints = NDArray[np.int64]


def plan_roll_up(X: Ints, weights: NDArray[np.float64]) -> tuple[Ints, Ints, Ints]:
    """A tree of nodes, each a generalization of its source, in which given nodes are leaves or sources.

    The given nodes are split in two by the level of one attribute, again and again; what the nodes of a part have in
    common, their greatest common specialization, is grouped once and the source of all of them.

    Args:
        X: (n, n_attributes) int64 array of nodes.
        weights: (n_attributes, n_levels) array: how much smaller the table becomes when one attribute is generalized to
            a level, the logarithm of the ratio. It decides which tree, and nothing else, so a guess will do.

    Returns:
        (m, n_attributes) array of nodes, sources before what is made of them, depth first; (m,) array, the number of
        each one's source or -1; and (m,) array, which of the given nodes it is or -1.
    """
    nodes, sources, given = _plan(np.ascontiguousarray(X), weights)
    return nodes, sources, given


@njit(cache=True, nogil=True)
def _plan(X, weights):  # type: ignore[no-untyped-def]
    n, n_attributes = X.shape
    nodes = np.empty((2 * n, n_attributes), dtype=np.int64)
    sources = np.empty(2 * n, dtype=np.int64)
    given = np.full(2 * n, -1, dtype=np.int64)
    order = np.arange(n)
    # Parts that are still to do: from, to, source.
    parts = np.empty((n + 1, 3), dtype=np.int64)
    parts[0, 0], parts[0, 1], parts[0, 2] = 0, n, -1
    n_parts = 1 if n > 0 else 0
    lowest = np.empty(n_attributes, dtype=np.int64)
    at_least = np.empty(weights.shape[1] + 1, dtype=np.int64)
    m = 0
    while n_parts > 0:
        n_parts -= 1
        first, last, source = parts[n_parts]
        for j in range(n_attributes):
            lowest[j] = X[order[first], j]
            for i in range(first + 1, last):
                lowest[j] = min(lowest[j], X[order[i], j])
        own = -1
        for i in range(first, last):
            same = True
            for j in range(n_attributes):
                same &= X[order[i], j] == lowest[j]
            if same:
                own = i
                break
        # What is read for each node, as shares of the table: now, and from the classes of what they have in common.
        now = then = 0.0
        for j in range(n_attributes):
            now += 0.0 if source < 0 else weights[j, nodes[source, j]]
            then += weights[j, lowest[j]]
        now, then = np.exp(-now), np.exp(-then)
        # Making those classes costs about twice what it reads, and whatever a node costs.
        if own >= 0 or (last - first) * (now - then) > 2.0 * now + 1.0:
            nodes[m] = lowest
            sources[m] = source
            source = m
            if own >= 0:
                given[m] = order[own]
                order[own] = order[first]
                first += 1
            m += 1
        if first == last:
            continue
        # The attribute and level that makes most of the nodes most general.
        best, attribute, level = 0.0, -1, 0
        for j in range(n_attributes):
            at_least[:] = 0
            for i in range(first, last):
                at_least[X[order[i], j]] += 1
            count = 0
            for t in range(weights.shape[1] - 1, lowest[j], -1):
                count += at_least[t]
                value = count * (weights[j, t] - weights[j, lowest[j]])
                if value > best and count > 0:
                    best, attribute, level = value, j, t
        if attribute < 0:
            # Equal nodes, or levels that weigh nothing.
            for i in range(first, last):
                nodes[m] = X[order[i]]
                sources[m] = source
                given[m] = order[i]
                m += 1
            continue
        middle = first
        for i in range(first, last):
            if X[order[i], attribute] < level:
                order[i], order[middle] = order[middle], order[i]
                middle += 1
        for a, b in ((first, middle), (middle, last)):
            if a < b:
                parts[n_parts, 0], parts[n_parts, 1], parts[n_parts, 2] = a, b, source
                n_parts += 1
    return nodes[:m], sources[:m], given[:m]
