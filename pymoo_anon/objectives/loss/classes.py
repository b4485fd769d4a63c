"""Loss by equivalence classes."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from math import prod

import numpy as np
import pandas as pd

from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.engine.sums import (
    LOG_2,
    add,
    add_pairs,
    divide_pairs,
    log_of,
    log_of_one_and,
    log_pair,
    logs_up_to,
    multiply_pairs,
    own_logs,
    pair_of,
    subtract_pairs,
)
from pymoo_anon.objectives.base import ColumnObjective, LossObjective
from pymoo_anon.objectives.bounds import RisingLoss, RisingSum, SuppressionBudget
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.typing import Floats


class ClassificationMetric(LossObjective, ColumnObjective):
    """CM, the classification metric: number of tuples outside their class's majority.

    A tuple is penalised where its class label is not the most frequent one of its equivalence class, or where it is
    suppressed (Iyengar 2002). Whole, from 0 to the number of rows; lower is better.

    Formula:
        Σ (|E| - max n(c, E)) over the kept classes E, n(c, E) the rows of E with the label c; + suppressed rows

    Args:
        column: Name of the column with the class labels.
    """

    name = "CM"
    short = "CM"
    role = "label"
    words = "classification loss"
    whole = True
    bounding = RisingLoss

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        counts = self._counts(classes)
        return _outside_majority(classes.starts, classes.sizes, classes.kept, counts.starts, counts.counts)

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the majorities of gone classes.

        Merging classes puts no tuple into a majority that was outside one, and splitting makes majorities no smaller.
        """
        majorities = self._counts(classes).most_frequent()[below.small]
        return np.where(below.wholly_gone(classes), majorities, 0).sum(axis=1).astype(float)

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 0, tuples.n_rows

    def recount(self, recount: Recount) -> Recounted:
        pairs = recount.counts(self.column)
        kept = pairs[~recount.marked.to_numpy()[pairs.cell]]
        return float(recount.n_rows - kept.groupby("cell").n.max().sum())


class NormalizedClassDispersion(LossObjective):
    """NECD: (size of the largest kept class - size of the smallest) / (rows - 1).

    The bias of an anonymization (Dewri et al. 2009, section 3.2): the difference of the privacy of two persons. From 0
    to 1; lower is better.

    Formula:
        (max |E| - min |E|) / (N - 1), over the kept classes E of N rows
    """

    name = "NECD"
    short = "NECD"
    words = "dispersion of class sizes"
    step = 0.001
    limits = (0, 1)

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        firsts, sizes, n_rows = classes.starts[:-1], classes.sizes, classes.n_rows
        largest = np.maximum.reduceat(np.where(classes.kept, sizes, 0), firsts)
        smallest = np.minimum.reduceat(np.where(classes.kept, sizes, n_rows), firsts)
        # Where no class is kept, none is larger than another.
        return np.maximum(largest - smallest, 0) / max(n_rows - 1, 1)

    def recount(self, recount: Recount) -> Recounted:
        if recount.kept.empty:
            return 0
        return Fraction(int(recount.kept.max() - recount.kept.min()), max(recount.n_rows - 1, 1))


class Discernibility(LossObjective):
    """DM, the discernibility metric: size of each tuple's class, summed up.

    Sum of the squared class sizes, and the number of rows for every suppressed tuple (Bayardo and Agrawal 2005). Whole,
    from the number of rows N to N²; lower is better.

    Formula:
        Σ |E|² over the kept classes E; + N for each of the suppressed rows
    """

    name = "DM"
    short = "DM"
    words = "discernibility"
    whole = True
    bounding = RisingLoss

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        kept = classes.totals(classes.sizes**2 * classes.kept)
        return (kept + classes.n_suppressed * classes.n_rows).astype(float)

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return tuples.n_rows, float(tuples.n_rows) ** 2

    def recount(self, recount: Recount) -> Recounted:
        return float((recount.kept**2).sum() + recount.n_suppressed * recount.n_rows)


class AverageClassSize(LossObjective):
    """AECS: the number of rows over the number of equivalence classes.

    All suppressed tuples are one class. The average equivalence class size of LeFevre et al. 2006, not divided by k.
    From 1 to the number of rows; lower is better.

    Formula:
        N / (kept classes + 1 if rows are suppressed)
    """

    name = "AECS"
    short = "AECS"
    words = "average class size"
    step = 0.1
    bounding = RisingLoss

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        return classes.n_rows / classes.n_released

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 1, tuples.n_rows

    def recount(self, recount: Recount) -> Recounted:
        return Fraction(recount.n_rows, recount.n_classes)


class KLDivergence(LossObjective):
    """KL: divergence in bits of the original from the released distribution.

    In the released one every tuple is spread evenly over the combinations of domain values that it may stand for, a
    suppressed one over all of them (Kifer and Gehrke 2006). From 0; lower is better. Classes of a local recoding may
    overlap: a tuple there has the share of its own class alone, so that this is an upper bound.

    Formula:
        Σ p(t) log2(p(t) / r(t)), over the distinct tuples t, p and r the original and the released share
    """

    name = "KL"
    short = "KL"
    words = "divergence from the original"
    step = 0.001
    bounding = RisingSum

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        tuples = classes.tuples
        logs = logs_up_to(max(tuples.n_rows, *tuples.domain_sizes))
        cells, in_classes = (classes.cells, classes.extents + 1, classes.kept_rows), classes.sizes * classes.kept
        return _divergence(tuples.counts, tuples.offsets, *cells, classes.starts, in_classes, logs)

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        # A little more, so that its rounding refuses nothing.
        return 0, float(np.log2(tuples.domain_sizes).sum()) * (1 + 1e-12)

    def recount(self, recount: Recount) -> Recounted:
        total = sum((recount.logarithm(ratio) * rows for ratio, rows in _ratios(recount).items()), Decimal(0))
        # Below 1 / (4 rows) there is none: see the loop that reckons it for a search.
        return total / Decimal(2).ln() / recount.n_rows if total > Decimal("0.25") / recount.n_rows else Decimal(0)


