"""The sixth view: what was promised, what a recount found, and how to do it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pymoo_anon.publishing.report.cells import NOTHING, Cell, Column, Row, Table, View, number, text
from pymoo_anon.publishing.report.subject import Subject

#: The parts of the evidence that may leave the building, by name.
OUTSIDE = (
    *("format", "version", "made", "settings", "search", "seed", "reproduce", "software", "checksums"),
    *("suppressed", "claims", "promised", "recounted"),
)

# Lists of more parts are not told one by one.
_MOST_PARTS = 20

_CLAIMS = (Column("measure"), Column("promised", "number"), Column("recounted", "number"), Column("holds"))


def evidence_view(subject: Subject) -> View:
    """The claims of the release and its evidence."""
    claims, evidence = subject.findings.claims, subject.findings.evidence
    words = []
    rows: list[Row] = []
    if claims is None:
        words.append("The release was not recounted, or its claims were not handed to this report.")
    else:
        for measure, promised, recounted, holds in zip(
            *(claims[name].tolist() for name in ("measure", "promised", "recounted", "holds")), strict=True
        ):
            values = [_value(subject, str(measure), value) for value in (promised, recounted)]
            rows.append((text(measure), *values, _HOLDS.get(holds, NOTHING)))
        held, broken = (sum(row[-1] == word for row in rows) for word in _HOLDS.values())
        words.append(
            "The measures were recounted from the released table alone, by other means than the search: "
            f"{held} of {len(rows)} hold what was promised, {broken} do not."
        )
    told: list[Row] = []
    for path, value in _flat(evidence or {}):
        if not subject.external or path[0] in OUTSIDE:
            told.append((" › ".join(text(part) for part in path), _shown(_value(subject, " ".join(path), value))))
    if evidence is None:
        words.append("No evidence was handed to this report.")
    caption = "What the search promised, and what a recount of the release found."
    kept = Table(
        "evidence", "The evidence: how the release was made, and how to make it again.", _EVIDENCE, tuple(told)
    )
    return View(tuple(words), (Table("claims", caption, _CLAIMS, tuple(rows)), kept))


_HOLDS = {True: "yes", False: "no"}
_EVIDENCE = (Column("what"), Column("value"))


def _flat(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The single values of nested dicts and lists, each with the keys that lead to it."""
    if isinstance(found, Mapping):
        parts = [(str(key), value) for key, value in found.items()]
    elif isinstance(found, list | tuple) and any(isinstance(value, Mapping | list | tuple) for value in found):
        if len(found) > _MOST_PARTS:
            yield path, f"{len(found)} parts, which the file of the evidence has"
            return
        parts = [(str(number), value) for number, value in enumerate(found, start=1)]
    else:
        yield path or ("",), found
        return
    for key, value in parts:
        yield from _flat(value, (*path, key))


def _value(subject: Subject, name: str, value: Any) -> Cell:
    """A value of the claims or the evidence, without a number of people that may not leave the building."""
    if isinstance(value, list | tuple):
        return ", ".join(str(_value(subject, name, one)) for one in value)
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if value is None or not isinstance(value, int | float | np.number):
        return None if value is None else text(value)
    if not subject.external:
        return number(value)
    n_suppressed = subject.suppressed[subject.chosen]
    if "suppressed" in name and value == n_suppressed:
        return subject.people(n_suppressed)
    hidden = 0 < n_suppressed < subject.floor
    if hidden and value == subject.table.n_rows:
        # The rows less those that are released would be the suppressed ones.
        return "withheld"
    # So would exact losses of all rows less those of the released ones.
    return number(f"{value:.3g}") if hidden and not isinstance(value, int | np.integer) else number(value)


def _shown(cell: Cell) -> Cell:
    """A number of the evidence as it is written: a seed has no separators."""
    return cell if cell is None or isinstance(cell, str) else str(cell)
