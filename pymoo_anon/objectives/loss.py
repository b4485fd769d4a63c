"""Loss objectives: lower is better for all of them. A suppressed tuple loses all there is to lose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pymoo_anon.equivalence import DistinctTuples, EquivalenceClasses
from pymoo_anon.kernels.grouping import group_extents
from pymoo_anon.microdata import Microdata
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
        # One attribute after the other, as `attribute_terms` are added up: the last bits have to agree.
        return _sum_in_order(attribute_losses(classes))

    def attribute_terms(self, table: DistinctTuples, maps: NDArray[np.int64]) -> Values:
        """The loss of each attribute if nothing is suppressed, which only adds to it."""
        terms: Values = _unsuppressed_losses(group_extents(maps, table.offsets), table.offsets, table.marginals)
        return terms

    def best_of_specializations(
        self, classes: EquivalenceClasses, limit: int, gone: NDArray[np.int64], most: NDArray[np.int64]
    ) -> Values:
        """What suppression adds at least: classes that are gone lose all that they have not lost yet.

        In a specialization their tuples have lost no more by generalization than here.
        """
        table = classes.table
        extents = group_extents(classes.maps, table.offsets)[0]
        small = np.flatnonzero(classes.sizes <= gone[-1])
        cells = extents[table.offsets[:-1] + table.codes[classes.representatives[small]]]
        left = (1 - cells / np.maximum(np.diff(table.offsets) - 1, 1)).sum(axis=1) * classes.sizes[small]
        return np.array([left[classes.sizes[small] <= size].sum() for size in gone])

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

    def floor_of_generalizations(self, classes: EquivalenceClasses) -> float:
        """Merging classes puts no tuple into a majority that was outside one, and suppression penalises more."""
        return float(classes.n_rows - self._majorities(classes).sum())

    def best_of_specializations(
        self, classes: EquivalenceClasses, limit: int, gone: NDArray[np.int64], most: NDArray[np.int64]
    ) -> Values:
        """The majorities of the classes that are gone are penalised, too; splitting makes them no smaller."""
        majorities = self._majorities(classes)
        return np.array([majorities[classes.sizes <= size].sum() for size in gone], dtype=float)

    def _majorities(self, classes: EquivalenceClasses) -> NDArray[np.int64]:
        counts = self._counts(classes)
        largest: NDArray[np.int64] = np.maximum.reduceat(counts.counts[: counts.starts[-1]], counts.starts[:-1])
        return largest

    def bounds(self, table: DistinctTuples) -> tuple[float, float]:
        """0 and the number of rows."""
        return 0, table.n_rows


class NormalizedWeightedPenalty(Objective):
    """NWP: the mean over the tuples of their weighted loss (Dewri et al. 2009, section 3.1).

    A cell costs its quasi-identifier's weight times (values in its group - 1) / (values in the domain - 1), a
    suppressed one its weight. From 0 to 1; lower is better.

    Args:
        weights: A weight for each quasi-identifier, in the table's order, non-negative and of sum 1. None weighs all
            alike.

    Raises:
        ValueError: A weight is negative, or their sum is not 1.
    """

    name = "NWP"
    words = "weighted loss"
    maximize = False

    def __init__(self, weights: Sequence[float] | NDArray[np.float64] | None = None) -> None:
        try:
            self.weights = None if weights is None else np.array(weights, dtype=float)
        except (TypeError, ValueError):
            self.weights = np.empty(0)
        if self.weights is not None and (
            self.weights.ndim != 1 or not (self.weights >= 0).all() or not abs(self.weights.sum() - 1) <= 1e-9
        ):
            raise ValueError(f"weights must be non-negative numbers of sum 1, got {weights!r}")

    def check(self, table: Microdata) -> None:
        """Refuse a table with another number of quasi-identifiers than of weights.

        Raises:
            ValueError: They differ.
        """
        n = len(table.quasi_identifiers)
        if self.weights is not None and len(self.weights) != n:
            raise ValueError(f"weights must be one for each of the {n} quasi-identifiers, got {len(self.weights)}")

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the penalty of each of n generalizations."""
        losses = attribute_losses(classes)
        weights = np.full(losses.shape[1], 1 / losses.shape[1]) if self.weights is None else self.weights
        # No product of matrices, whose last bit would depend on how many are evaluated at once.
        return _sum_in_order(losses * weights) / classes.n_rows

    def bounds(self, table: DistinctTuples) -> tuple[float, float]:
        """0 and 1."""
        return 0, 1

    def __repr__(self) -> str:
        return f"NormalizedWeightedPenalty({'' if self.weights is None else self.weights.tolist()})"


