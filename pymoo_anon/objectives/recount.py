"""Counting a released table again: classes and values by plain dataframe operations, nothing of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from operator import mul
from typing import Any, TypeAlias

import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import combinations_of
from pymoo_anon.table.generalization import SUPPRESSED, Generalization, label_texts
from pymoo_anon.table.hierarchy import Hierarchy, fitted

#: What a measure counts again: exact, or a float.
Counted: TypeAlias = int | float | Fraction | Decimal


class _Missing:
    """What stands for a missing value: None and NaN are one, and equal."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


class Recount:
    """A released table as its equivalence classes, counted anew.

    Rows that hold `*` in every quasi-identifier are one class, as an attacker sees them. They are suppressed rows
    where other rows hold something else.
    """

    def __init__(
        self,
        frame: Any,
        quasi_identifiers: Sequence[Name],
        columns: Sequence[Name] = (),
        original: Any = None,
        hierarchies: Mapping[Name, Hierarchy] | None = None,
        generalization: Generalization | None = None,
    ) -> None:
        self.names = list(quasi_identifiers)
        if not self.names:
            raise ValueError("quasi_identifiers must name at least one column, got none")
        self._original = original
        self._hierarchies, self._generalization = hierarchies, generalization
        self._wholes: dict[Name, pd.Series[int]] = {}
        # One pass over the release: it may be large, and made anew whenever it is asked.
        self._columns = [*self.names, *(name for name in dict.fromkeys(columns) if name not in self.names)]
        self._found = combinations(frame, self._columns)
        keys = self._keys(self.names)
        groups = self._found.groupby(keys, sort=False)
        self._cell_of = groups.ngroup()
        self.cells = groups.n.sum().reset_index()
        if self.n_released == 0:
            raise ValueError("frame must have at least one row, got none")

    @property
    def n_released(self) -> int:
        """Number of rows of the release."""
        return int(self.cells.n.sum())

    @cached_property
    def n_rows(self) -> int:
        """Number of rows of the table, those included that the release lacks."""
        if self._original is None:
            return self.n_released
        n_rows = int(self.whole(self.names[0]).sum())
        if n_rows < self.n_released:
            raise ValueError(
                f"original must have all rows of the release, got {n_rows:,} rows and {self.n_released:,} in the "
                "release"
            )
        return n_rows

    @property
    def n_dropped(self) -> int:
        """Number of rows that the release lacks."""
        return self.n_rows - self.n_released

    @cached_property
    def marked(self) -> pd.Series[bool]:
        """Per class, whether it is that of the suppressed rows."""
        stars = (self.cells[self._keys(self.names)] == SUPPRESSED).all(axis=1)
        # Where the whole table is one group, its rows are not suppressed.
        is_root = self._generalization is None or all(
            own == [SUPPRESSED] for own in label_texts(self._generalization).values()
        )
        return stars & (not (bool(stars.all()) and is_root))

    @property
    def n_suppressed(self) -> int:
        """Number of rows that are marked or dropped."""
        return int(self.cells.n[self.marked].sum()) + self.n_dropped

    @property
    def sizes(self) -> pd.Series[int]:
        """The size of every class, marked rows being one."""
        return self.cells.n

    @property
    def kept(self) -> pd.Series[int]:
        """The size of every class that is not marked."""
        return self.cells.n[~self.marked]

    @property
    def n_classes(self) -> int:
        """Number of classes; suppressed rows are one, marked or dropped."""
        return len(self.kept) + (self.n_suppressed > 0)

    @cached_property
    def original(self) -> pd.DataFrame:
        """The distinct combinations of quasi-identifiers of the original."""
        if self._original is None:
            raise ValueError("original must be the table that was released, got None; the measure compares with it")
        return combinations(self._original, self.names)

    @property
    def hierarchies(self) -> Mapping[Name, Hierarchy]:
        """Per quasi-identifier its hierarchy."""
        lacking = [name for name in self.names if name not in (self._hierarchies or {})]
        if self._hierarchies is None or lacking:
            raise ValueError(f"hierarchies must have that of every quasi-identifier, got none of {examples(lacking)}")
        return self._hierarchies

    @property
    def generalization(self) -> Generalization:
        """What the release was recoded by."""
        if self._generalization is None or list(self._generalization.labels) != self.names:
            got = None if self._generalization is None else examples(list(self._generalization.labels))
            raise ValueError(
                f"generalization must be what {examples(self.names)} were recoded by, got {got}; the measure needs the "
                "number of values that a label stands for"
            )
        return self._generalization

    @cached_property
    def texts(self) -> dict[Name, list[str | None]]:
        """Per quasi-identifier the text of every group of the generalization."""
        return label_texts(self.generalization)

    def extents(self, name: Name) -> pd.Series[int]:
        """Per label of a quasi-identifier, of how many values of the domain it stands."""
        groups = pd.Series(self.generalization.groups[name]).value_counts().sort_index()
        return pd.Series(groups.to_numpy(), index=_index(self.texts[name]))

    def became(self, name: Name, values: Sequence[Any]) -> pd.Series:
        """The label that each original value of a quasi-identifier became."""
        given = [None if value is MISSING else value for value in values]
        _, places = fitted(name, self.hierarchies[name], given)
        return values_of([self.texts[name][group] for group in self.generalization.groups[name][places]])

    def of_labels(self, name: Name) -> pd.Series[int]:
        """How many rows that are not suppressed hold each label of a quasi-identifier."""
        own = self.cells[~self.marked]
        key = self._keys([name])[0]
        rows = own.n.groupby(own[key], sort=False).sum()
        known = _index(self.texts[name])
        unknown = [label for label in rows.index if label not in known]
        if unknown:
            raise ValueError(f"column {name!r} must hold labels of its generalization, got {examples(unknown)}")
        return rows.reindex(known, fill_value=0)

    def counts(self, column: Name) -> pd.DataFrame:
        """How often each class holds each value of a column that it holds: columns `cell`, `value`, `n`."""
        if column not in self._columns:
            raise KeyError(f"frame must have the column {column!r} to count it again")
        pairs = self._found.assign(cell=self._cell_of, value=self._found[self._keys([column])[0]])
        counts: pd.DataFrame = pairs.groupby(["cell", "value"], as_index=False, sort=False)[["n"]].sum()
        return counts

    def whole(self, column: Name) -> pd.Series[int]:
        """How many rows of the table, those included that the release lacks, hold each value of a column."""
        if column not in self._wholes:
            if self._original is None:
                table, key = self._found, self._keys([column])[0]
            else:
                table, key = combinations(self._original, [column]), "column 0"
            self._wholes[column] = table.groupby(key, sort=False).n.sum()
        return self._wholes[column]

    def shares(self, column: Name) -> pd.DataFrame:
        """Per class and value that it holds: share `p` in the class and share `q` in the table, and what these are of.

        Columns `cell`, `value`, `n` and `size`, so that p is n / size, `whole` and `rows`, so that q is whole / rows.
        """
        pairs, whole = self.counts(column), self.whole(column)
        unknown = [value for value in pairs.value.unique() if value not in whole.index]
        if unknown:
            raise ValueError(f"column {column!r} must hold values of the original, got {examples(unknown)}")
        size, held, rows = self.sizes.to_numpy()[pairs.cell], pairs.value.map(whole).astype("int64"), int(whole.sum())
        return pairs.assign(size=size, whole=held, rows=rows, p=pairs.n / size, q=held / rows)

    def _keys(self, names: Sequence[Name]) -> list[str]:
        return [f"column {self._columns.index(name)}" for name in names]


