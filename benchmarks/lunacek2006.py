"""Figures 4 and 5 of Lunacek et al. 2006, and a line for each claim of the paper.

    python benchmarks/lunacek2006.py

GENITOR on Adult's bit strings: NEW (constraint-preserving crossover, crossed with random valid strings for diversity)
against TRAD (two-point reduced surrogate crossover, bit mutation, nearest valid string), and NEW with duplicates; 15
trials of 30,000 evaluations, populations of 200, 500 and 1,000. The paper gives no rate of mutation: TRAD mutates one
bit of a string on average (1/92 for each bit), and once more at 0.001, the rate of Dewri et al. 2009. A fifth variant,
NEW's crossover with TRAD's mutation and repair, tells apart what crossover and mutation contribute. The paper's trees
and its 15,000 rows are unknown, so its figures are a reference. On two cores about ten minutes; needs Adult.
"""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import record
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from pymoo.optimize import minimize
from scipy import stats
from tables import crossover_problem

from pymoo_anon.algorithms import GENITOR
from pymoo_anon.operators import ClosestValidRepair, PerAttributeBitMutation, ReducedSurrogateCrossover

POPULATIONS = (200, 500, 1000)
TRIALS = 15
EVALUATIONS = 30_000
GRID = np.arange(1000, EVALUATIONS + 1, 1000)
EARLY = 5000
COLOURS = {
    "NEW": "#0072B2",
    "TRAD": "#D55E00",
    "NEW, duplicates": "#009E73",
    "TRAD, mutation 0.001": "#CC79A7",
    "NEW, bit mutation": "#56B4E9",
}


def trad(pop_size: int, rate: float) -> GENITOR:
    return GENITOR(
        pop_size,
        crossover=ReducedSurrogateCrossover(),
        mutation=PerAttributeBitMutation(rate),
        repair=ClosestValidRepair(),
    )


VARIANTS = {
    "NEW": GENITOR,
    "TRAD": lambda pop_size: trad(pop_size, 1 / 92),
    "NEW, duplicates": lambda pop_size: GENITOR(pop_size, eliminate_duplicates=False),
    "TRAD, mutation 0.001": lambda pop_size: trad(pop_size, 0.001),
    "NEW, bit mutation": lambda pop_size: GENITOR(
        pop_size, mutation=PerAttributeBitMutation(1 / 92), repair=ClosestValidRepair()
    ),
}


def trial(task: tuple[str, int, int]) -> dict:
    """One run: its best loss after every 1,000 evaluations."""
    variant, pop_size, seed = task
    problem = crossover_problem()
    seen: list[tuple[int, float]] = []

    def note(algorithm: GENITOR) -> None:
        seen.append((algorithm.evaluator.n_eval, float(algorithm.opt[0].F[0])))

    began = time.perf_counter()
    res = minimize(problem, VARIANTS[variant](pop_size), ("n_eval", EVALUATIONS), seed=seed, callback=note)
    evaluations, best = map(np.array, zip(*seen, strict=True))
    return {
        "variant": variant,
        "population": pop_size,
        "seed": seed,
        "loss": float(res.F[0]),
        "curve": best[np.searchsorted(evaluations, GRID, side="right") - 1].tolist(),
        "distinct": problem.n_unique,
        "seconds": time.perf_counter() - began,
    }


class Trials:
    """All runs, by variant and population."""

    def __init__(self, runs: list[dict]) -> None:
        self.runs = runs

    def of(self, variant: str, population: int) -> list[dict]:
        return [run for run in self.runs if (run["variant"], run["population"]) == (variant, population)]

    def losses(self, variant: str, population: int) -> np.ndarray:
        return np.array([run["loss"] for run in self.of(variant, population)])

    def curves(self, variant: str, population: int) -> np.ndarray:
        return np.array([run["curve"] for run in self.of(variant, population)])

    def early(self, variant: str, population: int) -> np.ndarray:
        return self.curves(variant, population)[:, GRID == EARLY][:, 0]


