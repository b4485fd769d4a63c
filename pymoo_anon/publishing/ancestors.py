"""Ancestors: whether every cell of a released table is its original value, or a label that stands for it."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pandas as pd

from pymoo_anon.objectives.recount import MISSING, Recount, combinations, values_of
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import renamed
from pymoo_anon.table.generalization import SUPPRESSED, LocalGeneralization, label_texts
from pymoo_anon.table.microdata import Microdata


def check_rows(own: Recount, table: Microdata, made: LocalGeneralization, suppressed: str) -> None:
    """Refuse a table other than the one that a local recoding makes of the original.

    The rows are held against the original's by everything that is counted: each must be there as often as it was made,
    and each of its labels must stand for the value that it came from, by the hierarchies and not by the recoding.
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


def check_matching(own: Recount) -> None:
    """Refuse a table whose rows cannot each have been made of a row of the original.

    A release is sorted: nothing tells which row was made of which. So one of the ways has to be found. A row goes with
    a row of the original whose values its labels stand for, and which has the same in the other columns that are
    counted. All released rows have one of their own if a flow from distinct rows to distinct rows can be so great.
    Rows of `*` alone may be of anybody.
    """
    # It takes a third of a second to load, and no other recount needs it.
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    known = renamed(own.source).names
    names = {f"column {i}": name for i, name in enumerate(own.columns) if name in own.names or name in known}
    keys = [key for key, name in names.items() if name in own.names]
    made = own.found.groupby([*names], as_index=False, sort=False)[["n"]].sum()
    given = combinations(own.source, [*names.values()]).set_axis([*names, "n"], axis="columns")
    for key in keys:
        if None not in own.hierarchies[names[key]].domain:
            # No table has such rows.
            given = given[given[key].astype(object) != MISSING]
    given = given.reset_index(drop=True)
    edges = _edges(own, made, given, names)
    # The source, the released rows, the original ones, the sink.
    rows, originals = 1 + np.arange(len(made)), 1 + len(made) + np.arange(len(given))
    sink = 1 + len(made) + len(given)
    tails = np.concatenate([np.zeros_like(rows), rows[edges.row], originals])
    heads = np.concatenate([rows, originals[edges.original], np.full_like(originals, sink)])
    room = np.minimum(made.n.to_numpy()[edges.row], given.n.to_numpy()[edges.original])
    limits = np.concatenate([made.n, room, given.n]).astype(np.int32)
    flow = maximum_flow(csr_matrix((limits, (tails, heads)), shape=(sink + 1, sink + 1)), 0, sink).flow
    left = made.n - flow[[0]].toarray()[0, rows]
    if left.any():
        cells = [f"{name} = {made.loc[left.idxmax(), key]!r}" for key, name in names.items()]
        raise ValueError(
            f"frame must have a row of the original behind each of its rows, one that its labels stand for, got "
            f"{int(left.sum()):,} without one, such as {', '.join(cells)}"
        )


def _edges(own: Recount, made: pd.DataFrame, given: pd.DataFrame, names: dict[str, Name]) -> pd.DataFrame:
    """Which distinct rows of the original a distinct released row can be of: columns `row` and `original`."""
    keys = [key for key, name in names.items() if name in own.names]
    others = [key for key in names if key not in keys]
    classes, tuples = (table[keys].drop_duplicates(ignore_index=True) for table in (made, given))
    stars = (classes == SUPPRESSED).all(axis=1).to_numpy()
    # Per column the tuples below each label, as bits, and the label of each class.
    below = []
    for key in keys:
        labels, texts = pd.factorize(classes[key][~stars])
        members = own.labels[names[key]].members(list(texts))
        places = own.places(names[key], tuples[key].tolist())
        below.append(([np.packbits(of[places]) for of in members], labels))
    found = [np.arange(len(tuples))] * len(classes)
    for c, number in enumerate(np.flatnonzero(~stars)):
        bits = reduce(np.bitwise_and, [held[labels[c]] for held, labels in below])
        found[number] = np.flatnonzero(np.unpackbits(bits, count=len(tuples)))
    numbers = np.repeat(np.arange(len(classes)), [len(places) for places in found])
    pairs = pd.DataFrame({"class": numbers, "tuple": np.concatenate(found)})
    rows = made[others].assign(row=np.arange(len(made)), **{"class": made.groupby(keys, sort=False).ngroup()})
    originals = given[others].assign(original=np.arange(len(given)), tuple=given.groupby(keys, sort=False).ngroup())
    return pairs.merge(rows, on="class").merge(originals, on=["tuple", *others])
