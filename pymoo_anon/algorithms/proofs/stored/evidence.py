"""What evaluated nodes teach about others: lessons from their classes, and the arrays in which all of them are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.stored.covering import write_down
from pymoo_anon.algorithms.proofs.stored.known import Evidence, Rules
from pymoo_anon.algorithms.proofs.stored.union import NEVER
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.refuting import Cells, keys_of, number_keys, order_by_class, small_tuples
from pymoo_anon.objectives.bounds.base import Bounding, Kind, suppressible, surely_gone
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.suppression import AtMost

# Room for so many tuples and orders comes first: what is not used takes no memory, and need not be copied.
_TUPLES_AT_FIRST = 1 << 16
_ORDERS_AT_FIRST = 32

Ints = NDArray[np.int64]
Matrix = NDArray[np.float64]


class Teacher:
    """Reads lessons from the classes of nodes.

    A lesson is one float array, as a journal holds it: what each threshold cannot be above in any specialization; the
    lower bounds that hold of all specializations; those that hold of all generalizations; then, for each threshold, the
    number of tuples in small classes; the tuples; and the values of their classes.

    Args:
        problem: The problem.
        families: What is known of each measure.
        thresholds: The families of the thresholds.
        columns: The measures that have bounds of their own, by number.
        cells: The distinct tuples.
        rises: Whether floors of generalizations are wanted.
    """

    def __init__(
        self,
        problem: LatticeProblem,
        families: list[Bounding],
        thresholds: list[Any],
        columns: list[int],
        cells: Cells,
        rises: bool,
    ) -> None:
        self.problem, self.families, self.thresholds = problem, families, thresholds
        self.columns, self.cells, self.rises = columns, cells, rises
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
        tops, starts, ids, found = small_tuples(
            classes.maps,
            classes.starts,
            classes.sizes,
            classes.representatives,
            np.stack(values) if values else nothing,
            gone,
            self.limit,
            *self.cells,
        )
        n_values = tops.shape[1]
        # No specialization keeps the limit: every threshold is out of reach.
        tops[impossible] = -np.inf
        for i in range(n):
            first, last = starts[i * n_values], starts[(i + 1) * n_values]
            bounds = self._bounds(classes[i]) if self.columns else np.empty(0)
            numbers = np.diff(starts[i * n_values : (i + 1) * n_values + 1])
            yield np.concatenate([tops[i], bounds, numbers, ids[first:last], found[first:last]])

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


class Library:
    """All evidence, in arrays that grow by doubling.

    Args:
        rules: What is asked of nodes.
        n_values: Number of thresholds that tuples are listed by.
        cells: The distinct tuples.
        entries: (3, n_entries) int64 array, the tuple, the mark and the rows of each entry of the sums of squares.
        most_orders: How many orders of all tuples may be kept, and as many sums.
    """

    def __init__(self, rules: Rules, n_values: int, cells: Cells, entries: Ints, most_orders: int) -> None:
        self.lengths, self.segments = rules.lengths, rules.segments
        self.n_values, self.cells, self.entries = n_values, cells, entries
        self.most_orders = most_orders
        n_distinct = len(cells.counts)
        self.arrays = Evidence(
            numbers=np.zeros(2, dtype=np.int64),
            levels=np.empty((256, len(self.lengths)), dtype=np.int64),
            reached=np.zeros((int(self.lengths.sum()), 4), dtype=np.uint64),
            whole=np.empty(256, dtype=bool),
            tops=np.empty(256),
            starts=np.zeros(256 * n_values + 1, dtype=np.int64),
            ids=np.empty(_TUPLES_AT_FIRST, dtype=np.int32),
            values=np.empty(_TUPLES_AT_FIRST),
            orders=np.empty(256, dtype=np.int32),
            dense=np.empty(256, dtype=np.int32),
            order=np.empty((0, n_distinct), dtype=np.int32),
            ends=np.empty((0, n_distinct), dtype=np.int32),
            counts=np.empty((0, entries.shape[1]), dtype=np.uint32),
        )
        self.n_orders = self.n_dense = 0

    def make_room(self, n_entries: int) -> None:
        """Make room for one more node and so many more tuples."""
        own = self.arrays
        n, m = own.numbers.tolist()
        grows: dict[str, Any] = {}
        if n + 2 >= len(own.levels):
            for name in ("levels", "whole", "tops", "orders", "dense"):
                grows[name] = _with_room(getattr(own, name), len(own.levels))
            grows["reached"] = np.concatenate([own.reached, np.zeros_like(own.reached)], axis=1)
            grows["starts"] = np.concatenate([own.starts, np.zeros(len(own.levels) * self.n_values, dtype=np.int64)])
        if m + n_entries > len(own.ids):
            more = max(len(own.ids), n_entries)
            grows["ids"], grows["values"] = _with_room(own.ids, more), _with_room(own.values, more)
        if grows:
            self.arrays = own._replace(**grows)

    def add(self, x: Ints, top: float, numbers: Ints, ids: Matrix, values: Matrix) -> int:
        """Keep the tuples in small classes of an evaluated node; returns the number of this evidence."""
        self.make_room(len(ids))
        own = self.arrays
        n, m = own.numbers.tolist()
        write_down(n, x, self.lengths, own.levels, own.reached)
        own.whole[n], own.tops[n], own.orders[n], own.dense[n] = True, top, -1, -1
        own.ids[m : m + len(ids)] = ids
        own.values[m : m + len(ids)] = values
        first = n * self.n_values + 1
        own.starts[first : first + self.n_values] = m + np.cumsum(numbers)
        own.numbers[:] = n + 1, m + len(ids)
        return int(n)

    def keep_order(self, place: int, groups: Ints) -> None:
        """Sort the tuples by the classes of some evidence, where memory allows for it."""
        if self.n_orders == self.most_orders:
            self.arrays.orders[place] = NEVER
            return
        if self.n_orders == len(self.arrays.order):
            more = min(max(_ORDERS_AT_FIRST, self.n_orders), self.most_orders - self.n_orders)
            for name in ("order", "ends"):
                self.arrays = self.arrays._replace(**{name: _with_room(getattr(self.arrays, name), more)})
        row = self.n_orders
        order_by_class(groups, self.arrays.order[row], self.arrays.ends[row], *self.cells)
        self.arrays.orders[place] = row
        self.n_orders += 1

    def keep_sums(self, place: int, groups: Ints) -> None:
        """Count how often each entry is found in its class, where memory allows for it; arguments as `keep_order`."""
        if self.n_dense == self.most_orders or self.entries.shape[1] == 0:
            return
        if self.n_dense == len(self.arrays.counts):
            more = min(max(64, self.n_dense), self.most_orders - self.n_dense)
            self.arrays = self.arrays._replace(counts=_with_room(self.arrays.counts, more))
        row = self.n_dense
        marks = self.entries[1].view(np.uint64)
        _count_entries(
            groups, self.entries[0], marks, self.entries[2], self.segments, self.arrays.counts[row], *self.cells
        )
        self.arrays.dense[place] = row
        self.n_dense += 1


def _with_room(array: Any, more: int) -> Any:
    """A copy with room for so many more rows, which are not written: memory that is not touched costs nothing."""
    grown = np.empty((len(array) + more, *array.shape[1:]), dtype=array.dtype)
    grown[: len(array)] = array
    return grown


@njit(cache=True, nogil=True)
def _count_entries(groups, owners, marks, rows, segments, counts, *cells):  # type: ignore[no-untyped-def]
    """Write how many rows of its class each entry is one with."""
    cells = Cells(cells[0], cells[1], cells[2], cells[3])
    keys, part = np.empty(len(cells.counts), dtype=np.uint64), np.empty(len(cells.marks), dtype=np.uint64)
    keys_of(groups, cells, keys, part)
    for s in range(len(segments) - 1):
        a, b = segments[s], segments[s + 1]
        own, ids = np.empty(b - a, dtype=np.uint64), np.empty(b - a, dtype=np.int64)
        for e in range(a, b):
            own[e - a] = keys[owners[e]] + marks[e]
        totals = np.zeros(number_keys(own, ids), dtype=np.int64)
        for e in range(a, b):
            totals[ids[e - a]] += rows[e]
        for e in range(a, b):
            counts[e] = totals[ids[e - a]]
