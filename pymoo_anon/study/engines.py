"""Tables read and written by DuckDB, or by Spark beyond one machine."""

from __future__ import annotations

import codecs
import csv
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from operator import mul
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import narwhals as nw
import pandas as pd

from pymoo_anon._files import FULL
from pymoo_anon._messages import counted, examples, repeated
from pymoo_anon.study.databases import POSTGRES, check_installed, identifier, read_source, write_workbook
from pymoo_anon.study.names import NAME_TABLE, Reading, Source, header_of
from pymoo_anon.table import delimited
from pymoo_anon.table.frames import as_text, opened, unaddressable

# The separator and the header are recognised in so many bytes.
_HEAD = 1 << 20

# Next step for a file in another encoding.
_NAME_ENCODING = ", or name its encoding: init --encoding NAME, encoding in [data]"

# No line of a CSV file may have more bytes.
_LONGEST_LINE = 1 << 24

# Numbers of the tables that DuckDB holds.
_TABLE_NUMBERS = count()

#: The blanks that `strip` takes away around a field.
BLANKS = " "

# A number with a decimal comma, and one with points between thousands.
_COMMA_NUMBER = r"^[+-]?\d*,\d+([eE][+-]?\d+)?$"
_GROUPED_NUMBER = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+(,\d+)?$"


class Dialect(NamedTuple):
    """The format of a CSV file."""

    separator: str  # Separator of fields
    names: list[str]  # Names of its columns; one may be empty
    has_header: bool  # Whether its first row holds them


def dialect_of(path: Path, names: Sequence[str] | None, strip: bool = False, encoding: str | None = None) -> Dialect:
    """Recognise the format of a CSV file by its first rows."""
    text = head_of(path, encoding)
    separator = delimited.separator_of(text)
    if names is not None:
        return Dialect(separator, list(names), False)
    header = next(delimited.csv_rows(text, separator, str(path)), [])
    if strip:
        header = [name.strip(BLANKS) for name in header]
    if not any(header):
        raise ValueError(f"{path} must be a CSV file whose first row names its columns, got an empty row")
    return Dialect(separator, header_of(path, header), True)


def head_of(path: Path, encoding: str | None = None) -> str:
    """Return the first lines of a file, the last perhaps cut."""
    data = delimited.bytes_of(path, _HEAD + 1)
    whole = len(data) <= _HEAD
    text = delimited.decoded(data[:_HEAD], str(path), whole, encoding, _NAME_ENCODING)
    return text if whole else text[: max(text.rfind("\n"), text.rfind("\r")) + 1]


# --- reading ----------------------------------------------------------------------------------------------------------


