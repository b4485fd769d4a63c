"""Dominance among points and boxes, all values minimised."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit


@kernel
def _dominates(a, b):  # type: ignore[no-untyped-def]
    better = False
    for o in range(len(a)):
        if a[o] > b[o]:
            return False
        better |= a[o] < b[o]
    return better


@kernel
def _equal(a, b):  # type: ignore[no-untyped-def]
    for o in range(len(a)):  # noqa: SIM110
        if a[o] != b[o]:
            return False
    return True


@njit()
def update_boxes(F, boxes, n_members):  # type: ignore[no-untyped-def]
    """Offer points to a box archive (Dewri et al. 2010, Algorithm 1).

    The comments number the steps as the paper does.

    Args:
        F: (n, n_obj) float array: the values of the members so far, then of the candidates.
        boxes: (n, n_obj) float array: their boxes.
        n_members: Number of members so far.

    Returns:
        (m,) int64 array, the rows that are members afterwards, in their order.
    """
    members = np.empty(len(F), dtype=np.int64)
    for m in range(n_members):
        members[m] = m
    n = n_members
    # Invariant: members[:n] is the archive after the candidates so far, in their order. Step 1, the first candidate, is
    # step 6 with an empty archive.
    for candidate in range(n_members, len(F)):
        refused = False
        kept = 0
        # Invariant: members[:kept] are the rows of members[:m] that stay. As kept <= m, each is read before it is
        # overwritten.
        for m in range(n):
            member = members[m]
            same_box = _equal(boxes[candidate], boxes[member])
            # Box-dominance compares the values of points in one box, and otherwise their boxes.
            values = F if same_box else boxes
            # Steps 2 and 3: a member that the candidate box-dominates leaves.
            if not _dominates(values[candidate], values[member]):
                members[kept] = member
                kept += 1
                # Steps 4 and 5: a member that stays, in the same box or box-dominating, refuses the candidate.
                refused |= same_box or _dominates(boxes[member], boxes[candidate])
        n = kept
        # Step 6.
        if not refused:
            members[n] = candidate
            n += 1
    # Step 7.
    return members[:n].copy()


@njit()
def dominance_fitness(F):  # type: ignore[no-untyped-def]
    """Return the (n,) int64 dominance-count fitness of points.

    Lower is better. dom_P is the number of points that P dominates. The fitness of P is the sum of dom_P' over all P'
    that dominate P, and 0 for a non-dominated point (Dewri et al. 2010, step 5 of Algorithm 2, after SPEA2).
    """
    n = len(F)
    dominates = np.zeros((n, n), dtype=np.bool_)
    # Invariant: n_dominated[a] is the number of points b so far that a dominates.
    n_dominated = np.zeros(n, dtype=np.int64)
    for a in range(n):
        for b in range(n):
            if a != b and _dominates(F[a], F[b]):
                dominates[a, b] = True
                n_dominated[a] += 1
    fitness = np.zeros(n, dtype=np.int64)
    # Invariant: fitness[b] is the sum of dom_a over all a so far that dominate b.
    for a in range(n):
        if n_dominated[a] > 0:
            for b in range(n):
                if dominates[a, b]:
                    fitness[b] += n_dominated[a]
    return fitness
