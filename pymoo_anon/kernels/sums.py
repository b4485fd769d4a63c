"""Sums of floats that do not depend on the order of their terms, but for ties of a rounding."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True, inline="always")
def add(high, low, term):  # type: ignore[no-untyped-def]
    """Add a term to a sum of two floats, the second of which holds what the first cannot (Knuth's two-sum).

    Args:
        high: Leading part of the sum so far, 0.0 at first.
        low: The rest of it, 0.0 at first.
        term: A float.

    Returns:
        The two parts of the new sum. Once all terms are in, `high + low` is their sum.
    """
    total = high + term
    part = total - high
    return total, low + ((high - (total - part)) + (term - part))


@njit(cache=True, nogil=True)
def weighted_sum(terms, weights):  # type: ignore[no-untyped-def]
    """Sum of terms times weights.

    Args:
        terms: (n,) float array.
        weights: (n,) int64 array.

    Returns:
        The sum; infinite or NaN where plain addition is.
    """
    high, low, plain = 0.0, 0.0, 0.0
    for i in range(len(terms)):
        term = terms[i] * weights[i]
        plain += term
        high, low = add(high, low, term)
    total = high + low
    # Infinite terms make the rest of a sum undefined.
    return total if total == total else plain
