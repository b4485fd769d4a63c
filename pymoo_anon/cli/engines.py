"""Tables on the engine that is asked for: every engine reads the same cells, and stays lazy where it is lazy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import narwhals as nw
import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.cli.plain_csv import BLANKS, Dialect, dialect_of, read_frame
from pymoo_anon.cli.sources import Reading, Source
from pymoo_anon.table.delimited import scanned

# A file of so many bytes is read by DuckDB where that is installed and no engine is named.
_LARGE = 50 * 10**6

# Signs in the path of a file that some engine takes for a pattern of many files, or for a scheme.
_PATTERNS = frozenset("*?[]{}\\:,%#")


class _Engine(NamedTuple):
    """How an engine opens a table.

    Attributes:
        package: The package that it needs besides what is always installed.
        csv: Opens a CSV file that every reader takes for the same cells.
        adopt: Takes the cells that this program's own reader read.
        parquet: Opens a Parquet file.
    """

    package: str | None
    csv: Callable[[Path, Dialect, bool], Any]
    adopt: Callable[[pd.DataFrame], Any]
    parquet: Callable[[Path], Any]


def open_frame(reading: Reading, choose: Callable[[list[str]], Sequence[str]]) -> Any:
    """Some columns of a table as a frame of its engine; of a CSV file all is text.

    Returns:
        pandas, a lazy frame of polars, a relation of DuckDB, or a frame of Dask or Spark.
    """
    source = reading.source
    if source.path is not None and not source.path.is_file():
        raise ValueError(f"{source} must be a file, got none of this name")
    name = engine_of(reading)
    package = _ENGINES[name].package
    if package is not None and find_spec(package) is None:
        raise ValueError(f"engine {name} needs the package {package}: pip install {package}")
    if source.kind == "csv":
        return _csv(reading, _ENGINES[name], choose)
    if reading.names is not None or reading.strip:
        raise ValueError(f"names and strip are of CSV files, and {source} is none")
    try:
        if source.kind == "parquet":
            assert source.path is not None
            frame = _ENGINES[name].parquet(source.path)
        else:
            frame = _duckdb_table(source) if source.kind == "duckdb" else _spark().table(source.table)
        schema = nw.from_native(frame).collect_schema()
    except (ImportError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # Every engine has errors of its own.
        raise ValueError(f"{source} cannot be read by {name}: {first_line(error)}") from None
    texts = [column for column, dtype in schema.items() if dtype == nw.String]
    return _cleaned(frame, choose(list(schema)), texts, reading.empty, False)


def engine_of(reading: Reading) -> str:
    """The engine that reads a table."""
    source, asked = reading.source, reading.engine
    if source.kind in ("duckdb", "spark"):
        if asked not in ("auto", source.kind):
            raise ValueError(f"{source} is read by engine {source.kind}, got {asked}")
        return source.kind
    if asked != "auto":
        return asked
    assert source.path is not None
    large = source.path.stat().st_size >= _LARGE
    return "duckdb" if large and find_spec("duckdb") is not None else "pandas"


def _csv(reading: Reading, engine: _Engine, choose: Callable[[list[str]], Sequence[str]]) -> Any:
    """Some columns of a CSV file."""
    path = reading.source.path
    assert path is not None
    dialect = dialect_of(path, reading.names, reading.strip)
    columns = list(dict.fromkeys(choose(dialect.names)))
    if engine.package is None:
        return read_frame(reading, dialect, columns)
    scan = scanned(path, dialect.separator)
    certain = scan.certain and scan.n_fields == len(dialect.names) and all(dialect.names)
    if not certain or path.name.startswith((".", "_")) or _PATTERNS & set(str(path)):
        # Here a file that is wrong is refused, with what is wrong.
        return engine.adopt(read_frame(reading, dialect, columns))
    frame = engine.csv(path, dialect, scan.line_ends_inside)
    return _cleaned(frame, columns, columns, ("", *reading.empty), reading.strip)


def _cleaned(frame: Any, columns: Sequence[str], texts: Sequence[str], empty: Sequence[str], strip: bool) -> Any:
    """The wanted columns of a frame, without blanks around texts, and with nothing where a text means nothing."""
    made = []
    for name in columns:
        cell = nw.col(name)
        if name in texts and strip:
            cell = cell.str.strip_chars(BLANKS)
        if name in texts and empty:
            cell = nw.when(~cell.is_in(empty)).then(cell).alias(name)
        made.append(cell)
    return nw.from_native(frame).select(*made).to_native()


def first_line(error: Exception) -> str:
    """What an engine says of its error, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _pandas_parquet(path: Path) -> Any:
    if find_spec("pyarrow") is None:
        raise ValueError("pandas reads Parquet with the package pyarrow: pip install pyarrow")
    return pd.read_parquet(path)


