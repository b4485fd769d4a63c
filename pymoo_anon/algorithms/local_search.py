"""Pareto local search."""

from __future__ import annotations

import copy
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
from pymoo_anon.algorithms.common import ArchiveOutput, Search, grid_of, in_type_of_problem, options_of
from pymoo_anon.fronts.archive import (
    BoxArchive,
    ParetoArchive,
    checked_epsilon,
    first_non_dominated,
    in_order,
    merge_front,
)
from pymoo_anon.operators.levels import (
    CornerSampling,
    LevelCrossover,
    LevelNeighborhood,
    Neighborhood,
    SingleStepMutation,
    check_levels,
)
from pymoo_anon.operators.strings import (
    BitStringNeighborhood,
    BitStringSampling,
    PartitionCrossover,
    RandomImmigrantMutation,
    check_strings,
)
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.proofs.instance import StringSpace, asks_no_more, goal_of
from pymoo_anon.proofs.strings import PairSearch
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
        ValueError: An argument is out of range. At setup: `epsilon` does not fit the problem.
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
        output = ArchiveOutput("front", Column("unexplored", width=10, func=attrgetter("n_unexplored")))
        super().__init__(**options_of(self, kwargs, termination=get_termination("n_eval", 2500), output=output))
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
        for kind, check in ((LevelNeighborhood, check_levels), (BitStringNeighborhood, check_strings)):
            if type(self.neighborhood) is kind:
                check(problem)
        self.front = ParetoArchive()
        if self.epsilon is not None:
            _, maximize = grid_of(problem)
            self.front = BoxArchive(checked_epsilon(self.epsilon, problem.n_obj), maximize)
        # By the bytes of every evaluated point, the distance up to which its neighbors are evaluated.
        self._explored: dict[bytes, int] = {}

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
            # All points whose violations are not dominated.
            together = Population.merge(self._closest, infills)
            self._closest = together[first_non_dominated(_violations(together))]
        self._explored.update((one.X.tobytes(), 0) for one in infills)

    def _set_optimum(self) -> None:
        self.pop = self._members
        self.opt = in_order(self.pop) if len(self.front) else filter_optimum(self.pop, least_infeasible=True)

    def _neighbors(self) -> Array:
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
        new = {key: x for x in X if (key := x.tobytes()) not in self._explored}
        if not new:
            self._explored[one.X.tobytes()] = distance
        for key, x in new.items():
            proposed.setdefault(key, x)

    def _children(self) -> Array:
        mating = Mating(
            self.selection,
            self.crossover,
            self.mutation,
            eliminate_duplicates=_KnownElimination(self.problem, set(self._explored)),
            n_max_iterations=_MATINGS,
        )
        wanted = _CHILDREN * self.n_offsprings
        children = mating.do(self.problem, self._members, wanted, algorithm=self, random_state=self.random_state)
        if not len(children):
            return np.empty((0, self.problem.n_var))
        return in_type_of_problem(children[: self.n_offsprings], self.problem).get("X")

    def _unexplored(self, distance: int) -> list[Individual]:
        return [one for one in self._members if self._explored[one.X.tobytes()] < distance]


class _KnownElimination(DuplicateElimination):  # type: ignore[misc]
    def __init__(self, problem: Problem, known: set[bytes]) -> None:
        super().__init__()
        self.problem, self.known = problem, known

    def do(self, pop: Population, *others: Population) -> Population:
        """Return the individuals of unknown points, which are known from now on."""
        new = []
        for one, x in zip(pop, in_type_of_problem(pop, self.problem).get("X"), strict=True):
            if (key := x.tobytes()) not in self.known:
                self.known.add(key)
                new.append(one)
        return Population(new)


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


