"""Bounds for proofs: families that conclude from one node about others.

A measure names its family, or none. Without one, branch and bound refuses it as an objective, and every other algorithm
takes it. A measure whose bound no other one shares names `Bounding` and defines `best_of_specializations` itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.table.generalization import AtMost, Below, Constraint, Suppression, Violating, kept_by
from pymoo_anon.typing import Array, Bools, Floats, Ints

# Whole values below this are counted one by one.
_SMALL = 1 << 12


class Kind(IntEnum):
    """The rule by which a proof combines bounds."""

    FIXED = 0  # Each of them bounds the value. The best of these bounds holds.
    ADDITIVE = 1  # The floor of the node, and the loss of its suppressed tuples on top
    THRESHOLD = 2  # The least value of the kept classes. None is above that of the class it was part of.
    SQUARES = 3  # A sum of squares over classes. The suppressed tuples are one class.


@dataclass(frozen=True, eq=False)
class SuppressionBudget:
    """The suppression that specializations of an evaluated node can have.

    A specialization splits classes into parts. In each of them one of the cases is true: there at least `gone[i, j]`
    tuples of class `small[j]` are suppressed, and k is at most `most_k[i]`. A budget may also cover several nodes,
    whose classes lie end to end. Then there is one case.
    """

    limit: int  # The greatest number of suppressed tuples
    small: Ints  # (m,) int64 array, the classes that surely lose tuples in some case
    gone: Ints  # (n_cases, m) int64 array, the number of tuples that each of them loses
    most_k: Ints  # (n_cases,) int64 array, or one for each of several nodes
    impossible: Bools  # (n_nodes,) Boolean array: whether every specialization would exceed the limit

    def __len__(self) -> int:
        return len(self.gone)

    def merged(self, ids: Ints, n: int) -> SuppressionBudget:
        """Return the budget of n merged classes."""
        gone = np.zeros((len(self.gone), n), dtype=np.int64)
        np.add.at(gone.T, ids[self.small], self.gone.T)
        small = np.flatnonzero(gone.any(axis=0))
        return replace(self, small=small, gone=gone[:, small])

    def wholly_gone(self, classes: EquivalenceClasses) -> Bools:
        """Return an (n_cases, m) Boolean array: whether the small classes are gone."""
        return self.gone >= classes.sizes[self.small]


class Bounding:
    """A family of measures with the same bounds of unevaluated nodes.

    Floors are minimised: the negative of a measure that is better when higher.

    Attributes:
        kind: The rule by which a proof combines the bounds of evaluated nodes.
        has_floor: Whether nodes have floors, values that no suppression gets below.
        floor_rises: Whether evaluated nodes raise the floors of their generalizations.
    """

    kind = Kind.FIXED
    has_floor = False
    floor_rises = False

    def __init__(self, measure: Any) -> None:
        self.measure = measure

    def attribute_floors(self, tuples: DistinctTuples, maps: Ints) -> Floats | None:
        """Return floors without grouping, summed by row, or None. (n, n_attributes) float array."""
        return None

    def leeway(self, tuples: DistinctTuples) -> float:
        """Return the share by which rounding may lower a bound. No other value of the measure lies between."""
        return 0.0

    def floor_of_generalizations(self, classes: EquivalenceClasses) -> Floats | None:
        """Return a floor of all generalizations of each node, or None."""
        return None

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats | None:
        """Return the best value of any specialization in each case. (n_cases,) float array.

        A family with floors gives the loss on top of the specialization's own floor, which is not negative. The others
        give the value with its natural sign. A family of the kind `FIXED` without floors also takes several nodes at
        once, in one case: then (n_nodes,) array. Here the measure itself is asked.
        """
        return self.measure.best_of_specializations(classes, below)

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        """Return how many tuples of each class every specialization suppresses. (n_classes,) int64 array.

        Under `Violating`, parts that break the constraint are suppressed whole, and no others.
        """
        return np.zeros(len(classes.sizes), dtype=np.int64)


def fewest_unavoidable(numbers: Array, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
    """Return the smallest number that not all kept classes can exceed. (n_cases,) or (n_nodes,) float array.

    Let no part of a class have a larger number than the class, as with distinct values. Take the smallest t for which
    the classes with a number of at most t hold more tuples than can still be suppressed. Then some part of one of them
    is kept, and its number is at most t. It is infinite where all can be suppressed, -inf where the limit is exceeded.
    """
    fewest, tally = np.empty((len(below), len(classes))), np.empty(_SMALL, dtype=np.int64)
    for own, amounts in zip(fewest, below.gone, strict=True):
        gone = np.zeros(len(classes.sizes), dtype=np.int64)
        gone[below.small] = amounts
        _write_fewest(numbers.astype(float), classes.starts, classes.sizes, gone, below.limit, tally, own)
    return fewest.ravel()


def suppression_budget(
    classes: EquivalenceClasses, rule: Suppression, constraints: Sequence[Constraint], by_k: bool
) -> SuppressionBudget:
    """Return the suppression budget of the specializations of a node. Without `by_k` it takes several nodes."""
    if isinstance(rule, Violating):
        return _violating_budget(classes, rule, constraints)
    if isinstance(rule, AtMost):
        return _at_most_budget(classes, rule.limit_of(classes.n_rows), by_k)
    if isinstance(rule, Below):
        # Without a limit everything may be suppressed. Parts of a class below the k are below it, too.
        small = np.flatnonzero(classes.sizes < rule.k)
        gone, possible = classes.sizes[small][np.newaxis], np.zeros(len(classes), dtype=bool)
        return SuppressionBudget(classes.n_rows, small, gone, _one(classes.n_rows), possible)
    raise TypeError(f"rule must be AtMost, Below or Violating, got {rule!r}")


def _at_most_budget(classes: EquivalenceClasses, limit: int, by_k: bool) -> SuppressionBudget:
    """Distinguish cases by the k of the specialization.

    Let k be that of the node, and s_1 < ... < s_m the sizes of its suppressed classes. A specialization has no larger
    k: it splits classes, so at least as many tuples are in classes of at most k. If its own k is above s_i, all parts
    of the classes of at most s_i tuples are smaller than it and suppressed. So with s_0 = 0 and s_(m+1) = k, its k lies
    above s_i and is at most s_(i+1) for one i, and the classes of at most s_i tuples are gone.
    """
    sizes, possible = classes.sizes, np.zeros(len(classes), dtype=bool)
    if not by_k:
        nothing = np.empty(0, dtype=np.int64)
        return SuppressionBudget(limit, nothing, nothing[np.newaxis], _one(classes.n_rows), possible)
    k = sizes[classes.kept].min()
    small = np.flatnonzero(sizes < k)
    different = np.unique(sizes[small])
    above = np.append(0, different)
    gone = np.where(sizes[small] <= above[:, np.newaxis], sizes[small], 0)
    return SuppressionBudget(limit, small, gone, np.append(different, k), possible)


def _violating_budget(
    classes: EquivalenceClasses, rule: Violating, constraints: Sequence[Constraint]
) -> SuppressionBudget:
    """Return the tuples of each class that constraints surely cost.

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
    impossible = np.add.reduceat(sure, classes.starts[:-1]) > limit
    below = SuppressionBudget(limit, small, sure[small][np.newaxis], _one(classes.n_rows), impossible)
    # No part of a class is larger than the class. Where nothing is possible any k is right.
    most_k = np.maximum(fewest_unavoidable(classes.sizes, classes, below), 1).astype(np.int64)
    return replace(below, most_k=most_k)


