"""The keys of a project file, and what their values may be."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pymoo_anon._messages import repeated
from pymoo_anon.cli.names import ALGORITHMS
from pymoo_anon.cli.sources import ENGINES

#: What a column can be.
ROLES = ("quasi-identifier", "sensitive", "label", "person", "identifier", "keep", "drop", "other")


class Key(NamedTuple):
    """A key of a project file.

    Attributes:
        name: What the program calls it.
        read: Takes what the file gives and returns the value; a ValueError says what it must be.
    """

    name: str
    read: Callable[[Any], Any]


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError('a list of texts such as ["a", "b"]')
    return tuple(value)


def fields(parts: Sequence[str]) -> str:
    """Names side by side as the command line takes them, in quotes where one holds a comma.

    >>> fields(["k", "l:a,b"])
    'k,"l:a,b"'
    """
    file = io.StringIO(newline="")
    csv.writer(file, lineterminator="").writerow(parts)
    return file.getvalue()


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("text")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _names(value: Any) -> tuple[str, ...]:
    names = texts(value)
    if not names or not all(names) or repeated(names):
        raise ValueError("a list of the columns' names, each once")
    return names


def _one_of(choices: Sequence[str]) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return str(value)

    return read


def _whole(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"a whole number from {least}")
        return value

    return read


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _seconds(value: Any) -> float:
    if not _is_number(value) or value <= 0:
        raise ValueError("a positive number of seconds")
    return float(value)


def _objectives(value: Any) -> str:
    return _text(value) if isinstance(value, str) else fields(texts(value))


def _require(value: Any) -> list[str]:
    return [_text(value)] if isinstance(value, str) else list(texts(value))


def _suppression(value: Any) -> str:
    if _is_number(value):
        return str(value)
    if not isinstance(value, str):
        raise ValueError('a share (0.01), a number of rows (301) or a text such as "violating:0.01"')
    return value


def _sides(value: Any) -> str:
    sides = value if isinstance(value, list) else [value]
    if isinstance(value, str):
        return value
    if not sides or not all(map(_is_number, sides)):
        raise ValueError("a number, or a list of one for each objective")
    return ",".join(map(str, sides))


DATA = {
    "file": Key("file", _text),
    "engine": Key("engine", _one_of(ENGINES)),
    "missing": Key("missing", _one_of(("raise", "drop", "keep"))),
    "empty": Key("empty", texts),
    "names": Key("names", _names),
    "strip": Key("strip", _truth),
}

#: As on the command line.
SEARCH = {
    "objectives": Key("objectives", _objectives),
    "require": Key("require", _require),
    "suppression": Key("suppression", _suppression),
    "algorithm": Key("algorithm", _one_of(tuple(ALGORITHMS))),
    "generations": Key("generations", _whole(1)),
    "pop-size": Key("pop_size", _whole(2)),
    "epsilon": Key("epsilon", _sides),
    "time-limit": Key("time_limit", _seconds),
    "seed": Key("seed", _whole(0)),
    "output": Key("output", lambda value: Path(_text(value))),
}

RELEASE = {
    "file": Key("file", lambda value: Path(_text(value))),
    "suppressed": Key("suppressed", _one_of(("mark", "drop"))),
}
