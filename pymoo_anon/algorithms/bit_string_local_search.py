"""Local search of bit strings by pairs of attributes."""

from __future__ import annotations

import copy
from operator import attrgetter
from typing import Any

import numpy as np
from pymoo.core.initialization import Initialization
from pymoo.core.population import Population
from pymoo.core.sampling import Sampling
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.common import ArchiveOutput, Search, check_arguments, least_infeasible
from pymoo_anon.fronts.archive import ParetoArchive, in_order, merge_front
from pymoo_anon.operators.sampling import BitStringSampling
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.proofs.strings.instance import StringInstance, asks_no_more, goal_of
from pymoo_anon.proofs.strings.pairs import PairSearch
from pymoo_anon.proofs.strings.space import StringSpace
from pymoo_anon.typing import Bools, Floats


class BitStringLocalSearch(Search):
    """Local search of bit strings by pairs of attributes.

    This package's own. It minimises one loss over cells, such as GeneralLossMetric, under a smallest class size. Two
    attributes at a time get their best strings while the others are fixed, until no pair is better. The class size is
    that of `Below`, or of a constraint on k under `AtMost` or `Violating`. With k as a second objective under `AtMost`,
    it walks along the front, from the smallest k upwards. `ParetoLocalSearch` searches every other problem.

    It stops by itself when all starts lead no further. A termination stops it earlier, or lets it go on with random
    starts. The result is the best of all that was evaluated.

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
        output: Columns of the verbose output. None is the finished starts, the archive and the best values.
        **kwargs: As pymoo's `Algorithm`: termination, callback, save_history, archive, evaluator, ...

    Attributes:
        front: The archive.
        n_done: Number of starts that led no further.

    Raises:
        ValueError: `n_starts` is not a positive whole number. At setup: the problem is not one loss under a smallest
            class size, or k and a loss. At the first iteration: `sampling` gives no individuals of this problem.
        TypeError: An argument is not known. At setup: the problem is not a `BitStringProblem`.
    """

    _kinds = (BitStringProblem,)

    def __init__(
        self,
        n_starts: int = 12,
        sampling: Sampling | Population | Bools | None = None,
        output: Output | None = None,
        **kwargs: Any,
    ) -> None:
        check_arguments(self, kwargs)
        done = Column("done", width=5, func=attrgetter("n_done"))
        super().__init__(output=ArchiveOutput("front", done) if output is None else output, **kwargs)
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
        # The string that violates the constraints least, while none satisfies them.
        self._closest = Population.empty()

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
            # A termination may let the search go on with random strings.
            self._walk.begin(self._starts[self.n_done] if more else self.problem.sample(1, self.random_state)[0])
            if self.n_done == len(self._starts):
                self.termination.terminate()

    def _keep(self, infills: Population) -> None:
        self.front.add(infills)
        if not len(self.front):
            self._closest = least_infeasible(self._closest, infills)

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
        self._space = StringSpace(StringInstance.of(problem, problem.objectives[self._goal.loss]))
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
        instance, search = self._space.instance, PairSearch(self._space, self._k, self._goal.limit, random_state)
        found = [search.within(instance.cuts_of(x), self._multiplier) for x in starts]
        self._next_multiplier = found[0][1]
        return np.unique([instance.bits_of(cuts) for made, _ in found for cuts in made], axis=0)

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