def combinations(frame: Any, names: Sequence[Name]) -> pd.DataFrame:
    """The distinct combinations of some columns, `column 0`, `column 1`, ..., and how many rows hold each, `n`."""
    found = combinations_of(frame, names)
    columns = {f"column {i}": values_of(found.columns[name]) for i, name in enumerate(names)}
    table = pd.DataFrame({**columns, "n": found.weights})
    counts: pd.DataFrame = table.groupby(list(columns), as_index=False, sort=False)[["n"]].sum()
    return counts


def logarithms(counts: pd.Series[int]) -> pd.Series:
    """The natural logarithms of counts to 28 digits."""
    known = {count: Decimal(int(count)).ln() for count in counts.unique()}
    return counts.map(known).astype(object)


def weighed_logarithms(weights: pd.Series[int], counts: pd.Series[int]) -> Decimal:
    """The sum of the logarithms of counts, each as often as its weight says."""
    return sum(map(mul, weights.tolist(), logarithms(counts)), Decimal(0))


def values_of(values: Sequence[Any] | pd.Series) -> pd.Series:
    """Values as objects that compare: whatever is missing is `MISSING`, which equals itself."""
    column = pd.Series(values, dtype=object).reset_index(drop=True)
    return column.where(column.notna(), MISSING)


def _index(labels: Sequence[Any]) -> pd.Index:
    index: pd.Index = pd.Index(values_of(labels), dtype=object)
    return index
