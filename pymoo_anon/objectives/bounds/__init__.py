"""Bounds for proofs: families of measures that conclude from an evaluated node about others.

A measure names its family, or none. Without one, branch and bound refuses it as an objective, and every other algorithm
takes it. A measure whose bound no other one shares names `Bounding` and defines `best_of_specializations` itself.
"""

from pymoo_anon.objectives.bounds.base import (
    AdditiveLoss,
    Bounding,
    RisingLoss,
    RisingSum,
    SquaresOverClasses,
    SuppressionBudget,
    suppression_budget,
)
from pymoo_anon.objectives.bounds.worst_class import FollowsK, Monotone, Shares, WorstDiversity, WorstShare

__all__ = [
    "AdditiveLoss",
    "Bounding",
    "FollowsK",
    "Monotone",
    "RisingLoss",
    "RisingSum",
    "Shares",
    "SquaresOverClasses",
    "SuppressionBudget",
    "WorstDiversity",
    "WorstShare",
    "suppression_budget",
]
