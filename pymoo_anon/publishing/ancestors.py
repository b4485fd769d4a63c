"""Ancestors: whether every cell of a locally recoded table is its original value, or a node above it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from pymoo_anon.objectives.recount import Recount, combinations, values_of
from pymoo_anon.table.generalization import SUPPRESSED, label_texts
from pymoo_anon.table.local import LocalGeneralization
from pymoo_anon.table.microdata import Microdata


def check_rows(own: Recount, table: Microdata, made: LocalGeneralization, suppressed: str) -> None:
    """Refuse a table other than the one that a local recoding makes of the original.

    The rows are held against the original's by everything that is counted: each must be there as often as it was made,
    and each of its labels must stand for the value that it came from, by the hierarchies and not by the recoding.

    Args:
        own: The recount of the table, with the original.
        table: The table that was recoded.
        made: What it was recoded by.
        suppressed: What became of suppressed rows, "mark" or "drop".

    Raises:
        ValueError: A row is there that none became, or a label does not stand for the value.
    """
    keys = [f"column {i}" for i in range(len(own.names))]
    rows = combinations(own.source, own.columns)
    places = pd.DataFrame(
        {key: own.places(name, rows[key].tolist()) for key, name in zip(keys, own.names, strict=True)}
    )
    known = pd.DataFrame(table.tuples.codes, columns=keys).assign(at=np.arange(table.n_distinct))
    at = places.merge(known, on=keys, how="left")["at"]
    if at.isna().any():
        raise ValueError(f"{int(rows.n[at.isna()].sum()):,} rows of the original are not in the problem's table")
    at = at.astype("int64")
    kept, texts, cells = made.kept[made.class_of[at]], label_texts(made.labels), made.cells[at]
    for key, name, nodes in zip(keys, own.names, cells.T.tolist(), strict=True):
        rows[key] = values_of([texts[name][node] for node in nodes]).where(kept, SUPPRESSED)
        pairs = pd.DataFrame({"place": places[key], "label": rows[key]})[kept].drop_duplicates()
        held = own.labels[name].members(pairs.label.tolist())[np.arange(len(pairs)), pairs.place]
        if not held.all():
            raise ValueError(f"labels of {name!r} do not stand for the values that they came from")
    if suppressed == "drop":
        rows = rows[kept]
    columns = [name for name in rows if name != "n"]
    # Both at once: how often each row is made, less how often it is there.
    rest = pd.concat([rows, own.found.assign(n=-own.found.n)]).groupby(columns, sort=False).n.sum()
    other = max(int(rest.clip(lower=0).sum()), int((-rest).clip(lower=0).sum()))
    if other:
        raise ValueError(f"{other:,} rows are other than the recoding makes them")
