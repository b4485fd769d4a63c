"""Lunacek et al. 2006: Figures 4 and 5, a line for each claim, and the study beside the proven optimum.

    python -m benchmarks.papers.lunacek2006 [--parts trials iyengar starts proof fronts preferences] [--again]

GENITOR on Adult's bit strings, 15 trials of 30,000 evaluations with populations of 200, 500 and 1,000. TRAD is
two-point reduced surrogate crossover, bit mutation and the nearest valid string. NEW is constraint-preserving
crossover, with "crossover on a random individual as a way of introducing diversity" (section 3.2). The paper does not
say whether that replaces bit mutation, so both readings are run:

- NEW in place: immigrants in the place of mutation. Strings stay valid.
- NEW beside: immigrants, then TRAD's bit mutation and repair.

Both also run with duplicates. The paper gives no rates: one bit of a string mutates on average (1/92 for each bit), and
one child in ten meets an immigrant. Its trees and its 15,000 rows are unknown, so its figures are a reference. A claim
is looked at for every population: it holds where the difference is significant at 5 %.

The parts, of which the runs that the results hold already are not run again unless asked for:

- trials: the paper's, twenty minutes of one core and half of that on two.
- iyengar: Iyengar's population of 5,000, with more evaluations; five minutes of one core.
- starts: pair-exact local search from 100 random strings; ten seconds.
- proof: the least loss of all strings, by branch and bound; two minutes.
- fronts: k and loss over the paper's strings, by branch and bound, pairs, NSGA-II and GENITOR; fifteen minutes at most.
- preferences: the same over the 105 bits of Dewri et al. 2009.

Needs Adult.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks import record
from benchmarks.papers.lunacek2006_optimum import TABLES, THRESHOLDS, draw_fronts, second_half
from benchmarks.papers.lunacek2006_runs import RATE, run
from benchmarks.tables import crossover_problem
from pymoo_anon.operators import PartitionCrossover, PerAttributeBitMutation, ReducedSurrogateCrossover
from pymoo_anon.problems import BitStringProblem
from pymoo_anon.table import Taxonomy
from pymoo_anon.visualization.fronts import new_figure

POPULATIONS = (200, 500, 1000)
TRIALS = 15
EVALUATIONS = 30_000
GRID = np.arange(1000, EVALUATIONS + 1, 1000)
EARLY = (5000, 10_000)
NEAR = 1.002
READINGS = ("NEW beside", "NEW in place")

STRINGS = 10_000
COLOURS = {
    "NEW beside": "#0072B2",
    "NEW in place": "#56B4E9",
    "TRAD": "#D55E00",
    "NEW beside, duplicates": "#009E73",
    "NEW in place, duplicates": "#CC79A7",
}
#: Iyengar's population, and our settings: the paper states only the population (section 5).
IYENGAR = 5000
IYENGAR_TRIALS = 3
IYENGAR_EVALUATIONS = 100_000

#: Walks along the front of the pair-exact local search; a proof of a front is stopped after so many seconds.
WALKS = 4
PROOF_SECONDS = 300

#: By part of the study, its runs: the name of one of `lunacek2006_runs` and its arguments.
PARTS: dict[str, list[list[Any]]] = {
    "trials": [
        ["trial", variant, p, seed, EVALUATIONS]
        for p in POPULATIONS
        for variant in COLOURS
        for seed in range(1, TRIALS + 1)
    ],
    "iyengar": [
        ["trial", variant, IYENGAR, seed, IYENGAR_EVALUATIONS]
        for variant in ("NEW beside", "TRAD")
        for seed in range(1, IYENGAR_TRIALS + 1)
    ],
    "starts": [["starts"]],
    "proof": [["proof"]],
    **{
        part: [
            ["front", table, "BitStringLocalSearch", WALKS],
            ["front", table, "NSGA-II", EVALUATIONS],
            *(["least", table, k, EVALUATIONS] for k in THRESHOLDS),
            ["front", table, "BranchAndBound", PROOF_SECONDS],
        ]
        for part, (table, _) in TABLES.items()
    },
}
#: Nodes of the packaged tree of countries that hold all of them.
REGIONS = ("North America", "Central America", "Caribbean", "South America", "Europe", "Asia")

said = record.said_by("lunacek2006")

Found = Sequence[tuple[bool, str]]


class Trials:
    """All runs, by variant and population."""

    def __init__(self, runs: list[dict]) -> None:
        self.runs = pd.DataFrame(runs).set_index(["variant", "population"])

    def losses(self, *of: Any) -> np.ndarray:
        """Return the losses of a variant, or of a variant and a population."""
        return self.runs["loss"].loc[of].to_numpy()

    def curves(self, *of: Any) -> np.ndarray:
        """Return the losses after every 1,000 evaluations of a variant and a population, a row a trial."""
        return np.array(self.runs["curve"].loc[of].tolist(), dtype=float)

    def after(self, evaluations: int, *of: Any) -> np.ndarray:
        return self.curves(*of)[:, evaluations == GRID][:, 0]

    def machines(self) -> str:
        made = self.runs.reset_index().groupby("machine", sort=False)["variant"].unique()
        told = [machine if len(made) == 1 else f"{'; '.join(of)} on {machine}" for machine, of in made.items()]
        return ". ".join(told)

    def near(self, variant: str) -> int:
        """Count the trials that end near the lowest loss of all trials."""
        return int((self.losses(variant) <= NEAR * self.runs["loss"].min()).sum())


def lower(a: np.ndarray, b: np.ndarray) -> tuple[bool, str]:
    """Test whether losses of a are lower than those of b (one-sided rank sum)."""
    p = stats.mannwhitneyu(a, b, alternative="less").pvalue
    return p < 0.05, f"{a.mean():,.0f} against {b.mean():,.0f} (p {p:.2g})"


def narrower(a: np.ndarray, b: np.ndarray) -> tuple[bool, str]:
    """Test whether losses of a vary less than those of b (Levene)."""
    p = stats.levene(a, b, center="median").pvalue
    return bool(a.std() < b.std() and p < 0.05), f"sd {a.std():,.0f} against {b.std():,.0f} (p {p:.2g})"


def equal(groups: Sequence[np.ndarray]) -> tuple[bool, str]:
    """Test for no difference between groups of losses (Kruskal and Wallis)."""
    p = stats.kruskal(*groups).pvalue
    return p > 0.05, f"medians {', '.join(f'{np.median(g):,.0f}' for g in groups)} (p {p:.2g})"


def ordered(means: Sequence[float], reverse: bool = False) -> tuple[bool, str]:
    """Return whether means rise or fall from population to population."""
    return list(means) == sorted(means, reverse=reverse), ", ".join(f"{mean:,.0f}" for mean in means)


def by_population(test: Callable[[int], tuple[bool, str]]) -> Found:
    """Return a test at every population."""
    return [(holds, f"{p:,}: {text}") for p in POPULATIONS for holds, text in [test(p)]]


def told(key: str, *found: tuple[bool, str], **names: Any) -> dict[str, str]:
    """Return a claim of section 4, looked at in several cases."""
    return said(key, "; ".join(text for _, text in found), [holds for holds, _ in found], **names)


def against_trad(trials: Trials, new: str) -> list[dict[str, str]]:
    """Check the claims on NEW and TRAD, for one reading of NEW."""

    def each(test: Callable[..., tuple[bool, str]]) -> Found:
        return by_population(lambda p: test(trials.losses(new, p), trials.losses("TRAD", p)))

    ours, theirs, n = trials.near(new), trials.near("TRAD"), len(POPULATIONS) * TRIALS
    p = stats.fisher_exact([[ours, n - ours], [theirs, n - theirs]], alternative="greater").pvalue
    text = f"within {NEAR - 1:.1%} of the lowest loss found: {ours} of {n} trials against {theirs} of {n} (p {p:.2g})"
    rows = [
        told("lower", *each(lower), new=new),
        told("lower, together", lower(trials.losses(new), trials.losses("TRAD")), new=new),
        told("narrower", *each(narrower), new=new),
        told("same", (p < 0.05, text), new=new),
    ]
    for n in EARLY:
        early = by_population(lambda p, n=n: lower(trials.after(n, new, p), trials.after(n, "TRAD", p)))
        rows.append(told("faster", *early, new=new, n=n))
    return rows


def of_populations(trials: Trials, variant: str) -> list[dict[str, str]]:
    """Check the claims on the size of the population."""
    early = [trials.after(EARLY[0], variant, p).mean() for p in POPULATIONS]
    return [
        told("population", equal([trials.losses(variant, p) for p in POPULATIONS]), new=variant),
        told("slower", ordered(early), new=variant, n=EARLY[0]),
    ]


def of_duplicates(trials: Trials, new: str) -> list[dict[str, str]]:
    """Check the claims on duplicates, for one reading of NEW."""
    other, names = f"{new}, duplicates", {"new": new, "n": EARLY[0]}
    ended = by_population(lambda p: lower(trials.losses(new, p), trials.losses(other, p)))
    early = by_population(lambda p: lower(trials.after(EARLY[0], new, p), trials.after(EARLY[0], other, p)))
    means = [trials.losses(other, p).mean() for p in POPULATIONS]
    early_means = [trials.after(EARLY[0], other, p).mean() for p in POPULATIONS]
    return [
        told("duplicates", *ended, **names),
        told("duplicates, faster", *early, **names),
        told("duplicates, smaller", ordered(means, reverse=True), **names),
        told("duplicates, early", ordered(early_means), **names),
    ]


def draw(trials: Trials, variants: tuple[str, ...], name: str) -> None:
    """Convergence for every population, and box plots of the best losses."""
    figure = new_figure(14, 4.2)
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
    places = np.arange(len(POPULATIONS)) * (len(variants) + 1)
    for offset, variant in enumerate(variants):
        losses = [trials.losses(variant, population) / 1000 for population in POPULATIONS]
        look = {"widths": 0.7, "patch_artist": True, "medianprops": {"color": "black"}}
        for box in boxes.boxplot(losses, positions=places + offset, **look)["boxes"]:
            box.set_facecolor(COLOURS[variant])
    boxes.set_xticks(places + (len(variants) - 1) / 2, [f"{population:,}" for population in POPULATIONS])
    boxes.set_xlabel("population")
    boxes.set_title(f"best of {TRIALS} trials each")
    boxes.grid(alpha=0.3, axis="y")
    low = trials.runs["loss"].min() / 1000
    high = max(trials.curves(v, p)[:, 1].mean() for v in variants for p in POPULATIONS) / 1000
    axes[0].set_ylim(low - 0.03 * (high - low), high)
    figure.savefig(record.RESULTS / f"lunacek2006_{name}.png", dpi=110)


def country_trees(packaged: Taxonomy) -> dict[str, Taxonomy]:
    """Return the packaged tree of countries, and flatter ones over the same leaves."""
    leaves = [{"name": leaf} for leaf in packaged.leaves]
    of_leaves = [next(name for name in names if name in REGIONS) for names in zip(*packaged.levels(), strict=True)]
    regions = [
        {"name": region, "children": [leaf for leaf, own in zip(leaves, of_leaves, strict=True) if own == region]}
        for region in REGIONS
    ]
    return {
        "packaged, five levels": packaged,
        "one level of six regions": Taxonomy({"name": packaged.name, "children": regions}),
        "flat, no regions": Taxonomy({"name": packaged.name, "children": leaves}),
    }


def search_space(problem: BitStringProblem) -> tuple[list[list[str]], list[dict[str, str]]]:
    """Return valid strings by tree of countries, with the paper's numbers."""
    trees = country_trees(problem.taxonomies["native-country"])
    without = problem.n_strings // problem.taxonomies["native-country"].n_cuts
    sizes = {name: without * tree.n_cuts for name, tree in trees.items()}
    rows = [[name, f"{trees[name].n_cuts:,}", f"{n:,}", f"2^{np.log2(float(n)):.1f}"] for name, n in sizes.items()]
    free = problem.n_var - sum(tree.n_bits for tree in problem.taxonomies.values())
    work = problem.taxonomies["workclass"]
    powers = [np.log2(float(n)) for n in sizes.values()]
    shown = "; ".join(f"{name}: 2^{power:.1f}" for name, power in zip(sizes, powers, strict=True))
    claims = [
        said("work class", f"{work.n_cuts}", [work.n_cuts == 9]),
        said("bits", f"{problem.n_var}, {free}", [problem.n_var == 92, free == 24]),
        said("strings", shown, [round(power) == 42 for power in powers]),
    ]
    return rows, claims


