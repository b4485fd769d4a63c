"""Pair-exact local search of bit strings: two attributes at a time, the others fixed, are given their best cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.strings.instance import StringInstance
from pymoo_anon.algorithms.proofs.strings.pairs import best_pair, classes_without, pair_table

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

    _in_turns(now, better, random_state)
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

    _in_turns(now, better, random_state)
    return now.cuts


def _in_turns(
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
