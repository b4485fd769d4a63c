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
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.strings.instance import StringInstance
from pymoo_anon.engine.compiled import njit


@njit(cache=True, nogil=True)
def classes_without(codes, tallies, offsets, numbers, worths, pair, k):  # type: ignore[no-untyped-def]
    """The classes that all attributes but two make, without those of fewer than k rows.

    A box lies inside one of these classes. So those of fewer than k rows hold no box that gains.

    Args:
        codes: (n_tuples, n_attributes) int array of the distinct tuples.
        tallies: (n_tuples, 1 + n_labels) int64 array, the rows of each, and those of each label where there are labels.
        offsets: (n_attributes + 1,) int64 array, where the values of each attribute begin.
        numbers: (n_values,) int64 array, for every value of every attribute the number of its group in the cut.
        worths: (n_values,) float array, what a row with this value saves by its group.
        pair: The two attributes that are left out.
        k: The fewest rows that gain.

    Returns:
        (n_classes + 1,) int64 array, where the tuples of each class begin; (n_classes,) float array, what a row of each
        saves by the attributes that are fixed; (n, 3 + n_labels) int64 array of the tuples by class: the values of both
        attributes and the tallies.
    """
    n_tuples, n_attributes = codes.shape
    kept = np.arange(n_tuples)
    of = np.zeros(n_tuples, dtype=np.int64)
    saved = np.zeros(n_tuples)
    n_classes = 1
    for a in range(n_attributes):
        if a == pair[0] or a == pair[1]:
            continue
        first = offsets[a]
        n_groups = numbers[offsets[a + 1] - 1] + 1
        rows = np.zeros(n_classes * n_groups, dtype=np.int64)
        for i in range(len(kept)):
            rows[of[i] * n_groups + numbers[first + codes[kept[i], a]]] += tallies[kept[i], 0]
        # Classes only split from here on: what is too small stays so.
        place = np.full(len(rows), -1, dtype=np.int64)
        n_classes = 0
        for c in range(len(rows)):
            if rows[c] >= k and rows[c] > 0:
                place[c] = n_classes
                n_classes += 1
        n = 0
        for i in range(len(kept)):
            value = first + codes[kept[i], a]
            c = place[of[i] * n_groups + numbers[value]]
            if c >= 0:
                # n <= i, so that nothing is overwritten before it is read.
                kept[n], of[n], saved[n] = kept[i], c, saved[i] + worths[value]
                n += 1
        kept, of, saved = kept[:n], of[:n], saved[:n]
    return _sorted_by_class(codes, tallies, kept, of, saved, n_classes, pair)


@njit(cache=True, nogil=True)
def _sorted_by_class(codes, tallies, kept, of, saved, n_classes, pair):  # type: ignore[no-untyped-def]
    """What `classes_without` returns, of the tuples that are kept, the class of each and what its rows save."""
    starts = np.zeros(n_classes + 1, dtype=np.int64)
    for c in of:
        starts[c + 1] += 1
    starts = np.cumsum(starts)
    free = starts.copy()
    margins = np.empty(n_classes)
    cells = np.empty((len(kept), 2 + tallies.shape[1]), dtype=np.int64)
    for i in range(len(kept)):
        c, t = of[i], kept[i]
        margins[c] = saved[i]
        cells[free[c], 0], cells[free[c], 1] = codes[t, pair[0]], codes[t, pair[1]]
        cells[free[c], 2:] = tallies[t]
        free[c] += 1
    return starts, margins, cells


