"""Proofs over bit strings: the least loss, and the front of k and a loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.base import Matrix, Proof
from pymoo_anon.algorithms.proofs.strings.goal import goal
from pymoo_anon.algorithms.proofs.strings.instance import StringInstance
from pymoo_anon.algorithms.proofs.strings.pair_search import improve_within
from pymoo_anon.algorithms.proofs.strings.plan import plan
from pymoo_anon.algorithms.proofs.strings.search import Search
from pymoo_anon.algorithms.proofs.strings.space import Asked, StringSpace
from pymoo_anon.algorithms.proofs.tolerance import Tolerance
from pymoo_anon.problems.bitstrings import BitStringProblem

Ints = NDArray[np.int64]

# Seconds of a slice.
_SLICE = 0.2

# Local searches from random strings before the first proof; later ones begin at the string found last.
_STARTS = 8


class StringProof(Proof):
    """The strings of a `BitStringProblem`: one loss, alone or beside an objective that follows k.

    A search proves the least loss of all strings whose k is at least a threshold: first the least that is allowed, then
    one more than what the string that was found has, and so on. A string that stands for others within the tolerance of
    k passes over their thresholds. A local search finds a string before the search of every threshold.

    Every string that a search reaches is evaluated by the problem itself, so that constraints of any kind and what a
    rule of suppression does beyond its bounds are seen there.

    Args:
        problem: The problem.
        tolerance: How far the front may stay off.
        max_bytes: Memory that open parts of the strings and tables may take.
        random_state: Draws where local searches begin.
    """

    def __init__(
        self,
        problem: BitStringProblem,
        tolerance: Tolerance,
        max_bytes: int,
        random_state: np.random.Generator,
    ) -> None:
        super().__init__(problem, tolerance, max_bytes, random_state)
        self._goal = goal(problem)
        self._space = StringSpace(StringInstance.of(problem, problem.objectives[self._goal.loss]))
        self._plan = plan(self._space.instance, max_bytes)
        # What a member may be at most to stand for strings of every k.
        own = self._goal.of_k[:, np.newaxis]
        self._widened = np.empty(0)
        if self._goal.privacy is not None:
            at = [self._goal.privacy]
            self._widened = Tolerance(tolerance.absolute[at], tolerance.relative[at]).widened(own)[:, 0]
        self._k = self._goal.k
        # Every string that is open loses at least this much.
        self._least = 0.0
        # The price of suppressed rows that was enough in the local search before.
        self._price = 0.0
        # Strings that are still to be improved before the search of the threshold; None where it has not begun.
        self._starts: list[NDArray[np.bool_]] | None = None
        self._search: Search | None = None
        self._certified = self._k > problem.table.n_rows

    @classmethod
    def check(cls, problem: BitStringProblem, max_bytes: int) -> None:
        """Refuse a problem whose objectives cannot be proven over bit strings."""
        StringInstance.of(problem, problem.objectives[goal(problem).loss])

    @property
    def certified(self) -> bool:
        """Whether all strings are settled."""
        return self._certified

    @property
    def n_undecided(self) -> int:
        """Number of parts of the strings that the search of the current threshold has open."""
        return 0 if self._search is None else self._search.n_open

    @property
    def n_pruned(self) -> int:
        """Number of parts of the strings that bounds settled."""
        return 0 if self._search is None else self._search.n_settled

    def advance(self) -> None:
        """Go on with the search of the current threshold, or begin or end it."""
        if self._search is None or self._search.asked.k < self._k:
            self._begin()
            return
        self._search.work(_SLICE, self.problem.n_threads, self._need, self._evaluate)
        if self._search.n_open == 0:
            self._end()

    def open_bounds(self) -> Matrix:
        """One row: what is open has at most the greatest k, and loses no less than the best open part or member."""
        if self.certified:
            return np.empty((0, self.problem.n_obj))
        bounds = np.empty((1, self.problem.n_obj))
        if self._goal.privacy is not None:
            bounds[0, self._goal.privacy] = self._goal.of_k[-1]
        least = self._least
        if self._search is not None and self._search.asked.k == self._k:
            found = self._space.least_loss(self._search.gain)
            best = self._best()
            if self._goal.privacy is not None and best is not None:
                # What a member settles here is open at larger thresholds.
                found = min(found, self._settled_from(float(self.F[best, self._goal.loss])))
            least = max(least, found)
        # A little less, so that the rounding of F proves nothing.
        bounds[0, self._goal.loss] = least * (1 - 1e-12)
        return bounds

    def offer(self, X: NDArray[np.bool_]) -> None:
        """Evaluate strings from elsewhere and take the best of them into the front."""
        super().offer(X)
        self.n_evaluated += len(X)

    def _begin(self) -> None:
        """Improve one more string of the current threshold; after the last of them, set its search up."""
        if self._starts is None:
            self._starts = self._first_strings()
        if self._starts:
            self._improve(self._starts[0])
            # Last, so that nothing is lost where it is interrupted.
            del self._starts[0]
            return
        gain = self._space.need(self._least, exact=False)
        if self._search is not None:
            self._search.raise_k(self._k, gain)
            return
        instance, limit = self._space.instance, self._goal.limit
        price = {0: self._space.largest_price(), instance.n_rows: 0.0}.get(limit, self._space.average_price())
        goes_on = self._goal.privacy is not None
        self._search = Search(self._space, self._plan, Asked(self._k, limit, price), gain, self.max_bytes, goes_on)

    def _first_strings(self) -> list[NDArray[np.bool_]]:
        """Where local searches begin: the best string so far, or the most general one and random ones."""
        best = self._best()
        if best is not None:
            return [self.X[best]]
        general = [np.zeros(self.problem.n_var, dtype=bool)]
        if self._goal.privacy is not None:
            return general
        return [*general, *self.problem.sample(_STARTS, self.random_state)]

    def _improve(self, start: NDArray[np.bool_]) -> None:
        """Evaluate what a local search makes of a string."""
        instance, k, limit = self._space.instance, self._k, self._goal.limit
        cuts = instance.cuts_of(start)
        found, self._price = improve_within(instance, cuts, k, limit, self.random_state, self._price)
        self.offer(np.array([instance.bits_of(one) for one in found]))

    def _end(self) -> None:
        """Go on to the next threshold, if there is one."""
        self._starts = None
        best = self._best()
        if best is None or self._goal.privacy is None:
            # No string is feasible here, and so none beyond; or there are no thresholds.
            self._certified = True
            return
        self._least = max(self._least, self._settled_from(float(self.F[best, self._goal.loss])))
        k = self._goal.next_k(float(self.F[best, self._goal.privacy]), self._widened)
        self._certified = k > self.problem.table.n_rows
        # Last, so that an interruption before loses nothing.
        self._k = k

    def _best(self) -> int | None:
        """The member of least loss that reaches the current threshold, or None."""
        return self._goal.best(self.F, self._k)

    def _settled_from(self, loss: float) -> float:
        """The least loss for which a member with a given one stands."""
        absolute, relative = self.tolerance.absolute[self._goal.loss], self.tolerance.relative[self._goal.loss]
        return float((loss - absolute) / (1 + relative))

    def _need(self) -> float:
        """Strings that gain no more than this are settled, in the search of the current threshold."""
        best = self._best()
        loss = np.inf if best is None else float(self.F[best, self._goal.loss])
        settled = self._settled_from(loss)
        return self._space.need(settled, exact=settled == loss)

    def _evaluate(self, cuts: list[Ints]) -> None:
        """Evaluate a string that a search reached."""
        self.offer(self._space.instance.bits_of(cuts)[np.newaxis])
