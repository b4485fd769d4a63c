"""Algorithms for generalizations, under `pymoo.optimize.minimize`."""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later
from pymoo_anon.algorithms.branch_and_bound import BranchAndBound
from pymoo_anon.algorithms.full_domain import Datafly, ExhaustiveSearch, SamaratiSearch
from pymoo_anon.algorithms.genitor import GENITOR
from pymoo_anon.algorithms.local_search import BitStringLocalSearch, ParetoLocalSearch
from pymoo_anon.algorithms.pbgea import PBGEA

if TYPE_CHECKING:
    from pymoo_anon.algorithms.preference import PreferenceNSGA2
    from pymoo_anon.algorithms.target_sweep import TargetSweep

__all__ = [
    "GENITOR",
    "PBGEA",
    "BitStringLocalSearch",
    "BranchAndBound",
    "Datafly",
    "ExhaustiveSearch",
    "ParetoLocalSearch",
    "PreferenceNSGA2",
    "SamaratiSearch",
    "TargetSweep",
]

# pymoo's NSGA-II loads scipy, which takes longer than all of this room.
__getattr__ = later(__name__)
