"""Microdata: distinct tuples of quasi-identifiers, with counts."""

from __future__ import annotations

import unicodedata
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from pymoo_anon._messages import counted, examples, html_table, one_of, repeated
from pymoo_anon.engine.classes import (
    DistinctTuples,
    EquivalenceClasses,
    Forest,
    ValueCounts,
    classes_of,
    classes_of_maps,
    grouped,
    row_ids,
)
from pymoo_anon.table.domain_values import ROOT, Name, is_number
from pymoo_anon.table.generalization import (
    Constraint,
    Decoded,
    LocalGeneralization,
    Suppression,
    nodes_of_column,
    suppression_rule,
)
from pymoo_anon.table.hierarchy import Hierarchy, fitted
from pymoo_anon.typing import Ints

if TYPE_CHECKING:
    from pymoo_anon.engine.grouper import Grouper

# The square is below 2^63, so sums of squared class sizes are exact.
_MOST_TABLE_ROWS = 3_037_000_499

# Number of columns in a notebook.
_PRINTED_COLUMNS = 40


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Microdata:
    """A table about persons, ready for a search.

    It holds no rows, but the distinct quasi-identifier tuples with their counts and, for every column with another
    role, sparse counts of its values in each of them. Instances are immutable. `from_frame` builds one.

    A column's name is text or, in a pandas frame, anything hashable, such as a whole number or a tuple.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [31, 34, 38, 38], "sex": list("FFMM"), "illness": ["flu", "flu", "flu", "cold"]})
    >>> hierarchies = {"age": Hierarchy.intervals(30, 40, widths=[5]), "sex": Hierarchy.flat(["F", "M"])}
    >>> table = Microdata.from_frame(frame, hierarchies, sensitive="illness")
    >>> table
    Microdata(4 rows, 3 distinct tuples of 2 quasi-identifiers, sensitive 'illness')
    >>> table.domain_of("illness")
    ('cold', 'flu')

    Args:
        quasi_identifiers: Hierarchy of every quasi-identifier.
        tuples: (n_distinct, n_quasi_identifiers) integer array, the distinct tuples as positions in the domains.
        counts: (n_distinct,) integer array, the number of rows with each.
        columns: Per column with another role, its value counts in each distinct tuple.
        domains: Per such column, the values of the codes of its counts.
        sensitive, label, person: Names of the columns with these roles, if any.

    Attributes:
        quasi_identifiers, sensitive, label, person: As given.
        tuples: `DistinctTuples` with all counts.
        n_left_out: Number of rows that `from_frame` left out for a missing value.

    Raises:
        ValueError: There are more than 3,037,000,499 rows.
    """

    quasi_identifiers: Mapping[Name, Hierarchy]
    sensitive: tuple[Name, ...]
    label: Name | None
    person: Name | None
    tuples: DistinctTuples
    n_left_out: int = 0

    def __init__(
        self,
        quasi_identifiers: Mapping[Name, Hierarchy],
        tuples: Ints,
        counts: Ints,
        columns: Mapping[Name, ValueCounts],
        domains: Mapping[Name, Sequence[Hashable]],
        sensitive: Sequence[Name] = (),
        label: Name | None = None,
        person: Name | None = None,
    ) -> None:
        check_size(int(counts.sum()))
        hierarchies = MappingProxyType(dict(quasi_identifiers))
        # A class label may be a quasi-identifier, too, so every quasi-identifier has counts of its values.
        own, own_domains = {}, {}
        starts, codes, counts = np.arange(len(tuples) + 1), np.array(tuples.T, order="C"), np.array(counts)
        for shared in (starts, codes, counts):
            # Read-only arrays are not copied for each column.
            shared.flags.writeable = False
        for (name, hierarchy), values in zip(hierarchies.items(), codes, strict=True):
            own[name] = ValueCounts(starts, values, counts, hierarchy.n_values)
            own_domains[name] = hierarchy.domain
        distinct = DistinctTuples(
            tuples,
            counts,
            tuple(hierarchy.n_values for hierarchy in hierarchies.values()),
            {**own, **columns},
            {**domains, **own_domains},
            [hierarchy.groups for hierarchy in hierarchies.values()],
            tuple(hierarchies),
            sensitive,
        )
        roles = {"sensitive": distinct.sensitive, "label": label, "person": person}
        vars(self).update(quasi_identifiers=hierarchies, tuples=distinct, **roles)

    @cached_property
    def grouper(self) -> Grouper:
        """The grouper of the distinct tuples, made at first use."""
        from pymoo_anon.engine.grouper import Grouper

        return Grouper(self.tuples)

    def free_grouper(self) -> None:
        """Free the memory of the grouper. The next use makes another one."""
        vars(self).pop("grouper", None)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        quasi_identifiers: Mapping[Name, Hierarchy],
        sensitive: Name | Iterable[Name] | None = None,
        label: Name | None = None,
        missing: str = "raise",
        person: Name | None = None,
    ) -> Microdata:
        """Read a table from a frame, which stays unchanged.

        Columns without a role are left out. Texts that look alike give a warning.

        Args:
            frame: pandas, polars, pyarrow, DuckDB, Ibis or Spark. A lazy frame is grouped where it lives, and only its
                distinct combinations are fetched.
            quasi_identifiers: The hierarchy of each. Their order is that of the variables of a problem.
            sensitive: Name or names of the sensitive columns. A name that is a tuple has to stand in a list.
            label: Column with class labels, for `ClassificationMetric`. It may have another role, too.
            missing: Treatment of rows without a value (None, NaN) in a column with a role: "raise" refuses the table,
                "drop" leaves them out, "keep" makes a missing value a value of its own.
            person: Name of the column that identifies persons, if a person may have several rows. Its values are
                counted for `KAnonymity(person=...)`. Kept rows without a person count as one person.

        Raises:
            TypeError: `frame` is not a frame, a name is not hashable, or a quasi-identifier has no `Hierarchy`.
            KeyError: The frame lacks a column.
            ValueError: No quasi-identifier, no rows, a column twice, roles that exclude each other, a value that its
                hierarchy lacks or that is `*`, both True and 1 or False and 0 in a column, or missing values.
        """
        one_of("missing", missing, ("raise", "drop", "keep"))
        _check_hierarchies(quasi_identifiers)
        from pymoo_anon.table.frames import coded, combinations_of

        sensitive = names_of(sensitive)
        others = _other_columns(quasi_identifiers, sensitive, label, person)
        combinations, gaps, n_left_out = combinations_of(frame, [*quasi_identifiers, *others]).with_gaps(missing)
        hierarchies, columns, domains = {}, {}, {}
        codes = np.empty((len(quasi_identifiers), len(combinations.weights)), dtype=np.int64)
        for own, (name, hierarchy) in zip(codes, quasi_identifiers.items(), strict=True):
            positions, values = coded(combinations.columns[name])
            _check_domain(name, values, released_as_labels=True)
            hierarchies[name], places = fitted(name, hierarchy, values, name in gaps)
            own[:] = places[positions]
        for name in others:
            columns[name], domains[name] = coded(combinations.columns[name])
            _check_domain(name, domains[name], released_as_labels=False)
        table = cls.from_codes(hierarchies, codes, combinations.weights, columns, domains, sensitive, label, person)
        return leaving_out(table, n_left_out)

    @classmethod
    def from_codes(
        cls,
        quasi_identifiers: Mapping[Name, Hierarchy],
        codes: Sequence[Ints] | Ints,
        weights: Ints,
        columns: Mapping[Name, Ints],
        domains: Mapping[Name, Sequence[Hashable]],
        sensitive: Sequence[Name] = (),
        label: Name | None = None,
        person: Name | None = None,
    ) -> Microdata:
        """Build a table from codes of values.

        `codes` and `columns` hold (n,) integer arrays of positions in the domains, and `weights` the number of rows of
        each combination. Combinations may repeat. The other arguments are those of the class, as are the errors.
        """
        matrix = np.asarray(codes).T
        ids, first = row_ids(matrix, tuple(hierarchy.n_values for hierarchy in quasi_identifiers.values()))
        counts = np.bincount(ids, weights).astype(np.int64)
        sparse = {
            name: ValueCounts.added(ids, column, weights, len(first), len(domains[name]))
            for name, column in columns.items()
        }
        tuples = np.ascontiguousarray(matrix[first])
        return cls(quasi_identifiers, tuples, counts, sparse, domains, sensitive, label, person)

    def recoded(self, quasi_identifiers: Mapping[Name, Hierarchy]) -> Microdata:
        """Return the table with other hierarchies for some columns.

        Raises:
            TypeError: A quasi-identifier has no `Hierarchy`.
            KeyError: A column is not a quasi-identifier.
            ValueError: A hierarchy lacks a value that the table holds.
        """
        _check_hierarchies(quasi_identifiers)
        if unknown := [name for name in quasi_identifiers if name not in self.quasi_identifiers]:
            raise KeyError(
                f"quasi-identifiers must be among {examples(list(self.quasi_identifiers))}, got {examples(unknown)}"
            )
        codes = self.tuples.codes.copy()
        hierarchies = dict(self.quasi_identifiers)
        for j, (name, old) in enumerate(self.quasi_identifiers.items()):
            if quasi_identifiers.get(name, old) is not old:
                held = np.unique(codes[:, j])
                hierarchies[name], places = fitted(name, quasi_identifiers[name], [old.domain[code] for code in held])
                codes[:, j] = places[np.searchsorted(held, codes[:, j])]
        # Distinct values may fall into one bin or day now.
        distinct = grouped(codes, tuple(hierarchy.n_values for hierarchy in hierarchies.values()))
        ids, n = distinct.class_of, len(distinct.nodes)
        counts = np.bincount(ids, self.tuples.counts).astype(np.int64)
        domains = {name: domain for name, domain in self.tuples.domains.items() if name not in hierarchies}
        columns = {name: self.tuples.columns[name].merged(ids, n) for name in domains}
        made = Microdata(hierarchies, distinct.nodes, counts, columns, domains, self.sensitive, self.label, self.person)
        return leaving_out(made, self.n_left_out)

    @property
    def n_rows(self) -> int:
        """Number of tuples (rows) of the table."""
        return self.tuples.n_rows

    @property
    def n_distinct(self) -> int:
        """Number of distinct quasi-identifier tuples."""
        return len(self.tuples)

    def domain_of(self, column: Name) -> tuple[Hashable, ...]:
        """Return the values of a column, in the order of its histograms.

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
        generalization: Decoded,
        suppression: float | Suppression = 0,
        constraints: Sequence[Constraint] = (),
        beside: Ints | None = None,
    ) -> EquivalenceClasses:
        """Group the table by one generalization.

        Args:
            generalization: A group map per quasi-identifier of this table, or a local recoding of it.
            suppression: `AtMost`, `Below` or `Violating`; a number means `AtMost`.
            constraints: Constraints of the release, such as `KAnonymity() >= 5`. Only `Violating` reads them.
            beside: (n_distinct,) array, the part of each distinct tuple in earlier releases, for joint measures.

        The result counts the values of all columns with a role, and has the class of each distinct tuple.

        Raises:
            TypeError: The suppression is neither a number nor a rule.
            ValueError: The generalization is not of this table's quasi-identifiers, or the rule does not fit the table
                or the generalization.
        """
        rule = suppression_rule(suppression)
        limit, below = rule.grouping(self.n_rows)
        columns = tuple(self.tuples.columns)
        if isinstance(generalization, LocalGeneralization):
            if limit or below:
                raise ValueError(f"suppression must be 0 for a local recoding, which suppresses nothing, got {rule!r}")
            return rule.applied(replace(self.local_classes(generalization, columns), beside=beside), constraints)
        expected = {name: hierarchy.n_values for name, hierarchy in self.quasi_identifiers.items()}
        got = {name: len(groups) for name, groups in generalization.groups.items()}
        if list(expected.items()) != list(got.items()):
            raise ValueError(f"generalization must map the table's domains {expected}, got {got}")
        maps = np.concatenate(list(generalization.groups.values()))
        classes = classes_of_maps(self.tuples, maps, generalization.n_groups, columns, limit, below)
        return rule.applied(replace(classes, beside=beside), constraints)

    @cached_property
    def forest(self) -> Forest:
        """Hierarchies of all quasi-identifiers as trees, for local recodings.

        Raises:
            ValueError: A hierarchy does not end in one group, or has a label for two sets of values.
        """
        nodes = [nodes_of_column(name, hierarchy) for name, hierarchy in self.quasi_identifiers.items()]
        starts = np.cumsum([0, *map(len, nodes)])
        columns = zip(*((own.order, own.first, own.stop, own.level) for own in nodes), strict=True)
        arrays = [starts, *map(np.concatenate, columns)]
        for array in arrays:
            array.flags.writeable = False
        return Forest(*arrays)

    def local_classes(self, generalization: LocalGeneralization, columns: tuple[Name, ...]) -> EquivalenceClasses:
        """Group the table by a local recoding, and count some columns.

        Raises:
            ValueError: The generalization has other hierarchies, another number of distinct tuples, or a cell that does
                not hold the value of its tuple.
            KeyError: The table does not count the values of a column.
        """
        if dict(generalization.quasi_identifiers) != dict(self.quasi_identifiers):
            raise ValueError(
                f"generalization must be under the table's hierarchies of {examples(list(self.quasi_identifiers))}, "
                f"got others of {examples(list(generalization.quasi_identifiers))}"
            )
        tuples, forest = self.tuples, self.forest
        if len(generalization.class_of) != len(tuples.counts):
            raise ValueError(
                f"generalization must have cells for the table's {len(tuples):,} distinct tuples, got "
                f"{len(generalization.class_of):,}"
            )
        places, nodes = forest.places[tuples.offsets[:-1] + tuples.codes], forest.starts[:-1] + generalization.cells
        outside = (places < forest.first[nodes]) | (places >= forest.stop[nodes])
        if outside.any():
            wrong = [name for name, own in zip(self.quasi_identifiers, outside.T, strict=True) if own.any()]
            raise ValueError(f"generalization must hold the value of every cell in its node, got others in {wrong}")
        classes = classes_of(tuples, forest, generalization.grouping, columns)
        return replace(classes, kept=generalization.kept)

    def __deepcopy__(self, memo: dict[int, Any]) -> Microdata:
        """Return itself, since it is immutable."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        own = {name: value for name, value in vars(self).items() if name != "forest"}
        return {**own, "quasi_identifiers": dict(self.quasi_identifiers)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, quasi_identifiers=MappingProxyType(state["quasi_identifiers"]))

    def __repr__(self) -> str:
        roles = f"sensitive {', '.join(map(repr, self.sensitive))}" if self.sensitive else "no sensitive column"
        return (
            f"Microdata({self.n_rows} rows, {self.n_distinct} distinct tuples of "
            f"{len(self.quasi_identifiers)} quasi-identifiers, {roles})"
        )

    def _repr_html_(self) -> str:
        """Show the columns and their roles, without values."""
        rows = [
            (str(name), "quasi-identifier", f"{own.n_values:,}", ", ".join(f"{n:,}" for n in own.n_groups[1:]))
            for name, own in self.quasi_identifiers.items()
        ]
        others = [*((name, "sensitive") for name in self.sensitive), (self.label, "label"), (self.person, "person")]
        rows += [(str(name), role, f"{len(self.domain_of(name)):,}", "") for name, role in others if name is not None]
        told = f"{counted(self.n_rows, 'row', 'rows')}, {counted(self.n_distinct, 'distinct tuple', 'distinct tuples')}"
        more = f"; the first {_PRINTED_COLUMNS} of {len(rows):,} columns" if len(rows) > _PRINTED_COLUMNS else ""
        return html_table(told + more, ["column", "role", "values", "groups by level"], rows[:_PRINTED_COLUMNS])


