"""CSV files as they stand: which separator and names a file has, and its cells as text, read by Python's own reader."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pymoo_anon._messages import examples, repeated
from pymoo_anon.cli.sources import Reading
from pymoo_anon.table.delimited import decoded, rows_of, separator_of

# The separator and the header are recognised in so many bytes.
_HEAD = 1 << 20

#: Signs that stand around a field where `strip` is asked for.
BLANKS = " "


class Dialect(NamedTuple):
    """How a CSV file is written.

    Attributes:
        separator: What stands between two fields.
        names: Names of its columns; one may be empty.
        has_header: Whether its first row holds them.
    """

    separator: str
    names: list[str]
    has_header: bool


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
    """The text of the first rows of a file."""
    with path.open("rb") as file:
        data = file.read(_HEAD)
        if file.read(1):
            # Whole lines, in any of the encodings that are recognised.
            data = data[: data.rfind(b"\n") + 1] + (b"\0" if data.startswith(b"\xff\xfe") else b"")
    return decoded(data, str(path))


def read_frame(reading: Reading, dialect: Dialect, columns: Sequence[str]) -> pd.DataFrame:
    """Some columns of a CSV file. All is text, so that 02139 stays what it is.

    Only an empty field is missing, and what `reading` says; NA may be a value.
    """
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
