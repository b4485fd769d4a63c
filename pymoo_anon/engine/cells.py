"""Cells of classes that have levels of their own: a node of each hierarchy for every class."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.forest import Forest
from pymoo_anon.engine.numbering import row_ids
from pymoo_anon.engine.tuples import DistinctTuples, ValueCounts

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grouping:
    """Distinct tuples by their released cells.

    Attributes:
        nodes: (n_classes, n_attributes) int64 array, the cells of each class; classes are numbered as they first appear
            among the distinct tuples.
        class_of: (n_distinct,) int64 array, the class of each distinct tuple.
        representatives: (n_classes,) int64 array, the first distinct tuple of each class.
    """

    nodes: Ints
    class_of: Ints
    representatives: Ints


def grouped(cells: NDArray[np.int32] | Ints, n_nodes: tuple[int, ...]) -> Grouping:
    """Distinct tuples with equal cells as one class.

    Args:
        cells: (n_distinct, n_attributes) integer array, the node of each distinct tuple's cell.
        n_nodes: How many nodes each attribute has.
    """
    ids, first = row_ids(np.asarray(cells, dtype=np.int64), n_nodes)
    order = np.argsort(first)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return Grouping(np.ascontiguousarray(cells[first[order]], dtype=np.int64), numbers[ids], first[order])


def classes_of(
    tuples: DistinctTuples, forest: Forest, grouping: Grouping, columns: tuple[Hashable, ...] = ()
) -> EquivalenceClasses:
    """The equivalence classes of one local recoding, none suppressed.

    Args:
        tuples: The distinct tuples.
        forest: The hierarchies that the cells are nodes of.
        grouping: The distinct tuples by their cells.
        columns: The columns whose values are to be counted in every class.

    Raises:
        KeyError: The table does not count the values of a column.
    """
    class_of, n = grouping.class_of, len(grouping.nodes)
    sizes = np.zeros(n, dtype=np.int64)
    np.add.at(sizes, class_of, tuples.counts)
    return EquivalenceClasses(
        tuples,
        maps=None,
        starts=np.array([0, n], dtype=np.int64),
        sizes=sizes,
        representatives=grouping.representatives,
        kept=np.ones(n, dtype=np.bool_),
        columns={name: _merged(tuples.columns[name], class_of, n) for name in columns},
        class_of=class_of[np.newaxis],
        forest=forest,
        nodes=grouping.nodes,
    )


def _merged(column: ValueCounts, class_of: Ints, n_classes: int) -> ValueCounts:
    """The value counts of classes, of those of the distinct tuples."""
    keys = np.repeat(class_of, np.diff(column.starts)) * column.n_values + column.values
    found, members = np.unique(keys, return_inverse=True)
    counts = np.zeros(len(found), dtype=np.int64)
    np.add.at(counts, members, column.counts)
    starts = np.searchsorted(found, np.arange(n_classes + 1) * column.n_values)
    return ValueCounts(starts.astype(np.int64), found % column.n_values, counts, column.n_values)
