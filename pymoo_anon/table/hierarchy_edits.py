"""Findings about hierarchy files, and changes of hierarchies by hand."""

from __future__ import annotations

import io
import os
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pymoo_anon._files import replaced
from pymoo_anon._messages import examples, repeated
from pymoo_anon.table.delimited import check_last_column, csv_rows, separators_of, text_of_file, without_header
from pymoo_anon.table.domain_values import (
    LARGEST_NUMBER,
    ROOT,
    ascending,
    check_nested,
    interval_labels,
    is_missing,
    number_of,
    python_values,
    same_as,
    spelled,
)
from pymoo_anon.table.hierarchy import Hierarchy, matched
from pymoo_anon.typing import Ints

if TYPE_CHECKING:
    from pymoo_anon.table.guesses import Profile

# The name of the file in messages. Callers know which file they check.
_NAME = "the file"


@dataclass(frozen=True)
class Finding:
    """A finding in a hierarchy file.

    Attributes:
        severity: "error" if the file cannot be used, "warning" if it is hardly meant so, "note" for all else.
        what: The finding, in one line.
        examples: At most five of the values, labels or row numbers concerned, as text.
        count: Number of all of them.
    """

    severity: str
    what: str
    examples: tuple[str, ...] = ()
    count: int = 0

    def __str__(self) -> str:
        """Spell the finding in one line."""
        more = f" and {self.count - len(self.examples):,} more" if self.count > len(self.examples) else ""
        return f"{self.severity}: {self.what}" + (f": {', '.join(self.examples)}{more}" if self.examples else "")


def check_hierarchy(
    path: str | os.PathLike[str] | io.TextIOBase, values: Iterable[Any] | None = None
) -> tuple[Finding, ...]:
    r"""Check a hierarchy file, alone or against values.

    `Hierarchy.from_csv` reads a file without errors, and it fits a table that holds the values.

    - errors: no text or no table, rows of unequal length, a possible header, a last column without labels, a value
      with two rows, a level that is no coarsening of the one below, values of the column without a row.
    - warnings: values or labels of a level that differ only in case, spaces or the width of characters, no root, a
      level that gains nothing, empty labels.
    - notes: values that the column does not hold, a column with missing values and no row for them.

    Errors come first. The values of the column may repeat.

    Raises:
        TypeError: `path` is neither a path nor an open text file.
        OSError: The file cannot be read.

    >>> from io import StringIO
    >>> for finding in check_hierarchy(StringIO("Male;M;*\nmale ;M;*\nFemale;F;*\n"), ["Male", "Diverse"]):
    ...     print(finding)
    error: values of the column without a row: 'Diverse'
    warning: values that differ only in case, spaces or character width: 'Male' and 'male '
    note: values that the column does not hold: 'male ', 'Female'
    """
    found = _Findings()
    rows = _read_rows(path, found)
    if rows:
        found.add("error", "values with more than one row", map(repr, repeated(row[0] for row in rows)))
        domain: dict[str, list[str]] = {}
        for row in rows:
            domain.setdefault(row[0], row)
        columns = list(zip(*domain.values(), strict=True))
        _find_splits(columns, found)
        held = None if values is None else python_values(values)
        _find_near([*columns[0], *(held or [])], "values", found)
        for number, column in enumerate(columns[1:], start=1):
            _find_near(column, f"labels of level {number}", found)
        if held is not None:
            _find_unknown(columns[0], held, found)
    return tuple(sorted(found, key=lambda finding: ("error", "warning", "note").index(finding.severity)))


class _Findings(list[Finding]):
    def add(self, severity: str, what: object, items: Iterable[Any] | None = None) -> None:
        """Add a finding, unless it is about no items."""
        texts = [str(item) for item in items or ()]
        if texts or items is None:
            self.append(Finding(severity, str(what), tuple(texts[:5]), len(texts)))


def _read_rows(source: Any, found: _Findings) -> list[list[str]]:
    try:
        text = text_of_file(source, _NAME)[1].rstrip("\r\n")
        rows = list(csv_rows(text, separators_of(_NAME, text)[0], _NAME))
    except ValueError as error:
        found.add("error", error)
        return []
    # The length of most rows is the intended one.
    length = Counter(map(len, rows)).most_common(1)[0][0]
    odd = (number for number, row in enumerate(rows, start=1) if len(row) != length)
    what = f"rows that have not {length} column{'s' * (length != 1)} like the others, by their numbers"
    found.add("error", what, odd)
    rows = [row for row in rows if len(row) == length]
    if not length:
        return []
    try:
        rows = without_header(_NAME, rows)
    except ValueError as error:
        found.add("error", error)
        rows = rows[1:]
    try:
        check_last_column(_NAME, rows)
    except ValueError as error:
        found.add("error", error)
        rows = [row[:-1] for row in rows]
    return rows


