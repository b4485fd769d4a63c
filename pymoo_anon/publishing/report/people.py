"""What the release means for people: how many share a class, who is easiest to find, and who loses most."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pymoo_anon.comparison.bias import QUANTILES, distribution, gini, lorenz_curve
from pymoo_anon.comparison.properties import BreachProbability, ClassSize, TupleLoss
from pymoo_anon.comparison.vectors import PropertyVector
from pymoo_anon.publishing.report.cells import Heading, Row, Table, View, cell_of, headings, one_line, share_text
from pymoo_anon.publishing.report.subject import Member, Subject
from pymoo_anon.table.microdata import Microdata

BELOW, ABOVE = "too small", "large enough"

# Where the columns of the histogram begin.
_EDGES = (1, 2, 5, 12, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 100_000, 1_000_000)

# Groups of one attribute that are compared, groups that are listed, and classes that are.
_MOST_GROUPS, _MOST_LISTED, _MOST_CLASSES = 12, 20, 10

# Points of a Lorenz curve.
_SHARES = np.linspace(0, 1, 21)


def sizes_view(subject: Subject, member: Member) -> View:
    """The sizes of the classes of one release, in sentences and as a histogram."""
    words = [_suppressed(subject, member)]
    if member.n_released:
        words += _sized(subject, member)
    return View(tuple(word[0].upper() + word[1:] for word in words), (_histogram(subject, member),))


def _sized(subject: Subject, member: Member) -> list[str]:
    sizes = np.sort(member.sizes)
    # The class of the person in the middle, all people standing in a row by the size of their class.
    middle = int(sizes[np.searchsorted(np.cumsum(sizes), member.n_released / 2)])
    held = "1 class holds" if len(sizes) == 1 else f"{len(sizes):,} classes hold"
    are = "is" if member.n_released == 1 else "are"
    words = [
        f"{subject.rows(member.n_released)} {are} in the release; {held} them. The smallest class is of "
        f"{subject.rows(int(sizes[0]))}, and half of them are in a class of at least {middle:,}."
    ]
    bounds = {2, 5, subject.enough, subject.required_k or 2}
    for bound in sorted(bounds - {1}):
        n = int(sizes[sizes < bound].sum())
        share = f" ({share_text(n / member.n_released)})" if n else ""
        alone = "alone in a class" if bound == 2 else f"in a class of fewer than {bound:,}"
        words.append(f"{subject.rows(n)}{share} {'is' if n < 2 else 'are'} {alone}.")
    return words


def _suppressed(subject: Subject, member: Member) -> str:
    n = member.n_stars if subject.external else member.n_suppressed
    if subject.external:
        # Of rows that are left out nothing is told, not even whether there are any.
        if subject.suppressed == "drop":
            return "Rows that were suppressed are left out."
        if n == 0:
            return "No row has * throughout, as suppressed rows would have."
        if n == member.n_released:
            return "All rows have * throughout: they are one class."
        return f"{subject.rows(n)} {'has' if n == 1 else 'have'} * throughout: suppressed rows, which are one class."
    if n == 0:
        return "No row is suppressed."
    fate = "shown as * throughout, which makes one class of them" if member.marked else "left out of the release"
    share = share_text(n / member.classes.n_rows)
    return f"{subject.rows(n)} ({share} of all) {'is' if n == 1 else 'are'} suppressed: {fate}."


def _histogram(subject: Subject, member: Member) -> Table:
    """Rows by the size of their class."""
    sizes, k = member.sizes, subject.required_k
    edges = sorted({*_EDGES, subject.enough, *([] if k is None else [k])})
    place = np.searchsorted(edges, sizes, side="right") - 1
    rows_in = np.bincount(place, sizes, len(edges)).astype(np.int64).tolist()
    classes = np.bincount(place, minlength=len(edges)).tolist()
    used = [i for i, n in enumerate(classes) if n]
    rows: list[Row] = []
    for i in range(used[0], used[-1] + 1) if used else ():
        kind = () if k is None else (BELOW if edges[i] < k else ABOVE,)
        rows.append((_range(edges, i), rows_in[i], classes[i], *kind))
    unit = "people" if subject.table.person is None else "rows"
    columns = (
        Heading(f"{unit} in the class"),
        Heading(unit, "whole"),
        Heading("classes", "whole"),
        *([] if k is None else [Heading("for what is required")]),
    )
    return Table("sizes", f"How many {unit} are in classes of which size.", columns, tuple(rows))


def _range(edges: list[int], i: int) -> str:
    if i + 1 == len(edges):
        return f"{edges[i]:,} or more"
    last = edges[i + 1] - 1
    return f"{edges[i]:,}" if last == edges[i] else f"{edges[i]:,}–{last:,}"


# ---------------------------------------------------------------- who pays; this leaves no building


def bias_view(subject: Subject, member: Member) -> View:
    """How privacy and loss are spread over the people, and which groups lose most."""
    classes = member.classes
    loss, size, risk = (one.measure(classes) for one in (TupleLoss(), ClassSize(), BreachProbability()))
    # In shares of what there is to lose: a suppressed row loses all.
    loss = replace(loss, values=loss.values / len(subject.names))
    groups = _groups(member.table, loss, risk)
    average = share_text(loss.mean())
    words = [
        f"All people lose {average} of their information on average."
        if not groups
        else f"Most is lost where {groups[0][0]} is {groups[0][1]}: {share_text(_share(groups[0]))} of the "
        f"information, against {average} for all people on average.",
        "Gini coefficients say how unequal people are, from 0 (all alike) to 1 (one has everything): "
        f"{gini(size):.2f} for the size of their class, {gini(loss):.2f} for the loss.",
    ]
    columns = headings("attribute", "group", people="whole", information_lost="share", mean_risk="share")
    caption = "Who loses most: groups of people, the greatest mean loss first."
    tables = (Table("groups", caption, columns, tuple(groups)), _quantiles(loss, size, risk), _lorenz(loss, size))
    return View(tuple(words), (*tables, _smallest(subject, member)))


def _groups(table: Microdata, loss: PropertyVector, risk: PropertyVector) -> list[Row]:
    """The groups of people of every attribute, those first that lose most."""
    rows: list[Row] = []
    values = np.column_stack([loss.values, risk.values])
    for name, level in _grouped_by(table):
        own, labels = table.tuples.columns[name], table.domain_of(name)
        groups = own.values
        if name in table.quasi_identifiers:
            hierarchy = table.quasi_identifiers[name]
            groups, labels = hierarchy.groups[level][groups], hierarchy.labels[level]
        # Rows of a distinct tuple that differ in a sensitive value lose the same.
        each = values[np.repeat(np.arange(table.n_distinct), np.diff(own.starts))] * own.counts[:, None]
        people = np.bincount(groups, own.counts, len(labels))
        shares, chances = (np.bincount(groups, one, len(labels)) / np.maximum(people, 1) for one in each.T)
        for group in np.flatnonzero(people).tolist():
            told = (one_line(labels[group]), int(people[group]), cell_of(shares[group]), cell_of(chances[group]))
            rows.append((one_line(name), *told))
    return sorted(rows, key=lambda row: -_share(row))[:_MOST_LISTED]


def _grouped_by(table: Microdata) -> list[tuple[Any, int]]:
    """The columns whose groups of people are compared, each with a level of few groups."""
    chosen: list[tuple[Any, int]] = []
    for name, hierarchy in table.quasi_identifiers.items():
        n_groups = hierarchy.n_groups.tolist()
        several = [level for level, n in enumerate(n_groups) if n >= 2]
        # The finest level of few groups, or the one of fewest.
        few = [level for level in several if n_groups[level] <= _MOST_GROUPS]
        chosen += [(name, level) for level in few[:1] or several[-1:]]
    return [*chosen, *((name, 0) for name in table.sensitive if len(table.domain_of(name)) <= _MOST_LISTED)]


def _quantiles(loss: PropertyVector, size: PropertyVector, risk: PropertyVector) -> Table:
    rows: list[Row] = []
    for name, vector in (("class size", size), ("information lost", loss), ("risk to be found", risk)):
        found = distribution({name: vector}).iloc[0]
        told = cell_of if vector is size else share_text
        values = [told(float(found[column])) for column in ("mean", *QUANTILES)]
        rows.append((name, *values, f"{found['Gini']:.2f}", int(found["worst off"])))
    columns = [Heading("of a person"), *(Heading(name, "number") for name in ("mean", *QUANTILES, "Gini"))]
    caption = (
        "How a property is spread over the people; quantiles say what share of them has at most so much, the last "
        "column how many have the worst."
    )
    return Table("quantiles", caption, (*columns, Heading("worst off", "whole")), tuple(rows))


def _lorenz(loss: PropertyVector, size: PropertyVector) -> Table:
    """The Lorenz curves at even shares of the people."""
    held = [np.interp(_SHARES, *lorenz_curve(vector).T) for vector in (size, loss)]
    rows = tuple((cell_of(share), cell_of(a), cell_of(b)) for share, a, b in zip(_SHARES, *held, strict=True))
    columns = (
        Heading("share of the people, those with least first", "share"),
        Heading("of all class sizes", "share"),
        Heading("of all loss", "share"),
    )
    return Table("lorenz", "What share of the privacy and of the loss belongs to those who have least.", columns, rows)


def _smallest(subject: Subject, member: Member) -> Table:
    """The smallest classes of the release, with their labels."""
    first = np.argsort(member.sizes, kind="stable")[:_MOST_CLASSES].tolist()
    rows: list[Row] = [(*map(one_line, member.cells(place)), int(member.sizes[place])) for place in first]
    columns = (*(Heading(one_line(name)) for name in subject.names), Heading("people", "whole"))
    return Table("smallest", "The smallest classes: who is easiest to find.", columns, tuple(rows))


def _share(row: Row) -> float:
    return float(row[3]) if isinstance(row[3], int | float) else 0.0
