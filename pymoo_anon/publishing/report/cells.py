"""Tables of the report, as plain rows for charts and HTML."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from importlib.resources import files
from typing import Any, NamedTuple

from pymoo_anon._messages import plain

#: Content of a cell.
Cell = str | int | float | None
Row = tuple[Cell, ...]

#: Text of an empty cell.
NOTHING = "–"

#: A number and its percent sign stay in one line.
_SPACE = "\N{NO-BREAK SPACE}"

# Greatest length of a text of the data. Longer ones lose their middle.
_LONGEST = 200

# Digits of a number in the file. More would only make it larger.
_DIGITS = 6


class Heading(NamedTuple):
    """The heading of a column."""

    title: str
    # Kind of the cells: "text", "whole", "share" (from 0 to 1, shown in percent) or "number".
    kind: str = "text"


@dataclass(frozen=True)
class Table:
    """One table of the report."""

    name: str  # A name of the report's own, never one of the data
    caption: str  # Subject of the table, in words
    columns: tuple[Heading, ...]  # Its columns; charts know them as c0, c1, ...
    rows: tuple[Row, ...]  # Its rows, each with a cell for every column
    chart: str | None = None  # The kind of chart that draws it, or None

    @classmethod
    def of(
        cls,
        name: str,
        caption: str,
        columns: Iterable[Sequence[str]],
        rows: Iterable[Iterable[Any]],
        chart: str | None = None,
    ) -> Table:
        """Return a table of rounded numbers. Columns are titles, of text, or titles with kinds."""
        headings = (Heading(one) if isinstance(one, str) else Heading(*one) for one in columns)
        return cls(name, caption, tuple(headings), tuple(tuple(map(cell_of, row)) for row in rows), chart)

    @property
    def widths(self) -> tuple[int, ...]:
        """Characters that each column needs for at most three lines."""
        texts = [[column.title] for column in self.columns]
        for row in self.rows:
            for own, cell in zip(texts, row, strict=True):
                own.append(cell if isinstance(cell, str) else "")
        # `report.js` has a twin of this rule.
        return tuple(max(max(min(len(text), 14), -(-len(text) * 2 // 5)) for text in own) for own in texts)


@dataclass(frozen=True)
class View:
    """One view of the report."""

    sentences: tuple[str, ...]  # Findings in words
    tables: tuple[Table, ...]  # Findings in figures


def one_line(label: Hashable) -> str:
    r"""Format a value or label in one printable line, shortened in the middle.

    >>> one_line("a\nb"), one_line(17), one_line(None), one_line("")
    ('a\\nb', '17', '(missing)', '(empty)')
    """
    if label is None:
        return "(missing)"
    whole = plain(str(label)) or "(empty)"
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 50]}…{whole[-49:]}"


def cell_of(value: Any) -> Cell:
    """Round a number for the file. Texts and None stay.

    >>> cell_of(3.0), cell_of(1 / 3), cell_of(float("inf")), cell_of(float("nan"))
    (3, 0.333333, '∞', '–')
    """
    if value is None or isinstance(value, str):
        return value
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


def cell_text(value: Any, kind: str) -> str:
    r"""Format a cell, or a number that is not rounded yet. `report.js` has a twin of this function.

    >>> cell_text(1234567, "whole"), cell_text(0.0913, "share"), cell_text(0.00004, "share"), cell_text(12.34567, "")
    ('1,234,567', '9.1\xa0%', '<\xa00.01\xa0%', '12.35')
    """
    cell = cell_of(value)
    if cell is None:
        return NOTHING
    if isinstance(cell, str):
        return cell
    if kind == "share":
        percent = Decimal(repr(cell)) * 100
        if 0 < percent < Decimal("0.01"):
            return f"<{_SPACE}0.01{_SPACE}%"
        if Decimal("99.95") <= percent < 100:
            return f">{_SPACE}99.9{_SPACE}%"
        rounded = percent.quantize(Decimal("0.01" if 0 < percent < 1 else "0.1"), ROUND_HALF_UP)
        return f"{rounded.normalize():,f}{_SPACE}%"
    if isinstance(cell, int):
        return f"{cell:,}"
    exact = Decimal(repr(cell))
    if abs(exact) >= 1000:
        return f"{exact.quantize(Decimal(1), ROUND_HALF_UP):,}"
    return f"{Context(prec=4, rounding=ROUND_HALF_UP).create_decimal(exact).normalize():f}"


def share_text(share: float) -> str:
    """Format a share."""
    return cell_text(share, "share")


def resource(name: str) -> str:
    """Return the text of a file of the report."""
    return (files("pymoo_anon.publishing.report") / name).read_text(encoding="utf-8")
