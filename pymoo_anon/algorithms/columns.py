"""Columns of the verbose output that algorithms with an archive share."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.problem import Problem
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output

from pymoo_anon._messages import plain
from pymoo_anon.problems.base import AnonymizationProblem


def add_columns(output: Output, algorithm: Algorithm, archive: str) -> None:
    """Add the size of the archive, distinct points, and the best of each objective, where a problem has them."""
    output.columns.append(Column("archive", width=7, func=_Size(archive)))
    problem = algorithm.problem
    if isinstance(problem, AnonymizationProblem):
        output.columns.append(Column("distinct", width=8, func=attrgetter("problem.n_unique")))
    if has_own_columns(problem):
        for index, (name, objective) in enumerate(zip(problem.objective_names, problem.objectives, strict=True)):
            heading = plain(f"{'best' if objective.maximize else 'lowest'} {name}")
            output.columns.append(Column(heading, width=max(12, len(heading)), func=_Best(archive, index)))


def has_own_columns(problem: Problem) -> bool:
    """Whether the columns of F are the objectives of a problem of ours, with none added by a wrapper."""
    return isinstance(problem, AnonymizationProblem) and len(problem.objectives) == problem.n_obj


class _Size:
    """The number of members of an archive."""

    def __init__(self, archive: str) -> None:
        self.archive = archive

    def __call__(self, algorithm: Algorithm) -> int:
        members: Any = getattr(algorithm, self.archive)
        return len(members)


class _Best:
    """The best value of one objective in the archive, as a person writes it."""

    def __init__(self, archive: str, index: int) -> None:
        self.archive = archive
        self.index = index

    def __call__(self, algorithm: Algorithm) -> str:
        problem, members = algorithm.problem, getattr(algorithm, self.archive)
        if not len(members):
            return "-"
        best = members.F[:, self.index].min()
        value = problem.natural(np.where(np.arange(problem.n_obj) == self.index, best, 0.0))[self.index]
        return f"{value:,.0f}" if problem.objectives[self.index].whole else f"{value:,.2f}"
