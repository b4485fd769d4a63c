"""How far it goes: rows aggregated, searched, released and verified by each engine, every step in its own process.

    python -m benchmarks.speed.scale [--rows 1000000 ...] [--engines duckdb ...] [--no-csv]

Invented rows of the census, nine columns, go to a Parquet file in chunks. Each step then starts anew: its seconds count
neither the start of Python nor compilation, its memory is the most that the process ever held. DuckDB is told to use at
most 4 GB before it goes to disk. At last a CSV file of 3,000,000 rows becomes a released CSV file, beside DuckDB alone,
which reads and writes the same file. 10^8 rows take about half an hour, and 20 GB of disk.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import record

ROWS = (10**6, 10**7, 10**8)
ENGINES = ("duckdb", "polars", "pandas", "dask", "spark")
STEPS = ("aggregate", "search", "release", "verify")

# What does not fit: more rows take more memory than the machine has, or longer than anybody waits.
MOST = {"pandas": 10**7, "polars": 10**7, "dask": 10**6, "spark": 10**7}

# Quasi-identifiers whose combinations have all been seen after a million rows.
FEW = ("age", "workclass", "race", "sex")

CSV_ROWS = 3_000_000
REPEATS = 3


def opened(engine: str, path: Path) -> Any:
    """A file as a table of an engine."""
    if engine == "duckdb":
        import duckdb

        connection = duckdb.connect(config={"memory_limit": "4GB", "temp_directory": str(path.parent / "spill")})
        return connection.read_parquet(str(path)) if path.suffix == ".parquet" else as_csv(connection, path)
    if engine == "polars":
        import polars as pl

        return pl.scan_parquet(path)
    if engine == "dask":
        import dask.dataframe as dd

        return dd.read_parquet(path)
    if engine == "spark":
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g")
        return builder.config("spark.ui.enabled", "false").getOrCreate().read.parquet(str(path))
    import pandas as pd

    return pd.read_parquet(path)


def as_csv(connection: Any, path: Path) -> Any:
    """A CSV file as a relation of text."""
    return connection.read_csv(str(path), all_varchar=True, header=True, sep=",")


def problem_of(table: Any) -> Any:
    """k, l and general loss with at most 1 % suppressed."""
    from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
    from pymoo_anon.problems import LatticeProblem

    return LatticeProblem(
        table, [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()], suppression=0.01
    )


def searched(table: Any) -> tuple[Any, Any]:
    """The proven front of a table, and the point of least loss with k of at least 5 and l of at least 3."""
    from pymoo.optimize import minimize

    from pymoo_anon.algorithms import BranchAndBound
    from pymoo_anon.objectives import DistinctLDiversity, KAnonymity
    from pymoo_anon.publishing import choose

    problem = problem_of(table)
    res = minimize(problem, BranchAndBound(), seed=1)
    assert res.algorithm.certified
    choice = choose(problem, res, require=[KAnonymity() >= 5, DistinctLDiversity("occupation") >= 3])
    return problem, choice.x


def few_columns(table: Any) -> dict[str, Any]:
    """The search of four quasi-identifiers alone: of these all combinations occur, however many rows there are."""
    import numpy as np
    from pymoo.optimize import minimize

    from pymoo_anon.algorithms import BranchAndBound
    from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    from pymoo_anon.problems import LatticeProblem
    from pymoo_anon.table import Microdata

    names = list(table.quasi_identifiers)
    hierarchies = {name: table.quasi_identifiers[name] for name in FEW}
    codes = [np.ascontiguousarray(table.tuples.codes[:, names.index(name)]) for name in FEW]
    small = Microdata.from_codes(hierarchies, codes, table.tuples.counts, {}, {})
    began = time.perf_counter()
    res = minimize(LatticeProblem(small, [KAnonymity(), GeneralLossMetric()], 0.01), BranchAndBound(), seed=1)
    assert res.algorithm.certified
    return {"few_seconds": time.perf_counter() - began, "few_distinct": small.n_distinct}


def warmed() -> None:
    """Compile or load all loops, so that no step counts it."""
    from pymoo_anon.datasets import make_census

    searched(make_census(2000))


def step(name: str, engine: str, folder: Path) -> dict[str, Any]:
    """One step in this process: its seconds."""
    from pymoo_anon.cli.engines import write_table
    from pymoo_anon.datasets import make_census
    from pymoo_anon.publishing.release import Asked, recode
    from pymoo_anon.table import Microdata

    warmed()
    rows, kept, written = folder / "rows.parquet", folder / f"{engine}.pickle", folder / f"{engine}.parquet"
    hierarchies = make_census(1000).quasi_identifiers
    told: dict[str, Any] = {}
    if name == "aggregate":
        began = time.perf_counter()
        table = Microdata.from_frame(opened(engine, rows), hierarchies, "occupation")
        told["seconds"] = time.perf_counter() - began
        told["distinct"] = table.n_distinct
        kept.write_bytes(pickle.dumps(table))
        return told
    if name == "search":
        table = pickle.loads(kept.read_bytes())
        began = time.perf_counter()
        problem, x = searched(table)
        told["seconds"] = time.perf_counter() - began
        told["nodes"] = problem.n_unique
        told |= few_columns(table)
        (folder / f"{engine}.json").write_text(json.dumps(x))
        return told
    problem = problem_of(pickle.loads(kept.read_bytes()))
    x = json.loads((folder / f"{engine}.json").read_text())
    began = time.perf_counter()
    made = recode(opened(engine, rows), problem, x, Asked(suppressed="drop"))
    if name == "release":
        written.unlink(missing_ok=True)
        write_table(made.frame, written)
        told["bytes"] = written.stat().st_size
    else:
        claims = made.claims(opened(engine, written))
        assert claims.holds.all()
        told["claims"] = dict(zip(claims.measure, claims.recounted, strict=True))
    told["seconds"] = time.perf_counter() - began
    return told


def measured(*arguments: str) -> dict[str, Any]:
    """A step in a process of its own: what it says, and the most memory that it held."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.scale", "--step", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["killed"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def write_rows(n_rows: int, path: Path) -> None:
    """The rows of the census as a Parquet file, chunk by chunk."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pymoo_anon.datasets import census_rows

    writer = None
    for rows in census_rows(n_rows):
        table = pa.Table.from_pandas(rows, preserve_index=False)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def csv_to_csv(folder: Path) -> dict[str, Any]:
    """A CSV file of rows becomes a released one: all steps in one process, beside DuckDB alone."""
    import duckdb

    from pymoo_anon.cli.engines import write_table
    from pymoo_anon.datasets import census_rows, make_census
    from pymoo_anon.publishing.release import Asked, recode
    from pymoo_anon.table import Microdata

    warmed()
    path, out = folder / "rows.csv", folder / "released.csv"
    for i, rows in enumerate(census_rows(CSV_ROWS)):
        rows.to_csv(path, mode="a" if i else "w", header=i == 0, index=False)
    hierarchies = make_census(1000).quasi_identifiers
    copied, whole, parts = [], [], []
    for _ in range(REPEATS):
        began = time.perf_counter()
        as_csv(duckdb.connect(), path).write_csv(str(folder / "copy.csv"))
        copied.append(time.perf_counter() - began)
        marks = [time.perf_counter()]
        table = Microdata.from_frame(as_csv(duckdb.connect(), path), hierarchies_of_text(hierarchies), "occupation")
        marks.append(time.perf_counter())
        problem, x = searched(table)
        marks.append(time.perf_counter())
        connection = duckdb.connect()
        made = recode(as_csv(connection, path), problem, x, Asked(suppressed="drop"))
        write_table(made.frame, out)
        marks.append(time.perf_counter())
        made.counted_again(as_csv(connection, out))
        marks.append(time.perf_counter())
        whole.append(marks[-1] - marks[0])
        parts.append([after - before for before, after in itertools.pairwise(marks)])
    ratios = sorted(own / alone for own, alone in zip(whole, copied, strict=True))
    middle = sorted(range(REPEATS), key=whole.__getitem__)[REPEATS // 2]
    return {
        "rows": CSV_ROWS,
        "csv_bytes": path.stat().st_size,
        "duckdb_alone": sorted(copied)[REPEATS // 2],
        "whole": whole[middle],
        "parts": dict(
            zip(("read and aggregate", "search", "recode and write", "count again"), parts[middle], strict=True)
        ),
        "ratio": ratios[REPEATS // 2],
    }


def hierarchies_of_text(hierarchies: Any) -> dict[str, Any]:
    """The packaged hierarchies, whose values are text in a CSV file."""
    from pymoo_anon.datasets import load_hierarchy

    return {name: load_hierarchy(name) for name in hierarchies}


def report(found: dict[str, Any]) -> None:
    """Write the results."""
    lines = []
    for n_rows, engines in sorted(found["engines"].items(), key=lambda item: int(item[0])):
        for engine, steps in engines.items():
            cells = []
            for name in STEPS:
                own = steps.get(name, {})
                failed = "failed" in own or not own
                cells += ["–", "–"] if failed else [f"{own['seconds']:,.1f}", f"{own['peak_mb']:,.0f}"]
            own = steps.get("search", {})
            few = f"{own['few_seconds']:.2f}" if "few_seconds" in own else "–"
            distinct = steps.get("aggregate", {}).get("distinct")
            lines.append([f"{int(n_rows):,}", engine, f"{distinct:,}" if distinct else "–", *cells, few])
    units = [f"{name}, {unit}" for name in STEPS for unit in ("s", "MB")]
    head = ["rows", "engine", "distinct tuples", *units, "search of four columns, s"]
    text = "# Scale\n\n" + record.line(found["machine"]) + "\n\n" + record.markdown(head, lines)
    own = found["csv"]
    if own:
        parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in own["parts"].items())
        text += (
            f"\n\nA CSV file of {own['rows']:,} rows ({own['csv_bytes'] / 1e6:,.0f} MB) to a released CSV file: "
            f"{own['whole']:.1f} s ({parts}). DuckDB alone reads and writes it in {own['duckdb_alone']:.1f} s; "
            f"the median of {REPEATS} ratios is {own['ratio']:.1f}."
        )
    record.write("scale", found, text)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--engines", nargs="+", default=ENGINES)
    parser.add_argument("--no-csv", action="store_true")
    parser.add_argument("--step", nargs=3)
    options = parser.parse_args()
    if options.step:
        name, engine, folder = options.step
        told = csv_to_csv(Path(folder)) if name == "csv" else step(name, engine, Path(folder))
        told["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(told))
        return
    # What is not measured now stays as it was measured before.
    path = record.RESULTS / "scale.json"
    found: dict[str, Any] = (
        json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"engines": {}, "csv": {}}
    )
    found["machine"] = record.machine()
    for n_rows in options.rows:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_rows(n_rows, folder / "rows.parquet")
            found["engines"].setdefault(str(n_rows), {})
            for engine in options.engines:
                if n_rows > MOST.get(engine, n_rows):
                    continue
                steps: dict[str, Any] = {}
                for one in STEPS:
                    steps[one] = measured(one, engine, name)
                    print(n_rows, engine, one, steps[one], flush=True)
                    if "failed" in steps[one]:
                        break
                found["engines"][str(n_rows)][engine] = steps
    if not options.no_csv:
        with tempfile.TemporaryDirectory() as name:
            found["csv"] = measured("csv", "duckdb", name)
    report(found)


if __name__ == "__main__":
    main()
