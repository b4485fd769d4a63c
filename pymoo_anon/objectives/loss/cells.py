"""Loss by the cells of the quasi-identifiers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import lcm, prod
from operator import mul
from typing import Any

import numpy as np

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, one_class, sums_of_groups
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.sums import (
    LOG_2,
    add_pairs,
    divide_pairs,
    log_of,
    logs_up_to,
    multiply_pairs,
    own_logs,
    pair_of,
    subtract_pairs,
)
from pymoo_anon.objectives.base import LossObjective
from pymoo_anon.objectives.bounds import AdditiveLoss, ClassGains
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.table.domain_values import meant, real_numbers
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints

# Whole numbers over a larger denominator would leave too little room for sums.
_LARGEST_DENOMINATOR = 1 << 32


class _WeightedLoss(LossObjective):
    """The weighted losses of all cells, as a sum or a mean."""

    bounding = AdditiveLoss
    shown = ("weights",)

    def __init__(self, weights: Sequence[float] | Floats | Mapping[Any, float] | None = None) -> None:
        given = real_numbers(list(weights.values()) if isinstance(weights, Mapping) else weights)
        # Weights by name are checked with a table, which knows the other columns.
        named = isinstance(weights, Mapping) and len(given) > 0
        if weights is not None and not (named or self._are_weights(given)):
            raise ValueError(f"weights must be {self._kind_of_weights}, got {weights!r}")
        self.weights = None if weights is None else dict(zip(weights, given.tolist(), strict=True)) if named else given

    _kind_of_weights = "non-negative numbers of at most 1e100, not all 0"

    @staticmethod
    def _are_weights(weights: Floats) -> bool:
        return weights.ndim == 1 and bool((weights >= 0).all()) and 0 < weights.max(initial=0) <= 1e100

    def check(self, table: Microdata) -> None:
        names, given = list(table.quasi_identifiers), self.weights
        if unknown := [name for name in given if name not in names] if isinstance(given, dict) else []:
            raise ValueError(f"weights must be of quasi-identifiers, {examples(names)}, got {examples(unknown)}")
        n = len(self.weights_of(names))
        if n != len(names):
            raise ValueError(f"weights must be one for each of the {len(names)} quasi-identifiers, got {n}")
        if given is not None and not self._are_weights(self.weights_of(names)):
            raise ValueError(f"weights must be {self._kind_of_weights}, got {given!r} and 1 for every other column")

    def weights_of(self, names: Sequence[Hashable]) -> Floats:
        """Return the weight of each quasi-identifier, 1 by default. (n,) float array."""
        if isinstance(self.weights, np.ndarray):
            return self.weights
        return np.array([(self.weights or {}).get(name, 1.0) for name in names])

    def _parts(self, n_rows: int, n_columns: int) -> tuple[int, int]:
        """Return the divisors of the sum for rows and columns."""
        return 1, 1

    def _factors(self, tuples: DistinctTuples) -> tuple[tuple[int, ...], int]:
        parts = prod(self._parts(tuples.n_rows, len(tuples.names)))
        return _factors(tuple(self.weights_of(tuples.names).tolist()), _divisors(tuples), parts)

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        # One attribute after the other, as `attribute_terms` are added up: the last bits have to agree.
        return _over_one_denominator(_numerators_of(classes), *self._factors(classes.tuples))

    def spacing(self, tuples: DistinctTuples) -> float:
        return 1 / self._factors(tuples)[1]

    def attribute_terms(self, tuples: DistinctTuples, maps: Ints) -> Floats:
        rows, columns = self._parts(tuples.n_rows, len(tuples.names))
        held, extents = sums_of_groups(maps, tuples.offsets, tuples.marginals), _sizes_less_one(tuples, maps)
        losses = np.add.reduceat(held * extents, tuples.offsets[:-1], axis=1) / _divisors(tuples)
        return losses * (self.weights_of(tuples.names) / columns) / rows

    def left_by_value(self, tuples: DistinctTuples, maps: Ints) -> Floats:
        rows, columns = self._parts(tuples.n_rows, len(tuples.names))
        kept = 1 - _by_value(tuples, maps, _sizes_less_one(tuples, maps)) / np.repeat(
            _divisors(tuples), tuples.domain_sizes
        )
        return kept * np.repeat(self.weights_of(tuples.names) / columns, tuples.domain_sizes) / rows

    def class_gains(self, tuples: DistinctTuples, spans: Sequence[Ints]) -> ClassGains:
        """Return the savings of kept tuples.

        A cell of a group of v of the d values costs (v - 1) / (d - 1) of its weight and a suppressed one all of it, so
        that a kept cell saves (d - v) / (d - 1). A domain of one value costs nothing until it is suppressed.
        """
        weights, divisors = self.weights_of(tuples.names), _divisors(tuples)
        parts = prod(self._parts(tuples.n_rows, len(tuples.names)))
        worths = tuple(
            weight * (divisor + 1 - np.diff(own, axis=1)[:, 0]) / divisor / parts
            for weight, divisor, own in zip(weights, divisors, spans, strict=True)
        )
        _, common = _factors(tuple(weights.tolist()), divisors, 1)
        denominator = common * parts if common <= _LARGEST_DENOMINATOR else 0
        return ClassGains(float(weights.sum()) * tuples.n_rows / parts, worths, denominator=denominator)

    def _recounted(self, recount: Recount) -> Fraction:
        total = Fraction(0)
        for weight, name in zip(self.weights_of(recount.names), recount.names, strict=True):
            labels = recount.labels[name]
            cost = int((recount.of_labels(name) * (labels.extents - 1)).sum())
            total += meant(weight) * (Fraction(cost, max(labels.n_values - 1, 1)) + recount.n_suppressed)
        return total

    def __repr__(self) -> str:
        told = self.weights.tolist() if isinstance(self.weights, np.ndarray) else self.weights
        return f"{type(self).__name__}({'' if told is None else told})"


class GeneralLossMetric(_WeightedLoss):
    """GLM, the general loss metric: the sum over cells of (values in the group - 1) / (values in the domain - 1).

    A suppressed cell costs 1 (Iyengar 2002). From 0 to rows times quasi-identifiers, not normalised (Dewri et al. 2010,
    section 7); lower is better. Cells are added up in whole numbers over one denominator, so that a value is the float
    next to the exact one.

    Formula:
        Σ w (|g| - 1) / (|A| - 1), over the cells; g the group, A the domain, w the weight of the cell

    Args:
        weights: The greatest cost of a cell of each quasi-identifier, in the table's order, or by name with 1 by
            default: non-negative, at most 1e100, not all 0. None is 1 for all.

    Raises:
        ValueError: A weight is negative, or none is positive.

    >>> GeneralLossMetric()
    GeneralLossMetric()
    >>> GeneralLossMetric(weights=[2, 1, 0.5])  # three quasi-identifiers
    GeneralLossMetric([2.0, 1.0, 0.5])
    """

    name = "GLM"
    short = "GLM"
    words = "general loss"

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 0, tuples.n_rows * float(self.weights_of(tuples.names).sum())

    def recount(self, recount: Recount) -> Recounted:
        return self._recounted(recount)


class NormalizedWeightedPenalty(_WeightedLoss):
    """NWP: the mean over the tuples of their weighted loss (Dewri et al. 2009, section 3.1).

    A cell costs its quasi-identifier's weight times (values in its group - 1) / (values in the domain - 1), a
    suppressed one its weight. From 0 to 1; lower is better.

    Formula:
        (1 / N) Σ w (|g| - 1) / (|A| - 1), over the cells; g the group, A the domain, w the weight of the cell

    Args:
        weights: A weight for each quasi-identifier, in the table's order or by name, non-negative and of sum 1. None
            weighs all alike.

    Raises:
        ValueError: A weight is negative, or their sum is not 1.
    """

    name = "NWP"
    short = "NWP"
    words = "weighted loss"
    step = 0.001
    limits = (0, 1)

    _kind_of_weights = "non-negative numbers of sum 1"

    @staticmethod
    def _are_weights(weights: Floats) -> bool:
        return weights.ndim == 1 and bool((weights >= 0).all()) and abs(weights.sum() - 1) <= 1e-9

    def _parts(self, n_rows: int, n_columns: int) -> tuple[int, int]:
        return n_rows, n_columns if self.weights is None else 1

    def recount(self, recount: Recount) -> Recounted:
        return self._recounted(recount) / prod(self._parts(recount.n_rows, len(recount.names)))


class NonUniformEntropy(LossObjective):
    """NUE, non-uniform entropy: the bits that every cell loses, summed up.

    A cell costs log2 of the count of its group in the original table over the count of its value, a suppressed one log2
    of the rows over that count (de Waal and Willenborg 1999). From 0; lower is better.

    Formula:
        Σ log2(n(g) / n(v)), over the cells; v the value, g its group, n the rows that have it
    """

    name = "NUE"
    short = "NUE"
    words = "non-uniform entropy"
    bounding = AdditiveLoss

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        tuples = classes.tuples
        n_gone = classes.n_suppressed * len(tuples.domain_sizes)
        return _lost_bits(
            classes.held, classes.kept_rows, n_gone, tuples.marginals, tuples.n_rows, logs_up_to(tuples.n_rows)
        )

    def attribute_terms(self, tuples: DistinctTuples, maps: Ints) -> Floats:
        """Return the bits of each attribute without suppression."""
        held, rows = _by_value(tuples, maps, sums_of_groups(maps, tuples.offsets, tuples.marginals)), tuples.marginals
        bits = rows * np.log2(np.where(rows > 0, held, 1) / np.maximum(rows, 1))
        return np.add.reduceat(bits, tuples.offsets[:-1], axis=1)

    def left_by_value(self, tuples: DistinctTuples, maps: Ints) -> Floats:
        """Return the remaining bits of each domain value's group. (n, n_codes) float array."""
        held = _by_value(tuples, maps, sums_of_groups(maps, tuples.offsets, tuples.marginals))
        # A group that no row holds is lost by none.
        return np.log2(tuples.n_rows / np.where(held > 0, held, tuples.n_rows))

    def class_gains(self, tuples: DistinctTuples, spans: Sequence[Ints]) -> ClassGains:
        """Return the savings of kept tuples: log2(rows / rows of the group)."""
        worths = []
        for own, offset in zip(spans, tuples.offsets[:-1], strict=True):
            before = np.concatenate([[0], np.cumsum(tuples.marginals[offset : offset + own.max()])])
            # A group without rows saves nothing, since nothing is in it.
            held = before[own[:, 1]] - before[own[:, 0]]
            worths.append(np.where(held > 0, np.log2(tuples.n_rows / np.maximum(held, 1)), 0.0))
        return ClassGains(self.value_range(tuples)[1], tuple(worths))

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 0, float(self.evaluate(one_class(tuples))[0])

    def recount(self, recount: Recount) -> Recounted:
        total, all_rows = Decimal(0), Decimal(recount.n_rows).ln()
        for i, name in enumerate(recount.names):
            rows = recount.original.groupby(f"column {i}", sort=False).n.sum()
            kept, held = recount.of_labels(name), recount.held(name).clip(lower=1)
            total += recount.weighed_logarithms(kept, held) - recount.weighed_logarithms(rows, rows)
            total += recount.n_suppressed * all_rows
        # Where anything is lost it is a bit or more.
        return total / Decimal(2).ln() if total > Decimal("0.5") else Decimal(0)


