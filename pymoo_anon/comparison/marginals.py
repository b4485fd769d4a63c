"""What a release keeps of one and of two columns at a time: distances of their distributions, and means."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pandas as pd

from pymoo_anon.comparison.boxes import Boxes, Column, Ints, Values, numbers_of, of_release, of_table
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.numbering import row_ids
from pymoo_anon.table.domain_values import is_day
from pymoo_anon.table.microdata import Microdata

# So many cells of a table of two columns are held at once.
_CELLS = 1 << 22


def total_variation(table: Microdata, classes: EquivalenceClasses, suppressed: str = "mark") -> pd.DataFrame:
    """How far the distributions of single columns and of pairs are from those of the table.

    The distance is the total variation, half the sum of all differences of shares: by so much at most the share of any
    set of values differs. Rows of a release are spread evenly over the values of their groups, rows of `*` over the
    domain. Shares are of the rows that are released.

    Args:
        table: The table.
        classes: The equivalence classes of the release, `problem.equivalence_classes(x)`.
        suppressed: What becomes of suppressed rows: "mark" releases them as `*`, "drop" leaves them out.

    Returns:
        A row and a column for each quasi-identifier: the distance of the pair or, in the diagonal, of the one, from 0
        to 1; lower is better. Where no row is released all are 1.

    Raises:
        ValueError: The classes are not of one generalization of the table, or `suppressed` is something else.
    """
    before, after = of_table(table), of_release(table, classes, suppressed)
    names = list(table.quasi_identifiers)
    found = np.zeros((len(names), len(names)))
    for i, j in combinations_with_replacement(range(len(names)), 2):
        found[i, j] = found[j, i] = _distance(before, after, i, j)
    index = pd.Index(names, tupleize_cols=False)
    return pd.DataFrame(found, index, index)


def means(table: Microdata, classes: EquivalenceClasses, suppressed: str = "mark") -> pd.DataFrame:
    """The means of the columns of numbers, before and after. Arguments and errors are those of `total_variation`.

    A group counts as its midpoint, the middle between its least and its greatest number, as somebody reads "15–19" who
    has nothing else; so does a bin of the domain, before as after, and `*` as the midpoint of the domain.

    Returns:
        One row for each quasi-identifier whose domain is numbers, be they text or bins. The columns "before" and
        "after" are means of the rows that have a number; NaN where none has.
    """
    before, after = of_table(table), of_release(table, classes, suppressed)
    found = {}
    for j, (name, hierarchy) in enumerate(table.quasi_identifiers.items()):
        numbers = numbers_of(hierarchy)
        if numbers is not None and not any(map(is_day, hierarchy.domain)):
            found[name] = [_mean(own.rows, own.columns[j].midpoints(numbers)) for own in (before, after)]
    index = pd.Index(list(found), tupleize_cols=False)
    return pd.DataFrame(np.reshape([*found.values()], (-1, 2)), index, ["before", "after"])


def _mean(rows: Ints, numbers: Values) -> float:
    """The mean of the rows that have a number."""
    there = ~np.isnan(numbers)
    return float(rows[there] @ numbers[there] / rows[there].sum()) if rows[there].any() else np.nan


def _narrowed(codes: Ints, after: Column) -> Column:
    """A column of a release among the values that have these codes, and the place of each of these."""
    held, places = np.unique(after.places[codes], return_inverse=True)
    return Column(places, np.searchsorted(held, after.first), np.searchsorted(held, after.stop), after.cells)


def _distance(before: Boxes, after: Boxes, i: int, j: int) -> float:
    """The total variation of two columns, or of one where they are the same.

    Both distributions sum up to 1, so half the sum of all differences is the sum of those where the table has more. So
    only cells are looked at that hold rows of the table.
    """
    x, y = after.columns[i], after.columns[j]
    density = after.rows / (x.stop - x.first)[x.cells]
    pairs = np.column_stack([before.columns[i].cells, before.columns[j].cells])
    if i == j:
        # Beside a column of one value it is alone.
        pairs[:, 1], y = 0, Column(np.array([0]), np.array([0]), np.array([1]), np.zeros_like(x.cells))
    density /= (y.stop - y.first)[y.cells]
    ids, some = row_ids(pairs, (len(x.places), len(y.places)))
    missing = np.bincount(ids, before.rows) / before.rows.sum()
    x, y = _narrowed(pairs[some, 0], x), _narrowed(pairs[some, 1], y)
    n, width = int(x.places.max()) + 1, int(y.places.max()) + 1
    height = min(max(_CELLS // (width + 1), 1), n)
    # Some values of the first column at a time.
    for low in range(0, n, height):
        # Each box adds its density from its corner on, and takes it away again beyond its edges.
        spread = np.zeros((height + 1, width + 1))
        for ends, sign in ((x.first, density), (x.stop, -density)):
            rows = np.clip(ends - low, 0, height)[x.cells]
            np.add.at(spread, (rows, y.first[y.cells]), sign)
            np.add.at(spread, (rows, y.stop[y.cells]), -sign)
        spread = spread.cumsum(axis=0).cumsum(axis=1)
        here = (x.places >= low) & (x.places < low + height)
        missing[here] -= spread[x.places[here] - low, y.places[here]] / max(int(after.rows.sum()), 1)
    return float(np.maximum(missing, 0).sum())
