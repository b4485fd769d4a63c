"""Delimited text: its encoding, separator and rows."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any

#: The separators that are recognised.
SEPARATORS = (",", ";", "\t")

# A file is recognised by so many of its first rows.
_FIRST_ROWS = 1000

# Bytes that are searched at a time.
_BLOCK_BYTES = 1 << 20

_PACKED = b"\x1f\x8b"

_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def is_packed(path: Path) -> bool:
    """Tell whether gzip packed a file."""
    with path.open("rb") as file:
        return file.read(len(_PACKED)) == _PACKED


def bytes_of(path: Path, most: int = -1) -> bytes:
    """Return the first bytes of a file, unpacked if packed by gzip."""
    with _unpacked(path) as file:
        data: bytes = file.read(most)
    return data


def has_nul(path: Path) -> bool:
    """Tell whether a file holds a NUL."""
    with _unpacked(path) as file:
        return any(b"\0" in block for block in iter(lambda: file.read(_BLOCK_BYTES), b""))


@contextmanager
def _unpacked(path: Path) -> Iterator[Any]:
    try:
        with gzip.open(path) if is_packed(path) else path.open("rb") as file:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} must be a whole file packed by gzip, got a damaged one: {error}") from None


def decoded(data: bytes, name: str, whole: bool = True) -> str:
    """Return the text of a file, or of its first bytes.

    It is in UTF-8 with or without a byte order mark, or in UTF-16 with one.
    """
    mark, encoding = next(
        ((mark, known) for mark, known in _BYTE_ORDER_MARKS.items() if data.startswith(mark)), (b"", "utf-8")
    )
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(data[len(mark) :], whole)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        likely = (
            "UTF-16 without a byte order mark" if b"\0" in data else "a file in latin-1 (ISO 8859-1) or Windows-1252"
        )
        as_in = "" if mark else f", as in {likely}"
        raise ValueError(
            f"{name} must be text in UTF-8 or UTF-16, got the byte 0x{error.object[error.start]:02x} in line {line}"
            f"{as_in}; save it as UTF-8"
        ) from None
    refuse_nul(text, name)
    return text


def refuse_nul(text: str, name: str) -> None:
    """Raise if a text holds a NUL, which csv cannot write before Python 3.11."""
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(
            f"{name} must be text in UTF-8 or UTF-16, got a NUL in line {line}, as in UTF-16 without a byte order "
            "mark; save it as UTF-8"
        )


def separator_of(text: str) -> str:
    """Return the separator that fits the first rows.

    It splits them into equally many fields, or else the first row into most fields.
    """
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
    """Yield the rows of a CSV text, blank lines as rows without fields."""
    number = 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
            number += 1
            yield row
    except csv.Error as error:
        raise ValueError(f"{name} must have quotes closed, got in row {number + 1}: {error}") from None
