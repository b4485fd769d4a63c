"""Figures 1 to 4 of Dewri et al. 2009 (privacy bias preferences), and a line for each claim of the paper.

    python -m benchmarks.papers.dewri2009_preferences

NSGA-II with the paper's selection rule on Adult's 105 bits: population 100, 50,000 evaluations, single-point crossover
at 0.8, bit mutation at 0.001; 10 seeds each. The paper does not print its weight vectors; those below follow what its
text says of them. A claim holds, holds in part or does not by the cases that are named with it; tests are at 5 %. On
two cores about three minutes; needs Adult.
"""

from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pymoo.optimize import minimize
from scipy import stats

from benchmarks import record
from benchmarks.tables import preference_table
from pymoo_anon.algorithms import PreferenceNSGA2
from pymoo_anon.objectives import KAnonymity
from pymoo_anon.problems import BitStringProblem, PreferredPoint
from pymoo_anon.visualization.fronts import COLOURS, new_figure

COLOUR, MARKED, LIGHT = "#0072B2", "#D55E00", "#D9D9D9"

SEEDS = range(1, 11)
KS = (2, 5, 10, 25, 50, 100)
POPULATIONS = (100, 250, 500)
BIASES = (1.0, 0.5, 0.2, 0.1, 0.05, 0.02)
# Of age, work class, education, marital status, occupation, race, gender, native country and salary class. wv2 and wv5
# weigh native country more, as the paper says of its own; wv3 and wv4 put most of the weight elsewhere.
WEIGHTS = {
    "wv1": (1 / 9,) * 9,
    "wv2": (0.2, 0.05, 0.15, 0.05, 0.15, 0.05, 0.05, 0.25, 0.05),
    "wv3": (0.1, 0.1, 0.4, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05),
    "wv4": (0.05, 0.05, 0.05, 0.25, 0.05, 0.25, 0.2, 0.05, 0.05),
    "wv5": (0.3, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.35, 0.05),
}
COUNTRY = "native-country"
#: Vectors that weigh native country more, and vectors in which age has no more than an equal weight.
OF_COUNTRY = ("wv2", "wv5")
NOT_OF_AGE = ("wv1", "wv3", "wv4")
FAR, NEAR = (0.2, 1.0), (0.2, 0.1)

adult = cache(preference_table)
said = record.said_by("dewri2009_preferences")

#: By kind of experiment and its value: k_pref, preferred point, weights and population.
EXPERIMENTS: dict[tuple[str, Any], tuple] = {
    **{("k", k): (k, FAR, None, 100) for k in KS},
    **{("population", p): (5, FAR, None, p) for p in POPULATIONS},
    **{("weights", name): (5, NEAR, weights, 100) for name, weights in WEIGHTS.items()},
    **{("bias", bias): (5, (0.2, bias), WEIGHTS["wv2"], 100) for bias in BIASES},
}


class Found:
    """All runs, by experiment, and as frames with a row per seed."""

    def __init__(self, runs: dict[tuple, dict]) -> None:
        self.runs = {one: [runs[(*task, seed)] for seed in SEEDS] for one, task in EXPERIMENTS.items()}
        self.frames = {one: flat(own) for one, own in self.runs.items()}
        self.distinct = list(runs.values())

    def column(self, kind: str, name: str) -> dict[Any, np.ndarray]:
        """Return one figure of all seeds, by value of one kind of experiment."""
        return {value: frame[name].to_numpy() for (one, value), frame in self.frames.items() if one == kind}


def flat(runs: Iterable[dict]) -> pd.DataFrame:
    return pd.DataFrame([{**one, **one["pick"]} for one in runs]).drop(columns=["pick", "shown"])


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
    canvas = new_figure(4.4 * columns, 3.6 * rows)
    axes = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axis, (title, one) in zip(axes[: len(panels)], panels, strict=True):
        panel(axis, one)
        axis.set_title(title)
    axes[0].legend()
    save(canvas, name)