class BitStringLocalSearch(Search):
    """Local search of bit strings by pairs of attributes.

    This package's own. It minimises one loss over cells, such as GeneralLossMetric, under a smallest class size. Two
    attributes at a time get their best strings while the others are fixed, until no pair is better. The class size is
    that of `Below`, or of a constraint on k under `AtMost` or `Violating`. With k as a second objective under `AtMost`,
    it walks along the front, from the smallest k upwards. `ParetoLocalSearch` searches every other problem.

    It stops by itself when all starts lead no further, or earlier by a termination. A stopped one that is given a new
    `termination` goes on, at last from random starts. The result is the best of all that was evaluated.

    >>> from pymoo.optimize import minimize
    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> from pymoo_anon.problems import BitStringProblem
    >>> from pymoo_anon.table import Below
    >>> problem = BitStringProblem(make_census(200), [GeneralLossMetric()], suppression=Below(5))
    >>> res = minimize(problem, BitStringLocalSearch(n_starts=3), seed=1)
    >>> res.algorithm.n_done, res.algorithm.evaluator.n_eval
    (3, 6)

    Args:
        n_starts: Number of strings to start from.
        sampling: First strings: a sampling operator of pymoo, or a population or an (n, n_var) Boolean array, which is
            taken whole. None is `BitStringSampling()`.
        **kwargs: As pymoo's `Algorithm`. By default the output is the finished starts, the archive and the best values.

    Attributes:
        front: The archive.
        n_done: Number of starts that led no further.

    Raises:
        ValueError: `n_starts` is not a positive whole number. At setup: the problem is not one loss under a smallest
            class size, or k and a loss.
        TypeError: An argument is not known. At setup: the problem is not a `BitStringProblem`.
    """

    _kinds = (BitStringProblem,)

    def __init__(
        self,
        n_starts: int = 12,
        sampling: Sampling | Population | Bools | None = None,
        **kwargs: Any,
    ) -> None:
        done = Column("done", width=5, func=attrgetter("n_done"))
        super().__init__(**options_of(self, kwargs, output=ArchiveOutput("front", done)))
        self.n_starts = positive_whole("n_starts", n_starts)
        self.initialization = Initialization(BitStringSampling() if sampling is None else sampling)

    def _begin(self, problem: BitStringProblem) -> None:
        if not asks_no_more(problem):
            raise ValueError(
                "problem must be one loss under a smallest class size, or k and a loss under AtMost, got "
                f"{list(problem.objectives)}; ParetoLocalSearch searches any BitStringProblem"
            )
        self.n_done = 0
        self._walk = _PairWalk(problem)
        self.front: ParetoArchive = ParetoArchive()

    def _initialize_infill(self) -> Population:
        pop = self._sampled(self.n_starts)
        self._starts = self.problem.checked(pop.get("X"))
        return pop

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        assert infills is not None
        self._keep(infills)
        self._walk.begin(self._starts[0])

    def _infill(self) -> Population:
        return Population.new(X=self._walk.ask(self.random_state))

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        assert infills is not None
        self._keep(infills)
        if self._walk.tell(infills.get("X"), infills.get("F"), infills.get("CV")[:, 0]):
            self.n_done += 1
            more = self.n_done < len(self._starts)
            # A new termination may let the search go on.
            self._walk.begin(self._starts[self.n_done] if more else self.problem.sample(1, self.random_state)[0])
            if self.n_done == len(self._starts):
                self.termination.terminate()

    def _keep(self, infills: Population) -> None:
        self.front.add(infills)
        if not len(self.front):
            self._keep_closest(infills)

    def _set_optimum(self) -> None:
        self.pop = self.front.pop if len(self.front) else self._closest
        self.opt = in_order(self.pop)


class _PairWalk:
    """Walk from one start, from the smallest k of a front upwards.

    At each k it looks for the least loss from two strings: that of the k before, and the best that is known. It then
    goes on above the k of the best string, so that it skips no k of the front and visits none twice. `ask` changes only
    state that `tell` sets again, so that a search can go on after an interruption in between.
    """

    def __init__(self, problem: BitStringProblem) -> None:
        self._n_rows = problem.table.n_rows
        self._goal = goal_of(problem)
        self._space = StringSpace.of(problem, problem.objectives[self._goal.loss])
        # The front of all evaluated strings.
        self._X, self._F = np.empty((0, problem.n_var), dtype=bool), np.empty((0, problem.n_obj))

    def __deepcopy__(self, memo: dict[int, Any]) -> _PairWalk:
        """Return a copy that shares all arrays."""
        return copy.copy(self)

    def begin(self, x: Bools) -> None:
        """Begin at a string, with the smallest k."""
        self._at, self._k, self._multiplier = x, self._goal.k, 0.0

    def ask(self, random_state: np.random.Generator) -> Bools:
        """Return the (n, n_var) strings that pairs lead to."""
        starts, best = [self._at], self._goal.best(self._F, self._k)
        if best is not None:
            starts.append(self._X[best])
        space, search = self._space, PairSearch(self._space, self._k, self._goal.limit, random_state)
        found = [search.within(space.cuts_of(x), self._multiplier) for x in starts]
        self._next_multiplier = found[0][1]
        return np.unique([space.bits_of(cuts) for made, _ in found for cuts in made], axis=0)

    def tell(self, X: Bools, F: Floats, violations: Floats) -> bool:
        """Return whether the walk has ended with these values."""
        privacy = self._goal.privacy
        if privacy is None:
            return True
        feasible = violations <= 0
        self._X, self._F = merge_front(self._X, self._F, X[feasible], F[feasible])
        best = self._goal.best(self._F, self._k)
        if best is None:
            return True
        k = self._goal.next_k(float(self._F[best, privacy]), self._goal.of_k)
        self._at, self._k, self._multiplier = self._X[best], k, self._next_multiplier
        return k > self._n_rows
