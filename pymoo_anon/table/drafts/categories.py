"""Drafts for categories: rare values together, then groups of similar weight."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from typing import Any

from pymoo_anon.table.drafts.base import Draft, useful

# Values are rare that are much below the mean and, all of them together, no more than this share of the rows.
_RARE_SHARE = 0.05
_BELOW_MEAN = 0.25
_MOST_LEVELS = 3
_LONGEST_LABEL = 40

#: A group of values: their weight, and their positions, the most frequent first.
_Group = tuple[int, list[int]]


def draft_categories(values: Sequence[Any], counts: Sequence[int]) -> Draft:
    """A frequency tree: rare values become `other`, and then groups of about the same number of rows grow to `*`.

    What belongs together is not known here: a label names what is in its group, to be replaced by a better one.

    >>> draft_categories(["cat", "cow", "dog", "hen"], [40, 20, 25, 15]).hierarchy.labels[1]
    ('cat | hen', 'dog | cow')
    """
    order = sorted(range(len(values)), key=lambda i: (-counts[i], str(values[i]), type(values[i]).__name__))
    groups: list[_Group] = [(counts[i], [i]) for i in order]
    rare = _rare(counts, order)
    other = _other(values)
    levels: dict[str, list[str]] = {}
    if rare:
        groups = [*groups[: -len(rare)], (sum(counts[i] for i in rare), rare)]
        levels["rare values together"] = _labels(values, groups, set(rare), other)
    for n_groups in _sizes(len(groups)):
        groups = _merged(groups, n_groups)
        levels[f"{n_groups} groups"] = _labels(values, groups, set(rare), other)
    # The rows of a group stand together, so that a person can move them.
    rows = [i for _, members in groups for i in members]
    ordered = {name: [level[i] for i in rows] for name, level in levels.items()}
    hierarchy, kept = useful([values[i] for i in rows], ordered)
    return Draft(
        hierarchy,
        "categories",
        "; ".join([f"{len(values):,} {'category' if len(values) == 1 else 'categories'}", *kept]),
    )


def _rare(counts: Sequence[int], order: Sequence[int]) -> list[int]:
    """Positions of the rare values, the most frequent of them first; none where there is only one."""
    total, mean = sum(counts), sum(counts) / len(counts)
    held, n_rare = 0, 0
    for i in reversed(order):
        held += counts[i]
        if held > _RARE_SHARE * total or counts[i] >= _BELOW_MEAN * mean:
            break
        n_rare += 1
    return list(order[len(order) - n_rare :]) if n_rare > 1 else []


def _sizes(n: int) -> list[int]:
    """How many groups each level has, in even steps from n down to 1, both left out."""
    n_levels = 0
    while n_levels < _MOST_LEVELS and 3 ** (n_levels + 1) <= n:
        n_levels += 1
    return [max(2, round(n ** (left / (n_levels + 1)))) for left in range(n_levels, 0, -1)]


def _merged(groups: Sequence[_Group], n_groups: int) -> list[_Group]:
    """Fewer groups of about the same weight: the heaviest group first, each to those that weigh the least so far.

    Returns:
        The groups, the heaviest first.
    """
    # Equally heavy ones are told apart by their number, so that the same groups come out every time.
    heap = [(0, number) for number in range(n_groups)]
    members: list[list[int]] = [[] for _ in heap]
    for weight, own in sorted(groups, key=lambda group: -group[0]):
        least, number = heapq.heappop(heap)
        members[number] += own
        heapq.heappush(heap, (least + weight, number))
    return [(weight, members[number]) for weight, number in sorted(heap, key=lambda held: (-held[0], held[1]))]


def _labels(values: Sequence[Any], groups: Sequence[_Group], rare: Collection[int], other: str) -> list[str]:
    """For every value a short label that says what is in its group, no two groups with the same."""
    labels = [""] * len(values)
    taken: set[str] = set()
    for _, members in groups:
        names = [str(values[i]) for i in members if i not in rare]
        if len(names) < len(members):
            names.append(other)
        label = " | ".join(names)
        if len(names) > 1 and len(label) > _LONGEST_LABEL:
            label = f"{names[0][:_LONGEST_LABEL]} + {len(members) - 1:,} more"
        once, number = label, 1
        while label in taken:
            number += 1
            label = f"{once} ({number})"
        taken.add(label)
        for i in members:
            labels[i] = label
    return labels


def _other(values: Sequence[Any]) -> str:
    """What the rare values are called together: no name that a value has."""
    names = {str(value).strip().casefold() for value in values}
    return "other" if "other" not in names else "rare values"
