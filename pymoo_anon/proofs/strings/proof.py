"""Proofs over bit strings, the least loss or the front of k and a loss, by a search that takes the best bound first."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.arrays import Ints, Values
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.proofs.base import Proof, Tolerance
from pymoo_anon.proofs.strings.instance import Plan, StringInstance, goal, plan
from pymoo_anon.proofs.strings.pairs import improve_within
from pymoo_anon.proofs.strings.space import Asked, StringSpace
from pymoo_anon.proofs.strings.tables import DONE, FOUND, Walk

# Numbers of tables that are read in a slice, a fifth of a second or so, and in the turn of a part.
_SLICE = 480_000_000
_TURN = 60_000_000

# So many parts take turns together. How many threads they are shared out to changes nothing of what is found.
_TOGETHER = 8

# What a part takes on average, with its paths, on the heap and among those that are known.
_BYTES_OF_A_PART = 1000

# A part is divided down to less than is needed, by such a share of the gain or of the loss: larger k, which need less,
# then mostly need not divide it again.
_REACH = 0.05


# Local searches from random strings before the first proof; later ones begin at the string found last.
_STARTS = 8


class _Part:
    """The strings that have the same paths of the first attributes of the order."""

    __slots__ = ("cuts", "floor", "gain", "position", "price", "walk")

    def __init__(self, gain: float, cuts: tuple[bytes, ...], price: float) -> None:
        # None of them gains more, but for the price of rows; of a part that was divided, none that is not of its parts.
        self.gain = gain
        self.cuts = cuts  # Their paths, each as the bytes of an int32 array of groups
        self.price = price  # Best for the part that they come from or, once it is begun, for itself
        self.walk: Walk | None = None  # What divides the part, once it is begun
        self.floor = np.inf  # No string that the walk leaves out gains more
        self.position: tuple[Ints, Ints] | None = None  # Where the walk stands that a copy has to make anew

    def __lt__(self, other: _Part) -> bool:
        # The greatest gain first; of equal ones the part that is nearest to a string.
        return (-self.gain, -len(self.cuts), self.cuts) < (-other.gain, -len(other.cuts), other.cuts)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """Without the tables of the walk, which are large."""
        state = {name: getattr(self, name) for name in self.__slots__}
        position = self.position if self.walk is None else self.walk.position
        return None, {**state, "walk": None, "position": position}


class _Turn(NamedTuple):
    """What dividing a part for a while gave."""

    parts: list[_Part]  # Those that it was divided into
    # What a string gains that exceeds what is needed, and its path per attribute; or None.
    string: tuple[float, list[Ints]] | None
    settled: float | None  # Where nothing of the part is left but these: no other string gains more. Else None.
    n_read: int  # How many numbers were read


class Search:
    """All strings that gain more than is needed, part by part, for one k after the other.

    A part is divided by the paths of the next attribute of the order: a walk finds those whose nested bound exceeds
    what is needed, and each makes a part of its own, unless it is settled. Where the next attribute is the last that is
    not tabled, the walk goes on to strings. The part with the greatest bound comes first, so that its bound holds for
    all that is left. Where parts take too much memory, the one that is nearest to a string comes first instead.

    With a larger k every string suppresses more, so that bounds stay valid. What is settled for one k is therefore put
    off: for the next k, where less is needed, the search goes on with those parts whose bounds now exceed it. A part
    that was divided is put off, too, for the strings that its walk has left out.

    The best parts take turns together, each under what is needed when the turn begins. Work is counted in numbers that
    are read. So neither the clock nor the number of threads decides what is found, and in which order.
    """

    def __init__(
        self, space: StringSpace, plan: Plan, asked: Asked, gain: float, max_bytes: int, goes_on: bool = False
    ) -> None:
        self.space, self.plan, self.asked, self.max_bytes, self.goes_on = space, plan, asked, max_bytes, goes_on
        # Parts that bounds settled, for every k anew.
        self.n_settled = 0
        self._open = [_Part(gain, (), asked.price)]
        # Parts that are being divided.
        self._begun: list[_Part] = []
        # A walk keeps several tables.
        room = max_bytes // (32 * max(space.n_numbers(tabled) for tables in plan.tables for tabled in tables))
        self._n_together = int(max(1, min(_TOGETHER, room)))
        # Parts that are settled for this k, unless memory lacks, and all that were found.
        self._later: list[_Part] | None = [] if goes_on else None
        self._found: set[tuple[bytes, ...]] = set()

    def raise_k(self, k: int, gain: float) -> None:
        """Go on with a larger k, where nothing is open."""
        assert not self.n_open, "nothing is open"
        self.asked = replace(self.asked, k=k)
        if self._later is None:
            # Parts were dropped: all begins anew.
            self._later, self._found = [_Part(gain, (), self.asked.price)], set()
        self._open, self._later = self._later, []
        heapify(self._open)

    @property
    def n_open(self) -> int:
        """Number of parts that are not settled."""
        return len(self._open) + len(self._begun)

    @property
    def gain(self) -> float:
        """No string that is not settled gains more; minus infinity where none is left."""
        return max((part.gain for part in (*self._open[:1], *self._begun)), default=-np.inf)

    def work(self, budget: int, n_threads: int, need: Callable[[], float], found: Callable[[list[Ints]], None]) -> None:
        """Go on until so many numbers are read, or nothing is left."""
        with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:
            while budget > 0:
                parts = self._next(need())
                if not parts:
                    return
                try:
                    divide = partial(self._divide, need=need())
                    turns = list(map(divide, parts) if pool is None else pool.map(divide, parts))
                    for turn in turns:
                        self._take(parts[0], turn, need, found)
                        del parts[0]
                except BaseException:
                    # What the walks found last may be lost. They begin anew.
                    for part in parts:
                        part.walk = part.position = None
                    raise
                budget -= sum(turn.n_read for turn in turns)

    def _take(self, part: _Part, turn: _Turn, need: Callable[[], float], found: Callable[[list[Ints]], None]) -> None:
        """Take in what the turn of a part gave."""
        for made in turn.parts:
            self._push(made, need())
        # Another part of the same turns may have raised what is needed.
        if turn.string is not None and turn.string[0] > need():
            found(turn.string[1])
        if turn.settled is not None:
            # What it was divided into is open now.
            part.gain = min(part.gain, turn.settled)
            self._put_off([part])
            self._begun.remove(part)

    def _next(self, need: float) -> list[_Part]:
        """The next parts to divide: those that are begun, and the best open ones."""
        while self._open and len(self._begun) < self._n_together:
            place = self._place(need)
            if not self._open:
                break
            part = self._open[place]
            if part.gain <= need and place == 0:
                # All others have no better bound.
                self._put_off(self._open)
                self._open = []
                break
            # Noted before it leaves the heap, so that an interruption between the two loses nothing.
            self._begun.append(part)
            if place == 0:
                heappop(self._open)
            else:
                self._open.pop(place)
                heapify(self._open)
        return list(self._begun)

    def _place(self, need: float) -> int:
        """Where the next part stands; where memory lacks, settled parts are dropped first."""
        later = 0 if self._later is None else len(self._later)
        if (len(self._open) + later) * _BYTES_OF_A_PART <= self.max_bytes:
            return 0
        self._later, self._found = None, set()
        if len(self._open) * _BYTES_OF_A_PART <= self.max_bytes:
            return 0
        self.n_settled += len(self._open)
        self._open = [part for part in self._open if part.gain > need]
        self.n_settled -= len(self._open)
        heapify(self._open)
        return max(range(len(self._open)), key=lambda i: len(self._open[i].cuts), default=0)

    def _put_off(self, parts: list[_Part]) -> None:
        """Keep parts that are settled for a larger k."""
        self.n_settled += len(parts)
        if self._later is not None:
            self._later.extend(part for part in parts if part.gain > -np.inf)

    def _divide(self, part: _Part, need: float) -> _Turn:
        """Go on with the walk of a part until its end, a string, or the end of its turn."""
        n_read = self._begin(part, need)
        walk = part.walk
        if walk is None:
            return _Turn([], None, part.gain, n_read)
        paid, before = part.price * (self.space.instance.n_rows - self.asked.limit), walk.n_read
        # What is needed only rises, so that the floor of the walk is the last one.
        part.floor = need if walk.last else self._reach(need)
        made: list[_Part] = []
        told, string = FOUND, None
        while told == FOUND and string is None:
            told = walk.go(part.floor + paid, _TURN + before - walk.n_read)
            if told != FOUND:
                break
            if walk.last == 0:
                path = walk.cuts[0].astype(np.int32).tobytes()
                made.append(_Part(min(part.gain, walk.found_gain - paid), (*part.cuts, path), part.price))
            else:
                tabled = self.plan.tables[len(part.cuts)][0]
                by_attribute = self._cuts_of(part) | dict(zip(tabled, walk.cuts, strict=True))
                string = walk.found_gain - paid, [by_attribute[attribute] for attribute in range(self.space.none)]
        n_read += walk.n_read - before
        if told == DONE:
            self.space.release(walk)
            part.walk = None
        return _Turn(made, string, part.floor if told == DONE else None, n_read)

    def _reach(self, need: float) -> float:
        """Less than is needed, where a larger k follows."""
        instance = self.space.instance
        smaller = min(need, instance.most / instance.unit - need)
        return need - _REACH * max(smaller, 0.0) if self.goes_on else need

    def _push(self, made: _Part, need: float) -> None:
        """Open a part, unless it is known or settled."""
        if made.cuts in self._found:
            return
        if made.gain > need:
            heappush(self._open, made)
        else:
            self._put_off([made])
        if self._later is not None:
            # Last: interrupted before, it is found twice rather than never.
            self._found.add(made.cuts)

    def _begin(self, part: _Part, need: float) -> int:
        """Begin the walk that divides a part, if none is begun and it is not settled; what was read for that."""
        if part.walk is not None:
            return 0
        cuts, tables = self._cuts_of(part), self.plan.tables[len(part.cuts)]
        if part.position is not None:
            part.walk = self.space.walk_again(cuts, tables[0], replace(self.asked, price=part.price))
            part.walk.stand_at(part.position)
            part.position = None
            return 0
        part.floor, n_read = -np.inf, 0
        for tabled in tables[::-1]:
            begun = self.space.walk(cuts, tabled, replace(self.asked, price=part.price), need)
            part.price, part.gain = begun.price, min(part.gain, begun.gain)
            n_read += begun.n_read
            if begun.walk is None or part.gain <= need:
                return n_read
        part.walk = begun.walk
        return n_read

    def _cuts_of(self, part: _Part) -> dict[int, Ints]:
        """The paths of the fixed attributes."""
        paths = [np.frombuffer(cut, dtype=np.int32).astype(np.int64) for cut in part.cuts]
        return dict(zip(self.plan.order[: len(paths)], paths, strict=True))


class StringProof(Proof):
    """The strings of a `BitStringProblem`: one loss, alone or beside an objective that follows k.

    A search proves the least loss of all strings whose k is at least a threshold: first the least that is allowed, then
    one more than what the string that was found has, and so on. A string that stands for others within the tolerance of
    k passes over their thresholds. A local search finds a string before the search of every threshold.

    Every string that a search reaches is evaluated by the problem itself, so that constraints of any kind and what a
    rule of suppression does beyond its bounds are seen there.
    """

    certified = False

    def __init__(
        self, problem: BitStringProblem, tolerance: Tolerance, max_bytes: int, random_state: np.random.Generator
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
        self.certified = self._k > problem.table.n_rows

    @classmethod
    def check(cls, problem: BitStringProblem, max_bytes: int) -> None:
        """Refuse a problem whose objectives cannot be proven over bit strings."""
        StringInstance.of(problem, problem.objectives[goal(problem).loss])

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

    def open_bounds(self) -> Values:
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
        found, self._price = improve_within(self._space, cuts, k, limit, self.random_state, self._price)
        self.offer(np.array([instance.bits_of(one) for one in found]))

    def _end(self) -> None:
        """Go on to the next threshold, if there is one."""
        self._starts = None
        best = self._best()
        if best is None or self._goal.privacy is None:
            # No string is feasible here, and so none beyond; or there are no thresholds.
            self.certified = True
            return
        self._least = max(self._least, self._settled_from(float(self.F[best, self._goal.loss])))
        k = self._goal.next_k(float(self.F[best, self._goal.privacy]), self._widened)
        self.certified = k > self.problem.table.n_rows
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
