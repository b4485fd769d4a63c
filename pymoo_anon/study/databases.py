"""Tables of workbooks and databases, read as they are, written in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.study.names import NAME_TABLE, Source, check_named, header_of

#: Beginnings of the addresses of PostgreSQL.
POSTGRES = ("postgresql:", "postgres:")

# So many rows are objects of Python at a time, and values of one type take little memory as such.
_BLOCK = 50_000
_COMPACT: dict[str, Any] = {"integer": "Int64", "floating": "Float64", "boolean": "boolean", "string": "string"}

# The extra that a kind of table needs, and its packages.
_NEEDED = {"excel": ("excel", "python_calamine", "xlsxwriter"), "database": ("postgres", "ibis", "psycopg")}


def check_installed(kind: str) -> None:
    """Raise ValueError if a package for a kind of table is missing."""
    extra, *packages = _NEEDED.get(kind, ("",))
    if not all(map(find_spec, packages)):
        raise ValueError(f"{' and '.join(packages)} must be installed for it: pip install 'pymoo_anon[{extra}]'")


def read_source(source: Source) -> Any:
    """Read a workbook or database into memory, as pandas or Arrow."""
    check_installed(source.kind)
    if source.kind == "database":
        with _connected(source) as backend:
            return _read_database(source, backend)
    return _read_workbook(source) if source.kind == "excel" else read_sqlite(source)


def only_table(source: Source) -> str:
    """Return the name of the table of a workbook or database."""
    if source.table is not None:
        return source.table
    if source.kind == "excel":
        with pd.ExcelFile(str(source.path), engine="calamine") as book:
            found = list(map(str, book.sheet_names))
    else:
        with closing(_sqlite(source)) as connection:
            kinds = "type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            found = [name for (name,) in connection.execute(f"SELECT name FROM sqlite_master WHERE {kinds}")]
    if not found:
        raise ValueError("it must have a table, got none")
    if len(found) != 1:
        raise ValueError(f"it has the tables {examples(found)}; name one: {NAME_TABLE}")
    return str(found[0])


def _read_workbook(source: Source) -> pd.DataFrame:
    """Read the sheet of a workbook, its first row as names."""
    sheet: Any = only_table(source)
    cells = pd.read_excel(
        str(source.path),
        sheet_name=sheet,
        header=None,
        dtype=object,
        keep_default_na=False,
        na_values=[""],
        engine="calamine",
    )
    cells = cells.dropna(how="all").dropna(axis="columns", how="all")
    names = ["" if pd.isna(name) else str(name) for name in cells.iloc[0]] if len(cells) else []
    names = header_of(f"sheet {sheet!r}", names)
    check_named(f"sheet {sheet!r}", names or [""])
    return typed_frame(names, cells.iloc[1:].itertuples(index=False, name=None))


def _sqlite(source: Source, mode: str = "ro") -> sqlite3.Connection:
    assert source.path is not None
    return sqlite3.connect(f"{source.path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None)


def identifier(name: str) -> str:
    """Return a name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'


def read_sqlite(source: Source, connection: sqlite3.Connection | None = None) -> pd.DataFrame:
    """Read a table of SQLite, columns of several types as text."""
    with closing(_sqlite(source)) as own:
        rows = (connection or own).execute(f"SELECT * FROM {identifier(only_table(source))}")
        return typed_frame([name for name, *_ in rows.description], rows)


def typed_frame(names: Sequence[str], rows: Iterable[Any]) -> pd.DataFrame:
    """Build a frame of rows, columns of several types as text."""
    rows, blocks = iter(rows), list[pd.DataFrame]()
    while (block := list(islice(rows, _BLOCK))) or not blocks:
        blocks.append(pd.DataFrame(block, columns=list(names), dtype=object).apply(_compact))
    return pd.DataFrame({name: _typed_column([block.pop(name) for block in blocks]) for name in names}, copy=False)


def _compact(column: pd.Series) -> pd.Series:
    # A workbook may hold whole numbers beyond 64 bits.
    with suppress(OverflowError):
        return column.astype(_COMPACT.get(pd.api.types.infer_dtype(column, skipna=True), object))
    return column


