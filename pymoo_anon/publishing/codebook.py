"""The codebook of a release: what every label that the release holds stands for."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.domain_values import is_whole, spelled
from pymoo_anon.table.generalization import SUPPRESSED, label_text
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.local import of_columns

#: What the codebook says of a `*` that suppressed rows have.
EVERYTHING = "any value: the row is suppressed"

# What stands between two members. A comma is part of many a value.
_BETWEEN = " | "

# So many whole numbers in a row are written as a range.
_RUN = 3


def codebook(problem: AnonymizationProblem, x: ArrayLike, *, suppressed: str = "mark") -> pd.DataFrame:
    """What every label of a release stands for.

    Args:
        problem: The problem.
        x: (n_var,) array, one row of `res.X`: the point that is released.
        suppressed: What becomes of suppressed rows, "mark" or "drop". Marked ones are counted with the label `*`.

    Returns:
        A row for each quasi-identifier and label that the release holds, in the order of the table and of the domain:
        `column`; `label`, as it stands in the release; `members`, the values of the domain that have it, runs of whole
        numbers as ranges; `level`, None in a search space without levels; `share of rows`, of the released ones.

    Raises:
        ValueError: x is no point of the problem, or `suppressed` is neither.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    >>> problem = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
    >>> book = codebook(problem, problem.lengths - 1)
    >>> book[book.column == "age"].members.tolist()
    ['17–59', '60–90']
    """
    if suppressed not in ("mark", "drop"):
        raise ValueError(f"suppressed must be 'mark' or 'drop', got {suppressed!r}")
    table, generalization, classes = problem.table, of_columns(problem.decode(x)), problem.equivalence_classes(x)
    assert classes.class_of is not None
    kept = table.tuples.counts * classes.kept[classes.class_of[0]]
    marked = int(classes.n_suppressed[0]) if suppressed == "mark" else 0
    n_rows = max(int(kept.sum()) + marked, 1)
    levels = np.asarray(x).tolist() if isinstance(problem, LatticeProblem) else [None] * len(generalization.labels)
    rows = []
    for j, (name, groups) in enumerate(generalization.groups.items()):
        counts = np.bincount(groups[table.tuples.codes[:, j]], kept, len(generalization.labels[name]))
        texts = [label_text(label) for label in generalization.labels[name]]
        hierarchy = table.quasi_identifiers[name]
        for group, (own, n) in enumerate(zip(texts, counts.tolist(), strict=True)):
            n += marked if own == SUPPRESSED else 0
            members = _members(hierarchy, np.flatnonzero(groups == group)) if n else ""
            if own == SUPPRESSED and suppressed == "mark" and len(texts) > 1:
                # A level may have * for some values only: nobody tells these rows from marked ones.
                members += f"{_BETWEEN}{EVERYTHING}"
            if n:
                rows.append((name, own, members, levels[j], n / n_rows))
        if marked and SUPPRESSED not in texts:
            rows.append((name, SUPPRESSED, EVERYTHING, None, marked / n_rows))
    made = pd.DataFrame(rows, columns=["column", "label", "members", "level", "share of rows"], dtype=object)
    return made.astype({"share of rows": float})


def _members(hierarchy: Hierarchy, places: Sequence[int] | np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    """The values at these places of a domain in one text."""
    if hierarchy.bins is not None:
        return _BETWEEN.join(
            label_text(hierarchy.bins.label(run[0], run[-1]) if run[-1] < len(hierarchy.bins) else None) or _MISSING
            for run in _runs([int(place) for place in places], len(hierarchy.bins))
        )
    values = [hierarchy.domain[place] for place in places]
    numbers = [_whole(value) for value in values]
    if None in numbers:
        return _BETWEEN.join(_MISSING if value is None else label_text(value) or _EMPTY for value in values)
    told = []
    for run in _runs(sorted(number for number in numbers if number is not None)):
        told += [f"{run[0]}–{run[-1]}"] if len(run) >= _RUN else [str(number) for number in run]
    return _BETWEEN.join(told)


_MISSING, _EMPTY = "(missing)", "(empty)"


def _whole(value: Hashable) -> int | None:
    """The whole number that a value is or spells; None where it is written otherwise, as 007 is."""
    found = spelled(value, int)
    return int(found) if is_whole(found) and str(found) == str(value) else None


def _runs(numbers: Sequence[int], alone: int | None = None) -> Iterator[list[int]]:
    """Ascending whole numbers, those together that follow one another; one number stands alone."""
    for _, own in groupby(enumerate(numbers), key=lambda pair: (pair[1] - pair[0], pair[1] == alone)):
        yield [number for _, number in own]
