"""Drafts for numbers, dates and codes, from common parts."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate, chain, compress, count, pairwise, product
from typing import Any

from pymoo_anon._messages import counted, examples
from pymoo_anon.table.domain_values import (
    EXACT,
    LARGEST_NUMBER,
    ROOT,
    bin_of,
    day_of,
    interval_labels,
    is_number,
    label_text,
    number_of,
    read_numbers,
)
from pymoo_anon.table.hierarchy import Hierarchy

# Letters that do not decompose into one of ASCII and an accent, and umlauts.
_ASCII = {"ä": "ae", "ö": "oe", "ü": "ue", "æ": "ae", "ø": "oe", "ł": "l", "đ": "d", "ı": "i"}


def split_words(name: str) -> list[str]:
    """Split a name into words without accents.

    >>> split_words("dateOfBirth"), split_words("Straße_Nr"), split_words("patientID2-näher")
    (['date', 'of', 'birth'], ['strasse', 'nr'], ['patient', 'id', 'naeher'])
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).replace("ß", "ss").replace("’", "'")
    for letter, ascii_letters in _ASCII.items():
        parted = parted.replace(letter, ascii_letters).replace(letter.upper(), ascii_letters.capitalize())
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
        elif role in ("list", "phrases") or role.endswith(" values"):
            found[kind].update(dict.fromkeys(words.split(None if role == "list" else "|"), role))
            if role.endswith(" values"):
                found["kinds"][kind] = role.removesuffix(" values")
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
# Letters behind a word that stand for father, husband, mother, partner and wife.
_RELATIVES = "fhmpw"

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
    """Return the role of a word behind or before one letter.

    Surveys add a letter to a word: "Medu" is the education of the mother, "agew" the age of the wife.

    >>> role_of_lettered("medu"), role_of_lettered("agew"), role_of_lettered("mileage")
    ('quasi-identifier', 'quasi-identifier', None)
    """
    if role_of_word(word) is not None or word in WORDS["joined"] or len(word) <= _SHORTEST:
        return None
    bare = [word[1:], *([word[:-1]] if word[-1] in _RELATIVES else [])]
    return next((role_of_word(part) for part in bare if _known_parts(part)), None)


def _known_parts(word: str) -> tuple[str, ...]:
    for end in range(len(word), 1, -1):
        if word[:end] in WORDS["joined"]:
            rest = word[end:]
            parts = () if rest in ("", *_INFLECTIONS) else _known_parts(rest)
            if parts or rest in ("", *_INFLECTIONS):
                return (word[:end], *parts)
    return ()


@dataclass(frozen=True)
class Draft:
    """A hierarchy drafted from the values of a column.

    Attributes:
        hierarchy: The hierarchy. It holds every value of the column.
        kind: The kind of the values: "numbers", "dates", "ordered", "codes" or "categories".
        reason: Why, and the levels, in one line.
        odd: The values that are not of the kind, with their numbers of rows. They are one group below the root.
    """

    hierarchy: Hierarchy
    kind: str
    reason: str
    odd: tuple[tuple[Any, int], ...] = ()

    @property
    def question(self) -> str | None:
        """Question about the odd values, or None."""
        if not self.odd:
            return None
        what = "not in the order" if self.kind == "ordered" else f"no {self.kind[:-1]}"
        if self.kind == "numbers" and all(number_of(value) is not None for value, _ in self.odd):
            what = "perhaps a code"
        rows = counted(sum(count for _, count in self.odd), "row", "rows")
        return f"{examples([value for value, _ in self.odd])} in {rows} is {what}: is it a missing value?"


def enough(fits: Iterable[bool], counts: Sequence[int], percent: int = 90) -> bool:
    """Tell whether at least this share of rows fits."""
    held = sum(count for fit, count in zip(fits, counts, strict=True) if fit)
    return held > 0 and 100 * held >= percent * sum(counts)


