"""How error messages name what was wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from numbers import Integral
from typing import Any


def examples(items: Collection[Any]) -> str:
    """The first five items and how many more there are.

    >>> examples([1, 2, 3, 4, 5, 6, 7])
    '1, 2, 3, 4, 5 and 2 more'
    """
    shown = ", ".join(repr(item) for item in islice(items, 5))
    return f"{shown} and {len(items) - 5} more" if len(items) > 5 else shown


def positive_whole(name: str, value: Any) -> int:
    """A positive whole number, as an int."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value!r}")
    return int(value)


def repeated(items: Iterable[Any]) -> list[Any]:
    """The items that occur more than once, each once, in order."""
    seen: set[Any] = set()
    twice: dict[Any, None] = {}
    for item in items:
        if item in seen:
            twice[item] = None
        seen.add(item)
    return list(twice)


def told_apart(*ways: Sequence[str]) -> list[str]:
    """A name for each of several things: the first way to name them, and the next one for those that share a name.

    >>> told_apart(["k", "l", "l"], ["k", "l of a", "l of b"])
    ['k', 'l of a', 'l of b']
    """
    names = list(ways[0])
    for longer in ways[1:]:
        names = [long if names.count(name) > 1 else name for name, long in zip(names, longer, strict=True)]
    return names


def plain(text: str) -> str:
    r"""A text as one line of printable characters; any other, such as a newline, stands as Python writes it.

    >>> plain("zip\ncode \x1b[31m")
    'zip\\ncode \\x1b[31m'
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
