"""Proofs over lattices that are not stored: k and different values in a class against one additive loss."""

from __future__ import annotations

from bisect import bisect_left
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.base import Proof
from pymoo_anon.algorithms.proofs.boxes.arrays import (
    DISTINCT,
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
from pymoo_anon.algorithms.proofs.boxes.lessons import teach
from pymoo_anon.algorithms.proofs.boxes.search import ALL_SETTLED, ASKS, search
from pymoo_anon.algorithms.proofs.boxes.space import BoxMemory, lattice_of, table_of
from pymoo_anon.algorithms.proofs.tolerance import Tolerance
from pymoo_anon.fronts.archive import first_non_dominated
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
    """Boxes of nodes, best bound first, and clauses that refuted nodes teach: the front of k, l and one additive loss.

    For one k after the other, from the least that is allowed, it proves the least loss of all nodes with at least this
    k. Nodes with a larger k are fewer, so whatever is known for one k holds for the next: bounds of boxes, clauses, and
    what is empty. One heap serves them all.

    Where the number of different values in a class is an objective, too, that is done for one such number after the
    other: first for all nodes, then for those with more values than the worst of the front so far.

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
        self._loss, loss = next((j, family) for j, family in enumerate(families) if isinstance(family, AdditiveLoss))
        self._by_k = [(j, family) for j, family in enumerate(families) if isinstance(family, FollowsK)]
        self._distinct = next((j for j, family in enumerate(families) if isinstance(family, DistinctValues)), None)
        self._n_rows = problem.table.n_rows
        rule, values, self._least_k = _rule(problem, self._distinct)
        self._lattice, floors = lattice_of(problem, loss)
        self._table = table_of(problem, loss, floors, rule, values)
        # The greatest loss that constraints allow, or infinity.
        self._most_loss = float(problem.limits[self._loss])
        # What sums of floats may be too large by.
        self._slack = 1e-12 * float(np.abs(floors).sum())
        self._certified = False
        self._n_evaluated_before = self._n_pruned_before = 0
        self._begin(int(rule[DISTINCT]))

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
        """Whether one objective is an additive loss, and all others follow k, or one is the number of values."""
        families = [objective.bounding or Bounding for objective in problem.objectives]
        n_losses, n_by_k = (sum(issubclass(own, kind) for own in families) for kind in (AdditiveLoss, FollowsK))
        distinct = [own for own in problem.objectives if issubclass(own.bounding or Bounding, DistinctValues)]
        readable = not distinct or (
            len(distinct) == 1
            and _n_values(problem, distinct[0]) <= _MOST_VALUES
            # What breaks a constraint goes, and not what has few values: the search could not tell.
            and not isinstance(problem.suppression, Violating)
        )
        return readable and n_losses == 1 and n_losses + n_by_k + len(distinct) == len(families)

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
        return self._n_pruned_before + int(self._memory.state.counts[PRUNED])

    @property
    def k(self) -> int:
        """The k that the search is at."""
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
        self.n_evaluated = self._n_evaluated_before + int(self._memory.state.counts[EVALUATED])

    def open_bounds(self) -> Matrix:
        """The least loss of nodes with at least the k that the search is at; with l, also of others with a larger l."""
        if self._certified:
            return np.empty((0, self.problem.n_obj))
        # The largest k that is open, and the least loss there.
        parts = [(self._n_rows, self._bound())]
        if self._distinct is not None and self.k > self._least_k:
            parts.append((self.k - 1, self._first_bound))
        bounds = np.empty((len(parts), self.problem.n_obj))
        for row, (k, loss) in zip(bounds, parts, strict=True):
            row[self._loss] = loss
            for column, family in self._by_k:
                row[column] = self._values_of(family, np.array([k]))[0]
            if self._distinct is not None:
                row[self._distinct] = -_n_values(self.problem, self.problem.objectives[self._distinct])
        return bounds

    def _begin(self, distinct: int) -> None:
        """Begin with nodes whose classes have so many different values.

        A new memory: clauses for more values would hold for fewer k first, and the bounds of boxes for larger k.
        """
        self._table.rule[DISTINCT] = distinct
        self._memory = BoxMemory(self._lattice, self._table, self.max_bytes)
        self._memory.state.counts[K] = self._least_k
        # What no node with so many values costs less than, once that is known.
        self._first_bound = -np.inf
        self._aim()

    def _in_question(self) -> NDArray[np.bool_]:
        """(n,) Boolean array: the members with as many different values as the search asks for."""
        if self._distinct is None:
            return np.ones(len(self.F), dtype=bool)
        enough: NDArray[np.bool_] = -self.F[:, self._distinct] >= self._table.rule[DISTINCT]
        return enough

    def _ask_for_more(self) -> None:
        """All nodes with so many different values are settled: go on to those with more than the worst member."""
        own = self.F[self._in_question()]
        if self._distinct is None or len(own) == 0:
            self._certified = True
            return
        others = np.delete(own, self._distinct, axis=1)
        following = 1 + int(-own[first_non_dominated(others), self._distinct].max())
        self._certified = following > _n_values(self.problem, self.problem.objectives[self._distinct])
        if not self._certified:
            self._n_pruned_before = self.n_pruned
            self._n_evaluated_before += int(self._memory.state.counts[EVALUATED])
            self._begin(following)

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
        own = self._in_question()
        k, losses = self._member_k()[own], self.F[own, self._loss]
        self._memory.show_front(k, losses)
        best = losses[k >= self.k].min(initial=np.inf)
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
        bound, own = self._bound(), self._in_question()
        k, losses = self._member_k()[own], self.F[own, self._loss]
        stands = (k >= self.k) & (np.array([self._least_bound(loss) for loss in losses]) <= bound)
        if self.k == self._least_k:
            self._first_bound = bound
        if not self._by_k or not stands.any() or bound == np.inf:
            # No feasible node is left.
            self._ask_for_more()
            return
        following = self._last_k(k[stands].max()) + 1
        if following > self._n_rows:
            self._ask_for_more()
        else:
            self._memory.state.counts[K] = following
            self._aim()

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


def _rule(problem: LatticeProblem, objective: int | None) -> tuple[Ints, NDArray[np.uint64], int]:
    """What the search reads of suppression and constraints: `Table.rule`, the values as bits, and the least k.

    One column's different values are read: those of the objective with this number, else those of one constraint. What
    is not read is checked where a node is evaluated.
    """
    tuples, n_rows = problem.table.tuples, problem.table.n_rows
    values = np.zeros(len(tuples), dtype=np.uint64)
    least_k, distinct, complete = 1, 0, True
    read = None if objective is None else problem.objectives[objective]
    for constraint in problem.constraints:
        if not constraint.speaks_of_classes:
            continue
        family, measure = constraint.objective.bounding or Bounding, constraint.objective
        if issubclass(family, FollowsK):
            least_k = max(least_k, _least_k(constraint, n_rows))
        elif issubclass(family, DistinctValues) and (
            measure == read or (read is None and _n_values(problem, measure) <= _MOST_VALUES)
        ):
            read, distinct = measure, max(distinct, int(np.ceil(constraint.bound)))
        else:
            complete = False
    if read is not None:
        column = tuples.columns[read.column]
        rows = np.repeat(np.arange(len(tuples)), np.diff(column.starts))
        np.bitwise_or.at(values, rows, np.uint64(1) << column.values.astype(np.uint64))
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
