"""The nodes of a search over bit strings: classes of the attributes that are fixed, and tables of four others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.strings_instance import LARGEST, StringInstance
from pymoo_anon.algorithms.proofs.strings_tables import fill_table, refine
from pymoo_anon.algorithms.proofs.strings_walk import Walk

Ints = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """What strings are searched for.

    Attributes:
        k: No kept class has fewer rows.
        limit: No more rows are suppressed; the number of rows for no limit.
        price: What a kept row gains in addition, in units. With a limit, loss = most - gain for a string with s rows
            suppressed becomes loss = most + price (rows - s) - gain >= most + price (rows - limit) - gain.
    """

    k: int
    limit: int
    price: float


class StringSpace:
    """The tables of one instance.

    Attributes:
        instance: The instance.
        none: Number of an attribute with one value, which stands where fewer than four are tabled.
    """

    def __init__(self, instance: StringInstance) -> None:
        self.instance = instance
        self.none = instance.n_attributes
        self.sizes = [*instance.sizes.tolist(), 1]
        self.spans = [*instance.spans, np.array([[0, 1]])]
        self.worths = [*instance.worths, np.zeros(1)]
        # By attribute: what is read of one lies together.
        self._codes = [np.ascontiguousarray(own) for own in instance.codes.T] + [
            np.zeros(len(instance.codes), np.int64)
        ]
        self._counts = np.ascontiguousarray(instance.counts)
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

    def need(self, asked: Asked, loss: float, exact: bool) -> float:
        """A string gains more than this, or its loss is not below a given one.

        Args:
            asked: What is searched for.
            loss: A loss, infinite where any string is of interest.
            exact: Whether it is the loss of a string and no other number: gains in exact units are then whole.
        """
        instance = self.instance
        before = asked.price * (instance.n_rows - asked.limit)
        if np.isinf(loss):
            # No string that suppresses few enough rows gains less than nothing.
            return before - 1
        gain = (instance.most - loss) / instance.unit
        if exact and not instance.slack:
            gain = float(np.rint(gain))
        return gain + instance.slack + before

    def least_loss(self, asked: Asked, gain: float) -> float:
        """The loss of a string that gains no more is at least this."""
        instance = self.instance
        least: float = instance.most - (gain - asked.price * (instance.n_rows - asked.limit)) * instance.unit
        return least

    def walk(self, cuts: Mapping[int, Ints], tabled: Sequence[int], asked: Asked) -> Walk | None:
        """A walk over the strings of four attributes below a node; None where the node loses too many rows.

        It walks all four where they and the fixed ones are all that there are, and otherwise the first alone.

        Args:
            cuts: Per fixed attribute its path.
            tabled: Four attributes.
            asked: What is searched for.
        """
        ids, base = np.zeros(len(self._counts), dtype=np.int64), np.zeros(1)
        gone = 0
        for attribute, cut in cuts.items():
            groups, worths = self._groups_of(attribute, cut)
            ids, base, dropped = refine(ids, base, groups, worths, self._counts, asked.k)
            gone += dropped
            if gone > asked.limit:
                return None
        free = set(range(self.none)) - set(cuts) - set(tabled)
        table, shape, spans = self._table(ids, base, tabled, free, asked)
        return Walk(table, shape, spans, 0 if free else 3)

    def n_suppressed(self, cuts: Sequence[Ints], k: int) -> int:
        """Number of rows of a string in classes of fewer than k.

        Args:
            cuts: Per attribute its path.
            k: The fewest rows of a class that is kept.
        """
        ids, base = np.zeros(len(self._counts), dtype=np.int64), np.zeros(1)
        gone = 0
        for attribute, cut in enumerate(cuts):
            groups, worths = self._groups_of(attribute, cut)
            ids, base, dropped = refine(ids, base, groups, worths, self._counts, k)
            gone += dropped
        return gone

    def _groups_of(self, attribute: int, cut: Ints) -> tuple[Ints, Values]:
        """(n_distinct,) int64 array, the group of every distinct tuple in a cut, and what a row saves in each."""
        spans = self.spans[attribute][cut]
        of_value = np.repeat(np.arange(len(cut)), spans[:, 1] - spans[:, 0])
        return of_value[self._codes[attribute]], self.worths[attribute][cut]

    def _table(
        self, ids: Ints, base: Values, tabled: Sequence[int], free: set[int], asked: Asked
    ) -> tuple[Values, Ints, Ints]:
        """The table of four attributes over classes, its shape, and the groups."""
        instance = self.instance
        kept = ids >= 0
        columns = [ids, *(self._codes[attribute] for attribute in tabled), self._counts]
        tuples: Any = np.column_stack([own[kept] for own in columns])
        shape = np.array([[self.sizes[a] for a in tabled], [len(self.spans[a]) for a in tabled]])
        spans = np.concatenate([self.spans[a] for a in tabled])
        worths = np.concatenate([self.worths[a] for a in tabled])
        masses, price, square = self._labels, asked.price, instance.square
        flat = instance.flat + sum(float(self.worths[a].max()) for a in free)
        if free:
            # A projection: see the module of the tables.
            masses = masses.max(axis=0, keepdims=True) if len(masses) else masses
            price, square = price - square * asked.k, 0.0
        prices = np.array([asked.k, flat, price, square])
        table = np.empty(tuple(shape[1]))
        fill_table(tuples, np.ascontiguousarray(masses[:, kept]), base, spans, worths, shape, prices, table)
        return table, shape, spans
