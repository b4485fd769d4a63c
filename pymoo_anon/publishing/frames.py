"""Frames of any kind under plain names, without what links their rows to where they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pandas as pd

from pymoo_anon._messages import examples, repeated
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import opened

#: A frame that narwhals knows, eager or lazy.
Frame = Any

_TEXT_LIKE = (nw.Categorical, nw.Enum)
_FLOATS = (nw.Float32, nw.Float64)


@dataclass(frozen=True)
class Renamed:
    """A frame whose columns have names that every engine takes, and the names that they had.

    Attributes:
        frame: The frame, its columns `column 0`, `column 1`, ...
        names: The original names, in order.
        kind: What the original is, for messages and for `native`.
    """

    frame: Frame
    names: tuple[Name, ...]
    kind: type

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
    """A frame under plain names.

    Categories become the values that they stand for. An index, attributes and the sign of a zero are left behind.
    """
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
