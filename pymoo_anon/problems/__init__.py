"""Problems: search spaces of generalizations of a table."""

from pymoo_anon.problems.achievement import Achievement, PreferredPoint
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.partition import PartitionProblem
from pymoo_anon.problems.preference import PreferenceProblem

__all__ = [
    "Achievement",
    "AnonymizationProblem",
    "LatticeProblem",
    "PartitionProblem",
    "PreferenceProblem",
    "PreferredPoint",
]
