"""The runs of `exact.py`: proofs over stored lattices and over bit strings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.callback import Callback
from pymoo.core.result import Result
from pymoo.optimize import minimize
from pymoo.termination.max_time import TimeBasedTermination

from benchmarks import record
from benchmarks.speed.peers import ByNumpy
from benchmarks.tables import BELOW_15, crossover_problem, large_table, preference_table
from pymoo_anon.algorithms import BranchAndBound, ExhaustiveSearch
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.objectives import (
    ClassificationMetric,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    SquaredClassSizes,
    SquaredValueCounts,
)
from pymoo_anon.problems import AnonymizationProblem, BitStringProblem, LatticeProblem

k, s_k, glm = KAnonymity(), SquaredClassSizes(), GeneralLossMetric()
l, s_l, cm = DistinctLDiversity("occupation"), SquaredValueCounts("occupation"), ClassificationMetric("salary-class")  # noqa: E741

# Objectives, class label, and the nodes that the paper's algorithm evaluates without a proof.
SETS: dict[str, Any] = {
    "k, GLM": ([k, glm], None, 916),
    "k, l, GLM": ([k, l, glm], None, 946),
    "S_k, GLM": ([s_k, glm], None, 1136),
    "S_k, S_l, GLM": ([s_k, s_l, glm], None, 1197),
    "k, GLM, CM": ([k, glm, cm], "salary-class", 1073),
}
REPEATS, NUMPY_NODES = 10, 20
THREADS = 2


class Course(Callback):
    """Record of a proof over time: members and the largest gap."""

    def __init__(self, every: float) -> None:
        super().__init__()
        self.every, self.began, self.points = every, time.perf_counter(), []

    def notify(self, algorithm: Algorithm) -> None:
        seconds = time.perf_counter() - self.began
        if not self.points or seconds >= self.points[-1]["seconds"] + self.every or algorithm.certified:
            self.points.append({"seconds": seconds, **state_of(algorithm)})


def state_of(algorithm: BranchAndBound) -> dict[str, Any]:
    """Return the gap as a share of the last objective, on average and at most."""
    F, gap = algorithm.opt.get("F"), algorithm.gap
    shares = gap[:, -1] / np.maximum(np.abs(F[:, -1]), 1e-9)
    return {
        "front": len(F),
        "certified": algorithm.certified,
        "gap": float(shares.max(initial=0.0)),
        "proven": int((shares == 0).sum()),
    }


def proof(problem: AnonymizationProblem, seconds: float, threads: int = 1, **options: Any) -> tuple[Result, dict]:
    """Run a proof within a time, and return its course."""
    problem.n_threads = threads
    course = Course(seconds / 60)
    res = minimize(problem, BranchAndBound(**options), TimeBasedTermination(seconds), seed=1, callback=course)
    algorithm = res.algorithm
    return res, {
        "seconds": time.perf_counter() - course.began,
        "evaluated": algorithm.n_evaluated,
        "pruned": algorithm.n_pruned,
        "undecided": algorithm.n_undecided,
        "course": course.points,
        **state_of(algorithm),
        "F": np.round(algorithm.opt.get("F"), 6).tolist(),
        "member gaps": algorithm.gap[:, -1].tolist(),
    }


def stored() -> dict:
    """Return the five sets of Dewri et al."""
    return {"sets": [proven(name) for name in SETS]}


@cache
def _numpy_program() -> tuple[ByNumpy, np.ndarray]:
    """Return the numpy program of `engine.py` and random nodes for it."""
    problem = LatticeProblem(fetch_adult(), [k, glm], suppression=301)
    X = np.random.default_rng(0).integers(0, problem.lengths + 1, size=(REPEATS * NUMPY_NODES, problem.n_var))
    return ByNumpy(fetch_adult(), 301), X


def _numpy_node(first: int) -> float:
    """Return the numpy program's processor seconds per random node."""
    program, X = _numpy_program()
    program(X[0])
    began = time.process_time()
    for x in X[first : first + NUMPY_NODES]:
        program(x)
    return (time.process_time() - began) / NUMPY_NODES


