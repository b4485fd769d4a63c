"""Delimited text, and hierarchies in CSV files.

A row of a hierarchy is a value and its label at every level: `value;level 1;level 2;...`. ARX writes such files with
`;` in between, quotes where needed, and no header. A caller of ARX states the format of a file, while here the file
shows it.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import os
import re
import zipfile
import zlib
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

from pymoo_anon._files import content_of, replaced
from pymoo_anon._messages import examples, repeated
from pymoo_anon.table.domain_values import ROOT, same_as

#: The separators that are recognised.
SEPARATORS = (",", ";", "\t", "|")

# Likely encodings of a file that cannot be read.
_NO_MARK = "UTF-16 without a byte order mark"
_ENCODINGS = "cp1252 (Western Europe), cp1250 (Central Europe), cp1254 (Turkey), cp932 (Japan) or gb18030 (China)"

# A file is recognised by so many of its first rows.
_FIRST_ROWS = 1000

# Bytes that are searched at a time.
_BLOCK_BYTES = 1 << 20

#: First bytes of files packed by gzip and of zip archives.
PACKED, ZIPPED = b"\x1f\x8b", b"PK\x03\x04"

# The first mark of UTF-32 begins with that of UTF-16.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


def begins_with(path: Path, *marks: bytes) -> bool:
    """Tell whether a file begins with one of some marks."""
    with path.open("rb") as file:
        return file.read(max(map(len, marks))).startswith(marks)


def bytes_of(path: Path, most: int = -1) -> bytes:
    """Return the first bytes of a file, unpacked if it is packed."""
    with unpacked(path) as file:
        return bytes(file.read(most))


def is_simple(path: Path, separator: str, n_fields: int) -> bool:
    """Tell whether lines in UTF-8 have so many fields, at least two, and no quotes."""
    others = bytes({*range(256)} - {*b'\n\r"\0', ord(separator)})
    with unpacked(path) as file, suppress(UnicodeDecodeError):
        block = file.readline(_BLOCK_BYTES)
        signs = separator.encode() * (n_fields - 1) + (b"\r\n" if block.endswith(b"\r\n") else b"\n")
        while block:
            block.decode()
            found = block.translate(None, others)
            if not block.endswith(b"\n") or found != signs * (len(found) // len(signs)):
                return False
            block = file.read(_BLOCK_BYTES) + file.readline(_BLOCK_BYTES)
        return n_fields > 1
    return False


@contextmanager
def unpacked(path: Path) -> Iterator[Any]:
    """Open a file, and unpack it from gzip or zip."""
    kind = "packed by gzip" if begins_with(path, PACKED) else "of the zip format"
    try:
        with _opened(path) as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path} must be a whole file {kind}, got a damaged one: {error}") from None


def _opened(path: Path) -> Any:
    if not begins_with(path, ZIPPED):
        return gzip.open(path) if begins_with(path, PACKED) else path.open("rb")
    archive = zipfile.ZipFile(path)
    # Archives made on a Mac hold a second entry about each file.
    files = [one for one in archive.infolist() if not (one.is_dir() or one.filename.startswith("__MACOSX/"))]
    if len(files) != 1:
        names = examples([one.filename for one in files]) or "none"
        raise ValueError(f"{path} must be a zip archive of one file, got {names}; unpack it and name the table's file")
    try:
        return archive.open(files[0])
    except (RuntimeError, NotImplementedError) as error:
        # It has a password, or is packed in another way.
        raise ValueError(f"{path} must be a zip archive that opens: {error}; unpack it and name the file") from None


def mark_and_encoding(data: bytes, named: str | None = None) -> tuple[bytes, str]:
    """Return the byte order mark of a file, and its encoding."""
    found = ((mark, known) for mark, known in _BYTE_ORDER_MARKS.items() if data.startswith(mark))
    return next(found, (b"", named or "utf-8"))


def decoded(data: bytes, name: str, whole: bool = True, encoding: str | None = None, hint: str = "") -> str:
    """Return the text of a file or its first bytes. Without a name it is in UTF-8, or UTF-16 with a mark."""
    mark, known = mark_and_encoding(data, encoding)
    try:
        text = codecs.getincrementaldecoder(known)().decode(data[len(mark) :], whole)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        if encoding is not None:
            raise ValueError(
                f"{name} must be text in {encoding}, as encoding says, got the byte 0x{error.object[error.start]:02x} "
                f"in line {line}; name its own encoding"
            ) from None
        as_in = "" if mark else f", as in {_NO_MARK if 0 in data else _ENCODINGS}"
        raise ValueError(
            f"{name} must be text in UTF-8 or UTF-16, got the byte 0x{error.object[error.start]:02x} in line {line}"
            f"{as_in}; save it as UTF-8{hint}"
        ) from None
    refuse_nul(text, name)
    return text


def refuse_nul(text: str, name: str) -> None:
    """Raise for a NUL, which Python 3.10's csv cannot write."""
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(
            f"{name} must be text in UTF-8 or UTF-16, got a NUL in line {line}, as in {_NO_MARK}; save it as UTF-8"
        )


