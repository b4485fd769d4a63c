"""The codebook of a release: the values behind its labels."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pymoo_anon._messages import one_of
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.recount import by_group
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.publishing.keeping import Kept, kept_of
from pymoo_anon.publishing.recoding import decoded_point
from pymoo_anon.table.domain_values import Name, is_whole, label_text, spelled
from pymoo_anon.table.generalization import HOW_RELEASED, SUPPRESSED, Decoded, Generalization, LocalGeneralization
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Ints

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
    book = codebook_of(problem, x.x if isinstance(x, Choice) else x, made, classes, suppressed == "mark")
    rows = [row for name, own in kept_of(keep).items() for row in _of_kept(name, own)]
    return pd.concat([book, _frame(rows)], ignore_index=True) if rows else book


def codebook_of(
    problem: AnonymizationProblem, x: ArrayLike, made: Decoded, classes: EquivalenceClasses, are_marked: bool
) -> pd.DataFrame:
    """Return the codebook of a finished release."""
    assert classes.class_of is not None
    table = problem.table
    kept = table.tuples.counts * classes.kept[classes.class_of[0]]
    marked = int(classes.n_suppressed[0]) if are_marked else 0
    n_rows = max(int(kept.sum()) + marked, 1)
    rows = []
    for j, name in enumerate(table.quasi_identifiers):
        if isinstance(made, Generalization):
            level = int(np.ravel(x)[j]) if isinstance(problem, LatticeProblem) else None
            labels = _of_groups(made, table, j, kept, level)
            # A level may have * for some values only: nobody tells these rows from marked ones.
            mixed = are_marked and len(labels) > 1
        else:
            labels, mixed = _of_nodes(made, j, kept), marked > 0
        found = _released_labels(table.quasi_identifiers[name], labels, marked, mixed)
        rows += [(name, own, members, at, n / n_rows) for own, members, at, n in found]
    return _frame(rows)


def _frame(rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    book = pd.DataFrame(rows, columns=["column", "label", "members", "level", "share of rows"], dtype=object)
    return book.astype({"share of rows": float})


def _of_kept(name: Name, kept: Kept) -> Iterator[tuple[Name, str | None, str, int | None, float]]:
    if kept.hierarchy is not None and kept.level is not None:
        places = by_group(kept.hierarchy.groups[kept.level])
        for label, own in zip(kept.hierarchy.labels[kept.level], places, strict=True):
            yield name, label_text(label), members_of(kept.hierarchy, own), kept.level, np.nan
    elif kept.words:
        yield name, NUMBERS, kept.words, None, np.nan


def _released_labels(
    hierarchy: Hierarchy, labels: Sequence[_Label], marked: int, mixed: bool
) -> Iterator[tuple[str | None, str, int | None, float]]:
    for own, places, n, at in labels:
        n += marked if own == SUPPRESSED else 0
        if n:
            said = f"{_BETWEEN}{EVERYTHING}" if own == SUPPRESSED and mixed else ""
            yield own, members_of(hierarchy, places) + said, at, n
    if marked and SUPPRESSED not in [own.text for own in labels]:
        yield SUPPRESSED, f"{members_of(hierarchy, range(hierarchy.n_values))}{_BETWEEN}{EVERYTHING}", None, marked


class _Label(NamedTuple):
    """A label of a column: text, places of its values, rows, and level."""

    text: str | None
    places: Ints
    rows: float
    level: int | None


def _of_groups(made: Generalization, table: Microdata, j: int, kept: Ints, level: int | None) -> list[_Label]:
    name = list(made.labels)[j]
    groups, labels = made.groups[name], made.labels[name]
    counts = np.bincount(groups[table.tuples.codes[:, j]], kept, len(labels)).tolist()
    own = zip(labels, by_group(groups), counts, strict=True)
    return [_Label(label_text(label), places, n, level) for label, places, n in own]


def _of_nodes(made: LocalGeneralization, j: int, kept: Ints) -> list[_Label]:
    nodes = list(made.quasi_identifiers.values())[j].nodes
    counts = np.bincount(made.cells[:, j], kept, len(nodes)).tolist()
    own = zip(nodes.labels, nodes.first.tolist(), nodes.stop.tolist(), counts, nodes.level.tolist(), strict=True)
    return [_Label(label_text(label), np.sort(nodes.order[a:b]), n, level) for label, a, b, n, level in own]


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


def _unambiguous(text: str) -> str:
    """Quote a value that would be read as something else."""
    if not text:
        return _EMPTY
    odd = text[0] == '"' or _BETWEEN in text or _WHOLE_RUN.fullmatch(text) or _NUMBERS_BETWEEN.fullmatch(text)
    return json.dumps(text, ensure_ascii=False) if odd or text in (_MISSING, _EMPTY, EVERYTHING) else text


def read_members(members: str) -> list[Meaning]:
    """Read the values behind a label.

    A missing value is None. A label that stands for any value gives none.

    >>> read_members("17–59 | 61 | (missing)"), read_members("[0.5, 1.5)")
    ([range(17, 60), '61', None], [Interval(0.5, 1.5, closed='left')])
    """
    found: list[Meaning] = []
    while members:
        if members[0] == '"':
            text, end = json.JSONDecoder().raw_decode(members)
            found.append(text)
            members = members[end:].removeprefix(_BETWEEN)
        else:
            text, _, members = members.partition(_BETWEEN)
            found += [] if text == EVERYTHING else [_read_plain(text)]
    return found


def _read_plain(text: str) -> Meaning:
    if run := _WHOLE_RUN.fullmatch(text):
        return range(int(run[1]), int(run[2]) + 1)
    if between := _NUMBERS_BETWEEN.fullmatch(text):
        return pd.Interval(float(between[2]), float(between[3]), closed="left" if between[1] == "[" else "right")
    return None if text == _MISSING else "" if text == _EMPTY else text


def _whole_number(value: Hashable) -> int | None:
    """Return the whole number of a plain spelling, or None."""
    found = spelled(value, int)
    return int(found) if is_whole(found) and str(found) == str(value) else None


def _runs(numbers: Sequence[int], alone: int | None = None) -> Iterator[list[int]]:
    for _, own in groupby(enumerate(numbers), key=lambda pair: (pair[1] - pair[0], pair[1] == alone)):
        yield [number for _, number in own]
