"""Pair-exact local search of bit strings."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.algorithm import Algorithm
from pymoo.core.initialization import Initialization
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling
from pymoo.core.termination import NoTermination
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output
from pymoo.util.optimum import filter_optimum

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.arguments import check_arguments
from pymoo_anon.algorithms.string_steps import Steps, steps_of
from pymoo_anon.fronts.archive import merge_front, satisfies_constraints
from pymoo_anon.operators.sampling import BitStringSampling
from pymoo_anon.problems.bitstrings import BitStringProblem


class BitStringLocalSearch(Algorithm):  # type: ignore[misc]
    """Local search of a `BitStringProblem` from several starts: two attributes at a time get their best strings.

    Where one loss is minimised under a smallest class size, two attributes are solved exactly with the others fixed,
    until no pair is better. Losses are those that say what a class saves by being kept, such as GeneralLossMetric;
    the class size is that of `Below`, or of a constraint on k under `AtMost` or `Violating`. With k as a second
    objective under `AtMost`, it walks along the front, from the smallest k upwards.

    For any other objectives and constraints, it evaluates the neighbours of a string, one merge or split of one
    attribute away, and goes on from the best: with several objectives from all that are not dominated.

    It stops by itself when all starts lead no further; a termination stops it earlier, or lets it go on with random
    starts. The result is the best of all that was evaluated.

    >>> from pymoo.optimize import minimize
    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> from pymoo_anon.problems import BitStringProblem
    >>> from pymoo_anon.table import Below
    >>> problem = BitStringProblem(make_census(200), [GeneralLossMetric()], suppression=Below(5))
    >>> res = minimize(problem, BitStringLocalSearch(n_starts=3), seed=1)
    >>> res.algorithm.n_done, res.algorithm.evaluator.n_eval
    (3, 6)

    Args:
        n_starts: Number of strings to start from.
        sampling: Where they come from: a population, an (n, n_var) Boolean array, of which all are taken, or a sampling
            operator of pymoo. None is `BitStringSampling()`.
        output: Columns of the verbose output; None is `PairLocalSearchOutput()`.
        **kwargs: As pymoo's `Algorithm`: termination, callback, save_history, archive, evaluator, ...

    Attributes:
        n_done: Number of starts that led no further.

    Raises:
        ValueError: `n_starts` is no positive whole number.
        TypeError: An argument is not known. At setup: the problem is no `BitStringProblem`.
    """

    def __init__(
        self,
        n_starts: int = 12,
        sampling: Sampling | Population | NDArray[np.bool_] | None = None,
        output: Output | None = None,
        **kwargs: Any,
    ) -> None:
        check_arguments(self, kwargs)
        super().__init__(output=PairLocalSearchOutput() if output is None else output, **kwargs)
        self.n_starts = positive_whole("n_starts", n_starts)
        self.initialization = Initialization(BitStringSampling() if sampling is None else sampling)
        self.n_done = 0

    def setup(self, problem: Problem, **kwargs: Any) -> BitStringLocalSearch:
        """Set the algorithm up; without a termination it runs until all starts lead no further.

        Raises:
            TypeError: The problem is no `BitStringProblem`.
        """
        if not isinstance(problem, BitStringProblem):
            raise TypeError(f"problem must be a BitStringProblem, got {type(problem).__name__}")
        if self.termination is None and kwargs.get("termination") is None:
            kwargs["termination"] = NoTermination()
        super().setup(problem, **kwargs)
        return self

    def _setup(self, problem: BitStringProblem, **kwargs: Any) -> None:
        self.n_done = 0
        self._steps: Steps = steps_of(problem)
        # The best of all that was evaluated: what satisfies the constraints, or else what breaks them least.
        self._best = Population.empty()

    def _initialize_infill(self) -> Population:
        pop = self.initialization.do(self.problem, self.n_starts, random_state=self.random_state)
        self._starts = self.problem.checked(pop.get("X"))
        return pop

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        assert infills is not None
        self._keep(infills)
        self._steps.begin(self._starts[0])

    def _infill(self) -> Population:
        return Population.new(X=self._steps.ask(self.random_state))

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        assert infills is not None
        self._keep(infills)
        if self._steps.tell(infills.get("X"), infills.get("F"), infills.get("CV")[:, 0]):
            self.n_done += 1
            more = self.n_done < len(self._starts)
            # Where a termination lets it go on, with random strings.
            self._steps.begin(self._starts[self.n_done] if more else self.problem.sample(1, self.random_state)[0])
            if self.n_done == len(self._starts):
                self.termination.terminate()

    def _keep(self, infills: Population) -> None:
        """Take what was evaluated to the best, each string once."""
        together = Population.merge(self._best, infills)
        good = np.flatnonzero([satisfies_constraints(one) for one in together])
        if len(good) == 0:
            self._best = together[[int(np.argmin(together.get("CV")[:, 0]))]]
            return
        none = np.empty((0, 1), dtype=np.int64)
        F = together[good].get("F")
        rows, _ = merge_front(none, F[:0], good[:, np.newaxis], F)
        self._best = together[rows[:, 0]]

    def _set_optimum(self) -> None:
        self.pop = self._best
        self.opt = filter_optimum(self._best, least_infeasible=True)


class PairLocalSearchOutput(Output):  # type: ignore[misc]
    """Columns of a local search: the starts that are done, and the size of the front or the least value."""

    def initialize(self, algorithm: Algorithm) -> None:
        """Add the columns."""
        self.columns.append(Column("done", width=5, func=attrgetter("n_done")))
        if algorithm.problem.n_obj > 1:
            self.columns.append(Column("front", width=6, func=_front_size))
        else:
            self.columns.append(Column("least", width=14, func=_least))


def _front_size(algorithm: BitStringLocalSearch) -> int:
    return int(algorithm.opt.get("feas").sum())


def _least(algorithm: BitStringLocalSearch) -> float | str:
    return float(algorithm.opt.get("F")[0, 0]) if algorithm.opt.get("feas").any() else "-"
