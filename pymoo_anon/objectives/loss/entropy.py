"""Loss in bits: how much less the cells of a release say about the original values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.objectives.base import Objective, Values
from pymoo_anon.objectives.bounds.gains import ClassGains
from pymoo_anon.objectives.bounds.losses import AdditiveLoss
from pymoo_anon.objectives.loss.cells import sum_in_order


class NonUniformEntropy(Objective):
    """NUE, non-uniform entropy: the bits that are lost of every cell's value, a sum over all cells.

    A cell costs log2 of how often its group occurs in the original table over how often its value does, a suppressed
    one of the rows over that (de Waal and Willenborg 1999). From 0; lower is better.
    """

    name = "NUE"
    words = "non-uniform entropy"
    maximize = False
    bounding = AdditiveLoss

    def evaluate(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array, the bits lost by each of n generalizations."""
        tuples = classes.tuples
        lost = _unsuppressed_bits(classes.maps, tuples.offsets, tuples.marginals)
        lost += _bits_of_suppression(
            classes.maps,
            tuples.offsets,
            tuples.marginals,
            tuples.codes,
            classes.starts,
            classes.sizes,
            classes.representatives,
            classes.kept,
        )
        return sum_in_order(lost)

    def attribute_terms(self, tuples: DistinctTuples, maps: NDArray[np.int64]) -> Values:
        """The bits of each attribute if nothing is suppressed, which only adds to them."""
        terms: Values = _unsuppressed_bits(maps, tuples.offsets, tuples.marginals)
        return terms

    def left_by_value(self, tuples: DistinctTuples, maps: NDArray[np.int64]) -> Values:
        """(n, n_codes) float array: the bits that tell the group of each domain value from the whole domain."""
        bits = np.zeros(maps.shape)
        for a, b in pairwise(tuples.offsets):
            for i, groups in enumerate(maps[:, a:b]):
                held = np.bincount(groups, tuples.marginals[a:b])[groups]
                # A group that no row holds is lost by none.
                bits[i, a:b] = np.log2(tuples.n_rows / np.where(held > 0, held, tuples.n_rows))
        return bits

    def class_gains(self, tuples: DistinctTuples, spans: Sequence[NDArray[np.int64]]) -> ClassGains:
        """What a kept tuple saves: log2 of the rows over the rows of its group, which no value of the group changes."""
        worths = []
        for own, offset in zip(spans, tuples.offsets[:-1], strict=True):
            before = np.concatenate([[0], np.cumsum(tuples.marginals[offset : offset + own.max()])])
            # A group without rows saves nothing, since nothing is in it.
            held = before[own[:, 1]] - before[own[:, 0]]
            worths.append(np.where(held > 0, np.log2(tuples.n_rows / np.maximum(held, 1)), 0.0))
        everything = np.zeros((1, tuples.offsets[-1]), dtype=np.int64)
        return ClassGains(float(self.attribute_terms(tuples, everything).sum()), tuple(worths))

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        """0, and the bits lost where every tuple is suppressed."""
        everything = np.zeros((1, tuples.offsets[-1]), dtype=np.int64)
        return 0, float(self.attribute_terms(tuples, everything).sum()) * (1 + 1e-12)


@njit(cache=True, nogil=True)
def _unsuppressed_bits(maps, offsets, marginals):  # type: ignore[no-untyped-def]
    """(n, n_attributes) float array: the bits that each attribute loses where nothing is suppressed.

    A cell costs log2(rows that hold its group / rows that hold its value).
    """
    bits = np.zeros((len(maps), len(offsets) - 1), dtype=np.float64)
    held = np.zeros(offsets[-1], dtype=np.int64)
    for i in range(len(maps)):
        for j in range(len(offsets) - 1):
            held[:] = 0
            for v in range(offsets[j], offsets[j + 1]):
                held[maps[i, v]] += marginals[v]
            for v in range(offsets[j], offsets[j + 1]):
                if marginals[v] > 0:
                    bits[i, j] += marginals[v] * np.log2(held[maps[i, v]] / marginals[v])
    return bits


@njit(cache=True, nogil=True)
def _bits_of_suppression(  # type: ignore[no-untyped-def]
    maps, offsets, marginals, codes, starts, sizes, representatives, kept
):
    """(n, n_attributes) float array: the bits that suppression adds for each attribute.

    A suppressed cell costs log2(rows / rows that hold its value), of which generalization has cost a part already: what
    is left is log2(rows / rows that hold its group).
    """
    n_attributes = len(offsets) - 1
    bits = np.zeros((len(maps), n_attributes), dtype=np.float64)
    n_rows = marginals[: offsets[1]].sum()
    held = np.zeros(offsets[-1], dtype=np.int64)
    suppressed = np.zeros(offsets[-1], dtype=np.int64)
    for i in range(len(maps)):
        suppressed[:] = 0
        n_suppressed = 0
        for c in range(starts[i], starts[i + 1]):
            if not kept[c]:
                n_suppressed += sizes[c]
                for j in range(n_attributes):
                    suppressed[offsets[j] + maps[i, offsets[j] + codes[representatives[c], j]]] += sizes[c]
        if n_suppressed == 0:
            continue
        held[:] = 0
        for j in range(n_attributes):
            for v in range(offsets[j], offsets[j + 1]):
                held[offsets[j] + maps[i, v]] += marginals[v]
            for g in range(offsets[j], offsets[j + 1]):
                if suppressed[g] > 0:
                    bits[i, j] += suppressed[g] * np.log2(n_rows / held[g])
    return bits
