"""Operators that keep generalizations valid."""

from pymoo_anon.operators.crossover import LevelCrossover, PartitionCrossover, ReducedSurrogateCrossover
from pymoo_anon.operators.mutation import (
    ClosestValidRepair,
    PerAttributeBitMutation,
    RandomImmigrantMutation,
    SingleStepMutation,
)
from pymoo_anon.operators.neighborhood import BitStringNeighborhood, LevelNeighborhood, Neighborhood
from pymoo_anon.operators.sampling import BitStringSampling, CornerSampling, LatticeSampling
from pymoo_anon.operators.selection import DominanceCountTournament

__all__ = [
    "BitStringNeighborhood",
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
