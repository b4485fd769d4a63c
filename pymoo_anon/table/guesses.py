"""Guesses: which role a column has, from its name and its values, and whether it may be released as it stands.

A guess errs on the side of the persons: what may name somebody is not released until a person says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import lru_cache
from importlib.resources import files
from math import ceil
from typing import Any, NamedTuple

import narwhals as nw

from pymoo_anon.table.domain_values import Name, is_missing, is_number, is_whole, same_as, spelled
from pymoo_anon.table.draft_levels import looks_like_a_date
from pymoo_anon.table.frames import aliased, counted_values, sampled_values, totals

#: Of columns with more distinct values a sample is fetched: nobody edits a hierarchy of so many rows.
MOST_VALUES = 100_000
#: Fewer rows do not tell whether values repeat.
TELLING = 20


_MEANINGS = {
    "identifier": "names a person",
    "person": "tells whose row it is",
    "quasi-identifier": "is what others may know of a person",
    "sensitive": "is what nobody should learn of a person",
}


def _vocabulary() -> dict[str, dict[str, str]]:
    """Read words of languages: their roles, by how they stand in a name, and lists of words and values."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    text = (files("pymoo_anon.table") / "words.csv").read_text(encoding="utf-8")
    for line in text.splitlines()[1:]:
        role, kind, words = line.split(";")
        for word in words.split("|") if role == "values" else words.split():
            bare = word.strip("-") if role != "values" else word
            whole = role.startswith("whole ")
            name = "whole" if whole else kind if role in ("values", "list") else "joined"
            found[name].setdefault(bare, role.removeprefix("whole "))
            # A stem, or a word of a language that joins words freely, may begin or end any word.
            for end, may in (("begins", word.endswith("-")), ("ends", word.startswith("-"))):
                if may and name == "joined":
                    found[end][bare] = role
    return found


_VOCABULARY = _vocabulary()
# Words that make a name one of a number, of a count, or of a few codes, and those of times and places.
_IDS, _COUNTS, _CODES, _TIMES, _PLACES, _NAMED_PLACES = (
    frozenset(_VOCABULARY[name]) for name in ("numbers", "counts", "codes", "times", "places", "named places")
)
_ID_ENDS = ("nummer", "number", "numero", "kennung", "schluessel")
_DESCRIBED = _CODES | {"flag", "service", "state", "verified", "suffix"}
# Values that others may know of a person.
_KNOWN = ("sexes", "marital states", "races", "countries")
# What inflection adds to a word.
_INFLECTIONS = ("s", "es", "en")


class Guess(NamedTuple):
    """What a column is taken for.

    Attributes:
        role: "identifier", "person", "quasi-identifier", "sensitive", "drop" (it tells nothing), or "other" where
            nothing tells what it is.
        reason: Why, in one line without any value of the column.
        danger: Why the column must not be released as it stands, or None where nothing speaks against it.
    """

    role: str
    reason: str
    danger: str | None


class Profile(NamedTuple):
    """Distinct values of a column with their counts, and None for what is missing; of many a sample without counts."""

    name: Name
    n_rows: int
    n_distinct: int
    n_missing: int
    values: Sequence[Any]
    counts: Sequence[int]

    @property
    def is_unique(self) -> bool:
        """Whether no value stands in two rows, in a table where that means something."""
        return self.n_distinct == self.n_rows - self.n_missing and self.n_distinct > 1

    @property
    def is_nearly_unique(self) -> bool:
        """Whether a value stands in fewer than two rows on average, in a table where that means something."""
        n_present = self.n_rows - self.n_missing
        return n_present >= TELLING and 2 * self.n_distinct > n_present

    @property
    def is_sampled(self) -> bool:
        """Whether its values are a sample."""
        return len(self.counts) < len(self.values)

    def without(self, texts: Collection[str]) -> Profile:
        """Return the profile in which some texts mean that there is no value."""
        held = [(value, n) for value, n in zip(self.values, self.counts, strict=True) if value not in (None, *texts)]
        n_missing = self.n_rows - sum(n for _, n in held)
        if n_missing == self.n_missing:
            return self
        values, counts = [value for value, _ in held] + [None], [n for _, n in held] + [n_missing]
        return self._replace(n_distinct=len(held), n_missing=n_missing, values=values, counts=counts)

    def __str__(self) -> str:
        """The counts in words, without any value."""
        distinct = f"{self.n_distinct:,} distinct value{'s' * (self.n_distinct != 1)}"
        return distinct + (f", {self.n_missing:,} missing" if self.n_missing else "")