def open_frame(reading: Reading, choose: Callable[[list[str]], Sequence[str]]) -> Any:
    """Return columns of a table as a lazy frame."""
    source, engine = reading.source, engine_of(reading)
    source.check()
    if engine == "spark" and find_spec("pyspark") is None:
        raise ValueError("engine spark needs the package pyspark: pip install pyspark")
    if source.kind == "csv":
        return _open_csv(reading, engine, choose)
    if own := reading.of_csv:
        raise ValueError(f"{' and '.join(f'`{name}`' for name in own)} work only with CSV files; {source} is not one")
    try:
        frame = _frame_of(source, engine)
        schema = nw.from_native(frame).collect_schema()
    except (ImportError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # Each engine has its own types of errors.
        by = {"excel": "calamine", "sqlite": "SQLite", "database": "Ibis"}.get(source.kind, engine)
        by = "" if isinstance(error, ValueError) else f" by {by}"
        raise ValueError(f"{source} cannot be read{by}: {first_line(error)}") from None
    columns = choose(list(schema))
    coded = [column for column in columns if reading.empty and schema[column] in (nw.Categorical, nw.Enum)]
    if coded:
        # A text that means "no value" may be one of the categories.
        frame = nw.from_native(frame).with_columns([as_text(column).alias(column) for column in coded]).to_native()
    texts = [column for column in columns if schema[column] == nw.String] + coded
    return _cleaned(frame, {name: name for name in columns}, texts, reading.empty)


def engine_of(reading: Reading) -> str:
    """Return the engine that reads a table, "duckdb" or "spark"."""
    source, asked = reading.source, reading.engine
    own = {"csv": asked, "parquet": asked, "spark": "spark"}.get(source.kind, "duckdb")
    if asked not in ("auto", own):
        raise ValueError(f"{source} is read by engine {own}, got {asked}")
    return "spark" if "spark" in (source.kind, asked) else "duckdb"


def _frame_of(source: Source, engine: str) -> Any:
    if source.kind == "spark":
        return _spark().table(source.table)
    if source.kind == "duckdb":
        if source.table is None:
            raise ValueError(f"it must come with the name of a table: {NAME_TABLE}")
        return _in_utc(import_module("duckdb").connect(str(source.path), read_only=True)).table(source.table)
    if source.kind in ("excel", "sqlite", "database"):
        return as_relation(read_source(source))
    assert source.path is not None
    if source.kind == "json":
        return _json_lines(source.path)
    if engine == "spark":
        return _spark().read.parquet(str(source.path.resolve()))
    return _connect().sql(f"SELECT * FROM read_parquet({_path(source.path)}, hive_partitioning=false)")


def _open_csv(reading: Reading, engine: str, choose: Callable[[list[str]], Sequence[str]]) -> Any:
    path = reading.source.path
    assert path is not None
    dialect = dialect_of(path, reading.names, reading.strip, reading.encoding)
    columns = list(dict.fromkeys(choose(dialect.names)))
    empty = "", *reading.empty
    # DuckDB binds a long expression for each column slowly.
    by_reader = empty if engine == "duckdb" and not reading.strip and reading.decimal == "." else ()
    if engine == "spark":
        if odd := [name for name in columns if set(name) & set(".`")]:
            raise ValueError(f"engine spark must have columns without . and ` in their names, got {examples(odd)}")
        if twice := repeated(map(str.casefold, columns)):
            told = "columns that differ in more than case"
            raise ValueError(f"engine spark must have {told}, got {examples(twice)} twice")
        frame, has_names = _spark_table(path, dialect, reading.encoding), True
    else:
        frame, has_names = _duckdb_table(path, dialect, reading.encoding, by_reader), _are_names_of_duckdb(columns)
    # Any text may name a column of the file, so positions do until here.
    places = [f"column {dialect.names.index(name)}" for name in columns]
    called = dict(zip(places, columns if has_names else places, strict=True))
    if by_reader:
        frame = frame.project(", ".join(f"{identifier(own)} AS {identifier(name)}" for own, name in called.items()))
    else:
        frame = _cleaned(frame, called, places, empty, reading.strip, reading.decimal)
    return frame if has_names else frame.df().set_axis(columns, axis="columns")


def _are_names_of_duckdb(columns: Sequence[str]) -> bool:
    """Tell whether DuckDB can tell columns apart, which ignores case, and address them."""
    return not unaddressable(columns, nw.Implementation.DUCKDB) and not repeated(map(str.casefold, columns))


def _is_plain(path: Path, dialect: Dialect) -> bool:
    """Return whether all lines fit the header and RFC 4180.

    DuckDB accepts a NUL, one more empty field at the end of a row, and blanks beside a quoted field. So it reads lines
    with quotes here, which raises for another encoding, and compares each with a regular expression.
    """
    if delimited.is_simple(path, dialect.separator, len(dialect.names)):
        return True
    sign = re.escape(dialect.separator)
    field = f'(?:[^"\r\\x00{sign}]*|"(?:[^"\r\\x00]|"")*")'
    # A regular expression repeats something up to 1,000 times.
    whole, rest = divmod(len(dialect.names) - 1, 1000)
    row = f"(?:{field}{sign}){{1000}}" * whole + f"(?:{field}{sign}){{{rest}}}{field}"
    is_row = f'regexp_full_match("column 0", {_quoted(row)})'
    with suppress(import_module("duckdb").Error):
        # No text holds this sign.
        lines = _read_csv(path, "\uffff", "", 1, False)
        ((is_plain,),) = lines.aggregate(f"bool_and(coalesce({is_row}, false))").fetchall()
        return bool(is_plain)
    return False


@contextmanager
def _as_utf8(path: Path, encoding: str | None) -> Iterator[Path | None]:
    """Yield the file or its copy in UTF-8, or None for wrong text."""
    mark, known = delimited.mark_and_encoding(delimited.bytes_of(path, 4), encoding)
    if known == "utf-8" and not delimited.begins_with(path, delimited.ZIPPED):
        yield path
        return
    with TemporaryDirectory() as folder:
        copy, right = Path(folder, "copy.csv"), None
        with delimited.unpacked(path) as file, copy.open("w", encoding="utf-8", newline="") as out:
            file.read(len(mark))
            with suppress(UnicodeDecodeError), io.TextIOWrapper(file, known, newline="") as text:
                shutil.copyfileobj(text, out, _HEAD)
                right = copy
        yield right


def _even_rows(path: Path, dialect: Dialect, encoding: str | None) -> Iterator[list[str]]:
    """Yield the rows of a CSV file. Numbers of fields are checked."""
    n_fields = len(dialect.names)
    text = delimited.decoded(delimited.bytes_of(path), str(path), True, encoding, _NAME_ENCODING)
    rows = delimited.csv_rows(text, dialect.separator, str(path))
    if dialect.has_header:
        next(rows)
    uneven: list[int] = []
    # Numbers of fields, and whether the last one holds something.
    shapes: set[tuple[int, bool]] = set()
    for number, row in enumerate(rows, start=1 + dialect.has_header):
        if len(row) == n_fields:
            yield row
        elif row:
            uneven.append(number)
            shapes.add((len(row), row[-1] != ""))
    if uneven:
        counts = " or ".join(map(str, sorted({n for n, _ in shapes})[:5]))
        header = "as in its header, which is row 1" if dialect.has_header else "one for each of the names"
        # R's write.table names no column for the names of rows.
        hint = "; if the first field names the row, name that column, too" * (shapes == {(n_fields + 1, True)})
        raise ValueError(
            f"{path} must have {counted(n_fields, 'field', 'fields')} in every row, {header}; got {counts} in "
            f"{'row' if len(uneven) == 1 else 'rows'} {examples(uneven)}{hint}"
        )


def _cleaned(
    frame: Any,
    columns: Mapping[str, str],
    texts: Sequence[str],
    empty: Sequence[str],
    strip: bool = False,
    decimal: str = ".",
) -> Any:
    """Return columns under other names. In one step, as DuckDB compares each expression with all columns."""
    made = []
    for name, called in columns.items():
        cell = nw.col(name)
        if name in texts and strip:
            cell = cell.str.strip_chars(BLANKS)
        if name in texts and decimal != ".":
            without_points = cell.str.replace_all(".", "", literal=True)
            cell = nw.when(cell.str.contains(_GROUPED_NUMBER)).then(without_points).otherwise(cell)
            with_point = cell.str.replace_all(decimal, ".", literal=True)
            cell = nw.when(cell.str.contains(_COMMA_NUMBER)).then(with_point).otherwise(cell)
        if name in texts and empty:
            cell = nw.when(~cell.is_in(empty)).then(cell)
        made.append(cell.alias(called))
    return opened(frame)[0].select(*made).to_native()


def first_line(error: Exception) -> str:
    """Return the first line of an engine's error."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    # DuckDB tells of a full disk in JSON behind words of its own.
    told = re.search(r'\{"exception_type".*\}$', line)
    return str(json.loads(told[0])["exception_message"]) if told else line


def content_checksum(frame: Any) -> str:
    """Return the sha256 of the rows of a table in any order."""
    if isinstance(frame, pd.DataFrame):
        # DuckDB tells no names apart by case.
        frame = as_relation(frame.set_axis([f"{i} {name}" for i, name in enumerate(frame)], axis="columns"))
    made = hashlib.sha256(json.dumps(frame.columns).encode())
    # Longer than any of the columns, so none of them.
    view = "row" * (max(map(len, frame.columns)) + 1)
    rows = f"SELECT sha256(CAST(to_json({view}) AS VARCHAR)) AS own FROM {view}"
    # Groups by the first digits are small, however many rows there are.
    parts = frame.query(
        view, f"SELECT sha256(string_agg(own, '' ORDER BY own)) FROM ({rows}) GROUP BY own[:3] ORDER BY own[:3]"
    )
    made.update("".join(part for (part,) in parts.fetchall()).encode())
    return made.hexdigest()


# --- DuckDB -----------------------------------------------------------------------------------------------------------


@cache
def _connect() -> Any:
    """Return the connection of all files: DuckDB combines tables of one connection alone."""
    connection = _in_utc(import_module("duckdb").connect())
    # It cannot tell how many rows a CSV file has, and would hash all of them in place of the few that join them.
    connection.execute("SET disabled_optimizers = 'build_side_probe_side'")
    return connection


def _in_utc(connection: Any) -> Any:
    """Make moments with a zone the same text on every machine."""
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def as_relation(frame: Any) -> Any:
    """Return a table as a relation of DuckDB, or as pandas for odd names."""
    names = list(frame.columns if isinstance(frame, pd.DataFrame) else frame.column_names)
    if not _are_names_of_duckdb(names):
        return frame if isinstance(frame, pd.DataFrame) else frame.to_pandas(integer_object_nulls=True)
    # Unlike a registered table, its memory goes with it.
    return _connect().from_df(frame) if isinstance(frame, pd.DataFrame) else _connect().from_arrow(frame)


def _json_lines(path: Path) -> Any:
    connection, file = _connect(), f"{_path(path)}, format = 'newline_delimited'"
    sniffed = connection.sql(f"SELECT * FROM read_json({file}, sample_size = -1)")
    types = dict(zip(sniffed.columns, map(str, sniffed.types), strict=True))
    keys = connection.sql(f"SELECT DISTINCT unnest(json_keys(json)) FROM read_json_objects({file})").fetchall()
    if not keys:
        raise ValueError("it must have at least one line, an object with a key, got none")
    if twice := {name for (name,) in keys} ^ {*types}:
        alike = sorted(name for (name,) in keys if name.lower() in {*map(str.lower, twice)})
        raise ValueError(f"its keys must differ in more than case, got {examples(alike)}")
    if nested := [name for name, own in types.items() if own.startswith(("STRUCT", "MAP")) or own.endswith("]")]:
        raise ValueError(f"its values must be single ones, got lists or objects in {examples(nested)}; take them out")
    kept = {name: own if own in ("BIGINT", "DOUBLE", "BOOLEAN") else "VARCHAR" for name, own in types.items()}
    columns = ", ".join(f"{_quoted(name)}: '{own}'" for name, own in kept.items())
    frame = connection.sql(f"SELECT * FROM read_json({file}, columns = {{{columns}}})")
    numbers = [nw.col(name).abs().max().alias(name) for name, own in kept.items() if own == "DOUBLE"]
    greatest = nw.from_native(frame).select(numbers).collect("pandas").to_native() if numbers else pd.DataFrame()
    if large := [name for name in greatest if greatest[name].item() > 2**53]:
        raise ValueError(f"its numbers must not be greater than 2^53 where some have a fraction, in {examples(large)}")
    return frame


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _path(path: Path) -> str:
    """Return a path as a literal of SQL, without patterns."""
    return _quoted(re.sub(r"([*?\[])", r"[\1]", str(path)))


def renamed_columns(reading: Reading, names: Sequence[str]) -> list[str]:
    """Return the names by DuckDB that a Parquet file lacks. Those of the file differ in case alone."""
    path = reading.source.path
    if path is None or reading.source.kind != "parquet" or engine_of(reading) != "duckdb":
        return []
    held = _connect().sql(f"SELECT name FROM parquet_schema({_path(path)})").fetchall()
    return [name for name in names if (name,) not in held]


def _read_csv(
    path: Path,
    separator: str,
    quote: str,
    n_columns: int,
    has_header: bool,
    empty: Sequence[str] = (),
    **others: str,
) -> Any:
    """Return the columns of a CSV file, `column 0`, ..., as text."""
    columns = ", ".join(f"'column {i}': 'VARCHAR'" for i in range(n_columns))
    options = {
        "auto_detect": "false",
        "columns": f"{{{columns}}}",
        "delim": _quoted(separator),
        "quote": _quoted(quote),
        "escape": _quoted(quote),
        "header": str(has_header).lower(),
        "max_line_size": str(_LONGEST_LINE),
        "compression": "'gzip'" if delimited.begins_with(path, delimited.PACKED) else "'none'",
        "hive_partitioning": "false",
        **({"nullstr": f"[{', '.join(map(_quoted, empty))}]"} if empty else {}),
        **others,
    }
    given = ", ".join(f"{name}={value}" for name, value in options.items())
    return _connect().sql(f"SELECT * FROM read_csv({_path(path)}, {given})")


def _duckdb_table(path: Path, dialect: Dialect, encoding: str | None, empty: Sequence[str]) -> Any:
    """Return the columns of a CSV file, `column 0`, `column 1`, ..."""
    n_columns = len(dialect.names)
    with _as_utf8(path, encoding) as plain:
        if plain is not None and _is_plain(plain, dialect):
            frame = _read_csv(plain, dialect.separator, '"', n_columns, dialect.has_header, empty)
            return frame if plain == path else _kept(frame)
    # To read row by row raises if the file is wrong.
    with TemporaryDirectory() as folder:
        copy = Path(folder, "rows.csv")
        with copy.open("w", encoding="utf-8", newline="") as file:
            rows = _even_rows(path, dialect, encoding)
            csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
        # Its cells may hold other line ends, and a reader that begins in the middle would look for a row there.
        options = {"parallel": "false", "new_line": r"'\n'"}
        return _kept(_read_csv(copy, ",", '"', n_columns, False, empty, **options))


def _kept(relation: Any) -> Any:
    """Copy a relation into DuckDB, as its file will be gone."""
    # A query of `held` would look for the file again.
    table = f"pymoo_anon_rows_{next(_TABLE_NUMBERS)}"
    relation.query("pymoo_anon_view", f"CREATE TEMP TABLE {table} AS SELECT * FROM pymoo_anon_view")
    return _connect().table(table)


# --- Spark ------------------------------------------------------------------------------------------------------------


def _spark() -> Any:
    return import_module("pyspark.sql").SparkSession.builder.getOrCreate()


def _spark_table(path: Path, dialect: Dialect, encoding: str | None) -> Any:
    types = import_module("pyspark.sql.types")
    places = [f"column {i}" for i in range(len(dialect.names))]
    schema = types.StructType([types.StructField(place, types.StringType()) for place in places])
    # Spark reads a pattern, a hidden file or a packed one in its own way.
    is_odd = bool(set("*?[]{}\\:,%#") & set(str(path))) or path.name.startswith((".", "_"))
    is_odd |= delimited.begins_with(path, codecs.BOM_UTF8, delimited.PACKED, delimited.ZIPPED)
    if encoding is not None or is_odd or not _is_plain(path, dialect):
        return _spark().createDataFrame(list(_even_rows(path, dialect, encoding)), schema)
    options = {"sep": dialect.separator, "quote": '"', "escape": '"', "emptyValue": "", "mode": "FAILFAST"}
    return _spark().read.csv(str(path.resolve()), schema=schema, header=dialect.has_header, **options)


# --- writing ----------------------------------------------------------------------------------------------------------

#: The files that a table can be written to, by the ending of their names.
ENDINGS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".xlsx": "excel"}


def kind_of(path: Path) -> str:
    """Return the kind of file that a name stands for, "csv", "parquet" or "excel"."""
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(f"a release is written to a file that ends in {', '.join(ENDINGS)}, got {str(path)!r}")
    return kind


def check_target(target: Source, reading: Reading) -> None:
    """Raise ValueError if a release cannot be written to a place."""
    if target.table is None:
        kind_of(target.path or Path())
    elif target.kind != "sqlite" and not str(target.address).startswith(POSTGRES):
        raise ValueError(f"a release is written to a file, or a new table of SQLite or PostgreSQL, got {target}")
    if target.kind == "sqlite" and not (target.path or Path()).is_file():
        raise ValueError(f"{target} must be in a database that is there, got none; an empty file is one")
    if engine_of(reading) == "spark" and target.kind not in ("csv", "parquet"):
        raise ValueError(f"engine spark writes a release to a CSV or Parquet file, got {target}")
    check_installed(target.kind)


def write_table(frame: Any, path: Path, counted: Callable[[], tuple[Any, Any] | None] | None = None) -> None:
    """Write a table to one file, CSV with commas and few quotes. `counted` may give its distinct rows."""
    kind = kind_of(path)
    try:
        if kind == "excel":
            write_workbook(frame, path)
        elif isinstance(frame, pd.DataFrame):
            _write_pandas(frame, path, kind)
        elif nw.from_native(frame).implementation.is_pyspark():
            _write_spark(frame, path, kind)
        else:
            distinct = None if counted is None else counted()
            if kind == "parquet":
                _write_parquet(frame, path, distinct is not None)
            elif distinct is None or not _repeated(*distinct, path):
                _without_blank_lines(frame).write_csv(str(path))
    except (OSError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # Each engine has its own types of errors, and tells of a full disk in words alone.
        told = first_line(error)
        full = (OSError(number, os.strerror(number)) for number in FULL if told.endswith(os.strerror(number)))
        raise next(full, OSError(f"the release could not be written: {told}")) from None


def _without_blank_lines(relation: Any) -> Any:
    """Fill gaps of an only column with empty texts, written in quotes."""
    if len(relation.columns) > 1:
        return relation
    own = identifier(relation.columns[0])
    return relation.project(f"coalesce(CAST({own} AS VARCHAR), '') AS {own}")


def _repeated(rows: Any, counts: Any, path: Path) -> bool:
    """Write distinct rows, repeat their lines, and return False if one has several."""
    once = path.with_name(f"{path.name}.once")
    _without_blank_lines(rows).write_csv(str(once))
    with once.open("rb") as lines, path.open("wb") as file:
        file.write(next(lines))
        # A line too many stays unread.
        file.writelines(map(mul, counts.tolist(), lines))
        are_lines = next(lines, None) is None
    once.unlink()
    return are_lines


def _write_parquet(relation: Any, path: Path, are_few: bool) -> None:
    """Write a relation of DuckDB, repeated rows by one thread. Several would keep many in memory."""
    if not are_few:
        relation.write_parquet(str(path))
        return
    ((n_threads,),) = relation.query("pymoo_anon_rows", "SELECT current_setting('threads')").fetchall()
    relation.query("pymoo_anon_rows", "SET threads TO 1")
    try:
        relation.write_parquet(str(path))
    finally:
        relation.query("pymoo_anon_rows", f"SET threads TO {n_threads}")


def _write_pandas(frame: pd.DataFrame, path: Path, kind: str) -> None:
    if kind == "parquet":
        frame.to_parquet(path, index=False)
        return
    # A carriage return ends a row for readers, but this writer does not quote it by itself.
    texts = [frame[name] for name in frame if frame[name].dtype.kind in "OT" or frame[name].dtype == "str"]
    returns = any(own.astype("str").str.contains("\r", regex=False, na=False).any() for own in texts)
    frame.to_csv(path, index=False, lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL)


def _write_spark(frame: Any, path: Path, kind: str) -> None:
    """Write one sorted partition, which Spark puts into a folder, to one file."""
    folder = path.with_name(f"{path.name}.parts")
    columns = [frame[f"`{name.replace('`', '``')}`"].asc_nulls_last() for name in frame.columns]
    # Partitions have no order, so the only one is sorted.
    writer = frame.repartition(1).sortWithinPartitions(*columns).write
    # By default Spark strips blanks.
    options = {"header": True, "escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
    try:
        if kind == "csv":
            writer.options(**options).csv(str(folder))
        else:
            writer.parquet(str(folder))
        (part,) = folder.glob("part-*")
        part.rename(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
