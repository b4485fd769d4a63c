"""Problems: search spaces of generalizations of a table."""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice, Front, Requirement, risk_at_most
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.releases import joint, ladder, ladders
from pymoo_anon.problems.tradeoffs import Step

if TYPE_CHECKING:
    from pymoo_anon.problems.bitstrings import Achievement, BitStringProblem, PreferredPoint
    from pymoo_anon.problems.journal import Journal, journaled
    from pymoo_anon.problems.local_recoding import LocalRecodingProblem, LocalTarget, LowerBound
    from pymoo_anon.problems.refining import refine

__all__ = [
    "Achievement",
    "AnonymizationProblem",
    "BitStringProblem",
    "Choice",
    "Front",
    "Journal",
    "LatticeProblem",
    "LocalRecodingProblem",
    "LocalTarget",
    "LowerBound",
    "PreferredPoint",
    "Requirement",
    "Step",
    "joint",
    "journaled",
    "ladder",
    "ladders",
    "refine",
    "risk_at_most",
]

__getattr__ = later(__name__)
