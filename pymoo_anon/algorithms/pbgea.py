"""PBG-EA: the evolutionary algorithm for property based generalizations."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from pymoo.algorithms.base.genetic import GeneticAlgorithm
from pymoo.core.algorithm import Algorithm
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling
from pymoo.termination import get_termination
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output
from pymoo.util.optimum import filter_optimum

from pymoo_anon.fronts.archive import BoxArchive, checked_epsilon, fit_epsilon
from pymoo_anon.operators.crossover import LevelCrossover
from pymoo_anon.operators.mutation import SingleStepMutation
from pymoo_anon.operators.sampling import LatticeSampling
from pymoo_anon.operators.selection import DominanceCountTournament
from pymoo_anon.problems.base import AnonymizationProblem


class PBGEA(GeneticAlgorithm):  # type: ignore[misc]
    """PBG-EA finds a representative set of minimal property based generalizations (Dewri et al. 2010, Algorithm 2).

    Each generation all children replace the population; nothing of it survives but what the box archive holds. Parents
    come from population and archive together. The result, `res.opt`, is the archive.

    Args:
        pop_size: Number of nodes in the population.
        epsilon: Side of the archive's boxes, one positive number or one per objective, as in `BoxArchive`; under a
            problem of ours the grid lies on the natural values. None takes the step of every objective: the paper's 1
            for k, l, their sums and the general loss, 0.001 for what is between 0 and 1.
        sampling: First population; None is `LatticeSampling()`.
        crossover: None is `LevelCrossover()`, single point with probability 0.8.
        mutation: None is `SingleStepMutation()`, one step with probability 1 / number of variables.
        output: Columns of the verbose output; None is `PBGEAOutput()`.
        **kwargs: As pymoo's `Algorithm`: termination (100 generations by default), callback, archive, ...

    Attributes:
        box_archive: The archive of Algorithm 2.

    Raises:
        ValueError: `epsilon` is not positive and finite or, at setup, has another number of objectives.
    """

    def __init__(
        self,
        pop_size: int = 25,
        epsilon: float | Sequence[float] | None = None,
        sampling: Sampling | None = None,
        crossover: Crossover | None = None,
        mutation: Mutation | None = None,
        output: Output | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("termination", get_termination("n_gen", 100))
        super().__init__(
            pop_size=pop_size,
            sampling=LatticeSampling() if sampling is None else sampling,
            selection=DominanceCountTournament(),
            crossover=LevelCrossover() if crossover is None else crossover,
            mutation=SingleStepMutation() if mutation is None else mutation,
            output=PBGEAOutput() if output is None else output,
            eliminate_duplicates=False,
            **kwargs,
        )
        self.epsilon = None if epsilon is None else checked_epsilon(epsilon)
        self.box_archive = BoxArchive()

    def _setup(self, problem: Problem, **kwargs: Any) -> None:
        epsilon, maximize = self.epsilon, None
        if isinstance(problem, AnonymizationProblem):
            epsilon = problem.steps if epsilon is None else epsilon
            maximize = [objective.maximize for objective in problem.objectives][-problem.n_obj :]
        self.box_archive = BoxArchive(1.0 if epsilon is None else epsilon, maximize)
        fit_epsilon(self.box_archive.epsilon, problem.n_obj)

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        self._advance(infills)

    def _infill(self) -> Population:
        # Steps 5 to 7: fitness, selection and recombination in the union of population and archive.
        union = _union(self.pop, self.box_archive)
        return self.mating.do(self.problem, union, self.n_offsprings, algorithm=self, random_state=self.random_state)

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        # Steps 4 and 8: the children are the next population, and the archive takes the best of them.
        self.pop = infills
        self.box_archive.add(infills)

    def _set_optimum(self) -> None:
        self.opt = self.box_archive.pop if len(self.box_archive) else filter_optimum(self.pop, least_infeasible=True)


class PBGEAOutput(Output):  # type: ignore[misc]
    """Columns of a search for generalizations: size of the archive, distinct nodes, and the best of each objective."""

    def initialize(self, algorithm: Algorithm) -> None:
        """Choose the columns that the algorithm and its problem can fill."""
        self.columns.append(Column("archive", width=7, func=_archive_size))
        problem = algorithm.problem
        if isinstance(problem, AnonymizationProblem):
            self.columns.append(Column("distinct", width=8, func=attrgetter("problem.n_unique")))
            for index, (name, objective) in enumerate(zip(problem.objective_names, problem.objectives, strict=True)):
                heading = f"{'best' if objective.maximize else 'lowest'} {name}"
                self.columns.append(Column(heading, width=max(12, len(heading)), func=_Best(index)))


class _Best:
    """The best value of one objective in the current front, as a person writes it."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __call__(self, algorithm: Algorithm) -> str:
        problem = algorithm.problem
        if not len(algorithm.box_archive):
            return "-"
        best = algorithm.opt.get("F")[:, self.index].min()
        value = problem.natural(np.where(np.arange(problem.n_obj) == self.index, best, 0.0))[self.index]
        return f"{value:,.0f}" if problem.objectives[self.index].whole else f"{value:,.2f}"


def _archive_size(algorithm: Algorithm) -> int:
    return len(algorithm.box_archive)


def _union(pop: Population, archive: BoxArchive) -> Population:
    """Population and archive as a set of nodes: one that is in both, or in the population twice, counts once."""
    return Population(list({one.X.tobytes(): one for one in (*archive, *pop)}.values()))
