"""Tables about persons: microdata, hierarchies, generalizations and suppression."""

from typing import TYPE_CHECKING

from pymoo_anon._rooms import later
from pymoo_anon.table.generalization import AtMost, Below, Generalization, LocalGeneralization, Suppression, Violating
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata

if TYPE_CHECKING:
    from pymoo_anon.table.draft_levels import Draft
    from pymoo_anon.table.drafts import draft_hierarchy
    from pymoo_anon.table.guesses import Guess, guess_role, guesses_of
    from pymoo_anon.table.hierarchy_edits import Finding, check_hierarchy
    from pymoo_anon.table.taxonomy import Taxonomy

__all__ = [
    "AtMost",
    "Below",
    "Draft",
    "Finding",
    "Generalization",
    "Guess",
    "Hierarchy",
    "LocalGeneralization",
    "Microdata",
    "Suppression",
    "Taxonomy",
    "Violating",
    "check_hierarchy",
    "draft_hierarchy",
    "guess_role",
    "guesses_of",
]

__getattr__ = later(__name__)
