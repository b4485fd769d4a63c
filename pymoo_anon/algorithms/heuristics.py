"""Full-domain heuristics that end with single generalizations: Datafly, and Samarati's search by heights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.algorithm import Algorithm
from pymoo.core.population import Population
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.util.display.output import Output
from pymoo.util.optimum import filter_optimum

from pymoo_anon.algorithms.common import FrontOutput, Search, check_arguments, one_of_each
from pymoo_anon.fronts.archive import satisfies_constraints
from pymoo_anon.problems.lattice import LatticeProblem

Nodes = NDArray[np.int64]


class _Heuristic(Search):
    """Evaluates nodes in turns; the last turn with a feasible node has the result."""

    _kinds = (LatticeProblem,)

    def __init__(self, output: Output | None = None, **kwargs: Any) -> None:
        check_arguments(self, kwargs)
        super().__init__(output=FrontOutput("height", _height) if output is None else output, **kwargs)

    def _begin(self, problem: LatticeProblem) -> None:
        self._found: Population | None = None
        self._next: Nodes = self._first()

    def _end(self, problem: LatticeProblem) -> MaximumGenerationTermination:
        return MaximumGenerationTermination(int(problem.lengths.sum()) + 1)

    def _first(self) -> Nodes:
        """The nodes of the first turn."""
        raise NotImplementedError

    def _after(self, feasible: bool) -> Nodes:
        """The nodes of the next turn, none where it ends; told whether one of the last turn was feasible."""
        raise NotImplementedError

    def _infill(self) -> Population:
        return Population.new(X=self._next)

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        if infills is None:
            return
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
            # What breaks constraints least stands in where nothing is feasible.
            super()._set_optimum()


def _height(algorithm: Algorithm) -> str:
    return f"{int(algorithm.pop[0].X.sum()):,}"


class Datafly(_Heuristic):
    """Sweeney's Datafly (1998): raise the column with the most distinct values, until the constraints hold.

    It begins with the table as it is, and ends with one generalization of a `LatticeProblem`, or with none where not
    even the top is feasible. What is suppressed is up to the problem: `Violating` is nearest to the original. It is a
    baseline: nothing is searched.

    Args:
        output: Columns of the verbose output; None is the height of the nodes, the sum of their levels, and the front.
        **kwargs: As pymoo's `Algorithm`: termination, callback, save_history, archive, evaluator,
            return_least_infeasible, ...

    Raises:
        TypeError: An argument is not known. At setup: the problem is no `LatticeProblem`.

    >>> from pymoo.optimize import minimize
    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    >>> problem = LatticeProblem(make_census(200), [GeneralLossMetric()], 0.05, [KAnonymity() >= 5])
    >>> minimize(problem, Datafly()).X.tolist()
    [6, 3, 3, 2, 1, 0, 3, 0]
    """

    def _first(self) -> Nodes:
        lowest: Nodes = self.problem.lowest[np.newaxis]
        return lowest

    def _after(self, feasible: bool) -> Nodes:
        problem: LatticeProblem = self.problem
        x = self._next[0].copy()
        if feasible or bool((x == problem.highest).all()):
            return self._next[:0]
        codes, held = problem.table.tuples.codes, np.full(problem.n_var, -1)
        for j, hierarchy in enumerate(problem.table.quasi_identifiers.values()):
            if x[j] < problem.highest[j]:
                held[j] = len(np.unique(hierarchy.groups[x[j], codes[:, j]]))
        x[held.argmax()] += 1
        raised: Nodes = x[np.newaxis]
        return raised


class SamaratiSearch(_Heuristic):
    """Samarati's search (2001): the least height of the lattice with a feasible node, by bisection.

    The height of a node is the sum of its levels. All nodes of a height are evaluated at once; of the feasible ones of
    the least such height those are the result that no other one of them beats in everything. Bisection needs that what
    is above a feasible node is feasible, as it is of k without suppression.

    Args:
        output: Columns of the verbose output; None is the height of the nodes, the sum of their levels, and the front.
        **kwargs: As pymoo's `Algorithm`.

    Raises:
        TypeError: An argument is not known. At setup: the problem is no `LatticeProblem`.
    """

    def _first(self) -> Nodes:
        # The least feasible height is in low..high, or there is none.
        self._low, self._high = int(self.problem.lowest.sum()), int(self.problem.highest.sum())
        self._decided = False
        return self._at((self._low + self._high) // 2)

    def _after(self, feasible: bool) -> Nodes:
        height = int(self._next[0].sum())
        self._low, self._high = (self._low, height) if feasible else (height + 1, self._high)
        if self._decided or self._low > self._high or (feasible and self._low == self._high):
            return self._next[:0]
        if self._low == self._high:
            # It may be that not even the top is feasible: it is looked at, too.
            self._decided = True
        return self._at((self._low + self._high) // 2)

    def _at(self, height: int) -> Nodes:
        """All nodes of a height."""
        nodes = np.zeros((1, 0), dtype=np.int64)
        lowest, highest = self.problem.lowest, self.problem.highest
        for j in range(self.problem.n_var):
            levels = np.arange(lowest[j], highest[j] + 1)
            nodes = np.column_stack([np.repeat(nodes, len(levels), axis=0), np.tile(levels, len(nodes))])
            sums = nodes.sum(axis=1)
            # What is left of the height has to fit the columns that follow.
            nodes = nodes[(sums + lowest[j + 1 :].sum() <= height) & (sums + highest[j + 1 :].sum() >= height)]
        return nodes
