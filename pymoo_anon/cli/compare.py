"""The command `compare`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import narwhals as nw
import pandas as pd
from rich.console import Console

from pymoo_anon._messages import listed, number, percent, told_apart
from pymoo_anon.cli.console import print_rows, tell, working
from pymoo_anon.cli.options import CompareRequest
from pymoo_anon.comparison.comparing import BetterOff, better_off, compare_sizes, compare_uses
from pymoo_anon.comparison.utility import CountQueries
from pymoo_anon.study.names import all_there
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
        columns = columns or known_columns(asked.first, option="--quasi-identifier").columns
        frames = dict(zip(names, map(table_at, files), strict=True))
        columns = all_there(columns, nw.from_native(frames[names[0]]).collect_schema().names())
        found = compare_sizes(frames, columns)
        if study is not None:
            show("Counting queries and people")
            first, second = (classes_of_file(study, Path(file)) for file in files)
            uses = compare_uses(CountQueries(study.table), dict(zip(names, (first, second), strict=True)))
            found, people = found.join(uses), better_off(first, second)
    tell(console, f"Classes by {listed(columns)}.")
    print_rows(console, ["", *names], _rows_of(found), right=names)
    for own in people:
        told = f"{own.first:,} rows are better off with {names[0]}, {own.second:,} with {names[1]}"
        tell(console, f"By {own.property} {told}, {own.equal:,} with neither.")
        tell(console, f"  {names[0]} is {listed(f'{verdict} by {judge}' for judge, verdict in own.verdicts.items())}.")


def _rows_of(found: pd.DataFrame) -> Iterator[list[str]]:
    for name in map(str, found):
        write = percent if name in _SHARE_WORDS else number
        heading = f"rows in classes {name}" if name.startswith("below") else _SHARE_WORDS.get(name, name)
        yield [heading, *map(write, found[name].tolist())]
