"""Medians with intervals, effect sizes, and rank tests that are corrected for their number."""

from collections.abc import Sequence
from statistics import median_low

import numpy as np
from scipy.stats import mannwhitneyu, quantile_test

LEVEL = 0.05

Samples = tuple[Sequence[float], Sequence[float]]


def median(values: Sequence[float]) -> float:
    """Return the lower median, which is one of the values."""
    return float(median_low(values))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return a distribution-free confidence interval of the median, of order statistics.

    Samples of fewer than six have none: their least and greatest values are given, which enclose it less surely.
    """
    found = quantile_test(values, p=0.5).confidence_interval(1 - LEVEL)
    return (float(min(values)), float(max(values))) if np.isnan(found.low) else (float(found.low), float(found.high))


def effect(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return Vargha and Delaney's A, the probability that ours is greater."""
    return float(mannwhitneyu(ours, theirs, method="asymptotic").statistic / (len(ours) * len(theirs)))


def p_value(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the two-sided p of Mann and Whitney's test, or 1 without differences."""
    return float(mannwhitneyu(ours, theirs).pvalue) if len(set(ours) | set(theirs)) > 1 else 1.0


def holm(p: Sequence[float]) -> np.ndarray:
    """(n,) array: p-values corrected for their number by Holm's step-down method."""
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    # The least of n counts n times, the next n - 1 times; none falls below one before it.
    corrected[order] = np.minimum(np.maximum.accumulate(np.asarray(p)[order] * np.arange(len(p), 0, -1)), 1.0)
    return corrected


def marked(pairs: Sequence[Samples]) -> list[tuple[float, str]]:
    """Return the effect size of each pair of samples, and a mark, with all tests corrected together.

    The first sample is better (+), worse (−) or not different (=). There is no mark where so few values are compared
    that no difference whatever would be significant.
    """
    found = []
    for pair, p in zip(pairs, holm([p_value(*pair) for pair in pairs]), strict=True):
        size, (n, m) = effect(*pair), map(len, pair)
        clearest = p_value(range(n), range(n, n + m)) * len(pairs)
        found.append((size, "" if clearest > LEVEL else "=" if p > LEVEL else "+" if size > 0.5 else "−"))
    return found