def _find_splits(columns: Sequence[Sequence[str]], found: _Findings) -> None:
    for number, (below, own) in enumerate(pairwise(columns), start=1):
        parents: dict[str, dict[str, None]] = {}
        for label, parent in zip(below, own, strict=True):
            parents.setdefault(label, {})[parent] = None
        split = [(label, [*above][:2]) for label, above in parents.items() if len(above) > 1]
        what = f"level {number} is no coarsening of level {number - 1}, it splits groups"
        found.add("error", what, (f"{label!r} into {above[0]!r} and {above[1]!r}" for label, above in split))
        if not split and len(set(own)) == len(parents):
            what = f"level {number} gains nothing: it has as many groups as the one below, {len(parents):,}"
            found.add("warning", what)
        empty = (repr(value) for value, label in zip(columns[0], own, strict=True) if value and not label)
        found.add("warning", f"values without a label at level {number}", empty)
    top = dict.fromkeys(columns[-1])
    if len(top) > 1:
        found.add("warning", "the last level is no root: it keeps groups apart", map(repr, top))


def _find_near(values: Iterable[Any], of: str, found: _Findings) -> None:
    alike: dict[str, list[str]] = {}
    for value in dict.fromkeys(value for value in values if isinstance(value, str)):
        alike.setdefault(" ".join(unicodedata.normalize("NFKC", value).casefold().split()), []).append(value)
    near = (" and ".join(map(repr, texts)) for texts in alike.values() if len(texts) > 1)
    found.add("warning", f"{of} that differ only in case, spaces or character width", near)


def _find_unknown(domain: Sequence[str], values: list[Any], found: _Findings) -> None:
    present = list({same_as(value): value for value in values if not is_missing(value)}.values())
    try:
        hierarchy = matched(Hierarchy.flat(value or None for value in domain), present)
    except ValueError as error:
        found.add("error", error)
        domain = list({spelled(value, Decimal): value for value in reversed(domain)}.values())
        hierarchy = matched(Hierarchy.flat(value or None for value in domain), present)
    places = hierarchy.encode(present)
    has_missing = any(map(is_missing, values))
    # Beside missing values an empty text is one of them.
    unknown = [v for v, place in zip(present, places, strict=True) if place < 0 and not (has_missing and v == "")]
    found.add("error", "values of the column without a row", map(repr, ascending(unknown)))
    if "" not in domain and has_missing:
        found.add("note", 'the column has missing values, the file no row for them: missing = "keep" adds one')
    held = set(places.tolist())
    idle = (repr(value) for i, value in enumerate(domain) if i not in held and value)
    found.add("note", "values that the column does not hold", idle)


# --- changes ----------------------------------------------------------------------------------------------------------


def merged(hierarchy: Hierarchy, level: int, labels: Sequence[Hashable], new: Hashable) -> Hierarchy:
    """Return the hierarchy with groups of a level as one group.

    Of a single group only the label changes. Above, all of them join the groups of the first one.

    >>> cities = Hierarchy([["Bonn", "Paris", "Rome"], ["DE", "FR", "IT"], ["north", "south", "south"]])
    >>> merged(cities, 1, ["FR", "DE"], "EU").labels[1:]
    (('EU', 'IT'), ('south',))
    """
    places = _values_of(hierarchy, level, level, labels)
    _check_free(hierarchy, level, new, labels)
    first = hierarchy.columns()[level].index(labels[0])
    return _regrouped(hierarchy, level, places, new, first)


def moved(hierarchy: Hierarchy, level: int, members: Sequence[Hashable], label: Hashable) -> Hierarchy:
    """Return the hierarchy with some members in another group, there and above.

    >>> cities = Hierarchy([["Bonn", "Paris", "Rome"], ["DE", "FR", "IT"], ["north", "south", "south"]])
    >>> moved(cities, 1, ["Paris"], "DE").groups.tolist()
    [[0, 1, 2], [0, 0, 1], [0, 0, 1]]
    """
    places = _values_of(hierarchy, level, level - 1, members)
    if label not in hierarchy.labels[level]:
        raise ValueError(f"level {level} must have the groups that are named, got {label!r} without one")
    return _regrouped(hierarchy, level, places, label, hierarchy.columns()[level].index(label))


def split(hierarchy: Hierarchy, level: int, members: Sequence[Hashable], new: Hashable) -> Hierarchy:
    """Return the hierarchy with some members as a group of their own.

    >>> split(Hierarchy.flat(["Bonn", "Paris"]), 1, ["Bonn"], "DE").labels[1]
    ('DE', '*')
    """
    places = _values_of(hierarchy, level, level - 1, members)
    _check_free(hierarchy, level, new)
    return _regrouped(hierarchy, level, places, new)


