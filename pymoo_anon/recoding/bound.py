"""Lower bound of the loss of every local recoding, by a dual ascent.

A recoding puts every row below one vector of nodes, and a class of k or more rows pays the cost of its vector for each.
This is facility location with lower bounds on the facilities. Its dual gives every row a price such that no vector v
has a set S of k or more rows below it with sum over S of (price - cost of v) > 0. The prices of each class then add up
to at most its loss, and all prices to at most the loss of any recoding.

Prices are feasible after every pass of the ascent, which can stop at any time. A pass proposes greater prices, visits
all vectors as an iceberg cube is computed, and lowers the prices of a set that is paid too much. Lower prices break
nothing that held before, so that one visit to each vector is enough.

Nothing is suppressed here. Otherwise no price could be above what a suppressed row loses, the weights of all
attributes; prices of large k do exceed it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.recoding.trees import RequirementKind, Requirements, Trees, by_first_step, shell_sort
from pymoo_anon.typing import Floats, Ints, Ints32

# A pass proposes to raise prices by this share of the first ones; later passes by less.
_FIRST_STEP, _DECAY, _LEAST_STEP = 0.2, 0.93, 1e-6

# A pass may look at so many items for each one that there is; where there are too many attributes for that, they are
# parted.
_VISIT_LOOKS = 3_000

# Tasks of a visit to all vectors: find the cheapest for each item, lower prices, or measure their excess.
_CHEAPEST, _LOWER, _MEASURE = 0, 1, 2

# So often a set may be paid too much before its prices are cut to the cost of the vector.
_ROUNDS = 40

# Greatest rounding error of a sum that is 0.
_BOUND_ROUNDING = 1e-9


class Items(NamedTuple):
    """Priced items: tuples, or pairs of a tuple and a value."""

    positions: Ints32  # (n_items, n_attributes) int32, as of `Trees`
    rows: Ints  # (n_items,) int64, the rows that an item stands for
    values: Ints  # (n_items,) int64, the value of a pair, counted from 0
    k: int  # The least number of rows of a class, at least `n_values`
    n_values: int  # The least number of distinct values of a class, 0 where it does not matter

    @classmethod
    def of(cls, trees: Trees, k: int) -> Items:
        """Take tuples as items, where classes need k rows."""
        return cls(trees.positions, trees.rows, np.zeros(len(trees.rows), dtype=np.int64), int(k), 0)

    @classmethod
    def readings(cls, trees: Trees, tests: Requirements) -> Iterator[Items]:
        """Yield the items of each requirement. Each alone gives a lower bound.

        Numbers of rows and of distinct values are read. The rest of a requirement is not, which can only make a bound
        lower. Where the whole table breaks one, all tuples are one class whatever is required, and k alone is read.
        """
        kept = tests.keeps_whole(trees.rows)
        needed = [_least_values(tests, t) if kept else 1 for t in range(len(tests.kinds))]
        # A class of so many values has as many rows.
        k = max([tests.k, *needed])
        if max(needed, default=1) == 1:
            yield cls.of(trees, k)
        for t, n_values in enumerate(needed):
            if n_values > 1:
                yield cls._pairs(trees, tests, t, k, n_values)

    @classmethod
    def _pairs(cls, trees: Trees, tests: Requirements, t: int, k: int, n_values: int) -> Items:
        """Take the pairs of a tuple and a value that one test reads."""
        tuples = np.repeat(np.arange(len(trees.rows)), np.diff(tests.starts))
        own = (tests.first[t] <= tests.values) & (tests.values < tests.stop[t])
        tuples, values = tuples[own], tests.values[own] - tests.first[t]
        positions = np.ascontiguousarray(trees.positions[tuples])
        return cls(positions, tests.counts[own], values, k, n_values)


def _least_values(tests: Requirements, t: int) -> int:
    """Return the fewest distinct values of a class that holds a requirement.

    A share of the most frequent of n values is at least 1 / n, and exp(entropy) at most n. Where the distance from the
    table is at most t, the values of a class have a share of 1 - t in the table, or some value would gain too much;
    where no share is above 1 + beta times the table's, they have a share of 1 / (1 + beta).
    """
    kind, bound = RequirementKind(int(tests.kinds[t])), float(tests.bounds[t])
    if kind <= RequirementKind.RECURSIVE:
        return max(ceil(bound), 1)
    if kind == RequirementKind.ALPHA:
        return max(ceil(1.0 / bound - _BOUND_ROUNDING), 1)
    if kind == RequirementKind.ORDER or tests.levels[t] > 1:
        return 1
    share = 1.0 - bound if kind == RequirementKind.TREE else 1.0 / (1.0 + bound)
    totals = np.sort(tests.totals[tests.first[t] : tests.stop[t]])[::-1]
    return int(np.searchsorted(np.cumsum(totals), (share - _BOUND_ROUNDING) * tests.n_rows)) + 1


class Visit(NamedTuple):
    """State of a visit to all vectors, allocated once. A depth is an attribute; dear ones come first."""

    attributes: Ints  # (n_attributes,) int64, the attribute of each depth
    # int32, items: all of them in their order, then at each depth those below each node, in the same order.
    members: Ints32
    offsets: Ints  # (n_attributes,) int64, where each depth begins in `members`
    # (n_attributes, room) int32, at each depth the nodes that hold enough of the items at hand and are the smallest to
    # hold theirs; nodes come after those below them.
    nodes: Ints32
    begins: Ints  # (n_attributes, room) int64, where the items of each node begin in `members`
    ends: Ints  # (n_attributes, room) int64, where they end
    n_nodes: Ints  # (n_attributes,) int64, how many nodes each depth has
    turn: Ints  # (n_attributes,) int64, the node of each depth that comes next
    spent: Floats  # (n_attributes + 1,) float, the cost of the nodes chosen before each depth
    touched: Ints32  # (n_nodes,) int32, memory for the nodes of an attribute
    climbing: Ints32  # (2, n_nodes) int32, memory for leaves and how far up each is
    n_below: Ints  # (n_nodes,) int64, items below a node; 0 between steps
    rows_below: Ints  # (n_nodes,) int64, rows; 0 between steps
    place: Ints  # (n_nodes,) int64, where the next item of a node goes; -1 for a node that is not visited
    ranked: Ints32  # (n_items,) int32, memory for items in the order of their prices
    chosen: Ints  # (n_items,) int64, how many rows of each item are in the best set
    seen: Ints  # (n_values,) int64, when each value was seen last
    tally: Ints  # (2,) int64, when that was, and the items that were looked at in this visit
    greatest: Floats  # (1,) float, by how much a set was paid too much, at most

    @classmethod
    def of(cls, trees: Trees, items: Items, attributes: Ints) -> Visit:
        """Allocate visits of some items and attributes."""
        n_items, n_attributes = len(items.rows), len(attributes)
        heights = trees.heights
        lengths = [n_items, *(n_items * int(heights[j]) for j in attributes)]
        widths = np.diff(trees.offsets)
        room, n_nodes = int(widths.max()), len(trees.parent)
        return cls(
            attributes=attributes,
            members=np.empty(sum(lengths), dtype=np.int32),
            offsets=np.cumsum(lengths)[:-1],
            nodes=np.empty((n_attributes, room), dtype=np.int32),
            begins=np.empty((n_attributes, room), dtype=np.int64),
            ends=np.empty((n_attributes, room), dtype=np.int64),
            n_nodes=np.zeros(n_attributes, dtype=np.int64),
            turn=np.zeros(n_attributes, dtype=np.int64),
            spent=np.zeros(n_attributes + 1),
            touched=np.empty(room, dtype=np.int32),
            climbing=np.empty((2, room), dtype=np.int32),
            n_below=np.zeros(n_nodes, dtype=np.int64),
            rows_below=np.zeros(n_nodes, dtype=np.int64),
            place=np.empty(n_nodes, dtype=np.int64),
            ranked=np.empty(n_items, dtype=np.int32),
            chosen=np.empty(n_items, dtype=np.int64),
            seen=np.zeros(int(items.values.max()) + 1, dtype=np.int64),
            tally=np.zeros(2, dtype=np.int64),
            greatest=np.zeros(1),
        )


class Ascent:
    """Lower bound that rises with each pass.

    Where there are too many attributes for a pass, these are parted, each part has prices of its own, and the prices of
    all parts are added up: a recoding of all attributes is one of each part, and loses what these lose together.

    Args:
        trees: The trees and tuples; the costs of nodes are those of the loss.
        items: What is priced.

    Attributes:
        items: As given.
        parts: The parts of the attributes.
        n_passes: How many passes there were.
    """

    def __init__(self, trees: Trees, items: Items) -> None:
        self.items = items
        self.n_passes = 0
        self.parts = Part.parts_of(trees, items, by_first_step(trees))

    @classmethod
    def of(cls, trees: Trees, tests: Requirements) -> Ascent:
        """Begin at the requirement with the highest bound before the first pass."""
        starts = [cls(trees, items) for items in Items.readings(trees, tests)]
        return max(starts, key=lambda one: one.paid)

    @property
    def prices(self) -> Floats:
        """(n_items,) float array: the best prices so far, for a row of each item."""
        total: Floats = np.sum([part.prices for part in self.parts], axis=0)
        return total

    @property
    def paid(self) -> float:
        """Sum of the best prices over all rows."""
        return sum(part.paid for part in self.parts)

    def advance(self) -> None:
        """Run one pass: propose greater prices, then lower those of every overpaid set."""
        self.parts = [after for part in self.parts for after in part.advance()]
        self.n_passes += 1

    def bound(self) -> float:
        """Check the best prices, and return the lower bound that they prove."""
        return sum(part.bound() for part in self.parts)


class Part:
    """Ascent over some of the attributes. `prices` are the best so far, an (n_items,) float array."""

    def __init__(self, trees: Trees, items: Items, attributes: Ints) -> None:
        self._trees, self._items = trees, items
        self._walk = Visit.of(trees, items, attributes)
        self._first = np.full(len(items.rows), np.inf)
        self._step, self._is_new = _FIRST_STEP, True
        # The cheapest vector that could hold a row with others: feasible, and a bound at once.
        self.started = self._visit(_CHEAPEST, self._first)
        self.prices = self._current = self._first

    @classmethod
    def parts_of(cls, trees: Trees, items: Items, attributes: Ints) -> list[Part]:
        """Make one part of all attributes, or several if one would not end."""
        made = cls(trees, items, attributes)
        return [made] if made.started else made._parted()

    def _parted(self) -> list[Part]:
        """Halve the attributes, with dear and cheap ones in both parts."""
        attributes = self._walk.attributes
        halves = attributes[::2], attributes[1::2]
        return [part for half in halves for part in self.parts_of(self._trees, self._items, half)]

    @property
    def paid(self) -> float:
        """Sum of the best prices over all rows."""
        return float(self.prices @ self._items.rows)

    def advance(self) -> list[Part]:
        """Run one pass, and return the parts."""
        proposed = self._current + self._step * self._first
        ended = self._visit(_LOWER, proposed)
        if self._is_new and not ended and len(self._walk.attributes) > 1:
            return [after for part in self._parted() for after in part.advance()]
        self._is_new = False
        self._step = max(self._step * _DECAY, _LEAST_STEP)
        if not ended:
            # Smaller steps end sooner.
            self._current, self._step = self.prices, max(self._step / 2, _LEAST_STEP)
            return [self]
        self._current = proposed
        if proposed @ self._items.rows > self.paid:
            self.prices = proposed
        return [self]

    def bound(self) -> float:
        """Check the best prices, and return the lower bound that they prove.

        The check visits all vectors and lowers no price. If some set S is paid e too much, prices that are lower by e /
        k are feasible, since S has k rows or more. Where the check would not end there is no bound.
        """
        if not self._visit(_MEASURE, self.prices):
            return 0.0
        too_much = float(self._walk.greatest[0]) + _BOUND_ROUNDING
        return max(self.paid - too_much * int(self._items.rows.sum()) / self._items.k, 0.0)

    def _visit(self, aim: int, prices: Floats) -> bool:
        """Visit all vectors, and return whether that ended within the budget."""
        self._walk.members[: len(prices)] = np.argsort(-prices, kind="stable")
        self._walk.greatest[0] = self._walk.tally[1] = 0
        limit = _VISIT_LOOKS * len(prices) if len(self._walk.attributes) > 1 else 1 << 62
        return bool(_visit_vectors(aim, self._items, self._trees, self._walk, limit, prices.copy(), prices))


@njit(allocates=False)
def _visit_vectors(aim, items, trees, walk, limit, proposed, prices):
    """Visit all vectors that serve the aim, and return whether that ended.

    Deeper vectors have fewer items and higher costs, and no price exceeds its proposal. So a branch ends where its best
    set is not overpaid at proposed prices, or where it is the cheapest so far for no item.

    Invariant: each depth holds the nodes for the items below those chosen before, and `turn` counts the nodes tried.
    """
    deepest = len(walk.attributes) - 1
    depth = np.int64(0)
    _list_nodes(depth, np.int64(0), np.int64(len(items.rows)), items, trees, walk)
    while depth >= 0 and walk.tally[1] < limit:
        turn = walk.turn[depth]
        if turn == walk.n_nodes[depth]:
            depth -= 1
            continue
        walk.turn[depth] += 1
        a, b = walk.begins[depth, turn], walk.ends[depth, turn]
        spent = walk.spent[depth] + trees.costs[walk.nodes[depth, turn]]
        excess = 0.0
        if aim != _CHEAPEST:
            excess, _ = _best_set(walk.members, a, b, spent, items, walk, proposed)
        if excess <= 0.0 and not (aim == _CHEAPEST and _is_of_use(a, b, spent, items, walk, prices)):
            continue
        if depth < deepest:
            depth += 1
            walk.spent[depth] = spent
            _list_nodes(depth, a, b, items, trees, walk)
        elif aim == _CHEAPEST:
            for i in range(a, b):
                prices[walk.members[i]] = min(prices[walk.members[i]], spent)
        elif aim == _LOWER:
            _lower_prices(a, b, spent, items, walk, proposed, prices)
        else:
            walk.greatest[0] = max(walk.greatest[0], excess)
    return depth < 0


@kernel
def _is_of_use(a, b, spent, items, walk, best):
    """Return whether a vector is the cheapest so far for some item."""
    cheaper, n_values = False, np.int64(0)
    walk.tally[0] += 1
    for i in range(a, b):
        r = walk.members[i]
        cheaper = cheaper or spent < best[r]
        if n_values < items.n_values and walk.seen[items.values[r]] != walk.tally[0]:
            walk.seen[items.values[r]] = walk.tally[0]
            n_values += 1
        if cheaper and n_values >= items.n_values:
            return True
    return False


@kernel
def _best_set(members, a, b, spent, items, walk, prices):
    """Find the most overpaid set of rows below a vector.

    Members come in the order of their prices, the greatest first. The best row of each of the values with the best rows
    is in the set, then the best of all others until there are k, then all that are worth more than they cost. Returned
    are the sum of price - cost, 0 where there are too few values, and how many members were looked at. `chosen` says
    how many rows of each are in the set.
    """
    lacking, missing = items.n_values, items.k - items.n_values
    total, n = 0.0, np.int64(0)
    walk.tally[0] += 1
    for i in range(a, b):
        r = members[i]
        own, left, taken = prices[r] - spent, items.rows[r], np.int64(0)
        if lacking > 0 and walk.seen[items.values[r]] != walk.tally[0]:
            walk.seen[items.values[r]] = walk.tally[0]
            lacking -= 1
            taken, left = taken + 1, left - 1
        if own > 0.0:
            taken += left
            missing -= left
        elif missing > 0:
            taken += min(left, missing)
            missing -= min(left, missing)
        elif lacking == 0 and taken == 0:
            break
        walk.chosen[n] = taken
        total += taken * own
        n += 1
    if lacking > 0:
        return 0.0, n
    return total, n


@kernel
def _lower_prices(a, b, spent, items, walk, proposed, prices):
    """Lower prices below a vector until no set is overpaid.

    Each time the prices of the best set are moved by the least squares, weighed by rows, that make its sum 0.
    """
    n, ranked = b - a, walk.ranked
    for i in range(n):
        ranked[i] = walk.members[a + i]
    changed = False
    for i in range(n):
        if prices[ranked[i]] != proposed[ranked[i]]:
            changed = True
            break
    for _ in range(_ROUNDS):
        if changed:
            shell_sort(n, ranked, prices, -1)
        excess, n_chosen = _best_set(ranked, np.int64(0), n, spent, items, walk, prices)
        if excess <= 0.0:
            return
        squares = 0.0
        for i in range(n_chosen):
            squares += walk.chosen[i] * (walk.chosen[i] / items.rows[ranked[i]])
        # A little more, since rounding might leave a rest.
        step = excess / squares * (1.0 + 1e-9)
        for i in range(n_chosen):
            prices[ranked[i]] -= step * (walk.chosen[i] / items.rows[ranked[i]])
        changed = True
        if excess <= 1e-11:
            return
    for i in range(n):
        prices[ranked[i]] = min(prices[ranked[i]], spent)


@kernel
def _list_nodes(depth, a, b, items, trees, walk):
    """List the nodes of an attribute with some of the items. These stay in their order."""
    j, members = walk.attributes[depth], walk.members
    walk.tally[1] += b - a
    n_touched = np.int64(0)
    for i in range(a, b):
        r = members[i]
        leaf = trees.leaves[items.positions[r, j]]
        if walk.n_below[leaf] == 0:
            walk.touched[n_touched] = leaf
            n_touched += 1
        walk.n_below[leaf] += 1
        walk.rows_below[leaf] += items.rows[r]
    n_touched = _climb(n_touched, trees, walk)
    for q in range(n_touched):
        walk.place[walk.touched[q]] = np.int64(0)
    for q in range(n_touched):
        # A node is not the smallest one where one below it holds all.
        above = trees.parent[walk.touched[q]]
        if above >= 0 and walk.n_below[above] == walk.n_below[walk.touched[q]]:
            walk.place[above] = np.int64(-1)
    n_nodes, end = np.int64(0), walk.offsets[depth]
    for q in range(n_touched):
        node = walk.touched[q]
        if walk.rows_below[node] < items.k:
            walk.place[node] = np.int64(-1)
        if walk.place[node] == 0:
            walk.place[node], walk.begins[depth, n_nodes] = end, end
            end += walk.n_below[node]
            walk.nodes[depth, n_nodes], walk.ends[depth, n_nodes] = node, end
            n_nodes += 1
        walk.n_below[node], walk.rows_below[node] = np.int64(0), np.int64(0)
    walk.n_nodes[depth], walk.turn[depth] = n_nodes, np.int64(0)
    if n_nodes == 0:
        return
    for i in range(a, b):
        node = trees.leaves[items.positions[members[i], j]]
        while node >= 0:
            place = walk.place[node]
            if place >= 0:
                members[place] = members[i]
                walk.place[node] = place + 1
            node = trees.parent[node]


@kernel
def _climb(n_leaves, trees, walk):
    """Sum the counts of leaves into the nodes above."""
    leaves, at = walk.climbing[0], walk.climbing[1]
    for q in range(n_leaves):
        leaves[q] = at[q] = walk.touched[q]
    n_touched, n_left = n_leaves, n_leaves
    while n_left > 0:
        n_kept = np.int64(0)
        for q in range(n_left):
            above = trees.parent[at[q]]
            if above >= 0:
                if walk.n_below[above] == 0:
                    walk.touched[n_touched] = above
                    n_touched += 1
                walk.n_below[above] += walk.n_below[leaves[q]]
                walk.rows_below[above] += walk.rows_below[leaves[q]]
                leaves[n_kept], at[n_kept] = leaves[q], above
                n_kept += 1
        n_left = n_kept
    return n_touched
