"""Drafts for categories that have an order: intervals written as text, months, weekdays, and words of known scales.

Their groups are neighbours, and a label names the first and the last member of its group.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from math import ceil, inf
from typing import Any, NamedTuple

from pymoo_anon._messages import examples
from pymoo_anon.table.domain_values import ROOT
from pymoo_anon.table.draft_levels import MONTHS, Draft, steps_of, useful

#: Finer than a pair nothing is to be put together.
_FEWEST = 3

# Words for an answer that is none: they stand apart from those that have an order.
_NO_ANSWERS = steps_of("""
    |unknown|missing|not stated|not available|refused|no answer|n/a|na|nan|?|-|unbekannt|keine angabe|desconocido
    |inconnu
""")

# Scales from their lowest step to their highest: steps are parted by a semicolon, words for one step by a stroke.
_SCALES = {
    "weekdays": """
        monday|mon|mo|montag|lunes|lundi; tuesday|tue|tues|tu|di|dienstag|martes|mardi;
        wednesday|wed|we|mi|mittwoch|miercoles|miércoles|mercredi;
        thursday|thu|thur|thurs|th|do|donnerstag|jueves|jeudi;
        friday|fri|fr|freitag|viernes|vendredi; saturday|sat|sa|samstag|sonnabend|sabado|sábado|samedi;
        sunday|sun|su|so|sonntag|domingo|dimanche
    """,
    "degrees": """
        none|no|absent; very low|minimal; low|mild|light|slight; medium|moderate|mid|middle|average|normal;
        high|strong|severe; very high|very strong|very severe|extreme
    """,
    "degrees (German)": """
        kein|keine; sehr niedrig|sehr gering; niedrig|gering|leicht; mittel|mäßig|normal; hoch|stark|schwer;
        sehr hoch|sehr stark|sehr schwer
    """,
    "sizes": """
        xxxs|3xs; xxs|2xs; xs|extra small|very small; s|small; m|medium; l|large|big; xl|extra large|very large;
        xxl|2xl; xxxl|3xl
    """,
    "sizes (German)": "sehr klein; klein; mittel|mittelgroß; groß; sehr groß",
    "frequencies": """
        never|nie|niemals; rarely|seldom|almost never|selten; sometimes|occasionally|manchmal|gelegentlich;
        often|frequently|usually|oft|häufig; always|very often|almost always|immer|sehr oft
    """,
    "levels of agreement": """
        strongly disagree|stimme gar nicht zu; disagree|somewhat disagree|stimme nicht zu;
        neutral|neither|neither agree nor disagree|undecided|teils teils; agree|somewhat agree|stimme zu;
        strongly agree|stimme voll zu
    """,
    "levels of satisfaction": """
        very dissatisfied|sehr unzufrieden; dissatisfied|unsatisfied|unzufrieden; neutral|neither|teils teils;
        satisfied|zufrieden; very satisfied|sehr zufrieden
    """,
    "marks": """
        very poor|very bad|ungenügend|sehr schlecht; poor|bad|mangelhaft|schlecht;
        fair|average|ok|okay|ausreichend|mittelmäßig; satisfactory|befriedigend; good|gut; very good|sehr gut;
        excellent|outstanding
    """,
    "letters": "a+; a; a-; b+; b; b-; c+; c; c-; d+; d; d-; e; f",
    "levels of education": """
        no schooling|illiterate|preschool|kindergarten|ohne abschluss; 1st 4th|basic 4y;
        primary|primary school|elementary|elementary school|primary education|grundschule|primaria; 5th 6th|basic 6y;
        7th 8th|basic 9y|middle school|lower secondary|hauptschule|hauptschulabschluss; 9th;
        10th|realschule|mittlere reife|realschulabschluss; 11th; 12th|some high school;
        high school|hs grad|high school graduate|highschool|secondary|secondary school|secondary education|
        upper secondary|ged|abitur|fachabitur|matura|secundaria; some college|incomplete higher;
        vocational|assoc voc|professional course|ausbildung|apprenticeship;
        associate|associates|assoc|assoc acdm|associate degree|associates degree;
        bachelor|bachelors|bachelor degree|bachelors degree|college|college graduate|undergraduate|university|
        university degree|higher education|tertiary|superior|licence;
        master|masters|master degree|masters degree|graduate|graduate school|diplom|magister;
        prof school|professional|professional degree|staatsexamen|jd|md;
        doctorate|phd|doctor|doctoral|doctoral degree|doctorate degree|academic degree|promotion
    """,
}
_STEPS = {"months": MONTHS, **{name: steps_of(text) for name, text in _SCALES.items()}}

# Where groups end by themselves: quarters and half-years, work days and the weekend.
_BLOCKS = {"months": {"quarters": 3, "half-years": 6}, "weekdays": {"work days and weekend": 5}}

_NUMBER = r"[$€£]? ?-?\d+(?:,\d{3})*(?:\.\d+)? ?[k%]?"
_UNIT = r"(?: ?[a-zäöüß.]{1,8})?"
_RANGE = re.compile(
    rf"([\[\](]?) ?({_NUMBER}){_UNIT}( ?[-–,;] ?| to | bis | and | a )({_NUMBER}){_UNIT} ?([\])\[]?)", re.I
)
_BELOW = re.compile(
    rf"(<=|≤|<|up to |bis |under |below |less than |unter |jünger als |menos de )({_NUMBER}){_UNIT}", re.I
)
_ABOVE = re.compile(
    rf"(>=|≥|>|over |above |more than |greater than |über |älter als |ab |from |más de )({_NUMBER}){_UNIT}", re.I
)
_PLUS = re.compile(
    rf"({_NUMBER})(?: ?\+{_UNIT}| (?:and|or|und|oder) (?:over|older|more|above|up|älter|mehr){_UNIT})", re.I
)
_INCLUSIVE = ("<=", "≤", ">=", "≥", "up to ", "bis ", "ab ", "from ")
_NUMBERED = re.compile(
    r"(?:(grade|class|klasse|level|stage|stufe|year|tier|step|phase|stadium) ?(\d{1,2})|(\d{1,2})(?:st|nd|rd|th|\.)"
    r" ?(?:grade|class|klasse|year)?)"
)


# What a column of marks in single letters is called.
_MARKS = re.compile("grade|mark|note|rating|score|schul", re.I)


class _Range(NamedTuple):
    """An interval that is written as text; an end that is open is infinite.

    Attributes:
        low: Where it begins.
        high: Where it ends.
        starts: How a text begins that begins with it, such as "[50".
        ends: How a text ends that ends with it, such as "60)".
        joint: What stands in between.
    """

    low: float
    high: float
    starts: str
    ends: str
    joint: str


def draft_ordered(values: Sequence[Any], name: str | None = None) -> Draft:
    """Neighbours in their order: intervals written as text, months, weekdays, and words of known scales.

    >>> draft_ordered(["[50-60)", "[40-50)", "[60-70)", "[70-80)"]).hierarchy.labels[1]
    ('[40-60)', '[60-80)')
    >>> draft_ordered(["high", "low", "very high", "medium"]).hierarchy.labels[1]
    ('low–medium', 'high – very high')
    """
    words = [_normal(value) for value in values]
    apart = [i for i, word in enumerate(words) if word in _NO_ANSWERS]
    known = [i for i in range(len(values)) if i not in apart]
    texts = [_plain(value) for value in values]
    found = _ranges(texts, known) or _scale(words, known, name) or _numbered(words, known)
    if found is None:
        raise ValueError(
            "ordered categories must be intervals written as text, months, weekdays or words of one known scale, got "
            f"{examples(values)}"
        )
    kind, places, label = found
    rows = sorted(known, key=lambda i: (places[i], str(values[i])))
    levels: dict[str, list[tuple[int, Hashable]]] = {}
    for level, blocks in _levels(kind, [places[i] for i in rows]).items():
        ends: dict[int, list[int]] = {}
        for i, block in zip(rows, blocks, strict=True):
            ends.setdefault(block, []).append(i)
        called = {
            block: values[own[0]] if len(own) == 1 else label(str(values[own[0]]), str(values[own[-1]]))
            for block, own in ends.items()
        }
        levels[level] = [*((block, called[block]) for block in blocks), *((-1 - i, values[i]) for i in apart)]
    hierarchy, kept = useful([values[i] for i in [*rows, *apart]], one_node_each(levels, [*rows, *apart]))
    aside = f", {len(apart)} without an order" if apart else ""
    return Draft(hierarchy, "ordered", "; ".join([f"{len(rows):,} {kind} in their order{aside}", *kept]))


def one_node_each(
    levels: Mapping[str, Sequence[tuple[int, Hashable]]], rows: Sequence[Hashable]
) -> dict[str, list[Hashable]]:
    """The label of every row by its number of a group and a text, so that over all levels a label names one group."""
    taken: dict[str, tuple[Hashable, ...]] = {ROOT: ()}
    for row in rows:
        taken.setdefault(str(row), (row,))
    own: dict[str, list[Hashable]] = {}
    for name, groups in levels.items():
        members: dict[tuple[int, Hashable], list[Hashable]] = {}
        for row, group in zip(rows, groups, strict=True):
            members.setdefault(group, []).append(row)
        texts = {}
        for group, held in members.items():
            once = text = group[1]
            number = 1
            while taken.setdefault(str(text), tuple(held)) != tuple(held):
                number += 1
                text = f"{once} ({number})"
            texts[group] = text
        own[name] = [texts[group] for group in groups]
    return own


def _plain(value: Any) -> str:
    """A text with single blanks between its words."""
    return " ".join(unicodedata.normalize("NFC", str(value)).split())


def _normal(value: Any) -> str:
    """A text as scales have it: in small letters, with blanks for underscores."""
    return _plain(str(value).replace("_", " ")).casefold().replace("ß", "ss")


#: What an order is: what its values are called, the place of each, and the label of a first and a last one.
_Order = tuple[str, dict[int, float], Callable[[str, str], str]]


def _ranges(texts: Sequence[str], known: Sequence[int]) -> _Order | None:
    """The order of intervals; None where a text is none, or two of them overlap."""
    ranges = {i: _range_of(texts[i]) for i in known}
    read = {i: one for i, one in ranges.items() if one is not None}
    order = sorted(read.values(), key=lambda one: (one.low, one.high))
    if len(read) < max(len(ranges), _FEWEST) or any(left.high > right.low for left, right in pairwise(order)):
        return None

    def label(first: str, last: str) -> str:
        low, high = _range_of(_plain(first)), _range_of(_plain(last))
        assert low is not None
        assert high is not None
        if low.low == -inf:
            return ("<" if high.ends.endswith((")", "[")) else "≤") + high.ends.rstrip(")[]")
        if high.high == inf:
            return (">" if low.starts.startswith(("(", "]")) else "≥") + low.starts.lstrip("([]")
        return low.starts + low.joint + high.ends

    return "intervals", {i: one.low for i, one in read.items()}, label


def _range_of(text: str) -> _Range | None:
    """The interval that a text is."""
    found = _RANGE.fullmatch(text)
    if found:
        opening, low, joint, high, closing = found.groups()
        ends = _number(low), _number(high)
        return _Range(*ends, opening + low, high + closing, joint) if ends[0] <= ends[1] else None
    below, above, plus = _BELOW.fullmatch(text), _ABOVE.fullmatch(text), _PLUS.fullmatch(text)
    if below:
        return _Range(-inf, _number(below[2]), "", below[2] + ("" if below[1].lower() in _INCLUSIVE else ")"), "")
    if above or plus:
        low = above[2] if above else plus[1]  # type: ignore[index]
        opening = "(" if above and above[1].lower() not in _INCLUSIVE else ""
        return _Range(_number(low), inf, opening + low, "", "")
    return None


def _number(text: str) -> float:
    """The number that a text spells, thousands parted by commas."""
    return float(re.sub(r"[^\d.-]", "", text)) * (1000 if text.lower().endswith("k") else 1)


def _scale(words: Sequence[str], known: Sequence[int], called: str | None) -> _Order | None:
    """The order of a scale that has a step for every word; None where none has."""
    plain = {
        i: " ".join(re.sub(r"['’.]|(?<=\w)[-/,](?=[\w ])", " ", words[i]).replace(" s ", "s ").split()) for i in known
    }
    for name, steps in _STEPS.items():
        if name == "letters" and all(len(words[i]) == 1 for i in known) and not _MARKS.search(called or ""):
            # They may be names of anything.
            continue
        places = {i: steps.get(words[i], steps.get(plain[i])) for i in known}
        held = {i: float(place) for i, place in places.items() if place is not None}
        if len(held) == len(places) >= _FEWEST and len(set(held.values())) >= _FEWEST:
            return name.removesuffix(" (German)"), held, _between
    return None


def _numbered(words: Sequence[str], known: Sequence[int]) -> _Order | None:
    """The order of what is numbered, such as "9th" or "grade 3"; None where a text is not."""
    found = {i: _NUMBERED.fullmatch(words[i]) for i in known}
    places = {i: float(match[2] or match[3]) for i, match in found.items() if match}
    if len(places) < max(len(found), _FEWEST) or len({match[1] for match in found.values() if match}) > 1:
        return None
    return "grades", places, _between


def _between(first: str, last: str) -> str:
    """The label of the values from one to another."""
    dash = " – " if re.search(r"[\s–-]", first + last) else "–"
    return f"{first}{dash}{last}"


def _levels(kind: str, places: Sequence[float]) -> dict[str, list[int]]:
    """Per level the block of every value, by its place in the order."""
    if kind in _BLOCKS:
        return {name: [int(place) // size for place in places] for name, size in _BLOCKS[kind].items()}
    levels: dict[str, list[int]] = {}
    # At most four levels, each of so many groups of the one below.
    step = max(2, ceil(len(places) ** 0.25))
    size = step
    while len(places) > size:
        levels[f"{size} together"] = [rank // size for rank in range(len(places))]
        size *= step
    return levels
