"""Mutations of generalizations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.core.variable import get


class SingleStepMutation(Mutation):  # type: ignore[misc]
    """One level up or down, either as likely, cut off at the ends of the hierarchy (Dewri et al. 2010, section 6).

    Args:
        prob_var: Probability for each variable; None is 1 / number of variables.
    """

    def __init__(self, prob_var: float | None = None, **kwargs: Any) -> None:
        super().__init__(prob_var=prob_var, **kwargs)

    def _do(
        self,
        problem: Problem,
        X: NDArray[np.int64],
        *args: Any,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> NDArray[np.int64]:
        prob_var = 1 / problem.n_var if self.prob_var is None else get(self.prob_var)
        mutates = random_state.random(X.shape) < prob_var
        steps = random_state.choice([-1, 1], size=X.shape)
        low, high = problem.xl.astype(X.dtype), problem.xu.astype(X.dtype)
        return np.where(mutates, np.clip(X + steps, low, high), X)
