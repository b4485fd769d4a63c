"""Loops that bring bounds down and find open nodes.

A threshold is a value of a node that suppression can raise: k, distinct l, k in persons, or the number of suppressed
rows if sums of squares are measured. Let the thresholds of a node be above r. Members that are no worse in all other
measures cover the node up to their own thresholds. So r rises to those, and again. The node is fathomed once r exceeds
its greatest possible thresholds, and stays open if no member covers it.

A compiled function is called quickly with many arrays and slowly with tuples of arrays. So all arrays go in one flat
tuple, and `known_groups` gives them their names back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.objectives.bounds import Kind
from pymoo_anon.typing import Bools, Floats, Ints

#: Kinds of bounds of a measure: a column of `NodeBounds.bounds`, a floor, a threshold, or a sum of squares.
FIXED, ADDITIVE, THRESHOLD, SQUARES = (int(kind) for kind in Kind)


class Rules(NamedTuple):
    """Constants of the lattice and its measures."""

    lengths: Ints  # (n_var,) int64, number of levels of each attribute above its least one; nodes count from there
    strides: Ints  # (n_var,) int64, difference in number between nodes that differ by one level
    kinds: Ints  # (n_measures,) int64, the kind of each measure
    places: Ints  # (n_measures,) int64, the number of each among those of its kind
    columns: Ints  # (n_measures,) int64, the column of each in `NodeBounds.bounds`, or -1
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


# End of each group among all arrays, in this order.
_END_OF_RULES = len(Rules._fields)
_END_OF_NODES = _END_OF_RULES + len(NodeBounds._fields)
_END_OF_MEMBERS = _END_OF_NODES + len(Members._fields)


@kernel
def known_groups(arrays: Any) -> Any:
    """Return the four groups of a flat tuple."""
    return (
        Rules(*arrays[:_END_OF_RULES]),
        NodeBounds(*arrays[_END_OF_RULES:_END_OF_NODES]),
        Members(*arrays[_END_OF_NODES:_END_OF_MEMBERS]),
        NodeScratch(*arrays[_END_OF_MEMBERS:]),
    )


def node_scratch(rules: Rules) -> NodeScratch:
    """Allocate memory for one node."""
    return NodeScratch(
        x=np.zeros(len(rules.lengths), dtype=np.int64),
        floors=np.zeros(len(rules.terms)),
        thresholds=np.zeros((2, len(rules.first))),
        bounds=np.empty(len(rules.kinds)),
    )


@kernel
def is_covered(node, rules, nodes, members, scratch):  # type: ignore[no-untyped-def]
    """Tell whether members cover a node, or it breaks a constraint.

    `scratch` holds the levels and floors of the node.

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
def _plain_bound(o, node, rules, nodes, scratch):  # type: ignore[no-untyped-def]
    """Return the lower bound of a measure under any suppression, -inf for a threshold."""
    if rules.kinds[o] == ADDITIVE:
        return scratch.floors[rules.places[o]]
    bound = nodes.bounds[node, rules.columns[o]] if rules.columns[o] >= 0 else -np.inf
    # Suppressed rows may add the square of their number.
    return bound - np.float64(rules.limit) ** 2 if rules.kinds[o] == SQUARES else bound


@kernel
def bound_of(o, node, above, rules, nodes, scratch):  # type: ignore[no-untyped-def]
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
def _is_possible(node, above, rules, nodes, scratch):  # type: ignore[no-untyped-def]
    """Tell whether a feasible node can exceed the thresholds.

    A node that is exactly on a limit keeps it.
    """
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
def _furthest_reach(m, d, node, rules, nodes, members):  # type: ignore[no-untyped-def]
    if d < members.reaches.shape[1]:
        return members.reaches[m, d]
    # Suppressed rows add their square, and the sums of squares must stay covered.
    reach = np.inf
    for o in range(len(rules.kinds)):
        if rules.kinds[o] == SQUARES and members.needs[m, o] > -np.inf:
            room = nodes.bounds[node, rules.columns[o]] - members.needs[m, o]
            rows = np.floor(np.sqrt(room)) if room >= 0 else -1.0
            while rows > 0 and rows * rows > room:
                rows -= 1
            reach = min(reach, rows)
    return reach


@kernel
def furthest_member(node, above, rules, nodes, members, scratch):  # type: ignore[no-untyped-def]
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
def is_plainly_covered(node, hint, rules, nodes, members, scratch):  # type: ignore[no-untyped-def]
    """Return a member that alone covers a node, or -1.

    It is -2 if the node breaks a constraint. `hint` is the member to try first. `scratch` holds the levels and the
    floors of the node.
    """
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
def covers_beside(m, node, rules, nodes, members, scratch):  # type: ignore[no-untyped-def]
    """Tell whether a member covers all but the thresholds."""
    for o in range(len(rules.kinds)):
        bound = _plain_bound(o, node, rules, nodes, scratch)
        if rules.kinds[o] != THRESHOLD and members.needs[m, o] > bound:
            return False
    return True


