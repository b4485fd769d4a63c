"""Nodes that are refuted by a few of their classes.

The classes of the best generalization are split by the node, one after the other and small ones first, until more
tuples than the limit are in parts that are too small. Few tuples are read for that. What they teach holds for all
specializations of the node, and is kept.

Nodes of a stored lattice, one after the other: settled by all that evaluated generalizations say, or left open.

Every evaluated node keeps its tuples in small classes, as a list. Only those can matter to a specialization y: let the
classes of z with at most v hold more tuples than the limit, for the smallest such v. For thresholds of y from v on, z
alone says that they are out of reach. For smaller ones only classes below v count. So a list holds no more rows than
the limit, and the union of the lists of all evaluated generalizations is as good as their classes themselves.

A node that the union leaves open is not evaluated at once: some of its classes may say enough, see `by_reading`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.stored.covering import (
    add_tuple,
    furthest_member,
    gather,
    is_above,
    is_covered,
    keeps_limits,
    mark,
    prepare,
    touch,
    write_down,
)
from pymoo_anon.algorithms.proofs.stored.known import SQUARES, known_groups
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.refuting import split_class

#: What becomes of a node: it stays open, it is settled, or the order of some evidence is wanted first.
OPEN, SETTLED, NOT_NOW = range(3)

# Classes of at most this share are far smaller.
_FAR_SMALLER = 0.2

#: The place of an order that there is no memory for.
NEVER = -2


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def by_reading(node, n, rules, cells, known, evidence, scratch, blocks):  # type: ignore[no-untyped-def]
    """Split classes of the best generalization until too many tuples are in parts of at most the target."""
    base = _best_base(n, evidence, scratch)
    if base < 0 or scratch.thresholds[0, 0] < 1:
        return OPEN
    row = evidence.orders[base]
    if row < 0:
        scratch.work[2] = base
        return NOT_NOW
    order, ends = evidence.order[row], evidence.ends[row]
    split = scratch.split
    for j in range(len(split)):
        split[j] = evidence.levels[base, j] > scratch.x[j]
    target, limit = scratch.thresholds[0, 0], rules.amounts[0]
    weight, n_read = scratch.sums[0], 0
    first_new = evidence.numbers[1]
    at = first_new
    position = 0
    # Invariant: `weight` rows are in classes of at most `target` for sure; the entries from `first_new` to `at` say so.
    while position < len(order) and n_read < rules.amounts[1]:
        members = order[position : ends[position]]
        position = ends[position]
        size = 0
        for t in members:
            size += cells.counts[t]
        if size <= target:
            continue
        n_read += len(members)
        split_class(members, scratch.x, rules.groups, split, cells, blocks)
        for i in range(len(members)):
            t, part = members[i], blocks.sizes[blocks.slots[i]]
            if part <= target:
                if touch(t, scratch):
                    weight += cells.counts[t]
                evidence.ids[at] = t
                evidence.values[at] = part
                at += 1
        if weight > limit:
            break
    scratch.work[0] += n_read
    scratch.work[3] += n_read
    if weight <= limit:
        return OPEN
    scratch.work[1] += 1
    known.tops[node, 0] = min(known.tops[node, 0], target)
    _keep_refuted(at, rules, evidence, scratch)
    return SETTLED


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def _best_base(n, evidence, scratch):  # type: ignore[no-untyped-def]
    """The evidence whose classes are split: that with the smallest classes that are kept, or -1.

    To sort all tuples by class takes as long as to evaluate a node. So one that is sorted already is taken, unless the
    best of all has far smaller classes.
    """
    best, best_sorted = -1, -1
    for e in scratch.accepted[:n]:
        if not evidence.whole[e] or evidence.orders[e] == NEVER:
            continue
        if best < 0 or evidence.tops[e] < evidence.tops[best]:
            best = e
        if evidence.orders[e] >= 0 and (best_sorted < 0 or evidence.tops[e] < evidence.tops[best_sorted]):
            best_sorted = e
    if best_sorted >= 0 and evidence.tops[best_sorted] * _FAR_SMALLER <= evidence.tops[best]:
        return best_sorted
    return best


@njit(cache=True, nogil=True)
def _keep_refuted(at, rules, evidence, scratch):  # type: ignore[no-untyped-def]
    """Close the entry of a node that reading refuted: its tuples end at `at`."""
    e = evidence.numbers[0]
    first = evidence.numbers[1]
    in_order = np.argsort(evidence.values[first:at])
    evidence.ids[first:at] = evidence.ids[first:at][in_order]
    evidence.values[first:at] = evidence.values[first:at][in_order]
    write_down(e, scratch.x, rules.lengths, evidence.levels, evidence.reached)
    evidence.whole[e] = False
    evidence.tops[e] = np.inf
    evidence.orders[e] = -1
    evidence.dense[e] = -1
    evidence.starts[e + 1] = at
    evidence.numbers[0] = e + 1
    evidence.numbers[1] = at


Ints = NDArray[np.int64]

# An index of this type cannot be negative, so that numba leaves out the test whether it counts from the end.
_U = np.uint64

#: Why `settle` returns: all nodes are looked at, enough of them are open, there is no room for more evidence, the order
#: of some evidence is wanted, or a slice of work is done.
FINISHED, ENOUGH, NO_ROOM, NO_ORDER, SLICE = range(5)

# Looking in vain at the lists of others may cost so many times what it costs to group all nodes that have lists.
_PATIENCE = 50

# Tuples that are looked at in one slice, some tenths of a second.
_SLICE = 50_000_000


@njit(cache=True, nogil=True, allocates=False)
def settle(nodes, start, open_nodes, reads, *arrays):  # type: ignore[no-untyped-def]
    """Look at nodes until some are open.

    Args:
        nodes: (n,) int64, numbers of nodes.
        start: Where to begin in `nodes`.
        open_nodes: (m,) int64, written: the open nodes; so many are enough.
        reads: Whether tuples may be read to refute a node.
        arrays: The arrays of all groups, as `known_groups` takes them.

    Returns:
        Where to go on, why, and how many nodes are open.
    """
    rules, cells, known, members, evidence, scratch, blocks = known_groups(arrays)
    n_open = 0
    scratch.work[3] = 0
    for position in range(start, len(nodes)):
        node, n_evidence = nodes[position], evidence.numbers[0]
        if known.done[node]:
            continue
        if n_evidence + 1 >= len(evidence.levels) or evidence.numbers[1] + len(cells.counts) > len(evidence.ids):
            return position, NO_ROOM, n_open
        if scratch.work[3] > _SLICE:
            return position, SLICE, n_open
        prepare(node, rules, known, scratch)
        outcome = SETTLED
        if not is_covered(node, rules, cells, known, members, scratch):
            outcome = OPEN
            if scratch.work[4] <= _PATIENCE * n_evidence * len(cells.counts):
                spent = scratch.work[3]
                n = gather(n_evidence, scratch.x, rules.lengths, evidence.reached, scratch.words, scratch.accepted)
                if len(rules.first) > 1:
                    outcome = _by_union(node, n, rules, cells, known, members, evidence, scratch)
                else:
                    outcome = _by_single_union(node, n, rules, cells, known, members, evidence, scratch)
                if outcome == OPEN:
                    scratch.work[4] += scratch.work[3] - spent
                if outcome == OPEN and reads and rules.amounts[2] == 0:
                    outcome = by_reading(node, n, rules, cells, known, evidence, scratch, blocks)
        if outcome == NOT_NOW:
            return position, NO_ORDER, n_open
        if outcome == OPEN:
            open_nodes[n_open] = node
            n_open += 1
            if n_open == len(open_nodes):
                return position + 1, ENOUGH, n_open
    return len(nodes), FINISHED, n_open


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def _by_single_union(node, n, rules, cells, known, members, evidence, scratch):  # type: ignore[no-untyped-def]
    """Settle a node with one threshold by the lists of all evaluated generalizations, as far as they go.

    Lists are sorted by value. So only their tuples up to the threshold are looked at, and more of them as it rises.
    """
    above = scratch.thresholds[0]
    scratch.sums[:] = 0
    scratch.tally[:] = 0
    limit, weight = rules.amounts[0], np.int64(0)
    # Invariant: the tuples of at most `above` of the lists before a are touched.
    for a in range(n):
        scratch.places[a] = evidence.starts[scratch.accepted[a]]
        weight += _read_on(a, above[0], cells, evidence, scratch)
        if weight > limit:
            # No constraint but the limit says so: it holds for all specializations.
            known.tops[node, 0] = min(known.tops[node, 0], above[0])
            return SETTLED
    first_new = 0
    # Invariant: all touched tuples, `weight` rows, are suppressed where the threshold is above `above`; `sums` and
    # `tally` are those of the ones before `first_new`. Up to `above` the members stand for the node.
    while scratch.touched[-1] > first_new:
        for i in range(first_new, scratch.touched[-1]):
            add_tuple(scratch.touched[i], rules, cells, scratch)
        first_new = scratch.touched[-1]
        while True:
            if above[0] >= known.tops[node, 0] or above[0] == np.inf:
                return SETTLED
            if not keeps_limits(node, above, rules, known, scratch):
                return SETTLED
            m = furthest_member(node, above, rules, known, members, scratch)
            if m < 0:
                break
            above[0] = members.reaches[m, 0]
        for a in range(n):
            weight += _read_on(a, above[0], cells, evidence, scratch)
            if weight > limit:
                known.tops[node, 0] = min(known.tops[node, 0], above[0])
                return SETTLED
    return OPEN


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def _read_on(a, above, cells, evidence, scratch):  # type: ignore[no-untyped-def]
    """Touch the tuples of a list up to a value, from where it was read before; returns how many new rows they are."""
    touched, marked, values, ids, counts = scratch.touched, scratch.marked, evidence.values, evidence.ids, cells.counts
    first, last = _U(scratch.places[a]), _U(evidence.starts[scratch.accepted[a] + 1])
    e, n, weight = first, _U(touched[-1]), np.int64(0)
    # As `touch`, without a branch: nobody can foretell which tuples are new, and a wrong guess takes longer than both
    # ways. Invariant: n tuples are touched. One that is not new is overwritten by the next.
    while e < last and values[e] <= above:
        t = _U(ids[e])
        new = mark(t, marked)
        touched[n] = t
        n += new
        weight += counts[t] * np.int64(new)
        e += _U(1)
    touched[-1] = n
    scratch.places[a] = e
    scratch.work[3] += np.int64(e - first)
    return weight


@njit(cache=True, nogil=True, allocates=False)
def _by_union(node, n, rules, cells, known, members, evidence, scratch):  # type: ignore[no-untyped-def]
    """Settle a node with several thresholds by the lists of all evaluated generalizations, as far as they go."""
    n_values = known.tops.shape[1]
    n_accepted = _keep_telling(n, evidence, scratch)
    next_look = 2
    # Invariant: the touched tuples are those of the lists before a; they are looked at after 2, 8, 32, ... lists.
    for a in range(n_accepted):
        first = scratch.accepted[a] * n_values
        for h in range(n_values):
            top = known.tops[node, h]
            for e in range(evidence.starts[first + h], evidence.starts[first + h + 1]):
                value, t = evidence.values[e], evidence.ids[e]
                if value >= top:
                    break
                touch(t, scratch)
                scratch.env[h, t] = min(scratch.env[h, t], value)
            scratch.work[3] += evidence.starts[first + h + 1] - evidence.starts[first + h]
        if a + 1 == next_look or a == n_accepted - 1:
            next_look *= 4
            if scratch.touched[-1] > 0 and is_covered(node, rules, cells, known, members, scratch):
                return SETTLED
    if len(scratch.squares) > 0:
        return _by_sums(node, n_accepted, rules, cells, known, members, evidence, scratch)
    return OPEN


@njit(cache=True, nogil=True, allocates=False)
def _keep_telling(n_gathered, evidence, scratch):  # type: ignore[no-untyped-def]
    """Keep what the evidence of generalizations says that later evidence does not; returns how much it is.

    A generalization says nothing more than one of its own specializations that was wholly grouped and speaks, too:
    every class of that one lies inside one of its classes, and a list that ends early makes larger thresholds
    impossible.
    """
    n = 0
    for e in scratch.accepted[:n_gathered]:
        says_more = True
        for a in range(n):
            other = scratch.accepted[a]
            if evidence.whole[other] and is_above(evidence.levels[e], evidence.levels[other]):
                says_more = False
                break
        if says_more:
            scratch.accepted[n] = e
            n += 1
    scratch.work[3] += n
    return n


@njit(cache=True, nogil=True, allocates=False)
def _by_sums(node, n_accepted, rules, cells, known, members, evidence, scratch):  # type: ignore[no-untyped-def]
    """Lower the bounds of sums of squares, generalization after generalization, until the node is settled.

    An entry is found in its class no more often than in any generalization's. So its row adds at most the fewest.
    """
    least = scratch.least
    n, next_look = 0, 1
    # Invariant: `least` holds the fewest of the n nodes so far; it is looked at after 1, 2, 4, 8, ... of them.
    for a in range(n_accepted):
        row = evidence.dense[scratch.accepted[a]]
        if row >= 0:
            own = evidence.counts[row]
            for e in range(len(least)):
                least[e] = own[e] if n == 0 else min(least[e], own[e])
            n += 1
            scratch.work[3] += len(least) // 8
        if n > 0 and (n == next_look or a == n_accepted - 1):
            next_look *= 2
            if _lowers_sums(rules, scratch) and is_covered(node, rules, cells, known, members, scratch):
                for o in range(len(rules.kinds)):
                    if rules.kinds[o] == SQUARES:
                        column = rules.columns[o]
                        known.bounds[node, column] = max(known.bounds[node, column], -scratch.squares[rules.places[o]])
                return SETTLED
    return OPEN


@njit(cache=True, nogil=True, allocates=False)
def _lowers_sums(rules, scratch):  # type: ignore[no-untyped-def]
    """Lower the sums of squares to what the fewest rows of every entry allow; returns whether one is lower now."""
    lowered = False
    for s in range(len(scratch.squares)):
        total = np.float64(0)
        for e in range(rules.segments[s], rules.segments[s + 1]):
            total += np.float64(rules.weights[e]) * np.float64(scratch.least[e])
        # Beyond 2^53 sums are rounded.
        total = total if total < 2.0**53 else total * (1 + 1e-9)
        if total < scratch.squares[s]:
            scratch.squares[s] = total
            lowered = True
    return lowered