def useful(
    values: Sequence[Hashable], levels: Mapping[str, Sequence[Hashable]], share: float = 1
) -> tuple[Hierarchy, list[str]]:
    """Build a hierarchy of the levels that merge groups.

    The last level is `*`.
    """
    columns, names = [values], []
    for name, level in levels.items():
        n_groups, below = len(set(level)), len(set(columns[-1]))
        if 1 < n_groups < below and n_groups <= share * below:
            columns.append(level)
            names.append(name)
    if len(values) > 1:
        columns.append([ROOT] * len(values))
    return Hierarchy(columns), names


def one_node_each(
    levels: Mapping[str, Sequence[tuple[Hashable, Hashable]]], rows: Sequence[Hashable]
) -> dict[str, list[Hashable]]:
    """Label every row by level, one node for each label.

    The groups of a level are given by a key and a text. A text that names another group gets a number.
    """
    taken: dict[str, tuple[Hashable, ...]] = {ROOT: ()}
    for row in rows:
        taken.setdefault(str(row), (row,))
    own: dict[str, list[Hashable]] = {}
    for name, groups in levels.items():
        members: dict[tuple[Hashable, Hashable], list[Hashable]] = {}
        for row, group in zip(rows, groups, strict=True):
            members.setdefault(group, []).append(row)
        texts = {}
        for group, held in members.items():
            candidates = chain([group[1]], (f"{group[1]} ({number})" for number in count(2)))
            texts[group] = next(text for text in candidates if taken.setdefault(str(text), tuple(held)) == tuple(held))
        own[name] = [texts[group] for group in groups]
    return own


def fills(n_rows: int, n_distinct: int) -> bool:
    """Tell whether a hierarchy is to have missing rows, too."""
    return n_rows <= 1000 and n_rows <= max(100, 10 * n_distinct)


# A level with more than this share of the groups below gains too little.
_GAIN = 0.75
# The finest level has at most this many intervals, and by the steps of the widths at least five.
_MOST_GROUPS = 12
# An interval with nearly all rows tells too little, unless one of the level below has most of them.
_NEARLY_ALL, _MOST_ROWS = 0.95, 0.75
# The spread of numbers leaves out a fortieth of the rows at either end.
_ENDS = 40
# Surveys write such digits for no answer, the first also with a minus, the second with one alone.
_CODES, _CODES_BELOW = re.compile("9+[789]"), {7, 8, 9}
# Positive ones are so many times as large as any answer, or as far from all as the answers are from each other.
_FAR, _APART = 8, Decimal("1.5")
#: Doubt about numbers such as 2.191 alone.
FRACTIONS = "with three digits behind each point, taken for fractions"


def draft_numbers(values: Sequence[Any], counts: Sequence[int], decimal_point: bool = False) -> Draft:
    """Draft nested intervals of round widths.

    A width is 1, 2 or 5 times a power of ten. The finest has 5 to 12 intervals over the spread of the rows. If the
    numbers go far beyond, its first and last interval are open. Counts from 0 or 1 with a long tail stay single on the
    first level, which merges the tail alone.

    >>> draft_numbers([17, 18, 34, 45, 66, 90], [1] * 6).hierarchy
    Hierarchy(90 values, levels of 90, 9, 5, 1 groups)
    """
    numbers, sign = read_numbers(values, counts, decimal_point)
    read = [(i, number) for i, number in enumerate(numbers) if number is not None]
    if not enough([number is not None for number in numbers], counts):
        bad = [value for value, number in zip(values, numbers, strict=True) if number is None]
        raise ValueError(f"numbers must be at most {LARGEST_NUMBER:.0e}, or text that spells such, got {examples(bad)}")
    aside = _answer_codes({number: counts[i] for i, number in read})
    read = sorted((row for row in read if row[1] not in aside), key=lambda row: (row[1], str(values[row[0]])))
    rows = [(number, values[i]) for i, number in read]
    whole = all(number == number.to_integral_value() for number, _ in rows)
    low, high = rows[0][0], rows[-1][0]
    ends, widths = _intervals([number for number, _ in rows], [counts[i] for i, _ in read], whole)
    words = f"numbers from {low:f} to {high:f}"
    if whole:
        words = f"whole numbers from {int(low)} to {int(high)}"
        rows = [(number, value if isinstance(value, str) else int(number)) for number, value in rows]
        filled = rows if sign else _filled_range(rows, widths)
        words += f", a row for each of {filled[0][0]:.0f} to {filled[-1][0]:.0f}" if len(filled) > len(rows) else ""
        rows = filled
    if not decimal_point and all(isinstance(values[i], str) and own.as_tuple().exponent == -3 for i, own in read):
        words += f", {FRACTIONS}"
    filled_numbers, levels = [number for number, _ in rows], {}
    if high > ends[1] and _are_counts(whole, low, widths[:1]):
        # The few rows beyond the end are merged before all others.
        levels["1"] = interval_labels(filled_numbers, Decimal(1), whole, (filled_numbers[0], ends[1]), sign)
    levels |= {f"{width:f}": interval_labels(filled_numbers, width, whole, ends, sign) for width in widths}
    hierarchy, kept = useful([value for _, value in rows], levels, _GAIN)
    return Draft(hierarchy, "numbers", words + (f"; intervals of {', '.join(kept)}" if kept else ""))