def _typed_column(parts: list[pd.Series]) -> pd.Series:
    if len({own.dtype for own in parts}) > 1:
        parts = [own.astype(object) for own in parts]
    column = pd.concat(parts, ignore_index=True)
    if column.dtype != object or (column := _compact(column)).dtype != object:
        return column
    kind, there = pd.api.types.infer_dtype(column, skipna=True), column.dropna()
    if kind == "bytes" or any(isinstance(value, bytes) for value in there):
        raise ValueError("its columns must hold no bytes; leave the column out by a view of the table")
    if kind == "datetime" and all(value == value.normalize() for value in map(pd.Timestamp, there)):
        return column.map(lambda value: None if pd.isna(value) else pd.Timestamp(value).date())
    if kind in ("datetime", "date", "time"):
        return column
    # A whole number beyond 2^53 may have no place among numbers with a fraction.
    if kind in ("integer", "mixed-integer-float") and all(float(value) == value for value in there):
        return column.astype("Float64")
    return column.map(str, na_action="ignore").astype("string")


@contextmanager
def _connected(source: Source) -> Iterator[Any]:
    """Connect to a database by its address, with the credentials of the environment."""
    ibis, address = import_module("ibis"), str(source.address)
    if not address.startswith(POSTGRES):
        yield ibis.connect(address)
        return
    # The address is read by PostgreSQL's own library, as are PGPASSWORD and its like.
    with closing(import_module("psycopg").connect(address, autocommit=True)) as connection:
        yield ibis.postgres.from_connection(connection)


def _read_database(source: Source, backend: Any) -> Any:
    """Read a table through Ibis into Arrow, with types that Arrow lacks as text."""
    schema, _, name = str(source.table).rpartition(".")
    table = backend.table(name, database=schema or None)
    kept = []
    for column, kind in table.schema().items():
        if kind.is_nested() or kind.is_binary():
            raise ValueError(f"column {column!r} must hold single values, got {kind}; leave it out by a view")
        is_plain = kind.is_integer() or kind.is_floating() or kind.is_boolean() or kind.is_date() or kind.is_time()
        is_plain |= kind.is_timestamp() or (kind.is_decimal() and kind.scale is not None)
        kept.append(table[column] if is_plain else table[column].cast("string").name(column))
    return table.select(kept).to_pyarrow()


def write_workbook(frame: Any, path: Path) -> None:
    """Write a workbook without formulas and links."""
    own = frame if isinstance(frame, pd.DataFrame) else frame.df()
    options = {"options": {"strings_to_formulas": False, "strings_to_urls": False}}
    with pd.ExcelWriter(path, engine="xlsxwriter", engine_kwargs=options) as writer:
        own.to_excel(writer, index=False)


@contextmanager
def new_database_table(target: Source, frame: Any) -> Iterator[Any]:
    """Write a new table, and yield it as read again. It is committed if the block succeeds."""
    errors: tuple[type[Exception], ...] = (sqlite3.Error, OverflowError)
    if target.kind == "database":
        errors = (import_module("psycopg").Error, import_module("ibis").common.exceptions.IbisError)
    try:
        with (_new_in_sqlite if target.kind == "sqlite" else _new_in_postgres)(target, frame) as again:
            yield again
    except errors as error:
        told = str(error).splitlines()[0]
        remedy = "name a new table" if "already exists" in told else "mend that, or name another database"
        raise ValueError(f"{target} could not be written: {told}; {remedy}") from None


@contextmanager
def _new_in_sqlite(target: Source, frame: Any) -> Iterator[pd.DataFrame]:
    own, (*names,) = identifier(str(target.table)), frame.columns
    if isinstance(frame, pd.DataFrame):
        rows: Any = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    else:
        rows = frame.fetchall()
    with closing(_sqlite(target, "rw")) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"CREATE TABLE {own} ({', '.join(map(identifier, names))})")
        connection.executemany(f"INSERT INTO {own} VALUES ({', '.join('?' * len(names))})", rows)
        yield read_sqlite(target, connection)
        connection.execute("COMMIT")


@contextmanager
def _new_in_postgres(target: Source, frame: Any) -> Iterator[Any]:
    schema, _, name = str(target.table).rpartition(".")
    with _connected(target) as backend, backend.con.transaction():
        to_arrow = import_module("pyarrow").Table.from_pandas
        table = to_arrow(frame, preserve_index=False) if isinstance(frame, pd.DataFrame) else frame.to_arrow_table()
        backend.create_table(name, table, database=schema or None)
        yield _read_database(target, backend)
