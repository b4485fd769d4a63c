"""Bounds of sums over classes that are better when higher, and of the number of classes."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.bounds.base import Bounding, Suppressible, Values


class SquaresOverClasses(Bounding):
    """A sum over classes that splitting does not raise, where the suppressed tuples form one class: S_k, S_l.

    It asks the measure for `squares(classes)`, (n_classes,) int64 array: what each class adds.

    A square of a sum is at least the sum of the squares, so that the parts of a class add no more than the class. Parts
    of classes that are gone are suppressed. The suppressed tuples add at most the square of their number.
    """

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The sum over the classes that are not gone, and the square of the limit."""
        squares = self.measure.squares(classes)
        gone = np.where(below.wholly_gone(classes), squares[below.small], 0).sum(axis=1)
        # Of Python's whole numbers, rounded once: what is exact beyond 2^53 in a value has to be in its bound.
        total = int(squares.sum())
        return np.array([float(total - int(lost) + below.limit**2) for lost in gone])


class FewestClasses(Bounding):
    """The number of released classes over the rows: average risk. Splitting classes makes them no fewer."""

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The classes that are left where as many as possible are suppressed, and at least one."""
        ends = np.cumsum(np.sort(classes.sizes))
        n_suppressed = int(np.searchsorted(ends, below.limit, side="right"))
        return np.full(len(below), max(len(classes.sizes) - n_suppressed, 1) / classes.n_rows)
