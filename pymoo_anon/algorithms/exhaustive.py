"""Exhaustive search of a generalization lattice."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.individual import Individual
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.util.display.output import Output

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.common import FrontOutput, check_arguments, check_kind, ending, least_infeasible, show
from pymoo_anon.fronts.archive import evaluated, in_order, merge_front
from pymoo_anon.problems.base import uncounted_compilation
from pymoo_anon.problems.lattice import LatticeProblem, check_visitable


class ExhaustiveSearch(Algorithm):  # type: ignore[misc]
    """Evaluates every node of a `LatticeProblem`, a batch an iteration, and ends by itself with the exact front.

    This package's own: others are held against it.

    A termination is looked at after every batch. Stopped early, the result is the front of the nodes that were visited.
    Ctrl-C is passed on, as by pymoo's algorithms; the search can go on with the batch that was interrupted. Of nodes
    with equal objective values the first in the order of `LatticeProblem.nodes` is kept.

    Args:
        batch_size: Number of nodes in a batch.
        output: Columns of the verbose output; None is the share of the lattice that was visited, and the front.
        **kwargs: As pymoo's `Algorithm`: termination, callback, save_history, archive, evaluator,
            return_least_infeasible, ...

    Attributes:
        n_visited: Number of nodes that were evaluated.

    Raises:
        ValueError: `batch_size` is no positive whole number. At setup: the lattice has more than a billion nodes.
        TypeError: An argument is not known. At setup: the problem is no `LatticeProblem`.
    """

    archive: Any

    def __init__(self, batch_size: int = 4096, output: Output | None = None, **kwargs: Any) -> None:
        check_arguments(self, kwargs)
        super().__init__(output=FrontOutput("visited", _visited) if output is None else output, **kwargs)
        self.batch_size = positive_whole("batch_size", batch_size)
        self.n_visited = 0

    def setup(self, problem: Problem, **kwargs: Any) -> ExhaustiveSearch:
        """Set the algorithm up; without a termination it runs until the lattice is exhausted.

        Raises:
            TypeError: The problem is no `LatticeProblem`.
            ValueError: The lattice has more than a billion nodes.
        """
        check_kind(problem, LatticeProblem)
        check_visitable(problem)
        turns = MaximumGenerationTermination(-(-problem.n_nodes // self.batch_size))
        super().setup(problem, **ending(self, kwargs, turns))
        # The front so far: numbers of its nodes in ascending order, their values, and their individuals.
        self._numbers, self._F = np.empty((0, 1), dtype=np.int64), np.empty((0, problem.n_obj))
        self._members: dict[int, Individual] = {}
        # The node that breaks the constraints least, until one breaks none.
        self._least_infeasible = Population()
        return self

    @property
    def n_undecided(self) -> int:
        """Number of nodes that were not evaluated."""
        return int(self.problem.n_nodes) - self.n_visited

    @property
    def certified(self) -> bool:
        """Whether all nodes were evaluated, so that the front is proven to be complete."""
        return self.n_undecided == 0

    def ask(self) -> NoReturn:
        """There are no infills to ask for.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError("ExhaustiveSearch evaluates its nodes itself; call next() or run(), not ask and tell")

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        self._advance()

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        start = self.n_visited
        batch = self.problem.nodes(start, start + self.batch_size)
        with uncounted_compilation(self):
            F, G = show(self, batch)
        feasible = np.flatnonzero((G <= 0).all(axis=1))
        numbers, front = merge_front(self._numbers, self._F, start + feasible[:, np.newaxis], F[feasible])
        new = numbers[numbers >= start] - start
        known = {
            **self._members,
            **dict(zip((start + new).tolist(), evaluated(batch[new], F[new], G[new]), strict=True)),
        }
        if len(numbers) == 0:
            self._least_infeasible = least_infeasible(self._least_infeasible, batch, F, G)
        self._members = {number: known[number] for number in numbers[:, 0].tolist()}
        self._numbers, self._F = numbers, front
        self.n_visited += len(batch)
        if self.n_visited >= self.problem.n_nodes:
            self.termination.terminate()

    def _set_optimum(self) -> None:
        # As with pymoo's algorithms, what breaks constraints least stands in where nothing is feasible; pymoo's
        # `result` leaves it out unless `return_least_infeasible` asks for it.
        front = Population(list(self._members.values()))
        self.pop = self.opt = in_order(front) if self._members else self._least_infeasible


def _visited(algorithm: ExhaustiveSearch) -> str:
    return f"{algorithm.n_visited / algorithm.problem.n_nodes:.1%}"
