"""Local and full-domain recoding of Adult, at equal k and at equal mean risk.

    python -m benchmarks.local.fronts

The front of k and loss, and from a k of 5 on that of k, loss and mean risk: of all nodes of the lattice, exact; of
local recodings, Mondrian's among them, by a sweep of targets and prices. Datafly, Samarati's search and a local search
of bit strings make one generalization for each k. What releases are good for comes from the results of
`benchmarks.local.utility`. Then ARX's benchmark, Adult with nine columns and ARX's hierarchies, beside what its group
has published. Each way is a process of its own. Three minutes on two cores; needs Adult.
"""

import os
import time
from functools import partial
from typing import Any

import numpy as np
from pymoo.core.result import Result
from pymoo.indicators.hv import HV
from pymoo.optimize import minimize

from benchmarks import record
from benchmarks.papers.arx_optima import NINE, hierarchies
from benchmarks.tables import cells
from pymoo_anon.algorithms import BitStringLocalSearch, Datafly, ExhaustiveSearch, SamaratiSearch, TargetSweep
from pymoo_anon.datasets import fetch_adult, fetch_adult_frame
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, MarketerRisk
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.table import Microdata, Violating
from pymoo_anon.visualization.fronts import COLOURS, STYLES, new_figure, saved

SEED = 1
#: A target that is made first, so that loops are compiled.
WARM = 20
#: At equal mean risk nobody is in a class of fewer rows.
LEAST = 5
#: At most 1 % is suppressed, in local recodings nothing.
FULL = "levels of whole columns"
LOCAL = {f"local, {method}": method for method in ("mondrian", "mondrian-relaxed", "top-down", "bottom-up")}
WAYS = FULL, *LOCAL

TARGETS = 2, 5, 10, 25, 50, 100, 500
RISKS = 0.06, 0.027, 0.01, 0.005, 0.002
STRINGS = "bit strings, local search"
SINGLE = {"Datafly": Datafly, "Samarati": SamaratiSearch, STRINGS: partial(BitStringLocalSearch, n_starts=1)}
DRAWN = FULL, STRINGS, "local, mondrian-relaxed", "local, bottom-up"

#: Releases whose utility is shown, by words.
SHOWN = {"k of 10": ("k", 10), "mean risk of 1%": ("risk", 0.01)}
#: Loss per cell of the nine columns, as published in arx-deidentifier/clustering-benchmark.
ARX_K = 5, 10, 25, 50
ARX = {
    "ARX, local transformation, published": (0.0541, 0.0774, 0.1150, 0.1473),
    "ARX, clustering, published": (0.0620, 0.0980, 0.1614, 0.2214),
}
#: What a front is asked for: targets of the sweep, and others.
ASKED = 2, 3, 5, 10, 11, 13, 17, 25, 37, 50, 85, 100, 111, 123, 200, 333, 500, 777, 1000
#: By k how many neighbourhoods are tried: they take longer where classes are large.
NEIGHBOURHOODS = dict(zip(ARX_K, (4000, 2000, 800, 300), strict=True))


def searched(table: Microdata, way: str, by: str) -> tuple[Any, Result, float]:
    """Return a problem, the front of one way, and seconds of a processor, compiling aside.

    "k" is for k and loss; "risk" for k, loss and mean risk, from a k on.
    """
    goals: list[Any] = [KAnonymity(), GeneralLossMetric()]
    held = []
    if by == "risk":
        goals.append(MarketerRisk())
        held.append(KAnonymity() >= LEAST)
    if way == FULL:
        problem, algorithm = LatticeProblem(table, goals, 0.01, held), ExhaustiveSearch()
    else:
        problem, algorithm = LocalRecodingProblem(table, goals, held, method=LOCAL[way]), TargetSweep()
        problem.fresh_copy().compute(problem.x_of(WARM)[np.newaxis])
    res, seconds = record.timed(lambda: minimize(problem, algorithm, seed=SEED))
    return problem, res, seconds


def columns_of(F: Any, table: Microdata) -> dict[str, list[float]]:
    """k, loss per cell and, as an objective, mean risk of the points of a front."""
    own = {"k": -F[:, 0], "loss": F[:, 1] / cells(table)}
    if F.shape[1] > 2:
        own["risk"] = F[:, 2]
    return {name: column.tolist() for name, column in own.items()}


def front_of(way: str, by: str) -> dict[str, Any]:
    table = fetch_adult()
    _, res, seconds = searched(table, way, by)
    return {**columns_of(res.F, table), "s": seconds}


