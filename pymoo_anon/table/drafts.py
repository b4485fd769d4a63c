"""Drafts of hierarchies from the values of a column."""

from __future__ import annotations

import heapq
import re
import unicodedata
from bisect import bisect
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, takewhile
from math import ceil, inf
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon._messages import counted, examples
from pymoo_anon.table.domain_values import (
    CURRENCIES,
    ROOT,
    ascending,
    day_of,
    has_leading_zero,
    label_text,
    python_values,
    read_numbers,
    same_as,
    tallied,
)
from pymoo_anon.table.draft_levels import (
    WORDS,
    AmbiguousDates,
    Draft,
    draft_codes,
    draft_dates,
    draft_numbers,
    enough,
    looks_like_a_code,
    one_node_each,
    split_words,
    useful,
)
from pymoo_anon.table.hierarchy import Hierarchy

# This many distinct numbers or fewer are names of something.
_FEW_NAMES = 2
# Names of columns that hold codes even if none begins with 0.
_CODE_NAMES = re.compile(rf"(?:^|[^a-z])(?:{'|'.join(WORDS['named codes'])})(?:$|[^a-z]|code)", re.IGNORECASE)

# Numbers from here on are redacted like codes, and not grouped by frequency.
_LONG_CODE = 1000


def draft_hierarchy(
    values: Iterable[Any],
    counts: Iterable[int] | None = None,
    kind: str = "auto",
    name: str | None = None,
    decimal_point: bool = False,
) -> Draft:
    """Draft the hierarchy of a column, for a person to edit.

    - numbers, also as text such as "169,0", "1.234,50" or, with one unit, "34 J.": nested intervals of round widths.
      Whole numbers that lie close together get a row for every number of the range.
    - dates, moments and text that spells them: month, quarter, year, decade; without a century, if none is told.
    - ordered: intervals written as text ("50-59", "<5", "65+"), months, weekdays, grades and words of known scales
      ("low", "Bachelors", "strongly agree"): neighbors together, and of agreement both sides of the middle.
    - codes, which are digits after a leading 0 or beside capital letters, times and 05a: redaction from the right.
    - categories, which are all else: spellings together, then rare values, then groups of equal size; no answers apart.

    A column has a kind if 90 % of the rows with a value have it, but for text such as "n/a" or "k.A.". Up to the root
    missing values (None, NaN, an empty text) are one group, and values of another kind another, as are numbers such as
    99 and -9 among small ones, which may stand for no answer. A level that gains nothing is left out.

    Args:
        values: Python values, or a column of pandas, polars or pyarrow; they may repeat.
        counts: Numbers of rows. Without them each occurrence of a value counts once.
        kind: "dates", "numbers", "ordered", "codes", "categories", or "auto": the first that fits, or as the name says.
        name: The column's name. It tells, for example, that the digits of "zip" are codes.
        decimal_point: Whether the point in text such as "1.204" is a decimal one, also beside "950".

    Returns:
        The draft. `draft.hierarchy.to_csv(path)` writes it in ARX's layout, and `draft.question` asks about odd values.

    Raises:
        ValueError: There is no such kind or no value, the counts do not fit, or the values are not of the kind.

    >>> draft = draft_hierarchy(["02139", "02138", "02215", None])
    >>> draft.kind, draft.reason
    ('codes', 'codes of 5 characters, redacted from the right; a row for missing values')
    >>> draft.hierarchy.labels[1]
    ('0213*', '0221*', None)
    """
    if kind != "auto" and kind not in _DRAFTERS:
        raise ValueError(f"kind must be 'auto', {', '.join(map(repr, _DRAFTERS))}, got {kind!r}")
    every, weights, missing = _counted(values, counts)
    if not every:
        return Draft(Hierarchy([[None]]), "categories", "no value at all")
    draft = _with_odd(_of_kind(every, weights, kind, name, decimal_point), every, weights)
    if not missing:
        return draft
    own = draft.hierarchy if draft.hierarchy.length else Hierarchy.flat(draft.hierarchy.domain)
    return replace(draft, hierarchy=own.with_missing(), reason=f"{draft.reason}; a row for missing values")


