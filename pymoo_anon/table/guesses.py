"""Guesses of the roles of columns, and of redundant columns.

A guess errs on the side of the persons: a column that may name somebody is not released until a person says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from decimal import Decimal
from math import ceil, log
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd

from pymoo_anon.table.domain_values import Name, is_missing, read_numbers, tallied
from pymoo_anon.table.draft_levels import WORDS, looks_like_a_date, role_of_lettered, role_of_word, split_words
from pymoo_anon.table.frames import (
    COUNT,
    aliased,
    as_text,
    combinations_of,
    factorized,
    fetched,
    missing,
    sampled_values,
    totals,
)

#: Columns with more distinct values are sampled, for nobody edits a hierarchy of so many rows.
MOST_VALUES = 100_000
#: In fewer rows it is unknown whether values repeat.
TELLING = 20


_MEANINGS = {
    "identifier": "names a person",
    "person": "tells whose row it is",
    "quasi-identifier": "others may know of a person",
    "sensitive": "nobody should learn of a person",
}
# Persons weigh so much, also newborns in grams. Weights of rows in a sample are mostly smaller or larger.
_PERSON_WEIGHTS = range(10, 10_000)
# Fewer whole numbers that repeat are counts or codes, and name nobody.
_FEW_NUMBERS = 20
_RECENT_YEARS = range(1900, 2036)

# A role and its reason, or nothing.
_Decided: TypeAlias = "tuple[str, str] | None"


class Guess(NamedTuple):
    """Guessed role of a column.

    Attributes:
        role: "identifier", "person", "quasi-identifier", "sensitive", "drop" (it tells nothing), or "other"
            (not decided).
        reason: Why, in one line without any value of the column.
        danger: Why the column must not be released as it stands, or None.
    """

    role: str
    reason: str
    danger: str | None


class Profile(NamedTuple):
    """Distinct values of a column with their counts.

    None among them stands for missing values. Of too many values it holds a sample, without counts.
    """

    name: Name
    n_rows: int
    n_distinct: int
    n_missing: int
    values: Sequence[Any]
    counts: Sequence[int]

    @property
    def is_unique(self) -> bool:
        """True if no value stands in two rows."""
        return self.n_distinct == self.n_rows - self.n_missing and self.n_distinct > 1

    @property
    def is_nearly_unique(self) -> bool:
        """True if values average fewer than two rows."""
        n_present = self.n_rows - self.n_missing
        return n_present >= TELLING and 2 * self.n_distinct > n_present

    @property
    def is_sampled(self) -> bool:
        """True if its values are a sample."""
        return len(self.counts) < len(self.values)

    def without(self, texts: Collection[str]) -> Profile:
        """Return the profile with some texts counted as missing."""
        held = [(value, n) for value, n in zip(self.values, self.counts, strict=True) if value not in (None, *texts)]
        n_missing = self.n_rows - sum(n for _, n in held)
        if n_missing == self.n_missing:
            return self
        values, counts = [value for value, _ in held] + [None], [n for _, n in held] + [n_missing]
        return self._replace(n_distinct=len(held), n_missing=n_missing, values=values, counts=counts)

    def __str__(self) -> str:
        """Spell the counts, without any value."""
        distinct = f"{self.n_distinct:,} distinct value{'s' * (self.n_distinct != 1)}"
        return distinct + (f", {self.n_missing:,} missing" if self.n_missing else "")


def guess_role(name: Name, values: Iterable[Any]) -> Guess:
    """Guess the role of a column.

    The values, one for each row, are a series of pandas, polars or narwhals, or any other iterable.

    Raises:
        TypeError: A value is a list or the like.

    >>> guess_role("contact", ["ann@example.org", "bob@example.org", None])
    Guess(role='identifier', reason='it holds e-mail addresses', danger='it holds e-mail addresses')
    >>> guess_role("sex", ["F", "M", "M"]).role
    'quasi-identifier'
    """
    listed = values.to_list() if hasattr(values, "to_list") else list(values)
    for value in listed:
        if not isinstance(value, Hashable):
            raise TypeError(f"values must be single ones, such as text and numbers, got {type(value).__name__}")
    held = tallied(listed, [1] * len(listed))
    _, n_missing = held.get(None, (None, 0))
    own, counts = [value for value, _ in held.values()], [count for _, count in held.values()]
    return guess_of(Profile(name, len(listed), len(held) - (None in held), n_missing, own, counts))


def guesses_of(frame: Any, names: Sequence[Name]) -> dict[Name, Guess]:
    """Guess the roles of columns of a frame, as `guess_role` does.

    The engine of the frame counts the values.

    Raises:
        ValueError: The frame has no row.
        TypeError: A column holds lists or the like.
    """
    return {profile.name: guess_of(profile) for profile in profiles_of(frame, names)}


def guess_of(profile: Profile) -> Guess:
    """Guess the role of a counted column."""
    looks = _Looks.of(profile)
    role, reason = _role(profile, split_words(str(profile.name)), looks)
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


def kind_of_values(profile: Profile) -> str:
    """Return the kind of nearly all values of a column: "numbers", "dates" or "texts"."""
    looks = _Looks.of(profile)
    return "dates" if looks.are_dates else "numbers" if looks.numbers else "texts"


def profiles_of(frame: Any, names: Sequence[Name]) -> list[Profile]:
    """Count the values of columns."""
    (n_rows,) = totals(nw.from_native(aliased(frame, names)[0]), n=nw.len())
    if not n_rows:
        raise ValueError("the table must have at least one row, got none")
    return [_profile_of(frame, name, n_rows) for name in names]


def _profile_of(frame: Any, name: Name, n_rows: int) -> Profile:
    found = combinations_of(frame, [name], MOST_VALUES + 2)
    values, counts = found.columns[name].astype(object), found.weights
    absent = values.isna().to_numpy()
    n_missing, n_distinct = int(counts[absent].sum()), int((~absent).sum())
    if n_distinct > MOST_VALUES:
        n_missing, n_distinct, sample = sampled_values(frame, name, _SAMPLED)
        return Profile(name, n_rows, n_distinct, n_missing, sample, [])
    own, weights = values[~absent].tolist(), counts[~absent].tolist()
    if n_missing:
        own, weights = [*own, None], [*weights, n_missing]
    return Profile(name, n_rows, n_distinct, n_missing, own, weights)


# Texts with at least this many characters or words on average are prose.
_PROSE, _WORDY = 40, 4
# This many values are tested, and this share of them must pass.
_SAMPLED = 2000
_ALIKE_SHARE = 0.9
# This many characters of a text are searched for words and telephone numbers.
_LOOKED_AT = 1000
# From this share of texts on, a column holds telephone numbers or e-mail addresses of persons.
_WITHIN = 0.05
_MAIL = r"[^@\s]+@[^@\s][^@\s.]*\.[^@\s]+"
_DAY = r"(?<![\d./-])\d{1,2}([./-])\d{1,2}\1(?:\d{4}|\d{2})(?![\d./-])"
# An international prefix, an area code after 0 or in brackets, or the grouping of a country. Numbers, dates and ZIP+4
# codes do not match.
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
_ICD = re.compile(r"[A-Z]\d[\dA-B](?:\.[\dA-Z]{1,4})?")
_ONLY_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_CONTACT = re.compile(r"(?<![\w.])[+(]?\d[\d ()/.-]{6,20}\d(?![\w.])|\S{1,80}@\S{3,80}")


class _Looks(NamedTuple):
    """Forms that nearly all values of a column have."""

    numbers: list[Decimal]
    pattern: str | None
    are_dates: bool
    are_places: bool
    are_names: bool
    are_prose: bool
    are_diagnoses: bool
    known: str | None

    @classmethod
    def of(cls, profile: Profile) -> _Looks:
        values = [value for value in profile.values if value is not None]
        if len(values) > _SAMPLED:
            # Engines return values in any order.
            values = sorted(values, key=str)[:: len(values) // _SAMPLED]
        texts = [value.strip() for value in values if isinstance(value, str)]
        allowed = len(values) - ceil(_ALIKE_SHARE * len(values))

        def alike(test: Callable[[Any], Any], among: Sequence[Any] = values) -> bool:
            others = len(values) - len(among)
            for value in among:
                others += not test(value)
                if others > allowed:
                    break
            return bool(among) and others <= allowed

        # Prose has letters.
        n_words = sum(len(_WORD.findall(text[:_LOOKED_AT])) for text in texts)
        pattern = next((kind for kind, form in _PATTERNS.items() if alike(form.fullmatch, texts)), None)
        if pattern == "phone numbers" and alike(_ONLY_DIGITS.fullmatch, texts):
            # Codes may begin with 0, too.
            pattern = None
        if pattern is None and n_words > len(texts) and sum(map(_tells_contact, texts)) > _WITHIN * len(texts):
            pattern = "texts with phone numbers or e-mail addresses"
        numbers = [number for number in read_numbers(values, [1] * len(values))[0] if number is not None]
        numbers = numbers if bool(values) and len(values) - len(numbers) <= allowed else []
        near = bool(numbers) and all(-180 <= number <= 180 for number in numbers)
        words = [text.casefold() for text in texts]
        known = next((kind for kind in WORDS["kinds"] if alike(WORDS[kind].__contains__, words)), None)
        return cls(
            numbers=numbers,
            pattern=pattern,
            are_dates=alike(looks_like_a_date),
            are_places=(near and not WORDS["places"].keys().isdisjoint(split_words(str(profile.name))))
            or alike(_PLACE.fullmatch, texts),
            are_names=alike(_is_name, texts),
            are_prose=bool(texts) and (sum(map(len, texts)) >= _PROSE * len(values) or n_words >= _WORDY * len(values)),
            are_diagnoses=alike(_ICD.fullmatch, texts) and 2 * sum("." in text for text in texts) > len(texts),
            known=known if len(values) > 1 else None,
        )

    @property
    def are_whole(self) -> bool:
        return bool(self.numbers) and all(number == number.to_integral_value() for number in self.numbers)


def _is_name(text: str) -> bool:
    """Tell two to four words with capitals."""
    words = text[:_LOOKED_AT].split()
    return 2 <= len(words) <= 4 and all(word[0].isupper() for word in words) and not any(map(str.isdigit, text))


def _tells_contact(text: str) -> bool:
    found = (match.group().strip() for match in _CONTACT.finditer(text[:_LOOKED_AT]))
    return any("@" in one or _PATTERNS["phone numbers"].fullmatch(one) for one in found)


def _role(profile: Profile, words: list[str], looks: _Looks) -> tuple[str, str]:
    """Return the role of a column and its reason.

    Values of one form decide first, then the name, then all else about the values.
    """
    if profile.n_distinct == 0:
        return "drop", "it holds no value at all"
    if profile.n_distinct == 1 and not profile.n_missing and profile.n_rows > 1:
        return "drop", "it holds one value, which tells nothing"
    if looks.pattern is not None:
        return "identifier", f"it holds {looks.pattern}"
    if looks.are_prose and profile.n_rows >= TELLING and not _repeats(profile):
        return "identifier", "it holds long texts, which may name persons"
    return _role_by_name(profile, words, looks) or _role_by_values(profile, looks)


def _role_by_name(profile: Profile, words: list[str], looks: _Looks) -> _Decided:
    if not words:
        return None
    whole = WORDS["whole"].get("".join(words))
    if whole == "identifier" and words[0] == "id" and not profile.is_nearly_unique and profile.n_rows >= TELLING:
        # Two values tell no persons apart.
        if _are_two(profile):
            return None
        return "person", "the name says 'id', and values repeat: it tells whose row it is"
    if whole is not None and not (whole == "identifier" and _name_nobody(profile, looks)):
        return whole, f"the name is {profile.name!r}, which {_MEANINGS[whole]}"
    said = {word: role for word in words if (role := role_of_word(word)) is not None}
    # Numbers of persons and things have no decimals.
    if not _is_count(words, looks) and (not looks.numbers or looks.are_whole):
        found = _role_by_number(profile, words, said, looks) or _role_by_identifier(profile, words, said, looks)
        if found is not None:
            return found
    if _repeats(profile):
        lettered = {word: role_of_lettered(word) for word in words}
        said |= {word: role for word, role in lettered.items() if role in ("quasi-identifier", "sensitive")}
    return _role_by_attribute(profile, words, said, looks)


def _role_by_attribute(profile: Profile, words: list[str], said: dict[str, str], looks: _Looks) -> _Decided:
    exits, manners = ([word for word in words if word in WORDS[name]] for name in ("exits", "manners"))
    if exits and manners:
        return "sensitive", f"the name says {exits[0]!r} and {manners[0]!r}, which {_MEANINGS['sensitive']}"
    relative = next((word for word in words if word in WORDS["relatives"]), None)
    if relative is not None and looks.are_names and profile.n_distinct >= TELLING:
        return "identifier", f"the name says {relative!r}, and it holds names"
    # The purpose of a loan or of a visit tells little about a person.
    if words[-1] in WORDS["purposes"]:
        return None
    few = _are_two(profile)
    counts = _is_count(words, looks) and words[0] != "total"
    of_rows = bool(looks.numbers) and ceil(max(looks.numbers)) not in _PERSON_WEIGHTS
    pairs = list(zip(words, [*words[1:], ""], strict=True))
    # The noun comes last, and in "ingresos del hogar" first.
    for word, after in pairs if not WORDS["of"].keys().isdisjoint(words) else reversed(pairs):
        role = said.get(word)
        if role == "sensitive" and looks.are_dates:
            break
        idle = (
            (word in WORDS["times"] and (few or after in WORDS["units"]))
            or (word in WORDS["weak"] and "sensitive" in said.values())
            or (word in WORDS["weights"] and of_rows)
            or (role == "quasi-identifier" and counts and not word.startswith(tuple(WORDS["family"])))
        )
        if role in ("quasi-identifier", "sensitive") and not idle:
            return role, f"the name says {word!r}, which {_MEANINGS[role]}"
    return None


def _is_count(words: list[str], looks: _Looks) -> bool:
    named = len(words) > 1 and (words[0] in WORDS["counts"] or words[-1] in ("count", "cnt", "anzahl"))
    return named and looks.are_whole and max(looks.numbers) < 10_000


def _role_by_number(profile: Profile, words: list[str], said: dict[str, str], looks: _Looks) -> _Decided:
    ends = tuple(WORDS["number ends"])
    ids = [word for word in words if word in WORDS["numbers"] or word.endswith(ends) or _ends_in_id(word)]
    if not ids:
        return None
    person = next((word for word in words if said.get(word) == "person" or word in WORDS["short persons"]), None)
    coded = not WORDS["codes"].keys().isdisjoint(words)
    if person is not None and not coded and not _name_nobody(profile, looks):
        if profile.is_unique and (profile.is_nearly_unique or profile.n_rows < TELLING):
            return "identifier", f"the name says {person!r} and {ids[0]!r}, and every value is another one"
        return "person", f"the name says {person!r} and {ids[0]!r}, which tells whose row it is"
    rooms = {room + number for room in WORDS["rooms"] for number in ("", *WORDS["number ends"])}
    if _repeats(profile) or (coded and not profile.is_nearly_unique) or not rooms.isdisjoint(words):
        return None
    place = next((word for word in words if said.get(word) == "quasi-identifier"), None)
    if place in ("location", "place", "area", "region") and not profile.is_nearly_unique:
        return None
    return "identifier", f"the name says {ids[0]!r}: a number of a person or of something that is theirs"


def _ends_in_id(word: str) -> bool:
    return word.endswith("id") and role_of_word(word[:-2]) is not None


def _repeats(profile: Profile) -> bool:
    return profile.n_rows >= TELLING and profile.n_rows - profile.n_missing >= 5 * profile.n_distinct


def _are_two(profile: Profile) -> bool:
    return profile.n_distinct <= 2 and profile.n_rows >= TELLING


def _name_nobody(profile: Profile, looks: _Looks) -> bool:
    """Return whether values are too few for names.

    Two say, for example, whether there is a telephone.
    """
    return _are_two(profile) or (looks.are_whole and profile.n_distinct <= _FEW_NUMBERS and _repeats(profile))


def _role_by_identifier(profile: Profile, words: list[str], said: dict[str, str], looks: _Looks) -> _Decided:
    if _name_nobody(profile, looks):
        return None
    named = next((word for word in words if said.get(word) == "identifier"), None)
    described = (
        words[-1] in WORDS["described"]
        or said.get(words[-1]) in ("quasi-identifier", "sensitive")
        or (named == "name" and not WORDS["named places"].keys().isdisjoint(words))
    )
    if named is not None and not (described and _repeats(profile)):
        return "identifier", f"the name says {named!r}, which {_MEANINGS['identifier']}"
    if len(words) == 1 and said.get(words[0]) == "person" and not words[0].endswith(tuple(WORDS["described"])):
        role = "identifier" if profile.is_unique or looks.are_names else "person"
        return role, f"the name says {words[0]!r}, which {_MEANINGS[role]}"
    return None


def _role_by_values(profile: Profile, looks: _Looks) -> tuple[str, str]:
    if looks.are_dates:
        return "quasi-identifier", "it holds dates, which others may know of a person"
    if looks.are_places:
        return "quasi-identifier", "it holds coordinates, which are places of a person"
    if looks.known is not None:
        role = WORDS["kinds"][looks.known]
        return role, f"it holds {looks.known}, which {_MEANINGS[role]}"
    if looks.are_whole and profile.n_distinct > 2 and all(number in _RECENT_YEARS for number in looks.numbers):
        return "quasi-identifier", "it holds years, which others may know of a person"
    if looks.are_diagnoses:
        return "sensitive", "it holds codes of the ICD, which nobody should learn of a person"
    if profile.is_unique and (not looks.numbers or looks.are_whole):
        return "identifier", "every value is another one"
    if profile.is_nearly_unique:
        if not looks.numbers and profile.values:
            return "identifier", "nearly every value is another one"
        return "other", "nearly every value is another number: a measurement, or a number of a person"
    return "other", "nothing tells what it is"


# --- redundant columns ------------------------------------------------------------------------------------------------

# Columns are compared in some rows first, in fewer if columns are many.
_MOST_COMPARED_ROWS, _FEWEST_ROWS, _COMPARED = 2000, 64, 4 * 10**8
# A dependency counts where chance makes it less often than once in a billion tables.
_SURE = log(1e9)
# Of fewer columns most may hold nothing in rows of persons, too.
_FEWEST_COMPARED, _MOST_COMPARED = 4, 200
# A larger share of the rows is no accident.
_RARE = 0.01


def equal_columns(frame: Any, profiles: Sequence[Profile]) -> dict[Name, Name]:
    """Map columns to an earlier equal one."""
    alike: dict[Any, list[Name]] = {}
    for own in profiles:
        if own.n_distinct > 1:
            held = frozenset(zip(map(str, own.values), own.counts or own.values, strict=True))
            alike.setdefault((own.n_distinct, own.n_missing, held), []).append(own.name)
    pairs = [(name, names[0]) for names in alike.values() for name in names[1:]]
    if not pairs:
        return {}
    native, aliases = aliased(frame, [name for pair in pairs for name in pair])
    columns = zip(map(as_text, aliases[::2]), map(as_text, aliases[1::2]), strict=True)
    same = [
        nw.when((a == b) | (a.is_null() & b.is_null())).then(nw.lit(1)).otherwise(nw.lit(0)).sum() for a, b in columns
    ]
    counts = totals(nw.from_native(native), **{f"pair {i}": own for i, own in enumerate(same)})
    return {a: b for (a, b), n in zip(pairs, counts, strict=True) if n == profiles[0].n_rows}


def nearly_empty_rows(frame: Any, profiles: Sequence[Profile]) -> tuple[int, list[Any]]:
    """Count the rows in which most columns hold nothing, and return the values of the fullest one.

    They are mostly totals, notes and blank lines. Where they are not rare, the count is 0. Of many columns the first
    ones decide.
    """
    compared = profiles[:_MOST_COMPARED]
    # Without gaps in most columns there is no such row, and none is read.
    if len(compared) < _FEWEST_COMPARED or 2 * sum(own.n_missing > 0 for own in compared) <= len(compared):
        return 0, []
    native, aliases = aliased(frame, [own.name for own in compared])
    table: Any = nw.from_native(native)
    n_gaps = nw.sum_horizontal(*(missing(table, alias).cast(nw.Int64) for alias in aliases))
    found = table.with_columns(n_gaps.alias(COUNT)).filter(nw.col(COUNT) * 2 > len(aliases))
    (n,) = totals(found, n=nw.len())
    if not 0 < n <= _RARE * compared[0].n_rows:
        return 0, []
    fullest = fetched(found.sort(COUNT).head(1)).select(aliases).row(0)
    return n, [value for value in fullest if not is_missing(value)]


def decided_columns(
    frame: Any, profiles: Sequence[Profile], asked: Sequence[Name], person: Name | None = None
) -> dict[Name, Name]:
    """Map columns to another one that decides them.

    The day of birth decides the age, for example. Only columns of `asked` are compared. A column that decides more than
    half of all columns identifies persons and does not count. Rows of one person are no evidence, nor are so few rows
    that they could agree by chance.
    """
    own = {profile.name: profile for profile in profiles if profile.n_distinct > 1 and not profile.is_sampled}
    names = sorted((name for name in asked if name in own), key=lambda name: -own[name].n_distinct)
    found: dict[Name, Name] = {}
    if len(names) < 2:
        return found
    wanted = list(dict.fromkeys([*own, names[0] if person is None else person]))
    native, aliases = aliased(frame, wanted)
    table: Any = nw.from_native(native)
    alias = dict(zip(wanted, aliases, strict=True))
    some = _first_codes(table)
    for place, name in enumerate(names[:-1]):
        first = np.zeros(len(some), dtype=np.int64)
        codes = some[:, wanted.index(name)]
        first[codes] = np.arange(len(codes))
        same = (some == some[first[codes]]).all(axis=0)
        likely = [
            other for other, is_same in zip(wanted, same, strict=True) if is_same and other != name and other in own
        ]
        if name in found or not set(likely) & {*names[place + 1 :]}:
            continue
        # Count rows of persons beyond the first of each value.
        persons = table if person is None else table.select(alias[name], alias[person]).unique()
        n_tied = totals(persons, n=nw.len())[0] - own[name].n_distinct - (own[name].n_missing > 0)
        telling = {other for other, profile in own.items() if n_tied * _surprise(profile) > _SURE} - {name}
        tested = [alias[other] for other in likely if other in telling]
        if not tested:
            continue
        groups = table.group_by([alias[name]], drop_null_keys=False).agg(nw.col(*tested).n_unique())
        most = fetched(groups.select(nw.col(*tested).max())).rows(named=True)[0]
        decided = [other for other in likely if most.get(alias[other]) == 1]
        if 2 * len(decided) <= len(telling):
            found |= {other: name for other in decided if other in names[place + 1 :] and other not in found}
    return found


def _surprise(profile: Profile) -> float:
    """Return minus the log probability that two rows agree."""
    shares = np.array(profile.counts) / profile.n_rows
    return -log(float((shares**2).sum()))


def _first_codes(table: Any) -> Any:
    names = table.collect_schema().names()
    head = fetched(table.head(int(np.clip(_COMPARED / len(names) ** 2, _FEWEST_ROWS, _MOST_COMPARED_ROWS))))
    columns = [factorized(pd.Series(head[name].to_list(), dtype=object))[0] for name in names]
    return np.column_stack([np.unique(codes, return_inverse=True)[1] for codes in columns])
