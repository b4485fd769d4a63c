"""Branch and bound beside exhaustive search, on every lattice small enough to visit.

    python -m benchmarks.speed --only lattices

A proof should never take longer than a visit to all nodes. Both take turns and have to find the same front; lattices
whose visit takes minutes are left out. Processor seconds of one thread; the best of each counts, as what else runs can
only add to them.
"""

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.optimize import minimize

from benchmarks import record
from benchmarks.moeas.problems import TASKS, beta, t
from benchmarks.suite.package import of_package
from benchmarks.tables import SETS, assert_same_front, glm, k, l
from pymoo_anon import suite
from pymoo_anon.algorithms import BranchAndBound, ExhaustiveSearch
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.objectives import AlphaDeassociation, Constraint, Discernibility, EntropyLDiversity, NonUniformEntropy
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import AtMost, Violating

# Both take turns so often, or until they have taken so many seconds together; at least twice.
TURNS, SECONDS = 7, 4.0

# To visit all nodes where these, times distinct tuples, are more takes minutes.
MOST_WORK = 5 * 10**9

dm, nue = Discernibility(), NonUniformEntropy()
entropy_l, alpha = EntropyLDiversity("occupation"), AlphaDeassociation("occupation")

#: Objectives over the census, by number of rows.
CENSUS = {
    2_000: [[k, glm], [k, l, glm], [k, t, glm], [k, glm, dm], [k, nue]],
    30_162: [[k, glm], [k, l, glm], [k, entropy_l, glm], [k, t, glm], [k, beta, glm], [k, glm, dm], [k, dm], [k, nue]],
    3_000_000: [[k, glm], [k, l, glm]],
}

Make = Callable[[], LatticeProblem]

#: Constraints with the least loss, and the shares of suppressed rows.
CASES: list[tuple[list[Constraint], list[float]]] = [
    ([k >= 5, l >= 3], [0, 0.01, 0.05]),
    ([k >= 2], [0, 0.01]),
    ([k >= 50], [0, 0.01, 0.05]),
    ([k >= 10, l >= 5], [0, 0.01, 0.05]),
    ([k >= 5, alpha <= 0.5], [0, 0.01, 0.05]),
    ([k >= 3, t <= 0.4], [0.01, 0.05]),
    ([entropy_l >= 4], [0.01, 0.05]),
    ([beta <= 2], [0.01, 0.05]),
]


def problems() -> dict[str, Make]:
    found: dict[str, Make] = {}
    for name, (objectives, label, _) in SETS.items():
        found[f"Adult: {name}"] = partial(LatticeProblem, fetch_adult(label=label), objectives, 301)
    for objectives in ([k, t, glm], [k, glm, dm], [k, dm]):
        found[f"Adult: {', '.join(o.name for o in objectives)}"] = partial(
            LatticeProblem, fetch_adult(), objectives, 301
        )
    for part in ("constrained", "many"):
        found |= {f"Adult: {name}": task.make().fresh_copy for name, task in TASKS[part].items()}
    for constraints, limits in CASES:
        for rule in [kind(limit) for limit in limits for kind in (Violating, AtMost)]:
            name = f"Adult: GLM, {', '.join(map(repr, constraints))}, {rule!r}"
            found[name] = partial(LatticeProblem, fetch_adult(), [glm], rule, constraints)
    for n_rows, asked in CENSUS.items():
        table = make_census(n_rows)
        for objectives in asked:
            name = f"census of {n_rows:,}: {', '.join(o.name for o in objectives)}"
            found[name] = partial(LatticeProblem, table, objectives, 0.01)
    for name in suite.names():
        instance = suite.load(name).instance
        if not instance.bits:
            found[f"suite: {name}"] = of_package(instance).fresh_copy
    return found


def work_of(problem: LatticeProblem) -> int:
    return problem.n_nodes * problem.table.n_distinct


def measured(make: Make) -> dict[str, float]:
    """Seconds of both, best of some turns, and how many nodes the proof evaluates."""
    best, fronts, n_turns, spent = {}, {}, 0, 0.0
    algorithms: dict[str, type[Algorithm]] = {"proof": BranchAndBound, "exhaustive": ExhaustiveSearch}
    while n_turns < 2 or (n_turns < TURNS and spent < SECONDS):
        for name, algorithm in algorithms.items():
            problem = make()
            res, seconds = record.timed(partial(minimize, problem, algorithm(), seed=1))
            assert res.algorithm.certified
            fronts[name] = np.empty((0, problem.n_obj)) if res.F is None else np.atleast_2d(res.F)
            # The first turn loads compiled code.
            best[name] = seconds if n_turns < 2 else min(seconds, best[name])
            spent += seconds if n_turns else 0.0
            if name == "proof":
                evaluated = res.algorithm.n_evaluated
        assert_same_front(fronts["proof"], fronts["exhaustive"])
        n_turns += 1
    return {
        "nodes": problem.n_nodes,
        "tuples": problem.table.n_distinct,
        "evaluated": evaluated,
        "front": len(fronts["proof"]),
        **best,
        "ratio": best["proof"] / best["exhaustive"],
    }


#: Columns of the table.
COLUMNS = {
    # A bar would end the cell.
    "problem": lambda one: one["name"].replace("|", "or"),
    "nodes": "{nodes:,}",
    "distinct tuples": "{tuples:,}",
    "evaluated": lambda one: f"{one['evaluated'] / one['nodes']:.0%}",
    "front": "{front}",
    "proof, s": "{proof:.3f}",
    "exhaustive search, s": "{exhaustive:.3f}",
    "ratio": "{ratio:.2f}",
}


def table_of(figures: dict[str, dict[str, float]]) -> str:
    rows = [{"name": name, **one} for name, one in figures.items()]
    return record.table(COLUMNS, sorted(rows, key=lambda one: -one["ratio"]))


def measured_all() -> dict[str, dict[str, float]]:
    figures = {}
    for name, make in problems().items():
        if work_of(make()) <= MOST_WORK:
            figures[name] = measured(make)
            print(f"{figures[name]['ratio']:.2f}  {name}", file=sys.stderr, flush=True)
    return figures
