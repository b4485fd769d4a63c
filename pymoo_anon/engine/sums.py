"""Sums of floats that hardly depend on the order of their terms.

A sum is a pair of floats. `high` is the sum rounded, `low` collects what rounding took away. Only the last step,
`high + low`, rounds for good. So two orders of the same terms can differ only where the exact sum lies almost in the
middle between two floats.
"""

from __future__ import annotations

from pymoo_anon.engine.compiled import njit

# 2^27 + 1. A product with it splits a float into two parts of at most 26 bits, whose products are exact (Dekker 1971).
_HALVES = 134217729.0


@njit(cache=True, nogil=True, inline="always")
def add(high, low, term):  # type: ignore[no-untyped-def]
    """Add a term to a sum of two floats (Knuth's two-sum).

    Args:
        high: Leading part of the sum so far, 0.0 at first.
        low: The rest of it, 0.0 at first.
        term: A float.

    Returns:
        The two parts of the new sum. Once all terms are in, `high + low` is their sum.
    """
    total = high + term
    # `part` is what of the term arrived in the total, `total - part` what of `high` did. The differences are exact.
    part = total - high
    return total, low + ((high - (total - part)) + (term - part))


@njit(cache=True, nogil=True, inline="always")
def add_times(high, low, term, times):  # type: ignore[no-untyped-def]
    """Add a term so many times to a sum of two floats: the same sum as of rows that repeat.

    Args:
        high: Leading part of the sum so far, 0.0 at first.
        low: The rest of it, 0.0 at first.
        term: A float.
        times: A whole number as a float. Up to 2^26 nothing of the product is lost.

    Returns:
        The two parts of the new sum.
    """
    product = term * times
    # Dekker's product: the term in two halves, the exact product of each with the count, less the rounded product.
    shifted = _HALVES * term
    front = shifted - (shifted - term)
    lost = (front * times - product) + (term - front) * times
    high, low = add(high, low, product)
    return high, low + lost


@njit(cache=True, nogil=True)
def total(values, counts):  # type: ignore[no-untyped-def]
    """Sum of values, each as often as its count says.

    Args:
        values: (m,) float array.
        counts: (m,) float array of whole numbers.

    Returns:
        A float, the same for equal rows in any order and however they are counted, but for ties of a rounding.
    """
    high, low = 0.0, 0.0
    # Invariant: high + low is the sum of the first t values.
    for t in range(len(values)):
        high, low = add_times(high, low, values[t], counts[t])
    return high + low
