"""Objectives that are the value of the worst class: each says what a class is worth, the rest is the same."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pymoo_anon.equivalence import DistinctTuples, EquivalenceClasses, ValueCounts
from pymoo_anon.objectives.base import ColumnObjective, Values
from pymoo_anon.objectives.bounds import fewest_unavoidable

Ints = NDArray[np.int64]


class WorstClassObjective(ColumnObjective):
    """The value of the worst equivalence class that is not suppressed; of the whole table where all are."""

    def of_classes(self, sizes: Ints, counts: ValueCounts, table: DistinctTuples, removed: int = 0) -> Values:
        """(n_classes,) float array: the value of each class.

        Args:
            sizes: (n_classes,) int64 array.
            counts: The values in each class.
            table: The table, for the distribution of the column in it.
            removed: With so many of its tuples removed, no class has a better value than this; a class that has no
                more tuples, the best there is. Objectives without bounds are never asked for more than 0.
        """
        raise NotImplementedError

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the value of the worst class of each of n generalizations."""
        of_classes = self.of_classes(classes.sizes, self._counts(classes), classes.table)
        sign = 1.0 if self.maximize else -1.0
        worst: Values = sign * _least(classes.starts, classes.sizes, classes.smallest_kept, sign * of_classes)
        none_kept = np.isnan(worst)
        if none_kept.any():
            worst[none_kept] = self.of_classes(*_one_class(classes.table, self.column), classes.table)
        return worst + 0.0


class MonotoneWorstClass(WorstClassObjective):
    """Where the worst part of a class is never better than the class, so that splitting classes does not help."""

    def best_of_specializations(self, classes: EquivalenceClasses, limit: int, gone: Ints, most: Ints) -> Values:
        """The value of the worst class, if all that may be suppressed were suppressed in it."""
        worst = np.minimum if self.maximize else np.maximum
        of_classes = self.of_classes(classes.sizes, self._counts(classes), classes.table, limit)
        best: Values = np.full(len(gone), worst.reduce(of_classes))
        distinct = np.diff(self._counts(classes).starts)
        by_values = self._best_of(fewest_unavoidable(distinct, classes.sizes, gone, limit))
        return best if by_values is None else worst(best, by_values)

    def _best_of(self, distinct: Values) -> Values | None:
        """The best value of classes of so many distinct values, if it depends on their number."""
        return None


def _one_class(table: DistinctTuples, column: str) -> tuple[Ints, ValueCounts]:
    """The whole table as one class."""
    totals = table.totals(column)
    present = np.flatnonzero(totals)
    starts = np.array([0, len(present)], dtype=np.int64)
    return np.array([table.n_rows], dtype=np.int64), ValueCounts(starts, present, totals[present], len(totals))


@njit(cache=True, nogil=True)
def _least(starts, sizes, smallest_kept, values):  # type: ignore[no-untyped-def]
    least = np.full(len(starts) - 1, np.nan)
    for i in range(len(least)):
        for c in range(starts[i], starts[i + 1]):
            if sizes[c] >= smallest_kept[i] and not values[c] >= least[i]:
                least[i] = values[c]
    return least
