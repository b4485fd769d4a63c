"""Tables and walks of a search over bit strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon.proofs.strings.instance import LARGEST, StringInstance
from pymoo_anon.proofs.strings.tables import StringWalk, add_multiplier, fill_table, nested_bound, split_classes
from pymoo_anon.typing import Bools, Floats, Ints

# Cost of filling and bounding a table, in readings of each of its numbers.
_READ = 8

# Factors by which multipliers change: at first, and after a similar part has found one.
_FIRST_STEPS, _STEPS = (2.0, 1.25), (1.4,)


@dataclass(frozen=True)
class Subproblem:
    """Strings of one k within a limit of suppression."""

    k: int  # No kept class has fewer rows
    limit: int  # No more rows are suppressed; the number of rows for no limit
    # Further gain of a kept row, in units. A string of gain G that suppresses s rows then gains G + multiplier (rows -
    # s), at most a bound B. As s is at most the limit, G <= B - multiplier (rows - limit) for every multiplier from 0.
    multiplier: float


class Begun(NamedTuple):
    """Bound and walk of the strings below a node."""

    gain: float  # Upper bound of their gain without the multiplier; -inf if all suppress too many rows
    multiplier: float  # The multiplier of this bound
    walk: StringWalk | None  # None if the strings do not gain enough
    n_read: int  # About the count of numbers of tables that it took


class StringSpace:
    """Tables of one instance."""

    def __init__(self, instance: StringInstance) -> None:
        self.instance = instance
        # Number of an attribute with one value, in the place of a missing one.
        self.none = instance.n_attributes
        self.sizes = [*instance.sizes.tolist(), 1]
        self.spans = [*instance.spans, np.array([[0, 1]])]
        self.worths = [*instance.worths, np.zeros(1)]
        # By attribute, since a table reads one column after the other.
        self._codes = [np.ascontiguousarray(own) for own in instance.codes.T] + [
            np.zeros(len(instance.codes), np.int64)
        ]
        self._counts = np.ascontiguousarray(instance.counts)
        # Free arrays of zeros, by their shape.
        self._zeros: dict[tuple[int, ...], list[Floats]] = {}

    def largest_multiplier(self) -> float:
        """Return the greatest multiplier with exact sums.

        If it fits, a row more than the limit costs more than anything can gain.
        """
        whole = np.ceil(self.instance.most / self.instance.unit) + self.instance.slack + 1
        return float(min(whole, (LARGEST // 2 - whole) // self.instance.n_rows))

    def n_numbers(self, tabled: Sequence[int]) -> int:
        """Return the size of a table."""
        return prod(len(self.spans[attribute]) for attribute in tabled)

    def need(self, loss: float, exact: bool) -> float:
        """Return the gain that smaller losses exceed."""
        if np.isinf(loss):
            return -1.0
        gain = (self.instance.most - loss) / self.instance.unit
        if exact and not self.instance.slack:
            gain = float(np.rint(gain))
        return gain + self.instance.slack

    def least_loss(self, gain: float) -> float:
        """Return the least loss of a gain."""
        return self.instance.most - gain * self.instance.unit

    def walk(self, cuts: Mapping[int, Ints], tabled: Sequence[int], wanted: Subproblem, need: float) -> Begun:
        """Bound the strings below a node and begin a walk."""
        ids, base, gone = self.classes(cuts, wanted.k)
        if gone > wanted.limit:
            return Begun(-np.inf, wanted.multiplier, None, len(ids))
        free = set(range(self.none)) - {*cuts, *tabled}
        table, filled = self.table(ids, base, tabled, free, wanted)
        shape, spans = self._shape(tabled)
        # Every string within the limit keeps at least so many rows.
        fewest = self.instance.n_rows - wanted.limit
        multiplier, gain = wanted.multiplier, nested_bound(table, shape, spans) - wanted.multiplier * fewest
        n_read = len(ids) + _READ * table.size
        if gain <= need:
            self._give(table, filled)
            return Begun(gain, multiplier, None, n_read)
        if not 0 < wanted.limit < self.instance.n_rows:
            return Begun(gain, multiplier, StringWalk(table, filled, shape, spans, 0 if free else 3), n_read)
        rows, changed = self.rows(ids, len(base), tabled, wanted.k), self._take(table.shape)

        def bound(multiplier: float) -> float:
            nonlocal n_read
            n_read += _READ * table.size
            add_multiplier(table, rows, filled, multiplier - wanted.multiplier, changed)
            return nested_bound(changed, shape, spans) - multiplier * fewest

        within = float(np.ceil(self.average_multiplier() / 64)), self.largest_multiplier()
        multiplier, gain = _best_multiplier(bound, (multiplier, gain), within, need, _STEPS if cuts else _FIRST_STEPS)
        add_multiplier(table, rows, filled, multiplier - wanted.multiplier, changed)
        self._give(table, filled)
        if gain <= need:
            self._give(changed, filled)
            self._give(rows, filled)
            return Begun(gain, multiplier, None, n_read)
        if not free and tabled[0] == self.none:
            return Begun(gain, multiplier, StringWalk(changed, filled, shape, spans, 3, rows, fewest), n_read)
        # Every path of the first attribute gets a multiplier of its own.
        self._give(rows, filled)
        return Begun(gain, multiplier, StringWalk(changed, filled, shape, spans, 0), n_read)

    def _shape(self, tabled: Sequence[int]) -> tuple[Ints, Ints]:
        """Return numbers of values and groups, and the groups."""
        shape = np.array([[self.sizes[a] for a in tabled], [len(self.spans[a]) for a in tabled]])
        return shape, np.concatenate([self.spans[a] for a in tabled])

    def take_back(self, walk: StringWalk) -> None:
        """Take back the table of a finished walk."""
        self._give(walk.table, walk.filled)

    def _take(self, shape: tuple[int, ...]) -> Floats:
        # New memory costs more than the work with it.
        try:
            return self._zeros[shape].pop()
        except (KeyError, IndexError):
            return np.zeros(shape)

    def _give(self, table: Floats, filled: Bools) -> None:
        """Take back a table that is zero outside of its filled parts."""
        table[filled] = 0.0
        self._zeros.setdefault(table.shape, []).append(table)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_zeros": {}}

    def average_multiplier(self) -> float:
        """Return the average gain of a row, rounded up."""
        return float(np.ceil(self.instance.most / self.instance.unit / self.instance.n_rows))

    def classes(self, cuts: Mapping[int, Ints], k: int) -> tuple[Ints, Floats, int]:
        """Return ids and gains of classes, and the rows below k."""
        ids, base, gone = np.zeros(len(self._counts), dtype=np.int64), np.zeros(1), 0
        for attribute, cut in cuts.items():
            spans = self.spans[attribute][cut]
            groups = np.repeat(np.arange(len(cut)), spans[:, 1] - spans[:, 0])[self._codes[attribute]]
            ids, base, dropped = split_classes(ids, base, groups, self.worths[attribute][cut], self._counts, k)
            gone += dropped
        return ids, base, gone

    def table(
        self, ids: Ints, base: Floats, tabled: Sequence[int], free: set[int], wanted: Subproblem
    ) -> tuple[Floats, Bools]:
        """Return the table of four attributes."""
        worths = np.concatenate([self.worths[a] for a in tabled])
        # A projection: see the module of the tables.
        most = sum(float(self.worths[a].max()) for a in free)
        return self._filled(ids, base, tabled, worths, wanted.k, most + wanted.multiplier)

    def rows(self, ids: Ints, n_classes: int, tabled: Sequence[int], k: int) -> Floats:
        """Return the rows that every block keeps."""
        worths = np.zeros(sum(len(self.spans[a]) for a in tabled))
        return self._filled(ids, np.zeros(n_classes), tabled, worths, k, 1.0)[0]

    def _filled(
        self, ids: Ints, base: Floats, tabled: Sequence[int], worths: Floats, k: int, saved: float
    ) -> tuple[Floats, Bools]:
        kept = ids >= 0
        columns = [ids, *(self._codes[attribute] for attribute in tabled), self._counts]
        tuples: Any = np.column_stack([own[kept] for own in columns])
        shape, spans = self._shape(tabled)
        table = self._take(tuple(shape[1].tolist()))
        return table, fill_table(tuples, base, spans, worths, shape, float(k), float(saved), table)


def _best_multiplier(
    bound: Callable[[float], float],
    known: tuple[float, float],
    within: tuple[float, float],
    need: float,
    steps: tuple[float, ...],
) -> tuple[float, float]:
    """Return the multiplier of the lowest bound.

    A bound is the greatest of sums that are linear in the multiplier, and so convex in it: the first step that does not
    lower it ends the search in that direction. All multipliers are whole.
    """
    multiplier, lowest = known
    for step in steps:
        for factor in (step, 1 / step):
            while lowest > need:
                tried = float(np.rint(np.clip(multiplier * factor, *within)))
                value = bound(tried) if tried != multiplier else np.inf
                if value >= lowest:
                    break
                multiplier, lowest = tried, value
    return multiplier, lowest