def _polars_csv(path: Path, dialect: Dialect, line_ends_inside: bool) -> Any:
    return import_module("polars").scan_csv(
        path,
        separator=dialect.separator,
        has_header=dialect.has_header,
        infer_schema=False,
        new_columns=dialect.names,
    )


def _polars_adopt(frame: pd.DataFrame) -> Any:
    pl = import_module("polars")
    return pl.LazyFrame({name: frame[name].tolist() for name in frame}, schema=dict.fromkeys(frame, pl.String))


def _quoted(text: str) -> str:
    """A text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _duckdb_csv(path: Path, dialect: Dialect, line_ends_inside: bool) -> Any:
    columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in dialect.names)
    options = {
        "auto_detect": "false",
        "columns": f"{{{columns}}}",
        "delim": _quoted(dialect.separator),
        "quote": "'\"'",
        "escape": "'\"'",
        "header": str(dialect.has_header).lower(),
        # What Python's own reader takes for the longest field, and the rest of the row.
        "max_line_size": "16777216",
    }
    listed = ", ".join(f"{name}={value}" for name, value in options.items())
    return import_module("duckdb").connect().sql(f"SELECT * FROM read_csv({_quoted(str(path))}, {listed})")


def _duckdb_adopt(frame: pd.DataFrame) -> Any:
    duckdb = import_module("duckdb")
    relation = duckdb.connect().from_df(frame)
    # A column without any value has no type of its own.
    return relation.select(*(duckdb.ColumnExpression(name).cast("VARCHAR").alias(name) for name in frame))


def _duckdb_parquet(path: Path) -> Any:
    return import_module("duckdb").connect().read_parquet(str(path))


def _duckdb_table(source: Source) -> Any:
    return import_module("duckdb").connect(str(source.path), read_only=True).table(source.table)


def _dask_csv(path: Path, dialect: Dialect, line_ends_inside: bool) -> Any:
    # A part of a file has to begin with a row.
    return import_module("dask.dataframe").read_csv(
        str(path),
        sep=dialect.separator,
        header=0 if dialect.has_header else None,
        names=dialect.names,
        dtype=str,
        keep_default_na=False,
        na_filter=False,
        **({"blocksize": None} if line_ends_inside else {}),
    )


def _dask_adopt(frame: pd.DataFrame) -> Any:
    return import_module("dask.dataframe").from_pandas(frame, npartitions=1)


def _dask_parquet(path: Path) -> Any:
    return import_module("dask.dataframe").read_parquet(str(path))


def _spark() -> Any:
    return import_module("pyspark.sql").SparkSession.builder.getOrCreate()


def _spark_schema(names: Sequence[str]) -> Any:
    odd = [name for name in names if set(name) & set(".`")]
    if odd:
        raise ValueError(f"engine spark must have columns without . and ` in their names, got {examples(odd)}")
    types = import_module("pyspark.sql.types")
    return types.StructType([types.StructField(name, types.StringType()) for name in names])


def _spark_csv(path: Path, dialect: Dialect, line_ends_inside: bool) -> Any:
    return _spark().read.csv(
        str(path.resolve()),
        schema=_spark_schema(dialect.names),
        sep=dialect.separator,
        quote='"',
        escape='"',
        header=dialect.has_header,
        multiLine=line_ends_inside,
        emptyValue="",
        mode="FAILFAST",
    )


def _spark_adopt(frame: pd.DataFrame) -> Any:
    return _spark().createDataFrame(
        list(frame.itertuples(index=False, name=None)), _spark_schema(frame.columns.tolist())
    )


def _spark_parquet(path: Path) -> Any:
    return _spark().read.parquet(str(path.resolve()))


_ENGINES = {
    # pandas is what this program's own reader gives.
    "pandas": _Engine(None, lambda *_: None, lambda frame: frame, _pandas_parquet),
    "polars": _Engine("polars", _polars_csv, _polars_adopt, lambda path: import_module("polars").scan_parquet(path)),
    "duckdb": _Engine("duckdb", _duckdb_csv, _duckdb_adopt, _duckdb_parquet),
    "dask": _Engine("dask", _dask_csv, _dask_adopt, _dask_parquet),
    "spark": _Engine("pyspark", _spark_csv, _spark_adopt, _spark_parquet),
}
