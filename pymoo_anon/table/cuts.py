"""Bit strings: cuts of trees, and crossover at shared ones.

The trees over the strings are given as spans: an (n_nodes, 3) int64 array in preorder with the first leaf of a node,
the leaf after its last, and the place after the last node below it. Bit i stands between leaves i and i + 1. Several
trees stand one after the other; bits that no tree covers are free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import njit

Bits = NDArray[np.bool_]


def valid_cuts(strings: Bits, spans: NDArray[np.int64]) -> Bits:
    """(n,) Boolean array: whether strings are cuts of all trees."""
    valid: Bits = _valid_cuts(strings, spans)
    return valid


def random_cuts(
    strings: Bits, spans: NDArray[np.int64], merges: NDArray[np.float64], draws: NDArray[np.float64]
) -> Bits:
    """Random cuts of all trees; bits that no tree covers stay as they are.

    Returns:
        (n, n_bits) Boolean array.
    """
    cuts: Bits = _random_cuts(strings, spans, merges, draws)
    return cuts


def closest_cuts(strings: Bits, spans: NDArray[np.int64], draws: NDArray[np.float64]) -> Bits:
    """The cuts of all trees that are nearest to bit strings by Hamming distance, ties decided by draws.

    Returns:
        (n, n_bits) Boolean array.
    """
    cuts: Bits = _closest_cuts(strings, spans, draws)
    return cuts


@njit(cache=True, nogil=True)
def _closest_cuts(strings, spans, draws):  # type: ignore[no-untyped-def]
    n_nodes = len(spans)
    cuts = strings.copy()
    merge_cost = np.empty(n_nodes, dtype=np.int64)
    split_cost = np.empty(n_nodes, dtype=np.int64)
    # Logarithms of how many nearest cuts there are, in all and among those that split the node.
    ways = np.empty(n_nodes, dtype=np.float64)
    split_ways = np.empty(n_nodes, dtype=np.float64)
    for s in range(len(strings)):
        bits = strings[s]
        # Backwards in preorder, so that the costs of all children are known when their parent's are added up.
        for node in range(n_nodes - 1, -1, -1):
            first, last, end = spans[node]
            merge_cost[node] = bits[first : last - 1].sum()
            split_cost[node] = 0
            split_ways[node] = 0.0
            child = node + 1
            while child < end:
                if child > node + 1:
                    # The bit between two children is 1 where the node is split.
                    split_cost[node] += not bits[spans[child, 0] - 1]
                split_cost[node] += min(merge_cost[child], split_cost[child])
                split_ways[node] += ways[child]
                child = spans[child, 2]
            if end == node + 1 or merge_cost[node] < split_cost[node]:
                ways[node] = 0.0
            elif merge_cost[node] > split_cost[node]:
                ways[node] = split_ways[node]
            else:
                ways[node] = np.logaddexp(0.0, split_ways[node])
        # Forwards, so that a node is decided before those below it; below one group nothing is left to decide. A node
        # in a tie becomes one group with the share of that among its nearest cuts. Draws of 0 always make it one, also
        # where the share is too small for a float: hence <=.
        node = 0
        while node < n_nodes:
            merges = merge_cost[node] < split_cost[node] or (
                merge_cost[node] == split_cost[node] and draws[s, node] <= np.exp(-ways[node])
            )
            node = _decide(cuts[s], spans, node, merges)
    return cuts


@njit(cache=True, nogil=True, inline="always")
def _decide(bits, spans, node, merges):  # type: ignore[no-untyped-def]
    """Make a node one group, or keep its children apart; returns the next node to decide on."""
    first, last, end = spans[node]
    if merges:
        bits[first : last - 1] = False
        return end
    child = spans[node + 1, 2] if end > node + 1 else end
    while child < end:
        bits[spans[child, 0] - 1] = True
        child = spans[child, 2]
    return node + 1


@njit(cache=True, nogil=True)
def _random_cuts(strings, spans, merges, draws):  # type: ignore[no-untyped-def]
    cuts = strings.copy()
    for s in range(len(strings)):
        node = 0
        while node < len(spans):
            node = _decide(cuts[s], spans, node, draws[s, node] < merges[node])
    return cuts


@njit(cache=True, nogil=True)
def _valid_cuts(strings, spans):  # type: ignore[no-untyped-def]
    valid = np.ones(len(strings), dtype=np.bool_)
    for s in range(len(strings)):
        node = 0
        while valid[s] and node < len(spans):
            first, last, end = spans[node]
            if not strings[s, first : last - 1].any():
                node = end
                continue
            # A node that is no group has its children apart.
            child = spans[node + 1, 2]
            while child < end:
                valid[s] &= strings[s, spans[child, 0] - 1]
                child = spans[child, 2]
            node += 1
    return valid
