"""Which search space an operator is for."""

from __future__ import annotations

import numpy as np
from pymoo.core.problem import Problem

from pymoo_anon.problems.partition import PartitionProblem


def check_levels(problem: Problem) -> None:
    """Refuse problems whose variables are no levels; one that does not say what they are is taken at its bounds.

    Raises:
        TypeError: The variables are bits or real numbers.
    """
    if problem.vtype is not None and not np.issubdtype(problem.vtype, np.integer):
        raise TypeError(
            f"problem must have whole numbers as variables, as the levels of a LatticeProblem, got {_name(problem)}; "
            "for a PartitionProblem there are ValidSampling, PartitionCrossover and RandomImmigrantMutation"
        )


def check_strings(problem: Problem) -> None:
    """Refuse problems whose variables are no bit strings that partition domains.

    Raises:
        TypeError: It is no `PartitionProblem`.
    """
    if not isinstance(problem, PartitionProblem):
        raise TypeError(
            f"problem must be a PartitionProblem, got {_name(problem)}; for a LatticeProblem there are "
            "LatticeSampling, LevelCrossover and SingleStepMutation"
        )


def _name(problem: Problem) -> str:
    return type(problem).__name__
