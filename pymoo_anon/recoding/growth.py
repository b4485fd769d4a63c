"""Growth of classes from one tuple by the cheapest next tuple.

For many attributes, where an iceberg cube would not end. The smallest node for a class and one more tuple is the larger
of the node of the class and that of its first tuple and the new one. So what all tuples cost with the first one is
found once, and a step only sums it up. Work is still the square of the number of tuples, so growth is for blocks of few
tuples, and a budget limits the seeds where classes are large.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.recoding.moves import sort_by_cells
from pymoo_anon.recoding.trees import FORBIDDEN, Trees, by_first_step
from pymoo_anon.typing import Bools, Floats, Ints, Ints32

# Seeds have room for so many members in all.
_ROOM = 1 << 22

# A smaller rise of the cost of cells is rounding.
_NOTHING = 1e-12


class Seeds(NamedTuple):
    """Tuples without a class, sorted, and the class that grows."""

    order: Ints  # (n,) int64, the tuples, sorted by their positions
    positions: Ints32  # (n_attributes, n) int32, their positions
    rows: Floats  # (n,) float, their rows
    scores: Floats  # (n,) float, the score of the class that grows from each tuple, infinite for none
    is_taken: Bools  # (n,) Boolean, the tuples that are in the class or in one that is made
    members: Ints  # (n,) int64, the tuples of the class, as places in `order`
    costs: Floats  # (n_attributes,) float, what each cell of the class costs
    reached: Floats  # (n_positions,) float, the cost of the smallest node for the first tuple and each position
    pairs: Floats  # (n_attributes, n) float, the same for each tuple
    joined: Floats  # (n,) float, the cost of the cells of the class with each tuple
    grown: Ints32  # (n, room) int32, the members of the class that grows from each tuple, as far as they have room
    n_grown: Ints  # (n,) int64, their number
    tally: Ints  # (1,) int64, the tuples that were looked at

    @classmethod
    def of(cls, trees: Trees, left: Ints) -> Seeds:
        """Make seeds of some tuples."""
        order, _, _ = sort_by_cells(trees.positions[np.ix_(left, by_first_step(trees))])
        n, n_attributes = len(left), trees.positions.shape[1]
        return cls(
            order=left[order],
            positions=np.ascontiguousarray(trees.positions[left[order]].T),
            rows=trees.rows[left[order]].astype(np.float64),
            scores=np.full(n, np.inf),
            is_taken=np.zeros(n, dtype=np.bool_),
            members=np.empty(n, dtype=np.int64),
            costs=np.empty(n_attributes),
            reached=np.empty(len(trees.leaves)),
            pairs=np.empty((n_attributes, n)),
            joined=np.empty(n),
            grown=np.empty((n, min(n, _ROOM // n)), dtype=np.int32),
            n_grown=np.zeros(n, dtype=np.int64),
            tally=np.zeros(1, dtype=np.int64),
        )


def grow(trees: Trees, k: int, price: float = 0.0, budget: int = 1 << 62) -> Ints:
    """Return the class of every tuple that finds one, (n_tuples,) int64.

    A class has k rows, and costs a price beside the loss of its cells, in cells. Tuples of k to 2k rows are one class,
    if they may be. A round that has looked at as many tuples as the budget tries no more seeds. The tuples that are
    left over have -1, and fewer than k rows together, or in each part that must be apart.
    """
    if k <= trees.rows.sum() < 2 * k and trees.costs[trees.offsets[:-1]].sum() < FORBIDDEN:
        return np.zeros(len(trees.rows), dtype=np.int64)
    class_of, n_classes = np.full(len(trees.rows), -1), -1
    while n_classes < (n_classes := class_of.max() + 1) and trees.rows[class_of < 0].sum() >= k:
        seeds = Seeds.of(trees, np.flatnonzero(class_of < 0))
        # By multiples of the golden ratio, the first seeds are spread evenly, however many are tried.
        evenly = np.argsort(np.arange(len(seeds.order)) * 0.6180339887498949 % 1.0, kind="stable")
        _score(evenly, int(k), float(price), int(budget), trees, seeds)
        # Ties by place, which is that of the tuples' positions.
        turns = np.argsort(seeds.scores, kind="stable")[: np.isfinite(seeds.scores).sum()]
        _make(turns, int(k), float(price), int(n_classes), class_of, trees, seeds)
    return class_of


@njit(allocates=False)
def _score(order, k, price, budget, trees, seeds):  # type: ignore[no-untyped-def]
    """Score seeds in order until the budget is used up, and at least one."""
    least = np.inf
    for i in order:
        if least < np.inf and seeds.tally[0] >= budget:
            break
        n, seeds.scores[i] = _grow_seed(i, k, price, trees, seeds)
        least = min(least, seeds.scores[i])
        seeds.n_grown[i] = n
        for m in range(n):
            seeds.is_taken[seeds.members[m]] = False
            if m < seeds.grown.shape[1]:
                seeds.grown[i, m] = seeds.members[m]


@njit(allocates=False)
def _make(turns, k, price, n_classes, class_of, trees, seeds):  # type: ignore[no-untyped-def]
    """Make classes in the order of their scores.

    A seed with a member that is taken by then waits for the next round.
    """
    for i in turns:
        if seeds.is_taken[i]:
            continue
        n, score = seeds.n_grown[i], seeds.scores[i]
        if n > seeds.grown.shape[1]:
            n, score = _grow_seed(i, k, price, trees, seeds)
            for m in range(n):
                seeds.is_taken[seeds.members[m]] = False
        else:
            for m in range(n):
                seeds.members[m] = seeds.grown[i, m]
                if seeds.is_taken[seeds.members[m]]:
                    score = np.inf
                    break
        if score <= seeds.scores[i] + 1e-12 and score < np.inf:
            for m in range(n):
                seeds.is_taken[seeds.members[m]] = True
                class_of[seeds.order[seeds.members[m]]] = n_classes
            n_classes += 1


@kernel
def _grow_seed(i, k, price, trees, seeds):  # type: ignore[no-untyped-def]
    """Grow a class to k rows, and further while its score falls.

    Returns:
        How many members it has, and its score: what its cells cost, and the share of each row of its price. It is
        infinite where there are not enough tuples.
    """
    cost = _pair(i, trees, seeds)
    n, rows = _take(i, np.int64(0), 0.0, seeds)
    while rows < k or price > 0.0:
        need = max(k - rows, 1.0)
        best = _next_tuple(i, cost, need, seeds)
        if best < 0 or seeds.joined[best] >= FORBIDDEN:
            break
        if rows >= k and seeds.joined[best] + price / (rows + seeds.rows[best]) >= cost + price / rows:
            break
        cost = seeds.joined[best]
        n, rows = _take(best, n, rows, seeds)
        _widen_to(best, seeds)
    if rows < k:
        return n, np.inf
    # Tuples below the cells join for nothing.
    for other in range(len(seeds.order)):
        if seeds.joined[other] < cost + _NOTHING and not seeds.is_taken[other]:
            n, rows = _take(other, n, rows, seeds)
    return n, cost + price / rows


@kernel
def _pair(i, trees, seeds):  # type: ignore[no-untyped-def]
    """Begin a class with a tuple, and return what its cells cost."""
    cost, n = 0.0, len(seeds.order)
    seeds.tally[0] += n
    for other in range(n):
        seeds.joined[other] = 0.0
    for j in range(len(seeds.costs)):
        low = np.int64(seeds.positions[j, i])
        node, high = trees.leaves[low], low + 1
        seeds.costs[j] = seeds.reached[low] = trees.costs[node]
        cost += trees.costs[node]
        while trees.parent[node] >= 0:
            node = trees.parent[node]
            for position in range(trees.first[node], low):
                seeds.reached[position] = trees.costs[node]
            for position in range(high, trees.stop[node]):
                seeds.reached[position] = trees.costs[node]
            low, high = trees.first[node], trees.stop[node]
        for other in range(n):
            both = seeds.reached[seeds.positions[j, other]]
            seeds.pairs[j, other] = both
            seeds.joined[other] += both
    return cost


@kernel
def _take(i, n, rows, seeds):  # type: ignore[no-untyped-def]
    """Append a tuple to the class, and return its members and rows."""
    seeds.members[n], seeds.is_taken[i] = i, True
    return n + 1, rows + seeds.rows[i]


@kernel
def _widen_to(i, seeds):  # type: ignore[no-untyped-def]
    """Widen the cells of the class to hold a tuple."""
    for j in range(len(seeds.costs)):
        before, after = seeds.costs[j], seeds.pairs[j, i]
        if after > before:
            seeds.costs[j] = after
            seeds.tally[0] += len(seeds.order) // 16
            for other in range(len(seeds.order)):
                both = seeds.pairs[j, other]
                seeds.joined[other] += max(after, both) - max(before, both)


@kernel
def _next_tuple(start, cost, need, seeds):  # type: ignore[no-untyped-def]
    """Find the tuple that costs least per row still needed, -1 for none.

    Tuples are met in their order, from `start` on and round to it, since near ones agree in dear attributes.
    """
    found, least, n = np.int64(-1), np.inf, len(seeds.order)
    seeds.tally[0] += n // 16
    for turn in range(n):
        i = start + turn if start + turn < n else start + turn - n
        if not seeds.is_taken[i]:
            added = max(seeds.joined[i] - cost, 0.0)
            # A tuple within rounding of the least so far comes too late.
            if added < (least - _NOTHING) * min(seeds.rows[i], need):
                found, least = np.int64(i), added / min(seeds.rows[i], need)
    return found
