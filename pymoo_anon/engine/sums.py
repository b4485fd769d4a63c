"""Sums of floats in any order, and precise logarithms.

A sum is a pair of floats. `high` is the sum rounded, `low` collects what rounding took away. Only the last step,
`high + low`, rounds for good. So two orders of the same terms can differ only where the exact sum lies almost in the
middle between two floats.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.typing import Floats

# 2^27 + 1 splits a float into two halves whose products are exact (Dekker 1971).
_HALVES = 134217729.0


@njit(inline="always")
def add(high, low, term):
    """Add a term to a sum of two floats (Knuth's two-sum)."""
    total = high + term
    # `part` is the share of the term in the total, `total - part` that of `high`. Both differences are exact.
    part = total - high
    return total, low + ((high - (total - part)) + (term - part))


@njit(inline="always")
def add_times(high, low, term, times):
    """Add a term a whole number of times. Up to 2^26 times nothing of the product is lost."""
    product = term * times
    # Dekker's product: the term in two halves, the exact product of each with the count, less the rounded product.
    shifted = _HALVES * term
    front = shifted - (shifted - term)
    lost = (front * times - product) + (term - front) * times
    high, low = add(high, low, product)
    return high, low + lost


@njit()
def total(values, counts):
    """Return the sum of values times counts, independent of their order."""
    high, low = 0.0, 0.0
    # Invariant: high + low is the sum of the first t values.
    for t in range(len(values)):
        high, low = add_times(high, low, values[t], counts[t])
    return high + low


# Logarithms of whole numbers as pairs of floats, right to 26 digits and more. So log 6 and log 2 + log 3 round to the
# same float, and a whole result comes out whole.

#: log 2 as a pair.
LOG_2 = (0.6931471805599453, 2.3190468138462996e-17)

# 1/3 and 1/6 as pairs.
_THIRD = (0.3333333333333333, 1.850371707708594e-17)
_SIXTH = (0.16666666666666666, 9.25185853854297e-18)

# A pair is held against the nearest of the whole numbers from 1,024 to 2,048 times a power of two. Their quotient is
# less than 2^-10 from 1, so that few terms of a series say its logarithm.
_NEAR, _NEAR_TWOS = 1 << 10, 11

# Logarithms are kept of so many whole numbers; counts of classes are seldom larger.
_MOST_KEPT = 1 << 16


@kernel
def add_pairs(a, b, c, d):
    """Return the sum of the pairs (a, b) and (c, d)."""
    high, low = add(a, b, c)
    low += d
    total = high + low
    return total, low - (total - high)


@kernel
def multiply_pairs(a, b, c, d):
    """Return the product of the pairs (a, b) and (c, d)."""
    product = a * c
    # Dekker's product: the products of the halves are exact.
    shifted = _HALVES * a
    a_front = shifted - (shifted - a)
    shifted = _HALVES * c
    c_front = shifted - (shifted - c)
    a_rest, c_rest = a - a_front, c - c_front
    low = ((a_front * c_front - product) + a_front * c_rest + a_rest * c_front) + a_rest * c_rest
    low += a * d + b * c
    total = product + low
    return total, low - (total - product)


@kernel
def divide_pairs(a, b, c, d):
    """Return the quotient of the pairs (a, b) and (c, d)."""
    first = a / c
    high, low = multiply_pairs(first, 0.0, c, d)
    high, low = add_pairs(a, b, -high, -low)
    second = high / c
    third, fourth = multiply_pairs(second, 0.0, c, d)
    high, low = add_pairs(high, low, -third, -fourth)
    return add_pairs(first, 0.0, second, high / c)


@kernel
def _near(number):
    """Return whole number and power of two nearest a positive number."""
    share, twos = math.frexp(number)
    return np.rint(share * (2 * _NEAR)), np.float64(twos - _NEAR_TWOS)


@kernel
def exp_pair(high, low, logs):
    """Return the exponential of a pair, by a series."""
    near, twos = _near(np.exp(high))
    more, less = multiply_pairs(twos, 0.0, LOG_2[0], LOG_2[1])
    more, less = add_pairs(more, less, logs[np.int64(near), 0], logs[np.int64(near), 1])
    high, low = add_pairs(high, low, -more, -less)
    # 1 + x + x^2/2 + x^3/6 in pairs; the rest is so small that a float says it.
    square, less_of_square = multiply_pairs(high, low, high, low)
    cube, less_of_cube = multiply_pairs(square, less_of_square, high, low)
    cube, less_of_cube = multiply_pairs(cube, less_of_cube, _SIXTH[0], _SIXTH[1])
    rest_of_series = square * square * (1 / 24 + high * (1 / 120 + high * (1 / 720 + high / 5040)))
    found, rest = add_pairs(cube, less_of_cube, rest_of_series, 0.0)
    found, rest = add_pairs(square / 2, less_of_square / 2, found, rest)
    found, rest = add_pairs(high, low, found, rest)
    found, rest = add_pairs(1.0, 0.0, found, rest)
    found, rest = multiply_pairs(found, rest, near, 0.0)
    factor = 2.0**twos
    return found * factor, rest * factor


@kernel
def log_pair(high, low, logs):
    """Return the logarithm of a positive pair, by a series."""
    near, twos = _near(high)
    factor = 2.0**twos
    # The difference is exact, as both are within one in a thousand of one another.
    high, low = add_pairs(high / factor - near, 0.0, low / factor, 0.0)
    high, low = divide_pairs(high, low, near, 0.0)
    more, less = multiply_pairs(twos, 0.0, LOG_2[0], LOG_2[1])
    more, less = add_pairs(more, less, logs[np.int64(near), 0], logs[np.int64(near), 1])
    high, low = log_of_one_and(high, low)
    return add_pairs(more, less, high, low)


@kernel
def log_of_one_and(high, low):
    """Return the logarithm of 1 plus a pair within 2^-10 of 0."""
    # x - x^2/2 + x^3/3 in pairs; the rest is so small that a float says it.
    square, less_of_square = multiply_pairs(high, low, high, low)
    cube, less_of_cube = multiply_pairs(square, less_of_square, high, low)
    cube, less_of_cube = multiply_pairs(cube, less_of_cube, _THIRD[0], _THIRD[1])
    tail = -1 / 4 + high * (1 / 5 + high * (-1 / 6 + high * (1 / 7 + high * (-1 / 8 + high / 9))))
    found, rest = add_pairs(cube, less_of_cube, square * square * tail, 0.0)
    found, rest = add_pairs(-square / 2, -less_of_square / 2, found, rest)
    return add_pairs(high, low, found, rest)


@kernel
def log_of(whole, logs):
    """Return the logarithm of a positive whole number as a pair."""
    if whole < len(logs):
        return logs[whole, 0], logs[whole, 1]
    return log_pair(np.float64(whole), 0.0, logs)


@kernel
def own_logs(counts, logs):
    """Return the sum of counts times their logarithms, a pair."""
    total, rest = 0.0, 0.0
    for count in counts:
        if count < len(logs):
            high, low = logs[count, 2], logs[count, 3]
        else:
            high, low = log_of(count, logs)
            high, low = multiply_pairs(np.float64(count), 0.0, high, low)
        # Rounding of the low parts is as small beside them as theirs beside the high parts.
        total, rest = add(total, rest, high)
        rest += low
    return add_pairs(total, rest, 0.0, 0.0)


def logs_up_to(most: int) -> Floats:
    """Return pairs of log n and n log n for n below m, (m, 4) float."""
    return _logs(min(1 << max(int(most).bit_length(), 12), _MOST_KEPT))


@lru_cache(maxsize=16)
def _logs(m: int) -> Floats:
    return _fill_logs(np.zeros((m, 4)))


@njit()
def _fill_logs(logs):
    """Compute the logarithms of whole numbers, each from smaller ones."""
    for whole in range(2, len(logs)):
        if whole % 2 == 0:
            high, low = add_pairs(logs[whole // 2, 0], logs[whole // 2, 1], LOG_2[0], LOG_2[1])
        elif whole > 2 * _NEAR:
            high, low = log_pair(np.float64(whole), 0.0, logs)
        else:
            high, low = _log_of_next(np.float64(whole), logs[whole - 1, 0], logs[whole - 1, 1])
        logs[whole, 0], logs[whole, 1] = high, low
        logs[whole, 2], logs[whole, 3] = multiply_pairs(np.float64(whole), 0.0, high, low)
    return logs


@kernel
def _log_of_next(whole, high, low):
    """Return a whole number's logarithm from the one before.

    They differ by 2 (z + z^3/3 + z^5/5 + ...) with z = 1 / (2 whole - 1), at most 1/5.
    """
    z, less = divide_pairs(1.0, 0.0, 2 * whole - 1, 0.0)
    square, less_of_square = multiply_pairs(z, less, z, less)
    power, less, odd = 2 * z, 2 * less, 1.0
    while power > 1e-34:
        more, rest = divide_pairs(power, less, odd, 0.0)
        high, low = add_pairs(high, low, more, rest)
        power, less = multiply_pairs(power, less, square, less_of_square)
        odd += 2
    return high, low
