"""Where weights of columns are worth a search: two losses that tell columns apart, over local recodings of Adult.

    python -m benchmarks.local.weights

At least ten rows a class; the loss of age and education against the loss of the other six columns. All nodes of the
lattice, a sweep of targets, random weights, and NSGA-II over weights, at most 400 recodings each. Then the front of k
and loss, by a sweep alone. Five minutes; needs Adult.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.indicators.hv import HV
from pymoo.optimize import minimize

from benchmarks import record
from pymoo_anon.algorithms import TargetSweep
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.fronts import BoxArchive
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.operators import LatticeSampling, LevelCrossover, SingleStepMutation
from pymoo_anon.problems import AnonymizationProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.table import Microdata

K, N_EVAL, POP_SIZE, SEED = 10, 400, 40, 1
FIRST = ("age", "education")
OPERATORS = {"sampling": LatticeSampling(), "crossover": LevelCrossover(), "mutation": SingleStepMutation()}


def losses_of(table: Microdata) -> list[GeneralLossMetric]:
    """The loss of the first columns, and that of the others."""
    mine = np.array([name in FIRST for name in table.quasi_identifiers], dtype=float)
    return [GeneralLossMetric(mine), GeneralLossMetric(1 - mine)]


def share_of_square(problem: AnonymizationProblem, F: np.ndarray) -> float:
    """The hypervolume of two losses, each as a share of all that can be lost."""
    most = [objective.value_range(problem.table.tuples)[1] for objective in problem.objectives]
    return float(HV(ref_point=np.ones(2))(F / most))


def share_of_k_and_loss(problem: AnonymizationProblem, F: np.ndarray) -> float:
    """The hypervolume of log k / log rows and of the loss of a cell."""
    n_rows, n_columns = problem.table.n_rows, len(problem.table.quasi_identifiers)
    points = np.column_stack([np.log(-F[:, 0]) / -np.log(n_rows), F[:, 1] / (n_rows * n_columns)])
    return float(HV(ref_point=np.array([0.0, 1.0]))(points))


def ways_of(table: Microdata) -> dict[str, Any]:
    """By name what finds a front, and how many points it evaluates at most."""
    limits = [KAnonymity() >= K]

    def every_node() -> tuple[AnonymizationProblem, np.ndarray]:
        problem = LatticeProblem(table, losses_of(table), 0.01, limits)
        return problem, problem.pareto_front()

    def local(method: str) -> LocalRecodingProblem:
        return LocalRecodingProblem(table, losses_of(table), limits, method=method)

    def swept(method: str) -> tuple[AnonymizationProblem, np.ndarray]:
        problem = local(method)
        return problem, minimize(problem, TargetSweep(), seed=SEED).F

    def drawn(method: str) -> tuple[AnonymizationProblem, np.ndarray]:
        problem = local(method)
        X = LatticeSampling().do(problem, N_EVAL, random_state=np.random.default_rng(SEED)).get("X")
        # Targets and prices stay the least: only weights are drawn.
        X[:, :2] = 0
        return problem, problem.compute_feasible(X)[1]

    def searched(method: str) -> tuple[AnonymizationProblem, np.ndarray]:
        problem = local(method)
        algorithm = NSGA2(pop_size=POP_SIZE, archive=BoxArchive(epsilon=1e-9), **OPERATORS)
        return problem, minimize(problem, algorithm, ("n_eval", N_EVAL), seed=SEED).archive.F

    ways: dict[str, Any] = {"all nodes of the lattice, at most 1 % suppressed": every_node}
    for method in ("top-down", "bottom-up"):
        ways[f"{method}, equal weights"] = lambda own=method: swept(own)
        ways[f"{method}, {N_EVAL} random weights"] = lambda own=method: drawn(own)
        ways[f"{method}, NSGA-II, {N_EVAL} evaluations"] = lambda own=method: searched(own)
    return ways


def fronts(table: Microdata) -> dict[str, dict[str, Any]]:
    """The front of k and loss, by a sweep with either method."""
    found = {}
    for method in ("top-down", "bottom-up"):
        problem = LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric()], method=method)
        began = time.process_time()
        F = minimize(problem, TargetSweep(), seed=SEED).F
        cells = table.n_rows * len(table.quasi_identifiers)
        found[method] = {
            "points": len(F),
            "hypervolume": share_of_k_and_loss(problem, F),
            "losses": [float(F[-F[:, 0] >= k, 1].min() / cells) for k in (5, 25, 100, 500)],
            "seconds": time.process_time() - began,
        }
    return found


def main() -> None:
    table, found = fetch_adult(), {}
    # Loops are compiled before anything is timed.
    for method in ("top-down", "bottom-up"):
        small = LocalRecodingProblem(table, losses_of(table), method=method)
        small.compute(small.x_of(1000)[np.newaxis])
    for name, find in ways_of(table).items():
        began = time.process_time()
        problem, F = find()
        seconds = time.process_time() - began
        found[name] = {"points": len(F), "hypervolume": share_of_square(problem, F), "seconds": seconds}
    swept = fronts(table)
    rows = [
        [name, f"{one['points']}", f"{one['hypervolume']:.3f}", f"{one['seconds']:.1f}"] for name, one in found.items()
    ]
    sweeps = [
        [
            name,
            f"{one['points']}",
            f"{one['hypervolume']:.4f}",
            *(f"{loss:.4f}" for loss in one["losses"]),
            f"{one['seconds']:.1f}",
        ]
        for name, one in swept.items()
    ]
    text = "\n\n".join(
        [
            f"Adult, seed {SEED}, seconds of one processor; {record.line(record.machine())}.",
            f"Classes of at least {K} rows; hypervolume of the loss of {' and '.join(FIRST)} and of the loss of the "
            "other six columns, each as a share of all that can be lost:",
            record.markdown(["way", "points", "hypervolume", "seconds"], rows),
            "`TargetSweep` for k and loss: hypervolume of log k / log rows and the loss of a cell, and the least loss "
            "of a cell from k = 5, 25, 100 and 500 on:",
            record.markdown(["method", "points", "hypervolume", "5", "25", "100", "500", "seconds"], sweeps),
        ]
    )
    record.write("local_weights", {"machine": record.machine(), "weights": found, "fronts": swept}, text)


if __name__ == "__main__":
    main()
