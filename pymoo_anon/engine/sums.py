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
def pair_of(number):
    """Return a number as a pair."""
    return np.float64(number), 0.0


@kernel
def add_pairs(x, y):
    """Return the sum of two pairs."""
    high, low = add(x[0], x[1], y[0])
    low += y[1]
    total = high + low
    return total, low - (total - high)


@kernel
def subtract_pairs(x, y):
    """Return the difference of two pairs."""
    return add_pairs(x, (-y[0], -y[1]))


@kernel
def multiply_pairs(x, y):
    """Return the product of two pairs."""
    product = x[0] * y[0]
    # Dekker's product: the products of the halves are exact.
    shifted = _HALVES * x[0]
    x_front = shifted - (shifted - x[0])
    shifted = _HALVES * y[0]
    y_front = shifted - (shifted - y[0])
    x_rest, y_rest = x[0] - x_front, y[0] - y_front
    low = ((x_front * y_front - product) + x_front * y_rest + x_rest * y_front) + x_rest * y_rest
    low += x[0] * y[1] + x[1] * y[0]
    total = product + low
    return total, low - (total - product)


@kernel
def divide_pairs(x, y):
    """Return the quotient of two pairs."""
    first = x[0] / y[0]
    rest = subtract_pairs(x, multiply_pairs(pair_of(first), y))
    second = rest[0] / y[0]
    rest = subtract_pairs(rest, multiply_pairs(pair_of(second), y))
    return add_pairs(pair_of(first), (second, rest[0] / y[0]))


@kernel
def _near(number):
    """Return whole number and power of two nearest a positive number."""
    share, twos = math.frexp(number)
    return np.rint(share * (2 * _NEAR)), np.float64(twos - _NEAR_TWOS)


@kernel
def _log_of_near(near, twos, logs):
    """Return the logarithm of what `_near` gives."""
    return add_pairs(multiply_pairs(pair_of(twos), LOG_2), (logs[np.int64(near), 0], logs[np.int64(near), 1]))


@kernel
def exp_pair(x, logs):
    """Return the exponential of a pair, by a series."""
    near, twos = _near(np.exp(x[0]))
    x = subtract_pairs(x, _log_of_near(near, twos, logs))
    # 1 + x + x^2/2 + x^3/6 in pairs; the rest is so small that a float says it.
    square, high = multiply_pairs(x, x), x[0]
    cube = multiply_pairs(multiply_pairs(square, x), _SIXTH)
    rest = square[0] * square[0] * (1 / 24 + high * (1 / 120 + high * (1 / 720 + high / 5040)))
    found = add_pairs((square[0] / 2, square[1] / 2), add_pairs(cube, pair_of(rest)))
    found = add_pairs(pair_of(1.0), add_pairs(x, found))
    found, factor = multiply_pairs(found, pair_of(near)), 2.0**twos
    return found[0] * factor, found[1] * factor


@kernel
def log_pair(x, logs):
    """Return the logarithm of a positive pair, by a series."""
    near, twos = _near(x[0])
    factor = 2.0**twos
    # The difference is exact, as both are within one in a thousand of one another.
    beyond = add_pairs(pair_of(x[0] / factor - near), pair_of(x[1] / factor))
    return add_pairs(_log_of_near(near, twos, logs), log_of_one_and(divide_pairs(beyond, pair_of(near))))


@kernel
def log_of_one_and(x):
    """Return the logarithm of 1 plus a pair within 2^-10 of 0."""
    # x - x^2/2 + x^3/3 in pairs; the rest is so small that a float says it.
    square, high = multiply_pairs(x, x), x[0]
    cube = multiply_pairs(multiply_pairs(square, x), _THIRD)
    tail = -1 / 4 + high * (1 / 5 + high * (-1 / 6 + high * (1 / 7 + high * (-1 / 8 + high / 9))))
    found = add_pairs(cube, pair_of(square[0] * square[0] * tail))
    return add_pairs(x, add_pairs((-square[0] / 2, -square[1] / 2), found))


@kernel
def log_of(whole, logs):
    """Return the logarithm of a positive whole number as a pair."""
    if whole < len(logs):
        return logs[whole, 0], logs[whole, 1]
    return log_pair(pair_of(whole), logs)


@kernel
def own_logs(counts, logs):
    """Return the sum of counts times their logarithms, a pair."""
    total, rest = 0.0, 0.0
    for count in counts:
        if count < len(logs):
            high, low = logs[count, 2], logs[count, 3]
        else:
            high, low = multiply_pairs(pair_of(count), log_of(count, logs))
        # Rounding of the low parts is as small beside them as theirs beside the high parts.
        total, rest = add(total, rest, high)
        rest += low
    return add_pairs((total, rest), pair_of(0.0))


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
            log = add_pairs(log_of(whole // 2, logs), LOG_2)
        elif whole > 2 * _NEAR:
            log = log_pair(pair_of(whole), logs)
        else:
            log = _log_of_next(np.float64(whole), log_of(whole - 1, logs))
        logs[whole, 0], logs[whole, 1] = log
        logs[whole, 2], logs[whole, 3] = multiply_pairs(pair_of(whole), log)
    return logs


@kernel
def _log_of_next(whole, log):
    """Return a whole number's logarithm from the one before.

    They differ by 2 (z + z^3/3 + z^5/5 + ...) with z = 1 / (2 whole - 1), at most 1/5.
    """
    z = divide_pairs(pair_of(1.0), pair_of(2 * whole - 1))
    square = multiply_pairs(z, z)
    power, odd = (2 * z[0], 2 * z[1]), 1.0
    while power[0] > 1e-34:
        log = add_pairs(log, divide_pairs(power, pair_of(odd)))
        power = multiply_pairs(power, square)
        odd += 2
    return log
