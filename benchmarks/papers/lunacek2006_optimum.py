"""The page's second half: trials beside the proven optimum, and fronts of k and loss."""

from typing import Any

import numpy as np

from benchmarks import record
from pymoo_anon.visualization.fronts import new_figure

#: By part of the study: its strings, and what they are.
TABLES = {
    "fronts": ("XO", "XO: 15,000 rows, 92 bits, four taxonomies"),
    "preferences": ("PREF", "PREF: 30,162 rows, 105 bits, no taxonomies"),
}
SHOWN = (2, 5, 10, 15, 25, 50, 100, 150, 250, 500, 1000)

#: The smallest k under which GENITOR looks for the least loss, one run each.
THRESHOLDS = (5, 15, 50, 150)

#: Losses that differ by less are the same sum in another order.
ROUNDING = 1e-6

Run = dict[str, Any]
Found = dict[str, list[Run]]


def of_task(found: Found, part: str, *task: Any) -> Run:
    """Return the first run with such a task."""
    return next(one for one in found[part] if one["task"][: len(task)] == list(task))


def beside(label: list[str], runs: list[Run], optimum: float, evaluations: int) -> list[str]:
    """Write how often runs reach the optimum, their distance, and their cost."""
    losses, seconds = (np.array([run[name] for run in runs]) for name in ("loss", "seconds"))
    above = losses / optimum - 1
    hits = int((losses <= optimum + ROUNDING).sum())
    shares = [np.median(above), above.mean(), above.max()]
    cost = [f"{evaluations * len(losses) / hits:,.0f}", f"{seconds.sum() / hits:,.1f}"] if hits else ["–", "–"]
    return [*label, f"{hits} of {len(losses)}", *(f"{share:.2%}" for share in shares), *cost]


def by_variant(runs: list[Run], variants: list[str], *keys: str) -> dict[tuple, list[Run]]:
    """Return the runs by variant, in this order, and other keys."""
    made: dict[tuple, list[Run]] = {}
    for run in sorted(runs, key=lambda run: variants.index(run["variant"])):
        made.setdefault(tuple(run[key] for key in ("variant", *keys)), []).append(run)
    return made


def of_trials(found: Found, variants: list[str], optimum: float) -> list[list[str]]:
    """Write a row for every operator and population, and the pair-exact local search."""
    rows = []
    for (variant, population), runs in by_variant(found["runs"], variants, "population").items():
        rows.append(beside([variant, f"{population:,}"], runs, optimum, runs[0]["task"][-1]))
    for (variant, population), runs in by_variant(found["iyengar"], variants, "population").items():
        evaluations = runs[0]["task"][-1]
        label = [f"{variant}, {evaluations:,} evaluations", f"{population:,}"]
        rows.append(beside(label, runs, optimum, evaluations))
    pairs = of_task(found, "starts", "starts")
    runs = [{"loss": loss, "seconds": seconds} for loss, seconds in zip(pairs["losses"], pairs["seconds"], strict=True)]
    # Two strings are evaluated, the start and the local optimum; the search itself reads tables.
    return [*rows, beside(["pair-exact local search, one start", "–"], runs, optimum, 2)]


