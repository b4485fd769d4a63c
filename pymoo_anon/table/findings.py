"""Check of a hierarchy file: errors, warnings and notes, with examples."""

from __future__ import annotations

import io
import os
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from pymoo_anon._messages import repeated
from pymoo_anon.table.delimited import check_last_column, csv_rows, separators_of, text_of_file, without_header
from pymoo_anon.table.domain_values import ascending, is_missing, same_as, spelled
from pymoo_anon.table.hierarchy import Hierarchy, matched

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
    found: list[Finding] = []
    rows = _read_rows(path, found)
    if rows:
        domain = _domain(rows, found)
        columns = list(zip(*domain.values(), strict=True))
        _find_splits(columns, found)
        held = None if values is None else list(values)
        _find_near([*columns[0], *(held or [])], "values", found)
        for number, column in enumerate(columns[1:], start=1):
            _find_near(column, f"labels of level {number}", found)
        if held is not None:
            _find_unknown(list(columns[0]), held, found)
    return tuple(sorted(found, key=lambda finding: ("error", "warning", "note").index(finding.severity)))


def _finding(severity: str, what: str, items: Collection[Any]) -> Finding:
    return Finding(severity, what, tuple(str(item) for item in items)[:5], len(items))


def _shown(items: Iterable[Any]) -> list[str]:
    return [repr(item) for item in items]


def _read_rows(source: Any, found: list[Finding]) -> list[list[str]]:
    try:
        text = text_of_file(source, _NAME)[1].rstrip("\r\n")
        rows = list(csv_rows(text, separators_of(_NAME, text)[1][0], _NAME))
    except ValueError as error:
        found.append(Finding("error", str(error)))
        return []
    # The length of most rows is the intended one.
    (length, _), *others = Counter(map(len, rows)).most_common()
    if others:
        odd = [number for number, row in enumerate(rows, start=1) if len(row) != length]
        what = f"rows that have not {length} column{'s' * (length != 1)} like the others, by their numbers"
        found.append(_finding("error", what, odd))
        rows = [row for row in rows if len(row) == length]
    if not length:
        return []
    try:
        rows = without_header(_NAME, rows)
    except ValueError as error:
        found.append(Finding("error", str(error)))
        rows = rows[1:]
    try:
        check_last_column(_NAME, rows)
    except ValueError as error:
        found.append(Finding("error", str(error)))
        rows = [row[:-1] for row in rows]
    return rows


def _domain(rows: Sequence[Sequence[str]], found: list[Finding]) -> dict[str, Sequence[str]]:
    twice = repeated(row[0] for row in rows)
    if twice:
        found.append(_finding("error", "values with more than one row", _shown(twice)))
    domain: dict[str, Sequence[str]] = {}
    for row in rows:
        domain.setdefault(row[0], row)
    return domain


def _find_splits(columns: Sequence[Sequence[str]], found: list[Finding]) -> None:
    for number, (below, own) in enumerate(pairwise(columns), start=1):
        parents: dict[str, dict[str, None]] = {}
        for label, parent in zip(below, own, strict=True):
            parents.setdefault(label, {})[parent] = None
        split = [
            f"{label!r} into {' and '.join(_shown(above)[:2])}" for label, above in parents.items() if len(above) > 1
        ]
        if split:
            what = f"level {number} is no coarsening of level {number - 1}, it splits groups"
            found.append(_finding("error", what, split))
        elif len(set(own)) == len(parents):
            what = f"level {number} gains nothing: it has as many groups as the one below, {len(parents):,}"
            found.append(Finding("warning", what))
        empty = [value for value, label in zip(columns[0], own, strict=True) if value and not label]
        if empty:
            found.append(_finding("warning", f"values without a label at level {number}", _shown(empty)))
    if len(set(columns[-1])) > 1:
        what = "the last level is no root: it keeps groups apart"
        found.append(_finding("warning", what, _shown(dict.fromkeys(columns[-1]))))


def _find_near(values: Iterable[Any], of: str, found: list[Finding]) -> None:
    alike: dict[str, dict[str, None]] = {}
    for value in values:
        if isinstance(value, str):
            same = " ".join(unicodedata.normalize("NFKC", value).casefold().split())
            alike.setdefault(same, {})[value] = None
    near = [" and ".join(_shown(texts)) for texts in alike.values() if len(texts) > 1]
    if near:
        found.append(_finding("warning", f"{of} that differ only in case, spaces or character width", near))


def _find_unknown(domain: list[str], values: list[Any], found: list[Finding]) -> None:
    present = list({same_as(value): value for value in values if not is_missing(value)}.values())
    try:
        hierarchy = matched(Hierarchy.flat(value or None for value in domain), present)
    except ValueError as error:
        found.append(Finding("error", str(error)))
        domain = list({spelled(value, Decimal): value for value in reversed(domain)}.values())
        hierarchy = matched(Hierarchy.flat(value or None for value in domain), present)
    places = hierarchy.encode(present)
    unknown = [value for value, place in zip(present, places, strict=True) if place < 0]
    if unknown:
        found.append(_finding("error", "values of the column without a row", _shown(ascending(unknown))))
    if "" not in domain and any(map(is_missing, values)):
        found.append(
            Finding("note", "the column has missing values, the file no row for them: missing='keep' adds one")
        )
    held = set(places.tolist())
    idle = [value for i, value in enumerate(domain) if i not in held and value]
    if idle:
        found.append(_finding("note", "values that the column does not hold", _shown(idle)))
