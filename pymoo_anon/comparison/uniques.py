"""Unique rows of a table by sets of its columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from math import comb, prod
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon._messages import counted, examples, listed, percent, repeated
from pymoo_anon.engine.classes import SLOTS_OF_A_ROW
from pymoo_anon.table.domain_values import Name, is_number
from pymoo_anon.table.frames import keyed, renamed, row_codes, rows_of
from pymoo_anon.table.microdata import names_of
from pymoo_anon.typing import Bools, Floats, Ints

#: Sizes of classes that are counted: a row in a class below 2 is unique; 12 is for a risk of 0.09 (EMA, Health Canada).
SMALL_CLASSES = (2, 5, 12)

#: Greatest number of columns of a minimal unique set.
MOST_COLUMNS = 3

# Sets of columns are counted while rows times sets are at most so many, about 10 s. Few rows take as long as 2,000.
_MOST_READ, _LEAST_ROWS = 5 * 10**8, 2000

Columns = tuple[Hashable, ...]


@dataclass(frozen=True)
class Uniqueness:
    """Rows of a table that few others equal.

    Attributes:
        n_rows: Number of rows.
        columns: The columns that are counted.
        sets: One row for each column, each pair, and all columns, with most unique rows first. Columns: columns, a
            tuple of names; below 2, below 5 and below 12, the numbers of rows in classes of fewer rows.
        added: By column, how many unique rows there are less without it, the most first.
        minimal: One row for each minimal unique set, with most rows first. Columns: columns, a tuple of names; rows,
            the number of rows that it singles out and no part of it does.
        with_minimal: By number of columns, how many rows have a minimal unique set of so many.
    """

    n_rows: int
    columns: Columns
    sets: pd.DataFrame
    added: pd.Series
    minimal: pd.DataFrame
    with_minimal: dict[int, int]

    @property
    def largest(self) -> int:
        """The number of columns in the largest counted sets."""
        return max(self.with_minimal)

    def worst(self, most: int) -> list[Columns]:
        """Return all columns, and the pairs and columns with most unique rows."""
        sets = [own for own in self.sets["columns"] if own != self.columns]
        return [self.columns, *(own for n in (2, 1) for own in [one for one in sets if len(one) == n][:most])]

    def below(self, columns: Columns) -> dict[int, int]:
        """Return the numbers of rows in small classes by a set of columns."""
        place = self.sets["columns"].tolist().index(columns)
        return {size: int(self.sets[f"below {size}"].iloc[place]) for size in SMALL_CLASSES}

    def table(self, most: int) -> list[list[str]]:
        """Return a heading, and rows of text by sets of columns.

        They have unique rows, their share, and rows in small classes, for all columns and the worst sets of them.
        """
        lines = [["rows", "unique", "", *(f"in classes below {least}" for least in SMALL_CLASSES[1:])]]
        for columns in self.worst(most):
            unique, *others = self.below(columns).values()
            named = "all" if columns == self.columns else listed(map(str, columns))
            lines.append([f"by {named}", f"{unique:,}", percent(unique / self.n_rows), *(f"{n:,}" for n in others)])
        return lines

    @property
    def fewer(self) -> list[str]:
        """The columns without which fewer rows are unique."""
        return [f"{name} ({n:,})" for name, n in self.added.items() if n]

    def singled_out(self, most: int) -> list[str]:
        """Say how many rows have minimal unique sets, by size. The most frequent sets are named."""
        sizes = [f"{n:,} by {counted(size, 'column', 'columns')}" for size, n in self.with_minimal.items()]
        sets = self.minimal.head(most).itertuples(index=False, name=None)
        told = [f"  {n:,} by {listed(map(str, own))}" for own, n in sets]
        if self.largest < min(len(self.columns), MOST_COLUMNS):
            told.append(f"Sets of {self.largest + 1} columns are too many to count; --column names fewer.")
        return [f"Rows with a minimal set that singles them out: {listed(sizes)}.", *told]


def uniqueness(frame: Any, columns: Name | Sequence[Name]) -> Uniqueness:
    """Count unique and nearly unique rows by sets of columns.

    A set of columns singles a row out if no other row has its values there. It is a minimal unique set of the row if
    no part of it does so (Elliot, Manning and Ford 2002, special uniques). Sets of up to three columns are counted, of
    fewer where rows times sets are too many. A missing value is a value.

    Args:
        frame: The table: pandas, or a frame that narwhals reads.
        columns: The columns that others may know, at least one.

    Raises:
        KeyError: The frame lacks a column.
        ValueError: No column is named, one is named twice, or the frame has no row.

    >>> frame = pd.DataFrame({"zip": [1, 1, 2, 2], "sex": ["F", "M", "M", "M"]})
    >>> found = uniqueness(frame, ["zip", "sex"])
    >>> found.below(("zip", "sex")), found.added.to_dict(), found.with_minimal
    ({2: 2, 5: 4, 12: 4}, {'sex': 2, 'zip': 1}, {1: 1, 2: 1})
    >>> found.minimal.to_numpy().tolist()
    [[('sex',), 1], [('zip', 'sex'), 1]]
    """
    names = names_of(columns)
    coded = _coded(frame, names)
    sizes, places = _sizes(keyed(coded)), tuple(range(len(names)))
    n_alone, largest = int((sizes == 1).sum()), _largest(len(names), len(sizes))
    below, minimal = {}, {}
    some = {size: np.zeros(len(sizes), dtype=bool) for size in range(1, largest + 1)}
    for own, of_own, new in _sets(coded, largest):
        if len(own) < MOST_COLUMNS:
            below[own] = [int((of_own < least).sum()) for least in SMALL_CLASSES]
        some[len(own)] |= new
        if new.any():
            minimal[own] = [int(new.sum())]
    below[places] = [int((sizes < least).sum()) for least in SMALL_CLASSES]
    return Uniqueness(
        len(sizes),
        names,
        _by_columns(names, below, [f"below {least}" for least in SMALL_CLASSES]),
        _fewer_without(names, coded, n_alone),
        _by_columns(names, minimal, ["rows"]),
        {size: int(own.sum()) for size, own in some.items()},
    )


@dataclass(frozen=True)
class SpecialUniques:
    """Scores of rows that are unique by few columns.

    Attributes:
        scores: (n_rows,) float array, the SUDA score of each row, 0 for a row that is not unique.
        risks: (n_rows,) float array, the DIS-SUDA score: how likely a unique match is right, 0 if it takes all columns.
        contribution: By column, the share of all scores from minimal unique sets with it.
    """

    scores: Floats
    risks: Floats
    contribution: pd.Series


def special_uniques(frame: Any, columns: Name | Sequence[Name], fraction: float = 0.01) -> SpecialUniques:
    """Score rows by their minimal unique sets of up to three columns.

    A set of s of the n columns scores the product of n - s, n - s - 1, ..., n - m for sets of at most m columns, and a
    row scores the sum of its sets (SUDA; Elliot, Manning, Mayes, Gurd and Bane 2005). Risks divide the risk of the file
    among its unique rows (Elliot and Manning 2003), as sdcMicro does with `original_scores=FALSE`.

    Args:
        frame: The table: pandas, or a frame that narwhals reads.
        columns: The columns that others may know, at least one.
        fraction: The share of the population in the table, above 0 and at most 1.

    Raises:
        KeyError: The frame lacks a column.
        ValueError: The fraction is no share; no column is named, one is named twice, or the frame has no row.

    >>> frame = pd.DataFrame({"zip": [1, 1, 2, 2], "sex": ["F", "M", "M", "M"]})
    >>> found = special_uniques(frame, ["zip", "sex"])
    >>> found.scores.tolist(), found.contribution.round(2).to_dict()
    ([1.0, 1.0, 0.0, 0.0], {'zip': 0.5, 'sex': 1.0})
    """
    if not is_number(fraction) or not 0 < fraction <= 1:
        raise ValueError(f"fraction must be above 0 and at most 1, got {fraction!r}")
    names = names_of(columns)
    coded, n = _coded(frame, names), len(names)
    sizes = _sizes(keyed(coded))
    alone, largest = sizes == 1, _largest(n, len(sizes))
    most = min(largest, n - 1)
    scores, weights = np.zeros((2, len(sizes)))
    shares = np.zeros(n)
    for own, _, new in _sets(coded, largest):
        score = prod(n - size for size in range(len(own), most + 1))
        scores[new] += score
        # Over 2 ** n, which would be beyond the floats for many columns. Only their ratios matter.
        weights[new] += (2.0 ** -len(own) - 2.0**-n) / comb(n, len(own))
        shares[[*own]] += score * new.sum()
    found = np.zeros((2, len(sizes)))
    found[:, alone] = scores[alone], _divided_risk(weights[alone], n, int((sizes == 2).sum()), float(fraction))
    index = pd.Index(names, tupleize_cols=False)
    return SpecialUniques(found[0], found[1], pd.Series(shares / max(scores.sum(), 1), index))


def _divided_risk(weights: Floats, n_columns: int, n_paired: int, fraction: float) -> Floats:
    n_unique, chosen = len(weights), weights > 0
    risks = np.zeros(n_unique)
    if chosen.any():
        of_file = n_unique * fraction / (n_unique * fraction + n_paired * (1 - fraction))
        # Beyond 28 columns the exponent would turn the order of the rows around.
        powers = weights[chosen] ** max(1 + (8 - n_columns) / 20, 0.0)
        odds = n_unique * (1 / of_file - 1)
        risks[chosen] = 1 / (1 + odds / (powers * (1 / powers).sum()))
    return risks


def _coded(frame: Any, names: Columns) -> list[Ints]:
    if not names or repeated(names):
        raise ValueError(f"columns must name at least one column, each once, got {examples(names) or 'none'}")
    source = renamed(frame)
    if unknown := [name for name in names if name not in source.names]:
        raise KeyError(f"frame must have the columns {examples(unknown)}, got columns {examples(source.names)}")
    rows, _ = rows_of(source.frame)
    if not len(rows):
        raise ValueError("frame must have at least one row, got none")
    return [row_codes(rows[source.alias(name)]) for name in names]


def _sizes(ids: Ints) -> Ints:
    """Return how many rows have each row's number. (n_rows,) int64 array."""
    ids = ids if ids.max(initial=0) < SLOTS_OF_A_ROW * len(ids) else pd.factorize(ids)[0]
    return np.bincount(ids)[ids]


