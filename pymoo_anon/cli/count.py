"""The command `count`."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import pandas as pd
from rich.console import Console

from pymoo_anon._messages import examples, number, repeated
from pymoo_anon.cli.console import print_rows, working
from pymoo_anon.cli.options import CountRequest
from pymoo_anon.publishing.codebook import guaranteed_counts, guaranteed_means, guaranteed_sums, number_or_day
from pymoo_anon.study.names import as_there
from pymoo_anon.study.options import check_path
from pymoo_anon.study.stored import CODEBOOK, beside
from pymoo_anon.study.tables import table_at
from pymoo_anon.table.frames import held


def run_count(asked: CountRequest, console: Console) -> None:
    """Print what a released table says for sure."""
    conditions = [_condition(text) for text in asked.where]
    if twice := repeated(name for name, _ in conditions):
        raise ValueError(f"--where must name each column once, got {examples(twice)} twice")
    book = asked.codebook or beside(asked.file, CODEBOOK)
    check_path(book)
    with working("Reading and counting"):
        # Read once: each answer groups it anew.
        release = held(nw.from_native(table_at(str(asked.file)))).to_native()
        known = nw.from_native(release).collect_schema().names()
        where = {as_there(name, known): own for name, own in conditions}
        meanings = nw.from_native(table_at(str(book))).lazy().collect("pandas").to_native()
        found = {"rows": guaranteed_counts(release, meanings, where)}
        if asked.of is not None:
            summed = release, meanings, as_there(asked.of, known), where
            found[f"sum of {asked.of}"] = guaranteed_sums(*summed)
            found[f"mean of {asked.of}"] = guaranteed_means(*summed)
    rows = ([words, *("none" if value != value else number(value) for value in own)] for words, own in found.items())
    headings = ["", "least", "most", "estimate"]
    print_rows(console, headings, rows, right=headings[1:])


def _condition(text: str) -> tuple[str, Any]:
    """Read NAME=VALUE, NAME=VALUE|VALUE or NAME=NUMBER..NUMBER."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ValueError(f"--where must be NAME=VALUE, got {text!r}")
    low, dots, high = value.partition("..")
    ends = number_or_day(low), number_or_day(high)
    if dots and not (low and high) and ends != (None, None):
        raise ValueError(f"--where must have both ends of a range, got {text!r}")
    if ends[0] is not None and ends[1] is not None:
        if ends[0] > ends[1]:
            raise ValueError(f"--where must have the lower end of a range first, got {text!r}")
        return name, pd.Interval(ends[0], ends[1], closed="both")
    return name, [one or None for one in value.split("|")]
