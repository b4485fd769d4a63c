"""The command `compare`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

from pymoo_anon._messages import listed, number, percent, plain, told_apart
from pymoo_anon.cli.console import new_table, tell, working
from pymoo_anon.cli.options import CompareRequest
from pymoo_anon.comparison.comparing import BetterOff, better_off, compare_sizes, compare_uses
from pymoo_anon.comparison.utility import CountQueries
from pymoo_anon.study.proposal import known_columns
from pymoo_anon.study.study import Study, classes_of_file
from pymoo_anon.study.tables import table_at

_SHARE_WORDS = {
    "mean risk": "mean risk",
    "loss": "detail lost",
    "median": "half of counts off by",
    "90 %": "nine in ten off by",
}


def run_compare(asked: CompareRequest, console: Console) -> None:
    """Compare two releases, and print their differences."""
    files, people = (asked.first, asked.second), list[BetterOff]()
    names = told_apart([Path(file).name for file in files], files)
    with working("Reading the tables") as show:
        study = None if asked.project is None else Study.open(asked.project)
        columns = asked.quasi_identifiers if study is None else list(study.project.quasi_identifiers)
        columns = columns or known_columns(asked.first).columns
        found = compare_sizes(dict(zip(names, map(table_at, files), strict=True)), columns)
        if study is not None:
            show("Counting queries and people")
            first, second = (classes_of_file(study, Path(file)) for file in files)
            uses = compare_uses(CountQueries(study.table), dict(zip(names, (first, second), strict=True)))
            found, people = found.join(uses), better_off(first, second)
    tell(console, f"Classes by {listed(columns)}.")
    console.print(_comparison_table(found), soft_wrap=False)
    for own in people:
        told = f"{own.first:,} rows are better off with {names[0]}, {own.second:,} with {names[1]}"
        tell(console, f"By {own.property} {told}, {own.equal:,} with neither.")
        tell(console, f"  {names[0]} is {listed(f'{verdict} by {judge}' for judge, verdict in own.verdicts.items())}.")


def _comparison_table(found: pd.DataFrame) -> Table:
    names = [plain(str(name)) for name in found.index]
    table = new_table(["", *names], right=names)
    for name in found:
        write = percent if name in _SHARE_WORDS else number
        heading = f"rows in classes {name}" if str(name).startswith("below") else _SHARE_WORDS.get(str(name), str(name))
        table.add_row(heading, *map(write, found[name].tolist()))
    return table
