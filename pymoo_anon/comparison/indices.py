"""Compiled loops that sum indices over the tuples of every two vectors.

Values come as an (n, m) float array, a vector a row, such that higher is better, and with an (m,) array of counts of
tuples: whole numbers, float64 where they are multiplied. Every loop reads a pair once and finds both of its indices.
Sums are compensated (`engine.sums`): a count has the sum of as many rows, in any order.
"""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.sums import add_times

# Two values are close if the logarithm of their ratio is below this. The difference of their logarithms is then not
# precise enough: logarithms of floats are below 746, so that it may be off by 5e-13.
_CLOSE = 1e-9

# The relative error of the logarithms of a tuple. `_log_ratios` has the proof.
_LOG_ERROR = 2.0**-50


@njit()
def distances(values, counts, point):  # type: ignore[no-untyped-def]
    """Return the euclidean distance of each vector from a point. (n,) float array."""
    found = np.empty(len(values), dtype=np.float64)
    for i in range(len(values)):
        high, low = 0.0, 0.0
        # high + low is the sum of the squares before column t.
        for t in range(len(counts)):
            step = values[i, t] - point[t]
            high, low = add_times(high, low, step * step, counts[t])
        found[i] = np.sqrt(high + low)
    return found


@njit()
def coverages(values, counts):  # type: ignore[no-untyped-def]
    """Count the tuples with vector i at least vector j. (n, n) int64 array.

    A tie counts for both.
    """
    n = len(values)
    found = np.empty((n, n), dtype=np.int64)
    for i in range(n):
        found[i, i] = counts.sum()
        for j in range(i):
            a, b = values[i], values[j]
            a_covers, b_covers = np.int64(0), np.int64(0)
            # The two count the tuples before column t.
            for t in range(len(counts)):
                a_covers += counts[t] if a[t] >= b[t] else 0
                b_covers += counts[t] if b[t] >= a[t] else 0
            found[i, j], found[j, i] = a_covers, b_covers
    return found


@njit()
def spreads(values, counts):  # type: ignore[no-untyped-def]
    """Sum max(vector i - vector j, 0) over all tuples. (n, n) float array."""
    n = len(values)
    found = np.zeros((n, n), dtype=np.float64)
    for i in range(n):
        for j in range(i):
            a, b = values[i], values[j]
            high, low, other_high, other_low = 0.0, 0.0, 0.0, 0.0
            # high + low is the sum of a - b where a is above, other_high + other_low that of b - a, before column t.
            for t in range(len(counts)):
                step = a[t] - b[t]
                if step > 0:
                    high, low = add_times(high, low, step, counts[t])
                elif step < 0:
                    other_high, other_low = add_times(other_high, other_low, -step, counts[t])
            found[i, j], found[j, i] = high + low, other_high + other_low
    return found


@njit()
def hypervolumes(values, logs, counts):  # type: ignore[no-untyped-def]
    """Return the logarithms of volumes that one vector dominates alone.

    With A the product of a, and C that of the smaller values of a and b, log(A / C) is the sum of log(a / b) where a is
    above b. So A - C = A (1 - C / A) has the logarithm log(A) + log(1 - exp(-that sum)), without any product. `logs`
    has the logarithms of the values, which are not negative.

    The (n, n) int8 array is 1 where the product of i is larger than that of j, -1 where it is smaller, 0 where they
    differ by no more than rounding.
    """
    n = len(values)
    # The logarithm of each product: -inf where a value is 0.
    sizes = np.empty(n, dtype=np.float64)
    for i in range(n):
        high, low = 0.0, 0.0
        for t in range(len(counts)):
            if values[i, t] == 0:
                high, low = -np.inf, 0.0
                break
            high, low = add_times(high, low, logs[i, t], counts[t])
        sizes[i] = high + low
    found = np.full((n, n), -np.inf, dtype=np.float64)
    larger = np.zeros((n, n), dtype=np.int8)
    for i in range(n):
        for j in range(i):
            if sizes[i] == -np.inf or sizes[j] == -np.inf:
                # A product of zero has no volume. The common part is zero, too, so the other volume is whole.
                found[i, j], found[j, i] = sizes[i], sizes[j]
                larger[i, j] = (sizes[i] > sizes[j]) - (sizes[i] < sizes[j])
            else:
                above, below, error = _log_ratios(values[i], values[j], logs[i], logs[j], counts)
                found[i, j] = sizes[i] + np.log(-np.expm1(-above)) if above > 0 else -np.inf
                found[j, i] = sizes[j] + np.log(-np.expm1(-below)) if below > 0 else -np.inf
                larger[i, j] = (above - below > error) - (below - above > error)
            larger[j, i] = -larger[i, j]
    return found, larger


@njit()
def _log_ratios(a, b, log_a, log_b, counts):  # type: ignore[no-untyped-def]
    """Return the distance of two products of positive values, in logarithms.

    The product of a is the larger one if `above - below` is positive. Tuples that agree take no part, so that what
    differs is not lost beside what is alike. The sign is certain if the difference is larger than `error`:

    - A logarithm is off by at most one unit in its last place, 2^-52 of it, and their difference by 2^-53 of itself. So
      a ratio is off by at most 1.5 * 2^-52 of |log a| + |log b|, which is never smaller than the ratio.
    - Close values differ without a rounding error (Sterbenz). Their quotient is off by 2^-53 of it and `log1p` by
      2^-52, so the ratio is off by 1.5 * 2^-52 of itself.
    - The sums are compensated: they are off by 2^-53 of their value, as is their difference. A count of 2^26 or more
      adds 2^-53 of its product.

    In all this is at most 3 * 2^-52 of the sizes `off`, added up over the tuples. `error` is 4 * 2^-52 of them; the
    rest pays for the rounding of `error` itself.
    """
    high, low, other_high, other_low, error = 0.0, 0.0, 0.0, 0.0, 0.0
    # The three sums are those of the columns before t.
    for t in range(len(counts)):
        if a[t] == b[t]:
            continue
        ratio = log_a[t] - log_b[t]
        off = abs(log_a[t]) + abs(log_b[t])
        if abs(ratio) < _CLOSE:
            ratio = np.log1p((a[t] - b[t]) / b[t])
            off = abs(ratio)
        error += _LOG_ERROR * off * counts[t]
        if ratio > 0:
            high, low = add_times(high, low, ratio, counts[t])
        else:
            other_high, other_low = add_times(other_high, other_low, -ratio, counts[t])
    return high + low, other_high + other_low, error
