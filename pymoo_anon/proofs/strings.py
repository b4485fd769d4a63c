"""Searches of bit strings, with and without a proof."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon.proofs.base import Limits, Proof, Tolerance
from pymoo_anon.proofs.instance import StringSpace, goal_of, plan
from pymoo_anon.proofs.tables import DONE, FOUND, StringWalk, best_pair
from pymoo_anon.typing import Bools, Floats, Ints

# Number of parts that take turns together. The number of threads changes nothing in the result.
_TOGETHER = 8

# Average bytes of a part, with its paths, on the heap and among the known ones.
_BYTES_OF_A_PART = 1000

# A part is divided down to less than the needed gain, by such a share of the gain or of the loss. Larger k need less
# and then rarely divide it again.
_REACH = 0.05

# Gains are whole numbers, exact below 2^53.
_LARGEST_GAIN = 2.0**52

# Number of bisections between a multiplier that is too low and one that is enough.
_BISECTIONS = 5

# Local searches from random strings before the first proof; later ones begin at the string found last.
_STARTS = 8

Pair = tuple[int, int]


@dataclass(slots=True, eq=False)
class _Part:
    """Strings with the same paths of the first attributes."""

    # Upper bound of their gains without the multiplier. Of a divided part it leaves out the strings of its parts.
    gain: float
    cuts: tuple[bytes, ...]  # Their paths, each as the bytes of an int32 array of groups
    multiplier: float  # Best for the part before or, once begun, for the part itself
    walk: StringWalk | None = None  # The walk that divides the part, once begun
    floor: float = np.inf  # Upper bound of the gains that the walk leaves out

    def __lt__(self, other: _Part) -> bool:
        # The greatest gain first, and of equal ones the part nearest to a string.
        return (-self.gain, -len(self.cuts), self.cuts) < (-other.gain, -len(other.cuts), other.cuts)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        # The tables of a walk are large, so that a copy begins it anew.
        return None, {**{name: getattr(self, name) for name in self.__slots__}, "walk": None}


class _Turn(NamedTuple):
    parts: list[_Part]  # The new parts
    # Gain of a string that gains enough and its path per attribute, or None.
    string: tuple[float, list[Ints]] | None
    fathomed: float | None  # Upper bound of all other strings once the part is fathomed, else None
    n_read: int  # Count of numbers that were read


class StringSearch:
    """Search of all strings that gain enough, k by k.

    A part is divided by the paths of the next attribute of the order: a walk finds the paths whose nested bound is
    enough, and each makes a part of its own, unless it is fathomed. If the next attribute is the last one that is not
    tabled, the walk goes on to strings. The part with the greatest bound comes first, so that its bound holds for all
    open parts. If parts take too much memory, the one nearest to a string comes first instead.

    With a larger k every string suppresses more, so that bounds stay valid. Parts that are fathomed for one k are kept:
    for the next k, which needs a smaller gain, the search goes on with those whose bounds are enough again. A divided
    part is kept, too, for the strings that its walk has left out. Work is counted in numbers that are read, so that
    neither the clock nor the number of threads decides the result or its order.
    """

    def __init__(
        self, space: StringSpace, k: int, limit: int, gain: float, limits: Limits, goes_on: bool = False
    ) -> None:
        self.space, self.k, self.limit, self.limits, self.goes_on = space, k, limit, limits, goes_on
        self._order, self._tables = plan(space, limits)
        # Number of parts that bounds fathomed, counted again for every k.
        self.n_fathomed = 0
        self._open = [self._whole(gain)]
        # Parts that are being divided.
        self._begun: list[_Part] = []
        # A walk keeps several tables.
        largest = max(prod(len(space.spans[a]) for a in tabled) for tables in self._tables for tabled in tables)
        room = limits.max_bytes // (32 * largest)
        self._n_together = int(max(1, min(_TOGETHER, room)))
        # Parts that are fathomed for this k, None without memory for them, and the paths of all parts.
        self._later: list[_Part] | None = [] if goes_on else None
        self._found: set[tuple[bytes, ...]] = set()

    def raise_k(self, k: int, gain: float) -> None:
        """Go on with a larger k."""
        assert not self.n_open, "nothing is open"
        self.k = k
        if self._later is None:
            # Parts were dropped, so that the search begins anew.
            self._later, self._found = [self._whole(gain)], set()
        self._open, self._later = self._later, []
        heapify(self._open)

    def _whole(self, gain: float) -> _Part:
        ends = {0: self.space.largest_multiplier(), self.space.n_rows: 0.0}
        return _Part(gain, (), ends.get(self.limit, self.space.average_multiplier()))

    @property
    def n_open(self) -> int:
        """Number of open parts."""
        return len(self._open) + len(self._begun)

    @property
    def gain(self) -> float:
        """Upper bound of the gains of open strings."""
        return max((part.gain for part in (*self._open[:1], *self._begun)), default=-np.inf)

    def work(self, budget: int, n_threads: int, need: Callable[[], float], found: Callable[[list[Ints]], None]) -> None:
        """Go on until the budget is spent."""
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
                    # The last results of the walks may be lost, so that they begin anew.
                    for part in parts:
                        part.walk = None
                    raise
                budget -= sum(turn.n_read for turn in turns)

    def _take(self, part: _Part, turn: _Turn, need: Callable[[], float], found: Callable[[list[Ints]], None]) -> None:
        for made in turn.parts:
            self._push(made, need())
        # Another part of the same turns may have raised the needed gain.
        if turn.string is not None and turn.string[0] > need():
            found(turn.string[1])
        if turn.fathomed is not None:
            # Its parts are open now.
            part.gain = min(part.gain, turn.fathomed)
            self._put_off([part])
            self._begun.remove(part)

    def _next(self, need: float) -> list[_Part]:
        while self._open and len(self._begun) < self._n_together:
            place = self._place(need)
            if not self._open:
                break
            part = self._open[place]
            if part.gain <= need and place == 0:
                # No other open part has a better bound.
                self._put_off(self._open)
                self._open = []
                break
            # Before it leaves the heap, so that an interruption between the two loses nothing.
            self._begun.append(part)
            if place == 0:
                heappop(self._open)
            else:
                self._open.pop(place)
                heapify(self._open)
        return list(self._begun)

    def _place(self, need: float) -> int:
        """Make room, and return the next part's place."""
        later = 0 if self._later is None else len(self._later)
        if (len(self._open) + later) * _BYTES_OF_A_PART <= self.limits.max_bytes:
            return 0
        self._later, self._found = None, set()
        if len(self._open) * _BYTES_OF_A_PART <= self.limits.max_bytes:
            return 0
        self.n_fathomed += len(self._open)
        self._open = [part for part in self._open if part.gain > need]
        self.n_fathomed -= len(self._open)
        heapify(self._open)
        return max(range(len(self._open)), key=lambda i: len(self._open[i].cuts), default=0)

    def _put_off(self, parts: list[_Part]) -> None:
        """Keep fathomed parts for a larger k."""
        self.n_fathomed += len(parts)
        if self._later is not None:
            self._later.extend(part for part in parts if part.gain > -np.inf)

    def _divide(self, part: _Part, need: float) -> _Turn:
        """Continue the walk of a part for one turn."""
        n_read = self._begin(part, need)
        walk = part.walk
        if walk is None:
            return _Turn([], None, part.gain, n_read)
        paid, before = part.multiplier * (self.space.n_rows - self.limit), walk.n_read
        # The needed gain only rises, so that the last one is the floor of the walk.
        part.floor = need if walk.last else self._reach(need)
        made: list[_Part] = []
        string = None
        while (told := walk.go(part.floor + paid, self.limits.read_a_turn + before - walk.n_read)) == FOUND:
            if walk.last > 0:
                tabled = self._tables[len(part.cuts)][0]
                by_attribute = self._cuts_of(part) | dict(zip(tabled, walk.cuts, strict=True))
                string = walk.found_gain - paid, [by_attribute[attribute] for attribute in range(self.space.none)]
                break
            path = walk.cuts[0].astype(np.int32).tobytes()
            made.append(_Part(min(part.gain, walk.found_gain - paid), (*part.cuts, path), part.multiplier))
        n_read += walk.n_read - before
        if told == DONE:
            part.walk = None
        return _Turn(made, string, part.floor if told == DONE else None, n_read)

    def _reach(self, need: float) -> float:
        smaller = min(need, self.space.most / self.space.unit - need)
        return need - _REACH * max(smaller, 0.0) if self.goes_on else need

    def _push(self, made: _Part, need: float) -> None:
        if made.cuts in self._found:
            return
        if made.gain > need:
            heappush(self._open, made)
        else:
            self._put_off([made])
        if self._later is not None:
            # Last, so that an interrupted part is found twice rather than never.
            self._found.add(made.cuts)

    def _begin(self, part: _Part, need: float) -> int:
        if part.walk is not None:
            return 0
        cuts, tables = self._cuts_of(part), self._tables[len(part.cuts)]
        part.floor, n_read = -np.inf, 0
        for tabled in tables[::-1]:
            begun = self.space.walk(cuts, tabled, self.k, self.limit, part.multiplier, need)
            part.multiplier, part.gain = begun.multiplier, min(part.gain, begun.gain)
            n_read += begun.n_read
            if begun.walk is None or part.gain <= need:
                return n_read
        part.walk = begun.walk
        return n_read

    def _cuts_of(self, part: _Part) -> dict[int, Ints]:
        paths = [np.frombuffer(cut, dtype=np.int32).astype(np.int64) for cut in part.cuts]
        return dict(zip(self._order[: len(paths)], paths, strict=True))


