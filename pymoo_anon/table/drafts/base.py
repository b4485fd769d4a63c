"""What all drafts share: what a draft is, and that no level of it is without use."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from pymoo_anon.table.domain_values import ROOT
from pymoo_anon.table.hierarchy import Hierarchy


@dataclass(frozen=True)
class Draft:
    """A hierarchy that was made from the values of a column.

    Attributes:
        hierarchy: The hierarchy. It holds every value of the column.
        kind: What the values were taken for: "numbers", "dates", "codes" or "categories".
        reason: Why, and what the levels are, in one line.
    """

    hierarchy: Hierarchy
    kind: str
    reason: str


def useful(
    values: Sequence[Hashable], levels: Mapping[str, Sequence[Hashable]], share: float = 1
) -> tuple[Hierarchy, list[str]]:
    """The hierarchy of those levels that gain something: each has fewer groups than the one below. The last is `*`.

    A single value has no level above it.

    Returns:
        The hierarchy, and the names of the levels in it between the values and `*`.
    """
    columns, names = [values], []
    for name, level in levels.items():
        n_groups, below = len(set(level)), len(set(columns[-1]))
        if 1 < n_groups < below and n_groups <= share * below:
            columns.append(level)
            names.append(name)
    if len(values) > 1:
        columns.append([ROOT] * len(values))
    return Hierarchy.from_levels(columns), names


def fills(n_rows: int, n_distinct: int) -> bool:
    """Whether a hierarchy has a row for every value of a range, those that the column lacks included.

    A value that comes next year has a row then. A long file of few values in use would be hard to edit.
    """
    return n_rows <= 1000 and n_rows <= max(100, 10 * n_distinct)
