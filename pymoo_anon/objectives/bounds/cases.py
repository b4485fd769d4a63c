"""Which tuples the specializations of an evaluated node suppress, by the rule of suppression."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.bounds.base import Ints, Suppressible, fewest_unavoidable
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.table.suppression import AtMost, Below, Suppression, Violating


def suppressible(
    classes: EquivalenceClasses, rule: Suppression, constraints: Sequence[Constraint], by_k: bool
) -> Suppressible:
    """What a rule of suppression can do in the specializations of one node."""
    if isinstance(rule, Violating):
        return _below_violating(classes, rule, constraints)
    if isinstance(rule, AtMost):
        return _below_at_most(classes, rule.limit_of(classes.n_rows), by_k)
    if isinstance(rule, Below):
        # Without a limit everything may be suppressed.
        small = np.flatnonzero(classes.sizes < rule.k)
        return Suppressible(classes.n_rows, small, classes.sizes[small][np.newaxis], _one(classes.n_rows))
    raise TypeError(f"rule must be AtMost, Below or Violating, got {rule!r}")


def surely_gone(
    classes: EquivalenceClasses, rule: Suppression, constraints: Sequence[Constraint]
) -> tuple[NDArray[np.bool_], bool]:
    """What every specialization of a node suppresses, whatever its k is.

    Parts of a class below the k of `Below` are below it, too.

    Returns:
        (n_classes,) Boolean array, the classes that are suppressed whole, empty for none; and whether more tuples are
        suppressed than the limit.
    """
    if isinstance(rule, Below):
        return classes.sizes < rule.k, False
    if isinstance(rule, AtMost):
        return np.zeros(0, dtype=bool), False
    below = suppressible(classes, rule, constraints, by_k=False)
    gone = np.zeros(len(classes.sizes), dtype=bool)
    gone[below.small] = below.wholly_gone(classes)[0]
    return gone, below.impossible


def _below_at_most(classes: EquivalenceClasses, limit: int, by_k: bool) -> Suppressible:
    """Cases by the k of the specialization.

    Let k be that of the node, and s_1 < ... < s_m the sizes of its suppressed classes. A specialization has no larger
    k: it splits classes, so at least as many tuples are in classes of at most k. If its own k is above s_i, all parts
    of the classes of at most s_i tuples are smaller than it and suppressed. So with s_0 = 0 and s_(m+1) = k, its k lies
    above s_i and is at most s_(i+1) for one i, and the classes of at most s_i tuples are gone.
    """
    sizes = classes.sizes
    if not by_k:
        return Suppressible(limit, np.empty(0, dtype=np.int64), np.empty((1, 0), dtype=np.int64), _one(classes.n_rows))
    k = sizes[classes.kept].min()
    small = np.flatnonzero(sizes < k)
    different = np.unique(sizes[small])
    above = np.append(0, different)
    gone = np.where(sizes[small] <= above[:, np.newaxis], sizes[small], 0)
    return Suppressible(limit, small, gone, np.append(different, k))


def _below_violating(classes: EquivalenceClasses, rule: Violating, constraints: Sequence[Constraint]) -> Suppressible:
    """One case: what every constraint surely costs, class by class.

    Each constraint alone needs so many tuples of a class suppressed, so all together need at least the most of these.
    Tuples of different classes are different tuples, so the classes add up.
    """
    sure = np.zeros(len(classes.sizes), dtype=np.int64)
    for constraint in constraints:
        family = constraint.objective.bounding
        if constraint.speaks_of_classes and family is not None:
            sure = np.maximum(sure, family(constraint.objective).surely_suppressed(classes, constraint))
    limit = rule.limit_of(classes.n_rows)
    small = np.flatnonzero(sure)
    below = Suppressible(limit, small, sure[small][np.newaxis], _one(classes.n_rows), bool(sure.sum() > limit))
    # No part of a class is larger than the class.
    most_k = fewest_unavoidable(classes.sizes, classes, below).astype(np.int64)
    return Suppressible(limit, below.small, below.gone, most_k, below.impossible)


def _one(value: int) -> Ints:
    return np.array([value], dtype=np.int64)
