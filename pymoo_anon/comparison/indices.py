"""Property vectors: counts of values around every tuple, and what comparators add up over the tuples of two vectors."""

from __future__ import annotations

import numpy as np
from numba import njit

from pymoo_anon.engine.sums import add_times

# Above it the difference of two logarithms is far larger than its rounding error, however large the logarithms.
_CLOSE = 1e-9

# Twice the unit of rounding: a logarithm is off by less than this times itself.
_ULP = 2.0**-52


@njit(cache=True, nogil=True)
def distances(values, counts, point):  # type: ignore[no-untyped-def]
    """(n,) float array: the Euclidean distance of each of (n, m) values, (m,) float counts, from an (m,) point."""
    found = np.empty(len(values), dtype=np.float64)
    for i in range(len(values)):
        high, low = 0.0, 0.0
        for t in range(len(counts)):
            step = values[i, t] - point[t]
            high, low = add_times(high, low, step * step, counts[t])
        found[i] = np.sqrt(high + low)
    return found


@njit(cache=True, nogil=True)
def coverages(values, counts):  # type: ignore[no-untyped-def]
    """(n, n) int64 array: in how many tuples vector i is at least vector j, of (n, m) values and (m,) int64 counts."""
    n = len(values)
    found = np.empty((n, n), dtype=np.int64)
    for i in range(n):
        found[i, i] = counts.sum()
        for j in range(i):
            a, b = values[i], values[j]
            a_covers, b_covers = np.int64(0), np.int64(0)
            for t in range(len(counts)):
                a_covers += counts[t] if a[t] >= b[t] else 0
                b_covers += counts[t] if b[t] >= a[t] else 0
            found[i, j], found[j, i] = a_covers, b_covers
    return found


@njit(cache=True, nogil=True)
def spreads(values, counts):  # type: ignore[no-untyped-def]
    """(n, n) float array: by how much vector i is above vector j, over the tuples where it is.

    Args:
        values: (n, m) float array.
        counts: (m,) float array of whole numbers.
    """
    n = len(values)
    found = np.zeros((n, n), dtype=np.float64)
    for i in range(n):
        for j in range(i):
            a, b = values[i], values[j]
            high, low, other_high, other_low = 0.0, 0.0, 0.0, 0.0
            for t in range(len(counts)):
                step = a[t] - b[t]
                if step > 0:
                    high, low = add_times(high, low, step, counts[t])
                elif step < 0:
                    other_high, other_low = add_times(other_high, other_low, -step, counts[t])
            found[i, j], found[j, i] = high + low, other_high + other_low
    return found


@njit(cache=True, nogil=True)
def hypervolumes(values, logs, counts):  # type: ignore[no-untyped-def]
    """Volumes that one vector dominates and another does not, in logarithms.

    Args:
        values: (n, m) float array of non-negative values.
        logs: (n, m) float array of their logarithms.
        counts: (m,) float array of whole numbers.

    Returns:
        (n, n) float array, the logarithm of the product of vector i less the product of the smaller values of i and j;
        and (n, n) int8 array, 1 where the product of i is larger than that of j, -1 where it is smaller, 0 where they
        do not differ by more than the rounding of logarithms.
    """
    n = len(values)
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
                # A product of zero has no volume, and takes none away.
                found[i, j], found[j, i] = sizes[i], sizes[j]
                larger[i, j] = (sizes[i] > sizes[j]) - (sizes[i] < sizes[j])
            else:
                above, below, error = _log_ratios(values[i], values[j], logs[i], logs[j], counts)
                found[i, j] = sizes[i] + np.log(-np.expm1(-above)) if above > 0 else -np.inf
                found[j, i] = sizes[j] + np.log(-np.expm1(-below)) if below > 0 else -np.inf
                larger[i, j] = (above - below > error) - (below - above > error)
            larger[j, i] = -larger[i, j]
    return found, larger


@njit(cache=True, nogil=True)
def _log_ratios(a, b, log_a, log_b, counts):  # type: ignore[no-untyped-def]
    """Sums of log(a / b) where a is above b, of log(b / a) where it is below, and a bound on their rounding errors."""
    high, low, other_high, other_low, error = 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(len(counts)):
        if a[t] == b[t]:
            continue
        ratio = log_a[t] - log_b[t]
        off = abs(log_a[t]) + abs(log_b[t])
        if abs(ratio) < _CLOSE:
            # Values this close differ without a rounding error.
            ratio = np.log1p((a[t] - b[t]) / b[t])
            off = 2 * abs(ratio)
        error += _ULP * off * counts[t]
        if ratio > 0:
            high, low = add_times(high, low, ratio, counts[t])
        else:
            other_high, other_low = add_times(other_high, other_low, -ratio, counts[t])
    return high + low, other_high + other_low, error