def _sets(coded: Sequence[Ints], largest: int) -> Iterator[tuple[tuple[int, ...], Ints, Bools]]:
    """Yield sets of columns, sizes of classes, and newly unique rows."""
    # Each set keeps the rows that it singles out.
    singled: dict[tuple[int, ...], Bools] = {(): np.zeros(len(coded[0]), dtype=bool)}
    for size in range(1, largest + 1):
        found = {}
        for own in combinations(range(len(coded)), size):
            by_parts = np.logical_or.reduce([singled[part] for part in combinations(own, size - 1)])
            # A row that a part singles out has a class of its own.
            others = ~by_parts if 2 * by_parts.sum() > len(by_parts) else slice(None)
            sizes = np.ones(len(by_parts), dtype=np.int64)
            sizes[others] = _sizes(keyed(coded[j][others] for j in own))
            if size < MOST_COLUMNS:
                found[own] = sizes == 1
            yield own, sizes, (sizes == 1) & ~by_parts
        singled = found


def _largest(n_columns: int, n_rows: int) -> int:
    """Return the size of the largest sets that can be counted soon."""
    sizes = range(1, min(n_columns, MOST_COLUMNS) + 1)
    n_read = max(n_rows, _LEAST_ROWS)
    return max(size for size in sizes if size == 1 or comb(n_columns, size) * n_read <= _MOST_READ)


def _fewer_without(names: Columns, coded: Sequence[Ints], n_alone: int) -> pd.Series:
    """Count the unique rows that are lost without each column."""
    before, after = ([*accumulate(own, lambda *both: keyed(both))] for own in (coded, coded[::-1]))
    after.reverse()
    found = []
    for j in range(len(coded)):
        beside = [*before[max(j - 1, 0) : j], *after[j + 1 : j + 2]]
        # Without any column no row differs from another.
        n_left = int((_sizes(keyed(beside)) == 1).sum()) if beside else int(len(coded[0]) == 1)
        found.append(n_alone - n_left)
    by_column = pd.Series(found, pd.Index(names, tupleize_cols=False), dtype="int64")
    return by_column.sort_values(ascending=False, kind="stable")


def _by_columns(names: Columns, rows: dict[tuple[int, ...], list[int]], counts: list[str]) -> pd.DataFrame:
    found = pd.DataFrame([*rows.values()], columns=counts, dtype="int64")
    found.insert(0, "columns", pd.Series([tuple(names[j] for j in own) for own in rows], dtype=object))
    return found.sort_values(counts, ascending=False, kind="stable", ignore_index=True)
