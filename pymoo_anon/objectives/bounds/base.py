"""What every bounding family says, and what suppression can do below an evaluated node, by the rule of suppression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.table.suppression import AtMost, Below, Suppression, Violating

Ints = NDArray[np.int64]
Values = NDArray[np.float64]


class Kind(Enum):
    """How a proof puts together what several evaluated generalizations say of a node.

    Attributes:
        FIXED: Each of them bounds the value; the best of these bounds holds.
        ADDITIVE: The floor of the node, and on top what its suppressed tuples lose.
        THRESHOLD: The least value of the classes that are kept, each at most that of the classes it was part of.
        SQUARES: A sum of squares over classes, of which the suppressed tuples are one.
    """

    FIXED = "fixed"
    ADDITIVE = "additive"
    THRESHOLD = "threshold"
    SQUARES = "squares"


@dataclass(frozen=True, eq=False)
class Suppressible:
    """What suppression can do in the specializations of one evaluated node, in one or several cases.

    A specialization splits classes into parts. In each of them one of the cases is true: there at least `gone[i, j]`
    tuples of class `small[j]` are suppressed, and k is at most `most_k[i]`.

    Attributes:
        limit: No more tuples than this are suppressed in all.
        small: (m,) int64 array, the classes of which tuples are surely suppressed in some case.
        gone: (n_cases, m) int64 array, how many tuples of each of them are.
        most_k: (n_cases,) int64 array.
        impossible: Whether every specialization would lose more tuples than the limit.
    """

    limit: int
    small: Ints
    gone: Ints
    most_k: Ints
    impossible: bool = False

    def __len__(self) -> int:
        """Number of cases."""
        return len(self.most_k)

    def wholly_gone(self, classes: EquivalenceClasses) -> NDArray[np.bool_]:
        """(n_cases, m) Boolean array: which of the small classes have no tuple left."""
        found: NDArray[np.bool_] = self.gone >= classes.sizes[self.small]
        return found


class Bounding:
    """What a proof may conclude from evaluated nodes about others; a family of measures shares one.

    Values that are called floors are minimised: the negative of a measure that is better when higher.

    Attributes:
        kind: How a proof puts together what evaluated nodes say.
        has_floor: Whether there are floors: values that a node cannot be below, whatever is suppressed.
        floor_rises: Whether evaluated nodes raise the floors of their generalizations.
    """

    kind = Kind.FIXED
    has_floor = False
    floor_rises = False

    def __init__(self, measure: Any) -> None:
        self.measure = measure

    def attribute_floors(self, tuples: DistinctTuples, maps: Ints) -> Values | None:
        """(n, n_attributes) float array whose row sums are floors of n generalizations; needs no grouping."""
        return None

    def leeway(self, tuples: DistinctTuples) -> float:
        """By what share a bound may be below its exact value, where no other value of the measure lies between.

        A member that is above a bound by no more is not worse than any value that the bound allows.
        """
        return 0.0

    def floor_of_generalizations(self, classes: EquivalenceClasses) -> float | None:
        """A floor of all generalizations of one node."""
        return None

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values | None:
        """(n_cases,) float array: the best value of any specialization of one node, in each case.

        A family with floors gives what comes on top of the specialization's own floor; it is not negative. The others
        give the value with its natural sign.
        """
        return None

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        """(n_classes,) int64 array: how many tuples of each class every specialization suppresses at least.

        This is under `Violating`, where a part that breaks the constraint is suppressed whole, and no other.
        """
        return np.zeros(len(classes.sizes), dtype=np.int64)


def fewest_unavoidable(numbers: NDArray[Any], classes: EquivalenceClasses, below: Suppressible) -> Values:
    """(n_cases,) float array: the smallest number that not all classes can be suppressed with.

    Let no part of a class have a larger number than the class, as with distinct values. Take the smallest t for which
    the classes with a number of at most t hold more tuples than can still be suppressed. Then some part of one of them
    is kept, and its number is at most t. Tuples that are surely suppressed have used up their share of the limit.
    """
    known, ranks = np.unique(numbers, return_inverse=True)
    held = np.bincount(ranks, classes.sizes, minlength=len(known))
    # Beyond the last number all can be suppressed.
    known = np.append(known.astype(float), np.inf)
    fewest = np.empty(len(below))
    for case, gone in enumerate(below.gone):
        left = np.cumsum(held - np.bincount(ranks[below.small], gone, minlength=len(held)))
        fewest[case] = known[np.searchsorted(left, below.limit - gone.sum(), side="right")]
    return fewest


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