def of_validity(problem: BitStringProblem) -> list[dict[str, str]]:
    """Check the claims of section 3.2 on random valid strings."""
    rng = np.random.default_rng(1)
    parents = np.stack([problem.sample(STRINGS, rng), problem.sample(STRINGS, rng)])
    ours = PartitionCrossover()._do(problem, parents, random_state=rng).reshape(-1, problem.n_var)
    theirs = ReducedSurrogateCrossover()._do(problem, parents, random_state=rng)[0]
    theirs = PerAttributeBitMutation(RATE)._do(problem, theirs, random_state=rng)
    valid, invalid = problem.is_valid(ours), ~problem.is_valid(theirs)
    # One bit of a constrained attribute flips, and an invalid string becomes the closest valid one.
    constrained = np.concatenate([np.arange(problem.n_var)[problem.bits_of(name)] for name in problem.taxonomies])
    flipped = parents[0].copy()
    flipped[np.arange(STRINGS), rng.choice(constrained, STRINGS)] ^= True
    changed = (problem.closest(flipped, rng) != parents[0]).sum(axis=1)
    nothing, more = (changed == 0).mean(), (changed > 1).mean()
    told = f"no effect {nothing:.0%}, more than one bit {more:.0%} of {STRINGS:,}"
    return [
        said("children", f"{valid.mean():.1%} of {len(ours):,}", valid),
        said("invalid", f"{invalid.mean():.1%} of {STRINGS:,}", [bool(invalid.mean() > 0.5)]),
        said("mutation", told, [bool(nothing + more > 0.5)]),
    ]


