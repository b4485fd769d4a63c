"""Problems: search spaces of generalizations of a table."""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice, Front, Requirement, risk_at_most
from pymoo_anon.problems.journal import Journal
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.tradeoffs import Step

if TYPE_CHECKING:
    from pymoo_anon.problems.achievement import Achievement, PreferredPoint
    from pymoo_anon.problems.bitstrings import BitStringProblem
    from pymoo_anon.problems.preference import PreferenceProblem
    from pymoo_anon.problems.resuming import journaled

__all__ = [
    "Achievement",
    "AnonymizationProblem",
    "BitStringProblem",
    "Choice",
    "Front",
    "Journal",
    "LatticeProblem",
    "PreferenceProblem",
    "PreferredPoint",
    "Requirement",
    "Step",
    "journaled",
    "risk_at_most",
]

__getattr__ = later(
    __name__,
    {
        "achievement": ("Achievement", "PreferredPoint"),
        "bitstrings": ("BitStringProblem",),
        "preference": ("PreferenceProblem",),
        "resuming": ("journaled",),
    },
)
