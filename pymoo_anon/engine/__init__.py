"""Equivalence classes, fast: a table as distinct tuples and counts, grouped in compiled loops."""

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.grouper import Grouper
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts

__all__ = ["DistinctTuples", "EquivalenceClasses", "Grouper", "ValueCounts"]
