"""The nodes of a search over bit strings: classes of the attributes that are fixed, and tables of four others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.arrays import Ints, Values
from pymoo_anon.proofs.strings.instance import LARGEST, StringInstance
from pymoo_anon.proofs.strings.tables import Walk, add_price, fill_table, nested_bound, refine

# What filling and bounding a table takes, in readings of each of its numbers.
_READ = 8

# Prices are changed by such factors: at first, and where a similar part has found one.
_FIRST_STEPS, _STEPS = (2.0, 1.25), (1.4,)


@dataclass(frozen=True)
class Asked:
    """What strings are searched for."""

    k: int  # No kept class has fewer rows
    limit: int  # No more rows are suppressed; the number of rows for no limit
    # What a kept row gains in addition, in units. A string that suppresses s rows then gains G + price (rows - s), and
    # no more than B where B bounds gains with the price. As s is at most the limit, it follows that G <= B - price
    # (rows - limit), for every price that is not negative.
    price: float


class Begun(NamedTuple):
    """What was found out of the strings below a node."""

    gain: float  # None gains more, but for the price; minus infinity where none suppresses few enough rows
    price: float  # The price that says so
    walk: Walk | None  # What divides them, or None where they gain no more than is needed
    n_read: int  # About how many numbers of tables it took


class StringSpace:
    """The tables of one instance."""

    def __init__(self, instance: StringInstance) -> None:
        self.instance = instance
        # An attribute with one value, which stands where fewer than four are tabled.
        self.none = instance.n_attributes
        self.sizes = [*instance.sizes.tolist(), 1]
        self.spans = [*instance.spans, np.array([[0, 1]])]
        self.worths = [*instance.worths, np.zeros(1)]
        # By attribute: what is read of one lies together.
        self._codes = [np.ascontiguousarray(own) for own in instance.codes.T] + [
            np.zeros(len(instance.codes), np.int64)
        ]
        self._counts = np.ascontiguousarray(instance.counts)
        # Arrays of zeros, by their shape, that no walk needs.
        self._zeros: dict[tuple[int, ...], list[Values]] = {}
        self._labels = np.zeros((0, len(self._counts)), dtype=np.int64)
        if instance.labels is not None:
            self._labels = np.ascontiguousarray(instance.labels.T)

    def largest_price(self) -> float:
        """The greatest price with which all sums are exact; beyond the loss of everything if that fits.

        One row more than the limit then costs more than anything can gain.
        """
        whole = np.ceil(self.instance.most / self.instance.unit) + self.instance.slack + 1
        return float(min(whole, (LARGEST // 2 - whole) // self.instance.n_rows))

    def n_numbers(self, tabled: Sequence[int]) -> int:
        """How many numbers the table of four attributes holds."""
        return prod(len(self.spans[attribute]) for attribute in tabled)

    def need(self, loss: float, exact: bool) -> float:
        """A string gains more than this, or its loss is not below a given one."""
        if np.isinf(loss):
            return -1.0
        gain = (self.instance.most - loss) / self.instance.unit
        if exact and not self.instance.slack:
            gain = float(np.rint(gain))
        return gain + self.instance.slack

    def least_loss(self, gain: float) -> float:
        """The loss of a string that gains no more is at least this."""
        return self.instance.most - gain * self.instance.unit

    def walk(self, cuts: Mapping[int, Ints], tabled: Sequence[int], asked: Asked, need: float) -> Begun:
        """What strings below a node gain at most, the price that says so, and a walk over four attributes if any."""
        ids, base, gone = self.classes(cuts, asked.k)
        if gone > asked.limit:
            return Begun(-np.inf, asked.price, None, len(ids))
        free = self._free(cuts, tabled)
        table, filled = self.table(ids, base, tabled, free, asked)
        shape, spans = self._shape(tabled)
        # Every string within the limit keeps so many rows, and gains their price.
        fewest = self.instance.n_rows - asked.limit
        price, gain = asked.price, nested_bound(table, shape, spans) - asked.price * fewest
        n_read = len(ids) + _READ * table.size
        if gain <= need:
            self._give(table, filled)
            return Begun(gain, price, None, n_read)
        if not 0 < asked.limit < self.instance.n_rows:
            return Begun(gain, price, Walk(table, filled, shape, spans, 0 if free else 3), n_read)
        rows = self.rows(ids, len(base), tabled, asked.k)
        changed = self._take(table.shape)

        def bound(price: float) -> float:
            nonlocal n_read
            n_read += _READ * table.size
            add_price(table, rows, filled, price - asked.price, changed)
            return nested_bound(changed, shape, spans) - price * fewest

        within = float(np.ceil(self.average_price() / 64)), self.largest_price()
        price, gain = _best_price(bound, (price, gain), within, need, _STEPS if cuts else _FIRST_STEPS)
        add_price(table, rows, filled, price - asked.price, changed)
        self._give(table, filled)
        if gain <= need:
            self._give(changed, filled)
            self._give(rows, filled)
            return Begun(gain, price, None, n_read)
        return Begun(gain, price, self._limited(changed, rows, filled, tabled, free, asked.limit), n_read)

    def walk_again(self, cuts: Mapping[int, Ints], tabled: Sequence[int], asked: Asked) -> Walk:
        """The walk that `walk` ended with, at the price that it gave: sums are exact at every price."""
        ids, base, _ = self.classes(cuts, asked.k)
        free = self._free(cuts, tabled)
        table, filled = self.table(ids, base, tabled, free, asked)
        if not 0 < asked.limit < self.instance.n_rows:
            return Walk(table, filled, *self._shape(tabled), 0 if free else 3)
        rows = self.rows(ids, len(base), tabled, asked.k)
        return self._limited(table, rows, filled, tabled, free, asked.limit)

    def _limited(
        self, table: Values, rows: Values, filled: NDArray[np.bool_], tabled: Sequence[int], free: set[int], limit: int
    ) -> Walk:
        """A walk under a limit: over all four attributes only where the first is none.

        So every path of the first gets a price of its own.
        """
        shape, spans = self._shape(tabled)
        if free or tabled[0] != self.none:
            self._give(rows, filled)
            return Walk(table, filled, shape, spans, 0)
        walk = Walk(table, filled, shape, spans, 3)
        walk.keep_rows(rows, self.instance.n_rows - limit)
        return walk

    def _free(self, cuts: Mapping[int, Ints], tabled: Sequence[int]) -> set[int]:
        """The attributes that are neither fixed nor tabled."""
        return set(range(self.none)) - {*cuts, *tabled}

    def _shape(self, tabled: Sequence[int]) -> tuple[Ints, Ints]:
        """(2, 4) int64 array: values and groups of four attributes; and their groups, one after the other."""
        shape = np.array([[self.sizes[a] for a in tabled], [len(self.spans[a]) for a in tabled]])
        return shape, np.concatenate([self.spans[a] for a in tabled])

    def release(self, walk: Walk) -> None:
        """Take back the table of a walk that has come to its end."""
        self._give(walk.table, walk.filled)

    def _take(self, shape: tuple[int, ...]) -> Values:
        """An array of zeros. Those that were given back come first: new memory costs more than what is done with it."""
        try:
            return self._zeros[shape].pop()
        except (KeyError, IndexError):
            return np.zeros(shape)

    def _give(self, table: Values, filled: NDArray[np.bool_]) -> None:
        """Take back a table of which only some parts are not zero."""
        table[filled] = 0.0
        self._zeros.setdefault(table.shape, []).append(table)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_zeros": {}}

    def average_price(self) -> float:
        """What a row gains on average where nothing is lost, in whole units."""
        return float(np.ceil(self.instance.most / self.instance.unit / self.instance.n_rows))

    def classes(self, cuts: Mapping[int, Ints], k: int) -> tuple[Ints, Values, int]:
        """The class of every distinct tuple or -1, what a row saves in each class, and the rows of those below k."""
        ids, base, gone = np.zeros(len(self._counts), dtype=np.int64), np.zeros(1), 0
        for attribute, cut in cuts.items():
            spans = self.spans[attribute][cut]
            groups = np.repeat(np.arange(len(cut)), spans[:, 1] - spans[:, 0])[self._codes[attribute]]
            ids, base, dropped = refine(ids, base, groups, self.worths[attribute][cut], self._counts, k)
            gone += dropped
        return ids, base, gone

    def table(
        self, ids: Ints, base: Values, tabled: Sequence[int], free: set[int], asked: Asked
    ) -> tuple[Values, NDArray[np.bool_]]:
        """The table of four attributes over classes, and which groups of the first have anything in it."""
        instance = self.instance
        worths = np.concatenate([self.worths[a] for a in tabled])
        masses, price, square = self._labels, asked.price, instance.square
        flat = instance.flat + sum(float(self.worths[a].max()) for a in free)
        if free:
            # A projection: see the module of the tables.
            masses = masses.max(axis=0, keepdims=True) if len(masses) else masses
            price, square = price - square * asked.k, 0.0
        prices = np.array([asked.k, flat, price, square])
        return self._filled(ids, base, tabled, worths, masses, prices)

    def rows(self, ids: Ints, n_classes: int, tabled: Sequence[int], k: int) -> Values:
        """The rows that every box of four attributes keeps: what it gains where a row gains 1."""
        worths = np.zeros(sum(len(self.spans[a]) for a in tabled))
        prices = np.array([k, 1.0, 0.0, 0.0])
        return self._filled(ids, np.zeros(n_classes), tabled, worths, self._labels[:0], prices)[0]

    def _filled(
        self, ids: Ints, base: Values, tabled: Sequence[int], worths: Values, masses: Ints, prices: Values
    ) -> tuple[Values, NDArray[np.bool_]]:
        """A table of four attributes over classes, and which groups of the first have anything in it."""
        kept = ids >= 0
        columns = [ids, *(self._codes[attribute] for attribute in tabled), self._counts]
        tuples: Any = np.column_stack([own[kept] for own in columns])
        shape, spans = self._shape(tabled)
        table = self._take(tuple(shape[1].tolist()))
        masses = np.ascontiguousarray(masses[:, kept])
        return table, fill_table(tuples, masses, base, spans, worths, shape, prices, table)


def _best_price(
    bound: Callable[[float], float],
    known: tuple[float, float],
    within: tuple[float, float],
    need: float,
    steps: tuple[float, ...],
) -> tuple[float, float]:
    """A price whose bound no step up or down lowers, and that bound.

    A bound is the greatest of sums that are linear in the price, and so convex in it: the first step that does not
    lower it ends the way in that direction. All prices are whole.
    """
    price, lowest = known
    for step in steps:
        for factor in (step, 1 / step):
            while lowest > need:
                tried = float(np.rint(np.clip(price * factor, *within)))
                value = bound(tried) if tried != price else np.inf
                if value >= lowest:
                    break
                price, lowest = tried, value
    return price, lowest
