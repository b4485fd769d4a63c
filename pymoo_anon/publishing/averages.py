"""Microaggregation: numbers as the means of small groups of rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon._messages import positive_whole
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.publishing.keeping import Kept
from pymoo_anon.publishing.recoding import Recoding, complete_rows, lookup
from pymoo_anon.table.domain_values import Name, is_missing
from pymoo_anon.table.frames import Frame, Renamed, combinations_of, distinct_rows, held
from pymoo_anon.table.generalization import Decoded
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints


def averaged(
    source: Renamed, table: Microdata, made: Decoded, classes: EquivalenceClasses, kept: Mapping[Name, Kept]
) -> Renamed:
    """Return the frame with class means in columns that ask for them.

    Suppressed rows are one class. Means are exact but for the last rounding, so that columns keep their totals.

    Raises:
        ValueError: A column holds something else than numbers.
    """
    names = [name for name, own in kept.items() if own.mean]
    if not names:
        return source
    assert classes.class_of is not None
    rows = complete_rows(source, table)
    values = held(distinct_rows(rows, [source.alias(name) for name in table.quasi_identifiers]))
    # One number for all suppressed classes.
    numbers = np.where(classes.kept, np.arange(len(classes.kept)), -1)[classes.class_of[0]]
    recoding = Recoding(source, table, made, classes, "mark", values)
    frame = held(recoding.with_class(rows, numbers))
    columns = frame.collect_schema().names()
    for name in names:
        column = source.alias(name)
        means = _means(frame, column, name, kept[name])
        found: dict[str, list[Any]] = {
            "known": list(means),
            "mean": [np.format_float_positional(float(one), trim="-") for one in means.values()],
        }
        small = lookup(values, found, {"known": nw.Int64, "mean": nw.String})
        joined = frame.join(small, left_on="class", right_on="known", how="left")
        mean = nw.col("mean").cast(nw.Float64) if frame.collect_schema()[column].is_numeric() else nw.col("mean")
        frame = joined.with_columns(mean.alias(column)).select(columns)
    return replace(source, frame=frame.select(source.frame.collect_schema().names()))


def _means(frame: Frame, column: str, name: Name, own: Kept) -> dict[int, Fraction]:
    found = combinations_of(frame.select("class", column).to_native(), ["class", column])
    values = found.columns[column].tolist()
    if any(map(is_missing, values)):
        raise ValueError(f"column {name!r} must hold a number in every row to be {own.words}, got rows without one")
    sums: defaultdict[int, Fraction] = defaultdict(Fraction)
    rows: defaultdict[int, int] = defaultdict(int)
    for place, number, n in zip(found.columns["class"], own.numbers(name, values), found.weights.tolist(), strict=True):
        sums[int(place)] += number * n
        rows[int(place)] += n
    return {place: total / rows[place] for place, total in sums.items()}


def mdav(values: ArrayLike, k: int) -> Ints:
    """Group rows of numbers by their distances.

    A group has k to 2k - 1 rows. Maximum distance to average vector (Domingo-Ferrer and Torra 2005, Algorithm
    MDAV-generic). The row that is farthest from the mean takes its k - 1 nearest rows along, then the row that is
    farthest from this one. Of equal distances the first row counts. Scale columns of different units before.

    Args:
        values: (n,) or (n, n_columns) array of finite numbers.
        k: The least number of rows in a group, at most n.

    Returns:
        (n,) int64 array, the group of each row from 0 on.

    Raises:
        ValueError: The values are no such array, or `k` is no whole number from 1 to n.

    >>> mdav([1, 9, 2, 8, 1.5, 10, 2.5], 3)
    array([1, 0, 1, 0, 1, 0, 1])
    """
    X: Any = np.asarray(values, dtype=float)
    X = X[:, np.newaxis] if X.ndim == 1 else X
    if X.ndim != 2 or not np.isfinite(X).all():
        raise ValueError(f"values must be an array of finite numbers with one or two axes, got shape {X.shape}")
    if positive_whole("k", k) > len(X):
        raise ValueError(f"k must be at most the {len(X):,} rows, got {k}")
    groups, left, n_groups = np.zeros(len(X), dtype=np.int64), np.arange(len(X)), 0
    while len(left) >= 2 * k:
        first = left[_distances(X[left], X[left].mean(axis=0)).argmax()]
        second = left[_distances(X[left], X[first]).argmax()]
        # Of fewer than 3k rows one group is taken, and the rest is the last.
        for center in (first, second)[: 2 if len(left) >= 3 * k else 1]:
            members = left[np.argsort(_distances(X[left], X[center]), kind="stable")[:k]]
            groups[members] = n_groups
            left, n_groups = np.setdiff1d(left, members, assume_unique=True), n_groups + 1
    groups[left] = n_groups
    return groups


def _distances(rows: Floats, center: Floats) -> Floats:
    squares: Floats = ((rows - center) ** 2).sum(axis=1)
    return squares
