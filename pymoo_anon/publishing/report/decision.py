"""The second view: the risk before and after, and whether it is accepted."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.privacy.identity import KMap
from pymoo_anon.publishing.report.cells import Cell, Column, Row, Table, View, number, percent
from pymoo_anon.publishing.report.subject import Member, Subject

PASS, FAIL, UNKNOWN = "pass", "fail", "not known"

#: What each risk is, in one sentence.
DEFINITIONS = {
    "prosecutor, highest": "The attacker knows that a person is in the table and picks one row of those that fit: the "
    "chance to be right for the person who is easiest to find, 1 in the size of the smallest class.",
    "marketer": "The attacker links every row to somebody and does not care which: the share of rows that are linked "
    "rightly on average, the number of classes over the number of rows.",
    "journalist, highest": "The attacker does not know who is in the table and picks one person of the population who "
    "fits: the chance to be right for the person who is easiest to find.",
}


def decision_view(subject: Subject, member: Member) -> View:
    """The risks of one release against those of the raw table and the threshold."""
    rows = [
        _row(subject, "prosecutor, highest", _highest(subject.raw.sizes), _highest(member.sizes)),
        _row(subject, "marketer", _average(subject.raw.sizes), _average(member.sizes)),
    ]
    if subject.population is not None:
        before, after = (_in_population(subject, classes) for classes in (subject.raw, member.classes))
        rows.append(_row(subject, "journalist, highest", before, after))
    titles = ("risk", "raw table", "release", "accepted up to")
    columns = (Column(titles[0]), *(Column(title, "share") for title in titles[1:]), Column("verdict"))
    table = Table("risks", "The risk to be found, before and after.", columns, tuple(rows))
    return View(tuple(_sentences(subject, member, rows)), (table,))


def verdict(subject: Subject, member: Member) -> str:
    """Whether the highest risk of an attacker who knows who is in the table is accepted."""
    return _verdict(subject, _highest(member.sizes))


def _sentences(subject: Subject, member: Member, rows: list[Row]) -> list[str]:
    if member.n_released == 0:
        return ["Every row is suppressed and dropped: nothing is released, and nobody can be found."]
    accepted, smallest = percent(subject.threshold), int(member.sizes.min())
    passed = verdict(subject, member) == PASS
    words = [
        f"{'Pass' if passed else 'Fail'}: somebody who is known to be in the table is found with a chance of at most "
        f"1 in {smallest:,} ({percent(1 / smallest)}); {accepted} is accepted, which asks for classes of at least "
        f"{subject.enough:,} people."
    ]
    others = [str(row[0]) for row in rows[1:] if row[-1] != PASS]
    if passed and others:
        words.append(f"Above what is accepted or not known: {', '.join(others)} risk.")
    if subject.external:
        words.append("Risks of the raw table are rounded to whole percents.")
    return words


def _row(subject: Subject, name: str, before: float | None, after: float | None) -> Row:
    rounded: Cell = None if before is None else number(round(before, 2) if subject.external else before)
    return (
        name,
        rounded,
        None if after is None else number(after),
        number(subject.threshold),
        _verdict(subject, after),
    )


def _verdict(subject: Subject, risk: float | None) -> str:
    if risk is None:
        return UNKNOWN
    return PASS if risk <= subject.threshold else FAIL


def _highest(sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """1 / the smallest class; 0 where nothing is released."""
    return 1 / int(sizes.min()) if len(sizes) else 0.0


def _average(sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Classes over rows; 0 where nothing is released."""
    return len(sizes) / int(sizes.sum()) if len(sizes) else 0.0


def _in_population(subject: Subject, classes: EquivalenceClasses) -> float | None:
    """1 / the fewest persons of the population that fit a released class; None where none fits one of them."""
    assert subject.population is not None
    (fewest,) = KMap(subject.population).evaluate(classes).tolist()
    return None if fewest == 0 else 1 / fewest
