"""The nested bound: longest paths inside longest paths over tables of gains.

A cut of an attribute is a path over its groups. The gain of a string is the sum of a table over the product of its
paths. Letting the path of an inner attribute depend on the group of an outer one only enlarges the maximum, and makes
of it a longest path of longest paths, each over a directed acyclic graph whose edges come in the order of their first
place: when an edge is read, the best way to its first place is final, since every edge that ends there begins before.

Every order of nesting is a bound, so that their minimum is one. With one attribute free it is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pymoo_anon.engine.compiled import njit

# Below every sum of gains.
_NOWHERE = -1e300


@njit(cache=True, nogil=True)
def longest_path(gains: Any, spans: Any, n: int) -> float:
    """The greatest sum of gains on a path 0 -> n.

    Args:
        gains: (n_groups,) float array.
        spans: (n_groups, 2) int64 array, in order.
        n: Number of values.
    """
    best = np.full(n + 1, _NOWHERE)
    best[0] = 0.0
    for g in range(len(gains)):
        best[spans[g, 1]] = max(best[spans[g, 1]], best[spans[g, 0]] + gains[g])
    return best[n]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def completions(gains: Any, spans: Any, n: int, best: Any) -> None:
    """The greatest sum of gains on a path x -> n, for every x.

    Args:
        gains: (n_groups,) float array.
        spans: (n_groups, 2) int64 array, in order.
        n: Number of values.
        best: (n + 1,) float array that is filled.
    """
    best[:] = _NOWHERE
    best[n] = 0.0
    # Backwards: every edge that begins at the last place of this one has been read.
    for g in range(len(gains) - 1, -1, -1):
        best[spans[g, 0]] = max(best[spans[g, 0]], gains[g] + best[spans[g, 1]])


@njit(cache=True, nogil=True)
def paths_of_columns(table: Any, spans: Any, n: int, best: Any) -> None:
    """The longest path over the rows of a table, for every column; it is left in best[n].

    Args:
        table: (n_groups, n_columns) float array, contiguous.
        spans: (n_groups, 2) int64 array, in order.
        n: Number of values.
        best: (at least n + 1, n_columns) float array that is overwritten.
    """
    best[0] = 0.0
    best[1 : n + 1] = _NOWHERE
    for g in range(len(spans)):
        before, after, own = best[spans[g, 0]], best[spans[g, 1]], table[g]
        for c in range(len(own)):
            after[c] = max(after[c], before[c] + own[c])


@njit(cache=True, nogil=True)
def pair_bound(table: Any, spans_p: Any, n_p: int, spans_q: Any, n_q: int) -> float:
    """No less than the sum of a table over the product of a path of p and one of q.

    Args:
        table: (n_groups of p, n_groups of q) float array, contiguous.
        spans_p: (n_groups of p, 2) int64 array, in order.
        n_p: Number of values of p.
        spans_q: The same of q.
        n_q: The same of q.
    """
    best = np.empty((n_p + 1, len(spans_q)))
    paths_of_columns(table, spans_p, n_p, best)
    inner_p = longest_path(best[n_p], spans_q, n_q)
    turned = table.T.copy()
    best = np.empty((n_q + 1, len(spans_p)))
    paths_of_columns(turned, spans_q, n_q, best)
    return min(inner_p, longest_path(best[n_q], spans_p, n_p))  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _is_zero(block: Any) -> bool:
    """Whether a block gains nothing: no class has rows enough in it."""
    for value in block:  # noqa: SIM110
        if value != 0.0:
            return False
    return True


@njit(cache=True, nogil=True)
def bound_block(block: Any, stage: int, shape: Any, spans: Any) -> float:
    """The nested bound of a block of a table: the attributes that come after a stage are free.

    Args:
        block: Float array, flat: the table of the attributes after `stage`.
        stage: 0 to 3: a, e, p or q are fixed.
        shape: (2, 4) int64 array: values and groups of a, e, p, q.
        spans: (n_groups, 2) int64 array, the groups of a, e, p and q, one after the other.
    """
    if stage == 3:
        return block[0]  # type: ignore[no-any-return]
    if _is_zero(block):
        return 0.0
    g_a, g_e, g_p, g_q = shape[1]
    of_p, of_q = spans[g_a + g_e : g_a + g_e + g_p], spans[g_a + g_e + g_p :]
    n_p, n_q = shape[0, 2], shape[0, 3]
    if stage == 2:
        return longest_path(block, of_q, n_q)  # type: ignore[no-any-return]
    if stage == 1:
        return pair_bound(block.reshape((g_p, g_q)), of_p, n_p, of_q, n_q)  # type: ignore[no-any-return]
    of_e, n_e = spans[g_a : g_a + g_e], shape[0, 1]
    # The path of e inside: it may depend on the groups of both p and q.
    best = np.empty((n_e + 1, g_p * g_q))
    paths_of_columns(block.reshape((g_e, g_p * g_q)), of_e, n_e, best)
    inside = pair_bound(best[n_e].reshape((g_p, g_q)), of_p, n_p, of_q, n_q)
    outside = np.empty(g_e)
    for e in range(g_e):
        own = block[e * g_p * g_q : (e + 1) * g_p * g_q]
        outside[e] = 0.0 if _is_zero(own) else pair_bound(own.reshape((g_p, g_q)), of_p, n_p, of_q, n_q)
    return min(inside, longest_path(outside, of_e, n_e))  # type: ignore[no-any-return]
