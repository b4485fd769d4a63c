"""Profiles of columns: how many distinct values a column of any frame holds, how many are missing, and the values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from pymoo_anon.table.frames import combinations_of

#: Values of columns with more distinct ones are not fetched: nobody edits a hierarchy of so many rows.
MOST_VALUES = 100_000


class Profile(NamedTuple):
    """What a column holds.

    Attributes:
        name: Its name.
        n_rows: Number of rows of the table.
        n_distinct: Number of its distinct values, without what is missing.
        n_missing: Number of rows without a value.
        values: Its distinct values, None among them where some are missing; empty where they are too many.
        counts: How many rows hold each.
    """

    name: str
    n_rows: int
    n_distinct: int
    n_missing: int
    values: Sequence[Any]
    counts: Sequence[int]

    @property
    def is_unique(self) -> bool:
        """Whether no value stands in two rows, in a table where that means something."""
        return self.n_distinct == self.n_rows - self.n_missing and self.n_distinct > 1

    def __str__(self) -> str:
        """The counts in words, without any value."""
        distinct = f"{self.n_distinct:,} distinct value{'s' * (self.n_distinct != 1)}"
        return distinct + (f", {self.n_missing:,} missing" if self.n_missing else "")


def profiles_of(frame: Any, names: Sequence[str]) -> list[Profile]:
    """The profiles of the columns of a frame, counted where it lives."""
    asked = [nw.len().alias("n")]
    for i, name in enumerate(names):
        asked += [nw.col(name).n_unique().alias(f"distinct {i}"), nw.col(name).null_count().alias(f"missing {i}")]
    counted: Any = nw.from_native(frame).select(*asked)
    if isinstance(counted, nw.LazyFrame):
        counted = counted.collect(None if counted.implementation.is_polars() else "pandas")
    (row,) = counted.rows(named=True)
    if not row["n"]:
        raise ValueError("the table must have at least one row, got none")
    return [_profile(frame, name, row["n"], row[f"distinct {i}"], row[f"missing {i}"]) for i, name in enumerate(names)]


def _profile(frame: Any, name: str, n_rows: int, n_unique: int, n_missing: int) -> Profile:
    """The profile of one column; what is missing is one of its unique values."""
    n_distinct = n_unique - (n_missing > 0)
    if n_distinct > MOST_VALUES:
        return Profile(name, n_rows, n_distinct, n_missing, [], [])
    found = combinations_of(frame, [name])
    column = found.columns[name].astype(object)
    absent = column.isna().to_numpy()
    # A number that is none, NaN, is missing too.
    n_missing = int(found.weights[absent].sum())
    values = [None if gone else value for value, gone in zip(column.tolist(), absent, strict=True)]
    return Profile(name, n_rows, int(np.count_nonzero(~absent)), n_missing, values, found.weights.tolist())
