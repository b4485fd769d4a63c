"""Steps of local searches of bit strings: what to evaluate next from a start, and when it leads no further."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.strings.goal import asks_no_more, goal
from pymoo_anon.algorithms.proofs.strings.instance import StringInstance
from pymoo_anon.algorithms.proofs.strings.pair_search import improve_within
from pymoo_anon.algorithms.string_neighbours import neighbours
from pymoo_anon.fronts.archive import merge_front
from pymoo_anon.problems.bitstrings import Bits, BitStringProblem

Matrix = NDArray[np.float64]


class Steps:
    """From one start to where it leads no further, a batch of strings at a time.

    `ask` changes nothing that `tell` does not set again, so that a search that was interrupted in between goes on.
    Copies share what does not change.

    Args:
        problem: The problem.
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

    Args:
        problem: A problem that asks for its goal and no more.
    """

    def __init__(self, problem: BitStringProblem) -> None:
        super().__init__(problem)
        self._goal = goal(problem)
        self._instance = StringInstance.of(problem, problem.objectives[self._goal.loss])
        # What was seen of the front.
        self._X, self._F = np.empty((0, problem.n_var), dtype=bool), np.empty((0, problem.n_obj))

    def begin(self, x: Bits) -> None:
        """Begin at a string, with the smallest k."""
        self._at, self._k, self._price = x, self._goal.k, 0.0

    def ask(self, random_state: np.random.Generator) -> Bits:
        """The strings that pairs lead to at this k; the first from where the walk is."""
        starts = [self._at]
        best = self._best()
        if best is not None:
            starts.append(self._X[best])
        found = [self._improved(start, random_state) for start in starts]
        self._next_price = found[0][1]
        strings = np.array([self._instance.bits_of(cuts) for made, _ in found for cuts in made])
        return np.unique(strings, axis=0)

    def _improved(self, x: Bits, random_state: np.random.Generator) -> tuple[list[list[NDArray[np.int64]]], float]:
        """Strings that pairs lead to from one, and the price that was enough."""
        cuts = self._instance.cuts_of(x)
        return improve_within(self._instance, cuts, self._k, self._goal.limit, random_state, self._price)

    def tell(self, X: Bits, F: Matrix, violations: Matrix) -> bool:
        """Go on above the k of the best string; the walk ends where no string has a k so large."""
        privacy = self._goal.privacy
        if privacy is None:
            return True
        feasible = violations <= 0
        self._X, self._F = merge_front(self._X, self._F, X[feasible], F[feasible])
        best = self._best()
        if best is None:
            return True
        k = self._goal.next_k(float(self._F[best, privacy]), self._goal.of_k)
        self._at, self._k, self._price = self._X[best], k, self._next_price
        return k > self.problem.table.n_rows

    def _best(self) -> int | None:
        """The string of least loss, of those seen whose k is large enough, or None."""
        return self._goal.best(self._F, self._k)


class NeighbourSteps(Steps):
    """Any objectives: neighbours of a string are evaluated, then those of the strings that are best among all seen.

    With one objective that is descent, each time to the best neighbour. With several it goes on from every string that
    no other dominates. Until a string satisfies the constraints, it goes on from the one that breaks them least, and of
    several from the most general: where every string near has a k of 1, that leads out.

    Args:
        problem: The problem.
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
        return neighbours(self.problem, self._asked)

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
