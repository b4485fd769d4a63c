"""Changes of a hierarchy by hand: labels, members, groups and widths."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from decimal import Decimal
from math import floor

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import ROOT, is_number, spelled
from pymoo_anon.table.hierarchy import Hierarchy


def renamed(hierarchy: Hierarchy, level: int, label: Hashable, new: Hashable) -> Hierarchy:
    """Return the hierarchy with another label of one group.

    Raises:
        ValueError: The level has no such group, or another one of the new label.

    >>> cities = Hierarchy([["Bonn", "Cologne", "Paris"], ["DE", "DE", "FR"], ["*", "*", "*"]])
    >>> renamed(cities, 1, "DE", "Germany").labels[1]
    ('Germany', 'FR')
    """
    return merged(hierarchy, level, [label], new)


def merged(hierarchy: Hierarchy, level: int, labels: Sequence[Hashable], new: Hashable) -> Hierarchy:
    """Return the hierarchy with several groups of a level as one.

    Above, all of them join the groups of the first one.

    Args:
        hierarchy: The hierarchy.
        level: A level above the values.
        labels: The labels of the groups.
        new: The label of the group that they become.

    Raises:
        ValueError: The level has no such group, or another one of the new label.

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

    Args:
        hierarchy: The hierarchy.
        level: A level above the values.
        members: Labels of the level below, which are values for level 1.
        label: The label of the group that they join.

    Raises:
        ValueError: A level has no such group.

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

    Args:
        hierarchy: The hierarchy.
        level: A level above the values.
        members: Labels of the level below, which are values for level 1.
        new: The label of their own group.

    Raises:
        ValueError: The level below has no such group, they are of several groups above, or the label is taken.

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

    Args:
        hierarchy: The hierarchy, whose values are numbers or spell them.
        widths: Widths of the levels from fine to coarse, each a multiple of the one before.

    Raises:
        ValueError: A value is no number, or the widths do not nest.

    >>> with_widths(Hierarchy.flat(["17", "23", "41"]), [10, 20]).labels[1:]
    (('10–19', '20–29', '40–49'), ('0–19', '20–39', '40–59'), ('*',))
    """
    numbers = [None if value is None else spelled(value, Decimal) for value in hierarchy.domain]
    odd = [
        value
        for value, number in zip(hierarchy.domain, numbers, strict=True)
        if number is not None and not is_number(number)
    ]
    if odd or not any(number is not None for number in numbers):
        raise ValueError(f"intervals need numbers, got {examples(odd) or 'none'}")
    if not widths:
        raise ValueError("widths must name at least one width, got none")
    exact = [Decimal(str(width)) for width in widths]
    if min(exact) <= 0:
        raise ValueError(f"widths must be positive, got {examples(list(widths))}")
    present = [Decimal(str(number)) for number in numbers if number is not None]
    low, high = (floor(end / exact[-1]) * exact[-1] for end in (min(present), max(present)))
    ends = [int(one) if one == int(one) else float(one) for one in (low, high + exact[-1], *exact)]
    made = Hierarchy.intervals(ends[0], ends[1], ends[3:], step=ends[2])
    places = made.encode([None if number is None else Decimal(str(number)) for number in numbers]).tolist()
    columns: list[list[Hashable]] = [list(hierarchy.domain)]
    for groups, labels in zip(made.groups[:-1], made.labels[:-1], strict=True):
        columns.append(
            [None if number is None else labels[groups[place]] for number, place in zip(numbers, places, strict=True)]
        )
    return Hierarchy([*columns, [ROOT] * len(numbers)])


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
