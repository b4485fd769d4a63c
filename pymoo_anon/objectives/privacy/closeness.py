"""Privacy by the distance of a class's values from the table's."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon._messages import examples, repeated
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.sums import LOG_2, add, add_pairs, divide_pairs, log_of, logs_up_to, subtract_pairs
from pymoo_anon.objectives.base import ColumnObjective
from pymoo_anon.objectives.bounds import Shares, WorstShare
from pymoo_anon.objectives.privacy.identity import WorstClassObjective
from pymoo_anon.objectives.recount import MISSING, Recount, Recounted, values_of
from pymoo_anon.table.domain_values import is_number, same_as
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints

# A recount lays out so many counts of values in classes at a time.
_MOST_COUNTS = 1 << 20


class _FromTable(WorstClassObjective, ColumnObjective):
    """A distance of a class's values from the table's."""

    maximize = False

    def _compared(self, classes: EquivalenceClasses) -> tuple[Any, ...]:
        counts, tuples = self._counts(classes), classes.tuples
        totals = tuples.totals(self.column)
        return classes.sizes, counts.starts, counts.values, counts.counts, totals, tuples.n_rows


class TCloseness(_FromTable):
    """t: greatest earth mover's distance of a kept class's values from the table's.

    Li, Li and Venkatasubramanian 2007, with the distribution of the table that was given. From 0 to 1; lower is better.

    Formula:
        max EMD(p, q), E a kept class, p and q the shares of the values in it and in the table;
        for "equal" EMD = Σ |p(s) - q(s)| / 2

    Args:
        column: Name of the sensitive column.
        distance: The distance of two values, from 0 to 1. "equal": 1 where they differ. "ordered": the number of steps
            between them among the numbers or dates that occur, over all steps. All values in their order: the steps in
            it. A `Hierarchy` of the values, which ends in one group: the level at which both are in one group, over its
            length.

    Raises:
        ValueError: `distance` is none of these.
    """

    short = "t"
    words = "distance of sensitive values"
    shown = ("distance",)
    step = 0.001
    bounding = WorstShare
    limits = (0, 1)

    def __init__(self, column: str, distance: str | Sequence[Hashable] | Hierarchy = "equal") -> None:
        super().__init__(column)
        self.distance: Any = distance
        if isinstance(distance, Hierarchy):
            if not distance.has_root:
                raise ValueError(
                    f"the hierarchy of {column!r} must end in one group, so that every two values have a distance; "
                    "Hierarchy.with_root() adds a level '*'"
                )
        elif isinstance(distance, Sequence) and not isinstance(distance, str):
            self.distance = tuple(distance)
            if twice := repeated(map(same_as, distance)):
                raise ValueError(f"distance must list every value once, got more than once: {examples(twice)}")
        elif not isinstance(distance, str) or distance not in ("equal", "ordered"):
            raise ValueError(
                f"distance must be 'equal', 'ordered', all values in their order or a Hierarchy, got {distance!r}"
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        """t, ordered t or hierarchical t."""
        joint = "joint " if self.joint else ""
        if isinstance(self.distance, Hierarchy):
            return f"{joint}hierarchical t"
        return f"{joint}t" if self.distance == "equal" else f"{joint}ordered t"

    def check(self, table: Microdata) -> None:
        super().check(table)
        values = table.domain_of(self.column)
        if self.distance == "ordered":
            # Days are not comparable with times.
            of_dates = isinstance(values[0], date) and len(set(map(type, values))) == 1
            if not all(map(is_number, values)) and not of_dates:
                raise ValueError(
                    f"distance='ordered' needs numbers or dates in column {self.column!r}, got {examples(values)}; "
                    "give distance all values in their order"
                )
        elif not isinstance(self.distance, str):
            places = self._places(values)
            if unknown := [value for value, place in zip(values, places, strict=True) if place < 0]:
                told = f"{examples(getattr(self.distance, 'domain', self.distance))} without {examples(unknown)}"
                raise ValueError(f"distance must have all values of column {self.column!r}, got {told}")

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        own, (levels, n_places) = self._compared(classes), self.scale(classes.tuples)
        if n_places:
            return _distances_in_order(*own, levels[0], n_places)
        return _distances_in_tree(*own, levels)

    def scale(self, tuples: DistinctTuples) -> tuple[Ints, int]:
        """Return the places of the values in a tree or an order.

        Returns:
            (n_levels, n_values) int64 array, the group of every value at each level of the tree below its root, and 0;
            or (1, n_values) int64 array, the place of every value in the order, and the number of its places.
        """
        totals = tuples.totals(self.column)
        if self.distance == "equal":
            return np.arange(len(totals))[np.newaxis], 0
        places = self._places(tuples.domains[self.column])
        if isinstance(self.distance, Hierarchy):
            # Up to the level below the root; a hierarchy of the root alone has that.
            return np.ascontiguousarray(self.distance.groups[: max(self.distance.length, 1), places]), 0
        if isinstance(self.distance, tuple):
            return places[np.newaxis], len(self.distance)
        # A quasi-identifier's domain stands in any order, and has values that nobody has.
        ascending, held = np.argsort(places), np.zeros((1, len(totals)), dtype=np.int64)
        held[0, ascending] = np.maximum(np.cumsum(totals[ascending] > 0) - 1, 0)
        return held, int(np.count_nonzero(totals))

    def _places(self, values: tuple[Any, ...]) -> Ints:
        order = self.distance if isinstance(self.distance, tuple) else ()
        return _places_in_order(self.distance, values, tuple(map(type, (*values, *order))))

    def shares(self, classes: EquivalenceClasses) -> Shares:
        """Bound the share of the surplus in a class by t."""
        ones = np.ones(len(classes.sizes))
        if self.distance == "equal":
            # The distance is the surplus of the values that are too frequent, or the lack of the others.
            held, offsets, present = _surpluses(*self._compared(classes))
            floors = 1 - present
        else:
            # A class is a mixture of the tuples left and the tuples gone, and nothing is farther away than 1.
            held, offsets, floors = self.of_classes(classes) * classes.sizes, 0 * ones, 0 * ones
        return Shares(held, np.arange(len(ones) + 1), offsets, ones, ones, floors)

    def recount(self, recount: Recount) -> Recounted:
        pairs, whole = recount.shares(self.column), recount.whole(self.column)
        if self.distance == "equal":
            # Half of all differences: of the values in the class, and all rows with values that it lacks.
            differs = (pairs.n * pairs.rows - pairs["size"] * pairs.whole).abs().groupby(pairs.cell).sum()
            sums = pairs.groupby("cell").agg({"size": "first", "rows": "first", "whole": "sum"})
            moved = (differs + sums["size"] * (sums.rows - sums.whole)) // 2
            return _greatest(moved, sums["size"] * sums.rows)
        # Some classes at a time: a table of all classes and values may not fit into memory.
        some = pairs.cell // max(_MOST_COUNTS // len(whole), 1)
        return max(self._farthest(own, whole) for _, own in pairs.groupby(some))

    def _farthest(self, pairs: pd.DataFrame, whole: pd.Series[int]) -> Fraction:
        held = pairs.pivot_table(index="cell", columns="value", values="n").reindex(columns=whole.index).fillna(0)
        sizes, rows = pairs.groupby("cell")["size"].first(), int(whole.sum())
        # The surplus of each value in each class, times its size and the rows.
        extra = held.astype("int64") * rows - np.outer(sizes, whole)
        if isinstance(self.distance, Hierarchy):
            moved, steps = _moved_in_tree(extra, self.distance), self.distance.length
        else:
            order = sorted(extra.columns) if isinstance(self.distance, str) else values_of(self.distance)
            moved = extra.reindex(columns=order, fill_value=0).cumsum(axis=1).abs().sum(axis=1)
            steps = len(order) - 1
        return _greatest(moved, sizes * rows) / max(steps, 1)

    def __repr__(self) -> str:
        return f"TCloseness({self.column!r}{'' if self.distance == 'equal' else f', {self.distance!r}'})"


class BasicBetaLikeness(_FromTable):
    """beta: greatest relative gain (p - q) / q of a value in a kept class.

    p is the share of the sensitive value in the class, q that in the table (Cao and Karras 2012, section 3). From 0 up;
    lower is better.

    Formula:
        max (p(s) - q(s)) / q(s), E a kept class, at least 0

    Args:
        column: Name of the sensitive column.
    """

    name = "beta"
    short = "beta"
    words = "relative gain of a sensitive value"
    step = 0.01
    bounding = WorstShare

    _enhanced = False

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        return _gains(*self._compared(classes), self._enhanced)

    def shares(self, classes: EquivalenceClasses) -> Shares:
        """Bound the share of each value by q + q beta."""
        own, tuples = self._counts(classes), classes.tuples
        shares = tuples.totals(self.column)[own.values] / tuples.n_rows
        caps = shares * (1 - np.log(shares)) if self._enhanced else np.ones(len(shares))
        # The values left in a part have to take over the share of the others.
        present = np.add.reduceat(shares, own.starts[:-1])
        return Shares(own.counts.astype(float), own.starts, shares, shares, caps, 1 / present - 1)

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        totals = tuples.totals(self.column)
        rarest = totals[totals > 0].min()
        return 0, (tuples.n_rows - rarest) / rarest

    def recount(self, recount: Recount) -> Recounted:
        shares = recount.shares(self.column)
        return max(_ratio(shares, (shares.p / shares.q).argmax()) - 1, Fraction(0))


class EnhancedBetaLikeness(BasicBetaLikeness):
    """Enhanced beta: smallest beta with no gain above min(beta, -ln q).

    The limit of -ln q holds down the gains of frequent values (Cao and Karras 2012, section 3). Infinite where one
    exceeds that, which no beta makes good. From 0 up; lower is better. As an objective it is for the algorithms of this
    package, as pymoo's own sort infinite values wrongly; as a constraint it is for all.

    Formula:
        max (p(s) - q(s)) / q(s), E a kept class; ∞ where one exceeds -ln q(s)

    Args:
        column: Name of the sensitive column.
    """

    name = "enhanced beta"
    short = "enhanced-beta"

    _enhanced = True

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 0, np.inf

    def recount(self, recount: Recount) -> Recounted:
        shares = recount.shares(self.column)
        gain = ((shares.p - shares.q) / shares.q).clip(lower=0)
        return np.inf if (gain > -np.log(shares.q)).any() else super().recount(recount)


class DeltaDisclosure(_FromTable):
    """delta: greatest |log2(p / q)| of a sensitive value in a kept class.

    p is the share of the value in the class, q that in the table (Brickell and Shmatikov 2008, section 3). From 0 up;
    lower is better. Merging classes may raise it.

    Formula:
        max |log2(p(s) / q(s))|, E a kept class

    Args:
        column: Name of the sensitive column.
        strict: Whether a value that a class lacks makes delta infinite, as the definition has it; infinite values are
            as for `EnhancedBetaLikeness`. Otherwise such values are passed over, as other tools do.
    """

    name = "delta"
    short = "delta"
    words = "disclosure of sensitive values"
    shown = ("strict",)
    step = 0.01

    def __init__(self, column: str, strict: bool = False) -> None:
        super().__init__(column)
        self.strict = strict

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        delta: Floats = _disclosures(*self._compared(classes), logs_up_to(classes.n_rows))
        if self.strict:
            n_values = np.count_nonzero(classes.tuples.totals(self.column))
            delta[np.diff(self._counts(classes).starts) < n_values] = np.inf
        return delta

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        # A little more, so that its rounding refuses nothing.
        return 0, np.inf if self.strict else float(np.log2(tuples.n_rows)) * (1 + 1e-12)

    def recount(self, recount: Recount) -> Recounted:
        shares = recount.shares(self.column)
        n_values = (recount.whole(self.column) > 0).sum()
        if self.strict and (shares.groupby("cell").value.nunique() < n_values).any():
            return np.inf
        ratio = _ratio(shares, pd.Series(np.log(shares.p / shares.q)).abs().argmax())
        return abs(recount.logarithm(ratio)) / Decimal(2).ln()

    def __repr__(self) -> str:
        return f"DeltaDisclosure({self.column!r}{', strict=True' if self.strict else ''})"


@lru_cache(maxsize=64)
def _places_in_order(
    distance: str | tuple[Hashable, ...] | Hierarchy, values: tuple[Any, ...], kinds: tuple[type, ...]
) -> Ints:
    """Return the places of values in an order. `kinds` tell cached answers apart: Python takes True for 1."""
    if isinstance(distance, Hierarchy):
        return distance.encode(values)
    if isinstance(distance, str):
        distance = tuple(sorted(values))
    place = {same_as(value): i for i, value in enumerate(distance)}
    return np.array([place.get(same_as(value), -1) for value in values], dtype=np.int64)


def _greatest(moved: pd.Series[int], whole: pd.Series[int]) -> Fraction:
    return max(map(Fraction, moved.tolist(), whole.tolist()))


def _ratio(shares: pd.DataFrame, row: int | np.integer[Any]) -> Fraction:
    n, size, whole, rows = (int(shares[name].iloc[row]) for name in ("n", "size", "whole", "rows"))
    return Fraction(n * rows, size * whole)


def _moved_in_tree(extra: pd.DataFrame, hierarchy: Hierarchy) -> pd.Series:
    """Return the cost of each class in a hierarchy. A move below a node costs the node's level."""
    values: Any = extra.columns
    places = hierarchy.encode([None if value is MISSING else value for value in values])
    costs = pd.Series(0, index=extra.index)
    below = extra.set_axis(places, axis=1)
    below_groups = hierarchy.groups[0]
    below = below.T.groupby(below_groups[places]).sum().T
    for level in range(1, hierarchy.length + 1):
        # A group of the level below lies in one group of this level.
        parent = pd.Series(hierarchy.groups[level], index=below_groups).groupby(level=0).first()
        above = parent.loc[below.columns].to_numpy()
        surplus = below.clip(lower=0).T.groupby(above).sum().T
        deficit = (-below).clip(lower=0).T.groupby(above).sum().T
        costs += level * np.minimum(surplus, deficit).sum(axis=1)
        below, below_groups = below.T.groupby(above).sum().T, hierarchy.groups[level]
    return costs