@njit(cache=True, nogil=True)
def pair_table(starts, margins, cells, spans, worths, other_spans, other_worths, terms):  # type: ignore[no-untyped-def]
    """The gain of every pair of groups of two attributes, summed over the classes of all others.

    The rows of a box are four sums over rectangles of its class that begin at 0: the invariant of the inner loop is
    that `below[v]` holds the tallies of a value in the first attribute's group and one below v of the second's.

    Args:
        starts: (n_classes + 1,) int64 array, as `classes_without` returns it.
        margins: (n_classes,) float array: what a row of each class saves without the two attributes.
        cells: (n, 3 + n_labels) int64 array, as `classes_without` returns it.
        spans: The groups of the first attribute.
        worths: (n_groups,) float array, what a row of each group saves.
        other_spans: The groups of the second attribute.
        other_worths: (n_other_groups,) float array.
        terms: Float array of k, the price that every kept row saves, and `square`.

    Returns:
        (n_groups, n_other_groups) float array.
    """
    n, n_other, n_tallies = spans[-1, 1], other_spans[-1, 1], cells.shape[1] - 2
    k, price, square = terms[0], terms[1], terms[2]
    table = np.zeros((len(spans), len(other_spans)))
    sums = np.zeros((n + 1, n_tallies, n_other + 1), dtype=np.int64)
    for c in range(len(starts) - 1):
        _sum_rectangles(sums, cells[starts[c] : starts[c + 1]])
        for i in range(len(spans)):
            below = sums[spans[i, 1]] - sums[spans[i, 0]]
            if below[0, n_other] < k:
                continue
            margin = margins[c] + worths[i]
            for j in range(len(other_spans)):
                first, last = other_spans[j]
                rows = below[0, last] - below[0, first]
                if rows < k:
                    continue
                mass = rows
                if n_tallies > 1:
                    mass = 0
                    for label in range(1, n_tallies):
                        mass = max(mass, below[label, last] - below[label, first])
                table[i, j] += mass * (margin + other_worths[j]) + rows * (price - square * rows)
    return table


@njit(cache=True, nogil=True, inline="always")
def _sum_rectangles(sums, cells):  # type: ignore[no-untyped-def]
    """Fill in the tallies of all rectangles of one class that begin at 0."""
    sums[:] = 0
    for i in range(len(cells)):
        for tally in range(cells.shape[1] - 2):
            sums[cells[i, 0] + 1, tally, cells[i, 1] + 1] += cells[i, 2 + tally]
    for v in range(1, len(sums)):
        for tally in range(sums.shape[1]):
            row = 0
            for u in range(1, sums.shape[2]):
                row += sums[v, tally, u]
                sums[v, tally, u] = sums[v - 1, tally, u] + row


@njit(cache=True, nogil=True)
def longest_path(gains, spans):  # type: ignore[no-untyped-def]
    """The largest sum of gains over a cut.

    Args:
        gains: (n_groups,) float array.
        spans: The groups.
    """
    best = np.full(spans[-1, 1] + 1, -np.inf)
    best[0] = 0.0
    # Groups that end where this one begins stand before it: best[spans[i, 0]] is final.
    for i in range(len(spans)):
        reached = best[spans[i, 0]] + gains[i]
        if reached > best[spans[i, 1]]:
            best[spans[i, 1]] = reached
    return best[-1]


@njit(cache=True, nogil=True)
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
def completions(gains, spans):  # type: ignore[no-untyped-def]
    """(n_values + 1,) float array: the largest sum of gains over the rest of a cut, from each value on."""
    n = spans[-1, 1]
    best = np.full(n + 1, -np.inf)
    best[n] = 0.0
    for i in range(len(spans) - 1, -1, -1):
        reached = best[spans[i, 1]] + gains[i]
        if reached > best[spans[i, 0]]:
            best[spans[i, 0]] = reached
    return best


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

    Args:
        table: (n_groups, n_other_groups) float array.
        spans: The groups of the first attribute; it should be the one with fewer cuts.
        other_spans: The groups of the second attribute.
        floor: Pairs that gain no more do not count.
        most_nodes: After so many prefixes the best so far is returned.

    Returns:
        The two cuts, each an int64 array of the places of its groups, empty where none gains more than the floor, and
        whether that is proven.
    """
    own_best = np.empty(len(spans))
    for i in range(len(spans)):
        own_best[i] = longest_path(table[i], other_spans)
    cut, value = _in_turns(table, spans, other_spans, longest_cut(own_best, spans))
    if value <= floor:
        cut, value = cut[:0], floor
    found, proven = _search_prefixes(table, spans, other_spans, own_best, value, most_nodes)
    if len(found):
        cut = found
    if not len(cut):
        return cut, cut.copy(), proven
    return cut, longest_cut(_summed(table, cut), other_spans), proven


@njit(cache=True, nogil=True)
def _summed(table, cut):  # type: ignore[no-untyped-def]
    """What a cut of the first attribute gains with each group of the second."""
    total = np.zeros(table.shape[1])
    for i in cut:
        total += table[i]
    return total


@njit(cache=True, nogil=True)
def _in_turns(table, spans, other_spans, cut):  # type: ignore[no-untyped-def]
    """A cut of the first attribute, improved in turns with the second's; and what the two gain."""
    value = longest_path(_summed(table, cut), other_spans)
    by_other = table.T.copy()
    while True:
        other = longest_cut(_summed(table, cut), other_spans)
        better = longest_cut(_summed(by_other, other), spans)
        reached = longest_path(_summed(table, better), other_spans)
        # Strictly, so that it ends.
        if reached <= value:
            return cut, value
        cut, value = better, reached