class PairSearch:
    """Search for strings that gain more, two attributes at a time.

    Every pair of attributes gets its best cuts while the others stay, in a random order, until each was tried since the
    last change. A change makes the gain larger, so that it ends. Kept classes have at least k rows, and at most as many
    rows as the limit are suppressed.
    """

    # Prefixes that are tried for one pair before the best so far is taken, about a tenth of a second.
    most_prefixes = 200_000

    def __init__(self, space: StringSpace, k: int, limit: int, random_state: np.random.Generator) -> None:
        self.space, self.k, self.limit, self._random_state = space, k, limit, random_state
        none = space.none
        by_groups = sorted(range(none), key=lambda attribute: len(space.spans[attribute]))
        free = [attribute for attribute in by_groups if len(space.spans[attribute]) > 1]
        self.pairs: list[Pair] = list(combinations(free, 2)) if len(free) > 1 else [(none, a) for a in free]
        # The largest multiplier with exact sums.
        self._largest = np.floor(min(space.most / space.unit, _LARGEST_GAIN / space.n_rows))

    def within(self, cuts: Sequence[Ints], multiplier: float = 0.0) -> tuple[list[list[Ints]], float]:
        """Improve a string within the limit.

        The multiplier rises until the limit is kept, and is then halved towards the last that was too low. The best
        string is then improved without a common multiplier. If no multiplier is enough, the search begins at the most
        general string. It suppresses nothing, and neither does any string that the highest multiplier makes of it.
        Returned are all strings, first the one with the largest gain of those within the limit, and the lowest
        multiplier that was enough.
        """
        if self.limit >= self.space.n_rows:
            # There is no limit to keep.
            return [self.improve(cuts)], 0.0
        # Of every string whether it keeps the limit, its gain, and its cuts.
        found: list[tuple[bool, float, list[Ints]]] = []

        def note(made: list[Ints]) -> bool:
            gain, suppressed = self.gain_of(made)
            found.append((suppressed <= self.limit, gain, made))
            return suppressed <= self.limit

        def best() -> tuple[bool, float, list[Ints]]:
            return max(found, key=lambda one: one[:2])

        low, high = 0.0, multiplier
        while not note(self.improve(found[-1][2] if found else cuts, high)) and high < self._largest:
            low, high = high, min(max(8 * high, self.space.average_multiplier()), self._largest)
        if not found[-1][0]:
            whole = [np.flatnonzero(np.ptp(spans, axis=1) == spans[-1, 1]) for spans in self.space.spans[:-1]]
            note(whole)
            note(self.improve(whole, self._largest))
        for _ in range(_BISECTIONS if high > 0 and self.limit > 0 else 0):
            middle = np.floor((low + high) / 2)
            if note(self.improve(best()[2], middle)):
                high = middle
            else:
                low = middle
        if best()[0] and high > 0:
            note(self.improve_each(best()[2]))
        first = best()
        return [first[2], *(one[2] for one in found if one is not first)], high

    def improve(self, cuts: Sequence[Ints], multiplier: float = 0.0) -> list[Ints]:
        """Improve a string without a limit, with gains for kept rows."""
        return self._improve_pairs(cuts, multiplier, lambda pair, gains, gained, rows: self._best(pair, gains, gained))

    def improve_each(self, cuts: Sequence[Ints]) -> list[Ints]:
        """Improve a string within the limit, pair by pair."""
        return self._improve_pairs(cuts, 0.0, self._best_within)

    def _improve_pairs(self, cuts: Sequence[Ints], multiplier: float, best: Callable[..., Any]) -> list[Ints]:
        # A missing attribute has one group.
        now, unchanged, none = [*cuts, np.zeros(1, dtype=np.int64)], 0, self.space.none
        while unchanged < len(self.pairs):
            for place in self._random_state.permutation(len(self.pairs)):
                pair = self.pairs[place]
                tabled = none, none, *pair
                fixed = {a: cut for a, cut in enumerate(now[:none]) if a not in pair}
                ids, base, _ = self.space.classes(fixed, self.k)
                gains = self.space.table(ids, base, tabled, set(), self.k, multiplier)[0, 0]
                gained = float(gains[np.ix_(*(now[a] for a in pair))].sum())
                found = best(pair, gains, gained, partial(self.space.rows, ids, len(base), tabled, self.k))
                unchanged += 1
                if found is not None:
                    now[pair[0]], now[pair[1]] = found
                    # This pair has its best cuts.
                    unchanged = 1
                if unchanged >= len(self.pairs):
                    break
        return now[:none]

    def _best_within(
        self, pair: Pair, gains: Floats, gained: float, rows_of: Callable[[], Floats]
    ) -> tuple[Ints, Ints] | None:
        rows, found = rows_of()[0, 0], None
        # Invariant: `low` suppresses too many rows or is -1, and `high` keeps the limit.
        low, high, multiplier = -1.0, self._largest, 0.0
        while low < multiplier < high:
            cuts = self._best(pair, gains + multiplier * rows, -np.inf)
            if cuts is None or self.space.n_rows - rows[np.ix_(*cuts)].sum() > self.limit:
                low = multiplier
            else:
                high = multiplier
                if gains[np.ix_(*cuts)].sum() > gained:
                    gained, found = float(gains[np.ix_(*cuts)].sum()), cuts
            # Multipliers differ by orders of magnitude: halve the number of their digits first.
            far = high > 4 * max(low, 1.0)
            multiplier = np.floor(np.sqrt(max(low, 1.0) * high) if far else (low + high) / 2)
            if high - low <= high / 16:
                break
        return found

    def _best(self, pair: Pair, table: Floats, floor: float) -> tuple[Ints, Ints] | None:
        """Return the best cuts by a table, if above a floor."""
        p, q = pair
        cut, other, _ = best_pair(table, self.space.spans[p], self.space.spans[q], floor, self.most_prefixes)
        return (cut, other) if len(cut) else None

    def gain_of(self, cuts: Sequence[Ints]) -> tuple[float, int]:
        """Return the gain of a string and its suppressed rows."""
        ids, base, gone = self.space.classes(dict(enumerate(cuts)), self.k)
        kept = ids >= 0
        rows = np.bincount(ids[kept], self.space.counts[kept], len(base))
        return float((rows * base).sum()), gone