def _one(value: int) -> Ints:
    return np.array([value], dtype=np.int64)


@njit(allocates=False)
def _write_fewest(numbers, starts, sizes, gone, limit, tally, fewest):
    """Write `fewest_unavoidable` of n nodes in one case."""
    for i in range(len(fewest)):
        fewest[i] = _fewest(numbers, starts[i], starts[i + 1], sizes, gone, limit, tally)


@kernel
def _fewest(numbers, first, end, sizes, gone, limit, tally):
    for v in range(len(tally)):
        tally[v] = 0
    room, everything, all_whole = np.int64(limit), np.int64(0), True
    for c in range(first, end):
        left = sizes[c] - gone[c]
        room -= gone[c]
        everything += left
        if 0 <= numbers[c] < len(tally) and numbers[c] == np.floor(numbers[c]):
            tally[np.int64(numbers[c])] += left
        else:
            all_whole = all_whole and numbers[c] >= len(tally)
    if room < 0:
        return -np.inf
    if everything <= room:
        return np.inf
    last = -np.inf
    if all_whole:
        # Invariant: `room` is the rest of the limit once the classes of less than v are suppressed.
        for v in range(len(tally)):
            room -= tally[v]
            if room < 0:
                return float(v)
        last = float(len(tally) - 1)
    # Invariant: `room` is the rest of the limit once the classes of at most `last` are suppressed.
    while True:
        lowest, held = np.inf, np.int64(0)
        for c in range(first, end):
            left = sizes[c] - gone[c]
            if left > 0 and numbers[c] > last and numbers[c] <= lowest:
                held = left if numbers[c] < lowest else held + left
                lowest = numbers[c]
        room -= held
        if room < 0 or held == 0:
            return lowest
        last = lowest


