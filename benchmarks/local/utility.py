"""Utility of releases at equal k and at equal mean risk: Adult and two invented tables.

    python -m benchmarks.local.utility

Of the front of each way, exact for levels of whole columns and a sweep for local recodings, the release of least loss
is taken that has such a k, or such a mean risk and k of 5. Count queries, and classifiers trained on it. Each way of
each table is a process of its own. Five minutes of a processor; needs Adult and scikit-learn.
"""

import time
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks import record
from benchmarks.local.fronts import FULL, SEED, SHOWN, percent, searched
from benchmarks.suite.tables import Table, patients, trips
from benchmarks.tables import cells
from pymoo_anon.comparison import CountQueries, classification
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity, MarketerRisk
from pymoo_anon.table import Hierarchy, Microdata
from pymoo_anon.visualization.fronts import COLOURS, MARKERS, STYLES, new_figure, saved

KS = 2, 5, 10, 25, 50, 100
RISKS = 0.05, 0.02, 0.01, 0.005
WAYS = FULL, "local, mondrian-relaxed", "local, bottom-up"

# Columns to predict, and columns of numbers.
TARGETS = {"Adult": "salary-class", "patients": "diagnosis", "trips": "purpose"}
INVENTED = {"patients": (patients, {"age", "month"}), "trips": (trips, {"hour", "minutes"})}
# Panels of the picture: measure and words.
MEASURES = {"median": "median error of a count", "predicted": "rightly predicted"}


def table_of(name: str) -> Microdata:
    """Return a table with the last column to predict."""
    target = TARGETS[name]
    if name == "Adult":
        return fetch_adult(label=target)
    make, numbers = INVENTED[name]
    own: Table = make()
    hierarchies, codes = {}, []
    for column, levels in own.levels.items():
        domain = [value if column in numbers else f"{column} {value}" for value in levels[0]]
        between = [[f"{i}: {group}" for group in level] for i, level in enumerate(levels[1:-1], start=1)]
        hierarchies[column] = Hierarchy([domain, *between, ["*"] * len(domain)])
        codes.append(own.rows[column])
    weights = np.ones(len(codes[0]), dtype=np.int64)
    domains = {target: range(int(own.rows[target].max()) + 1)}
    return Microdata.from_codes(hierarchies, codes, weights, {target: own.rows[target]}, domains, label=target)


def found_by(name: str, way: str) -> dict[str, Any]:
    """Measure the utility of one way's releases, with processor seconds."""
    began, table = time.process_time(), table_of(name)
    asked: dict[str, dict[float, Any]] = {
        "k": {k: KAnonymity() >= k for k in KS},
        "risk": {risk: MarketerRisk() <= risk for risk in RISKS},
    }
    chosen, releases = [], {}
    for by, own in asked.items():
        problem, res, _ = searched(table, way, by)
        front = problem.front(res)
        for value, require in own.items():
            choice = front.choose(require=[require], best=GeneralLossMetric())
            key = f"{by}, row {choice.row}"
            releases[key] = problem.equivalence_classes(np.array(choice.x))
            chosen.append((by, value, key))
    errors = CountQueries(table, seed=SEED).summary(releases)
    learned = classification(table, releases, TARGETS[name], seed=SEED)
    found = []
    goals = {"k": KAnonymity(), "risk": MarketerRisk(), "loss": GeneralLossMetric()}
    for by, value, key in chosen:
        known = {goal: float(measure.evaluate(releases[key])[0]) for goal, measure in goals.items()}
        known |= {"loss": known["loss"] / cells(table), **errors.loc[key].to_dict()}
        rates = learned.loc[key, "release"]
        found.append({"by": by, "value": value, **known, **rates.to_dict(), "predicted": rates.max()})
    baselines = {kind: learned[kind].max() for kind in ("original", "majority")}
    return {"releases": found, **baselines, "seconds": time.process_time() - began}


def draw(found: dict[tuple[str, str], dict[str, Any]]) -> None:
    figure = new_figure(11, 11)
    panels = figure.subplots(4, len(TARGETS), sharex="row", squeeze=False)
    for row, (by, measure) in enumerate([(by, measure) for by in ("k", "risk") for measure in MEASURES]):
        for axes, name in zip(panels[row], TARGETS, strict=True):
            for place, way in enumerate(WAYS):
                line = [one for one in found[name, way]["releases"] if one["by"] == by]
                style = {"color": COLOURS[place], "marker": MARKERS[place], "linestyle": STYLES[place], "label": way}
                axes.plot([one["value"] for one in line], [100 * one[measure] for one in line], **style)
            if measure == "predicted":
                for kind, style in (("original", "-"), ("majority", ":")):
                    height = 100 * found[name, FULL][kind]
                    axes.axhline(height, color="black", linewidth=0.8, linestyle=style, label=f"the {kind}")
            axes.set(xscale="log", xlabel="k of at least" if by == "k" else "mean risk of at most, k of at least 5")
            ticks = KS if by == "k" else RISKS
            axes.set_xticks(ticks, [f"{own:g}" if by == "k" else f"{100 * own:g}%" for own in ticks], minor=False)
            axes.minorticks_off()
            axes.yaxis.set_major_formatter("{x:g}%")
        panels[row][0].set_ylabel(MEASURES[measure])
    for axes, (name, target) in zip(panels[0], TARGETS.items(), strict=True):
        axes.set_title(f"{name}, predicted: {target}")
    panels[1][0].legend(frameon=False, fontsize="small")
    saved(figure, record.RESULTS / "local_utility.png")


def write(found: dict[tuple[str, str], dict[str, Any]]) -> None:
    rows = []
    for name in TARGETS:
        for said, (by, value) in SHOWN.items():
            for way in WAYS:
                one = next(own for own in found[name, way]["releases"] if (own["by"], own["value"]) == (by, value))
                numbers = [percent(one[key]) for key in ("risk", "loss", "median", "90 %", "predicted")]
                rows.append([f"{name}, {said}", way, f"{one['k']:,.0f}", *numbers])
        known = ((kind, percent(found[name, FULL][kind])) for kind in ("original", "majority"))
        rows += [[f"{name}, the {kind}", *[""] * 6, share] for kind, share in known]
    heads = ["table", "way", "k", "mean risk", "loss", "median error", "90 % error", "predicted"]
    machine = record.machine() | {"scikit-learn": version("scikit-learn")}
    draw(found)
    record.write(
        "local_utility",
        {"machine": machine, "tables": {name: {way: found[name, way] for way in WAYS} for name in TARGETS}},
        machine=record.line(machine),
        sklearn=machine["scikit-learn"],
        utility=record.markdown(heads, rows),
    )


def main() -> None:
    # The longest first.
    cases = [(name, way) for way in reversed(WAYS) for name in TARGETS]
    with record.processes() as pool:
        waiting = {case: pool.submit(found_by, *case) for case in cases}
        write({(name, way): waiting[name, way].result() for name in TARGETS for way in WAYS})


if __name__ == "__main__":
    main()
