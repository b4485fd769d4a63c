"""A release as its reader has it: boxes of values, over each of which its rows are spread evenly.

Whoever reads "15–19" knows nothing more of the age: a row is an equal part of a row at each value of its group, and one
of `*` at each of the domain. The domain is that of the hierarchies, for a table as for every release of it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.table.domain_values import day_of, is_day
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata

Ints = NDArray[np.int64]
Values = NDArray[np.float64]


class Column(NamedTuple):
    """One quasi-identifier of boxes; by places the values of each group stand side by side."""

    places: Ints  # (n_values,), the place of every domain value
    first: Ints  # (n_groups,), the first place of each group
    stop: Ints  # (n_groups,), the place after its last
    cells: Ints  # (n_boxes,), the group of each box

    def shares(self, wanted: NDArray[np.bool_]) -> Values:
        """(n_boxes,) float array: the share of wanted values in the group of each box; `wanted` is of the domain."""
        before = np.zeros(len(wanted) + 1)
        before[1 + self.places] = wanted
        before = np.cumsum(before)
        of_groups: Values = (before[self.stop] - before[self.first]) / (self.stop - self.first)
        return of_groups[self.cells]

    def midpoints(self, numbers: Values) -> Values:
        """(n_boxes,) float array: the middle of the least and the greatest number of each box's group; NaN is none."""
        in_order = np.full(len(numbers) + 1, np.nan)
        in_order[self.places] = numbers
        # Each group is an interval of places; what lies between one and the next is left out again.
        ends = np.column_stack([self.first, self.stop]).ravel()
        least, greatest = (np.asarray(end.reduceat(in_order, ends))[::2] for end in (np.fmin, np.fmax))
        middle: Values = (least + greatest) / 2
        return middle[self.cells]


class Boxes(NamedTuple):
    """Boxes of cells: how many rows each holds, (n_boxes,), and its cells by quasi-identifier."""

    rows: Ints
    columns: tuple[Column, ...]


def of_table(table: Microdata) -> Boxes:
    """A table as it is: every distinct tuple is a box of single values."""
    tuples = table.tuples
    each = [np.arange(n) for n in tuples.domain_sizes]
    columns = (Column(own, own, own + 1, cells) for own, cells in zip(each, tuples.codes.T, strict=True))
    return Boxes(tuples.counts, tuple(columns))


def of_release(table: Microdata, classes: EquivalenceClasses, suppressed: str) -> Boxes:
    """A release: every class that is kept is a box, in their order, then one of `*` if suppressed rows are marked."""
    if suppressed not in ("mark", "drop"):
        raise ValueError(f"suppressed must be 'mark' or 'drop', got {suppressed!r}")
    own = classes.tuples
    if len(classes) != 1 or own.n_rows != table.n_rows or own.domain_sizes != table.tuples.domain_sizes:
        raise ValueError(f"classes must be of one generalization of the table, got {len(classes)} of {own.n_rows} rows")
    kept = classes.kept
    marked = classes.n_suppressed if suppressed == "mark" and not kept.all() else np.empty(0, dtype=np.int64)
    columns = []
    for j, n_values in enumerate(own.domain_sizes):
        places, first, stop, cells = _groups(classes, j)
        # The last group is the whole domain.
        first, stop = np.append(first, 0), np.append(stop, n_values)
        columns.append(Column(places, first, stop, np.append(cells[kept], np.full(len(marked), len(first) - 1))))
    return Boxes(np.append(classes.sizes[kept], marked), tuple(columns))


def _groups(classes: EquivalenceClasses, j: int) -> Column:
    """The groups of one quasi-identifier, and the cells of all classes."""
    a, b = classes.tuples.offsets[j : j + 2]
    if classes.maps is not None:
        groups = classes.maps[0, a:b]
        stop = np.cumsum(np.bincount(groups))
        places = np.empty(b - a, dtype=np.int64)
        places[np.argsort(groups, kind="stable")] = np.arange(b - a)
        first = np.append(0, stop[:-1])
        return Column(places, first, stop, groups[classes.tuples.codes[classes.representatives, j]])
    forest, nodes = classes.cells()
    start, end = forest.starts[j : j + 2]
    return Column(forest.places[a:b], forest.first[start:end], forest.stop[start:end], nodes[:, j] - start)


def numbers_of(hierarchy: Hierarchy) -> Values | None:
    """(n_values,) float array: a domain of numbers or days as numbers, bins as the middle of theirs, gaps as NaN.

    None where the domain consists of something else. A text with a zero in front is a code, such as a postal one.
    """
    domain, bins = [value for value in hierarchy.domain if value is not None], hierarchy.bins
    try:
        if bins is not None:
            # Whole numbers reach from one edge to the one before the other.
            edges, less = np.array(bins.edges, dtype=float), (1 if bins.closed == "left" else -1) * bins.whole
            found = ((edges[:-1] + edges[1:] - less) / 2).tolist()
        elif all(map(is_day, domain)):
            found = [day.toordinal() for day in map(day_of, domain) if day is not None]
        else:
            found = [float(np.nan if re.match(r"0\d", str(value)) else str(value)) for value in domain]
    except ValueError:
        return None
    values = np.full(hierarchy.n_values, np.nan)
    values[[value is not None for value in hierarchy.domain]] = found
    return None if np.isnan(found).any() or not found else values
