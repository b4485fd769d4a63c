"""The layers of a stored lattice: nodes of one level sum, from general to special."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.stored.covering import is_plainly_covered, stands_beside
from pymoo_anon.algorithms.proofs.stored.known import named
from pymoo_anon.engine.compiled import njit

Ints = NDArray[np.int64]


def layer_sizes(lengths: Ints) -> Ints:
    """(sum of the lengths + 1,) int64 array: how many nodes have each level sum."""
    sizes = np.ones(1, dtype=np.int64)
    for length in lengths:
        sizes = np.convolve(sizes, np.ones(int(length) + 1, dtype=np.int64))
    return sizes


@njit(cache=True, nogil=True, allocates=False)
def screen(total, lowest, highest, found, *arrays):  # type: ignore[no-untyped-def]
    """Bring bounds down to nodes of one level sum, and find those that no member plainly stands for.

    Args:
        total: The level sum; the nodes of the sum above have their bounds.
        lowest: The least level of the first attribute.
        highest: Its greatest level; with each level between the two there are such nodes.
        found: (n,) int64, written: the nodes that are left, in the order of their numbers.
        arrays: The arrays of all groups, as `known.named` takes them.

    Returns:
        How many nodes are left.
    """
    rules, _, known, members, _, scratch, _ = named(arrays)
    n_found = 0
    for first in range(lowest, highest + 1):
        n_found = _screen_level(total, first, found, n_found, rules, known, members, scratch)
    return n_found


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def _screen_level(total, first, found, n_found, rules, known, members, scratch):  # type: ignore[no-untyped-def]
    """What `screen` does with one level of the first attribute; returns how many nodes are left so far.

    Hints begin anew: bounds do not depend on how many levels one thread gets.
    """
    n_var, n_additive = len(rules.lengths), len(scratch.floors)
    x, floors, numbers = scratch.x, scratch.prefixes, scratch.numbers
    x[0] = first
    _fill(1, total - first, rules.lengths, x)
    changed, hint = 0, 0
    # Invariant: all nodes before x have their bounds, and those of them that are left were found.
    while changed >= 0:
        for j in range(changed, n_var):
            numbers[j + 1] = numbers[j] + x[j] * rules.strides[j]
            for a in range(n_additive):
                term = rules.terms[a, j, x[j]]
                # From the first attribute on, as the measure itself adds them up: the last bits have to agree.
                floors[a, j + 1] = term if j == 0 else floors[a, j] + term
        node = numbers[n_var]
        for a in range(n_additive):
            scratch.floors[a] = floors[a, n_var]
        _inherit(node, x, hint, rules, known, members, scratch)
        if not known.done[node]:
            stands = is_plainly_covered(node, hint, rules, known, members, scratch)
            if stands >= 0:
                hint = stands
            elif stands == -1:
                found[n_found] = node
                n_found += 1
        changed = _next(x, rules.lengths)
    return n_found


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def _inherit(node, x, hint, rules, known, members, scratch):  # type: ignore[no-untyped-def]
    """What no generalization can be, a node cannot be either.

    Its generalizations lie far apart in memory, and to read them is most of the work. So no more of them are read once
    the member of the hint stands for the node: the node's bounds are then true, but not the best.
    """
    for c in range(rules.amounts[3]):
        bound = known.bounds[node, c]
        for j in range(len(x)):
            if x[j] < rules.lengths[j]:
                bound = max(bound, known.bounds[node + rules.strides[j], c])
        known.bounds[node, c] = bound
    stands = hint < len(members.needs) and stands_beside(hint, node, rules, known, members, scratch)
    for h in range(known.tops.shape[1]):
        top, enough = known.tops[node, h], members.reaches[hint, h] if stands else -np.inf
        # Generalizations by the last attributes come first: they are the nearest.
        for j in range(len(x) - 1, -1, -1):
            if top <= enough:
                break
            if x[j] < rules.lengths[j]:
                top = min(top, known.tops[node + rules.strides[j], h])
        known.tops[node, h] = top


@njit(cache=True, nogil=True, allocates=False)
def _fill(start, total, lengths, x):  # type: ignore[no-untyped-def]
    """Write the lowest levels from an attribute on that have this sum: the last ones are raised first."""
    for j in range(len(lengths) - 1, start - 1, -1):
        x[j] = min(lengths[j], total)
        total -= x[j]


@njit(cache=True, nogil=True, allocates=False)
def _next(x, lengths):  # type: ignore[no-untyped-def]
    """Make x the next node of its level sum, with the same first level.

    Returns:
        The first attribute that changed, or -1 after the last node.
    """
    behind = 0
    # Invariant: the levels behind j have the sum `behind`, and are as high as they get from the first of them on.
    for j in range(len(x) - 1, 0, -1):
        if x[j] < lengths[j] and behind > 0:
            x[j] += 1
            _fill(j + 1, behind - 1, lengths, x)
            return j
        behind += x[j]
    return -1