def of_iyengar(found: Found) -> dict[str, Any]:
    """Compare a population of 5,000 at the end of smaller ones."""
    runs, evaluations = found["iyengar"], found["runs"][0]["task"][-1]
    told = []
    for variant in dict.fromkeys(run["variant"] for run in runs):
        # A curve has a loss after every 1,000 evaluations.
        large = [float(run["curve"][evaluations // 1000 - 1]) for run in runs if run["variant"] == variant]
        small = [run["loss"] for run in found["runs"] if run["variant"] == variant]
        told.append(f"{variant} {np.mean(large):,.0f} against {np.mean(small):,.0f}")
    return {
        "iyengar": runs[0]["population"],
        "evaluations": evaluations,
        "losses": "; ".join(told),
        "iyengar_evaluations": runs[0]["task"][-1],
    }


def gaps_of(own: Run) -> str:
    gaps = [f"{gap:,.0f} after {seconds:,.0f} s" for seconds, _, gap in own["gaps"] if gap > 0]
    return ", ".join(gaps[:: max(len(gaps) // 5, 1)])


def curve(points: list[list[float]], k: float) -> float:
    """Return the least loss from a k on, else infinity."""
    return min((loss for own, loss in points if own >= k), default=np.inf)


def all_points(found: Found, part: str) -> dict[str, list[list[float]]]:
    table, _ = TABLES[part]
    names = ("BranchAndBound", "BitStringLocalSearch", "NSGA-II")
    genitor = [point for k in THRESHOLDS for point in of_task(found, part, "least", table, k)["points"]]
    return {name: of_task(found, part, "front", table, name)["points"] for name in names} | {"GENITOR": genitor}


def of_front(found: Found, part: str) -> list[str]:
    points, (table, title) = all_points(found, part), TABLES[part]
    proof = of_task(found, part, "front", table, "BranchAndBound")
    reference = proof["points"] if proof["certified"] else [point for own in points.values() for point in own]
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
    return [f"### {title}", told_of_front(found, part), record.markdown(head, rows)]


def told_of_front(found: Found, part: str) -> str:
    """Write the cost of each algorithm, and the reach of the proof."""
    table, _ = TABLES[part]
    names = {"proof": "BranchAndBound", "pairs": "BitStringLocalSearch", "population": "NSGA-II"}
    own = {}
    for key, name in names.items():
        run = of_task(found, part, "front", table, name)
        own[key] = run | {"name": name, "size": len(run["points"]), "effort": run["task"][-1]}
    proof = own["proof"] | {"proven": sum(gap <= 0 for gap in own["proof"]["gap"]), "most": max(own["proof"]["gap"])}
    reach = record.words("lunacek2006_front_" + ("proven" if proof["certified"] else "stopped"), **proof)
    least = [of_task(found, part, "least", table, k) for k in THRESHOLDS]
    missed = sum(not one["points"] for one in least)
    text = record.words(
        "lunacek2006_front",
        reach=reach,
        **own,
        evaluations=least[0]["task"][-1],
        seconds=np.mean([one["seconds"] for one in least]),
        thresholds=", ".join(map(str, THRESHOLDS)),
    )
    return text + (f" {missed} of these find no string with so large a k." if missed else "")


def draw_fronts(found: Found) -> None:
    """Draw the fronts of both papers' strings, k against loss."""
    figure = new_figure(12, 4.4)
    marks = {"NSGA-II": ("#D55E00", "x"), "GENITOR": ("#009E73", "s")}
    lines = {"BranchAndBound": ("#000000", "-"), "BitStringLocalSearch": ("#0072B2", "--")}
    for axis, (part, (_, title)) in zip(figure.subplots(1, 2), TABLES.items(), strict=True):
        for name, own in all_points(found, part).items():
            k, loss = np.array(sorted(own)).T
            loss = loss / 1000
            if name in lines:
                colour, style = lines[name]
                axis.step(k, loss, where="pre", color=colour, linestyle=style, linewidth=1.5, label=name)
            else:
                colour, mark = marks[name]
                axis.plot(k, loss, linestyle="", marker=mark, markersize=5, color=colour, label=name)
        axis.set(xscale="log", title=title, xlabel="k (higher is better)")
        axis.set_ylabel("general loss (thousands, lower is better)")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(record.RESULTS / "lunacek2006_fronts.png", dpi=110)


def second_half(found: Found, variants: list[str]) -> str:
    proof = of_task(found, "proof", "proof")
    head = ["operator", "population", "ends in it", "above it: median", "mean", "worst"]
    head += ["evaluations for one that does", "seconds for one that does"]
    return record.words(
        "lunacek2006_optimum",
        proof=proof,
        gaps=gaps_of(proof),
        trials=record.markdown(head, of_trials(found, variants, proof["loss"])),
        **of_iyengar(found),
        **{part: "\n\n".join(of_front(found, part)) for part in TABLES},
    )