@njit(cache=True, nogil=True)
def _search_prefixes(table, spans, other_spans, own_best, value, most_nodes):  # type: ignore[no-untyped-def]
    """The first attribute's cut that gains more than a value, or none, and whether that is proven."""
    n, n_groups, n_others = spans[-1, 1], len(spans), len(other_spans)
    rest = completions(own_best, spans)
    # For each group of the second attribute its own best completion from each value on.
    rests = np.full((n + 1, n_others), -np.inf)
    rests[n] = 0.0
    begins = np.full(n + 1, n_groups, dtype=np.int64)
    for i in range(n_groups - 1, -1, -1):
        low, high = spans[i]
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
        bound = longest_path(gained[depth + 1], other_spans) + rest[reached]
        if reached < n and bound > value:
            bound = min(bound, longest_path(gained[depth + 1] + rests[reached], other_spans))
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


Ints = NDArray[np.int64]
Values = NDArray[np.float64]
Cuts = Sequence[Ints]

# Prefixes that are looked at for one pair before the best so far is taken; a tenth of a second or so.
_MOST_PREFIXES = 200_000

# Gains are whole numbers, exact below 2^53.
_LARGEST_GAIN = 2.0**52

# How often the price is halved between one that suppresses too much and one that does not.
_BISECTIONS = 5


def improve(
    instance: StringInstance, cuts: Cuts, k: int, random_state: np.random.Generator, price: float = 0.0
) -> list[Ints]:
    """A string that no other cuts of two attributes make better, by improving pairs of another string's attributes.

    Better is a larger sum of gains, where every row that is kept also gains the price. The pairs take turns in a random
    order until each of them was looked at since the last change. Every change makes the sum larger, so it ends. A pair
    whose search is too long gets the best cuts that were found.
    """
    now = _Assignment(instance, cuts)

    def better(pair: tuple[int, int]) -> tuple[Ints, Ints] | None:
        return now.best(pair, now.table(pair, k, price))

    _improve_pairs(now, better, random_state)
    return now.cuts


