"""The commands `risk`, `compare` and `count`, about any tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd
from rich.console import Console

from pymoo_anon._messages import counted, examples, listed, number, percent, repeated, told_apart
from pymoo_anon.cli.console import print_rows, tell, tell_some, working
from pymoo_anon.cli.options import CompareRequest, CountRequest, RiskRequest
from pymoo_anon.comparison.uniques import uniqueness
from pymoo_anon.publishing.codebook import Answers, guaranteed_counts, number_or_day
from pymoo_anon.study.names import all_there, as_there
from pymoo_anon.study.options import check_path, command, is_project
from pymoo_anon.study.proposal import known_columns
from pymoo_anon.study.stored import CODEBOOK, beside
from pymoo_anon.study.tables import table_at
from pymoo_anon.table.frames import held

# So many single columns, pairs and minimal sets are printed, those with most unique rows.
_SETS_PRINTED, _MINIMAL_PRINTED = 3, 4

_SHARE_WORDS = {
    "mean risk": "mean risk",
    "loss": "detail lost",
    "median": "half of counts off by",
    "90 %": "nine in ten off by",
}


def run_risk(asked: RiskRequest, console: Console) -> None:
    """Count the unique rows of a table, and print their columns."""
    with working("Reading the table") as show:
        known = known_columns(asked.data, asked.column)
        show("Counting unique rows")
        found = uniqueness(known.frame, known.columns)
    tell(console, f"{asked.data}: {counted(found.n_rows, 'row', 'rows')}.")
    tell_some(console, f"Quasi-identifiers, {known.who} ({len(known.columns):,})", known.columns)
    headings, *rows = found.table(_SETS_PRINTED)
    print_rows(console, headings, rows, right=headings[1:])
    if found.fewer:
        tell_some(console, "Fewer unique rows without", found.fewer)
    for line in found.singled_out(_MINIMAL_PRINTED):
        tell(console, line)
    if not is_project(asked.data):
        tell(console, f"Next: {command('init', asked.data)}")


def run_compare(asked: CompareRequest, console: Console) -> None:
    """Compare two releases, and print their differences."""
    # The other commands need no comparison and no study.
    from pymoo_anon.comparison.comparing import better_off, compare_sizes, compare_uses
    from pymoo_anon.comparison.utility import CountQueries
    from pymoo_anon.study.study import Study, classes_of_file

    files = asked.first, asked.second
    names = told_apart([Path(file).name for file in files], files)
    with working("Reading the tables") as show:
        study = None if asked.project is None else Study.open(asked.project)
        columns = asked.quasi_identifier if study is None else list(study.project.quasi_identifiers)
        known = None if columns or is_project(asked.first) else known_columns(asked.first, option="--quasi-identifier")
        first, columns = (table_at(asked.first), columns) if known is None else (known.frame, known.columns)
        frames = {names[0]: first, names[1]: table_at(asked.second)}
        columns = all_there(columns, nw.from_native(first).collect_schema().names())
        found, people = compare_sizes(frames, columns), []
        if study is not None:
            show("Counting queries and people")
            (first, how), (second, other) = (classes_of_file(study, Path(file)) for file in files)
            dropped = [name for name, own in zip(names, (how, other), strict=True) if own == "drop"]
            uses = compare_uses(CountQueries(study.table), dict(zip(names, (first, second), strict=True)), dropped)
            found, people = found.join(uses), better_off(first, second)
    better = "Higher is better for k, lower for risk, rows in small classes, loss and errors of counts."
    tell(console, f"Rows are counted, in classes by {listed(columns)}. {better}")
    print_rows(console, ["", *names], _differences(found), right=names)
    for own in people:
        told = f"{own.first:,} rows are better off with {names[0]}, {own.second:,} with {names[1]}"
        tell(console, f"By {own.property} {told}, {own.equal:,} with neither.")
        judges: dict[str, list[str]] = {}
        for judge, verdict in own.verdicts.items():
            judges.setdefault(verdict, []).append(judge)
        told = "; ".join(f"{verdict} by {listed(by)}" for verdict, by in judges.items())
        tell(console, f"  {names[0]} is {told}.")
    if people:
        how_far = "spr how much the better off gain, hv how much each offers to all rows beyond the other"
        legend = f"min compares the rows that are worst off, cov how many are no worse off, {how_far}"
        tell(console, f"{legend}; dominance needs every row no worse off.")


def _differences(found: pd.DataFrame) -> Iterator[list[str]]:
    for name in map(str, found):
        write = percent if name in _SHARE_WORDS else number
        heading = f"rows in classes {name}" if name.startswith("below") else _SHARE_WORDS.get(name, name)
        yield [heading, *map(write, found[name].tolist())]


def run_count(asked: CountRequest, console: Console) -> None:
    """Print the certain answers of a released table."""
    book = asked.codebook or beside(asked.file, CODEBOOK)
    check_path(book)
    with working("Reading and counting"):
        # Read once: rows and sums are grouped one after the other.
        release = held(nw.from_native(table_at(str(asked.file)))).to_native()
        known = nw.from_native(release).collect_schema().names()
        conditions = [_condition(text, known) for text in asked.where]
        if twice := repeated(name for name, _ in conditions):
            raise ValueError(f"--where must name each column once, got {examples(twice)} twice")
        where = dict(conditions)
        meanings = nw.from_native(table_at(str(book))).lazy().collect("pandas").to_native()
        found = {"rows": guaranteed_counts(release, meanings, where)}
        if asked.of is not None:
            # Its rows are grouped once for both.
            summed = Answers(release, meanings, where, [as_there(asked.of, known)])
            found |= {f"sum of {asked.of}": summed.sum(), f"mean of {asked.of}": summed.mean()}
    headings, ways = ["", "least", "most", "estimate"], ("ROUND_FLOOR", "ROUND_CEILING", None)
    rows = ([words, *map(number, own, ways)] for words, own in found.items())
    print_rows(console, headings, rows, right=headings[1:])
    if found["rows"].most == 0:
        tell(console, f"No row can meet that. {book} has the values behind each label.")


def _condition(text: str, known: Sequence[str]) -> tuple[str, Any]:
    """Read NAME=VALUE, NAME=VALUE|VALUE or NAME=NUMBER..NUMBER."""
    # Names and values may hold the sign, too.
    parts = [(as_there(text[: sign.start()], known), text[sign.end() :]) for sign in re.finditer("(?<=.)=", text)]
    if not parts:
        raise ValueError(f"--where must be NAME=VALUE, got {text!r}")
    fitting = [own for own in parts if own[0] in known]
    if len(fitting) > 1:
        raise ValueError(f"--where must name one column, got {text!r}, which begins with {examples([*dict(fitting)])}")
    name, value = (fitting or parts)[0]
    low, dots, high = value.partition("..")
    ends = number_or_day(low), number_or_day(high)
    if dots and not (low and high) and ends != (None, None):
        raise ValueError(f"--where must have both ends of a range, got {text!r}")
    if dots and None in ends and all(any(map(str.isdigit, end)) for end in (low, high)):
        raise ValueError(f"--where must write the ends of a range like 1234.5 or 2021-03-05, got {text!r}")
    if ends[0] is not None and ends[1] is not None:
        if ends[0] > ends[1]:
            raise ValueError(f"--where must have the lower end of a range first, got {text!r}")
        return name, pd.Interval(ends[0], ends[1], closed="both")
    return name, [one or None for one in value.split("|")]
