"""Loss objectives: lower is better for all of them. A suppressed tuple loses all there is to lose."""

from __future__ import annotations

import numpy as np
from numba import njit

from pymoo_anon.equivalence import DistinctTuples, EquivalenceClasses
from pymoo_anon.kernels.grouping import group_extents
from pymoo_anon.objectives.base import ColumnObjective, Objective, Values


class GeneralLossMetric(Objective):
    """GLM, the general loss metric: a sum over all cells of the quasi-identifiers (Iyengar 2002).

    A cell costs (values in its group - 1) / (values in the domain - 1), a suppressed one 1. From 0 to rows times
    quasi-identifiers, not normalised (Dewri et al. 2010, section 7); lower is better. Equal tables have equal values to
    the last bit, in whatever order they were computed: each attribute is added up in whole numbers and divided once.
    """

    name = "GLM"
    words = "general loss"
    maximize = False

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the loss of each of n generalizations."""
        table = classes.table
        loss: Values = _general_loss(
            group_extents(classes.maps, table.offsets),
            table.offsets,
            table.marginals,
            table.codes,
            classes.starts,
            classes.sizes,
            classes.representatives,
            classes.smallest_kept,
        )
        return loss

    def bounds(self, table: DistinctTuples) -> tuple[float, float]:
        """0 and the number of cells."""
        return 0, table.n_rows * len(table.domain_sizes)


class ClassificationMetric(ColumnObjective):
    """CM, the classification metric: number of tuples outside the majority of their class (Iyengar 2002).

    A tuple is penalised where its class label is not the most frequent one of its equivalence class, or where it is
    suppressed. Whole, from 0 to the number of rows; lower is better.

    Args:
        column: Name of the column with the class labels.
    """

    name = "CM"
    words = "classification loss"
    maximize = False
    whole = True

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the number of penalised tuples of each of n generalizations."""
        counts = self._counts(classes)
        penalised: Values = _outside_majority(
            classes.starts, classes.sizes, classes.smallest_kept, counts.starts, counts.counts
        )
        return penalised

    def bounds(self, table: DistinctTuples) -> tuple[float, float]:
        """0 and the number of rows."""
        return 0, table.n_rows


@njit(cache=True, nogil=True)
def _general_loss(  # type: ignore[no-untyped-def]
    extents, offsets, marginals, codes, starts, sizes, representatives, smallest_kept
):
    n_attributes = len(offsets) - 1
    loss = np.zeros(len(starts) - 1, dtype=np.float64)
    numerators = np.empty(n_attributes, dtype=np.int64)
    # A domain of one value loses nothing by generalization and 1 by suppression.
    denominators = np.maximum(offsets[1:] - offsets[:-1] - 1, 1)
    for i in range(len(loss)):
        for j in range(n_attributes):
            numerators[j] = 0
            for v in range(offsets[j], offsets[j + 1]):
                numerators[j] += marginals[v] * extents[i, v]
        for c in range(starts[i], starts[i + 1]):
            if sizes[c] < smallest_kept[i]:
                for j in range(n_attributes):
                    extent = extents[i, offsets[j] + codes[representatives[c], j]]
                    numerators[j] += sizes[c] * (denominators[j] - extent)
        for j in range(n_attributes):
            loss[i] += numerators[j] / denominators[j]
    return loss


@njit(cache=True, nogil=True)
def _outside_majority(starts, sizes, smallest_kept, value_starts, counts):  # type: ignore[no-untyped-def]
    penalised = np.empty(len(starts) - 1, dtype=np.float64)
    for i in range(len(penalised)):
        total = np.int64(0)
        for c in range(starts[i], starts[i + 1]):
            total += sizes[c]
            if sizes[c] >= smallest_kept[i]:
                majority = np.int64(0)
                for e in range(value_starts[c], value_starts[c + 1]):
                    majority = max(majority, counts[e])
                total -= majority
        penalised[i] = total
    return penalised
