"""Objectives: measures of a generalization, as reductions over its equivalence classes."""

from pymoo_anon.objectives import loss, privacy
from pymoo_anon.objectives.base import ColumnObjective, Objective
from pymoo_anon.objectives.knowledge import any_of
from pymoo_anon.objectives.loss import *  # noqa: F403 - the measures are listed there, once
from pymoo_anon.objectives.privacy import *  # noqa: F403
from pymoo_anon.table.generalization import Constraint

__all__ = ["ColumnObjective", "Constraint", "Objective", "any_of"]
__all__ += loss.__all__
__all__ += privacy.__all__
