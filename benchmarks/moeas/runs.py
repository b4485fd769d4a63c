"""Runs of an algorithm for all budgets at once, and the quality of their fronts.

    record = run(problem, algorithm, seed, budgets)

An evaluator writes down all that is evaluated, in order. So budgets of distinct points and of evaluations in all, and
the best of all that was seen, come from one and the same run.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from moocore import hypervolume
from pymoo.core.algorithm import Algorithm
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.core.termination import NoTermination
from pymoo.indicators.igd_plus import IGDPlus

from pymoo_anon.fronts import ConvergenceMetric, RepresentationRatio
from pymoo_anon.fronts.archive import first_non_dominated, merge_front
from pymoo_anon.problems import AnonymizationProblem

#: A budget: "distinct" points or evaluations in "total", and their number.
Budget = tuple[str, int]

#: Measures of a front, and whether higher is better.
MEASURES = {"RR": True, "CE": False, "IGD+": False, "HV": True}

#: Reference point of hypervolumes, with the reference front scaled to 0 and 1.
BEYOND = 1.1


@dataclass(frozen=True)
class Budgets:
    """The budgets at which a run is looked at.

    Attributes:
        distinct: Numbers of distinct points, rising.
        total: Numbers of evaluations, rising; an evaluated point that is evaluated again counts again.
        cap: A run ends after so many evaluations at the latest, whether or not it has seen so many distinct points.
    """

    distinct: tuple[int, ...]
    total: tuple[int, ...]
    cap: int

    @property
    def all(self) -> list[Budget]:
        """Every budget of both kinds."""
        return [("distinct", own) for own in self.distinct] + [("total", own) for own in self.total]

    def left(self, n_distinct: int, n_total: int) -> bool:
        """Return whether a run has a budget left."""
        return n_total < self.cap and (n_distinct < self.distinct[-1] or n_total < self.total[-1])


@dataclass
class Record:
    """The log of one run.

    Attributes:
        seed: Its seed.
        own: By budget an (n, n_obj) array, the algorithm's own result after the last iteration within the budget.
        seen: By budget an (n, n_obj) array, the best of all that was evaluated within the budget, to the point.
        spent: By budget the distinct points and the evaluations that the run used of it.
        X: (n, n_var) array, the best points of all that was evaluated within the largest budgets.
        F: (n, n_obj) float array, their minimised values.
        ended: Whether the algorithm ended by itself, as local search and proofs do.
        seconds: Seconds of processor time.
        sample: Some points of the log and their values, as they were written down.
    """

    seed: int
    own: dict[Budget, np.ndarray]
    seen: dict[Budget, np.ndarray]
    spent: dict[Budget, tuple[int, int]]
    X: np.ndarray
    F: np.ndarray
    ended: bool
    seconds: float
    sample: tuple[np.ndarray, np.ndarray] = field(repr=False)


class Log(Evaluator):
    """An evaluator that writes down every evaluation in order.

    Attributes:
        X: By batch an (n, n_var) array.
        F: By batch an (n, n_obj) array of minimised values.
        feasible: By batch an (n,) Boolean array, whether all constraints are satisfied.
        first: By batch an (n,) Boolean array, whether a point was evaluated for the first time.
        keys: The distinct points so far.
    """

    def __init__(self) -> None:
        super().__init__()
        self.X: list[np.ndarray] = []
        self.F: list[np.ndarray] = []
        self.feasible: list[np.ndarray] = []
        self.first: list[np.ndarray] = []
        self.keys: set[bytes] = set()

    def _eval(self, problem: AnonymizationProblem, pop: Population, evaluate_values_of: Any, **kwargs: Any) -> None:
        super()._eval(problem, pop, evaluate_values_of, **kwargs)
        X, G = problem.checked(pop.get("X")), pop.get("G")
        first = np.zeros(len(X), dtype=bool)
        for i, x in enumerate(X):
            key = x.tobytes()
            first[i] = key not in self.keys
            self.keys.add(key)
        self.X.append(X)
        self.F.append(pop.get("F").astype(float))
        self.feasible.append((G <= 0).all(axis=1) if problem.n_ieq_constr else np.ones(len(X), dtype=bool))
        self.first.append(first)


def run(problem: AnonymizationProblem, algorithm: Algorithm, seed: int, budgets: Budgets) -> Record:
    """Run an algorithm to both largest budgets, its own end, or the cap.

    Args:
        problem: The problem. What it remembers of earlier runs saves time and changes nothing.
        algorithm: A new algorithm, which is not set up.
        seed: The seed.
        budgets: Where to look at it.
    """
    log, results = Log(), [(0, 0, Population.empty())]
    began = time.process_time()
    with warnings.catch_warnings():
        # pymoo divides by spreads of 0, and warns of populations of one.
        warnings.simplefilter("ignore")
        algorithm.setup(problem, termination=NoTermination(), seed=seed)
        algorithm.evaluator = log
        while algorithm.has_next() and budgets.left(len(log.keys), log.n_eval):
            algorithm.next()
            # Individuals do not change once they are evaluated, and `opt` is made anew by every iteration.
            results.append((len(log.keys), log.n_eval, algorithm.opt))
    seen, spent, best = replay(log, budgets)
    points = np.concatenate(log.X)
    chosen = np.random.default_rng(seed).integers(0, len(points), 8)
    return Record(
        seed=seed,
        own={budget: _front(_last_within(budget, results), problem) for budget in budgets.all},
        seen=seen,
        spent=spent,
        X=best[0],
        F=best[1],
        ended=not algorithm.has_next(),
        seconds=time.process_time() - began,
        sample=(points[chosen], np.concatenate(log.F)[chosen]),
    )


def replay(log: Log, budgets: Budgets) -> tuple[dict[Budget, np.ndarray], dict[Budget, tuple[int, int]], tuple]:
    """Return the points seen within every budget, and the best within the largest.

    A budget of distinct points ends just before the first point that would be one too many.
    """
    X, F, feasible = np.concatenate(log.X), np.concatenate(log.F), np.concatenate(log.feasible)
    n_distinct = np.cumsum(np.concatenate(log.first))
    stops = {("total", own): min(own, len(X)) for own in budgets.total}
    stops |= {("distinct", own): int(np.searchsorted(n_distinct, own, side="right")) for own in budgets.distinct}
    useful = np.concatenate(log.first) & feasible
    seen, spent = {}, {}
    best_X, best_F, done = X[:0], F[:0], 0
    for budget, stop in sorted(stops.items(), key=lambda item: item[1]):
        # best_F is the front of all evaluations before `done`; a point that comes again adds nothing.
        new = done + np.flatnonzero(useful[done:stop])
        best_X, best_F = merge_front(best_X, best_F, X[new], F[new])
        done = stop
        seen[budget] = best_F
        spent[budget] = (int(n_distinct[stop - 1]) if stop else 0, stop)
    return seen, spent, (best_X, best_F)


def _last_within(budget: Budget, results: Sequence[tuple[int, int, Population]]) -> Population:
    """Return the result after the last iteration within a budget, given the points spent by each."""
    kind, most = budget
    return [pop for n_distinct, n_total, pop in results if (n_distinct if kind == "distinct" else n_total) <= most][-1]


def _front(pop: Population, problem: AnonymizationProblem) -> np.ndarray:
    """(n, n_obj) float array of an algorithm's distinct feasible results."""
    if pop is None or not len(pop):
        return np.empty((0, problem.n_obj))
    F = pop.get("F").astype(float)
    if problem.n_ieq_constr:
        F = F[(pop.get("G") <= 0).all(axis=1)]
    return F[first_non_dominated(F)] if len(F) else F


