"""Variation operators that keep generalizations valid, usable in any pymoo algorithm."""

from pymoo_anon.operators.crossover import LevelCrossover, PartitionCrossover, ReducedSurrogateCrossover
from pymoo_anon.operators.mutation import (
    ClosestValidRepair,
    PerAttributeBitMutation,
    RandomImmigrantMutation,
    SingleStepMutation,
)
from pymoo_anon.operators.neighborhood import LevelNeighborhood, Neighborhood
from pymoo_anon.operators.sampling import BitStringSampling, CornerSampling, LatticeSampling
from pymoo_anon.operators.selection import DominanceCountTournament

__all__ = [
    "BitStringSampling",
    "ClosestValidRepair",
    "CornerSampling",
    "DominanceCountTournament",
    "LatticeSampling",
    "LevelCrossover",
    "LevelNeighborhood",
    "Neighborhood",
    "PartitionCrossover",
    "PerAttributeBitMutation",
    "RandomImmigrantMutation",
    "ReducedSurrogateCrossover",
    "SingleStepMutation",
]
