"""Local search of bit strings: what it evaluates next from a start, and when that leads no further."""

from __future__ import annotations

import copy
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.algorithm import Algorithm
from pymoo.core.initialization import Initialization
from pymoo.core.population import Population
from pymoo.core.sampling import Sampling
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output
from pymoo.util.optimum import filter_optimum

from pymoo_anon._messages import positive_whole
from pymoo_anon.algorithms.common import Matrix, Search, check_arguments, front_size
from pymoo_anon.fronts.archive import in_order, merge_front, satisfies_constraints
from pymoo_anon.operators.sampling import BitStringSampling
from pymoo_anon.problems.bitstrings import Bits, BitStringProblem
from pymoo_anon.proofs.strings.instance import StringInstance, asks_no_more, goal
from pymoo_anon.proofs.strings.pairs import improve_within
from pymoo_anon.proofs.strings.space import StringSpace


class BitStringLocalSearch(Search):
    """Local search of a `BitStringProblem` from several starts: two attributes at a time get their best strings.

    This package's own.

    Where one loss is minimised under a smallest class size, two attributes are solved exactly with the others fixed,
    until no pair is better. Losses are those that say what a class saves by being kept, such as GeneralLossMetric;
    the class size is that of `Below`, or of a constraint on k under `AtMost` or `Violating`. With k as a second
    objective under `AtMost`, it walks along the front, from the smallest k upwards.

    For any other objectives and constraints, it evaluates the neighbours of a string, one merge or split of one
    attribute away, and goes on from the best: with several objectives from all that are not dominated.

    It stops by itself when all starts lead no further; a termination stops it earlier, or lets it go on with random
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
        sampling: Where they come from: a population, an (n, n_var) Boolean array, of which all are taken, or a sampling
            operator of pymoo. None is `BitStringSampling()`.
        output: Columns of the verbose output; None is `PairLocalSearchOutput()`.
        **kwargs: As pymoo's `Algorithm`: termination, callback, save_history, archive, evaluator, ...

    Attributes:
        n_done: Number of starts that led no further.

    Raises:
        ValueError: `n_starts` is no positive whole number. At the first iteration: `sampling` gives no individual, or
            evaluated ones of another problem.
        TypeError: An argument is not known. At setup: the problem is no `BitStringProblem`.
    """

    _kinds = (BitStringProblem,)

    def __init__(
        self,
        n_starts: int = 12,
        sampling: Sampling | Population | NDArray[np.bool_] | None = None,
        output: Output | None = None,
        **kwargs: Any,
    ) -> None:
        check_arguments(self, kwargs)
        super().__init__(output=PairLocalSearchOutput() if output is None else output, **kwargs)
        self.n_starts = positive_whole("n_starts", n_starts)
        self.initialization = Initialization(BitStringSampling() if sampling is None else sampling)

    def _begin(self, problem: BitStringProblem) -> None:
        self.n_done = 0
        self._steps: Steps = steps_of(problem)
        # The best of all that was evaluated: what satisfies the constraints, or else what breaks them least.
        self._best = Population.empty()

    def _initialize_infill(self) -> Population:
        pop = self._sampled(self.n_starts)
        self._starts = self.problem.checked(pop.get("X"))
        return pop

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        assert infills is not None
        self._keep(infills)
        self._steps.begin(self._starts[0])

    def _infill(self) -> Population:
        return Population.new(X=self._steps.ask(self.random_state))

    def _advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        assert infills is not None
        self._keep(infills)
        if self._steps.tell(infills.get("X"), infills.get("F"), infills.get("CV")[:, 0]):
            self.n_done += 1
            more = self.n_done < len(self._starts)
            # Where a termination lets it go on, with random strings.
            self._steps.begin(self._starts[self.n_done] if more else self.problem.sample(1, self.random_state)[0])
            if self.n_done == len(self._starts):
                self.termination.terminate()

    def _keep(self, infills: Population) -> None:
        """Take what was evaluated to the best, each string once."""
        together = Population.merge(self._best, infills)
        good = np.flatnonzero([satisfies_constraints(one) for one in together])
        if len(good) == 0:
            self._best = together[[int(np.argmin(together.get("CV")[:, 0]))]]
            return
        none = np.empty((0, 1), dtype=np.int64)
        F = together[good].get("F")
        rows, _ = merge_front(none, F[:0], good[:, np.newaxis], F)
        self._best = together[rows[:, 0]]

    def _set_optimum(self) -> None:
        self.pop = self._best
        self.opt = in_order(filter_optimum(self._best, least_infeasible=True))