@njit()
def _distances_in_tree(sizes, value_starts, values, counts, totals, n_rows, levels):
    """Return the earth mover's distances in a tree.

    A tuple that moves to another value pays 1 / n_levels for every level at which it leaves its group. The surplus of a
    group has to leave it, so the work is the sum of the surpluses of all groups of all levels. Equal distance is a tree
    of one level.
    """
    n_levels, n_values = levels.shape
    expected = np.zeros((n_levels, levels.max() + 1))
    for level in range(n_levels):
        for value in range(n_values):
            expected[level, levels[level, value]] += totals[value]
    distances = np.empty(len(sizes))
    held = np.zeros(expected.shape[1])
    for c in range(len(sizes)):
        high, low = 0.0, 0.0
        own = np.float64(sizes[c])
        for level in range(n_levels):
            for e in range(value_starts[c], value_starts[c + 1]):
                held[levels[level, values[e]]] += counts[e]
            # The surplus of a group has to leave it: half of all differences from level to level.
            for e in range(value_starts[c], value_starts[c + 1]):
                g = levels[level, values[e]]
                if held[g] > 0:
                    surplus = held[g] * n_rows - expected[level, g] * own
                    if surplus > 0:
                        high, low = add(high, low, surplus)
                    held[g] = 0
        distances[c] = (high + low) / (n_levels * (own * n_rows))
    return distances