def with_widths(hierarchy: Hierarchy, widths: Sequence[float]) -> Hierarchy:
    """Return the hierarchy of the same numbers with intervals of these widths, and `*`.

    Intervals begin at multiples of the widest one. A missing value stays apart.

    >>> with_widths(Hierarchy.flat(["17", "23", "41"]), [10, 20]).labels[1:]
    (('10–19', '20–29', '40–49'), ('0–19', '20–39', '40–59'), ('*',))
    """
    numbers = [None if value is None else number_of(value) for value in hierarchy.domain]
    present = [number for number in numbers if number is not None]
    odd = [value for value, number in zip(hierarchy.domain, numbers, strict=True) if number is None is not value]
    if odd or not present:
        raise ValueError(f"intervals need numbers of at most {LARGEST_NUMBER:.0e}, got {examples(odd) or 'none'}")
    if not widths:
        raise ValueError("widths must name at least one width, got none")
    if not all(0 < width < inf for width in widths):
        raise ValueError(f"widths must be positive and finite, got {examples(list(widths))}")
    check_nested(widths)
    exact, order = [Decimal(str(width)) for width in widths], sorted(present)
    whole = all(number == number.to_integral_value() for number in (*present, *exact))
    columns = []
    for width in exact:
        labels = dict(zip(order, interval_labels(order, width, whole, (order[0], order[-1])), strict=True))
        columns.append([None if number is None else labels[number] for number in numbers])
    return Hierarchy([hierarchy.domain, *columns, [ROOT] * hierarchy.n_values])


def _values_of(hierarchy: Hierarchy, level: int, named: int, labels: Sequence[Hashable]) -> list[int]:
    """Find the values with some labels at a level, or raise."""
    if not 1 <= level <= hierarchy.length:
        raise ValueError(f"level must be from 1 to {hierarchy.length}, got {level!r}")
    unknown = [label for label in labels if label not in hierarchy.labels[named]]
    if not labels:
        raise ValueError(f"a change must name at least one group of level {named}, got none")
    if unknown:
        raise ValueError(f"level {named} must have the groups that are named, got {examples(unknown)} without one")
    return [place for place, label in enumerate(hierarchy.columns()[named]) if label in labels]


def _check_free(hierarchy: Hierarchy, level: int, new: Hashable, besides: Sequence[Hashable] = ()) -> None:
    if new == "" or (new in hierarchy.labels[level] and new not in besides):
        raise ValueError(f"a group must have a label of its own, got {new!r}")


def _regrouped(
    hierarchy: Hierarchy, level: int, places: Sequence[int], label: Hashable, like: int | None = None
) -> Hierarchy:
    """Relabel values at a level, and above like another value."""
    columns = [list(column) for column in hierarchy.columns()]
    for place in places:
        columns[level][place] = label
        if like is not None:
            for above in columns[level + 1 :]:
                above[place] = above[like]
    return Hierarchy(columns, hierarchy.bins)


# --- files that are open ----------------------------------------------------------------------------------------------


class OpenHierarchy(NamedTuple):
    """Hierarchy of a column, beside its values."""

    text: str  # The content of its file
    findings: Sequence[Finding]  # Errors, warnings and notes of a check against the values
    hierarchy: Hierarchy | None  # The hierarchy, or None where the file holds none
    rows: Ints  # (n_values,) int64, the rows of each value of its domain, zeros for a sampled column

    def rows_of(self, level: int) -> Ints:
        """Return the rows of each group of a level."""
        assert self.hierarchy is not None
        n_groups = int(self.hierarchy.n_groups[level])
        return np.bincount(self.hierarchy.groups[level], self.rows, n_groups).astype(np.int64)


def open_hierarchy(path: Path, profile: Profile) -> OpenHierarchy:
    """Read and check a hierarchy, and count the rows of its values."""
    text, values = text_of_file(path, str(path))[1], None if profile.is_sampled else list(profile.values)
    findings = check_hierarchy(io.StringIO(text), values)
    try:
        hierarchy = Hierarchy.from_csv(io.StringIO(text))
    except ValueError:
        return OpenHierarchy(text, findings, None, np.zeros(0, dtype=np.int64))
    rows = np.zeros(hierarchy.n_values, dtype=np.int64)
    if values is not None:
        try:
            places = matched(hierarchy, values).encode(values)
        except ValueError:
            places = hierarchy.encode(values)
        known = places >= 0
        np.add.at(rows, places[known], np.array(profile.counts)[known])
    return OpenHierarchy(text, findings, hierarchy, rows)


def change_hierarchy(path: Path, text: str, known: str | None = None) -> str:
    """Replace the `known` text of a hierarchy file, and return it. ValueError says why it cannot be."""
    Hierarchy.from_csv(io.StringIO(text))
    before = text_of_file(path, str(path))[1]
    if known is not None and before != known:
        raise ValueError(f"{path} has changed meanwhile; read it again, and repeat the change")
    with replaced(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return before
