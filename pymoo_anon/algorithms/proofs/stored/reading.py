"""Nodes that are refuted by a few of their classes.

The classes of the best generalization are split by the node, one after the other and small ones first, until more
tuples than the limit are in parts that are too small. Few tuples are read for that. What they teach holds for all
specializations of the node, and is kept.
"""

from __future__ import annotations

import numpy as np

from pymoo_anon.algorithms.proofs.stored.node import touch, write_down
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