class StringProof(Proof):
    """Proof of a loss, alone or beside a function of k.

    A search proves the least loss of all strings whose k is at least a threshold: first the least allowed k, then one
    more than that of the string found, and so on. Thresholds that a string covers within the tolerance of k are
    skipped. A local search finds a string before the search of every threshold.

    The problem evaluates every string that a search reaches. That checks the constraints of any kind, and all
    suppression beyond the bounds.
    """

    certified = False

    def _prepare(self) -> None:
        problem, tolerance = self.problem, self.tolerance
        self._goal = goal_of(problem)
        self._space = StringSpace.of(problem, problem.objectives[self._goal.loss])
        # By k the greatest value of a member that covers its strings.
        own = self._goal.of_k[:, np.newaxis]
        self._widened = np.empty(0)
        if self._goal.privacy is not None:
            at = [self._goal.privacy]
            self._widened = Tolerance(tolerance.absolute[at], tolerance.relative[at]).widened(own)[:, 0]
        self._k = self._goal.k
        # Least loss of open strings.
        self._least = 0.0
        # The multiplier that was enough in the local search before.
        self._multiplier = 0.0
        # Strings to improve before the search of the threshold, or None before its begin.
        self._starts: list[Bools] | None = None
        self._search: StringSearch | None = None
        self.certified = self._k > problem.table.n_rows

    @property
    def n_undecided(self) -> int:
        return 0 if self._search is None else self._search.n_open

    @property
    def n_pruned(self) -> int:
        return 0 if self._search is None else self._search.n_fathomed

    def advance(self) -> None:
        if self._search is None or self._search.k < self._k:
            self._begin()
            return
        self._search.work(self.limits.read, self.problem.n_threads, self._need, self._evaluate)
        if self._search.n_open == 0:
            self._end()

    def open_bounds(self) -> Floats:
        if self.certified:
            return np.empty((0, self.problem.n_obj))
        bounds = np.empty((1, self.problem.n_obj))
        if self._goal.privacy is not None:
            bounds[0, self._goal.privacy] = self._goal.of_k[-1]
        least = self._least
        if self._search is not None and self._search.k == self._k:
            found = self._space.least_loss(self._search.gain)
            best = self._best()
            if self._goal.privacy is not None and best is not None:
                # Strings that a member covers here are open at larger thresholds.
                found = min(found, self._covered_from(float(self.F[best, self._goal.loss])))
            least = max(least, found)
        # Rounding of F must not raise the bound.
        bounds[0, self._goal.loss] = least * (1 - 1e-12)
        return bounds

    def _begin(self) -> None:
        if self._starts is None:
            self._starts = self._first_strings()
        if self._starts:
            search = PairSearch(self._space, self._k, self._goal.limit, self.random_state)
            found, self._multiplier = search.within(self._space.cuts_of(self._starts[0]), self._multiplier)
            self.offer(np.array([self._space.bits_of(one) for one in found]))
            # Last, so that an interruption loses nothing.
            del self._starts[0]
            return
        gain = self._space.need(self._least, exact=False)
        if self._search is not None:
            self._search.raise_k(self._k, gain)
            return
        goes_on = self._goal.privacy is not None
        self._search = StringSearch(self._space, self._k, self._goal.limit, gain, self.limits, goes_on)

    def _first_strings(self) -> list[Bools]:
        best = self._best()
        if best is not None:
            return [self.X[best]]
        general = [np.zeros(self.problem.n_var, dtype=bool)]
        if self._goal.privacy is not None:
            return general
        return [*general, *self.problem.sample(_STARTS, self.random_state)]

    def _end(self) -> None:
        """Go on to the next threshold, if any."""
        self._starts = None
        best = self._best()
        if best is None or self._goal.privacy is None:
            # No string is feasible here and beyond, or there are no thresholds.
            self.certified = True
            return
        self._least = max(self._least, self._covered_from(float(self.F[best, self._goal.loss])))
        k = self._goal.next_k(float(self.F[best, self._goal.privacy]), self._widened)
        self.certified = k > self.problem.table.n_rows
        # Last, so that an interruption before loses nothing.
        self._k = k

    def _best(self) -> int | None:
        return self._goal.best(self.F, self._k)

    def _covered_from(self, loss: float) -> float:
        """Return the least loss that a member covers."""
        absolute, relative = self.tolerance.absolute[self._goal.loss], self.tolerance.relative[self._goal.loss]
        return float((loss - absolute) / (1 + relative))

    def _need(self) -> float:
        """Return the gain that open strings must exceed."""
        best = self._best()
        loss = np.inf if best is None else float(self.F[best, self._goal.loss])
        covered = self._covered_from(loss)
        return self._space.need(covered, exact=covered == loss)

    def _evaluate(self, cuts: list[Ints]) -> None:
        self.offer(self._space.bits_of(cuts)[np.newaxis])
