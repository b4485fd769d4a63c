"""Microdata: a table about persons as its distinct quasi-identifier tuples and counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime
from numbers import Integral, Number
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymoo_anon._messages import examples, repeated
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.grouper import Grouper
from pymoo_anon.engine.joins import row_ids
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts
from pymoo_anon.table.generalization import Generalization
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.suppression import ClassConstraint, Suppression, suppression_rule

# The square is below 2^63, so that sums of squared class sizes are exact.
_MOST_ROWS = 3_037_000_499


class Microdata:
    """A table about persons, ready to be searched.

    Kept are the distinct quasi-identifier tuples with their counts and, for every column with another role, sparse
    counts of its values in each of them. No row is kept: a table of a billion rows with a million distinct tuples is as
    large as one of a million rows. Instances do not change. The builder is `from_frame`.

    Args:
        quasi_identifiers: Hierarchy of every quasi-identifier.
        tuples: (n_distinct, n_quasi_identifiers) integer array, the distinct tuples as positions in the domains.
        counts: (n_distinct,) integer array, how many rows hold each.
        columns: Per column with another role, its value counts in each distinct tuple.
        domains: Per such column, the values that the codes of its counts stand for.
        sensitive: Names of the sensitive columns.
        label: Name of the column with the class labels, if any.
        person: Name of the column that tells whose row it is, if any.

    Attributes:
        quasi_identifiers: Hierarchy of every quasi-identifier, in order.
        sensitive: Names of the sensitive columns.
        label: Name of the column with the class labels, or None.
        person: Name of the column that tells whose row it is, or None.
        tuples: The distinct tuples.
        grouper: What groups them.
    """

    def __init__(
        self,
        quasi_identifiers: Mapping[str, Hierarchy],
        tuples: NDArray[np.int64],
        counts: NDArray[np.int64],
        columns: Mapping[str, ValueCounts],
        domains: Mapping[str, Sequence[Hashable]],
        sensitive: Sequence[str] = (),
        label: str | None = None,
        person: str | None = None,
    ) -> None:
        if int(counts.sum()) > _MOST_ROWS:
            raise ValueError(f"a table must have at most {_MOST_ROWS:,} rows, got {int(counts.sum()):,}")
        self.quasi_identifiers = dict(quasi_identifiers)
        self.sensitive = tuple(sensitive)
        self.label = label
        self.person = person
        domain_sizes = tuple(hierarchy.n_values for hierarchy in self.quasi_identifiers.values())
        # A class label may be a quasi-identifier too, so every quasi-identifier has counts of its values.
        own, own_domains = {}, {}
        for j, (name, hierarchy) in enumerate(self.quasi_identifiers.items()):
            own[name] = ValueCounts(np.arange(len(tuples) + 1), tuples[:, j].copy(), counts, hierarchy.n_values)
            own_domains[name] = hierarchy.domain
        levels = [hierarchy.groups for hierarchy in self.quasi_identifiers.values()]
        named = {**domains, **own_domains}
        self.tuples = DistinctTuples(tuples, counts, domain_sizes, {**own, **columns}, named, levels)
        self.grouper = Grouper(self.tuples)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        quasi_identifiers: Mapping[str, Hierarchy],
        sensitive: str | Sequence[str] | None = None,
        label: str | None = None,
        missing: str = "raise",
        person: str | None = None,
    ) -> Microdata:
        """Read a table. The frame stays as it is; columns without a role are left out.

        Args:
            frame: pandas, polars, pyarrow, DuckDB, Dask or Spark; all that narwhals knows. A lazy frame is grouped
                where it lives, and only its distinct combinations are fetched.
            quasi_identifiers: The hierarchy of every quasi-identifier, by column name. Their order is that of the
                variables of a problem.
            sensitive: Name or names of the sensitive columns.
            label: Name of a column with class labels, for `ClassificationMetric`. It may have another role, too.
            missing: What happens to rows where a column with a role has no value (None, NaN): "raise" refuses the
                table, "drop" leaves those rows out, "keep" makes what is missing a value of its own.
            person: Name of the column that tells whose row it is, where a person may have several rows. Its values are
                counted, for `KAnonymity(person=...)`. Rows that lack it, where they are kept, count as one person.

        Raises:
            TypeError: `frame` is no frame, or a quasi-identifier has no `Hierarchy`.
            KeyError: The frame lacks a column.
            ValueError: No quasi-identifier, no rows, a column both sensitive and quasi-identifier, a person column with
                another role, a value that its hierarchy does not know, or missing values.
        """
        if missing not in ("raise", "drop", "keep"):
            raise ValueError(f"missing must be 'raise', 'drop' or 'keep', got {missing!r}")
        if not isinstance(quasi_identifiers, Mapping) or not quasi_identifiers:
            raise ValueError(
                f"quasi_identifiers must be a dict of at least one column and its hierarchy, got {quasi_identifiers!r}"
            )
        for name, hierarchy in quasi_identifiers.items():
            if not isinstance(hierarchy, Hierarchy):
                raise TypeError(f"quasi_identifiers[{name!r}] must be a Hierarchy, got {hierarchy!r}")
        sensitive = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive or ())
        for name in sensitive:
            if name in quasi_identifiers:
                raise ValueError(f"column {name!r} must not be both sensitive and a quasi-identifier")
        if repeated(sensitive):
            raise ValueError(
                f"sensitive must name each column once, got more than once: {examples(repeated(sensitive))}"
            )
        for role, names in (
            ("a quasi-identifier", quasi_identifiers),
            ("sensitive", sensitive),
            ("the label", [label]),
        ):
            if person is not None and person in names:
                raise ValueError(f"column {person!r} must not be both the person and {role}")
        others = [name for name in (label, person) if name is not None]
        wanted = list(dict.fromkeys([*quasi_identifiers, *sensitive, *others]))
        combinations, weights = _distinct(frame, wanted)

        n_rows = int(weights.sum())
        if n_rows == 0:
            raise ValueError("frame must have at least one row, got none")
        absent = {name: pd.isna(column).to_numpy() for name, column in combinations.items()}
        gaps = {name: int(weights[where].sum()) for name, where in absent.items() if where.any()}
        any_absent = np.logical_or.reduce(list(absent.values()))
        if gaps and missing == "raise":
            listed = ", ".join(f"{count} in {name!r}" for name, count in gaps.items())
            raise ValueError(
                f"frame must have no missing values, got {int(weights[any_absent].sum())} of {n_rows} rows with some: "
                f"{listed}; missing='drop' leaves these rows out, missing='keep' makes them a value of their own"
            )
        if gaps and missing == "drop":
            if any_absent.all():
                raise ValueError(f"frame must have a row without missing values, got {n_rows} rows that all have some")
            combinations = {name: column[~any_absent] for name, column in combinations.items()}
            weights = weights[~any_absent]
            gaps = {}

        hierarchies: dict[str, Hierarchy] = {}
        codes = []
        for name, hierarchy in quasi_identifiers.items():
            positions, known = pd.factorize(combinations[name], use_na_sentinel=True)
            values = known.tolist()
            try:
                hierarchies[name] = _matched(hierarchy, values)
            except ValueError as error:
                raise ValueError(f"column {name!r}: {error}") from None
            if name in gaps:
                hierarchies[name] = hierarchies[name].with_missing()
                # factorize gives -1 for what is missing: the last of the values.
                values.append(None)
            codes.append(_encoded(name, hierarchies[name], values)[positions])
        columns, domains = {}, {}
        for name in wanted:
            if name not in quasi_identifiers:
                columns[name], domains[name] = _coded(combinations[name])
        return cls._from_codes(hierarchies, codes, weights, columns, domains, sensitive, label, person)

    @classmethod
    def _from_codes(
        cls,
        quasi_identifiers: Mapping[str, Hierarchy],
        codes: Sequence[NDArray[np.int64]],
        weights: NDArray[np.int64],
        columns: Mapping[str, NDArray[np.int64]],
        domains: Mapping[str, Sequence[Hashable]],
        sensitive: Sequence[str] = (),
        label: str | None = None,
        person: str | None = None,
    ) -> Microdata:
        """From rows of codes, each with a weight; rows may repeat."""
        matrix = np.column_stack(codes)
        ids, first = row_ids(matrix, tuple(hierarchy.n_values for hierarchy in quasi_identifiers.values()))
        counts = np.zeros(len(first), dtype=np.int64)
        np.add.at(counts, ids, weights)
        sparse = {}
        for name, column in columns.items():
            n_values = len(domains[name])
            cells, members = np.unique(ids * n_values + column, return_inverse=True)
            totals = np.zeros(len(cells), dtype=np.int64)
            np.add.at(totals, members, weights)
            starts = np.searchsorted(cells, np.arange(len(first) + 1) * n_values)
            sparse[name] = ValueCounts(starts, cells % n_values, totals, n_values)
        return cls(quasi_identifiers, matrix[first], counts, sparse, domains, sensitive, label, person)

    def recoded(self, quasi_identifiers: Mapping[str, Hierarchy]) -> Microdata:
        """The same table with other hierarchies for some quasi-identifiers.

        Args:
            quasi_identifiers: The new hierarchies, by column name.

        Raises:
            KeyError: A column is no quasi-identifier.
            ValueError: A hierarchy lacks a value that the table holds.
        """
        codes = self.tuples.codes.copy()
        hierarchies = dict(self.quasi_identifiers)
        for j, (name, old) in enumerate(self.quasi_identifiers.items()):
            if name in quasi_identifiers:
                held = np.unique(codes[:, j])
                values = [old.domain[code] for code in held]
                hierarchies[name] = _matched(quasi_identifiers[name], values)
                codes[:, j] = _encoded(name, hierarchies[name], values)[np.searchsorted(held, codes[:, j])]
        unknown = [name for name in quasi_identifiers if name not in hierarchies]
        if unknown:
            raise KeyError(f"quasi-identifiers must be among {examples(list(hierarchies))}, got {examples(unknown)}")
        columns = {name: self.tuples.columns[name] for name in self.tuples.domains if name not in hierarchies}
        domains = {name: self.tuples.domains[name] for name in columns}
        roles = (self.sensitive, self.label, self.person)
        return Microdata(hierarchies, codes, self.tuples.counts, columns, domains, *roles)

    @property
    def n_rows(self) -> int:
        """Number of tuples (rows) of the table."""
        return self.tuples.n_rows

    @property
    def n_distinct(self) -> int:
        """Number of distinct quasi-identifier tuples."""
        return len(self.tuples)

    def domain_of(self, column: Hashable) -> tuple[Hashable, ...]:
        """The values of a column that has a role, in the order of the columns of its histograms.

        Raises:
            KeyError: The column has no role.
        """
        if column not in self.tuples.domains:
            raise KeyError(
                f"column must be one of {examples(list(self.tuples.domains))}, which have a role, got {column!r}"
            )
        return self.tuples.domains[column]

    def equivalence_classes(
        self,
        generalization: Generalization,
        suppression: float | Suppression = 0,
        constraints: Sequence[ClassConstraint] = (),
    ) -> EquivalenceClasses:
        """Group the table by one generalization.

        Args:
            generalization: A group map per quasi-identifier of this table.
            suppression: `AtMost`, `Below` or `Violating`; a number means `AtMost`.
            constraints: What must hold of the release, such as `KAnonymity() >= 5`; only `Violating` reads them.

        Returns:
            The classes, with the value counts of all columns with a role other than quasi-identifier, and the class of
            each distinct tuple.

        Raises:
            TypeError: The suppression is no number and no rule.
            ValueError: The generalization is not of this table's quasi-identifiers, or the rule does not fit the table.
        """
        expected = {name: hierarchy.n_values for name, hierarchy in self.quasi_identifiers.items()}
        got = {name: len(groups) for name, groups in generalization.groups.items()}
        if list(expected.items()) != list(got.items()):
            raise ValueError(f"generalization must map the table's domains {expected}, got {got}")
        rule = suppression_rule(suppression)
        limit, below = rule.grouping(self.n_rows)
        roles = [*self.sensitive, *(name for name in (self.label, self.person) if name is not None)]
        read = [constraint.column for constraint in constraints if constraint.column is not None]
        (classes,) = self.grouper.classes(
            np.concatenate(list(generalization.groups.values()))[None, :],
            np.array([generalization.n_groups], dtype=np.int64),
            columns=tuple(dict.fromkeys([*roles, *read])),
            class_of=True,
            limit=limit,
            below=below,
        )
        return rule.applied(classes, constraints).copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Microdata:
        """Itself: nothing in it changes."""
        return self

    def __repr__(self) -> str:
        roles = f"sensitive {', '.join(map(repr, self.sensitive))}" if self.sensitive else "no sensitive column"
        return (
            f"Microdata({self.n_rows} rows, {self.n_distinct} distinct tuples of "
            f"{len(self.quasi_identifiers)} quasi-identifiers, {roles})"
        )


def _distinct(frame: Any, columns: list[str]) -> tuple[dict[str, pd.Series], NDArray[np.int64]]:
    """The distinct combinations of some columns and how many rows hold each."""
    try:
        table = nw.from_native(frame)
    except TypeError:
        raise TypeError(
            f"frame must be a pandas, polars, pyarrow, DuckDB, Dask or Spark frame, got {type(frame).__name__}"
        ) from None
    known = table.collect_schema().names()
    unknown = [name for name in columns if name not in known]
    if unknown:
        raise KeyError(f"frame must have the columns {examples(unknown)}, got columns {examples(known)}")
    count = "n_rows"
    while count in columns:
        count += "_"
    grouped: Any = table.select(columns).group_by(columns, drop_null_keys=False).agg(nw.len().alias(count))
    if isinstance(grouped, nw.LazyFrame):
        # polars collects into itself; for the others pandas is what is surely installed.
        grouped = grouped.collect(None if grouped.implementation.is_polars() else "pandas")
    weights = grouped[count].to_numpy().astype(np.int64)
    dtypes = table.collect_schema()
    return {name: _python_values(grouped[name], dtypes[name]) for name in columns}, weights


def _python_values(column: Any, dtype: Any) -> pd.Series:
    """A column as pandas, whole numbers not as floats and days not as times."""
    native = column.to_native()
    if dtype == nw.Date:
        days = [value.date() if isinstance(value, datetime) else value for value in column.to_list()]
        return pd.Series([None if pd.isna(day) else day for day in days], dtype=object)
    if isinstance(native, pd.Series):
        return native.reset_index(drop=True)
    if column.is_null().any():
        return pd.Series(column.to_list(), dtype=object)
    return pd.Series(column.to_numpy())


def _matched(hierarchy: Hierarchy, values: Sequence[Any]) -> Hierarchy:
    """The hierarchy with numbers where the column holds numbers."""
    present = [value for value in values if value is not None]
    numbers = [value for value in present if isinstance(value, Number) and not isinstance(value, bool)]
    if not numbers or len(numbers) < len(present):
        return hierarchy
    return hierarchy.with_numbers(int if all(isinstance(value, Integral) for value in numbers) else float)


def _encoded(name: str, hierarchy: Hierarchy, values: Sequence[Any]) -> NDArray[np.int64]:
    """Positions of a column's values in the domain, or an error that names those without one."""
    positions = hierarchy.encode(values)
    unknown = [value for value, position in zip(values, positions, strict=True) if position < 0]
    if unknown:
        shown = examples(_ascending(unknown))
        text = f"column {name!r} must hold values of its hierarchy only, got without a row there: {shown}"
        if all(isinstance(value, str) for value in unknown) and all(isinstance(v, Number) for v in hierarchy.domain):
            text += "; the column holds text and the hierarchy numbers"
        raise ValueError(text)
    return positions


def _coded(column: pd.Series) -> tuple[NDArray[np.int64], tuple[Hashable, ...]]:
    """A column as codes of its values in ascending order, what is missing last."""
    codes, known = pd.factorize(column, use_na_sentinel=True)
    values = known.tolist()
    place = {value: i for i, value in enumerate(values)}
    order = [place[value] for value in _ascending(values)]
    rank = np.empty(len(values) + 1, dtype=np.int64)
    rank[order] = np.arange(len(values))
    # factorize gives -1 for what is missing, which is the last place of `rank`.
    rank[-1] = len(values)
    names = [values[i] for i in order] + ([None] if (codes < 0).any() else [])
    return rank[codes], tuple(names)


def _ascending(values: Sequence[Any]) -> list[Any]:
    """Values in their order or, where they have none, by type and text."""
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))
