"""What a lower bound prices: tuples, or pairs of a tuple and a value where a class needs several values."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.arrays import Ints, Ints32
from pymoo_anon.recoding.requirements import Kind, Tests
from pymoo_anon.recoding.trees import Trees

# What rounding may make of a share.
_ROUNDING = 1e-9


class Items(NamedTuple):
    """Tuples, or pairs of a tuple and a value, and what every class needs of them."""

    positions: Ints32  # (n_items, n_attributes) int32, as of `Trees`
    rows: Ints  # (n_items,) int64, the rows that an item stands for
    values: Ints  # (n_items,) int64, the value of a pair, counted from 0
    tuples: Ints  # (n_items,) int64, the tuple of each item
    k: int  # The least number of rows of a class, at least `n_values`
    n_values: int  # The least number of distinct values of a class, 0 where it does not matter

    @classmethod
    def of(cls, trees: Trees, k: int) -> Items:
        """Tuples, where classes need k rows."""
        n = len(trees.rows)
        return cls(trees.positions, trees.rows, np.zeros(n, dtype=np.int64), np.arange(n), int(k), 0)

    @classmethod
    def readings(cls, trees: Trees, tests: Tests) -> Iterator[Items]:
        """What each requirement makes necessary of every class; each alone gives a lower bound.

        Numbers of rows and of distinct values are read. The rest of a requirement is not, which can only make a bound
        lower. Where the whole table breaks one, all tuples are one class whatever is required, and k alone is read.
        """
        kept = tests.keeps_whole(trees.rows)
        needed = [_least_values(tests, t) if kept else 1 for t in range(len(tests.kinds))]
        # A class of so many values has as many rows.
        k = max([tests.k, *needed])
        if max(needed, default=1) == 1:
            yield cls.of(trees, k)
        for t, n_values in enumerate(needed):
            if n_values > 1:
                yield cls._pairs(trees, tests, t, k, n_values)

    @classmethod
    def _pairs(cls, trees: Trees, tests: Tests, t: int, k: int, n_values: int) -> Items:
        """Pairs of a tuple and a value that one test reads."""
        tuples = np.repeat(np.arange(len(trees.rows)), np.diff(tests.starts))
        own = (tests.first[t] <= tests.values) & (tests.values < tests.stop[t])
        tuples, values = tuples[own], tests.values[own] - tests.first[t]
        positions = np.ascontiguousarray(trees.positions[tuples])
        return cls(positions, tests.counts[own], values, tuples, k, n_values)


def _least_values(tests: Tests, t: int) -> int:
    """How many distinct values a class has at least if it holds a requirement.

    A share of the most frequent of n values is at least 1 / n, and exp(entropy) at most n. Where the distance from the
    table is at most t, the values of a class have a share of 1 - t in the table, or some value would gain too much;
    where no share is above 1 + beta times the table's, they have a share of 1 / (1 + beta).
    """
    kind, bound = Kind(int(tests.kinds[t])), float(tests.bounds[t])
    if kind <= Kind.RECURSIVE:
        return max(ceil(bound), 1)
    if kind == Kind.ALPHA:
        return max(ceil(1.0 / bound - _ROUNDING), 1)
    if kind == Kind.ORDER or tests.levels[t] > 1:
        return 1
    share = 1.0 - bound if kind == Kind.TREE else 1.0 / (1.0 + bound)
    totals = np.sort(tests.totals[tests.first[t] : tests.stop[t]])[::-1]
    return int(np.searchsorted(np.cumsum(totals), (share - _ROUNDING) * tests.n_rows)) + 1
