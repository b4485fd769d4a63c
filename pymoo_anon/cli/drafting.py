"""`pymoo-anon hierarchy draft`: a hierarchy for each column of a table, all of them or none."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from pymoo_anon._files import put_in_place, tried
from pymoo_anon._messages import examples, plain, repeated
from pymoo_anon.cli.console import check_free, clear_errors, standard_output
from pymoo_anon.cli.tables import columns_of, read_columns
from pymoo_anon.table.draft_levels import Draft
from pymoo_anon.table.drafts import draft_hierarchy

# Fewer rows do not tell an identifier.
_TELLING = 20
# What the name of a file may be long, in bytes.
_LONGEST_NAME = 240


def write_drafts(data: Path, columns: Sequence[str], folder: Path, kind: str, force: bool) -> None:
    """Draft, write all files or none, and then say what was drafted."""
    with clear_errors(), standard_output() as console:
        if repeated(columns):
            raise ValueError(f"column must name each column once, got more than once: {examples(repeated(columns))}")
        names = list(columns) or columns_of(data)
        frame = read_columns(data, names)
        if frame.empty:
            raise ValueError(f"{data} must have at least one row below its header, got none")
        drafts = {name: _draft(name, frame[name], kind) for name in names}
        useless = {} if columns else {name: _useless(draft, len(frame)) for name, draft in drafts.items()}
        left_out = {name: why for name, why in useless.items() if why is not None}
        written = {f"{name}.csv": draft for name, draft in drafts.items() if name not in left_out}
        if not written:
            raise ValueError(f"{data} must have a column that a hierarchy helps; --column names one all the same")
        _check_names(written)
        with tried(folder, list(written), [data]) as temporary:
            check_free([folder / name for name in written], force)
            for name, draft in written.items():
                draft.hierarchy.to_csv(temporary / name)
            paths = put_in_place(temporary, folder, list(written))
        console.print(_table({name: draft for name, draft in drafts.items() if name not in left_out}), soft_wrap=False)
        for name, why in left_out.items():
            console.print(plain(f"No draft for {name}: {why}; --column {name} makes one all the same."))
        console.print(plain("Written: " + ", ".join(map(str, paths))))
        console.print(plain(f"Read and edit them; then: pymoo-anon hierarchy check {folder} --data {data}"))


def _draft(name: str, column: pd.Series[Any], kind: str) -> Draft:
    counts = Counter(column.tolist())
    try:
        return draft_hierarchy(counts, counts.values(), kind, name)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None


def _useless(draft: Draft, n_rows: int) -> str | None:
    """Why a hierarchy would be of no use: the column tells nothing, or names every row."""
    n_values = draft.hierarchy.n_values
    if n_values == 1:
        return "it has one value"
    if n_values == n_rows >= _TELLING and draft.kind in ("codes", "categories"):
        return f"its {n_values:,} values are all different, as in an identifier"
    return None


def _check_names(names: Iterable[str]) -> None:
    """Refuse names that no file can have."""
    bad = [
        name.removesuffix(".csv")
        for name in names
        if name.startswith(".") or "/" in name or "\\" in name or len(os.fsencode(name)) > _LONGEST_NAME
    ]
    if bad:
        raise ValueError(f"columns must have names that files can have, got {examples(bad)}; --column names the others")


def _table(drafts: Mapping[str, Draft]) -> Table:
    """What was drafted, a row per column."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading in ("column", "kind", "groups by level", "from what, and how"):
        table.add_column(heading, overflow="fold")
    for name, draft in drafts.items():
        groups = " → ".join(f"{n:,}" for n in draft.hierarchy.n_groups)
        table.add_row(*(Text(plain(text)) for text in (name, draft.kind, groups, draft.reason)))
    return table
