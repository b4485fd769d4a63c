"""Clauses over boxes of a lattice: what refuted nodes demand, what that costs at least, and how they are learnt.

A maximal refuted node z says of every node x that is not refuted: some level of x is above z's. The levels that can
still rise that far are the clause's literals.
"""

from __future__ import annotations

import numpy as np

from pymoo_anon.algorithms.proofs.box_arrays import N_CLAUSES, N_FOUND, N_GOOD, OLDEST, WORK, K
from pymoo_anon.algorithms.proofs.box_nodes import evaluate, holds, pack, place_of
from pymoo_anon.engine.compiled import njit


@njit(cache=True, nogil=True)
def collect(y, u, packed_y, space, learnt, scratch):  # type: ignore[no-untyped-def]
    """Find the clauses that a box's lowest node breaks, and raise it where only one level can satisfy one.

    Args:
        y: (d,) int64, the lowest node, raised in place.
        u: (d,) int64, the highest node.
        packed_y: (n_words,) uint64, the lowest node in words, raised in place.
        space: `Space`.
        learnt: `Learnt`.
        scratch: `Scratch`; the clauses are written.

    Returns:
        How many clauses there are, or -1 where the box has no node that satisfies them all.
    """
    n = np.int64(0)
    c = np.int64(0)
    n_clauses = scratch.counts[N_CLAUSES]
    # Invariant: clauses before c are satisfied by y, or among the n that are written.
    while c < n_clauses:
        if not holds(learnt.clauses[c], packed_y, space.guards):
            c += 1
            continue
        n_literals, literal = 0, 0
        for j in range(len(y)):
            if learnt.levels[c, j] < u[j]:
                n_literals += 1
                literal = j
        if n_literals == 0:
            return -1
        if n_literals == 1:
            y[literal] = np.int64(learnt.levels[c, literal]) + 1
            pack(y, packed_y, space)
        else:
            scratch.violated[n], scratch.n_literals[n] = c, n_literals
            n += 1
        c += 1
    # Where y was raised, it may satisfy clauses that were written before.
    kept = np.int64(0)
    for i in range(n):
        c = scratch.violated[i]
        if holds(learnt.clauses[c], packed_y, space.guards):
            scratch.violated[kept], scratch.n_literals[kept] = c, scratch.n_literals[i]
            kept += 1
    scratch.counts[WORK] += n_clauses // 8 + kept
    return kept


@njit(cache=True, nogil=True)
def ascend(y, u, n, enough, space, learnt, scratch):  # type: ignore[no-untyped-def]
    """What nodes of a box cost at least beyond the floor of its lowest one, by dual ascent over the broken clauses.

    Each clause in turn is paid as much as its cheapest literal has left of its cost, and all its literals are charged
    with that. No node is charged more than it costs, and it satisfies every clause, so it costs the sum at least.

    Args:
        y: (d,) int64, the lowest node.
        u: (d,) int64, the highest node.
        n: How many broken clauses are written.
        enough: Where to stop.
        space: `Space`.
        learnt: `Learnt`.
        scratch: `Scratch`; what is left of the costs is written.

    Returns:
        The cost, and the clause to branch on: of those with the fewest literals the one whose cheapest costs most.
    """
    left, suffix = scratch.left, scratch.suffix
    for j in range(len(y)):
        for level in range(y[j], u[j] + 1):
            left[j, level] = suffix[j, level] = space.least[j, level] - space.least[j, y[j]]
    cost, fewest, branch, dearest = 0.0, 1 << 60, np.int64(-1), -1.0
    n_literals = 2
    # Invariant: all clauses of fewer literals are paid.
    while n_literals <= len(y):
        following = 1 << 60
        for i in range(n):
            if scratch.n_literals[i] != n_literals:
                if scratch.n_literals[i] > n_literals:
                    following = min(following, scratch.n_literals[i])
                continue
            c = scratch.violated[i]
            slack, cheapest = np.inf, np.inf
            for j in range(len(y)):
                z = np.int64(learnt.levels[c, j])
                if z < u[j]:
                    slack = min(slack, suffix[j, z + 1])
                    cheapest = min(cheapest, space.least[j, z + 1] - space.least[j, y[j]])
            if n_literals < fewest or (n_literals == fewest and cheapest > dearest):
                fewest, branch, dearest = n_literals, c, cheapest
            if slack > 0:
                cost += slack
                _charge(c, slack, y, u, learnt, scratch)
        if cost >= enough:
            break
        n_literals = following
    return cost, branch


@njit(cache=True, nogil=True)
def _charge(c, slack, y, u, learnt, scratch):  # type: ignore[no-untyped-def]
    """Charge all literals of a clause."""
    left, suffix = scratch.left, scratch.suffix
    for j in range(len(y)):
        z = np.int64(learnt.levels[c, j])
        if z >= u[j]:
            continue
        for level in range(z + 1, u[j] + 1):
            left[j, level] -= slack
            suffix[j, level] -= slack
        least = suffix[j, z + 1]
        for level in range(z, y[j] - 1, -1):
            least = min(least, left[j, level])
            suffix[j, level] = least


