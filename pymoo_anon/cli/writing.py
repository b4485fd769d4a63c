"""Tables written to one CSV or Parquet file by the engine that holds them, in the order that they have."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import narwhals as nw
import pandas as pd

from pymoo_anon.cli.engines import first_line

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
        _said(frame.write_csv if kind == "csv" else frame.write_parquet, str(path))
    elif engine.is_pyspark():
        _write_spark(frame, path, kind)
    elif engine.is_polars() and isinstance(table, nw.LazyFrame):
        _said(frame.sink_csv if kind == "csv" else frame.sink_parquet, path)
    else:
        native = frame.compute() if engine.is_dask() else frame
        if not isinstance(native, pd.DataFrame):
            _said(nw.from_native(native).write_csv if kind == "csv" else nw.from_native(native).write_parquet, path)
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


def as_text(frame: Any, names: Sequence[str]) -> Any:
    """A frame with some columns as text, as its engine writes them."""
    return nw.from_native(frame).with_columns([nw.col(name).cast(nw.String) for name in names]).to_native()


def _write_spark(frame: Any, path: Path, kind: str) -> None:
    """One file of one partition, which Spark writes into a folder: sorted in it, as partitions have no order."""
    folder = path.with_name(f"{path.name}.parts")
    columns = [frame[f"`{name.replace('`', '``')}`"].asc_nulls_last() for name in frame.columns]
    writer = frame.repartition(1).sortWithinPartitions(*columns).write
    # Left to itself it takes blanks away.
    options = {"header": True, "escape": '"', "ignoreLeadingWhiteSpace": False, "ignoreTrailingWhiteSpace": False}
    try:
        if kind == "csv":
            _said(lambda: writer.options(**options).csv(str(folder)))
        else:
            _said(lambda: writer.parquet(str(folder)))
        (part,) = folder.glob("part-*")
        part.rename(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _said(write: Callable[..., Any], *arguments: Any) -> None:
    """Call a writer whose errors are of its engine, such as a disk that is full."""
    try:
        write(*arguments)
    except (OSError, MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise OSError(f"the release could not be written: {first_line(error)}") from None
