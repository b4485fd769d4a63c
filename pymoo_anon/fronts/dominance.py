"""Dominance among points and boxes, all values minimised."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.compiled import njit


@njit(cache=True, nogil=True, allocates=False, inner=True)
def box_of(value, side, maximised):  # type: ignore[no-untyped-def]
    """The box of a value on the grid of one objective, minimised.

    What only rounding tells from a line lies on it: of the value, a measure or a bound that is a sum of some terms, of
    the side that was written, and of their quotient. Boxes never fall as values rise, so one of a bound is a bound.
    """
    place = value / side
    line = np.rint(place)
    if abs(place - line) > 2.0**-45 * abs(line):
        line = np.ceil(place) if maximised else np.floor(place)
    # Adding 0 turns -0, which ceil makes of -0.5, into 0.
    return line + 0.0


@njit(cache=True, nogil=True)
def boxes_of(F, sides, maximised):  # type: ignore[no-untyped-def]
    """(n, n_obj) float array: the boxes of points, as `box_of` has each."""
    found = np.empty(F.shape)
    for i in range(F.shape[0]):
        for o in range(F.shape[1]):
            found[i, o] = box_of(F[i, o], sides[o], maximised[o])
    return found


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _dominates(a, b):  # type: ignore[no-untyped-def]
    """Whether a is nowhere worse than b and somewhere better."""
    better = False
    for o in range(len(a)):
        if a[o] > b[o]:
            return False
        better |= a[o] < b[o]
    return better


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _equal(a, b):  # type: ignore[no-untyped-def]
    """Whether a and b are the same point."""
    for o in range(len(a)):  # noqa: SIM110
        if a[o] != b[o]:
            return False
    return True


@njit(cache=True, nogil=True)
def update_boxes(F, boxes, n_members):  # type: ignore[no-untyped-def]
    """Offer candidates to an archive of boxes, one after the other; its first rows are the members so far.

    This is Algorithm 1 of Dewri et al. 2010; the steps are numbered as the paper prints them. Returned are the numbers
    of the rows that are members afterwards, in the order in which they came.
    """
    members = np.empty(len(F), dtype=np.int64)
    for m in range(n_members):
        members[m] = m
    n = n_members
    # members[:n] is the archive after the candidates so far, in the order in which they came. Step 1, the first
    # candidate, is step 6 with an empty archive.
    for candidate in range(n_members, len(F)):
        stands_in_its_way = False
        kept = 0
        # members[:kept] are those of members[:m] that stay. As kept <= m, no member is overwritten before it is read.
        for m in range(n):
            member = members[m]
            same_box = _equal(boxes[candidate], boxes[member])
            # Box-dominance: among values in the same box, among boxes otherwise.
            values = F if same_box else boxes
            # Steps 2 and 3: a member that the candidate box-dominates leaves.
            if not _dominates(values[candidate], values[member]):
                members[kept] = member
                kept += 1
                # Steps 4 and 5: what is left in S_dominated, or in S_box.
                stands_in_its_way |= same_box or _dominates(boxes[member], boxes[candidate])
        n = kept
        # Step 6.
        if not stands_in_its_way:
            members[n] = candidate
            n += 1
    # Step 7.
    return members[:n].copy()


@njit(cache=True, nogil=True)
def dominance_fitness(F):  # type: ignore[no-untyped-def]
    """(n,) int64 array: for every point the sum, over the points that dominate it, of how many points those dominate.

    Lower is better; non-dominated points have 0 (Dewri et al. 2010, step 5 of Algorithm 2, after SPEA2): dom_P of every
    P, and then the sum of dom_P' over the P' that dominate P.
    """
    n = len(F)
    dominates = np.zeros((n, n), dtype=np.bool_)
    # n_dominated[a] is dom_a: how many of the points b so far a dominates.
    n_dominated = np.zeros(n, dtype=np.int64)
    for a in range(n):
        for b in range(n):
            if a != b and _dominates(F[a], F[b]):
                dominates[a, b] = True
                n_dominated[a] += 1
    fitness = np.zeros(n, dtype=np.int64)
    # fitness[b] is the sum of dom_a over the a so far that dominate b.
    for a in range(n):
        if n_dominated[a] > 0:
            for b in range(n):
                if dominates[a, b]:
                    fitness[b] += n_dominated[a]
    return fitness
