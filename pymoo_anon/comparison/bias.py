"""Bias of an anonymization: the spread of a property.

Dewri et al. 2009 (*On the comparison of microdata disclosure control algorithms*, section 2) name it and ask for
measures of it. Everything here counts tuples (rows of the table): a value of a distinct tuple as often as it occurs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.comparison.properties import Property, PropertyVector, Vector, align, finite_values, quantiles, released
from pymoo_anon.table.domain_values import ROOT, is_whole
from pymoo_anon.table.generalization import ClassConstraint, Decoded, Suppression
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Array, Floats, Ints

#: The quantiles of a distribution by name, as shares of the tuples.
QUANTILES = {"minimum": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "maximum": 1.0}


def lorenz_curve(vector: Vector) -> Floats:
    """Return the sum's share of the tuples with least (Lorenz 1905).

    Args:
        vector: A `PropertyVector` or an (N,) array of non-negative values.

    Returns:
        (n + 1, 2) float array of a curve from (0, 0) to (1, 1): the share of the tuples, by ascending value, and their
        share of the sum; one point for each of the n different values. The diagonal where all are 0.

    Raises:
        ValueError: A value is negative, or the vector is empty or not finite.

    >>> lorenz_curve([3, 1, 1, 3]).tolist()
    [[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]]
    """
    values, counts = _ascending(vector)
    if values[0] < 0:
        raise ValueError(f"values for a Lorenz curve must not be negative, got {examples(values[values < 0].tolist())}")
    tuples = np.concatenate([[0], np.cumsum(counts)])
    # Divided by the largest value, so that the sums are floats however large the values are.
    relative = values / values[-1] if values[-1] > 0 else np.ones(1)
    held = np.concatenate([[0], np.cumsum(relative * counts)])
    return np.column_stack([tuples / tuples[-1], held / held[-1]])


def gini(vector: Vector) -> float:
    """Return the Gini coefficient of the values of the tuples.

    It goes from 0 (all alike) to below 1 (one has all): twice the area between the Lorenz curve and the diagonal.
    Arguments and errors are those of `lorenz_curve`.

    >>> gini([3, 3, 3, 3]), gini([0, 0, 0, 8])
    (0.0, 0.75)
    """
    share, held = lorenz_curve(vector).T
    # The area under the curve is that of its trapezoids; twice the one under the diagonal is 1.
    return max(0.0, float(1 - (np.diff(share) * (held[1:] + held[:-1])).sum()))


def distribution(vectors: Mapping[Hashable, Vector]) -> pd.DataFrame:
    """Return the distribution of one property under each of several anonymizations.

    Args:
        vectors: By name of an anonymization, its vector: a `PropertyVector` or an (N,) array.

    Returns:
        One row for each anonymization. Columns: the mean; the minimum, the 5 %, 25 %, 50 %, 75 % and 95 % quantiles and
        the maximum; the Gini coefficient (NaN where values are negative); and the number of tuples with the worst value
        ("worst off"), which is the greatest for a property that is better when lower.

    Raises:
        ValueError: There is no vector, or some are not comparable, empty or not finite.

    >>> found = distribution({"T3a": [3, 3, 3, 3, 4, 4, 4, 3, 3, 4], "T3b": [3, 7, 7, 3, 7, 7, 7, 3, 7, 7]})
    >>> found[["mean", "minimum", "median", "worst off"]].to_numpy().tolist()
    [[3.4, 3.0, 3.0, 6.0], [5.8, 3.0, 7.0, 3.0]]
    """
    if not vectors:
        raise ValueError("vectors must name at least one vector, got none")
    aligned = align(list(vectors.values()))
    rows = []
    for vector, oriented in zip(vectors.values(), aligned.values, strict=True):
        values, counts = _ascending(vector)
        worst = aligned.counts[oriented == oriented.min()].sum()
        rows.append(
            {
                "mean": float((values * counts).sum() / counts.sum()),
                **dict(zip(QUANTILES, quantiles(values, counts, np.array([*QUANTILES.values()])), strict=True)),
                "Gini": gini(vector) if values[0] >= 0 else np.nan,
                "worst off": int(worst),
            }
        )
    return pd.DataFrame(rows, index=pd.Index(list(vectors), name="anonymization", tupleize_cols=False))


def worst_off(
    table: Microdata,
    generalization: Decoded,
    measured: Property,
    suppression: float | Suppression = 0,
    constraints: Sequence[ClassConstraint] = (),
) -> pd.DataFrame:
    """Return the equivalence classes with the worst value of a property.

    Args:
        table: The table.
        generalization: The generalization.
        measured: The property.
        suppression: As for `compare`, as are the constraints.
        constraints: The constraints of the release; only `Violating` reads them.

    Returns:
        One row for each class, the smallest first. The index holds its generalized quasi-identifiers, `*` throughout
        for the class of all suppressed tuples. Columns: its size, the number of its tuples with the worst value, and
        that value, under the property's label.

    Raises:
        TypeError: The suppression is no number and no rule.
        ValueError: Something does not fit the table, or the property is labelled as another column.
    """
    if measured.label in ("size", "tuples"):
        raise ValueError(f"measured must not be labelled {measured.label!r}, which is a column of the result")
    classes = table.equivalence_classes(generalization, suppression, constraints)
    vector = measured.measure(classes)
    class_of, sizes = released(classes)
    worst = vector.oriented == vector.oriented.min()
    # How many tuples with the worst value each class holds.
    members = np.bincount(class_of[vector.distinct_tuples[worst]], vector.counts[worst], len(sizes)).astype(np.int64)
    chosen = np.flatnonzero(members)
    chosen = chosen[np.argsort(sizes[chosen], kind="stable")]
    kept = classes.representatives[classes.kept]
    cells = generalization.labels_of(table.tuples.codes, kept)
    # The class after all that are kept is that of the suppressed tuples.
    labels = [[own[c] if c < len(kept) else ROOT for c in chosen] for own in cells.values()]
    index = pd.MultiIndex.from_arrays(labels, names=list(cells))
    value = vector.values[worst][0]
    return pd.DataFrame({"size": sizes[chosen], "tuples": members[chosen], vector.name: value}, index=index)


def gains(table: Microdata, d1: PropertyVector, d2: PropertyVector, column: Any, level: int = 0) -> pd.DataFrame:
    """Count the people better off with each of two anonymizations.

    Args:
        table: The table of both.
        d1: The property under the first.
        d2: The same property under the second.
        column: Name of a column with a role, whose values are the groups of people.
        level: For a quasi-identifier, the level of its hierarchy with the groups; 0 takes the values.

    Returns:
        One row for each group that occurs. Columns: its tuples; the numbers of them that are better and worse off with
        the first; and the mean difference, first less second, in units of the property.

    Raises:
        KeyError: The column has no role.
        ValueError: The vectors are not comparable or of another table, the hierarchy lacks the level, or the vectors
            tell tuples apart by another column than this, so that their values of this one are unknown.
    """
    aligned = align([d1, d2])
    if not isinstance(d1, PropertyVector) or d1.tuples is not table.tuples:
        raise ValueError("d1 and d2 must be of the table, got vectors of another Microdata object or plain arrays")
    names, groups, places, counts = people_by(table, d1, column, level)
    first, second = aligned.values[:, places]
    difference = d1.values[places] - d2.values[places]

    def added(weights: Array) -> Array:
        return np.bincount(groups, weights, len(names))

    found = pd.DataFrame(
        {
            "tuples": added(counts).astype(np.int64),
            "better": added(counts * (first > second)).astype(np.int64),
            "worse": added(counts * (first < second)).astype(np.int64),
            "difference": added(counts * difference),
        },
        index=pd.Index(names, name=column, tupleize_cols=False),
    )
    found = found[found["tuples"] > 0]
    return found.assign(difference=found["difference"] / found["tuples"])


class People(NamedTuple):
    """The people of a table in groups, by their places in a property vector."""

    labels: tuple[Hashable, ...]  # Labels of the groups
    groups: Ints  # Group of some tuples that share a value
    places: Ints | slice  # Place of this value
    counts: Ints  # Number of these tuples


def people_by(table: Microdata, vector: PropertyVector, column: Any, level: int) -> People:
    """Group the people of a table by the values of a column, or by a level of its hierarchy."""
    names = table.domain_of(column)
    own = table.tuples.columns[column]
    if column in table.quasi_identifiers:
        hierarchy = table.quasi_identifiers[column]
        if not is_whole(level) or not 0 <= level <= hierarchy.length:
            raise ValueError(f"level must be from 0 to {hierarchy.length}, the levels of {column!r}, got {level!r}")
        # A distinct tuple has one value of a quasi-identifier.
        groups = hierarchy.groups[level][own.values]
        groups = groups if vector.unit is None else groups[vector.distinct_tuples]
        return People(hierarchy.labels[level], groups, slice(None), vector.counts)
    if level != 0:
        raise ValueError(f"level must be 0 for {column!r}, which has no hierarchy, got {level!r}")
    if vector.unit == column:
        return People(names, own.values, slice(None), own.counts)
    if vector.unit is None:
        # The tuples of a distinct tuple may differ in the column, but have one value in the vector.
        places = np.repeat(np.arange(table.n_distinct), np.diff(own.starts))
        return People(names, own.values, places, own.counts)
    raise ValueError(
        f"column must be {vector.unit!r} or a quasi-identifier for {vector!r}, which has one value for all tuples "
        f"with one {vector.unit!r}, got {column!r}"
    )


def _ascending(vector: Vector) -> tuple[Floats, Ints]:
    if isinstance(vector, PropertyVector):
        return vector.ascending
    different, counts = np.unique(finite_values(vector, "vector"), return_counts=True)
    return different, counts.astype(np.int64)