class AdditiveLoss(Bounding):
    """A sum over the attributes, to which suppression adds: GLM, NWP, NUE, precision.

    The measure has `attribute_terms(tuples, maps)`, (n, n_attributes) float array, the cost of each attribute without
    suppression; and `left_by_value(tuples, maps)`, (n, n_codes) float array, the further cost of a suppressed tuple for
    each domain value, attribute by attribute. Costs are minimised values.
    """

    kind = Kind.ADDITIVE
    has_floor = True

    def attribute_floors(self, tuples: DistinctTuples, maps: Ints) -> Floats:
        terms: Floats = self.measure.attribute_terms(tuples, maps)
        # A little less: their sum, rounded in any order, is not above the value itself.
        return terms - np.abs(terms) * _rounding(tuples)

    def leeway(self, tuples: DistinctTuples) -> float:
        """Return twice the share that floors lack, or 0."""
        share, most = 2 * _rounding(tuples), max(map(abs, self.measure.value_range(tuples)))
        return share if self.measure.spacing(tuples) > 4 * share * most else 0.0

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the further loss of the tuples that are gone.

        In a specialization a tuple has lost no more by generalization than here, so it has at least as much left.
        """
        tuples = classes.tuples
        left = self.left_by_value(tuples, classes.checked_maps)[0]
        cells = tuples.offsets[:-1] + tuples.codes[classes.representatives[below.small]]
        return (below.gone * left[cells].sum(axis=1)).sum(axis=1)

    def left_by_value(self, tuples: DistinctTuples, maps: Ints) -> Floats:
        """Return the further cost of a suppressed tuple by domain value."""
        return self.measure.left_by_value(tuples, maps)


def _rounding(tuples: DistinctTuples) -> float:
    """Return more than the relative error of a sum over attributes."""
    return float((len(tuples.domain_sizes) + 2) * 2.0**-51)


class RisingLoss(Bounding):
    """A loss that neither merging nor suppressing classes lowers: CM, DM, AECS."""

    has_floor = True
    floor_rises = True
    slack = 0.0

    def floor_of_generalizations(self, classes: EquivalenceClasses) -> Floats:
        everything = replace(classes, kept=np.ones(len(classes.sizes), dtype=bool))
        return self.measure.evaluate(everything) * (1 - self.slack)


class RisingSum(RisingLoss):
    """A rising loss that is a rounded sum: KL. Its floor is a little lower, for the rounding."""

    slack = 1e-9


class SquaresOverClasses(Bounding):
    """A sum of squares with one class of suppressed tuples: S_k, S_l.

    The measure has `squares(classes)`, (n_classes,) int64 array, the term of each class.

    A square of a sum is at least the sum of the squares, so that the parts of a class add no more than the class. Parts
    of classes that are gone are suppressed. The suppressed tuples add at most the square of their number.
    """

    kind = Kind.SQUARES

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        squares = self.measure.squares(classes)
        gone = np.where(below.wholly_gone(classes), squares[below.small], 0).sum(axis=1)
        # Python's whole numbers are rounded once: a value is exact beyond 2^53, so its bound has to be exact, too.
        total = int(squares.sum())
        return np.array([float(total - int(lost) + below.limit**2) for lost in gone])

    def most_of_specializations(self, classes: EquivalenceClasses) -> Floats:
        """Return the greatest sum over kept classes of any specialization."""
        # Whole numbers are rounded once.
        return np.add.reduceat(self.measure.squares(classes), classes.starts[:-1]).astype(float)


@dataclass(frozen=True, eq=False)
class ClassGains:
    """A minimised loss as the gains of kept classes.

    A class of n tuples, each in the group g_a of attribute a, gains n * (sum over a of worths[a][g_a]).
    """

    most: float  # The loss where every tuple is suppressed
    # Per attribute a (n_groups,) float array: the saving of a tuple in each group. None is negative.
    worths: tuple[Floats, ...]
    denominator: int = 0  # A number of which all worths are multiples of the inverse, or 0 for none


class Monotone(Bounding):
    """A measure without better parts of classes: k, k-map, distinct l.

    The measure has `of_classes`, where higher is better.

    A part has no more rows, persons or different values than its class. Hence, under `Violating`, every part of a class
    that breaks a constraint breaks it, too, and the whole class is suppressed in every specialization: from a node to
    its specializations the suppressed tuples can only grow. And under any rule: where the value of a specialization is
    above v, the tuples of classes of at most v are suppressed in it.

    All this also holds against adversaries with background knowledge. The kept tuples of a specialization keep the
    constraint among themselves, and so do the classes that they are part of. So they are part of the kept tuples of the
    node, the largest such set. And no more rows agree with a part than with its class, all rows counted.

    Attributes:
        by_size: Whether the value of a class is its size, and the measure a function of it.
    """

    kind = Kind.THRESHOLD
    by_size = False

    def values_of(self, classes: EquivalenceClasses) -> Floats:
        """Return a value of each class that its parts do not exceed. (n_classes,) float array."""
        everybody = replace(classes, kept=np.ones_like(classes.kept))
        return self.measure.of_classes(everybody).astype(float)

    def at(self, values: Floats) -> Floats:
        """Return the minimised measure for the least values of kept classes. (n,) float array."""
        return -values

    def reach(self, needs: Floats, n_rows: int) -> Floats:
        """Return the greatest values with a minimised measure of at least `needs`, -inf for none."""
        return -needs

    def tops(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the greatest `values_of` in any specialization. (n_cases,) or (n_nodes,) array."""
        return fewest_unavoidable(self.values_of(classes), classes, below)

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        return self.tops(classes, below)

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        return np.where(kept_by([constraint], classes), 0, classes.sizes)


