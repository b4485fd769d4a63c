"""Pages of the comparison: a table per problem and budget, the overview, and pictures of quality by distinct points."""

from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter

from benchmarks import record
from benchmarks.moeas.statistics import interval, marked, median
from pymoo_anon.visualization.fronts import new_figure

#: All others are compared with it.
OURS = "PBG-EA"

#: Tested measures: the shares of the front's boxes, and of its hypervolume.
TESTED = ("RR", "HV")

RESULTS = {"own": "own result", "seen": "all that it saw"}
KINDS = {"distinct": "distinct points", "total": "evaluations in all, repeated ones included"}
PARTS = {
    "lattice": "The five lattice problems of Dewri et al. 2010",
    "large": "Twelve quasi-identifiers",
    "constrained": "Constraints",
    "strings": "Bit strings",
    "many": "Four and five objectives",
}
PROOFS = {
    "visit": "proven by a visit to every node",
    "branch and bound": "proven by branch and bound",
    "": "the best that any run has found; nobody has proven it",
}

#: Colour, style and width by algorithm: this package's own are thick.
LOOKS = {
    "PBG-EA": ("#000000", "-", 2.6),
    "local search": ("#D55E00", "-", 2.6),
    "branch and bound": ("#0072B2", "-", 2.6),
    "NSGA-II": ("#009E73", "-", 1.3),
    "NSGA-III": ("#009E73", "--", 1.3),
    "R-NSGA-II": ("#009E73", ":", 1.6),
    "SPEA2": ("#CC79A7", "-", 1.3),
    "SMS-EMOA": ("#56B4E9", "-", 1.3),
    "AGE-MOEA2": ("#56B4E9", "--", 1.3),
    "MOEA/D": ("#B8860B", "-", 1.3),
    "C-TAEA": ("#B8860B", "--", 1.3),
    "random search": ("#888888", ":", 1.6),
}
#: Least share of missing hypervolume on the axis.
LEAST = 1e-5


def legend() -> str:
    return record.words("moeas_legend", ours=OURS)


def values(row: Mapping[str, Any], result: str, budget: str, measure: str) -> np.ndarray:
    """(n_runs,) float array of values, with infinite errors for runs without a result."""
    own = row["values"][result][budget][measure]
    return np.array([np.inf if value is None else value for value in own])


def marks(problem: Mapping[str, Any]) -> dict[tuple[str, str, str, str], tuple[float, str]]:
    """Return effect sizes and marks, all tests of a problem corrected together."""
    rows = problem["rows"]
    if OURS not in rows:
        return {}
    others = [algorithm for algorithm in rows if algorithm != OURS]
    asked = list(product(others, RESULTS, problem["budgets"]["main"], TESTED))
    pairs = [(values(rows[one], *where), values(rows[OURS], *where)) for one, *where in asked]
    return dict(zip(asked, marked(pairs), strict=True))


def part_page(part: str, found: Mapping[str, Any]) -> str:
    machine = found.get("machine")
    texts = [f"# {PARTS[part]}", *([f"{record.line(machine)}."] if machine else []), legend()]
    for name, problem in found["problems"].items():
        texts += problem_texts(part, name, problem)
    return "\n\n".join(texts)


def problem_texts(part: str, name: str, problem: Mapping[str, Any]) -> list[str]:
    texts = [f"## {name}"]
    left_out = [f"{one}: {why}" for one, why in problem["left out"].items()]
    if not problem["rows"]:
        return texts
    compared = marks(problem)
    texts.append(
        f"{_count(problem['size'])} points; reference front of {problem['front']:,}, {PROOFS[problem['proof']]}. "
        f"{_seeds(problem)} seeds. A run ends after {problem['budgets']['cap']:,} evaluations at the latest."
    )
    if left_out:
        texts.append("Left out: " + "; ".join(left_out) + ".")
    # A proven front is the same in every run: another fingerprint is a rounding of its values.
    stale = [one for one, row in problem["rows"].items() if row["reference"] != problem["reference"]]
    if stale and not problem["proof"]:
        texts.append(f"Measured against an earlier, smaller set of the best known: {', '.join(stale)}.")
    if any(not mark for _, mark in compared.values()):
        texts.append("Where there is no mark, so few seeds were run that no difference could be significant.")
    for budget in problem["budgets"]["main"]:
        kind, number = budget.split()
        for result, words in RESULTS.items():
            texts += [f"{int(number):,} {KINDS[kind]}, {words}:", table(problem["rows"], compared, result, budget)]
    picture = f"moeas_{part}_{slug(name)}.png"
    texts.append(f"![{name}: quality over distinct points]({picture})")
    return texts


def _seeds(problem: Mapping[str, Any]) -> str:
    return ", ".join(str(n) for n in sorted({row["seeds"] for row in problem["rows"].values()}))


def _count(size: float) -> str:
    return f"{size:,.0f}" if size < 1e9 else f"{size:.1e}"


def slug(name: str) -> str:
    """Return a name as a part of file names."""
    return "_".join("".join(c if c.isascii() and c.isalnum() else " " for c in name).split())


def table(rows: Mapping[str, Any], compared: Mapping[Any, tuple[float, str]], result: str, budget: str) -> str:
    other = "evaluations" if budget.startswith("distinct") else "distinct"
    head = ["algorithm", other, "RR", "A", "HV", "A", "CE", "IGD+"]
    lines = []
    for algorithm, row in rows.items():
        n_distinct, n_total = row["spent"][budget]
        line = [algorithm, f"{n_total if other == 'evaluations' else n_distinct:,.0f}"]
        for measure, form in (("RR", ".3f"), ("HV", ".4f")):
            own = values(row, result, budget, measure)
            low, high = interval(own)
            size, mark = compared.get((algorithm, result, budget, measure), (None, ""))
            line.append(f"{median(own):{form}} ({low:{form}}–{high:{form}}) {mark}".strip())
            line.append("" if size is None else f"{size:.2f}")
        line += [f"{median(values(row, result, budget, measure)):.1e}" for measure in ("CE", "IGD+")]
        lines.append(line)
    return record.markdown(head, lines)


