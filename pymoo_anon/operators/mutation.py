"""Mutations of generalizations, and the repair of strings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.core.variable import get

from pymoo_anon.operators.crossover import PartitionCrossover
from pymoo_anon.operators.sampling import check_levels, check_strings
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.typing import Bools, Ints


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


class PerAttributeBitMutation(Mutation):  # type: ignore[misc]
    """Bit mutation at a rate per quasi-identifier (Dewri et al. 2009, section 6).

    The result may not be a cut of a taxonomy. `ClosestValidRepair` makes it one.

    Args:
        prob_var: Probability for each bit. None is 1 / number of bits of its quasi-identifier, so that every
            quasi-identifier mutates equally often.
    """

    def __init__(self, prob_var: float | None = None, **kwargs: Any) -> None:
        super().__init__(prob_var=prob_var, **kwargs)

    def _do(self, problem: BitStringProblem, X: Bools, *args: Any, random_state: Generator, **kwargs: Any) -> Bools:
        check_strings(problem)
        if self.prob_var is None:
            lengths = np.diff(problem.bit_offsets)
            rate = np.repeat(1 / np.maximum(lengths, 1), lengths)
        else:
            rate = get(self.prob_var)
        return X ^ (random_state.random(X.shape) < rate)


class RandomImmigrantMutation(Mutation):  # type: ignore[misc]
    """Crossover with a random valid string (Lunacek et al. 2006, section 3.2).

    It replaces bit mutation. It brings bits back that the population has lost, and valid strings stay valid.

    Args:
        prob: Probability that a string is crossed with an immigrant.
        crossover: Its first child is taken. None is `PartitionCrossover()`.
    """

    def __init__(self, prob: float = 0.1, crossover: Crossover | None = None, **kwargs: Any) -> None:
        super().__init__(prob=prob, **kwargs)
        self.crossover = PartitionCrossover() if crossover is None else crossover

    def _do(self, problem: BitStringProblem, X: Bools, *args: Any, random_state: Generator, **kwargs: Any) -> Bools:
        check_strings(problem)
        immigrants = problem.sample(len(X), random_state)
        children = self.crossover._do(problem, np.stack([X, immigrants]), random_state=random_state)
        first: Bools = children[0]
        return first


class ClosestValidRepair(Repair):  # type: ignore[misc]
    """Repair by the nearest valid string (Lunacek et al. 2006, section 3.2).

    Nearest by Hamming distance, and exact. All nearest strings are equally likely. Valid strings stay as they are.
    """

    def _do(
        self, problem: BitStringProblem, X: Bools, *args: Any, random_state: Generator | None = None, **kwargs: Any
    ) -> Bools:
        check_strings(problem)
        return problem.closest(X, random_state)