class NormalizedClassDispersion(Objective):
    """NECD: (size of the largest class - size of the smallest) / (rows - 1), over the classes that are not suppressed.

    The bias of an anonymization (Dewri et al. 2009, section 3.2): how unequal the privacy of two persons can be. From 0
    to 1; lower is better.
    """

    name = "NECD"
    words = "dispersion of class sizes"
    maximize = False

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the dispersion of each of n generalizations."""
        dispersion: Values = _dispersion(classes.starts, classes.sizes, classes.smallest_kept)
        return dispersion / max(classes.n_rows - 1, 1)

    def bounds(self, table: DistinctTuples) -> tuple[float, float]:
        """0 and 1."""
        return 0, 1


def attribute_losses(classes: EquivalenceClasses) -> Values:
    """(n, n_attributes) float array: the general loss of each of n generalizations, by quasi-identifier."""
    table = classes.table
    losses: Values = _attribute_losses(
        group_extents(classes.maps, table.offsets),
        table.offsets,
        table.marginals,
        table.codes,
        classes.starts,
        classes.sizes,
        classes.representatives,
        classes.smallest_kept,
    )
    return losses


def _sum_in_order(terms: Values) -> Values:
    """(n,) float array of row sums, the columns added from left to right."""
    total: Values = np.cumsum(terms, axis=1)[:, -1]
    return total


@njit(cache=True, nogil=True)
def _unsuppressed_losses(extents, offsets, marginals):  # type: ignore[no-untyped-def]
    losses = np.empty((len(extents), len(offsets) - 1), dtype=np.float64)
    for i in range(len(extents)):
        for j in range(len(offsets) - 1):
            numerator = np.int64(0)
            for v in range(offsets[j], offsets[j + 1]):
                numerator += marginals[v] * extents[i, v]
            losses[i, j] = numerator / max(offsets[j + 1] - offsets[j] - 1, 1)
    return losses


@njit(cache=True, nogil=True)
def _attribute_losses(  # type: ignore[no-untyped-def]
    extents, offsets, marginals, codes, starts, sizes, representatives, smallest_kept
):
    n_attributes = len(offsets) - 1
    losses = np.empty((len(starts) - 1, n_attributes), dtype=np.float64)
    numerators = np.empty(n_attributes, dtype=np.int64)
    # A domain of one value loses nothing by generalization and 1 by suppression.
    denominators = np.maximum(offsets[1:] - offsets[:-1] - 1, 1)
    for i in range(len(losses)):
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
            losses[i, j] = numerators[j] / denominators[j]
    return losses


@njit(cache=True, nogil=True)
def _dispersion(starts, sizes, smallest_kept):  # type: ignore[no-untyped-def]
    dispersion = np.zeros(len(starts) - 1, dtype=np.float64)
    for i in range(len(dispersion)):
        largest = np.int64(0)
        smallest = np.iinfo(np.int64).max
        for c in range(starts[i], starts[i + 1]):
            if sizes[c] >= smallest_kept[i]:
                largest = max(largest, sizes[c])
                smallest = min(smallest, sizes[c])
        if largest > 0:
            dispersion[i] = largest - smallest
    return dispersion


@njit(cache=True, nogil=True)
def _outside_majority(starts, sizes, smallest_kept, value_starts, counts):  # type: ignore[no-untyped-def]
    penalised = np.empty(len(starts) - 1, dtype=np.float64)
    for i in range(len(penalised)):
        own, begins = sizes[starts[i] : starts[i + 1]], value_starts[starts[i] : starts[i + 1] + 1]
        total = np.int64(0)
        for c in range(len(own)):
            # The first and the last without a loop, whose end would be mispredicted where a label has two values.
            majority = max(counts[begins[c]], counts[begins[c + 1] - 1])
            for e in range(begins[c] + 1, begins[c + 1] - 1):
                majority = max(majority, counts[e])
            total += own[c] - (majority if own[c] >= smallest_kept[i] else 0)
        penalised[i] = total
    return penalised
