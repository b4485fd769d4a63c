"""Two attributes of a bit string at a time: the gains of all their boxes, and the best pair of cuts.

A cut of one attribute is a path from 0 to n, its number of values, in a graph without circles: its edges are the groups
that the attribute may have, a group of the values first..last - 1 leading from first to last. The groups of an
attribute are an (n_groups, 2) int64 array of first and last, in lexicographic order, so that a group stands after all
that can come before it on a path.

The **gain** of a box, one group of each attribute, is what its rows save against being suppressed, as `ClassGains`
says: mass (flat + worths of its groups) - square rows^2, where it has at least k rows, and else 0. The mass are its
rows or, where there are labels, those with its most frequent label. Here every row that is kept also saves a price, so
that strings that suppress less can be asked for. The gain of a string is the sum over its boxes. With all attributes
but two fixed, it is the sum of a table over pairs of groups: one that the first attribute's cut has, and one that the
second's has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from pymoo_anon.engine.arrays import Ints, Values
from pymoo_anon.engine.compiled import njit
from pymoo_anon.proofs.strings.instance import StringInstance
from pymoo_anon.proofs.strings.space import Asked, StringSpace
from pymoo_anon.proofs.strings.tables import completions, longest_path

Cuts = Sequence[Ints]

# Prefixes that are looked at for one pair before the best so far is taken; a tenth of a second or so.
_MOST_PREFIXES = 200_000

# Gains are whole numbers, exact below 2^53.
_LARGEST_GAIN = 2.0**52

# How often the price is halved between one that suppresses too much and one that does not.
_BISECTIONS = 5


@njit(cache=True, nogil=True, inner=True)
def longest_cut(gains, spans):  # type: ignore[no-untyped-def]
    """The cut with the largest sum of gains, as an int64 array of the places of its groups; of several the first."""
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


@njit(cache=True, nogil=True)
def best_pair(table, spans, other_spans, floor, most_nodes):  # type: ignore[no-untyped-def]
    """The pair of cuts whose boxes gain most in all, if that is more than a floor.

    Depth first over the first attribute's cuts, group by group. Let a prefix reach value x, and let `own[j]` be what it
    gains with the second attribute's group j. For every completion and every cut of the second attribute

    - the prefix gains at most the longest path of `own`, and each further group i at most the longest path of table[i];
    - group j of the second attribute gains at most own[j] and, from x on, what the best completion for j alone gains.

    The first lets the second cut depend on the first attribute's groups, the other lets the first cut depend on the
    second attribute's groups: both only enlarge the maximum. Where a prefix ends, both are its exact value. Prefixes
    whose smaller bound is no more than the best so far are left. Before that, cuts are improved in turns, each the best
    for the other, so that the best is mostly known before the proof.

    The first attribute should be the one with fewer cuts. Returned are the two cuts, each an int64 array of the places
    of its groups, empty where none gains more than the floor, and whether that is proven: after so many prefixes the
    best so far is returned.
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


@njit(cache=True, nogil=True, inner=True)
def _summed(table, cut):  # type: ignore[no-untyped-def]
    """What a cut of the first attribute gains with each group of the second."""
    total = np.zeros(table.shape[1])
    for i in cut:
        for j in range(len(total)):
            total[j] += table[i, j]
    return total


@njit(cache=True, nogil=True, inner=True)
def _in_turns(table, spans, other_spans, cut):  # type: ignore[no-untyped-def]
    """A cut of the first attribute, improved in turns with the second's; and what the two gain."""
    n_other = other_spans[-1, 1]
    value = longest_path(_summed(table, cut), other_spans, n_other)
    by_other = table.T.copy()
    while True:
        other = longest_cut(_summed(table, cut), other_spans)
        better = longest_cut(_summed(by_other, other), spans)
        reached = longest_path(_summed(table, better), other_spans, n_other)
        # Strictly, so that it ends.
        if reached <= value:
            return cut, value
        cut, value = better, reached


@njit(cache=True, nogil=True, inner=True)
def _search_prefixes(table, spans, other_spans, own_best, value, most_nodes):  # type: ignore[no-untyped-def]
    """The first attribute's cut that gains more than a value, or none, and whether that is proven."""
    n, n_other, n_groups, n_others = spans[-1, 1], other_spans[-1, 1], len(spans), len(other_spans)
    rest = np.empty(n + 1)
    completions(own_best, spans, n, rest)
    # For each group of the second attribute its own best completion from each value on.
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
    # The prefix is path[:depth]; gained[d] is `own` of its first d groups; following[d] is the next group to try.
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


