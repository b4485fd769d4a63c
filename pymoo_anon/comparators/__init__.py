"""Comparators: which of two anonymizations is better for the tuples of a table (Dewri et al. 2009, sections 4 and 5).

A comparator takes two property vectors (or two sets of them): `index(d1, d2)` is the number, `compare(d1, d2)` the
verdict on the first. A vector is a `PropertyVector` or any (N,) array; higher is better, and the `PropertyVector` of a
property that is better when lower is compared as its negative. One of your own is a subclass of `Comparator` with a
`name` and the method `index`.
"""

from pymoo_anon.comparators.base import Comparator, SetComparator, Tournament
from pymoo_anon.comparators.sets import Goal, Lexicographic, Weighted
from pymoo_anon.comparators.vectors import (
    Coverage,
    Hypervolume,
    Minimum,
    NonDominance,
    Rank,
    Spread,
    StrongDominance,
    WeakDominance,
)

__all__ = [
    "Comparator",
    "Coverage",
    "Goal",
    "Hypervolume",
    "Lexicographic",
    "Minimum",
    "NonDominance",
    "Rank",
    "SetComparator",
    "Spread",
    "StrongDominance",
    "Tournament",
    "WeakDominance",
    "Weighted",
]
