"""PBG-EA, the evolutionary algorithm for property based generalizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pymoo.algorithms.base.genetic import GeneticAlgorithm
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling
from pymoo.core.selection import Selection
from pymoo.termination import get_termination
from pymoo.util.optimum import filter_optimum

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.common import ArchiveOutput, Search, grid_of, options_of
from pymoo_anon.fronts.archive import BoxArchive, checked_epsilon, in_order
from pymoo_anon.operators.levels import DominanceCountTournament, LatticeSampling, LevelCrossover, SingleStepMutation
from pymoo_anon.typing import Floats

# The arguments of pymoo's GeneticAlgorithm that Algorithm 2 leaves open.
_GENETIC_OPTIONS = ("repair", "eliminate_duplicates")


class PBGEA(Search, GeneticAlgorithm):  # type: ignore[misc]
    """PBG-EA (Dewri et al. 2010, Algorithm 2).

    It finds minimal property based generalizations. In each generation the children replace the whole population, and a
    box archive keeps the best of them. Parents come from the population and the archive together. The result,
    `res.opt`, is the archive: a representative set.

    The paper has no constraints. Here the archive refuses nodes that violate one, and tournaments prefer the node with
    the smaller violation.

    Args:
        pop_size: Number of nodes in the population.
        epsilon: Side of the archive's boxes, one positive number or one per objective, as in `BoxArchive`. On an
            `AnonymizationProblem` the grid lies on the natural values. None takes the step of every objective: the
            paper's 1 for k, l, their sums and the general loss, 0.001 or less for one between 0 and 1. It is 1 on any
            other problem.
        sampling: First population. None is `LatticeSampling()`.
        selection: Chooses parents from population and archive. None is `DominanceCountTournament()`.
        crossover: None is `LevelCrossover()`, single point with probability 0.8.
        mutation: None is `SingleStepMutation()`, one step with probability 1 / number of variables.
        **kwargs: `repair` and `eliminate_duplicates` (False by default) as pymoo's `GeneticAlgorithm`. With duplicates
            eliminated, the search ends when mating finds no node that population and archive lack. The others as
            pymoo's `Algorithm`: termination (100 generations by default: the first population and 99 iterations),
            output (by default the archive and the best values), callback, archive, ...

    Attributes:
        box_archive: The archive of Algorithm 2.

    Raises:
        TypeError: An argument is not known.
        ValueError: An argument is out of range. At setup: `epsilon` does not fit the problem.
    """

    def __init__(
        self,
        pop_size: int = 25,
        epsilon: float | Sequence[float] | None = None,
        sampling: Sampling | None = None,
        selection: Selection | None = None,
        crossover: Crossover | None = None,
        mutation: Mutation | None = None,
        **kwargs: Any,
    ) -> None:
        pop_size = positive_whole("pop_size", pop_size)
        defaults = {"termination": get_termination("n_gen", 100), "output": ArchiveOutput("box_archive")}
        super().__init__(
            pop_size=pop_size,
            sampling=LatticeSampling() if sampling is None else sampling,
            selection=DominanceCountTournament() if selection is None else selection,
            crossover=LevelCrossover() if crossover is None else crossover,
            mutation=SingleStepMutation() if mutation is None else mutation,
            **options_of(self, kwargs, _GENETIC_OPTIONS, eliminate_duplicates=False, **defaults),
        )
        self.epsilon: Floats | None = None if epsilon is None else checked_epsilon(epsilon)
        self.box_archive: BoxArchive = BoxArchive()

    def _begin(self, problem: Problem) -> None:
        # Step 1: an empty archive.
        sides, maximize = grid_of(problem)
        epsilon = sides if self.epsilon is None else self.epsilon
        if epsilon is None:
            raise ValueError(
                f"epsilon must be given where F has other columns than the problem's objectives, got {problem.n_obj} "
                f"columns for {len(problem.objectives)} objectives"
            )
        self.box_archive = BoxArchive(checked_epsilon(epsilon, problem.n_obj), maximize)

    def _initialize_infill(self) -> Population:
        # Step 2: initialize the population.
        return self._sampled(self.pop_size)

    def _infill(self) -> Population | None:
        """Select parents and return their children (steps 5 to 7).

        Section 6 selects a pool of N_pop nodes by N_pop tournaments, and then draws pairs from the pool without
        replacement. Winners of independent tournaments come in random order, so each two in a row are such a pair. For
        an odd N_pop, where the paper is silent, the second of the last children is left out.
        """
        # The union is one of nodes: members of the population are often in the archive, too.
        both = Population.merge(self.box_archive.pop, self.pop)
        parents = Population(list({one.X.tobytes(): one for one in both}.values()))
        off = self.mating.do(self.problem, parents, self.n_offsprings, algorithm=self, random_state=self.random_state)
        if not len(off):
            # No node is new. That happens only if duplicates are eliminated.
            self.termination.terminate()
            return None
        return off

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        """Replace population, update archive (steps 4 and 8)."""
        if infills is None:
            return
        self.pop = infills
        self.box_archive.add(infills)
        if not len(self.box_archive):
            self._keep_closest(infills)

    def _set_optimum(self) -> None:
        # Step 10: return the archive.
        if len(self.box_archive):
            self.opt = in_order(self.box_archive.pop)
        else:
            # The population may hold nodes that `AdaptiveEpsilonConstraintHandling` still tolerates.
            self.opt = filter_optimum(Population.merge(self._closest, self.pop), least_infeasible=True)
