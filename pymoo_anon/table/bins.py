"""Bins over numbers: which bin holds a value, how bins are named, and how wider bins are made of narrower ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from numbers import Integral
from typing import Any

from pymoo_anon.table.domain_values import is_number, same_as

_LARGEST = 10**18
_MOST_BINS = 10_000_000


@dataclass(frozen=True)
class Bins:
    """Consecutive bins over numbers, without gaps.

    Args:
        edges: Where each bin begins and, at the end, where the last one ends; ascending.
        closed: Which end of a bin belongs to it, "left" or "right".
        whole: Whether the bins hold whole numbers only.
    """

    edges: tuple[int | float, ...]
    closed: str
    whole: bool

    def __len__(self) -> int:
        """Number of bins."""
        return len(self.edges) - 1

    def find(self, value: Any) -> int:
        """The bin that holds a value, counted from 0; -1 where none does or the value is no number."""
        if not is_number(value):
            return -1
        value = same_as(value)
        bisect: Any = bisect_right if self.closed == "left" else bisect_left
        if not isinstance(value, Decimal):
            position = bisect(self.edges, value) - 1
        elif value.is_nan():
            return -1
        else:
            # No float is written like this Decimal, so that the edges have to be read as they are written, too.
            position = bisect(self.edges, value, key=lambda edge: Decimal(repr(edge))) - 1
        if not 0 <= position < len(self) or (self.whole and value % 1 != 0):
            return -1
        return int(position)

    def label(self, first: int, last: int) -> Hashable:
        """A label that says what is in the bins first..last: "15–19" for whole numbers, else "[1.5, 2.0)"."""
        low, high = self.edges[first], self.edges[last + 1]
        if not self.whole:
            return f"[{low!r}, {high!r})" if self.closed == "left" else f"({low!r}, {high!r}]"
        lowest, highest = (low, high - 1) if self.closed == "left" else (low + 1, high)
        return lowest if lowest == highest else f"{lowest}–{highest}"


def nested_bins(
    low: float, high: float, widths: Sequence[float], step: float, closed: str
) -> tuple[list[list[Hashable]], Bins]:
    """The levels of nested intervals, as `Hierarchy.intervals` describes them.

    Returns:
        The label of every bin, once for the bins themselves and once for each width; and the bins.
    """
    if closed not in ("left", "right"):
        raise ValueError(f"closed must be 'left' or 'right', got {closed!r}")
    arguments = _numbers(low, high, step, widths)
    whole = all(isinstance(argument, Integral) for argument in arguments)
    # Exact fractions of the decimals that a person writes, so that the edge after 0.2 in steps of 0.1 is 0.3. Counted
    # in units of their common denominator they are whole numbers.
    exact = [Fraction(str(argument)) for argument in arguments]
    unit = lcm(*(fraction.denominator for fraction in exact))
    start, end, size, *sizes = (int(fraction * unit) for fraction in exact)
    if size <= 0:
        raise ValueError(f"step must be positive, got {step!r}")
    if end <= start or (end - start) % size != 0:
        raise ValueError(f"high - low must be a positive multiple of step, got {low!r}, {high!r} and {step!r}")
    n = (end - start) // size
    if n > _MOST_BINS:
        raise ValueError(f"high - low must be at most {_MOST_BINS:,} times step, got {n:,} times {step!r}")
    for j, (finer, coarser) in enumerate(zip([size, *sizes], sizes, strict=False), start=2):
        if coarser <= finer or coarser % finer != 0:
            raise ValueError(
                f"widths must nest, each a larger multiple of the one before: {arguments[j]}, {arguments[j + 1]}"
            )
    edges = range(start, end + 1, size)
    # Python's own numbers, which compare exactly with those of a table, however large.
    bins = Bins(tuple(edges) if whole else tuple(edge / unit for edge in edges), closed, whole)
    return [_level(bins, width // size) for width in [size, *sizes]], bins


def _numbers(low: float, high: float, step: float, widths: Sequence[float]) -> list[float]:
    """The arguments of `nested_bins` one after the other."""
    if not isinstance(widths, Iterable) or isinstance(widths, str):
        raise TypeError(f"widths must be a list of numbers, got {widths!r}")
    arguments = [low, high, step, *widths]
    for argument in arguments:
        nan = isinstance(argument, Decimal) and argument.is_nan()
        if not is_number(argument) or nan or not -_LARGEST <= argument <= _LARGEST:
            raise ValueError(
                f"low, high, step and widths must be whole, float or Decimal numbers of at most {_LARGEST:.0e}, "
                f"got {argument!r:.80}"
            )
    return arguments


def _level(bins: Bins, together: int) -> list[Hashable]:
    """The label of every bin where so many of them, counted from the first, are one group; the last may be shorter."""
    labels: list[Hashable] = []
    for first in range(0, len(bins), together):
        last = min(first + together, len(bins)) - 1
        labels += [bins.label(first, last)] * (last - first + 1)
    return labels
