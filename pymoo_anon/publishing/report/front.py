"""The first view: the front, and how far it is proven."""

from __future__ import annotations

from pymoo_anon.objectives.base import Objective
from pymoo_anon.publishing.report.cells import Cell, Column, Row, Table, View, number, shown, text
from pymoo_anon.publishing.report.subject import Subject

#: What stands in the column of the front that tells the release from the others.
CHOSEN = "chosen"


def front_view(subject: Subject) -> View:
    """The members of the front, and what is known of those that were not found.

    Points are counted from 1, as on the command line: point 1 is row 0 of X.
    """
    return View((*_proof(subject), *_left_out(subject)), (_members(subject),))


def badge(subject: Subject) -> tuple[str, str]:
    """A word for how far the front is proven, and its kind: "proven", "gap" or "open"."""
    findings = subject.findings
    if findings.certified:
        return "proven", "proven"
    return ("not proven, gap known", "gap") if findings.gap else ("not proven", "open")


def axes(subject: Subject) -> tuple[int, int]:
    """Which measures stand on the two axes: the first that is better when lower, and the first when higher."""
    maximize = [objective.maximize for objective in subject.problem.objectives]
    x = maximize.index(min(maximize))
    others = [j for j in range(len(maximize)) if j != x]
    return x, min(others, key=lambda j: not maximize[j], default=x)


def title(objective: Objective, name: str) -> str:
    """A measure in words, and which direction is better."""
    words = f"{text(name)}, {objective.words}" if objective.words and objective.words != name else text(name)
    return f"{words} ({'higher' if objective.maximize else 'lower'} is better)"


def _proof(subject: Subject) -> list[str]:
    findings = subject.findings
    if findings.certified:
        return [
            "The front is proven: every generalization of this table was visited or ruled out, and none is better in "
            "one measure without being worse in another."
        ]
    if findings.gap:
        told = ", ".join(f"{text(name)} by {shown(number(gap), 'number')}" for name, gap in findings.gap.items())
        return [f"The front is not proven. What was not visited is better by at most: {told}."]
    return ["The front is the best that was found. Nobody has proven that nothing better exists."]


def _left_out(subject: Subject) -> list[str]:
    n, n_shown = len(subject.X), len(_rows(subject))
    if subject.external and n_shown < n:
        return [
            f"{n_shown} of the {n} members of the front are listed, those of classes of at least {subject.floor:,} "
            "people; their measures are rounded to three digits."
        ]
    if n_shown < n:
        return [
            f"{n_shown} of the {n:,} members of the front are in this file, spread evenly along it; the chosen one is "
            "among them."
        ]
    return []


def _rows(subject: Subject) -> list[int]:
    """The members that are listed; outside the building those whose classes are not below the floor."""
    if not subject.external:
        return list(subject.rows)
    return [row for row in subject.rows if row == subject.chosen or subject.member(row).k >= subject.floor]


def _members(subject: Subject) -> Table:
    measured = subject.problem.measured
    names = [str(name) for name in subject.measures.columns]
    columns = [
        Column("point", "whole"),
        *(Column(text(name), "whole" if one.whole else "number") for one, name in zip(measured, names, strict=True)),
        Column("suppressed rows", "people"),
        Column("levels"),
        Column("release"),
    ]
    rows: list[Row] = []
    for row in _rows(subject):
        values = [number(value) for value in subject.measures.iloc[row]]
        n_suppressed: Cell = subject.suppressed[row]
        if subject.external:
            # Exact values of several members could be subtracted from one another.
            values = [_coarse(value) for value in values]
            n_suppressed = subject.people(subject.suppressed[row]) if row == subject.chosen else None
        levels = "\N{NO-BREAK SPACE}·\N{NO-BREAK SPACE}".join(
            str(level) for level in subject.front.iloc[row, : len(subject.names)]
        )
        rows.append((row + 1, *values, n_suppressed, levels, CHOSEN if row == subject.chosen else ""))
    caption = "The members of the front: no other one is better in one measure without being worse in another."
    return Table("front", caption, tuple(columns), tuple(rows))


def _coarse(value: Cell) -> Cell:
    """A number of three digits."""
    return value if value is None or isinstance(value, str) else number(f"{value:.3g}")
