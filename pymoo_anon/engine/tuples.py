"""A table as its distinct quasi-identifier tuples and counts.

A search reads nothing else. A table of many rows and few distinct tuples is searched as fast as a small one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pymoo_anon._messages import examples
from pymoo_anon.typing import Ints


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Sparse counts of one column's values in each row.

    Row r holds `values[starts[r]:starts[r + 1]]` with their counts.

    Attributes:
        starts: (n + 1,) int64 array, where each row begins. Rows are distinct tuples or equivalence classes.
        values: int64 array of value codes in 0..n_values - 1, each at most once in a row, in no particular order.
        counts: int64 array of positive counts, as long as `values`.
        n_values: Number of distinct values of the column in the whole table.
    """

    starts: Ints
    values: Ints
    counts: Ints
    n_values: int

    def histogram(self) -> Ints:
        """(n, n_values) int64 array: how often each row holds each value."""
        n, own = len(self.starts) - 1, self.trimmed()
        dense = np.zeros((n, self.n_values), dtype=np.int64)
        dense[np.repeat(np.arange(n), np.diff(own.starts)), own.values] = own.counts
        return dense

    def trimmed(self) -> ValueCounts:
        """Return the same counts without the entries outside of these rows."""
        first, last = self.starts[0], self.starts[-1]
        return ValueCounts(self.starts - first, self.values[first:last], self.counts[first:last], self.n_values)

    def most_frequent(self) -> Ints:
        """(n,) int64 array: how often each row holds its most frequent value."""
        own = self.trimmed()
        return np.maximum.reduceat(own.counts, own.starts[:-1])

    def merged(self, row_of: Ints, n: int) -> ValueCounts:
        """Merge rows, (n_rows,) int64 numbers of their new rows."""
        return ValueCounts.added(np.repeat(row_of, np.diff(self.starts)), self.values, self.counts, n, self.n_values)

    @classmethod
    def added(cls, rows: Ints, values: Ints, counts: Ints, n: int, n_values: int) -> ValueCounts:
        """Return the value counts of n rows from entries of row, value and count."""
        cells, members = np.unique(rows * n_values + values, return_inverse=True)
        totals = np.zeros(len(cells), dtype=np.int64)
        np.add.at(totals, members, counts)
        starts = np.searchsorted(cells, np.arange(n + 1) * n_values)
        return cls(starts.astype(np.int64), cells % n_values, totals, n_values)


class DistinctTuples:
    """Distinct quasi-identifier tuples of a table, with their counts.

    Every array is a read-only copy, or the caller's own where that is read-only already.

    >>> tuples = DistinctTuples([[0, 2], [1, 2], [1, 0]], counts=[5, 1, 2], domain_sizes=(2, 3))
    >>> len(tuples), tuples.n_rows
    (3, 8)
    >>> tuples.marginals.tolist()
    [5, 3, 2, 0, 6]

    Args:
        codes: (n_distinct, n_attributes) integer array of domain positions.
        counts: (n_distinct,) integer array of positive counts.
        domain_sizes: Number of domain values of each attribute.
        columns: Per sensitive or label column its value counts in each distinct tuple.
        domains: Per such column, the values that the codes stand for.
        levels: Per attribute an (n_levels, n_values) integer array, the group maps of its hierarchy from special to
            general.
        names: The names of the attributes; their numbers where none are given.
        sensitive: The names of the sensitive columns.

    Attributes:
        n_rows: Number of tuples in the table, the sum of the counts.
        offsets: (n_attributes + 1,) int64 array, where each attribute's part of a group map begins.

    Raises:
        ValueError: There are no tuples or no attributes, or `codes` has another shape or positions that no domain has.
    """

    def __init__(
        self,
        codes: Ints,
        counts: Ints,
        domain_sizes: tuple[int, ...],
        columns: Mapping[Any, ValueCounts] | None = None,
        domains: Mapping[Any, Sequence[Hashable]] | None = None,
        levels: Sequence[Ints] = (),
        names: Sequence[Hashable] = (),
        sensitive: Sequence[Hashable] = (),
    ) -> None:
        self.codes = _frozen(codes)
        self.counts = _frozen(counts)
        self.domain_sizes = domain_sizes
        # Compiled loops read and write wherever a code leads them.
        n, n_attributes = len(self.counts), len(domain_sizes)
        if self.codes.shape != (n, n_attributes) or not self.codes.size:
            raise ValueError(
                "codes must have a row for each of counts and a column for each of domain_sizes, at least one, got "
                f"shape {self.codes.shape} for {n} counts and {n_attributes} sizes"
            )
        outside = (self.codes < 0) | (self.codes >= domain_sizes)
        if outside.any():
            raise ValueError(
                f"codes must be positions in domains of {examples(domain_sizes)} values, got "
                f"{examples(self.codes[outside].tolist())}"
            )
        self.columns = {
            name: ValueCounts(_frozen(column.starts), _frozen(column.values), _frozen(column.counts), column.n_values)
            for name, column in (columns or {}).items()
        }
        self.domains = {name: tuple(domain) for name, domain in (domains or {}).items()}
        self.levels = tuple(_frozen(maps) for maps in levels)
        self.names = tuple(names) or tuple(range(len(domain_sizes)))
        self.sensitive = tuple(sensitive)
        self.n_rows = int(self.counts.sum())
        self._totals: dict[Hashable, Ints] = {}
        self.offsets = _frozen(np.concatenate([[0], np.cumsum(domain_sizes)]))

    def __len__(self) -> int:
        """Return the number of distinct tuples."""
        return len(self.counts)

    def __deepcopy__(self, memo: dict[int, Any]) -> DistinctTuples:
        """Itself: nothing in it changes."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_totals": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        columns = self.columns.values()
        arrays = [self.codes, self.counts, self.offsets, *self.levels]
        # A pickle forgets that an array is read-only. For arrays that can be written numba compiles everything again.
        for array in arrays + [array for column in columns for array in (column.starts, column.values, column.counts)]:
            array.flags.writeable = False

    @cached_property
    def marginals(self) -> Ints:
        """(n_codes,) int64 array: how many tuples hold each domain value, attribute after attribute."""
        totals = np.zeros(self.offsets[-1], dtype=np.int64)
        for attribute, offset in enumerate(self.offsets[:-1]):
            np.add.at(totals, offset + self.codes[:, attribute], self.counts)
        return totals

    def check_role(self, column: Hashable, reader: object) -> None:
        """Refuse a column without a role.

        Args:
            column: Its name.
            reader: What wants to read it, for the error.

        Raises:
            ValueError: The table does not count the values of such a column.
        """
        if column not in self.columns:
            raise ValueError(
                f"{reader!r} reads column {column!r}, which has no role in the table; "
                f"columns with a role: {examples(list(self.columns))}"
            )

    def totals(self, column: Hashable) -> Ints:
        """Return the counts of a column's values in the table, (n_values,) int64.

        Raises:
            KeyError: The table does not count the values of such a column.
        """
        if column not in self._totals:
            counts = self.columns[column]
            totals = np.zeros(counts.n_values, dtype=np.int64)
            np.add.at(totals, counts.values, counts.counts)
            self._totals[column] = _frozen(totals)
        return self._totals[column]


def _frozen(array: Any) -> Ints:
    """Return a read-only int64 array, copied if necessary."""
    if isinstance(array, np.ndarray) and array.dtype == np.int64 and not array.flags.writeable:
        return array
    copy = np.array(array, dtype=np.int64)
    copy.flags.writeable = False
    return copy
