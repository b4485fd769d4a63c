"""Names that options take: tables, files, measures and algorithms.

Nothing of these is loaded.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from pymoo_anon._files import check_regular
from pymoo_anon._messages import examples, repeated

#: The measures that --objectives names, written down since help does not wait for the classes to load.
# fmt: off
MEASURES = [
    "AECS", "alpha", "beta", "CM", "delta", "DM", "enhanced-beta", "entropy-l", "GLM", "household-risk", "k", "KL", "l",
    "least-payout", "marketer-risk", "NECD", "NUE", "NWP", "population-uniqueness", "precision", "prosecutor-risk",
    "publisher-payout", "records-at-risk", "S_k", "S_l", "t",
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

#: Roles of columns, and the fate of a column with each.
ROLES = {
    "quasi-identifier": "others may know it of a person: it is generalized, along its hierarchy",
    "sensitive": "nobody should learn it of a person: it is released as it stands, l-diversity and its like protect it",
    "label": "a class that a model is to predict: it is released as it stands",
    "person": "tells whose row it is, where a person has several rows; it is not released",
    "identifier": "names a person; it is not released",
    "keep": "it is released as it stands, and nothing protects it: who knows it of a person may find the row; where it "
    "singles persons out, its reason must say why in at least five words",
    "drop": "is of no use; it is not released",
    "other": "not decided: no search runs until it has one of the roles above",
}

#: Treatments of rows without a value, and of suppressed rows, in words.
MISSING = {"raise": "are refused", "drop": "are left out", "keep": "stay: none is a value of its own"}
SUPPRESSED = {"mark": "stay as rows of *", "drop": "are left out"}

#: Kinds of recoding, in words.
RECODINGS = {"full-domain": "whole columns, each at one level", "local": "every class of rows at levels of its own"}

# Bytes that are read at a time for a checksum.
_BLOCK = 1 << 20

# Files that are often given in place of a CSV file: place of a mark, mark, kind, and remedy.
_MARKED_BYTES = 64
_AS_CSV = "save the table as CSV and name that file"
_DUCKDB = 8, b"DUCK", "a DuckDB database", "name its table, duckdb:FILE:TABLE"
_FORMATS = (
    *((30, mark, "an Excel workbook", "let its name end in .xlsx") for mark in (b"[Content_Types].xml", b"docProps/")),
    (30, b"mimetypeapplication/vnd.oasis", "a workbook of LibreOffice", _AS_CSV),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook of before 2007 or with a password", "save it as .xlsx"),
    (0, b"SQLite format 3\0", "an SQLite database", "let its name end in .sqlite"),
    (0, b"PAR1", "a Parquet file", "let its name end in .parquet"),
    (0, b"sep=", "one with a first line for Excel", "delete that line"),
    _DUCKDB,
)

#: Kinds of tables by the endings of their files. All others are CSV.
KINDS_BY_ENDING = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"), "json"),
    **dict.fromkeys((".xlsx", ".xlsm"), "excel"),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), "sqlite"),
    ".duckdb": "duckdb",
}
_WITH_TABLES = ("excel", "sqlite", "duckdb", "database")

# Files that nothing here reads, by their endings, and the next step for each.
_UNREAD = {
    (".sav", ".zsav", ".por"): ("a file of SPSS", "there " + _AS_CSV),
    (".dta",): ("a file of Stata", "there " + _AS_CSV + ", as by export delimited"),
    (".sas7bdat", ".xpt"): ("a file of SAS", "there " + _AS_CSV),
    (".rds", ".rda", ".rdata"): ("a file of R", "there " + _AS_CSV + ", as by write.csv"),
    (".toml",): ("a project file", "name its table"),
    (".json",): ("JSON", "write one object a line into a file that ends in .jsonl"),
    (".xml", ".html", ".htm", ".feather", ".arrow", ".orc", ".xlsb", ".mdb", ".accdb"): ("another format", _AS_CSV),
    (".tar", ".tgz", ".tar.gz", ".bz2", ".xz", ".zst", ".7z", ".rar"): ("an archive", "unpack it and name the file"),
}

#: Schemes of the addresses of databases that Ibis connects to.
DATABASES = (
    *("postgresql", "postgres", "mysql", "mssql", "oracle", "snowflake", "bigquery", "clickhouse", "trino"),
    *("databricks", "exasol", "impala", "risingwave", "singlestoredb"),
)


#: How to name one of several tables.
NAME_TABLE = "--table NAME of init or verify, table in [data] of a project file"


class Source(NamedTuple):
    """Place of a table."""

    kind: str  # "csv", "parquet", "json", "excel", "sqlite", "duckdb", "database" or "spark"
    path: Path | None  # The file, or None for a table of a server or of Spark's catalog
    table: str | None = None  # The name of the table in a workbook, a database or a catalog, or None
    address: str | None = None  # The address of a database, without a password, or None

    @property
    def is_file(self) -> bool:
        """Whether a checksum of its file is that of the table."""
        return self.kind in ("csv", "parquet", "json", "excel")

    def documents(self, folder: Path) -> Path:
        """Return the path beside which the documents of a release stand."""
        return self.path if self.table is None and self.path is not None else folder / self.stem

    @property
    def stem(self) -> str:
        """Name of the table, fit for that of a file."""
        return Path(file_names([self.table or ("" if self.path is None else self.path.stem)])[0]).stem

    def named_from(self, folder: Path) -> tuple[str, str | None]:
        """Return the text and the table that `source_of` takes in a folder."""
        if self.path is None:
            return (str(self), None) if self.address is None else (self.address, self.table)
        path = path_from(folder, self.path)
        return (f"duckdb:{path}:{self.table}", None) if self.kind == "duckdb" else (path, self.table)

    def check(self) -> None:
        """Raise ValueError if the path is not a file of the right format."""
        if self.path is not None and not self.path.is_file():
            raise ValueError(f"{self}: {'a folder, and no' if self.path.is_dir() else 'no such'} file")
        name = "" if self.path is None else self.path.name.lower()
        for endings, (is_a, next_step) in _UNREAD.items():
            if name.endswith(endings):
                raise ValueError(f"{self} must be a CSV file, got {is_a}; {next_step}")
        if self.path is not None and self.kind in ("csv", "sqlite") and not name.endswith(".deid"):
            with self.path.open("rb") as file:
                head = file.read(_MARKED_BYTES)
            wanted, others = ("a CSV file", _FORMATS) if self.kind == "csv" else ("an SQLite database", (_DUCKDB,))
            for place, mark, is_a, next_step in others:
                if head[place:].startswith(mark):
                    raise ValueError(f"{self} must be {wanted}, got {is_a}; {next_step}")

    def __str__(self) -> str:
        if self.table is None:
            return str(self.path)
        if self.kind in ("spark", "duckdb"):
            return f"spark:{self.table}" if self.path is None else f"duckdb:{self.path}:{self.table}"
        return f"{self.address or self.path}:{self.table}"


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


def source_of(text: str, folder: Path, table: str | None = None) -> Source:
    """Return the place of a table from a text."""
    prefix, colon, rest = text.partition(":")
    if colon and prefix.lower() in DATABASES and rest.startswith("//"):
        return _of_database(text, table)
    made = _without_table(text, folder)
    if table is None:
        return made
    if not table or made.kind not in _WITH_TABLES:
        raise ValueError(f"table names one of a workbook or a database, got {table!r} of {text}; leave it out")
    return made._replace(table=table)


def _of_database(address: str, table: str | None) -> Source:
    parts = urlsplit(address)
    keys = parse_qs(parts.query, keep_blank_values=True)
    if parts.password is not None or any(re.search("password|pwd|token|secret", key.lower()) for key in keys):
        # The address is written to files, so no message repeats it.
        raise ValueError(
            "the address of a database must hold no password, which would be written to files; take it out, and set "
            "PGPASSWORD or what else the database's own programs read"
        )
    if not table:
        raise ValueError(f"{address} must come with the name of a table: {NAME_TABLE}")
    return Source("database", None, table, address)


def _without_table(text: str, folder: Path) -> Source:
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
    kinds = (kind for ending, kind in KINDS_BY_ENDING.items() if text.lower().endswith(ending))
    return Source(next(kinds, "csv"), folder / text)


def checksum(path: Path) -> str:
    """Return the sha256 of a file, read block by block."""
    check_regular(path)
    made = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            made.update(block)
    return made.hexdigest()


def header_of(table: object, names: Sequence[str]) -> list[str]:
    """Return the column names. A nameless first or last column, as of R and spreadsheets, gets one."""
    # The second of two without a name is a title above the table.
    nameable = {1, len(names)} if len(names) > 2 else {1}
    header = [name or (f"column {place}" if place in nameable else "") for place, name in enumerate(names, start=1)]
    if twice := repeated(name for name in header if name):
        raise ValueError(
            f"{table} must name each of its columns once, got {examples(twice)} more than once; "
            "rename all but one there"
        )
    return header


def check_named(table: object, names: Sequence[str]) -> None:
    """Refuse a table with a column that has no name."""
    if nameless := [place for place, name in enumerate(names, start=1) if not name]:
        raise ValueError(
            f"{table} must name every column in its first row, got no name for column {examples(nameless)}; name it, "
            "or take out titles above and merged cells"
        )


def as_there(name: str, names: Iterable[str]) -> str:
    r"""Return a name as it stands among others, where its blanks alone differ.

    >>> as_there("net income", ["age", "net\u00a0income"])
    'net\xa0income'
    """
    known = list(names)
    alike = [own for own in known if own.split() == name.split()]
    return alike[0] if name not in known and len(alike) == 1 else name


def all_there(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """Return names as they stand among others, one by one."""
    return [as_there(name, known) for name in names]


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
