"""Sequential clustering: tuples move to classes that take them at less loss, for as long as there are such moves.

As k-means is done one point at a time; every class keeps what it has to hold.
"""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.arrays import Ints
from pymoo_anon.engine.compiled import njit
from pymoo_anon.recoding.classes import Classes, cost_without, enter, leave, list_members, nearest_class
from pymoo_anon.recoding.requirements import Tests, hold
from pymoo_anon.recoding.trees import Trees

# A move has to save more than rounding may make up.
_LEAST = 1e-9

# Classes that have changed are looked at one by one.
_MOST_CHANGED = 100


def relocate(trees: Trees, tests: Tests, class_of: Ints, price: float = 0.0, budget: int = 1 << 62) -> Ints:
    """Classes of less loss, by moves of single tuples and by dissolving classes; some numbers may be unused.

    Those given hold the tests, and so do those returned, (n_tuples,) int64 counted from 0. A class costs a price beside
    the loss of its cells, in cells. The budget is about how many cells may be compared.
    """
    classes = Classes.of(trees, tests, class_of)
    before = -1
    while before < classes.tally[2] and classes.tally[0] < budget:
        before, r, c = int(classes.tally[2]), 0, 0
        while r < len(classes.class_of):
            classes.sort()
            r = _move(r, int(budget), trees, tests, classes)
        while c < len(classes.rows):
            classes.sort()
            c = _dissolve(c, float(price), int(budget), trees, tests, classes)
    return classes.class_of


@njit(cache=True, nogil=True, allocates=False)
def _move(start, budget, trees, tests, classes):  # type: ignore[no-untyped-def]
    """Move tuples, in order, to the class that takes them at least loss, if that saves loss.

    Returns:
        The tuple to go on with once the classes are sorted anew.
    """
    for r in range(start, len(classes.class_of)):
        if classes.tally[1] > _MOST_CHANGED:
            return np.int64(r)
        c = classes.class_of[r]
        n = classes.rows[c] - trees.rows[r]
        if classes.costs[c] == 0.0 or n < tests.k or classes.tally[0] >= budget:
            continue
        saved = classes.rows[c] * classes.costs[c] - n * cost_without(r, trees, classes) - _LEAST
        if saved <= 0.0 or not _holds_without(r, n, tests, classes):
            continue
        other, _ = nearest_class(r, saved, trees, tests, classes)
        if other >= 0:
            leave(r, trees, classes)
            enter(r, other, trees, classes)
            classes.tally[2] += 1
    return np.int64(len(classes.class_of))


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _holds_without(r, rows, tests, classes):  # type: ignore[no-untyped-def]
    """Whether the class of a tuple holds all requirements without it."""
    if len(tests.kinds) == 0:
        return True
    n = list_members(classes.class_of[r], np.int64(0), classes)
    for i in range(n):
        if classes.members[i] == r:
            classes.members[i] = classes.members[n - 1]
            break
    return hold(classes.members, np.int64(0), n - 1, rows, tests, classes.scratch)


@njit(cache=True, nogil=True, allocates=False)
def _dissolve(start, price, budget, trees, tests, classes):  # type: ignore[no-untyped-def]
    """Spread the tuples of classes, in order, over others where that saves loss.

    One tuple after the other joins another class. Where not all find one, or it does not pay, they return.

    Returns:
        The class to go on with once the classes are sorted anew.
    """
    own = classes.moving
    for c in range(start, len(classes.rows)):
        if classes.tally[1] > _MOST_CHANGED:
            return np.int64(c)
        left = classes.rows[c] * classes.costs[c] + price - _LEAST
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
            classes.tally[2] += 1
            continue
        for i in range(n_placed):
            leave(own[i], trees, classes)
            enter(own[i], c, trees, classes)
        # All have the cells again that they were sorted by.
        for i in range(n_changed, classes.tally[1]):
            classes.has_changed[classes.changed[i]] = False
        classes.tally[1] = n_changed
    return np.int64(len(classes.rows))
