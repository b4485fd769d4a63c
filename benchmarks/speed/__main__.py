"""Start and scale: all that somebody waits for, on one page.

    python -m benchmarks.speed [--only tests start searches lattices rows csv wide] [--huge]

The first command and example, searches of a small and a large table, proofs beside exhaustive search on every lattice
that can be visited, rows aggregated and released by each engine, files from CSV to CSV, many columns, and the tests.
Each part runs in a process of its own; one that is not asked for keeps its earlier figures. `--huge` adds 10^8 rows by
DuckDB. Less than half an hour on two quiet cores without it, of which the tests take ten minutes; needs Adult.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks import record
from benchmarks.speed import lattices, scale, start

# The tests come first: later on, results and the page that quotes them differ until the end.
PARTS: dict[str, Callable[[], Any]] = {
    "tests": start.tests,
    "start": start.commands,
    "searches": start.searches,
    "lattices": lattices.measured_all,
    "rows": scale.rows,
    "csv": partial(scale.alone, "csv"),
    "wide": partial(scale.alone, "wide"),
}
HUGE = {"huge": partial(scale.rows, [scale.HUGE], ["duckdb"])}


def summary(parts: dict[str, Any]) -> str:
    rows = []
    for part in ("start", "tests"):
        rows += [
            [name, f"{one['cpu']:.1f} s of the processor, {one['seconds']:.1f} s on the wall"]
            for name, one in parts[part].items()
        ]
    ratios, csv = [one["ratio"] for one in parts["lattices"].values()], scale.told_of_csv(parts["csv"])
    rows += [
        [
            f"proof / exhaustive search, {len(ratios)} stored lattices",
            f"{max(ratios):.2f} at most, {float(np.median(ratios)):.2f} in the median",
        ],
        [f"{scale.CSV_ROWS:,} rows, CSV to CSV, without the search", f"{csv['copies']:.1f} of DuckDB's copies"],
        ["the whole way of these", f"{csv['whole']:.1f} s of the processor"],
    ]
    for (n_rows, engines), engine in product(parts["rows"].items(), ("duckdb", "pandas")):
        steps, where = engines.get(engine, {}), "Parquet" if engine == "duckdb" else "held in pandas"
        if "count again" in steps and int(n_rows) > 10**6:
            ways = {name: steps[name]["cpu"] for name in ("aggregate", "search", "recode and write", "count again")}
            copies = (sum(ways.values()) - ways["search"]) / engines["duckdb"]["copy"]["cpu"]
            most = max(one["peak_mb"] for name, one in steps.items() if name in ways)
            rows.append(
                [f"{int(n_rows):,} rows, {where}, without the search", f"{copies:.1f} copies, at most {most:,.0f} MB"]
            )
    return record.markdown(["work", "takes"], [*rows, ["lines of the package", f"{start.lines():,}"]])


def page(parts: dict[str, Any], machine: dict[str, Any]) -> str:
    searches = [{"work": name, **one} for name, one in parts["searches"].items()]
    return record.words(
        "speed",
        machine=record.line(machine),
        summary=summary(parts),
        searches=record.table({"work": "{work}", "CPU s": "{cpu:.2f}", "s": "{seconds:.2f}"}, searches),
        n_lattices=len(parts["lattices"]),
        turns=lattices.TURNS,
        lattices=lattices.table_of(parts["lattices"]),
        rows=scale.table_of_rows(parts["rows"]),
        most=scale.told_of_most(parts["rows"]),
        csv_rows=scale.CSV_ROWS,
        csv=scale.told_of_csv(parts["csv"]),
        wide_columns=scale.WIDE_COLUMNS,
        wide=parts["wide"],
        table_of_wide=record.markdown(scale.HEAD[:3], [line[:3] for line in scale.lines_of(parts["wide"], None)]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="the parts to measure")
    parser.add_argument("--huge", action="store_true", help="10^8 rows, too")
    asked = parser.parse_args()
    parts = record.stored("speed")["parts"]
    chosen = {part: PARTS[part] for part in asked.only} | (HUGE if asked.huge else {})
    for part, measure in chosen.items():
        print(part, file=sys.stderr, flush=True)
        try:
            with record.processes(1) as pool:
                found = pool.submit(measure).result()
        except Exception as error:
            print(f"{part} failed, and its earlier figures stay: {error}", file=sys.stderr)
        else:
            # Rows that were not asked for stay.
            parts |= {"rows": parts["rows"] | found} if part in ("rows", *HUGE) else {part: found}
        machine = record.machine()
        record.write("speed", {"machine": machine, "parts": parts}, page(parts, machine))


if __name__ == "__main__":
    main()
