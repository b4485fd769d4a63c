"""What a proof may conclude from an evaluated node about others: families of measures that share their bounds.

A measure names its family, or none. One of your own needs no family: branch and bound then refuses it as an objective,
and every other algorithm takes it.
"""

from pymoo_anon.objectives.bounds.base import Bounding, Suppressible
from pymoo_anon.objectives.bounds.cases import suppressible
from pymoo_anon.objectives.bounds.losses import AdditiveLoss, MajorityLoss, RisingLoss, RisingSum
from pymoo_anon.objectives.bounds.sums import FewestClasses, SquaresOverClasses
from pymoo_anon.objectives.bounds.worst_class import (
    DistinctValues,
    FollowsK,
    Hereditary,
    Shares,
    WorstDiversity,
    WorstShare,
    WorstShareOfFewValues,
)

__all__ = [
    "AdditiveLoss",
    "Bounding",
    "DistinctValues",
    "FewestClasses",
    "FollowsK",
    "Hereditary",
    "MajorityLoss",
    "RisingLoss",
    "RisingSum",
    "Shares",
    "SquaresOverClasses",
    "Suppressible",
    "WorstDiversity",
    "WorstShare",
    "WorstShareOfFewValues",
    "suppressible",
]