@njit()
def _distances_in_order(sizes, value_starts, values, counts, totals, n_rows, places, n_places):
    """Return the earth mover's distances in an order.

    The surplus up to a place has to pass it, so the work is the sum over the places of |share of the class up to here
    less share of the table up to here|.
    """
    expected = np.zeros(n_places)
    for value in range(len(places)):
        expected[places[value]] += totals[value]
    distances = np.zeros(len(sizes))
    held = np.zeros(n_places)
    for c in range(len(sizes)):
        own = np.float64(sizes[c])
        for e in range(value_starts[c], value_starts[c + 1]):
            held[places[values[e]]] += counts[e]
        high, low = 0.0, 0.0
        below, expected_below = 0.0, 0.0
        for place in range(n_places - 1):
            below += held[place]
            expected_below += expected[place]
            high, low = add(high, low, abs(below * n_rows - expected_below * own))
        held[:] = 0
        distances[c] = (high + low) / (max(n_places - 1, 1) * (own * n_rows))
    return distances


@njit()
def _surpluses(sizes, value_starts, values, counts, totals, n_rows):
    """Return tuples and expected share of too frequent values by class. The third is that of all values."""
    held, offsets, present = np.zeros(len(sizes)), np.zeros(len(sizes)), np.zeros(len(sizes))
    for c in range(len(sizes)):
        for e in range(value_starts[c], value_starts[c + 1]):
            expected = totals[values[e]] / n_rows
            present[c] += expected
            if counts[e] > expected * sizes[c]:
                held[c] += counts[e]
                offsets[c] += expected
    return held, offsets, present