def _answer_codes(numbers: Mapping[Decimal, int]) -> Set[Decimal]:
    """Return codes of no answer, such as 99, 999.9 and -9."""
    digits = {number: str(label_text(abs(number))).replace(".", "") for number in numbers}
    codes = {number for number, own in digits.items() if _CODES.fullmatch(own) or -number in _CODES_BELOW}
    others = numbers.keys() - codes
    if len(others) < 2 or min(others) < 0:
        return set()
    least, most = min(others), max(others)
    far = min(_FAR * most, most + _FAR * (most - least))
    # Tails get thinner: a greater number in more rows than the last one stands apart.
    return {n for n in codes if n < 0 or n > far or (n > _APART * most and numbers[n] > numbers[most])}


def _intervals(
    numbers: Sequence[Decimal], counts: Sequence[int], whole: bool
) -> tuple[tuple[Decimal, Decimal], list[Decimal]]:
    every, below = (numbers[0], numbers[-1]), list(accumulate(counts))
    cut = below[-1] // _ENDS
    ends = numbers[bisect_right(below, cut)], numbers[bisect_left(below, below[-1] - cut)]
    if ends[0] == ends[1]:
        ends = every
    smallest = (ends[1] - ends[0]).adjusted() - 2
    rising = (Decimal((0, (factor,), exponent)) for exponent in count(smallest) for factor in (1, 2, 5))
    width = next(own for own in rising if _n_bins(ends, own) <= _MOST_GROUPS and not (whole and own <= 1))
    # Of counts such as those of children, few rows have the greatest, in a long tail.
    is_long = 4 * (every[1] - ends[1]) >= every[1] - every[0] and _n_bins((every[0], ends[1]), width) > 1
    last = ends[1:] if is_long and _are_counts(whole, every[0], [width]) else (every[1], ends[1])
    open_or_not = product((every[0], ends[0]), last)
    ends = next(own for own in open_or_not if _n_bins(own, width) <= _MOST_GROUPS or own == ends)
    widths: list[Decimal] = []
    fullest = below[-1]
    # At any width zero parts negative from positive numbers.
    while _n_bins(ends, width) > 1 and (not widths or _n_bins(ends, widths[-1]) > 2):
        before, fullest = fullest, _fullest(numbers, below, ends, width)
        if before < _MOST_ROWS * below[-1] and fullest > _NEARLY_ALL * below[-1]:
            break
        widths.append(width)
        width = next(own for own in rising if own % width == 0)
    return ends, widths


def _are_counts(whole: bool, least: Decimal, finest: Sequence[Decimal]) -> bool:
    return whole and least in (0, 1) and finest == [Decimal(2)]


def _fullest(numbers: Sequence[Decimal], below: Sequence[int], ends: tuple[Decimal, Decimal], width: Decimal) -> int:
    """Count the rows of the fullest interval."""
    edges = [EXACT.multiply(place, width) for place in range(bin_of(ends[0], width) + 1, bin_of(ends[1], width) + 1)]
    cuts = [0, *(bisect_left(numbers, edge) for edge in edges), len(numbers)]
    up_to = [0, *below]
    return max(up_to[stop] - up_to[start] for start, stop in pairwise(cuts))


