"""The fourth view: what was generalized, and what that made of each attribute."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.publishing.report.cells import Column, Row, Table, View, merged, text
from pymoo_anon.publishing.report.subject import Member, Subject
from pymoo_anon.table.domain_values import ROOT
from pymoo_anon.table.hierarchy import Hierarchy

#: What the ladder marks where the release stands.
HERE = "●"

# Labels of an attribute that are shown, where its values have no order and where they have one.
_MOST_LABELS, _MOST_ORDERED = 14, 120

# Labels of a level that stand as examples.
_EXAMPLES = 3

_SUPPRESSED = "* (suppressed rows)"


def changes_view(subject: Subject, member: Member) -> View:
    """The ladder of levels, and the distribution of each attribute after the release."""
    tables = [_ladder(subject, member)]
    for j, name in enumerate(subject.names):
        tables.append(after_table(subject, member, j, name))
    moved = [text(name) for name in subject.names if _is_raw(member, name)]
    gone = [text(name) for name in subject.names if len(member.generalization.labels[name]) == 1]
    words = [
        f"Left as in the raw table: {', '.join(moved) or 'none of the attributes'}.",
        f"Wholly generalized, one value for everybody: {', '.join(gone) or 'none of the attributes'}.",
    ]
    return View(tuple(words), tuple(tables))


def before_table(subject: Subject, j: int, name: Any) -> Table:
    """The distribution of one attribute in the raw table; it does not stand in a report that leaves the building."""
    hierarchy = subject.table.quasi_identifiers[name]
    counts = np.bincount(subject.table.tuples.codes[:, j], subject.table.tuples.counts, hierarchy.n_values)
    rows = _rows(hierarchy.labels[0], counts.astype(np.int64), is_ordered(hierarchy))
    columns = (Column(text(name)), Column("people", "people"))
    return Table(f"before{j}", f"{text(name)}: the raw table", columns, tuple(rows))


def after_table(subject: Subject, member: Member, j: int, name: Any) -> Table:
    """The distribution of one attribute in the release."""
    labels, groups = member.generalization.labels[name], member.generalization.groups[name]
    tuples = subject.table.tuples
    counts = np.bincount(groups[tuples.codes[:, j]], member.kept_counts, len(labels)).astype(np.int64)
    ordered = is_ordered(subject.table.quasi_identifiers[name])
    if subject.external:
        rows = merged(_pairs(labels, counts), subject.floor, 1, "other")
        rows = _shortened(rows, ordered)
    else:
        rows = _rows(labels, counts, ordered)
    if member.marked and member.n_suppressed >= max(subject.floor, 1):
        rows = [*rows, (_SUPPRESSED, member.n_suppressed)]
    columns = (Column(text(name)), Column("people", "people"))
    return Table(f"after{j}", f"{text(name)}: the release", columns, tuple(rows))


def is_ordered(hierarchy: Hierarchy) -> bool:
    """Whether the values of a domain are numbers, so that their order means something."""
    if hierarchy.bins is not None:
        return True
    try:
        numbers = [float(str(value)) for value in hierarchy.domain if value is not None]
    except ValueError:
        return False
    return numbers == sorted(numbers)


def _is_raw(member: Member, name: Any) -> bool:
    groups = member.generalization.groups[name]
    return len(groups) == len(member.generalization.labels[name]) and len(groups) > 1


def _ladder(subject: Subject, member: Member) -> Table:
    """Of every attribute the levels from raw to *, and where the release stands."""
    rows: list[Row] = []
    for j, name in enumerate(subject.names):
        hierarchy, own = subject.table.quasi_identifiers[name], member.generalization.labels[name]
        here = subject.level(member.row, name)
        if here is None:
            # Without levels there are three rungs: the values, the groups of the release, and all together.
            share = 1 - (len(own) - 1) / max(hierarchy.n_values - 1, 1)
            rungs = [(0.0, hierarchy.n_values, hierarchy.labels[0], False), (share, len(own), own, True)]
            rungs.append((1.0, 1, (ROOT,), False))
        else:
            length = max(hierarchy.length, 1)
            rungs = [
                (level / length, len(labels), labels, level == here) for level, labels in enumerate(hierarchy.labels)
            ]
        for number, (share, n_groups, labels, is_here) in enumerate(rungs):
            examples = _examples(subject, member, j, labels) if is_here or not subject.external else ""
            rows.append((text(name), number, round(share, 3), n_groups, examples, HERE if is_here else ""))
    columns = (
        Column("attribute"),
        Column("level", "whole"),
        Column("way from raw to *", "share"),
        Column("groups", "whole"),
        Column("such as"),
        Column("the release"),
    )
    return Table("ladder", "The levels of every attribute, and where the release stands.", columns, tuple(rows))


def _examples(subject: Subject, member: Member, j: int, labels: tuple[Hashable, ...]) -> str:
    """A few labels of a level; outside the building only such as the release holds."""
    if subject.external:
        groups = member.generalization.groups[subject.names[j]]
        held = np.bincount(groups[subject.table.tuples.codes[:, j]], member.kept_counts, len(labels))
        labels = tuple(label for label, n in zip(labels, held, strict=True) if n)
    told = " | ".join(text(label)[:40] for label in labels[:_EXAMPLES])
    return f"{told} | …" if len(labels) > _EXAMPLES else told


def _pairs(labels: tuple[Hashable, ...], counts: NDArray[np.int64]) -> list[Row]:
    return [(text(label), n) for label, n in zip(labels, counts.tolist(), strict=True) if n]


def _rows(labels: tuple[Hashable, ...], counts: NDArray[np.int64], ordered: bool) -> list[Row]:
    return _shortened(_pairs(labels, counts), ordered)


def _shortened(rows: list[Row], ordered: bool) -> list[Row]:
    """Ordered values in their order, neighbours together where they are many; of others the most frequent ones."""
    if ordered:
        width = -(-len(rows) // _MOST_ORDERED)
        if width < 2:
            return rows
        runs = [rows[start : start + width] for start in range(0, len(rows), width)]
        return [(f"{run[0][0]} … {run[-1][0]}", _total(run)) for run in runs]
    rows = sorted(rows, key=lambda row: -_total([row]))
    if len(rows) <= _MOST_LABELS:
        return rows
    rest = rows[_MOST_LABELS - 1 :]
    return [*rows[: _MOST_LABELS - 1], (f"{len(rest)} other labels", _total(rest))]


def _total(rows: list[Row]) -> int:
    return sum(row[1] for row in rows if isinstance(row[1], int))
