"""Tables read and written by the engine that is asked for: every engine reads the same cells, and stays lazy."""

from __future__ import annotations

import base64
import csv
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymoo_anon._messages import examples, repeated
from pymoo_anon.cli.names import Reading
from pymoo_anon.publishing.release import Recoded
from pymoo_anon.table.delimited import decoded, rows_of, scanned, separator_of
from pymoo_anon.table.frames import as_text, fetched

# The separator and the header are recognised in so many bytes.
_HEAD = 1 << 20

#: Signs that stand around a field where `strip` is asked for.
BLANKS = " "


class Dialect(NamedTuple):
    """How a CSV file is written."""

    separator: str  # What stands between two fields
    names: list[str]  # Names of its columns; one may be empty
    has_header: bool  # Whether its first row holds them


def dialect_of(path: Path, names: Sequence[str] | None, strip: bool = False) -> Dialect:
    """How a CSV file is written, as its first rows show."""
    text = head_of(path)
    separator = separator_of(text)
    if names is not None:
        return Dialect(separator, list(names), False)
    header = next(rows_of(text, separator, str(path)), [])
    if strip:
        header = [name.strip(BLANKS) for name in header]
    if not any(header):
        raise ValueError(f"{path} must be a CSV file whose first row names its columns, got an empty row")
    twice = repeated(column for column in header if column)
    if twice:
        raise ValueError(
            f"{path} must name each of its columns once, got {examples(twice)} more than once; rename all but one there"
        )
    return Dialect(separator, header, True)


def head_of(path: Path) -> str:
    """The text of the first lines of a file; the last one may end within a row."""
    with path.open("rb") as file:
        data = file.read(_HEAD)
        whole = not file.read(1)
    text = decoded(data, str(path), whole)
    return text if whole else text[: max(text.rfind("\n"), text.rfind("\r")) + 1]


def read_frame(reading: Reading, dialect: Dialect, columns: Sequence[str]) -> pd.DataFrame:
    """Some columns of a CSV file, all as text: 02139 stays what it is, and NA may be a value, as `reading` says."""
    assert reading.source.path is not None
    name, names = str(reading.source.path), dialect.names
    rows = rows_of(decoded(reading.source.path.read_bytes(), name), dialect.separator, name)
    if dialect.has_header:
        next(rows)
    places = {column: names.index(column) for column in dict.fromkeys(columns)}
    cells: dict[str, list[str | None]] = {column: [] for column in places}
    # Equal texts are one object: a table of a million rows has few different values.
    known: dict[str, str | None] = dict.fromkeys(["", *reading.empty])
    uneven: dict[int, int] = {}
    for number, row in enumerate(rows, start=1 + dialect.has_header):
        if not row:
            continue
        if len(row) != len(names):
            uneven[number] = len(row)
            continue
        for column, place in places.items():
            cell = row[place].strip(BLANKS) if reading.strip else row[place]
            cells[column].append(known.setdefault(cell, cell))
    if uneven:
        counts = " or ".join(map(str, sorted(set(uneven.values()))[:5]))
        header = "as in its header, which is row 1" if dialect.has_header else "one for each of the names"
        raise ValueError(
            f"{name} must have {len(names)} fields in every row, {header}; got {counts} "
            f"fields in {len(uneven)} of its rows: rows {examples(list(uneven))}"
        )
    return pd.DataFrame({column: pd.Series(values, dtype=object) for column, values in cells.items()})


def line_end_of(path: Path) -> tuple[str, str]:
    r"""The separator of a CSV file, and how its first row ends: "\n" or "\r\n"."""
    text = head_of(path)
    return separator_of(text), "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"


# A file of so many bytes is read by DuckDB where that is installed and no engine is named.
_LARGE = 50 * 10**6

# Signs in the path of a file that some engine takes for a pattern of many files, or for a scheme.
_PATTERNS = frozenset("*?[]{}\\:,%#")


