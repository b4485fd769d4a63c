"""Tables of what was counted again, as a person reads them."""

from __future__ import annotations

from typing import Any

import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from pymoo_anon._messages import number, plain

_HOLDS = {"True": ("yes", ""), "False": ("NO", "bold red"), "None": ("not asked", "dim")}


def claims_table(claims: pd.DataFrame) -> Table:
    """What was promised or required, what was counted, and whether that holds."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for column in claims:
        table.add_column(str(column), justify="left" if column == "measure" else "right", overflow="fold")
    for row in claims.itertuples(index=False):
        words, style = _HOLDS[str(row.holds)]
        cells = [_cell(value) for value in row[:-1]]
        table.add_row(*cells, Text(words, style=style))
    return table


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return plain(value) if isinstance(value, str) else number(value)
