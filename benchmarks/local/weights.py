"""Value of weighted columns: two losses over local recodings of Adult.

    python -m benchmarks.local.weights

At least ten rows a class; the loss of age and education against the loss of the other six columns. All nodes of the
lattice, equal weights, random weights, and NSGA-II over weights, 125 recodings each. Each way is a process of its own.
A minute on two cores; needs Adult.
"""

from functools import partial
from typing import Any

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.indicators.hv import HV
from pymoo.optimize import minimize

from benchmarks import record
from benchmarks.tables import operators_of
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.fronts import BoxArchive
from pymoo_anon.fronts.archive import evaluated
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.operators import LatticeSampling
from pymoo_anon.problems import AnonymizationProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.table import Microdata

K, N_EVAL, POP_SIZE, SEED = 10, 125, 25, 1
METHODS = "top-down", "bottom-up"
FIRST = ("age", "education")


def losses_of(table: Microdata) -> list[GeneralLossMetric]:
    """Return the loss of the first columns, and of the others."""
    mine = np.array([name in FIRST for name in table.quasi_identifiers], dtype=float)
    return [GeneralLossMetric(mine), GeneralLossMetric(1 - mine)]


def share_of_square(problem: AnonymizationProblem, F: np.ndarray) -> float:
    """Return the hypervolume of two losses as shares."""
    most = [objective.value_range(problem.table.tuples)[1] for objective in problem.objectives]
    return float(HV(ref_point=np.ones(2))(F / most))


def equal_weights(problem: LocalRecodingProblem) -> np.ndarray:
    return problem.compute(problem.x_of(K)[np.newaxis])


def random_weights(problem: LocalRecodingProblem) -> np.ndarray:
    """Recode with random weights, at the least targets and prices."""
    X = LatticeSampling().do(problem, N_EVAL, random_state=np.random.default_rng(SEED)).get("X")
    X[:, :2] = 0
    return problem.compute_feasible(X)[1]


def searched(problem: LocalRecodingProblem) -> np.ndarray:
    algorithm = NSGA2(pop_size=POP_SIZE, archive=BoxArchive(epsilon=1e-9), **operators_of(problem))
    return minimize(problem, algorithm, ("n_eval", N_EVAL), seed=SEED).archive.F


def weighed(way: str, method: str | None) -> dict[str, Any]:
    table = fetch_adult()
    if method is None:
        problem = LatticeProblem(table, losses_of(table), 0.01, [KAnonymity() >= K])
        F, seconds = record.timed(problem.pareto_front)
    else:
        problem = LocalRecodingProblem(table, losses_of(table), [KAnonymity() >= K], method=method)
        problem.fresh_copy().decode(problem.x_of(1000))
        F, seconds = record.timed(partial(WAYS[way], problem))
    found = {"points": len(BoxArchive(epsilon=1e-9).add(evaluated(np.arange(len(F))[:, np.newaxis], F)))}
    return found | {"hypervolume": share_of_square(problem, F), "seconds": seconds}


WAYS = {
    "equal weights": equal_weights,
    f"{N_EVAL} random weights": random_weights,
    f"NSGA-II, {N_EVAL} evaluations": searched,
}
EVERY_NODE = "all nodes of the lattice, at most 1 % suppressed"


def main() -> None:
    with record.processes() as pool:
        cases = {EVERY_NODE: (EVERY_NODE, None)}
        cases |= {f"{method}, {way}": (way, method) for method in METHODS for way in WAYS}
        waiting = {name: pool.submit(weighed, *case) for name, case in cases.items()}
        weights = {name: waiting[name].result() for name in cases}
    columns = {"way": "{way}", "points": "{points}", "hypervolume": "{hypervolume:.3f}", "seconds": "{seconds:.1f}"}
    record.write(
        "local_weights",
        {"machine": record.machine(), "weights": weights},
        SEED=SEED,
        K=K,
        first=" and ".join(FIRST),
        weights=record.table(columns, [{"way": way, **one} for way, one in weights.items()]),
    )


if __name__ == "__main__":
    main()
