"""Drafting a hierarchy from the values of a column: what kind they are, and groups of those without an order."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import ascending, day_of, is_missing, same_as
from pymoo_anon.table.draft_levels import (
    AmbiguousDates,
    Draft,
    draft_codes,
    draft_dates,
    draft_numbers,
    has_leading_zero,
    looks_like_a_code,
    number_of,
    useful,
)
from pymoo_anon.table.draft_orders import draft_ordered, one_node_each
from pymoo_anon.table.hierarchy import Hierarchy

#: The kinds of values, by the name that `kind` has for them.
KINDS: dict[str, Callable[[Sequence[Any], Sequence[int]], Draft]] = {
    "numbers": lambda values, counts: draft_numbers(values),
    "dates": lambda values, counts: draft_dates(values),
    "ordered": lambda values, counts: draft_ordered(values),
    "codes": lambda values, counts: draft_codes(values),
    "categories": lambda values, counts: draft_categories(values, counts),
}

# So few numbers are names of something.
_FEW = 3
# Columns of digits that are codes even if none of them begins with 0.
_CODE_NAMES = re.compile(r"(?:^|[^a-z])(?:zip|postal|postcode|plz|icd|ndc|naics)(?:$|[^a-z]|code)", re.IGNORECASE)


def draft_hierarchy(
    values: Iterable[Any], counts: Iterable[int] | None = None, kind: str = "auto", name: str | None = None
) -> Draft:
    """Draft the hierarchy of a column from its values, to be read and edited by a person.

    - numbers, also as text: nested intervals of round widths. Whole numbers that lie close together get a row for every
      number of the range.
    - dates, moments and text that spells them: month, quarter, year, decade.
    - ordered: intervals written as text ("50-59", "<5", "65+"), months, weekdays, grades and words of known scales
      ("low", "Bachelors", "strongly agree"): neighbours together.
    - codes, that is digits after a leading 0 or beside capital letters: redaction from the right.
    - categories, that is all else: rare values together, then groups of about the same number of rows.

    What is missing (None, NaN, an empty text) is a value of its own that stays apart up to the root. A level that gains
    nothing is left out.

    Args:
        values: Python values, such as a column of pandas or polars; they may repeat.
        counts: How many rows hold each. Without it, every value counts once for each time that it is given.
        kind: "numbers", "dates", "ordered", "codes", "categories", or "auto": the first of them that fits.
        name: The column's name, if it may tell that digits are a code, as "zip" does.

    Returns:
        The draft; `draft.hierarchy.to_csv(path)` writes it in ARX's layout.

    Raises:
        ValueError: There is no such kind, no value, another number of counts or one that is not positive, or the values
            are not of the kind.

    >>> draft = draft_hierarchy(["02139", "02138", "02215", None])
    >>> draft.kind, draft.reason
    ('codes', 'codes of 5 signs, redacted from the right; a row for what is missing')
    >>> draft.hierarchy.labels[1]
    ('0213*', '0221*', None)
    """
    if kind != "auto" and kind not in KINDS:
        raise ValueError(f"kind must be 'auto', {', '.join(map(repr, KINDS))}, got {kind!r}")
    held, missing = _counted(values, counts)
    if not held:
        if not missing:
            raise ValueError("values must hold at least one, got none")
        return Draft(Hierarchy.from_levels([[None]]), "categories", "no value at all")
    distinct = ascending(list(held))
    weights = [held[value] for value in distinct]
    draft = KINDS[kind](distinct, weights) if kind != "auto" else _chosen(distinct, weights, name)
    if not missing:
        return draft
    hierarchy = draft.hierarchy if draft.hierarchy.length else Hierarchy.flat(draft.hierarchy.domain)
    return Draft(hierarchy.with_missing(), draft.kind, f"{draft.reason}; a row for what is missing")


def _counted(values: Iterable[Any], counts: Iterable[int] | None) -> tuple[dict[Any, int], bool]:
    """The distinct values with the number of their rows, and whether some are missing."""
    listed = [
        value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value
        for value in values
    ]
    given = [1] * len(listed) if counts is None else [int(count) for count in counts]
    if len(given) != len(listed):
        raise ValueError(f"counts must be as many as the values, {len(listed)}, got {len(given)}")
    bad = [count for count in given if count < 1]
    if bad:
        raise ValueError(f"counts must be positive, got {examples(bad)}")
    held: dict[Any, int] = {}
    firsts: dict[Any, Any] = {}
    missing = False
    for value, count in zip(listed, given, strict=True):
        if is_missing(value) or value == "":
            missing = True
            continue
        first = firsts.setdefault(same_as(value), value)
        held[first] = held.get(first, 0) + count
    return held, missing


def _chosen(values: Sequence[Any], counts: Sequence[int], name: str | None) -> Draft:
    """The draft of the kind that fits, with what spoke against the others."""
    try:
        return draft_dates(values)
    except AmbiguousDates as error:
        note = f"{error}; "
    except ValueError:
        note = _almost("dates", values, lambda value: day_of(value) is not None)
    numbers = [number_of(value) for value in values]
    spelled = [number for number in numbers if number is not None]
    leading = any(map(has_leading_zero, values))
    if len(spelled) == len(values) > _FEW and not leading:
        if name is not None and _CODE_NAMES.search(name) and all(number == int(number) for number in spelled):
            return _because(f"the column is called {name!r}, so ", draft_codes(values))
        return _because(note, draft_numbers(values))
    try:
        return _because(note, draft_ordered(values, name))
    except ValueError:
        pass
    if not leading:
        note = note or _almost("numbers", values, lambda value: number_of(value) is not None)
    if all(map(looks_like_a_code, values)) and (leading or not spelled):
        draft = draft_codes(values)
        if leading or draft.hierarchy.length > 1:
            return _because(note, draft)
    return _because(note, draft_categories(values, counts))


def _almost(kind: str, values: Sequence[Any], fits: Callable[[Any], bool]) -> str:
    """A note where most values are of a kind, and so the others are perhaps mistakes."""
    others = [value for value in values if not fits(value)]
    return f"not {kind} because of {examples(others)}; " if 0 < len(others) < len(values) / 2 else ""


def _because(note: str, draft: Draft) -> Draft:
    return replace(draft, reason=note + draft.reason)


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
    levels: dict[str, list[tuple[int, Hashable]]] = {}
    if rare:
        groups = [*groups[: -len(rare)], (sum(counts[i] for i in rare), rare)]
        levels["rare values together"] = _labels(values, groups, set(rare), other)
    for n_groups in _sizes(len(groups)):
        groups = _merged(groups, n_groups)
        levels[f"{n_groups} groups"] = _labels(values, groups, set(rare), other)
    # The rows of a group stand together, so that a person can move them.
    rows = [i for _, members in groups for i in members]
    ordered = {name: [level[i] for i in rows] for name, level in levels.items()}
    domain = [values[i] for i in rows]
    hierarchy, kept = useful(domain, one_node_each(ordered, domain))
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


def _labels(
    values: Sequence[Any], groups: Sequence[_Group], rare: Collection[int], other: str
) -> list[tuple[int, Hashable]]:
    """For every value the number of its group and its label: its members or, where they are many, how many."""
    labels: list[tuple[int, Hashable]] = [(0, "")] * len(values)
    for number, (_, members) in enumerate(groups, start=1):
        names = [str(values[i]) for i in members if i not in rare]
        if len(names) < len(members):
            names.append(other)
        label = values[members[0]] if len(members) == 1 else " | ".join(names)
        if len(members) > 1 and len(label) > _LONGEST_LABEL:
            label = f"group {number} of {len(groups)}: {len(members):,} values, most of all {names[0][:_LONGEST_LABEL]}"
        for i in members:
            labels[i] = number, label
    return labels


def _other(values: Sequence[Any]) -> str:
    """What the rare values are called together: no name that a value has."""
    names = {str(value).strip().casefold() for value in values}
    return "other" if "other" not in names else "rare values"
