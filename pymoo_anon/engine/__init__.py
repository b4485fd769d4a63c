"""Equivalence classes of a table, grouped in compiled loops."""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, ValueCounts

if TYPE_CHECKING:
    from pymoo_anon.engine.grouper import Grouper

__all__ = ["DistinctTuples", "EquivalenceClasses", "Grouper", "ValueCounts"]

__getattr__ = later(__name__)
