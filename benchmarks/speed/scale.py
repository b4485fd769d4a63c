"""Scale: rows aggregated, searched and released by each engine, a process per step.

    python -m benchmarks.speed --only rows csv wide [--huge]

Invented rows of the census, nine columns, go to a Parquet file in chunks. Each step then starts anew: its seconds count
neither the start of Python nor compilation, its memory is the most that the process ever held. DuckDB is told to use at
most 4 GB before it goes to disk. DuckDB's own copy of the same file is the measure of all others. "every row" is a
release that recodes, sorts and writes all rows, as it is where few of them agree. A CSV file of 3,000,000 rows becomes
a released CSV file, all steps in one process; and a table of 16 columns and a million distinct tuples is searched.
`--huge` measures DuckDB on 10^8 rows, too.
"""

import json
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import record

ROWS, HUGE = (10**6, 10**7), 10**8
ENGINES = ("duckdb", "polars", "pandas", "spark")
STEPS = ("copy", "aggregate", "search", "recode and write", "count again", "every row")

# Left out: more memory than the machine has, or more time than anybody waits.
MOST = {"pandas": 10**7, "polars": 10**6, "spark": 10**6}
MOST_EVERY_ROW = {"duckdb": 10**6, "polars": 10**6, "pandas": 10**6}
# More rows are too slow to draw.
MOST_DRAWN = 10**7

CSV_ROWS = 3_000_000
WIDE_ROWS, WIDE_COLUMNS = 1_000_000, 16
REPEATS = 3

HEAD = ["step", "s", "CPU s", "MB", "copies"]


class Watch:
    """Return wall and processor seconds since the last call."""

    def __init__(self) -> None:
        self._last = self._now()

    def _now(self) -> tuple[float, float]:
        used = os.times()
        return time.perf_counter(), used.user + used.system

    def read(self) -> dict[str, float]:
        (seconds, cpu), self._last = self._last, self._now()
        return {"seconds": self._last[0] - seconds, "cpu": self._last[1] - cpu}


def opened(engine: str, path: Path) -> Any:
    """Read a file as a table of an engine."""
    if engine == "duckdb":
        import duckdb

        connection = duckdb.connect(config={"memory_limit": "4GB", "temp_directory": str(path.parent / "spill")})
        return connection.read_parquet(str(path)) if path.suffix == ".parquet" else as_csv(connection, path)
    if engine == "polars":
        import polars as pl

        return pl.scan_parquet(path)
    if engine == "spark":
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g")
        return builder.config("spark.ui.enabled", "false").getOrCreate().read.parquet(str(path))
    import pandas as pd

    return pd.read_parquet(path)


def as_csv(connection: Any, path: Path) -> Any:
    return connection.read_csv(str(path), all_varchar=True, header=True, sep=",")


def problem_of(table: Any) -> Any:
    """k, l and general loss with at most 1 % suppressed."""
    from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
    from pymoo_anon.problems import LatticeProblem

    return LatticeProblem(
        table, [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()], suppression=0.01
    )


def searched(table: Any) -> tuple[Any, Any]:
    """Return the proven front, and its point of least loss with k >= 5, l >= 3."""
    from pymoo.optimize import minimize

    from pymoo_anon.algorithms import BranchAndBound
    from pymoo_anon.objectives import DistinctLDiversity, KAnonymity

    problem = problem_of(table)
    res = minimize(problem, BranchAndBound(), seed=1)
    assert res.algorithm.certified
    choice = problem.front(res).choose(require=[KAnonymity() >= 5, DistinctLDiversity("occupation") >= 3])
    return problem, choice.x


def warmed() -> None:
    """Compile or load all loops, so that no step counts it."""
    from pymoo_anon.datasets import make_census

    searched(make_census(2000))


def every_row() -> None:
    """Recode, sort and write all rows from here on."""
    from importlib import import_module

    import_module("pymoo_anon.publishing.release")._FEW = -1


