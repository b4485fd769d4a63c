"""Figures of local recodings beside their targets: loss and seconds.

    python -m benchmarks.local.figures

Adult at several k, with l, t and entropy l, under a bound of the mean risk, its front, its certified gaps and refined
members of its lattice; ARX's benchmark; millions of rows, and many columns, which are invented. Seconds are of one
processor, compiling aside; one case runs after the other. Five minutes; needs Adult.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from pymoo.optimize import minimize

from benchmarks import record
from benchmarks.local.bounds import problem_of
from benchmarks.local.fronts import ARX, NEIGHBOURHOODS, hypervolume, table_of_arx
from benchmarks.tables import cells, large_table
from pymoo_anon.algorithms import TargetSweep
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.objectives import (
    DistinctLDiversity,
    EntropyLDiversity,
    GeneralLossMetric,
    KAnonymity,
    MarketerRisk,
    TCloseness,
)
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem, refine
from pymoo_anon.recoding import Requirements, Trees, recode
from pymoo_anon.table import Hierarchy, Microdata

SECRET = "occupation"


class Found(NamedTuple):
    """One figure and its seconds, with or without a target."""

    value: float | None
    seconds: float | None = None

    def __str__(self) -> str:
        value = "" if self.value is None else f"{self.value:.4g}"
        return value + ("" if self.seconds is None else f" in {self.seconds:g} s")


class Case(NamedTuple):
    """One kind of work."""

    work: str  # What it is
    run: Callable[[], Found]
    must: Found  # What is to be reached
    goal: Found | None = None  # What would be better, if anything
    higher: bool = False  # Whether higher figures are better

    def reaches(self, found: Found, asked: Found | None) -> bool:
        """Return whether a figure meets its target in its time."""
        if asked is None:
            return False
        sign = -1 if self.higher else 1
        good = asked.value is None or sign * (found.value or 0.0) <= sign * asked.value
        return good and (asked.seconds is None or (found.seconds or 0.0) <= asked.seconds)


@cache
def adult() -> Microdata:
    return fetch_adult(sensitive=SECRET)


def resampled(make: Callable[[], Microdata], n_rows: int, share: float) -> Microdata:
    """Draw rows of a table, with a share of the cells redrawn from their column."""
    rng, table = np.random.default_rng(1), make()
    tuples = table.tuples
    weights = tuples.counts / tuples.n_rows
    own = rng.choice(len(tuples), n_rows, p=weights)
    codes = []
    for column in tuples.codes.T:
        other = column[rng.choice(len(tuples), n_rows, p=weights)]
        codes.append(np.where(rng.random(n_rows) < share, other, column[own]).astype(np.int64))
    return Microdata.from_codes(table.quasi_identifiers, codes, np.ones(n_rows, dtype=np.int64), {}, {})


def invented(n_rows: int, n_columns: int) -> Microdata:
    """Draw rows of a dozen hidden groups, with 2 to 128 values per column."""
    rng = np.random.default_rng(1)
    group = np.minimum(rng.geometric(0.2, n_rows) - 1, 11)
    hierarchies, codes = {}, []
    for j in range(n_columns):
        bits = 1 + j % 7
        n_values = 2**bits
        drawn = np.rint(rng.normal(rng.uniform(0, n_values, 12)[group], n_values / 6)).astype(np.int64)
        codes.append(np.clip(drawn, 0, n_values - 1))
        hierarchies[f"column {j}"] = Hierarchy.intervals(0, n_values, widths=[2**b for b in range(1, bits)])
    return Microdata.from_codes(hierarchies, codes, np.ones(n_rows, dtype=np.int64), {}, {})


def timed(problem: LocalRecodingProblem, k: int, price: float = 0.0) -> Found:
    """Return the loss per cell of one recoding, or infinity if infeasible."""
    x = problem.x_of(k, price)
    _, seconds = record.timed(lambda: problem.decode(x))
    F, G = problem.evaluate(x, return_values_of=["F", "G"])
    return Found(F[0] / cells(problem.table) if (G <= 0).all() else np.inf, seconds)


def recoded(k: int, *asked: Any, price: float = 0.0, **how: Any) -> Found:
    """Recode Adult under constraints beside k."""
    return timed(LocalRecodingProblem(adult(), [GeneralLossMetric()], [KAnonymity() >= k, *asked], **how), k, price)


def of_rows(make: Callable[[], Microdata], n_rows: int, share: float, k: int) -> Found:
    table = resampled(make, n_rows, share)
    return timed(LocalRecodingProblem(table, [GeneralLossMetric()], [KAnonymity() >= k]), k)


def below_top_down(n_rows: int, n_columns: int) -> Found:
    """Return the share of top-down's loss saved by bottom-up on an invented table."""
    table, asked = invented(n_rows, n_columns), [KAnonymity() >= 5]
    quick = timed(LocalRecodingProblem(table, [GeneralLossMetric()], asked, method="top-down"), 5)
    slow = timed(LocalRecodingProblem(table, [GeneralLossMetric()], asked), 5)
    return Found(1 - (slow.value or 0.0) / (quick.value or 1.0), slow.seconds)


