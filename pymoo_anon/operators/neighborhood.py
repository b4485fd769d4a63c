"""Neighborhoods for local search."""

from __future__ import annotations

from abc import abstractmethod
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from pymoo.core.operator import Operator
from pymoo.core.problem import Problem

from pymoo_anon._messages import positive_whole
from pymoo_anon.operators.sampling import check_levels, check_strings
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.typing import Array, Bools, Ints


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


class BitStringNeighborhood(Neighborhood):
    """The valid bit strings one merge or one split away.

    Where an attribute has a taxonomy, the children of a node become one group, or a group becomes the children of its
    node. Elsewhere one bit flips: two groups side by side become one, or a group becomes two. This package's own.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> problem = BitStringProblem(make_census(200), [GeneralLossMetric()])
    >>> coarsest = np.zeros(problem.n_var, dtype=bool)
    >>> len(BitStringNeighborhood().do(problem, coarsest, 1)) == problem.n_var  # every bit is a split
    True
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(reach=1, **kwargs)

    def _do(self, problem: BitStringProblem, x: Bools, distance: int, *args: Any, **kwargs: Any) -> Bools:
        check_strings(problem)
        neighbors = []
        for name in problem.table.quasi_identifiers:
            bits = problem.bits_of(name)
            if name in problem.taxonomies:
                changed = _neighboring_cuts(problem.taxonomies[name].spans, x[bits])
            else:
                changed = x[bits] ^ np.eye(bits.stop - bits.start, dtype=bool)
            strings = np.repeat(x[np.newaxis], len(changed), axis=0)
            strings[:, bits] = changed
            neighbors.append(strings)
        return np.concatenate(neighbors)


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


def _neighboring_cuts(spans: Ints, bits: Bools) -> Bools:
    edges = [0, *(np.flatnonzero(bits) + 1).tolist(), len(bits) + 1]
    groups = set(pairwise(edges))
    cuts = []
    for node, (first, last, end) in enumerate(spans.tolist()):
        children, child = [], node + 1
        while child < end:
            children.append((int(spans[child, 0]), int(spans[child, 1])))
            child = int(spans[child, 2])
        # A bit stands between the last value of a child and the first of the next.
        between = [low - 1 for low, _ in children[1:]]
        if between and ((first, last) in groups or groups.issuperset(children)):
            cut = bits.copy()
            cut[between] ^= True
            cuts.append(cut)
    return np.array(cuts, dtype=bool).reshape(len(cuts), len(bits))
