"""What evaluated nodes teach about others: bounds of their specializations and of their generalizations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.objectives.bounds.base import Bounding, Kind, suppressible, surely_gone
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.suppression import AtMost

# Whole values below this are counted one by one.
_SMALL = 1 << 12

Ints = NDArray[np.int64]
Matrix = NDArray[np.float64]


class Teacher:
    """Reads lessons from the classes of nodes.

    A lesson is one float array, as a journal holds it: what each threshold cannot be above in any specialization; the
    lower bounds that hold of all specializations; those that hold of all generalizations.
    """

    def __init__(
        self, problem: LatticeProblem, families: list[Bounding], thresholds: list[Any], columns: list[int], rises: bool
    ) -> None:
        self.problem, self.families, self.thresholds = problem, families, thresholds
        self.columns, self.rises = columns, rises
        limit = problem.suppression.limit_of(problem.table.n_rows)
        self.limit = problem.table.n_rows if limit is None else limit
        self.has_gone = not isinstance(problem.suppression, AtMost)

    def lessons(self, classes: EquivalenceClasses) -> Iterator[Matrix]:
        """One lesson for each generalization of some classes."""
        n = len(classes)
        values = [family.values_of(classes) for family in self.thresholds]
        nothing = np.full((1, len(classes.sizes)), np.inf)
        gone, impossible = np.zeros(0, dtype=bool), np.zeros(n, dtype=bool)
        if self.has_gone:
            rule, constraints = self.problem.suppression, self.problem.constraints
            parts, too_many = zip(*(surely_gone(one, rule, constraints) for one in classes), strict=True)
            gone, impossible = np.concatenate(parts), np.array(too_many)
        tops = np.empty((n, max(len(values), 1)))
        own = np.stack(values).astype(float) if values else nothing
        _write_tops(classes.starts, classes.sizes, own, gone, self.limit, np.empty(_SMALL, dtype=np.int64), tops)
        # No specialization keeps the limit: every threshold is out of reach.
        tops[impossible] = -np.inf
        for i in range(n):
            yield np.append(tops[i], self._bounds(classes[i]) if self.columns else [])

    def _bounds(self, classes: EquivalenceClasses) -> Matrix:
        """Lower bounds of all specializations, then of all generalizations; -inf where nothing is known."""
        problem = self.problem
        below = suppressible(classes, problem.suppression, problem.constraints, by_k=False)
        special, general = np.full(len(self.columns), -np.inf), np.full(len(self.columns), -np.inf)
        for i, column in enumerate(self.columns):
            family: Any = self.families[column]
            if family.kind is Kind.SQUARES:
                special[i] = -family.most_of_specializations(classes)
            elif not family.has_floor:
                best = family.best_of_specializations(classes, below)
                if best is not None:
                    special[i] = -best[0] if family.measure.maximize else best[0]
            if self.rises:
                floor = family.floor_of_generalizations(classes)
                general[i] = -np.inf if floor is None else floor
        return np.append(special, general)


@njit(cache=True, nogil=True, allocates=False)
def _write_tops(starts, sizes, values, gone, limit, tally, tops):  # type: ignore[no-untyped-def]
    """Write, for n generalizations and each threshold, what no specialization is above.

    That is the smallest value v for which classes of at most v, and those that every specialization suppresses, hold
    more rows than `limit`: a class of a specialization lies inside of one of these and is worth no more. -inf where the
    suppressed ones are too many already, inf where there is no such value.

    Args:
        starts: (n + 1,) int64, where the classes of each generalization begin.
        sizes: (n_classes,) int64.
        values: (n_values, n_classes) float, what goes up with the privacy of a class.
        gone: (n_classes,) Boolean, the classes that every specialization suppresses; empty for none.
        limit: Number of rows.
        tally: int64, scratch; whole values below its length are counted one by one.
        tops: (n, n_values) float, written.
    """
    for i in range(len(starts) - 1):
        a, b = starts[i], starts[i + 1]
        out = gone[a:b] if len(gone) > 0 else gone
        for h in range(len(values)):
            tops[i, h] = _top(values[h, a:b], sizes[a:b], out, limit, tally)


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _top(values, sizes, gone, limit, tally):  # type: ignore[no-untyped-def]
    """What `_write_tops` writes for one generalization and one threshold; `tally` is scratch."""
    for v in range(len(tally)):
        tally[v] = 0
    total, everything, all_whole = np.int64(0), np.int64(0), True
    for c in range(len(sizes)):
        everything += sizes[c]
        if len(gone) > 0 and gone[c]:
            total += sizes[c]
        elif 0 <= values[c] < _SMALL and values[c] == np.floor(values[c]):
            tally[np.int64(values[c])] += sizes[c]
        else:
            all_whole = all_whole and values[c] >= _SMALL
    if total > limit:
        return -np.inf
    if everything <= limit:
        return np.inf
    last = -np.inf
    if all_whole:
        # Invariant: the gone ones and those of less than v hold `total` rows, which is within the limit.
        for v in range(_SMALL):
            total += tally[v]
            if total > limit:
                return float(v)
        last = float(_SMALL - 1)
    # Invariant: the gone ones and those of at most `last` hold `total` rows, which is within the limit.
    while True:
        lowest, held = np.inf, np.int64(0)
        for c in range(len(sizes)):
            if values[c] > last and values[c] <= lowest and not (len(gone) > 0 and gone[c]):
                held = sizes[c] if values[c] < lowest else held + sizes[c]
                lowest = values[c]
        total += held
        if total > limit or held == 0:
            return lowest
        last = lowest
