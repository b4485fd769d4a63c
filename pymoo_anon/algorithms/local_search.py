"""Pareto local search."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
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
from pymoo.util.optimum import filter_optimum

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.common import ArchiveOutput, Search, check_arguments, has_own_columns, in_type_of_problem
from pymoo_anon.fronts.archive import (
    BoxArchive,
    ParetoArchive,
    checked_epsilon,
    first_non_dominated,
    fit_epsilon,
    in_order,
)
from pymoo_anon.operators.crossover import LevelCrossover, PartitionCrossover
from pymoo_anon.operators.mutation import RandomImmigrantMutation, SingleStepMutation
from pymoo_anon.operators.neighborhood import BitStringNeighborhood, LevelNeighborhood, Neighborhood
from pymoo_anon.operators.sampling import BitStringSampling, CornerSampling
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.typing import Array, Bools, Floats

# Children cost little beside an evaluation, so that 8 are made for each that is wanted. The search ends where 3 matings
# in a row bring nothing new.
_CHILDREN, _MATINGS = 8, 3


class ParetoLocalSearch(Search):
    """Pareto local search (Paquete et al. 2004).

    Each iteration takes members of the archive in random order and proposes their neighbors that were not evaluated
    yet: the ones at one step, and once no member has any, the ones at two. Where all members are explored, crossover
    and mutation of members propose points. The search ends by itself where these find nothing new.

    A `LatticeProblem` is searched from the corners of the lattice. A `BitStringProblem` is searched from random strings
    by merges and splits. Any other problem needs operators of its own. While no point satisfies all constraints, the
    members are the points whose violations are not dominated. After Ctrl-C the search can go on.

    Args:
        n_offsprings: Largest number of points that an iteration proposes. They are evaluated together.
        epsilon: Side of the archive's boxes, one positive number or one per objective, as in `BoxArchive`. None keeps
            every non-dominated point.
        sampling: First points. None is `CornerSampling()`, asked for all corners. On bit strings it is
            `BitStringSampling()`, asked for `n_offsprings` strings.
        neighborhood: None is `LevelNeighborhood(reach=2)`, or `BitStringNeighborhood()`.
        selection: Chooses members to explore or to mate. None is pymoo's `RandomSelection()`.
        crossover: None is `LevelCrossover()`, or `PartitionCrossover()`.
        mutation: None is `SingleStepMutation()`, or `RandomImmigrantMutation()`.
        **kwargs: As pymoo's `Algorithm`: termination (2,500 evaluations by default), callback, archive, output
            (by default the unexplored members, the archive and the best values), ...

    Attributes:
        front: The archive.

    Raises:
        TypeError: An argument is not known.
        ValueError: `n_offsprings` is not a positive whole number, or `epsilon` is not positive and finite. At setup:
            `epsilon` has another number of objectives. At the first iteration: `sampling` gives no individuals of this
            problem.
    """

    def __init__(
        self,
        n_offsprings: int = 16,
        epsilon: float | Sequence[float] | None = None,
        sampling: Sampling | Population | Array | None = None,
        neighborhood: Neighborhood | None = None,
        selection: Selection | None = None,
        crossover: Crossover | None = None,
        mutation: Mutation | None = None,
        **kwargs: Any,
    ) -> None:
        n_offsprings = positive_whole("n_offsprings", n_offsprings)
        check_arguments(self, kwargs)
        kwargs.setdefault("termination", get_termination("n_eval", 2500))
        unexplored = Column("unexplored", width=10, func=attrgetter("n_unexplored"))
        super().__init__(**{"output": ArchiveOutput("front", unexplored), **kwargs})
        self.n_offsprings: int = n_offsprings
        self.epsilon: Floats | None = None if epsilon is None else checked_epsilon(epsilon)
        self.selection: Selection = RandomSelection() if selection is None else selection
        given = {"sampling": sampling, "neighborhood": neighborhood, "crossover": crossover, "mutation": mutation}
        self._given: dict[str, Any] = {name: one for name, one in given.items() if one is not None}
        self.front: ParetoArchive = ParetoArchive()

    def _begin(self, problem: Problem) -> None:
        operators = {**_operators_of(problem), **self._given}
        self.initialization = Initialization(operators["sampling"])
        self.neighborhood: Neighborhood = operators["neighborhood"]
        self.crossover: Crossover = operators["crossover"]
        self.mutation: Mutation = operators["mutation"]
        self.front = ParetoArchive()
        if self.epsilon is not None:
            fit_epsilon(self.epsilon, problem.n_obj)
            own = has_own_columns(problem)
            self.front = BoxArchive(self.epsilon, [one.maximize for one in problem.objectives] if own else None)
        # The bytes of every evaluated point, and the distance up to which the neighbors of a point are evaluated.
        self._seen: set[bytes] = set()
        self._explored: dict[bytes, int] = {}
        # The members while no point satisfies all constraints.
        self._closest = Population.empty()

    @property
    def n_unexplored(self) -> int:
        """Number of members that may have neighbors left."""
        return len(self._unexplored(self.neighborhood.reach))

    @property
    def _members(self) -> Population:
        return self.front.pop if len(self.front) else self._closest

    def _initialize_infill(self) -> Population:
        on_strings = isinstance(self.problem, BitStringProblem)
        n_corners = 2 * self.problem.n_var + 2
        pop = self._sampled(self.n_offsprings if on_strings else n_corners)
        return Population(list({one.X.tobytes(): one for one in pop}.values()))

    def _infill(self) -> Population:
        X = self._neighbors()
        if not len(X):
            X = self._children()
        if not len(X):
            self.termination.terminate()
        return Population.new(X=X)

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        if infills is None or not len(infills):
            return
        self.front.add(infills)
        if not len(self.front):
            together = Population.merge(self._closest, infills)
            self._closest = together[first_non_dominated(_violations(together))]
        self._seen.update(one.X.tobytes() for one in infills)

    def _set_optimum(self) -> None:
        self.pop = self._members
        self.opt = in_order(self.pop) if len(self.front) else filter_optimum(self.pop, least_infeasible=True)

    def _neighbors(self) -> Array:
        """Return up to `n_offsprings` new neighbors, near ones first."""
        proposed: dict[bytes, Array] = {}
        for distance in range(1, self.neighborhood.reach + 1):
            # A selection may choose one member twice and leave others out, so the loop asks until all are explored.
            while not proposed and (left := self._unexplored(distance)):
                chosen = self.selection.do(
                    self.problem, Population(left), len(left), 1, algorithm=self, random_state=self.random_state
                )
                for one in dict.fromkeys(chosen[:, 0]):
                    if len(proposed) < self.n_offsprings:
                        self._explore(one, distance, proposed)
        return np.array(list(proposed.values())[: self.n_offsprings])

    def _explore(self, one: Individual, distance: int, proposed: dict[bytes, Array]) -> None:
        X = self.neighborhood.do(self.problem, one.X, distance, algorithm=self, random_state=self.random_state)
        X = X[self.random_state.permutation(len(X))]
        new = {key: x for x in X if (key := x.tobytes()) not in self._seen}
        if not new:
            self._explored[one.X.tobytes()] = distance
        for key, x in new.items():
            proposed.setdefault(key, x)

    def _children(self) -> Array:
        """Return up to `n_offsprings` new children of members."""
        mating = Mating(
            self.selection,
            self.crossover,
            self.mutation,
            eliminate_duplicates=_SeenElimination(self.problem, self._seen),
            n_max_iterations=_MATINGS,
        )
        wanted = _CHILDREN * self.n_offsprings
        children = mating.do(self.problem, self._members, wanted, algorithm=self, random_state=self.random_state)
        if not len(children):
            return np.empty((0, self.problem.n_var))
        X: Array = in_type_of_problem(children[: self.n_offsprings], self.problem).get("X")
        return X

    def _unexplored(self, distance: int) -> list[Individual]:
        return [one for one in self._members if self._explored.get(one.X.tobytes(), 0) < distance]


class _SeenElimination(DuplicateElimination):  # type: ignore[misc]
    """Elimination of children that were evaluated before."""

    def __init__(self, problem: Problem, seen: set[bytes]) -> None:
        super().__init__()
        self.problem, self.seen = problem, seen

    def _do(self, pop: Population, other: Population | None, is_duplicate: Bools) -> Bools:
        known = set(self.seen) if other is None else set(self._keys(other))
        for i, key in enumerate(self._keys(pop)):
            is_duplicate[i] = key in known
            if other is None:
                known.add(key)
        return is_duplicate

    def _keys(self, pop: Population) -> list[bytes]:
        return [x.tobytes() for x in in_type_of_problem(pop, self.problem).get("X")]


def _operators_of(problem: Problem) -> dict[str, Any]:
    if isinstance(problem, BitStringProblem):
        return {
            "sampling": BitStringSampling(),
            "neighborhood": BitStringNeighborhood(),
            "crossover": PartitionCrossover(),
            "mutation": RandomImmigrantMutation(),
        }
    return {
        "sampling": CornerSampling(),
        "neighborhood": LevelNeighborhood(),
        "crossover": LevelCrossover(),
        "mutation": SingleStepMutation(),
    }


def _violations(pop: Population) -> Floats:
    """Return the (n, n_constraints) violations of individuals, or their total CV."""
    G, H = (np.array([() if values is None else values for values in pop.get(name)], dtype=float) for name in "GH")
    each = np.concatenate([np.maximum(G, 0).reshape(len(pop), -1), np.abs(H).reshape(len(pop), -1)], axis=1)
    return each if each.shape[1] else np.array(pop.get("CV"), dtype=float)