def separator_of(text: str) -> str:
    """Return the separator of a text. It gives the first rows equally many fields, or the first one most."""
    ranked = {}
    for separator in SEPARATORS:
        # Not strict: a quote that is not closed is named when the rows are read.
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        widths: list[int] = []
        # csv refuses a field that is too long, as after an unclosed quote: the rows before it tell enough.
        with suppress(csv.Error):
            widths.extend(len(row) for row in islice(reader, _FIRST_ROWS) if row)
        first = widths[0] if widths else 1
        ranked[separator] = (first > 1 and min(widths) == max(widths), first)
    # max takes the first of equals, which is the comma.
    return max(ranked, key=lambda separator: ranked[separator])


def csv_rows(text: str, separator: str, name: str) -> Iterator[list[str]]:
    """Yield the rows of a CSV text, blank lines as empty."""
    number = 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
            number += 1
            yield row
    except csv.Error as error:
        raise ValueError(f"{name} must have quotes closed, got in row {number + 1}: {error}") from None


# --- hierarchies ------------------------------------------------------------------------------------------------------

# Separators of columns, that of ARX first. The comma comes last, since numbers may hold one.
_SEPARATORS = (";", "\t", ",")
# A quote opens a field at the beginning of a line or after a separator, and may stay open. Two inside are one.
_QUOTED = re.compile(r'(?:^|(?<=[;\t,\r\n]))"[^"]*(?:""[^"]*)*"?')
_LEVEL_NAME = re.compile(r"\s*(?:level|lvl|l)[ _.-]?(\d{1,3})\s*", re.IGNORECASE | re.ASCII)


def read_columns(source: str | os.PathLike[str] | io.TextIOBase) -> tuple[str, list[tuple[str | None, ...]]]:
    """Read the name and columns of a hierarchy file."""
    name, text = text_of_file(source)
    text = text.rstrip("\r\n")
    separators = separators_of(name, text)
    rows = list(csv_rows(text, separators[0], name))
    _check_lengths(name, rows, text, separators)
    rows = without_header(name, rows)
    check_last_column(name, rows)
    return name, _none_for_missing(list(zip(*rows, strict=True)))


def _none_for_missing(columns: Sequence[tuple[str, ...]]) -> list[tuple[str | None, ...]]:
    """Turn empty labels that only a missing value has into None."""
    found: list[tuple[str | None, ...]] = []
    for column in columns:
        rows = list(zip(columns[0], column, strict=True))
        gap = "" if any(value and not label for value, label in rows) else None
        found.append(tuple(gap if not value and not label else label for value, label in rows))
    return found