def leaving_out(table: Microdata, n_rows: int) -> Microdata:
    """Return a table with its number of rows left out."""
    made = copy(table)
    vars(made)["n_left_out"] = n_rows
    return made


def check_table(table: Any) -> None:
    """Check that a table is a Microdata."""
    if not isinstance(table, Microdata):
        raise TypeError(f"table must be a Microdata, got {type(table).__name__}; Microdata.from_frame makes one")


def check_size(n_rows: int) -> None:
    """Raise for more rows than a table may have."""
    if n_rows > _MOST_TABLE_ROWS:
        raise ValueError(f"a table must have at most {_MOST_TABLE_ROWS:,} rows, got {n_rows:,}")


def names_of(given: Any) -> tuple[Name, ...]:
    """Return the given names as a tuple."""
    if given is None:
        return ()
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def _check_hierarchies(quasi_identifiers: Any) -> None:
    if not isinstance(quasi_identifiers, Mapping):
        raise ValueError(
            f"quasi_identifiers must be a dict of columns and their hierarchies, got {quasi_identifiers!r}"
        )
    for name, hierarchy in quasi_identifiers.items():
        if not isinstance(hierarchy, Hierarchy):
            raise TypeError(f"quasi_identifiers[{name!r}] must be a Hierarchy, got {hierarchy!r}")


