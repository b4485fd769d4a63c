"""Exhaustive search of a generalization lattice."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymoo.core.population import Population
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.common import FrontOutput, OwnSearch, check_arguments
from pymoo_anon.fronts.archive import evaluated, first_non_dominated
from pymoo_anon.problems.lattice import LatticeProblem, check_visitable


class ExhaustiveSearch(OwnSearch):
    """Exhaustive search of a `LatticeProblem` for the exact front.

    This package's own. Other algorithms are measured against it.

    An iteration evaluates one batch of nodes. Stopped early, the result is the front of the visited nodes. After Ctrl-C
    the search can go on. Of nodes with equal F the first in the order of `LatticeProblem.nodes` is kept.

    Args:
        batch_size: Number of nodes in a batch.
        output: Columns of the verbose output. None is the visited share of the lattice, and the size of the front.
        **kwargs: As pymoo's `Algorithm`.

    Attributes:
        n_visited: Number of evaluated nodes.

    Raises:
        ValueError: `batch_size` is not a positive whole number. At setup: the lattice has more than a billion nodes.
        TypeError: An argument is not known. At setup: the problem is not a `LatticeProblem`.
    """

    _kinds = (LatticeProblem,)

    def __init__(self, batch_size: int = 4096, output: Output | None = None, **kwargs: Any) -> None:
        check_arguments(self, kwargs)
        super().__init__(
            output=FrontOutput(Column("visited", width=8, func=_visited)) if output is None else output, **kwargs
        )
        self.batch_size = positive_whole("batch_size", batch_size)

    def _begin(self, problem: LatticeProblem) -> None:
        super()._begin(problem)
        check_visitable(problem)
        self.n_visited, self._front = 0, Population.empty()

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
        together = Population.merge(self._front, evaluated(batch[best], F[best], G[best]))
        if len(together):
            self._front = together[first_non_dominated(together.get("F"))]
        else:
            self._keep_closest(batch, F, G)
        self.n_visited += len(batch)
        if self.n_visited >= self.problem.n_nodes:
            self.termination.terminate()

    def _set_optimum(self) -> None:
        self._show_front(self._front)


def _visited(algorithm: ExhaustiveSearch) -> str:
    return f"{algorithm.n_visited / algorithm.problem.n_nodes:.1%}"