class Precision(LossObjective):
    """Precision: 1 less the mean over all cells of level / height of the hierarchy.

    An attribute has the lowest level of its hierarchy whose groups hold its groups, or the highest if none does; a
    suppressed cell costs 1 (Sweeney 2002). In a local recoding every cell has a level of its own, the lowest at which
    it is a group. From 0 to 1; higher is better.

    Formula:
        1 - (1 / cells) Σ level / height, over the cells
    """

    name = "precision"
    short = "precision"
    maximize = True
    step = 0.001
    bounding = AdditiveLoss
    limits = (0, 1)

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        tuples = classes.tuples
        lengths = self._lengths(tuples)
        if classes.forest is not None:
            levels = np.repeat(lengths, np.diff(classes.forest.starts)) - classes.forest.levels
            left = np.add.reduceat(classes.kept_rows * levels, classes.first_of_attributes, axis=1)
        else:
            levels = self._levels(tuples, classes.checked_maps)
            left = (lengths - levels) * (tuples.n_rows - classes.n_suppressed)[:, np.newaxis]
        return _over_one_denominator(left, *self._factors(tuples))

    def _factors(self, tuples: DistinctTuples) -> tuple[tuple[int, ...], int]:
        lengths = self._lengths(tuples)
        return _factors((1.0,) * len(lengths), tuple(lengths.tolist()), len(lengths) * tuples.n_rows)

    def spacing(self, tuples: DistinctTuples) -> float:
        return 1 / self._factors(tuples)[1]

    def attribute_terms(self, tuples: DistinctTuples, maps: Ints) -> Floats:
        """Return the cost of each attribute without suppression. Their sum is the negated precision."""
        return (self._levels(tuples, maps) / self._lengths(tuples) - 1) / len(tuples.domain_sizes)

    def left_by_value(self, tuples: DistinctTuples, maps: Ints) -> Floats:
        """Return the precision that suppression of a tuple takes."""
        return np.repeat(-self.attribute_terms(tuples, maps) / tuples.n_rows, tuples.domain_sizes, axis=1)

    def _lengths(self, tuples: DistinctTuples) -> Ints:
        return np.array([max(len(levels) - 1, 1) for levels in tuples.levels], dtype=np.int64)

    def _levels(self, tuples: DistinctTuples, maps: Ints) -> Ints:
        """Return the level of each attribute. (n, n_attributes) int64 array."""
        found = np.zeros((len(maps), len(tuples.levels)), dtype=np.int64)
        for j, levels in enumerate(tuples.levels):
            if len(levels) > 1:
                own = np.ascontiguousarray(maps[:, tuples.offsets[j] : tuples.offsets[j + 1]])
                found[:, j] = _lowest_levels(own, levels)
        return found

    def recount(self, recount: Recount) -> Recounted:
        cost, kept = Fraction(0), recount.n_rows - recount.n_suppressed
        for name in recount.names:
            hierarchy, labels = recount.hierarchies[name], recount.labels[name]
            if labels.levels is None:
                fits = [all(len(set(own[places])) == 1 for places in labels.places) for own in hierarchy.groups[:-1]]
                steps = kept * [*fits, True].index(True)
            else:
                steps = int((recount.of_labels(name) * labels.levels).sum())
            cost += Fraction(steps, max(hierarchy.length, 1)) + recount.n_suppressed
        return 1 - cost / (recount.n_rows * len(recount.names))