def _other_columns(
    quasi_identifiers: Mapping[Name, Hierarchy], sensitive: tuple[Name, ...], label: Name | None, person: Name | None
) -> list[Name]:
    if not quasi_identifiers:
        raise ValueError("quasi_identifiers must be a dict of at least one column and its hierarchy, got none")
    for role, names in (("sensitive", sensitive), ("label", [label]), ("person", [person])):
        for name in names:
            if not isinstance(name, Hashable):
                raise TypeError(f"{role} must name a column, got {name!r}")
    for name in sensitive:
        if name in quasi_identifiers:
            raise ValueError(f"column {name!r} must not be both sensitive and a quasi-identifier")
    if repeated(sensitive):
        raise ValueError(f"sensitive must name each column once, got more than once: {examples(repeated(sensitive))}")
    if person is not None:
        roles = {"a quasi-identifier": quasi_identifiers, "sensitive": sensitive, "the label": [label]}
        for role, taken in roles.items():
            if person in taken:
                raise ValueError(f"column {person!r} must not be both the person and {role}")
    others = dict.fromkeys([*sensitive, label, person])
    return [name for name in others if name is not None and name not in quasi_identifiers]


def _check_domain(name: Name, values: Sequence[Any], released_as_labels: bool) -> None:
    numbers = {value for value in values if is_number(value) and value in (0, 1)}
    if both := [value for value in values if isinstance(value, bool | np.bool_) and value in numbers]:
        (number, *_) = [value for value in numbers if value == both[0]]
        raise ValueError(
            f"column {name!r} must not hold both {bool(both[0])} and {number!r}, which are two values here and equal "
            "in Python, so that a recount of the release counts one; write one of them in place of the other, or "
            "both as text"
        )
    if released_as_labels and any(isinstance(value, str) and value == ROOT for value in values):
        raise ValueError(
            f"column {name!r} must not hold the text {ROOT!r}, which marks suppressed values in a release; write "
            f'another text in its place, or nothing where no value is known (in a project file: empty = ["{ROOT}"])'
        )
    forms: dict[str, str] = {}
    for value in values:
        if isinstance(value, str) and not value.isascii():
            other = forms.setdefault(unicodedata.normalize("NFC", value), value)
            if other != value:
                warnings.warn(
                    f"column {name!r} holds texts that look the same and count as two: {other!a} and "
                    f"{value!a}; unicodedata.normalize('NFC', text) makes them one",
                    UserWarning,
                    stacklevel=3,
                )
                return
