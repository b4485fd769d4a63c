"""Counts, sums and means that a released table guarantees.

A truthful cell stands for known values. Rows whose cells lie wholly within a question are certain, rows whose cells
touch it are possible, and the true answer lies between both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, floor, inf, nan
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.objectives.recount import MISSING, by_group, combinations
from pymoo_anon.publishing.codebook import NUMBERS, Meaning, members_of, read_members
from pymoo_anon.table.domain_values import Name, day_of, is_day, is_missing, is_number, label_text, spelled
from pymoo_anon.table.generalization import SUPPRESSED
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.typing import Floats, Ints

#: Values behind labels: a codebook, or a hierarchy for each generalized column.
Meanings: TypeAlias = "pd.DataFrame | Mapping[Name, Hierarchy]"


class Guarantee(NamedTuple):
    """An answer: its least and greatest value, and an estimate between them."""

    least: float
    most: float
    estimate: float


def guaranteed_counts(release: Any, meanings: Meanings, where: Mapping[Name, Any] | None = None) -> Guarantee:
    """Count the rows that meet some conditions, from a released table alone.

    The true count of the rows behind the release lies between `least` and `most`. The estimate spreads every row evenly
    over the values of its cells. Suppressed rows count where they are marked, and are unknown where they were dropped.

    Args:
        release: The released table, a frame of any kind.
        meanings: The codebook of the release, read as text; or a hierarchy for each generalized column.
        where: By column a value, a collection of values, or a `pandas.Interval` of numbers or days. Each row has to
            meet all of them; None counts all rows.

    Returns:
        The least, the greatest and the estimated number of rows.

    Raises:
        KeyError: The release lacks a column.
        ValueError: A label has no meaning, or a column of rounded numbers is asked for.

    >>> sexes = Hierarchy.flat(["Female", "Male"])
    >>> frame = pd.DataFrame({"sex": ["Female", "*", "Male"]})
    >>> guaranteed_counts(frame, {"sex": sexes}, {"sex": "Female"})
    Guarantee(least=1.0, most=2.0, estimate=1.5)
    """
    return _Answers(release, meanings, where or {}).count()


def guaranteed_sums(
    release: Any, meanings: Meanings, column: Name, where: Mapping[Name, Any] | None = None
) -> Guarantee:
    """Sum a column over the rows that meet some conditions.

    Args:
        release: The released table.
        meanings: The codebook, or hierarchies.
        column: The column of numbers. Rows without a number add nothing.
        where: The conditions.

    Returns:
        The least, the greatest and the estimated sum.

    Raises:
        KeyError: The release lacks a column.
        ValueError: As `guaranteed_counts`.
    """
    return _Answers(release, meanings, where or {}, column).sum()


def guaranteed_means(
    release: Any, meanings: Meanings, column: Name, where: Mapping[Name, Any] | None = None
) -> Guarantee:
    """Average a column over the rows that meet some conditions.

    Returns:
        The least, the greatest and the estimated mean, NaN where no row can meet the conditions.
    """
    return _Answers(release, meanings, where or {}, column).mean()


class _Match(NamedTuple):
    """The values behind a label that meet a condition."""

    n: float  # Their number; of a bin the length
    size: float  # The number of all values behind the label
    met: bool  # Whether one may meet the condition
    always: bool  # Whether all meet it
    numbers: float = 0  # How many of them are numbers
    total: float = 0  # The sum of these numbers
    low: float = inf  # The least number
    high: float = -inf  # The greatest number


# A row of unknown values may be anything.
_ANYTHING = _Match(0.5, 1, True, False, 0, 0, -inf, inf)

_Wanted: TypeAlias = "frozenset[str | None] | pd.Interval | None"


class _Answers:
    """The distinct cells of a release as certain and possible answers."""

    def __init__(self, release: Any, meanings: Meanings, where: Mapping[Name, Any], column: Name = None) -> None:
        asked = {name: _wanted(name, value) for name, value in where.items()}
        if column is not None:
            asked.setdefault(column, None)
        there = nw.from_native(release).collect_schema().names()
        if lacking := [name for name in asked if name not in there]:
            raise KeyError(f"release must have the columns that are asked for, got none named {examples(lacking)}")
        # Without conditions any column counts the rows.
        rows = combinations(release, list(asked) or there[:1])
        self.n = rows.n.to_numpy(dtype=float)
        self.shares, self.certain, self.possible = (
            np.ones(len(rows)),
            np.ones(len(rows), bool),
            np.ones(len(rows), bool),
        )
        for i, (name, wanted) in enumerate(asked.items()):
            codes, labels = pd.factorize(rows[f"column {i}"])
            found = [_matched(own, wanted) for own in _parts_of(name, labels, meanings)]
            self.certain &= np.array([own.always for own in found])[codes]
            self.possible &= np.array([own.met for own in found])[codes]
            if name == column:
                self._read_numbers(found, codes)
            else:
                self.shares *= np.array([own.n / own.size for own in found])[codes]

    def _read_numbers(self, found: list[_Match], codes: Ints) -> None:
        read = np.array([(own.low, own.high, own.numbers / own.size, own.total / own.size) for own in found])
        self.low, self.high, self.numbers, self.totals = read[codes].T
        self.certain &= self.numbers == 1
        self.possible &= self.low <= self.high

    def count(self) -> Guarantee:
        least, most = (float(self.n[rows].sum()) for rows in (self.certain, self.possible))
        return Guarantee(least, most, float(self.n @ self.shares))

    def sum(self) -> Guarantee:
        rows = self.possible
        least = np.where(self.certain, self.low, np.minimum(self.low, 0))[rows]
        most = np.where(self.certain, self.high, np.maximum(self.high, 0))[rows]
        estimate = (self.n * self.shares * self.totals)[rows].sum()
        return Guarantee(float(self.n[rows] @ least), float(self.n[rows] @ most), float(estimate))

    def mean(self) -> Guarantee:
        rows, spread = self.possible, self.n * self.shares
        held = float((spread * self.numbers)[rows].sum())
        estimate = float((spread * self.totals)[rows].sum()) / held if held else nan
        return Guarantee(self._least_mean(self.low), -self._least_mean(-self.high), estimate)

    def _least_mean(self, numbers: Floats) -> float:
        """Return the least mean with any of the possible rows."""
        some = np.flatnonzero(self.possible & ~self.certain)
        some = some[np.argsort(numbers[some])]
        sure = self.n[self.certain]
        n = np.cumsum([sure.sum(), *self.n[some]])
        totals = np.cumsum([sure @ numbers[self.certain], *(self.n * numbers)[some]])
        return float((totals[n > 0] / n[n > 0]).min()) if n[-1] > 0 else nan


def _parts_of(name: Name, labels: Any, meanings: Meanings) -> list[list[Meaning]]:
    """Return the values behind each label, none for unknown ones."""
    texts = [None if label is MISSING else label_text(label) for label in labels]
    known = _labels_of(name, meanings)
    if not known:
        return [[text] for text in texts]
    if NUMBERS in known:
        raise ValueError(f"column {name!r} holds rounded or clipped numbers, of which nothing is certain")
    # A missing value of a kept column has no label of its own.
    known.setdefault("", [None])
    if lacking := [text for text in texts if (text or "") not in known]:
        raise ValueError(
            f"labels of {name!r} must be in the codebook or hierarchy, got {examples(lacking)}; read both files as text"
        )
    return [known[text or ""] for text in texts]


def _labels_of(name: Name, meanings: Meanings) -> dict[str, list[Meaning]]:
    """Return the values behind all labels of a column. A missing label is an empty text."""
    known: dict[str, list[Meaning]] = {}
    if isinstance(meanings, pd.DataFrame):
        own = meanings[meanings["column"] == name]
        spelled_labels: Iterable[tuple[Any, str]] = zip(own["label"], own["members"], strict=True)
    elif name in meanings:
        spelled_labels = _of_hierarchy(meanings[name])
    else:
        return known
    for label, members in spelled_labels:
        text = "" if is_missing(label) else label_text(label) or ""
        known.setdefault(text, []).extend(read_members(members))
    return known


def _of_hierarchy(hierarchy: Hierarchy) -> Iterator[tuple[Any, str]]:
    for groups, labels in zip(hierarchy.groups, hierarchy.labels, strict=True):
        yield from zip(labels, (members_of(hierarchy, places) for places in by_group(groups)), strict=True)
    yield SUPPRESSED, members_of(hierarchy, range(hierarchy.n_values))


def _wanted(name: Name, value: Any) -> _Wanted:
    if isinstance(value, pd.Interval):
        ends = number_or_day(label_text(value.left)), number_or_day(label_text(value.right))
        if None in ends:
            raise ValueError(f"where must have intervals of numbers or days, got {value} for {name!r}")
        return pd.Interval(*ends, closed=value.closed)
    values = value if isinstance(value, list | tuple | set | frozenset | range) else [value]
    return frozenset(None if is_missing(one) else label_text(one) for one in values)


def number_or_day(text: str | None) -> float | None:
    """Return the number of a text, that of a day counted from the year 1, or None."""
    if is_day(text):
        return float(day_of(text).toordinal())  # type: ignore[union-attr]
    found = spelled(text, float)
    return float(found) if is_number(found) else None


def _matched(parts: list[Meaning], wanted: _Wanted) -> _Match:
    found = [_matched_part(part, wanted) for part in parts]
    if not found:
        return _ANYTHING
    n, size, met, always, numbers, total, low, high = zip(*found, strict=True)
    return _Match(sum(n), sum(size), any(met), all(always), sum(numbers), sum(total), min(low), max(high))


def _matched_part(part: Meaning, wanted: _Wanted) -> _Match:
    if isinstance(part, range):
        own = _within(part, wanted)
        ends = (own[0], own[-1]) if own else (inf, -inf)
        return _Match(len(own), len(part), len(own) > 0, len(own) == len(part), len(own), sum(own), *ends)
    if isinstance(part, pd.Interval):
        return _matched_bin(part, wanted)
    number = number_or_day(part)
    met = wanted is None or (
        part in wanted if isinstance(wanted, frozenset) else number is not None and number in wanted
    )
    if number is None or not met:
        return _Match(met, 1, met, met)
    return _Match(1, 1, True, True, 1, number, number, number)


def _within(run: range, wanted: _Wanted) -> Sequence[int]:
    """Return the whole numbers of a run that are wanted, ascending."""
    if wanted is None:
        return run
    if isinstance(wanted, frozenset):
        return [number for number in run if str(number) in wanted]
    low = floor(wanted.left) + 1 if wanted.open_left else ceil(wanted.left)
    high = ceil(wanted.right) - 1 if wanted.open_right else floor(wanted.right)
    return range(max(low, run.start), min(high + 1, run.stop))


def _matched_bin(part: pd.Interval, wanted: _Wanted) -> _Match:
    if isinstance(wanted, frozenset):
        held = [number for text in wanted if (number := number_or_day(text)) is not None and number in part]
        return _Match(0, part.length, bool(held), False, 0, 0, min(held, default=inf), max(held, default=-inf))
    if wanted is None:
        wanted = part
    if not part.overlaps(wanted):
        return _Match(0, part.length, False, False)
    low, high = max(part.left, wanted.left), min(part.right, wanted.right)
    always = low == part.left and high == part.right
    always &= not (part.closed_left and wanted.left == low and wanted.open_left)
    always &= not (part.closed_right and wanted.right == high and wanted.open_right)
    return _Match(high - low, part.length, True, always, high - low, (high - low) * (low + high) / 2, low, high)