def improve(
    space: StringSpace, cuts: Cuts, k: int, random_state: np.random.Generator, price: float = 0.0
) -> list[Ints]:
    """A string that no other cuts of two attributes make better, by improving pairs of another string's attributes.

    Better is a larger sum of gains, where every row that is kept also gains the price. The pairs take turns in a random
    order until each of them was looked at since the last change. Every change makes the sum larger, so it ends. A pair
    whose search is too long gets the best cuts that were found.
    """
    now = _Assignment(space, cuts)

    def better(pair: tuple[int, int]) -> tuple[Ints, Ints] | None:
        return now.best(pair, now.table(pair, k, price))

    _improve_pairs(now, better, random_state)
    return now.cuts


def improve_within(
    space: StringSpace, cuts: Cuts, k: int, limit: int, random_state: np.random.Generator, price: float = 0.0
) -> tuple[list[list[Ints]], float]:
    """Strings with large gains that suppress few rows, by improving one string under several prices.

    The price of a suppressed row rises until few enough are suppressed, and is then halved towards the last that was
    too low. The best string is then improved without a price for the whole: two attributes get the best cuts, under any
    price of their own, that keep to the limit.

    The wholly general string suppresses nothing, and under the highest price nothing that is made of it does: it is the
    start where no price is enough.

    Returns:
        All strings that were found, and the lowest price that was enough. The first string suppresses at most `limit`
        rows, and of those that do has the largest gain, if any string does.
    """
    if limit >= space.instance.n_rows:
        # Nothing has to be paid for.
        return [improve(space, cuts, k, random_state)], 0.0
    found = _Found(space, k, limit, random_state)
    low, high = found.raise_price(cuts, price)
    for _ in range(_BISECTIONS if high > 0 and limit > 0 else 0):
        middle = np.floor((low + high) / 2)
        if found.at(middle, found.best[2]):
            high = middle
        else:
            low = middle
    if found.best[0] and high > 0:
        found.note(_improve_under(space, found.best[2], k, limit, random_state))
    best = found.best
    return [best[2], *(one[2] for one in found.all if one is not best)], high


class _Found:
    """Strings that were found under prices."""

    def __init__(self, space: StringSpace, k: int, limit: int, random_state: np.random.Generator) -> None:
        self._space, self._k, self._limit, self._random_state = space, k, limit, random_state
        # Of every string, whether it keeps to the limit, its gain, and its cuts.
        self.all: list[tuple[bool, float, list[Ints]]] = []

    @property
    def best(self) -> tuple[bool, float, list[Ints]]:
        """The one with the largest gain, of those that keep to the limit if there are any."""
        return max(self.all, key=lambda one: one[:2])

    def note(self, made: list[Ints]) -> bool:
        """Take in a string; whether it keeps to the limit."""
        gain, suppressed = gain_of(self._space, made, self._k)
        self.all.append((suppressed <= self._limit, gain, made))
        return suppressed <= self._limit

    def at(self, price: float, start: Cuts) -> bool:
        """Improve a string under a price; whether what is made of it keeps to the limit."""
        return self.note(improve(self._space, start, self._k, self._random_state, price))

    def raise_price(self, cuts: Cuts, price: float) -> tuple[float, float]:
        """Raise the price until a string keeps to the limit; returns the last that was too low, and that one."""
        most, largest = _prices(self._space.instance)
        low, high = 0.0, price
        while not self.at(high, self.all[-1][2] if self.all else cuts) and high < largest:
            low, high = high, min(max(8 * high, most), largest)
        if not self.all[-1][0]:
            whole = [np.array([_whole(spans)]) for spans in self._space.instance.spans]
            self.note(whole)
            self.at(largest, whole)
        return low, high


def _improve_under(space: StringSpace, cuts: Cuts, k: int, limit: int, random_state: np.random.Generator) -> list[Ints]:
    """A string of a larger gain that keeps to a limit, from one that does, by pairs under prices of their own."""
    now = _Assignment(space, cuts)
    instance = space.instance
    _, largest = _prices(instance)

    def better(pair: tuple[int, int]) -> tuple[Ints, Ints] | None:
        gains, rows = now.table(pair, k), now.rows(pair, k)
        gained, found = now.sum_of(pair, gains), None
        # The invariant: under `low` too many rows are suppressed, or it is -1; under `high` few enough are.
        low, high = -1.0, largest
        price = 0.0
        while low < price < high:
            pairs = now.best(pair, gains + price * rows, floor=-np.inf)
            if pairs is None or instance.n_rows - rows[np.ix_(*pairs)].sum() > limit:
                low = price
            else:
                high = price
                if gains[np.ix_(*pairs)].sum() > gained:
                    gained, found = float(gains[np.ix_(*pairs)].sum()), pairs
            # Prices differ by orders of magnitude: halve the number of their digits first.
            price = np.floor(np.sqrt(max(low, 1.0) * high)) if high > 4 * max(low, 1.0) else np.floor((low + high) / 2)
            if high - low <= high / 16:
                break
        return found

    _improve_pairs(now, better, random_state)
    return now.cuts


