"""Operators of levels: samplings, the tournament of PBG-EA, crossover, mutation and neighborhood."""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.operator import Operator
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling
from pymoo.core.selection import Selection
from pymoo.core.variable import get

from pymoo_anon._messages import positive_whole
from pymoo_anon.fronts.archive import dominance_fitness
from pymoo_anon.typing import Array, Ints


def check_levels(problem: Problem) -> None:
    """Raise unless the variables are whole numbers. A problem without a `vtype` passes."""
    if problem.vtype is not None and not np.issubdtype(problem.vtype, np.integer):
        raise TypeError(
            "problem must have whole numbers as variables, as the levels of a LatticeProblem, got "
            f"{type(problem).__name__}; for a BitStringProblem there are BitStringSampling, PartitionCrossover and "
            "RandomImmigrantMutation"
        )


class LatticeSampling(Sampling):  # type: ignore[misc]
    """Random nodes of a lattice, with both ends.

    The wholly generalized and the wholly specialized node come first. Without suppression they are minimal for every
    table (Dewri et al. 2010, section 6).
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


class LevelCrossover(Crossover):  # type: ignore[misc]
    """Single-point crossover of levels (Dewri et al. 2010, section 6).

    The point stands between two variables. With one variable the children are the parents.

    Args:
        prob: Probability that two parents are crossed at all.

    >>> from pymoo.core.problem import Problem
    >>> lattice = Problem(n_var=4, xl=0, xu=9, vtype=int)
    >>> parents = np.array([[[1, 2, 3, 4]], [[5, 6, 7, 8]]])  # one mating of two
    >>> LevelCrossover()._do(lattice, parents, random_state=np.random.default_rng(1))
    array([[[1, 2, 7, 8]],
    <BLANKLINE>
           [[5, 6, 3, 4]]])
    """

    def __init__(self, prob: float = 0.8, **kwargs: Any) -> None:
        super().__init__(2, 2, prob=prob, **kwargs)

    def _do(self, problem: Problem, X: Ints, *args: Any, random_state: Generator, **kwargs: Any) -> Ints:
        check_levels(problem)
        _, n_matings, n_var = X.shape
        if n_var == 1:
            return X.copy()
        points = random_state.integers(1, n_var, size=(n_matings, 1))
        return np.where(np.arange(n_var) >= points, X[::-1], X)


class SingleStepMutation(Mutation):  # type: ignore[misc]
    """Mutation by one level up or down (Dewri et al. 2010, section 6).

    Both directions are equally likely. A step beyond the hierarchy has no effect.

    Args:
        prob_var: Probability for each variable; None is 1 / number of variables.
    """

    def __init__(self, prob_var: float | None = None, **kwargs: Any) -> None:
        super().__init__(prob_var=prob_var, **kwargs)

    def _do(self, problem: Problem, X: Ints, *args: Any, random_state: Generator, **kwargs: Any) -> Ints:
        check_levels(problem)
        prob_var = 1 / problem.n_var if self.prob_var is None else get(self.prob_var)
        mutates = random_state.random(X.shape) < prob_var
        steps = random_state.choice([-1, 1], size=X.shape)
        low, high = problem.xl.astype(X.dtype), problem.xu.astype(X.dtype)
        return np.where(mutates, np.clip(X + steps, low, high), X)


class Neighborhood(Operator):  # type: ignore[misc]
    """The neighbors of a point, ring after ring.

    The first ring is at distance 1, the next at distance 2, and so on. A subclass of your own defines
    `_do(problem, x, distance, random_state=..., **kwargs)`, which returns an (n, n_var) array of the type of x, in any
    order. A point may be in several rings, and x itself may be among its neighbors.

    Args:
        reach: Number of rings.

    Raises:
        ValueError: `reach` is not a positive whole number.
    """

    def __init__(self, reach: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reach: int = positive_whole("reach", reach)

    @abstractmethod
    def _do(self, problem: Problem, x: Array, distance: int, *args: Any, **kwargs: Any) -> Array:
        """Return the (n, n_var) points at one distance."""


class LevelNeighborhood(Neighborhood):
    """The nodes of a lattice within some steps.

    A step is one level up or down in one attribute. This package's own.

    Args:
        reach: The greatest number of steps. With two there are about 2 n_var^2 neighbors.

    Raises:
        ValueError: `reach` is not a positive whole number.

    >>> lattice = Problem(n_var=2, xl=0, xu=[2, 1], vtype=int)
    >>> steps = LevelNeighborhood(reach=2)
    >>> steps.do(lattice, np.array([0, 1]), 1).tolist(), steps.do(lattice, np.array([0, 1]), 2).tolist()
    ([[0, 0], [1, 1]], [[1, 0], [2, 1]])
    """

    def __init__(self, reach: int = 2, **kwargs: Any) -> None:
        super().__init__(reach, **kwargs)

    def _do(self, problem: Problem, x: Ints, distance: int, *args: Any, **kwargs: Any) -> Ints:
        check_levels(problem)
        around = x + _steps(problem.n_var, distance)
        return around[((around >= problem.xl) & (around <= problem.xu)).all(axis=1)]


@cache
def _steps(n_var: int, distance: int) -> Ints:
    """Return all integer vectors of an L1 norm."""
    if distance == 0:
        return np.zeros((1, n_var), dtype=np.int64)
    single = np.concatenate([np.eye(n_var, dtype=np.int64), -np.eye(n_var, dtype=np.int64)])
    together = (_steps(n_var, distance - 1)[:, np.newaxis] + single).reshape(-1, n_var)
    steps = np.unique(together[np.abs(together).sum(axis=1) == distance], axis=0)
    steps.flags.writeable = False
    return steps