def draw(trials: Trials, variants: tuple[str, ...], name: str) -> None:
    """Convergence for every population, and box plots of the best losses."""
    figure = Figure(figsize=(14, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    *axes, boxes = figure.subplots(1, 4, sharey=True, width_ratios=[1, 1, 1, 1.3])
    for axis, population in zip(axes, POPULATIONS, strict=True):
        for variant in variants:
            curves = trials.curves(variant, population) / 1000
            axis.plot(GRID / 1000, curves.mean(axis=0), color=COLOURS[variant], label=variant)
            axis.fill_between(GRID / 1000, curves.min(axis=0), curves.max(axis=0), color=COLOURS[variant], alpha=0.15)
        axis.set_title(f"population {population:,}")
        axis.set_xlabel("evaluations (thousands)")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("general loss (thousands, lower is better)")
    axes[0].legend()
    ticks = []
    for place, population in enumerate(POPULATIONS):
        for offset, variant in enumerate(variants):
            box = boxes.boxplot(
                trials.losses(variant, population) / 1000,
                positions=[place * (len(variants) + 1) + offset],
                widths=0.7,
                patch_artist=True,
                medianprops={"color": "black"},
            )
            box["boxes"][0].set_facecolor(COLOURS[variant])
        ticks.append(place * (len(variants) + 1) + (len(variants) - 1) / 2)
    boxes.set_xticks(ticks, [f"{population:,}" for population in POPULATIONS])
    boxes.set_xlabel("population")
    boxes.set_title(f"best of {TRIALS} trials each")
    boxes.grid(alpha=0.3, axis="y")
    low = min(run["loss"] for run in trials.runs) / 1000
    high = max(trials.curves(v, p)[:, 1].mean() for v in variants for p in POPULATIONS) / 1000
    axes[0].set_ylim(low - 0.03 * (high - low), high)
    figure.savefig(record.RESULTS / f"lunacek2006_{name}.png", dpi=110)


def lower(a: np.ndarray, b: np.ndarray) -> tuple[bool, str]:
    """Whether the losses of a are lower than those of b, by a one-sided rank-sum test."""
    p = stats.mannwhitneyu(a, b, alternative="less").pvalue
    return p < 0.05, f"{a.mean():,.0f} against {b.mean():,.0f} (p {p:.2g})"


def claims(trials: Trials) -> list[list[str]]:
    """One line per claim of the paper: whether it holds here at every population, and the figures."""
    rows = []

    def add(claim: str, found: list[tuple[bool, str]], names: tuple = POPULATIONS) -> None:
        holds = [ok for ok, _ in found]
        verdict = "holds" if all(holds) else "does not hold" if not any(holds) else "holds in part"
        shown = "; ".join(
            f"{name:,}: {text}" if isinstance(name, int) else f"{name}{text}"
            for name, (_, text) in zip(names, found, strict=True)
        )
        rows.append([claim, verdict, shown])

    for variant, rival in (("NEW", "TRAD"), ("NEW", "TRAD, mutation 0.001"), ("NEW, bit mutation", "TRAD")):
        add(
            f"{variant} reaches lower loss than {rival}",
            [lower(trials.losses(variant, p), trials.losses(rival, p)) for p in POPULATIONS],
        )
        add(
            f"{variant} converges faster than {rival}: loss after {EARLY:,} evaluations",
            [lower(trials.early(variant, p), trials.early(rival, p)) for p in POPULATIONS],
        )
        spread = []
        for p in POPULATIONS:
            a, b = trials.losses(variant, p), trials.losses(rival, p)
            test = stats.levene(a, b, center="median").pvalue
            text = f"sd {a.std():,.0f} against {b.std():,.0f} (p {test:.2g})"
            spread.append((bool(a.std() < b.std() and test < 0.05), text))
        add(f"{variant} varies less from trial to trial than {rival}", spread)
    for variant in ("NEW", "TRAD", "NEW, bit mutation"):
        groups = [trials.losses(variant, p) for p in POPULATIONS]
        test = stats.kruskal(*groups).pvalue
        medians = ", ".join(f"{np.median(g):,.0f}" for g in groups)
        add(
            f"{variant}'s result does not depend on the population",
            [(test > 0.05, f"medians {medians} (p {test:.2g})")],
            ("",),
        )
    means = [trials.early("NEW", p).mean() for p in POPULATIONS]
    text = ", ".join(f"{m:,.0f}" for m in means)
    add(
        f"larger populations converge more slowly: NEW's loss after {EARLY:,} evaluations grows",
        [(means == sorted(means), text)],
        ("",),
    )
    add(
        "NEW is better without duplicates than with them",
        [lower(trials.losses("NEW", p), trials.losses("NEW, duplicates", p)) for p in POPULATIONS],
    )
    add(
        f"NEW converges faster without duplicates: loss after {EARLY:,} evaluations",
        [lower(trials.early("NEW", p), trials.early("NEW, duplicates", p)) for p in POPULATIONS],
    )
    means = [trials.losses("NEW, duplicates", p).mean() for p in POPULATIONS]
    text = ", ".join(f"{m:,.0f}" for m in means)
    add(
        "with duplicates, smaller populations end in greater loss",
        [(means == sorted(means, reverse=True), text)],
        ("",),
    )
    return rows


def report(trials: Trials, minutes: float) -> None:
    """Figures, tables and claims."""
    problem = crossover_problem()
    record.RESULTS.mkdir(exist_ok=True)
    draw(trials, ("NEW", "TRAD", "TRAD, mutation 0.001", "NEW, bit mutation"), "figure4")
    draw(trials, ("NEW", "NEW, duplicates"), "figure5")

    summary = []
    for variant in VARIANTS:
        for p in POPULATIONS:
            losses, runs = trials.losses(variant, p), trials.of(variant, p)
            summary.append(
                [
                    variant,
                    f"{p:,}",
                    f"{losses.min():,.0f}",
                    f"{np.median(losses):,.0f}",
                    f"{losses.mean():,.0f}",
                    f"{losses.std():,.0f}",
                    f"{np.mean([run['distinct'] for run in runs]):,.0f}",
                    f"{np.median([run['seconds'] for run in runs]):.1f}",
                ]
            )
    text = "\n\n".join(
        [
            f"{TRIALS} trials of {EVALUATIONS:,} evaluations each; {record.line(record.machine())}.",
            f"Strings of {problem.n_var} bits, as in the paper; {problem.n_strings:,} of them valid, which is "
            f"2^{np.log2(float(problem.n_strings)):.0f} (the paper, with trees of its own: 2^42). All trials of both "
            f"figures took {minutes:.1f} minutes on two cores.",
            record.markdown(
                ["operator", "population", "best", "median", "mean", "sd", "distinct strings", "seconds a trial"],
                summary,
            ),
            "What the paper finds, and what is found here (general loss, lower is better; one-sided rank-sum tests):",
            record.markdown(["claim", "here", "by population"], claims(trials)),
        ]
    )
    figures = {"machine": record.machine(), "minutes": minutes, "n_strings": problem.n_strings, "runs": trials.runs}
    record.write("lunacek2006", figures, text)


def main() -> None:
    tasks = [(variant, p, seed) for p in POPULATIONS for variant in VARIANTS for seed in range(1, TRIALS + 1)]
    trial(("TRAD", 200, 0))  # compiles, so that the two processes do not both
    began = time.perf_counter()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        trials = Trials(list(pool.map(trial, tasks)))
    minutes = (time.perf_counter() - began) / 60
    report(trials, minutes)


if __name__ == "__main__":
    main()