def names_codes(name: str) -> bool:
    """Tell whether a column's name says that its numbers are codes.

    >>> names_codes("ZIP"), names_codes("sex"), names_codes("age")
    (True, True, False)
    """
    return _CODE_NAMES.search(name) is not None or bool(WORDS["nominal"].keys() & {*split_words(name)})


def _counted(values: Iterable[Any], counts: Iterable[int] | None) -> tuple[list[Any], list[int], bool]:
    listed = [
        value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value
        for value in python_values(values)
    ]
    if not listed:
        raise ValueError("values must hold at least one, got none")
    given = [1] * len(listed) if counts is None else list(counts)
    if len(given) != len(listed):
        raise ValueError(f"counts must be as many as the values, {len(listed)}, got {len(given)}")
    if bad := [count for count in given if count < 1 or count % 1]:
        raise ValueError(f"counts must be positive whole numbers, got {examples(bad)}")
    held = tallied([None if isinstance(value, str) and not value else value for value in listed], map(int, given))
    missing = held.pop(None, None) is not None
    every = ascending([value for value, _ in held.values()])
    return every, [held[same_as(value)][1] for value in every], missing


def _present(values: Sequence[Any], counts: Sequence[int]) -> tuple[list[Any], list[int]]:
    present = [i for i, value in enumerate(values) if not says_missing(value)] or range(len(values))
    return [values[i] for i in present], [counts[i] for i in present]


def _of_kind(every: Sequence[Any], weights: Sequence[int], kind: str, name: str | None, decimal_point: bool) -> Draft:
    if kind == "auto":
        return _first_fitting(every, weights, name, decimal_point)
    values, counts = (every, weights) if kind == "categories" else _present(every, weights)
    if kind == "numbers":
        return draft_numbers(values, counts, decimal_point)
    return _DRAFTERS[kind](values, counts)


def _with_odd(draft: Draft, values: Sequence[Any], counts: Sequence[int]) -> Draft:
    own = draft.hierarchy
    lacking = sorted(np.flatnonzero(own.encode(values) < 0).tolist(), key=lambda i: -counts[i])
    if not lacking:
        return draft
    odd = [values[i] for i in lacking]
    rows, aside = [*own.domain, *odd], (-1, _called(odd))
    levels: dict[str, list[tuple[Hashable, Hashable]]] = {
        str(level): [*zip(groups.tolist(), labels, strict=True), *[aside] * len(odd)]
        for level, (groups, labels) in enumerate(zip(own.groups, own.columns(), strict=True))
        if 0 < level < own.length
    }
    hierarchy = Hierarchy([rows, *one_node_each(levels, rows).values(), [ROOT] * len(rows)])
    reason = f"{draft.reason}; apart: {examples(odd)}"
    return Draft(hierarchy, draft.kind, reason, tuple((values[i], counts[i]) for i in lacking))


def _first_fitting(every: Sequence[Any], weights: Sequence[int], name: str | None, decimal_point: bool) -> Draft:
    values, counts = _present(every, weights)
    is_code = _CODE_NAMES.search(name or "") is not None
    is_date = not is_code and bool(WORDS["named dates"].keys() & {*split_words(name or "")})
    try:
        return draft_dates(values, counts, is_date)
    except AmbiguousDates as error:
        note = f"{error}; "
    except ValueError:
        note = _almost("dates", values, [day_of(value) is not None for value in values])
    if _names_months(name):
        with suppress(ValueError):
            return _because(note, draft_ordered(values, counts, name))
    numbers, _ = read_numbers(values, counts, decimal_point)
    spelled = [number for number in numbers if number is not None]
    numeric = [number is not None for number in numbers]
    leading = list(map(has_leading_zero, values))
    # 05 among ages is a number, and 01067 among postal codes is none.
    zeros = enough(leading, counts, 5) or (any(leading) and len({len(str(value)) for value in values}) == 1)
    are_whole = all(number == int(number) for number in spelled)
    is_nominal = are_whole and bool(WORDS["nominal"].keys() & {*split_words(name or "")})
    if enough(numeric, counts) and len(spelled) > _FEW_NAMES and (is_nominal or not zeros):
        called = f"the column is called {name!r}, so "
        if is_code and are_whole:
            return _because(called, draft_codes(values, counts))
        if is_nominal:
            long = max(spelled) >= _LONG_CODE
            draft = draft_codes(values, counts) if long else draft_categories(every, weights)
            return _because(f"{called}its numbers are names of something; ", draft)
        return _because(note, draft_numbers(values, counts, decimal_point))
    with suppress(ValueError):
        return _because(note, draft_ordered(values, counts, name))
    if not (zeros or is_code):
        note = note or _almost("numbers", values, numeric)
    likely = [any(map(str.isdigit, str(own))) if is_code else looks_like_a_code(own) for own in values]
    fits = [own and (zeros or is_code or not number) for own, number in zip(likely, numeric, strict=True)]
    if enough(fits, counts, 50 if is_code else 90):
        with suppress(ValueError):
            draft = draft_codes(values, counts)
            if zeros or is_code or draft.hierarchy.length > 1:
                return _because(note, draft)
    return _because(note, draft_categories(every, weights))


