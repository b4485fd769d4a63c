"""Changes of a hierarchy by hand: labels, members, groups and widths."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal
from math import floor

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import ROOT, number_of
from pymoo_anon.table.hierarchy import Hierarchy


def merged(hierarchy: Hierarchy, level: int, labels: Sequence[Hashable], new: Hashable) -> Hierarchy:
    """Return the hierarchy with groups of a level as one group.

    Of a single group only the label changes. Above, all of them join the groups of the first one.

    >>> cities = Hierarchy([["Bonn", "Paris", "Rome"], ["DE", "FR", "IT"], ["north", "south", "south"]])
    >>> merged(cities, 1, ["FR", "DE"], "EU").labels[1:]
    (('EU', 'IT'), ('south',))
    """
    columns = _columns(hierarchy, level, level, labels)
    _check_free(columns[level], new, labels)
    first = columns[level].index(labels[0])
    for place, label in enumerate(list(columns[level])):
        if label in labels:
            columns[level][place] = new
            for above in columns[level + 1 :]:
                above[place] = above[first]
    return Hierarchy(columns, hierarchy.bins)


def moved(hierarchy: Hierarchy, level: int, members: Sequence[Hashable], label: Hashable) -> Hierarchy:
    """Return the hierarchy with some members in another group, there and above.

    >>> cities = Hierarchy([["Bonn", "Paris", "Rome"], ["DE", "FR", "IT"], ["north", "south", "south"]])
    >>> moved(cities, 1, ["Paris"], "DE").groups.tolist()
    [[0, 1, 2], [0, 0, 1], [0, 0, 1]]
    """
    columns = _columns(hierarchy, level, level - 1, members)
    if label not in columns[level]:
        raise ValueError(f"level {level} must have the groups that are named, got {label!r} without one")
    first = columns[level].index(label)
    for place, member in enumerate(columns[level - 1]):
        if member in members:
            for above in columns[level:]:
                above[place] = above[first]
    return Hierarchy(columns, hierarchy.bins)


def split(hierarchy: Hierarchy, level: int, members: Sequence[Hashable], new: Hashable) -> Hierarchy:
    """Return the hierarchy with some members as a group of their own.

    >>> split(Hierarchy.flat(["Bonn", "Paris"]), 1, ["Bonn"], "DE").labels[1]
    ('DE', '*')
    """
    columns = _columns(hierarchy, level, level - 1, members)
    _check_free(columns[level], new, ())
    for place, member in enumerate(columns[level - 1]):
        if member in members:
            columns[level][place] = new
    return Hierarchy(columns, hierarchy.bins)


def with_widths(hierarchy: Hierarchy, widths: Sequence[float]) -> Hierarchy:
    """Return the hierarchy of the same numbers with intervals of these widths, and `*`.

    Intervals begin at multiples of the widest one. A missing value stays apart.

    >>> with_widths(Hierarchy.flat(["17", "23", "41"]), [10, 20]).labels[1:]
    (('10–19', '20–29', '40–49'), ('0–19', '20–39', '40–59'), ('*',))
    """
    numbers = {value: number_of(value) for value in hierarchy.domain if value is not None}
    odd = [value for value, number in numbers.items() if number is None]
    if odd or not numbers:
        raise ValueError(f"intervals need numbers, got {examples(odd) or 'none'}")
    if not widths:
        raise ValueError("widths must name at least one width, got none")
    exact = [Decimal(str(width)) for width in widths]
    if min(exact) <= 0:
        raise ValueError(f"widths must be positive, got {examples(list(widths))}")
    present = [number for number in numbers.values() if number is not None]
    low, high = (floor(end / exact[-1]) * exact[-1] for end in (min(present), max(present)))
    ends = [int(one) if one == int(one) else float(one) for one in (low, high + exact[-1], *exact)]
    made = Hierarchy.intervals(ends[0], ends[1], ends[3:], step=ends[2])
    places = dict(zip(numbers, made.encode(present).tolist(), strict=True))
    columns = [
        [None if value is None else labels[groups[places[value]]] for value in hierarchy.domain]
        for groups, labels in zip(made.groups[:-1], made.labels[:-1], strict=True)
    ]
    return Hierarchy([hierarchy.domain, *columns, [ROOT] * hierarchy.n_values])


def _columns(hierarchy: Hierarchy, level: int, named: int, labels: Sequence[Hashable]) -> list[list[Hashable]]:
    """Check the named labels of a level, and return all labels by level."""
    if not 1 <= level <= hierarchy.length:
        raise ValueError(f"level must be from 1 to {hierarchy.length}, got {level!r}")
    unknown = [label for label in labels if label not in hierarchy.labels[named]]
    if unknown or not labels:
        raise ValueError(
            f"level {named} must have the groups that are named, got {examples(unknown) or 'none'} without one"
        )
    return [[own[group] for group in groups] for groups, own in zip(hierarchy.groups, hierarchy.labels, strict=True)]


def _check_free(column: Sequence[Hashable], new: Hashable, besides: Sequence[Hashable]) -> None:
    if new == "" or (new in column and new not in besides):
        raise ValueError(f"a group must have a label of its own, got {new!r}")
