"""Pareto local search on a lattice of generalizations, which passes over what bounds rule out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import gcd, prod
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.algorithm import Algorithm
from pymoo.core.crossover import Crossover
from pymoo.core.duplicate import DuplicateElimination
from pymoo.core.individual import Individual
from pymoo.core.initialization import Initialization
from pymoo.core.mating import Mating
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling
from pymoo.core.selection import Selection
from pymoo.operators.selection.rnd import RandomSelection
from pymoo.termination import get_termination
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output
from pymoo.util.optimum import filter_optimum

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.common import Search, add_columns, check_arguments, has_own_columns, in_type_of_problem
from pymoo_anon.algorithms.lessons import LearnedBounds, can_settle
from pymoo_anon.engine.arrays import Flags
from pymoo_anon.fronts.archive import (
    BoxArchive,
    ParetoArchive,
    checked_epsilon,
    first_non_dominated,
    fit_epsilon,
    in_order,
)
from pymoo_anon.operators.crossover import LevelCrossover
from pymoo_anon.operators.mutation import SingleStepMutation
from pymoo_anon.operators.neighborhood import LevelNeighborhood, Neighborhood
from pymoo_anon.operators.sampling import CornerSampling
from pymoo_anon.problems.base import uncounted_compilation
from pymoo_anon.problems.lattice import LatticeProblem

Matrix = NDArray[np.float64]

# Children cost little beside an evaluation: so many are made for each that is wanted, so often, before the lattice is
# walked for nodes that are left.
_CHILDREN, _MATINGS = 8, 3


class ParetoLocalSearch(Search):
    """Pareto local search: the neighbors of every member of the archive, until none is left (Paquete et al. 2004).

    It starts at the corners of the lattice. Each iteration takes members of the archive in random order and proposes
    their neighbors that nobody has evaluated: those at one step, and once no member has any, those at two. Where all
    members are explored, crossover and mutation of members propose nodes, and where these find nothing new, a walk over
    the lattice does. No node is evaluated twice.

    On a `LatticeProblem` it learns from every node bounds of others, those of `BranchAndBound`, and passes over nodes
    that cannot be better than a member or surely break a constraint. Objectives without bounds are searched without.
    Bounds take three to thirteen times the seconds of a search without them. They are there for what they find: at the
    numbers of nodes that Dewri et al. 2010 report they raise the share of Adult's proven front from 0.97 to 1.00 of
    k, GLM, from 0.995 to 1 of k, l, GLM, and from 0.97 to 0.995 of k, GLM, CM, where evaluations are what counts.
    `bounds=False` is for who counts seconds.

    It ends by itself where no node is left, and then the front is proven, as `certified` says. That is known of
    lattices of up to 2^20 nodes; of a larger one it ends after 2^20 random nodes in a row of which none was left.

    While no node satisfies all constraints, the members are those whose violations are least: no other node violates
    all constraints less. Ctrl-C is passed on, as by pymoo's algorithms, and the search can go on.

    Other problems are served with operators of their own, without bounds and without a walk.

    Args:
        n_offsprings: Number of nodes that an iteration proposes at most. They are evaluated together, which is quicker.
        epsilon: Side of the archive's boxes, one positive number or one per objective, as in `BoxArchive`. None keeps
            every non-dominated node.
        sampling: First nodes; None is `CornerSampling()`, of which as many are drawn as there are corners.
        neighborhood: None is `LevelNeighborhood(reach=2)`.
        selection: Which members are explored or mated next; None is pymoo's `RandomSelection()`.
        crossover: None is `LevelCrossover()`, single point with probability 0.8.
        mutation: None is `SingleStepMutation()`, one step with probability 1 / number of variables.
        bounds: Whether nodes are passed over.
        **kwargs: As pymoo's `Algorithm`: termination (2,500 evaluations by default), callback, archive, output, which
            is `ParetoLocalSearchOutput()` by default, ...

    Attributes:
        front: The archive.

    Raises:
        TypeError: An argument is not known.
        ValueError: `n_offsprings` is no positive whole number, or `epsilon` is not positive and finite. At setup:
            `epsilon` has another number of objectives. At the first iteration: `sampling` gives no individual, or
            evaluated ones of another problem.
    """

    def __init__(
        self,
        n_offsprings: int = 16,
        epsilon: float | Sequence[float] | None = None,
        sampling: Sampling | Population | NDArray[np.int64] | None = None,
        neighborhood: Neighborhood | None = None,
        selection: Selection | None = None,
        crossover: Crossover | None = None,
        mutation: Mutation | None = None,
        bounds: bool = True,
        **kwargs: Any,
    ) -> None:
        n_offsprings = positive_whole("n_offsprings", n_offsprings)
        check_arguments(self, kwargs)
        kwargs.setdefault("termination", get_termination("n_eval", 2500))
        super().__init__(**{"output": ParetoLocalSearchOutput(), **kwargs})
        self.n_offsprings: int = n_offsprings
        self.epsilon: Matrix | None = None if epsilon is None else checked_epsilon(epsilon)
        self.initialization: Initialization = Initialization(CornerSampling() if sampling is None else sampling)
        self.neighborhood: Neighborhood = LevelNeighborhood() if neighborhood is None else neighborhood
        self.selection: Selection = RandomSelection() if selection is None else selection
        self.crossover: Crossover = LevelCrossover() if crossover is None else crossover
        self.mutation: Mutation = SingleStepMutation() if mutation is None else mutation
        self.bounds: bool = bounds
        self.front: ParetoArchive = ParetoArchive()

    def _begin(self, problem: Problem) -> None:
        sides, own = np.zeros(problem.n_obj), has_own_columns(problem)
        self.front = ParetoArchive()
        if self.epsilon is not None:
            fit_epsilon(self.epsilon, problem.n_obj)
            sides[:] = self.epsilon
            self.front = BoxArchive(sides, [objective.maximize for objective in problem.objectives] if own else None)
        on_lattice = own and isinstance(problem, LatticeProblem)
        learns = self.bounds and on_lattice and can_settle(problem)
        self._bounds = LearnedBounds(problem, sides) if learns else None
        self._walk = LatticeWalk(problem.lowest, problem.lengths, self.random_state) if on_lattice else None
        # The bytes of every node that was evaluated, and how far the neighbors of a node are done.
        self._seen: set[bytes] = set()
        self._explored: dict[bytes, int] = {}
        # The nodes that violate the constraints least, until one violates none.
        self._closest = Population.empty()

    @property
    def certified(self) -> bool:
        """Whether every node was evaluated or passed over, so that the front is proven to be complete."""
        return self._walk is not None and self._walk.is_whole and self._walk.ended

    @property
    def n_unexplored(self) -> int:
        """Number of members that may have neighbors left."""
        return len(self._unexplored(self.neighborhood.reach))

    @property
    def _members(self) -> Population:
        return self.front.pop if len(self.front) else self._closest

    def next(self) -> None:
        """One iteration: nodes are evaluated together, and what they teach comes with it."""
        with uncounted_compilation(self):
            infills = self.infill()
            # The evaluator finds the values in the problem's memory then; after ask and tell it is the other way round.
            self._learn(infills)
            self.evaluator.eval(self.problem, infills, algorithm=self)
        self.advance(infills=infills)

    def _initialize_infill(self) -> Population:
        # As many as there are corners.
        pop = self._sampled(2 * self.problem.n_var + 2)
        return Population(list({one.X.tobytes(): one for one in pop}.values()))

    def _infill(self) -> Population:
        """Nodes to evaluate; none where an iteration finds none, which need not be the last."""
        X = self._neighbors()
        if not len(X):
            X = self._children()
        if not len(X) and self._walk is not None and not self._walk.ended:
            X = self._walk.find(self._is_open, self.n_offsprings, self.random_state)
        if not len(X) and (self._walk is None or self._walk.ended):
            self.termination.terminate()
        return Population.new(X=X)

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        if infills is None or not len(infills):
            return
        self._learn(infills)
        self.front.add(infills)
        if not len(self.front):
            together = Population.merge(self._closest, infills)
            self._closest = together[first_non_dominated(_violations(together))]
        self._seen.update(one.X.tobytes() for one in infills)

    def _set_optimum(self) -> None:
        self.pop = self._members
        self.opt = in_order(self.pop) if len(self.front) else filter_optimum(self.pop, least_infeasible=True)

    def _learn(self, infills: Population) -> None:
        """Take lessons from nodes that gave none yet."""
        if self._bounds is None or not len(infills):
            return
        new = {x.tobytes(): x for x in self.problem.checked(infills.get("X")) if x not in self._bounds}
        if new:
            X = np.array(list(new.values()))
            # The evaluator fills the memory.
            fresh = self.problem.fresh_copy()
            self._bounds.learn(X, fresh.measure_with_bounds(X, partial(map, self._bounds.lesson))[1])

    def _neighbors(self) -> NDArray[Any]:
        """Open neighbors of members, near ones first, up to the number that is wanted."""
        proposed: dict[bytes, NDArray[Any]] = {}
        for distance in range(1, self.neighborhood.reach + 1):
            left = self._unexplored(distance)
            # Whatever is chosen leaves, so that a selection that chooses one twice passes over nobody for good.
            while left and not proposed:
                chosen = self.selection.do(
                    self.problem, Population(left), len(left), 1, algorithm=self, random_state=self.random_state
                )
                for one in dict.fromkeys(chosen[:, 0]):
                    if len(proposed) >= self.n_offsprings:
                        break
                    self._explore(one, distance, proposed)
                    left.remove(one)
            if proposed:
                break
        return np.array(list(proposed.values())[: self.n_offsprings])

    def _explore(self, one: Individual, distance: int, proposed: dict[bytes, NDArray[Any]]) -> None:
        """Propose the open neighbors of a member at one distance, in random order, or note that there are none."""
        X = self.neighborhood.do(self.problem, one.X, distance, algorithm=self, random_state=self.random_state)
        X = X[self.random_state.permutation(len(X))]
        X = X[self._is_open(X)]
        if not len(X):
            self._explored[one.X.tobytes()] = distance
        for x in X:
            proposed.setdefault(x.tobytes(), x)

    def _children(self) -> NDArray[Any]:
        """Open children of members."""
        mating = Mating(
            self.selection,
            self.crossover,
            self.mutation,
            eliminate_duplicates=_OpenNodes(self),
            n_max_iterations=_MATINGS,
        )
        wanted = _CHILDREN * self.n_offsprings
        children = mating.do(self.problem, self._members, wanted, algorithm=self, random_state=self.random_state)
        return np.array([one.X for one in children[: self.n_offsprings]])

    def _unexplored(self, distance: int) -> list[Individual]:
        """The members that may have neighbors left at a distance or nearer."""
        return [one for one in self._members if self._explored.get(one.X.tobytes(), 0) < distance]

    def _is_open(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """(n,) Boolean array: the points that nobody has evaluated and that bounds leave open."""
        found = np.array([x.tobytes() not in self._seen for x in X], dtype=bool)
        if self._bounds is not None and found.any():
            found[found] = ~self._bounds.settles(X[found], self.front.F.reshape(-1, self.problem.n_obj))
        return found


class _OpenNodes(DuplicateElimination):  # type: ignore[misc]
    """What mating may keep of its children: points that are open, each once."""

    def __init__(self, search: ParetoLocalSearch) -> None:
        super().__init__()
        self.search = search

    def do(self, pop: Population, *args: Population, **kwargs: Any) -> Population:
        """The open ones of a population that are in none of others."""
        pop = in_type_of_problem(pop, self.search.problem) if len(pop) else pop
        known = {one.X.tobytes() for other in args for one in other}
        first = {one.X.tobytes(): i for i, one in reversed(list(enumerate(pop)))}
        new = pop[sorted(i for key, i in first.items() if key not in known)]
        return new[self.search._is_open(np.array([one.X for one in new]))] if len(new) else new


class ParetoLocalSearchOutput(Output):  # type: ignore[misc]
    """Columns of a local search: members, how many are unexplored, distinct nodes, and the best of each objective."""

    def initialize(self, algorithm: Algorithm) -> None:
        """Choose the columns that the algorithm and its problem can fill."""
        self.columns.append(Column("unexplored", width=10, func=attrgetter("n_unexplored")))
        add_columns(self, algorithm, "front")


def _violations(pop: Population) -> Matrix:
    """(n, n_constraints) float array: by how much individuals violate each constraint, or all together."""
    G, H = (np.array([() if values is None else values for values in pop.get(name)], dtype=float) for name in "GH")
    each = np.concatenate([np.maximum(G, 0).reshape(len(pop), -1), np.abs(H).reshape(len(pop), -1)], axis=1)
    return each if each.shape[1] else np.array(pop.get("CV"), dtype=float)


Nodes = NDArray[np.int64]

# Of a lattice with more nodes random ones are drawn, and the walk gives up after so many in a row of no use.
_MOST_NODES = 1 << 20

# A slice is so many nodes, in steps that begin small and double: well below a second, and little to no use.
_NODES_A_SLICE = 4096
_NODES_A_STEP = 32


class LatticeWalk:
    """Goes over all nodes of a lattice once, in random order; over one that is too large, until nothing seems left.

    A node that is settled stays settled, so that no node has to be looked at twice.
    """

    def __init__(self, lowest: Nodes, lengths: Nodes, random_state: np.random.Generator) -> None:
        self._lowest, self._lengths = lowest, lengths
        self._n_nodes: int = prod(length + 1 for length in lengths.tolist())
        # Whether it goes over all nodes.
        self.is_whole = self._n_nodes <= _MOST_NODES
        self._length = min(self._n_nodes, _MOST_NODES)
        # In a whole walk nodes before this place are settled; in any other so many in a row were.
        self._place = 0
        # Place i is node number first + i * step: every number once, as the step has no factor of their count.
        self._first, self._step = 0, 1
        if self.is_whole:
            self._first, self._step = random_state.integers(1, self._n_nodes + 1, size=2).tolist()
            while gcd(self._step, self._n_nodes) > 1:
                self._step += 1

    @property
    def ended(self) -> bool:
        """Whether it has come to its end."""
        return self._place >= self._length

    def find(self, is_open: Callable[[Nodes], Flags], n: int, random_state: np.random.Generator) -> Nodes:
        """(m, n_var) int64 array: the next open nodes, at most n; it goes on until they have come, or for a slice."""
        found = np.empty((0, len(self._lengths)), dtype=np.int64)
        # Not beyond the first open node: it is open until somebody has evaluated it.
        place, done, size, stays = self._place, 0, _NODES_A_STEP, self._place
        while len(found) < n and done < _NODES_A_SLICE and place < self._length:
            size = min(size, self._length - place)
            X = self._nodes(place, size) if self.is_whole else self._drawn(size, random_state)
            own = np.flatnonzero(is_open(X))
            if not len(found):
                stays = place + (int(own[0]) if len(own) else size)
            found = np.concatenate([found, X[own]])
            place, done, size = place + size, done + size, 2 * size
        self._place = 0 if len(found) and not self.is_whole else stays
        return found[:n]

    def _nodes(self, place: int, size: int) -> Nodes:
        """(size, n_var) int64 array: the nodes from a place on."""
        numbers = (self._first + (place + np.arange(size)) * self._step) % self._n_nodes
        return np.column_stack(np.unravel_index(numbers, tuple(self._lengths + 1))) + self._lowest

    def _drawn(self, size: int, random_state: np.random.Generator) -> Nodes:
        """(m, n_var) int64 array: up to so many random nodes, each once."""
        drawn = random_state.integers(0, self._lengths + 1, size=(size, len(self._lengths)))
        return self._lowest + np.unique(drawn, axis=0)