def _almost(kind: str, values: Sequence[Any], fits: Sequence[bool]) -> str:
    others = [value for value, fit in zip(values, fits, strict=True) if not fit]
    return f"not {kind} because of {examples(others)}; " if 0 < len(others) < len(values) / 2 else ""


def _because(note: str, draft: Draft) -> Draft:
    return replace(draft, reason=note + draft.reason)


# Rare values are far below the mean count and together at most this share of the rows.
_RARE_SHARE = 0.05
_BELOW_MEAN = 0.25
_MOST_LEVELS = 3
_LONGEST_LABEL = 40

#: A group of values: their weight, and their positions, the most frequent first.
_Group = tuple[int, list[int]]


def draft_categories(values: Sequence[Any], counts: Sequence[int]) -> Draft:
    """Draft groups of similar frequency.

    Which values belong together is unknown but for spellings, which differ in blanks and case alone. A label lists the
    values of its group, to be replaced by a better one.

    >>> draft_categories(["cat", "cow", "dog", "hen"], [40, 20, 25, 15]).hierarchy.labels[1]
    ('cat | hen', 'dog | cow')
    """
    order = sorted(range(len(values)), key=lambda i: (-counts[i], str(values[i]), type(values[i]).__name__))
    order, apart = ([i for i in order if says_missing(values[i]) == is_missing] for is_missing in (False, True))
    last: list[_Group] = [(sum(counts[i] for i in apart), apart)] if apart else []
    alike: dict[str, list[int]] = {}
    for i in order:
        alike.setdefault(_normal(values[i]), []).append(i)
    groups: list[_Group] = [(sum(counts[i] for i in own), own) for own in alike.values()]
    groups.sort(key=lambda group: -group[0])
    few = _rare(counts, groups)
    rare = [i for _, own in few for i in own]
    other = "rare values" if "other" in {str(value).strip().casefold() for value in values} else "other"
    levels: dict[str, list[tuple[Hashable, Hashable]]] = {}
    if len(groups) < len(order):
        levels["spellings together"] = _group_labels(values, [*groups, *last], (), other)
    if rare:
        groups = [*groups[: -len(few)], (sum(weight for weight, _ in few), rare)]
        levels["rare values together"] = _group_labels(values, [*groups, *last], set(rare), other)
    for n_groups in _group_numbers(len(groups)):
        groups = _merged(groups, n_groups)
        levels[f"{n_groups + len(last)} groups"] = _group_labels(values, [*groups, *last], set(rare), other)
    # The rows of a group are adjacent, so that a person can move them.
    rows = [i for _, members in [*groups, *last] for i in members]
    ordered = {name: [level[i] for i in rows] for name, level in levels.items()}
    domain = [values[i] for i in rows]
    hierarchy, kept = useful(domain, one_node_each(ordered, domain))
    return Draft(hierarchy, "categories", "; ".join([counted(len(values), "category", "categories"), *kept]))


def _rare(counts: Sequence[int], groups: Sequence[_Group]) -> Sequence[_Group]:
    most, below = _RARE_SHARE * sum(counts), _BELOW_MEAN * sum(counts) / len(counts)
    least = [weight for weight, _ in reversed(groups)]
    rare = takewhile(lambda own: own[0] < below and own[1] <= most, zip(least, accumulate(least), strict=True))
    n_rare = len(list(rare))
    return groups[len(groups) - n_rare :] if n_rare > 1 else []