def weights_figure(found: Found) -> None:
    """Draw a row per weight vector: solutions of one seed, groups over all seeds."""
    domains = {name: hierarchy.n_values for name, hierarchy in adult().quasi_identifiers.items()}
    canvas = new_figure(13, 3.1 * len(WEIGHTS))
    axes = canvas.subplots(len(WEIGHTS), 2, width_ratios=[1, 2.2])
    places = np.arange(len(domains))
    for (solutions, groups), (name, weights) in zip(axes, WEIGHTS.items(), strict=True):
        panel(solutions, found.runs["weights", name][0])
        solutions.set(title=f"{name}, first seed", xlim=(-0.05, 1.05), ylim=(-0.02, 0.42))
        own = found.frames["weights", name][list(domains)]
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
    canvas = new_figure(7, 5)
    axis = canvas.subplots()
    for bias, colour in zip(BIASES, COLOURS, strict=True):
        pick = found.runs["bias", bias][0]["pick"]
        axis.scatter(0.2, bias, s=60, color=colour, label=f"preferred NECD {bias}")
        axis.scatter(pick["NWP"], pick["NECD"], s=60, facecolors="none", edgecolors=colour, linewidths=2)
        axis.annotate(f"k = {pick['k']:.0f}", (pick["NWP"], pick["NECD"]), xytext=(7, 5), textcoords="offset points")
    axis.set(xlabel="NWP (lower is better)", ylabel="NECD (lower is better)", yscale="log")
    axis.set_title("solid: preferred point, hollow: reported solution (k_pref = 5, wv2)")
    axis.grid(alpha=0.3)
    axis.legend()
    save(canvas, "figure4")


def summary(found: Found) -> str:
    columns = {
        "experiment": "{name}",
        "k": "{k:.1f}",
        **{name: f"{{{name}:.3f}}" for name in ("NWP", "NECD")},
        "ach": "{achievement:.3f}",
        "deviation": "{deviation:.3f}",
        "unique solutions": "{unique:.0f}",
        "seconds": "{median:.1f}",
    }
    rows = []
    for (kind, value), frame in found.frames.items():
        told = frame.mean(numeric_only=True).to_dict()
        rows.append({**told, "name": f"{kind} {value}", "median": frame["seconds"].median()})
    return record.table(columns, rows)


def means(of: dict[Any, np.ndarray], form: str) -> str:
    return ", ".join(f"{value}: {values.mean():{form}}" for value, values in of.items())


def steps(of: dict[Any, np.ndarray], down: bool = False) -> list[bool]:
    """Return for each value whether the next mean rises or falls."""
    averages = [values.mean() for values in of.values()]
    return [(after <= before) if down else (after >= before) for before, after in pairwise(averages)]


def rank(of: dict[Any, np.ndarray]) -> tuple[float, float, str]:
    """Spearman's correlation of a figure with the value of the experiment, and its test."""
    n = len(next(iter(of.values())))
    test = stats.spearmanr(np.repeat(list(of), n), np.concatenate(list(of.values())))
    return test.statistic, test.pvalue, f"rank correlation {test.statistic:.2f}, p {test.pvalue:.2g}"


def of_efficiency(found: Found) -> list[dict[str, str]]:
    """Check the claims of sections 4 and 6 on the reported solutions."""
    everything = flat(found.distinct)
    bits = sum(hierarchy.n_values - 1 for hierarchy in adult().quasi_identifiers.values())
    deviations = found.frames["k", 5]["deviation"]
    spread = f"deviation at k_pref = 5 from {deviations.min():.3f} to {deviations.max():.3f} over {len(SEEDS)} seeds"
    alone = everything["minima"] == 1
    return [
        said("bits", f"{bits}", [bits == 105]),
        said("seeds", spread, [deviations.std() < 0.01]),
        said("efficient", f"{everything['efficient'].mean():.0%} of all runs", everything["efficient"].tolist()),
        said("unique", f"{alone.mean():.0%} of all runs", alone.tolist()),
    ]


