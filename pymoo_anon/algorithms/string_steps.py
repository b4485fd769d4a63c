"""Steps of local searches of bit strings: what to evaluate next from a start, and when it leads no further."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.strings.instance import StringInstance
from pymoo_anon.algorithms.proofs.strings.pair_search import improve, improve_within
from pymoo_anon.algorithms.string_neighbours import neighbours
from pymoo_anon.fronts.archive import merge_front
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.partition import Bits, PartitionProblem
from pymoo_anon.table.suppression import Below, Violating

Matrix = NDArray[np.float64]


class Steps:
    """From one start to where it leads no further, a batch of strings at a time.

    `ask` changes nothing that `tell` does not set again, so that a search that was interrupted in between goes on.
    Copies share what does not change.

    Args:
        problem: The problem.
    """

    def __init__(self, problem: PartitionProblem) -> None:
        self.problem = problem

    def __deepcopy__(self, memo: dict[int, Any]) -> Steps:
        """A copy: arrays are replaced here and never written to."""
        return copy.copy(self)

    def begin(self, x: Bits) -> None:
        """Begin at a string.

        Args:
            x: (n_var,) Boolean array, a valid string.
        """
        raise NotImplementedError

    def ask(self, random_state: np.random.Generator) -> Bits:
        """(n, n_var) Boolean array: the strings to evaluate next."""
        raise NotImplementedError

    def tell(self, X: Bits, F: Matrix, violations: Matrix) -> bool:
        """Take in what was asked for; whether the start leads no further.

        Args:
            X: (n, n_var) Boolean array.
            F: (n, n_obj) float array of minimised values.
            violations: (n,) float array, by how much each string breaks the constraints; 0 where it satisfies them.
        """
        raise NotImplementedError


def steps_of(problem: PartitionProblem) -> Steps:
    """What a local search of a problem does: pairs get their best cuts where that is defined, else neighbours."""
    return PairSteps(problem) if _is_of_k_and_one_loss(problem) else NeighbourSteps(problem)


class PairSteps(Steps):
    """One loss under a smallest class size, or a front of k and one loss: pairs of attributes get their best cuts.

    The front is walked from the smallest k upwards. At each k the least loss is looked for, from the string of the k
    before and from the best that is known; k then goes on above that of the best string. So no k of the front is left
    out, and none is looked at twice.

    Args:
        problem: A problem of k and one loss.
    """

    def __init__(self, problem: PartitionProblem) -> None:
        super().__init__(problem)
        (loss,) = (objective for objective in problem.objectives if objective != KAnonymity())
        self._instance = StringInstance.of(problem, loss)
        self._column = problem.objectives.index(loss)
        self._walks = len(problem.objectives) == 2
        self._least_k = _least_k(problem)
        self._limit = problem.suppression.limit_of(problem.table.n_rows)
        # What was seen of the front: strings with k, negated, and loss.
        self._X, self._F = np.empty((0, problem.n_var), dtype=bool), np.empty((0, 2))

    def begin(self, x: Bits) -> None:
        """Begin at a string, with the smallest k."""
        self._at, self._k, self._price = x, self._least_k, 0.0

    def ask(self, random_state: np.random.Generator) -> Bits:
        """The strings that pairs lead to at this k; the first from where the walk is."""
        starts = [self._at]
        known = np.flatnonzero(-self._F[:, 0] >= self._k)
        if len(known):
            starts.append(self._X[known[self._F[known, 1].argmin()]])
        found = [self._improved(start, random_state) for start in starts]
        self._next_price = found[0][1]
        strings = np.array([self._instance.bits_of(cuts) for made, _ in found for cuts in made])
        return np.unique(strings, axis=0)

    def _improved(self, x: Bits, random_state: np.random.Generator) -> tuple[list[list[NDArray[np.int64]]], float]:
        """Strings that pairs lead to from one, and the price that was enough."""
        cuts = self._instance.cuts_of(x)
        if self._limit is None:
            return [improve(self._instance, cuts, self._k, random_state)], 0.0
        return improve_within(self._instance, cuts, self._k, self._limit, random_state, self._price)

    def tell(self, X: Bits, F: Matrix, violations: Matrix) -> bool:
        """Go on above the k of the best string; the walk ends where no string has a k so large."""
        if not self._walks:
            return True
        feasible = violations <= 0
        values = np.column_stack([F[:, 1 - self._column], F[:, self._column]])
        self._X, self._F = merge_front(self._X, self._F, X[feasible], values[feasible])
        enough = np.flatnonzero(-self._F[:, 0] >= self._k)
        if len(enough) == 0:
            return True
        best = enough[self._F[enough, 1].argmin()]
        self._at, self._k, self._price = self._X[best], int(-self._F[best, 0]) + 1, self._next_price
        return self._k > self.problem.table.n_rows


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


def _least_k(problem: PartitionProblem) -> int:
    """The smallest class that a problem keeps, or 1."""
    rule = problem.suppression
    bounds = [int(np.ceil(constraint.bound)) for constraint in problem.constraints]
    return max([1, *bounds, *([rule.k] if isinstance(rule, Below) else [])])


def _is_of_k_and_one_loss(problem: PartitionProblem) -> bool:
    """Whether a problem asks for one loss, a sum over classes, and else only for k, in a way that pairs can follow.

    Under `Below` and `Violating`, larger k are no smaller classes suppressed: there the threshold has to stand.
    """
    k = KAnonymity()
    losses = [objective for objective in problem.objectives if objective != k]
    if len(losses) != 1 or type(losses[0]).class_gains is Objective.class_gains:
        return False
    if any(constraint.objective != k or not constraint.at_least for constraint in problem.constraints):
        return False
    rule, walks = problem.suppression, len(problem.objectives) == 2
    if isinstance(rule, Below):
        return not walks and rule.k == _least_k(problem)
    if isinstance(rule, Violating):
        return not walks
    return walks or bool(problem.constraints) or rule.limit_of(problem.table.n_rows) == 0