def single(name: str, k: int) -> dict[str, float] | None:
    """Return the loss per cell and the mean risk of a single-objective search."""
    table, goals, held = fetch_adult(), [GeneralLossMetric()], [KAnonymity() >= k]
    kind, rule = (BitStringProblem, 0.01) if name == STRINGS else (LatticeProblem, Violating(0.01))
    problem = kind(table, goals, rule, held)
    res = minimize(problem, SINGLE[name](), seed=SEED)
    if res.F is None:
        return None
    best = np.atleast_2d(res.F).argmin()
    classes = problem.equivalence_classes(np.atleast_2d(res.X)[best])
    goal = {"loss": float(np.min(res.F)) / cells(table), "risk": float(MarketerRisk().evaluate(classes)[0])}
    return {"k": k, **goal}


def table_of_arx() -> Microdata:
    return Microdata.from_frame(fetch_adult_frame(), hierarchies())


def full_of_arx() -> dict[str, Any]:
    """Return the front of all nodes with ARX's hierarchies."""
    table = table_of_arx()
    problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric(), MarketerRisk()], 0.01)
    F, seconds = record.timed(lambda: minimize(problem, ExhaustiveSearch(), seed=SEED).F)
    front = columns_of(F, table)
    return {"loss": [least(front, "k", k) for k in ARX_K], "front": front, "s": seconds}


def local_of_arx(method: str, improved: bool) -> dict[str, Any]:
    """Recode Adult by ARX's hierarchies: loss per cell, mean risk and seconds by k."""
    table = table_of_arx()
    found: dict[str, Any] = {"loss": [], "risk": [], "s": 0.0}
    for k in (WARM, *ARX_K):
        n = NEIGHBOURHOODS.get(k, 10) if improved else 0
        problem = LocalRecodingProblem(table, [GeneralLossMetric(), MarketerRisk()], method=method, n_improvements=n)
        (F,), seconds = record.timed(partial(problem.compute, problem.x_of(k)[np.newaxis]))
        # The first one is there so that loops are compiled.
        if k in ARX_K:
            found["s"] += seconds
            found["loss"].append(float(F[0] / cells(table)))
            found["risk"].append(float(F[1]))
    return found


def sweep_of(columns: int) -> dict[str, Any]:
    """Sweep the targets of Adult with eight or nine columns, and ask the front for every k between them."""
    table = table_of_arx() if columns == len(NINE) else fetch_adult()
    problem = LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric()])
    problem.compute(problem.x_of(WARM)[np.newaxis])
    problem = problem.fresh_copy()
    began, used = time.perf_counter(), time.process_time()
    res = minimize(problem, TargetSweep(), seed=SEED)
    seconds = time.perf_counter() - began, time.process_time() - used
    X = res.algorithm.points
    made = zip((problem.target(x).k for x in X), problem.evaluate(X)[:, 1] / cells(table), strict=True)
    front, over = problem.front(res), {}
    for k in ASKED:
        chosen = front.choose(require=[KAnonymity() >= k]).values["GLM"]
        (direct,) = problem.evaluate(problem.x_of(k)[np.newaxis])
        over[k] = float(chosen / direct[1])
    return {"loss": dict(made), "wall": seconds[0], "s": seconds[1], "over": over}


def tables_of_sweeps(sweeps: dict[int, dict[str, Any]]) -> list[str]:
    told = []
    for columns, own in sweeps.items():
        told += [
            f"Each target of a sweep of Adult with {columns} columns, {own['wall']:.1f} s on {os.cpu_count()} cores, "
            f"{own['s']:.1f} s of a processor:",
            record.markdown(["k", "loss of a cell"], [[f"{k:,}", f"{loss:.4f}"] for k, loss in own["loss"].items()]),
        ]
    rows = [[f"{columns} columns", *(f"{own['over'][k]:.3f}" for k in ASKED)] for columns, own in sweeps.items()]
    worst = max(max(own["over"].values()) for own in sweeps.values())
    told += [
        f"The loss of what the front gives for k, over that of the recoding for k; at most {worst:.3f}:",
        record.markdown(["front over direct loss", *map(str, ASKED)], rows),
    ]
    return told


def tables_of_arx(full: dict[str, Any], local: dict[str, dict[str, Any]]) -> dict[str, str]:
    head = [*(f"k = {k}" for k in ARX_K), "seconds of all four"]
    rows = [[FULL, *(f"{loss:.4f}" for loss in full["loss"]), f"{full['s']:.1f}"]]
    rows += [[way, *(f"{loss:.4f}" for loss in published), ""] for way, published in ARX.items()]
    rows += [[way, *(f"{loss:.4f}" for loss in own["loss"]), f"{own['s']:.1f}"] for way, own in local.items()]
    # At the mean risk of each local recoding the best node that has no greater one.
    risks = [[way, *(f"{risk:.2%}" for risk in own["risk"])] for way, own in local.items()]
    way, own = list(local.items())[-1]
    whole = (f"{least(full['front'], 'risk', risk):.4f}" for risk in own["risk"])
    risks.append([f"{FULL}, at the risk of {way}", *whole])
    losses = record.markdown(["loss of a cell", *head], rows)
    return {"arx": losses, "arx_risks": record.markdown(["mean risk", *head[:-1]], risks)}


