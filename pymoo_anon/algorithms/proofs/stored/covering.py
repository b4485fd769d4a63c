"""Whether the front stands for everything that a node can still be: thresholds rise until nothing is left.

A threshold is a value of a node that suppression pays for: k, distinct l, k in persons, or the number of suppressed
rows, where sums of squares are measured. Let a node's thresholds be above r. Then every tuple whose class has at most r
in some evaluated generalization is suppressed, since its class in the node has no more. These tuples are more than the
limit: the node cannot be above r. Otherwise their losses come on top of the floors, and members that are no worse in
all else stand for the node up to their own thresholds. So r rises to those, more tuples are suppressed, and so on. The
node is settled where r leaves nothing, and stays open where no member stands for it.
"""

from __future__ import annotations

import numpy as np

from pymoo_anon.algorithms.proofs.stored.known import ADDITIVE, MAJORITY, SQUARES, THRESHOLD
from pymoo_anon.engine.compiled import njit

# An index of this type cannot be negative, so that numba leaves out the test whether it counts from the end.
_U = np.uint64


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def prepare(node, rules, known, scratch):  # type: ignore[no-untyped-def]
    """Write the levels and floors of a node, and forget the touched tuples."""
    rest = node
    for j in range(len(rules.strides)):
        scratch.x[j] = rest // rules.strides[j]
        rest -= scratch.x[j] * rules.strides[j]
    for a in range(len(scratch.floors)):
        # From the first attribute on, as the measure itself adds them up: the last bits have to agree.
        floor = rules.terms[a, 0, scratch.x[0]]
        for j in range(1, len(rules.strides)):
            floor += rules.terms[a, j, scratch.x[j]]
        scratch.floors[a] = floor
    for o in range(len(rules.kinds)):
        if rules.kinds[o] == SQUARES:
            scratch.squares[rules.places[o]] = -known.bounds[node, rules.columns[o]]
    scratch.marked[:] = 0
    scratch.touched[-1] = 0


