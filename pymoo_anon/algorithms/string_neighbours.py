"""Neighbours of bit strings: one attribute's cut changes by one merge or one split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.problems.bitstrings import Bits, BitStringProblem


def neighbours(problem: BitStringProblem, x: Bits) -> Bits:
    """(n, n_var) Boolean array: the valid strings that are one merge or one split away.

    Where there is a taxonomy, a node whose children are groups becomes one group, or a group becomes its children.
    Elsewhere one bit flips: two groups that stand side by side become one, or a group becomes two.

    Args:
        problem: The problem.
        x: (n_var,) Boolean array, a valid string.
    """
    found = []
    for name in problem.table.quasi_identifiers:
        own = problem.bits_of(name)
        if name in problem.taxonomies:
            changed = _of_cut(problem.taxonomies[name].spans, x[own])
        else:
            changed = x[own] ^ np.eye(own.stop - own.start, dtype=bool)
        strings = np.repeat(x[np.newaxis], len(changed), axis=0)
        strings[:, own] = changed
        found.append(strings)
    return np.concatenate(found)


def _of_cut(spans: NDArray[np.int64], bits: Bits) -> Bits:
    """(n, n_bits) Boolean array: the cuts of a tree that are one merge or one split away from a cut."""
    edges = np.concatenate([[0], np.flatnonzero(bits) + 1, [len(bits) + 1]])
    groups = set(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    made = []
    for node, (first, last, end) in enumerate(spans.tolist()):
        children, child = [], node + 1
        while child < end:
            children.append((int(spans[child, 0]), int(spans[child, 1])))
            child = int(spans[child, 2])
        # A bit stands between the last value of a child and the first of the next.
        between = [low - 1 for low, _ in children[1:]]
        if between and ((first, last) in groups or groups.issuperset(children)):
            made.append(bits.copy())
            made[-1][between] ^= True
    return np.array(made, dtype=bool).reshape(len(made), len(bits))
