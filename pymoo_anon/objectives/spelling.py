"""Spelling of measures as texts, such as `l[age,zip|sex]:diagnosis`."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from pymoo_anon._messages import plain
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.knowledge import BackgroundKnowledge, any_of, knowledge_in_words, known_of

# The text in brackets. A name in quotes may hold any sign.
_INSIDE = r'(?:"(?:[^"\\]|\\.)*"|[^\]"])*'
_MEASURE = re.compile(rf"([\w-]+)\[({_INSIDE})\](?::(.*))?", re.DOTALL)
_OPEN = re.compile(rf"[\w-]+\[{_INSIDE}", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[,|]|[^,|"]+', re.DOTALL)
_ANY = re.compile(r"any (\d+)")


class Spelled(NamedTuple):
    """The parts of a spelled measure."""

    short: str  # Its short name
    known: list[list[str]] | int | None = None  # The columns of each set, the size of any set, or None
    column: str = ""  # The column that it reads, or nothing where none is named

    def __str__(self) -> str:
        if self.known is None:
            inside = ""
        else:
            known = any_of(self.known) if isinstance(self.known, int) else known_of(self.known)
            inside = f"[{knowledge_text(known)}]"
        return f"{self.short}{inside}{':' if self.column else ''}{self.column}"


def measure_in(text: str) -> Spelled:
    """Return the parts of a measure. Their `str` is the one spelling of it.

    >>> measure_in('l[zip,age|"a,b"]:diagnosis')
    Spelled(short='l', known=[['zip', 'age'], ['a,b']], column='diagnosis')
    >>> measure_in("k[any 3]").known, measure_in("l:diagnosis").column, str(measure_in("k[zip, age]"))
    (3, 'diagnosis', 'k[age,zip]')
    """
    found = _MEASURE.fullmatch(text.strip())
    if found is None:
        short, _, column = text.partition(":")
        return Spelled(short, None, column)
    short, inside, column = found.groups(default="")
    if known := _ANY.fullmatch(inside.strip()):
        return Spelled(short, int(known[1]), column)
    sets = [[""]]
    for token in _TOKEN.findall(inside):
        if token == "|":
            sets.append([""])
        elif token == ",":
            sets[-1].append("")
        else:
            sets[-1][-1] += _unquoted(token)
    return Spelled(short, sets, column)


def rejoined(parts: list[str]) -> list[str]:
    """Join the parts of measures that commas in brackets have divided.

    >>> rejoined(["k[age", "zip|sex]", "l:a,b", "GLM"])
    ['k[age,zip|sex]', 'l:a,b', 'GLM']
    """
    found: list[str] = []
    for part in parts:
        if found and _OPEN.fullmatch(found[-1]):
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def short_name(measure: Objective) -> str:
    """Spell a measure as the command line reads it.

    >>> from pymoo_anon.objectives import DistinctLDiversity, KAnonymity, ProsecutorRisk
    >>> short_name(ProsecutorRisk()), short_name(DistinctLDiversity("diagnosis")), short_name(KAnonymity("patient"))
    ('prosecutor-risk', 'l:diagnosis', 'k:patient')
    >>> short_name(KAnonymity(known=[["age", "zip"], ["sex", "zip"]]))
    'k[age,zip|sex,zip]'
    """
    name = measure.short or measure.name.replace(" ", "-")
    if measure.known is not None and measure.short:
        name += f"[{knowledge_text(measure.known)}]"
    of = measure.number if measure.numbered else measure.column
    return plain(name if of is None else f"{name}:{of}")


def knowledge_text(known: BackgroundKnowledge) -> str:
    """Spell background knowledge, with names that hold its signs in quotes.

    >>> knowledge_text((("age", "zip"), ("a|b", "zip")))
    'age,zip|"a|b",zip'
    """
    if isinstance(known, any_of):
        return knowledge_in_words(known)
    return "|".join(",".join(map(_quoted_name, map(str, one))) for one in known or ())


def _quoted_name(name: str) -> str:
    return json.dumps(name, ensure_ascii=False) if set(name) & set(',|[]"') or name != name.strip() else name


def _unquoted(token: str) -> str:
    if not token.startswith('"'):
        return token.strip()
    try:
        return str(json.loads(token))
    except ValueError:
        raise ValueError(f"a name in quotes must be written as in JSON, got {token}") from None
