"""Medians with intervals, effect sizes, and rank tests that are corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import binom, mannwhitneyu, rankdata

LEVEL = 0.05


def median(values: Sequence[float]) -> float:
    """Return the lower median, which is one of the values."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Return a distribution-free confidence interval of the median.

    The r-th least and the r-th greatest value enclose the median but for a probability of 2 P(B < r), B being binomial
    of n and 1/2. r is the largest of which that is at most `level`. Samples of fewer than six have none: their least
    and greatest values are given, which enclose it less surely.
    """
    ordered = np.sort(values)
    n = len(ordered)
    r = max((r for r in range(1, n // 2 + 1) if 2 * binom.cdf(r - 1, n, 0.5) <= level), default=1)
    return float(ordered[r - 1]), float(ordered[n - r])


def effect(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return Vargha and Delaney's A, the probability that ours is greater."""
    n, m = len(ours), len(theirs)
    ranks = rankdata(np.concatenate([ours, theirs]))
    return float((ranks[:n].sum() - n * (n + 1) / 2) / (n * m))


def p_value(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the two-sided p of Mann and Whitney's test, or 1 without differences."""
    if len(set(ours) | set(theirs)) == 1:
        return 1.0
    return float(mannwhitneyu(ours, theirs, alternative="two-sided").pvalue)


def holm(p: Sequence[float]) -> np.ndarray:
    """(n,) array: p-values corrected for their number by Holm's step-down method."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    # The least of n counts n times, the next n - 1 times; none falls below one before it.
    corrected[order] = np.minimum(np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1)), 1.0)
    return corrected
