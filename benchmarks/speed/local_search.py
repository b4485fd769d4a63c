"""Pareto local search beside PBG-EA at the same numbers of distinct nodes, on Adult.

    python -m benchmarks.speed.local_search

The representation ratio against the exact front, 20 seeds, at the numbers of nodes that Dewri et al. 2010 report for
their five sets of objectives, and on the lattice of twelve quasi-identifiers at 2,000 nodes. Two minutes; needs
Adult.
"""

import time

import numpy as np
import pandas as pd
from pymoo.core.algorithm import Algorithm
from pymoo.core.termination import NoTermination
from pymoo.optimize import minimize

from benchmarks import record
from benchmarks.tables import SETS, assert_same_front, glm, k, large_table
from pymoo_anon.algorithms import PBGEA, BranchAndBound, ParetoLocalSearch
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.fronts import RepresentationRatio
from pymoo_anon.problems import LatticeProblem

SEEDS = range(1, 21)
LARGE = 2000

#: The two searches that are compared. PBG-EA runs on until it has seen as many nodes.
SEARCHES = {
    "local search": lambda: ParetoLocalSearch(termination=NoTermination()),
    "PBG-EA": lambda: PBGEA(termination=NoTermination()),
}


def tasks() -> dict:
    """Return the problems with their exact fronts and numbers of nodes."""
    found = {}
    for name, (objectives, label, nodes) in SETS.items():
        problem = LatticeProblem(fetch_adult(label=label), objectives, suppression=301)
        exact = problem.pareto_front()
        res = minimize(problem, BranchAndBound(), seed=1)
        assert_same_front(res.F, exact)
        found[name] = (problem, exact, nodes)
    problem = LatticeProblem(large_table(), [k, glm], suppression=301)
    res = minimize(problem, BranchAndBound(), seed=1)
    assert res.algorithm.certified
    found["k, GLM, twelve quasi-identifiers"] = (problem, res.F, LARGE)
    return found


def searched(algorithm: Algorithm, problem: LatticeProblem, nodes: int, seed: int) -> int:
    algorithm.setup(problem, seed=seed)
    while problem.n_unique < nodes and algorithm.has_next():
        infills = algorithm.ask()
        if isinstance(algorithm, ParetoLocalSearch):
            infills = infills[: nodes - problem.n_unique]
        algorithm.evaluator.eval(problem, infills)
        algorithm.tell(infills=infills)
    return problem.n_unique


def compared(of: LatticeProblem, exact: np.ndarray, nodes: int) -> dict:
    """Representation ratios, nodes and seconds of every search, seed after seed."""
    ratio, found = RepresentationRatio(exact), {}
    for name, made in SEARCHES.items():
        runs = []
        for seed in SEEDS:
            # Nothing is remembered from one run to the next.
            problem, algorithm, began = of.fresh_copy(), made(), time.perf_counter()
            seen = searched(algorithm, problem, nodes, seed)
            seconds = time.perf_counter() - began
            runs.append({"RR": ratio(algorithm.opt.get("F")), "nodes": seen, "seconds": seconds})
        told = pd.DataFrame(runs)
        found[name] = {
            "RR": float(told["RR"].mean()),
            "least RR": float(told["RR"].min()),
            "nodes": float(told["nodes"].mean()),
            "seconds": float(told["seconds"].median()),
        }
    return found


def main() -> None:
    found = {}
    for name, (problem, exact, nodes) in tasks().items():
        found[name] = {"lattice": problem.n_nodes, "nodes": nodes, "front": len(exact)}
        found[name] |= compared(problem, exact, nodes)
    columns = {
        "objectives": "{name}",
        "lattice": "{lattice:,}",
        "nodes": "{nodes:,}",
        "front": "{front}",
        **{search: f"{{{search}[RR]:.3f}}" for search in SEARCHES},
        "least of 20": "{local search[least RR]:.3f}",
        "seconds": "{local search[seconds]:.2f}",
        "of PBG-EA": "{PBG-EA[seconds]:.2f}",
    }
    record.write(
        "local_search",
        {"machine": record.machine(), "found": found},
        n_seeds=len(SEEDS),
        found=record.table(columns, [{"name": name, **one} for name, one in found.items()]),
    )


if __name__ == "__main__":
    main()
