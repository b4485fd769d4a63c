"""Which of several anonymizations is better for the people in the table (Dewri et al. 2009).

A property gives every tuple a value, a comparator tells which of two such vectors is better.
"""

from pymoo_anon.comparison.bias import distribution, gains, gini, lorenz_curve, worst_off
from pymoo_anon.comparison.comparator import Comparator, SetComparator, Tournament
from pymoo_anon.comparison.comparators import (
    Coverage,
    Hypervolume,
    Minimum,
    NonDominance,
    Rank,
    Spread,
    StrongDominance,
    WeakDominance,
)
from pymoo_anon.comparison.compare import Comparison, compare
from pymoo_anon.comparison.properties import (
    BreachProbability,
    ClassSize,
    DistinctValues,
    SensitiveCount,
    TupleLoss,
    TupleUtility,
)
from pymoo_anon.comparison.property import ColumnProperty, Property, released
from pymoo_anon.comparison.sets import Goal, Lexicographic, Weighted
from pymoo_anon.comparison.vectors import PropertyVector

__all__ = [
    "BreachProbability",
    "ClassSize",
    "ColumnProperty",
    "Comparator",
    "Comparison",
    "Coverage",
    "DistinctValues",
    "Goal",
    "Hypervolume",
    "Lexicographic",
    "Minimum",
    "NonDominance",
    "Property",
    "PropertyVector",
    "Rank",
    "SensitiveCount",
    "SetComparator",
    "Spread",
    "StrongDominance",
    "Tournament",
    "TupleLoss",
    "TupleUtility",
    "WeakDominance",
    "Weighted",
    "compare",
    "distribution",
    "gains",
    "gini",
    "lorenz_curve",
    "released",
    "worst_off",
]
