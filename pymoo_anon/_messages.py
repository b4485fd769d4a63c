"""Wording of messages: examples, numbers, shares and lists."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from decimal import Context, Decimal, localcontext
from html import escape
from itertools import islice
from math import ceil, isfinite
from numbers import Integral
from typing import Any


def examples(items: Collection[Any], text: Callable[[Any], str] = repr, most: int = 5) -> str:
    """Return the first items as text, and the number of the rest.

    >>> examples([1, 2, 3, 4, 5, 6, 7])
    '1, 2, 3, 4, 5 and 2 more'
    """
    shown = ", ".join(text(item) for item in islice(items, most))
    return f"{shown} and {len(items) - most:,} more" if len(items) > most else shown


def positive_whole(name: str, value: Any) -> int:
    """Return a positive whole number as an int."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value!r}")
    return int(value)


def whole_from_0(name: str, value: Any) -> int:
    """Return a whole number from 0 on as an int."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise ValueError(f"{name} must be a whole number from 0 on, got {value!r}")
    return int(value)


def one_of(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise if a value is none of its choices."""
    if value not in choices:
        *others, last = map(repr, choices)
        raise ValueError(f"{name} must be {', '.join(others)} or {last}, got {value!r}")


def in_order(name: str, given: Any, kind: Any = (), words: str = "") -> list[Any]:
    """Return the members of a list or its like, in their order. With words, all must be of the kind."""
    if isinstance(given, kind):
        shown = " ".join(f"{given!r:.80}".split())
        raise TypeError(f"{name} must be a list of them, got {shown}; [{shown}] is one")
    if isinstance(given, Set | Mapping) or hasattr(given, "iterrows") or not isinstance(given, Iterable):
        raise TypeError(f"{name} must be a list, got {plain(f'{given!r:.80}')}")
    members = list(given)
    if wrong := [one for one in members if words and not isinstance(one, kind)]:
        raise TypeError(f"{name} must be {words}, got {wrong[0]!r}")
    return members


def repeated(items: Iterable[Any]) -> list[Any]:
    """Return the items with duplicates, each once, in order."""
    return [item for item, n in Counter(items).items() if n > 1]


def told_apart(*ways: Sequence[str]) -> list[str]:
    """Name things the first way, and equal ones the next way.

    >>> told_apart(["k", "l", "l"], ["k", "l of a", "l of b"])
    ['k', 'l of a', 'l of b']
    """
    names = list(ways[0])
    for longer in ways[1:]:
        names = [long if names.count(name) > 1 else name for name, long in zip(names, longer, strict=True)]
    return names


def plain(text: str) -> str:
    r"""Escape unprintable characters, such as newlines, as Python writes them.

    >>> plain("zip\ncode \x1b[31m")
    'zip\\ncode \\x1b[31m'
    """
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


@contextmanager
def warnings_for_users() -> Iterator[list[str]]:
    """Yield a list, which has each warning for users after the block."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", category)
        yield told
    told += dict.fromkeys(" ".join(str(warning.message).split()) for warning in caught)


def error_text(error: BaseException) -> str:
    """Return the words of an error in one line.

    >>> error_text(KeyError("no column")), error_text(MemoryError())
    ('no column', 'out of memory')
    """
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        text = f"out of memory{': ' * bool(text)}{text}"
    return plain(" ".join(text.split()))


def html_table(caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of escaped texts as HTML.

    >>> html_table("a < b", ["n"], [["1"]])
    '<table><caption>a &lt; b</caption><thead><tr><th>n</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(plain(cell))}</th>" for cell in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(plain(cell))}</td>' for cell in cells)}</tr>" for cells in rows)
    named = f"<caption>{escape(plain(caption))}</caption>"
    return f"<table>{named}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def number(value: float, rounding: str | None = None) -> str:
    """Format a number for people. A bound that must hold as it is told is rounded in a mode of `decimal`.

    >>> number(12), number(19_540.27), number(1 / 12), number(1e300), number(19_540.27, "ROUND_FLOOR")
    ('12', '19,540.3', '0.0833333', '1e+300', '19,540.2')
    """
    if value != value:
        return "none"
    if not isfinite(value):
        return "infinity" if value > 0 else "-infinity"
    has_all_digits = abs(value) < 10**21
    form = ".1f" if has_all_digits and abs(value) >= 1000 else ".6g"
    if rounding is not None:
        with localcontext(Context(rounding=rounding)):
            value = float(format(Decimal(str(value)), form))
    return f"{int(value):,}" if has_all_digits and float(value).is_integer() else f"{value:,{form}}"


def counted_nodes(n: int) -> str:
    """Format a number of nodes, a very large one as a power of ten.

    >>> counted_nodes(1), counted_nodes(8**24), counted_nodes(10**15), counted_nodes(10**15 - 1)
    ('1 node', 'about 10^21 nodes', 'about 10^15 nodes', '999,999,999,999,999 nodes')
    """
    return counted(n, "node", "nodes") if n < 10**15 else f"about 10^{len(str(n)) - 1} nodes"


def percent(share: float, is_limit: bool = False) -> str:
    """Format a share for people. A limit is rounded up, so that it holds as it is told.

    >>> percent(0.149), percent(0), percent(1 / 30_162), percent(7_212 / 7_214), percent(0.1234, is_limit=True)
    ('14.9 %', '0 %', 'less than 0.1 %', 'more than 99.9 %', '12.4 %')
    """
    if is_limit:
        share = ceil(1000 * share) / 1000
    if share == 0:
        return "0 %"
    if 0.9995 <= share < 1:
        return "more than 99.9 %"
    return f"{100 * share:.1f} %" if share >= 0.001 else "less than 0.1 %"


def share(part: int, whole: int, unit: str) -> str:
    """Format a part of a whole, as a number and a share.

    >>> share(301, 30_162, "rows"), share(0, 10, "people"), share(1, 30_162, "rows")
    ('301 of 30,162 rows (1.0 %)', 'none of 10 people', '1 of 30,162 rows (less than 0.1 %)')
    """
    return f"{part:,} of {whole:,} {unit} ({percent(part / whole)})" if part else f"none of {whole:,} {unit}"


def unit_of_rows(person: Hashable | None) -> str:
    """Return "people", or "rows" if a column identifies persons."""
    return "people" if person is None else "rows"


def counted(n: int, one: str, several: str) -> str:
    """Format a number of things.

    >>> counted(1, "person", "people"), counted(2_000, "person", "people")
    ('1 person', '2,000 people')
    """
    return f"{n:,} {one if n == 1 else several}"


def listed(items: Iterable[str], most: int | None = None) -> str:
    """Join words, the last one after "and". Those beyond `most` are counted.

    >>> listed(["k = 5", "l = 3", "GLM = 10"]), listed(["k = 5"]), listed(["a", "b", "c", "d"], 2)
    ('k = 5, l = 3 and GLM = 10', 'k = 5', 'a, b and 2 more')
    """
    given = list(items)
    words = given[:most]
    if len(given) > len(words):
        words.append(f"{len(given) - len(words):,} more")
    return " and ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), *words[-1:]])


def label_words(label: Any) -> str:
    """Format a label of a hierarchy for people, with words for a missing one.

    >>> label_words("15–19"), label_words(None), label_words(float("nan"))
    ('15–19', 'nothing known', 'nothing known')
    """
    return "nothing known" if label is None or label != label else str(label)
