"""What no specialization of a generalization can do better than, with so many tuples suppressed at most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.objectives.base import Values

Ints = NDArray[np.int64]


def sums_of_larger(sizes: Ints, values: Ints, gone: Ints, limit: int) -> Values:
    """(n,) float array: sums of values over the classes larger than each size that is gone, and the limit squared.

    Of Python's whole numbers, rounded once: what is exact beyond 2^53 in a node's value has to be in its bound.
    """
    return np.array([float(int(values[sizes > size].sum()) + limit**2) for size in gone])


def fewest_unavoidable(numbers: Ints, sizes: Ints, gone: Ints, limit: int) -> Values:
    """(n,) float array: for each size that is gone, the smallest number that not all classes can be suppressed with.

    It is the smallest t for which the classes with a number of at most t hold more tuples than can be suppressed: a
    number that no part of a class exceeds, such as its distinct values, is then at most t in some class. Of the tuples
    that may be suppressed, those of the classes that are gone are used up.

    Args:
        numbers: (n_classes,) int64 array of numbers from 0.
        sizes: (n_classes,) int64 array.
        gone: (n,) int64 array; classes of at most that size are suppressed.
        limit: At most so many tuples are suppressed.
    """
    known, ranks = np.unique(numbers, return_inverse=True)
    fewest = np.empty(len(gone))
    for case, size in enumerate(gone):
        left = sizes > size
        held = np.cumsum(np.bincount(ranks[left], sizes[left], minlength=len(known)))
        fewest[case] = known[np.searchsorted(held, limit - sizes[~left].sum(), side="right")]
    return fewest
