"""Bounds of measures that are the value of the worst class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.objectives.bounds.base import Bounding, Kind, SuppressionBudget, fewest_unavoidable
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.table.suppression import kept_by
from pymoo_anon.typing import Floats, Ints


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
        values: Floats = self.measure.of_classes(everybody).astype(float)
        return values

    def at(self, values: Floats) -> Floats:
        """Return the minimised measure for the least values of kept classes. (n,) float array."""
        return -values

    def reach(self, needs: Floats, n_rows: int) -> Floats:
        """Return the greatest values with a minimised measure of at least `needs`.

        (n,) float array, -inf for none.
        """
        return -needs

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the smallest value that not every suppression can remove."""
        return fewest_unavoidable(self.values_of(classes), classes, below)

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        """Return the sizes of the classes that break the constraint."""
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
        """Return the greatest k: larger k are better."""
        if len(self._by_k) != n_rows:
            self._by_k = -self.at(np.arange(1, n_rows + 1.0))
        found = np.searchsorted(self._by_k, -needs, side="right").astype(float)
        return np.where(np.isneginf(needs), np.inf, np.where(found > 0, found, -np.inf))

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the value of the largest k."""
        best: Floats = self.measure.of_k(below.most_k)
        return best


class Shares(NamedTuple):
    """The shares of a class that a value of the measure allows.

    For a value x of the measure, the tuples that an entry counts may be a share of min(offset + slope x, cap) of their
    class.

    Attributes:
        held: (n_entries,) float array, the tuples that each entry counts.
        starts: (n_classes + 1,) int64 array, the first entry of each class.
        offsets: (n_entries,) float array.
        slopes: (n_entries,) float array of positive numbers.
        caps: (n_entries,) float array.
        floors: (n_classes,) float array, a value that no part of the class is below.
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
        """Return the value of the worst class after the best suppression."""
        of_classes: Floats = self.measure.of_classes(classes)
        worst = np.maximum.reduceat(of_classes, classes.starts[:-1])
        if below.limit > 0:
            shares: Shares = self.measure.shares(classes)
            _lower_worst(worst, of_classes, classes.starts, classes.sizes, below.limit, *shares)
        bounds, own = np.repeat(worst, len(below)), super().best_of_specializations(classes, below)
        return bounds if own is None else np.maximum(bounds, own)

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        """Return the fewest tuples that a class has to lose for the constraint."""
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
        """Return the best diversity after suppression."""
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
def _lower_worst(worst, of_classes, class_starts, sizes, limit, *shares):  # type: ignore[no-untyped-def]
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
def _exceeds(value, limit, of_classes, first, end, sizes, shares):  # type: ignore[no-untyped-def]
    """Tell whether a value needs more suppression than the limit."""
    total = 0.0
    for c in range(first, end):
        if of_classes[c] > value:
            total += _too_many(value, c, sizes, shares)
            if total > limit:
                return True
    return False


@kernel
def _too_many(value, c, sizes, shares):  # type: ignore[no-untyped-def]
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
def _write_too_many(value, sizes, needed, *shares):  # type: ignore[no-untyped-def]
    """Write how many tuples each class has to lose for a value."""
    for c in range(len(sizes)):
        needed[c] = _too_many(value, c, sizes, shares)
