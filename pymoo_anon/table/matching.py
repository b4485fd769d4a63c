"""Matching: where the values of a column stand in the domain of a hierarchy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import date
from numbers import Number
from typing import Any

from pymoo_anon.table.bins import Bins
from pymoo_anon.table.domain_values import day_of, is_day, same_as


def places(domain: Sequence[Hashable], bins: Bins | None, values: Sequence[Any]) -> list[int]:
    """Positions of values in a domain, as `Hierarchy.encode` describes them.

    Returns:
        A position for each, -1 for a value that is not in the domain.
    """
    if bins is not None:
        missing = len(domain) - 1 if domain[-1] is None else -1
        return [missing if value is None else bins.find(value) for value in values]
    positions = {same_as(value): i for i, value in enumerate(domain)}
    days = _days(domain)
    return [_place(value, positions, days) for value in values]


def _place(value: Any, positions: Mapping[Hashable, int], days: Mapping[date | None, int]) -> int:
    """The position of one value: its own, that of its text, that of its day, or that of what is missing."""
    position = positions.get(same_as(value), -1)
    if position < 0 and isinstance(value, bool):
        position = positions.get(str(value), positions.get(str(value).lower(), -1))
    elif position < 0 and not isinstance(value, Number | str):
        position = positions.get(str(value), -1)
    if position < 0 and days:
        position = days.get(day_of(value), -1)
    if position < 0 and value == "":
        position = positions.get(None, -1)
    return position


def _days(domain: Sequence[Hashable]) -> dict[date | None, int]:
    """The position of each day of a domain of days; none if a value of it is no day, or a day stands in it twice."""
    present = [value for value in domain if value is not None]
    if not all(map(is_day, present)):
        return {}
    days = {day_of(value): i for i, value in enumerate(domain) if value is not None}
    return days if len(days) == len(present) else {}
