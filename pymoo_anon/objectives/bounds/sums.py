"""Bounds of sums over classes that are better when higher, and of the number of classes."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.objectives.bounds.base import Bounding, Ints, Kind, Suppressible, Values


class SquaresOverClasses(Bounding):
    """A sum over classes that splitting does not raise, where the suppressed tuples form one class: S_k, S_l.

    It asks the measure for `squares(classes)`, (n_classes,) int64 array: what each class adds. The sum is also one over
    entries, distinct tuples or their values: the rows of each, times the rows of all entries that it is one with in its
    class. It asks for `column`, whose values are counted in classes, or None where rows are.

    A square of a sum is at least the sum of the squares, so that the parts of a class add no more than the class. Parts
    of classes that are gone are suppressed. The suppressed tuples add at most the square of their number. In a part an
    entry is one with no more rows than in the class.
    """

    kind = Kind.SQUARES

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The sum over the classes that are not gone, and the square of the limit."""
        squares = self.measure.squares(classes)
        gone = np.where(below.wholly_gone(classes), squares[below.small], 0).sum(axis=1)
        # Of Python's whole numbers, rounded once: what is exact beyond 2^53 in a value has to be in its bound.
        total = int(squares.sum())
        return np.array([float(total - int(lost) + below.limit**2) for lost in gone])

    def most_of_specializations(self, classes: EquivalenceClasses) -> float:
        """The most that kept classes of any specialization add up to."""
        return float(int(self.measure.squares(classes).sum()))

    def entries(self, tuples: DistinctTuples) -> tuple[Ints, Ints, Ints]:
        """(m,) int64 arrays: the distinct tuple, the value and the rows of each entry; 0 where values do not count."""
        if self.measure.column is None:
            return np.arange(len(tuples)), np.zeros(len(tuples), dtype=np.int64), tuples.counts
        column = tuples.columns[self.measure.column]
        return np.repeat(np.arange(len(tuples)), np.diff(column.starts)), column.values, column.counts


class FewestClasses(Bounding):
    """The number of released classes over the rows: marketer risk. Splitting classes makes them no fewer."""

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The classes that are left where as many as possible are suppressed, and at least one."""
        ends = np.cumsum(np.sort(classes.sizes))
        n_suppressed = int(np.searchsorted(ends, below.limit, side="right"))
        return np.full(len(below), max(len(classes.sizes) - n_suppressed, 1) / classes.n_rows)
