"""NSGA-II with the selection of feasible solutions that preferences between loss and bias need."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.algorithm import Algorithm
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.core.result import Result
from pymoo.core.sampling import Sampling
from pymoo.operators.crossover.pntx import SinglePointCrossover
from pymoo.operators.selection.tournament import TournamentSelection
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output

from pymoo_anon.algorithms.common import check_arguments, check_kind
from pymoo_anon.fronts.archive import in_order
from pymoo_anon.operators.mutation import ClosestValidRepair, PerAttributeBitMutation
from pymoo_anon.operators.sampling import BitStringSampling
from pymoo_anon.problems.preference import PreferenceProblem

# Of a genetic algorithm's own arguments those that are left to the caller.
_OPTIONS = ("survival", "eliminate_duplicates", "n_offsprings", "mating")


class PreferenceNSGA2(NSGA2):  # type: ignore[misc]
    """NSGA-II on a `PreferenceProblem`, with its selection rule (Dewri et al. 2009, section 5.2).

    The result has, beside pymoo's, `res.picks`: the solution of every preferred point, as `PreferenceProblem.picks`
    gives it from the non-dominated solutions.

    Args:
        pop_size: Number of strings in the population.
        sampling: First population; None is `BitStringSampling()`.
        crossover: None is pymoo's single-point crossover of the whole string with probability 0.8.
        mutation: None is `PerAttributeBitMutation(0.001)`.
        repair: What makes children valid; None is `ClosestValidRepair()`.
        output: Columns of the verbose output; None is `PreferenceOutput()`.
        **kwargs: As pymoo's `NSGA2`: termination, callback, eliminate_duplicates (False by default), ...

    Raises:
        TypeError: An argument is not known. At setup: the problem is no `PreferenceProblem`.
    """

    def __init__(
        self,
        pop_size: int = 100,
        sampling: Sampling | None = None,
        crossover: Crossover | None = None,
        mutation: Mutation | None = None,
        repair: Repair | None = None,
        output: Output | None = None,
        **kwargs: Any,
    ) -> None:
        check_arguments(self, kwargs, _OPTIONS)
        kwargs.setdefault("eliminate_duplicates", False)
        super().__init__(
            pop_size=pop_size,
            sampling=BitStringSampling() if sampling is None else sampling,
            selection=TournamentSelection(func_comp=prefer_feasible),
            crossover=SinglePointCrossover(prob=0.8) if crossover is None else crossover,
            mutation=PerAttributeBitMutation(0.001) if mutation is None else mutation,
            repair=ClosestValidRepair() if repair is None else repair,
            output=PreferenceOutput() if output is None else output,
            **kwargs,
        )

    def setup(self, problem: Problem, **kwargs: Any) -> PreferenceNSGA2:
        """Set the algorithm up for a problem with preferences.

        Raises:
            TypeError: The problem is no `PreferenceProblem`.
        """
        check_kind(problem, PreferenceProblem)
        super().setup(problem, **kwargs)
        return self

    def _set_optimum(self) -> None:
        super()._set_optimum()
        self.opt: Population = in_order(self.opt)

    def result(self) -> Result:
        """The non-dominated solutions, and the pick for every preferred point."""
        res = super().result()
        res.picks = self.problem.picks(np.atleast_2d(res.X))
        return res


class PreferenceOutput(Output):  # type: ignore[misc]
    """Columns of a search with preferences: distinct strings, feasible members of the front, the lowest f1 of these."""

    def initialize(self, algorithm: Algorithm) -> None:
        """Add the columns."""
        self.columns.append(Column("distinct", width=8, func=attrgetter("problem.n_unique")))
        self.columns.append(Column("feasible", width=8, func=_n_feasible))
        for number in range(algorithm.problem.n_obj - 1):
            self.columns.append(Column(f"lowest f{number + 1}", width=13, func=partial(_lowest, number)))


def _lowest(number: int, algorithm: Algorithm) -> float | None:
    """The lowest achievement of one preferred point among the feasible members of the front."""
    F = algorithm.opt.get("F")
    feasible = F[F[:, -1] <= 0, number]
    return float(feasible.min()) if len(feasible) else None


def _n_feasible(algorithm: Algorithm) -> int:
    return int((algorithm.opt.get("F")[:, -1] <= 0).sum())


def prefer_feasible(pop: Population, P: NDArray[np.int64], **kwargs: Any) -> NDArray[np.int64]:
    """(n, 1) array, winners of binary tournaments: feasible before infeasible, then as the paper's four rules say.

    Two feasible ones are decided by rank and then by crowding distance; two infeasible ones by f2 = k_pref - k, then by
    f1, then by crowding distance. What is equal in all is decided by the draw that put one of them first.
    """
    F, rank, crowding = pop.get("F", "rank", "crowding")
    infeasible = F[:, -1] > 0
    first = np.where(infeasible, F[:, -1], rank)
    second = np.where(infeasible, F[:, :-1].min(axis=1), 0.0)
    # Lexicographic: lower is better in each. Rank and f2 only meet their like, as the first key tells them apart.
    a, b = ([key[P[:, side]] for key in (infeasible, first, second, -crowding)] for side in (0, 1))
    wins = np.zeros(len(P), dtype=bool)
    open_ = np.ones(len(P), dtype=bool)
    for mine, theirs in zip(a, b, strict=True):
        wins |= open_ & (theirs < mine)
        open_ &= mine == theirs
    return np.where(wins, P[:, 1], P[:, 0])[:, np.newaxis]