def overview(parts: Mapping[str, Mapping[str, Any]]) -> str:
    texts = []
    for measure, words in (("RR", "Representation ratio"), ("HV", "Share of the hypervolume")):
        for part, found in parts.items():
            problems = {name: one for name, one in found["problems"].items() if one["rows"]}
            if problems:
                # All problems of a part have the same budgets.
                budget = next(iter(problems.values()))["budgets"]["main"][0]
                kind, number = budget.split()
                texts.append(f"{PARTS[part]}. {words} after {int(number):,} {KINDS[kind]}, own | seen:")
                texts.append(_medians(problems, budget, measure))
    links = "\n".join(f"- [{PARTS[part]}](moeas_{part}.md)" for part in parts)
    told = {"legend": legend(), "links": links, "medians": "\n\n".join(texts), "counts": _counts(parts)}
    return record.words("moeas", **told)


def _medians(problems: Mapping[str, Mapping[str, Any]], budget: str, measure: str) -> str:
    lines = {one: [one] for problem in problems.values() for one in problem["rows"]}
    for problem in problems.values():
        compared = marks(problem)
        for algorithm, line in lines.items():
            cells = []
            for result in RESULTS if algorithm in problem["rows"] else ():
                own = median(values(problem["rows"][algorithm], result, budget, measure))
                _, mark = compared.get((algorithm, result, budget, measure), (None, ""))
                cells.append(f"{own:{'.3f' if measure == 'RR' else '.4f'}} {mark}".strip())
            # A bar would end the cell.
            line.append(" \\| ".join(cells) or "–")
    seeds = ["seeds", *(_seeds(problem) for problem in problems.values())]
    return record.markdown(["algorithm", *problems], [seeds, *lines.values()])


def _counts(parts: Mapping[str, Mapping[str, Any]]) -> str:
    compared = [marks(one) for found in parts.values() for one in found["problems"].values() if one["rows"]]
    counts = Counter(
        (algorithm, (budget.split()[0], result), mark)
        for own in compared
        for (algorithm, result, budget, measure), (_, mark) in own.items()
        if measure == "HV"
    )
    columns = list(product(KINDS, RESULTS))
    rows = [
        [one, *(" / ".join(str(counts[one, column, mark]) for mark in "+=−") for column in columns)]
        for one in dict.fromkeys(algorithm for algorithm, *_ in counts)
    ]
    return record.markdown(["hypervolume", *(f"{kind}, {result}" for kind, result in columns)], rows)


def draw(name: str, problem: Mapping[str, Any], path: Path) -> None:
    """Draw RR and the missing hypervolume, of results and of all seen points."""
    figure = new_figure(11, 7.5)
    axes = figure.subplots(2, 2, sharex=True, sharey="row")
    for column, (result, words) in enumerate(RESULTS.items()):
        for row, measure in enumerate(("RR", "HV")):
            axis = axes[row, column]
            for algorithm, look in LOOKS.items():
                if algorithm in problem["rows"]:
                    _curve(axis, *course(problem, algorithm, result, measure), look, algorithm)
            axis.set_xscale("log")
            axis.grid(alpha=0.3)
        axes[0, column].set_title(words)
        axes[1, column].set_yscale("log")
        axes[1, column].set_xlabel("distinct points")
        _ticks(axes[1, column], problem)
    axes[0, 0].set_ylabel("representation ratio, higher is better")
    axes[1, 0].set_ylabel("missing hypervolume, lower is better")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False)
    figure.suptitle(f"{name}: medians and quartiles of the runs")
    figure.savefig(path, dpi=80)


def course(problem: Mapping[str, Any], algorithm: str, result: str, measure: str) -> tuple[np.ndarray, np.ndarray]:
    """(n,) array of distinct points and (n, 3) array of quartiles to draw."""
    kinds, numbers = zip(*(key.split() for key in problem["budgets"]["all"]), strict=True)
    distinct = np.array(kinds) == "distinct"
    budgets = np.array(numbers, dtype=int)[distinct]
    quartiles = np.array(problem["rows"][algorithm]["curves"][result][measure]).T[distinct]
    # Missing hypervolume on a logarithmic scale, where nothing is missing at its lower end.
    return budgets, np.maximum(1 - quartiles, LEAST) if measure == "HV" else quartiles


def _curve(axis: Axes, budgets: np.ndarray, quartiles: np.ndarray, look: tuple[str, str, float], name: str) -> None:
    colour, style, width = look
    order = 3 if width > 2 else 2
    axis.plot(budgets, quartiles[:, 1], color=colour, linestyle=style, linewidth=width, label=name, zorder=order)
    axis.fill_between(budgets, quartiles[:, 0], quartiles[:, 2], color=colour, alpha=0.12, linewidth=0)


def _ticks(axis: Axes, problem: Mapping[str, Any]) -> None:
    """Plain numbers, each about twice the one before."""
    budgets, _ = course(problem, next(iter(problem["rows"])), "own", "RR")
    axis.xaxis.set_major_locator(FixedLocator([b for b in (50, 100, 200, 400, 800, 1600, 2400) if b <= budgets[-1]]))
    axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axis.xaxis.set_minor_formatter(NullFormatter())
