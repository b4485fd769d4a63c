"""Delimited text: what encoding and which separator a file has, and its rows, nothing shifted and nothing lost."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

#: The separators that are recognised.
SEPARATORS = (",", ";", "\t")

# A file is recognised by so many of its first rows.
_ROWS = 1000

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def decoded(data: bytes, name: str) -> str:
    """The text of a file in UTF-8, with or without a byte order mark, or in UTF-16 with one.

    Other encodings of one byte a character cannot be told apart, so they are named and not guessed.
    """
    mark, encoding = next(((mark, known) for mark, known in _MARKS.items() if data.startswith(mark)), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(encoding)
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
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(
            f"{name} must be text in UTF-8 or UTF-16, got a NUL in line {line}, as in UTF-16 without a byte order "
            "mark; save it as UTF-8"
        )
    return text


def separator_of(text: str, otherwise: str = ",") -> str:
    """The separator that divides the first 1,000 rows into equally many fields, and into more than one.

    Where several do, it is the one of the most fields. Where none does, it is the one that divides the first row into
    the most fields: the rows that do not fit can then be named.
    """
    ranked = {}
    for separator in (otherwise, *SEPARATORS):
        # Not strict: a quote that is not closed is named when the rows are read.
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        widths: list[int] = []
        # csv refuses a field that is too long, as after an unclosed quote: the rows before it tell enough.
        with suppress(csv.Error):
            widths.extend(len(row) for row in islice(reader, _ROWS) if row)
        first = widths[0] if widths else 1
        ranked[separator] = (first > 1 and min(widths) == max(widths), first)
    # max takes the first of equals, and `otherwise` is the first.
    return max(ranked, key=lambda separator: ranked[separator])


def rows_of(text: str, separator: str, name: str) -> Iterator[list[str]]:
    """The rows of a text, quotes as usual in CSV; a blank line is a row without fields."""
    number = 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
            number += 1
            yield row
    except csv.Error as error:
        raise ValueError(f"{name} must have quotes closed, got in row {number + 1}: {error}") from None