def _n_bins(ends: tuple[Decimal, Decimal], width: Decimal) -> int:
    return bin_of(ends[1], width) - bin_of(ends[0], width) + 1


def _filled_range(rows: list[tuple[Decimal, Any]], widths: list[Decimal]) -> list[tuple[Decimal, Any]]:
    if not widths:
        return rows
    first = bin_of(rows[0][0], widths[0]) * int(widths[0])
    last = (bin_of(rows[-1][0], widths[0]) + 1) * int(widths[0])
    held = {int(number) for number, _ in rows}
    if not fills(last - first, len(held)):
        return rows
    text = any(isinstance(value, str) for _, value in rows)
    more = [(Decimal(i), str(i) if text else i) for i in range(first, last) if i not in held]
    return sorted([*rows, *more], key=lambda row: (row[0], str(row[1])))


# Month and year alone, and eight digits, are dates only in these years.
_YEARS = range(1850, 2101)
_CLOCK = r"(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?"
_TIME = rf"(?:[T ]\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?(?: ?[AaPp][Mm])?|(?<=\d{{8}}){_CLOCK})?"
# The year, the month by a number or word, the day, and the sign between them.
_YEAR, _MONTH, _DAY, _SIGN = r"(?P<year>\d{4})", r"(?P<month>\d{1,2})", r"(?P<day>\d{1,2})", r"(?P<sign>[./-])"

# The notation of ISO 8601, that without a day, and the end of those without a century.
_ISO, _MONTHS_ALONE, _SHORT = "ISO dates", "dates (month, year)", "year of two digits)"

#: The levels above the days, from fine to general.
LEVELS: dict[str, Callable[[date], str]] = {
    "day": str,
    "month": lambda day: f"{day.year:04}-{day.month:02}",
    "quarter": lambda day: f"{day.year:04}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04}",
    "decade": lambda day: f"{day.year // 10 * 10:04}s",
}


class AmbiguousDates(ValueError):  # noqa: N818
    """Dates with the day or the month first."""


def looks_like_a_date(value: Any) -> bool:
    """Tell whether a value is written like a date."""
    if day_of(value) is not None:
        return True
    text = _spelling(value)
    return any(_day(notation, text) for notation in _NOTATIONS)


def _spelling(value: Any) -> str:
    text = str(label_text(value))
    return text if is_number(value) and "." not in text else str(value)


def draft_dates(values: Sequence[Any], counts: Sequence[int], on_request: bool = True) -> Draft:
    """Draft days, months, quarters, years and decades.

    Dates, moments and their ISO text get a row for each day, which matches all three. Any other text, such as
    05.03.2021, gets a row of its own. Days as workbooks count them, and digits such as 50321, are read on request.

    >>> draft_dates(["05.03.2021", "28.03.2021", "01.11.2020"], [1, 1, 1]).hierarchy.labels[1]
    ('2020-11', '2021-03')
    """
    days, spelling = _read_days(values, counts, on_request)
    read = [(day, value) for day, value in zip(days, values, strict=True) if day is not None]
    held = filled = sorted({day for day, _ in read})
    rows: list[tuple[date, Any]] = sorted(read, key=lambda row: (row[0], str(row[1])))
    if spelling == _ISO:
        first, last = date(held[0].year, 1, 1), date(held[-1].year, 12, 31)
        n_days = (last - first).days + 1
        filled = [first + timedelta(i) for i in range(n_days)] if fills(n_days, len(held)) else held
        texts = [isinstance(value, str) for _, value in read]
        rows = [(day, str(day) if any(texts) else day) for day in filled]
        spelling = _ISO if all(texts) else "dates"
    domain = [value for _, value in rows]
    # 2011-12 may be a value, and the label of a month that has another notation, too.
    known = {name: label for name, label in LEVELS.items() if name != "day" or spelling != _MONTHS_ALONE}
    # Without a century in the values no label names one.
    told = (lambda text: f"'{text[2:]}") if spelling.endswith(_SHORT) else str
    levels = {name: [(told(label(day)),) * 2 for day, _ in rows] for name, label in known.items()}
    hierarchy, kept = useful(domain, one_node_each(levels, domain))
    words = f"{spelling} from {told(str(held[0]))} to {told(str(held[-1]))}"
    if len(filled) > len(held):
        words += f", a row for each day of {'these years' if held[0].year < held[-1].year else 'the year'}"
    return Draft(hierarchy, "dates", words + (f"; {', '.join(kept)}" if kept else ""))


