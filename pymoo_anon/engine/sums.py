"""Sums of floats that do not depend on the order of their terms, but for ties of a rounding."""

from __future__ import annotations

from pymoo_anon.engine.compiled import njit

# Parts a float into two of at most 26 bits, whose products are exact (Dekker).
_HALVES = 134217729.0


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


@njit(cache=True, nogil=True, inline="always")
def add_times(high, low, term, times):  # type: ignore[no-untyped-def]
    """Add a term so many times to a sum of two floats, as rows that repeat would be, but for ties of a rounding."""
    product = term * times
    # What the product has lost, so that counts and repeated rows have one sum. A count has no second half: below 2^26.
    shifted = _HALVES * term
    front = shifted - (shifted - term)
    lost = (front * times - product) + (term - front) * times
    high, low = add(high, low, product)
    return high, low + lost


@njit(cache=True, nogil=True)
def total(values, counts):  # type: ignore[no-untyped-def]
    """Sum of (m,) values, each as often as its (m,) float count says."""
    high, low = 0.0, 0.0
    for t in range(len(values)):
        high, low = add_times(high, low, values[t], counts[t])
    return high + low
