"""Losses as what every kept class saves: the form in which bit strings are searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Values = NDArray[np.float64]

# A common denominator beyond this is none: whole numbers of it would leave too little room for sums.
_LARGEST_DENOMINATOR = 1 << 32


@dataclass(frozen=True, eq=False)
class ClassGains:
    """A minimised loss as the loss of suppressing everything, less a gain for every class that is kept.

    A class of n tuples, each in the group g_a of attribute a, gains

        mass * (flat + sum over a of worths[a][g_a]) - square * n^2.

    Its mass is n or, where there are labels, the number of tuples with its most frequent one. No gain is negative.

    Attributes:
        most: The loss where every tuple is suppressed.
        worths: Per attribute a (n_groups,) float array: what a tuple saves in each group. None is negative.
        flat: What a tuple saves in every group.
        square: How much of the squared size a class loses again.
        labels: (n_distinct, n_labels) int64 array, the labels of every distinct tuple, or None without labels.
        denominator: A number of which all worths, `flat` and `square` are multiples of the inverse, or 0 for none.
    """

    most: float
    worths: tuple[Values, ...]
    flat: float = 0.0
    square: float = 0.0
    labels: Ints | None = None
    denominator: int = 0


def common_denominator(weights: Sequence[float], divisors: Sequence[int]) -> int:
    """The least common denominator of all weights[a] / divisors[a], the weights as their decimals; 0 if too large.

    >>> common_denominator([1, 0.5], [6, 7])
    42
    """
    found = lcm(*(Fraction(str(float(w))).denominator * d for w, d in zip(weights, divisors, strict=True)))
    return found if found <= _LARGEST_DENOMINATOR else 0