def _read_days(values: Sequence[Any], counts: Sequence[int], on_request: bool) -> tuple[list[date | None], str]:
    """Read days in the notation that fits most rows.

    A value in another notation is None.
    """
    orders: dict[str, list[date | None]] = {_ISO: [day_of(value) for value in values]}
    if None in orders[_ISO]:
        texts = list(map(_spelling, values))
        orders |= {name: [_day(name, text) for text in texts] for name in _NOTATIONS}
        if on_request:
            orders |= {name: [_day(name, text) for text in texts] for name in _DIGITS}
            orders |= {"days since 1899-12-30": list(map(_day_of_workbook, values))}
    rows = {name: sum(compress(counts, (day is not None for day in days))) for name, days in orders.items()}
    name = max(rows, key=lambda name: rows[name])
    if not enough([day is not None for day in orders[name]], counts):
        unread = [value for value, *days in zip(values, *orders.values(), strict=True) if not any(days)]
        got = f"got {examples(unread)}" if unread else "got some with the day and some with the month first"
        raise ValueError(f"dates must be dates, moments, or text such as 2021-03-05 or 05.03.2021, {got}")
    if name != _ISO and any(rows[other] == rows[name] and days != orders[name] for other, days in orders.items()):
        raise AmbiguousDates(
            f"dates must tell by one of them whether the day or the month comes first, got {examples(values)}; "
            "written like 2021-03-05 they would"
        )
    return orders[name], name


_WORD, _TWO_DIGITS = r"(?P<word>[^\W\d_]{3,10})\.?", r"(?P<year>\d\d)"
_NAMED = rf"{_DAY}(?:er|\.)?[-. ]*(?:de )?{_WORD}[-. ]*(?:de )?"

# Notations besides ISO 8601.
_NOTATIONS = {
    "dates (year, month, day)": re.compile(
        rf"(?=\d{{8}}|\d{{4}}\D){_YEAR}(?P<sign>[./-]?){_MONTH}(?P=sign){_DAY}{_TIME}", re.ASCII
    ),
    "dates (year, month, day), in words": re.compile(rf"{_YEAR}[年년] ?{_MONTH}[月월] ?{_DAY}[日일]", re.ASCII),
    "dates (day, month, year)": re.compile(f"{_DAY}{_SIGN}{_MONTH}(?P=sign){_YEAR}{_TIME}", re.ASCII),
    "dates (month, day, year)": re.compile(f"{_MONTH}{_SIGN}{_DAY}(?P=sign){_YEAR}{_TIME}", re.ASCII),
    f"dates (day, month, {_SHORT}": re.compile(f"{_DAY}(?P<sign>[./]){_MONTH}(?P=sign){_TWO_DIGITS}{_TIME}", re.ASCII),
    f"dates (month, day, {_SHORT}": re.compile(f"{_MONTH}(?P<sign>[/]){_DAY}(?P=sign){_TWO_DIGITS}{_TIME}", re.ASCII),
    "dates (day, named month, year)": re.compile(f"{_NAMED}{_YEAR}{_TIME}"),
    "dates (named month, day, year)": re.compile(rf"{_WORD} *{_DAY}(?:st|nd|rd|th)?,? *{_YEAR}{_TIME}"),
    f"dates (day, named month, {_SHORT}": re.compile(f"{_NAMED}{_TWO_DIGITS}{_TIME}"),
    _MONTHS_ALONE: re.compile(
        rf"\s*(?=\S)(?=.*?{_YEAR})(?=(?:\d{{4}}[-./])?(?:{_MONTH}(?!\d))?)"
        r"(?:(?P<word>[^\W\d_]{3,10})\.?[-. /]*\d{4}|\d{4}[-./]\d\d|\d\d?[-/]\d{4}|\d\d\.\d{4})\s*"
    ),
}