def summary(trials: Trials) -> str:
    columns = {
        "operator": "{variant}",
        "population": "{population:,}",
        **{name: f"{{{name}:,.0f}}" for name in ("best", "median", "mean", "sd", "distinct strings")},
        "seconds a trial": "{seconds a trial:.1f}",
    }
    rows = []
    for variant, p in product(COLOURS, POPULATIONS):
        losses, runs = trials.losses(variant, p), trials.runs.loc[variant, p]
        told = {"best": losses.min(), "median": np.median(losses), "mean": losses.mean(), "sd": losses.std()}
        told |= {"distinct strings": runs["distinct"].mean(), "seconds a trial": runs["seconds"].median()}
        rows.append({"variant": variant, "population": p, **told})
    return record.table(columns, rows)


def report(found: dict[str, Any]) -> None:
    trials = Trials(found["runs"])
    problem = crossover_problem()
    draw(trials, (*READINGS, "TRAD"), "figure4")
    draw(trials, tuple(name for name in COLOURS if name != "TRAD"), "figure5")
    draw_fronts(found)
    trees, space = search_space(problem)
    claims = [*space, *of_validity(problem)]
    claims += [claim for new in READINGS for claim in against_trad(trials, new)]
    claims += [claim for variant in (*READINGS, "TRAD") for claim in of_populations(trials, variant)]
    claims += [claim for new in READINGS for claim in of_duplicates(trials, new)]
    claims.sort(key=lambda one: one["section"])
    minutes = sum(run["seconds"] for run in found["runs"]) / 60
    record.write(
        "lunacek2006",
        {**found, "minutes": minutes, "n_strings": problem.n_strings, "claims": claims},
        TRIALS=TRIALS,
        EVALUATIONS=EVALUATIONS,
        machines=trials.machines(),
        summary=summary(trials),
        n_trials=len(POPULATIONS) * TRIALS,
        near=NEAR - 1,
        ends=", ".join(f"{name} {trials.near(name)}" for name in COLOURS),
        n_bits=problem.n_var,
        trees=record.markdown(["tree of countries", "its cuts", "valid strings", "as a power"], trees),
        claims=record.claims_table(claims),
        optimum=second_half(found, list(COLOURS)),
    )


