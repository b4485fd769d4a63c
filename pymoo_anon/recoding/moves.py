"""Moves of tuples between classes: join, leave, relocate, repair.

Relocation is sequential clustering, as k-means one point at a time: tuples move to classes that take them at less loss,
and every class keeps its requirements. Repair merges classes that break one.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.recoding.top_down import best_node
from pymoo_anon.recoding.trees import (
    FORBIDDEN,
    Histogram,
    Requirements,
    Trees,
    by_first_step,
    cells_of_classes,
    histogram_for,
    hold,
    join,
    sort_by_cells,
    widen,
)
from pymoo_anon.typing import Bools, Floats, Ints, Ints32

#: A move has to save more than rounding may make up.
LEAST_SAVED = 1e-9

# Classes that have changed are looked at one by one, so many at most. To sort all takes as long as a few looks each.
_MOST_CHANGED, _RESORTED = 200, 20

# A class is parted anew with the nearest one that it joins at so many times its loss.
_NEAR_LOSSES = 2.0


class Classes(NamedTuple):
    """Classes of tuples as chains, with the smallest cells that hold them. A class without rows is empty."""

    class_of: Ints  # (n_tuples,) int64, the class of each tuple, -1 for none
    cells: Ints32  # (n_classes, n_attributes) int32, the smallest nodes that hold the tuples of each class
    rows: Ints  # (n_classes,) int64
    costs: Floats  # (n_classes,) float, the cost a row of each class
    heads: Ints  # (n_classes,) int64, the first tuple of each class, -1 for none
    following: Ints  # (n_tuples,) int64, the next tuple of the class, -1 for none
    preceding: Ints  # (n_tuples,) int64, the one before, -1 for none
    # (n_attributes,) int64, in the order in which cells are compared: first those where to widen a cell costs most.
    attributes: Ints
    order: Ints  # (n_classes,) int64, the classes sorted by their cells
    # (n_classes, n_attributes) int32, their cells when they were sorted, in that order of classes and of attributes.
    sorted: Ints32
    shared: Ints  # (n_classes,) int64, of how many attributes the cells are those of the class before in that order
    # (n_classes, n_attributes) int64, where in that order the next class stands that differs in one of the attributes
    # up to this one.
    skip: Ints
    changed: Ints  # (n_classes,) int64, the classes with cells changed since they were sorted
    has_changed: Bools  # (n_classes,) Boolean, the same
    # (n_attributes + 1, 2) float, the cost so far of the class at hand with the tuple, and how much more
    # that is than without.
    reached: Floats
    target: Ints  # (n_attributes,) int64, the nodes that the class at hand is to hold, too
    members: Ints  # (n_tuples,) int64, memory for the tuples of a class
    moving: Ints  # (n_tuples,) int64, memory for the tuples of a class that is dissolved
    # (3,) int64, how many cells were compared, how many classes have changed since they were sorted, and how many are
    # sorted.
    tally: Ints
    scratch: Histogram  # Memory for tests

    @classmethod
    def of(cls, trees: Trees, tests: Requirements, class_of: Ints, room: int = 0) -> Classes:
        """Make the classes of `class_of` and empty ones up to the room."""
        own = np.array(class_of, dtype=np.int64)
        n_classes, n_tuples = max(int(own.max(initial=-1)) + 1, room), len(own)
        cells = cells_of_classes(trees, own, n_classes)
        rows = np.bincount(own[own >= 0], trees.rows[own >= 0], n_classes).astype(np.int64)
        by_attribute = np.where(cells < 0, 0.0, trees.costs[cells])
        heads, following, preceding = np.full(n_classes, -1), np.full(n_tuples, -1), np.full(n_tuples, -1)
        members = np.argsort(own, kind="stable")[np.count_nonzero(own < 0) :]
        begins = np.diff(own[members], prepend=-1) > 0
        heads[own[members[begins]]] = members[begins]
        before, after = members[:-1][~begins[1:]], members[1:][~begins[1:]]
        following[before], preceding[after] = after, before
        return cls(
            class_of=own,
            cells=cells,
            rows=rows,
            costs=by_attribute.sum(axis=1),
            heads=heads,
            following=following,
            preceding=preceding,
            attributes=by_first_step(trees),
            order=np.empty(n_classes, dtype=np.int64),
            sorted=np.empty_like(cells),
            shared=np.empty(n_classes, dtype=np.int64),
            skip=np.empty(cells.shape, dtype=np.int64),
            changed=np.empty(n_classes, dtype=np.int64),
            has_changed=np.zeros(n_classes, dtype=np.bool_),
            reached=np.zeros((cells.shape[1] + 1, 2)),
            target=np.empty(cells.shape[1], dtype=np.int64),
            members=np.empty(n_tuples, dtype=np.int64),
            moving=np.empty(n_tuples, dtype=np.int64),
            tally=np.zeros(3, dtype=np.int64),
            scratch=histogram_for(tests),
        )

    def loss(self, price: float) -> float:
        """Return the loss of all rows and class prices, in cells."""
        return float((self.rows * self.costs).sum() + price * np.count_nonzero(self.rows))

    def sort(self, among: Ints | None = None) -> None:
        """Sort the classes by their cells, for fast searches. `among` sorts some alone."""
        chosen = np.arange(len(self.rows)) if among is None else among
        keys, n = self.cells[np.ix_(chosen, self.attributes)], len(chosen)
        order, self.shared[:n], self.skip[:n] = sort_by_cells(keys)
        self.order[:n], self.sorted[:n] = chosen[order], keys[order]
        self.has_changed[:] = False
        self.tally[1], self.tally[2] = 0, n


@kernel
def nearest_class(r, limit, trees, tests, classes):
    """Find the cheapest valid class for a tuple, but its own, and the loss. -1 is none below the limit."""
    for j in range(len(classes.target)):
        classes.target[j] = trees.leaves[trees.positions[r, j]]
    return _nearest(classes.class_of[r], r, trees.rows[r], limit, trees, tests, classes)


@kernel
def nearest_to_class(c, limit, trees, tests, classes):
    """Find the cheapest class to merge with another, and the added loss."""
    for j in range(len(classes.target)):
        classes.target[j] = classes.cells[c, j]
    return _nearest(c, np.int64(-1), classes.rows[c], limit, trees, tests, classes)


@kernel
def _nearest(own, r, rows, limit, trees, tests, classes):
    """Find the cheapest valid class, but one, for rows below target nodes.

    Classes are met in the order of their cells: those whose first cell can be widened to hold the tuple stand side by
    side. What a tuple adds to one is at least what it adds in the first few attributes, if the class had but k rows;
    where that is too much, all classes with the same first cells are skipped.
    """
    found, deepest = np.int64(-1), len(classes.attributes)
    w, k, reached = np.float64(rows), np.float64(tests.k), classes.reached
    node = classes.target[classes.attributes[0]]
    while trees.parent[node] >= 0 and w * trees.costs[trees.parent[node]] < limit:
        node = trees.parent[node]
    i, stop = _place_of(node, classes), _place_of(trees.after[node], classes)
    depth = np.int64(0)
    # Invariant: `reached` holds up to `depth`, and is right for the class at hand.
    while i < stop:
        while depth < deepest and w * reached[depth, 0] + k * reached[depth, 1] < limit:
            _reach_cell(classes.sorted[i, depth], depth, trees, classes)
            depth += 1
        if w * reached[depth, 0] + k * reached[depth, 1] >= limit:
            i = classes.skip[i, max(depth - 1, 0)]
        else:
            c = classes.order[i]
            if c != own and not classes.has_changed[c]:
                added = _added(c, r, w, limit, trees, tests, classes)
                if added < limit:
                    found, limit = c, added
            i += 1
        if i < stop:
            depth = min(depth, classes.shared[i])
    for turn in range(classes.tally[1]):
        c, depth = classes.changed[turn], np.int64(0)
        while depth < deepest and w * reached[depth, 0] + k * reached[depth, 1] < limit:
            _reach_cell(classes.cells[c, classes.attributes[depth]], depth, trees, classes)
            depth += 1
        if c != own and w * reached[depth, 0] + k * reached[depth, 1] < limit:
            added = _added(c, r, w, limit, trees, tests, classes)
            if added < limit:
                found, limit = c, added
    return found, limit


@kernel
def _place_of(node, classes):
    """Find the first class in order at or after a node."""
    low, high = np.int64(0), classes.tally[2]
    while low < high:
        middle = (low + high) // 2
        if classes.sorted[middle, 0] < node:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def _reach_cell(node, depth, trees, classes):
    """Add one cell of a class to the costs reached."""
    classes.tally[0] += 1
    if node < 0:
        return  # a class without tuples, which nothing joins
    joined = trees.costs[_join_nodes(node, classes.target[classes.attributes[depth]], trees)]
    classes.reached[depth + 1, 0] = classes.reached[depth, 0] + joined
    classes.reached[depth + 1, 1] = classes.reached[depth, 1] + (joined - trees.costs[node])


@kernel
def _join_nodes(node, other, trees):
    """Return the smallest node that holds two nodes of an attribute."""
    while trees.first[other] < trees.first[node] or trees.stop[other] > trees.stop[node]:
        node = trees.parent[node]
    return node


@kernel
def _added(c, r, w, limit, trees, tests, classes):
    """Return the added loss of a class with a tuple, or infinity. Without a tuple it gets another class."""
    n, last = classes.rows[c], len(classes.attributes)
    added = w * classes.reached[last, 0] + n * classes.reached[last, 1]
    if n == 0 or added >= limit:
        return np.inf
    # Classes that hold all requirements hold them together.
    if r < 0 or class_holds(c, r, np.int64(-1), max(n + trees.rows[r], tests.k), tests, classes):
        return added
    return np.inf


@kernel
def class_holds(c, more, less, rows, tests, classes):
    """Return whether a class with one tuple more and one less holds. -1 is none. It has so many rows then."""
    if len(tests.kinds) == 0:
        return rows >= tests.k
    n = list_members(c, np.int64(0), classes)
    for i in range(n):
        if classes.members[i] == less:
            n -= 1
            classes.members[i] = classes.members[n]
            break
    if more >= 0:
        classes.members[n] = more
        n += 1
    return hold(classes.members, n, rows, tests, classes.scratch)


@kernel
def list_members(c, n, classes):
    """Append the tuples of a class to `members`."""
    r = classes.heads[c]
    while r >= 0:
        classes.members[n] = r
        n += 1
        r = classes.following[r]
    return n


@kernel
def _mark(c, classes):
    """Note that a class has changed since it was sorted."""
    if not classes.has_changed[c]:
        classes.has_changed[c] = True
        classes.changed[classes.tally[1]] = c
        classes.tally[1] += 1


@kernel
def enter(r, c, trees, classes):
    """Put a tuple that is in no class into one."""
    _mark(c, classes)
    classes.costs[c] = widen(classes.cells[c], r, trees)
    classes.rows[c] += trees.rows[r]
    classes.class_of[r] = c
    classes.preceding[r], classes.following[r] = -1, classes.heads[c]
    if classes.heads[c] >= 0:
        classes.preceding[classes.heads[c]] = r
    classes.heads[c] = r


@kernel
def leave(r, trees, classes):
    """Take a tuple out of its class, and shrink its cells."""
    c = classes.class_of[r]
    _mark(c, classes)
    if classes.preceding[r] >= 0:
        classes.following[classes.preceding[r]] = classes.following[r]
    else:
        classes.heads[c] = classes.following[r]
    if classes.following[r] >= 0:
        classes.preceding[classes.following[r]] = classes.preceding[r]
    classes.rows[c] -= trees.rows[r]
    classes.class_of[r] = -1
    classes.costs[c] = 0.0
    for j in range(classes.cells.shape[1]):
        node = _node_without(c, r, j, trees, classes)
        classes.cells[c, j] = node
        if node >= 0:
            classes.costs[c] += trees.costs[node]


@kernel
def cost_without(r, trees, classes):
    """Return the cost per row of a tuple's class without it."""
    cost = 0.0
    c = classes.class_of[r]
    for j in range(classes.cells.shape[1]):
        cost += trees.costs[_node_without(c, r, j, trees, classes)]
    return cost


