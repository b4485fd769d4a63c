"""Mutations of generalizations, and the repair of strings that they break."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.core.variable import get

from pymoo_anon.operators.crossover import Bits, Levels, PartitionCrossover
from pymoo_anon.operators.sampling import check_levels, check_strings
from pymoo_anon.problems.bitstrings import BitStringProblem


class SingleStepMutation(Mutation):  # type: ignore[misc]
    """One level up or down, either as likely, cut off at the ends of the hierarchy (Dewri et al. 2010, section 6).

    Args:
        prob_var: Probability for each variable; None is 1 / number of variables.

    Raises:
        TypeError: At the first mutation, the variables of the problem are bits or real numbers.
    """

    def __init__(self, prob_var: float | None = None, **kwargs: Any) -> None:
        super().__init__(prob_var=prob_var, **kwargs)

    def _do(self, problem: Problem, X: Levels, *args: Any, random_state: Generator, **kwargs: Any) -> Levels:
        check_levels(problem)
        prob_var = 1 / problem.n_var if self.prob_var is None else get(self.prob_var)
        mutates = random_state.random(X.shape) < prob_var
        steps = random_state.choice([-1, 1], size=X.shape)
        low, high = problem.xl.astype(X.dtype), problem.xu.astype(X.dtype)
        return np.where(mutates, np.clip(X + steps, low, high), X)


class PerAttributeBitMutation(Mutation):  # type: ignore[misc]
    """Bits of a `BitStringProblem` flip, at a rate of each quasi-identifier's own string.

    From Dewri et al. 2009, section 6. The result may be no cut of a taxonomy: `ClosestValidRepair` makes it one.

    Args:
        prob_var: Probability for each bit; None is 1 / number of bits of its quasi-identifier, so that long strings do
            not take all mutations to themselves.

    Raises:
        TypeError: At the first mutation, the problem is no `BitStringProblem`.
    """

    def __init__(self, prob_var: float | None = None, **kwargs: Any) -> None:
        super().__init__(prob_var=prob_var, **kwargs)

    def _do(self, problem: BitStringProblem, X: Bits, *args: Any, random_state: Generator, **kwargs: Any) -> Bits:
        check_strings(problem)
        if self.prob_var is None:
            lengths = np.diff(problem.bit_offsets)
            rate = np.repeat(1 / np.maximum(lengths, 1), lengths)
        else:
            rate = get(self.prob_var)
        return X ^ (random_state.random(X.shape) < rate)


class RandomImmigrantMutation(Mutation):  # type: ignore[misc]
    """Crossover with a random valid string, in the place of bit mutation (Lunacek et al. 2006, section 3.2).

    It brings in what the population has lost, and valid strings stay valid.

    Args:
        prob: Probability that a string is crossed with an immigrant.
        crossover: None is `PartitionCrossover()`; the first child is taken.

    Raises:
        TypeError: At the first mutation, the problem is no `BitStringProblem`.
    """

    def __init__(self, prob: float = 0.1, crossover: Crossover | None = None, **kwargs: Any) -> None:
        super().__init__(prob=prob, **kwargs)
        self.crossover = PartitionCrossover() if crossover is None else crossover

    def _do(self, problem: BitStringProblem, X: Bits, *args: Any, random_state: Generator, **kwargs: Any) -> Bits:
        check_strings(problem)
        immigrants = problem.sample(len(X), random_state)
        children = self.crossover._do(problem, np.stack([X, immigrants]), random_state=random_state)
        first: Bits = children[0]
        return first


class ClosestValidRepair(Repair):  # type: ignore[misc]
    """The valid string nearest by Hamming distance, any of several nearest ones as likely.

    From Lunacek et al. 2006, section 3.2; exact. Strings that are valid stay as they are.

    Raises:
        TypeError: At the first repair, the problem is no `BitStringProblem`.
    """

    def _do(
        self, problem: BitStringProblem, X: Bits, *args: Any, random_state: Generator | None = None, **kwargs: Any
    ) -> Bits:
        check_strings(problem)
        return problem.closest(X, random_state)
