"""What names a table: a file, a table of a database or of a catalog, and the engine that holds it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

#: The engines that `engine` names. auto is DuckDB for a large file where it is installed, else pandas.
ENGINES = ("auto", "pandas", "polars", "duckdb", "dask", "spark")

# Bytes that are read at a time for a checksum.
_BLOCK = 1 << 20


class Source(NamedTuple):
    """Where a table is.

    Attributes:
        kind: "csv", "parquet", "duckdb" or "spark".
        path: The file, or None for a table of Spark's catalog.
        table: The name of the table in a database or a catalog, or None.
    """

    kind: str
    path: Path | None
    table: str | None = None

    def __str__(self) -> str:
        if self.table is None:
            return str(self.path)
        return f"spark:{self.table}" if self.path is None else f"duckdb:{self.path}:{self.table}"


def source_of(text: str, folder: Path) -> Source:
    """The table that a text names.

    Args:
        text: The path of a CSV or Parquet file, `duckdb:FILE:TABLE` or `spark:TABLE`.
        folder: Relative paths start here.

    Raises:
        ValueError: The text names none.
    """
    prefix, colon, rest = text.partition(":")
    if colon and prefix == "spark":
        if not rest:
            raise ValueError(f"a table of Spark is named by spark:TABLE, got {text!r}")
        return Source("spark", None, rest)
    if colon and prefix == "duckdb":
        file, _, table = rest.rpartition(":")
        if not file or not table:
            raise ValueError(f"a table of DuckDB is named by duckdb:FILE:TABLE, got {text!r}")
        return Source("duckdb", folder / file, table)
    if not text or "\0" in text:
        raise ValueError(f"a table is named by a file, duckdb:FILE:TABLE or spark:TABLE, got {text!r}")
    path = folder / text
    return Source("parquet" if path.suffix.lower() in (".parquet", ".pq") else "csv", path)


def checksum(path: Path) -> str:
    """The sha256 of a file, read block by block.

    Raises:
        OSError: It cannot be read.
    """
    made = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            made.update(block)
    return made.hexdigest()
