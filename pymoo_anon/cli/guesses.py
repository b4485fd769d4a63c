"""Guesses: which role a column has, from its name, its type and how often its values repeat, and why."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from pymoo_anon.cli.profiles import MOST_VALUES, Profile

# Words of names in English and German. Those of four letters and more may also begin or end a word, as in
# "Geburtsdatum". The first role that fits counts: "patient name" is an identifier, "birth name" too.
_IDENTIFIERS = """
    name surname forename firstname lastname fullname vorname nachname familienname username initials email mail phone
    telephone telefon mobile handy fax address adresse anschrift street strasse ssn mrn passport passnummer ausweis iban
    konto accountnumber licence license url ip fallnummer versichertennummer steuernummer
"""
_PERSONS = """
    person patient user subject customer client member participant proband kunde versicherte pid uid
"""
_KNOWN_TO_OTHERS = """
    age alter birth birthday dob geburt geburtsdatum sex gender geschlecht race ethnicity ethnic zip zipcode plz
    postleitzahl postcode postal city town stadt ort wohnort gemeinde county country land bundesland state region kreis
    district nationality nation staatsangehoerigkeit citizenship marital familienstand married relationship household
    education bildung schulabschluss degree school occupation beruf job profession workclass employment employer
    admission aufnahme discharge entlassung death tod language sprache height weight year jahr date datum
"""
_SECRETS = """
    diagnosis diagnose icd disease krankheit illness condition symptom treatment behandlung therapy medication drug
    procedure salary gehalt income einkommen wage lohn earnings religion konfession belief party political orientation
    hiv test result befund debt score rating crime
"""
_WORDS = [
    ("identifier", "names a person", _IDENTIFIERS.split()),
    ("person", "tells whose row it is", _PERSONS.split()),
    ("quasi-identifier", "is what others may know of a person", _KNOWN_TO_OTHERS.split()),
    ("sensitive", "is what nobody should learn of a person", _SECRETS.split()),
]

# Shorter ones stand within too many others.
_SHORTEST_PART = 4
_IDS = ("id", "nr", "no", "number", "nummer", "key", "code")


class Guess(NamedTuple):
    """What a column is taken for.

    Attributes:
        role: One of the roles of a project file.
        reason: Why, in one line without any value of the column.
    """

    role: str
    reason: str


def guess(profile: Profile, kind: str | None, person_is_known: bool) -> Guess:
    """The role of a column."""
    found = _by_name(profile, person_is_known)
    if found is None:
        found = _by_values(profile, kind)
    if found.role == "quasi-identifier" and not profile.values:
        return Guess("other", f"{found.reason}, but more than {MOST_VALUES:,} values make no hierarchy")
    return found


def words_of(name: str) -> list[str]:
    """The words of a name in small letters, without accents.

    >>> words_of("dateOfBirth"), words_of("Straße_Nr"), words_of("ZIP-Code")
    (['date', 'of', 'birth'], ['strasse', 'nr'], ['zip', 'code'])
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("ß", "ss")
    for umlaut, letters in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("Ä", "Ae"), ("Ö", "Oe"), ("Ü", "Ue")):
        parted = parted.replace(umlaut, letters)
    bare = unicodedata.normalize("NFKD", parted).encode("ascii", "ignore").decode().lower()
    return re.findall(r"[a-z]+", bare)


def _by_name(profile: Profile, person_is_known: bool) -> Guess | None:
    """What the name of a column says, or None."""
    words = words_of(profile.name)
    if words in (["id"], ["key"], ["index"], ["row"]):
        return Guess("identifier", f"the name says {words[0]!r}: a number of a person or a row")
    for role, meaning, known in _WORDS:
        said = next((word for word in words if _is_one_of(word, known)), None)
        if said is None:
            continue
        if role == "person":
            if profile.is_unique:
                return Guess("identifier", f"the name says {said!r}, and every value is another one")
            if person_is_known or (len(words) > 1 and not set(words) & set(_IDS)):
                continue
        return Guess(role, f"the name says {said!r}, which {meaning}")
    return None


def _is_one_of(word: str, known: Sequence[str]) -> bool:
    long = [one for one in known if len(one) >= _SHORTEST_PART]
    return word in known or any(word.startswith(one) or word.endswith(one) for one in long)


def _by_values(profile: Profile, kind: str | None) -> Guess:
    """What the values of a column say."""
    if profile.n_distinct == 0:
        return Guess("drop", "it holds no value at all")
    if profile.n_distinct == 1 and not profile.n_missing:
        return Guess("keep", "it holds one value, which tells nobody apart")
    if profile.is_unique:
        if kind == "numbers":
            return Guess("other", "every value is another number: a measurement, or a number of a person")
        return Guess("identifier", "every value is another one")
    if kind == "dates":
        return Guess("quasi-identifier", "it holds dates, which others may know of a person")
    return Guess("other", "nothing tells what it is")
