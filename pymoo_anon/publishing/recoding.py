"""Recoding: the rows of a frame with the labels of a generalization, by joins inside the engine that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.publishing.frames import Frame, Renamed, lookup, missing
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import coded, combinations_of
from pymoo_anon.table.generalization import SUPPRESSED, Generalization, label_texts
from pymoo_anon.table.hierarchy import Hierarchy, fitted
from pymoo_anon.table.microdata import Microdata

#: The Boolean column that tells which rows are suppressed.
FLAG = "suppressed"

# A key of several attributes is a whole number below this.
_LARGEST_KEY = 2**62


class _Recoding(NamedTuple):
    """What becomes of one quasi-identifier: its name, the group of every value, the text of every group."""

    name: Name
    groups: NDArray[np.int64]
    labels: Sequence[str | None]


def complete_rows(frame: Frame, source: Renamed, table: Microdata) -> Frame:
    """The rows that a table was made of: those with a value in every column where the table knows no missing one."""
    for name, domain in table.tuples.domains.items():
        if None not in domain and name in source.names:
            frame = frame.filter(~missing(frame, source.alias(name)))
    return frame


def recoded(
    frame: Frame, source: Renamed, table: Microdata, generalization: Generalization, classes: EquivalenceClasses
) -> Frame:
    """A frame whose quasi-identifiers hold the labels of a generalization, as text, none of its rows suppressed yet.

    Returns:
        The frame, with one more column, `FLAG`.
    """
    texts = label_texts(generalization)
    columns = list(frame.collect_schema().names())
    for j, name in enumerate(table.quasi_identifiers):
        recoding = _Recoding(name, generalization.groups[name], texts[name])
        frame = _with_group(frame, source.alias(name), j, table.quasi_identifiers[name], recoding)
    groups = np.stack([own[table.tuples.codes[:, j]] for j, own in enumerate(generalization.groups.values())], axis=1)
    frame = _with_flag(frame, groups[classes.representatives[~classes.kept]], generalization.n_groups)
    labels = {source.alias(name): nw.col(f"label {j}") for j, name in enumerate(table.quasi_identifiers)}
    return frame.select([*(labels.get(own, nw.col(own)).alias(own) for own in columns), nw.col(FLAG)])


def marked(frame: Frame, source: Renamed, names: Sequence[Name]) -> Frame:
    """The frame with `*` in every quasi-identifier of its suppressed rows."""
    return frame.with_columns(
        [
            nw.when(nw.col(FLAG))
            .then(nw.lit(SUPPRESSED))
            .otherwise(nw.col(source.alias(name)))
            .alias(source.alias(name))
            for name in names
        ]
    )


def _with_group(frame: Frame, column: str, j: int, hierarchy: Hierarchy, recoding: _Recoding) -> Frame:
    """The frame with the group of one quasi-identifier's values and its label, `group j` and `label j`."""
    key = f"key {j}"
    # Values are joined by their text: it is compared alike in every engine.
    frame = frame.with_columns(nw.col(column).cast(nw.String).alias(key))
    found = combinations_of(frame.select(nw.col(column), nw.col(key)).to_native(), [column, key]).columns
    positions, values = coded(found[column])
    present = [value for value in values if value is not None]
    _, places = fitted(recoding.name, hierarchy, present)
    groups = np.append(recoding.groups[places], -1)[np.minimum(positions, len(present))]
    keys = pd.DataFrame({"key": found[key].astype(object), "group": groups})[groups >= 0].drop_duplicates()
    twice = keys.key[keys.key.duplicated()].unique().tolist()
    if twice:
        raise ValueError(
            f"column {recoding.name!r} must hold values that differ as text, got several of {examples(twice)}"
        )
    own = {"key": keys.key.tolist(), "group": keys.group.tolist(), "label": [recoding.labels[g] for g in keys.group]}
    small = lookup(frame, own, {"key": nw.String, "group": nw.Int64, "label": nw.String})
    small = small.rename({"key": f"known {j}", "group": f"group {j}", "label": f"label {j}"})
    frame = frame.join(small, left_on=key, right_on=f"known {j}", how="left")
    group, label = nw.col(f"group {j}"), nw.col(f"label {j}")
    if None in hierarchy.domain:
        gap, missing_group = missing(frame, column), int(recoding.groups[hierarchy.domain.index(None)])
        group = nw.when(gap).then(nw.lit(missing_group)).otherwise(group)
        label = nw.when(gap).then(nw.lit(recoding.labels[missing_group], nw.String)).otherwise(label)
    return frame.with_columns(group.cast(nw.Int64).alias(f"group {j}"), label.alias(f"label {j}"))


def _with_flag(frame: Frame, suppressed: NDArray[np.int64], n_groups: tuple[int, ...]) -> Frame:
    """The frame with the column `FLAG`: whether a row's groups are among the suppressed ones."""
    if len(suppressed) == 0:
        return frame.with_columns(nw.lit(False).alias(FLAG))
    keys, expressions = _packed(suppressed, n_groups)
    named = {f"cell {i}": key.tolist() for i, key in enumerate(keys)} | {"found": [1] * len(suppressed)}
    small = lookup(frame, named, dict.fromkeys(named, nw.Int64))
    small = small.rename({f"cell {i}": f"suppressed {i}" for i in range(len(keys))})
    frame = frame.with_columns([own.alias(f"cell {i}") for i, own in enumerate(expressions)])
    frame = frame.join(
        small,
        left_on=[f"cell {i}" for i in range(len(keys))],
        right_on=[f"suppressed {i}" for i in range(len(keys))],
        how="left",
    )
    return frame.with_columns((~nw.col("found").is_null()).alias(FLAG))


def _packed(groups: NDArray[np.int64], n_groups: tuple[int, ...]) -> tuple[list[NDArray[np.int64]], list[Any]]:
    """Groups of several attributes as few whole numbers, once as arrays and once as expressions."""
    arrays: list[NDArray[np.int64]] = []
    expressions: list[Any] = []
    room = 0
    for j, n in enumerate(n_groups):
        own = nw.col(f"group {j}")
        if arrays and room * n < _LARGEST_KEY:
            arrays[-1] = arrays[-1] * n + groups[:, j]
            expressions[-1] = expressions[-1] * n + own
            room *= n
        else:
            arrays.append(groups[:, j])
            expressions.append(own)
            room = n
    return arrays, expressions
