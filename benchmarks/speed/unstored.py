"""Branch and bound on unstored lattices of up to 10^12 nodes.

    python -m benchmarks.speed.unstored

The least general loss for every k from 500, 100, 20 and 5 on, within 5 % and exact, at most a minute each, and how the
gap closes; other objectives; then twelve quasi-identifiers, where the same front comes out of a lattice that is stored.
Two minutes; needs Adult.
"""

import resource
import time
from collections.abc import Sequence

import numpy as np
from pymoo.optimize import minimize
from pymoo.termination.max_time import TimeBasedTermination

from benchmarks import record
from benchmarks.tables import assert_same_front, immense_table, large_table
from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.objectives import Discernibility, GeneralLossMetric, KAnonymity, Objective, SquaredClassSizes
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.proofs.base import share_off
from pymoo_anon.table import Microdata
from pymoo_anon.visualization import plot_front

# The least k, and the tolerance of the loss.
CASES = [(500, "5%"), (500, 0), (100, "5%"), (100, 0), (20, "5%"), (20, 0), (5, "5%")]
SECONDS = 60

# In place of k, with k >= 100 and the same tolerance for all.
OTHERS = [
    [SquaredClassSizes(), GeneralLossMetric()],
    [KAnonymity(), SquaredClassSizes(), GeneralLossMetric()],
    [KAnonymity(), GeneralLossMetric(), Discernibility()],
]
TOGETHER = [(100, "5%"), (100, 0)]
MOMENTS = (1, 2, 5, 10, 20, 40)

# So little memory that the lattice of twelve quasi-identifiers is not stored.
BYTES = 100_000_000
LEAST_K = 20
K_GLM = (KAnonymity(), GeneralLossMetric())


def problem_of(table: Microdata, least_k: int, objectives: Sequence[Objective] = K_GLM) -> LatticeProblem:
    return LatticeProblem(table, objectives, suppression=301, constraints=[KAnonymity() >= least_k])


def proven(table: Microdata, least_k: int, epsilon: str | int) -> dict:
    algorithm = BranchAndBound(epsilon=[0, epsilon])
    algorithm.setup(problem_of(table, least_k), termination=TimeBasedTermination(SECONDS), seed=1)
    began, gaps = time.perf_counter(), {}
    while algorithm.has_next():
        algorithm.next()
        passed = time.perf_counter() - began
        F, gap = algorithm.opt.get("F"), algorithm.gap
        first = int(np.argmax(F[:, 0]))
        for moment in MOMENTS:
            if passed >= moment:
                gaps.setdefault(moment, float(gap[first, 1] / F[first, 1]))
    return {
        "least k": least_k,
        "within": epsilon or "exact",
        "seconds": time.perf_counter() - began,
        "certified": algorithm.certified,
        "gap": float((algorithm.gap / np.abs(algorithm.opt.get("F")))[:, 1].max()),
        "gaps": gaps,
        "front": len(algorithm.opt),
        "evaluated": algorithm.n_evaluated,
        "GB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def together(table: Microdata, objectives: Sequence[Objective], least_k: int, epsilon: str | int) -> dict:
    problem = problem_of(table, least_k, objectives)
    began = time.perf_counter()
    algorithm = minimize(problem, BranchAndBound(epsilon), TimeBasedTermination(SECONDS), seed=1).algorithm
    return {
        "objectives": ", ".join(problem.objective_names),
        "within": epsilon or "exact",
        "certified": algorithm.certified,
        "seconds": time.perf_counter() - began,
        "gap": share_off(algorithm.opt.get("F"), algorithm.open_bounds),
        "front": len(algorithm.opt),
        "evaluated": algorithm.n_evaluated,
    }


def picture(table: Microdata) -> None:
    problem = problem_of(table, CASES[-1][0])
    res = minimize(problem, BranchAndBound(), TimeBasedTermination(10), seed=1)
    plot_front(problem, res, record.RESULTS / "unstored_open.png")


def compared() -> dict:
    fronts, seconds = [], []
    table = large_table()
    for max_bytes in (2 << 30, BYTES):
        problem = problem_of(table, LEAST_K)
        began = time.perf_counter()
        res = minimize(problem, BranchAndBound(max_bytes=max_bytes), seed=1)
        seconds.append(time.perf_counter() - began)
        fronts.append(res.F)
    assert_same_front(*fronts)
    return {"lattice": problem.n_nodes, "front": len(fronts[0]), "stored": seconds[0], "not stored": seconds[1]}


#: Columns of a case.
CASE = {
    "loss": lambda one: "exact" if one["within"] == "exact" else f"within {one['within']}",
    "certified": lambda one: "yes" if one["certified"] else f"gap of {one['gap']:.1%}",
    "seconds": "{seconds:.1f}",
    "front": "{front}",
    "evaluated": "{evaluated:,}",
}
GAPS = {f"{m} s": lambda one, m=m: f"{one['gaps'][m]:.1%}" if m in one["gaps"] else "" for m in MOMENTS}


def main() -> None:
    table = immense_table()
    found = [proven(table, *case) for case in CASES]
    others = [together(table, own, *case) for own in OTHERS for case in TOGETHER]
    picture(table)
    n_nodes = problem_of(table, 1).n_nodes
    record.write(
        "unstored",
        {"machine": record.machine(), "cases": found, "others": others, "twelve": compared()},
        n_nodes=n_nodes,
        n_distinct=table.n_distinct,
        cases=record.table({"k from": "{least k}", **CASE, "GB": "{GB:.2f}", **GAPS}, found),
        others=record.table({"objectives": "{objectives}", **CASE}, others),
        LEAST_K=LEAST_K,
    )


if __name__ == "__main__":
    main()
