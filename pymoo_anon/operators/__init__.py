"""Operators that keep generalizations valid."""

from pymoo_anon.operators.levels import (
    CornerSampling,
    DominanceCountTournament,
    LatticeSampling,
    LevelCrossover,
    LevelNeighborhood,
    Neighborhood,
    SingleStepMutation,
)
from pymoo_anon.operators.strings import (
    BitStringNeighborhood,
    BitStringSampling,
    ClosestValidRepair,
    PartitionCrossover,
    PerAttributeBitMutation,
    RandomImmigrantMutation,
    ReducedSurrogateCrossover,
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