def _ratios(recount: Recount) -> Counter[Fraction]:
    """Count the rows by ratios of original to released shares."""
    kept, domains = recount.cells[~recount.marked], [own.n_values for own in recount.labels.values()]
    suppressed = Fraction(recount.n_suppressed, prod(domains))
    covered = pd.Series(1, index=kept.index, dtype=object)
    for name in recount.names:
        covered *= recount.extents(name).astype(object)
    # All rows of a class have one density, whichever rows these are.
    ratios = Counter[Fraction]()
    for rows, cells in zip(kept.n.tolist(), covered, strict=True):
        ratios[1 / (Fraction(rows, int(cells)) + suppressed)] += rows
    for rows in recount.original.n.tolist():
        ratios[Fraction(rows)] += rows
    if suppressed:
        ratios[1 / suppressed] += recount.n_suppressed
    return ratios


@njit()
def _outside_majority(starts, sizes, kept, value_starts, counts):
    penalised = np.empty(len(starts) - 1, dtype=np.float64)
    for i in range(len(penalised)):
        first, last = starts[i], starts[i + 1]
        own, begins, stays = sizes[first:last], value_starts[first : last + 1], kept[first:last]
        total = np.int64(0)
        for c in range(len(own)):
            # The first and the last stand outside of the loop: with two labels its end would be mispredicted.
            majority = max(counts[begins[c]], counts[begins[c + 1] - 1])
            for e in range(begins[c] + 1, begins[c + 1] - 1):
                majority = max(majority, counts[e])
            total += own[c] - (majority if stays[c] else 0)
        penalised[i] = total
    return penalised


@njit()
def _divergence(counts, offsets, cells, n_values, kept_rows, starts, in_classes, logs):
    """Return the divergence of each generalization.

    The original gives a distinct tuple its count, the released table a density: its class spread over the cells that
    the class may stand for, plus the suppressed tuples spread over the whole domain. The divergence is the sum over all
    tuples of log(count) less log(density).
    """
    divergence = np.empty(len(starts) - 1)
    original, n_rows = own_logs(counts, logs), counts.sum()
    for i in range(len(divergence)):
        own, kept = cells[starts[i] : starts[i + 1]], in_classes[starts[i] : starts[i + 1]]
        total = subtract_pairs(original, own_logs(kept, logs))
        # A kept row is spread over as many cells as the groups of its class have values.
        for g in range(kept_rows.shape[1]):
            if kept_rows[i, g] > 0:
                total = add_pairs(total, multiply_pairs(pair_of(kept_rows[i, g]), log_of(n_values[i, g], logs)))
        n_suppressed = n_rows - kept.sum()
        if n_suppressed > 0:
            total = subtract_pairs(total, _everywhere(n_values[i], offsets, own, kept, n_suppressed, logs))
        bits, _ = divide_pairs(total, multiply_pairs(pair_of(n_rows), LOG_2))
        # Two different distributions differ by 1 / rows or more in sum, as rows are whole. By Pinsker's inequality the
        # total then is at least 1 / (2 rows): less is none.
        divergence[i] = bits if total[0] > 0.25 / n_rows else 0.0
    return divergence


@kernel
def _everywhere(extents, offsets, cells, sizes, n_suppressed, logs):
    """Return suppressed rows' terms in the logarithms of densities, a pair."""
    # Of no class, but the density of those that are everywhere.
    log = log_of(n_suppressed, logs)
    for j in range(len(offsets) - 1):
        log = subtract_pairs(log, log_of(offsets[j + 1] - offsets[j], logs))
    total, rest = multiply_pairs(pair_of(n_suppressed), log)
    for c in range(len(sizes)):
        if sizes[c] > 0:
            share = _share_of_suppressed(extents, offsets, cells[c], n_suppressed, sizes[c])
            log = log_of_one_and(share) if share[0] <= 2.0**-10 else log_pair(add_pairs(pair_of(1.0), share), logs)
            high, low = multiply_pairs(pair_of(sizes[c]), log)
            total, rest = add(total, rest, high)
            rest += low
    return add_pairs((total, rest), pair_of(0.0))


@kernel
def _share_of_suppressed(extents, offsets, cells, n_suppressed, size):
    """Return suppressed rows' share of a class's density, a pair.

    It is the suppressed rows over the rows of the class, times the part of the domain that the class may stand for.
    Invariant: the pair times `above` over `below` is the share of the columns so far. Both are exact, being whole and
    below 2^53.
    """
    share = pair_of(1.0)
    above, below = np.float64(n_suppressed), np.float64(size)
    for j in range(len(cells)):
        own, all_values = np.float64(extents[cells[j]]), np.float64(offsets[j + 1] - offsets[j])
        if max(above * own, below * all_values) > 2.0**53:
            share = multiply_pairs(share, divide_pairs(pair_of(above), pair_of(below)))
            above, below = np.float64(1.0), np.float64(1.0)
            # So small that it counts for nothing, and that smaller ones could not be multiplied.
            if share[0] < 1e-40:
                return pair_of(0.0)
        above, below = above * own, below * all_values
    return multiply_pairs(share, divide_pairs(pair_of(above), pair_of(below)))