@njit(cache=True, nogil=True, allocates=False)
def write_down(e, x, lengths, levels, reached):  # type: ignore[no-untyped-def]
    """Write the levels of a node that has become evidence, where `gather` looks for them."""
    bit = np.uint64(1) << np.uint64(63 - e % 64)
    step = 0
    for j in range(len(x)):
        levels[e, j] = x[j]
        for level in range(1, lengths[j] + 1):
            if level <= x[j]:
                reached[step, e // 64] |= bit
            else:
                # An interrupted call may have left it there.
                reached[step, e // 64] &= ~bit
            step += 1


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def gather(n_evidence, x, lengths, reached, words, accepted):  # type: ignore[no-untyped-def]
    """Gather the evidence of all generalizations of a node, the latest first.

    Args:
        n_evidence: How much evidence there is.
        x: (n_var,) int64, the levels of the node.
        lengths: (n_var,) int64, the greatest levels.
        reached: As in `Evidence`.
        words: (n_evidence / 64,) uint64 or longer, scratch.
        accepted: (n_evidence,) int64 or longer, written.

    Returns:
        How much was gathered.
    """
    n_words = (n_evidence + 63) // 64
    words[:n_words] = ~np.uint64(0)
    step = 0
    for j in range(len(x)):
        if x[j] > 0:
            row = reached[step + x[j] - 1]
            for w in range(n_words):
                words[w] &= row[w]
        step += lengths[j]
    # All nodes have the lowest levels, also those that are not there yet.
    if n_evidence % 64 > 0:
        words[n_words - 1] &= ~np.uint64(0) << np.uint64(64 - n_evidence % 64)
    n = 0
    for w in range(n_words - 1, -1, -1):
        word = words[w]
        # Invariant: the bits of the nodes that are gathered are cleared in `word`.
        while word > 0:
            low = word & (~word + np.uint64(1))
            # The exponent of a power of two is its place among the bits. A float holds it, plus 1023, behind 52 bits.
            place = (np.float64(low).view(np.int64) >> 52) - 1023
            accepted[n] = 64 * w + 63 - place
            n += 1
            word ^= low
    return n


@njit(cache=True, nogil=True, allocates=False)
def is_above(one, other):  # type: ignore[no-untyped-def]
    """Whether one node is a generalization of another, or the same."""
    j = 0
    while j < len(one) and one[j] >= other[j]:
        j += 1
    return j == len(one)


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def mark(t, marked):  # type: ignore[no-untyped-def]
    """Set the bit of a tuple, by its number as uint64; returns 1 where it was not set, else 0."""
    place = t & _U(63)
    word = marked[t >> _U(6)]
    marked[t >> _U(6)] = word | (_U(1) << place)
    return (~word >> place) & _U(1)


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def touch(t, scratch):  # type: ignore[no-untyped-def]
    """Make room for what is known of a tuple's classes; returns whether there was none."""
    if mark(_U(t), scratch.marked) == _U(0):
        return False
    for h in range(len(scratch.env)):
        scratch.env[h, t] = np.inf
    scratch.touched[scratch.touched[-1]] = t
    scratch.touched[-1] += 1
    return True


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def is_covered(node, rules, cells, nodes, members, scratch):  # type: ignore[no-untyped-def]
    """Whether the members stand for all that a node can be, or it breaks a constraint.

    With several thresholds the first one rises while the others are held above r. What was proven then ends, in each of
    the others, at the least reach of the members that were used; from there on it is done again.

    Args:
        node: Its number; `scratch` holds its levels, its floors and the touched tuples.
        rules: `Rules`.
        cells: `Cells`.
        nodes: `Nodes`.
        members: `Members`.
        scratch: `NodeScratch`; `thresholds[0]` tells what is open where the answer is no.
    """
    above, ends = scratch.thresholds
    for d in range(len(above)):
        above[d] = rules.first[d]
    ends[:] = np.inf
    is_new = True
    # Invariant: the node is settled where the first threshold is at most above[0] and the others are at most their
    # ends; and where one of the others is at most `above`, with those before it as they like.
    while True:
        possible = _are_possible(node, above, rules, nodes)
        if possible:
            add_suppressed(above, is_new, rules, cells, scratch)
            is_new = False
            possible = scratch.sums[0] <= rules.amounts[0] and keeps_limits(node, above, rules, nodes, scratch)
        if possible:
            m = furthest_member(node, above, rules, nodes, members, scratch)
            if m < 0:
                return False
            for d in range(1, len(above)):
                ends[d] = min(ends[d], _reach(m, d, rules, members, scratch))
            above[0] = members.reaches[m, 0]
            continue
        # The first threshold is done. Go on where what was proven ends.
        d = 1
        while d < len(above) and ends[d] == np.inf:
            above[d] = rules.first[d]
            d += 1
        if d == len(above):
            return True
        above[d] = ends[d]
        ends[d] = np.inf
        for i in range(1, d):
            above[i], ends[i] = rules.first[i], np.inf
        above[0] = rules.first[0]
        is_new = True


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def _are_possible(node, above, rules, nodes):  # type: ignore[no-untyped-def]
    """Whether the thresholds can be above these at all."""
    n_values = nodes.tops.shape[1]
    for h in range(n_values):
        if above[h] >= nodes.tops[node, h]:
            return False
    if above[0] == np.inf:
        return False
    return len(above) == n_values or above[n_values] < rules.amounts[0]


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def add_suppressed(above, is_new, rules, cells, scratch):  # type: ignore[no-untyped-def]
    """Add up the touched tuples that are suppressed; those that were added before stay so while thresholds rise."""
    sums, tally, n_touched = scratch.sums, scratch.tally, scratch.touched[-1]
    if is_new:
        sums[:] = 0
        tally[:] = 0
        scratch.counted[:n_touched] = False
    for i in range(n_touched):
        if scratch.counted[i]:
            continue
        t = scratch.touched[i]
        gone = False
        for h in range(len(scratch.env)):
            gone |= scratch.env[h, t] <= above[h]
        if gone:
            scratch.counted[i] = True
            add_tuple(t, rules, cells, scratch)
            if sums[0] > rules.amounts[0]:
                return


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def add_tuple(t, rules, cells, scratch):  # type: ignore[no-untyped-def]
    """Add what a tuple's suppression costs."""
    sums, tally = scratch.sums, scratch.tally
    sums[0] += cells.counts[t]
    for a in range(len(sums) - 1):
        left = 0.0
        for j in range(len(scratch.x)):
            left += rules.left[a, scratch.x[j], cells.places[j, t]]
        sums[1 + a] += left * cells.counts[t]
    for c in range(len(tally)):
        for label in range(tally.shape[1]):
            tally[c, label] += rules.labels[c, t, label]


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def bound_of(o, node, above, rules, nodes, scratch):  # type: ignore[no-untyped-def]
    """The least minimised value of a measure that is no threshold, above the thresholds."""
    kind, place = rules.kinds[o], rules.places[o]
    if kind == ADDITIVE:
        if scratch.sums[0] == rules.amounts[4]:
            return rules.most[place]
        floor, added = scratch.floors[place], scratch.sums[1 + place]
        n_values = nodes.tops.shape[1]
        if len(above) > n_values:
            # So many more rows are suppressed, whichever they are.
            more = above[n_values] + 1 - scratch.sums[0]
            if more > 0:
                least = 0.0
                for j in range(len(scratch.x)):
                    least += rules.least[place, j, scratch.x[j]]
                added += more * least
        # A little less, so that the rounding of the sum proves nothing.
        rounding = 1e-12 + 1e-15 * scratch.touched[-1]
        return floor if added <= 0 else floor + added - rounding * (abs(floor) + added)
    bound = nodes.bounds[node, rules.columns[o]] if rules.columns[o] >= 0 else -np.inf
    if kind == MAJORITY:
        most = 0
        for label in range(scratch.tally.shape[1]):
            most = max(most, scratch.tally[place, label])
        bound += most
    return bound


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def keeps_limits(node, above, rules, nodes, scratch):  # type: ignore[no-untyped-def]
    """Whether the bounds allow for the constraints; exactly on a limit a node keeps it."""
    for o in range(len(rules.kinds)):
        if rules.limits[o] == np.inf:
            continue
        bound = -np.inf
        if rules.kinds[o] <= MAJORITY:
            bound = bound_of(o, node, above, rules, nodes, scratch)
        elif rules.kinds[o] == SQUARES:
            bound = -scratch.squares[rules.places[o]] - np.float64(rules.amounts[0]) ** 2
        if bound > rules.limits[o]:
            return False
    return True


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def _reach(m, d, rules, members, scratch):  # type: ignore[no-untyped-def]
    """Up to which value of a threshold a member stands for a node, as far as that one goes."""
    if d < members.reaches.shape[1]:
        return members.reaches[m, d]
    # As many suppressed rows as leave the sums of squares within what the member stands for: they add their square.
    reach = np.inf
    for o in range(len(rules.kinds)):
        if rules.kinds[o] == SQUARES and members.needs[m, o] > -np.inf:
            room = -members.needs[m, o] - scratch.squares[rules.places[o]]
            rows = np.floor(np.sqrt(room)) if room >= 0 else -1.0
            while rows > 0 and rows * rows > room:
                rows -= 1
            reach = min(reach, rows)
    return reach


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def furthest_member(node, above, rules, nodes, members, scratch):  # type: ignore[no-untyped-def]
    """The member that stands for the node up to the highest first threshold, or -1; members come in that order."""
    bounds = scratch.bounds
    for o in range(len(bounds)):
        bounds[o] = np.inf
        if rules.kinds[o] <= MAJORITY:
            bounds[o] = bound_of(o, node, above, rules, nodes, scratch)
    for m in range(len(members.needs)):
        if members.reaches[m, 0] <= above[0]:
            return -1
        stands = True
        for o in range(len(bounds)):
            if rules.kinds[o] <= MAJORITY and members.needs[m, o] > bounds[o]:
                stands = False
                break
        for d in range(1, len(above)):
            if not stands:
                break
            stands = _reach(m, d, rules, members, scratch) > above[d]
        if stands:
            return m
    return -1


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def is_plainly_covered(node, hint, rules, nodes, members, scratch):  # type: ignore[no-untyped-def]
    """The member that stands for all that a node can be at once, or -1; -2 where it breaks a constraint.

    Args:
        node: Its number; `scratch` holds its levels and its floors.
        hint: The member to try first.
        rules: `Rules`.
        nodes: `Nodes`.
        members: `Members`.
        scratch: `NodeScratch`.
    """
    n_values = nodes.tops.shape[1]
    for h in range(n_values):
        if rules.first[h] >= nodes.tops[node, h]:
            return -2
    n = len(members.needs)
    m = hint - 1
    for _ in range(n):
        m = m + 1 if m + 1 < n else 0
        stands = True
        for h in range(n_values):
            if members.reaches[m, h] < nodes.tops[node, h]:
                stands = False
                break
        if stands and stands_beside(m, node, rules, nodes, members, scratch):
            return m
    return -1


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def stands_beside(m, node, rules, nodes, members, scratch):  # type: ignore[no-untyped-def]
    """Whether a member is no worse than the bounds of a node in all that is no threshold."""
    for o in range(len(rules.kinds)):
        kind = rules.kinds[o]
        if kind == THRESHOLD:
            continue
        bound = -np.inf
        if kind == ADDITIVE:
            bound = scratch.floors[rules.places[o]]
        elif rules.columns[o] >= 0:
            bound = nodes.bounds[node, rules.columns[o]]
        if kind == SQUARES:
            bound -= np.float64(rules.amounts[0]) ** 2
        if members.needs[m, o] > bound:
            return False
    return True
