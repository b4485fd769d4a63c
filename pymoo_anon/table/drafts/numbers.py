"""Drafts for numbers: nested intervals of round widths."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import is_number, spelled
from pymoo_anon.table.drafts.base import Draft, fills, useful

# Larger numbers count nothing: they are codes.
_LARGEST = Decimal(10) ** 18
# The last place of the smallest float.
_SMALLEST = -340
# More levels make the lattice larger, and gain little.
_MOST_LEVELS = 5
# A level of nearly as many groups as the one below gains little, too.
_GAIN = 0.75
# So many intervals are left below the root at most.
_MOST_GROUPS = 5
_LEADING_ZERO = re.compile(r"\s*[+-]?0\d+(?:\.\d*)?\s*", re.ASCII)
# Exact for all of these numbers.
_EXACT = Context(prec=700)


def draft_numbers(values: Sequence[Any]) -> Draft:
    """Nested intervals: their widths are 1, 2 or 5 times a power of ten, and each divides the next.

    Whole numbers that lie close together have a row for every number of the range, also for those that the column
    lacks. Other numbers have a row each.

    >>> draft_numbers([17, 18, 34, 45, 66, 90]).hierarchy
    Hierarchy(100 values, levels of 100, 20, 10, 5, 1 groups)
    """
    rows = []
    for value in values:
        number = number_of(value)
        if number is not None:
            rows.append((number, value))
    if len(rows) < len(values):
        bad = [value for value in values if number_of(value) is None]
        raise ValueError(f"numbers must be at most {_LARGEST:.0e}, or text that spells such, got {examples(bad)}")
    rows.sort(key=lambda row: (row[0], str(row[1])))
    whole = all(number == number.to_integral_value() for number, _ in rows)
    low, high = rows[0][0], rows[-1][0]
    widths = _widths(low, high, len({number for number, _ in rows}), whole)
    words = f"numbers from {low:f} to {high:f}"
    if whole:
        words = f"whole numbers from {int(low)} to {int(high)}"
        rows = [(number, value if isinstance(value, str) else int(number)) for number, value in rows]
        filled = _filled(rows, widths)
        words += f", a row for each of {filled[0][1]} to {filled[-1][1]}" if len(filled) > len(rows) else ""
        rows = filled
    levels = {f"{width:f}": _level([number for number, _ in rows], width, whole) for width in widths}
    hierarchy, kept = useful([value for _, value in rows], levels, _GAIN)
    return Draft(hierarchy, "numbers", words + (f"; intervals of {', '.join(kept)}" if kept else ""))


def number_of(value: Any) -> Decimal | None:
    """The number that a value is or, as text, spells; None where it is none of at most 10^18."""
    number = Decimal(str(value)) if is_number(value) else spelled(value, Decimal)
    if not isinstance(number, Decimal) or not number.is_finite():
        return None
    return number if abs(number) <= _LARGEST and number.as_tuple().exponent >= _SMALLEST else None  # type: ignore[operator]


def has_leading_zero(value: Any) -> bool:
    """Whether a text is written like a code: 02139 is no number of anything."""
    return isinstance(value, str) and _LEADING_ZERO.fullmatch(value) is not None


def _widths(low: Decimal, high: Decimal, n_distinct: int, whole: bool) -> list[Decimal]:
    """Widths from fine to coarse. The coarsest is the first of few intervals, the others divide it."""
    if n_distinct < 2:
        return []
    exponent = (high - low).adjusted() - 2
    factor = 1
    while True:
        n_groups = _bin(high, _width(factor, exponent)) - _bin(low, _width(factor, exponent)) + 1
        if n_groups <= _MOST_GROUPS and n_groups < n_distinct and not (whole and _width(factor, exponent) <= 1):
            break
        factor, exponent = {1: (2, exponent), 2: (5, exponent), 5: (1, exponent + 1)}[factor]
    widths: list[Decimal] = []
    while len(widths) < _MOST_LEVELS and not (whole and _width(factor, exponent) <= 1):
        widths.append(_width(factor, exponent))
        # The largest width that divides: 5 of 10, 1 of 5, 1 of 2.
        factor, exponent = (5, exponent - 1) if factor == 1 else (1, exponent)
    return widths[::-1]


def _width(factor: int, exponent: int) -> Decimal:
    return Decimal((0, (factor,), exponent))


def _bin(number: Decimal, width: Decimal) -> int:
    """The interval of a number, counted from zero."""
    return int(_EXACT.divide(number, width).to_integral_value(ROUND_FLOOR))


def _level(numbers: Sequence[Decimal], width: Decimal, whole: bool) -> list[str]:
    """What is in the interval of every number, as `Hierarchy.intervals` writes it."""
    labels: list[str] = []
    high = None
    for number in numbers:
        # The numbers are in order, so that most lie in the interval of the one before.
        if high is None or number >= high:
            place = _bin(number, width)
            low, high = _EXACT.multiply(place, width), _EXACT.multiply(place + 1, width)
            label = f"{int(low)}–{int(high) - 1}" if whole else f"[{low:f}, {high:f})"
        labels.append(label)
    return labels


def _filled(rows: list[tuple[Decimal, Any]], widths: list[Decimal]) -> list[tuple[Decimal, Any]]:
    """Rows with one for every whole number of the widest intervals, where these are not too many."""
    if not widths:
        return rows
    first = _bin(rows[0][0], widths[-1]) * int(widths[-1])
    last = (_bin(rows[-1][0], widths[-1]) + 1) * int(widths[-1])
    held = {int(number) for number, _ in rows}
    if not fills(last - first, len(held)):
        return rows
    text = any(isinstance(value, str) for _, value in rows)
    more = [(Decimal(i), str(i) if text else i) for i in range(first, last) if i not in held]
    return sorted([*rows, *more], key=lambda row: (row[0], str(row[1])))