# Notations that other numbers have, too. A leading zero may be lost.
_DIGITS = {
    "digits (day, month, year)": re.compile(r"(?P<day>\d\d?)(?P<month>\d\d)(?P<year>\d{4})", re.ASCII),
    "digits (month, day, year)": re.compile(r"(?P<month>\d\d?)(?P<day>\d\d)(?P<year>\d{4})", re.ASCII),
    f"digits (day, month, {_SHORT}": re.compile(r"(?P<day>\d\d?)(?P<month>\d\d)(?P<year>\d\d)", re.ASCII),
    f"digits (month, day, {_SHORT}": re.compile(r"(?P<month>\d\d?)(?P<day>\d\d)(?P<year>\d\d)", re.ASCII),
    f"digits (month and day behind a {_SHORT}": re.compile(r"(?P<year>\d\d?)(?P<month>\d\d)(?P<day>\d\d)", re.ASCII),
}
_PATTERNS = _NOTATIONS | _DIGITS


def _day(notation: str, text: str) -> date | None:
    match = _PATTERNS[notation].fullmatch(text)
    if match is None:
        return None
    found = match.groupdict()
    year, word = int(found["year"]), found.get("word")
    year += 2000 * notation.endswith(_SHORT)
    if not found.get("sign") and year not in _YEARS:
        return None
    month = WORDS["months"].get(word.casefold(), -1) + 1 if word else int(found["month"])
    try:
        return date(year, month, int(found.get("day", 1)))
    except ValueError:
        return None


def _day_of_workbook(value: Any) -> date | None:
    number = number_of(value)
    return date(1899, 12, 30) + timedelta(int(number)) if number is not None and 10_000 <= number < 50_000 else None


_LONGEST_CODE = 40
# Capital letters and digits, in groups with one sign in between, as in E11.9, SW1A 1AA, 14:05 or 05a.
_LIKELY = re.compile(r"(?=.*\d)[A-Z0-9]+(?:[ ./:_-][A-Z0-9]+)*(?:(?<=\d)[a-z])?", re.ASCII)
_LONGEST_LIKELY = 16


def draft_codes(values: Sequence[Any], counts: Sequence[int]) -> Draft:
    """Draft a redaction from the right: 02139, 0213*, 021**.

    Codes are aligned at the left, as in ARX, and each level keeps fewer characters. A shorter code stays as it is until
    longer codes that begin with it join its group: E11 and E11.9 are E11 and E11.* first, and then both E11**. Levels
    that gain nothing are left out, such as the one that only removes the dot. If nearly all rows have digits, text
    without any is no code.

    >>> draft_codes(["02139", "02138", "02215"], [1, 1, 1]).hierarchy.labels[1:]
    (('0213*', '0221*'), ('*',))
    """
    texts = [str(value) for value in values]
    bad = dict.fromkeys(text for text in texts if len(text) > _LONGEST_CODE or ROOT in text)
    fits = [text not in bad and any(map(str.isdigit, text)) for text in texts]
    if not enough(fits, counts):
        if bad:
            raise ValueError(
                f"codes must have at most {_LONGEST_CODE} characters, none of them {ROOT!r}, got {examples(bad)}"
            )
        fits = [True] * len(texts)
    order = sorted(compress(range(len(texts)), fits), key=lambda i: texts[i])
    lengths = sorted({len(texts[i]) for i in order})
    levels = {}
    for kept in range(lengths[-1] - 1, 0, -1):
        stars = ROOT * (lengths[-1] - kept)
        levels[str(kept)] = [texts[i] if len(texts[i]) < kept else texts[i][:kept] + stars for i in order]
    hierarchy, _ = useful([values[i] for i in order], levels)
    width = f"{lengths[0]}" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"
    return Draft(hierarchy, "codes", f"codes of {width} characters, redacted from the right")


def looks_like_a_code(value: Any) -> bool:
    """Tell whether a text is short, with capitals and digits."""
    return isinstance(value, str) and len(value) <= _LONGEST_LIKELY and _LIKELY.fullmatch(value) is not None