def front() -> Found:
    """Return the hypervolume of a sweep of targets."""
    problem = LocalRecodingProblem(adult(), [KAnonymity(), GeneralLossMetric()])
    F, seconds = record.timed(lambda: minimize(problem, TargetSweep(), seed=1).F)
    points = {"k": (-F[:, 0]).tolist(), "loss": (F[:, 1] / cells(adult())).tolist()}
    return Found(hypervolume(points, adult().n_rows), seconds)


def of_arx(k: int) -> Found:
    """ARX's benchmark, with neighbourhoods built anew."""
    n = NEIGHBOURHOODS[k]
    return timed(LocalRecodingProblem(table_of_arx(), [GeneralLossMetric()], n_improvements=n), k)


def gap(k: int, n_values: int, n_improvements: int, n_passes: int) -> Found:
    """Return the certified gap of a recoding as a share of its loss."""
    problem = problem_of(adult(), n_values, n_improvements)
    x = problem.x_of(k)
    bound, seconds = record.timed(lambda: problem.lower_bound(x, ("n_iter", n_passes)))
    return Found(bound.share, seconds)


def refined() -> Found:
    """Count the coarser cells of refined members of the exact front."""
    problem = LatticeProblem(adult(), [KAnonymity(), GeneralLossMetric()], 0.01)
    coarser, slowest = 0, 0.0
    for x in problem.pareto_set():
        made, seconds = record.timed(partial(refine, problem, x))
        slowest = max(slowest, seconds)
        classes = problem.equivalence_classes(x)
        kept = ~classes.suppressed[classes.class_of[0]]
        for hierarchy, level, own in zip(adult().quasi_identifiers.values(), x, made.cells.T, strict=True):
            coarser += int((hierarchy.nodes.level[own[kept]] > level).sum())
    return Found(float(coarser), slowest)


def other_cells() -> Found:
    """Count the changed cells under another order of rows or more threads."""
    table = resampled(large_table, 65_000, 0.1)
    order = np.random.default_rng(2).permutation(table.n_distinct)
    other = Microdata(table.quasi_identifiers, table.tuples.codes[order], table.tuples.counts[order], {}, {})

    def made(own: Microdata, n_threads: int) -> Any:
        trees = Trees.of(own.tuples, [hierarchy.nodes for hierarchy in own.quasi_identifiers.values()])
        return recode(trees, Requirements.of(own.tuples, trees, 5), n_threads=n_threads)

    alone = made(table, 1)
    return Found(float((made(table, 2) != alone).sum() + (made(other, 2) != alone[order]).sum()))


