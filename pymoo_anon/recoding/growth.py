"""Growth of classes from one tuple by the cheapest next tuple.

For many attributes, where an iceberg cube would not end. Cells only widen, so the cost of joining a tuple is a lower
bound for the rest of the growth, and few tuples are compared again. Work is still the square of the number of tuples,
so growth is for blocks of few tuples, and a budget limits the seeds where classes are large.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.compiled import kernel, njit
from pymoo_anon.recoding.moves import sort_by_cells
from pymoo_anon.recoding.trees import FORBIDDEN, Trees, by_first_step, join
from pymoo_anon.typing import Bools, Floats, Ints, Ints32

# Seeds of so many tuples remember what pairs cost, and each has room for so many members in all.
_PAIRED, _ROOM = 1_500, 1 << 22

# A smaller rise of the cost of cells is rounding.
_NOTHING = 1e-12


class Seeds(NamedTuple):
    """Tuples without a class, sorted, and the class that grows."""

    attributes: Ints  # (n_attributes,) int64, in the order in which tuples are sorted and compared
    order: Ints  # (n,) int64, the tuples, sorted by their positions
    scores: Floats  # (n,) float, the score of the class that grows from each tuple, infinite for none
    is_taken: Bools  # (n,) Boolean, the tuples that are in the class or in one that is made
    members: Ints  # (n,) int64, the tuples of the class, as places in `order`
    cells: Ints  # (n_attributes,) int64, the cells of the class
    rest: Floats  # (n_attributes + 1,) float, the cost of the cells from each attribute on
    joined: Floats  # (n,) float, lower bounds of the cost of the cells with each tuple, infinite for taken ones
    pairs: Floats  # (n, n) float, lower bounds of the cost of each two tuples' cells, or (0, 0) for too many tuples
    grown: Ints32  # (n, room) int32, the members of the class that grows from each tuple, as far as they have room
    n_grown: Ints  # (n,) int64, their number
    tally: Ints  # (1,) int64, the tuples that were looked at

    @classmethod
    def of(cls, trees: Trees, left: Ints) -> Seeds:
        """Make seeds of some tuples."""
        attributes = by_first_step(trees)
        order, _, _ = sort_by_cells(trees.positions[np.ix_(left, attributes)])
        n, n_attributes = len(left), len(attributes)
        n_paired = n if n <= _PAIRED else 0
        return cls(
            attributes=attributes,
            order=left[order],
            scores=np.full(n, np.inf),
            is_taken=np.zeros(n, dtype=np.bool_),
            members=np.empty(n, dtype=np.int64),
            cells=np.empty(n_attributes, dtype=np.int64),
            rest=np.zeros(n_attributes + 1),
            joined=np.empty(n),
            pairs=np.zeros((n_paired, n_paired)),
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
        most = int(trees.rows[seeds.order].max())
        # By multiples of the golden ratio, the first seeds are spread evenly, however many are tried.
        evenly = np.argsort(np.arange(len(seeds.order)) * 0.6180339887498949 % 1.0, kind="stable")
        _score(evenly, int(k), most, float(price), int(budget), trees, seeds)
        # Ties by place, which is that of the tuples' positions.
        turns = np.argsort(seeds.scores, kind="stable")[: np.isfinite(seeds.scores).sum()]
        _make(turns, int(k), most, float(price), class_of, trees, seeds)
    return class_of


@njit(allocates=False)
def _score(order, k, most, price, budget, trees, seeds):  # type: ignore[no-untyped-def]
    """Score seeds in order until the budget is used up, and at least one."""
    least = np.inf
    for i in order:
        if least < np.inf and seeds.tally[0] >= budget:
            break
        n, seeds.scores[i] = _grow_seed(i, k, most, price, trees, seeds)
        least = min(least, seeds.scores[i])
        seeds.n_grown[i] = n
        for m in range(n):
            seeds.is_taken[seeds.members[m]] = False
            if m < seeds.grown.shape[1]:
                seeds.grown[i, m] = seeds.members[m]


@njit(allocates=False)
def _make(turns, k, most, price, class_of, trees, seeds):  # type: ignore[no-untyped-def]
    """Make classes in the order of their scores.

    A seed with a member that is taken by then waits for the next round.
    """
    n_classes = np.int64(0)
    for r in range(len(class_of)):
        n_classes = max(n_classes, class_of[r] + 1)
    for i in turns:
        if seeds.is_taken[i]:
            continue
        n, score = seeds.n_grown[i], seeds.scores[i]
        if n > seeds.grown.shape[1]:
            n, score = _grow_seed(i, k, most, price, trees, seeds)
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
def _grow_seed(i, k, most, price, trees, seeds):  # type: ignore[no-untyped-def]
    """Grow a class to k rows, and further while its score falls.

    Returns:
        How many members it has, and its score: what its cells cost, and the share of each row of its price. It is
        infinite where there are not enough tuples.
    """
    r = seeds.order[i]
    for depth in range(len(seeds.attributes)):
        seeds.cells[depth] = trees.leaves[trees.positions[r, seeds.attributes[depth]]]
    paired = len(seeds.pairs) > 0
    for other in range(len(seeds.order)):
        known = seeds.pairs[other, i] if paired else 0.0
        seeds.joined[other] = np.inf if seeds.is_taken[other] else known
    n, rows = _take(i, np.int64(0), np.int64(0), trees, seeds)
    cost = _sum_up(trees, seeds)
    while rows < k or price > 0.0:
        need = max(k - rows, 1)
        best, added = _next_tuple(i, np.float64(min(most, need)), np.float64(need), trees, seeds)
        if paired and n == 1:
            for other in range(len(seeds.order)):
                seeds.pairs[i, other] = seeds.joined[other] if seeds.joined[other] < np.inf else 0.0
        if best < 0:
            break
        r = seeds.order[best]
        widened = cost + added * min(trees.rows[r], need)
        if rows >= k and widened + price / (rows + trees.rows[r]) >= cost + price / rows:
            break
        for depth in range(len(seeds.attributes)):
            position = trees.positions[r, seeds.attributes[depth]]
            seeds.cells[depth] = join(trees, seeds.cells[depth], position)
        n, rows = _take(best, n, rows, trees, seeds)
        cost = _sum_up(trees, seeds)
    if rows < k or cost >= FORBIDDEN:
        return n, np.inf
    # Tuples below the cells join for nothing.
    for other in range(len(seeds.order)):
        if seeds.joined[other] < cost + _NOTHING and _join_cost(other, cost + _NOTHING, trees, seeds) < cost + _NOTHING:
            n, rows = _take(other, n, rows, trees, seeds)
    return n, cost + price / rows


@kernel
def _take(i, n, rows, trees, seeds):  # type: ignore[no-untyped-def]
    """Append a tuple to the class, and return its members and rows."""
    seeds.members[n], seeds.is_taken[i], seeds.joined[i] = i, True, np.inf
    return n + 1, rows + trees.rows[seeds.order[i]]


@kernel
def _sum_up(trees, seeds):  # type: ignore[no-untyped-def]
    last = len(seeds.attributes)
    for step in range(last):
        depth = last - 1 - step
        seeds.rest[depth] = seeds.rest[depth + 1] + trees.costs[seeds.cells[depth]]
    return seeds.rest[0]


@kernel
def _next_tuple(start, most, need, trees, seeds):  # type: ignore[no-untyped-def]
    """Find the tuple that costs least per row still needed.

    Tuples are met in their order, from `start` on and round to it, since near ones agree in dear attributes.

    Returns:
        Its place, -1 for none, and what it adds to the cost of the cells, a row that it brings.
    """
    found, least, n = np.int64(-1), np.inf, len(seeds.order)
    seeds.tally[0] += n // 16
    for turn in range(n):
        i = start + turn if start + turn < n else start + turn - n
        # A tuple within rounding of the least so far comes too late.
        limit = least * most * (1.0 - 1e-12) + seeds.rest[0]
        if seeds.joined[i] < limit and _join_cost(i, limit, trees, seeds) < limit:
            added = max(seeds.joined[i] - seeds.rest[0], 0.0) / min(np.float64(trees.rows[seeds.order[i]]), need)
            if added < least:
                found, least = np.int64(i), added
    return found, least


@kernel
def _join_cost(i, limit, trees, seeds):  # type: ignore[no-untyped-def]
    """Return and store the cost of the cells with a tuple."""
    r, depth, spent = seeds.order[i], 0, 0.0
    seeds.tally[0] += 1
    while depth < len(seeds.attributes) and spent + seeds.rest[depth] < limit:
        spent += trees.costs[join(trees, seeds.cells[depth], trees.positions[r, seeds.attributes[depth]])]
        depth += 1
    seeds.joined[i] = spent + seeds.rest[depth]
    return seeds.joined[i]
