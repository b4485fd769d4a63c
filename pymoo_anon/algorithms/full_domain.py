"""Searches of a whole lattice: exhaustive, Datafly and Samarati."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.population import Population
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.util.display.column import Column
from pymoo.util.optimum import filter_optimum

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.common import FrontOutput, OwnSearch, Search, one_of_each, options_of
from pymoo_anon.fronts.archive import ParetoArchive, evaluated, first_non_dominated, satisfies_constraints
from pymoo_anon.problems.lattice import LatticeProblem, check_visitable
from pymoo_anon.typing import Ints


class ExhaustiveSearch(OwnSearch):
    """Exhaustive search of a `LatticeProblem` for the exact front.

    This package's own. Other algorithms are measured against it.

    An iteration evaluates one batch of nodes. Stopped early, the result is the front of the visited nodes. After Ctrl-C
    the search can go on. Of nodes with equal F the first in the order of `LatticeProblem.nodes` is kept.

    Args:
        batch_size: Number of nodes in a batch.
        **kwargs: As pymoo's `Algorithm`. By default the output is the visited share of the lattice, and the size of the
            front.

    Attributes:
        n_visited: Number of evaluated nodes.

    Raises:
        ValueError: `batch_size` is not a positive whole number. At setup: the lattice has more than a billion nodes.
        TypeError: An argument is not known. At setup: the problem is not a `LatticeProblem`.
    """

    _kinds = (LatticeProblem,)

    def __init__(self, batch_size: int = 4096, **kwargs: Any) -> None:
        super().__init__(**options_of(self, kwargs, output=FrontOutput(Column("visited", width=8, func=_visited))))
        self.batch_size = positive_whole("batch_size", batch_size)

    def _begin(self, problem: LatticeProblem) -> None:
        check_visitable(problem)
        self.n_visited, self._front = 0, ParetoArchive()

    def _end(self, problem: LatticeProblem) -> MaximumGenerationTermination:
        return MaximumGenerationTermination(-(-problem.n_nodes // self.batch_size))

    @property
    def n_undecided(self) -> int:
        """Number of nodes that are not evaluated yet."""
        return int(self.problem.n_nodes) - self.n_visited

    @property
    def certified(self) -> bool:
        """Whether all nodes are evaluated."""
        return self.n_undecided == 0

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        batch = self.problem.nodes(self.n_visited, self.n_visited + self.batch_size)
        F, G = self._evaluated(batch)
        best = np.flatnonzero((G <= 0).all(axis=1))
        best = best[first_non_dominated(F[best])]
        self._front.add(evaluated(batch[best], F[best], G[best]))
        if len(batch) and not len(self._front):
            self._keep_closest_of(batch, F, G)
        self.n_visited += len(batch)
        if self.n_visited >= self.problem.n_nodes:
            self.termination.terminate()

    def _set_optimum(self) -> None:
        self._show_front(self._front.pop)


def _visited(algorithm: ExhaustiveSearch) -> str:
    return f"{algorithm.n_visited / algorithm.problem.n_nodes:.1%}"


class _Heuristic(Search):
    """Base of heuristics in turns. The last feasible node counts."""

    _kinds = (LatticeProblem,)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**options_of(self, kwargs, output=FrontOutput(Column("height", width=8, func=_height))))

    def _begin(self, problem: LatticeProblem) -> None:
        self._found: Population | None = None
        self._next: Ints = self._first()

    def _end(self, problem: LatticeProblem) -> MaximumGenerationTermination:
        return MaximumGenerationTermination(int(problem.lengths.sum()) + 1)

    def _first(self) -> Ints:
        raise NotImplementedError

    def _after(self, feasible: bool) -> Ints:
        raise NotImplementedError

    def _infill(self) -> Population:
        return Population.new(X=self._next)

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        # A search that has ended has no node left for a new termination.
        if infills is not None and len(infills):
            self.pop = infills
            feasible = infills[[satisfies_constraints(one) for one in infills]]
            if len(feasible):
                self._found = feasible
            self._next = self._after(len(feasible) > 0)
        if not len(self._next):
            self.termination.terminate()

    def _set_optimum(self) -> None:
        if self._found is not None:
            self.opt = one_of_each(filter_optimum(self._found))
        elif self.opt is None or not len(self.opt) or self.opt[0].cv > self.pop.get("cv").min():
            # Without a feasible node, the one that violates the constraints least is kept.
            super()._set_optimum()


def _height(algorithm: Algorithm) -> str:
    return f"{int(algorithm.pop[0].X.sum()):,}"


class Datafly(_Heuristic):
    """Datafly for a `LatticeProblem` (Sweeney 1998).

    It begins with the table as it is, and raises the column with the most distinct values until the constraints hold.
    It ends with one generalization, or with none if not even the top is feasible. The problem says which tuples are
    suppressed. `Violating` is nearest to the original. It serves as a baseline.

    Args:
        **kwargs: As pymoo's `Algorithm`. By default the output is the height of the nodes, the sum of their levels, and
            the size of the front.

    Raises:
        TypeError: An argument is not known. At setup: the problem is not a `LatticeProblem`.

    >>> from pymoo.optimize import minimize
    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    >>> problem = LatticeProblem(make_census(200), [GeneralLossMetric()], 0.05, [KAnonymity() >= 5])
    >>> minimize(problem, Datafly()).X.tolist()
    [6, 3, 3, 2, 1, 0, 3, 0]
    """

    def _first(self) -> Ints:
        return self.problem.lowest[np.newaxis]

    def _after(self, feasible: bool) -> Ints:
        problem: LatticeProblem = self.problem
        x = self._next[0].copy()
        if feasible or bool((x == problem.highest).all()):
            return self._next[:0]
        codes, n_distinct = problem.table.tuples.codes, np.full(problem.n_var, -1)
        for j, hierarchy in enumerate(problem.table.quasi_identifiers.values()):
            if x[j] < problem.highest[j]:
                n_distinct[j] = len(np.unique(hierarchy.groups[x[j], codes[:, j]]))
        x[n_distinct.argmax()] += 1
        return x[np.newaxis]


class SamaratiSearch(_Heuristic):
    """Samarati's search for the least feasible height (Samarati 2001).

    The height of a node is the sum of its levels. All nodes of a height are evaluated at once. The result is the
    non-dominated ones of the feasible nodes at the least height. Bisection assumes that every node above a feasible one
    is feasible, as with k and no suppression.

    Args:
        **kwargs: As pymoo's `Algorithm`. By default the output is the height of the nodes, and the size of the front.

    Raises:
        TypeError: An argument is not known. At setup: the problem is not a `LatticeProblem`.
    """

    def _first(self) -> Ints:
        # Invariant: the least feasible height is in low..high, or there is none.
        self._low, self._high = int(self.problem.lowest.sum()), int(self.problem.highest.sum())
        return self._at((self._low + self._high) // 2)

    def _after(self, feasible: bool) -> Ints:
        height = int(self._next[0].sum())
        self._low, self._high = (self._low, height) if feasible else (height + 1, self._high)
        # Not even the top may be feasible, so it is evaluated, too.
        if self._low > self._high or (feasible and self._low == self._high):
            return self._next[:0]
        return self._at((self._low + self._high) // 2)

    def _at(self, height: int) -> Ints:
        nodes = np.zeros((1, 0), dtype=np.int64)
        lowest, highest = self.problem.lowest, self.problem.highest
        for j in range(self.problem.n_var):
            levels = np.arange(lowest[j], highest[j] + 1)
            nodes = np.column_stack([np.repeat(nodes, len(levels), axis=0), np.tile(levels, len(nodes))])
            sums = nodes.sum(axis=1)
            # The rest of the height has to fit the columns that follow.
            nodes = nodes[(sums + lowest[j + 1 :].sum() <= height) & (sums + highest[j + 1 :].sum() >= height)]
        return nodes
