"""NSGA-II for preferences between loss and bias."""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.algorithm import Algorithm
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.core.repair import Repair
from pymoo.core.result import Result
from pymoo.core.sampling import Sampling
from pymoo.operators.crossover.pntx import SinglePointCrossover
from pymoo.operators.selection.tournament import TournamentSelection
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.common import options_of
from pymoo_anon.fronts.archive import in_order
from pymoo_anon.objectives.privacy import KAnonymity
from pymoo_anon.operators.strings import BitStringSampling, ClosestValidRepair, PerAttributeBitMutation
from pymoo_anon.problems.arguments import framed, free_name
from pymoo_anon.problems.base import check_kind
from pymoo_anon.problems.bitstrings import BitStringProblem, PreferredPoint
from pymoo_anon.typing import Bools, Floats, Ints

# The arguments of pymoo's genetic algorithms that are left to the caller.
_NSGA2_OPTIONS = ("survival", "eliminate_duplicates", "n_offsprings", "mating")


class PreferenceNSGA2(NSGA2):  # type: ignore[misc]
    """NSGA-II for preferred points under a smallest k (Dewri et al. 2009, section 5).

    It searches a `BitStringProblem` with one or more `PreferredPoint` objectives and then `KAnonymity`. The paper has
    one preferred point, and minimises f1, its achievement, and f2 = k_pref - k. A solution is feasible if f2 is not
    positive, so that larger k are searched, too. Tournaments follow the rules of section 5.2. F holds -k in its last
    column, which ranks solutions as f2 does.

    The result has, beside pymoo's, `res.picks`: the solution of every preferred point, as `picks` returns it from the
    non-dominated solutions.

    Args:
        k: k_pref, the smallest acceptable k.
        pop_size: Number of strings in the population.
        sampling: First population. None is `BitStringSampling()`.
        crossover: None is pymoo's single-point crossover of the whole string with probability 0.8.
        mutation: None is `PerAttributeBitMutation(0.001)`.
        repair: Makes children valid. None is `ClosestValidRepair()`.
        **kwargs: As pymoo's `NSGA2`: termination, output (`PreferenceOutput()` by default), callback,
            eliminate_duplicates (False by default), ...

    Raises:
        TypeError: An argument is not known. At setup: the problem is not a `BitStringProblem`.
        ValueError: `k` or `pop_size` is not a positive whole number. At setup: as `setup` says.

    >>> from pymoo.optimize import minimize
    >>> from pymoo_anon.datasets import make_census
    >>> problem = BitStringProblem(make_census(200), [PreferredPoint((0.2, 1.0)), KAnonymity()])
    >>> res = minimize(problem, PreferenceNSGA2(k=5, pop_size=20), ("n_gen", 20), seed=1)
    >>> bool((res.picks["k"] >= 5).all())
    True
    """

    def __init__(
        self,
        k: int,
        pop_size: int = 100,
        sampling: Sampling | None = None,
        crossover: Crossover | None = None,
        mutation: Mutation | None = None,
        repair: Repair | None = None,
        **kwargs: Any,
    ) -> None:
        k = positive_whole("k", k)
        super().__init__(
            pop_size=positive_whole("pop_size", pop_size),
            sampling=BitStringSampling() if sampling is None else sampling,
            selection=TournamentSelection(func_comp=partial(prefer_feasible, k=k)),
            crossover=SinglePointCrossover(prob=0.8) if crossover is None else crossover,
            mutation=PerAttributeBitMutation(0.001) if mutation is None else mutation,
            repair=ClosestValidRepair() if repair is None else repair,
            **options_of(self, kwargs, _NSGA2_OPTIONS, eliminate_duplicates=False, output=PreferenceOutput()),
        )
        # NSGA2 replaces the termination that it is given.
        if "termination" in kwargs:
            self.termination = kwargs["termination"]
        self.k: int = k

    def setup(self, problem: BitStringProblem, **kwargs: Any) -> PreferenceNSGA2:
        """Set the algorithm up for a problem.

        Raises:
            TypeError: The problem is not a `BitStringProblem`.
            ValueError: `k` is above the number of rows, or the problem has other objectives or constraints.
        """
        check_kind(problem, BitStringProblem)
        *points, privacy = problem.objectives
        if not points or not all(isinstance(one, PreferredPoint) for one in points) or type(privacy) is not KAnonymity:
            raise ValueError(
                f"objectives must be one or more PreferredPoint and then KAnonymity(), got {list(problem.objectives)}"
            )
        if problem.n_ieq_constr:
            raise ValueError(
                f"problem must have no constraints, got {problem.n_ieq_constr}; PreferenceNSGA2(k=...) requires k"
            )
        if self.k > problem.table.n_rows:
            raise ValueError(f"k must be a whole number from 1 to {problem.table.n_rows}, the rows, got {self.k}")
        super().setup(problem, **kwargs)
        return self

    def _set_optimum(self) -> None:
        super()._set_optimum()
        self.opt: Population = in_order(self.opt)

    def result(self) -> Result:
        """Return the non-dominated solutions, and the picks."""
        res = super().result()
        res.picks = picks(self.problem, np.atleast_2d(res.X), self.k)
        return res


