"""Equivalence classes, fast: a table as distinct tuples and counts, grouped in compiled loops."""

from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, ValueCounts
from pymoo_anon.engine.grouper import Grouper

__all__ = ["DistinctTuples", "EquivalenceClasses", "Grouper", "ValueCounts"]
