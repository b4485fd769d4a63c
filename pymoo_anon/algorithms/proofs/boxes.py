"""Proofs over lattices that are not stored: privacy that follows k against one additive loss."""

from __future__ import annotations

from bisect import bisect_left
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.base import Proof
from pymoo_anon.algorithms.proofs.box_arrays import (
    EVALUATED,
    IN_DEPTH,
    IN_HAND,
    N_FOUND,
    N_HEAP,
    N_STACK,
    OWN,
    PRUNED,
    ROOT,
    SETTLED,
    K,
)
from pymoo_anon.algorithms.proofs.box_lessons import teach
from pymoo_anon.algorithms.proofs.box_search import ALL_SETTLED, ASKS, search
from pymoo_anon.algorithms.proofs.box_space import BoxMemory, lattice_of, table_of
from pymoo_anon.algorithms.proofs.tolerance import Tolerance
from pymoo_anon.objectives.bounds.base import Bounding
from pymoo_anon.objectives.bounds.losses import AdditiveLoss
from pymoo_anon.objectives.bounds.worst_class import DistinctValues, FollowsK
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.suppression import Violating

Ints = NDArray[np.int64]
Matrix = NDArray[np.float64]

# More different values do not fit into the bits of a word.
_MOST_VALUES = 64

# A slice lasts about this long. Compiled calls of it read so many clauses.
_SECONDS_A_SLICE = 0.2
_WORK_A_CALL = 2_000_000