class _Engine(NamedTuple):
    """How an engine opens a table."""

    package: str | None  # The package that it needs besides what is always installed
    # Opens a CSV file that every reader takes for the same cells; None where this program's own reader does.
    csv: Callable[[Path, Dialect, bool], Any] | None
    adopt: Callable[[pd.DataFrame], Any]  # Takes the cells that this program's own reader read
    parquet: Callable[[Path], Any]  # Opens a Parquet file


def open_frame(reading: Reading, choose: Callable[[list[str]], Sequence[str]]) -> Any:
    """Some columns of a table as a frame of its engine, lazy where it can be; of a CSV file all is text."""
    source = reading.source
    source.check()
    name = engine_of(reading)
    package = _ENGINES[name].package
    if package is not None and find_spec(package) is None:
        raise ValueError(f"engine {name} needs the package {package}: pip install {package}")
    if source.kind == "csv":
        return _csv(reading, _ENGINES[name], choose)
    if reading.names is not None or reading.strip:
        raise ValueError(f"`names` and `strip` work only with CSV files; {source} is not one")
    try:
        if source.kind == "parquet":
            assert source.path is not None
            frame = _ENGINES[name].parquet(source.path)
        else:
            duckdb = import_module("duckdb") if source.kind == "duckdb" else None
            catalog = _spark() if duckdb is None else duckdb.connect(str(source.path), read_only=True)
            frame = catalog.table(source.table)
        schema = nw.from_native(frame).collect_schema()
    except (ImportError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # Every engine has errors of its own.
        raise ValueError(f"{source} cannot be read by {name}: {first_line(error)}") from None
    columns = choose(list(schema))
    coded = [column for column in columns if reading.empty and schema[column] in (nw.Categorical, nw.Enum)]
    if coded:
        # What stands for no value may be one of their categories.
        frame = nw.from_native(frame).with_columns([as_text(column).alias(column) for column in coded]).to_native()
    texts = [column for column in columns if schema[column] == nw.String] + coded
    return _cleaned(frame, columns, texts, reading.empty, False)


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
    if engine.csv is not None:
        scan = scanned(path, dialect.separator)
        certain = scan.certain and scan.n_fields == len(dialect.names) and all(dialect.names)
        if certain and not path.name.startswith((".", "_")) and not _PATTERNS & set(str(path)):
            frame = engine.csv(path, dialect, scan.line_ends_inside)
            return _cleaned(frame, columns, columns, ("", *reading.empty), reading.strip)
    # Here a file that is wrong is refused, with what is wrong.
    return engine.adopt(read_frame(reading, dialect, columns))


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
    table = nw.from_native(frame)
    if table.implementation.is_duckdb():
        _check_duckdb(columns)
    return table.select(*made).to_native()


def first_line(error: Exception) -> str:
    """What an engine says of its error, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _pandas_parquet(path: Path) -> Any:
    if find_spec("pyarrow") is None:
        raise ValueError("pandas reads Parquet with the package pyarrow: pip install pyarrow")
    return pd.read_parquet(path)


def _polars_csv(path: Path, dialect: Dialect, line_ends_inside: bool) -> Any:
    return import_module("polars").scan_csv(
        path, separator=dialect.separator, has_header=dialect.has_header, infer_schema=False, new_columns=dialect.names
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


def _check_duckdb(names: Sequence[str]) -> None:
    """Refuse names that expressions of DuckDB before 2 cannot have; it is the newest one for Python 3.10."""
    odd = [name for name in names if '"' in name]
    if odd and int(version("duckdb").split(".")[0]) < 2:
        raise ValueError(
            f'engine duckdb before DuckDB 2 must have columns without " in their names, got {examples(odd)}; take '
            "another engine or a newer DuckDB"
        )


def _duckdb_adopt(frame: pd.DataFrame) -> Any:
    _check_duckdb(frame.columns.tolist())
    duckdb = import_module("duckdb")
    relation = duckdb.connect().from_df(frame)
    # A column without any value has no type of its own.
    return relation.select(*(duckdb.ColumnExpression(name).cast("VARCHAR").alias(name) for name in frame))


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


_ENGINES = {
    "pandas": _Engine(None, None, lambda frame: frame, _pandas_parquet),
    "polars": _Engine("polars", _polars_csv, _polars_adopt, lambda path: import_module("polars").scan_parquet(path)),
    "duckdb": _Engine(
        "duckdb", _duckdb_csv, _duckdb_adopt, lambda path: import_module("duckdb").read_parquet(str(path))
    ),
    "dask": _Engine(
        "dask",
        _dask_csv,
        lambda frame: import_module("dask.dataframe").from_pandas(frame, npartitions=1),
        lambda path: import_module("dask.dataframe").read_parquet(str(path)),
    ),
    "spark": _Engine("pyspark", _spark_csv, _spark_adopt, lambda path: _spark().read.parquet(str(path.resolve()))),
}


#: The files that a table can be written to, by the ending of their names.
ENDINGS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


def kind_of(path: Path) -> str:
    """What kind of file a name stands for: "csv" or "parquet"."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"a release is written to a file that ends in {', '.join(ENDINGS)}, got {str(path)!r}")
    return kind


def check_writer(kind: str, engine: str) -> None:
    """Refuse a kind of file that an engine cannot write with what is installed."""
    if kind == "parquet" and engine in ("pandas", "dask") and find_spec("pyarrow") is None:
        raise ValueError(f"{engine} writes Parquet with the package pyarrow: pip install pyarrow; .csv needs nothing")


def write_table(frame: Any, path: Path) -> None:
    """Write a table to one file. A CSV file has commas, a header, and quotes only where a field needs them."""
    kind = kind_of(path)
    table = nw.from_native(frame)
    engine = table.implementation
    if engine.is_duckdb():
        said(frame.write_csv if kind == "csv" else frame.write_parquet, str(path))
    elif engine.is_pyspark():
        _write_spark(frame, path, kind)
    elif engine.is_polars() and isinstance(table, nw.LazyFrame):
        said(frame.sink_csv if kind == "csv" else frame.sink_parquet, path)
    else:
        native = frame.compute() if engine.is_dask() else frame
        if not isinstance(native, pd.DataFrame):
            said(nw.from_native(native).write_csv if kind == "csv" else nw.from_native(native).write_parquet, path)
        elif kind == "csv":
            # A carriage return ends a row for a reader, and is no reason to quote for this writer.
            texts = [native[name] for name in native if native[name].dtype.kind in "OT" or native[name].dtype == "str"]
            returns = any(own.astype("str").str.contains("\r", regex=False, na=False).any() for own in texts)
            native.to_csv(
                path, index=False, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
            )
        else:
            native.to_parquet(path, index=False)


def rewritten(path: Path, separator: str, line_end: str) -> None:
    """Write a CSV file with commas again, row by row, with another separator and other line ends."""
    other = path.with_name(f"{path.name}.rewritten")
    with path.open(newline="", encoding="utf-8") as read, other.open("w", newline="", encoding="utf-8") as write:
        rows = csv.reader(read)
        writer = csv.writer(write, delimiter=separator, lineterminator=line_end)
        all_quoted = csv.writer(write, delimiter=separator, lineterminator=line_end, quoting=csv.QUOTE_ALL)
        for row in rows:
            # A carriage return ends a row for a reader, and need be no reason to quote for this writer.
            quoted = any("\r" in cell for cell in row)
            (all_quoted if quoted else writer).writerow(row)
    other.replace(path)


def _write_spark(frame: Any, path: Path, kind: str) -> None:
    """One file of one partition, which Spark writes into a folder: sorted in it, as partitions have no order."""
    folder = path.with_name(f"{path.name}.parts")
    columns = [frame[f"`{name.replace('`', '``')}`"].asc_nulls_last() for name in frame.columns]
    writer = frame.repartition(1).sortWithinPartitions(*columns).write
    # Left to itself it takes blanks away.
    options = {"header": True, "escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
    try:
        if kind == "csv":
            said(lambda: writer.options(**options).csv(str(folder)))
        else:
            said(lambda: writer.parquet(str(folder)))
        (part,) = folder.glob("part-*")
        part.rename(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def said(write: Callable[..., Any], *arguments: Any) -> None:
    """Call a writer whose errors are of its engine, such as a disk that is full."""
    try:
        write(*arguments)
    except (OSError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise OSError(f"the release could not be written: {first_line(error)}") from None


# So many bytes of one line, and so many rows of a Parquet file, are written at a time.
_BLOCK = 1 << 24
_ROWS = 1 << 20


def write_recoded(made: Recoded, path: Path, like: tuple[str, str] | None = None) -> None:
    """Write a table that was recoded; a CSV file may have another separator and other line ends than its engine's."""
    kind = kind_of(path)
    if made.counts is None or (kind == "parquet" and find_spec("pyarrow") is None):
        write_table(made.frame, path)
        if like is not None:
            rewritten(path, *like)
    elif kind == "parquet":
        said(_write_parquet, made.distinct, made.counts, path)
    else:
        # The engine writes each distinct row, as it writes numbers, days and quotes.
        few = path.with_name(f"{path.name}.distinct.csv")
        write_table(made.distinct, few)
        if like is not None:
            rewritten(few, *like)
        _repeat_lines(few, made.counts, path)
        few.unlink()


def _repeat_lines(few: Path, counts: NDArray[np.int64], path: Path) -> None:
    """Write each row of a CSV file as often as it occurs, below its header."""
    with few.open("rb") as read, path.open("wb") as write:
        rows = _rows_of(read)
        write.write(next(rows))
        for row, n in zip(rows, counts.tolist(), strict=True):
            together = max(_BLOCK // len(row), 1)
            for begin in range(0, n, together):
                write.write(row * min(together, n - begin))


def _rows_of(file: BinaryIO) -> Iterator[bytes]:
    """The rows of a CSV file with their line ends: a line end inside quotes has an odd number of them before it."""
    lines: list[bytes] = []
    n_quotes = 0
    for line in file:
        lines.append(line)
        n_quotes += line.count(b'"')
        if n_quotes % 2 == 0:
            yield b"".join(lines)
            lines.clear()


def _write_parquet(frame: Any, counts: NDArray[np.int64], path: Path) -> None:
    """Write each row of a frame as often as it occurs: of a text its place among the distinct ones is repeated."""
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")

    table = fetched(nw.from_native(frame))
    index = table.implementation.is_pandas()
    few = pa.Table.from_pandas(table.to_native(), preserve_index=False) if index else table.to_arrow()
    texts = [pa.types.is_string(one.type) or pa.types.is_large_string(one.type) for one in few.schema]
    columns = [
        (own.dictionary_encode() if is_text else own).combine_chunks()
        for own, is_text in zip(few.columns, texts, strict=True)
    ]
    coded = pa.table(columns, names=few.column_names)
    ends = np.cumsum(counts)
    with pq.ParquetWriter(path, coded.schema, store_schema=False) as writer:
        # What the columns are is said of the texts themselves, not of the places that stand for them here.
        schema = {b"ARROW:schema": base64.b64encode(few.schema.serialize())} | (few.schema.metadata or {})
        writer.add_key_value_metadata(schema)
        for start in range(0, int(counts.sum()), _ROWS):
            rows = np.searchsorted(ends, np.arange(start, min(start + _ROWS, ends[-1])), side="right")
            writer.write_table(coded.take(pa.array(rows)), row_group_size=_ROWS)
