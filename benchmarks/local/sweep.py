"""Seconds and loss of each target of a sweep, for 8 to 24 columns.

    python -m benchmarks.local.sweep

Adult with 8, 9 (ARX's) and 12 columns, and 16 and 24 invented ones. Each target is recoded alone by one thread. Beside
its figures stand those of `earlier` in the results, which a new run keeps. A quarter of an hour; needs Adult.
"""

from functools import partial
from typing import Any

from benchmarks import record
from benchmarks.local.figures import invented
from benchmarks.local.fronts import table_of_arx
from benchmarks.tables import cells, large_table
from pymoo_anon.algorithms.target_sweep import sweep_of
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LocalRecodingProblem

TABLES = {
    "8": fetch_adult,
    "9": table_of_arx,
    "12": large_table,
    "16": partial(invented, 30_000, 16),
    "24": partial(invented, 30_000, 24),
}
# These compile all loops before anything is timed: cubes, growth, and few classes.
WARM = 7, 150, 3000, 15_000


def swept(columns: str) -> dict[str, list[float]]:
    table = TABLES[columns]()
    problem = LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric()])
    problem.n_threads = 1
    for k in WARM:
        problem.decode(problem.x_of(k))
    problem = problem.fresh_copy()
    problem.n_threads = 1
    found: dict[str, list[float]] = {}
    for x in sweep_of(problem, 48):
        _, seconds = record.timed(partial(problem.decode, x))
        loss = problem.evaluate(x)[1] / cells(table)
        found[str(problem.target(x).k)] = [round(seconds, 3), round(float(loss), 5)]
    return found


def tables(earlier: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Write a table of each sweep, with the earlier figures beside it."""
    told = []
    for columns, own in now.items():
        old = earlier.get(columns, {})
        rows = []
        for k, after in own.items():
            pairs = zip(old.get(k, (None, None)), after, ("{:.3f}", "{:.5f}"), strict=True)
            rows.append([f"{int(k):,}", *("" if v is None else s.format(v) for b, n, s in pairs for v in (b, n))])
        shared = [k for k in own if k in old]
        totals = [f"{sum(part[k][0] for k in shared):.1f}" for part in (old, own)]
        rows.append([f"{len(shared)} targets", *totals, "", ""])
        told.append(record.markdown([f"{columns} columns, k", "s before", "s now", "loss before", "loss now"], rows))
    return told


def main() -> None:
    earlier = record.stored("local_sweep").get("earlier", {})
    now = {columns: swept(columns) for columns in TABLES}
    figures = {"machine": record.machine(), "earlier": earlier, "now": now}
    record.write("local_sweep", figures, tables="\n\n".join(tables(earlier, now)))


if __name__ == "__main__":
    main()