@njit(cache=True, nogil=True)
def look_up(node, space, classes, learnt, scratch):  # type: ignore[no-untyped-def]
    """What a node is worth, as `evaluate` says, out of memory where it was evaluated before.

    A node that no member of the front is as good as is found: written once for the caller to evaluate.

    Args:
        node: (d,) int64.
        space: `Space`.
        classes: `Classes`.
        learnt: `Learnt`; what was not known is written.
        scratch: `Scratch`, written.

    Returns:
        The largest k for which it is not refuted, which may be less than the one asked for.
    """
    k, packed = scratch.counts[K], scratch.packed[3]
    pack(node, packed, space)
    place = place_of(packed, len(learnt.known))
    known = learnt.known_k[place]
    same = known[0] > 0
    for w in range(len(packed)):
        same &= learnt.known[place, w] == packed[w]
    if not same:
        good_k, own_k, loss = evaluate(node, k, space, classes, scratch)
        if good_k < k:
            return good_k
        learnt.known[place], learnt.known_loss[place] = packed, loss
        known[0], known[1], known[2] = good_k, own_k, 0
        _note_good(packed, good_k, learnt, scratch)
    if known[2] == 0 and known[1] >= k and scratch.counts[N_FOUND] < len(scratch.found):
        # A little less, so that the rounding of the sum hides nothing.
        loss = learnt.known_loss[place]
        if loss - 1e-12 * abs(loss) < _best_at(known[1], scratch):
            scratch.found[scratch.counts[N_FOUND]] = node
            scratch.counts[N_FOUND] += 1
            known[2] = 1
    return known[0]


@njit(cache=True, nogil=True)
def _best_at(k, scratch):  # type: ignore[no-untyped-def]
    """The least loss of members with at least this k."""
    place = np.searchsorted(scratch.front_k, k)
    return scratch.front_loss[place] if place < len(scratch.front_k) else np.inf


@njit(cache=True, nogil=True)
def _note_good(packed, good_k, learnt, scratch):  # type: ignore[no-untyped-def]
    """Keep a node that is not refuted, in place of the oldest one where there is no room."""
    place = scratch.counts[N_GOOD] % len(learnt.good)
    learnt.good[place] = packed
    learnt.good_k[place] = good_k
    scratch.counts[N_GOOD] += 1


@njit(cache=True, nogil=True)
def _is_refuted(node, space, classes, learnt, scratch):  # type: ignore[no-untyped-def]
    """Whether a node is refuted for the k that is asked for; known where a specialization of it is not."""
    packed = scratch.packed[2]
    pack(node, packed, space)
    n_good = min(scratch.counts[N_GOOD], len(learnt.good))
    scratch.counts[WORK] += n_good // 8
    for g in range(n_good):
        if learnt.good_k[g] >= scratch.counts[K] and holds(packed, learnt.good[g], space.guards):
            return False
    return look_up(node, space, classes, learnt, scratch) < scratch.counts[K]


@njit(cache=True, nogil=True)
def learn(y, order, space, classes, learnt, scratch):  # type: ignore[no-untyped-def]
    """Grow a refuted node to a maximal one, one attribute after the other by bisection, and keep it as a clause.

    Args:
        y: (d,) int64, a refuted node.
        order: (d,) int64, the attributes in the order in which they rise as far as they can.
        space: `Space`.
        classes: `Classes`.
        learnt: `Learnt`, written.
        scratch: `Scratch`, written.
    """
    z, packed = scratch.nodes[4], scratch.packed[1]
    z[:] = y
    for j in order:
        low, high = z[j], space.lengths[j]
        middle = high
        # Invariant: with level `low` the node is refuted, with a level above `high` it is not.
        while low < high:
            z[j] = middle
            if _is_refuted(z, space, classes, learnt, scratch):
                low = middle
            else:
                high = middle - 1
            middle = (low + high + 1) // 2
        z[j] = low
    pack(z, packed, space)
    n, room = scratch.counts[N_CLAUSES], len(learnt.clauses)
    for c in range(n):
        if holds(learnt.clauses[c], packed, space.guards):
            return
    place = n
    if n < room:
        scratch.counts[N_CLAUSES] += 1
    else:
        place = scratch.counts[OLDEST] % room
        scratch.counts[OLDEST] += 1
    learnt.clauses[place] = packed
    for j in range(len(z)):
        learnt.levels[place, j] = z[j]


@njit(cache=True, nogil=True)
def by_cost(y, space, order):  # type: ignore[no-untyped-def]
    """Order attributes by what their highest level costs beyond a node's: cheap literals are to vanish first.

    Args:
        y: (d,) int64, the node.
        space: `Space`.
        order: (d,) int64, written.
    """
    for j in range(len(y)):
        order[j] = j
        b = j
        while b > 0 and _rise(order[b - 1], y, space) > _rise(order[b], y, space):
            order[b - 1], order[b] = order[b], order[b - 1]
            b -= 1


@njit(cache=True, nogil=True)
def _rise(j, y, space):  # type: ignore[no-untyped-def]
    return space.least[j, space.lengths[j]] - space.least[j, y[j]]