def _group_numbers(n: int) -> list[int]:
    n_levels = sum(3**level <= n for level in range(1, _MOST_LEVELS + 1))
    return [max(2, round(n ** (left / (n_levels + 1)))) for left in range(n_levels, 0, -1)]


def _merged(groups: Sequence[_Group], n_groups: int) -> list[_Group]:
    # Ties are broken by number, so that the groups are always the same.
    heap = [(0, number) for number in range(n_groups)]
    members: list[list[int]] = [[] for _ in heap]
    for weight, own in sorted(groups, key=lambda group: -group[0]):
        least, number = heapq.heappop(heap)
        members[number] += own
        heapq.heappush(heap, (least + weight, number))
    return [(weight, members[number]) for weight, number in sorted(heap, key=lambda held: (-held[0], held[1]))]


def _group_labels(
    values: Sequence[Any], groups: Sequence[_Group], rare: Collection[int], other: str
) -> list[tuple[Hashable, Hashable]]:
    labels: list[tuple[Hashable, Hashable]] = [(0, "")] * len(values)
    for number, (_, members) in enumerate(groups, start=1):
        names = [str(values[i]) for i in members if i not in rare]
        if len(names) < len(members):
            names.append(other)
        label = values[members[0]] if len(members) == 1 else " | ".join(names)
        if len(members) > 1 and len(label) > _LONGEST_LABEL:
            label = _called([names[0], *members[1:]])
        for i in members:
            labels[i] = number, label
    return labels


def _called(names: Sequence[Any]) -> str:
    first, others = str(names[0])[:_LONGEST_LABEL], len(names) - 1
    return f"{first} and {others:,} other{'s' * (others != 1)}" if others else str(names[0])


#: An order needs this many places.
_FEWEST = 3

# Characters that may stand around a text for a missing value, or alone.
_NO_SIGNS = str.maketrans("", "", " .?-–—/\\…#*,:;'’()<>[]")


def says_missing(value: Any) -> bool:
    """Tell whether a text stands for a missing value.

    >>> [says_missing(text) for text in ("k. A.", "#N/A", "-", "?", "Not stated", "none", "0", 0)]
    [True, True, True, True, True, False, False, False]
    """
    bare = _normal(value).translate(_NO_SIGNS) if isinstance(value, str) else None
    return bare == "" or bare in WORDS["no values"]


# Natural groups of scales, by the number of steps in each.
_BLOCKS = {"months": {"quarters": 3, "half-years": 6}, "weekdays": {"work days and weekend": 5}}
# Scales with as many steps below as above this place.
_MIDDLES = dict.fromkeys(("levels of agreement", "levels of satisfaction", "levels of likelihood"), 2)


def _pattern_of(*kinds: str) -> str:
    """Return a pattern of phrases, with a blank after words."""
    return "|".join(re.escape(phrase) + " " * phrase[-1].isalpha() for kind in kinds for phrase in WORDS[kind])


_END = rf"[{CURRENCIES}]? ?-?\d+(?:[, ]\d{{3}})*(?:\.\d+)? ?[k%]?"
_UNIT = rf"(?: ?(?:[^\W\d_]|[.{CURRENCIES}]){{1,8}})?"
_JOINT = r" ?[-–,;] ?| to | bis(?: unter)? | and | und | a | à | y | et "
_RANGE = re.compile(rf"(?:de )?([\[\](]?) ?({_END}){_UNIT}({_JOINT})({_END}){_UNIT} ?([\])\[]?)", re.I)
_BELOW = re.compile(rf"({_pattern_of('at most', 'below')})({_END}){_UNIT}", re.I)
_ABOVE = re.compile(rf"({_pattern_of('at least', 'above')})({_END}){_UNIT}", re.I)
_MORE = "|".join(WORDS["and more"])
_PLUS = re.compile(rf"({_END}){_UNIT}(?: ?\+| (?:and|or|und|oder|y|o|et|ou) (?:{_MORE})){_UNIT}", re.I)
_NUMBERED = re.compile(
    rf"(?:([^\W\d_]{{3,}} |{'|'.join(WORDS['steps'])}) ?(\d{{1,2}})"
    r"|(\d{1,2})(?:st|nd|rd|th|\.) ?(?:grade|class|klasse|year)?)"
)

