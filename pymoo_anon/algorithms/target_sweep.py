"""Sweep of the targets of local recoding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from pymoo.core.population import Population
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.util.display.column import Column

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.common import FrontOutput, Search, one_of_each, options_of
from pymoo_anon.objectives.loss import AverageClassSize
from pymoo_anon.objectives.privacy import MarketerRisk
from pymoo_anon.problems.local_recoding import LocalRecodingProblem
from pymoo_anon.typing import Ints

# The number of targets that are combined with prices. Where a price binds, k is only a floor, so that more targets
# would find the same recodings.
_PRICED_TARGETS = 5

# A price below this share of k makes no class larger than k does.
_BINDING = 0.25

# Below 10, and from 10 on times powers of 10, what people ask for. A sweep has all of these if it may.
_ASKED = 10, 12, 15, 20, 25, 30, 40, 50, 75

# The points of an iteration, few enough that a termination is checked often.
_POINTS_AT_ONCE = 8


class TargetSweep(Search):
    """Sweep of the targets of k, with equal weights.

    This package's own. It makes the local recoding of every target, and ends by itself with their front. If an
    objective weighs columns differently than others, search the weights by `NSGA2` or the like.

    If an objective depends on the number of classes, as `MarketerRisk` and `AverageClassSize` do, some targets are
    combined with all prices of a class. At equal mean risk a price loses less than a larger k. Stopped early, the
    result is the front of the recodings so far.

    Args:
        n_targets: Largest number of targets. They are 1 to 9 and 10, 12, 15, 20, 25, 30, 40, 50, 75 times powers of
            ten; further ones are evenly spread on a log scale over the targets of the problem, and so are all if these
            are too many.
        **kwargs: As pymoo's `Algorithm`. By default the output is the finished share of the points, and the size of the
            front.

    Attributes:
        points: (n, n_var) int64 array, all points of the sweep. It is there from the setup on.

    Raises:
        ValueError: `n_targets` is not a positive whole number.
        TypeError: An argument is not known. At setup: the problem is not a `LocalRecodingProblem`.

    >>> from pymoo.optimize import minimize
    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    >>> problem = LocalRecodingProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
    >>> res = minimize(problem, TargetSweep(n_targets=5), seed=1)
    >>> len(res.X) <= 5, float(-res.F[:, 0].min())
    (True, 200.0)
    """

    _kinds = (LocalRecodingProblem,)

    def __init__(self, n_targets: int = 48, **kwargs: Any) -> None:
        super().__init__(**options_of(self, kwargs, output=FrontOutput(Column("done", width=8, func=_done))))
        self.n_targets = positive_whole("n_targets", n_targets)

    def _begin(self, problem: LocalRecodingProblem) -> None:
        self.points = sweep_of(problem, self.n_targets)
        self._n_done = 0

    def _end(self, problem: LocalRecodingProblem) -> MaximumGenerationTermination:
        return MaximumGenerationTermination(-(-len(self.points) // _POINTS_AT_ONCE))

    def _infill(self) -> Population:
        return Population.new(X=self.points[self._n_done : self._n_done + _POINTS_AT_ONCE])

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        if infills is not None:
            self._n_done += len(infills)
            # pymoo makes the first of them the population.
            self.pop = Population.merge(self.pop, infills) if self.is_initialized else infills
        if self._n_done >= len(self.points):
            self.termination.terminate()

    def _set_optimum(self) -> None:
        super()._set_optimum()
        # Two targets may have the same recoding.
        self.opt = one_of_each(self.opt)


def sweep_of(problem: LocalRecodingProblem, n_targets: int) -> Ints:
    """Return the (n, n_var) points of a sweep. Ascending targets come before targets with prices."""
    pairs = [(target, 0) for target in _on_log_scale(problem.targets, n_targets)]
    if any(isinstance(one, MarketerRisk | AverageClassSize) for one in problem.objectives):
        pairs += [
            (target, price)
            for target, price in product(
                _on_log_scale(problem.targets, min(_PRICED_TARGETS, n_targets)), range(1, len(problem.prices))
            )
            if problem.prices[price] >= _BINDING * problem.targets[target]
        ]
    points = np.zeros((len(pairs), problem.n_var), dtype=np.int64)
    points[:, :2] = pairs
    return points


def _on_log_scale(targets: Sequence[int], most: int) -> list[int]:
    powers = 10 ** np.arange(len(str(targets[-1])))
    asked = np.concatenate([np.arange(1, 10), *(np.array(_ASKED) * power for power in powers)])
    asked = np.flatnonzero(np.isin(targets, [targets[0], targets[-1], *asked]))
    if len(asked) > most:
        asked = asked[:0]
    scale = np.rint(np.geomspace(targets[0], targets[-1], most - len(asked)))
    return np.union1d(asked, np.searchsorted(targets, scale)).astype(np.int64).tolist()


def _done(algorithm: TargetSweep) -> str:
    return f"{algorithm._n_done / len(algorithm.points):.1%}"