def write_columns(columns: Sequence[Sequence[Hashable]], path: str | os.PathLike[str] | None) -> str | None:
    """Write columns in ARX's layout."""
    for column in columns:
        labels = {same_as(label): label for label in column if label is not None}
        if twice := repeated(map(str, labels.values())):
            raise ValueError(
                f"labels must be text that a hierarchy file can hold: some of a level share the text {examples(twice)}"
            )
    wanted = [tuple(None if label is None else str(label) for label in column) for column in columns]
    # By default the writer quotes neither a carriage return, which ends a row for readers, nor a comma in a single
    # column, which is a separator for readers.
    all_quoted = len(wanted) == 1 or any("\r" in (label or "") for column in wanted for label in column)
    file = io.StringIO(newline="")
    writer = csv.writer(
        file, delimiter=";", lineterminator="\n", quoting=csv.QUOTE_ALL if all_quoted else csv.QUOTE_MINIMAL
    )
    try:
        rows = list(zip(*wanted, strict=True))
        refuse_nul("\n".join(";".join(label or "" for label in row) for row in rows), "the file")
        writer.writerows(rows)
        text = file.getvalue()
        same = read_columns(io.StringIO(text, newline=""))[1] == wanted
    except (ValueError, csv.Error) as error:
        raise ValueError(f"labels must be text that a hierarchy file can hold: {error}") from None
    if not same:
        raise ValueError(
            "labels must be text that a hierarchy file can hold: the first row would be read as a header, its first "
            "character as a byte order mark, or an empty text as a missing value"
        )
    if path is None:
        return text
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return None


def text_of_file(source: Any, name: str | None = None) -> tuple[str, str]:
    """Return the name and the text of a file."""
    if isinstance(source, io.TextIOBase):
        name = name or str(getattr(source, "name", "the file"))
        try:
            return name, decoded(source.read().encode(), name)
        except UnicodeError as error:
            raise ValueError(f"{name} must be open in the encoding that it is written in: {error}") from None
    if not isinstance(source, str | os.PathLike):
        raise TypeError(f"path must be a path or an open text file, got {source!r:.80}")
    name = name or os.fspath(source)
    return name, decoded(content_of(source), name)


def separators_of(name: str, text: str) -> list[str]:
    """Return the separators that stand outside quotes."""
    if not text:
        raise ValueError(f"{name} must hold at least one row value;level 1;level 2;..., got an empty file")
    unquoted = _QUOTED.sub("", text)
    return [separator for separator in _SEPARATORS if separator in unquoted] or [_SEPARATORS[0]]


def _check_lengths(name: str, rows: list[list[str]], text: str, separators: list[str]) -> None:
    if unequal := [number for number, row in enumerate(rows, start=1) if len(row) != len(rows[0])]:
        message = (
            f"{name} must have rows of equal length: split at {separators[0]!r}, row 1 has {len(rows[0])} "
            f"column{'s' * (len(rows[0]) != 1)}, others have not: rows {examples(unequal)}"
        )
        for other in separators[1:]:
            widths = set[int]()
            # A field may be too long for csv.
            with suppress(csv.Error):
                widths = {len(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=other)}
            if len(widths) == 1:
                n = widths.pop()
                message += f"; split at {other!r}, every row has {n}: put labels with {separators[0]!r} in quotes"
        raise ValueError(message)


def check_last_column(name: str, rows: list[list[str]]) -> None:
    """Raise if all rows end with a separator."""
    if len(rows[0]) > 1 and not any(row[-1] for row in rows):
        raise ValueError(f"{name} must have labels in its last column, got none: every row ends with a separator")


def without_header(name: str, rows: list[list[str]]) -> list[list[str]]:
    """Leave out a first row that alone numbers levels."""
    first, *others = rows
    if len(first) == 1 or not others:
        return rows
    # A text that another row of its column repeats is a label, and not the name of the column.
    if any(label in column for label, column in zip(first, zip(*others, strict=True), strict=True)):
        return rows
    named = [[_LEVEL_NAME.fullmatch(label) for label in row[1:]] for row in rows]
    if all(named[0]) and not any(map(any, named[1:])):
        numbers = [int(match[1]) for match in named[0] if match]
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return others
    if len(set(first)) == len(first) and all(row[-1] == ROOT for row in others):
        raise ValueError(
            f"{name} must not have a header: row 1 ends with {first[-1]!r}, all others with {ROOT!r}; take it out or, "
            "if its first column is a value, let it stand in another row"
        )
    return rows