def of_privacy(found: Found) -> list[dict[str, str]]:
    """Check the claims of section 6.1 on k_pref."""
    feasible, ks, losses = (found.column("k", name) for name in ("feasible", "k", "NWP"))
    above = {k: (values > k).mean() for k, values in ks.items()}
    shares = "share of the runs " + ", ".join(f"{k}: {share:.0%}" for k, share in above.items())
    near = {k: ks[k] for k in (2, 5, 10)}
    return [
        said("feasible", f"{means(feasible, '.0f')}; {rank(feasible)[2]}", steps(feasible, down=True)),
        said("close", f"mean k {means(near, '.1f')}", [bool(np.median(of) <= 1.5 * k) for k, of in near.items()]),
        said("above", shares, [above[k] > 0.5 for k in KS[3:]]),
        said("found", shares, [share > 0 for share in above.values()]),
        said("privacy", means(losses, ".3f"), steps(losses)),
    ]


def of_populations(found: Found) -> list[dict[str, str]]:
    """Section 6.2."""
    deviations, unique, ks = (found.column("population", name) for name in ("deviation", "unique", "k"))
    test = stats.kruskal(*deviations.values()).pvalue
    correlation, p, text = rank(unique)
    duplicates = {size: size - values for size, values in unique.items()}
    told = f"{means(deviations, '.3f')} (Kruskal and Wallis, p {test:.2g}); k {means(ks, '.1f')}"
    return [
        said("deviation", told, [test > 0.05]),
        said("population", f"{means(unique, '.0f')} ({text})", [not (correlation > 0 and p < 0.05)]),
        said("duplicates", means(duplicates, ".0f"), steps(duplicates)),
    ]


def of_weights(found: Found) -> list[dict[str, str]]:
    """Check the claims of section 6.3 on weights in general."""
    frames = {name: found.frames["weights", name] for name in WEIGHTS}
    others = pd.concat([one for name, one in frames.items() if name != "wv1"])
    equal = [stats.mannwhitneyu(frames["wv1"][m], others[m], alternative="greater").pvalue for m in ("NWP", "NECD")]
    names = list(adult().quasi_identifiers)
    pairs = [(w, m) for v in list(WEIGHTS)[1:] for w, m in zip(WEIGHTS[v], frames[v][names].mean(), strict=True)]
    correlation = stats.spearmanr(*zip(*pairs, strict=True))
    measured = [
        f"{m} {frames['wv1'][m].mean():.3f} against {others[m].mean():.3f} (p {p:.2g})"
        for m, p in zip(("NWP", "NECD"), equal, strict=True)
    ]
    told = f"rank correlation {correlation.statistic:.2f} (p {correlation.pvalue:.2g})"
    return [
        said("equal weights", ", ".join(measured), [p < 0.05 for p in equal]),
        said("weights", told, [bool(correlation.statistic > 0 and correlation.pvalue < 0.05)]),
    ]


def of_attributes(found: Found) -> list[dict[str, str]]:
    """Check the claims of section 6.3 on native country, age and the fourth vector."""
    frames = {name: found.frames["weights", name] for name in WEIGHTS}
    country = {name: one[COUNTRY].to_numpy() for name, one in frames.items()}
    single = {name: (groups == 1).mean() for name, groups in country.items() if name not in OF_COUNTRY}
    more = np.concatenate([country[name] for name in OF_COUNTRY])
    weighed = {name: stats.mannwhitneyu(more, country[name], alternative="greater").pvalue for name in single}
    domains = {name: hierarchy.n_values for name, hierarchy in adult().quasi_identifiers.items()}
    kept = {vector: (one[list(domains)].mean() - 1) / (pd.Series(domains) - 1) for vector, one in frames.items()}
    age = {vector: (kept[vector]["age"], kept[vector].drop("age").mean()) for vector in NOT_OF_AGE}
    fourth = frames["wv4"]["k"]
    shares = "share of the runs " + ", ".join(f"{name}: {share:.0%}" for name, share in single.items())
    tests = ", ".join(f"{name}: p {p:.2g}" for name, p in weighed.items())
    cuts = ", ".join(f"{name}: {a:.0%} and {b:.0%}" for name, (a, b) in age.items())
    groups = means({name: one["age"] for name, one in frames.items()}, ".1f")
    return [
        said("country", shares, [bool(share > 0.5) for share in single.values()]),
        said(
            "country, weights",
            f"groups of 41 values {means(country, '.1f')} (rank-sum tests, {tests})",
            [p < 0.05 for p in weighed.values()],
        ),
        said(
            "age",
            f"share of the cuts kept by age and by the others {cuts}; groups of 20 values {groups}",
            [bool(a > b) for a, b in age.values()],
        ),
        said(
            "fourth", "k of ten seeds " + ", ".join(f"{k:.0f}" for k in sorted(fourth)), [bool(np.median(fourth) > 5)]
        ),
    ]


