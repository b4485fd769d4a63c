"""Names that options take: tables, files, measures and algorithms.

Nothing of these is loaded.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pymoo_anon._files import check_regular

#: The measures that --objectives names, written down since help does not wait for the classes to load.
# fmt: off
MEASURES = [
    "AECS", "alpha", "beta", "CM", "delta", "DM", "enhanced-beta", "entropy-l", "GLM", "k", "KL", "l", "marketer-risk",
    "NECD", "NUE", "NWP", "precision", "prosecutor-risk", "records-at-risk", "S_k", "S_l", "t",
]
# fmt: on

#: The tables that --demo names.
TABLES = ("census", "adult")


class Method(NamedTuple):
    """Algorithm that --algorithm names."""

    words: str  # Its name in messages
    proves: bool = False  # Whether it ends by itself, with the complete front
    local: bool | None = False  # Whether it is for local recodings, or None where it is for both


#: Algorithms of --algorithm. auto takes one of the others.
ALGORITHMS = {
    "auto": Method("the algorithm that serves", local=None),
    "pls": Method("Pareto local search"),
    "pbgea": Method("PBG-EA"),
    "nsga2": Method("NSGA-II", local=None),
    "bnb": Method("branch and bound", proves=True),
    "exhaustive": Method("exhaustive search", proves=True),
    "sweep": Method("a sweep of targets", local=True),
}

#: Front and record of a search.
FRONT, RECORD = "front.csv", "run.json"

#: The files that a search writes. The last one is moved into place last, and says which front it belongs to.
FILES = (FRONT, "front.png", RECORD)

#: Table and recodings of a search, for the commands that follow.
STORED = "search.npz"

#: The choice, and records of the releases, beside the front.
CHOICE, RELEASES = "choice.json", "releases.json"

#: Evaluations of a search, in its output folder until it ends.
JOURNAL = "search.journal"

#: The folder of the drafts, beside the project file.
HIERARCHIES = "hierarchies"

#: Kinds of values of `hierarchy draft --kind`, and their levels.
KINDS = {
    "auto": "the kind that fits",
    "numbers": "intervals",
    "dates": "months, quarters, years, decades",
    "ordered": "neighbours of intervals, months, grades, sizes",
    "codes": "redaction from the right",
    "categories": "groups of similar weight",
}

#: The engines that `engine` names. auto is DuckDB, but Spark for a table of its catalog.
ENGINES = ("auto", "duckdb", "spark")

#: What becomes of rows without a value, and of suppressed rows.
MISSING, SUPPRESSED = ("raise", "drop", "keep"), ("mark", "drop")

# Bytes that are read at a time for a checksum.
_BLOCK = 1 << 20

# Files that are often given in place of a CSV file: place of a mark, mark, kind, and remedy.
_MARKED_BYTES = 64
_AS_CSV = "save the table as CSV and name that file"
_FORMATS = (
    (30, b"[Content_Types].xml", "an Excel workbook", _AS_CSV),
    (30, b"mimetypeapplication/vnd.oasis", "a workbook of LibreOffice", _AS_CSV),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook of before 2007", _AS_CSV),
    (0, b"SQLite format 3\0", "an SQLite database", "export the table as CSV and name that file"),
    (0, b"PAR1", "a Parquet file", "let its name end in .parquet"),
    (8, b"DUCK", "a DuckDB database", "name its table, duckdb:FILE:TABLE"),
)


class Source(NamedTuple):
    """Place of a table."""

    kind: str  # "csv", "parquet", "duckdb" or "spark"
    path: Path | None  # The file, or None for a table of Spark's catalog
    table: str | None = None  # The name of the table in a database or a catalog, or None

    def check(self) -> None:
        """Raise ValueError if the path is not a file of the right format."""
        if self.path is not None and not self.path.is_file():
            raise ValueError(f"{self}: no such file")
        if self.path is not None and self.kind == "csv" and self.path.suffix.lower() != ".deid":
            with self.path.open("rb") as file:
                head = file.read(_MARKED_BYTES)
            for place, mark, is_a, next_step in _FORMATS:
                if head[place:].startswith(mark):
                    raise ValueError(f"{self} must be a CSV file, got {is_a}; {next_step}")

    def __str__(self) -> str:
        if self.table is None:
            return str(self.path)
        return f"spark:{self.table}" if self.path is None else f"duckdb:{self.path}:{self.table}"


class Reading(NamedTuple):
    """How a table is read."""

    source: Source  # Its place
    engine: str = "auto"  # Engine, one of `ENGINES`
    empty: tuple[str, ...] = ()  # Texts that stand for no value, as an empty field of a CSV file does
    names: tuple[str, ...] | None = None  # Names of the columns of a CSV file without a header, else None
    strip: bool = False  # Whether blanks around the fields of a CSV file are no part of them
    encoding: str | None = None  # Encoding of a CSV file without a byte order mark, or None for UTF-8
    decimal: str = "."  # The decimal mark of a CSV file, "." or ","

    @property
    def of_csv(self) -> list[str]:
        """Names of the set fields that only a CSV file can have."""
        usual = Reading._field_defaults
        return [name for name in ("names", "strip", "encoding", "decimal") if getattr(self, name) != usual[name]]


def source_of(text: str, folder: Path) -> Source:
    """Return the table that a text names."""
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
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text):
        raise ValueError(f"a table is named by a file, got the address {text!r}; download it and name the file")
    path = folder / text
    return Source("parquet" if path.suffix.lower() in (".parquet", ".pq") else "csv", path)


def checksum(path: Path) -> str:
    """Return the sha256 of a file, read block by block."""
    check_regular(path)
    made = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            made.update(block)
    return made.hexdigest()


def path_from(folder: Path, file: Path) -> str:
    """Return the path of a file from a folder."""
    try:
        return Path(os.path.relpath(file, folder)).as_posix()
    except ValueError:
        # Another drive has no path from here.
        return str(file.resolve())


# Names that Windows keeps for devices.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_LONGEST_STEM = 60


def file_names(names: Sequence[str]) -> list[str]:
    """Return a file name for every column, in ASCII and valid on every system.

    No two differ in case alone.

    >>> file_names(["age", "Age", "a/b", "Größe", "../x", ""])
    ['age.csv', 'Age-2.csv', 'a_b.csv', 'Grosse.csv', 'x.csv', 'column.csv']
    """
    taken: set[str] = set()
    found = []
    for name in names:
        bare = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
        stem = re.sub(r"[^A-Za-z0-9_-]+", "_", bare).strip("_-")[:_LONGEST_STEM] or "column"
        if _DEVICES.match(stem):
            stem = f"{stem}_"
        unique, number = stem, 1
        while unique.lower() in taken:
            number += 1
            unique = f"{stem}-{number}"
        taken.add(unique.lower())
        found.append(f"{unique}.csv")
    return found
