"""Operators that keep generalizations valid."""

from pymoo_anon.operators.neighborhood import BitStringNeighborhood, LevelNeighborhood, Neighborhood
from pymoo_anon.operators.sampling import BitStringSampling, CornerSampling, DominanceCountTournament, LatticeSampling
from pymoo_anon.operators.variation import (
    ClosestValidRepair,
    LevelCrossover,
    PartitionCrossover,
    PerAttributeBitMutation,
    RandomImmigrantMutation,
    ReducedSurrogateCrossover,
    SingleStepMutation,
)

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
