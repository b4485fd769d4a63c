"""Exhaustive search of a generalization lattice."""

from __future__ import annotations

from typing import Any

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.individual import Individual
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output

from pymoo_anon.fronts.archive import evaluated, merge_front
from pymoo_anon.problems.lattice import LatticeProblem


class ExhaustiveSearch(Algorithm):  # type: ignore[misc]
    """Evaluates every node of a `LatticeProblem`, a batch an iteration, and ends by itself with the exact front.

    Stopped early by a termination, it returns the front of the nodes that it has seen. Of nodes with equal objective
    values the first in the order of `LatticeProblem.nodes` is kept. It asks for no evaluations: ask and tell have
    nothing to do, `next()` and `run()` do.

    Args:
        batch_size: Number of nodes in a batch.
        output: Columns of the verbose output; None is `ExhaustiveOutput()`.
        **kwargs: As pymoo's `Algorithm`: termination, callback, save_history, ...

    Raises:
        ValueError: `batch_size` is not positive.
        TypeError: At setup, the problem is no `LatticeProblem`.
    """

    def __init__(self, batch_size: int = 4096, output: Output | None = None, **kwargs: Any) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be positive, got {batch_size!r}")
        super().__init__(output=ExhaustiveOutput() if output is None else output, **kwargs)
        self.batch_size = batch_size
        self.n_visited = 0

    def setup(self, problem: Problem, **kwargs: Any) -> ExhaustiveSearch:
        """Set the algorithm up; without a termination it runs until the lattice is exhausted."""
        if not isinstance(problem, LatticeProblem):
            raise TypeError(f"problem must be a LatticeProblem, got {type(problem).__name__}")
        if self.termination is None and kwargs.get("termination") is None:
            kwargs["termination"] = MaximumGenerationTermination(-(-problem.n_nodes // self.batch_size))
        super().setup(problem, **kwargs)
        self._X, self._F = problem.nodes(0, 0), np.empty((0, problem.n_obj))
        self._members: dict[bytes, Individual] = {}
        return self

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        self._advance()

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        batch = self.problem.nodes(self.n_visited, self.n_visited + self.batch_size)
        F, G = self.problem.evaluate(batch, return_values_of=["F", "G"])
        feasible = (G <= 0).all(axis=1)
        self._X, self._F = merge_front(self._X, self._F, batch[feasible], F[feasible])
        self.n_visited += len(batch)
        self.evaluator.n_eval += len(batch)
        if self.n_visited >= self.problem.n_nodes:
            self.termination.terminate()

    def _set_optimum(self) -> None:
        # Individuals for the front only, and for what is new in it: 10 microseconds for each of all nodes would
        # outweigh their evaluation.
        keys = [x.tobytes() for x in self._X]
        new = [i for i, key in enumerate(keys) if key not in self._members]
        made = evaluated(self._X[new], *self.problem.evaluate(self._X[new], return_values_of=["F", "G"]))
        known = {**self._members, **{keys[i]: one for i, one in zip(new, made, strict=True)}}
        self._members = {key: known[key] for key in keys}
        self.pop = self.opt = Population(list(self._members.values()))


class ExhaustiveOutput(Output):  # type: ignore[misc]
    """Columns of an exhaustive search: the share of the lattice that was visited, and the size of the front."""

    def initialize(self, algorithm: Algorithm) -> None:
        """Add the columns."""
        self.columns.append(Column("visited", width=8, func=_visited))
        self.columns.append(Column("front", width=6, func=_front_size))


def _visited(algorithm: ExhaustiveSearch) -> str:
    return f"{algorithm.n_visited / algorithm.problem.n_nodes:.1%}"


def _front_size(algorithm: ExhaustiveSearch) -> int:
    return len(algorithm.opt)
