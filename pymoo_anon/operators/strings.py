"""Operators of bit strings: sampling, crossovers, mutations, repair and neighborhood."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.core.sampling import Sampling
from pymoo.core.variable import get

from pymoo_anon._messages import positive_whole
from pymoo_anon.engine.compiled import njit
from pymoo_anon.operators.levels import Neighborhood
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.typing import Bools, Ints


def check_strings(problem: Problem) -> None:
    """Raise unless a problem is a `BitStringProblem`."""
    if not isinstance(problem, BitStringProblem):
        raise TypeError(
            f"problem must be a BitStringProblem, got {type(problem).__name__}; for a LatticeProblem there are "
            "LatticeSampling, LevelCrossover and SingleStepMutation"
        )


class BitStringSampling(Sampling):  # type: ignore[misc]
    """Random valid bit strings, with both ends.

    The wholly generalized and the wholly specialized string come first. All valid strings are equally likely. Nearly
    all of them are so special that k is 1, so that only the two ends span the trade-off. This package's own.
    """

    def _do(
        self, problem: BitStringProblem, n_samples: int, *args: Any, random_state: Generator, **kwargs: Any
    ) -> Bools:
        check_strings(problem)
        X = problem.sample(n_samples, random_state)
        X[:2] = np.array([[False], [True]])[:n_samples]
        return X


class PartitionCrossover(Crossover):  # type: ignore[misc]
    """Crossover that keeps bit strings valid (NEW of Lunacek et al. 2006, section 3.2).

    Strings are cut at a 1 that both parents share, after a stretch in which they agree and then one in which they
    disagree. A shared 1 separates the groups to its left from those to its right, so that valid parents have valid
    children. `n_points` of these positions are drawn, or all if there are fewer.

    Args:
        n_points: Number of positions at which the children change from one parent to the other.
        boundaries: Whether the places between two quasi-identifiers, which have no bit, are positions too.
        prob: Probability that two parents are crossed at all.

    Raises:
        ValueError: `n_points` is not a positive whole number.
    """

    def __init__(self, n_points: int = 1, boundaries: bool = False, prob: float = 1.0, **kwargs: Any) -> None:
        self.n_points: int = positive_whole("n_points", n_points)
        super().__init__(2, 2, prob=prob, **kwargs)
        self.boundaries: bool = boundaries

    def _do(self, problem: Problem, X: Bools, *args: Any, random_state: Generator, **kwargs: Any) -> Bools:
        check_strings(problem)
        # An attribute of one value has no bits, so that the places before and after it are the same.
        offsets = np.unique(problem.bit_offsets)
        between = offsets[1:-1] if self.boundaries else offsets[:0]
        draws = random_state.random(X.shape[1:])
        return cross_at_shared_ones(X, between, self.n_points, draws)


@njit()
def cross_at_shared_ones(parents, between, n_points, draws):
    """Cross (2, n, n_bits) parents as `PartitionCrossover` does."""
    _, n, n_bits = parents.shape
    children = parents.copy()
    places = np.empty(n_bits + len(between), dtype=np.int64)
    # Invariant: children[:, :m] are done.
    for m in range(n):
        # Invariant: places[:n_places] are the admissible places left of `bit`. `stretch` describes the bits since the
        # last of them: 0 is only disagreement, 1 is agreement at last, 2 is agreement and then disagreement.
        stretch = 0
        n_places = 0
        gap = 0
        for bit in range(n_bits):
            if gap < len(between) and between[gap] == bit:
                gap += 1
                if stretch == 2:
                    places[n_places] = bit
                    n_places += 1
                stretch = 1
            a, b = parents[0, m, bit], parents[1, m, bit]
            if a != b:
                # 0 stays 0, 1 and 2 become 2.
                stretch = min(2 * stretch, 2)
            elif stretch < 2:
                stretch = 1
            elif a:
                places[n_places] = bit
                n_places += 1
                stretch = 1
        # Selection sampling: a place is taken with probability wanted / places left, so that all choices of places are
        # equally likely.
        wanted = min(n_points, n_places)
        for p in range(n_places):
            if draws[m, p] * (n_places - p) < wanted:
                wanted -= 1
                # From here on the children change sides.
                for bit in range(places[p], n_bits):
                    children[0, m, bit], children[1, m, bit] = children[1, m, bit], children[0, m, bit]
    return children


class ReducedSurrogateCrossover(Crossover):  # type: ignore[misc]
    """Two-point crossover of reduced surrogates (Booker 1987).

    TRAD of Lunacek et al. 2006, section 3.1. The parents are reduced to the positions where they differ, and the part
    between two points is swapped. Parents with fewer than two differences have themselves as children.

    Args:
        prob: Probability that two parents are crossed at all.
    """

    def __init__(self, prob: float = 1.0, **kwargs: Any) -> None:
        super().__init__(2, 2, prob=prob, **kwargs)

    def _do(self, problem: Problem, X: Bools, *args: Any, random_state: Generator, **kwargs: Any) -> Bools:
        differ = X[0] != X[1]
        n_differ = differ.sum(axis=1)
        # Two different points, each before one of the differences. The second is drawn from one point less, and moved
        # past the first.
        draws = random_state.random((2, len(n_differ)))
        first = (draws[0] * n_differ).astype(np.int64)
        second = (draws[1] * np.maximum(n_differ - 1, 0)).astype(np.int64)
        second += second >= first
        low, high = np.minimum(first, second), np.maximum(first, second)
        place = np.cumsum(differ, axis=1) - 1
        swapped = differ & (place >= low[:, np.newaxis]) & (place < high[:, np.newaxis])
        return np.where(swapped & (n_differ >= 2)[:, np.newaxis], X[::-1], X)


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

    It brings bits back that the population has lost, and valid strings stay valid. The paper gives no rate, and does
    not say whether bit mutation goes on beside it. Only if it does, NEW loses less than TRAD here.

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
        return children[0]


class ClosestValidRepair(Repair):  # type: ignore[misc]
    """Repair by the nearest valid string (Lunacek et al. 2006, section 3.2).

    Nearest by Hamming distance, and exact. All nearest strings are equally likely. Valid strings stay as they are.
    """

    def _do(
        self, problem: BitStringProblem, X: Bools, *args: Any, random_state: Generator | None = None, **kwargs: Any
    ) -> Bools:
        check_strings(problem)
        return problem.closest(X, random_state)


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
