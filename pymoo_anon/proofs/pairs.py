"""Local search of bit strings by pairs of attributes.

A cut of one attribute is a path from 0 to n, its number of values, in a graph without circles: its edges are the groups
that the attribute may have, a group of the values first..last - 1 leading from first to last. The groups of an
attribute are an (n_groups, 2) int64 array of first and last, in lexicographic order: a group comes after all that can
precede it on a path.

The **gain** of a block, one group of each attribute, is its rows times the worths of its groups, or 0 below k rows, as
in `ClassGains`. Every kept row also gains a multiplier, which favours strings that suppress less. The gain of a string
is the sum over its blocks. With all attributes but two fixed, it is the sum of a table over pairs of groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from pymoo_anon.engine.compiled import njit
from pymoo_anon.proofs.instance import StringSpace, Subproblem
from pymoo_anon.proofs.tables import completions, longest_path
from pymoo_anon.typing import Floats, Ints

Cuts = Sequence[Ints]
Pair = tuple[int, int]

# Gains are whole numbers, exact below 2^53.
_LARGEST_GAIN = 2.0**52

# Number of bisections between a multiplier that is too low and one that is enough.
_BISECTIONS = 5


@njit(inner=True)
def longest_cut(gains, spans):  # type: ignore[no-untyped-def]
    """Return the first cut with the largest gain."""
    n = spans[-1, 1]
    best = np.full(n + 1, -np.inf)
    best[0] = 0.0
    last = np.full(n + 1, -1, dtype=np.int64)
    for i in range(len(spans)):
        reached = best[spans[i, 0]] + gains[i]
        if reached > best[spans[i, 1]]:
            best[spans[i, 1]] = reached
            last[spans[i, 1]] = i
    cut = np.empty(n, dtype=np.int64)
    at, n_groups = n, 0
    while at > 0:
        n_groups += 1
        cut[n - n_groups] = last[at]
        at = spans[last[at], 0]
    return cut[n - n_groups :]


@njit()
def best_pair(table, spans, other_spans, floor, most_nodes):  # type: ignore[no-untyped-def]
    """Return the pair of cuts with the largest gain, perhaps proven.

    The search goes depth first over the cuts of the first attribute, group by group. Let a prefix reach value x, and
    let `own[j]` be its gain with group j of the second attribute. For every completion and every cut of the second

    - the prefix gains at most the longest path of `own`, and each further group i at most the longest path of table[i];
    - group j of the second attribute gains at most own[j] and, from x on, the best completion for j alone.

    Prefixes whose smaller bound does not exceed the best so far are skipped. Before that, the two cuts are improved in
    turns, so that the best is mostly known before the proof. Cuts are places of groups, empty if none exceeds the
    floor. After `most_nodes` prefixes the best so far is returned.
    """
    n_other = other_spans[-1, 1]
    own_best = np.empty(len(spans))
    for i in range(len(spans)):
        own_best[i] = longest_path(table[i], other_spans, n_other)
    cut, value = _in_turns(table, spans, other_spans, longest_cut(own_best, spans))
    if value <= floor:
        cut, value = cut[:0], floor
    found, proven = _search_prefixes(table, spans, other_spans, own_best, value, most_nodes)
    if len(found):
        cut = found
    if not len(cut):
        return cut, cut.copy(), proven
    return cut, longest_cut(_summed(table, cut), other_spans), proven


@njit(inner=True)
def _summed(table, cut):  # type: ignore[no-untyped-def]
    total = np.zeros(table.shape[1])
    for i in cut:
        for j in range(len(total)):
            total[j] += table[i, j]
    return total


@njit(inner=True)
def _in_turns(table, spans, other_spans, cut):  # type: ignore[no-untyped-def]
    n_other = other_spans[-1, 1]
    value = longest_path(_summed(table, cut), other_spans, n_other)
    by_other = table.T.copy()
    while True:
        other = longest_cut(_summed(table, cut), other_spans)
        better = longest_cut(_summed(by_other, other), spans)
        reached = longest_path(_summed(table, better), other_spans, n_other)
        # Only a strict gain goes on, so that it ends.
        if reached <= value:
            return cut, value
        cut, value = better, reached


@njit(inner=True)
def _search_prefixes(table, spans, other_spans, own_best, value, most_nodes):  # type: ignore[no-untyped-def]
    """Search a cut of the first attribute above a value."""
    n, n_other, n_groups, n_others = spans[-1, 1], other_spans[-1, 1], len(spans), len(other_spans)
    rest = np.empty(n + 1)
    completions(own_best, spans, n, rest)
    # For each group of the second attribute its own best completion from every value.
    rests = np.empty((n + 1, n_others))
    for x in range(n + 1):
        for j in range(n_others):
            rests[x, j] = 0.0 if x == n else -np.inf
    begins = np.full(n + 1, n_groups, dtype=np.int64)
    for i in range(n_groups - 1, -1, -1):
        low, high = spans[i, 0], spans[i, 1]
        begins[low] = i
        for j in range(n_others):
            rests[low, j] = max(rests[low, j], table[i, j] + rests[high, j])
    # The prefix is path[:depth], gained[d] is `own` of its first d groups, and following[d] the next group to try.
    gained = np.zeros((n + 1, n_others))
    path, following = np.empty(n, dtype=np.int64), np.empty(n + 1, dtype=np.int64)
    best = path[:0].copy()
    depth, at, n_nodes = 0, 0, 0
    following[0] = begins[0]
    while depth >= 0:
        i = following[depth]
        if i >= n_groups or spans[i, 0] != at:
            depth -= 1
            if depth >= 0:
                at = spans[path[depth], 0]
            continue
        following[depth] += 1
        n_nodes += 1
        if n_nodes > most_nodes:
            return best, False
        reached = spans[i, 1]
        for j in range(n_others):
            gained[depth + 1, j] = gained[depth, j] + table[i, j]
        bound = longest_path(gained[depth + 1], other_spans, n_other) + rest[reached]
        if reached < n and bound > value:
            bound = min(bound, longest_path(gained[depth + 1] + rests[reached], other_spans, n_other))
        if bound <= value:
            continue
        path[depth] = i
        if reached == n:
            best, value = path[: depth + 1].copy(), bound
            continue
        depth += 1
        at = reached
        following[depth] = begins[at]
    return best, True


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
        instance, none = space.instance, space.none
        by_groups = sorted(range(none), key=lambda attribute: len(space.spans[attribute]))
        free = [attribute for attribute in by_groups if len(space.spans[attribute]) > 1]
        self.pairs: list[Pair] = list(combinations(free, 2)) if len(free) > 1 else [(none, a) for a in free]
        most = instance.most / instance.unit
        # The greatest average gain of a row, and the largest multiplier with exact sums.
        self._average = np.ceil(most / instance.n_rows)
        self._largest = np.floor(min(most, _LARGEST_GAIN / instance.n_rows))

    def within(self, cuts: Cuts, multiplier: float = 0.0) -> tuple[list[list[Ints]], float]:
        """Improve a string within the limit.

        The multiplier rises until the limit is kept, and is then halved towards the last that was too low. The best
        string is then improved without a common multiplier. If no multiplier is enough, the search begins at the most
        general string. It suppresses nothing, and neither does any string that the highest multiplier makes of it.

        Returns:
            All strings that were found, and the lowest multiplier that was enough. The first string has the largest
            gain of those within the limit, if there are any.
        """
        if self.limit >= self.space.instance.n_rows:
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
            low, high = high, min(max(8 * high, self._average), self._largest)
        if not found[-1][0]:
            whole = [np.flatnonzero(np.ptp(spans, axis=1) == spans[-1, 1]) for spans in self.space.instance.spans]
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

    def improve(self, cuts: Cuts, multiplier: float = 0.0) -> list[Ints]:
        """Improve a string without a limit, with gains for kept rows."""

        def better(now: list[Ints], pair: Pair) -> tuple[Ints, Ints] | None:
            gains = self.gains(now, pair, multiplier)
            return self.best(pair, gains, self._sum_of(now, pair, gains))

        return self._improve_pairs(cuts, better)

    def improve_each(self, cuts: Cuts) -> list[Ints]:
        """Improve a string within the limit, pair by pair."""
        return self._improve_pairs(cuts, self._best_within)

    def _best_within(self, now: list[Ints], pair: Pair) -> tuple[Ints, Ints] | None:
        gains, rows = self.gains(now, pair), self._rows(now, pair)
        gained, found = self._sum_of(now, pair, gains), None
        # Invariant: `low` suppresses too many rows or is -1, and `high` keeps the limit.
        low, high, multiplier = -1.0, self._largest, 0.0
        while low < multiplier < high:
            pairs = self.best(pair, gains + multiplier * rows, -np.inf)
            if pairs is None or self.space.instance.n_rows - rows[np.ix_(*pairs)].sum() > self.limit:
                low = multiplier
            else:
                high = multiplier
                if gains[np.ix_(*pairs)].sum() > gained:
                    gained, found = float(gains[np.ix_(*pairs)].sum()), pairs
            # Multipliers differ by orders of magnitude: halve the number of their digits first.
            far = high > 4 * max(low, 1.0)
            multiplier = np.floor(np.sqrt(max(low, 1.0) * high) if far else (low + high) / 2)
            if high - low <= high / 16:
                break
        return found

    def _improve_pairs(self, cuts: Cuts, better: Callable[[list[Ints], Pair], tuple[Ints, Ints] | None]) -> list[Ints]:
        now, unchanged = list(cuts), 0
        while unchanged < len(self.pairs):
            for place in self._random_state.permutation(len(self.pairs)):
                found = better(now, self.pairs[place])
                unchanged += 1
                if found is not None:
                    for attribute, cut in zip(self.pairs[place], found, strict=True):
                        if attribute < self.space.none:
                            now[attribute] = cut
                    # This pair has its best cuts.
                    unchanged = 1
                if unchanged >= len(self.pairs):
                    break
        return now

    def gain_of(self, cuts: Cuts) -> tuple[float, int]:
        """Return the gain of a string and its suppressed rows."""
        ids, base, gone = self.space.classes(dict(enumerate(cuts)), self.k)
        kept = ids >= 0
        rows = np.bincount(ids[kept], self.space.instance.counts[kept], len(base))
        return float((rows * base).sum()), gone

    def gains(self, cuts: Cuts, pair: Pair, multiplier: float = 0.0) -> Floats:
        """Return the gains of all pairs of groups."""
        none, wanted = self.space.none, Subproblem(self.k, self.space.instance.n_rows, multiplier)
        ids, base = self._classes(cuts, pair)
        return self.space.table(ids, base, (none, none, *pair), set(), wanted)[0][0, 0]

    def _rows(self, cuts: Cuts, pair: Pair) -> Floats:
        ids, base = self._classes(cuts, pair)
        return self.space.rows(ids, len(base), (self.space.none, self.space.none, *pair), self.k)[0, 0]

    def _classes(self, cuts: Cuts, pair: Pair) -> tuple[Ints, Floats]:
        return self.space.classes({a: cut for a, cut in enumerate(cuts) if a not in pair}, self.k)[:2]

    def _sum_of(self, cuts: Cuts, pair: Pair, table: Floats) -> float:
        own = [cuts[a] if a < self.space.none else np.zeros(1, dtype=np.int64) for a in pair]
        return float(table[np.ix_(*own)].sum())

    def best(self, pair: Pair, table: Floats, floor: float) -> tuple[Ints, Ints] | None:
        """Return the best cuts by a table, if above a floor."""
        p, q = pair
        cut, other, _ = best_pair(table, self.space.spans[p], self.space.spans[q], floor, self.most_prefixes)
        return (cut, other) if len(cut) else None