class FollowsK(Monotone):
    """A function of k alone. The measure has `of_k`, its value for each k, and `of_classes`."""

    by_size = True

    def __init__(self, measure: Any) -> None:
        super().__init__(measure)
        # The negated minimised values of k = 1, 2, ... They do not fall.
        self._by_k: Floats = np.empty(0)

    def values_of(self, classes: EquivalenceClasses) -> Floats:
        return classes.sizes.astype(float)

    def at(self, values: Floats) -> Floats:
        found: Floats = self.measure.of_k(values)
        return -found if self.measure.maximize else found

    def reach(self, needs: Floats, n_rows: int) -> Floats:
        if len(self._by_k) != n_rows:
            self._by_k = -self.at(np.arange(1, n_rows + 1.0))
        found = np.searchsorted(self._by_k, -needs, side="right").astype(float)
        return np.where(np.isneginf(needs), np.inf, np.where(found > 0, found, -np.inf))

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        return self.measure.of_k(below.most_k)


class Shares(NamedTuple):
    """The shares of a class that a value of the measure allows.

    For a value x of the measure, the tuples that an entry counts may be a share of min(offset + slope x, cap) of their
    class. All but the last two are (n_entries,) float arrays.
    """

    held: Floats
    starts: Ints
    offsets: Floats
    slopes: Floats
    caps: Floats
    floors: Floats


class WorstShare(Bounding):
    """A measure of too frequent values: alpha, t, beta.

    The measure has `of_classes`, where lower is better, and `shares`, a `Shares` of the classes. It may know a tighter
    bound in `best_of_specializations`.

    A class is a mixture of its parts, and no share in a mixture is larger than in all of its parts. So if r tuples of a
    class are suppressed and all kept parts are good enough, then the rest of the class, their mixture, is good enough,
    too. Conversely, where fewer tuples are suppressed, some kept part is not good enough.
    """

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        of_classes: Floats = self.measure.of_classes(classes)
        worst = np.maximum.reduceat(of_classes, classes.starts[:-1])
        if below.limit > 0:
            shares: Shares = self.measure.shares(classes)
            _lower_worst(worst, of_classes, classes.starts, classes.sizes, below.limit, *shares)
        bounds, own = np.repeat(worst, len(below)), super().best_of_specializations(classes, below)
        return bounds if own is None else np.maximum(bounds, own)

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        shares: Shares = self.measure.shares(classes)
        needed = np.empty(len(classes.sizes))
        _write_too_many(float(constraint.bound), classes.sizes, needed, *shares)
        # Rounding must not find a violation where the measure itself sees none.
        return np.where(constraint.broken(classes), np.maximum(needed, 1), 0).astype(np.int64)


