"""Recoding: frames of any kind under plain names, their rows with the labels of a generalization, where they live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymoo_anon._messages import examples, repeated
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import coded, combinations_of, opened
from pymoo_anon.table.generalization import SUPPRESSED, Generalization, label_texts
from pymoo_anon.table.hierarchy import Hierarchy, fitted
from pymoo_anon.table.microdata import Microdata

#: A frame that narwhals knows, eager or lazy.
Frame = Any

_TEXT_LIKE = (nw.Categorical, nw.Enum)
_FLOATS = (nw.Float32, nw.Float64)


@dataclass(frozen=True)
class Renamed:
    """A frame whose columns have names that every engine takes, and the names that they had."""

    frame: Frame  # Its columns are `column 0`, `column 1`, ...
    names: tuple[Name, ...]  # The original names, in order
    kind: type  # What the original is, for messages and for `native`

    def alias(self, name: Name) -> str:
        """The plain name of a column."""
        return f"column {self.names.index(name)}"

    def native(self, frame: Frame, names: Sequence[Name], in_order: bool = False) -> Any:
        """Some columns of a frame as a frame of the original's kind, under their original names."""
        aliases = [self.alias(name) for name in names]
        chosen = frame.select([nw.col(alias) for alias in aliases])
        if not issubclass(self.kind, pd.DataFrame):
            # Sorted last, so that a lazy frame keeps the order.
            aliases = [str(name) for name in names]
            chosen = chosen.rename({self.alias(name): str(name) for name in names})
        if in_order:
            try:
                chosen = chosen.sort(aliases, nulls_last=True)
            except TypeError as error:
                raise ValueError(
                    f"columns to release must hold values of one type, which have an order: {error}"
                ) from None
        native = chosen.to_native()
        if issubclass(self.kind, pd.DataFrame):
            native = native.reset_index(drop=True).set_axis(pd.Index(list(names), tupleize_cols=False), axis="columns")
        return native


def renamed(frame: Any) -> Renamed:
    """A frame under plain names, with values for categories, and without index, attributes and the sign of a zero."""
    if isinstance(frame, pd.DataFrame):
        names = tuple(frame.columns.tolist())
        _check_once(names)
        columns = {f"column {i}": _without_categories(frame.iloc[:, i]) for i in range(len(names))}
        table: Frame = nw.from_native(pd.DataFrame(columns))
    else:
        table, known = opened(frame)
        names = tuple(known)
        _check_once(names)
        table = table.select([nw.col(name).alias(f"column {i}") for i, name in enumerate(names)])
    plain = [_plain(column, dtype) for column, dtype in table.collect_schema().items()]
    return Renamed(table.with_columns(plain), names, type(frame))


def missing(frame: Frame, column: str) -> Any:
    """An expression that tells where a column of a frame has no value: null, or not a number."""
    gap = nw.col(column).is_null()
    return gap | nw.col(column).is_nan() if isinstance(frame.collect_schema()[column], _FLOATS) else gap


def lookup(frame: Frame, columns: Mapping[str, Sequence[Any]], schema: Mapping[str, Any]) -> Frame:
    """A small table of the kind of another frame, so that the two can be joined where the other lives."""
    kind = frame.implementation
    native = frame.to_native()
    if kind.is_duckdb():
        small = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
        sql_types = {nw.String: "VARCHAR", nw.Int64: "BIGINT"}
        chosen = ", ".join(f'CAST("{name}" AS {sql_types[schema[name]]}) AS "{name}"' for name in columns)
        # The query runs where the relation lives, and finds `small` among the variables of this function.
        assert small is not None
        return nw.from_native(native.query("pymoo_anon_released", f"SELECT {chosen} FROM small"))
    if kind.is_pyspark() or kind.is_pyspark_connect():
        spark_types = {nw.String: "string", nw.Int64: "bigint"}
        types = ", ".join(f"`{name}` {spark_types[schema[name]]}" for name in columns)
        return nw.from_native(native.sparkSession.createDataFrame(list(zip(*columns.values(), strict=True)), types))
    if kind.is_dask():
        import dask.dataframe as dd

        pandas_types = {nw.String: "str", nw.Int64: "int64"}
        own = pd.DataFrame(dict(columns)).astype({name: pandas_types[schema[name]] for name in columns})
        return nw.from_native(dd.from_pandas(own, npartitions=1))  # type: ignore[no-untyped-call]
    eager: Frame = nw.from_dict(dict(columns), dict(schema), backend=kind)
    return eager.lazy() if isinstance(frame, nw.LazyFrame) else eager


def _plain(column: str, dtype: Any) -> Any:
    if isinstance(dtype, _TEXT_LIKE):
        return nw.col(column).cast(nw.String)
    # -0.0 equals 0.0, and would tell two equal rows apart.
    return nw.col(column) + nw.lit(0.0, dtype) if isinstance(dtype, _FLOATS) else nw.col(column)


def _without_categories(column: pd.Series) -> pd.Series:
    own = column.reset_index(drop=True)
    return own.astype(own.cat.categories.dtype) if isinstance(own.dtype, pd.CategoricalDtype) else own


def _check_once(names: tuple[Name, ...]) -> None:
    if repeated(names):
        raise ValueError(f"frame must name each column once, got more than once: {examples(repeated(names))}")


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
    """A frame with the labels of a generalization as text; its column `FLAG` says which rows are to be suppressed."""
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
        there, missing_group = ~missing(frame, column), int(recoding.groups[hierarchy.domain.index(None)])
        # pandas 2 warns where a second branch does not fit into the first: the column with gaps stands first.
        group = nw.when(there).then(group).otherwise(nw.lit(missing_group))
        label, word = nw.when(there).then(label), recoding.labels[missing_group]
        label = label if word is None else label.otherwise(nw.lit(word, nw.String))
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
