"""Guesses of the roles of columns, and of redundant columns.

A guess errs on the side of the persons: a column that may name somebody is not released until a person says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log
from typing import Any, NamedTuple, TypeAlias

import narwhals as nw
import numpy as np
import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.table import frames
from pymoo_anon.table.domain_values import Name, is_missing, python_values, read_numbers, tallied
from pymoo_anon.table.draft_levels import WORDS, looks_like_a_date, role_of_lettered, role_of_word, split_words
from pymoo_anon.typing import Ints

#: Columns with more distinct values are sampled, for nobody edits a hierarchy of so many rows.
MOST_VALUES = 100_000
#: More whole numbers or texts than these may name persons or groups, and more numbers with decimals are measurements.
MOST_CODES = 50
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


@dataclass(frozen=True, eq=False)
class Profile:
    """Distinct values of a column with their counts, and its guess.

    None among them stands for missing values. Of too many values it holds a sample, without counts.
    """

    name: Name
    n_rows: int
    n_distinct: int
    n_missing: int
    values: Sequence[Any]
    counts: Sequence[int]

    @property
    def n_present(self) -> int:
        """Number of rows with a value."""
        return self.n_rows - self.n_missing

    @property
    def is_unique(self) -> bool:
        """True if no value stands in two rows."""
        return self.n_distinct == self.n_present and self.n_distinct > 1

    @property
    def is_nearly_unique(self) -> bool:
        """True if values average fewer than two rows."""
        return self.n_present >= TELLING and 2 * self.n_distinct > self.n_present

    @property
    def repeats(self) -> bool:
        """True if values average at least five rows."""
        return self.n_rows >= TELLING and self.n_present >= 5 * self.n_distinct

    @property
    def is_binary(self) -> bool:
        """True if there are at most two values."""
        return self.n_distinct <= 2 and self.n_rows >= TELLING

    @property
    def is_measured(self) -> bool:
        """True if it has many values, which are numbers with decimals."""
        return self.n_distinct > MOST_CODES and bool(self._forms.numbers) and not self._forms.are_whole

    @property
    def is_sampled(self) -> bool:
        """True if its values are a sample."""
        return len(self.counts) < len(self.values)

    @classmethod
    def of(cls, name: Name, values: Iterable[Any], counts: Iterable[int]) -> Profile:
        """Build a profile of values with their numbers of rows."""
        held = tallied(values, counts)
        own, rows = zip(*held.values(), strict=True) if held else ((), ())
        return cls(name, sum(rows), len(held) - (None in held), held.get(None, (None, 0))[1], own, rows)

    @cached_property
    def _forms(self) -> _Forms:
        return _Forms(self)

    @cached_property
    def guess(self) -> Guess:
        """Guessed role of the column."""
        forms = self._forms
        role, reason = forms.role()
        danger = None
        if role in ("identifier", "person"):
            danger = reason
        elif self.is_nearly_unique:
            danger = f"it is nearly unique: {self.n_distinct:,} values in {self.n_present:,} rows"
        elif self.n_distinct > 1 and forms.are_dates:
            danger = "it holds dates, which others may know of a person"
        elif self.n_distinct > 1 and forms.are_places:
            danger = "it holds coordinates, which are places of a person"
        return Guess(role, reason, danger)

    @property
    def kind(self) -> str:
        """Kind of nearly all values: "numbers", "dates" or "texts"."""
        return "dates" if self._forms.are_dates else "numbers" if self._forms.numbers else "texts"

    def without(self, texts: Collection[str]) -> Profile:
        """Return the profile with some texts counted as missing."""
        if not {*texts}.intersection(self.values):
            return self
        return Profile.of(self.name, [None if value in texts else value for value in self.values], self.counts)

    def __str__(self) -> str:
        """Spell the counts, without any value."""
        distinct = f"{self.n_distinct:,} distinct value{'s' * (self.n_distinct != 1)}"
        return distinct + (f", {self.n_missing:,} missing" if self.n_missing else "")


def guess_role(name: Name, values: Iterable[Any]) -> Guess:
    """Guess the role of a column.

    The values, one for each row, are a column of pandas, polars, pyarrow or narwhals, or any other iterable.

    Raises:
        TypeError: A value is a list or the like.

    >>> guess_role("contact", ["ann@example.org", "bob@example.org", None])
    Guess(role='identifier', reason='it holds e-mail addresses', danger='it holds e-mail addresses')
    >>> guess_role("sex", ["F", "M", "M"]).role
    'quasi-identifier'
    """
    listed = python_values(values)
    for value in listed:
        if not isinstance(value, Hashable):
            raise TypeError(f"values must be single ones, such as text and numbers, got {type(value).__name__}")
    return Profile.of(name, listed, [1] * len(listed)).guess


def guesses_of(frame: Any, names: Sequence[Name]) -> dict[Name, Guess]:
    """Guess the roles of columns of a frame, as `guess_role` does.

    The engine of the frame counts the values.

    Raises:
        ValueError: The frame has no row.
        TypeError: A column holds lists or the like.
    """
    check_single_values(frame, names)
    return {profile.name: profile.guess for profile in profiles_of(frame, names)}


def check_single_values(frame: Any, names: Sequence[Name]) -> None:
    """Raise TypeError for columns of lists or objects."""
    dtypes = frames.aliased(frame, names)[0].collect_schema().dtypes()
    if nested := [name for name, dtype in zip(names, dtypes, strict=True) if dtype.is_nested()]:
        raise TypeError(f"columns must hold single values, got lists or objects in {examples(nested)}; leave them out")


def profiles_of(frame: Any, names: Sequence[Name]) -> list[Profile]:
    """Count the values of columns."""
    (n_rows,) = frames.totals(frames.aliased(frame, names)[0], n=nw.len())
    if not n_rows:
        raise ValueError("the table must have at least one row, got none")
    return [_profile_of(frame, name, n_rows) for name in names]


def _profile_of(frame: Any, name: Name, n_rows: int) -> Profile:
    found = frames.combinations_of(frame, [name], MOST_VALUES + 2)
    values, counts = found.columns[name].astype(object), found.weights
    absent = values.isna().to_numpy()
    n_missing, n_distinct = int(counts[absent].sum()), int((~absent).sum())
    if n_distinct > MOST_VALUES:
        n_missing, n_distinct, sample = frames.sampled_values(frame, name, _SAMPLED)
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


#: A role and its reason, or None where a rule does not apply.
_Found: TypeAlias = tuple[str, str] | None


class _Forms:
    """Profile of a column, words of its name, and forms of its values."""

    def __init__(self, profile: Profile) -> None:
        self.profile, self.words = profile, split_words(str(profile.name))
        self.said = {word: role for word in self.words if (role := role_of_word(word)) is not None}
        values = [value for value in profile.values if value is not None]
        if len(values) > _SAMPLED:
            # Engines return values in any order.
            values = sorted(values, key=str)[:: len(values) // _SAMPLED]
        texts = [value.strip() for value in values if isinstance(value, str)]
        allowed = len(values) - ceil(_ALIKE_SHARE * len(values))

        def alike(test: Callable[[Any], Any], among: Sequence[Any] = texts) -> bool:
            others = len(values) - len(among)
            for value in among:
                others += not test(value)
                if others > allowed:
                    break
            return bool(among) and others <= allowed

        # Prose has letters.
        n_words = sum(len(_WORD.findall(text[:_LOOKED_AT])) for text in texts)
        self.are_wordy = n_words > len(texts)
        self.are_prose = bool(texts) and (
            sum(map(len, texts)) >= _PROSE * len(values) or n_words >= _WORDY * len(values)
        )
        self.pattern = next((kind for kind, form in _PATTERNS.items() if alike(form.fullmatch)), None)
        if self.pattern == "phone numbers" and alike(_ONLY_DIGITS.fullmatch):
            # Codes may begin with 0, too.
            self.pattern = None
        if self.pattern is None and self.are_wordy and sum(map(_tells_contact, texts)) > _WITHIN * len(texts):
            self.pattern = "texts with phone numbers or e-mail addresses"
        numbers = [number for number in read_numbers(values, [1] * len(values))[0] if number is not None]
        self.numbers = numbers if bool(values) and len(values) - len(numbers) <= allowed else []
        self.are_whole = bool(self.numbers) and all(number == number.to_integral_value() for number in self.numbers)
        are_near = bool(self.numbers) and all(-180 <= number <= 180 for number in self.numbers)
        self.are_places = (are_near and bool(WORDS["places"].keys() & self.words)) or alike(_PLACE.fullmatch)
        self.are_dates = alike(looks_like_a_date, values)
        self.are_names = alike(_is_name)
        self.are_diagnoses = alike(_ICD.fullmatch) and 2 * sum("." in text for text in texts) > len(texts)
        words = [text.casefold() for text in texts]
        known = (kind for kind in WORDS["kinds"] if len(values) > 1 and alike(WORDS[kind].__contains__, words))
        self.known = next(known, None)

    def role(self) -> tuple[str, str]:
        """Return the role of the column and its reason.

        Values of one form decide first, then the name, then all else about the values.
        """
        profile = self.profile
        if profile.n_distinct == 0:
            return "drop", "it holds no value at all"
        if profile.n_distinct == 1 and not profile.n_missing and profile.n_rows > 1:
            return "drop", "it holds one value, which tells nothing"
        if self.pattern is not None:
            return "identifier", f"it holds {self.pattern}"
        if self.are_prose and profile.n_rows >= TELLING and not profile.repeats:
            return "identifier", "it holds long texts, which may name persons"
        role, reason = (self._by_name() if self.words else None) or self._by_values()
        if role == "sensitive" and profile.is_nearly_unique and self.are_wordy:
            return "other", f"{reason}, but nearly every value is another text, which may name somebody"
        return role, reason

    def _by_name(self) -> _Found:
        profile, whole = self.profile, WORDS["whole"].get("".join(self.words))
        if whole == "identifier":
            if self.words[0] == "id" and not profile.is_unique and profile.n_rows >= TELLING:
                told = "person", "the name says 'id', and values repeat: it tells whose row it is"
                return None if profile.is_binary else told
            if self._name_nobody():
                whole = None
        if whole is not None:
            return whole, f"the name is {profile.name!r}, which {_MEANINGS[whole]}"
        # Numbers of persons and things have no decimals.
        if not self._is_count() and (not self.numbers or self.are_whole):
            found = self._by_number() or self._by_identifier()
            if found is not None:
                return found
        return self._by_attribute()

    def _by_attribute(self) -> _Found:
        words, said = self.words, self.said
        if self.profile.repeats:
            lettered = {word: role_of_lettered(word) for word in words}
            said = said | {word: role for word, role in lettered.items() if role in ("quasi-identifier", "sensitive")}
        exits, manners = ([word for word in words if word in WORDS[name]] for name in ("exits", "manners"))
        if exits and manners:
            return "sensitive", f"the name says {exits[0]!r} and {manners[0]!r}, which {_MEANINGS['sensitive']}"
        relative = next((word for word in words if word in WORDS["relatives"]), None)
        if relative is not None and self.are_names and self.profile.n_distinct >= TELLING:
            return "identifier", f"the name says {relative!r}, and it holds names"
        # The purpose of a loan or of a visit tells little about a person.
        if words[-1] in WORDS["purposes"]:
            return None
        counts = self._is_count() and words[0] != "total"
        of_rows = bool(self.numbers) and ceil(max(self.numbers)) not in _PERSON_WEIGHTS
        pairs = list(zip(words, [*words[1:], ""], strict=True))
        # The noun comes last, and in "ingresos del hogar" first.
        for word, after in pairs if WORDS["of"].keys() & words else reversed(pairs):
            role = said.get(word)
            if role == "sensitive" and self.are_dates:
                break
            idle = (
                (word in WORDS["times"] and (self.profile.is_binary or after in WORDS["units"]))
                or (word in WORDS["weak"] and "sensitive" in said.values())
                or (word in WORDS["weights"] and of_rows)
                or (role == "quasi-identifier" and counts and not word.startswith(tuple(WORDS["family"])))
            )
            if role in ("quasi-identifier", "sensitive") and not idle:
                return role, f"the name says {word!r}, which {_MEANINGS[role]}"
        return None

    def _by_number(self) -> _Found:
        profile, words, ends = self.profile, self.words, tuple(WORDS["number ends"])
        ids = [
            word
            for word in words
            if (word in WORDS["numbers"] or word.endswith(ends) or (word.endswith("id") and role_of_word(word[:-2])))
            and WORDS["joined"].get(word) != "quasi-identifier"
        ]
        if not ids:
            return None
        person = next(
            (word for word in words if self.said.get(word) == "person" or word in WORDS["short persons"]), None
        )
        is_coded = bool(WORDS["codes"].keys() & words)
        if person is not None and not is_coded and not self._name_nobody():
            if profile.is_unique and (profile.is_nearly_unique or profile.n_rows < TELLING):
                return "identifier", f"the name says {person!r} and {ids[0]!r}, and every value is another one"
            named = " and ".join(dict.fromkeys(map(repr, (person, ids[0]))))
            return "person", f"the name says {named}, which tells whose row it is"
        rooms = {room + number for room in WORDS["rooms"] for number in ("", *WORDS["number ends"])}
        if self._numbers_repeat() or (is_coded and not profile.is_nearly_unique) or rooms & {*words}:
            return None
        place = self._word_for("quasi-identifier")
        if place in ("location", "place", "area", "region") and not profile.is_nearly_unique:
            return None
        return "identifier", f"the name says {ids[0]!r}: a number of a person or of something that is theirs"

    def _by_identifier(self) -> _Found:
        if self._name_nobody():
            return None
        words, named = self.words, self._word_for("identifier")
        is_described = (
            words[-1] in WORDS["described"]
            or self.said.get(words[-1]) in ("quasi-identifier", "sensitive")
            or (named == "name" and bool(WORDS["named places"].keys() & words))
        )
        if named is not None and not (is_described and self.profile.repeats):
            return "identifier", f"the name says {named!r}, which {_MEANINGS['identifier']}"
        if len(words) == 1 and self._word_for("person") and not words[0].endswith(tuple(WORDS["described"])):
            role = "identifier" if self.profile.is_unique or self.are_names else "person"
            return role, f"the name says {words[0]!r}, which {_MEANINGS[role]}"
        return None

    def _by_values(self) -> tuple[str, str]:
        profile = self.profile
        if self.are_dates:
            return "quasi-identifier", "it holds dates, which others may know of a person"
        if self.are_places:
            return "quasi-identifier", "it holds coordinates, which are places of a person"
        if self.known is not None:
            role = WORDS["kinds"][self.known]
            return role, f"it holds {self.known}, which {_MEANINGS[role]}"
        if self.are_whole and profile.n_distinct > 2 and all(number in _RECENT_YEARS for number in self.numbers):
            return "quasi-identifier", "it holds years, which others may know of a person"
        if self.are_diagnoses:
            return "sensitive", "it holds codes of the ICD, which nobody should learn of a person"
        if profile.is_unique and (not self.numbers or self.are_whole):
            return "identifier", "every value is another one"
        if not profile.is_nearly_unique:
            return "other", "nothing tells what it is"
        if not self.numbers and profile.values:
            return "identifier", "nearly every value is another one"
        return "other", "nearly every value is another number: a measurement, or a number of a person"

    def _word_for(self, role: str) -> str | None:
        return next((word for word, own in self.said.items() if own == role), None)

    def _is_count(self) -> bool:
        named = self.words[0] in WORDS["counts"] or self.words[-1] in ("count", "cnt", "anzahl")
        return len(self.words) > 1 and named and self.are_whole and max(self.numbers) < 10_000

    def _numbers_repeat(self) -> bool:
        """Return whether numbers repeat, the most frequent one aside."""
        profile = self.profile
        others = profile.n_present - max(profile.counts, default=0)
        return profile.repeats and (profile.n_distinct <= _FEW_NUMBERS or others >= 5 * (profile.n_distinct - 1))

    def _name_nobody(self) -> bool:
        """Return whether values are too few for names. Two may say whether there is a telephone."""
        profile = self.profile
        return profile.is_binary or (self.are_whole and profile.n_distinct <= _FEW_NUMBERS and profile.repeats)


def _is_name(text: str) -> bool:
    """Tell two to four words with capitals."""
    words = text[:_LOOKED_AT].split()
    return 2 <= len(words) <= 4 and all(word[0].isupper() for word in words) and not any(map(str.isdigit, text))


def _tells_contact(text: str) -> bool:
    found = (match.group().strip() for match in _CONTACT.finditer(text[:_LOOKED_AT]))
    return any("@" in one or _PATTERNS["phone numbers"].fullmatch(one) for one in found)


# --- redundant columns ------------------------------------------------------------------------------------------------

# All columns are compared in so many rows, then those that agree in more, then in all.
_FEW_ROWS, _MORE_ROWS = 64, 2000
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
    table, aliases = frames.aliased(frame, [name for pair in pairs for name in pair])
    columns = zip(map(frames.as_text, aliases[::2]), map(frames.as_text, aliases[1::2]), strict=True)
    same = [
        nw.when((a == b) | (a.is_null() & b.is_null())).then(nw.lit(1)).otherwise(nw.lit(0)).sum() for a, b in columns
    ]
    counts = frames.totals(table, **{f"pair {i}": own for i, own in enumerate(same)})
    return {a: b for (a, b), n in zip(pairs, counts, strict=True) if n == profiles[0].n_rows}


def nearly_empty_rows(frame: Any, profiles: Sequence[Profile]) -> tuple[int, list[Any]]:
    """Count the rows that are nearly empty, and return the fullest one.

    They are mostly totals, notes and blank lines. Where they are not rare, the count is 0. Of many columns the first
    ones decide.
    """
    compared = profiles[:_MOST_COMPARED]
    # Without gaps in most columns there is no such row, and none is read.
    if len(compared) < _FEWEST_COMPARED or 2 * sum(own.n_missing > 0 for own in compared) <= len(compared):
        return 0, []
    table, aliases = frames.aliased(frame, [own.name for own in compared])
    n_gaps = nw.sum_horizontal(*(frames.missing(table, alias).cast(nw.Int64) for alias in aliases))
    found = table.with_columns(n_gaps.alias(frames.COUNT)).filter(nw.col(frames.COUNT) * 2 > len(aliases))
    (n,) = frames.totals(found, n=nw.len())
    if not 0 < n <= _RARE * compared[0].n_rows:
        return 0, []
    fullest = frames.fetched(found.sort(frames.COUNT).head(1)).select(aliases).row(0)
    return n, [value for value in fullest if not is_missing(value)]


def decided_columns(
    frame: Any,
    profiles: Sequence[Profile],
    asked: Sequence[Name],
    person: Name | None = None,
    by: Sequence[Name] | None = None,
) -> dict[Name, Name]:
    """Map columns to another one that decides them.

    The day of birth decides the age, for example. Only columns of `asked` are compared, with those of `by` or with each
    other, where one that decides more than half of all columns identifies persons and does not count. Rows of one
    person are no evidence, nor are so few rows that they could agree by chance. A measurement, which nearly tells rows
    apart, decides only what follows its order.
    """
    own = {profile.name: profile for profile in profiles if profile.n_distinct > 1 and not profile.is_sampled}
    deciding = asked if by is None else by
    names = sorted((name for name in deciding if name in own), key=lambda name: -own[name].n_distinct)
    found: dict[Name, Name] = {}
    if not names:
        return found
    wanted = list(dict.fromkeys([*own, names[0] if person is None else person]))
    table, aliases = frames.aliased(frame, wanted)
    alias = dict(zip(wanted, aliases, strict=True))
    some = _codes_of(frames.fetched(table.head(_MORE_ROWS)))
    surprises = {other: _surprise(profile) for other, profile in own.items()}
    for place, name in enumerate(names):
        others = names[place + 1 :] if by is None else asked
        likely = [wanted[i] for i in _agreeing(some, wanted.index(name)) if wanted[i] in own and wanted[i] != name]
        if name in found or not {*likely}.intersection(others):
            continue
        # Rows of persons beyond the first of each value. Rows without a value are no evidence.
        n_persons = own[name].n_present if person is None else _n_pairs(table, alias[name], alias[person])
        n_tied = n_persons - own[name].n_distinct
        telling = {other for other, surprise in surprises.items() if n_tied * surprise > _SURE} - {name}
        tested = [alias[other] for other in likely if other in telling]
        if not tested:
            continue
        groups = table.group_by([alias[name]], drop_null_keys=False).agg(nw.col(*tested).n_unique())
        most = frames.fetched(groups.select(nw.col(*tested).max())).rows(named=True)[0]
        decided = [other for other in likely if most.get(alias[other]) == 1]
        if decided and own[name].is_measured:
            decided = _following(table, alias, name, decided)
        if by is not None or 2 * len(decided) <= len(telling):
            found |= {other: name for other in decided if other in others and other not in found}
    return found


def _n_pairs(table: Any, column: str, person: str) -> int:
    there = table.filter(~frames.missing(table, column)).select(column, person)
    return frames.totals(there.unique(), n=nw.len())[0]


def _following(table: Any, alias: Mapping[Name, str], name: Name, others: Sequence[Name]) -> list[Name]:
    """Return the columns that follow the order of a column of numbers."""
    held = frames.fetched(table.select(alias[name], *(alias[other] for other in others)).unique())
    numbers = read_numbers(held[alias[name]].to_list(), [1] * len(held))[0]
    read = [(number, i) for i, number in enumerate(numbers) if number is not None]
    order = [i for _, i in sorted(read)]
    codes = zip(others, _codes_of(held)[order, 1:].T, strict=True)
    return [other for other, own in codes if (own[1:] != own[:-1]).sum() < len(np.unique(own))]


def _surprise(profile: Profile) -> float:
    """Return minus the log probability that two rows agree."""
    shares = np.array(profile.counts) / profile.n_rows
    return -log(float((shares**2).sum()))


def _codes_of(rows: Any) -> Ints:
    columns = [frames.factorized(pd.Series(rows[name].to_list(), dtype=object))[0] for name in rows.columns]
    return np.column_stack([np.unique(codes, return_inverse=True)[1] for codes in columns])


def _agreeing(some: Ints, place: int) -> Ints:
    """Return the places of columns that agree wherever the one at a place does."""
    found, first = np.arange(some.shape[1]), np.zeros(len(some), dtype=np.int64)
    # Few columns are left by few rows.
    for rows in (some[:_FEW_ROWS], some):
        codes = rows[:, place]
        first[codes] = np.arange(len(codes))
        found = found[(rows[:, found] == rows[np.ix_(first[codes], found)]).all(axis=0)]
    return found
