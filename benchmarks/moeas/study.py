"""PBG-EA, local search and branch and bound beside pymoo's algorithms at equal budgets.

    python -m benchmarks.moeas.study                 the rows that the results lack, or have of fewer than 31 seeds
    python -m benchmarks.moeas.study --only lattice --again    one part anew
    python -m benchmarks.moeas.study --problem "k, GLM" --algorithm SPEA2 --again
    python -m benchmarks.moeas.study --quick         a small problem of every part, of invented rows

Each run is looked at after budgets of distinct points and of evaluations in all. *Own* is what the algorithm returns,
*seen* the best of all that it evaluated, as an archive without bounds keeps it. Fronts are measured against the proven
front, else against the best that any run has found, which `results/best_known` stores. Two processes; the part
`lattice` takes half an hour on two cores, `--quick` less than two minutes. All but `--quick` needs Adult.
"""

import argparse
import hashlib
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import record
from benchmarks.moeas.pages import RESULTS, draw, overview, part_page, slug
from benchmarks.moeas.problems import ALGORITHMS, QUICK_TASKS, TASKS, Task, problem_of, proven, refusal, task_of
from benchmarks.moeas.runs import MEASURES, Judge, Record, check_log, judged, run, values_of
from pymoo_anon._files import replaced
from pymoo_anon.fronts.archive import merge_front
from pymoo_anon.problems import AnonymizationProblem, LatticeProblem

SEEDS, QUICK_SEEDS = 31, 3

#: Largest lattice that keeps its evaluations between runs.
REMEMBERED = 20_000

#: Of these measures the whole course is kept, of all of them the values at the main budgets.
CURVES = ("RR", "HV")

Where = tuple[str, str, bool]  # Part and name of the problem, and whether it is a quick one
Each = Callable[..., Iterable[Any]]


def search(where: Where, algorithm: str, seed: int) -> Record:
    problem = problem_of(*where)
    if not (isinstance(problem, LatticeProblem) and problem.n_nodes <= REMEMBERED):
        problem = problem.fresh_copy()
    found = run(problem, ALGORITHMS[algorithm](problem), seed, task_of(*where).budgets)
    check_log(problem, found)
    return found


def searched(where: Where, reference: np.ndarray, algorithm: str, seed: int) -> dict[str, Any]:
    """Return the figures of one run, with the front known before."""
    return judged(search(where, algorithm, seed), Judge(problem_of(*where), reference))


class BestKnown:
    """Best points of a problem over all runs, in a CSV file that need not be there yet.

    It only ever gets better: points leave it where a new one is at least as good in everything.

    Raises:
        ValueError: The file holds values that are not those of its points.
    """

    def __init__(self, path: Path, problem: AnonymizationProblem) -> None:
        self.path, self.problem = path, problem
        self.X = np.empty((0, problem.n_var), dtype=problem.vtype)
        self.F = np.empty((0, problem.n_obj))
        if path.exists():
            known = pd.read_csv(path, dtype=str)
            self.X = np.array([point.split() for point in known.pop("point")], dtype=int).astype(problem.vtype)
            self.F, G = problem.fresh_copy().evaluate(self.X, return_values_of=["F", "G"])
            if not np.array_equal(problem.natural(self.F), known.to_numpy(dtype=float)) or (G > 0).any():
                raise ValueError(f"{path} must hold values of this problem, got others: is it of another table?")

    def improve(self, X: np.ndarray, F: np.ndarray) -> None:
        """Offer points, and write the file anew."""
        self.X, self.F = merge_front(self.X, self.F, X, F)
        order = np.lexsort(self.F.T[::-1])
        self.X, self.F = self.X[order], self.F[order]
        shown = pd.DataFrame(self.problem.natural(self.F), columns=self.problem.objective_names)
        shown["point"] = [" ".join(map(str, x)) for x in self.X.astype(int).tolist()]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(self.path) as temporary:
            shown.to_csv(temporary, index=False)


def digest(F: np.ndarray) -> str:
    """Return a short fingerprint of a reference front."""
    return hashlib.sha256(np.ascontiguousarray(F).tobytes()).hexdigest()[:12]


def compare(where: Where, algorithms: Sequence[str], seeds: Sequence[int], each: Each) -> dict[str, Any]:
    """Run algorithms on a problem by some kind of `map`."""
    task, problem = task_of(*where), problem_of(*where)
    asked = [[algorithm for algorithm in algorithms for _ in seeds], [*seeds] * len(algorithms)]
    reference = proven(task, problem)
    if reference is not None:
        runs = list(each(partial(searched, where, reference), *asked))
    else:
        # A run must not be measured against a set that lacks its own points: first all runs, then the set.
        records = list(each(partial(search, where), *asked))
        known = BestKnown(record.RESULTS / "best_known" / f"moeas_{where[0]}_{slug(where[1])}.csv", problem)
        known.improve(np.concatenate([one.X for one in records]), np.concatenate([one.F for one in records]))
        reference, judge = known.F, Judge(problem, known.F)
        runs = [judged(one, judge) for one in records]
    rows = {}
    for number, algorithm in enumerate(algorithms):
        rows[algorithm] = summary(task, runs[number * len(seeds) :][: len(seeds)], digest(reference))
    size = float(problem.n_nodes if isinstance(problem, LatticeProblem) else problem.n_strings)
    return {"size": size, "front": len(reference), "reference": digest(reference), "rows": rows}


