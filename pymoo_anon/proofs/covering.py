"""Loops that tell whether members of a front cover a node.

A threshold is a value of a node that suppression can raise: k, distinct l, k in persons, or the number of suppressed
rows if sums of squares are measured. Let the thresholds of a node be above r. Members that are no worse in all other
measures cover the node up to their own thresholds. So r rises to those, and again. The node is fathomed once r exceeds
its greatest possible thresholds, and stays open if no member covers it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.compiled import kernel
from pymoo_anon.objectives.bounds import Kind
from pymoo_anon.typing import Bools, Floats, Ints

#: Kinds of bounds of a measure: a column of `NodeBounds.bounds`, a floor, a threshold, or a sum of squares.
FIXED, ADDITIVE, THRESHOLD, SQUARES = (int(kind) for kind in Kind)


class Rules(NamedTuple):
    """Constants of the lattice and its measures."""

    lengths: Ints  # (n_var,) int64, number of levels of each attribute above its least one; nodes count from there
    strides: Ints  # (n_var,) int64, difference in number between nodes that differ by one level
    kinds: Ints  # (n_measures,) int64, the kind of each measure
    # (n_measures,) int64, the number of each among additive ones, its column in `NodeBounds.bounds`, or -1.
    places: Ints
    limits: Floats  # (n_measures,) float, the greatest minimised values that constraints allow, or infinity
    first: Floats  # (n_thresholds,) float: at every feasible node each threshold is above this
    terms: Floats  # (n_additive, n_var, n_levels) float, the floor of each level from the least one on
    least: Floats  # (n_additive, n_var, n_levels) float, the least that a suppressed row loses on top of the floor
    limit: int  # Greatest number of suppressed rows; all rows if there is no limit
    n_inherited: int  # Number of columns of bounds that hold for all specializations


class NodeBounds(NamedTuple):
    """Bounds of each node."""

    tops: Floats  # (n_nodes, n_values) float: no threshold is above its top
    bounds: Floats  # (n_nodes, n_columns) float, lower bounds of minimised values
    done: Bools  # (n_nodes,) Boolean, the nodes that were evaluated


class Members(NamedTuple):
    """Members of the front, the farthest first reach first."""

    needs: Floats  # (m, n_measures) float: a member covers minimised values from this one on
    reaches: Floats  # (m, n_values) float: it covers thresholds up to this one


class NodeScratch(NamedTuple):
    """Memory for one node."""

    x: Ints  # (n_var,) int64, its levels above the least ones
    floors: Floats  # (n_additive,) float
    thresholds: Floats  # (2, n_thresholds) float: each threshold is above the first; the proof ends at the second
    bounds: Floats  # (n_measures,) float, bounds of the measures above the thresholds


@kernel
def is_covered(node, rules, nodes, members, scratch):
    """Tell whether members cover a node, or it breaks a constraint.

    With several thresholds the first one rises while the others stay. In each of the others the proof then ends at the
    least reach of the members that were used, and is repeated from there on.
    """
    above, ends = scratch.thresholds[0], scratch.thresholds[1]
    for d in range(len(above)):
        above[d], ends[d] = rules.first[d], np.inf
    # Invariant: the node is fathomed where the first threshold is at most above[0] and the others are at most their
    # ends, and where one of the others is at most `above`, with any values before it.
    while True:
        if _is_possible(node, above, rules, nodes, scratch):
            m = furthest_member(node, above, rules, nodes, members, scratch)
            if m < 0:
                return False
            for d in range(1, len(above)):
                ends[d] = min(ends[d], _furthest_reach(m, d, node, rules, nodes, members))
            above[0] = members.reaches[m, 0]
            continue
        # The first threshold is done. Go on where the proof ends.
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


@kernel
def _plain_bound(o, node, rules, nodes, scratch):
    """Return the lower bound of a measure under any suppression, -inf for a threshold."""
    if rules.kinds[o] == ADDITIVE:
        return scratch.floors[rules.places[o]]
    bound = nodes.bounds[node, rules.places[o]] if rules.places[o] >= 0 else -np.inf
    # Suppressed rows may add the square of their number.
    return bound - np.float64(rules.limit) ** 2 if rules.kinds[o] == SQUARES else bound


@kernel
def bound_of(o, node, above, rules, nodes, scratch):
    """Return the lower bound of a measure above the thresholds."""
    bound, n_values = _plain_bound(o, node, rules, nodes, scratch), nodes.tops.shape[1]
    if rules.kinds[o] != ADDITIVE or len(above) == n_values or above[n_values] < 0:
        return bound
    # At least so many rows are suppressed, whichever they are.
    added = 0.0
    for j in range(len(scratch.x)):
        added += rules.least[rules.places[o], j, scratch.x[j]]
    added *= above[n_values] + 1
    # Rounding of the sum must not raise the bound.
    return bound if added <= 0 else bound + added - 1e-12 * (abs(bound) + added)


@kernel
def _is_possible(node, above, rules, nodes, scratch):
    """Tell whether a feasible node can exceed the thresholds. A node that is exactly on a limit keeps it."""
    n_values = nodes.tops.shape[1]
    for h in range(n_values):
        if above[h] >= nodes.tops[node, h]:
            return False
    if above[0] == np.inf or (len(above) > n_values and above[n_values] >= rules.limit):
        return False
    for o in range(len(rules.kinds)):
        if rules.limits[o] < np.inf and bound_of(o, node, above, rules, nodes, scratch) > rules.limits[o]:
            return False
    return True


@kernel
def _furthest_reach(m, d, node, rules, nodes, members):
    if d < members.reaches.shape[1]:
        return members.reaches[m, d]
    # Suppressed rows add their square, and the sums of squares must stay covered.
    reach = np.inf
    for o in range(len(rules.kinds)):
        if rules.kinds[o] == SQUARES and members.needs[m, o] > -np.inf:
            room = nodes.bounds[node, rules.places[o]] - members.needs[m, o]
            rows = np.floor(np.sqrt(room)) if room >= 0 else -1.0
            while rows > 0 and rows * rows > room:
                rows -= 1
            reach = min(reach, rows)
    return reach


@kernel
def furthest_member(node, above, rules, nodes, members, scratch):
    """Return the member that covers the node farthest, or -1."""
    bounds = scratch.bounds
    for o in range(len(bounds)):
        bounds[o] = np.inf
        if rules.kinds[o] <= ADDITIVE:
            bounds[o] = bound_of(o, node, above, rules, nodes, scratch)
    for m in range(len(members.needs)):
        if members.reaches[m, 0] <= above[0]:
            return -1
        covers = True
        for o in range(len(bounds)):
            if members.needs[m, o] > bounds[o]:
                covers = False
                break
        for d in range(1, len(above)):
            if not covers:
                break
            covers = _furthest_reach(m, d, node, rules, nodes, members) > above[d]
        if covers:
            return m
    return -1


@kernel
def is_plainly_covered(node, hint, rules, nodes, members, scratch):
    """Return a member that alone covers a node, -1 for none. It is -2 if the node breaks a constraint."""
    n_values = nodes.tops.shape[1]
    for h in range(n_values):
        if rules.first[h] >= nodes.tops[node, h]:
            return -2
    n = len(members.needs)
    m = hint - 1
    for _ in range(n):
        m = m + 1 if m + 1 < n else 0
        covers = True
        for h in range(n_values):
            if members.reaches[m, h] < nodes.tops[node, h]:
                covers = False
                break
        if covers and covers_beside(m, node, rules, nodes, members, scratch):
            return m
    return -1


@kernel
def covers_beside(m, node, rules, nodes, members, scratch):
    """Tell whether a member covers all but the thresholds."""
    for o in range(len(rules.kinds)):
        bound = _plain_bound(o, node, rules, nodes, scratch)
        if rules.kinds[o] != THRESHOLD and members.needs[m, o] > bound:
            return False
    return True