def attribute_losses(classes: EquivalenceClasses) -> Floats:
    """Return the general loss of each quasi-identifier, (n, n_attributes) float array for n generalizations."""
    return _numerators_of(classes) / _divisors(classes.tuples)


def _numerators_of(classes: EquivalenceClasses) -> Ints:
    """Return the losses of attributes times their domain sizes less one."""
    lost = np.add.reduceat(classes.kept_rows * classes.extents, classes.first_of_attributes, axis=1)
    return lost + classes.n_suppressed[:, np.newaxis] * np.array(_divisors(classes.tuples))


def _sizes_less_one(tuples: DistinctTuples, maps: Ints) -> Ints:
    """Return the number of values in each group, less one. (n, n_codes) int64 array."""
    return sums_of_groups(maps, tuples.offsets, np.ones_like(tuples.marginals)) - 1


def _by_value(tuples: DistinctTuples, maps: Ints, by_group: Ints) -> Ints:
    """Return the number of each domain value's group. (n, n_codes) int64 array."""
    places = maps + np.repeat(tuples.offsets[:-1], tuples.domain_sizes)
    return np.take_along_axis(by_group, places, axis=1)


def _divisors(tuples: DistinctTuples) -> tuple[int, ...]:
    """Return the divisors of the numerators. A domain of one value loses 1 by suppression."""
    return tuple(max(size - 1, 1) for size in tuples.domain_sizes)