# Names of columns that hold marks in single letters.
_MARK_NAMES = re.compile("|".join(WORDS["named marks"]), re.I)


class _Range(NamedTuple):
    """An interval as text.

    Its ends, infinite if open, its first and last part such as "[50" and "60)", and its joint.
    """

    low: float
    high: float
    starts: str
    ends: str
    joint: str


def draft_ordered(values: Sequence[Any], counts: Sequence[int], name: str | None = None) -> Draft:
    """Draft groups of neighbors in intervals and scales.

    >>> draft_ordered(["[50-60)", "[40-50)", "[60-70)", "[70-80)"], [1] * 4).hierarchy.labels[1]
    ('[40-60)', '[60-80)')
    >>> draft_ordered(["high", "low", "very high", "medium"], [1] * 4).hierarchy.labels[1]
    ('low–medium', 'high – very high')
    """
    words, texts = [_normal(value) for value in values], [_single_spaced(value) for value in values]
    orders = [_ranges(texts, counts), *_scales(words, name), *_numbered(words)]
    told = ((own, [i in own[1] for i in range(len(values))]) for own in orders if len({*own[1].values()}) >= _FEWEST)
    found = next((own for own, fits in told if enough(fits, counts)), None)
    if found is None:
        raise ValueError(
            "ordered categories must be intervals written as text, months, weekdays or words of one known scale, got "
            f"{examples(values)}"
        )
    kind, places, label = found
    rows = sorted(places, key=lambda i: (places[i], str(values[i])))
    levels: dict[str, list[tuple[Hashable, Hashable]]] = {}
    for level, blocks in _ordered_levels(kind, [places[i] for i in rows]).items():
        ends: dict[int, list[int]] = {}
        for i, block in zip(rows, blocks, strict=True):
            ends.setdefault(block, []).append(i)
        called = {
            block: values[own[0]] if len(own) == 1 else label(*(str(label_text(values[i])) for i in (own[0], own[-1])))
            for block, own in ends.items()
        }
        levels[level] = [(block, called[block]) for block in blocks]
    domain = [values[i] for i in rows]
    hierarchy, kept = useful(domain, one_node_each(levels, domain))
    return Draft(hierarchy, "ordered", "; ".join([f"{len(rows):,} {kind} in their order", *kept]))


def _single_spaced(value: Any) -> str:
    return " ".join(unicodedata.normalize("NFC", str(value)).split())


def _normal(value: Any) -> str:
    return _single_spaced(str(value).replace("_", " ")).casefold().replace("ß", "ss")


#: An order: the name of its values, the place of each, and the label of a first to a last one.
_Order = tuple[str, dict[int, float], Callable[[str, str], str]]


def _ranges(texts: Sequence[str], counts: Sequence[int]) -> _Order:
    """Order intervals in the notation of most rows. A letter before all numbers, as in A00-A04, does not count."""
    letters = {*re.findall(r"\b[A-Z](?=\d)", " ".join(texts))}
    bare = {ord(letter): None for letter in letters if len(letters) == 1}
    both = [_ranges_with({**bare, **signs}, texts, counts) for signs in ({}, str.maketrans(".,", ",."))]
    return max(both, key=lambda order: sum(counts[i] for i in order[1]))


def _ranges_with(swapped: Mapping[int, int | None], texts: Sequence[str], counts: Sequence[int]) -> _Order:
    """Order intervals. Of two that overlap, the one with fewer rows has no place."""
    held: list[tuple[float, float, int]] = []
    for i in sorted(range(len(texts)), key=lambda i: (-counts[i], texts[i])):
        one = _range_of(texts[i].translate(swapped))
        if one is not None:
            place = bisect(held, (one.low, one.high, i))
            before, after = held[:place][-1:], held[place : place + 1]
            if all(own[1] <= one.low for own in before) and all(one.high <= own[0] for own in after):
                held.insert(place, (one.low, one.high, i))

    def label(first: str, last: str) -> str:
        low, high = (_range_of(_single_spaced(text).translate(swapped)) for text in (first, last))
        assert low is not None
        assert high is not None
        if low.low == -inf:
            text = ("<" if high.ends.endswith((")", "[")) or "unter" in high.joint else "≤") + high.ends.rstrip(")[]")
        elif high.high == inf:
            text = (">" if low.starts.startswith(("(", "]")) else "≥") + low.starts.lstrip("([]")
        else:
            text = low.starts + low.joint + high.ends
        return text.translate(swapped)

    return "intervals", {i: low for low, _, i in held}, label


