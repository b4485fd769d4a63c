"""Pages of the comparison: a table per problem and budget, and the overview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import record
from benchmarks.moeas.statistics import LEVEL, effect, holm, interval, median, p_value

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

LEGEND = (
    "*Own* is what the algorithm returns, *seen* the best of all that it evaluated. RR is the share of the reference "
    "front's boxes that are found, HV the share of its hypervolume, CE the mean distance to it, IGD+ the mean distance "
    "from it. Medians, in brackets an interval that holds the median with 95 % (by order statistics). A is Vargha and "
    f"Delaney's effect size: how often a run is better than one of {OURS}, ties by half. A mark says that the two "
    "differ by Mann and Whitney's test after Holm's correction for all tests of the problem, at 5 %: + better than "
    f"{OURS}, − worse, = no significant difference."
)

SETTINGS = """\
One setting for all, and none was tuned: populations of 25, the size of Dewri et al. 2010, and of 100 from four \
objectives on; this package's sampling, crossover (0.8) and mutation (one step a child); as many reference \
directions as members (Das and Dennis for two objectives, Riesz energy for more). All else is what pymoo 0.6.2 or \
this package takes by default, but for these:

- MOEA/D has 5 neighbors, as 20 of 25 would be nearly all. pymoo's does not scale objectives, and here they differ by \
orders of magnitude.
- R-NSGA-II gets five points at equal distances between the values of the two ends of the space. It serves a decision \
maker who has some; these are nobody's.
- SPEA2 gets a survival object of its own. pymoo's default is shared by all SPEA2 of a process, and begins with the \
ideal point of the run before, or fails where that had another number of objectives.
- C-TAEA runs with `eliminate_duplicates=False`, without which pymoo's waits for ever; rows of its result that break a \
constraint do not count. RVEA, whose result holds such rows, too, is not compared.
- NSGA-III draws past its seed between equally infeasible nodes (pymoo's issue 794): its rows under constraints \
may not repeat to the digit.
- Branch and bound counts what it evaluates. Nodes of which it reads some classes only, until they are refuted, do not \
count. On bit strings with k and a loss it does not work by evaluations.
- Local search is `ParetoLocalSearch`."""


def values(row: Mapping[str, Any], result: str, budget: str, measure: str) -> np.ndarray:
    """(n_runs,) float array of values, with infinite errors for runs without a result."""
    own = row["values"][result][budget][measure]
    return np.array([np.inf if value is None else value for value in own])


def marks(problem: Mapping[str, Any]) -> dict[tuple[str, str, str, str], tuple[float, str]]:
    """Return effect sizes and marks, all tests of a problem corrected together.

    There is no mark where so few runs are compared that no difference whatever would be significant.
    """
    rows = problem["rows"]
    if OURS not in rows:
        return {}
    asked = [
        (algorithm, result, budget, measure)
        for algorithm in rows
        if algorithm != OURS
        for result in RESULTS
        for budget in problem["budgets"]["main"]
        for measure in TESTED
    ]
    pairs = [(values(rows[one], *where), values(rows[OURS], *where)) for one, *where in asked]
    corrected = holm([p_value(*pair) for pair in pairs])
    found = {}
    for where, pair, p in zip(asked, pairs, corrected, strict=True):
        size, (n, m) = effect(*pair), map(len, pair)
        clearest = p_value(np.arange(n), np.arange(n, n + m)) * len(asked)
        found[where] = size, "" if clearest > LEVEL else "=" if p > LEVEL else "+" if size > 0.5 else "−"
    return found


def part_page(part: str, found: Mapping[str, Any]) -> str:
    """Write the page of one part."""
    machine = found.get("machine")
    texts = [f"# {PARTS[part]}", *([f"{record.line(machine)}."] if machine else []), LEGEND]
    for name, problem in found["problems"].items():
        texts += problem_texts(part, name, problem)
    return "\n\n".join(texts)


def problem_texts(part: str, name: str, problem: Mapping[str, Any]) -> list[str]:
    """Write the paragraphs and tables of one problem."""
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
    stale = [one for one, row in problem["rows"].items() if row["reference"] != problem["reference"]]
    if stale:
        texts.append(f"Measured against an earlier, smaller set of the best known: {', '.join(stale)}.")
    if any(not mark for _, mark in compared.values()):
        texts.append("Where there is no mark, so few seeds were run that no difference could be significant.")
    for budget in problem["budgets"]["main"]:
        kind, number = budget.split()
        for result, words in RESULTS.items():
            texts += [
                f"{int(number):,} {KINDS[kind]}, {words}:",
                table(problem["rows"], compared, result, budget),
            ]
    picture = f"moeas_{part}_{slug(name)}.png"
    texts.append(f"![{name}: quality over distinct points]({picture})")
    return texts


def _seeds(problem: Mapping[str, Any]) -> str:
    """Describe the number of runs per algorithm."""
    return ", ".join(str(n) for n in sorted({row["seeds"] for row in problem["rows"].values()}))


def _count(size: float) -> str:
    """Format a number of points."""
    return f"{size:,.0f}" if size < 1e9 else f"{size:.1e}"


def slug(name: str) -> str:
    """Return a name as a part of file names."""
    return "_".join("".join(c if c.isascii() and c.isalnum() else " " for c in name).split())


def table(rows: Mapping[str, Any], compared: Mapping[Any, tuple[float, str]], result: str, budget: str) -> str:
    """Write one table with a row per algorithm."""
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
    """Write the overview: medians at the first main budget, and numbers of wins."""
    texts = ["# PBG-EA beside other algorithms", LEGEND, SETTINGS, "Each part has a page with every table and picture:"]
    texts.append("\n".join(f"- [{PARTS[part]}](moeas_{part}.md)" for part in parts))
    for measure, words in (("RR", "Representation ratio"), ("HV", "Share of the hypervolume")):
        for part, found in parts.items():
            problems = {name: one for name, one in found["problems"].items() if one["rows"]}
            for budget in dict.fromkeys(one["budgets"]["main"][0] for one in problems.values()):
                kind, number = budget.split()
                of = {name: one for name, one in problems.items() if one["budgets"]["main"][0] == budget}
                texts.append(f"{PARTS[part]}. {words} after {int(number):,} {KINDS[kind]}, own | seen:")
                texts.append(_medians(of, budget, measure))
    texts.append("How often an algorithm is significantly better than PBG-EA, not different, worse, over all problems:")
    texts.append(_counts(parts))
    return "\n\n".join(texts)


def _medians(problems: Mapping[str, Mapping[str, Any]], budget: str, measure: str) -> str:
    compared = {name: marks(one) for name, one in problems.items()}
    algorithms = list(dict.fromkeys(algorithm for one in problems.values() for algorithm in one["rows"]))
    form = ".3f" if measure == "RR" else ".4f"
    lines = [["seeds", *(_seeds(one) for one in problems.values())]]
    for algorithm in algorithms:
        line = [algorithm]
        for name, one in problems.items():
            if algorithm not in one["rows"]:
                line.append("–")
                continue
            cells = []
            for result in RESULTS:
                _, mark = compared[name].get((algorithm, result, budget, measure), (None, ""))
                own = median(values(one["rows"][algorithm], result, budget, measure))
                cells.append(f"{own:{form}}{mark and ' ' + mark}")
            # A bar would end the cell.
            line.append(" \\| ".join(cells))
        lines.append(line)
    return record.markdown(["algorithm", *problems], lines)


def _counts(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the marks by algorithm over all problems."""
    counts: dict[str, dict[tuple[str, str], dict[str, int]]] = {}
    for found in parts.values():
        for one in found["problems"].values():
            for (algorithm, result, budget, measure), (_, mark) in marks(one).items() if one["rows"] else ():
                if measure == "HV":
                    own = counts.setdefault(algorithm, {}).setdefault((budget.split()[0], result), {})
                    own[mark] = own.get(mark, 0) + 1
    columns = [(kind, result) for kind in KINDS for result in RESULTS]
    head = ["hypervolume", *(f"{kind}, {result}" for kind, result in columns)]
    return record.markdown(head, [[one, *_told(own, columns)] for one, own in counts.items()])


def _told(own: Mapping[tuple[str, str], Mapping[str, int]], columns: Sequence[tuple[str, str]]) -> list[str]:
    return [" / ".join(str(own.get(column, {}).get(mark, 0)) for mark in "+=−") for column in columns]
