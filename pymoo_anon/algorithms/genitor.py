"""GENITOR, a steady-state genetic algorithm with selection by rank."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from numbers import Integral
from operator import itemgetter
from typing import Any

import numpy as np
from pymoo.core.crossover import Crossover
from pymoo.core.individual import Individual
from pymoo.core.initialization import Initialization
from pymoo.core.mutation import Mutation
from pymoo.core.operator import Operator
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.core.sampling import Sampling
from pymoo.termination import get_termination
from pymoo.termination.max_eval import MaximumFunctionCallTermination
from pymoo.termination.max_time import TimeBasedTermination
from pymoo.util.display.single import SingleObjectiveOutput

from pymoo_anon.algorithms.common import Search, options_of
from pymoo_anon.operators.strings import BitStringSampling, PartitionCrossover, RandomImmigrantMutation
from pymoo_anon.typing import Array, Ints

# Births that give a duplicate are repeated as often as in pymoo's mating.
_ATTEMPTS = 100


class GENITOR(Search):
    """GENITOR for one objective (Whitley 1989, Lunacek et al. 2006).

    Two parents are drawn by rank. Their child replaces the worst of the population if it is better. The smaller
    constraint violation is better, and then the smaller value. One iteration of pymoo is `pop_size` births, and `ask`
    gives one child at a time. Terminations by evaluations or time are checked after each birth.

    >>> from pymoo.optimize import minimize
    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    >>> from pymoo_anon.problems import BitStringProblem
    >>> problem = BitStringProblem(make_census(200), [GeneralLossMetric()], constraints=[KAnonymity() >= 5])
    >>> res = minimize(problem, GENITOR(pop_size=20), ("n_eval", 130), seed=1)
    >>> bool((res.G <= 0).all()), res.algorithm.evaluator.n_eval
    (True, 130)

    Args:
        pop_size: Number of individuals in the population.
        bias: Ratio of the chances of the best and the median to be drawn, from 1 to 2. 1.5 is Whitley's, as Lunacek et
            al. name none.
        eliminate_duplicates: Whether a child that is already in the population gives way to another, at most 100 times,
            before it is evaluated.
        sampling: First population. None is `BitStringSampling()`.
        crossover: Its first child is taken. None is `PartitionCrossover()`.
        mutation: None is `RandomImmigrantMutation()`.
        repair: Makes children valid. None leaves them as they are.
        **kwargs: As pymoo's `Algorithm`: termination (30,000 evaluations by default), output (pymoo's for one objective
            by default), callback, save_history, ...

    Raises:
        TypeError: An argument is not known.
        ValueError: `pop_size` is not a whole number from 2, or `bias` is not from 1 to 2. At setup: the problem has
            several objectives.
    """

    def __init__(
        self,
        pop_size: int = 500,
        bias: float = 1.5,
        eliminate_duplicates: bool = True,
        sampling: Sampling | None = None,
        crossover: Crossover | None = None,
        mutation: Mutation | None = None,
        repair: Repair | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(pop_size, Integral) or pop_size < 2:
            raise ValueError(f"pop_size must be at least 2, got {pop_size!r}")
        if not 1 <= bias <= 2:
            raise ValueError(f"bias must be a number from 1 to 2, got {bias!r}")
        defaults = {"termination": get_termination("n_eval", 30_000), "output": SingleObjectiveOutput()}
        super().__init__(**options_of(self, kwargs, **defaults))
        self.pop_size: int = int(pop_size)
        self.bias: float = bias
        self.eliminate_duplicates: bool = eliminate_duplicates
        self.crossover: Crossover = PartitionCrossover() if crossover is None else crossover
        self.mutation: Mutation = RandomImmigrantMutation() if mutation is None else mutation
        self.repair: Repair | None = repair
        self.initialization: Initialization = Initialization(
            BitStringSampling() if sampling is None else sampling, repair=repair
        )

    def _begin(self, problem: Problem) -> None:
        if problem.n_obj != 1:
            raise ValueError(f"problem must have one objective, got {problem.n_obj}")

    def _initialize_infill(self) -> Population:
        return self._sampled(self.pop_size)

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        assert infills is not None
        # The population from the best to the worst, each with its value.
        self._ranked = sorted(((_value_of(one), one) for one in infills), key=itemgetter(0))
        self._keys = Counter(one.X.tobytes() for one in infills)
        self._n_births = 0

    def _infill(self) -> Population:
        child = self._child()
        for _ in range(_ATTEMPTS if self.eliminate_duplicates else 0):
            if not self._keys[child.tobytes()]:
                break
            child = self._child()
        return Population.new(X=child)

    def _child(self) -> Array:
        parents = np.stack([self._ranked[rank][1].X for rank in self._ranks()])[:, np.newaxis]
        # The operators take arrays, as in pymoo's `do`, but without individuals in between.
        rng = self.random_state
        child: Array = parents[0]
        if rng.random() < self.crossover.prob.get():
            child = _apply_operator(self.crossover, self.problem, parents, rng)
        if rng.random() <= self.mutation.prob.get():
            child = _apply_operator(self.mutation, self.problem, child, rng)
        if self.repair is not None:
            child = self.repair._do(self.problem, child, random_state=rng)
        return child

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> bool:
        assert infills is not None
        for one in infills:
            self._insert(one)
            self._n_births += 1
        # pymoo ends an iteration where this is true.
        return self._n_births % self.pop_size == 0 or self._is_spent()

    def _is_spent(self) -> bool:
        """Return whether evaluations or time are used up. Other terminations count iterations."""
        by_births = isinstance(self.termination, (MaximumFunctionCallTermination, TimeBasedTermination))
        return by_births and self.termination.update(self) >= 1

    def _set_optimum(self) -> None:
        self.pop = Population([one for _, one in self._ranked])
        self.opt = self.pop[:1]

    def _ranks(self) -> Ints:
        """Draw two ranks by the linear distribution of the bias."""
        u = self.random_state.random(2)
        n, b = len(self._ranked), self.bias
        # This is (b - root) / (2 (b - 1)), without a division by 0 for a bias of 1.
        shares = 2 * u / (b + np.sqrt(b * b - 4 * (b - 1) * u))
        return np.minimum((n * shares).astype(np.int64), n - 1)

    def _insert(self, child: Individual) -> None:
        value = _value_of(child)
        if value >= self._ranked[-1][0] or (self.eliminate_duplicates and self._keys[child.X.tobytes()]):
            return
        _, worst = self._ranked.pop()
        insort(self._ranked, (value, child), key=itemgetter(0))
        self._keys[worst.X.tobytes()] -= 1
        self._keys[child.X.tobytes()] += 1


def _value_of(one: Individual) -> tuple[float, float]:
    """Return the constraint violation and the value."""
    return float(one.cv), float(one.F[0])


def _apply_operator(operator: Operator, problem: Problem, X: Array, rng: np.random.Generator) -> Array:
    """Apply an operator with its own type and repair."""
    if operator.vtype is not None:
        X = X.astype(operator.vtype)
    made: Array = operator._do(problem, X, random_state=rng)
    child = made[0] if made.ndim == 3 else made
    if operator.repair is not None:
        child = operator.repair._do(problem, child, random_state=rng)
    return child
