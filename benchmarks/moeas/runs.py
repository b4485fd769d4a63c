"""Runs of an algorithm for all budgets at once, and the quality of their fronts.

    record = run(problem, algorithm, seed, budgets)

An evaluator writes down all that is evaluated, in order. So budgets of distinct points and of evaluations in all, and
the best of all that was seen, come from one and the same run.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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

#: Measures of a front.
MEASURES = ("RR", "CE", "IGD+", "HV")

#: Reference point of hypervolumes, with the reference front scaled to 0 and 1.
BEYOND = 1.1


class Budgets(NamedTuple):
    """The budgets at which a run is looked at, such as "distinct 800" points and "total 2500" evaluations."""

    distinct: tuple[int, ...]  # Numbers of distinct points, rising
    total: tuple[int, ...]  # Numbers of evaluations, rising; a point that is evaluated again counts again
    cap: int  # A run ends after so many evaluations at the latest

    @property
    def all(self) -> list[str]:
        """Every budget of both kinds."""
        return [f"distinct {n}" for n in self.distinct] + [f"total {n}" for n in self.total]

    def left(self, n_distinct: int, n_total: int) -> bool:
        return n_total < self.cap and (n_distinct < self.distinct[-1] or n_total < self.total[-1])


class Record(NamedTuple):
    """What is kept of one run."""

    own: dict[str, np.ndarray]  # By budget (n, n_obj) results of the algorithm after the last iteration within it
    seen: dict[str, np.ndarray]  # By budget the (n, n_obj) best of all that was evaluated within it, to the point
    spent: dict[str, tuple[int, int]]  # By budget the distinct points and the evaluations that the run used of it
    X: np.ndarray  # (n, n_var) best points of all that was evaluated within the largest budgets
    F: np.ndarray  # (n, n_obj) their minimised values
    ended: bool  # Whether the algorithm ended by itself, as local search and proofs do
    seconds: float  # Of the processor


class Log(Evaluator):
    """An evaluator that writes down points, values and feasibility of every batch, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.X: list[np.ndarray] = []
        self.F: list[np.ndarray] = []
        self.feasible: list[np.ndarray] = []
        self.distinct: set[bytes] = set()

    def _eval(self, problem: AnonymizationProblem, pop: Population, evaluate_values_of: Any, **kwargs: Any) -> None:
        super()._eval(problem, pop, evaluate_values_of, **kwargs)
        self.X.append(problem.checked(pop.get("X")))
        self.F.append(pop.get("F").astype(float))
        self.feasible.append(pop.get("feas"))
        self.distinct.update(x.tobytes() for x in self.X[-1])


def run(problem: AnonymizationProblem, algorithm: Algorithm, seed: int, budgets: Budgets) -> Record:
    """Run a new algorithm to both largest budgets, its own end, or the cap.

    What the problem remembers of earlier runs saves time and changes nothing.
    """
    log, results = Log(), [(0, 0, Population.empty())]
    began = time.process_time()
    with warnings.catch_warnings():
        # pymoo divides by spreads of 0, and warns of populations of one.
        warnings.simplefilter("ignore")
        algorithm.setup(problem, termination=NoTermination(), seed=seed)
        algorithm.evaluator = log
        while algorithm.has_next() and budgets.left(len(log.distinct), log.n_eval):
            algorithm.next()
            # Individuals do not change once they are evaluated, and `opt` is made anew by every iteration.
            results.append((len(log.distinct), log.n_eval, algorithm.opt))
    own = {}
    for budget in budgets.all:
        kind, most = budget.split()
        within = [pop for distinct, total, pop in results if (distinct if kind == "distinct" else total) <= int(most)]
        own[budget] = _front(within[-1], problem)
    return Record(own, *replay(log, budgets), not algorithm.has_next(), time.process_time() - began)


def replay(log: Log, budgets: Budgets) -> tuple[dict[str, np.ndarray], dict[str, Any], np.ndarray, np.ndarray]:
    """Return the front seen and the points spent within every budget, and X and F of the front within the largest.

    A budget of distinct points ends just before the first point that would be one too many.
    """
    X, F, useful = np.concatenate(log.X), np.concatenate(log.F), np.concatenate(log.feasible)
    first = np.zeros(len(X), dtype=bool)
    first[np.unique(X, axis=0, return_index=True)[1]] = True
    n_distinct, useful = np.cumsum(first), useful & first
    stops = {f"total {n}": min(n, len(X)) for n in budgets.total}
    stops |= {f"distinct {n}": int(np.searchsorted(n_distinct, n, side="right")) for n in budgets.distinct}
    seen, spent = {}, {}
    best_X, best_F, done = X[:0], F[:0], 0
    for budget, stop in sorted(stops.items(), key=lambda item: item[1]):
        # best_F is the front of all evaluations before `done`; a point that comes again adds nothing.
        new = done + np.flatnonzero(useful[done:stop])
        best_X, best_F = merge_front(best_X, best_F, X[new], F[new])
        done = stop
        seen[budget] = best_F
        spent[budget] = (int(n_distinct[stop - 1]) if stop else 0, stop)
    return seen, spent, best_X, best_F


def _front(pop: Population, problem: AnonymizationProblem) -> np.ndarray:
    """(n, n_obj) float array of an algorithm's distinct feasible results."""
    if pop is None or not len(pop):
        return np.empty((0, problem.n_obj))
    F = pop.get("F").astype(float)[pop.get("feas")]
    return F[first_non_dominated(F)] if len(F) else F


class Judge:
    """Quality of fronts beside a reference front.

    RR counts boxes whose sides are the problem's steps. CE is the mean distance of members. IGD+ and the hypervolume
    are of values that the reference front's ideal and nadir points bring to 0 and 1; the latter is a share of the
    reference front's own. The reference is the proven front, or the best that is known.
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
    # Many budgets of a run see the same front.
    fronts = {F.tobytes(): F for F in (*record.own.values(), *record.seen.values())}
    worth = {key: judge(F) for key, F in fronts.items()}
    return {
        "own": {budget: worth[F.tobytes()] for budget, F in record.own.items()},
        "seen": {budget: worth[F.tobytes()] for budget, F in record.seen.items()},
        **{name: getattr(record, name) for name in ("spent", "ended", "seconds")},
    }


def check_log(problem: AnonymizationProblem, record: Record) -> None:
    """Evaluate the best points of a log again without a memory.

    Raises:
        ValueError: A value differs from what was written down.
    """
    different = np.flatnonzero((problem.compute(record.X) != record.F).any(axis=1)) if len(record.X) else ()
    if len(different):
        raise ValueError(
            f"logged values must be those of the problem, got others at {record.X[different[:5]].tolist()}"
        )


def values_of(runs: Sequence[Mapping[str, Any]], result: str, budget: str, measure: str) -> np.ndarray:
    """(n_runs,) float array: one measure of all runs at one budget."""
    return np.array([run[result][budget][measure] for run in runs])
