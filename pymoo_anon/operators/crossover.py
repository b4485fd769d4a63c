"""Crossovers of generalizations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.crossover import Crossover
from pymoo.core.problem import Problem


class LevelCrossover(Crossover):  # type: ignore[misc]
    """Single-point crossover of levels: the parents swap all that follows a random point.

    From Dewri et al. 2010, section 6. The point stands between two variables; with one variable the children are the
    parents.

    Args:
        prob: Probability that two parents are crossed at all; otherwise they pass on unchanged.
    """

    def __init__(self, prob: float = 0.8, **kwargs: Any) -> None:
        super().__init__(2, 2, prob=prob, **kwargs)

    def _do(
        self,
        problem: Problem,
        X: NDArray[np.int64],
        *args: Any,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> NDArray[np.int64]:
        _, n_matings, n_var = X.shape
        if n_var == 1:
            return X.copy()
        points = random_state.integers(1, n_var, size=(n_matings, 1))
        children: NDArray[np.int64] = np.where(np.arange(n_var) >= points, X[::-1], X)
        return children