class PreferenceOutput(Output):  # type: ignore[misc]
    """Columns of distinct strings, feasible members and lowest f1."""

    def initialize(self, algorithm: Algorithm) -> None:
        """Add the columns."""
        self.columns.append(Column("distinct", width=8, func=attrgetter("problem.n_unique")))
        self.columns.append(Column("feasible", width=8, func=_n_feasible))
        for number in range(algorithm.problem.n_obj - 1):
            self.columns.append(Column(f"lowest f{number + 1}", width=13, func=partial(_lowest, number)))


def _feasible_F(algorithm: PreferenceNSGA2) -> Floats:
    F: Floats = algorithm.opt.get("F")
    return F[F[:, -1] <= -algorithm.k]


def _n_feasible(algorithm: PreferenceNSGA2) -> int:
    return len(_feasible_F(algorithm))


def _lowest(number: int, algorithm: PreferenceNSGA2) -> float | None:
    F = _feasible_F(algorithm)
    return float(F[:, number].min()) if len(F) else None


def prefer_feasible(pop: Population, P: Ints, k: int, **kwargs: Any) -> Ints:
    """Return the winners of tournaments by the paper's four rules.

    A feasible individual wins against an infeasible one. Two feasible ones are compared by rank and then by crowding
    distance, two infeasible ones by f2, by f1 (the smallest of several), and then by crowding distance. If all are
    equal the first wins. P are (n, 2) rows of the population.
    """
    F, rank, crowding = pop.get("F", "rank", "crowding")
    f2 = k + F[:, -1]
    infeasible = f2 > 0
    first = np.where(infeasible, f2, rank)
    second = np.where(infeasible, F[:, :-1].min(axis=1), 0.0)
    # The first key that differs decides, and lower is better. A rank is only compared with a rank, as the first of all
    # separates feasible from infeasible individuals.
    keys = np.column_stack([infeasible, first, second, -crowding])
    pairs, places = keys[P], np.arange(len(P))
    deciding = (pairs[:, 0] != pairs[:, 1]).argmax(axis=1)
    second_wins = pairs[places, 1, deciding] < pairs[places, 0, deciding]
    return np.where(second_wins, P[:, 1], P[:, 0])[:, np.newaxis]


def picks(problem: BitStringProblem, X: Bools, k: int) -> pd.DataFrame:
    """Return the solution of every preferred point (Dewri et al. 2009, section 5.3).

    Of the strings with at least k it is the one of the smallest achievement, of equal ones that of the smallest
    preference deviation, and then the first. A row has `row` (its row in X), the preferred point, k, NWP, NECD,
    achievement, deviation, and the number of groups of every quasi-identifier. Points without a feasible string are
    left out.
    """
    X = problem.checked(X)
    found = []
    ks = -problem.evaluate(X)[:, -1] if len(X) else np.empty(0)
    feasible = np.flatnonzero(ks >= k)
    points: Any = problem.objectives[:-1]
    for point in points if len(feasible) else ():
        values = np.column_stack([problem.values_of(X[feasible], one) for one in (point.loss, point.bias)])
        achievement, deviation = point.achieved(values), point.deviation(values)
        best = np.lexsort([deviation, achievement])[0]
        row = feasible[best]
        found.append([row, *point.preference, ks[row], *values[best], achievement[best], deviation[best]])
    names = ["row", "NWP_pref", "NECD_pref", "k", "NWP", "NECD", "achievement", "deviation"]
    picked = pd.DataFrame(np.reshape(found, (-1, len(names))), columns=names).astype({"row": int, "k": int})
    groups = framed(problem._variables(X[picked["row"]]))
    picked.columns = [free_name(name, groups.columns) for name in names]
    return pd.concat([picked, groups], axis=1)