def guess_role(name: Name, values: Iterable[Any]) -> Guess:
    """Guess what a column is, and whether it may be released as it stands.

    Args:
        name: Its name.
        values: Its values, a row each: a series of pandas, polars or narwhals, or any other iterable.

    Returns:
        The role, why, and what speaks against a release of the column as it stands.

    Raises:
        TypeError: A value is a list or the like.

    >>> guess_role("contact", ["ann@example.org", "bob@example.org", None])
    Guess(role='identifier', reason='it holds e-mail addresses', danger='it holds e-mail addresses')
    >>> guess_role("sex", ["F", "M", "M"]).role
    'quasi-identifier'
    """
    firsts: dict[Any, Any] = {}
    counts: Counter[Any] = Counter()
    for value in values.to_list() if hasattr(values, "to_list") else values:
        if not isinstance(value, Hashable):
            raise TypeError(f"values must be single ones, such as text and numbers, got {type(value).__name__}")
        key = None if is_missing(value) else same_as(value)
        firsts.setdefault(key, None if key is None else value)
        counts[key] += 1
    # Both hold their keys in one order.
    n_missing, n_distinct = counts[None], len(firsts) - (None in firsts)
    held = [*firsts.values()], [counts[key] for key in firsts]
    return guess_of(Profile(name, counts.total(), n_distinct, n_missing, *held))


def guesses_of(frame: Any, names: Sequence[Name]) -> dict[Name, Guess]:
    """Guess what some columns of a frame are, as `guess_role` does; it is counted where it lives.

    Args:
        frame: pandas, polars, pyarrow, DuckDB, Ibis or Spark.
        names: The columns.

    Returns:
        A guess for each.

    Raises:
        ValueError: The frame has no row.
        TypeError: A column holds lists or the like.
    """
    return {profile.name: guess_of(profile) for profile in profiles_of(frame, names)}


def guess_of(profile: Profile) -> Guess:
    """The guess for a column that was counted."""
    looks = _Looks.of(profile)
    role, reason = _role(profile, words_of(str(profile.name)), looks)
    danger = None
    if role in ("identifier", "person"):
        danger = reason
    elif profile.is_nearly_unique:
        danger = f"it is nearly unique: {profile.n_distinct:,} values in {profile.n_rows - profile.n_missing:,} rows"
    elif profile.n_distinct > 1 and looks.are_dates:
        danger = "it holds dates, which others may know of a person"
    elif profile.n_distinct > 1 and looks.are_places:
        danger = "it holds coordinates, which are places of a person"
    return Guess(role, reason, danger)


def profiles_of(frame: Any, names: Sequence[Name]) -> list[Profile]:
    """Count the values of columns of a frame where it lives; of too many values a sample is taken."""
    native, aliases = aliased(frame, names)
    (n_rows,) = totals(nw.from_native(native), n=nw.len())
    if not n_rows:
        raise ValueError("the table must have at least one row, got none")
    made = []
    for name, alias in zip(names, aliases, strict=True):
        n_missing, values, counts = counted_values(native, alias, MOST_VALUES)
        n_distinct = len(values)
        if n_distinct > MOST_VALUES:
            n_missing, n_distinct, values = sampled_values(native, alias, _SAMPLE)
            counts = []
        elif n_missing:
            values, counts = [*values, None], [*counts, n_missing]
        made.append(Profile(name, n_rows, n_distinct, n_missing, values, counts))
    return made


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