class WorstDiversity(Bounding):
    """A measure of the least diverse class: entropy l, recursive l.

    The measure has `diversity(classes, removed)`, the best diversity of each class once `removed` of its tuples are
    gone: (n_classes,) int64 array, fewer than it has. It does not fall with more removed.

    A mixture of classes is at least as diverse as the least diverse of them. For the entropy that is its concavity. For
    recursive l: the most frequent value of a mixture is at most as frequent as those of its parts together, and the
    rest without the l - 1 most frequent values is at least that of the parts together (Machanavajjhala et al. 2006, on
    monotonicity). So where all kept parts of a class are diverse enough, the rest of the class is, too.
    """

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        removed = np.minimum(below.limit, classes.sizes - 1)
        left: Floats = self.measure.diversity(classes, removed)
        # Where the limit takes a whole class, the class says nothing.
        best = np.minimum.reduceat(np.where(below.limit < classes.sizes, left, np.inf), classes.starts[:-1])
        distinct = np.diff(classes.columns[self.measure.column].starts)
        return np.minimum(best, fewest_unavoidable(distinct, classes, below))

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        """Return the fewest tuples that a class has to lose for the constraint.

        All tuples if nothing helps. By bisection, with the invariant: with `low` removed a class breaks the constraint;
        with `high` it keeps it, or is gone.
        """
        broken = constraint.broken(classes)
        low, high = np.zeros_like(classes.sizes), np.where(broken, classes.sizes, 0)
        while (high - low > 1).any():
            middle = (low + high) // 2
            enough = constraint.keeps(self.measure.diversity(classes, middle))
            high = np.where(broken & enough, middle, high)
            low = np.where(broken & ~enough, middle, low)
        return high


@njit(allocates=False)
def _lower_worst(worst, of_classes, class_starts, sizes, limit, *shares):
    """Lower the worst value of n nodes by the best suppression.

    `limit` tuples are removed, and the value is a little less than exact. It stays infinite where there is no finite
    one. `shares` are the arrays of a `Shares`.
    """
    starts, offsets, slopes, caps = shares[1], shares[2], shares[3], shares[4]
    for i in range(len(worst)):
        first, end = class_starts[i], class_starts[i + 1]
        low, high, n_left = 0.0, worst[i], 24
        if high == np.inf:
            high = 0.0
            for e in range(starts[first], starts[end]):
                high = max(high, (caps[e] - offsets[e]) / slopes[e])
            if _exceeds(high, limit, of_classes, first, end, sizes, shares):
                n_left, low = 0, np.inf
        # Invariant: for `low` too many tuples would have to go, or it is 0. For `high` they may go.
        for _ in range(n_left):
            middle = (low + high) / 2
            if _exceeds(middle, limit, of_classes, first, end, sizes, shares):
                low = middle
            else:
                high = middle
        worst[i] = low


@kernel
def _exceeds(value, limit, of_classes, first, end, sizes, shares):
    total = 0.0
    for c in range(first, end):
        if of_classes[c] > value:
            total += _too_many(value, c, sizes, shares)
            if total > limit:
                return True
    return False


@kernel
def _too_many(value, c, sizes, shares):
    """Return how many tuples a class has to lose for a value.

    Removal of r of the tuples that an entry counts leaves (held - r) / (size - r), which is a share s where r = (held -
    s size) / (1 - s).
    """
    held, starts, offsets, slopes, caps, floors = shares
    size = np.float64(sizes[c])
    # A value below the floor by a rounding counts as the floor. For a lower one the class has to go whole.
    removed = 0.0 if value >= floors[c] * (1 - 1e-9) else size
    for e in range(starts[c], starts[c + 1]):
        share = min(offsets[e] + slopes[e] * value, caps[e])
        excess = held[e] - share * size
        if excess > 0 and share < 1:
            removed = max(removed, excess / (1 - share))
    # Whole tuples, but for the rounding, and no more than there are.
    return min(np.ceil(removed - 1e-6), size)


@njit(allocates=False)
def _write_too_many(value, sizes, needed, *shares):
    for c in range(len(sizes)):
        needed[c] = _too_many(value, c, sizes, shares)
