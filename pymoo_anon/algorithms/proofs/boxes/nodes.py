"""Nodes of a lattice in packed words, and what one of them is worth: grouping that stops where a node is refuted."""

from __future__ import annotations

import numpy as np

from pymoo_anon.algorithms.proofs.boxes.arrays import COMPLETE, DISTINCT, EVALUATED, LIMIT, ROWS, VIOLATING_K, WORK
from pymoo_anon.engine.compiled import njit

_U = np.uint64

# 2^64 divided by the golden ratio: multiplication by it spreads neighbouring keys over the upper bits (Knuth).
_SPREAD = _U(0x9E3779B97F4A7C15)

# An epoch and the number of a class share a slot.
_NUMBERS = 1 << 32


@njit(cache=True, nogil=True)
def pack(node, packed, lattice):  # type: ignore[no-untyped-def]
    """Write a node's levels into its words."""
    packed[:] = _U(0)
    for j in range(len(node)):
        packed[np.int64(lattice.lanes[0, j])] |= _U(node[j]) << lattice.lanes[1, j]


@njit(cache=True, nogil=True)
def unpack(packed, node, lattice):  # type: ignore[no-untyped-def]
    """Write the levels of a packed node."""
    for j in range(len(node)):
        node[j] = np.int64((packed[np.int64(lattice.lanes[0, j])] >> lattice.lanes[1, j]) & lattice.lanes[2, j])


@njit(cache=True, nogil=True)
def holds(general, special, guards):  # type: ignore[no-untyped-def]
    """Whether the first packed node is a generalization of the second, or it.

    A lane's guard bit survives the subtraction where its level is not the smaller one, and no lane borrows from
    another.
    """
    held = True
    for w in range(len(guards)):
        held &= ((general[w] | guards[w]) - special[w]) & guards[w] == guards[w]
    return held


@njit(cache=True, nogil=True)
def place_of(packed, n_places):  # type: ignore[no-untyped-def]
    """Where a packed node stands in a table of a power of two places."""
    mixed = _U(0)
    for w in range(len(packed)):
        mixed = (mixed ^ packed[w]) * _SPREAD
        mixed ^= mixed >> _U(29)
    return np.int64(mixed & _U(n_places - 1))


@njit(cache=True, nogil=True)
def floor_of(node, floors):  # type: ignore[no-untyped-def]
    """Sum of the floors of a node's levels, in the order of the attributes."""
    total = 0.0
    for j in range(len(node)):
        total += floors[j, node[j]]
    return total