def of_bias(found: Found) -> list[dict[str, str]]:
    """Section 6.4."""
    ks, losses, dispersions = (found.column("bias", name) for name in ("k", "NWP", "NECD"))
    correlation, p, text = rank(ks)
    least = min(values.min() for values in losses.values())
    within = {bias: (values <= 0.2).mean() for bias, values in losses.items()}
    loss, loss_p, loss_text = rank(losses)
    bias, bias_p, bias_text = rank(dispersions)
    exact, weak = (ks[1.0] == 5).mean(), ", a weak one" if abs(correlation) < 0.3 else ""
    met = f"{np.mean(list(within.values())):.0%} of the runs; the least NWP is {least:.3f}"
    return [
        said("any bias", f"{exact:.0%} of the runs, mean k {ks[1.0].mean():.1f}", [bool(exact > 0.5)]),
        said("bias, k", f"mean k {means(ks, '.1f')}; {text}{weak}", [bool(correlation < 0 and p < 0.05), *steps(ks)]),
        said("bias, loss", f"{means(losses, '.3f')}; {loss_text}", [bool(loss < 0 and loss_p < 0.05), *steps(losses)]),
        said(
            "bias",
            f"{means(dispersions, '.3f')}; {bias_text}",
            [bool(bias > 0 and bias_p < 0.05), *steps(dispersions, down=True)],
        ),
        said("met", met, [bool(share > 0.5) for share in within.values()]),
    ]


CLAIMS = (of_efficiency, of_privacy, of_populations, of_weights, of_attributes, of_bias)


def report(found: Found) -> None:
    figure("figure1", [(f"k_pref = {k}", found.runs["k", k][0]) for k in KS])
    figure("figure2", [(f"population {p}", found.runs["population", p][0]) for p in POPULATIONS])
    weights_figure(found)
    bias_figure(found)
    names = list(adult().quasi_identifiers)
    groups = [[name, *(f"{mean:.1f}" for mean in found.frames["weights", name][names].mean())] for name in WEIGHTS]
    claims = [claim for part in CLAIMS for claim in part(found)]
    machines = "; ".join(sorted({one["machine"] for one in found.distinct}))
    runs = [{k: v for k, v in one.items() if k != "shown"} for one in found.distinct]
    record.write(
        "dewri2009_preferences",
        {"claims": claims, "runs": runs},
        n_seeds=len(SEEDS),
        machines=machines,
        summary=summary(found),
        groups=record.markdown(["weights", *names], groups),
        claims=record.claims_table(claims),
    )


def main() -> None:
    # Experiments share runs: k_pref = 5 is the population of 100, wv2 the bias preference of 0.1.
    tasks = list(dict.fromkeys((*task, seed) for task in EXPERIMENTS.values() for seed in SEEDS))
    run((5, FAR, None, 20, 0))  # compiles, so that the processes do not all
    with record.processes() as pool:
        runs = list(pool.map(run, tasks))
    machine = record.line()
    report(Found({task: {**one, "machine": machine} for task, one in zip(tasks, runs, strict=True)}))


if __name__ == "__main__":
    main()
