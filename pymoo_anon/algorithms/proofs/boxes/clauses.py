"""Clauses over boxes of a lattice: what refuted nodes demand, and what that costs at least.

A maximal refuted node z says of every node x that is not refuted: some level of x is above z's. The levels that can
still rise that far are the clause's literals.
"""

from __future__ import annotations

import numpy as np

from pymoo_anon.algorithms.proofs.boxes.arrays import N_CLAUSES, WORK
from pymoo_anon.algorithms.proofs.boxes.nodes import holds, pack
from pymoo_anon.engine.compiled import njit


@njit(cache=True, nogil=True)
def collect(y, u, packed_y, lattice, clauses, state):  # type: ignore[no-untyped-def]
    """Find the clauses that a box's lowest node breaks, and raise it where only one level can satisfy one.

    Args:
        y: (d,) int64, the lowest node, raised in place.
        u: (d,) int64, the highest node.
        packed_y: (n_words,) uint64, the lowest node in words, raised in place.
        lattice: `Lattice`.
        clauses: `Clauses`.
        state: `State`; the clauses are written.

    Returns:
        How many clauses there are, or -1 where the box has no node that satisfies them all.
    """
    n = np.int64(0)
    c = np.int64(0)
    n_clauses = state.counts[N_CLAUSES]
    # Invariant: clauses before c are satisfied by y, or among the n that are written.
    while c < n_clauses:
        if not holds(clauses.packed[c], packed_y, lattice.guards):
            c += 1
            continue
        n_literals, literal = 0, 0
        for j in range(len(y)):
            if clauses.levels[c, j] < u[j]:
                n_literals += 1
                literal = j
        if n_literals == 0:
            return -1
        if n_literals == 1:
            y[literal] = np.int64(clauses.levels[c, literal]) + 1
            pack(y, packed_y, lattice)
        else:
            state.violated[n, 0], state.violated[n, 1] = c, n_literals
            n += 1
        c += 1
    # Where y was raised, it may satisfy clauses that were written before.
    kept = np.int64(0)
    for i in range(n):
        c = state.violated[i, 0]
        if holds(clauses.packed[c], packed_y, lattice.guards):
            state.violated[kept, 0], state.violated[kept, 1] = c, state.violated[i, 1]
            kept += 1
    state.counts[WORK] += n_clauses // 8 + kept
    return kept


@njit(cache=True, nogil=True)
def ascend(y, u, n, enough, lattice, clauses, state):  # type: ignore[no-untyped-def]
    """What nodes of a box cost at least beyond the floor of its lowest one, by dual ascent over the broken clauses.

    Each clause in turn is paid as much as its cheapest literal has left of its cost, and all its literals are charged
    with that. No node is charged more than it costs, and it satisfies every clause, so it costs the sum at least.

    Args:
        y: (d,) int64, the lowest node.
        u: (d,) int64, the highest node.
        n: How many broken clauses are written.
        enough: Where to stop.
        lattice: `Lattice`.
        clauses: `Clauses`.
        state: `State`; what is left of the costs is written.

    Returns:
        The cost, and the clause to branch on: of those with the fewest literals the one whose cheapest costs most.
    """
    left, suffix = state.costs[0], state.costs[1]
    for j in range(len(y)):
        for level in range(y[j], u[j] + 1):
            left[j, level] = suffix[j, level] = lattice.least[j, level] - lattice.least[j, y[j]]
    cost, fewest, branch, dearest = 0.0, 1 << 60, np.int64(-1), -1.0
    n_literals = 2
    # Invariant: all clauses of fewer literals are paid.
    while n_literals <= len(y):
        following = 1 << 60
        for i in range(n):
            if state.violated[i, 1] != n_literals:
                if state.violated[i, 1] > n_literals:
                    following = min(following, state.violated[i, 1])
                continue
            c = state.violated[i, 0]
            slack, cheapest = np.inf, np.inf
            for j in range(len(y)):
                z = np.int64(clauses.levels[c, j])
                if z < u[j]:
                    slack = min(slack, suffix[j, z + 1])
                    cheapest = min(cheapest, lattice.least[j, z + 1] - lattice.least[j, y[j]])
            if n_literals < fewest or (n_literals == fewest and cheapest > dearest):
                fewest, branch, dearest = n_literals, c, cheapest
            if slack > 0:
                cost += slack
                _charge(c, slack, y, u, clauses, state)
        if cost >= enough:
            break
        n_literals = following
    return cost, branch


@njit(cache=True, nogil=True)
def _charge(c, slack, y, u, clauses, state):  # type: ignore[no-untyped-def]
    """Charge all literals of a clause."""
    left, suffix = state.costs[0], state.costs[1]
    for j in range(len(y)):
        z = np.int64(clauses.levels[c, j])
        if z >= u[j]:
            continue
        for level in range(z + 1, u[j] + 1):
            left[j, level] -= slack
            suffix[j, level] -= slack
        least = suffix[j, z + 1]
        for level in range(z, y[j] - 1, -1):
            least = min(least, left[j, level])
            suffix[j, level] = least