@njit(cache=True, nogil=True)
def evaluate(node, k, rows, table, classes, state):  # type: ignore[no-untyped-def]
    """Group the table by a node, and tell whether it is refuted for a k: it and all of its specializations.

    Keys are sums of different multiples, so that equal keys mean equal groups in every attribute: nothing rests on a
    hash. In a node that is not refuted at most `limit` tuples are in classes that are too small or have too few
    sensitive values. The other classes have k tuples. So there are at most limit + rows / k classes, and grouping stops
    as soon as there are more.

    Args:
        node: (d,) int64.
        k: The k that is asked for.
        rows: `Rows`: all tuples, or the classes of a specialization.
        table: `Table`.
        classes: `Classes`, written.
        state: `State`; its counts are written.

    Returns:
        The largest k for which the node is not refuted, at least the one that is asked for, or 0; the node's own k, -1
        where it breaks a constraint that is read here; its loss, rounded.
    """
    limit = table.rule[LIMIT]
    n_classes = group(node, limit + table.rule[ROWS] // max(k, 1), rows, table, classes, state)
    state.counts[EVALUATED] += 1
    if n_classes < 0:
        return 0, -1, np.inf
    gone = 0
    for c in range(n_classes):
        if not _is_diverse(classes.values[c], table.rule[DISTINCT]):
            gone += classes.sizes[c]
    if gone > limit:
        return 0, -1, np.inf
    good_k = _smallest_kept(n_classes, limit - gone, True, table, classes)
    if good_k < k:
        return 0, -1, np.inf
    own_k = good_k if table.rule[DISTINCT] <= 1 else _smallest_kept(n_classes, limit, False, table, classes)
    own_k, loss = _loss(node, n_classes, own_k, table, classes)
    return good_k, own_k, loss


@njit(cache=True, nogil=True)
def group(node, most, rows, table, classes, state):  # type: ignore[no-untyped-def]
    """Group rows by a node.

    Args:
        node: (d,) int64.
        most: How many classes there may be.
        rows: `Rows`.
        table: `Table`.
        classes: `Classes`, written.
        state: `State`; its counts are written.

    Returns:
        How many classes there are, or -1 as soon as there are more.
    """
    n_active = 0
    for j in range(len(node)):
        if table.n_groups[j, node[j]] > 1:
            classes.active[n_active] = j
            n_active += 1
    classes.active[-1] += 1
    base = classes.active[-1] * _NUMBERS
    mask, n_classes = _U(len(classes.slots) - 1), 0
    # Invariant: the rows before r are in the n_classes classes; a slot of this epoch holds one of their numbers.
    for r in range(len(rows.tuples)):
        t = rows.tuples[r]
        key = classes.keys[n_classes]
        _write_key(key, node, t, n_active, table, classes)
        mixed = key[0]
        for w in range(1, len(key)):
            mixed = (mixed ^ (mixed >> _U(31))) * _SPREAD + key[w]
        slot = ((mixed * _SPREAD) >> _U(32)) & mask
        number = classes.slots[slot] - base
        while number >= 0 and not _same(classes.keys[number], key):
            slot = (slot + _U(1)) & mask
            number = classes.slots[slot] - base
        if number < 0:
            if n_classes == most:
                state.counts[WORK] += r
                return -1
            number = n_classes
            classes.slots[slot] = base + number
            classes.sizes[number], classes.values[number], classes.firsts[number] = 0, _U(0), t
            n_classes += 1
        classes.sizes[number] += rows.counts[r]
        classes.values[number] |= rows.values[r]
    state.counts[WORK] += len(rows.tuples)
    return n_classes


@njit(cache=True, nogil=True)
def _write_key(key, node, t, n_active, table, classes):  # type: ignore[no-untyped-def]
    """Write the key of a tuple: its groups in the attributes that have more than one."""
    key[:] = _U(0)
    for a in range(n_active):
        j = classes.active[a]
        cell = table.starts[j, node[j]] + table.codes[t, j]
        for w in range(len(key)):
            key[w] += table.keys[w, cell]


@njit(cache=True, nogil=True)
def _same(first, second):  # type: ignore[no-untyped-def]
    same = True
    for w in range(len(first)):
        same &= first[w] == second[w]
    return same


@njit(cache=True, nogil=True)
def _is_diverse(values, distinct):  # type: ignore[no-untyped-def]
    """Whether a set of sensitive values, given as bits, has so many."""
    if distinct <= 1:
        return True
    n = 0
    while values:
        values &= values - _U(1)
        n += 1
    return n >= distinct


@njit(cache=True, nogil=True)
def _smallest_kept(n_classes, limit, diverse, table, classes):  # type: ignore[no-untyped-def]
    """The smallest size for which classes of at most this size hold more than `limit` tuples; else all rows.

    Args:
        n_classes: How many classes there are.
        limit: Number of tuples.
        diverse: Whether only classes with enough sensitive values count.
        table: `Table`.
        classes: `Classes`.
    """
    beyond = table.rule[ROWS]
    tally, k = classes.tally, beyond
    for c in range(n_classes):
        size = classes.sizes[c]
        if diverse and not _is_diverse(classes.values[c], table.rule[DISTINCT]):
            continue
        if size <= limit:
            tally[size] += size
        elif size < k:
            k = size
    total = 0
    for size in range(1, limit + 1):
        total += tally[size]
        if total > limit:
            k = size
            break
    tally[: limit + 1] = 0
    return k


@njit(cache=True, nogil=True)
def _loss(node, n_classes, k, table, classes):  # type: ignore[no-untyped-def]
    """A node's own k, or -1 where it surely breaks a constraint, and its loss, or less where more is suppressed.

    Args:
        node: (d,) int64.
        n_classes: How many classes there are.
        k: The size below which classes are suppressed under `AtMost`.
        table: `Table`.
        classes: `Classes`.
    """
    violating, distinct = table.rule[VIOLATING_K], table.rule[DISTINCT]
    suppressed, own_k, added, breaks = 0, table.rule[ROWS], 0.0, False
    for c in range(n_classes):
        diverse = _is_diverse(classes.values[c], distinct)
        if violating > 0:
            gone = classes.sizes[c] < violating or not diverse
        else:
            gone = classes.sizes[c] < k
            breaks |= not gone and not diverse
        if not gone:
            own_k = min(own_k, classes.sizes[c])
            continue
        suppressed += classes.sizes[c]
        t = classes.firsts[c]
        left = table.left[t]
        for j in range(len(node)):
            left += table.more[table.starts[j, node[j]] + table.codes[t, j]]
        added += left * classes.sizes[c]
    if breaks or suppressed > table.rule[LIMIT]:
        own_k = -1
    elif violating > 0 and not table.rule[COMPLETE]:
        # Other constraints suppress more classes, so that k may be larger.
        own_k = table.rule[ROWS]
    return own_k, floor_of(node, table.floors) + added
