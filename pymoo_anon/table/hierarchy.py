"""Domain generalization hierarchies of quasi-identifiers."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property, partial
from math import isinf
from numbers import Integral, Number
from typing import Any

import numpy as np

from pymoo_anon._messages import counted, examples, html_table, in_order, repeated
from pymoo_anon.table.domain_values import (
    ROOT,
    Bins,
    Keyed,
    Name,
    NumberType,
    ascending,
    day_of,
    is_day,
    is_missing,
    is_whole,
    label_text,
    nested_bins,
    numbered,
    same_as,
    spelled,
)
from pymoo_anon.typing import Floats, Ints

# Number of values of a domain in a notebook.
_PRINTED_VALUES = 20


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of a hierarchy, each a group of values at some level.

    In tree order the values of each node are adjacent. Nodes are numbered in preorder, the root as 0. A set that is a
    group at several levels is one node. All arrays are read-only.

    >>> from pymoo_anon.table import Hierarchy
    >>> nodes = Hierarchy([["Bonn", "Paris", "Cologne"], ["DE", "FR", "DE"], ["*", "*", "*"]]).nodes
    >>> nodes.labels
    ('*', 'DE', 'Bonn', 'Cologne', 'Paris')
    >>> nodes.order.tolist(), nodes.parent.tolist(), nodes.level.tolist()
    ([0, 2, 1], [-1, 0, 1, 1, 0], [2, 1, 0, 0, 0])
    """

    order: Ints  # (n_values,) int64 array, the position of each domain value in tree order
    first: Ints  # (n_nodes,) int64 array, the first position of each node
    stop: Ints  # (n_nodes,) int64 array, the position after its last
    parent: Ints  # (n_nodes,) int64 array, the smallest node above each, -1 for the root
    level: Ints  # (n_nodes,) int64 array, the lowest level at which the node is a group
    labels: tuple[Hashable, ...]  # Tuple of the label of each node at that level
    ancestors: Ints  # (length + 1, n_values) int64 array, at each level the node of every domain value

    def __len__(self) -> int:
        """Count the nodes."""
        return len(self.first)

    @property
    def extents(self) -> Ints:
        """(n_nodes,) int64 array, the number of domain values of each node."""
        return self.stop - self.first

    @property
    def losses(self) -> Floats:
        """(n_nodes,) float array, the loss (extent - 1) / (values - 1) of each."""
        return (self.extents - 1) / max(len(self.order) - 1, 1)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Hierarchy(Keyed):
    """A domain generalization hierarchy of one attribute (Dewri et al. 2010, section 3).

    It holds an ordered domain of values and, per level, the group of every value and the label of every group. Level 0
    is the domain itself, each level is a coarsening of the one below, and the top level usually is one group, `*`.
    Instances are immutable. Other builders are `from_csv`, `intervals` and `flat`. `Taxonomy.levels` gives the levels
    of a tree.

    Args:
        levels: One sequence of labels per level, each as long as the domain; level 0 holds the values themselves.
            Values with the same label at a level form a group of it.
        bins: For a domain of bins, one bin of numbers per value, in order. None, the missing value, has no bin and
            comes last. Without bins, the values of the domain are single ones.

    Attributes:
        domain: Tuple of the values, in their order.
        groups: (length + 1, n_values) int64 array, at each level the group of every value, counted from 0 in the
            order of the domain.
        labels: Per level, a tuple with the label of every group.
        n_groups: (length + 1,) int64 array, the number of groups of each level.
        bins: The bins, or None.

    Raises:
        TypeError: The levels or a level are no list.
        ValueError: There is no value, the levels are not equally long, a value is given twice, a level is no
            coarsening of the one below, or there is another number of bins than of values.

    >>> cities = Hierarchy([["Bonn", "Cologne", "Paris"], ["DE", "DE", "FR"], ["*", "*", "*"]])
    >>> cities
    Hierarchy(3 values, levels of 3, 2, 1 groups)
    >>> cities.labels[1], cities.groups[1].tolist()
    (('DE', 'FR'), [0, 0, 1])
    """

    domain: tuple[Hashable, ...]
    groups: Ints
    labels: tuple[tuple[Hashable, ...], ...]
    n_groups: Ints
    bins: Bins | None

    def __init__(self, levels: Sequence[Sequence[Hashable]], bins: Bins | None = None) -> None:
        columns = _checked_levels([tuple(in_order("a level", level)) for level in in_order("levels", levels)])
        if bins is not None and len(bins) != len(columns[0]) - (columns[0][-1] is None):
            raise ValueError(f"bins must be as many as the values, {len(columns[0])}, got {len(bins)}")
        ids_and_labels = [numbered(column) for column in columns]
        groups = np.array([ids for ids, _ in ids_and_labels], dtype=np.int64)
        labels = tuple(labels for _, labels in ids_and_labels)
        n_groups = np.array([len(own) for own in labels], dtype=np.int64)
        for level in range(1, len(columns)):
            _check_coarser(level, groups, labels)
        groups.flags.writeable = n_groups.flags.writeable = False
        vars(self).update(domain=columns[0], groups=groups, labels=labels, n_groups=n_groups, bins=bins)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str] | io.TextIOBase) -> Hierarchy:
        r"""Read a hierarchy in ARX's layout.

        A row is a value with its labels from fine to general, `value;level 1;level 2;...`. The values of the file are
        text. They match a numeric column of a table if they spell the same number, and a column of dates if they are
        days in ISO text. A row with an empty first field is that of missing values: `;;*` keeps them apart up to the
        root. Rows for values that a table does not hold are legal and count in the domain.

        These rules find the format, which a caller of ARX has to state. A wrong separator is always noticed, since it
        cuts the values of the first column, and the table's are looked up there.

        - Encoding: that of the byte order mark (UTF-8 or UTF-16), else UTF-8. For any other, give the open file.
        - Separator: `;` if one stands outside quotes, else a tab, else a comma. A file without any of them has one
          column, which is level 0.
        - Quotes: as usual in CSV, at both ends of a field.
        - Header: a first row is left out if it alone numbers the levels, as in `city;level 1;level 2`. It is refused
          if all other rows end with `*`, and its labels occur nowhere else. Any other first row is a value.

        Raises:
            TypeError: `path` is neither a path nor an open text file.
            ValueError: The file is empty or in another encoding, a quote is not closed, rows are of unequal length or
                all end with a separator, the first row may be a header or a value, or as the class.
            OSError: The file cannot be read.

        >>> from io import StringIO
        >>> Hierarchy.from_csv(StringIO("Bonn;DE;*\nCologne;DE;*\nParis;FR;*\n"))
        Hierarchy(3 values, levels of 3, 2, 1 groups)
        """
        from pymoo_anon.table.delimited import read_columns

        name, columns = read_columns(path)
        try:
            return cls(columns)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    @classmethod
    def flat(cls, values: Iterable[Hashable]) -> Hierarchy:
        """Build a hierarchy of the values and `*`.

        >>> Hierarchy.flat(["Female", "Male"])
        Hierarchy(2 values, levels of 2, 1 groups)
        """
        domain = tuple(values)
        return cls([domain, (ROOT,) * len(domain)])

    @classmethod
    def intervals(
        cls, low: float, high: float, widths: Sequence[float], step: float = 1, closed: str = "left"
    ) -> Hierarchy:
        """Build a hierarchy of nested intervals over numbers.

        The domain is the bins of size `step` from `low` to `high`. Each width makes a level of wider bins, and the top
        level is `*`. Bins are counted from `low`, and the last one of a level ends at `high` at the latest. If all
        arguments are whole, the hierarchy is of whole numbers: a step of 1 makes the numbers themselves the domain,
        and labels such as "15–19" name the numbers in the bin. Otherwise labels read "[1.5, 2.0)".

        Args:
            low: Lower end of the first bin.
            high: Upper end of the last bin. `high - low` is a multiple of `step`.
            widths: Widths of the levels from fine to coarse, each a larger multiple of the one before and of `step`.
            step: Size of the bins of the domain.
            closed: The end that belongs to a bin, "left" or "right".

        Raises:
            TypeError: `widths` is no list.
            ValueError: An argument is no number, the widths do not nest, or there are more than 10,000,000 bins.

        >>> ages = Hierarchy.intervals(0, 100, widths=[5, 10, 20])
        >>> ages
        Hierarchy(100 values, levels of 100, 20, 10, 5, 1 groups)
        >>> ages.labels[1][3], ages.labels[2][1]
        ('15–19', '10–19')
        >>> Hierarchy.intervals(1.5, 2.5, widths=[], step=0.5).domain
        ('[1.5, 2.0)', '[2.0, 2.5)')
        """
        levels, bins = nested_bins(low, high, widths, step, closed)
        return cls([*levels, [ROOT] * len(bins)], bins)

    @property
    def length(self) -> int:
        """Number of levels above the values."""
        return len(self.groups) - 1

    @property
    def n_values(self) -> int:
        """Number of values in the domain."""
        return len(self.domain)

    @property
    def has_root(self) -> bool:
        """True if the top level is one group."""
        return bool(self.n_groups[-1] == 1)

    def columns(self) -> list[tuple[Hashable, ...]]:
        """Return the labels of all values, level by level."""
        return [
            tuple(labels[group] for group in groups) for groups, labels in zip(self.groups, self.labels, strict=True)
        ]

    @cached_property
    def nodes(self) -> Nodes:
        """Groups of all levels as one tree, for local recodings.

        It raises ValueError if the top level is not one group, or a label names two different sets of values.
        """
        return nodes_of(self.groups, self.labels)

    def with_root(self) -> Hierarchy:
        """Return the hierarchy with a top level of one group."""
        return self if self.has_root else Hierarchy([*self.columns(), (ROOT,) * self.n_values], self.bins)

    def with_missing(self) -> Hierarchy:
        """Return the hierarchy with None as a value, apart up to the root."""
        if None in self.domain:
            return self
        own: list[Hashable] = [None] * len(self.groups)
        if self.has_root and self.length > 0:
            own[-1] = self.labels[-1][0]
        columns = [(*column, label) for column, label in zip(self.columns(), own, strict=True)]
        return Hierarchy(columns, self.bins)

    def with_numbers(self, kind: NumberType, texts: Collection[str] = ()) -> Hierarchy:
        """Return the hierarchy with numbers in place of their text.

        Each value of the domain that spells a number becomes that number, and so do the labels of a level if all of
        them spell numbers. An int holds whole ones, a float those that it does not round, a Decimal all. Values among
        `texts` stay text.

        Raises:
            ValueError: Two values of the domain spell the same number.

        >>> Hierarchy.flat(["17", "2.50"]).with_numbers(int).domain
        (17, 2.5)
        """
        domain, *above = self.columns()
        values = [value if value in texts else spelled(value, kind) for value in domain]
        if twice := repeated(map(same_as, (value for value in values if isinstance(value, Number)))):
            raise ValueError(f"the hierarchy must name each number once, spelled more than once: {examples(twice)}")
        columns: list[Sequence[Hashable]] = [values]
        for labels in above:
            numbers = [spelled(label, kind) for label in labels]
            merges = len(set(numbers)) < len(set(labels))
            spell = all(isinstance(number, Number) or number is None for number in numbers)
            columns.append(numbers if spell and not merges else labels)
        return Hierarchy(columns, self.bins)

    def encode(self, values: Sequence[Any]) -> Ints:
        """Find the positions of Python values in the domain, (n,) int64.

        It is -1 for a value that is not in the domain. A number matches the same number or its bin (but no text: see
        `with_numbers`), a text the same text, anything else the same value or its `str`, a Boolean also in small
        letters. Where the domain holds days, which are dates or their ISO text, and no moments, a date, a moment and
        the ISO text of either match their day.
        None, NaN, NaT and an empty text that is no value of the domain match None, the missing value.
        """
        find: Callable[[Any], int]
        if self.bins is not None:
            missing, find = self.n_values - 1 if self.domain[-1] is None else -1, self.bins.find
        else:
            positions = {same_as(value): i for i, value in enumerate(self.domain)}
            missing, find = positions.get(None, -1), partial(_place, positions, _days(self.domain))

        def place(value: Any) -> int:
            found = -1 if is_missing(value) else find(value)
            return missing if found < 0 and (is_missing(value) or value == "") else found

        return np.array([place(value) for value in values], dtype=np.int64).reshape(-1)

    def run_label(self, first: int, last: int) -> Hashable:
        """Return the label of the values first..last.

        >>> Hierarchy.intervals(0, 100, widths=[]).run_label(17, 20)
        '17–20'
        >>> Hierarchy.flat(["Asian", "Black", "White"]).run_label(0, 1)
        'Asian | Black'
        """
        values = self.domain[first : last + 1]
        if len(values) == 1:
            return values[0]
        if len(values) == self.n_values:
            return ROOT
        if self.bins is not None and None not in values:
            return self.bins.label(first, last)
        if all(is_whole(value) for value in values) and values == tuple(range(int(values[0]), int(values[-1]) + 1)):  # type: ignore[call-overload]
            return f"{values[0]}–{values[-1]}"
        return " | ".join(map(str, values))

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        r"""Write the hierarchy in ARX's layout, or return the text.

        Bins are written as their labels: read again, "[1.5, 2.0)" is a text and matches no number. Whole numbers, as of
        `intervals` with a step of 1, do match.

        Raises:
            ValueError: A file cannot hold the labels: two are one text, such as 1 and "1", they contain NUL, those of
                the top level are all empty, the first row would be read as a header, or an empty text as a missing
                value.
            OSError: The file cannot be written.

        >>> Hierarchy.flat(["Female", "Male"]).to_csv()
        'Female;*\nMale;*\n'
        """
        from pymoo_anon.table.delimited import write_columns

        return write_columns(self.columns(), path)

    def __deepcopy__(self, memo: dict[int, Any]) -> Hierarchy:
        """Return itself, since it is immutable."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "nodes"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.groups.flags.writeable = self.n_groups.flags.writeable = False

    def __repr__(self) -> str:
        return f"Hierarchy({self.n_values} values, levels of {', '.join(map(str, self.n_groups))} groups)"

    def _repr_html_(self) -> str:
        """Show the first values with their labels."""
        columns = [["" if own is None else str(own) for own in column[:_PRINTED_VALUES]] for column in self.columns()]
        headings = ["value", *(f"level {level} ({n:,})" for level, n in enumerate(self.n_groups[1:], start=1))]
        more = f"; the first {_PRINTED_VALUES}" if self.n_values > _PRINTED_VALUES else ""
        rows = list(zip(*columns, strict=True))
        return html_table(counted(self.n_values, "value", "values") + more, headings, rows)

    def _key(self) -> tuple[Hashable, ...]:
        return self.bins, self.groups.tobytes(), *(tuple(map(same_as, labels)) for labels in self.labels)


def nodes_of(groups: Ints, labels: Sequence[Sequence[Hashable]]) -> Nodes:
    """Build the nodes of a hierarchy."""
    if groups[-1].max() > 0:
        raise ValueError(
            f"the hierarchy of {examples(labels[0])} must end in one group, so that every two values have one in common"
            "; Hierarchy.with_root() adds a level '*'"
        )
    # Sorted by the top level first, so that each group of each level is a run.
    in_order = np.lexsort(groups)
    n_levels, n_values = groups.shape
    begins = np.ones((n_levels, n_values), dtype=np.bool_)
    begins[:, 1:] = np.diff(groups[:, in_order], axis=1) != 0
    # (first, stop) of the run at each place of each level. One key for both: from the root on, wider ones first.
    first = np.maximum.accumulate(np.where(begins, np.arange(n_values), 0), axis=1)
    ends = np.where(np.roll(begins, -1, axis=1), np.arange(1, n_values + 1), n_values)
    stop = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    keys, numbers = np.unique(first * (n_values + 1) + (n_values - stop), return_inverse=True)
    at = numbers.reshape(n_levels, n_values)
    parent = np.full(len(keys), -1, dtype=np.int64)
    level = np.empty(len(keys), dtype=np.int64)
    for number in reversed(range(n_levels)):
        level[at[number]] = number
        if number < n_levels - 1:
            rises = at[number] != at[number + 1]
            parent[at[number, rises]] = at[number + 1, rises]
    ancestors = np.empty_like(groups)
    ancestors[:, in_order] = at
    order = np.empty(n_values, dtype=np.int64)
    order[in_order] = np.arange(n_values)
    made = keys // (n_values + 1), n_values - keys % (n_values + 1), parent, level
    for array in (order, ancestors, *made):
        array.flags.writeable = False
    _check_labels(groups, labels, ancestors)
    a_value_of = in_order[made[0]]
    own = tuple(labels[at_level][groups[at_level, v]] for at_level, v in zip(level.tolist(), a_value_of, strict=True))
    return Nodes(order, *made, own, ancestors)


def _check_labels(groups: Ints, labels: Sequence[Sequence[Hashable]], ancestors: Ints) -> None:
    named: dict[str | None, tuple[int, int]] = {}
    for level, (own, nodes) in enumerate(zip(groups, ancestors, strict=True)):
        node_of = np.empty(len(labels[level]), dtype=np.int64)
        node_of[own] = nodes
        for label, node in zip(labels[level], node_of.tolist(), strict=True):
            # In a release 17.0 and "17" are one text.
            before, other = named.setdefault(label_text(label), (node, level))
            if before != node:
                sets = []
                for which, number in ((before, other), (node, level)):
                    values = np.flatnonzero(ancestors[number] == which).tolist()
                    sets.append(f"{examples([labels[0][v] for v in values])} at level {number}")
                raise ValueError(
                    f"a label must name the same values at every level, {label!r} stands for {' and for '.join(sets)}; "
                    "give one of them another label"
                )


def _checked_levels(columns: list[tuple[Hashable, ...]]) -> list[tuple[Hashable, ...]]:
    if not columns or not columns[0]:
        raise ValueError("levels must hold at least one value, got none")
    for number, column in enumerate(columns):
        if len(column) != len(columns[0]):
            raise ValueError(
                f"levels must be equally long: level 0 has {len(columns[0])} values, "
                f"level {number} has {len(column)} labels"
            )
    if any(value is not None and is_missing(value) for column in columns for value in column):
        raise ValueError("levels must not hold NaN; None stands for a missing value")
    if twice := repeated(map(same_as, columns[0])):
        raise ValueError(f"levels must name each value once, given more than once: {examples(twice)}")
    return columns


def _check_coarser(level: int, groups: Ints, labels: Sequence[Sequence[Hashable]]) -> None:
    below, own = groups[level - 1], groups[level]
    parent = np.empty(len(labels[level - 1]), dtype=np.int64)
    parent[below] = own
    # Each group below keeps its last parent. Values with another one are split from it.
    if split := list(dict.fromkeys(labels[level - 1][group] for group in below[parent[below] != own])):
        raise ValueError(
            f"level {level} must be a coarsening of level {level - 1}: it splits the groups {examples(split)}"
        )


def _place(positions: Mapping[Hashable, int], days: Mapping[date | None, int], value: Any) -> int:
    position = positions.get(same_as(value), -1)
    if position < 0 and isinstance(value, bool | np.bool_):
        position = positions.get(str(value), positions.get(str(value).lower(), -1))
    elif position < 0 and (not isinstance(value, Number | str) or (isinstance(value, float) and isinf(value))):
        # No text spells an infinite number in a domain of numbers.
        position = positions.get(str(value), -1)
    if position < 0 and days:
        position = days.get(day_of(value), -1)
    return position


def _days(domain: Sequence[Hashable]) -> dict[date | None, int]:
    """Return the places of days, or nothing beside moments or double days."""
    places = [i for i, value in enumerate(domain) if is_day(value)]
    days = {day_of(domain[i]): i for i in places}
    n_with_time = sum(day_of(value) is not None for value in domain) - len(places)
    return days if len(days) == len(places) and not n_with_time else {}


def fitted(name: Name, hierarchy: Hierarchy, values: Sequence[Any], missing: bool = False) -> tuple[Hierarchy, Ints]:
    """Fit a hierarchy to a column, and find its values."""
    try:
        own = matched(hierarchy, values)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None
    if missing:
        own = own.with_missing()
    positions = own.encode(values)
    if unknown := [value for value, position in zip(values, positions, strict=True) if position < 0]:
        shown = examples(ascending(unknown))
        text = f"column {name!r} must hold values of its hierarchy only, got without a row there: {shown}"
        if all(isinstance(value, str) for value in unknown) and all(isinstance(v, Number) for v in own.domain):
            text += "; the column holds text and the hierarchy numbers"
        if own.domain[0] == name:
            text += "; the hierarchy begins with the column's own name, as a file with a header does"
        raise ValueError(text)
    return own, positions


def matched(hierarchy: Hierarchy, values: Sequence[Any]) -> Hierarchy:
    """Return the hierarchy with numbers for numbers, perhaps beside Booleans and texts."""
    numbers = [value for value in values if isinstance(value, Number) and not isinstance(value, bool | np.bool_)]
    if not numbers:
        return hierarchy
    kind: NumberType = int if all(isinstance(value, Integral) for value in numbers) else float
    texts = {value for value in values if isinstance(value, str)}
    return hierarchy.with_numbers(Decimal if any(isinstance(value, Decimal) for value in numbers) else kind, texts)