class BoxProof(Proof):
    """Boxes of nodes, best bound first, and clauses that refuted nodes teach: the front of k and one additive loss.

    For one k after the other, from the least that is allowed, it proves the least loss of all nodes with at least this
    k. Nodes with a larger k are fewer, so whatever is known for one k holds for the next: bounds of boxes, clauses, and
    what is empty. One heap serves them all.

    Args:
        problem: The problem.
        tolerance: How far the front may stay off.
        max_bytes: Memory that open boxes and clauses may take. Where the heap is full, boxes are searched depth first.
        random_state: Not used: nothing is random.
    """

    def __init__(
        self, problem: LatticeProblem, tolerance: Tolerance, max_bytes: int, random_state: np.random.Generator
    ) -> None:
        super().__init__(problem, tolerance, max_bytes, random_state)
        families = [objective.bounding(objective) for objective in problem.objectives if objective.bounding is not None]
        self._loss = next(j for j, family in enumerate(families) if isinstance(family, AdditiveLoss))
        self._by_k = [(j, family) for j, family in enumerate(families) if isinstance(family, FollowsK)]
        self._n_rows = problem.table.n_rows
        rule, values, k = _rule(problem)
        lattice, floors = lattice_of(problem, families[self._loss])
        table = table_of(problem, families[self._loss], floors, rule, values)
        # The greatest loss that constraints allow, or infinity.
        self._most_loss = _most_loss(problem, problem.objectives[self._loss])
        # What sums of floats may be too large by.
        self._slack = 1e-12 * float(np.abs(floors).sum())
        self._memory = BoxMemory(lattice, table, max_bytes)
        self._memory.state.counts[K] = k
        self._certified = False

    @classmethod
    def check(cls, problem: LatticeProblem, max_bytes: int) -> None:
        """Refuse a problem that suppresses without limit; `suits` says for which objectives this proof is.

        Raises:
            ValueError: It does.
        """
        if problem.suppression.limit_of(problem.table.n_rows) is None:
            raise ValueError("Below has no bounds; ExhaustiveSearch or PBGEA search without any")

    @staticmethod
    def suits(problem: LatticeProblem) -> bool:
        """Whether one objective is an additive loss, and all others follow k."""
        families = [objective.bounding for objective in problem.objectives]
        n_losses = sum(family is not None and issubclass(family, AdditiveLoss) for family in families)
        n_by_k = sum(family is not None and issubclass(family, FollowsK) for family in families)
        return n_losses == 1 and n_losses + n_by_k == len(families)

    @property
    def certified(self) -> bool:
        """Whether all nodes are settled."""
        return self._certified

    @property
    def n_undecided(self) -> int:
        """Number of open boxes."""
        counts = self._memory.state.counts
        return 0 if self._certified else int(counts[N_HEAP] + counts[N_STACK] + (counts[IN_HAND] > 0))

    @property
    def n_pruned(self) -> int:
        """Number of boxes that clauses emptied."""
        return int(self._memory.state.counts[PRUNED])

    @property
    def k(self) -> int:
        """The k that the search is at: for every smaller one the front is proven."""
        return int(self._memory.state.counts[K])

    def advance(self) -> None:
        """Search for about a fifth of a second."""
        end = perf_counter() + _SECONDS_A_SLICE
        if len(self.X) == 0 and self.n_evaluated == 0:
            self.offer(np.array([self.problem.lengths, 0 * self.problem.lengths]))
        while not self._certified:
            ends = search(_WORK_A_CALL, self._slack, *self._memory.for_search())
            if ends == ASKS:
                teach(*self._memory.for_lessons())
            self._evaluate_found()
            if ends == ALL_SETTLED:
                self._raise_k()
            if perf_counter() >= end:
                break
        self.n_evaluated = int(self._memory.state.counts[EVALUATED])

    def open_bounds(self) -> Matrix:
        """One row: the least loss of nodes with at least the k that the search is at, and the largest k."""
        if self._certified:
            return np.empty((0, self.problem.n_obj))
        bounds = np.empty((1, self.problem.n_obj))
        bounds[:, self._loss] = self._bound()
        for column, family in self._by_k:
            bounds[:, column] = self._values_of(family, np.array([self._n_rows]))
        return bounds

    def take(self, X: NDArray[np.int64], F: Matrix, G: Matrix) -> None:
        """Take evaluated nodes into the front, and aim lower."""
        super().take(X, F, G)
        self._aim()

    def _evaluate_found(self) -> None:
        counts = self._memory.state.counts
        if counts[N_FOUND]:
            self.offer(self._memory.known.found[: counts[N_FOUND]].copy())
            # Only now: what is interrupted before is offered again.
            counts[N_FOUND] = 0

    def _bound(self) -> float:
        """What no open node with the k of the search costs less than."""
        counts, marks = self._memory.state.counts, self._memory.state.marks
        bounds = [float(self._memory.heap.bounds[0])] if counts[N_HEAP] else []
        bounds += [float(marks[ROOT])] if counts[IN_DEPTH] else []
        bounds += [float(marks[OWN])] if counts[IN_HAND] else []
        return min(bounds, default=np.inf)

    def _aim(self) -> None:
        """Tell the search the front, and from which bound on boxes are settled for its k."""
        k = self._member_k()
        self._memory.show_front(k, self.F[:, self._loss].copy())
        best = self.F[k >= self.k, self._loss].min(initial=np.inf)
        # Beyond what is allowed nothing is looked for.
        settled = min(self._least_bound(best), float(np.nextafter(self._most_loss, np.inf)))
        self._memory.state.marks[SETTLED] = settled

    def _least_bound(self, loss: float) -> float:
        """The least loss of a node that a member of this loss stands for."""
        absolute, relative = self.tolerance.absolute[self._loss], self.tolerance.relative[self._loss]
        if not np.isfinite(loss) or (absolute == 0 and relative == 0):
            return loss
        least = (loss - absolute) / (1 + relative if loss >= absolute else 1 - relative)
        # Rounding may take it too low, never so far.
        return float(np.nextafter(least + self._slack, np.inf))

    def _raise_k(self) -> None:
        """Go on to the first k that no member stands for."""
        bound = self._bound()
        k = self._member_k()
        losses = self.F[:, self._loss]
        stands = (k >= self.k) & (np.array([self._least_bound(loss) for loss in losses]) <= bound)
        if not stands.any() or bound == np.inf:
            # No feasible node is left.
            self._certified = True
            return
        following = self._last_k(k[stands].max()) + 1
        self._memory.state.counts[K] = following
        self._aim()
        self._certified = following > self._n_rows or not self._by_k

    def _last_k(self, k: int) -> int:
        """The largest k that a member with this k stands for, within the tolerance."""
        low, high = int(k), self._n_rows
        while low < high:
            middle = (low + high + 1) // 2
            near = True
            for column, family in self._by_k:
                own, theirs = self._values_of(family, np.array([k, middle]))
                wide = theirs + self.tolerance.absolute[column] + self.tolerance.relative[column] * abs(theirs)
                near &= bool(own <= wide)
            low, high = (middle, high) if near else (low, middle - 1)
        return low

    def _values_of(self, family: Any, k: Ints) -> Matrix:
        """(n,) float array, minimised: the value of an objective that follows k, for every k."""
        values: Matrix = family.measure.of_k(k)
        return -values if family.measure.maximize else values

    def _member_k(self) -> Ints:
        """(n,) int64 array: the k of every member; all rows where no objective follows k."""
        low = np.full(len(self.F), 1 if self._by_k else self._n_rows, dtype=np.int64)
        high = np.full(len(self.F), self._n_rows, dtype=np.int64)
        if not self._by_k:
            return high
        column, family = self._by_k[0]
        # Invariant: the k lies in low..high.
        while (low < high).any():
            middle = (low + high + 1) // 2
            reached = self._values_of(family, middle) >= self.F[:, column]
            low, high = np.where(reached, middle, low), np.where(reached, high, middle - 1)
        return low