def _improve_pairs(
    now: _Assignment, better: Callable[[tuple[int, int]], tuple[Ints, Ints] | None], random_state: np.random.Generator
) -> None:
    """Give pairs of attributes better cuts, in random order, until each was looked at since the last change."""
    pairs = now.pairs
    unchanged = 0
    while unchanged < len(pairs):
        for place in random_state.permutation(len(pairs)):
            found = better(pairs[place])
            unchanged += 1
            if found is not None:
                for attribute, cut in zip(pairs[place], found, strict=True):
                    if attribute < now.space.none:
                        now.cuts[attribute] = cut
                # This pair has its best cuts.
                unchanged = 1
            if unchanged >= len(pairs):
                break


def gain_of(space: StringSpace, cuts: Cuts, k: int) -> tuple[float, int]:
    """The sum of the gains of a string, in units, and the number of rows that it suppresses."""
    instance = space.instance
    ids, base, gone = space.classes(dict(enumerate(cuts)), k)
    kept, n_classes = ids >= 0, len(base)
    rows = np.bincount(ids[kept], instance.counts[kept], n_classes)
    mass = rows
    if instance.labels is not None and n_classes:
        mass = np.max([np.bincount(ids[kept], own[kept], n_classes) for own in instance.labels.T], axis=0)
    return float((mass * (base + instance.flat) - instance.square * rows**2).sum()), gone


class _Assignment:
    """A string whose cuts change two at a time."""

    def __init__(self, space: StringSpace, cuts: Cuts) -> None:
        self.space, self.cuts = space, list(cuts)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of attributes that have a choice, the one with fewer groups first."""
        spans, none = self.space.spans, self.space.none
        by_groups = sorted(range(none), key=lambda attribute: len(spans[attribute]))
        free = [attribute for attribute in by_groups if len(spans[attribute]) > 1]
        return list(combinations(free, 2)) if len(free) > 1 else [(none, attribute) for attribute in free]

    def classes(self, pair: Sequence[int], k: int) -> tuple[Ints, Values, int]:
        """The classes that all attributes but two make, as `StringSpace.classes` says."""
        return self.space.classes({a: cut for a, cut in enumerate(self.cuts) if a not in pair}, k)

    def table(self, pair: tuple[int, int], k: int, price: float = 0.0) -> Values:
        """(n_groups, n_other_groups) float array: the gains of all pairs of groups of two attributes."""
        none, asked = self.space.none, Asked(k, self.space.instance.n_rows, price)
        ids, base, _ = self.classes(pair, k)
        gains: Values = self.space.table(ids, base, (none, none, *pair), set(), asked)[0][0, 0]
        return gains

    def rows(self, pair: tuple[int, int], k: int) -> Values:
        """The rows that all pairs of groups of two attributes keep."""
        none = self.space.none
        ids, base, _ = self.classes(pair, k)
        rows: Values = self.space.rows(ids, len(base), (none, none, *pair), k)[0, 0]
        return rows

    def sum_of(self, pair: tuple[int, int], table: Values) -> float:
        """The sum of a table over the groups that two attributes have."""
        own = [self.cuts[a] if a < self.space.none else np.zeros(1, dtype=np.int64) for a in pair]
        return float(table[np.ix_(*own)].sum())

    def best(self, pair: tuple[int, int], table: Values, floor: float | None = None) -> tuple[Ints, Ints] | None:
        """The cuts of two attributes with the largest sum of a table, if above a floor; None is what they have."""
        least, (p, q) = self.sum_of(pair, table) if floor is None else floor, pair
        cut, other, _ = best_pair(table, self.space.spans[p], self.space.spans[q], least, _MOST_PREFIXES)
        return (cut, other) if len(cut) else None


def _prices(instance: StringInstance) -> tuple[float, float]:
    """What a row costs at most, and the largest price of which sums stay exact."""
    most = instance.most / instance.unit
    return np.ceil(most / instance.n_rows), np.floor(min(most, _LARGEST_GAIN / instance.n_rows))


def _whole(spans: Ints) -> int:
    """The place of the group of all values."""
    return int(np.flatnonzero((spans[:, 0] == 0) & (spans[:, 1] == spans[-1, 1]))[0])
