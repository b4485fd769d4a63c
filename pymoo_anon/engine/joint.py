"""Joint classes: tuples that agree in several releases of one table.

Whoever has all releases, with their rows linked, sees the class of each person in every one of them. A release divides
the distinct tuples into parts. Part 0 holds the suppressed ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, classes_of, grouped
from pymoo_anon.typing import Bools, Floats, Ints


def partition_of(classes: EquivalenceClasses) -> Ints:
    """Return each tuple's part in one generalization, (n_distinct,) int64."""
    assert classes.class_of is not None
    (own,) = classes.class_of
    return np.where(classes.kept[own], own + 1, 0)


def grouped_jointly(
    tuples: DistinctTuples, parts: Sequence[Ints], columns: Sequence[Hashable] | None = None
) -> EquivalenceClasses:
    """Group tuples that agree in all parts.

    The `nodes` of a joint class are its parts. Tuples of part 0 in all releases are suppressed.

    Args:
        tuples: The distinct tuples.
        parts: Per release the part of each distinct tuple, `partition_of`.
        columns: The columns whose values are counted. None is all.
    """
    cells = np.column_stack(parts)
    grouping = grouped(cells, tuple((cells.max(axis=0) + 1).tolist()))
    classes = classes_of(tuples, None, grouping, tuple(tuples.columns if columns is None else columns))
    kept: Bools = (grouping.nodes > 0).any(axis=1)  # type: ignore[assignment]
    return replace(classes, kept=kept)


def joint_classes(classes: EquivalenceClasses) -> EquivalenceClasses:
    """Return the joint classes of a generalization and releases.

    Raises:
        ValueError: There are no releases beside it.
    """
    if classes.beside is None:
        raise ValueError("joint measures need earlier releases, such as LatticeProblem(..., beside=[choice]), got none")
    return grouped_jointly(classes.tuples, [partition_of(classes), classes.beside], tuple(classes.columns))


def divided(classes: EquivalenceClasses) -> EquivalenceClasses:
    """Return the joint classes as if nothing was suppressed."""
    return joint_classes(replace(classes, kept=np.ones_like(classes.kept)))


def worst_by_class(classes: EquivalenceClasses, joint: EquivalenceClasses, values: Floats, maximize: bool) -> Floats:
    """Return each kept class's worst joint value, (n_classes,) float.

    A joint class of rows that are suppressed here counts for the smallest class that divides an earlier one with it.
    To suppress that class is the least that makes the joint class larger.
    """
    assert joint.nodes is not None
    own, other = joint.nodes.T
    worst_of, none = (np.minimum, np.inf) if maximize else (np.maximum, -np.inf)
    worst, here = np.full(len(classes.sizes), none), own > 0
    worst_of.at(worst, own[here] - 1, values[here])
    of_suppressed, least = np.full(other.max() + 1, none), np.full(other.max() + 1, classes.n_rows + 1)
    of_suppressed[other[~here & joint.kept]] = values[~here & joint.kept]
    np.minimum.at(least, other[here], classes.sizes[own[here] - 1])
    smallest = here & (classes.sizes[own - 1] == least[other])
    worst_of.at(worst, own[smallest] - 1, of_suppressed[other[smallest]])
    return worst