@kernel
def _node_without(c, r, j, trees, classes):
    """Return an attribute's smallest node for a class without a tuple, or -1."""
    low, high = np.int64(-1), np.int64(-1)
    own = classes.cells[c, j]
    q = classes.heads[c]
    while q >= 0:
        position = np.int64(trees.positions[q, j])
        if q != r and (low < 0 or position < low or position > high):
            low, high = position if low < 0 else min(low, position), max(high, position)
            # Those that were seen need the whole node: no other tuple changes that.
            if join(trees, trees.leaves[low], high) == own:
                return np.int64(own)
        q = classes.following[q]
    if low < 0:
        return np.int64(-1)
    return join(trees, trees.leaves[low], high)


def relocate(trees: Trees, tests: Requirements, class_of: Ints, price: float = 0.0, budget: int = 1 << 62) -> Ints:
    """Move tuples, dissolve classes, and part pairs anew while that saves loss.

    Those given hold the tests, and so do those returned, (n_tuples,) int64 with unused numbers. A class costs a price
    beside the loss of its cells, in cells. The budget is about how many cells may be compared.
    """
    classes = Classes.of(trees, tests, class_of)
    recent = np.ones(len(classes.rows), dtype=np.bool_)
    move, dissolve = partial(_move, int(budget)), partial(_dissolve, float(price), int(budget))
    part = partial(_part_pairs, int(budget))
    while recent.any() and classes.tally[0] < budget:
        changed = np.zeros_like(recent)
        anew, turns = recent[classes.class_of], np.flatnonzero(recent)
        classes.sort()
        # Sizes alone decide which classes can be parted.
        steps = (move, np.flatnonzero(anew)), (dissolve, turns), (part, turns if len(tests.kinds) == 0 else turns[:0])
        for step, own in steps:
            at = 0
            while at < len(own):
                if classes.tally[1] > min(_MOST_CHANGED, _RESORTED * len(recent) // len(own)):
                    classes.sort()
                at = step(at, own, trees, tests, classes)
                changed |= classes.has_changed
        # The others found nothing better before, so that only classes which have changed since can be.
        others, at = np.flatnonzero(~anew), 0
        while at < len(others):
            classes.sort(np.flatnonzero(recent | changed))
            at = move(at, others, trees, tests, classes)
            changed |= classes.has_changed
        recent = changed
    return classes.class_of


@njit(allocates=False)
def _move(budget, start, turns, trees, tests, classes):
    """Move tuples to nearer classes, and return the next turn after a sort."""
    for turn in range(start, len(turns)):
        if classes.tally[1] > _MOST_CHANGED:
            return np.int64(turn)
        r = turns[turn]
        c = classes.class_of[r]
        n = classes.rows[c] - trees.rows[r]
        if classes.costs[c] == 0.0 or n < tests.k or classes.tally[0] >= budget:
            continue
        saved = classes.rows[c] * classes.costs[c] - n * cost_without(r, trees, classes) - LEAST_SAVED
        if saved <= 0.0 or not class_holds(c, np.int64(-1), np.int64(r), n, tests, classes):
            continue
        other, _ = nearest_class(r, saved, trees, tests, classes)
        if other >= 0:
            leave(r, trees, classes)
            enter(r, other, trees, classes)
    return np.int64(len(turns))


@njit(allocates=False)
def _dissolve(price, budget, start, turns, trees, tests, classes):
    """Spread the tuples of each class, in order, over others where that saves loss.

    One tuple after the other joins another class. Where not all find one, or it does not pay, they go back. The result
    is the turn to go on with once the classes are sorted anew.
    """
    own = classes.moving
    for turn in range(start, len(turns)):
        if classes.tally[1] > _MOST_CHANGED:
            return np.int64(turn)
        c = turns[turn]
        left = classes.rows[c] * classes.costs[c] + price - LEAST_SAVED
        if classes.rows[c] == 0 or left <= 0.0 or classes.tally[0] >= budget:
            continue
        n = list_members(c, np.int64(0), classes)
        for i in range(n):
            own[i] = classes.members[i]
        n_placed, n_changed = np.int64(0), classes.tally[1]
        while n_placed < n:
            other, added = nearest_class(own[n_placed], left, trees, tests, classes)
            if other < 0:
                break
            left -= added
            leave(own[n_placed], trees, classes)
            enter(own[n_placed], other, trees, classes)
            n_placed += 1
        if n_placed == n:
            continue
        for i in range(n_placed):
            leave(own[i], trees, classes)
            enter(own[i], c, trees, classes)
        # All have the cells again that they were sorted by.
        for i in range(n_changed, classes.tally[1]):
            classes.has_changed[classes.changed[i]] = False
        classes.tally[1] = n_changed
    return np.int64(len(turns))


@njit(allocates=False)
def _part_pairs(budget, start, turns, trees, tests, classes):
    """Part pairs of near classes anew, and return the next turn after a sort."""
    for turn in range(start, len(turns)):
        if classes.tally[1] > _MOST_CHANGED:
            return np.int64(turn)
        c = turns[turn]
        lost = classes.rows[c] * classes.costs[c]
        if lost == 0.0 or classes.tally[0] >= budget:
            continue
        other, _ = nearest_to_class(c, _NEAR_LOSSES * lost, trees, tests, classes)
        if other < 0:
            continue
        n = list_members(other, list_members(c, np.int64(0), classes), classes)
        lost += classes.rows[other] * classes.costs[other] - LEAST_SAVED
        j, node, n_looked = best_node(classes.members[:n], tests.k, lost, classes.attributes, trees)
        classes.tally[0] += n_looked
        if node < 0:
            continue
        for r in classes.members[:n]:
            leave(r, trees, classes)
        for r in classes.members[:n]:
            enter(r, c if trees.first[node] <= trees.positions[r, j] < trees.stop[node] else other, trees, classes)
    return np.int64(len(turns))


def repair(trees: Trees, tests: Requirements, class_of: Ints) -> Ints:
    """Repair invalid classes by joins and merges.

    Returned are (n_tuples,) int64 classes, of which some numbers may be unused. A tuple without a class, -1, joins the
    one that takes it at least added loss. What finds none is a class together. Then each class that breaks a
    requirement, large ones first, is merged with the one that costs least: with one whose union holds, if there is any.
    Where all tuples together do not hold, they become one class.
    """
    classes = Classes.of(trees, tests, class_of)
    classes.sort()
    _join_rest(trees, tests, classes)
    rest = classes.class_of < 0
    if rest.any():
        own = np.where(rest, len(classes.rows), classes.class_of)
        classes = Classes.of(trees, tests, own)
    # Large ones first: small ones are left for others to join.
    _merge_broken(np.argsort(-classes.rows, kind="stable"), trees, tests, classes)
    return classes.class_of


def fill(trees: Trees, tests: Requirements, class_of: Ints) -> Ints:
    """Make a class of the tuples without one, filled up from others.

    It takes tuples until it has k rows, each time the one that adds least loss per row still needed, from classes that
    keep k rows. Returns (n_tuples,) int64 classes, counted from 0; the new one may have fewer rows still.
    """
    n_classes = int(class_of.max()) + 1
    classes = Classes.of(trees, tests, np.where(class_of < 0, n_classes, class_of), n_classes + 1)
    if classes.rows[n_classes] > 0:
        _take_from_others(n_classes, trees, tests, classes)
    return classes.class_of


@njit(allocates=False)
def _take_from_others(c, trees, tests, classes):
    while classes.rows[c] < tests.k:
        found, least, n = np.int64(-1), np.inf, classes.rows[c]
        for r in range(len(classes.class_of)):
            giver, w = classes.class_of[r], trees.rows[r]
            if giver == c or classes.rows[giver] - w < tests.k:
                continue
            most = least * min(w, tests.k - n) + n * classes.costs[c] + w * classes.costs[giver]
            cost = cost_with(c, r, most / (n + w), trees, classes)
            if (n + w) * cost < most:
                added = (n + w) * cost - n * classes.costs[c] - w * classes.costs[giver]
                found, least = np.int64(r), added / min(w, tests.k - n)
        if found < 0:
            break
        leave(found, trees, classes)
        enter(found, c, trees, classes)


@kernel
def cost_with(c, r, limit, trees, classes):
    """Return the cost per row of a class with one more tuple."""
    cost = 0.0
    for j in classes.attributes:
        cost += trees.costs[join(trees, classes.cells[c, j], trees.positions[r, j])]
        if cost > limit:
            break
    return cost


@njit(allocates=False)
def _join_rest(trees, tests, classes):
    for r in range(len(classes.class_of)):
        if classes.class_of[r] < 0:
            c, _ = nearest_class(r, np.inf, trees, tests, classes)
            if c >= 0:
                enter(r, c, trees, classes)


@njit(allocates=False)
def _merge_broken(turns, trees, tests, classes):
    """Merge each invalid class until it is valid or the only one."""
    for c in turns:
        while classes.rows[c] > 0 and not class_holds(c, np.int64(-1), np.int64(-1), classes.rows[c], tests, classes):
            other = _partner(c, trees, tests, classes)
            if other < 0:
                break
            r = classes.heads[other]
            while r >= 0:
                following = classes.following[r]
                enter(r, c, trees, classes)
                r = following
            classes.heads[other] = -1
            classes.rows[other] = 0


@kernel
def _partner(c, trees, tests, classes):
    """Find the class that is cheapest to merge with another, or -1. Those whose union holds come first."""
    n, cost = classes.rows[c], classes.costs[c]
    near, least, whole, least_whole = np.int64(-1), np.inf, np.int64(-1), np.inf
    for other in range(len(classes.rows)):
        rows = classes.rows[other]
        if rows == 0 or other == c:
            continue
        limit = (least_whole + n * cost + rows * classes.costs[other]) / (n + rows)
        joined = _joined_cost(c, other, limit, trees, classes)
        if joined > limit or joined >= FORBIDDEN:
            continue
        added = (n + rows) * joined - n * cost - rows * classes.costs[other]
        if added < least:
            near, least = np.int64(other), added
        if added < least_whole:
            m = list_members(other, list_members(c, np.int64(0), classes), classes)
            if hold(classes.members, m, n + rows, tests, classes.scratch):
                whole, least_whole = np.int64(other), added
    return whole if whole >= 0 else near


@kernel
def _joined_cost(c, other, limit, trees, classes):
    cost = 0.0
    for j in classes.attributes:
        cost += trees.costs[_join_nodes(classes.cells[c, j], classes.cells[other, j], trees)]
        if cost > limit:
            break
    return cost
