"""The fifth view: who pays for the release, and who is protected by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from pymoo_anon.comparison.bias import QUANTILES, distribution, gains, gini, lorenz_curve, worst_off
from pymoo_anon.comparison.properties import BreachProbability, ClassSize, TupleLoss
from pymoo_anon.comparison.vectors import PropertyVector
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.publishing.report.cells import Column, Row, Table, View, merged, number, percent, text
from pymoo_anon.publishing.report.subject import Member, Subject
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata

# Groups of one attribute that are compared, groups that are listed, and classes that are.
_MOST_GROUPS, _MOST_LISTED, _MOST_CLASSES = 12, 20, 10

# Points of a Lorenz curve.
_SHARES = np.linspace(0, 1, 21)

_WORST = "The smallest classes: who is easiest to find."


def bias_view(subject: Subject, member: Member) -> View:
    """How privacy and loss are spread over the people, and which groups lose most."""
    if subject.external and member.n_kept == 0:
        return View(("Every row is suppressed.",), _empty(subject))
    table = _released(subject, member) if subject.external else subject.table
    classes = _classes(subject, member, table)
    loss, size, risk = (one.measure(classes) for one in (TupleLoss(), ClassSize(), BreachProbability()))
    # In shares of what there is to lose: a suppressed row loses all.
    loss = replace(loss, values=loss.values / len(subject.names))
    groups = _groups(subject, member, table, loss, risk)
    words = [
        f"All people lose {percent(loss.mean())} of their information on average."
        if not groups
        else f"Most is lost where {groups[0][0]} is {groups[0][1]}: {percent(_share(groups[0]))} of the information, "
        f"against {percent(loss.mean())} for all people on average.",
        "Gini coefficients say how unequal people are, from 0 (all alike) to 1 (one has everything): "
        f"{gini(size):.2f} for the size of their class, {gini(loss):.2f} for the loss.",
    ]
    tables = (_group_table(groups), _quantiles(subject, loss, size, risk), _lorenz(loss, size))
    if subject.external:
        return View(tuple(words), tables)
    return View(tuple(words), (*tables, _smallest(subject, member)))


def _released(subject: Subject, member: Member) -> Microdata:
    """The rows that are released and not suppressed, their attributes with no finer level than that of the release.

    What is computed of them can be computed of the release, too.
    """
    held = member.kept_counts > 0
    coarse = {}
    for name, hierarchy in subject.table.quasi_identifiers.items():
        own = member.generalization
        named = tuple(own.labels[name][group] for group in own.groups[name])
        coarse[name] = Hierarchy([hierarchy.domain, named])
    tuples = subject.table.tuples
    return Microdata(coarse, tuples.codes[held], member.kept_counts[held], {}, {})


def _classes(subject: Subject, member: Member, table: Microdata) -> EquivalenceClasses:
    if table is subject.table:
        return member.classes
    return table.equivalence_classes(member.generalization)


def _groups(
    subject: Subject, member: Member, table: Microdata, loss: PropertyVector, risk: PropertyVector
) -> list[Row]:
    """The groups of people of every attribute, those first that lose most."""
    nothing = {vector.name: replace(vector, values=np.zeros_like(vector.values)) for vector in (loss, risk)}
    rows: list[Row] = []
    for name, level in _grouped_by(subject, member, table):
        lost = gains(table, loss, nothing[loss.name], name, level)
        found = gains(table, risk, nothing[risk.name], name, level)
        own: list[Row] = [
            (text(name), text(label), int(n), number(share), number(chance))
            for label, n, share, chance in zip(
                lost.index, lost["tuples"], lost["difference"], found["difference"], strict=True
            )
        ]
        if subject.external and any(row[2] < subject.floor for row in own):  # type: ignore[operator]
            own = [(text(name), *row) for row in merged([row[1:] for row in own], subject.floor, 1, "other")]
        rows += own
    return sorted(rows, key=lambda row: -_share(row))[:_MOST_LISTED]


def _grouped_by(subject: Subject, member: Member, table: Microdata) -> list[tuple[Any, int]]:
    """The columns whose groups of people are compared, each with a level of few groups."""
    chosen: list[tuple[Any, int]] = []
    for name, hierarchy in table.quasi_identifiers.items():
        if subject.external:
            chosen += [(name, 1)] if len(hierarchy.labels[1]) > 1 else []
            continue
        n_groups = hierarchy.n_groups.tolist()
        few = [level for level, n in enumerate(n_groups) if 2 <= n <= _MOST_GROUPS]
        several = [level for level, n in enumerate(n_groups) if n >= 2]
        # The finest level of few groups, or the one of fewest.
        chosen += [(name, few[0] if few else several[-1])] if several else []
    chosen += [(name, 0) for name in table.sensitive if len(table.domain_of(name)) <= _MOST_LISTED]
    return chosen


def _group_table(groups: list[Row]) -> Table:
    columns = (
        Column("attribute"),
        Column("group"),
        Column("people", "people"),
        Column("information lost", "share"),
        Column("mean risk", "share"),
    )
    return Table("groups", "Who loses most: groups of people, the greatest mean loss first.", columns, tuple(groups))


def _quantiles(subject: Subject, loss: PropertyVector, size: PropertyVector, risk: PropertyVector) -> Table:
    rows: list[Row] = []
    for name, vector in (("class size", size), ("information lost", loss), ("risk to be found", risk)):
        if vector is not loss and size.values.min() < subject.floor:
            # Of classes below the floor nothing is told.
            continue
        found = distribution({name: vector}).iloc[0]
        n = int(found["worst off"])
        told = number if vector is size else percent
        values = [told(found[column]) for column in ("mean", *QUANTILES)]
        rows.append((name, *values, f"{found['Gini']:.2f}", n if n >= subject.floor else subject.people(n)))
    columns = [Column("of a person"), *(Column(name, "number") for name in ("mean", *QUANTILES, "Gini"))]
    caption = (
        "How a property is spread over the people; quantiles say what share of them has at most so much, the last "
        "column how many have the worst."
    )
    return Table("quantiles", caption, (*columns, Column("worst off", "people")), tuple(rows))


def _lorenz(loss: PropertyVector, size: PropertyVector) -> Table:
    """The Lorenz curves at even shares of the people."""
    held = [np.interp(_SHARES, *lorenz_curve(vector).T) for vector in (size, loss)]
    rows = tuple((number(share), number(a), number(b)) for share, a, b in zip(_SHARES, *held, strict=True))
    columns = (
        Column("share of the people, those with least first", "share"),
        Column("of all class sizes", "share"),
        Column("of all loss", "share"),
    )
    return Table("lorenz", "What share of the privacy and of the loss belongs to those who have least.", columns, rows)


def _smallest(subject: Subject, member: Member) -> Table:
    """The smallest classes of the release, with their labels."""
    problem = subject.problem
    found = worst_off(subject.table, member.generalization, ClassSize(), problem.suppression, problem.constraints).head(
        _MOST_CLASSES
    )
    rows: list[Row] = [
        (*(text(label) for label in labels), int(size)) for labels, size in zip(found.index, found["size"], strict=True)
    ]
    columns = (*(Column(text(name)) for name in subject.names), Column("people", "people"))
    return Table("smallest", _WORST, columns, tuple(rows))


def _empty(subject: Subject) -> tuple[Table, ...]:
    zero = np.zeros(len(subject.table.tuples))
    nothing = [
        PropertyVector(zero, subject.table.tuples, name, maximize)
        for name, maximize in (("loss", False), ("class size", True), ("risk", False))
    ]
    tables = (_group_table([]), _quantiles(subject, *nothing), _lorenz(nothing[0], nothing[1]))
    return tuple(table.with_rows([]) for table in tables)


def _share(row: Row) -> float:
    return float(row[3]) if isinstance(row[3], int | float) else 0.0