def step(name: str, engine: str, folder: Path) -> dict[str, Any]:
    """Run one step in this process, and return its seconds."""
    from pymoo_anon.datasets import make_census
    from pymoo_anon.publishing.release import recode
    from pymoo_anon.study.engines import write_table
    from pymoo_anon.table import Microdata

    rows, kept, written = folder / "rows.parquet", folder / f"{engine}.pickle", folder / f"{engine}.parquet"
    if name == "copy":
        watch = Watch()
        opened(engine, rows).write_parquet(str(folder / "copy.parquet"))
        return watch.read()
    warmed()
    hierarchies = make_census(1000).quasi_identifiers
    if name == "aggregate":
        frame, watch = opened(engine, rows), Watch()
        table = Microdata.from_frame(frame, hierarchies, "occupation")
        told: dict[str, Any] = {**watch.read(), "distinct": table.n_distinct}
        kept.write_bytes(pickle.dumps(table))
        return told
    table = pickle.loads(kept.read_bytes())
    if name == "search":
        watch = Watch()
        problem, x = searched(table)
        told = {**watch.read(), "nodes": problem.n_unique}
        (folder / f"{engine}.json").write_text(json.dumps(x))
        return told
    if name == "every row":
        every_row()
    problem, x = problem_of(table), json.loads((folder / f"{engine}.json").read_text())
    written.unlink(missing_ok=True)
    frame, watch = opened(engine, rows), Watch()
    made = recode(frame, problem, x, suppressed="drop")
    if engine == "polars":
        made.frame.sink_parquet(written)
    else:
        released = made.frame
        write_table(released, written, made.counted)
    told = {**watch.read(), "bytes": written.stat().st_size}
    if name == "count again":
        watch.read()
        # A frame in memory is counted as it is.
        made.counted_again(released if engine == "pandas" else opened(engine, written))
        told |= watch.read()
    return told


def measured(*arguments: str) -> dict[str, Any]:
    """Run a step in its own process, and return its result and peak memory."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.scale", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["killed"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def write_rows(n_rows: int, path: Path) -> None:
    """Write the rows of the census as a Parquet file, chunk by chunk."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pymoo_anon.datasets import census_rows

    drawn = n_rows if n_rows <= MOST_DRAWN else MOST_DRAWN // 10
    writer = None
    for rows in census_rows(drawn):
        table = pa.Table.from_pandas(rows, preserve_index=False)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    if drawn < n_rows:
        multiply(path, drawn, n_rows)


def multiply(path: Path, n_drawn: int, n_rows: int) -> None:
    """Write the rows many times, with ages moved by a hash of the row number."""
    import duckdb

    drawn = path.rename(path.with_name("drawn.parquet"))
    own = {"memory_limit": "2GB", "temp_directory": str(path.parent / "spill"), "preserve_insertion_order": False}
    duckdb.connect(config=own).sql(
        f"COPY (SELECT 17 + (age - 17 + hash(file_row_number + {n_drawn} * time) % 5) % 74 AS age, "
        f"* EXCLUDE (age, file_row_number, time) FROM read_parquet('{drawn}', file_row_number = true), "
        f"range({-(-n_rows // n_drawn)}) AS times(time)) TO '{path}'"
    )
    drawn.unlink()


def csv_to_csv(folder: Path) -> dict[str, Any]:
    """Release a CSV file as a CSV file in one process, beside DuckDB alone."""
    import duckdb

    from pymoo_anon.datasets import census_rows, load_hierarchy, make_census
    from pymoo_anon.publishing.release import recode
    from pymoo_anon.study.engines import write_table
    from pymoo_anon.table import Microdata

    warmed()
    path, out = folder / "rows.csv", folder / "released.csv"
    for i, rows in enumerate(census_rows(CSV_ROWS)):
        rows.to_csv(path, mode="a" if i else "w", header=i == 0, index=False)
    hierarchies = {name: load_hierarchy(name) for name in make_census(1000).quasi_identifiers}
    runs = []
    for _ in range(REPEATS):
        run, watch = {}, Watch()
        as_csv(duckdb.connect(), path).write_csv(str(folder / "copy.csv"))
        run["copy"] = watch.read()
        table = Microdata.from_frame(as_csv(duckdb.connect(), path), hierarchies, "occupation")
        run["aggregate"] = watch.read()
        problem, x = searched(table)
        run["search"] = watch.read()
        connection = duckdb.connect()
        made = recode(as_csv(connection, path), problem, x, suppressed="drop")
        write_table(made.frame, out, made.counted)
        run["recode and write"] = watch.read()
        made.counted_again(as_csv(connection, out))
        run["count again"] = watch.read()
        runs.append(run)
    every_row()
    watch = Watch()
    write_table(recode(as_csv(connection, path), problem, x, suppressed="drop").frame, folder / "every.csv")
    own = {"every row": watch.read()}
    assert (folder / "every.csv").read_bytes() == out.read_bytes()
    return {"bytes": path.stat().st_size, "runs": runs, **own}