CASES = (
    Case("k = 5", partial(recoded, 5), Found(0.0283, 1)),
    Case("k = 25", partial(recoded, 25), Found(0.0702, 1)),
    Case("k = 100", partial(recoded, 100), Found(0.1290, 1)),
    Case("k = 5, improved", partial(recoded, 5, n_improvements=12_000), Found(0.0272, 10), Found(0.0264, 20)),
    Case("k = 25, improved", partial(recoded, 25, n_improvements=4000), Found(0.0693, 10), Found(0.0680, 20)),
    Case("k = 100, improved", partial(recoded, 100, n_improvements=300), Found(0.1278, 10), Found(0.1265, 20)),
    Case("k = 5, top-down", partial(recoded, 5, method="top-down"), Found(0.038, 0.05), Found(0.036, 0.015)),
    Case("k = 5, l = 3", partial(recoded, 5, DistinctLDiversity(SECRET) >= 3), Found(0.0340, 1), Found(0.0320, 2)),
    Case(
        "k = 5, l = 3, improved",
        partial(recoded, 5, DistinctLDiversity(SECRET) >= 3, n_improvements=500),
        Found(0.0340),
        Found(0.0320, 2),
    ),
    *(
        Case(f"k = 5, {name}, {how}", partial(recoded, 5, one, structure=how), Found(least, s), Found(best, s))
        for name, one, least, best, s in (
            ("t <= 0.3", TCloseness(SECRET) <= 0.3, 0.29, 0.25, 10),
            ("entropy l >= 5", EntropyLDiversity(SECRET) >= 5, 0.11, 0.10, 5),
        )
        for how in ("sizes", "direct")
    ),
    *(
        Case(
            f"k = 5, mean risk up to 2.7 %, a price of 11 cells{more}",
            partial(recoded, 5, MarketerRisk() <= 0.027, price=11, n_improvements=n),
            Found(0.060, seconds),
            Found(0.057, 5),
        )
        for more, n, seconds in (("", 0, 1), (", improved", 6000, 5))
    ),
    Case("front of 58 targets, hypervolume", front, Found(0.71, 15), Found(0.72, 6), higher=True),
    Case("certified gap, k = 5", partial(gap, 5, 0, 6000, 20), Found(0.15, 10)),
    Case("certified gap, k = 5, in half a minute", partial(gap, 5, 0, 45_000, 60), Found(0.09, 30), Found(0.07, 30)),
    Case("certified gap, k = 2, l = 3", partial(gap, 2, 3, 6000, 20), Found(0.20, 10), Found(0.10, 30)),
    Case("certified gap, k = 5, l = 3", partial(gap, 5, 3, 6000, 20), Found(0.20, 10), Found(0.10, 30)),
    Case("refined members of the exact front: coarser cells; the slowest", refined, Found(0, 0.5), Found(0, 0.1)),
    *(
        Case(
            f"ARX's benchmark, k = {k}, improved; ARX's local transformation",
            partial(of_arx, k),
            Found(loss if k <= 25 else None),
            Found(loss),
        )
        for k, loss in zip(NEIGHBOURHOODS, ARX["ARX, local transformation, published"], strict=True)
    ),
    Case(
        "3,000,000 rows of Adult, half of the cells drawn anew, k = 25",
        partial(of_rows, adult, 3_000_000, 0.5, 25),
        Found(None, 10),
        Found(None, 3),
    ),
    Case(
        "65,000 rows of Adult with 12 columns, a tenth of the cells drawn anew, k = 5",
        partial(of_rows, large_table, 65_000, 0.1, 5),
        Found(None, 4),
        Found(None, 1),
    ),
    *(
        Case(
            f"{n_columns} invented columns, {n_rows:,} rows, k = 5: less loss than top-down by",
            partial(below_top_down, n_rows, n_columns),
            Found(0.10, 30),
            Found(0.20, 30),
            higher=True,
        )
        for n_rows, n_columns in ((70_000, 16), (30_000, 24))
    ),
    Case("cells that differ in another order of rows, and with two threads", other_cells, Found(0)),
)


def warm() -> None:
    census, goals = make_census(300), [KAnonymity(), GeneralLossMetric()]
    asked = [TCloseness(SECRET) <= 0.5, EntropyLDiversity(SECRET) >= 2, DistinctLDiversity(SECRET) >= 2]
    for constraints in ([], *([one] for one in asked)):
        problem = LocalRecodingProblem(census, goals, constraints, n_improvements=5)
        problem.lower_bound(problem.x_of(3), ("n_iter", 1))
    LocalRecodingProblem(census, goals, method="top-down").decode(problem.x_of(3))
    problem_of(census, 2, 5).lower_bound(problem.x_of(3), ("n_iter", 1))
    lattice = LatticeProblem(census, goals, 0.01)
    refine(lattice, lattice.pareto_set()[0])
    below_top_down(3000, 24)


COLUMNS = {
    "work": "{work}",
    "figure": "{value:.4f}",
    "seconds": lambda one: "" if one["seconds"] is None else f"{one['seconds']:.2f}",
    "must": "{must}",
    "goal": lambda one: str(one["goal"] or ""),
    "reached": "{reached}",
}


def main() -> None:
    warm()
    figures, reached = [], []
    for case in CASES:
        own = case.run()
        print(case.work, *own, flush=True)
        must, goal = (case.reaches(own, asked) for asked in (case.must, case.goal))
        reached.append("no" if not must else "goal" if goal else "must")
        figures.append({"work": case.work, **own._asdict(), "must": case.must, "goal": case.goal})
    rows = [{**one, "reached": verdict} for one, verdict in zip(figures, reached, strict=True)]
    figures = {"machine": record.machine(), "found": figures}
    record.write("local_figures", figures, figures=record.table(COLUMNS, rows))


if __name__ == "__main__":
    main()
