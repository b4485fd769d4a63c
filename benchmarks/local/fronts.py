"""Local recoding beside levels of whole columns, at equal k and at equal mean risk: Adult.

    python -m benchmarks.local.fronts

The front of k, loss and mean risk: of all nodes of the lattice, exact; of local recodings, by a sweep of targets and
prices. Datafly and Samarati's search make one node each. Each way is a process of its own. A minute on two cores;
needs Adult.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.indicators.hv import HV
from pymoo.optimize import minimize

from benchmarks import record
from pymoo_anon.algorithms import Datafly, ExhaustiveSearch, SamaratiSearch, TargetSweep
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, MarketerRisk
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.table import Microdata, Violating
from pymoo_anon.visualization.canvas import COLOURS, STYLES, new_figure, save

SEED = 1
TARGETS = 2, 5, 10, 25, 50, 100, 500
RISKS = 0.06, 0.027, 0.01, 0.005, 0.002
HEURISTICS = {"Datafly": Datafly, "Samarati": SamaratiSearch}
FULL = "levels of whole columns, at most 1 % suppressed"
WAYS = FULL, "local, top-down", "local, bottom-up"


def objectives() -> list[Any]:
    return [KAnonymity(), GeneralLossMetric(), MarketerRisk()]


def front_of(way: str) -> dict[str, Any]:
    """The front of one way: k, the loss of a cell, the mean risk, and seconds of a processor."""
    table = fetch_adult()
    algorithm: Algorithm
    if way == FULL:
        problem, algorithm = LatticeProblem(table, objectives(), 0.01), ExhaustiveSearch()
    else:
        method = way.removeprefix("local, ")
        problem, algorithm = LocalRecodingProblem(table, objectives(), method=method), TargetSweep()
        # Loops are compiled before anything is timed.
        problem.fresh_copy().compute(problem.x_of(1000)[np.newaxis])
    began = time.process_time()
    F = minimize(problem, algorithm, seed=SEED).F
    seconds = time.process_time() - began
    return {"k": (-F[:, 0]).tolist(), "loss": (F[:, 1] / cells(table)).tolist(), "risk": F[:, 2].tolist(), "s": seconds}


def heuristic(name: str, k: int) -> float | None:
    """The loss of a cell at the one node that a heuristic ends with, or None where it finds none."""
    table = fetch_adult()
    problem = LatticeProblem(table, [GeneralLossMetric()], Violating(0.01), [KAnonymity() >= k])
    F = minimize(problem, HEURISTICS[name](), seed=SEED).F
    return None if F is None else float(F.min() / cells(table))


def cells(table: Microdata) -> int:
    return table.n_rows * len(table.quasi_identifiers)


def least(front: dict[str, Any], k: float = 1, risk: float = 1.0) -> float:
    """The least loss of a cell from a k on and up to a mean risk."""
    held = (np.array(front["k"]) >= k) & (np.array(front["risk"]) <= risk)
    return float(np.array(front["loss"])[held].min())


def hypervolume(front: dict[str, Any], n_rows: int) -> float:
    """The hypervolume of log k / log rows and of the loss of a cell."""
    points = np.column_stack([-np.log(front["k"]) / np.log(n_rows), front["loss"]])
    return float(HV(ref_point=np.array([0.0, 1.0]))(points))


def draw(fronts: dict[str, dict[str, Any]]) -> None:
    """Loss from k on, and loss up to a mean risk."""
    figure = new_figure(10, 4)
    left, right = figure.subplots(1, 2, sharey=True)
    for (way, front), colour, style in zip(fronts.items(), COLOURS[: len(WAYS)], STYLES[: len(WAYS)], strict=True):
        ks, risks = np.unique(front["k"]), np.unique(front["risk"])
        left.step(ks, [least(front, k=k) for k in ks], where="pre", color=colour, linestyle=style, label=way)
        right.step(risks, [least(front, risk=r) for r in risks], where="post", color=colour, linestyle=style)
    left.set(xscale="log", xlabel="k, the fewest rows that look alike", ylabel="loss of a cell", title="at equal k")
    right.set(xscale="log", xlabel="mean risk: classes over rows", title="at equal mean risk")
    left.legend(frameon=False)
    save(figure, record.RESULTS / "local_fronts.png")


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def main() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        waiting = {way: pool.submit(front_of, way) for way in reversed(WAYS)}
        asked = {(name, k): pool.submit(heuristic, name, k) for name in HEURISTICS for k in TARGETS}
        fronts = {way: waiting[way].result() for way in WAYS}
        found = {key: one.result() for key, one in asked.items()}
    n_rows = fetch_adult().n_rows
    at_k = [[name, *(percent(found[name, k]) for k in TARGETS), "", ""] for name in HEURISTICS]
    at_k += [
        [way, *(percent(least(own, k=k)) for k in TARGETS), f"{hypervolume(own, n_rows):.4f}", f"{own['s']:.1f}"]
        for way, own in fronts.items()
    ]
    at_risk = [[way, *(percent(least(own, k=5, risk=risk)) for risk in RISKS)] for way, own in fronts.items()]
    text = "\n\n".join(
        [
            f"Adult, loss of a cell, seconds of a processor; {record.line(record.machine())}.",
            "At equal k, the least loss from k on; Datafly and Samarati's search suppress at most 1 %. The hypervolume "
            "is that of log k / log rows and the loss:",
            record.markdown(["k", *map(str, TARGETS), "hypervolume", "seconds"], at_k),
            "At equal mean risk, classes over rows, and k of 5 or more:",
            record.markdown(["mean risk", *(f"{100 * risk:g}%" for risk in RISKS)], at_risk),
            "![Loss against k, and against the mean risk](local_fronts.png)",
        ]
    )
    draw(fronts)
    heuristics = {name: {str(k): found[name, k] for k in TARGETS} for name in HEURISTICS}
    record.write("local_fronts", {"machine": record.machine(), "fronts": fronts, "heuristics": heuristics}, text)


if __name__ == "__main__":
    main()
