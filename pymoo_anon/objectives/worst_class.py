"""Objectives that are the value of the worst class: each says what a class is worth, the rest is the same."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts
from pymoo_anon.objectives.base import ColumnObjective, Values

Ints = NDArray[np.int64]


class WorstClassObjective(ColumnObjective):
    """The value of the worst equivalence class that is not suppressed; of the whole table where all are."""

    def of_classes(self, sizes: Ints, counts: ValueCounts, tuples: DistinctTuples) -> Values:
        """(n_classes,) float array: the value of each class.

        Args:
            sizes: (n_classes,) int64 array.
            counts: The values in each class.
            tuples: The table, for the distribution of the column in it.
        """
        raise NotImplementedError

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the value of the worst class of each of n generalizations."""
        of_classes = self.of_classes(classes.sizes, self._counts(classes), classes.tuples)
        sign = 1.0 if self.maximize else -1.0
        worst: Values = sign * _least(classes.starts, classes.kept, sign * of_classes)
        none_kept = np.isnan(worst)
        if none_kept.any():
            worst[none_kept] = self.of_classes(*_one_class(classes.tuples, self.column), classes.tuples)
        return worst + 0.0


class MonotoneWorstClass(WorstClassObjective):
    """Where the worst part of a class is never better than the class, so that splitting classes does not help."""

    def best_of_specializations(self, classes: EquivalenceClasses, limit: int, gone: Ints, most: Ints) -> Values:
        """The value of the worst class, once the tuples that may be suppressed are gone from where it helps most."""
        counts = self._counts(classes)
        of_classes = self.of_classes(classes.sizes, counts, classes.tuples)
        best = of_classes.min() if self.maximize else of_classes.max()
        if limit > 0:
            best = self._best_without(limit, best, classes.sizes, counts, classes.tuples)
        return np.full(len(gone), best)

    def _best_without(
        self, limit: int, worst: float, sizes: Ints, counts: ValueCounts, tuples: DistinctTuples
    ) -> float:
        """What the worst class is never better than, with at most `limit` tuples gone from all classes together.

        Args:
            limit: A positive number of tuples.
            worst: The value of the worst class with all tuples.
            sizes: (n_classes,) int64 array.
            counts: The values in each class.
            tuples: The table, for the distribution of the column in it.
        """
        raise NotImplementedError


@njit(cache=True, nogil=True)
def least_worst_share(held, starts, offsets, slopes, caps, floors, sizes, limit, worst):  # type: ignore[no-untyped-def]
    """The least value for which so few tuples can be removed that no share is too large.

    For a value x, the tuples that an entry counts may be a share of min(offset + slope x, cap) of their class. Removal
    of r of them leaves (held - r) / (size - r).

    Args:
        held: (n_entries,) float array, how many tuples each entry counts.
        starts: (n_classes + 1,) int64 array, where the entries of each class begin.
        offsets: (n_entries,) float array.
        slopes: (n_entries,) float array of positive numbers.
        caps: (n_entries,) float array.
        floors: (n_classes,) float array, a value that no part of the class is below; for less it is removed altogether.
        sizes: (n_classes,) int64 array.
        limit: Number of tuples that may be removed, from all classes together.
        worst: A value that none has to be removed for, or infinity.

    Returns:
        The value, or a little less; infinity where there is none.
    """
    low, high = 0.0, worst
    if worst == np.inf:
        high = ((caps - offsets) / slopes).max()
        if not _can_be_removed(high, held, starts, offsets, slopes, caps, floors, sizes, limit):
            return np.inf
    for _ in range(24):
        middle = (low + high) / 2
        if _can_be_removed(middle, held, starts, offsets, slopes, caps, floors, sizes, limit):
            high = middle
        else:
            low = middle
    return low


@njit(cache=True, nogil=True)
def _can_be_removed(value, held, starts, offsets, slopes, caps, floors, sizes, limit):  # type: ignore[no-untyped-def]
    needed = 0.0
    for c in range(len(sizes)):
        # Less than the floor by no more than the rounding is as good as the floor.
        removed = 0.0 if value >= floors[c] * (1 - 1e-9) else np.float64(sizes[c])
        for e in range(starts[c], starts[c + 1]):
            share = min(offsets[e] + slopes[e] * value, caps[e])
            excess = held[e] - share * sizes[c]
            if excess > 0 and share < 1:
                removed = max(removed, excess / (1 - share))
        # Whole tuples, but for the rounding; and no more than there are.
        needed += min(np.ceil(removed - 1e-6), sizes[c])
        if needed > limit:
            return False
    return True


def _one_class(tuples: DistinctTuples, column: str) -> tuple[Ints, ValueCounts]:
    """The whole table as one class."""
    totals = tuples.totals(column)
    present = np.flatnonzero(totals)
    starts = np.array([0, len(present)], dtype=np.int64)
    return np.array([tuples.n_rows], dtype=np.int64), ValueCounts(starts, present, totals[present], len(totals))


@njit(cache=True, nogil=True)
def _least(starts, kept, values):  # type: ignore[no-untyped-def]
    least = np.full(len(starts) - 1, np.nan)
    for i in range(len(least)):
        for c in range(starts[i], starts[i + 1]):
            if kept[c] and not values[c] >= least[i]:
                least[i] = values[c]
    return least
