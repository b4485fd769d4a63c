"""Problem of the generalization lattice: one level per quasi-identifier."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples, in_order
from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.objectives.base import Objective
from pymoo_anon.problems.base import AnonymizationProblem, plain_array
from pymoo_anon.problems.releases import fingerprint_of, parts_beside
from pymoo_anon.table.domain_values import Name, is_whole
from pymoo_anon.table.generalization import Constraint, Generalization, Suppression
from pymoo_anon.table.microdata import Microdata, check_table
from pymoo_anon.typing import Array, Floats, Ints

if TYPE_CHECKING:
    from pymoo.core.algorithm import Algorithm

# Without `max_nodes`, `pareto_front` visits at most so many nodes and groups at most so many distinct tuples. With the
# usual objectives that takes some seconds, and for Adult a fifth of it.
_UNASKED_NODES = 20_000
_UNASKED_WORK = 10**9
_VISITED_AT_ONCE = 4096

# Visiting more nodes takes hours, and an array of more takes too much memory.
_MOST_VISITED = 10**9
_LARGEST_ARRAY = 2**32


class LatticeProblem(AnonymizationProblem):
    """Full-domain generalization: variable j is a level of quasi-identifier j.

    Levels go from 0, the values themselves, to the length of the hierarchy (Dewri et al. 2010, section 3).

    `pareto_front()` and `pareto_set()` are exact: the first call visits the whole lattice. They are None if it has more
    than 20,000 nodes, or if nodes times distinct tuples exceed 10^9. `max_nodes` of a call asks for more.

    pymoo's `SBX` needs `vtype=float` here, beside `RoundingRepair()`. Without it pymoo truncates children to whole
    levels before they can be rounded, and the search warns.

    Args:
        table: The table.
        objectives: One or more objectives, in the order of the columns of F.
        suppression: `AtMost`, `Below` or `Violating`; a number means `AtMost`: so many tuples (int), or such a share of
            all (float below 1, rounded down).
        constraints: Bounds on objectives, such as `KAnonymity() >= 5`, in the order of the columns of G.
        levels: By quasi-identifier its least and its greatest level, such as `{"age": (1, 3)}`. Others may have all.
        beside: Earlier releases of the table, of any kind, as of `joint`. Measures such as `KAnonymity(joint=True)` are
            then of whoever has all of them and this one, with rows linked.
        elementwise_runner: As of `AnonymizationProblem`.

    Attributes:
        levels: As given, a dict.
        lowest: (n_var,) int64 array, the least level of every attribute.
        highest: (n_var,) int64 array, the greatest level of every attribute.
        lengths: (n_var,) int64 array, the number of levels of every attribute above its least one.
        groups: (n_levels, n_codes) int64 array, the group of every domain value at every level, attribute after
            attribute. Beyond the top of a hierarchy it has the groups of its top.
        n_groups: (n_levels, n_var) int64 array, the number of groups of every attribute there.

    Raises:
        TypeError: As of `AnonymizationProblem`, or `levels` is no dict.
        ValueError: As of `AnonymizationProblem`, or `levels` names no quasi-identifier, or levels that do not exist.
    """

    def __init__(
        self,
        table: Microdata,
        objectives: Sequence[Objective],
        suppression: float | Suppression = 0,
        constraints: Sequence[Constraint] = (),
        *,
        levels: Mapping[Name, tuple[int, int]] = MappingProxyType({}),
        beside: Sequence[Any] = (),
        elementwise_runner: Callable[..., Any] | None = None,
    ) -> None:
        check_table(table)
        hierarchies = list(table.quasi_identifiers.values())
        self.levels, self.lowest, self.highest = _limits(levels, table)
        self.earlier = tuple(in_order("beside", beside))
        self.beside_parts = parts_beside(self.earlier, table)
        super().__init__(
            table,
            objectives,
            n_var=len(hierarchies),
            xu=self.highest,
            vtype=int,
            suppression=suppression,
            constraints=constraints,
            elementwise_runner=elementwise_runner,
        )
        self.xl = self.lowest.astype(float)
        rootless = [name for name, hierarchy in table.quasi_identifiers.items() if not hierarchy.has_root]
        if rootless:
            warnings.warn(
                f"the hierarchies of {examples(rootless)} do not end in one group, so that no node is wholly "
                "generalized; Hierarchy.with_root() adds a level '*'",
                stacklevel=2,
            )
        self.lengths = self.highest - self.lowest
        # The exact front, once it is known.
        self._front: tuple[Ints, Floats] | None = None
        n_levels = max(hierarchy.length for hierarchy in hierarchies) + 1
        self.groups = np.empty((n_levels, int(table.tuples.offsets[-1])), dtype=np.int64)
        self.n_groups = np.empty((n_levels, self.n_var), dtype=np.int64)
        for j, hierarchy in enumerate(hierarchies):
            a, b = table.tuples.offsets[j : j + 2]
            own = np.minimum(np.arange(n_levels), hierarchy.length)
            self.groups[:, a:b] = np.asarray(hierarchy.groups)[own]
            self.n_groups[:, j] = np.asarray(hierarchy.n_groups)[own]

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the lattice."""
        return prod(length + 1 for length in self.lengths.tolist())

    @property
    def space_fingerprint(self) -> str:
        levels = f"levels {self.lowest.tolist()} to {self.highest.tolist()}" if self.levels else ""
        return levels + fingerprint_of("beside", self.beside_parts)

    def nodes(self, start: int, stop: int) -> Ints:
        """Return nodes number `start` to `stop - 1`.

        They go from special to general, and the last level changes fastest. A `stop` beyond the lattice means its end.

        Raises:
            ValueError: `start` is negative, or the array would take more than 4 GiB.
        """
        if start < 0:
            raise ValueError(f"start must be the number of a node, from 0, got {start}")
        n = max(min(stop, self.n_nodes) - start, 0)
        size = n * self.n_var * 8
        if size > _LARGEST_ARRAY:
            raise ValueError(
                f"{n:,} of the lattice's {self.n_nodes:,} nodes would take {size / 2**30:,.0f} GiB; ask for fewer at "
                "a time, or search a part of them with PBGEA or NSGA2"
            )
        X = np.empty((n, self.n_var), dtype=np.int64)
        # Numbers have one digit per attribute, each with a base of its own. The digits of `start` come from a Python
        # integer, for lattices of any size. `carry` is added at the current digit.
        carry = np.arange(n)
        for j in reversed(range(self.n_var)):
            base = int(self.lengths[j]) + 1
            start, digit = divmod(start, base)
            carry, X[:, j] = np.divmod(carry + digit, base)
        X += self.lowest
        return X

    def batches(self, size: int) -> Iterator[Ints]:
        """Yield the whole lattice, `size` nodes at a time.

        Raises:
            ValueError: The lattice has too many nodes to visit them all.
        """
        check_visitable(self)
        return (self.nodes(start, start + size) for start in range(0, self.n_nodes, size))

    def decode(self, x: ArrayLike) -> Generalization:
        """Return the generalization of one node, an (n_var,) or (1, n_var) array.

        Raises:
            ValueError: x has the wrong length or a level that its hierarchy has not.
        """
        (levels,) = self._one(x, f"node, an array of {self.n_var} levels")
        chosen = list(zip(self.table.quasi_identifiers.items(), levels, strict=True))
        return Generalization(
            {name: hierarchy.groups[level] for (name, hierarchy), level in chosen},
            {name: hierarchy.labels[level] for (name, hierarchy), level in chosen},
        )

    def pareto_front(
        self, *, max_nodes: int | None = None, use_cache: bool = True, set_cache: bool = True
    ) -> Floats | None:
        """Return the exact front, or None if it takes some seconds.

        Args:
            max_nodes: Visit a lattice of at most so many nodes, however long it takes. None visits up to 20,000 nodes,
                and up to 10^9 nodes times distinct tuples of the table.
            use_cache: Whether the front of an earlier call is returned, as in pymoo.
            set_cache: Whether the front is kept for later calls.

        Returns:
            (n, n_obj) float array of minimised values, in lexicographic order; empty if no node is feasible.

        Raises:
            ValueError: `max_nodes` asks for more than can be visited.
        """
        return self._exact(max_nodes, use_cache, set_cache)[1]

    def pareto_set(self, **options: Any) -> Ints | None:
        """Return one node for every row of `pareto_front`, with the same arguments and errors."""
        return self._exact(**options)[0]

    def ideal_point(self, **options: Any) -> Floats | None:
        """Return the (n_obj,) least values of `pareto_front`, or None.

        Raises:
            ValueError: No node is feasible, or as `pareto_front`.
        """
        front = self._feasible_front(options)
        return None if front is None else front.min(axis=0)

    def nadir_point(self, **options: Any) -> Floats | None:
        """Return the (n_obj,) greatest values of `pareto_front`, or None, as `ideal_point`."""
        front = self._feasible_front(options)
        return None if front is None else front.max(axis=0)

    def _feasible_front(self, options: dict[str, Any]) -> Floats | None:
        front = self.pareto_front(**options)
        if front is not None and len(front) == 0:
            raise ValueError(
                f"the front must have a member for its ideal and nadir points, got none of {self.n_nodes:,} nodes that "
                "satisfies all constraints"
            )
        return front

    def _exact(
        self, max_nodes: int | None = None, use_cache: bool = True, set_cache: bool = True
    ) -> tuple[Ints, Floats] | tuple[None, None]:
        if use_cache and self._front is not None:
            return self._front[0].copy(), self._front[1].copy()
        most = min(_UNASKED_NODES, _UNASKED_WORK // len(self.table.tuples)) if max_nodes is None else max_nodes
        if self.n_nodes > most:
            return None, None
        # Loaded late: a front that is read needs no exact one.
        from pymoo_anon.fronts.archive import front_order, merge_front

        X, F = self.nodes(0, 0), np.empty((0, len(self.objectives)))
        for batch in self.batches(_VISITED_AT_ONCE):
            X, F = merge_front(X, F, *self.compute_feasible(batch))
        order = front_order(F)
        if set_cache:
            self._front = X[order], F[order]
        return X[order], F[order]

    def evaluate(self, X: ArrayLike, *args: Any, algorithm: Algorithm | None = None, **kwargs: Any) -> Any:
        """Evaluate points, and warn if a crossover truncates levels."""
        if np.asarray(X).dtype.kind in "iu":
            _warn_of_levels_cut_down(algorithm)
        return super().evaluate(X, *args, algorithm=algorithm, **kwargs)

    def checked(self, X: ArrayLike) -> Ints:
        """Return nodes as an (n, n_var) int64 array.

        Raises:
            ValueError: X has another shape, a level is not whole, or its hierarchy does not have it.
        """
        points = f"nodes of {self.n_var} levels"
        return whole_numbers(X, points, "whole generalization levels", "levels", self.lowest, self.highest)

    def _roll_up(self, X: Ints) -> tuple[Ints, Ints | None, Ints]:
        if len(X) < 2:
            return super()._roll_up(X)
        return plan_roll_up(X, self.weights)

    @cached_property
    def weights(self) -> Floats:
        """Logarithms of (distinct tuples / classes by one level), (n_var, n_levels)."""
        attributes = np.repeat(np.arange(self.n_var), self.highest)
        levels = np.concatenate([np.arange(1, level + 1) for level in self.highest])
        X = np.zeros((len(levels), self.n_var), dtype=np.int64)
        X[np.arange(len(levels)), attributes] = levels
        weights = np.zeros((self.n_var, len(self.groups)))
        n_classes = [np.diff(classes.starts) for classes in self.table.grouper.classes(*self.group_maps(X))]
        if n_classes:
            weights[attributes, levels] = np.log(len(self.table.tuples) / np.concatenate(n_classes))
        return weights

    def group_maps(self, X: Ints) -> tuple[Ints, Ints]:
        levels = zip(X.T, pairwise(self.table.tuples.offsets), strict=True)
        maps = np.concatenate([self.groups[own, a:b] for own, (a, b) in levels], axis=1)
        return maps, self.n_groups[X, np.arange(self.n_var)]

    def _variables(self, X: Ints) -> dict[Name, Ints]:
        return dict(zip(self.table.quasi_identifiers, X.T, strict=True))


def _limits(levels: Mapping[Name, tuple[int, int]], table: Microdata) -> tuple[dict[Name, tuple[int, int]], Ints, Ints]:
    hierarchies = table.quasi_identifiers
    if not isinstance(levels, Mapping):
        raise TypeError(f'levels must be a dict such as {{"age": (0, 2)}}, got {levels!r:.80}')
    if unknown := [name for name in levels if name not in hierarchies]:
        raise ValueError(f"levels must name quasi-identifiers, {examples(list(hierarchies))}, got {examples(unknown)}")
    asked = {}
    for name, given in levels.items():
        pair = tuple(given) if isinstance(given, Sequence) else ()
        length = hierarchies[name].length
        if len(pair) != 2 or not all(map(is_whole, pair)) or not 0 <= pair[0] <= pair[1] <= length:
            raise ValueError(
                f"levels of {name!r} must be the least and the greatest one, from 0 to {length}, the least first, got "
                f"{given!r:.80}"
            )
        asked[name] = (int(pair[0]), int(pair[1]))
    both = np.array([asked.get(name, (0, own.length)) for name, own in hierarchies.items()], dtype=np.int64)
    return asked, both[:, 0].copy(), both[:, 1].copy()


def layer_sizes(lengths: Ints) -> Array:
    """Count nodes by the sum of their levels, in integers of any size."""
    sizes = np.ones(1, dtype=object)
    for length in lengths:
        sizes = np.convolve(sizes, np.ones(length + 1, dtype=object))
    return sizes


def whole_numbers(X: ArrayLike, points: str, whole: str, ranged: str, lowest: Ints, highest: Ints) -> Ints:
    """Return points of whole numbers in a range as an int64 array. Errors name points, numbers, and range."""
    given, n_var = plain_array(X), len(highest)
    if given.ndim != 2 or given.shape[1] != n_var:
        raise ValueError(f"X must be {points}, an (n, {n_var}) array, got shape {given.shape}")
    if given.dtype.kind not in "iuf" or not np.array_equal(given, np.floor(given)):
        raise ValueError(
            f"X must hold {whole}, got others; LatticeSampling, LevelCrossover and SingleStepMutation keep "
            "them whole in any algorithm"
        )
    # Before they are cast: a number that is too large would become another one.
    outside = given[((given < lowest) | (given > highest)).any(axis=1)]
    if len(outside):
        least = lowest.tolist() if lowest.any() else 0
        raise ValueError(f"X must hold {ranged} from {least} to {highest.tolist()}, got {examples(outside.tolist())}")
    return given.astype(np.int64)


def check_visitable(problem: LatticeProblem) -> None:
    """Raise if a lattice has too many nodes to visit."""
    if problem.n_nodes > _MOST_VISITED:
        raise ValueError(
            f"problem must have at most {_MOST_VISITED:,} nodes to visit all of them, got {problem.n_nodes:,}; PBGEA "
            "and NSGA2 search a part of them"
        )


def _warn_of_levels_cut_down(algorithm: Any) -> None:
    crossover = getattr(getattr(algorithm, "mating", None), "crossover", None)
    if crossover is None:
        return
    # Loaded late: other algorithms have no crossover.
    from pymoo.operators.crossover.sbx import SimulatedBinaryCrossover

    if isinstance(crossover, SimulatedBinaryCrossover) and (
        crossover.vtype is None or np.dtype(crossover.vtype).kind != "f"
    ):
        warnings.warn(
            "SBX without vtype=float cuts levels down to whole ones before they can be rounded, so that searches find "
            "less; SBX(vtype=float, repair=RoundingRepair()) rounds them, and LevelCrossover keeps them whole",
            stacklevel=2,
        )


def plan_roll_up(X: Ints, weights: Floats) -> tuple[Ints, Ints, Ints]:
    """Plan a forest in which every node is a generalization of its source.

    The classes of a node are merges of the classes of any more specific node. So nodes that have much in common are
    cheaper to group from their greatest common specialization, the lowest level of each attribute, than from the table.

    The given nodes are a part. A part is split in two by the level of one attribute, and its halves are split again.
    Where it pays, the greatest common specialization of a part is grouped once and becomes the source of the part.

    Returned are (m, n_attributes) int64 nodes, at most 2n, depth first: after a node come all that have it as their
    source, directly or not, and then the others. For each there are the number of its source and its row of X, or -1.
    """
    # A copy where X cannot be written: numba would compile all of this once more for it.
    X = np.require(X, requirements=["C", "W"])
    n, n_attributes = X.shape
    nodes, links = np.empty((2 * n, n_attributes), dtype=np.int64), np.empty((2, 2 * n), dtype=np.int64)
    scratch = np.empty((2, max(n_attributes, weights.shape[1])), dtype=np.int64)
    order, parts = np.arange(n, dtype=np.int64), np.empty((n + 1, 3), dtype=np.int64)
    m = _plan(X, weights, nodes, links, order, parts, scratch)
    return nodes[:m], links[0, :m], links[1, :m]


@njit(allocates=False)
def _plan(X, weights, nodes, links, order, parts, scratch):
    """Write the forest to `links`, and return its size. A part is order[first:last] and its source."""
    n, n_attributes = X.shape
    sources, given, lowest, at_level = links[0], links[1], scratch[0, :n_attributes], scratch[1, : weights.shape[1]]
    parts[0, 0], parts[0, 1], parts[0, 2] = 0, n, -1
    n_parts = 1 if n > 0 else 0
    m = 0
    # Invariant: the m nodes so far and the parts on the stack together hold every row of X once. The part on top comes
    # next, and a part's halves are put on top of all others: this is depth first.
    while n_parts > 0:
        n_parts -= 1
        first, last, source = parts[n_parts, 0], parts[n_parts, 1], parts[n_parts, 2]
        own = _common(X, order[first:last], lowest)
        if own >= 0 or _pays(lowest, last - first, source, nodes, weights):
            for j in range(n_attributes):
                nodes[m, j] = lowest[j]
            sources[m], given[m] = source, -1
            source = m
            if own >= 0:
                # The common specialization is itself a given node: take it out of the part.
                given[m] = order[first + own]
                order[first + own] = order[first]
                first += 1
            m += 1
        attribute, level = _best_split(X, order[first:last], lowest, weights, at_level)
        if attribute < 0:
            # Nothing is gained by a common specialization of fewer: all have the same source.
            for i in range(first, last):
                for j in range(n_attributes):
                    nodes[m, j] = X[order[i], j]
                sources[m], given[m] = source, order[i]
                m += 1
            continue
        middle = first + _split(X, order[first:last], attribute, level)
        for half in range(2):
            a, b = (first, middle) if half == 0 else (middle, last)
            if a < b:
                parts[n_parts, 0], parts[n_parts, 1], parts[n_parts, 2] = a, b, source
                n_parts += 1
    return m


@kernel
def _common(X, rows, lowest):
    """Write the greatest common specialization, and return its row or -1."""
    for j in range(len(lowest)):
        lowest[j] = X[rows[0], j]
        for i in range(1, len(rows)):
            lowest[j] = min(lowest[j], X[rows[i], j])
    for i in range(len(rows)):
        same = True
        for j in range(len(lowest)):
            same &= X[rows[i], j] == lowest[j]
        if same:
            return i
    return -1


@kernel
def _pays(lowest, n, source, nodes, weights):
    """Return whether grouping n nodes through their common specialization is cheaper.

    Costs are shares of the whole table's rows. Every node reads the rows of its source: `now` with the source it has,
    `then` with the common specialization. To make that one costs about twice what it reads, and about one table for
    what every grouping costs.
    """
    now, then = 0.0, 0.0
    for j in range(len(lowest)):
        now += 0.0 if source < 0 else weights[j, nodes[source, j]]
        then += weights[j, lowest[j]]
    now, then = np.exp(-now), np.exp(-then)
    return n * (now - then) > 2.0 * now + 1.0


@kernel
def _best_split(X, rows, lowest, weights, at_level):
    """Return attribute and level of the best split, or -1.

    The half are the rows at this level or above. Its gain is their number times what the level weighs more than the
    lowest one. `at_level` is scratch.
    """
    best, attribute, level = 0.0, -1, 0
    for j in range(len(lowest)):
        at_level[:] = 0
        for i in range(len(rows)):
            at_level[X[rows[i], j]] += 1
        count = 0
        # Invariant: `count` rows are at level t or above.
        for t in range(weights.shape[1] - 1, lowest[j], -1):
            count += at_level[t]
            gain = count * (weights[j, t] - weights[j, lowest[j]])
            if gain > best:
                best, attribute, level = gain, j, t
    return attribute, level


@kernel
def _split(X, rows, attribute, level):
    """Move the rows below a level forward, and count them."""
    n_below = 0
    for i in range(len(rows)):
        if X[rows[i], attribute] < level:
            rows[i], rows[n_below] = rows[n_below], rows[i]
            n_below += 1
    return n_below