def summary(task: Task, runs: Sequence[Mapping[str, Any]], reference: str) -> dict[str, Any]:
    """Summarize all runs of one algorithm by quartiles and final values."""

    def quartiles(result: str, measure: str) -> list[list[float | None]]:
        found = [values_of(runs, result, budget, measure) for budget in task.budgets.all]
        return [_short(own, 5) for own in np.quantile(found, [0.25, 0.5, 0.75], axis=1)]

    def values(result: str, budget: str) -> dict[str, list[float | None]]:
        return {measure: _short(values_of(runs, result, budget, measure), 7) for measure in MEASURES}

    return {
        "seeds": len(runs),
        "reference": reference,
        "ended": sum(one["ended"] for one in runs),
        "seconds": round(float(np.median([one["seconds"] for one in runs])), 3),
        "spent": {budget: np.median([one["spent"][budget] for one in runs], axis=0).tolist() for budget in task.main},
        "curves": {result: {measure: quartiles(result, measure) for measure in CURVES} for result in RESULTS},
        "values": {result: {budget: values(result, budget) for budget in task.main} for result in RESULTS},
    }


def _short(values: Sequence[float], digits: int) -> list[float | None]:
    """Round numbers, with None for infinity."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]


def stored(part: str) -> dict[str, Any]:
    return record.stored(f"moeas_{part}") or {"problems": {}}


def run_part(part: str, tasks: Mapping[str, Task], asked: argparse.Namespace, each: Each) -> None:
    """Run the missing or named problems of a part, and write after each."""
    found = stored(part)
    for name, task in tasks.items():
        if asked.problem not in (None, name):
            continue
        problem = problem_of(part, name, asked.quick)
        there = found["problems"].setdefault(name, {"rows": {}, "left out": {}})
        there["left out"] = {one: why for one in ALGORITHMS if (why := refusal(one, problem))}
        wanted = [
            one
            for one in ALGORITHMS
            if asked.algorithm in (None, one)
            and one not in there["left out"]
            and (asked.again or one not in there["rows"] or there["rows"][one]["seeds"] < asked.seeds)
        ]
        if wanted:
            made = compare((part, name, asked.quick), wanted, range(1, asked.seeds + 1), each)
            rows = {**there["rows"], **made.pop("rows")}
            there.update(made)
            there["rows"] = {one: rows[one] for one in ALGORITHMS if one in rows}
            there["budgets"] = {"main": list(task.main), "all": task.budgets.all, "cap": task.budgets.cap}
            there["proof"] = task.proof
            found["machine"] = record.machine()
        found["problems"] = {one: found["problems"][one] for one in tasks if one in found["problems"]}
        record.write(f"moeas_{part}", found, part_page(part, found))
        if there["rows"]:
            draw(name, there, record.RESULTS / f"moeas_{part}_{slug(name)}.png")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(TASKS), default=list(TASKS), help="the parts to run")
    parser.add_argument("--problem", help="one problem, by its name in the pages")
    parser.add_argument("--algorithm", choices=list(ALGORITHMS), help="one algorithm")
    parser.add_argument("--seeds", type=int, help=f"seeds from 1 to this number, {SEEDS} by default")
    parser.add_argument("--again", action="store_true", help="replace rows that are there")
    parser.add_argument("--quick", action="store_true", help="small problems of invented rows, few seeds")
    parser.add_argument("--processes", type=int, default=2, help="number of processes")
    parser.add_argument("--results", type=Path, help="the folder of the results")
    asked = parser.parse_args(arguments)
    tasks = QUICK_TASKS if asked.quick else TASKS
    names = [name for part in asked.only for name in tasks[part]]
    if asked.problem is not None and asked.problem not in names:
        parser.error(f"--problem must be one of {'; '.join(names)}, got {asked.problem!r}")
    asked.seeds = asked.seeds or (QUICK_SEEDS if asked.quick else SEEDS)
    if asked.results or asked.quick:
        # Results on invented rows must not stand among the others.
        record.RESULTS = asked.results or Path(tempfile.mkdtemp(prefix="moeas-quick-"))
    with record.processes(asked.processes) as pool:
        for part in asked.only:
            run_part(part, tasks[part], asked, pool.map if asked.processes > 1 else map)
    parts = {part: found for part in tasks if (found := stored(part))["problems"]}
    (record.RESULTS / "moeas.md").write_text(overview(parts) + "\n", encoding="utf-8")
    print(f"Results are in {record.RESULTS}.")


if __name__ == "__main__":
    main()