class Judge:
    """Quality of fronts beside a reference front.

    RR counts boxes whose sides are the problem's steps. CE is the mean distance of members. IGD+ and the hypervolume
    are of values that the reference front's ideal and nadir points bring to 0 and 1; the latter is a share of the
    reference front's own.

    Args:
        problem: The problem.
        reference: (n, n_obj) float array: the proven front, or the best that is known.
    """

    def __init__(self, problem: AnonymizationProblem, reference: np.ndarray) -> None:
        maximize = [objective.maximize for objective in problem.objectives]
        self._ratio = RepresentationRatio(reference, problem.steps, maximize)
        self._error = ConvergenceMetric(reference)
        self._low, spread = reference.min(axis=0), np.ptp(reference, axis=0)
        self._spread = np.where(spread > 0, spread, 1.0)
        self._distance = IGDPlus(self._scaled(reference))
        self._volume = self._hypervolume(reference)

    def __call__(self, F: np.ndarray) -> dict[str, float]:
        """Return the measures of a front, with infinite errors for an empty one."""
        if not len(F):
            return {"RR": 0.0, "CE": np.inf, "IGD+": np.inf, "HV": 0.0}
        return {
            "RR": float(self._ratio(F)),
            "CE": float(self._error(F)),
            "IGD+": float(self._distance(self._scaled(F))),
            "HV": self._hypervolume(F) / self._volume,
        }

    def _scaled(self, F: np.ndarray) -> np.ndarray:
        return (F - self._low) / self._spread

    def _hypervolume(self, F: np.ndarray) -> float:
        return float(hypervolume(self._scaled(F), ref=np.full(F.shape[1], BEYOND)))


def judged(record: Record, judge: Judge) -> dict[str, Any]:
    """Return the figures of a run by result, budget and measure."""
    worth: dict[bytes, dict[str, float]] = {}

    def of(F: np.ndarray) -> dict[str, float]:
        # Many budgets of a run see the same front.
        key = F.tobytes()
        if key not in worth:
            worth[key] = judge(F)
        return worth[key]

    return {
        "own": {budget: of(F) for budget, F in record.own.items()},
        "seen": {budget: of(F) for budget, F in record.seen.items()},
        "spent": record.spent,
        "ended": record.ended,
        "seconds": record.seconds,
        "seed": record.seed,
    }


def check_log(problem: AnonymizationProblem, records: Sequence[Record]) -> int:
    """Evaluate points of the logs again without a memory, and return their number.

    Raises:
        ValueError: A value differs from what was written down.
    """
    X = np.concatenate([record.sample[0] for record in records])
    F = np.concatenate([record.sample[1] for record in records])
    different = np.flatnonzero((problem.compute(X) != F).any(axis=1))
    if len(different):
        raise ValueError(f"logged values must be those of the problem, got others at {X[different[:5]].tolist()}")
    return len(X)


def values_of(runs: Sequence[Mapping[str, Any]], result: str, budget: Budget, measure: str) -> np.ndarray:
    """(n_runs,) float array: one measure of all runs at one budget."""
    return np.array([run[result][budget][measure] for run in runs])
