"""Recounts of a released table by plain dataframe operations, without the engine."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pymoo_anon._messages import examples, repeated
from pymoo_anon.table.domain_values import Name, label_text
from pymoo_anon.table.generalization import SUPPRESSED, Decoded, Generalization, LocalGeneralization, label_texts
from pymoo_anon.table.hierarchy import Hierarchy, fitted
from pymoo_anon.typing import Bools, Ints


class _Missing:
    """The mark of a missing value. None and NaN are one, and equal. It is sorted behind all values."""

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return self is not other

    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


def values_of(values: Sequence[Any] | pd.Series) -> pd.Series:
    """Return values as objects, with `MISSING` for a missing one."""
    if isinstance(values, pd.Series) and isinstance(values.dtype, pd.StringDtype):
        # Each text is made an object once.
        values = values.astype("category")
    column = pd.Series(values, dtype=object).reset_index(drop=True)
    return column.where(column.notna(), MISSING)


@dataclass(frozen=True)
class Labels:
    """The labels that a column may hold, by their texts."""

    texts: list[str | None]  # The text of each label
    places: list[Ints]  # For each label the positions in the domain that it stands for, ascending
    levels: list[int] | None  # For each label the level of its cells; None where there are no levels
    n_values: int  # The number of values of the domain
    of: str  # The thing that they label, in words

    @cached_property
    def index(self) -> pd.Index:
        """The texts as an index."""
        return pd.Index(values_of(self.texts), dtype=object)

    @property
    def extents(self) -> pd.Series[int]:
        """The number of domain values that each label stands for."""
        return pd.Series([len(places) for places in self.places], index=self.index)

    def totals(self, by_value: Ints) -> pd.Series[int]:
        """Sum an (n_values,) array over the values of each label."""
        return pd.Series([int(by_value[places].sum()) for places in self.places], index=self.index)

    def members(self, labels: Sequence[Any]) -> Bools:
        """Tell which values of the domain some labels stand for. (n, n_values) Boolean array."""
        found = self.index.get_indexer(pd.Index(values_of(labels), dtype=object))
        if unknown := [label for label, place in zip(labels, found, strict=True) if place < 0]:
            raise ValueError(f"must hold labels of its {self.of}, got {examples(unknown)}")
        made = np.zeros((len(labels), self.n_values), dtype=np.bool_)
        for row, place in enumerate(found):
            made[row, self.places[place]] = True
        return made


def _labels_of_nodes(name: Name, hierarchy: Hierarchy) -> Labels:
    known: dict[str | None, tuple[Ints, int]] = {}
    for level, (groups, labels) in enumerate(zip(hierarchy.groups, hierarchy.labels, strict=True)):
        for label, places in zip(labels, by_group(groups), strict=True):
            first, _ = known.setdefault(label_text(label), (places, level))
            if not np.array_equal(first, places):
                raise ValueError(
                    f"the hierarchy of {name!r} must have each label for one set of values, got {label!r} for two"
                )
    levels = [level for _, level in known.values()]
    return Labels(list(known), [places for places, _ in known.values()], levels, len(hierarchy.domain), "hierarchy")


def by_group(groups: Ints) -> list[Ints]:
    """Return the places in each group that occurs, ascending."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)


#: The result of a recount: exact, or a float.
Recounted: TypeAlias = int | float | Fraction | Decimal


