"""Figures 1 to 4 of Dewri et al. 2009 (privacy bias preferences), and a line for each claim of the paper.

    python -m benchmarks.papers.dewri2009_preferences

NSGA-II with the paper's selection rule on Adult's 105 bits: population 100, 50,000 evaluations, single-point crossover
at 0.8, bit mutation at 0.001; 10 seeds each. The paper does not print its weight vectors; those below follow what its
text says of them. On two cores about three minutes; needs Adult.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from pymoo.optimize import minimize

from benchmarks import record
from benchmarks.papers.dewri2009_preferences_claims import (
    BIASES,
    EXPERIMENTS,
    FAR,
    KS,
    POPULATIONS,
    SEEDS,
    WEIGHTS,
    Found,
    adult,
    claims_of,
)
from pymoo_anon.algorithms import PreferenceNSGA2
from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems import BitStringProblem, PreferredPoint

PROCESSES = 2
COLOUR, MARKED, LIGHT = "#0072B2", "#D55E00", "#D9D9D9"


def run(task: tuple) -> dict:
    """Run one search, and keep its distinct non-dominated solutions."""
    k, preference, weights, pop_size, seed = task
    point = PreferredPoint(preference, weights)
    problem = BitStringProblem(adult(), [point, KAnonymity()])
    res, seconds = record.timed(lambda: minimize(problem, PreferenceNSGA2(k, pop_size), ("n_eval", 50_000), seed=seed))
    _, rows = np.unique(res.X, axis=0, return_index=True)
    X = res.X[rows]
    shown = pd.DataFrame({"NWP": problem.values_of(X, point.loss), "NECD": problem.values_of(X, point.bias)})
    shown["achievement"], shown["k"] = problem.natural(res.F[rows]).T
    feasible = shown[shown["k"] >= k]
    pick = res.picks.iloc[0].to_dict()
    better = ((feasible["NWP"] < pick["NWP"]) & (feasible["NECD"] < pick["NECD"])).any()
    return {
        "k_pref": k,
        "preference": list(preference),
        "weights": weights,
        "population": pop_size,
        "seed": seed,
        "pick": pick,
        "efficient": not better,
        "minima": int(np.isclose(feasible["achievement"], pick["achievement"], rtol=1e-12).sum()),
        "feasible": len(feasible),
        "unique": len(np.unique(res.pop.get("X"), axis=0)),
        "seconds": seconds,
        "shown": shown[["NWP", "NECD", "k"]].to_numpy(dtype=float).tolist(),
    }


# Figures.


def panel(axis, one: dict) -> None:
    """Draw NWP and NECD of one run, feasible points filled, the reported one marked."""
    shown = np.array(one["shown"])
    feasible = shown[:, 2] >= one["k_pref"]
    axis.scatter(*shown[~feasible, :2].T, s=18, facecolors="none", edgecolors=COLOUR, label="infeasible")
    axis.scatter(*shown[feasible, :2].T, s=18, color=COLOUR, label="feasible")
    pick = one["pick"]
    axis.scatter(pick["NWP"], pick["NECD"], s=110, facecolors="none", edgecolors=MARKED, linewidths=2, label="reported")
    axis.annotate(f"k = {pick['k']:.0f}", (pick["NWP"], pick["NECD"]), xytext=(8, 8), textcoords="offset points")
    axis.set(xlabel="NWP (lower is better)", ylabel="NECD (lower is better)")
    axis.grid(alpha=0.3)


def save(canvas: Figure, name: str) -> None:
    canvas.savefig(record.RESULTS / f"dewri2009_preferences_{name}.png", dpi=110)


def figure(name: str, panels: list[tuple[str, dict]], columns: int = 3) -> None:
    rows = -(-len(panels) // columns)
    canvas = Figure(figsize=(4.4 * columns, 3.6 * rows), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axis, (title, one) in zip(axes[: len(panels)], panels, strict=True):
        panel(axis, one)
        axis.set_title(title)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    axes[0].legend()
    save(canvas, name)


def weights_figure(found: Found) -> None:
    """Draw a row per weight vector: solutions of one seed, groups over all seeds."""
    domains = {name: hierarchy.n_values for name, hierarchy in adult().quasi_identifiers.items()}
    canvas = Figure(figsize=(13, 3.1 * len(WEIGHTS)), layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.subplots(len(WEIGHTS), 2, width_ratios=[1, 2.2])
    places = np.arange(len(domains))
    for (solutions, groups), (name, weights) in zip(axes, WEIGHTS.items(), strict=True):
        panel(solutions, found.runs["weights", name][0])
        solutions.set(title=f"{name}, first seed", xlim=(-0.05, 1.05), ylim=(-0.02, 0.42))
        own = found.frame("weights", name)[list(domains)]
        groups.bar(places, list(domains.values()), 0.8, color=LIGHT, label="values of the domain")
        groups.bar(places, own.mean(), 0.55, color=COLOUR, label=f"groups, mean of {len(SEEDS)} seeds")
        groups.vlines(places, own.min(), own.max(), color="black", linewidth=1, label="fewest and most")
        for place, (attribute, size) in enumerate(domains.items()):
            text = f"{own[attribute].mean():.1f} of {size}"
            groups.annotate(text, (place, size), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=8)
        labels = [f"{attribute}\n{weight:.2f}" for attribute, weight in zip(domains, weights, strict=True)]
        groups.set_xticks(places, labels, fontsize=8)
        groups.set(yscale="log", ylabel="groups", ylim=(0.8, 120))
        groups.set_yticks([1, 2, 5, 10, 20, 40], ["1", "2", "5", "10", "20", "40"])
        groups.minorticks_off()
        groups.set_title(f"{name}: groups of each attribute in the reported solution, and its weight")
    axes[0, 0].legend()
    axes[0, 1].legend(loc="upper left", ncols=3, fontsize=8)
    save(canvas, "figure3")


def bias_figure(found: Found) -> None:
    """Draw the preference points and the reported solutions of one seed."""
    canvas = Figure(figsize=(7, 5), layout="constrained")
    FigureCanvasAgg(canvas)
    axis = canvas.subplots()
    colours = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#000000")
    for bias, colour in zip(BIASES, colours, strict=True):
        pick = found.runs["bias", bias][0]["pick"]
        axis.scatter(0.2, bias, s=60, color=colour, label=f"preferred NECD {bias}")
        axis.scatter(pick["NWP"], pick["NECD"], s=60, facecolors="none", edgecolors=colour, linewidths=2)
        axis.annotate(f"k = {pick['k']:.0f}", (pick["NWP"], pick["NECD"]), xytext=(7, 5), textcoords="offset points")
    axis.set(xlabel="NWP (lower is better)", ylabel="NECD (lower is better)", yscale="log")
    axis.set_title("solid: preferred point, hollow: reported solution (k_pref = 5, wv2)")
    axis.grid(alpha=0.3)
    axis.legend()
    save(canvas, "figure4")


def summary(found: Found) -> list[list[str]]:
    """Write a row per experiment."""
    rows = []
    for kind, value in EXPERIMENTS:
        one = found.frame(kind, value)
        figures = [
            f"{one['k'].mean():.1f}",
            *(f"{one[m].mean():.3f}" for m in ("NWP", "NECD", "achievement", "deviation")),
        ]
        rows.append([f"{kind} {value}", *figures, f"{one['unique'].mean():.0f}", f"{one['seconds'].median():.1f}"])
    return rows


def report(found: Found) -> None:
    """Figures, tables and claims."""
    record.RESULTS.mkdir(exist_ok=True)
    figure("figure1", [(f"k_pref = {k}", found.runs["k", k][0]) for k in KS])
    figure("figure2", [(f"population {p}", found.runs["population", p][0]) for p in POPULATIONS])
    weights_figure(found)
    bias_figure(found)
    names = list(adult().quasi_identifiers)
    groups = [[name, *(f"{mean:.1f}" for mean in found.frame("weights", name)[names].mean())] for name in WEIGHTS]
    claims = claims_of(found)
    machines = "; ".join(sorted({one["machine"] for one in found.distinct}))
    text = "\n\n".join(
        [
            f"Means over {len(SEEDS)} seeds of 50,000 evaluations each; {machines}. A run took the paper's authors "
            "about 15 minutes.",
            record.markdown(
                ["experiment", "k", "NWP", "NECD", "ach", "deviation", "unique solutions", "seconds"], summary(found)
            ),
            "For k_pref = 5 and populations of 100, 250 and 500 the paper reports k = 5, 7 and 5, and deviations of "
            "-0.661, -0.610 and -0.649.",
            "Groups of every attribute in the reported solution, by weight vector (Figure 3):",
            record.markdown(["weights", *names], groups),
            "What the paper finds, and what is found here:",
            record.claims_table(claims),
        ]
    )
    runs = [{k: v for k, v in one.items() if k != "shown"} for one in found.distinct]
    record.write("dewri2009_preferences", {"claims": claims, "runs": runs}, text)


def main() -> None:
    # Experiments share runs: k_pref = 5 is the population of 100, wv2 the bias preference of 0.1.
    tasks = list(dict.fromkeys((*task, seed) for task in EXPERIMENTS.values() for seed in SEEDS))
    run((5, FAR, None, 20, 0))  # compiles, so that the processes do not all
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        runs = list(pool.map(run, tasks))
    machine = record.line(record.machine())
    report(Found({task: {**one, "machine": machine} for task, one in zip(tasks, runs, strict=True)}))


if __name__ == "__main__":
    main()
