"""Roles of columns: which columns of a frame a table reads, and how hierarchies fit them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon._messages import examples, repeated
from pymoo_anon.table.domain_values import Kind, Name
from pymoo_anon.table.frames import ascending
from pymoo_anon.table.hierarchy import Hierarchy


def check_hierarchies(quasi_identifiers: Any) -> None:
    """Refuse what is no dict of hierarchies."""
    if not isinstance(quasi_identifiers, Mapping):
        raise ValueError(
            f"quasi_identifiers must be a dict of columns and their hierarchies, got {quasi_identifiers!r}"
        )
    for name, hierarchy in quasi_identifiers.items():
        if not isinstance(hierarchy, Hierarchy):
            raise TypeError(f"quasi_identifiers[{name!r}] must be a Hierarchy, got {hierarchy!r}")


def names_of(given: Any) -> tuple[Name, ...]:
    """The names that were given: none, one, or several in a list."""
    if given is None:
        return ()
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)


def other_columns(
    quasi_identifiers: Mapping[Name, Hierarchy], sensitive: tuple[Name, ...], label: Name | None, person: Name | None
) -> list[Name]:
    """The columns with a role that are no quasi-identifiers, each once."""
    for role, names in (("sensitive", sensitive), ("label", [label]), ("person", [person])):
        for name in names:
            if not isinstance(name, Hashable):
                raise TypeError(f"{role} must name a column, got {name!r}")
    for name in sensitive:
        if name in quasi_identifiers:
            raise ValueError(f"column {name!r} must not be both sensitive and a quasi-identifier")
    if repeated(sensitive):
        raise ValueError(f"sensitive must name each column once, got more than once: {examples(repeated(sensitive))}")
    if person is not None:
        for role, taken in (
            ("a quasi-identifier", quasi_identifiers),
            ("sensitive", sensitive),
            ("the label", [label]),
        ):
            if person in taken:
                raise ValueError(f"column {person!r} must not be both the person and {role}")
    others = dict.fromkeys([*sensitive, label, person])
    return [name for name in others if name is not None and name not in quasi_identifiers]


def fitted(
    name: Name, hierarchy: Hierarchy, values: Sequence[Any], missing: bool = False
) -> tuple[Hierarchy, NDArray[np.int64]]:
    """A hierarchy as it fits a column, and the positions of the column's values in its domain."""
    try:
        own = matched(hierarchy, values)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None
    if missing:
        own = own.with_missing()
    positions = own.encode(values)
    unknown = [value for value, position in zip(values, positions, strict=True) if position < 0]
    if unknown:
        shown = examples(ascending(unknown))
        text = f"column {name!r} must hold values of its hierarchy only, got without a row there: {shown}"
        if all(isinstance(value, str) for value in unknown) and all(isinstance(v, Number) for v in own.domain):
            text += "; the column holds text and the hierarchy numbers"
        if own.domain[0] == name:
            text += "; the hierarchy begins with the column's own name, as a file with a header does"
        raise ValueError(text)
    return own, positions


def matched(hierarchy: Hierarchy, values: Sequence[Any]) -> Hierarchy:
    """The hierarchy with numbers where the column holds numbers."""
    present = [value for value in values if value is not None]
    numbers = [value for value in present if isinstance(value, Number) and not isinstance(value, bool)]
    if not numbers or len(numbers) < len(present):
        return hierarchy
    kind: Kind = int if all(isinstance(value, Integral) for value in numbers) else float
    return hierarchy.with_numbers(Decimal if any(isinstance(value, Decimal) for value in numbers) else kind)
