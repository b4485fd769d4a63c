"""Samplings of search spaces of generalizations."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling

from pymoo_anon.operators.spaces import check_levels, check_strings
from pymoo_anon.problems.partition import PartitionProblem


class LatticeSampling(Sampling):  # type: ignore[misc]
    """Random nodes of a lattice, always with the wholly generalized and the wholly specialized one.

    The two are minimal whatever the table (Dewri et al. 2010, section 6).

    Raises:
        TypeError: When it samples, the variables of the problem are bits or real numbers.
    """

    def _do(
        self, problem: Problem, n_samples: int, *args: Any, random_state: np.random.Generator, **kwargs: Any
    ) -> NDArray[np.int64]:
        check_levels(problem)
        low, high = problem.xl.astype(np.int64), problem.xu.astype(np.int64)
        X = random_state.integers(low, high + 1, size=(n_samples, problem.n_var))
        X[:2] = np.stack([high, low])[:n_samples]
        return X


class ValidSampling(Sampling):  # type: ignore[misc]
    """Random valid strings of a `PartitionProblem`, always with the wholly generalized and the wholly specialized one.

    All valid strings are equally likely. Nearly all of them are so special that k is 1: the two ends span the trade-off
    from the start, as those of `LatticeSampling` do.

    Raises:
        TypeError: When it samples, the problem is no `PartitionProblem`.
    """

    def _do(
        self,
        problem: PartitionProblem,
        n_samples: int,
        *args: Any,
        random_state: np.random.Generator,
        **kwargs: Any,
    ) -> NDArray[np.bool_]:
        check_strings(problem)
        X = problem.sample(n_samples, random_state)
        X[:2] = np.array([[False], [True]])[:n_samples]
        return X