class PairLocalSearchOutput(Output):  # type: ignore[misc]
    """Columns of a local search: the starts that are done, and the size of the front or the least value."""

    def initialize(self, algorithm: Algorithm) -> None:
        """Add the columns."""
        self.columns.append(Column("done", width=5, func=attrgetter("n_done")))
        if algorithm.problem.n_obj > 1:
            self.columns.append(Column("front", width=6, func=front_size))
        else:
            self.columns.append(Column("least", width=14, func=_least))


def _least(algorithm: BitStringLocalSearch) -> float | str:
    return float(algorithm.opt.get("F")[0, 0]) if algorithm.opt.get("feas").any() else "-"


class Steps:
    """From one start to where it leads no further, a batch of strings at a time.

    `ask` changes nothing that `tell` does not set again, so that a search that was interrupted in between goes on.
    Copies share what does not change.
    """

    def __init__(self, problem: BitStringProblem) -> None:
        self.problem = problem

    def __deepcopy__(self, memo: dict[int, Any]) -> Steps:
        """A copy: arrays are replaced here and never written to."""
        return copy.copy(self)

    def begin(self, x: Bits) -> None:
        """Begin at a string."""
        raise NotImplementedError

    def ask(self, random_state: np.random.Generator) -> Bits:
        """(n, n_var) Boolean array: the strings to evaluate next."""
        raise NotImplementedError

    def tell(self, X: Bits, F: Matrix, violations: Matrix) -> bool:
        """Take in what was asked for; whether the start leads no further."""
        raise NotImplementedError


def steps_of(problem: BitStringProblem) -> Steps:
    """What a local search of a problem does: pairs get their best cuts where that is defined, else neighbours."""
    return PairSteps(problem) if asks_no_more(problem) else NeighbourSteps(problem)


class PairSteps(Steps):
    """One loss under a smallest class size, or a front of k and one loss: pairs of attributes get their best cuts.

    The front is walked from the smallest k upwards. At each k the least loss is looked for, from the string of the k
    before and from the best that is known; k then goes on above that of the best string. So no k of the front is left
    out, and none is looked at twice.
    """

    def __init__(self, problem: BitStringProblem) -> None:
        super().__init__(problem)
        self._goal = goal(problem)
        self._space = StringSpace(StringInstance.of(problem, problem.objectives[self._goal.loss]))
        # What was seen of the front.
        self._X, self._F = np.empty((0, problem.n_var), dtype=bool), np.empty((0, problem.n_obj))

    def begin(self, x: Bits) -> None:
        """Begin at a string, with the smallest k."""
        self._at, self._k, self._price = x, self._goal.k, 0.0

    def ask(self, random_state: np.random.Generator) -> Bits:
        """The strings that pairs lead to at this k; the first from where the walk is."""
        starts, best = [self._at], self._goal.best(self._F, self._k)
        if best is not None:
            starts.append(self._X[best])
        instance, limit = self._space.instance, self._goal.limit
        found = [
            improve_within(self._space, instance.cuts_of(x), self._k, limit, random_state, self._price) for x in starts
        ]
        # What was enough from where the walk is.
        self._next_price = found[0][1]
        return np.unique([instance.bits_of(cuts) for made, _ in found for cuts in made], axis=0)

    def tell(self, X: Bits, F: Matrix, violations: Matrix) -> bool:
        """Go on above the k of the best string; the walk ends where no string has a k so large."""
        privacy = self._goal.privacy
        if privacy is None:
            return True
        feasible = violations <= 0
        self._X, self._F = merge_front(self._X, self._F, X[feasible], F[feasible])
        best = self._goal.best(self._F, self._k)
        if best is None:
            return True
        k = self._goal.next_k(float(self._F[best, privacy]), self._goal.of_k)
        self._at, self._k, self._price = self._X[best], k, self._next_price
        return k > self.problem.table.n_rows