@kernel
def _write_floors(rules, scratch):  # type: ignore[no-untyped-def]
    for a in range(len(scratch.floors)):
        # The measure adds from the first attribute on, too: the last bits have to agree.
        floor = 0.0
        for j in range(len(scratch.x)):
            floor += rules.terms[a, j, scratch.x[j]]
        scratch.floors[a] = floor


@njit(allocates=False)
def screen(total, lowest, highest, found, *arrays):  # type: ignore[no-untyped-def]
    """Bring bounds down to a layer and find open nodes.

    The nodes of the next higher sum have their bounds. The first attribute has levels from `lowest` to `highest`, each
    of which occurs. The nodes are written to `found` in the order of their numbers, and their number is returned.
    """
    rules, known, members, scratch = known_groups(arrays)
    x, n_found = scratch.x, np.int64(0)
    for first in range(lowest, highest + 1):
        x[0] = first
        _fill(np.int64(1), total - first, rules.lengths, x)
        # Hints begin anew, so that bounds do not depend on the number of levels of one thread.
        is_more, hint = True, np.int64(0)
        # Invariant: all nodes before x have their bounds, and the open ones among them were found.
        while is_more:
            node = np.int64(0)
            for j in range(len(x)):
                node += x[j] * rules.strides[j]
            _write_floors(rules, scratch)
            _inherit(node, x, hint, rules, known, members, scratch)
            if not known.done[node]:
                member = is_plainly_covered(node, hint, rules, known, members, scratch)
                if member >= 0:
                    hint = member
                elif member == -1:
                    found[n_found] = node
                    n_found += 1
            is_more = _next(x, rules.lengths)
    return n_found


@kernel
def _inherit(node, x, hint, rules, known, members, scratch):  # type: ignore[no-untyped-def]
    """Take over the bounds of generalizations.

    Generalizations lie far apart in memory, and reading them is most of the work. It stops once the member of the hint
    covers the node. The bounds of the node are then valid, but not the best.
    """
    for c in range(rules.n_inherited):
        bound = known.bounds[node, c]
        for j in range(len(x)):
            if x[j] < rules.lengths[j]:
                bound = max(bound, known.bounds[node + rules.strides[j], c])
        known.bounds[node, c] = bound
    covers = hint < len(members.needs) and covers_beside(hint, node, rules, known, members, scratch)
    for h in range(known.tops.shape[1]):
        top, enough = known.tops[node, h], members.reaches[hint, h] if covers else -np.inf
        # Generalizations by the last attributes come first: they are the nearest in memory.
        for j in range(len(x) - 1, -1, -1):
            if top <= enough:
                break
            if x[j] < rules.lengths[j]:
                top = min(top, known.tops[node + rules.strides[j], h])
        known.tops[node, h] = top


@kernel
def _fill(start, total, lengths, x):  # type: ignore[no-untyped-def]
    """Write the first levels of a sum, last attributes highest."""
    for j in range(len(lengths) - 1, start - 1, -1):
        x[j] = min(lengths[j], total)
        total -= x[j]


@kernel
def _next(x, lengths):  # type: ignore[no-untyped-def]
    """Make x the next node of its level sum, and tell whether there is one."""
    behind = 0
    # Invariant: the levels after j have the sum `behind`, and the first of them are as high as possible.
    for j in range(len(x) - 1, 0, -1):
        if x[j] < lengths[j] and behind > 0:
            x[j] += 1
            _fill(j + 1, behind - 1, lengths, x)
            return True
        behind += x[j]
    return False


@njit(allocates=False)
def find_open(nodes, start, end, found, *arrays):  # type: ignore[no-untyped-def]
    """Examine nodes until enough are open.

    Returns the position to go on from, and the number of open nodes.
    """
    rules, known, members, scratch = known_groups(arrays)
    n_open = 0
    for position in range(start, end):
        node = nodes[position]
        if known.done[node]:
            continue
        rest = node
        for j in range(len(rules.strides)):
            scratch.x[j] = rest // rules.strides[j]
            rest -= scratch.x[j] * rules.strides[j]
        _write_floors(rules, scratch)
        if not is_covered(node, rules, known, members, scratch):
            found[n_open] = node
            n_open += 1
            if n_open == len(found):
                return position + 1, n_open
    return end, n_open
