"""Frames of all kinds: plain names, distinct combinations, missing values, and codes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd

from pymoo_anon._messages import error_text, examples, repeated
from pymoo_anon.table.domain_values import Name, ascending
from pymoo_anon.typing import Array, Ints

#: A frame that narwhals knows, eager or lazy.
Frame = Any

#: The column that says for how many rows a distinct one stands.
COUNT = "rows"

# Arrow encodes values of these types, and no value of them is NaN.
_ENCODED = (nw.String, nw.Date, nw.Datetime, nw.Boolean, nw.Decimal)

# Objects of these kinds are alike where they are equal; 1 and 1.0 are equal, and are written in two ways.
_ALIKE = ("string", "integer", "floating", "boolean", "date")

# So many cells fit into memory, where a column is counted faster than an engine plans a query.
_FEW_CELLS = 12_500_000

# Numbers of the tables that DuckDB holds.
_HELD_NUMBERS = count()


@dataclass(frozen=True)
class Combinations:
    """Distinct combinations of values in some columns, with their counts."""

    columns: dict[Name, pd.Series]
    weights: Ints

    def with_gaps(self, missing: str) -> tuple[Combinations, set[Name], int]:
        """Return the combinations, columns with missing values, and number of rows left out."""
        n_rows = int(self.weights.sum())
        if n_rows == 0:
            raise ValueError("frame must have at least one row, got none")
        absent = {name: pd.isna(column).to_numpy() for name, column in self.columns.items()}
        gaps = {name: int(self.weights[where].sum()) for name, where in absent.items() if where.any()}
        if not gaps or missing == "keep":
            return self, set(gaps), 0
        complete = ~np.logical_or.reduce(list(absent.values()))
        n_left_out = int(self.weights[~complete].sum())
        if missing == "raise":
            listed = ", ".join(f"{count} in {name!r}" for name, count in gaps.items())
            raise ValueError(
                f"frame must have no missing values, got {n_left_out} of {n_rows} rows with some: {listed}; "
                'missing = "drop" leaves these rows out, missing = "keep" makes them a value of their own'
            )
        if not complete.any():
            raise ValueError(f"frame must have a row without missing values, got {n_rows} rows that all have some")
        columns = {name: column[complete] for name, column in self.columns.items()}
        return Combinations(columns, self.weights[complete]), set(), n_left_out


def opened(frame: Any) -> tuple[Any, list[str]]:
    """Return a frame of narwhals with its column names, which must differ."""
    try:
        table = nw.from_native(frame)
        names = table.collect_schema().names()
    except TypeError:
        raise TypeError(
            f"frame must be a pandas, polars, pyarrow, DuckDB, Ibis or Spark frame, got {type(frame).__name__}"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"frame must name each column once: {error_text(error)}") from None
    if odd := unaddressable(names, table.implementation):
        raise ValueError(f"frame must have no column named {examples(odd)}, a pattern or path; rename it or use pandas")
    return table, names


def unaddressable(names: Iterable[str], kind: nw.Implementation) -> list[str]:
    """Return the names by which an engine would read other columns, or none."""
    if kind.is_pandas() or kind.is_pyarrow():
        return []
    odd = r"\*"
    if kind.is_polars():
        odd = r"\*|\^.*\$"
    elif kind.is_duckdb() and int(import_module("duckdb").__version__.split(".")[0]) < 2:
        odd = r'\*|.*[".].*'
    return [name for name in names if re.fullmatch(odd, name, re.DOTALL)]


def aliased(frame: Any, names: Sequence[Name]) -> tuple[Frame, list[str]]:
    """Select columns under plain names, as narwhals needs text, without the sign of zero."""
    aliases = [f"column {i}" for i in range(len(names))]
    if isinstance(frame, pd.DataFrame):
        places = _columns_at(frame.columns.tolist(), names)
        return _unsigned(nw.from_native(frame.iloc[:, places].set_axis(aliases, axis="columns"))), aliases
    table, known = opened(frame)
    _columns_at(known, names)
    chosen = table.select([nw.col(name).alias(alias) for name, alias in zip(names, aliases, strict=True)])
    if table.implementation.is_ibis() and nw.Duration in (dtypes := chosen.collect_schema().dtypes()):
        spans = [name for name, dtype in zip(names, dtypes, strict=True) if dtype == nw.Duration]
        raise ValueError(f"columns of Ibis must hold no intervals, got {examples(spans)}; cast them to text")
    return _unsigned(chosen), aliases


def _unsigned(table: Frame) -> Frame:
    """Return a frame with 0.0 for -0.0, which would tell two equal rows apart."""
    floats = [nw.col(name) for name, dtype in table.collect_schema().items() if dtype.is_float()]
    # polars would leave out an addition of 0.0.
    return table.with_columns(nw.when(own != 0).then(own).otherwise(own.abs()) for own in floats) if floats else table


@dataclass(frozen=True)
class Renamed:
    """A frame under plain names, with its original names."""

    frame: Frame  # Its columns are `column 0`, `column 1`, ..., and `COUNT` where each row stands for several
    names: tuple[Name, ...]  # The original names, in order
    kind: type  # Original frame, for messages and for `native`

    def alias(self, name: Name) -> str:
        """Return the plain name of a column."""
        return f"column {self.names.index(name)}"

    def native(self, frame: Frame, names: Sequence[Name], in_order: bool = False) -> Any:
        """Return columns in a frame of the original's kind, under their original names."""
        aliases = [self.alias(name) for name in names]
        chosen = frame.select([nw.col(alias) for alias in aliases])
        if not issubclass(self.kind, pd.DataFrame):
            # Sorted last, so that a lazy frame keeps the order.
            aliases = [str(name) for name in names]
            chosen = chosen.rename({self.alias(name): str(name) for name in names})
        native = (in_ascending_order(chosen, aliases) if in_order else chosen).to_native()
        if issubclass(self.kind, pd.DataFrame):
            native = native.reset_index(drop=True).set_axis(pd.Index(list(names), tupleize_cols=False), axis="columns")
        return native

    def grouped(self) -> Renamed:
        """Return the distinct rows with `COUNT`."""
        aliases, frame = [self.alias(name) for name in self.names], self.frame
        if frame.implementation.is_pandas():
            # Codes of few rows at a time take little memory.
            n = max(_FEW_CELLS // len(aliases), 1)
            blocks = (frame[start : start + n] for start in range(0, max(len(frame), 1), n))
            frame = nw.concat([distinct_rows(block, aliases) for block in blocks])
        return replace(self, frame=distinct_rows(frame, aliases))


def renamed(frame: Any) -> Renamed:
    """Return a frame under plain names, without categories and index."""
    if isinstance(frame, Renamed):
        return frame
    names = frame.columns.tolist() if isinstance(frame, pd.DataFrame) else opened(frame)[1]
    table, _ = aliased(frame, names)
    if isinstance(frame, pd.DataFrame):
        columns = {alias: _without_categories(column) for alias, column in table.to_native().items()}
        table = nw.from_native(pd.DataFrame(columns, copy=False))
    if table.implementation.is_pyarrow():
        table = nw.from_native(_comparable(table.to_native()))
    texts = [as_text(name) for name, own in table.collect_schema().items() if isinstance(own, nw.Categorical | nw.Enum)]
    return Renamed(table.with_columns(texts) if texts else table, tuple(names), type(frame))


def missing(frame: Frame, column: str) -> Any:
    """Return an expression for missing values of a column, null or NaN."""
    gap = nw.col(column).is_null()
    # SQLite stores "not a number" as null, and has no function for it.
    is_sqlite = frame.implementation.is_ibis() and frame.to_native().get_backend().name == "sqlite"
    has_nan = frame.collect_schema()[column].is_float() and not is_sqlite
    return gap | nw.col(column).is_nan() if has_nan else gap


def as_text(column: str) -> Any:
    """Return an expression for a column as text, with gaps kept."""
    return nw.when(~nw.col(column).is_null()).then(nw.col(column).cast(nw.String))


def as_key(frame: Frame, column: str) -> Any:
    """Return an expression for a column as text, which is the same for equal values alone."""
    kind = frame.implementation
    if frame.collect_schema()[column] == nw.Duration and (kind.is_polars() or kind.is_duckdb()):
        # polars has no text of a duration, and DuckDB two of one: 24:00:00 and 1 day. A moment has one.
        return (nw.lit(datetime(2001, 4, 1)) + nw.col(column)).cast(nw.String)
    return as_text(column)


def in_ascending_order(frame: Frame, columns: Sequence[str]) -> Frame:
    """Sort a frame by some columns, missing values last."""
    try:
        return frame.sort(columns, nulls_last=True)
    except TypeError as error:
        raise ValueError(f"columns to release must hold values of one type, which have an order: {error}") from None


def distinct_rows(frame: Frame, columns: Sequence[str]) -> Frame:
    """Return the distinct rows of some columns, with their `COUNT`."""
    if frame.implementation.is_pandas():
        return _first_rows(frame.to_native(), list(columns), _key)
    groups = frame.group_by(columns, drop_null_keys=False).agg(_rows(frame))
    return groups.with_columns(nw.col(COUNT).cast(nw.Int64))


def held(frame: Frame) -> Frame:
    """Compute a lazy frame once, in its own engine."""
    if not isinstance(frame, nw.LazyFrame):
        return frame
    kind, native = frame.implementation, frame.to_native()
    if kind.is_polars():
        return frame.collect().lazy()
    if kind.is_ibis():
        return nw.from_native(native.cache())
    if not kind.is_duckdb():
        return nw.from_native(native.localCheckpoint())
    # A table of the connection alone; even a database that is only read takes it.
    name = f"pymoo_anon_held_{next(_HELD_NUMBERS)}"
    native.query("pymoo_anon_view", f"CREATE TEMP TABLE {name} AS SELECT * FROM pymoo_anon_view")
    return nw.from_native(native.query("pymoo_anon_view", f"SELECT * FROM {name}"))


def fetched(frame: Frame) -> Frame:
    """Fetch all rows of a frame into memory."""
    if not isinstance(frame, nw.LazyFrame):
        return frame
    kind = frame.implementation
    if kind.is_polars():
        return frame.collect()
    # pyarrow holds texts without an object for each. pandas is surely installed.
    return frame.collect("pandas" if find_spec("pyarrow") is None else "pyarrow")


def in_memory(frame: Frame) -> Frame:
    """Fetch all rows of a frame, in Arrow where they are quick to encode."""
    own = fetched(frame)
    is_encoded = not own.implementation.is_polars() or find_spec("pyarrow") is None
    return own if is_encoded else nw.from_native(own.to_arrow(), eager_only=True)


def totals(frame: Frame, **expressions: Any) -> list[int]:
    """Whole numbers that some expressions make of a frame, counted where it lives."""
    found = fetched(frame.select(**expressions))
    return [int(found[name].to_list()[0] or 0) for name in expressions]


def combinations_of(frame: Any, names: Sequence[Name], most: int | None = None) -> Combinations:
    """Group a frame in its engine, and fetch at most so many groups."""
    if isinstance(frame, Renamed):
        aliases, table = [frame.alias(name) for name in names], frame.frame
        table = table.select(nw.col(*aliases, *_counts(table)))
    else:
        table, aliases = aliased(frame, names)
    dtypes = table.collect_schema()
    if table.implementation.is_pandas():
        grouped = _first_rows(table.to_native(), aliases, lambda column: factorized(column)[0])
        counts = grouped[COUNT].to_numpy()
    elif isinstance(frame, Renamed) and not isinstance(table, nw.LazyFrame):
        own, weights = rows_of(table)
        first, counts = grouping_of([row_codes(own[alias]) for alias in aliases], weights)
        grouped = own[first]
    else:
        try:
            groups = table.group_by(aliases, drop_null_keys=False).agg(_rows(table))
            grouped = fetched(groups if most is None else groups.head(most))
        except TypeError as error:
            raise TypeError(f"frame must hold values that can be compared in columns with a role: {error}") from None
        counts = grouped[COUNT].to_numpy()
    for name, alias in zip(names, aliases, strict=True):
        _check_years(name, grouped[alias])
    columns = {name: python_values(grouped[alias], dtypes[alias]) for name, alias in zip(names, aliases, strict=True)}
    return Combinations(columns, counts.astype(np.int64))


def rows_of(frame: Frame) -> tuple[Frame, Ints]:
    """Fetch all rows of a frame with their counts."""
    own = in_memory(frame)
    # Ones take no memory.
    return own, own[COUNT].to_numpy().astype(np.int64) if _counts(own) else np.broadcast_to(np.int64(1), len(own))


def codes_and_values(column: Any) -> tuple[Ints, list[Any]]:
    """Return codes of an eager column, -1 for missing values, and its values."""
    if column.dtype == nw.String and column.implementation.is_pyarrow():
        codes, values = _encoded(column.to_native())
        return codes, values.to_pylist()
    codes, values = pd.factorize(python_values(column, column.dtype))
    return codes, values.tolist()


def _encoded(array: Any) -> tuple[Ints, Any]:
    """Return the codes of a chunked array, -1 for missing values, and its values."""
    own = array.dictionary_encode().combine_chunks()
    return own.indices.fill_null(-1).to_numpy(zero_copy_only=False), own.dictionary


def row_codes(column: Any) -> Ints:
    """Encode an eager column by its spelling, -1 for missing values."""
    native, dtype = column.to_native(), column.dtype
    if isinstance(native, pd.Series):
        return np.where(native.isna(), -1, _key(native) if native.dtype == object else pd.factorize(native)[0])
    if dtype.is_nested():
        return pd.factorize(pd.Series(map(repr, column.to_list())))[0]
    if column.implementation.is_pyarrow() and (dtype.is_integer() or isinstance(dtype, _ENCODED)):
        return _encoded(native)[0]
    return codes_and_values(column)[0]


def grouping_of(columns: Iterable[Array], weights: Ints) -> tuple[Ints, Ints]:
    """Return the first row of each distinct one, and its number of rows."""
    keys = keyed(columns)
    # Equal rows of a release stand together: such runs are much fewer than rows.
    runs = np.append(0, 1 + np.flatnonzero(keys[1:] != keys[:-1]))[: len(keys)]
    numbers = pd.factorize(keys[runs])[0]
    counts = np.bincount(numbers, np.add.reduceat(weights, runs)).astype(np.int64)
    first = np.empty(len(counts), dtype=np.int64)
    # Of several runs with one number the last that is assigned stays: read backwards, the first.
    first[numbers[::-1]] = runs[::-1]
    return first, counts


def codes_of(one: Any, other: Any) -> Ints:
    """Encode two eager columns together, -1 for missing values."""
    if one.dtype == other.dtype == nw.String and one.implementation.is_pyarrow() and other.implementation.is_pyarrow():
        # No text becomes an object.
        chunks = [chunk.cast("large_string") for own in (one, other) for chunk in own.to_native().chunks]
        return _encoded(import_module("pyarrow").chunked_array(chunks, "large_string"))[0]
    # Lists are told apart by their text: they have no hash.
    columns = [
        pd.Series(map(repr, own.to_list())) if own.dtype.is_nested() else python_values(own, own.dtype)
        for own in (one, other)
    ]
    return pd.factorize(pd.concat(columns, ignore_index=True))[0]


def at_hand(frame: Any) -> Any:
    """Read a frame once, into memory if it is small."""
    if isinstance(frame, pd.DataFrame):
        return frame
    table: Any = held(nw.from_native(frame))
    dtypes = dict(table.collect_schema())
    if totals(table, n=nw.len())[0] * len(dtypes) > _FEW_CELLS:
        return table.to_native()
    own = in_memory(table)
    return pd.DataFrame({name: python_values(own[name], dtype) for name, dtype in dtypes.items()})


def sampled_values(frame: Any, name: Name, n: int) -> tuple[int, int, list[Any]]:
    """Count the values of a column, and take about n."""
    table, (column,) = aliased(frame, [name])
    there = table.filter(~missing(table, column))
    (n_rows,) = totals(table, rows=nw.len())
    n_there, n_distinct = totals(there, there=nw.len(), distinct=nw.col(column).n_unique())
    chosen = there.unique().with_row_index("place", order_by=column)
    values = fetched(chosen.filter(nw.col("place") % max(n_distinct // n, 1) == 0))[column]
    return n_rows - n_there, n_distinct, python_values(values, table.collect_schema()[column]).tolist()


def coded(column: pd.Series) -> tuple[Ints, list[Any]]:
    """Encode a column, with ascending values and None last."""
    codes, values = factorized(column)
    # By identity: True and 1 are two values, and equal.
    place = {id(value): i for i, value in enumerate(values)}
    order = [place[id(value)] for value in ascending(values)]
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    # factorize returns -1 for missing values, the last place of `rank`.
    rank[-1] = len(values)
    return rank[codes], [values[i] for i in order] + ([None] if (codes < 0).any() else [])


def _counts(frame: Frame) -> list[str]:
    return [COUNT] if COUNT in frame.collect_schema().names() else []


def _rows(frame: Frame) -> Any:
    return (nw.col(COUNT).sum() if _counts(frame) else nw.len()).alias(COUNT)


def _first_rows(frame: pd.DataFrame, columns: list[str], key: Callable[[pd.Series], Ints]) -> Frame:
    """Return the first of each distinct row of a pandas frame, with `COUNT`."""
    own = (frame[name] for name in columns)
    codes = (key(column) if column.dtype == object else pd.factorize(column)[0] for column in own)
    first, counts = grouping_of(codes, rows_of(nw.from_native(frame))[1])
    return nw.from_native(frame[columns].iloc[first].assign(**{COUNT: counts}))


def keyed(columns: Iterable[Array]) -> Ints:
    """Assign numbers to the rows of columns of codes, equal rows alike."""
    keys, n = np.zeros(1, dtype=np.int64), 1
    for codes in columns:
        # Numbers of pairs must not outgrow 64 bits.
        n_codes = int(codes.max(initial=-1)) + 2
        if n * n_codes >= 2**63:
            keys, codes = pd.factorize(keys)[0], pd.factorize(codes)[0]
            n, n_codes = len(codes), len(codes) + 1
        # In this order numpy adds in place.
        keys, n = keys * n_codes + 1 + codes, n * n_codes
    return keys


def _key(column: pd.Series) -> Any:
    """Return a key of an object, different for differently written ones."""
    if pd.api.types.infer_dtype(column) in _ALIKE:
        return pd.factorize(column)[0]
    return pd.factorize(column.map(lambda value: (type(value), str(value))))[0]


def _without_categories(column: pd.Series) -> pd.Series:
    own = column.reset_index(drop=True)
    if not isinstance(own.dtype, pd.CategoricalDtype):
        return own
    values: Any = own.cat.categories
    # Whole numbers of numpy have no gaps.
    has_gaps = own.hasnans and values.dtype.kind in "iu"
    return own.astype((values.to_series().convert_dtypes() if has_gaps else values).dtype)


def _comparable(table: Any) -> Any:
    """Return a table of Arrow with columns that it can compare and join."""
    pa, fields = import_module("pyarrow"), []
    for field in table.schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        is_text = pa.types.is_null(kind) or pa.types.is_string_view(kind)
        fields.append(field.with_type(pa.string() if is_text else kind))
    return table.cast(pa.schema(fields))


def _columns_at(known: list[Name], wanted: Sequence[Name]) -> list[int]:
    if unknown := [name for name in wanted if name not in known]:
        raise KeyError(f"frame must have the columns {examples(unknown)}, got columns {examples(known)}")
    if twice := [name for name in repeated(known) if name in wanted]:
        raise ValueError(f"frame must name each column once, got more than once: {examples(twice)}")
    return [known.index(name) for name in wanted]


def factorized(column: pd.Series) -> tuple[Ints, list[Any]]:
    """Encode the values of a column, with True apart from 1."""
    keys = column
    if column.dtype == object and pd.api.types.infer_dtype(column).startswith("mixed"):
        keys = column.map(lambda value: (bool, value) if isinstance(value, bool | np.bool_) else value)
    try:
        codes, distinct = pd.factorize(keys, use_na_sentinel=True)
    except TypeError as error:
        raise TypeError(f"frame must hold values that can be compared in columns with a role: {error}") from None
    # The first row of each value; that of missing ones comes last.
    firsts = np.empty(len(distinct) + 1, dtype=np.int64)
    firsts[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return codes, column.iloc[firsts[:-1]].tolist()


def _check_years(name: Name, column: Any) -> None:
    """Raise for days outside of Python's calendar."""
    if isinstance(column.dtype, nw.Date | nw.Datetime):
        years = column.drop_nulls().dt.year()
        if len(years) and not (years.min() >= 1 and years.max() <= 9999):
            raise ValueError(f"column {name!r} must hold dates of the years 1 to 9999, got others; leave them empty")


def python_values(column: Any, dtype: Any) -> pd.Series:
    """Convert a column to pandas without loss: whole numbers, days, time zones."""
    native = column.to_native()
    if dtype == nw.String and column.implementation.is_pyarrow():
        # Each text is made an object once.
        texts: Any
        places, texts = codes_and_values(column)
        return pd.Series(pd.Categorical.from_codes(places, texts))
    if dtype == nw.Date:
        days = [value.date() if isinstance(value, datetime) else value for value in column.to_list()]
        return pd.Series([None if pd.isna(day) else day for day in days], dtype=object)
    if isinstance(native, pd.Series):
        return native.reset_index(drop=True)
    if str(getattr(native, "type", None)) == "month_day_nano_interval":
        # DuckDB's months have 30 days.
        spans: Any = native.to_pylist()
        days = [own and timedelta(30 * own.months + own.days, microseconds=own.nanoseconds // 1000) for own in spans]
        return pd.Series(days, dtype=object)
    if isinstance(dtype, nw.Datetime) and dtype.time_zone is not None:
        # As numpy has them, moments are in UTC, and may be on another day there.
        return pd.Series(column.to_numpy()).dt.tz_localize("UTC").dt.tz_convert(dtype.time_zone)
    if column.is_null().any():
        return pd.Series(column.to_list(), dtype=object)
    return pd.Series(column.to_numpy())
