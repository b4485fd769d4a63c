"""The page's second half: trials beside the proven optimum, and fronts of k and loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks import record
from benchmarks.papers.lunacek2006_claims import EVALUATIONS, GRID, POPULATIONS, Trials

TABLES = {"XO": "15,000 rows, 92 bits, four taxonomies", "PREF": "30,162 rows, 105 bits, no taxonomies"}
SHOWN = (2, 5, 10, 15, 25, 50, 100, 150, 250, 500, 1000)

#: The smallest k under which GENITOR looks for the least loss, one run each.
THRESHOLDS = (5, 15, 50, 150)

#: Losses that differ by less are the same sum in another order.
ROUNDING = 1e-6

Found = dict[str, list[dict[str, Any]]]


def of_task(found: Found, part: str, *task: Any) -> dict[str, Any] | None:
    """Return the first run with such a task, or None."""
    return next((one for one in found.get(part, []) if one["task"][: len(task)] == list(task)), None)


def best_known(found: Found, trials: Trials) -> tuple[float, bool]:
    """Return the least known loss, and whether it is proven."""
    proven = of_task(found, "proof", "proof")
    if proven is not None and proven["certified"]:
        return proven["loss"], True
    return min(run["loss"] for run in trials.runs), False


def beside(label: list[str], losses: np.ndarray, optimum: float, evaluations: int, seconds: np.ndarray) -> list[str]:
    """Write how often runs reach the optimum, their distance, and their cost."""
    above = losses / optimum - 1
    hits = int((losses <= optimum + ROUNDING).sum())
    shares = [np.median(above), above.mean(), above.max()]
    cost = [f"{evaluations * len(losses) / hits:,.0f}", f"{seconds.sum() / hits:,.1f}"] if hits else ["–", "–"]
    return [*label, f"{hits} of {len(losses)}", *(f"{share:.2%}" for share in shares), *cost]


def of_trials(found: Found, trials: Trials, variants: list[str], optimum: float) -> list[list[str]]:
    """Write a row for every operator and population, and the pair-exact local search."""
    rows = []
    for variant in variants:
        for p in POPULATIONS:
            seconds = np.array([run["seconds"] for run in trials.of(variant, p)])
            rows.append(beside([variant, f"{p:,}"], trials.losses(variant, p), optimum, EVALUATIONS, seconds))
    for variant in variants:
        runs = [run for run in found.get("iyengar", []) if run["variant"] == variant]
        if runs:
            (evaluations,) = {run["task"][-1] for run in runs}
            losses, seconds = (np.array([run[name] for run in runs]) for name in ("loss", "seconds"))
            label = [f"{variant}, {evaluations:,} evaluations", f"{runs[0]['population']:,}"]
            rows.append(beside(label, losses, optimum, evaluations, seconds))
    pairs = of_task(found, "starts", "starts")
    if pairs is not None:
        losses, seconds = np.array(pairs["losses"]), np.array(pairs["seconds"])
        # Two strings are evaluated, the start and the local optimum; the search itself reads tables.
        rows.append(beside(["pair-exact local search, one start", "–"], losses, optimum, 2, seconds))
    return rows


def of_iyengar(found: Found, trials: Trials) -> str:
    """Compare a population of 5,000 at the end of smaller ones."""
    runs = found.get("iyengar", [])
    if not runs:
        return ""
    told = []
    for variant in dict.fromkeys(run["variant"] for run in runs):
        curves = np.array([run["curve"][: len(GRID)] for run in runs if run["variant"] == variant], dtype=float)
        small = np.concatenate([trials.losses(variant, p) for p in POPULATIONS])
        told.append(f"{variant} {curves[:, -1].mean():,.0f} against {small.mean():,.0f}")
    return (
        f"Iyengar's population of {runs[0]['population']:,} is, as the paper supposes (section 5), slower than "
        f"necessary: after {EVALUATIONS:,} evaluations its mean loss is {'; '.join(told)} with the smaller ones. The "
        f"paper does not say how many evaluations he gave it; here it has {runs[0]['task'][-1]:,}."
    )


def of_proof(found: Found) -> str:
    """Write the cost of the proof and its gap over time."""
    own = of_task(found, "proof", "proof")
    if own is None:
        return ""
    if not own["certified"]:
        return f"Branch and bound was stopped after {own['seconds']:,.0f} s, without a proof."
    gaps = [f"{gap:,.0f} after {seconds:,.0f} s" for seconds, _, gap in own["gaps"] if gap > 0]
    shown = gaps[:: max(len(gaps) // 5, 1)]
    return (
        f"**{own['loss']:,.6f} is the least loss of all strings.** `BranchAndBound` proves it in "
        f"{own['seconds']:,.0f} s of one processor, {own['evaluated']:,} strings evaluated ({own['machine']}). Until "
        f"then the least loss could have been lower by {', '.join(shown)}."
    )


# Fronts of k and loss.


def curve(points: list[list[float]], k: float) -> float:
    """Return the least loss from a k on, else infinity."""
    return min((loss for own, loss in points if own >= k), default=np.inf)


def all_points(found: Found, part: str, table: str) -> dict[str, list[list[float]]]:
    """Return the points of every algorithm."""
    made = {}
    for name in ("BranchAndBound", "BitStringLocalSearch", "NSGA-II"):
        own = of_task(found, part, "front", table, name)
        if own is not None:
            made[name] = own["points"]
    runs = [of_task(found, part, "least", table, k) for k in THRESHOLDS]
    genitor = [point for own in runs if own is not None for point in own["points"]]
    return made | ({"GENITOR": genitor} if genitor else {})


def of_front(found: Found, part: str, table: str) -> list[str]:
    """Write the share of the front found by each algorithm, and its cost."""
    points = all_points(found, part, table)
    if not points:
        return []
    proof = of_task(found, part, "front", table, "BranchAndBound")
    reference = sorted(map(tuple, [point for own in points.values() for point in own]))
    if proof is not None and proof["certified"]:
        reference = proof["points"]
    rows = []
    for k in SHOWN:
        best = curve(reference, k)
        cells = [f"{best:,.0f}"]
        for name, own in points.items():
            # GENITOR has looked for some k alone.
            loss = curve(own, k) if name != "GENITOR" or k in THRESHOLDS else np.inf
            cells.append("–" if np.isinf(loss) else "least" if loss <= best + ROUNDING else f"+{loss / best - 1:.2%}")
        rows.append([f"{k:,}", *cells])
    head = ["k at least", "least loss known", *points]
    return [f"### {table}: {TABLES[table]}", told_of_front(found, part, table), record.markdown(head, rows)]


def told_of_front(found: Found, part: str, table: str) -> str:
    """Write the cost of each algorithm, and the reach of the proof."""
    runs = {
        name: of_task(found, part, "front", table, name)
        for name in ("BranchAndBound", "BitStringLocalSearch", "NSGA-II")
    }
    effort = {name: own["task"][-1] for name, own in runs.items() if own is not None}
    size = {name: len(own["points"]) for name, own in runs.items() if own is not None}
    seconds = {name: f"{own['seconds']:,.0f} s" for name, own in runs.items() if own is not None}
    lines = ["Seconds are those of one processor."]
    name, proof = "BranchAndBound", runs["BranchAndBound"]
    if proof is not None and proof["certified"]:
        lines.append(f"`{name}` proves all {size[name]} points of the front in {seconds[name]}.")
    elif proof is not None:
        proven = sum(gap <= 0 for gap in proof["gap"])
        lines.append(
            f"`{name}` was stopped after {effort[name]} s on a clock, of which it had {seconds[name]}: proven are "
            f"{proven} of its {size[name]} points, from the smallest k on, and no other loss could be lower by more "
            f"than {max(proof['gap']):,.0f}."
        )
    name, pairs = "BitStringLocalSearch", runs["BitStringLocalSearch"]
    if pairs is not None:
        lines.append(
            f"`{name}` finds {size[name]} points in {effort[name]} walks, {seconds[name]} and "
            f"{pairs['evaluations']:,} evaluated strings."
        )
    name = "NSGA-II"
    if name in size:
        lines.append(
            f"{name} (population 100, NEW's crossover and NEW beside's mutation) finds {size[name]} in "
            f"{effort[name]:,} evaluations and {seconds[name]}."
        )
    least = [own for k in THRESHOLDS if (own := of_task(found, part, "least", table, k)) is not None]
    if least:
        lines.append(
            f"GENITOR (NEW beside, population 500) has one run of {least[0]['task'][-1]:,} evaluations, "
            f"{np.mean([own['seconds'] for own in least]):,.0f} s, for each k of at least "
            f"{', '.join(str(own['task'][2]) for own in least)}."
        )
        missed = sum(not own["points"] for own in least)
        lines += [f"{missed} of these find no string with so large a k."] if missed else []
    return " ".join(lines)


def draw_fronts(found: Found) -> None:
    """Draw the fronts of both papers' strings, k against loss."""
    figure = Figure(figsize=(12, 4.4), layout="constrained")
    FigureCanvasAgg(figure)
    marks = {"NSGA-II": ("#D55E00", "x"), "GENITOR": ("#009E73", "s")}
    lines = {"BranchAndBound": ("#000000", "-"), "BitStringLocalSearch": ("#0072B2", "--")}
    for axis, (part, table) in zip(figure.subplots(1, 2), (("fronts", "XO"), ("preferences", "PREF")), strict=True):
        for name, own in all_points(found, part, table).items():
            k, loss = np.array(sorted(own)).T
            loss = loss / 1000
            if name in lines:
                colour, style = lines[name]
                axis.step(k, loss, where="pre", color=colour, linestyle=style, linewidth=1.5, label=name)
            else:
                colour, mark = marks[name]
                axis.plot(k, loss, linestyle="", marker=mark, markersize=5, color=colour, label=name)
        axis.set_xscale("log")
        axis.set_title(f"{table}: {TABLES[table]}")
        axis.set_xlabel("k (higher is better)")
        axis.set_ylabel("general loss (thousands, lower is better)")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(record.RESULTS / "lunacek2006_fronts.png", dpi=110)


def paragraphs(found: Found, trials: Trials, variants: list[str]) -> list[str]:
    """Write the second half of the page."""
    optimum, proven = best_known(found, trials)
    head = ["operator", "population", "ends in it", "above it: median", "mean", "worst"]
    head += ["evaluations for one that does", "seconds for one that does"]
    made = [
        "## Beside the optimum",
        of_proof(found) or f"The least loss that any run found is {optimum:,.6f}; it is not proven.",
        f"How often runs end in {'the optimum' if proven else 'that loss'}, how far above it the others stay, and what "
        "a run that ends there costs: evaluations and seconds of all runs, divided by those that do.",
        record.markdown(head, of_trials(found, trials, variants, optimum)),
        of_iyengar(found, trials),
        "## The front of k and loss",
        "Nothing is suppressed. The losses of every algorithm with a k so large, beside the least that is known.",
        *of_front(found, "fronts", "XO"),
        *of_front(found, "preferences", "PREF"),
    ]
    return [paragraph for paragraph in made if paragraph]