class NeighbourSteps(Steps):
    """Any objectives: neighbours of a string are evaluated, then those of the strings that are best among all seen.

    With one objective that is descent, each time to the best neighbour. With several it goes on from every string that
    no other dominates. Until a string satisfies the constraints, it goes on from the one that breaks them least, and of
    several from the most general: where every string near has a k of 1, that leads out.
    """

    def begin(self, x: Bits) -> None:
        """Begin at a string; it is evaluated first."""
        self._start: Bits | None = x
        # The best strings, their values, by how much they break the constraints, and those whose neighbours are known.
        self._X, self._F = np.empty((0, len(x)), dtype=bool), np.empty((0, self.problem.n_obj))
        self._violations = np.empty(0)
        self._known: frozenset[bytes] = frozenset()

    def ask(self, random_state: np.random.Generator) -> Bits:
        """The start, then the neighbours of a random one of the best strings whose neighbours are not known."""
        if self._start is not None:
            return self._start[np.newaxis]
        left = self._left()
        self._asked = self._X[left[random_state.integers(len(left))]]
        return string_neighbours(self.problem, self._asked)

    def tell(self, X: Bits, F: Matrix, violations: Matrix) -> bool:
        """Take in the neighbours; the start leads no further where those of all best strings are known."""
        if self._start is None:
            self._known |= {self._asked.tobytes()}
        self._start = None
        together, values = np.concatenate([self._X, X]), np.concatenate([self._F, F])
        broken = np.concatenate([self._violations, violations])
        feasible = broken <= 0
        if feasible.any():
            self._X, self._F = merge_front(X[:0], F[:0], together[feasible], values[feasible])
            self._violations = np.zeros(len(self._X))
        else:
            # Of equal ones the first, so that descent ends.
            best = [np.lexsort([together.sum(axis=1), broken])[0]]
            self._X, self._F, self._violations = together[best], values[best], broken[best]
        return len(self._left()) == 0

    def _left(self) -> NDArray[np.int64]:
        """The best strings whose neighbours are not known."""
        return np.array([i for i, x in enumerate(self._X) if x.tobytes() not in self._known], dtype=np.int64)


def string_neighbours(problem: BitStringProblem, x: Bits) -> Bits:
    """(n, n_var) Boolean array: the valid strings that are one merge or one split away.

    Where there is a taxonomy, a node whose children are groups becomes one group, or a group becomes its children.
    Elsewhere one bit flips: two groups that stand side by side become one, or a group becomes two.
    """
    found = []
    for name in problem.table.quasi_identifiers:
        own = problem.bits_of(name)
        if name in problem.taxonomies:
            changed = _of_cut(problem.taxonomies[name].spans, x[own])
        else:
            changed = x[own] ^ np.eye(own.stop - own.start, dtype=bool)
        strings = np.repeat(x[np.newaxis], len(changed), axis=0)
        strings[:, own] = changed
        found.append(strings)
    return np.concatenate(found)


def _of_cut(spans: NDArray[np.int64], bits: Bits) -> Bits:
    """(n, n_bits) Boolean array: the cuts of a tree that are one merge or one split away from a cut."""
    edges = np.concatenate([[0], np.flatnonzero(bits) + 1, [len(bits) + 1]])
    groups = set(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    made = []
    for node, (first, last, end) in enumerate(spans.tolist()):
        children, child = [], node + 1
        while child < end:
            children.append((int(spans[child, 0]), int(spans[child, 1])))
            child = int(spans[child, 2])
        # A bit stands between the last value of a child and the first of the next.
        between = [low - 1 for low, _ in children[1:]]
        if between and ((first, last) in groups or groups.issuperset(children)):
            made.append(bits.copy())
            made[-1][between] ^= True
    return np.array(made, dtype=bool).reshape(len(made), len(bits))
