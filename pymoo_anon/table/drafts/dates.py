"""Drafts for dates: day, month, quarter, year, decade."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import day_of, is_number
from pymoo_anon.table.drafts.base import Draft, fills, useful

_TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?)?"
_TWO_ORDERS = re.compile(rf"(\d{{1,2}})([./-])(\d{{1,2}})\2(\d{{4}}){_TIME}", re.ASCII)
_YEAR_FIRST = re.compile(rf"(\d{{4}})([./-]?)(\d{{1,2}})\2(\d{{1,2}}){_TIME}", re.ASCII)
# Eight digits are a date only where they can be one of a person's life.
_YEARS = range(1850, 2101)

#: The levels above the days, from fine to general.
LEVELS: dict[str, Callable[[date], str]] = {
    "day": str,
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10 * 10:04}s",
}


class AmbiguousDates(ValueError):  # noqa: N818
    """Dates of which it cannot be told whether the day or the month comes first."""


def draft_dates(values: Sequence[Any]) -> Draft:
    """Day, month, quarter, year, decade: those of them that gain something.

    Dates, moments and their ISO text get a row for each day, which matches all three. Any other text, such as
    05.03.2021, gets a row as it is written.

    >>> draft_dates(["05.03.2021", "28.03.2021", "01.11.2020"]).hierarchy.labels[1]
    ('2020-11', '2021-03')
    """
    iso = [day for day in map(day_of, values) if day is not None]
    if len(iso) == len(values):
        held = sorted(set(iso))
        filled = _filled(held)
        texts = [isinstance(value, str) for value in values]
        rows: list[tuple[date, Any]] = [(day, str(day) if any(texts) else day) for day in filled]
        spelling = "ISO dates" if all(texts) else "dates"
    else:
        days, spelling = _read(values)
        held = filled = sorted(set(days))
        rows = sorted(zip(days, values, strict=True), key=lambda row: (row[0], str(row[1])))
    levels = {name: [label(day) for day, _ in rows] for name, label in LEVELS.items()}
    hierarchy, kept = useful([value for _, value in rows], levels)
    words = f"{spelling} from {held[0]} to {held[-1]}"
    if len(filled) > len(held):
        words += f", a row for each day of {'these years' if held[0].year < held[-1].year else 'the year'}"
    return Draft(hierarchy, "dates", words + (f"; {', '.join(kept)}" if kept else ""))


def _filled(days: list[date]) -> list[date]:
    """Days with all the others of their years, where these are not too many."""
    first, last = date(days[0].year, 1, 1), date(days[-1].year, 12, 31)
    n_rows = (last - first).days + 1
    return [first + timedelta(i) for i in range(n_rows)] if fills(n_rows, len(days)) else days


def _read(values: Sequence[Any]) -> tuple[list[date], str]:
    """The days that values name, and what their spelling is called."""
    texts = [f"{value:.0f}" if is_number(value) and value == value // 1 else str(value) for value in values]
    orders = {
        "year, month, day": [_found(_YEAR_FIRST, text, (1, 3, 4)) for text in texts],
        "day, month, year": [_found(_TWO_ORDERS, text, (4, 3, 1)) for text in texts],
        "month, day, year": [_found(_TWO_ORDERS, text, (4, 1, 3)) for text in texts],
    }
    whole = {name: [day for day in days if day is not None] for name, days in orders.items() if None not in days}
    if not whole:
        unread = [value for value, *days in zip(values, *orders.values(), strict=True) if not any(days)]
        got = f"got {examples(unread)}" if unread else "got some with the day and some with the month first"
        raise ValueError(f"dates must be dates, moments, or text such as 2021-03-05 or 05.03.2021, {got}")
    (name, days), *others = whole.items()
    if any(other != days for _, other in others):
        raise AmbiguousDates(
            f"dates must tell by one of them whether the day or the month comes first, got {examples(values)}; "
            "written like 2021-03-05 they would"
        )
    return days, f"dates ({name})"


def _found(pattern: re.Pattern[str], text: str, places: tuple[int, int, int]) -> date | None:
    """The day of a text, whose year, month and day stand in these groups of the pattern; None if it is none."""
    match = pattern.fullmatch(text)
    if match is None:
        return None
    year, month, day = (int(match[place]) for place in places)
    if not match[2] and (len(match[3]) < 2 or len(match[4]) < 2 or year not in _YEARS):
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None
