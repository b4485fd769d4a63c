"""Domain generalization hierarchies: what each value of a quasi-identifier becomes, level by level."""

from __future__ import annotations

import csv
import io
import os
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from numbers import Integral, Number
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymoo_anon._messages import examples, repeated
from pymoo_anon.table.domain_values import interval_label, is_number, is_whole, numbered, same_as, spelled
from pymoo_anon.table.taxonomy import Taxonomy

#: What stands for a value that is wholly generalized or suppressed.
ROOT = "*"

_LARGEST = 10**18


class Hierarchy:
    """A domain generalization hierarchy of one attribute (Dewri et al. 2010, section 3).

    An ordered domain of values and, per level, the group of every value and the label of every group. Level 0 is the
    domain itself; each level is a coarsening of the one below; the top level usually is one group, `*`. Instances do
    not change: every method returns a new one. The builders are `from_csv`, `from_levels`, `intervals` and `flat`.

    Args:
        levels: One sequence of labels per level, each as long as the domain; level 0 holds the values themselves.
            Values with the same label at a level form a group of it.

    Attributes:
        domain: Tuple of the values, in their order.
        groups: (length + 1, n_values) int64 array, at each level the group of every value, counted from 0 in the
            order of the domain.
        labels: Per level, a tuple with the label of every group.
        n_groups: (length + 1,) int64 array, the number of groups of each level.

    Raises:
        ValueError: There is no value, the levels are not equally long, a value is given twice, or a level is no
            coarsening of the one below.
    """

    def __init__(self, levels: Sequence[Sequence[Hashable]]) -> None:
        columns = [tuple(level) for level in levels]
        if not columns or not columns[0]:
            raise ValueError("levels must hold at least one value, got none")
        for number, column in enumerate(columns):
            if len(column) != len(columns[0]):
                raise ValueError(
                    f"levels must be equally long: level 0 has {len(columns[0])} values, "
                    f"level {number} has {len(column)} labels"
                )
        if any(value is pd.NA or value is pd.NaT or value != value for column in columns for value in column):
            raise ValueError("levels must not hold NaN; None stands for a missing value")
        twice = repeated(map(same_as, columns[0]))
        if twice:
            raise ValueError(f"levels must name each value once, given more than once: {examples(twice)}")
        ids_and_labels = [numbered(column) for column in columns]
        self.domain = columns[0]
        self.groups: NDArray[np.int64] = np.array([ids for ids, _ in ids_and_labels], dtype=np.int64)
        self.groups.flags.writeable = False
        self.labels = tuple(labels for _, labels in ids_and_labels)
        self.n_groups: NDArray[np.int64] = np.array([len(labels) for labels in self.labels], dtype=np.int64)
        self.n_groups.flags.writeable = False
        self._edges: tuple[int | float, ...] | None = None
        self._closed = "left"
        self._whole = False
        for level in range(1, len(columns)):
            self._check_coarser(level)

    @classmethod
    def from_levels(cls, levels: Sequence[Sequence[Hashable]]) -> Hierarchy:
        """Build a hierarchy from its columns.

        Args:
            levels: One sequence of labels per level, each as long as the domain; level 0 holds the values themselves.

        Raises:
            ValueError: As the class.

        >>> Hierarchy.from_levels([["a", "b", "c"], ["ab", "ab", "c"], ["*", "*", "*"]])
        Hierarchy(3 values, levels of 3, 2, 1 groups)
        """
        return cls(levels)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str] | io.TextIOBase) -> Hierarchy:
        """Read a hierarchy in ARX's layout: no header, `;` between columns, `value;level 1;level 2;...` per row.

        The file is text: its values are text, and match a numeric column of a table where they spell the same number.
        Rows for values that a table does not hold are legal and count in the domain. Quotes are as usual in CSV.

        Args:
            path: A path or an open text file (UTF-8).

        Raises:
            ValueError: The file is empty or not UTF-8, rows are of unequal length, a value is given twice, or a level
                is no coarsening of the one below.
        """
        if isinstance(path, io.TextIOBase):
            name, text = str(getattr(path, "name", "the file")), path.read().removeprefix("\ufeff")
        else:
            name = os.fspath(path)
            try:
                with open(path, encoding="utf-8-sig", newline="") as file:
                    text = file.read()
            except UnicodeDecodeError as error:
                raise ValueError(f"{name} must be a text file in UTF-8, got a byte that is not: {error}") from None
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=";"))
        except csv.Error as error:
            raise ValueError(f"{name} must be a CSV file with closed quotes: {error}") from None
        while rows and not rows[-1]:
            rows.pop()
        if not rows:
            raise ValueError(f"{name} must hold at least one row value;level 1;level 2;..., got an empty file")
        unequal = [number for number, row in enumerate(rows, start=1) if len(row) != len(rows[0])]
        if unequal:
            raise ValueError(
                f"{name} must have rows of equal length: row 1 has {len(rows[0])} columns, "
                f"others have not: rows {examples(unequal)}"
            )
        try:
            return cls(list(zip(*rows, strict=True)))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None

    @classmethod
    def flat(cls, values: Iterable[Hashable]) -> Hierarchy:
        """A hierarchy of length 1: every value apart, or all together as `*`.

        >>> Hierarchy.flat(["Female", "Male"])
        Hierarchy(2 values, levels of 2, 1 groups)
        """
        domain = tuple(values)
        return cls([domain, (ROOT,) * len(domain)])

    @classmethod
    def intervals(
        cls, low: float, high: float, widths: Sequence[float], step: float = 1, closed: str = "left"
    ) -> Hierarchy:
        """A hierarchy of nested intervals over numbers.

        The domain is the bins of size `step` from `low` to `high`, each width a level of bins, and the top level `*`.
        Bins are counted from `low`; the last one of a level ends at `high` at the latest. If all arguments are whole,
        the hierarchy is of whole numbers: a step of 1 makes the numbers themselves the domain, labels read "15–19"
        and name the numbers in the bin. Otherwise they read "[1.5, 2.0)" and a value belongs to the bin that holds it.

        Args:
            low: Where the first bin begins.
            high: Where the last bin ends; `high - low` is a multiple of `step`.
            widths: Widths of the levels from fine to coarse, each a larger multiple of the one before and of `step`.
            step: Size of the bins that the domain consists of.
            closed: Which end of a bin belongs to it, "left" or "right".

        Raises:
            ValueError: One of these does not hold.

        >>> ages = Hierarchy.intervals(0, 100, widths=[5, 10, 20])
        >>> ages
        Hierarchy(100 values, levels of 100, 20, 10, 5, 1 groups)
        >>> ages.labels[1][3]
        '15–19'
        """
        if closed not in ("left", "right"):
            raise ValueError(f"closed must be 'left' or 'right', got {closed!r}")
        if not isinstance(widths, Iterable):
            raise TypeError(f"widths must be a list of numbers, got {widths!r}")
        arguments = [low, high, step, *widths]
        for argument in arguments:
            if not is_number(argument) or not -_LARGEST <= argument <= _LARGEST:
                raise ValueError(
                    f"low, high, step and widths must be whole, float or Decimal numbers of at most {_LARGEST:.0e}, "
                    f"got {argument!r:.80}"
                )
        whole = all(isinstance(argument, Integral) for argument in arguments)
        # Decimals, so that the edge after 0.2 in steps of 0.1 is the 0.3 that a person writes.
        start, end, size, *sizes = (Decimal(str(argument)) for argument in arguments)
        if size <= 0:
            raise ValueError(f"step must be positive, got {step!r}")
        if end <= start or (end - start) % size != 0:
            raise ValueError(f"high - low must be a positive multiple of step, got {low!r}, {high!r} and {step!r}")
        for finer, coarser in zip([size, *sizes], sizes, strict=False):
            if coarser <= finer or coarser % finer != 0:
                raise ValueError(f"widths must nest, each a larger multiple of the one before: {finer}, {coarser}")
        n = int((end - start) / size)
        levels: list[tuple[Hashable, ...]] = []
        for width in [size, *sizes]:
            bins = int(width / size)
            labels = []
            for first in range(0, n, bins):
                edges = start + first * size, min(start + (first + bins) * size, end)
                labels.append(interval_label(*edges, whole, closed))
            levels.append(tuple(labels[i // bins] for i in range(n)))
        hierarchy = cls([*levels, (ROOT,) * n])
        # Of Python's own numbers, which compare exactly with those of a table, however large.
        kind = int if whole else float
        hierarchy._edges = tuple(kind(start + i * size) for i in range(n + 1))
        hierarchy._closed, hierarchy._whole = closed, whole
        return hierarchy

    @classmethod
    def from_taxonomy(cls, taxonomy: Taxonomy) -> Hierarchy:
        """The hierarchy of a taxonomy: its leaves are the domain, and each level is the nodes one step nearer the root.

        Where leaves are of different depth, the nearer ones stay themselves until their own depth is reached.
        """
        return cls(taxonomy.levels())

    @property
    def length(self) -> int:
        """Number of levels above the raw one."""
        return len(self.groups) - 1

    @property
    def n_values(self) -> int:
        """Number of values in the domain."""
        return len(self.domain)

    @property
    def has_root(self) -> bool:
        """Whether the top level is one group, so that no two values can be told apart there."""
        return bool(self.n_groups[-1] == 1)

    def with_root(self) -> Hierarchy:
        """This hierarchy with a top level `*` of one group; itself where it has one already."""
        return self if self.has_root else self._rebuilt([*self._columns(), (ROOT,) * self.n_values])

    def with_missing(self) -> Hierarchy:
        """This hierarchy with None as one more value, which stays apart up to the root; itself where None is in it."""
        if None in self.domain:
            return self
        root = [None] * len(self.groups)
        if self.has_root and self.length > 0:
            root[-1] = self.labels[-1][0]  # type: ignore[call-overload]
        return self._rebuilt([(*column, label) for column, label in zip(self._columns(), root, strict=True)])

    def with_numbers(self, kind: type[int] | type[float]) -> Hierarchy:
        """This hierarchy with numbers in place of the text that spells them.

        Each value of the domain that spells a number becomes that number; so do the labels of a level if all of them
        spell numbers. Whole numbers become int or, if `kind` is float, float.

        Raises:
            ValueError: Two values of the domain spell the same number.
        """
        domain, *above = self._columns()
        values = [spelled(value, kind) for value in domain]
        twice = repeated(value for value in values if isinstance(value, Number))
        if twice:
            raise ValueError(f"the hierarchy must name each number once, spelled more than once: {examples(twice)}")
        columns: list[Sequence[Hashable]] = [values]
        for labels in above:
            numbers = [spelled(label, kind) for label in labels]
            merges = len(set(numbers)) < len(set(labels))
            columns.append(numbers if all(isinstance(n, Number) for n in numbers) and not merges else labels)
        return self._rebuilt(columns)

    def encode(self, values: Sequence[Any]) -> NDArray[np.int64]:
        """Positions of values in the domain.

        Args:
            values: Python values. A number matches the same number or the bin that holds it (not a text that spells it:
                `with_numbers` makes numbers of these), a text the same text, None the value for what is missing,
                anything else the same value or the text that `str` makes of it.

        Returns:
            (n,) int64 array, -1 for a value that is not in the domain.
        """
        if self._edges is not None:
            return np.array([self._bin(value) for value in values], dtype=np.int64).reshape(-1)
        positions = {same_as(value): i for i, value in enumerate(self.domain)}
        found = []
        for value in values:
            position = positions.get(same_as(value), -1)
            if position < 0 and not isinstance(value, Number | str):
                position = positions.get(same_as(str(value)), -1)
            elif position < 0 and isinstance(value, bool):
                position = positions.get(same_as(str(value)), positions.get(same_as(str(value).lower()), -1))
            found.append(position)
        return np.array(found, dtype=np.int64).reshape(-1)

    def run_label(self, first: int, last: int) -> Hashable:
        """A label for the values first..last of the domain as one group: the value, their range, or all of them.

        Args:
            first: Position of the first value.
            last: Position of the last value.
        """
        values = self.domain[first : last + 1]
        if len(values) == 1:
            return values[0]
        if len(values) == self.n_values:
            return ROOT
        if self._edges is not None and None not in values:
            start, end = (Decimal(repr(self._edges[i])) for i in (first, last + 1))
            return interval_label(start, end, self._whole, self._closed)
        if all(is_whole(value) for value in values) and values == tuple(range(int(values[0]), int(values[-1]) + 1)):  # type: ignore[call-overload]
            return f"{values[0]}–{values[-1]}"
        return " | ".join(map(str, values))

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write the hierarchy in ARX's layout, as `from_csv` reads it.

        Args:
            path: Where to write; the file appears whole or not at all. None returns the text instead.
        """
        text = io.StringIO(newline="")
        # Left to itself the writer does not quote a carriage return, which a reader takes for the end of a row.
        returns = any("\r" in str(label) for labels in self.labels for label in labels)
        writer = csv.writer(
            text, delimiter=";", lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
        )
        try:
            writer.writerows(zip(*self._columns(), strict=True))
        except csv.Error as error:
            raise ValueError(f"labels must be text that a CSV file can hold: {error}") from None
        if path is None:
            return text.getvalue()
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            temporary.write_text(text.getvalue(), encoding="utf-8", newline="")
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        return None

    def __deepcopy__(self, memo: dict[int, Any]) -> Hierarchy:
        """Itself: nothing in it changes."""
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.groups.flags.writeable = self.n_groups.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        """Whether both have the same values, groups and labels."""
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return (
            [[*map(same_as, level)] for level in self.labels] == [[*map(same_as, level)] for level in other.labels]
            and np.array_equal(self.groups, other.groups)
            and self._closed == other._closed
            and self._whole == other._whole
            and self._edges == other._edges
        )

    def __hash__(self) -> int:
        return hash((self.labels, self.groups.tobytes()))

    def __repr__(self) -> str:
        return f"Hierarchy({self.n_values} values, levels of {', '.join(map(str, self.n_groups))} groups)"

    def _columns(self) -> list[tuple[Hashable, ...]]:
        return [
            tuple(labels[group] for group in groups) for groups, labels in zip(self.groups, self.labels, strict=True)
        ]

    def _rebuilt(self, columns: Sequence[Sequence[Hashable]]) -> Hierarchy:
        hierarchy = Hierarchy(columns)
        hierarchy._edges, hierarchy._closed, hierarchy._whole = self._edges, self._closed, self._whole
        return hierarchy

    def _bin(self, value: Any) -> int:
        if value is None:
            return self.domain.index(None) if None in self.domain else -1
        if not is_number(value) or not np.isfinite(value) or (self._whole and value % 1 != 0):
            return -1
        assert self._edges is not None
        bisect: Any = bisect_right if self._closed == "left" else bisect_left
        position: int = bisect(self._edges, same_as(value)) - 1
        return position if 0 <= position < len(self._edges) - 1 else -1

    def _check_coarser(self, level: int) -> None:
        below, groups = self.groups[level - 1], self.groups[level]
        parent = np.empty(self.n_groups[level - 1], dtype=np.int64)
        parent[below] = groups
        split = list(dict.fromkeys(self.labels[level - 1][group] for group in below[parent[below] != groups]))
        if split:
            raise ValueError(
                f"level {level} must be a coarsening of level {level - 1}: it splits the groups {examples(split)}"
            )
