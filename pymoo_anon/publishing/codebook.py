"""The codebook of a release, and the counts that both guarantee.

A truthful cell stands for known values. Rows whose cells lie wholly within a question are certain, rows whose cells
touch it are possible, and the true answer lies between both.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from decimal import Decimal
from itertools import groupby
from math import ceil, floor, inf, nan
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples, listed, one_of
from pymoo_anon.engine.classes import EquivalenceClasses, groups_of
from pymoo_anon.objectives.recount import MISSING, by_group, combinations
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.publishing.keeping import Kept, kept_of
from pymoo_anon.publishing.recoding import decoded_point
from pymoo_anon.table.domain_values import (
    Name,
    day_of,
    has_leading_zero,
    is_day,
    is_missing,
    is_number,
    is_whole,
    label_text,
    read_numbers,
    spelled,
)
from pymoo_anon.table.frames import opened
from pymoo_anon.table.generalization import HOW_RELEASED, SUPPRESSED, Decoded, Generalization
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints

#: Meaning of the `*` of suppressed rows.
EVERYTHING = "any value: the row is suppressed"

#: Meaning of the numbers of a kept column.
NUMBERS = "(numbers)"

#: A value, a run of whole numbers, a bin, or None for a missing value.
Meaning: TypeAlias = "str | range | pd.Interval | None"

# Separator of members. A comma is part of many values.
_BETWEEN = " | "

# So many whole numbers in a row are written as a range.
_RUN = 3


def codebook(
    problem: AnonymizationProblem,
    x: ArrayLike | Choice,
    *,
    suppressed: str = "mark",
    recoding: str | None = None,
    keep: Name | Sequence[Name] | Mapping[Name, str | Kept | None] = (),
) -> pd.DataFrame:
    """Return the values behind every label of a release.

    Args:
        problem: The problem.
        x: The point that is released, as `release` takes it.
        suppressed: What becomes of suppressed rows, "mark" or "drop". Marked ones are counted with the label `*`.
        recoding: "local" where the point is refined, as `release` takes it.
        keep: What columns are kept, as `release` takes it. Those that are made coarser follow, without a share of rows:
            the labels of a level, or a row that says what becomes of numbers.

    Returns:
        A row for each quasi-identifier and label that the release holds, in the order of the table and of the domain:
        `column`; `label`, as it stands in the release; `members`, the values of the domain that have it, runs of whole
        numbers as ranges; `level`, None in a search space without levels, in a local recoding the lowest that has the
        label; `share of rows`, of the released ones.

    Raises:
        ValueError: x is no point of the problem, or `suppressed` is neither.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    >>> problem = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
    >>> book = codebook(problem, problem.lengths - 1)
    >>> book[book.column == "age"].members.tolist()
    ['17–59', '60–90']
    """
    one_of("suppressed", suppressed, HOW_RELEASED)
    made, classes = decoded_point(problem, x, recoding)
    return codebook_of(problem, x.x if isinstance(x, Choice) else x, made, classes, suppressed == "mark", kept_of(keep))


def rows_by_label(made: Decoded, classes: EquivalenceClasses) -> dict[Name, Ints]:
    """Count the rows with each label of each quasi-identifier, without suppressed ones."""
    sizes = np.where(classes.kept, classes.sizes, 0)
    return {
        name: np.bincount(groups_of(classes, j).cells, sizes, len(made.labels[name])).astype(np.int64)
        for j, name in enumerate(classes.tuples.names)
    }


def codebook_of(
    problem: AnonymizationProblem,
    x: ArrayLike,
    made: Decoded,
    classes: EquivalenceClasses,
    are_marked: bool,
    kept: Mapping[Name, Kept] = MappingProxyType({}),
) -> pd.DataFrame:
    """Return the codebook of a finished release."""
    marked, held, rows = int(classes.n_suppressed[0]) if are_marked else 0, rows_by_label(made, classes), []
    n_rows = max(int(classes.sizes[classes.kept].sum()) + marked, 1)
    for j, (name, hierarchy) in enumerate(problem.table.quasi_identifiers.items()):
        texts = [label_text(label) for label in made.labels[name]]
        if isinstance(made, Generalization):
            levels = [int(np.ravel(x)[j]) if isinstance(problem, LatticeProblem) else None] * len(texts)
            # A level may have * for some values only: nobody tells these rows from marked ones.
            mixed = are_marked and len(texts) > 1
        else:
            levels, mixed = hierarchy.nodes.level.tolist(), marked > 0
        groups, counts = groups_of(classes, j), held[name]
        order = np.argsort(groups.places)
        if SUPPRESSED in texts:
            counts[texts.index(SUPPRESSED)] += marked
        for group in np.flatnonzero(counts).tolist():
            members = members_of(hierarchy, np.sort(order[groups.first[group] : groups.stop[group]]))
            members += f"{_BETWEEN}{EVERYTHING}" if mixed and texts[group] == SUPPRESSED else ""
            rows.append((name, texts[group], members, levels[group], counts[group] / n_rows))
        if marked and SUPPRESSED not in texts:
            members = f"{members_of(hierarchy, range(hierarchy.n_values))}{_BETWEEN}{EVERYTHING}"
            rows.append((name, SUPPRESSED, members, None, marked / n_rows))
    rows += [row for name, own in kept.items() for row in _of_kept(name, own)]
    book = pd.DataFrame(rows, columns=["column", "label", "members", "level", "share of rows"], dtype=object)
    return book.astype({"share of rows": float})


def about_single_rows(table: Microdata) -> str:
    """Warn of a codebook that lists values of single rows."""
    # Such domains hold no other value than the rows, and a tenth of theirs once.
    rows = {str(name): table.tuples.totals(name) for name in table.quasi_identifiers}
    single = [name for name, own in rows.items() if (np.quantile(own, [0, 0.1]) == 1).all()]
    hint = "Keep it to yourself, or let these hierarchies hold all values that there are."
    return f"The codebook lists values of single rows of {listed(single)}. {hint}" if single else ""


def _of_kept(name: Name, kept: Kept) -> Iterator[tuple[Name, str | None, str, int | None, float]]:
    if kept.hierarchy is not None and kept.level is not None:
        places = by_group(kept.hierarchy.groups[kept.level])
        for label, own in zip(kept.hierarchy.labels[kept.level], places, strict=True):
            yield name, label_text(label), members_of(kept.hierarchy, own), kept.level, np.nan
    elif kept.words:
        yield name, NUMBERS, kept.words, None, np.nan


def members_of(hierarchy: Hierarchy, places: Sequence[int] | Ints) -> str:
    """Spell the values at some places of a domain. `read_members` reads them again."""
    if hierarchy.bins is not None:
        return _BETWEEN.join(
            label_text(hierarchy.bins.label(run[0], run[-1]) if run[-1] < len(hierarchy.bins) else None) or _MISSING
            for run in _runs([int(place) for place in places], len(hierarchy.bins))
        )
    values = [hierarchy.domain[place] for place in places]
    numbers = [_whole_number(value) for value in values]
    if None in numbers:
        return _BETWEEN.join(_MISSING if value is None else _unambiguous(label_text(value) or "") for value in values)
    told = []
    for run in _runs(sorted(number for number in numbers if number is not None)):
        told += [f"{run[0]}–{run[-1]}"] if len(run) >= _RUN else [str(number) for number in run]
    return _BETWEEN.join(told)


_MISSING, _EMPTY = "(missing)", "(empty)"

# Texts that would be read as something else.
_WHOLE_RUN = re.compile(r"(-?\d+)–(-?\d+)")
_NUMBERS_BETWEEN = re.compile(r"([\[(])([-+.\de]+), ([-+.\de]+)[\])]")
# A member, in quotes or plain, up to the next one.
_MEMBER = re.compile(r'("(?:[^"\\]|\\.)*"|(?!").+?)(?: \| |\Z)', re.DOTALL)


def _unambiguous(text: str) -> str:
    """Quote a value that would be read as something else."""
    if not text:
        return _EMPTY
    # A separator may begin in the text.
    odd = text[0] == '"' or _BETWEEN in f"{text} " or _WHOLE_RUN.fullmatch(text) or _NUMBERS_BETWEEN.fullmatch(text)
    return json.dumps(text, ensure_ascii=False) if odd or text in (_MISSING, _EMPTY, EVERYTHING) else text


def read_members(members: str) -> list[Meaning]:
    """Read the values behind a label.

    A missing value is None. A label that stands for any value gives none.

    >>> read_members("17–59 | 61 | (missing)"), read_members("[0.5, 1.5)")
    ([range(17, 60), '61', None], [Interval(0.5, 1.5, closed='left')])
    """
    texts = _MEMBER.findall(members) if isinstance(members, str) else []
    with suppress(ValueError):
        found = [_read_member(text) for text in texts if text != EVERYTHING]
        if texts and _BETWEEN.join(texts) == members:
            return found
    raise ValueError(f"members must be spelled as in a codebook, which is read as text, got {members!r:.80}")


def _read_member(text: str) -> Meaning:
    if text.startswith('"'):
        return str(json.loads(text))
    if run := _WHOLE_RUN.fullmatch(text):
        numbers = range(int(run[1]), int(run[2]) + 1)
        if not numbers:
            raise ValueError(text)
        return numbers
    if between := _NUMBERS_BETWEEN.fullmatch(text):
        low, high = float(between[2]), float(between[3])
        if not low < high:
            raise ValueError(text)
        return pd.Interval(low, high, closed="left" if between[1] == "[" else "right")
    return None if text == _MISSING else "" if text == _EMPTY else text


def _whole_number(value: Hashable) -> int | None:
    """Return the whole number of a plain spelling, or None."""
    found = spelled(value, int)
    return int(found) if is_whole(found) and str(found) == str(value) else None


def _runs(numbers: Sequence[int], alone: int | None = None) -> Iterator[list[int]]:
    for _, own in groupby(enumerate(numbers), key=lambda pair: (pair[1] - pair[0], pair[1] == alone)):
        yield [number for _, number in own]


# --- guaranteed counts, sums and means --------------------------------------------------------------------------------

#: Values behind labels: a codebook, or a hierarchy for each generalized column.
Meanings: TypeAlias = "pd.DataFrame | Mapping[Name, Hierarchy]"


class Guarantee(NamedTuple):
    """An answer: its least and greatest value, and an estimate between them."""

    least: float
    most: float
    estimate: float


def guaranteed_counts(release: Any, meanings: Meanings, where: Mapping[Name, Any] | None = None) -> Guarantee:
    """Count the rows that meet some conditions, from a released table alone.

    The true count of the rows behind the release lies between `least` and `most`. The estimate spreads every row evenly
    over the values of its cells. Suppressed rows count where they are marked, and are unknown where they were dropped.

    Args:
        release: The released table, a frame of any kind.
        meanings: The codebook of the release, read as text; or a hierarchy for each generalized column.
        where: By column a value, a collection of values, or a `pandas.Interval` of numbers or days. Each row has to
            meet all of them; None counts all rows. 170 is 170.0, too, and not 0170; True is true and TRUE.

    Returns:
        The least, the greatest and the estimated number of rows.

    Raises:
        KeyError: The release lacks a column.
        ValueError: A label has no meaning, a condition names the label of several values, an interval is of neither
            numbers nor days, the column writes these in another way, such as 1,5 and 05.03.2021, or its numbers are
            rounded.

    >>> sexes = Hierarchy.flat(["Female", "Male"])
    >>> frame = pd.DataFrame({"sex": ["Female", "*", "Male"]})
    >>> guaranteed_counts(frame, {"sex": sexes}, {"sex": "Female"})
    Guarantee(least=1.0, most=2.0, estimate=1.5)
    """
    return Answers(release, meanings, where or {}).count()


def guaranteed_sums(
    release: Any, meanings: Meanings, column: Name, where: Mapping[Name, Any] | None = None
) -> Guarantee:
    """Sum a column over the rows that meet some conditions.

    Args:
        release: The released table.
        meanings: The codebook, or hierarchies.
        column: The column of numbers. Rows without a number add nothing. Codes, told by a leading 0 or by the name of
            the column, give a warning.
        where: The conditions.

    Returns:
        The least, the greatest and the estimated sum.

    Raises:
        KeyError: The release lacks a column.
        ValueError: As `guaranteed_counts`, or the column holds days, or texts and no number.
    """
    return Answers(release, meanings, where or {}, [column]).sum()


def guaranteed_means(
    release: Any, meanings: Meanings, column: Name, where: Mapping[Name, Any] | None = None
) -> Guarantee:
    """Average a column over the rows that meet some conditions.

    Arguments and errors are those of `guaranteed_sums`.

    Returns:
        The least, the greatest and the estimated mean, NaN where no row can meet the conditions.
    """
    return Answers(release, meanings, where or {}, [column]).mean()


class _Match(NamedTuple):
    """The values behind a label that meet a condition."""

    n: float  # Their number; of a bin the length
    size: float  # The number of all values behind the label
    met: bool  # Whether one may meet the condition
    always: bool  # Whether all meet it
    numbers: float = 0  # How many of them are numbers
    total: float = 0  # The sum of these numbers
    low: float = inf  # The least number
    high: float = -inf  # The greatest number


# A row of unknown values may be anything.
_ANYTHING = _Match(0.5, 1, True, False, 0, 0, -inf, inf)

_Wanted: TypeAlias = "frozenset[str | None] | pd.Interval | None"


class Answers:
    """The distinct cells of a release as certain and possible answers."""

    def __init__(self, release: Any, meanings: Meanings, where: Mapping[Name, Any], of: Sequence[Name] = ()) -> None:
        if not isinstance(meanings, pd.DataFrame | Mapping):
            raise TypeError(f"meanings must be a codebook in pandas or hierarchies by column, got {meanings!r:.80}")
        if not isinstance(where, Mapping):
            raise TypeError(f"where must be a dict of columns and their values, got {where!r:.80}")
        asked = dict.fromkeys([*where, *of]) | {name: _wanted(name, value) for name, value in where.items()}
        there = opened(release)[1]
        if lacking := [name for name in asked if name not in there]:
            raise KeyError(f"release must have the columns {examples(lacking)}, got columns {examples(there)}")
        # Without conditions any column counts the rows.
        rows = combinations(release, list(asked) or there[:1])
        self.n = rows.n.to_numpy(dtype=float)
        self.shares, (self.certain, self.possible) = np.ones(len(rows)), np.ones((2, len(rows)), dtype=bool)
        for i, (name, wanted) in enumerate(asked.items()):
            codes, labels = pd.factorize(rows[f"column {i}"])
            parts = _parts_of(name, labels, meanings)
            if name in of or isinstance(wanted, pd.Interval):
                values = list(dict.fromkeys(part for own in parts for part in own if part))
                _check_spelling(name, values, name in of)
            if isinstance(wanted, frozenset):
                wanted = _as_written(wanted, {part for own in parts for part in own if isinstance(part, str)})
            found = [_matched(own, wanted) for own in parts]
            others = {label for label, own in zip(labels, found, strict=True) if not own.met}
            if isinstance(wanted, frozenset) and (several := sorted(filter(None, wanted & others))):
                raise ValueError(f"where must ask {name!r} for values, got labels of several: {examples(several)}")
            self.certain &= np.array([own.always for own in found])[codes]
            self.possible &= np.array([own.met for own in found])[codes]
            if name in of:
                read = np.array([(own.low, own.high, own.numbers / own.size, own.total / own.size) for own in found])
                self.low, self.high, self.numbers, self.totals = read[codes].T
                self.certain &= self.numbers == 1
                self.possible &= self.low <= self.high
            else:
                self.shares *= np.array([own.n / own.size for own in found])[codes]

    def count(self) -> Guarantee:
        """Return the number of rows that meet all conditions."""
        least, most = (float(self.n[rows].sum()) for rows in (self.certain, self.possible))
        return Guarantee(least, most, float(self.n @ self.shares))

    def sum(self) -> Guarantee:
        """Return the sum of the column over these rows."""
        rows = self.possible
        least = np.where(self.certain, self.low, np.minimum(self.low, 0))[rows]
        most = np.where(self.certain, self.high, np.maximum(self.high, 0))[rows]
        estimate = (self.n * self.shares * self.totals)[rows].sum()
        return Guarantee(float(self.n[rows] @ least), float(self.n[rows] @ most), float(estimate))

    def mean(self) -> Guarantee:
        """Return the mean of the column over these rows."""
        rows, spread = self.possible, self.n * self.shares
        held = float((spread * self.numbers)[rows].sum())
        estimate = float((spread * self.totals)[rows].sum()) / held if held else nan
        return Guarantee(self._least_mean(self.low), -self._least_mean(-self.high), estimate)

    def _least_mean(self, numbers: Floats) -> float:
        """Return the least mean with any of the possible rows."""
        some = np.flatnonzero(self.possible & ~self.certain)
        some = some[np.argsort(numbers[some])]
        sure = self.n[self.certain]
        n = np.cumsum([sure.sum(), *self.n[some]])
        totals = np.cumsum([sure @ numbers[self.certain], *(self.n * numbers)[some]])
        return float((totals[n > 0] / n[n > 0]).min()) if n[-1] > 0 else nan


def _check_spelling(name: Name, values: Sequence[Meaning], are_summed: bool) -> None:
    """Refuse unreadable values of sums and ranges, and warn of sums of codes."""
    # No other answer loads the words of many languages.
    from pymoo_anon.table.draft_levels import looks_like_a_date
    from pymoo_anon.table.drafts import names_codes

    texts = [value for value in values if isinstance(value, str)]
    unread = [text for text in texts if number_or_day(text) is None]
    numbers, _ = read_numbers(unread, [1] * len(unread))
    other = [text for text, own in zip(unread, numbers, strict=True) if own is not None or looks_like_a_date(text)]
    whole = [str(value.start) for value in values if isinstance(value, range)]
    if read_numbers(texts + whole, [1] * len(texts + whole))[1] == ",":
        # In 950 and 1.204 the point groups thousands.
        other += [text for text in texts if "." in text and number_or_day(text) is not None]
    if other:
        raise ValueError(
            f"column {name!r} must write numbers like 1234.5 and days like 2021-03-05 to be summed or asked for a "
            f"range, got {examples(other)}"
        )
    if are_summed:
        days = [text for text in texts if is_day(text)]
        are_words = len(texts) == len(values) and not any(is_number(spelled(text, float)) for text in texts)
        if wrong := days or (values if are_words else []):
            raise ValueError(f"column {name!r} must hold numbers to be summed, got {examples(wrong)}")
    if are_summed and (names_codes(str(name)) or any(map(has_leading_zero, texts))):
        warnings.warn(f"column {name!r} looks like a code: its sum and its mean tell nothing", stacklevel=4)


def _parts_of(name: Name, labels: Any, meanings: Meanings) -> list[list[Meaning]]:
    """Return the values behind each label, none for unknown ones."""
    texts = [None if label is MISSING else label_text(label) for label in labels]
    known = _labels_of(name, meanings)
    if not known:
        # In CSV a missing value and an empty text are one.
        empty: list[Meaning] = [""] if None in texts else ["", None]
        return [empty if text == "" else [text] for text in texts]
    if NUMBERS in known:
        raise ValueError(f"column {name!r} holds numbers {known[NUMBERS][0]}, of which nothing is certain")
    # A missing value of a kept column has no label of its own.
    known.setdefault("", [None])
    if lacking := [text for text in texts if (text or "") not in known]:
        raise ValueError(
            f"labels of {name!r} must be in the codebook or hierarchy, got {examples(lacking)}; read both files as text"
        )
    return [known[text or ""] for text in texts]


def _labels_of(name: Name, meanings: Meanings) -> dict[str, list[Meaning]]:
    """Return the values behind all labels of a column. A missing label is an empty text."""
    known: dict[str, list[Meaning]] = {}
    if isinstance(meanings, pd.DataFrame):
        if lacking := [key for key in ("column", "label", "members") if key not in meanings]:
            raise ValueError(f"meanings must be a codebook with the columns {examples(lacking)}, got none of them")
        own = meanings[meanings["column"] == name]
        spelled_labels: Iterable[tuple[Any, str]] = zip(own["label"], own["members"], strict=True)
    elif name in meanings:
        spelled_labels = _of_hierarchy(meanings[name])
    else:
        return known
    for label, members in spelled_labels:
        text = "" if is_missing(label) else label_text(label) or ""
        known.setdefault(text, []).extend(read_members(members))
    return known


def _of_hierarchy(hierarchy: Hierarchy) -> Iterator[tuple[Any, str]]:
    for groups, labels in zip(hierarchy.groups, hierarchy.labels, strict=True):
        yield from zip(labels, (members_of(hierarchy, places) for places in by_group(groups)), strict=True)
    yield SUPPRESSED, members_of(hierarchy, range(hierarchy.n_values))


def _wanted(name: Name, value: Any) -> _Wanted:
    if isinstance(value, pd.Interval):
        ends = number_or_day(label_text(value.left)), number_or_day(label_text(value.right))
        if None in ends:
            raise ValueError(f"where must have intervals of numbers or days, got {value} for {name!r}")
        return pd.Interval(*ends, closed=value.closed)
    values = value if pd.api.types.is_list_like(value) else [value]
    return frozenset(None if is_missing(one) else label_text(one) for one in values)


def _as_written(wanted: frozenset[str | None], texts: Set[str]) -> frozenset[str | None]:
    """Add other spellings of numbers, truths and moments, such as 170.0 and TRUE, where none is as asked."""
    found = set(wanted)
    for one in wanted - texts:
        if (one or "").casefold() in ("true", "false"):
            found |= {text for text in texts if text.casefold() == (one or "").casefold()}
        if (day := day_of(one)) is not None:
            moment = pd.to_datetime(str(one), errors="coerce")
            found |= {text for text in texts if day_of(text) == day and pd.to_datetime(text, errors="coerce") == moment}
        number = None if has_leading_zero(one) else spelled(one, Decimal)
        if isinstance(number, Decimal):
            alike = (text for text in texts if spelled(text, Decimal) == number and not has_leading_zero(text))
            found |= {label_text(number), *alike}
    return frozenset(found)


def number_or_day(text: str | None) -> float | None:
    """Return the number of a text or day, or None."""
    if is_day(text):
        return float(day_of(text).toordinal())  # type: ignore[union-attr]
    found = spelled(text, float)
    return float(found) if is_number(found) else None


def _matched(parts: Sequence[Meaning], wanted: _Wanted) -> _Match:
    found = [_matched_part(part, wanted) for part in parts]
    if not found:
        return _ANYTHING
    n, size, met, always, numbers, total, low, high = zip(*found, strict=True)
    return _Match(sum(n), sum(size), any(met), all(always), sum(numbers), sum(total), min(low), max(high))


def _matched_part(part: Meaning, wanted: _Wanted) -> _Match:
    if isinstance(part, range):
        own = _within(part, wanted)
        ends = (own[0], own[-1]) if own else (inf, -inf)
        return _Match(len(own), len(part), len(own) > 0, len(own) == len(part), len(own), sum(own), *ends)
    if isinstance(part, pd.Interval):
        return _matched_bin(part, wanted)
    number = number_or_day(part)
    met = wanted is None or (
        part in wanted if isinstance(wanted, frozenset) else number is not None and number in wanted
    )
    if number is None or not met:
        return _Match(met, 1, met, met)
    return _Match(1, 1, True, True, 1, number, number, number)


def _within(run: range, wanted: _Wanted) -> Sequence[int]:
    """Return the whole numbers of a run that are wanted, ascending."""
    if wanted is None:
        return run
    if isinstance(wanted, frozenset):
        return [number for number in run if str(number) in wanted]
    low = floor(wanted.left) + 1 if wanted.open_left else ceil(wanted.left)
    high = ceil(wanted.right) - 1 if wanted.open_right else floor(wanted.right)
    return range(max(low, run.start), min(high + 1, run.stop))


def _matched_bin(part: pd.Interval, wanted: _Wanted) -> _Match:
    if isinstance(wanted, frozenset):
        held = [number for text in wanted if (number := number_or_day(text)) is not None and number in part]
        return _Match(0, part.length, bool(held), False, 0, 0, min(held, default=inf), max(held, default=-inf))
    if wanted is None:
        wanted = part
    if not part.overlaps(wanted):
        return _Match(0, part.length, False, False)
    low, high = max(part.left, wanted.left), min(part.right, wanted.right)
    always = low == part.left and high == part.right
    always &= not (part.closed_left and wanted.left == low and wanted.open_left)
    always &= not (part.closed_right and wanted.right == high and wanted.open_right)
    return _Match(high - low, part.length, True, always, high - low, (high - low) * (low + high) / 2, low, high)
