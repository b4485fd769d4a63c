"""Drafting a hierarchy from the values of a column: what kind they are, and what is missing among them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import day_of, is_missing, same_as
from pymoo_anon.table.drafts.base import Draft
from pymoo_anon.table.drafts.categories import draft_categories
from pymoo_anon.table.drafts.codes import draft_codes, looks_like_a_code
from pymoo_anon.table.drafts.dates import AmbiguousDates, draft_dates
from pymoo_anon.table.drafts.numbers import draft_numbers, has_leading_zero, number_of
from pymoo_anon.table.frames import ascending
from pymoo_anon.table.hierarchy import Hierarchy

#: The kinds of values, by the name that `kind` has for them.
KINDS: dict[str, Callable[[Sequence[Any], Sequence[int]], Draft]] = {
    "numbers": lambda values, counts: draft_numbers(values),
    "dates": lambda values, counts: draft_dates(values),
    "codes": lambda values, counts: draft_codes(values),
    "categories": draft_categories,
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
    - codes, that is digits after a leading 0 or beside capital letters: redaction from the right.
    - categories, that is all else: rare values together, then groups of about the same number of rows.

    What is missing (None, NaN, an empty text) is a value of its own that stays apart up to the root. A level that gains
    nothing is left out.

    Args:
        values: Python values, such as a column of pandas or polars; they may repeat.
        counts: How many rows hold each. Without it, every value counts once for each time that it is given.
        kind: "numbers", "dates", "codes", "categories", or "auto": the first of them that fits.
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