def proven(name: str) -> dict:
    """Nodes and seconds of the processor to the proof, beside exhaustive search."""
    objectives, label, paper = SETS[name]
    table = fetch_adult(label=label)

    def problem() -> LatticeProblem:
        return LatticeProblem(table, objectives, suppression=301)

    exact = problem().pareto_front()
    seconds, exhaustive, numpy_node = [], [], []
    # Proofs, exhaustive search and nodes of the numpy program take turns: the machine is as fast for all.
    for i in range(REPEATS):
        own = problem()
        res, took = record.timed(partial(minimize, own, BranchAndBound(), seed=1))
        seconds.append(took)
        np.testing.assert_array_equal(res.F[np.lexsort(res.F.T[::-1])], exact[np.lexsort(exact.T[::-1])])
        every, took = record.timed(lambda: minimize(problem(), ExhaustiveSearch(), seed=1))
        exhaustive.append(took)
        np.testing.assert_array_equal(every.F[np.lexsort(every.F.T[::-1])], exact[np.lexsort(exact.T[::-1])])
        numpy_node.append(_numpy_node(i * NUMPY_NODES))
    algorithm = res.algorithm
    return {
        "objectives": name,
        "lattice": own.n_nodes,
        "nodes": algorithm.n_evaluated,
        "paper": paper,
        "certified": algorithm.certified,
        "front": len(res.F),
        "seconds": float(np.median(seconds)),
        "exhaustive": float(np.median(exhaustive)),
        "numpy node": float(np.median(numpy_node)),
        "numpy nodes": float(np.median(seconds) / np.median(numpy_node)),
    }


def large() -> dict:
    """K and GLM on the lattice of twelve quasi-identifiers."""
    table = large_table()
    minimize(LatticeProblem(fetch_adult(), [k, glm], suppression=301), BranchAndBound(), seed=1)  # compiles
    seconds = []
    for _ in range(3):
        problem = LatticeProblem(table, [k, glm], suppression=301)
        problem.n_threads = THREADS
        began = time.perf_counter()
        # Without a look at the gap on the way: it takes longer than the proof.
        algorithm = minimize(problem, BranchAndBound(), seed=1).algorithm
        seconds.append(time.perf_counter() - began)
    return {
        "lattice": problem.n_nodes,
        "distinct tuples": table.n_distinct,
        "evaluated": algorithm.n_evaluated,
        "pruned": algorithm.n_pruned,
        "undecided": algorithm.n_undecided,
        "certified": algorithm.certified,
        "front": len(algorithm.opt),
        "seconds": float(np.median(seconds)),
    }


def strings() -> dict:
    """Prove XO's optimum and fronts of k and loss within minutes."""
    _compile()
    found = {"XO, 15,000 rows, below 15 suppressed": _optimum(crossover_problem(), 600)}
    fronts: Sequence[tuple[str, Any]] = (
        ("k and GLM, nothing suppressed", {"suppression": 0}),
        ("k and GLM, at most 301 suppressed, k >= 50", {"suppression": 301, "constraints": [k >= 50]}),
    )
    for name, options in fronts:
        _, found[name] = proof(crossover_problem([k, glm], rows=None, **options), 300, THREADS)
    return {"strings": str(crossover_problem().n_strings), "runs": found}


def long_strings() -> dict:
    """Prove the whole front of k and loss, and PREF's 105 bits."""
    _compile()
    found = {}
    _, found["k and GLM, at most 301 suppressed"] = proof(
        crossover_problem([k, glm], rows=None, suppression=301), 300, THREADS
    )
    found["PREF, GLM, 105 bits, below 15 suppressed"] = _optimum(
        BitStringProblem(preference_table(), [glm], BELOW_15), 180
    )
    return {"strings": str(crossover_problem().n_strings), "runs": found}


def _compile() -> None:
    proof(crossover_problem(rows=300), 60)


def _optimum(problem: AnonymizationProblem, seconds: float) -> dict:
    _, found = proof(problem, seconds, THREADS)
    return found


RUNS = {"stored": stored, "large": large, "strings": strings, "long_strings": long_strings}
