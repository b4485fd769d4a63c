"""Two releases side by side: classes, loss, and people."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymoo_anon.comparison.comparators import Comparator, Coverage, Dominance, Hypervolume, Minimum, Spread
from pymoo_anon.comparison.properties import ClassSize, Property, TupleLoss, TupleUtility
from pymoo_anon.comparison.uniques import SMALL_CLASSES
from pymoo_anon.comparison.utility import CountQueries
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.table.frames import combinations_of

#: Comparators that judge two releases, each in another way (Dewri et al. 2009).
JUDGES: tuple[Comparator, ...] = (Minimum(), Coverage(), Spread(), Hypervolume(), Dominance())


class BetterOff(NamedTuple):
    """People of a table under two releases, by one property."""

    property: str  # Name of the property
    first: int  # Rows that are better off with the first release
    second: int  # Rows that are better off with the second
    equal: int  # Rows that are as well off with both
    verdicts: dict[str, str]  # Verdict on the first release by each comparator: better, worse, equal, incomparable


def compare_sizes(releases: Mapping[str, Any], quasi_identifiers: Sequence[Hashable]) -> pd.DataFrame:
    """Compare releases by the sizes of their classes.

    Args:
        releases: By name a released table: pandas, or a frame that narwhals reads.
        quasi_identifiers: The columns that others may know.

    Returns:
        One row for each release. Columns: rows; classes; k, the smallest class; mean risk, the share of rows that
        somebody finds who picks one in each class, lower is better; below 2, below 5 and below 12, the numbers of rows
        in classes of fewer rows.

    Raises:
        KeyError: A release lacks a column.
        ValueError: A release has no row.

    >>> tables = {"a": pd.DataFrame({"zip": [1, 2, 2, 2]}), "b": pd.DataFrame({"zip": ["*"] * 4})}
    >>> compare_sizes(tables, ["zip"]).to_numpy().tolist()
    [[4.0, 2.0, 1.0, 0.5, 1.0, 4.0, 4.0], [4.0, 1.0, 4.0, 0.25, 0.0, 4.0, 4.0]]
    """
    rows = []
    for name, frame in releases.items():
        own = combinations_of(frame, list(quasi_identifiers)).weights
        if not len(own):
            raise ValueError(f"{name} must have at least one row, got none")
        n, below = int(own.sum()), {f"below {least}": int(own[own < least].sum()) for least in SMALL_CLASSES}
        rows.append({"rows": n, "classes": len(own), "k": int(own.min()), "mean risk": len(own) / n, **below})
    return pd.DataFrame(rows, index=pd.Index(list(releases), name="release", tupleize_cols=False))


def compare_uses(queries: CountQueries, classes: Mapping[str, EquivalenceClasses]) -> pd.DataFrame:
    """Compare releases of one table by loss and errors of counts.

    Args:
        queries: Counts that are asked of the table and its releases.
        classes: By name of a release its classes. Suppressed rows are `*`.

    Returns:
        One row for each release. Columns, all shares and lower is better: loss, of the detail; median and 90 %, the
        errors that half and nine in ten of the counts do not exceed.
    """
    n = len(queries.table.quasi_identifiers)
    found = queries.summary(dict(classes.items()))
    found.insert(0, "loss", [TupleLoss().measure(own).mean() / n for own in classes.values()])
    return found


def better_off(first: EquivalenceClasses, second: EquivalenceClasses) -> list[BetterOff]:
    """Count the people better off with each of two releases.

    They are so by the size of their class, and by the detail that is left of their row.

    Args:
        first: The classes of one release.
        second: The classes of another release of the same table.

    Raises:
        ValueError: The releases are of two tables.
    """
    if first.tuples is not second.tuples:
        raise ValueError("first and second must be releases of one table, got classes of two Microdata objects")
    properties: tuple[Property, ...] = (ClassSize(), TupleUtility())
    return [_better_off(own, first, second) for own in properties]


def _better_off(own: Property, first: EquivalenceClasses, second: EquivalenceClasses) -> BetterOff:
    d1, d2 = own.measure(first), own.measure(second)
    gains = np.sign(d1.oriented - d2.oriented)
    better, worse, equal = (int(d1.counts[gains == sign].sum()) for sign in (1, -1, 0))
    return BetterOff(own.label, better, worse, equal, {judge.name: judge.compare(d1, d2) for judge in JUDGES})
