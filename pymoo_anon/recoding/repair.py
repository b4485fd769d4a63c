"""What is left over joins a class, and classes that break a requirement are merged with others."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.arrays import Ints
from pymoo_anon.engine.compiled import njit
from pymoo_anon.recoding.classes import Classes, enter, list_members, nearest_class
from pymoo_anon.recoding.requirements import Tests, hold
from pymoo_anon.recoding.trees import FORBIDDEN, Trees


def mend(trees: Trees, tests: Tests, class_of: Ints) -> Ints:
    """Classes that hold all requirements, (n_tuples,) int64 counted from 0; some numbers may be unused.

    A tuple without a class, -1, joins the one that takes it at least added loss. What finds none is a class together.
    Then each class that breaks a requirement, large ones first, is merged with the one that costs least: with one whose
    union holds, if there is any. Where all tuples together do not hold, they become one class.
    """
    classes = Classes.of(trees, tests, class_of)
    _join_rest(trees, tests, classes)
    rest = classes.class_of < 0
    if rest.any():
        own = np.where(rest, len(classes.rows), classes.class_of)
        classes = Classes.of(trees, tests, own)
    # Large ones first: small ones are left for others to join.
    _merge_broken(np.argsort(-classes.rows, kind="stable"), trees, tests, classes)
    return classes.class_of


@njit(cache=True, nogil=True, allocates=False)
def _join_rest(trees, tests, classes):  # type: ignore[no-untyped-def]
    """Let every tuple without a class join the one that takes it at least added loss."""
    for r in range(len(classes.class_of)):
        if classes.class_of[r] < 0:
            c, _ = nearest_class(r, np.inf, trees, tests, classes)
            if c >= 0:
                enter(r, c, trees, classes)


@njit(cache=True, nogil=True, allocates=False)
def _merge_broken(turns, trees, tests, classes):  # type: ignore[no-untyped-def]
    """Merge each class that breaks a requirement, in turn, with others until it holds or is the only one."""
    for c in turns:
        while classes.rows[c] > 0 and not _holds(c, tests, classes):
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


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _holds(c, tests, classes):  # type: ignore[no-untyped-def]
    """Whether a class holds all requirements."""
    n = list_members(c, np.int64(0), classes)
    return hold(classes.members, np.int64(0), n, classes.rows[c], tests, classes.scratch)


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _partner(c, trees, tests, classes):  # type: ignore[no-untyped-def]
    """The class whose union with another one costs least, of those whose union holds if there are any; -1: none.

    None that must be apart from it is its partner.
    """
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
            if hold(classes.members, np.int64(0), m, n + rows, tests, classes.scratch):
                whole, least_whole = np.int64(other), added
    return whole if whole >= 0 else near


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _joined_cost(c, other, limit, trees, classes):  # type: ignore[no-untyped-def]
    """What the smallest cells that hold two classes cost a row; where that is above the limit, something above."""
    cost = 0.0
    for j in classes.attributes:
        node, below = classes.cells[c, j], classes.cells[other, j]
        while trees.first[below] < trees.first[node] or trees.stop[below] > trees.stop[node]:
            node = trees.parent[node]
        cost += trees.costs[node]
        if cost > limit:
            break
    return cost
