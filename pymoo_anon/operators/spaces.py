"""Which search space an operator is for."""

from __future__ import annotations

import numpy as np
from pymoo.core.problem import Problem

from pymoo_anon.problems.bitstrings import BitStringProblem


def check_levels(problem: Problem) -> None:
    """Refuse problems whose variables are no levels; one that does not say what they are is taken at its bounds."""
    if problem.vtype is not None and not np.issubdtype(problem.vtype, np.integer):
        raise TypeError(
            f"problem must have whole numbers as variables, as the levels of a LatticeProblem, got {_name(problem)}; "
            "for a BitStringProblem there are BitStringSampling, PartitionCrossover and RandomImmigrantMutation"
        )


def check_strings(problem: Problem) -> None:
    """Refuse problems whose variables are no bit strings that partition domains."""
    if not isinstance(problem, BitStringProblem):
        raise TypeError(
            f"problem must be a BitStringProblem, got {_name(problem)}; for a LatticeProblem there are "
            "LatticeSampling, LevelCrossover and SingleStepMutation"
        )


def _name(problem: Problem) -> str:
    return type(problem).__name__
