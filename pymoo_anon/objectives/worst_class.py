"""Objectives that are the value of the worst class: each says what a class is worth, the rest is the same."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts
from pymoo_anon.objectives.base import ColumnObjective, Values


class WorstClassObjective(ColumnObjective):
    """The value of the worst equivalence class that is not suppressed; of the whole table where all are.

    A subclass defines `of_classes`.
    """

    worst_class = True

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the value of the worst class of each of n generalizations."""
        sign = 1.0 if self.maximize else -1.0
        worst: Values = sign * _least(classes.starts, classes.kept, sign * self.of_classes(classes))
        none_kept = np.isnan(worst)
        if none_kept.any():
            worst[none_kept] = self.of_classes(one_class(classes.tuples, self.column))
        return worst + 0.0


def one_class(tuples: DistinctTuples, column: Hashable) -> EquivalenceClasses:
    """The whole table as one class, with the values of one column."""
    totals = tuples.totals(column)
    present = np.flatnonzero(totals)
    starts = np.array([0, len(present)], dtype=np.int64)
    return EquivalenceClasses(
        tuples,
        maps=np.zeros((1, tuples.offsets[-1]), dtype=np.int64),
        starts=np.array([0, 1], dtype=np.int64),
        sizes=np.array([tuples.n_rows], dtype=np.int64),
        representatives=np.zeros(1, dtype=np.int64),
        kept=np.ones(1, dtype=bool),
        columns={column: ValueCounts(starts, present, totals[present], len(totals))},
    )


@njit(cache=True, nogil=True)
def _least(starts, kept, values):  # type: ignore[no-untyped-def]
    """(n,) float array: the least value of the kept classes of each generalization; nan where none is kept."""
    least = np.full(len(starts) - 1, np.nan)
    for i in range(len(least)):
        for c in range(starts[i], starts[i + 1]):
            # Also true while the least is nan.
            if kept[c] and not values[c] >= least[i]:
                least[i] = values[c]
    return least