@njit()
def _gains(sizes, value_starts, values, counts, totals, n_rows, enhanced):
    gains = np.zeros(len(sizes))
    for c in range(len(sizes)):
        own = np.float64(sizes[c])
        for e in range(value_starts[c], value_starts[c + 1]):
            expected = np.float64(totals[values[e]])
            surplus = counts[e] * np.float64(n_rows) - expected * own
            if surplus > 0:
                gain = surplus / (expected * own)
                if enhanced and gain > np.log(n_rows / expected):
                    gain = np.inf
                gains[c] = max(gains[c], gain)
    return gains


@njit()
def _disclosures(sizes, value_starts, values, counts, totals, n_rows, logs):
    disclosures = np.zeros(len(sizes))
    for c in range(len(sizes)):
        own, greatest, most = np.float64(sizes[c]), 1.0, -1
        # The logarithm of the greatest p / q or q / p alone: a third more and a third less than even are then the same.
        for e in range(value_starts[c], value_starts[c + 1]):
            p, q = counts[e] * np.float64(n_rows), totals[values[e]] * own
            ratio = max(p, q) / min(p, q)
            if ratio > greatest:
                greatest, most = ratio, e
        if most >= 0:
            log = add_pairs(log_of(counts[most], logs), log_of(n_rows, logs))
            log = subtract_pairs(log, log_of(totals[values[most]], logs))
            log = subtract_pairs(log, log_of(sizes[c], logs))
            disclosures[c] = abs(divide_pairs(log, LOG_2)[0])
    return disclosures
