"""Bounds of measures that are the value of the worst class."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon.engine.arrays import Ints, Values
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.objectives.bounds.base import Bounding, Kind, Suppressible, fewest_unavoidable
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.table.suppression import kept_by


class Hereditary(Bounding):
    """No part of a class is better than the class: k, k in persons, k-map, distinct l.

    It asks the measure for `of_classes`, where higher is better.

    A part has no more rows, persons or different values than its class. Hence, under `Violating`, every part of a class
    that breaks a constraint breaks it, too, and the whole class is suppressed in every specialization: from a node to
    its specializations the suppressed tuples can only grow. And under any rule: where the value of a specialization is
    above v, the tuples of classes of at most v are suppressed in it.

    All this holds of adversaries who know some columns alone, too. What is left of a specialization keeps the
    constraint by itself, and so do the classes that it is part of. So it is part of what is left of the node, which is
    the largest such set. And no more rows agree with a part than with its class, all rows counted.

    Attributes:
        by_size: Whether the value of a class is its size, whatever the measure makes of it.
    """

    kind = Kind.THRESHOLD
    by_size = False

    def values_of(self, classes: EquivalenceClasses) -> Values:
        """(n_classes,) float array: a value of each class that none of its parts is above."""
        everybody = replace(classes, kept=np.ones_like(classes.kept))
        values: Values = self.measure.of_classes(everybody).astype(float)
        return values

    def at(self, values: Values) -> Values:
        """(n,) float array: the minimised values of the measure where these are the least values of kept classes."""
        return -values

    def reach(self, needs: Values, n_rows: int) -> Values:
        """(n,) float array: the greatest values for which the minimised measure is at least so much; -inf for none."""
        return -needs

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The smallest number that not all classes can be suppressed with."""
        return fewest_unavoidable(self.values_of(classes), classes, below)

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        """Classes that the constraint alone suppresses, whole."""
        return np.where(kept_by([constraint], classes), 0, classes.sizes)


class FollowsK(Hereditary):
    """A function of k alone. It asks the measure for `of_k`, the value that belongs to each k, and for `of_classes`."""

    by_size = True

    def __init__(self, measure: Any) -> None:
        super().__init__(measure)
        # The negated minimised values of k = 1, 2, ...: they do not fall.
        self._by_k: Values = np.empty(0)

    def values_of(self, classes: EquivalenceClasses) -> Values:
        """The sizes."""
        return classes.sizes.astype(float)

    def at(self, values: Values) -> Values:
        """What belongs to each k."""
        found: Values = self.measure.of_k(values)
        return -found if self.measure.maximize else found

    def reach(self, needs: Values, n_rows: int) -> Values:
        """The greatest k: larger k are better."""
        if len(self._by_k) != n_rows:
            self._by_k = -self.at(np.arange(1, n_rows + 1.0))
        found = np.searchsorted(self._by_k, -needs, side="right").astype(float)
        return np.where(np.isneginf(needs), np.inf, np.where(found > 0, found, -np.inf))

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The value of the largest k; splitting classes does not raise k."""
        best: Values = self.measure.of_k(below.most_k)
        return best


class Shares(NamedTuple):
    """Which shares of a class its values may have: what `WorstShare` asks of a measure.

    For a value x of the measure, the tuples that an entry counts may be a share of min(offset + slope x, cap) of their
    class.

    Attributes:
        held: (n_entries,) float array, how many tuples each entry counts.
        starts: (n_classes + 1,) int64 array, where the entries of each class begin.
        offsets: (n_entries,) float array.
        slopes: (n_entries,) float array of positive numbers.
        caps: (n_entries,) float array.
        floors: (n_classes,) float array, a value that no part of the class is below.
    """

    held: Values
    starts: Ints
    offsets: Values
    slopes: Values
    caps: Values
    floors: Values


class WorstShare(Bounding):
    """The worst class is the one in which a value is too frequent: alpha, t, beta.

    It asks the measure for `of_classes`, where lower is better, and for `shares`, a `Shares` of the classes.

    A class is a mixture of its parts, and no share in a mixture is larger than in all of its parts. So if r tuples of a
    class are suppressed and all parts that are kept are good enough, then what is left of the class, their mixture, is
    good enough, too. Conversely, where fewer tuples than that are suppressed, some kept part is not good enough.
    """

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The value of the worst class, once the tuples that may be suppressed are gone from where it helps most."""
        of_classes: Values = self.measure.of_classes(classes)
        worst = np.maximum.reduceat(of_classes, classes.starts[:-1])
        if below.limit > 0:
            shares: Shares = self.measure.shares(classes)
            _lower_worst(worst, of_classes, classes.starts, classes.sizes, below.limit, *shares)
        return np.repeat(worst, len(below))

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        """The fewest tuples without which what is left of a class keeps the constraint."""
        shares: Shares = self.measure.shares(classes)
        needed = np.empty(len(classes.sizes))
        _write_too_many(float(constraint.bound), classes.sizes, needed, *shares)
        # Rounding must not find a violation where the measure itself sees none.
        return np.where(constraint.broken(classes), np.maximum(needed, 1), 0).astype(np.int64)


