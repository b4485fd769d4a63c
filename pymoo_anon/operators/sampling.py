"""Samplings of generalizations, selection of parents, and checks of the search space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling
from pymoo.core.selection import Selection

from pymoo_anon.fronts.archive import dominance_fitness
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.typing import Bools, Ints


def check_levels(problem: Problem) -> None:
    """Raise unless the variables are whole numbers.

    A problem without a `vtype` passes.
    """
    if problem.vtype is not None and not np.issubdtype(problem.vtype, np.integer):
        raise TypeError(
            "problem must have whole numbers as variables, as the levels of a LatticeProblem, got "
            f"{type(problem).__name__}; for a BitStringProblem there are BitStringSampling, PartitionCrossover and "
            "RandomImmigrantMutation"
        )


def check_strings(problem: Problem) -> None:
    """Raise unless a problem is a `BitStringProblem`."""
    if not isinstance(problem, BitStringProblem):
        raise TypeError(
            f"problem must be a BitStringProblem, got {type(problem).__name__}; for a LatticeProblem there are "
            "LatticeSampling, LevelCrossover and SingleStepMutation"
        )


class LatticeSampling(Sampling):  # type: ignore[misc]
    """Random nodes of a lattice, with both ends.

    The wholly generalized and the wholly specialized node come first. They are minimal for every table (Dewri et al.
    2010, section 6).
    """

    def _do(self, problem: Problem, n_samples: int, *args: Any, random_state: Generator, **kwargs: Any) -> Ints:
        check_levels(problem)
        low, high = problem.xl.astype(np.int64), problem.xu.astype(np.int64)
        X = random_state.integers(low, high + 1, size=(n_samples, problem.n_var))
        X[:2] = np.stack([high, low])[:n_samples]
        return X


class CornerSampling(Sampling):  # type: ignore[misc]
    """Both ends of a lattice and the corners nearby.

    The wholly generalized and the wholly specialized node come first. For each attribute follow the first of them with
    this attribute specialized, and the second with this attribute generalized. From there a local search has a path
    along every attribute. Random nodes fill the rest. This package's own.

    >>> from pymoo.core.problem import Problem
    >>> lattice = Problem(n_var=3, xl=0, xu=[4, 1, 2], vtype=int)
    >>> CornerSampling().do(lattice, 8, random_state=np.random.default_rng(1)).get("X").tolist()
    [[4, 1, 2], [0, 0, 0], [0, 1, 2], [4, 0, 0], [4, 0, 2], [0, 1, 0], [4, 1, 0], [0, 0, 2]]
    """

    def _do(self, problem: Problem, n_samples: int, *args: Any, random_state: Generator, **kwargs: Any) -> Ints:
        check_levels(problem)
        low, high = problem.xl.astype(np.int64), problem.xu.astype(np.int64)
        one = np.eye(problem.n_var, dtype=bool)
        pairs = np.stack([np.where(one, low, high), np.where(one, high, low)], axis=1)
        X = np.concatenate([[high, low], pairs.reshape(-1, problem.n_var)])
        # Attributes of one level, or one attribute alone, have several corners in one node.
        corners = X[np.sort(np.unique(X, axis=0, return_index=True)[1])][:n_samples]
        others = random_state.integers(low, high + 1, size=(n_samples - len(corners), problem.n_var))
        return np.concatenate([corners, others])


class BitStringSampling(Sampling):  # type: ignore[misc]
    """Random valid bit strings, with both ends.

    The wholly generalized and the wholly specialized string come first. All valid strings are equally likely. Nearly
    all of them are so special that k is 1, so that only the two ends span the trade-off. This package's own.
    """

    def _do(
        self, problem: BitStringProblem, n_samples: int, *args: Any, random_state: Generator, **kwargs: Any
    ) -> Bools:
        check_strings(problem)
        X = problem.sample(n_samples, random_state)
        X[:2] = np.array([[False], [True]])[:n_samples]
        return X


class DominanceCountTournament(Selection):  # type: ignore[misc]
    """Binary tournaments on the dominance-count fitness (Dewri et al. 2010, section 6).

    Two individuals are drawn, and the one of lower fitness becomes a parent, or the first of equal ones. Both draws may
    give the same individual: the paper draws without replacement only when it pairs the winners.

    Constraints come before fitness. The individual with the smaller violation becomes a parent, and only individuals
    without a violation count in the fitness of one another. A violation that the search still tolerates is none.
    """

    def _do(
        self,
        problem: Problem,
        pop: Population,
        n_select: int,
        n_parents: int,
        *args: Any,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> Any:
        F = np.array([one.F for one in pop], dtype=float).reshape(len(pop), -1)
        violation = np.zeros(len(pop))
        if problem is None or problem.has_constraints():
            violation[:] = [0.0 if one.feas else one.cv for one in pop]
        feasible = violation == 0
        fitness = np.zeros(len(pop))
        fitness[feasible] = dominance_fitness(F[feasible])
        first, second = random_state.integers(len(pop), size=(2, n_select, n_parents))
        better = (violation[second] < violation[first]) | (
            (violation[second] == violation[first]) & (fitness[second] < fitness[first])
        )
        return np.where(better, second, first)
