"""The command `risk`."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from pymoo_anon._messages import counted, listed, percent, plain
from pymoo_anon.cli.console import new_table, tell, tell_some, working
from pymoo_anon.cli.options import RiskRequest
from pymoo_anon.comparison.uniques import SMALL_CLASSES, Columns, Uniqueness, uniqueness
from pymoo_anon.study.options import is_project
from pymoo_anon.study.proposal import known_columns

# So many single columns, pairs and minimal sets are printed, those with most unique rows.
_SETS_PRINTED, _MINIMAL_PRINTED = 3, 4


def run_risk(asked: RiskRequest, console: Console) -> None:
    """Count the unique rows of a table, and print their columns."""
    with working("Reading the table") as show:
        known = known_columns(asked.data, asked.column)
        show("Counting unique rows")
        found = uniqueness(known.frame, known.columns)
    tell(console, f"{asked.data}: {counted(found.n_rows, 'row', 'rows')}.")
    tell_some(console, f"Quasi-identifiers, {known.who} ({len(known.columns):,})", known.columns)
    console.print(_risk_table(found), soft_wrap=False)
    if added := [f"{name} ({n:,})" for name, n in found.added.items() if n]:
        tell_some(console, "Fewer unique rows without", added)
    sizes = [f"{rows:,} by {counted(size, 'column', 'columns')}" for size, rows in found.with_minimal.items()]
    tell(console, f"Rows with a minimal set that singles them out: {listed(sizes)}.")
    for columns, rows in found.minimal.head(_MINIMAL_PRINTED).itertuples(index=False, name=None):
        tell(console, f"  {rows:,} by {_in_names(columns)}")
    if found.largest < min(len(known.columns), 3):
        tell(console, f"Sets of {found.largest + 1} columns are too many to count; --column names fewer.")
    if not is_project(asked.data):
        tell(console, f"Next: pymoo-anon init {asked.data}")


def _risk_table(found: Uniqueness) -> Table:
    headings = ["unique", "", *(f"below {least}" for least in SMALL_CLASSES[1:])]
    table = new_table(["rows", *headings], right=headings)
    for columns in found.worst(_SETS_PRINTED):
        unique, *others = found.below(columns).values()
        named = "by all" if columns == found.columns else f"by {_in_names(columns)}"
        table.add_row(named, f"{unique:,}", percent(unique / found.n_rows), *(f"{n:,}" for n in others))
    return table


def _in_names(columns: Columns) -> str:
    return plain(listed(map(str, columns)))
