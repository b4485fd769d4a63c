"""Words of languages: roles of columns, ordinal scales, and lists.

They are read from `words.csv`. A line names the role, the language or list, and the words. A stem ends with a dash,
and the end of a compound begins with one. A role of `whole` needs the words of the whole name.
Phrases and values are parted by `|`, steps of a scale by `;`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import lru_cache
from importlib.resources import files
from typing import Any


def split_words(name: str) -> list[str]:
    """Split a name into words without accents.

    >>> split_words("dateOfBirth"), split_words("Straße_Nr"), split_words("ZIP-Code")
    (['date', 'of', 'birth'], ['strasse', 'nr'], ['zip', 'code'])
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("ß", "ss")
    for umlaut, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("Ä", "Ae"), ("Ö", "Oe"), ("Ü", "Ue")):
        parted = parted.replace(umlaut, letters)
    bare = unicodedata.normalize("NFKD", parted).encode("ascii", "ignore").decode().lower()
    return re.findall(r"[a-z]+", bare)


def _read_words() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    text = (files("pymoo_anon.table") / "words.csv").read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        role, kind, words = line.split(";", 2)
        if role == "scale":
            # A scale may go on in the next line.
            first = 1 + max(found[kind].values(), default=-1)
            for place, step in enumerate(words.split(";"), start=first):
                found[kind].update(dict.fromkeys(step.split("|"), place))
            found["scales"][kind] = role
        elif role == "phrases" or role.endswith(" values"):
            found[kind].update(dict.fromkeys(words.split("|"), role))
            if role != "phrases":
                found["kinds"][kind] = role.removesuffix(" values")
        elif role == "list":
            found[kind].update(dict.fromkeys(words.split(), role))
        else:
            _add_roles(found, role, words)
    _add_abbreviations(found)
    return found


def _add_roles(found: dict[str, dict[str, Any]], role: str, words: str) -> None:
    table = "whole" if role.startswith("whole ") else "joined"
    for word in words.split():
        bare = word.strip("-")
        found[table].setdefault(bare, role.removeprefix("whole "))
        # A stem, or a word of a language that joins words freely, may begin or end any word.
        for end, may in (("begins", word.endswith("-")), ("ends", word.startswith("-"))):
            if may:
                found[end][bare] = role


def _add_abbreviations(found: dict[str, dict[str, Any]]) -> None:
    """Add words such as "wrk" and "adress"."""
    short: dict[str, set[str]] = defaultdict(set)
    for word, role in found["joined"].items():
        consonants = word[0] + re.sub("[aeiou]", "", word[1:])
        if len(consonants) >= _SHORTEST and 3 * len(consonants) >= 2 * len(word):
            short[consonants].add(role)
        if len(word) >= _LONG and role != "person":
            for place in range(1, len(word)):
                short[word[:place] + word[place + 1 :]].add(role)
    for word, roles in short.items():
        if len(roles) == 1 and word not in found["joined"]:
            found["joined"][word] = next(iter(roles))


# Fewer consonants may be short for anything, and shorter words with a letter missing are often other words.
_SHORTEST, _LONG = 3, 7
# Endings of inflected words.
_INFLECTIONS = ("s", "es", "en")

#: Tables of the data file, each by word: roles ("joined", "begins", "ends", "whole"), values, scales and lists.
#: "kinds" has the roles of columns with such values, and "scales" the names of all scales.
WORDS = _read_words()


@lru_cache(maxsize=4096)
def role_of_word(word: str) -> str | None:
    """Return the role that a word speaks of, or None.

    >>> role_of_word("birthyear"), role_of_word("customeremail"), role_of_word("mileage")
    ('quasi-identifier', 'identifier', None)
    """
    if word in WORDS["joined"]:
        return WORDS["joined"][word] if WORDS["joined"][word] != "plain" else None
    said = {part: WORDS["joined"][part] for part in _known_parts(word)}
    said |= {part: role for part, role in WORDS["begins"].items() if word.startswith(part)}
    said |= {part: role for part, role in WORDS["ends"].items() if word.endswith(part)}
    said = {part: role for part, role in said.items() if role != "plain"}
    # Identifiers count first, then the longest part.
    part = max(said, key=lambda part: (said[part] == "identifier", len(part)), default=None)
    return None if part is None else said[part]


def role_of_lettered(word: str) -> str | None:
    """Return the role of a word behind one letter.

    Surveys put a letter before a word: "Medu" is the education of the mother.

    >>> role_of_lettered("medu"), role_of_lettered("mileage")
    ('quasi-identifier', None)
    """
    known = (
        role_of_word(word) is None and word not in WORDS["joined"] and len(word) > _SHORTEST and _known_parts(word[1:])
    )
    return role_of_word(word[1:]) if known else None


def _known_parts(word: str) -> tuple[str, ...]:
    for end in range(len(word), 1, -1):
        if word[:end] in WORDS["joined"]:
            rest = word[end:]
            parts = () if rest in ("", *_INFLECTIONS) else _known_parts(rest)
            if parts or rest in ("", *_INFLECTIONS):
                return (word[:end], *parts)
    return ()