# Texts of so many signs or words on average are prose.
_PROSE, _WORDY = 40, 4
# So many of the values are looked at, and this share of them must look alike.
_SAMPLE = 2000
_ALIKE = 0.9
# So many signs of a text are read for words and telephone numbers.
_LOOKED_AT = 1000
# Where so many texts hold one, a column holds the telephone numbers or e-mail addresses of persons.
_WITHIN = 0.05
_MAIL = r"[^@\s]+@[^@\s][^@\s.]*\.[^@\s]+"
_DAY = r"(?<![\d./-])\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})(?![\d./-])"
# With the sign of a country, the 0 before an area or brackets around it, or in the groups of a country. Numbers, dates
# and the nine digits of a ZIP code are none.
_PHONE = (
    rf"(?!.*{_DAY})(?![+-]?\d+\.\d+$)(?!\d{{5}}-\d{{4}}$)(?=(?:\D*\d){{7,15}}\D*$)"
    r"(?:(?:\+|00)[1-9][\d ()/.-]{6,20}|\(?0[\d ()/.-]{7,18}|\(\d{2,5}\)[\d /.-]{5,14}"
    r"|(?:1[-. ])?\d{3}[-. ]\d{3}[-. ]\d{4}|\d{3}(?: \d\d){3}|\d{3} \d{3} \d{3}|\d{5} \d{5})"
)
_PATTERNS = {
    kind: re.compile(pattern, re.IGNORECASE)
    for kind, pattern in {
        "e-mail addresses": _MAIL,
        "addresses of pages": r"https?://\S+",
        "addresses of machines": r"\d{1,3}(?:\.\d{1,3}){3}|(?:[0-9a-f]{1,4}:){5,7}[0-9a-f]{1,4}",
        "social security numbers": r"\d{3}-\d{2}-\d{4}",
        "IBANs": r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?",
        "phone numbers": _PHONE,
        "unique keys": r"\{?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?|[0-9a-f]{32,64}",
    }.items()
}
_PLACE = re.compile(r"(?:POINT ?)?\(?\s*-?\d{1,3}\.\d+[ ,;]+-?\d{1,3}\.\d+\s*\)?", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*", re.ASCII)
_WORD = re.compile(r"[^\W\d_]{2,}")
_CONTACT = re.compile(r"(?<![\w.])[+(]?\d[\d ()/.-]{6,20}\d(?![\w.])|\S{1,80}@\S{3,80}")


class _Looks(NamedTuple):
    """What the values of a column look like, all but a few of them."""

    numbers: list[float | int]
    pattern: str | None
    are_dates: bool
    are_places: bool
    are_prose: bool
    known: str | None

    @classmethod
    def of(cls, profile: Profile) -> _Looks:
        """Look at the values of a column."""
        values = [value for value in profile.values if value is not None]
        if len(values) > _SAMPLE:
            # Engines give values in any order.
            values = sorted(values, key=str)[:: len(values) // _SAMPLE]
        texts = [value.strip() for value in values if isinstance(value, str)]
        allowed = len(values) - ceil(_ALIKE * len(values))

        def alike(test: Callable[[Any], Any], among: Sequence[Any] = values) -> bool:
            others = len(values) - len(among)
            for value in among:
                others += not test(value)
                if others > allowed:
                    break
            return bool(among) and others <= allowed

        # A text without letters is no prose.
        n_words = sum(len(_WORD.findall(text[:_LOOKED_AT])) for text in texts)
        pattern = next((kind for kind, form in _PATTERNS.items() if alike(form.fullmatch, texts)), None)
        if pattern == "phone numbers" and alike(_DIGITS.fullmatch, texts):
            # Codes begin with 0, too.
            pattern = None
        if pattern is None and n_words > len(texts) and sum(map(_tells_contact, texts)) > _WITHIN * len(texts):
            pattern = "texts with phone numbers or e-mail addresses"
        numbers = [number for number in map(_number, values) if is_number(number)] if alike(_is_number) else []
        near = bool(numbers) and all(-180 <= number <= 180 for number in numbers)
        words = [text.casefold() for text in texts]
        known = next((kind for kind in _KNOWN if alike(_VOCABULARY[kind].__contains__, words)), None)
        return cls(
            numbers=numbers,
            pattern=pattern,
            are_dates=alike(looks_like_a_date),
            are_places=(near and not _PLACES.isdisjoint(words_of(str(profile.name)))) or alike(_PLACE.fullmatch, texts),
            are_prose=bool(texts) and (sum(map(len, texts)) >= _PROSE * len(values) or n_words >= _WORDY * len(values)),
            known=known if len(values) > 1 else None,
        )

    @property
    def are_whole(self) -> bool:
        """Whether all of them are whole numbers."""
        return bool(self.numbers) and all(is_whole(number) or number == number // 1 for number in self.numbers)


def _number(value: Any) -> Any:
    """Return the number that a value is or spells, also with a decimal comma, or the value."""
    return spelled(
        value.replace(",", ".") if isinstance(value, str) and _DECIMAL_COMMA.fullmatch(value) else value, int
    )


def _is_number(value: Any) -> bool:
    return is_number(_number(value))


def _tells_contact(text: str) -> bool:
    """Whether a text holds the telephone number or e-mail address of somebody."""
    found = (match.group().strip() for match in _CONTACT.finditer(text[:_LOOKED_AT]))
    return any("@" in one or _PATTERNS["phone numbers"].fullmatch(one) for one in found)


def _role(profile: Profile, words: list[str], looks: _Looks) -> tuple[str, str]:
    """The role of a column and why: values of one kind, then the name, then how often values repeat."""
    if profile.n_distinct == 0:
        return "drop", "it holds no value at all"
    if profile.n_distinct == 1 and not profile.n_missing and profile.n_rows > 1:
        return "drop", "it holds one value, which tells nothing"
    if looks.pattern is not None:
        return "identifier", f"it holds {looks.pattern}"
    if looks.are_prose and profile.n_rows >= TELLING and not _repeats(profile):
        return "identifier", "it holds long texts, which may name persons"
    return _by_name(profile, words, looks) or _by_values(profile, looks)


def _by_name(profile: Profile, words: list[str], looks: _Looks) -> tuple[str, str] | None:
    """What the name of a column says, or None."""
    if not words:
        return None
    whole = _VOCABULARY["whole"].get("".join(words))
    if whole == "identifier" and words[0] == "id" and not profile.is_nearly_unique and profile.n_rows >= TELLING:
        return "person", "the name says 'id', and values repeat: it tells whose row it is"
    if whole is not None:
        return whole, f"the name is {profile.name!r}, which {_MEANINGS[whole]}"
    said = {word: role for word in words if (role := _said_by(word)) is not None}
    # No number of anything has decimals.
    if not _is_count(words, looks) and (not looks.numbers or looks.are_whole):
        found = _by_number(profile, words, said) or _by_identifier(profile, words, said)
        if found is not None:
            return found
    few = profile.n_distinct <= 2 and profile.n_rows >= TELLING
    for word in reversed(words):
        role = said.get(word)
        if role == "sensitive" and looks.are_dates:
            break
        if role in ("quasi-identifier", "sensitive") and not (few and word in _TIMES):
            return role, f"the name says {word!r}, which {_MEANINGS[role]}"
    return None


@lru_cache(maxsize=4096)
def _said_by(word: str) -> str | None:
    """Return the role that a word speaks of."""
    if word in _VOCABULARY["joined"]:
        return _VOCABULARY["joined"][word] if _VOCABULARY["joined"][word] != "plain" else None
    said = {part: _VOCABULARY["joined"][part] for part in _joined(word)}
    said |= {part: role for part, role in _VOCABULARY["begins"].items() if word.startswith(part)}
    said |= {part: role for part, role in _VOCABULARY["ends"].items() if word.endswith(part)}
    said = {part: role for part, role in said.items() if role != "plain"}
    # What may name a person counts first, then the longest.
    part = max(said, key=lambda part: (said[part] == "identifier", len(part)), default=None)
    return None if part is None else said[part]


def _joined(word: str) -> tuple[str, ...]:
    """Part a word into known ones, as in "birthyear"; nothing where a part is none."""
    for end in range(len(word), 1, -1):
        if word[:end] in _VOCABULARY["joined"]:
            rest = word[end:]
            parts = () if rest in ("", *_INFLECTIONS) else _joined(rest)
            if parts or rest in ("", *_INFLECTIONS):
                return (word[:end], *parts)
    return ()


def _is_count(words: list[str], looks: _Looks) -> bool:
    """Whether a column says how many there are of something."""
    named = len(words) > 1 and (words[0] in _COUNTS or words[-1] in ("count", "cnt", "anzahl"))
    return named and looks.are_whole and max(looks.numbers) < 10_000


def _by_number(profile: Profile, words: list[str], said: dict[str, str]) -> tuple[str, str] | None:
    """What a name says that speaks of a number or a key: of a person, of anything else, or of a few codes."""
    ids = [word for word in words if word in _IDS or word.endswith(_ID_ENDS)]
    if not ids:
        return None
    person = next((word for word, role in said.items() if role == "person"), None)
    coded = bool(set(words) & _CODES)
    if person is not None and not coded:
        if profile.is_unique and (profile.is_nearly_unique or profile.n_rows < TELLING):
            return "identifier", f"the name says {person!r} and {ids[0]!r}, and every value is another one"
        return "person", f"the name says {person!r} and {ids[0]!r}, which tells whose row it is"
    if _repeats(profile) or (coded and not profile.is_nearly_unique):
        return None
    place = next((word for word in words if said.get(word) == "quasi-identifier"), None)
    if place in ("location", "place", "area", "region") and not profile.is_nearly_unique:
        return None
    return "identifier", f"the name says {ids[0]!r}: a number of a person or of something that is theirs"


def _repeats(profile: Profile) -> bool:
    """Whether a value stands in five rows on average, as a code does and the number of a person hardly."""
    return profile.n_rows >= TELLING and profile.n_rows - profile.n_missing >= 5 * profile.n_distinct


def _by_identifier(profile: Profile, words: list[str], said: dict[str, str]) -> tuple[str, str] | None:
    """What a name says that speaks of somebody's name or address, or of a person alone."""
    # Two values name nobody, such as whether there is a telephone.
    if profile.n_distinct <= 2 and profile.n_rows >= TELLING:
        return None
    named = next((word for word in words if said.get(word) == "identifier"), None)
    described = (
        words[-1] in _DESCRIBED
        or said.get(words[-1]) in ("quasi-identifier", "sensitive")
        or (named == "name" and bool(_NAMED_PLACES.intersection(words)))
    )
    if named is not None and not (described and _repeats(profile)):
        return "identifier", f"the name says {named!r}, which {_MEANINGS['identifier']}"
    if len(words) == 1 and said.get(words[0]) == "person":
        if profile.is_unique:
            return "identifier", f"the name says {words[0]!r}, and every value is another one"
        return "person", f"the name says {words[0]!r}, which {_MEANINGS['person']}"
    return None


def _by_values(profile: Profile, looks: _Looks) -> tuple[str, str]:
    """What the values of a column say."""
    if looks.are_dates:
        return "quasi-identifier", "it holds dates, which others may know of a person"
    if looks.are_places:
        return "quasi-identifier", "it holds coordinates, which are places of a person"
    if looks.known is not None:
        return "quasi-identifier", f"it holds {looks.known}, which others may know of a person"
    if profile.is_unique and (not looks.numbers or looks.are_whole):
        return "identifier", "every value is another one"
    if profile.is_nearly_unique:
        if not looks.numbers and profile.values:
            return "identifier", "nearly every value is another one"
        return "other", "nearly every value is another number: a measurement, or a number of a person"
    return "other", "nothing tells what it is"