def _rule(problem: LatticeProblem) -> tuple[Ints, NDArray[np.uint64], int]:
    """What the search reads of suppression and constraints: `Table.rule`, the values as bits, and the least k.

    One constraint on the different values of a column is read. What is not read is checked where a node is evaluated.
    """
    tuples, n_rows = problem.table.tuples, problem.table.n_rows
    values = np.zeros(len(tuples), dtype=np.uint64)
    least_k, distinct, complete = 1, 0, True
    for constraint in problem.constraints:
        if not constraint.speaks_of_classes:
            continue
        family, measure = constraint.objective.bounding or Bounding, constraint.objective
        if issubclass(family, FollowsK):
            least_k = max(least_k, _least_k(constraint, n_rows))
        elif issubclass(family, DistinctValues) and not distinct and _n_values(problem, measure) <= _MOST_VALUES:
            column = tuples.columns[measure.column]
            rows = np.repeat(np.arange(len(tuples)), np.diff(column.starts))
            np.bitwise_or.at(values, rows, np.uint64(1) << column.values.astype(np.uint64))
            distinct = max(int(np.ceil(constraint.bound)), 0)
        else:
            complete = False
    limit = problem.suppression.limit_of(n_rows)
    violating = least_k if isinstance(problem.suppression, Violating) else 0
    return np.array([n_rows, limit, violating, distinct, complete], dtype=np.int64), values, least_k


def _least_k(constraint: Constraint, n_rows: int) -> int:
    """The least k that satisfies a constraint; a larger one does, too. Beyond all rows where none does."""
    measure = constraint.objective

    def satisfies(k: int) -> bool:
        return bool(constraint.violation(measure.of_k(np.array([k])))[0] <= 0)

    return 1 + bisect_left(range(1, n_rows + 1), True, key=satisfies)


def _n_values(problem: LatticeProblem, measure: Any) -> int:
    return problem.table.tuples.columns[measure.column].n_values


def _most_loss(problem: LatticeProblem, loss: Any) -> float:
    """The greatest minimised loss that constraints allow, or infinity."""
    bounds = [
        -float(one.bound) if one.at_least else float(one.bound)
        for one in problem.constraints
        if one.objective == loss and one.at_least == loss.maximize
    ]
    return min(bounds, default=np.inf)