def wide(folder: Path) -> dict[str, Any]:
    """Search a table of many columns and distinct rows, on both cores."""
    import numpy as np
    from pymoo.optimize import minimize

    from pymoo_anon.algorithms import ParetoLocalSearch
    from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    from pymoo_anon.problems import LatticeProblem
    from pymoo_anon.table import Hierarchy, Microdata

    warmed()
    rng = np.random.default_rng(1)
    hierarchy = Hierarchy.intervals(0, 16, widths=[2, 4, 8])
    # Small numbers are frequent, as in most columns about persons.
    codes = [(16 * rng.random(WIDE_ROWS) ** 3).astype(np.int64) for _ in range(WIDE_COLUMNS)]
    hierarchies = {f"column {i}": hierarchy for i in range(WIDE_COLUMNS)}
    watch = Watch()
    table = Microdata.from_codes(hierarchies, codes, np.ones(WIDE_ROWS, dtype=np.int64), {}, {})
    told: dict[str, Any] = {"aggregate": watch.read(), "distinct": table.n_distinct}
    for n_threads in (1, 2):
        problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], 0.01, [KAnonymity() >= 5])
        problem.n_threads = n_threads
        watch.read()
        res = minimize(problem, ParetoLocalSearch(), ("n_eval", 300), seed=1)
        own = {**watch.read(), "members": len(res.F), "nodes": problem.n_unique}
        told[f"search with {n_threads} threads"] = own
    return told


def lines_of(steps: dict[str, Any], copy: dict[str, float] | None) -> list[list[str]]:
    """Write a line per step: seconds, memory, and copies of the file."""
    made = []
    for name in (*STEPS, *(one for one in steps if one not in STEPS)):
        own = steps.get(name)
        if not isinstance(own, dict):
            continue
        if "failed" in own:
            made.append([name, own["failed"][:60], *["\u2013"] * 3])
            continue
        memory = f"{own['peak_mb']:,.0f}" if "peak_mb" in own else "\u2013"
        share = f"{own['cpu'] / copy['cpu']:.1f}" if copy else "\u2013"
        made.append([name, f"{own['seconds']:,.1f}", f"{own['cpu']:,.1f}", memory, share])
    return made


def table_of_rows(found: dict[str, dict[str, Any]]) -> str:
    """Write every step of every engine as a table, by number of rows."""
    lines = []
    for n_rows, engines in sorted(found.items(), key=lambda item: int(item[0])):
        copy = engines.get("duckdb", {}).get("copy")
        for engine, steps in engines.items():
            made = lines_of(steps, copy)
            if engine == "spark":
                # Its own process works, and is not measured.
                made = [[name, seconds, *["\u2013"] * 3] for name, seconds, *_ in made]
            lines += [[f"{int(n_rows):,}", engine, *line] for line in made]
    return record.markdown(["rows", "engine", *HEAD], lines)


def told_of_csv(found: dict[str, Any]) -> dict[str, Any]:
    """Return the table of the median run from CSV to CSV, and its processor seconds."""
    runs = sorted(found["runs"], key=lambda run: sum(one["cpu"] for one in run.values()))
    middle = runs[len(runs) // 2]
    copy = middle["copy"]["cpu"]
    whole = sum(one["cpu"] for one in middle.values()) - copy
    without = whole - middle["search"]["cpu"]
    table = record.markdown(HEAD, lines_of({**middle, "every row": found["every row"]}, middle["copy"]))
    return {"mb": found["bytes"] / 1e6, "table": table, "whole": whole, "without": without, "copies": without / copy}


def told_of_most(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return DuckDB's seconds a row on the most rows, and what ten machines would need at that rate."""
    n_rows = max(int(n) for n, engines in found.items() if "count again" in engines.get("duckdb", {}))
    steps = found[str(n_rows)]["duckdb"]
    each = sum(steps[name]["cpu"] for name in ("aggregate", "recode and write", "count again")) / n_rows
    return {"rows": n_rows, "each": each * 1e6, "hours": each * 1e10 / 3600, "minutes": each * 3e10 / 3600}


def of_engines(n_rows: int, engines: Sequence[str], folder: Path) -> dict[str, Any]:
    write_rows(n_rows, folder / "rows.parquet")
    found: dict[str, Any] = {engine: {} for engine in engines if n_rows <= MOST.get(engine, n_rows)}
    for engine, steps in found.items():
        left_out = {"copy"} if engine != "duckdb" else set()
        left_out |= {"every row"} if n_rows > MOST_EVERY_ROW.get(engine, 0) else set()
        for name in STEPS:
            if name not in left_out:
                steps[name] = measured(name, engine, str(folder))
                print(n_rows, engine, name, steps[name], file=sys.stderr, flush=True)
                if "failed" in steps[name]:
                    break
    return found


def rows(numbers: Iterable[int] = ROWS, engines: Sequence[str] = ENGINES) -> dict[str, dict[str, Any]]:
    found = {}
    for n_rows in numbers:
        with tempfile.TemporaryDirectory() as name:
            found[str(n_rows)] = of_engines(n_rows, engines, Path(name))
    return found


def alone(name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return measured(name, "duckdb", folder)


if __name__ == "__main__":
    asked, of, where = sys.argv[1:]
    whole: dict[str, Callable[[Path], dict[str, Any]]] = {"csv": csv_to_csv, "wide": wide}
    told = whole[asked](Path(where)) if asked in whole else step(asked, of, Path(where))
    told["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(told))