class WorstShareOfFewValues(WorstShare):
    """Alpha: a value is too frequent, and few values cannot all have small shares."""

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The greater of both bounds: the one by shares, and 1 / (number of values of some class that is kept)."""
        distinct = np.diff(classes.columns[self.measure.column].starts)
        by_shares = super().best_of_specializations(classes, below)
        return np.maximum(by_shares, 1 / fewest_unavoidable(distinct, classes, below))


class WorstOfKnownSets(Bounding):
    """The bounds of every known set, by what the measure says of one who knows all quasi-identifiers.

    Rows that agree on a set are a class of a table of these columns alone. Its specializations, and what they suppress,
    are those of the whole table, so all bounds hold of it that hold of whole tables.
    """

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The worst of the bounds of all sets: all rows are counted, since others may be suppressed there."""
        own: Any = self.measure.knowing()
        family, worst = own.bounding(own), np.minimum if own.maximize else np.maximum
        everybody = replace(classes, kept=np.ones_like(classes.kept))
        found = (
            family.best_of_specializations(merged, below.merged(ids, len(merged.sizes)))
            for merged, ids in self.measure.merged(everybody)
        )
        return reduce(worst, found)


class WorstDiversity(Bounding):
    """The worst class is the least diverse one: entropy l, recursive l.

    It asks the measure for `diversity(classes, removed)`, the best diversity that each class can have left with so many
    of its tuples removed: (n_classes,) int64 array, fewer than it has. It does not fall with more removed.

    A mixture of classes is at least as diverse as the least diverse of them. For the entropy that is its concavity. For
    recursive l: the most frequent value of a mixture is at most as frequent as those of its parts together, and what is
    left without the l - 1 most frequent values is at least what the parts have left together (Machanavajjhala et al.
    2006, on monotonicity). So where all kept parts of a class are diverse enough, what is left of the class is, too.
    """

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """What one class has left, and no more than the distinct values of those that cannot all be suppressed."""
        removed = np.minimum(below.limit, classes.sizes - 1)
        left: Values = self.measure.diversity(classes, removed)
        # Where the limit takes a whole class, the class says nothing.
        best = np.minimum.reduceat(np.where(below.limit < classes.sizes, left, np.inf), classes.starts[:-1])
        distinct = np.diff(classes.columns[self.measure.column].starts)
        return np.minimum(best, fewest_unavoidable(distinct, classes, below))

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        """The fewest tuples without which what is left of a class keeps the constraint; all where nothing helps.

        By bisection. The invariant: with `low` removed a class breaks the constraint; with `high` it keeps it, or is
        gone.
        """
        broken = constraint.broken(classes)
        low, high = np.zeros_like(classes.sizes), np.where(broken, classes.sizes, 0)
        while (high - low > 1).any():
            middle = (low + high) // 2
            enough = constraint.keeps(self.measure.diversity(classes, middle))
            high = np.where(broken & enough, middle, high)
            low = np.where(broken & ~enough, middle, low)
        return high


@njit(cache=True, nogil=True, allocates=False)
def _lower_worst(worst, of_classes, class_starts, sizes, limit, *shares):  # type: ignore[no-untyped-def]
    """Lower the worst value of n nodes to what it is with the best `limit` tuples removed, or to a little less.

    It stays infinite where there is no such value. `shares` are the arrays of a `Shares`.
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
        # The invariant: for `low` too many tuples would have to go, or it is 0; for `high` they may go.
        for _ in range(n_left):
            middle = (low + high) / 2
            if _exceeds(middle, limit, of_classes, first, end, sizes, shares):
                low = middle
            else:
                high = middle
        worst[i] = low


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _exceeds(value, limit, of_classes, first, end, sizes, shares):  # type: ignore[no-untyped-def]
    """Whether more tuples have to go from some classes than the limit; none has to from a class that is good enough."""
    total = 0.0
    for c in range(first, end):
        if of_classes[c] > value:
            total += _too_many(value, c, sizes, shares)
            if total > limit:
                return True
    return False


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _too_many(value, c, sizes, shares):  # type: ignore[no-untyped-def]
    """How many tuples of a class have to go so that no share of the rest is too large for a value.

    Removal of r of the tuples that an entry counts leaves (held - r) / (size - r), which is a share s where
    r = (held - s size) / (1 - s).
    """
    held, starts, offsets, slopes, caps, floors = shares
    size = np.float64(sizes[c])
    # A value below the floor by no more than the rounding counts as the floor; for less the class has to go whole.
    removed = 0.0 if value >= floors[c] * (1 - 1e-9) else size
    for e in range(starts[c], starts[c + 1]):
        share = min(offsets[e] + slopes[e] * value, caps[e])
        excess = held[e] - share * size
        if excess > 0 and share < 1:
            removed = max(removed, excess / (1 - share))
    # Whole tuples, but for the rounding; and no more than there are.
    return min(np.ceil(removed - 1e-6), size)


@njit(cache=True, nogil=True, allocates=False)
def _write_too_many(value, sizes, needed, *shares):  # type: ignore[no-untyped-def]
    """Write how many tuples of each class have to go for a value: (n_classes,) float."""
    for c in range(len(sizes)):
        needed[c] = _too_many(value, c, sizes, shares)