class Recount:
    """A released table as its equivalence classes, counted anew.

    Rows that hold `*` in every quasi-identifier are one class, as an attacker sees them. They are suppressed rows where
    other rows hold something else, unless a local recoding says that they are a class as any other.

    The groups of a generalization give labels their values. Without a generalization each cell is read by itself: its
    label may be of any level of its hierarchy.
    """

    def __init__(
        self,
        frame: Any,
        quasi_identifiers: Sequence[Name],
        columns: Sequence[Name] = (),
        original: Any = None,
        hierarchies: Mapping[Name, Hierarchy] | None = None,
        generalization: Decoded | None = None,
        sensitive: Sequence[Name] = (),
    ) -> None:
        self.sensitive = tuple(sensitive)
        self.names = list(quasi_identifiers)
        if not self.names:
            raise ValueError("quasi_identifiers must name at least one column, got none")
        if twice := repeated(self.names):
            raise ValueError(f"quasi_identifiers must name each column once, got more than once: {examples(twice)}")
        self._original = original
        self._hierarchies, self._generalization = hierarchies, generalization
        self._wholes: dict[Name, pd.Series[int]] = {}
        # One pass over the release: it may be large, and made anew whenever it is asked.
        self.columns = [*self.names, *(name for name in dict.fromkeys(columns) if name not in self.names)]
        self.found = combinations(frame, self.columns)
        keys = self._keys(self.names)
        groups = self.found.groupby(keys, sort=False)
        self._cell_of = groups.ngroup()
        self.cells = groups.n.sum().reset_index()
        if self.n_released == 0:
            raise ValueError("frame must have at least one row, got none")

    def agreeing(self, names: Sequence[Name]) -> Recount:
        """Return the table by classes that agree on some quasi-identifiers. Marked rows agree with no others."""
        made, marked = copy.copy(self), self.marked.to_numpy()[self._cell_of]
        cell_of = marked.astype(np.int64)
        # Cells are numbered again with each column: this is asked for thousands of sets of names.
        for key in self._keys(names):
            numbers = self._numbers[key]
            cell_of = pd.factorize(cell_of * len(numbers) + numbers)[0]
        made._cell_of = pd.Series(cell_of)
        made.cells = pd.DataFrame({"n": np.bincount(cell_of, self.found.n).astype(np.int64)})
        made.marked = pd.Series(np.bincount(cell_of, marked) > 0)
        return made

    @cached_property
    def _numbers(self) -> dict[str, Ints]:
        return {key: pd.factorize(self.found[key])[0] for key in self._keys(self.names)}

    @property
    def n_released(self) -> int:
        """Number of rows of the release."""
        return int(self.cells.n.sum())

    @cached_property
    def n_rows(self) -> int:
        """Number of rows of the original table, or of the release without one."""
        if self._original is None:
            return self.n_released
        n_rows = int(self.whole(self.names[0]).sum())
        if n_rows < self.n_released:
            raise ValueError(
                f"original must have all rows of the release, got {n_rows:,} rows and {self.n_released:,} in the "
                "release"
            )
        return n_rows

    @cached_property
    def marked(self) -> pd.Series[bool]:
        """Whether each class is that of the suppressed rows."""
        stars = (self.cells[self._keys(self.names)] == SUPPRESSED).all(axis=1)
        if isinstance(self._generalization, LocalGeneralization):
            return stars & (not self._generalization.kept.all())
        # Where the whole table is one group, its rows are not suppressed.
        is_root = self._generalization is None or all(own.texts == [SUPPRESSED] for own in self.labels.values())
        return stars & (not (bool(stars.all()) and is_root))

    @property
    def n_suppressed(self) -> int:
        """Number of rows that are marked or dropped."""
        return int(self.cells.n[self.marked].sum()) + self.n_rows - self.n_released

    @property
    def sizes(self) -> pd.Series[int]:
        """The size of every class, with marked rows as one."""
        return self.cells.n

    @property
    def kept(self) -> pd.Series[int]:
        """The size of every class that is not marked."""
        return self.cells.n[~self.marked]

    @property
    def n_classes(self) -> int:
        """Number of classes, with all suppressed rows as one."""
        return len(self.kept) + (self.n_suppressed > 0)

    @cached_property
    def original(self) -> pd.DataFrame:
        """The distinct tuples of the original, as places in the domains."""
        table, keys = combinations(self.source, self.names), self._keys(self.names)
        for key, name in zip(keys, self.names, strict=True):
            codes, values = pd.factorize(table[key])
            table[key] = self.places(name, list(values))[codes]
        # Several numbers may be of one bin, and several moments of one day.
        return table.groupby(keys, as_index=False, sort=False)[["n"]].sum()

    @property
    def source(self) -> Any:
        """The original."""
        if self._original is None:
            raise ValueError("original must be the table that was released, got None; the measure compares with it")
        return self._original

    @property
    def hierarchies(self) -> Mapping[Name, Hierarchy]:
        """The hierarchy of each quasi-identifier."""
        lacking = [name for name in self.names if name not in (self._hierarchies or {})]
        if self._hierarchies is None or lacking:
            raise ValueError(f"hierarchies must have one for every quasi-identifier, got none for {examples(lacking)}")
        return self._hierarchies

    @cached_property
    def labels(self) -> dict[Name, Labels]:
        """The labels of each quasi-identifier."""
        known, hierarchies = self._generalization, self._hierarchies
        if hierarchies is None:
            hierarchies = known.quasi_identifiers if isinstance(known, LocalGeneralization) else {}
        lacks_names = known is not None and list(known.labels) != self.names
        if lacks_names or (known is None and any(name not in hierarchies for name in self.names)):
            got = None if known is None else examples(list(known.labels))
            raise ValueError(
                f"generalization must be the one that recoded {examples(self.names)}, got {got}; the measure counts "
                "the values of each label, and the hierarchies of all of these columns serve as well"
            )
        if isinstance(known, Generalization):
            texts, groups = label_texts(known.labels), known.groups
            return {
                name: Labels(texts[name], by_group(own), None, len(own), "generalization")
                for name, own in groups.items()
            }
        return {name: _labels_of_nodes(name, hierarchies[name]) for name in self.names}

    @property
    def is_local(self) -> bool:
        """Whether each cell is read by itself."""
        return not isinstance(self._generalization, Generalization)

    def became(self, name: Name, places: Ints) -> pd.Series:
        """Return the label of each place in a full-domain recoding."""
        assert isinstance(self._generalization, Generalization)
        texts = self.labels[name].texts
        return values_of([texts[group] for group in self._generalization.groups[name][places]])

    def places(self, name: Name, values: Sequence[Any]) -> Ints:
        """Return the places of original values in the domain."""
        given = [None if value is MISSING else value for value in values]
        return fitted(name, self.hierarchies[name], given)[1]

    def held(self, name: Name) -> pd.Series[int]:
        """Count the original rows that each label of a quasi-identifier covers."""
        rows = self.original.groupby(f"column {self.names.index(name)}", sort=False).n.sum()
        by_value = np.zeros(self.labels[name].n_values, dtype=np.int64)
        by_value[rows.index] = rows
        return self.labels[name].totals(by_value)

    def of_labels(self, name: Name) -> pd.Series[int]:
        """Count the kept rows that hold each label of a quasi-identifier."""
        cells, labels = self._kept_labels(name), self.labels[name]
        return self.cells.n.groupby(cells, sort=False).sum().reindex(labels.index, fill_value=0)

    def extents(self, name: Name) -> pd.Series[int]:
        """Return how many domain values the label of each kept class covers."""
        return self._kept_labels(name).map(self.labels[name].extents)

    def _kept_labels(self, name: Name) -> pd.Series:
        cells, labels = self.cells[~self.marked][self._keys([name])[0]], self.labels[name]
        if unknown := [label for label in cells.unique() if label not in labels.index]:
            raise ValueError(f"column {name!r} must hold labels of its {labels.of}, got {examples(unknown)}")
        return cells

    def counts(self, column: Name) -> pd.DataFrame:
        """Count each value of a column in each class. Columns: `cell`, `value`, `n`."""
        if column not in self.columns:
            raise KeyError(f"frame must have the column {column!r} to count it again")
        pairs = self.found.assign(cell=self._cell_of, value=self.found[self._keys([column])[0]])
        return pairs.groupby(["cell", "value"], as_index=False, sort=False)[["n"]].sum()

    def whole(self, column: Name) -> pd.Series[int]:
        """Count each value of a column in the original table."""
        if column not in self._wholes:
            if self._original is None:
                table, key = self.found, self._keys([column])[0]
            else:
                table, key = combinations(self._original, [column]), "column 0"
            self._wholes[column] = table.groupby(key, sort=False).n.sum()
        return self._wholes[column]

    def shares(self, column: Name) -> pd.DataFrame:
        """Return each value's shares of class and table, p and q.

        Columns: `cell`, `value`, `n`, `size`, `whole`, `rows`, `p` and `q`.
        """
        pairs, whole = self.counts(column), self.whole(column)
        if unknown := [value for value in pairs.value.unique() if value not in whole.index]:
            got = f"{examples(unknown)}; where types alone differ, give both tables in one format"
            raise ValueError(f"column {column!r} must hold values of the original, got {got}")
        size, held, rows = self.sizes.to_numpy()[pairs.cell], pairs.value.map(whole).astype("int64"), int(whole.sum())
        return pairs.assign(size=size, whole=held, rows=rows, p=pairs.n / size, q=held / rows)

    @staticmethod
    def logarithm(ratio: Fraction) -> Decimal:
        """Return the natural logarithm of a ratio to 28 digits."""
        return Decimal(ratio.numerator).ln() - Decimal(ratio.denominator).ln()

    @staticmethod
    def logarithms(counts: pd.Series[int]) -> pd.Series:
        """Return the natural logarithms of counts to 28 digits."""
        known = {count: Decimal(int(count)).ln() for count in counts.unique()}
        return counts.map(known).astype(object)

    def weighed_logarithms(self, weights: pd.Series[int], counts: pd.Series[int]) -> Decimal:
        """Return the weighted sum of the logarithms of counts."""
        return sum(map(mul, weights.tolist(), self.logarithms(counts)), Decimal(0))

    def _keys(self, names: Sequence[Name]) -> list[str]:
        return [f"column {self.columns.index(name)}" for name in names]


def combinations(frame: Any, names: Sequence[Name]) -> pd.DataFrame:
    """Count the distinct combinations of some columns."""
    # Loaded late: only a release is counted again.
    from pymoo_anon.table.frames import combinations_of

    found = combinations_of(frame, names)
    columns = {f"column {i}": values_of(found.columns[name]) for i, name in enumerate(names)}
    table = pd.DataFrame({**columns, "n": found.weights})
    if not any(column.dtype == object and column.hasnans for column in found.columns.values()):
        return table
    # None and NaN are one, and only objects hold both.
    return table.groupby(list(columns), as_index=False, sort=False)[["n"]].sum()