def least(front: dict[str, Any], by: str, value: float) -> float:
    """Return the least loss from a k on or up to a mean risk, else infinity."""
    own = np.array(front[by])
    return float(np.array(front["loss"])[own >= value if by == "k" else own <= value].min(initial=np.inf))


def hypervolume(front: dict[str, Any], n_rows: int) -> float:
    """Return the hypervolume of log k / log rows and of the loss per cell."""
    points = np.column_stack([-np.log(front["k"]) / np.log(n_rows), front["loss"]])
    return float(HV(ref_point=np.array([0.0, 1.0]))(points))


def draw(fronts: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Loss from k on, and loss up to a mean risk."""
    figure = new_figure(10, 4)
    panels = dict(zip(("k", "risk"), figure.subplots(1, 2, sharey=True), strict=True))
    for (by, axes), where in zip(panels.items(), ("pre", "post"), strict=True):
        for way, colour, style in zip(DRAWN, COLOURS[:4], STYLES, strict=True):
            front = fronts[way, by]
            values = np.unique(front[by])
            losses = [least(front, by, value) for value in values]
            axes.step(values, losses, where=where, color=colour, linestyle=style, label=way)
        axes.set(xscale="log", title={"k": "at equal k", "risk": "at equal mean risk"}[by])
    panels["k"].set(xlabel="k, the fewest rows that look alike", ylabel="loss of a cell")
    panels["risk"].set(xlabel=f"mean risk: classes over rows; k of {LEAST} or more")
    panels["k"].legend(frameon=False, fontsize="small")
    saved(figure, record.RESULTS / "local_fronts.png")


def useful() -> str:
    """Return the stored figures of utility."""
    known = record.stored("local_utility")["tables"]["Adult"]
    rows = [
        [f"{said}, {way}", *(percent(one[key]) for key in ("risk", "loss", "median", "90 %", "predicted"))]
        for said, (by, value) in SHOWN.items()
        for way, own in known.items()
        for one in own["releases"]
        if (one["by"], one["value"]) == (by, value)
    ]
    heads = ["release of least loss", "mean risk", "loss", "median error of a count", "90 % error", "predicted"]
    return record.markdown(heads, rows)


def percent(value: float) -> str:
    return "–" if np.isinf(value) else f"{100 * value:.1f}%"


def main() -> None:
    with record.processes() as pool:
        waiting = {(way, by): pool.submit(front_of, way, by) for way in reversed(WAYS) for by in ("risk", "k")}
        asked = {name: [pool.submit(single, name, k) for k in TARGETS] for name in SINGLE}
        whole = pool.submit(full_of_arx)
        local = {way: pool.submit(local_of_arx, method, False) for way, method in LOCAL.items()}
        local["local, bottom-up, neighbourhoods built anew"] = pool.submit(local_of_arx, "bottom-up", True)
        of_arx = {way: one.result() for way, one in local.items()}
        full = whole.result()
        fronts = {key: one.result() for key, one in waiting.items()}
        for name, each in asked.items():
            found = [one for one in (own.result() for own in each) if one is not None]
            for by, least_k in (("k", 1), ("risk", LEAST)):
                held = [one for one in found if one["k"] >= least_k]
                fronts[name, by] = {column: [one[column] for one in held] for column in ("k", "loss", "risk")}
    # On all cores, so alone.
    sweeps = {columns: sweep_of(columns) for columns in (8, len(NINE))}
    n_rows = fetch_adult().n_rows
    at_k, at_risk = [], []
    for way in (*SINGLE, *WAYS):
        own, safe = fronts[way, "k"], fronts[way, "risk"]
        last = [f"{hypervolume(own, n_rows):.4f}", f"{own['s']:.1f}"] if way in WAYS else ["", ""]
        at_k.append([way, *(percent(least(own, "k", k)) for k in TARGETS), *last])
        last = [f"{safe['s']:.1f}"] if way in WAYS else [""]
        at_risk.append([way, *(percent(least(safe, "risk", risk)) for risk in RISKS), *last])
    draw(fronts)
    told = {way: {by: fronts[way, by] for by in ("k", "risk")} for way in (*SINGLE, *WAYS)}
    record.write(
        "local_fronts",
        {"machine": record.machine(), "fronts": told, "arx": {FULL: full, **of_arx}, "sweeps": sweeps},
        at_k=record.markdown(["k", *map(str, TARGETS), "hypervolume", "seconds"], at_k),
        LEAST=LEAST,
        at_risk=record.markdown(["mean risk", *(f"{100 * risk:g}%" for risk in RISKS), "seconds"], at_risk),
        useful=useful(),
        **tables_of_arx(full, of_arx),
        sweeps="\n\n".join(tables_of_sweeps(sweeps)),
    )


if __name__ == "__main__":
    main()
