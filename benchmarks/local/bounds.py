"""Certified bounds of local recodings of Adult, and the savings of improvements.

    python -m benchmarks.local.bounds

General loss a cell, of the packaged method and after large neighbourhood search; the lower bound after a few passes and
after many; the gap that is left. Seconds are of one processor, compiling aside. Two minutes; needs Adult.
"""

from functools import partial

from benchmarks import record
from benchmarks.tables import cells
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LocalRecodingProblem
from pymoo_anon.table import Microdata

#: k, of the problem's targets; l of the occupation (0: none); how many neighbourhoods are tried.
CASES = [(2, 0, 6000), (5, 0, 6000), (26, 0, 2000), (115, 0, 300), (2, 3, 6000), (5, 3, 6000)]
FEW, MANY = 8, 40


def problem_of(table: Microdata, n_values: int, n_improvements: int) -> LocalRecodingProblem:
    """Local recodings of least loss, so that all requirements decide where tuples go."""
    asked = [DistinctLDiversity("occupation") >= n_values] if n_values else []
    return LocalRecodingProblem(
        table, [KAnonymity(), GeneralLossMetric()], asked, structure="direct", n_improvements=n_improvements
    )


def measured(table: Microdata, k: int, n_values: int, n_improvements: int) -> dict[str, float]:
    found: dict[str, float] = {"k": k, "l": n_values, "neighbourhoods": n_improvements}
    for way, n in (("plain", 0), ("improved", n_improvements)):
        problem = problem_of(table, n_values, n)
        x = problem.x_of(k)
        _, found[f"seconds {way}"] = record.timed(partial(problem.decode, x))
        for passes in (FEW, MANY) if n else ():
            bound, seconds = record.timed(partial(problem.lower_bound, x, ("n_iter", passes)))
            told = {"bound": bound.value / cells(table), "seconds": seconds, "gap": bound.share}
            found |= {f"{name} {passes}": value for name, value in told.items()}
        found[way] = float(GeneralLossMetric().evaluate(problem.equivalence_classes(x))[0]) / cells(table)
    return found


def main() -> None:
    for _, n_values, _ in CASES[-2:] + CASES[:1]:
        measured(make_census(100), 3, n_values, 10)
    table = fetch_adult(sensitive="occupation")
    found = [measured(table, *case) for case in CASES]
    head = ["k", "l", "loss", "s", "neighbourhoods", "loss", "s"]
    form = "{k}|{l}|{plain:.5f}|{seconds plain:.1f}|{neighbourhoods:,}|{improved:.5f}|{seconds improved:.1f}"
    for n in (FEW, MANY):
        head += [f"bound, {n} passes", "s", "gap"]
        form += f"|{{bound {n}:.5f}}|{{seconds {n}:.1f}}|{{gap {n}:.1%}}"
    rows = [form.format_map(one | {"l": one["l"] or ""}).split("|") for one in found]
    record.write("local_bound", {"machine": record.machine(), "found": found}, bounds=record.markdown(head, rows))


if __name__ == "__main__":
    main()