def key_of(part: str) -> str:
    return "runs" if part == "trials" else part


def keep(part: str, made: dict[str, Any]) -> None:
    """Replace an earlier run, in the order of the tasks, and write all results."""
    # Read anew, so that another part may run at the same time.
    found, name = record.stored("lunacek2006"), key_of(part)
    # Runs of other settings than those of now are not kept.
    others = [one for one in found.get(name, []) if one["task"] != made["task"] and one["task"] in PARTS[part]]
    found[name] = sorted([*others, made], key=lambda one: PARTS[part].index(one["task"]))
    path = record.RESULTS / "lunacek2006.json"
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Lunacek et al. 2006, and the proven optimum beside it.")
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS), help="what is run if it is missing")
    parser.add_argument("--again", action="store_true", help="run also what the results hold")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    found = record.stored("lunacek2006")
    for part in options.parts:
        held = [] if options.again else [one["task"] for one in found.get(key_of(part), [])]
        missing = [task for task in PARTS[part] if task not in held]
        if not missing:
            continue
        # The first alone: it compiles, so that not every process does.
        keep(part, run(missing[0]))
        with record.processes(options.processes) as pool:
            for done in as_completed([pool.submit(run, task) for task in missing[1:]]):
                keep(part, done.result())
                print(part, *done.result()["task"], flush=True)
    found = record.stored("lunacek2006")
    lacking = [part for part in PARTS if key_of(part) not in found]
    if lacking:
        print(f"The page is written once all parts were run; these were not: {', '.join(lacking)}.")
    else:
        report(found)


if __name__ == "__main__":
    main()
