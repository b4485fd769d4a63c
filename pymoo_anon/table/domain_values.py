"""Values of a domain: what makes two of them the same, which numbers a text spells, and how bins are named."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Integral
from typing import Any

import numpy as np

_INTEGER = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


@dataclass(frozen=True)
class _Truth:
    """A Boolean that is no number."""

    value: bool

    def __repr__(self) -> str:
        return repr(self.value)


def same_as(value: Any) -> Hashable:
    """What makes two values the same: 17 is 17.0, but neither "17" nor True."""
    if isinstance(value, bool | np.bool_):
        return _Truth(bool(value))
    if isinstance(value, Decimal) and value.is_finite():
        # The float that is written alike, so that a decimal column finds 0.1.
        return int(value) if value % 1 == 0 else float(value)
    return value  # type: ignore[no-any-return]


def is_number(value: Any) -> bool:
    """Whether a value is a real number and no truth value."""
    return isinstance(value, int | float | np.integer | np.floating | Decimal) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number and no truth value."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def spelled(value: Any, kind: type[int] | type[float]) -> Any:
    """The number that a text spells, or the value itself."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return value
    if kind is int and _INTEGER.fullmatch(value):
        return int(value)
    number = float(value)
    return int(number) if kind is int and number.is_integer() else number


def interval_label(a: Decimal, b: Decimal, whole: bool, closed: str) -> Hashable:
    """A label that says what is in the bin from a to b."""
    if not whole:
        low, high = float(a), float(b)
        return f"[{low!r}, {high!r})" if closed == "left" else f"({low!r}, {high!r}]"
    first, last = (int(a), int(b) - 1) if closed == "left" else (int(a) + 1, int(b))
    return first if first == last else f"{first}–{last}"


def numbered(labels: Sequence[Hashable]) -> tuple[list[int], tuple[Hashable, ...]]:
    """Number labels in the order of their first appearance."""
    numbers: dict[Hashable, int] = {}
    groups = [numbers.setdefault(same_as(label), len(numbers)) for label in labels]
    firsts: dict[int, Hashable] = {}
    for group, label in zip(groups, labels, strict=True):
        firsts.setdefault(group, label)
    return groups, tuple(firsts.values())
