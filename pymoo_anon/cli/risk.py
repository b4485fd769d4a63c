"""The command `risk`."""

from __future__ import annotations

from rich.console import Console

from pymoo_anon._messages import counted
from pymoo_anon.cli.console import print_rows, tell, tell_some, working
from pymoo_anon.cli.options import RiskRequest
from pymoo_anon.comparison.uniques import uniqueness
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
    headings, *rows = found.table(_SETS_PRINTED)
    print_rows(console, headings, rows, right=headings[1:])
    if found.fewer:
        tell_some(console, "Fewer unique rows without", found.fewer)
    for line in found.singled_out(_MINIMAL_PRINTED):
        tell(console, line)
    if not is_project(asked.data):
        tell(console, f"Next: pymoo-anon init {asked.data}")
