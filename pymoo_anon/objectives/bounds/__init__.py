"""What a proof may conclude from an evaluated node about others: families of measures that share their bounds.

A measure names its family, or none. One of your own needs no family: branch and bound then refuses it as an objective,
and every other algorithm takes it.
"""

from pymoo_anon.objectives.bounds.base import (
    AdditiveLoss,
    Bounding,
    FewestClasses,
    MajorityLoss,
    RisingLoss,
    RisingSum,
    RisksOverClasses,
    RowsOfSmallClasses,
    SquaresOverClasses,
    Suppressible,
    suppressible,
)
from pymoo_anon.objectives.bounds.worst_class import (
    FollowsK,
    Hereditary,
    Shares,
    WorstDiversity,
    WorstOfKnownSets,
    WorstShare,
    WorstShareOfFewValues,
)

__all__ = [
    "AdditiveLoss",
    "Bounding",
    "FewestClasses",
    "FollowsK",
    "Hereditary",
    "MajorityLoss",
    "RisingLoss",
    "RisingSum",
    "RisksOverClasses",
    "RowsOfSmallClasses",
    "Shares",
    "SquaresOverClasses",
    "Suppressible",
    "WorstDiversity",
    "WorstOfKnownSets",
    "WorstShare",
    "WorstShareOfFewValues",
    "suppressible",
]
