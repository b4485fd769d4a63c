"""Delimited text: its encoding, separator and rows, and a look at a file of any size.

RFC 4180 says what quotes mean, and most files keep to it. Where one does not, readers differ: a quote inside an
unquoted field, a lone carriage return, a blank line. Such files are read by this program's own reader, cell by cell.
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import njit

#: The separators that are recognised.
SEPARATORS = (",", ";", "\t")

# A file is recognised by so many of its first rows.
_FIRST_ROWS = 1000

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def decoded(data: bytes, name: str, whole: bool = True) -> str:
    """The text of a file in UTF-8, with or without a byte order mark, or in UTF-16 with one; or of its first bytes."""
    mark, encoding = next(((mark, known) for mark, known in _MARKS.items() if data.startswith(mark)), (b"", "utf-8"))
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
    """Raise where a text holds a NUL, which csv cannot write before Python 3.11."""
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(
            f"{name} must be text in UTF-8 or UTF-16, got a NUL in line {line}, as in UTF-16 without a byte order "
            "mark; save it as UTF-8"
        )


def separator_of(text: str) -> str:
    """The separator that parts the first rows into equally many fields, and into most; else the first row into most."""
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


def rows_of(text: str, separator: str, name: str) -> Iterator[list[str]]:
    """The rows of a text, quotes as usual in CSV; a blank line is a row without fields."""
    number = 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True):
            number += 1
            yield row
    except csv.Error as error:
        raise ValueError(f"{name} must have quotes closed, got in row {number + 1}: {error}") from None


# Bytes that are looked at together.
_BLOCK = 1 << 24

# Fields are no longer for Python's own reader, which says so in its error.
_LONGEST = 131_072

_QUOTE, _CR, _LF = ord('"'), ord("\r"), ord("\n")

# Where a reader is in a row: before a field, in one without quotes, in one with, after a quote in one with, or behind a
# carriage return that ended a row.
_BEFORE, _BARE, _QUOTED, _CLOSED, _RETURNED = range(5)

# Places of the state that travels from block to block: where the reader is, fields of the row before this one, fields
# of the first row or -1, and the bytes of this field in earlier blocks.
_WHERE, _FIELDS, _WIDTH, _BYTES = range(4)
# What was seen: what is wrong or readers differ about; both kinds of line ends; line ends inside quotes.
_DOUBTFUL, _UNIX, _WINDOWS, _INSIDE = range(4, 8)
_N_STATES = 8


class Scan(NamedTuple):
    """What a look at a file tells."""

    certain: bool  # Whether every reader of CSV finds the same cells, and equally many in every row
    line_ends_inside: bool  # Whether a cell holds a line end
    n_fields: int  # How many cells the first row has


def scanned(path: Path, separator: str) -> Scan:
    """Look at every byte of a file, up to the block in which something is not certain."""
    state = np.zeros(_N_STATES, dtype=np.int64)
    state[_WIDTH] = -1
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        # A byte order mark is a part of the first name to some readers.
        state[_DOUBTFUL] = file.read(3) == codecs.BOM_UTF8
        file.seek(0)
        while not state[_DOUBTFUL] and (block := file.read(_BLOCK)):
            try:
                decoder.decode(block)
            except UnicodeDecodeError:
                return Scan(False, False, 0)
            _look(np.frombuffer(block, dtype=np.uint8), ord(separator), state)
    if state[_WHERE] in (_BARE, _CLOSED) or state[_FIELDS] > 0:
        _end_row(state)
    # A sign of several bytes, a quote or the last line end may have been cut.
    cut = bool(decoder.getstate()[0]) or state[_WHERE] in (_QUOTED, _RETURNED)
    mixed = state[_UNIX] and state[_WINDOWS]
    certain = state[_WIDTH] > 0 and not (state[_DOUBTFUL] or cut or mixed or state[_BYTES] > _LONGEST)
    return Scan(bool(certain), bool(state[_INSIDE]), int(state[_WIDTH]))


@njit(cache=True)
def _end_row(state: NDArray[np.int64]) -> None:
    """Compare the fields of a row that ends with those of the first."""
    fields = state[_FIELDS] + 1
    if state[_WIDTH] < 0:
        state[_WIDTH] = fields
    elif state[_WIDTH] != fields:
        state[_DOUBTFUL] = 1
    state[_FIELDS] = 0


@njit(cache=True)
def _end_line(state: NDArray[np.int64], where: int, byte: int) -> int:
    """Take a line end outside quotes, and say where the reader is behind it."""
    if where == _BEFORE and state[_FIELDS] == 0:
        # A blank line is a row to some readers.
        state[_DOUBTFUL] = 1
    else:
        _end_row(state)
    if byte == _LF:
        state[_UNIX] = 1
        return _BEFORE
    return _RETURNED


@njit(cache=True)
def _look(block: NDArray[np.uint8], separator: int, state: NDArray[np.int64]) -> None:
    """Go on through a file: every byte moves the reader, as the dialect says."""
    special = np.zeros(256, dtype=np.bool_)
    special[0] = special[_LF] = special[_CR] = special[_QUOTE] = special[separator] = True
    where, begin = state[_WHERE], -state[_BYTES]
    for i, byte in enumerate(block):
        if where == _BARE and not special[byte]:
            continue
        if byte == 0:
            state[_DOUBTFUL] = 1
        if where == _RETURNED:
            where = _BEFORE
            if byte == _LF:
                state[_WINDOWS] = 1
                begin = i + 1
                continue
            state[_DOUBTFUL] = 1
        if where == _QUOTED:
            if byte == _QUOTE:
                where = _CLOSED
            elif byte == _LF:
                state[_INSIDE] = 1
            elif byte == _CR:
                # Some readers turn it into another line end.
                state[_DOUBTFUL] = 1
        elif byte in (separator, _LF, _CR):
            if i - begin > _LONGEST:
                state[_DOUBTFUL] = 1
            begin = i + 1
            if byte == separator:
                state[_FIELDS] += 1
                where = _BEFORE
                continue
            where = _end_line(state, where, byte)
        elif byte == _QUOTE:
            if where == _BARE:
                state[_DOUBTFUL] = 1
            else:
                # The first of a field, or the second of two.
                where = _QUOTED
        elif where == _CLOSED:
            state[_DOUBTFUL] = 1
            where = _BARE
        else:
            where = _BARE
    state[_WHERE], state[_BYTES] = where, len(block) - begin
