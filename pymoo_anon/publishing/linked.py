"""Recount of joint classes, from the rows of several releases.

Rows are linked by the row of the original that they were made of, as an attacker may who has all releases.
"""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw
import numpy as np
import pandas as pd

from pymoo_anon.objectives.recount import Recount
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.releases import point_of
from pymoo_anon.publishing.recoding import Recoding, decoded_point
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import COUNT, Renamed, combinations_of, renamed
from pymoo_anon.table.generalization import SUPPRESSED
from pymoo_anon.typing import Bools


def linked_rows(
    own: Recoding, problem: AnonymizationProblem, original: Renamed, columns: Sequence[Name]
) -> Recount | None:
    """Return the rows of all releases as their joint classes.

    The result is None if a release is known by its classes alone.

    Args:
        own: The recoding of the last release, which says what becomes of rows that are suppressed in all.
        problem: The problem of the last release, with the earlier ones.
        original: The complete rows.
        columns: The columns of the original that are counted.
    """
    points = [point for one in problem.earlier if (point := point_of(one)) is not None]
    if len(points) < len(problem.earlier):
        return None
    names, columns = list(problem.table.quasi_identifiers), list(dict.fromkeys(columns))
    found = combinations_of(original, [*names, *columns])
    rows = renamed(pd.DataFrame({j: found.columns[name] for j, name in enumerate([*names, *columns])}))
    rows = Renamed(rows.frame, (*names, *columns), rows.kind)
    made = [decoded_point(before, x, None) for before, x in points] + [(own.generalization, own.classes)]
    releases = [_label_columns(Recoding(rows, own.table, *one, "mark", rows.frame)) for one in made]
    # Rows that are suppressed in all releases are a class where they are marked.
    kept = ~np.all([_marked(one) for one in releases], axis=0) | (own.suppressed == "mark")
    cells = [column for one in releases for column in one]
    values = [*cells, *(found.columns[name] for name in columns)]
    frame = pd.DataFrame({f"column {i}": pd.Series(column)[kept] for i, column in enumerate(values)})
    frame[COUNT] = found.weights[kept]
    places = [(place,) for place in range(len(cells))]
    released = Renamed(nw.from_native(frame), (*places, *columns), pd.DataFrame)
    return Recount(released, places, columns, original, sensitive=own.table.sensitive)


def _label_columns(recoding: Recoding) -> list[pd.Series]:
    """Return the labels of all rows in one release, column by column."""
    source, names = recoding.source, list(recoding.table.quasi_identifiers)
    frame = recoding.applied(source.frame, names)
    return [frame[source.alias(name)].to_pandas().reset_index(drop=True) for name in names]


def _marked(cells: Sequence[pd.Series]) -> Bools:
    marked: Bools = np.all([column == SUPPRESSED for column in cells], axis=0)
    # Where the whole table is one group, its rows are not suppressed.
    return marked & ~marked.all()
