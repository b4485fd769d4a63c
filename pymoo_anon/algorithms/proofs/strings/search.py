"""A search for strings of little loss that takes the part with the best bound first."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from heapq import heapify, heappop, heappush
from threading import Lock
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.strings.plan import Plan
from pymoo_anon.algorithms.proofs.strings.space import Asked, StringSpace
from pymoo_anon.algorithms.proofs.strings.walk import DONE, FOUND, Walk

Ints = NDArray[np.int64]

# Numbers of tables that a walk reads before the clock is looked at, about a twentieth of a second.
_BUDGET = 20_000_000

# What a part takes on average, with its paths, on the heap and among those that are known.
_BYTES_OF_A_PART = 1000

# A part is divided down to less than is needed, by such a share of the gain or of the loss: larger k, which need less,
# then mostly need not divide it again.
_REACH = 0.05


class _Part:
    """The strings that have the same paths of the first attributes of the order.

    Attributes:
        gain: None of them gains more, but for the price of rows; of a part that was divided, none that is not of its
            parts.
        cuts: Their paths, each as the bytes of an int32 array of groups.
        price: The price of rows that was best for the part that they come from, or once it is begun for itself.
        walk: The walk that divides the part, once it is begun.
        floor: No string that the walk leaves out gains more.
    """

    __slots__ = ("cuts", "floor", "gain", "price", "walk")

    def __init__(self, gain: float, cuts: tuple[bytes, ...], price: float) -> None:
        self.gain, self.cuts, self.price = gain, cuts, price
        self.walk: Walk | None = None
        self.floor = np.inf

    def __lt__(self, other: _Part) -> bool:
        # The greatest gain first; of equal ones the part that is nearest to a string.
        return (-self.gain, -len(self.cuts), self.cuts) < (-other.gain, -len(other.cuts), other.cuts)


class Search:
    """All strings that gain more than is needed, part by part, for one k after the other.

    A part is divided by the paths of the next attribute of the order: a walk finds those whose nested bound exceeds
    what is needed, and each makes a part of its own, unless it is settled. Where the next attribute is the last that is
    not tabled, the walk goes on to strings. The part with the greatest bound comes first, so that its bound holds for
    all that is left. Where parts take too much memory, the one that is nearest to a string comes first instead.

    With a larger k every string suppresses more, so that bounds stay valid. What is settled for one k is therefore put
    off: for the next k, where less is needed, the search goes on with those parts whose bounds now exceed it. A part
    that was divided is put off, too, for the strings that its walk has left out.

    Args:
        space: The tables.
        plan: The order of the attributes.
        asked: What is searched for, with a price to begin with.
        gain: No string gains more.
        max_bytes: Memory that open parts and the tables of walks may take.
        goes_on: Whether a larger k follows.

    Attributes:
        n_settled: Number of parts that bounds settled, for every k anew.
    """

    def __init__(
        self, space: StringSpace, plan: Plan, asked: Asked, gain: float, max_bytes: int, goes_on: bool = False
    ) -> None:
        self.space, self.plan, self.asked, self.max_bytes, self.goes_on = space, plan, asked, max_bytes, goes_on
        self.n_settled = 0
        self._open = [_Part(gain, (), asked.price)]
        # Parts that are being divided, and those that no thread holds.
        self._begun: list[_Part] = []
        self._held: set[int] = set()
        # Parts that are settled for this k, unless memory lacks, and all that were found.
        self._later: list[_Part] | None = [] if goes_on else None
        self._found: set[tuple[bytes, ...]] = set()
        self._lock = Lock()

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

    def work(
        self, seconds: float, n_threads: int, need: Callable[[], float], found: Callable[[list[Ints]], None]
    ) -> None:
        """Go on for some time, or until nothing is left."""
        until = monotonic() + seconds
        if n_threads == 1:
            self._work(until, need, found)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            for done in [pool.submit(self._work, until, need, found) for _ in range(n_threads)]:
                done.result()

    def _work(self, until: float, need: Callable[[], float], found: Callable[[list[Ints]], None]) -> None:
        """What one thread does."""
        over = False
        while not over:
            with self._lock:
                part = self._next(need())
            if part is None:
                return
            settled = False
            try:
                settled = self._divide(part, until, need, found)
            except BaseException:
                # What the walk found last may be lost. It begins anew.
                part.walk = None
                raise
            finally:
                with self._lock:
                    if settled:
                        part.walk = None
                        self._put_off([part])
                        self._begun.remove(part)
                    self._held.discard(id(part))
            over = monotonic() > until

    def _next(self, need: float) -> _Part | None:
        """The next part to divide: one that is begun, or the best open one."""
        for part in self._begun:
            if id(part) not in self._held:
                self._held.add(id(part))
                return part
        while self._open:
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
            self._held.add(id(part))
            if place == 0:
                heappop(self._open)
            else:
                self._open.pop(place)
                heapify(self._open)
            return part
        return None

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

    def _divide(
        self, part: _Part, until: float, need: Callable[[], float], found: Callable[[list[Ints]], None]
    ) -> bool:
        """Go on with the walk of a part until its end, a string, its budget or the time; whether it is settled."""
        if part.walk is None:
            part.walk, part.floor = self._walk_of(part, need), -np.inf
            if part.walk is None:
                return True
        walk, paid = part.walk, part.price * (self.space.instance.n_rows - self.asked.limit)
        told = FOUND
        while told == FOUND:
            # What is needed only rises, so that the floor of the walk is the last one.
            part.floor = need() if walk.last else self._reach(need())
            told = walk.go(part.floor + paid, _BUDGET)
            if told != FOUND:
                break
            if walk.last == 0:
                self._push(part, min(part.gain, walk.found_gain - paid), need())
            else:
                tabled = self.plan.tables[len(part.cuts)][0]
                cuts = self._cuts_of(part) | dict(zip(tabled, walk.cuts, strict=True))
                with self._lock:
                    found([cuts[attribute] for attribute in range(self.space.none)])
            if walk.last or monotonic() > until:
                return False
        if told == DONE:
            self.space.release(walk)
            part.gain = min(part.gain, part.floor)
        return told == DONE

    def _reach(self, need: float) -> float:
        """Less than is needed, where a larger k follows."""
        instance = self.space.instance
        smaller = min(need, instance.most / instance.unit - need)
        return need - _REACH * max(smaller, 0.0) if self.goes_on else need

    def _push(self, part: _Part, gain: float, need: float) -> None:
        """Open the part of the path that the walk of a part has found, unless it is known or settled."""
        assert part.walk is not None, "a walk has found it"
        cuts = (*part.cuts, part.walk.cuts[0].astype(np.int32).tobytes())
        with self._lock:
            if cuts in self._found:
                return
            made = _Part(gain, cuts, part.price)
            if gain > need:
                heappush(self._open, made)
            else:
                self._put_off([made])
            if self._later is not None:
                # Last: interrupted before, it is found twice rather than never.
                self._found.add(cuts)

    def _walk_of(self, part: _Part, need: Callable[[], float]) -> Walk | None:
        """The walk that divides a part, or None where it is settled."""
        walk = None
        for tabled in self.plan.tables[len(part.cuts)][::-1]:
            asked = replace(self.asked, price=part.price)
            gain, part.price, walk = self.space.walk(self._cuts_of(part), tabled, asked, need())
            part.gain = min(part.gain, gain)
            if walk is None or part.gain <= need():
                return None
        return walk

    def _cuts_of(self, part: _Part) -> dict[int, Ints]:
        """The paths of the fixed attributes."""
        paths = [np.frombuffer(cut, dtype=np.int32).astype(np.int64) for cut in part.cuts]
        return dict(zip(self.plan.order, paths, strict=False))

    def __getstate__(self) -> dict[str, Any]:
        """Without walks, which begin anew."""
        bare = [_Part(part.gain, part.cuts, part.price) for part in (*self._open, *self._begun)]
        heapify(bare)
        return {**vars(self), "_open": bare, "_begun": [], "_held": set(), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())