def _range_of(text: str) -> _Range | None:
    found = _RANGE.fullmatch(text)
    if found:
        opening, low, joint, high, closing = found.groups()
        ends, joint = (_range_end(low), _range_end(high)), low[len(low.rstrip()) :] + joint
        if high.lower().endswith("k") and 1000 * ends[0] <= ends[1]:
            ends = 1000 * ends[0], ends[1]
        return _Range(*ends, opening + low.strip(), high.strip() + closing, joint) if ends[0] <= ends[1] else None
    below, above, plus = _BELOW.fullmatch(text), _ABOVE.fullmatch(text), _PLUS.fullmatch(text)
    if below:
        closing = "" if below[1].strip().lower() in WORDS["at most"] else ")"
        return _Range(-inf, _range_end(below[2]), "", below[2].strip() + closing, "")
    if above or plus:
        low = above[2] if above else plus[1]  # type: ignore[index]
        opening = "(" if above and above[1].strip().lower() not in WORDS["at least"] else ""
        return _Range(_range_end(low), inf, opening + low.strip(), "", "")
    return None


def _range_end(text: str) -> float:
    return float(re.sub(r"[^\d.-]", "", text)) * (1000 if text.lower().endswith("k") else 1)


def _scales(words: Sequence[str], called: str | None) -> Iterator[_Order]:
    plain = [" ".join(re.sub(r"['’.]|(?<=\w)[-/,](?=[\w ])", " ", word).replace(" s ", "s ").split()) for word in words]
    for name in WORDS["scales"]:
        if name == "months (numbers)" and not _names_months(called):
            continue
        steps = WORDS[name]
        found = {i: steps.get(word, steps.get(plain[i])) for i, word in enumerate(words)}
        places = {i: float(place) for i, place in found.items() if place is not None}
        # Single letters may name anything.
        if name != "letters" or any(len(words[i]) > 1 for i in places) or _MARK_NAMES.search(called or ""):
            yield name.partition(" (")[0], places, _between


def _names_months(name: str | None) -> bool:
    return bool(WORDS["named months"].keys() & {*split_words(name or "")})


def _numbered(words: Sequence[str]) -> list[_Order]:
    places: dict[str | None, dict[int, float]] = {}
    for i, word in enumerate(words):
        before, _, last = word.rpartition(" ")
        number = WORDS["Roman numerals"].get(last)
        if match := _NUMBERED.fullmatch(word if number is None else f"{before} {number + 1}"):
            places.setdefault(match[1], {})[i] = float(match[2] or match[3])
    return [("grades", own, _between) for own in places.values()]


def _between(first: str, last: str) -> str:
    dash = " – " if re.search(r"[\s–-]", first + last) else "–"
    return f"{first}{dash}{last}"


def _ordered_levels(kind: str, places: Sequence[float]) -> dict[str, list[int]]:
    if kind in _BLOCKS:
        return {name: [int(place) // size for place in places] for name, size in _BLOCKS[kind].items()}
    if kind in _MIDDLES and len({*places}) > _FEWEST:
        return {"both sides of the middle": np.sign(np.subtract(places, _MIDDLES[kind])).astype(int).tolist()}
    # At most four levels, each with groups of so many groups of the one below.
    step = max(2, ceil(len(places) ** 0.25))
    sizes = (step**level for level in range(1, 5) if step**level < len(places))
    return {f"{size} together": [rank // size for rank in range(len(places))] for size in sizes}


#: Drafts by the kind of values.
_DRAFTERS: dict[str, Callable[[Sequence[Any], Sequence[int]], Draft]] = {
    "numbers": draft_numbers,
    "dates": draft_dates,
    "ordered": draft_ordered,
    "codes": draft_codes,
    "categories": draft_categories,
}
