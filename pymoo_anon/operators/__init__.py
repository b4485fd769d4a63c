"""Variation operators that keep generalizations valid, usable in any pymoo algorithm."""

from pymoo_anon.operators.crossover import LevelCrossover, PartitionCrossover, ReducedSurrogateCrossover
from pymoo_anon.operators.mutation import PerAttributeBitMutation, RandomImmigrantMutation, SingleStepMutation
from pymoo_anon.operators.repair import ClosestValidRepair
from pymoo_anon.operators.sampling import LatticeSampling, ValidSampling
from pymoo_anon.operators.selection import DominanceCountTournament

__all__ = [
    "ClosestValidRepair",
    "DominanceCountTournament",
    "LatticeSampling",
    "LevelCrossover",
    "PartitionCrossover",
    "PerAttributeBitMutation",
    "RandomImmigrantMutation",
    "ReducedSurrogateCrossover",
    "SingleStepMutation",
    "ValidSampling",
]
