"""Delimited text: what encoding and which separator a file has, and its rows, nothing shifted and nothing lost."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

#: The separators that are recognised, the likeliest between a value and its levels first.
SEPARATORS = (";", "\t", ",")

# A file is recognised by so many of its first rows.
_ROWS = 1000

# The longer ones first: the mark of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LINE_END = re.compile(r"\r\n|\r|\n")


def decoded(data: bytes, name: str, advice: str = "save it in UTF-8") -> str:
    """The text of a file, in UTF-8 where no byte order mark says another encoding.

    Any bytes are text in an encoding of one byte a character. Such a file is refused, and shown as its reader would see
    it, since only a reader can tell whether it is meant so.

    Args:
        data: What the file holds.
        name: What messages call the file.
        advice: What a message says to do with a file in another encoding.

    Raises:
        ValueError: It is in another encoding, or it holds NUL characters and so is no text.
    """
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        return without_nul(data.decode(encoding), name)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise ValueError(f"{name} must be a text file, got a byte order mark of {encoding} and {error}") from None
        without_nul(data.decode("latin-1"), name)
        line = len(_LINE_END.split(data[: error.start].decode("latin-1")))
        shown = _LINE_END.split(data.decode("cp1252", errors="replace"))[line - 1]
        raise ValueError(
            f"{name} must be a text file in UTF-8, or in UTF-16 with a byte order mark, got byte "
            f"0x{data[error.start]:02x} in line {line}; if {shown!r:.80} is right for that line, the file is in "
            f"Windows-1252: {advice}"
        ) from None


def without_nul(text: str, name: str) -> str:
    """The text, which holds no NUL: where one stands the file is no text, or in UTF-16 without its mark.

    Raises:
        ValueError: It holds one.
    """
    if "\0" in text:
        raise ValueError(
            f"{name} must be a text file in UTF-8, or in UTF-16 with a byte order mark, got one with NUL characters"
        )
    return text


def separator_of(text: str, otherwise: str = ",") -> str:
    """The separator that divides the first 1,000 rows into equally many fields, and into more than one.

    Where several do, it is the one of the most fields. Where none does, it is the one that divides the first row into
    the most fields: the rows that do not fit can then be named.

    Args:
        text: The text of a file.
        otherwise: The separator of a text where nothing is separated, and of one where two separators tie.
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
    """The rows of a text, quotes as usual in CSV; a blank line is a row without fields.

    Args:
        text: The text of a file.
        separator: What stands between two fields.
        name: What messages call the file.

    Raises:
        ValueError: A quote is not closed, or text follows a closing quote.
    """
    number = 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
            number += 1
            yield row
    except csv.Error as error:
        raise ValueError(f"{name} must have quotes closed, got in row {number + 1}: {error}") from None
