"""Neighborhoods: which points a local search tries next to a point."""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.operator import Operator
from pymoo.core.problem import Problem

from pymoo_anon._messages import positive_whole
from pymoo_anon.operators.sampling import check_levels

Nodes = NDArray[np.int64]


class Neighborhood(Operator):  # type: ignore[misc]
    """The neighbors of a point, ring after ring: those at distance 1, then those at distance 2, and so on.

    One of your own has `_do(problem, x, distance, random_state=..., **kwargs)`, which returns an (n, n_var) array of
    the type of x, in any order; points may be in several rings, and x itself may be among them.

    Args:
        reach: Number of rings.

    Raises:
        ValueError: `reach` is no positive whole number.
    """

    def __init__(self, reach: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reach: int = positive_whole("reach", reach)

    @abstractmethod
    def _do(self, problem: Problem, x: NDArray[Any], distance: int, *args: Any, **kwargs: Any) -> NDArray[Any]:
        """The points at one distance.

        Returns:
            (n, n_var) array.
        """


class LevelNeighborhood(Neighborhood):
    """The nodes of a lattice that are so many steps away; a step is one level up or down in one attribute.

    This package's own.

    Args:
        reach: The greatest number of steps. With two there are about 2 n_var^2 neighbors.

    Raises:
        ValueError: `reach` is no positive whole number.
        TypeError: At the first node, the variables of the problem are bits or real numbers.

    >>> lattice = Problem(n_var=2, xl=0, xu=[2, 1], vtype=int)
    >>> steps = LevelNeighborhood(reach=2)
    >>> steps.do(lattice, np.array([0, 1]), 1).tolist(), steps.do(lattice, np.array([0, 1]), 2).tolist()
    ([[0, 0], [1, 1]], [[1, 0], [2, 1]])
    """

    def __init__(self, reach: int = 2, **kwargs: Any) -> None:
        super().__init__(reach, **kwargs)

    def _do(self, problem: Problem, x: Nodes, distance: int, *args: Any, **kwargs: Any) -> Nodes:
        check_levels(problem)
        around = x + _steps(problem.n_var, distance)
        inside: Nodes = around[((around >= problem.xl) & (around <= problem.xu)).all(axis=1)]
        return inside


@cache
def _steps(n_var: int, distance: int) -> Nodes:
    """(n, n_var) int64 array: all vectors of whole numbers whose absolute values add up to a distance."""
    if distance == 0:
        return np.zeros((1, n_var), dtype=np.int64)
    single = np.concatenate([np.eye(n_var, dtype=np.int64), -np.eye(n_var, dtype=np.int64)])
    together = (_steps(n_var, distance - 1)[:, np.newaxis] + single).reshape(-1, n_var)
    steps = np.unique(together[np.abs(together).sum(axis=1) == distance], axis=0)
    steps.flags.writeable = False
    return steps
