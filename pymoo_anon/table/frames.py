"""Reading frames: the distinct combinations of some columns, what is missing in them, and codes for their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymoo_anon._messages import examples, repeated
from pymoo_anon.table.domain_values import Name, ascending

_COUNT = "n"


@dataclass(frozen=True)
class Combinations:
    """The distinct combinations of values in some columns of a frame, and how many rows hold each."""

    columns: dict[Name, pd.Series]
    weights: NDArray[np.int64]

    def with_gaps(self, missing: str) -> tuple[Combinations, set[Name]]:
        """The combinations that `missing` leaves, and the columns in which values are still missing."""
        n_rows = int(self.weights.sum())
        if n_rows == 0:
            raise ValueError("frame must have at least one row, got none")
        absent = {name: pd.isna(column).to_numpy() for name, column in self.columns.items()}
        gaps = {name: int(self.weights[where].sum()) for name, where in absent.items() if where.any()}
        if not gaps or missing == "keep":
            return self, set(gaps)
        complete = ~np.logical_or.reduce(list(absent.values()))
        if missing == "raise":
            listed = ", ".join(f"{count} in {name!r}" for name, count in gaps.items())
            raise ValueError(
                f"frame must have no missing values, got {int(self.weights[~complete].sum())} of {n_rows} rows with "
                f"some: {listed}; missing='drop' leaves these rows out, missing='keep' makes them a value of their own"
            )
        if not complete.any():
            raise ValueError(f"frame must have a row without missing values, got {n_rows} rows that all have some")
        columns = {name: column[complete] for name, column in self.columns.items()}
        return Combinations(columns, self.weights[complete]), set()


def opened(frame: Any) -> tuple[Any, list[str]]:
    """A frame other than of pandas as narwhals has it, and the names of its columns."""
    try:
        table = nw.from_native(frame)
        return table, table.collect_schema().names()
    except TypeError:
        raise TypeError(
            f"frame must be a pandas, polars, pyarrow, DuckDB, Dask or Spark frame, got {type(frame).__name__}"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"frame must name each column once: {error}") from None


def aliased(frame: Any, names: Sequence[Name]) -> tuple[Any, list[str]]:
    """Some columns of a frame, still of its own kind, under names that narwhals takes: it speaks of columns by text."""
    aliases = [f"column {i}" for i in range(len(names))]
    if isinstance(frame, pd.DataFrame):
        return frame.iloc[:, _places(frame.columns.tolist(), names)].set_axis(aliases, axis="columns"), aliases
    table, known = opened(frame)
    _places(known, names)
    own = table.select([nw.col(name).alias(alias) for name, alias in zip(names, aliases, strict=True)])
    return own.to_native(), aliases


def combinations_of(frame: Any, names: Sequence[Name]) -> Combinations:
    """Group a frame by some of its columns, where it lives, and fetch the groups."""
    native, aliases = aliased(frame, names)
    objects: dict[str, list[Any]] = {}
    if isinstance(native, pd.DataFrame):
        table, objects = _without_objects(native)
    else:
        table = nw.from_native(native)
    try:
        grouped: Any = table.group_by(aliases, drop_null_keys=False).agg(nw.len().alias(_COUNT))
    except TypeError as error:
        raise TypeError(f"frame must hold values that can be compared in columns with a role: {error}") from None
    if isinstance(grouped, nw.LazyFrame):
        # polars collects into itself; for the others pandas is what is surely installed.
        grouped = grouped.collect(None if grouped.implementation.is_polars() else "pandas")
    dtypes = table.collect_schema()
    columns = {
        name: pd.Series([objects[alias][code] for code in grouped[alias].to_list()], dtype=object)
        if alias in objects
        else _python_values(grouped[alias], dtypes[alias])
        for name, alias in zip(names, aliases, strict=True)
    }
    return Combinations(columns, grouped[_COUNT].to_numpy().astype(np.int64))


def coded(column: pd.Series) -> tuple[NDArray[np.int64], list[Any]]:
    """A column as codes, and their values in ascending order; None stands last, for what is missing."""
    codes, values = _factorized(column)
    place = {(value, isinstance(value, bool)): i for i, value in enumerate(values)}
    order = [place[value, isinstance(value, bool)] for value in ascending(values)]
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    # factorize gives -1 for what is missing, which is the last place of `rank`.
    rank[-1] = len(values)
    return rank[codes], [values[i] for i in order] + ([None] if (codes < 0).any() else [])


def _places(known: list[Name], wanted: Sequence[Name]) -> list[int]:
    """Where the wanted columns stand."""
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise KeyError(f"frame must have the columns {examples(unknown)}, got columns {examples(known)}")
    twice = [name for name in repeated(known) if name in wanted]
    if twice:
        raise ValueError(f"frame must name each column once, got more than once: {examples(twice)}")
    return [known.index(name) for name in wanted]


def _without_objects(frame: pd.DataFrame) -> tuple[Any, dict[str, list[Any]]]:
    """A frame of pandas with codes in place of Python objects, and what they stand for; -1 is what is missing.

    Grouped as they are, whole numbers beside a gap would become floats, which are the same for 2^53 and 2^53 + 1.
    """
    objects: dict[str, list[Any]] = {}
    own: dict[Any, Any] = {}
    for alias, column in frame.items():
        if column.dtype == object:
            own[alias], known = _factorized(column)
            objects[str(alias)] = [*known, None]
        else:
            own[alias] = column
    return nw.from_native(pd.DataFrame(own, index=frame.index)), objects


def _factorized(column: pd.Series) -> tuple[NDArray[np.int64], list[Any]]:
    """Codes of the values of a column, -1 for what is missing, and the values; True is not 1."""
    keys = column
    if column.dtype == object and pd.api.types.infer_dtype(column).startswith("mixed"):
        keys = column.map(lambda value: (bool, value) if isinstance(value, bool | np.bool_) else value)
    try:
        codes, _ = pd.factorize(keys, use_na_sentinel=True)
    except TypeError as error:
        raise TypeError(f"frame must hold values that can be compared in columns with a role: {error}") from None
    known, firsts = np.unique(codes, return_index=True)
    return codes, column.iloc[firsts[known >= 0]].tolist()


def _python_values(column: Any, dtype: Any) -> pd.Series:
    """A column as pandas, whole numbers not as floats, days not as times, and moments in the column's time zone."""
    native = column.to_native()
    if dtype == nw.Date:
        days = [value.date() if isinstance(value, datetime) else value for value in column.to_list()]
        return pd.Series([None if pd.isna(day) else day for day in days], dtype=object)
    if isinstance(native, pd.Series):
        return native.reset_index(drop=True)
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        # As numpy has them, moments are in UTC, and may be on another day there.
        return pd.Series(column.to_numpy()).dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone)
    if column.is_null().any():
        return pd.Series(column.to_list(), dtype=object)
    return pd.Series(column.to_numpy())
