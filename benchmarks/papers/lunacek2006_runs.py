"""Runs of `lunacek2006.py`: trials, proofs, the pair-exact local search, and fronts.

Every run returns what is kept of it, as JSON takes it.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.algorithm import Algorithm
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.optimize import minimize

from benchmarks import record
from benchmarks.tables import crossover_problem, preference_table
from pymoo_anon.algorithms import GENITOR, BitStringLocalSearch, BranchAndBound
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.operators import (
    BitStringSampling,
    ClosestValidRepair,
    PartitionCrossover,
    PerAttributeBitMutation,
    RandomImmigrantMutation,
    ReducedSurrogateCrossover,
)
from pymoo_anon.problems import BitStringProblem

RATE = 1 / 92

#: Local searches from one random string each.
STARTS = 100


class ImmigrantsBesideBits(Mutation):
    """Crossover with a random valid string, then bit mutation, each at its own rate."""

    def __init__(self) -> None:
        super().__init__()
        self.immigrants = RandomImmigrantMutation()
        self.bits = PerAttributeBitMutation(RATE)

    def _do(self, problem, X, *args, random_state, **kwargs):
        if random_state.random() <= self.immigrants.prob.get():
            X = self.immigrants._do(problem, X, random_state=random_state)
        return self.bits._do(problem, X, random_state=random_state)


def algorithm(variant: str, pop_size: int) -> GENITOR:
    name, _, duplicates = variant.partition(", ")
    options: dict[str, Any] = {"eliminate_duplicates": not duplicates}
    if name != "NEW in place":
        options["repair"] = ClosestValidRepair()
        options["mutation"] = PerAttributeBitMutation(RATE) if name == "TRAD" else ImmigrantsBesideBits()
    if name == "TRAD":
        options["crossover"] = ReducedSurrogateCrossover()
    return GENITOR(pop_size, **options)


def trial(variant: str, pop_size: int, seed: int, evaluations: int) -> dict[str, Any]:
    """Run GENITOR, and return its best loss after every 1,000 evaluations."""
    problem = crossover_problem()
    seen: list[tuple[int, float]] = []

    def note(algorithm: GENITOR) -> None:
        seen.append((algorithm.evaluator.n_eval, float(algorithm.opt[0].F[0])))

    began = time.process_time()
    res = minimize(problem, algorithm(variant, pop_size), ("n_eval", evaluations), seed=seed, callback=note)
    counts, best = map(np.array, zip(*seen, strict=True))
    # Before the first population is evaluated there is nothing.
    places = np.searchsorted(counts, np.arange(1000, evaluations + 1, 1000), side="right") - 1
    return {
        "variant": variant,
        "population": pop_size,
        "seed": seed,
        "loss": res.F.item(),
        "curve": [None if place < 0 else float(best[place]) for place in places],
        "distinct": problem.n_unique,
        "seconds": time.process_time() - began,
    }


def proof() -> dict[str, Any]:
    """Prove the least loss of the paper's strings, with the gap over time."""
    problem = crossover_problem()
    gaps: list[list[float]] = []
    began = time.process_time()

    def note(algorithm: BranchAndBound) -> None:
        if not gaps or time.process_time() - began > gaps[-1][0] + 2:
            best = float(algorithm.opt.get("F").min())
            gaps.append([time.process_time() - began, best, float(algorithm.gap.max())])

    res = minimize(problem, BranchAndBound(), seed=1, callback=note)
    return {
        "loss": res.F.item(),
        "certified": res.algorithm.certified,
        "evaluated": res.algorithm.n_evaluated,
        "seconds": time.process_time() - began,
        "gaps": gaps,
        "string": "".join("01"[bit] for bit in res.X.ravel().astype(int)),
    }


def starts() -> dict[str, Any]:
    """Pair-exact local searches of the paper's strings, from one random string each."""
    problem = crossover_problem()
    X = problem.sample(STARTS + 1, np.random.default_rng(1))
    losses, seconds = [], []
    for number, x in enumerate(X):
        # One string is evaluated to begin with, and the local optimum.
        search = BitStringLocalSearch(sampling=x[np.newaxis])
        res, took = record.timed(partial(minimize, problem, search, seed=number))
        losses.append(res.F.item())
        seconds.append(took)
    # The first compiles.
    return {"losses": losses[1:], "seconds": seconds[1:]}


def strings(table: str, **asked: Any) -> BitStringProblem:
    if table == "PREF":
        return BitStringProblem(preference_table(), suppression=0, **asked)
    problem = crossover_problem()
    return BitStringProblem(problem.table, suppression=0, taxonomies=problem.taxonomies, **asked)


def front(table: str, name: str, effort: int) -> dict[str, Any]:
    """Return the front of k and loss by one algorithm within a budget."""
    made: dict[str, tuple[Algorithm, Any]] = {
        "BitStringLocalSearch": (BitStringLocalSearch(effort), None),
        "BranchAndBound": (BranchAndBound(), ("time", effort)),
        "NSGA-II": (
            NSGA2(
                pop_size=100,
                sampling=BitStringSampling(),
                crossover=PartitionCrossover(),
                mutation=ImmigrantsBesideBits(),
                repair=ClosestValidRepair(),
            ),
            ("n_eval", effort),
        ),
    }
    search, termination = made[name]
    problem = strings(table, objectives=[KAnonymity(), GeneralLossMetric()])
    gaps: list[list[float]] = []
    began = time.process_time()

    def note(algorithm: Algorithm) -> None:
        if name == "BranchAndBound" and (not gaps or time.process_time() - began > gaps[-1][0] + 5):
            gaps.append([time.process_time() - began, len(algorithm.opt), float(algorithm.gap[:, 1].max())])

    res = minimize(problem, search, termination, seed=1, callback=note)
    told: dict[str, Any] = {"points": points(problem, res.opt), "evaluations": res.algorithm.evaluator.n_eval}
    if name == "BranchAndBound":
        # Each with by how much its loss could be lower.
        order = np.argsort(problem.natural(res.F)[:, 0])
        told |= {"certified": res.algorithm.certified, "gap": res.algorithm.gap[order, 1].tolist(), "gaps": gaps}
    return told | {"seconds": time.process_time() - began}


def least(table: str, k: int, evaluations: int) -> dict[str, Any]:
    """Return the least loss that GENITOR finds from a k on."""
    problem = strings(table, objectives=[GeneralLossMetric()], constraints=[KAnonymity() >= k])
    began = time.process_time()
    res = minimize(problem, algorithm("NEW beside", 500), ("n_eval", evaluations), seed=1)
    found = [] if res.X is None else problem.to_frame(res)[["k", "GLM"]].to_numpy().tolist()
    return {"points": found, "evaluations": evaluations, "seconds": time.process_time() - began}


def points(problem: BitStringProblem, pop: Population) -> list[list[float]]:
    """Return the distinct k and loss of a population, ascending."""
    return np.unique(problem.natural(pop.get("F")), axis=0).tolist()


RUNS: dict[str, Callable[..., dict[str, Any]]] = {own.__name__: own for own in (trial, proof, starts, front, least)}


def run(task: list[Any]) -> dict[str, Any]:
    """Run one task, and return it with its result and the machine."""
    name, *arguments = task
    return {"task": task, **RUNS[name](*arguments), "machine": record.line(record.machine())}