def _over_one_denominator(numerators: Ints, factors: Sequence[int], denominator: int) -> Floats:
    """Return sums of factor times numerator over a denominator, rounded once."""
    most = sum(factor * int(top) for factor, top in zip(factors, numerators.max(axis=0), strict=True))
    if max(most, denominator, *factors) < 1 << 53:
        return (numerators @ np.array(factors, dtype=np.int64)) / denominator
    # Python rounds the quotient of whole numbers once, however large they are.
    return np.array([sum(map(mul, factors, row)) / denominator for row in numerators.tolist()])


@lru_cache(maxsize=64)
def _factors(weights: tuple[float, ...], divisors: tuple[int, ...], n: int) -> tuple[tuple[int, ...], int]:
    """Return weights / divisors / n over one denominator. Weights are the decimals that their floats mean."""
    parts = [meant(weight) / (divisor * n) for weight, divisor in zip(weights, divisors, strict=True)]
    denominator = lcm(*(part.denominator for part in parts))
    return tuple(int(part * denominator) for part in parts), denominator


@njit()
def _lowest_levels(maps, levels):
    """Return the lowest level that covers each map, or the highest. (n,) int64 array."""
    n_levels, n_values = levels.shape
    lowest = np.empty(len(maps), dtype=np.int64)
    group_above = np.empty(n_values, dtype=np.int64)
    for i in range(len(maps)):
        lowest[i] = n_levels - 1
        for level in range(n_levels - 1):
            group_above[:] = -1
            holds = True
            for v in range(n_values):
                g = maps[i, v]
                if group_above[g] >= 0 and group_above[g] != levels[level, v]:
                    holds = False
                    break
                group_above[g] = levels[level, v]
            if holds:
                lowest[i] = level
                break
    return lowest


@njit()
def _lost_bits(held, kept, n_gone, marginals, n_rows, logs):
    """Return the bits lost by each generalization.

    A kept cell costs log2(rows that hold its group / rows that hold its value), a suppressed one log2(rows / rows that
    hold its value). So a kept row costs the logarithm of the rows of its group and a suppressed one that of all rows,
    less that of the rows with its value.
    """
    bits = np.empty(len(held))
    original, of_rows = own_logs(marginals, logs), log_of(n_rows, logs)
    for i in range(len(held)):
        total = subtract_pairs(multiply_pairs(pair_of(n_gone[i]), of_rows), original)
        for g in range(held.shape[1]):
            if kept[i, g] > 0:
                total = add_pairs(total, multiply_pairs(pair_of(kept[i, g]), log_of(held[i, g], logs)))
        lost, _ = divide_pairs(total, LOG_2)
        # Where a cell has lost its value at least one bit is lost: less is none.
        bits[i] = lost if lost > 0.5 else 0.0
    return bits
