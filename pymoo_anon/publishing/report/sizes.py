"""The third view: how many people share a class."""

from __future__ import annotations

import math

import numpy as np

from pymoo_anon.publishing.report.cells import Column, Row, Table, View, merged, percent
from pymoo_anon.publishing.report.subject import Member, Subject

# Where the columns of the histogram begin.
_EDGES = (1, 2, 5, 12, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 100_000, 1_000_000)

BELOW, ABOVE = "too small", "large enough"


def sizes_view(subject: Subject, member: Member) -> View:
    """The sizes of the classes of one release, in sentences and as a histogram."""
    return View(tuple(_sentences(subject, member)), (_histogram(subject, member),))


def _sentences(subject: Subject, member: Member) -> list[str]:
    words = [_suppressed(subject, member)]
    if member.n_released == 0:
        return words
    sizes = np.sort(member.sizes)
    # The class of the person in the middle, all people standing in a row by the size of their class.
    middle = int(sizes[np.searchsorted(np.cumsum(sizes), member.n_released / 2)])
    counted = "" if subject.external else f" {len(sizes):,} class{'es' if len(sizes) > 1 else ''} hold them."
    words.append(
        f"{_capital(subject.people(member.n_released))} are in the release.{counted} "
        f"The smallest class holds {_of(subject, int(sizes[0]))}, and half of the people are in a class "
        f"of at least {_of(subject, middle)}."
    )
    bounds = {2, 5, subject.enough, *(math.ceil(one.bound) for one in subject.required_k)}
    for bound in sorted(bounds - {1}):
        n = int(sizes[sizes < bound].sum())
        share = "" if n < max(subject.floor, 1) else f" ({percent(n / member.n_released)})"
        alone = "alone in a class" if bound == 2 else f"in a class of fewer than {bound:,}"
        words.append(f"{_capital(subject.people(n))}{share} {'is' if n < 2 else 'are'} {alone}.")
    return words


def _suppressed(subject: Subject, member: Member) -> str:
    n = member.n_suppressed
    if n == 0:
        return "No row is suppressed."
    share = "" if n < subject.floor else f" ({percent(n / member.classes.n_rows)} of all rows)"
    fate = "shown as * throughout, which makes one class of them" if member.marked else "left out of the release"
    return f"{_capital(subject.people(n))}{share} {'is' if n == 1 else 'are'} suppressed: {fate}."


def _histogram(subject: Subject, member: Member) -> Table:
    """People by the size of their class."""
    sizes = member.sizes
    edges = sorted({*_EDGES, subject.enough})
    place = np.searchsorted(edges, sizes, side="right") - 1
    people = np.bincount(place, sizes, len(edges)).astype(np.int64).tolist()
    classes = np.bincount(place, minlength=len(edges)).tolist()
    used = [i for i, n in enumerate(classes) if n]
    rows: list[Row] = []
    for i in range(used[0], used[-1] + 1) if used else ():
        kind = BELOW if edges[i] < subject.enough else ABOVE
        rows.append((_range(edges, i), people[i], kind, classes[i]))
    columns: tuple[Column, ...] = (
        Column("people in the class"),
        Column("people", "people"),
        Column("for the threshold"),
    )
    if subject.external:
        rows = [row[:-1] for row in merged([row for row in rows if row[1]], subject.floor, 1, "other")]
    else:
        columns = (*columns, Column("classes", "whole"))
    return Table("sizes", "How many people are in classes of which size.", columns, tuple(rows))


def _range(edges: list[int], i: int) -> str:
    if i + 1 == len(edges):
        return f"{edges[i]:,} or more"
    last = edges[i + 1] - 1
    return f"{edges[i]:,}" if last == edges[i] else f"{edges[i]:,}–{last:,}"


def _of(subject: Subject, size: int) -> str:
    """A size of a class; outside the building none below the floor."""
    return f"{size:,}" if size >= subject.floor else subject.people(size)


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]