def improve_within(
    instance: StringInstance, cuts: Cuts, k: int, limit: int, random_state: np.random.Generator, price: float = 0.0
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
    if limit >= instance.n_rows:
        # Nothing has to be paid for.
        return [improve(instance, cuts, k, random_state)], 0.0
    found = _Found(instance, k, limit, random_state)
    low, high = found.raise_price(cuts, price)
    for _ in range(_BISECTIONS if high > 0 and limit > 0 else 0):
        middle = np.floor((low + high) / 2)
        if found.at(middle, found.best[2]):
            high = middle
        else:
            low = middle
    if found.best[0] and high > 0:
        found.note(_improve_under(instance, found.best[2], k, limit, random_state))
    best = found.best
    return [best[2], *(one[2] for one in found.all if one is not best)], high


class _Found:
    """Strings that were found under prices.

    Args:
        instance: The tuples, the allowed groups and their gains.
        k: Every class smaller than k is suppressed.
        limit: At most so many rows are suppressed.
        random_state: Orders the pairs.

    Attributes:
        all: Of every string, whether it keeps to the limit, its gain, and its cuts.
    """

    def __init__(self, instance: StringInstance, k: int, limit: int, random_state: np.random.Generator) -> None:
        self._instance, self._k, self._limit, self._random_state = instance, k, limit, random_state
        self.all: list[tuple[bool, float, list[Ints]]] = []

    @property
    def best(self) -> tuple[bool, float, list[Ints]]:
        """The one with the largest gain, of those that keep to the limit if there are any."""
        return max(self.all, key=lambda one: one[:2])

    def note(self, made: list[Ints]) -> bool:
        """Take in a string; whether it keeps to the limit."""
        gain, suppressed = gain_of(self._instance, made, self._k)
        self.all.append((suppressed <= self._limit, gain, made))
        return suppressed <= self._limit

    def at(self, price: float, start: Cuts) -> bool:
        """Improve a string under a price; whether what is made of it keeps to the limit."""
        return self.note(improve(self._instance, start, self._k, self._random_state, price))

    def raise_price(self, cuts: Cuts, price: float) -> tuple[float, float]:
        """Raise the price until a string keeps to the limit; returns the last that was too low, and that one."""
        most, largest = _prices(self._instance)
        low, high = 0.0, price
        while not self.at(high, self.all[-1][2] if self.all else cuts) and high < largest:
            low, high = high, min(max(8 * high, most), largest)
        if not self.all[-1][0]:
            whole = [np.array([_whole(spans)]) for spans in self._instance.spans]
            self.note(whole)
            self.at(largest, whole)
        return low, high


def _improve_under(
    instance: StringInstance, cuts: Cuts, k: int, limit: int, random_state: np.random.Generator
) -> list[Ints]:
    """A string of a larger gain that keeps to a limit, from one that does, by pairs under prices of their own."""
    now = _Assignment(instance, cuts)
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
    now: _Assignment,
    better: Callable[[tuple[int, int]], tuple[Ints, Ints] | None],
    random_state: np.random.Generator,
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
                    now.put(attribute, cut)
                # This pair has its best cuts.
                unchanged = 1
            if unchanged >= len(pairs):
                break


def gain_of(instance: StringInstance, cuts: Cuts, k: int) -> tuple[float, int]:
    """The sum of the gains of a string, in units, and the number of rows that it suppresses."""
    now = _Assignment(instance, cuts)
    starts, margins, cells = now.classes((now.constant, now.constant), k)
    if len(margins) == 0:
        return 0.0, instance.n_rows
    tallies = np.add.reduceat(cells[:, 2:], starts[:-1], axis=0)
    rows = tallies[:, 0]
    mass = rows if instance.labels is None else tallies[:, 1:].max(axis=1)
    gains = mass * margins - instance.square * rows.astype(float) ** 2
    return float(gains.sum()), instance.n_rows - int(rows.sum())


class _Assignment:
    """A string as the kernels read it: for every value of every attribute its group's number, and what it saves.

    After the attributes stands a constant one, of one value, that saves nothing: it is the other of a pair where only
    one attribute has a choice.

    Args:
        instance: The tuples, the allowed groups and their gains.
        cuts: Per attribute the places of its groups.

    Attributes:
        spans: Per attribute its groups.
        worths: Per attribute what a row saves in each group.
        all_cuts: Per attribute the places of its groups in the string.
        constant: The constant attribute.
    """

    def __init__(self, instance: StringInstance, cuts: Cuts) -> None:
        self.spans = [*instance.spans, np.array([[0, 1]], dtype=np.int64)]
        self.worths = [*instance.worths, np.zeros(1)]
        self.all_cuts = [*cuts, np.zeros(1, dtype=np.int64)]
        self.constant = len(cuts)
        counts = instance.counts[:, np.newaxis]
        self._codes = np.hstack([instance.codes, np.zeros_like(counts)])
        self._tallies = counts if instance.labels is None else np.hstack([counts, instance.labels])
        self._flat, self._square = instance.flat, instance.square
        self._offsets = np.concatenate([[0], np.cumsum(instance.sizes), [instance.sizes.sum() + 1]])
        self._numbers = np.empty(self._offsets[-1], dtype=np.int64)
        self._value_worths = np.empty(self._offsets[-1])
        for attribute, cut in enumerate(self.all_cuts):
            self.put(attribute, cut)

    @property
    def cuts(self) -> list[Ints]:
        """Per attribute of the instance the places of its groups."""
        return self.all_cuts[:-1]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """All pairs of attributes that have a choice, the one with fewer groups first."""
        by_groups = sorted(range(self.constant), key=lambda attribute: len(self.spans[attribute]))
        free = [attribute for attribute in by_groups if len(self.spans[attribute]) > 1]
        return list(combinations(free, 2)) if len(free) > 1 else [(self.constant, attribute) for attribute in free]

    def put(self, attribute: int, cut: Ints) -> None:
        """Give an attribute another cut."""
        self.all_cuts[attribute] = cut
        own = slice(self._offsets[attribute], self._offsets[attribute + 1])
        lengths = np.diff(self.spans[attribute][cut], axis=1)[:, 0]
        self._numbers[own] = np.repeat(np.arange(len(cut)), lengths)
        self._value_worths[own] = np.repeat(self.worths[attribute][cut], lengths)

    def table(self, pair: tuple[int, int], k: int, price: float = 0.0) -> Values:
        """The gains of all pairs of groups of two attributes."""
        p, q = pair
        starts, margins, cells = self.classes(pair, k)
        terms = np.array([k, price, self._square], dtype=float)
        made: Values = pair_table(
            starts, margins, cells, self.spans[p], self.worths[p], self.spans[q], self.worths[q], terms
        )
        return made

    def rows(self, pair: tuple[int, int], k: int) -> Values:
        """The rows that all pairs of groups of two attributes keep."""
        p, q = pair
        starts, margins, cells = self.classes(pair, k)
        nothing, other = np.zeros(len(self.spans[p])), np.zeros(len(self.spans[q]))
        terms = np.array([k, 1.0, 0.0])
        made: Values = pair_table(
            starts, np.zeros_like(margins), cells, self.spans[p], nothing, self.spans[q], other, terms
        )
        return made

    def sum_of(self, pair: tuple[int, int], table: Values) -> float:
        """The sum of a table over the groups that two attributes have."""
        return float(table[np.ix_(self.all_cuts[pair[0]], self.all_cuts[pair[1]])].sum())

    def best(self, pair: tuple[int, int], table: Values, floor: float | None = None) -> tuple[Ints, Ints] | None:
        """The cuts of two attributes with the largest sum of a table, if above a floor; None is what they have."""
        least = self.sum_of(pair, table) if floor is None else floor
        cut, other, _ = best_pair(table, self.spans[pair[0]], self.spans[pair[1]], least, _MOST_PREFIXES)
        return (cut, other) if len(cut) else None

    def classes(self, pair: tuple[int, int], k: int) -> tuple[Ints, NDArray[np.float64], Ints]:
        """What `classes_without` says of a pair; margins with what a row saves in every group."""
        starts, margins, cells = classes_without(
            self._codes, self._tallies, self._offsets, self._numbers, self._value_worths, np.array(pair), k
        )
        return starts, margins + self._flat, cells


def _prices(instance: StringInstance) -> tuple[float, float]:
    """What a row costs at most, and the largest price of which sums stay exact."""
    most = instance.most / instance.unit
    return np.ceil(most / instance.n_rows), np.floor(min(most, _LARGEST_GAIN / instance.n_rows))


def _whole(spans: Ints) -> int:
    """The place of the group of all values."""
    return int(np.flatnonzero((spans[:, 0] == 0) & (spans[:, 1] == spans[-1, 1]))[0])
