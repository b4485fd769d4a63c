"""Tables of the report: what every chart draws and every HTML table shows, as plain rows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from pymoo_anon._messages import plain

#: What a cell holds: a text, a number, or nothing.
Cell = str | int | float | None
Row = tuple[Cell, ...]

#: What a cell shows that holds nothing.
NOTHING = "–"

#: What stands between a number and its percent sign: they stay in one line.
_SPACE = "\N{NO-BREAK SPACE}"

# Characters of a text of the data; of a longer one the beginning and the end are shown.
_LONGEST = 200

# Digits of a number that the file holds; more would only make it larger.
_DIGITS = 6


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        title: Its heading.
        kind: "text"; "people", a number of rows of the data; "whole", another whole number; "share", from 0 to 1 and
            shown in percent; "number", any other.
    """

    title: str
    kind: str = "text"


@dataclass(frozen=True)
class Table:
    """One table of the report.

    Attributes:
        name: A name of the report's own, never one of the data.
        caption: What it shows, in words.
        columns: Its columns; charts know them as c0, c1, ...
        rows: Its rows, each with a cell for every column.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]

    def with_rows(self, rows: Sequence[Row]) -> Table:
        """The same table with other rows."""
        return replace(self, rows=tuple(rows))


@dataclass(frozen=True)
class View:
    """What one of the six views says of one release.

    Attributes:
        sentences: What it says in words.
        tables: What it shows.
    """

    sentences: tuple[str, ...]
    tables: tuple[Table, ...]


def text(label: Hashable) -> str:
    r"""A value or label of the data as one printable line, its middle left out where it is long.

    >>> text("a\nb"), text(17), text(None), text("")
    ('a\\nb', '17', '(missing)', '(empty)')
    """
    if label is None:
        return "(missing)"
    whole = plain(str(label)) or "(empty)"
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 50]}…{whole[-49:]}"


def number(value: Any) -> Cell:
    """A number as the file holds it: whole, or a float of six digits; a text where it is not finite.

    >>> number(3.0), number(1 / 3), number(float("inf")), number(float("nan"))
    (3, 0.333333, '∞', '–')
    """
    exact = float(value)
    if math.isnan(exact):
        return NOTHING
    if math.isinf(exact):
        return "∞" if exact > 0 else "−∞"
    if exact == int(exact):
        return int(exact)
    if abs(exact) >= 1000:
        return round(exact, 2)
    return float(f"{exact:.{_DIGITS}g}")


def shown(cell: Cell, kind: str) -> str:
    r"""A cell as the page shows it. `report.js` has a twin of this function.

    >>> shown(1234567, "people"), shown(0.0913, "share"), shown(0.00004, "share"), shown(12.34567, "number")
    ('1,234,567', '9.1\xa0%', '<\xa00.01\xa0%', '12.35')
    """
    if cell is None:
        return NOTHING
    if isinstance(cell, str):
        return cell
    if kind == "share":
        percent = Decimal(repr(cell)) * 100
        if 0 < percent < Decimal("0.01"):
            return f"<{_SPACE}0.01{_SPACE}%"
        rounded = percent.quantize(Decimal("0.01" if 0 < percent < 1 else "0.1"), ROUND_HALF_UP)
        return f"{rounded.normalize():f}{_SPACE}%"
    if isinstance(cell, int):
        return f"{cell:,}"
    exact = Decimal(repr(cell))
    if abs(exact) >= 1000:
        return f"{exact.quantize(Decimal(1), ROUND_HALF_UP):,}"
    return f"{Context(prec=4, rounding=ROUND_HALF_UP).create_decimal(exact).normalize():f}"


def percent(share: float) -> str:
    """A share as the page shows it."""
    return shown(number(share), "share")


def merged(rows: Sequence[Row], floor: int, place: int, name: str) -> list[Row]:
    """Rows without one that counts fewer people than a floor: the small ones are one row, and never a single one.

    A single small row could be found by subtraction from the total, so the smallest of the others joins it. Where even
    all rows together are below the floor, nothing is left.

    >>> merged([("a", 40), ("b", 3), ("c", 20)], 10, 1, "other")
    [('a', 40), ('other', 23)]
    >>> merged([("a", 3)], 10, 1, "other")
    []
    """
    by_size = sorted(range(len(rows)), key=lambda i: (_count(rows[i], place), i))
    taken, total = 0, 0
    small = sum(_count(row, place) < floor for row in rows)
    while taken < len(rows) and (taken < small or 0 < total < floor):
        total += _count(rows[by_size[taken]], place)
        taken += 1
    if taken == 0:
        return list(rows)
    gone = set(by_size[:taken])
    kept = [row for i, row in enumerate(rows) if i not in gone]
    if total < floor:
        return kept
    return [*kept, tuple(name if i == 0 else total if i == place else None for i in range(len(rows[0])))]


def _count(row: Row, place: int) -> int:
    cell = row[place]
    assert isinstance(cell, int)
    return cell
