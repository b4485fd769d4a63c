"""Bottom-up recoding: release the cheapest cells that still cover k rows, again and again.

The cells are found as an iceberg cube is computed (Beyer and Ramakrishnan 1999): attribute by attribute and depth
first. A branch narrows the tuples and raises the cost of the cells. It ends where fewer than k rows are left, or where
the cells cost more than the best ones known for each of its tuples. To recode by such a cube is ours.

Among many attributes a cube would not end. There classes grow from one tuple by the cheapest next tuple. The smallest
node for a class and one more tuple is the larger of the node of the class and that of its first tuple and the new one.
So what all tuples cost with the first one is found once, and a step only sums it up. Work is still the square of the
number of tuples, so growth is for blocks of few tuples, and a budget limits the seeds where classes are large.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pymoo_anon.engine.classes import row_ids
from pymoo_anon.engine.compiled import inlined, kernel, njit
from pymoo_anon.recoding.trees import (
    FORBIDDEN,
    Trees,
    by_first_step,
    cells_of_classes,
    join,
    shell_sort,
    sort_by_cells,
)
from pymoo_anon.typing import Bools, Floats, Ints, Ints32

# Limits on the cost of cells, band after band, in mean weights. Cheap classes are released before dear ones are
# counted, and cost less that way, too: a dear class would take tuples from cheap ones.
_BANDS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0)

# Once this part of the tuples is left, each ladder goes on alone, with bands that are wider by its factor.
_LATE, _FACTORS = 1 / 4, (1.0, 1.4)

# A search that has found nothing with this part of its budget gives up if cells still cost less than this part of all:
# each of the many bands to come would take two or three times as long.
_EARLY, _CHEAP = 8, 10

# Seeds have room for so many members in all.
_ROOM = 1 << 22

# A smaller rise of the cost of cells is rounding.
_NOTHING = 1e-12


class Cube(NamedTuple):
    """State of the search, allocated once. A depth is an attribute; attributes with dear nodes come first."""

    attributes: Ints  # (n_attributes,) int64, the attribute of each depth
    positions: Ints32  # (n_attributes, n_tuples) int32, the position of each tuple
    sorted: Ints32  # (n_attributes, n_tuples) int32, at each depth the tuples at hand by position
    sums: Ints  # (n_attributes, n_tuples + 1) int64, the rows of the tuples before each of them
    nodes: Ints  # (n_attributes, room) int64, at each depth the nodes that hold them and are the smallest to do so
    begins: Ints  # (n_attributes, room) int64, where the tuples of each node begin in `sorted`
    ends: Ints  # (n_attributes, room) int64, where they end
    n_nodes: Ints  # (n_attributes,) int64, how many nodes each depth has
    turn: Ints  # (n_attributes,) int64, the node of each depth that comes next
    spent: Floats  # (n_attributes + 1,) float, the cost of the nodes chosen before each depth
    stack: Ints  # (n_nodes, 2) int64, nodes that may hold more tuples, and where they begin
    keys: Ints32  # (2, n_tuples) int32, positions as they come, and sorted
    counts: Ints  # (n_positions + 1,) int64, memory for sorting; 0 between steps
    best: Floats  # (n_tuples,) float, the least score of cells that cover each tuple, at first its limit
    cells: Ints32  # (n_tuples + 1, n_attributes) int32, the best cells of each tuple, and those at hand
    tally: Ints  # (1,) int64, the tuples that were looked at

    @classmethod
    def of(cls, trees: Trees) -> Cube:
        """Allocate a search over all tuples."""
        n_tuples, n_attributes = trees.positions.shape
        widths = np.diff(trees.offsets)
        room = int(min(widths.max(), 2 * n_tuples))
        ints = np.int64
        return cls(
            attributes=by_first_step(trees),
            positions=np.ascontiguousarray(trees.positions.T),
            sorted=np.empty((n_attributes, n_tuples), dtype=np.int32),
            sums=np.zeros((n_attributes, n_tuples + 1), dtype=ints),
            nodes=np.empty((n_attributes, room), dtype=ints),
            begins=np.empty((n_attributes, room), dtype=ints),
            ends=np.empty((n_attributes, room), dtype=ints),
            n_nodes=np.zeros(n_attributes, dtype=ints),
            turn=np.zeros(n_attributes, dtype=ints),
            spent=np.zeros(n_attributes + 1),
            stack=np.empty((int(widths.max()) + 1, 2), dtype=ints),
            keys=np.empty((2, n_tuples), dtype=np.int32),
            counts=np.zeros(int(np.diff(trees.position_offsets).max()) + 1, dtype=ints),
            best=np.empty(n_tuples),
            cells=np.empty((n_tuples + 1, n_attributes), dtype=np.int32),
            tally=np.zeros(1, dtype=ints),
        )


def bottom_up(trees: Trees, k: int, price: float = 0.0, budget: int = 1 << 62) -> tuple[Ints, bool]:
    """Return the classes found, and whether the cube ended within its budget.

    Classes are (n_tuples,) int64, counted from 0. A class costs a price beside the loss of its cells, in cells. Tuples
    without a class have -1: where the search ended, they have fewer than k rows together, or in each part that must be
    apart. The budget is the number of tuples to look at in a ladder, counted at each look. Classes made before it is
    used up stay. The bands of cost begin alike and go on as several ladders; the classes are those of the best.
    """
    cube, scale, class_of = Cube.of(trees), _mean_weight(trees), np.full(len(trees.rows), -1)
    bands = np.array([band for band in _BANDS if band < len(trees.offsets) - 1]) * scale

    def climb(caps: Sequence[float], class_of: Ints, enough: float = 0.0) -> tuple[float, bool]:
        """Release the classes of each band until few enough tuples are left."""
        index, cap = Index.of(trees, class_of), 0.0
        for cap in caps:
            if class_of.max() < 0 and cube.tally[0] > budget // _EARLY and cap < len(cube.attributes) * scale / _CHEAP:
                return cap, False
            n_released = 1
            while n_released > 0 and trees.rows[class_of < 0].sum() >= k and cube.tally[0] < budget:
                limit, left = float(np.nextafter(cap, np.inf)), np.flatnonzero(class_of < 0)
                cube.best[:] = np.where(class_of < 0, limit, -1.0)
                _search_cube(int(k), float(price), limit, left, int(budget), trees, cube)
                index = Index.of(trees, class_of) if 2 * len(left) < index.tuples.shape[1] else index
                cheapest = _candidates(left, limit, trees, cube)
                n_released = _release(cheapest, int(k), float(cap), float(price), index, class_of, trees, cube)
                if cap < np.inf:
                    break  # What this band leaves, the next one finds first.
            if np.count_nonzero(class_of < 0) <= enough:
                break
        return cap, bool(cube.tally[0] < budget or trees.rows[class_of < 0].sum() < k)

    last, ended = climb([*bands, np.inf], class_of, _LATE * len(class_of))
    n_looked, ways = int(cube.tally[0]), list[Ints]()
    for caps in [factor * bands for factor in _FACTORS] if ended else ():
        cube.tally[0], way = n_looked, class_of.copy()
        _, ended = climb([*caps[caps > last], np.inf], way)
        if not ended:
            return (ways[0], True) if ways else (way, False)
        ways.append(way)
    return min(ways or [class_of], key=lambda way: _loss_of_ladder(trees, way, price)), ended


def _loss_of_ladder(trees: Trees, class_of: Ints, price: float) -> float:
    """Return the loss of classes. A tuple without one loses as much as any."""
    n_classes = int(class_of.max()) + 1
    costs = trees.costs[cells_of_classes(trees, class_of, n_classes)].sum(axis=1)
    of_tuples = np.append(costs, costs.max(initial=0.0))[class_of]
    return float((trees.rows * of_tuples).sum() + price * n_classes)


def _candidates(left: Ints, limit: float, trees: Trees, cube: Cube) -> Ints:
    """Return the first tuple of all best cells, by their score."""
    found = left[cube.best[left] < limit]
    _, first = row_ids(cube.cells[found] - trees.offsets[:-1], tuple(np.diff(trees.offsets).tolist()))
    found = found[np.sort(first)]
    return found[np.argsort(cube.best[found], kind="stable")]


@njit(allocates=False)
def _search_cube(k, price, limit, left, budget, trees, cube):
    """Find the cheapest cells that cover k rows, within the budget.

    Invariant: each depth holds the tuples below the nodes chosen before it, and `turn` counts the nodes tried there.
    """
    deepest = len(cube.attributes) - 1
    for i in range(len(left)):
        cube.sorted[deepest, i] = left[i]
    _sort_and_list(0, cube.sorted[deepest], 0, len(left), k, limit, trees, cube)
    depth = 0
    while depth >= 0 and cube.tally[0] < budget:
        turn = cube.turn[depth]
        if turn == cube.n_nodes[depth]:
            depth -= 1
            continue
        cube.turn[depth] += 1
        a, b = cube.begins[depth, turn], cube.ends[depth, turn]
        spent = cube.spent[depth] + trees.costs[cube.nodes[depth, turn]]
        score = spent + price / (cube.sums[depth, b] - cube.sums[depth, a])
        members = cube.sorted[depth]
        if not _is_better(members, a, b, score, cube.best):
            continue
        if depth == deepest:
            _store_cells(a, b, score, cube)
        else:
            depth += 1
            cube.spent[depth] = spent
            _sort_and_list(depth, members, a, b, k, limit, trees, cube)


@inlined
def _is_better(members, a, b, score, best):
    for i in range(a, b):  # noqa: SIM110 (a generator is not compiled)
        if score < best[members[i]]:
            return True
    return False


@inlined
def _store_cells(a, b, score, cube):
    """Store the chosen cells for each tuple that had worse ones."""
    deepest, chosen = len(cube.attributes) - 1, cube.cells[-1]
    for depth in range(deepest + 1):
        chosen[cube.attributes[depth]] = cube.nodes[depth, cube.turn[depth] - 1]
    for i in range(a, b):
        r = cube.sorted[deepest, i]
        if score < cube.best[r]:
            cube.best[r] = score
            for j in range(deepest + 1):
                cube.cells[r, j] = chosen[j]


@inlined
def _sort_and_list(depth, source, a, b, k, limit, trees, cube):
    """Sort the tuples of a branch, and list the nodes of an attribute.

    A node is listed only if it has k rows and costs less than the limit, if no node below it holds the same tuples, and
    after the nodes below it, so that a tuple meets cheap cells first. The stack holds nodes that lie above each other
    and contain the last position; each begins where its first tuple stands.
    """
    n, sums, keys, stack = b - a, cube.sums[depth], cube.keys[1], cube.stack
    own = cube.sorted[depth]
    _sort(source, a, n, cube.positions[cube.attributes[depth]], own, cube)
    cube.tally[0] += n
    cube.turn[depth] = 0
    n_nodes, height = np.int64(0), np.int64(0)
    limit = min(limit - cube.spent[depth], FORBIDDEN)
    for i in range(n + 1):
        if i < n:
            sums[i + 1] = sums[i] + trees.rows[own[i]]
            position = np.int64(keys[i])
            if i > 0 and position == keys[i - 1]:
                continue
        begin, last = np.int64(i), np.int64(-1)
        while height > 0 and (i == n or position >= trees.stop[stack[height - 1, 0]]):
            height -= 1
            last, begin = stack[height, 0], stack[height, 1]
            if sums[i] - sums[begin] >= k and trees.costs[last] < limit:
                cube.nodes[depth, n_nodes], cube.begins[depth, n_nodes], cube.ends[depth, n_nodes] = last, begin, i
                n_nodes += 1
        if i < n:
            if last >= 0:
                above = join(trees, last, position)
                if height == 0 or stack[height - 1, 0] != above:
                    stack[height, 0], stack[height, 1] = above, begin
                    height += 1
            stack[height, 0], stack[height, 1] = trees.leaves[position], i
            height += 1
    cube.n_nodes[depth] = n_nodes


@inlined
def _sort(source, a, n, positions, target, cube):
    """Sort n tuples from `a` on by position. Dense positions are counted, others sorted by Shell's sort."""
    found, keys = cube.keys[0], cube.keys[1]
    low = high = positions[source[a]]
    for i in range(n):
        found[i] = positions[source[a + i]]
        low, high = min(low, found[i]), max(high, found[i])
    if high - low < 2 * n:
        counts = cube.counts
        for i in range(n):
            counts[found[i] - low + 1] += 1
        for p in range(high - low):
            counts[p + 1] += counts[p]
        for i in range(n):
            p = found[i] - low
            target[counts[p]], keys[counts[p]] = source[a + i], found[i]
            counts[p] += 1
        for p in range(high - low + 2):
            counts[p] = 0
        return
    for i in range(n):
        target[i] = source[a + i]
    shell_sort(n, target, positions, 1)
    for i in range(n):
        keys[i] = positions[target[i]]


def _mean_weight(trees: Trees) -> float:
    allowed = np.where(trees.costs < FORBIDDEN, trees.costs, 0.0)
    return float(np.maximum.reduceat(allowed, trees.offsets[:-1]).mean())


class Index(NamedTuple):
    """Tuples that wait or waited when it was made, by position."""

    tuples: Ints  # (n_attributes, n_left) int64, in each attribute's order
    # (n_positions + 1,) int64, how many of these tuples stand before each position, all attributes in a row.
    starts: Ints

    @classmethod
    def of(cls, trees: Trees, class_of: Ints) -> Index:
        """Index the tuples without a class."""
        left = np.flatnonzero(class_of < 0)
        positions = trees.positions[left]
        by_position = [left[np.argsort(own, kind="stable")] for own in positions.T]
        counts = np.bincount(positions.ravel(), minlength=int(trees.position_offsets[-1]))
        return cls(np.array(by_position), np.concatenate([[0], np.cumsum(counts)]))


@njit(allocates=False)
def _release(candidates, k, cap, price, index, class_of, trees, cube):
    """Make a class of the waiting tuples below the best cells of each candidate."""
    n_attributes = trees.positions.shape[1]
    n_classes, members = np.int64(0), cube.sorted[0]
    for r in range(len(class_of)):
        n_classes = max(n_classes, class_of[r] + 1)
    n_released = np.int64(0)
    for v in candidates:
        shortest, fewest = np.int64(0), np.int64(1 << 62)
        spent = 0.0
        for j in range(n_attributes):
            node = cube.cells[v, j]
            spent += trees.costs[node]
            length = index.starts[trees.stop[node]] - index.starts[trees.first[node]]
            if length < fewest:
                shortest, fewest = np.int64(j), length
        begin = index.starts[trees.first[cube.cells[v, shortest]]] - shortest * index.tuples.shape[1]
        # Earlier candidates may have taken tuples.
        n, rows = np.int64(0), np.int64(0)
        for i in range(begin, begin + fewest):
            r = index.tuples[shortest, i]
            if class_of[r] < 0 and _is_below(r, v, trees, cube):
                members[n] = r
                rows += trees.rows[r]
                n += 1
        if rows >= k and spent + price / rows <= cap:
            for i in range(n):
                class_of[members[i]] = n_classes
            n_classes += 1
            n_released += n
    return n_released


@kernel
def _is_below(r, v, trees, cube):
    for j in range(cube.cells.shape[1]):
        node, position = cube.cells[v, j], trees.positions[r, j]
        if position < trees.first[node] or position >= trees.stop[node]:
            return False
    return True


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
def _score(order, k, price, budget, trees, seeds):
    """Score at least one seed, in order, within the budget."""
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
def _make(turns, k, price, n_classes, class_of, trees, seeds):
    """Make classes in the order of their scores. A seed with a taken member waits for the next round."""
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
def _grow_seed(i, k, price, trees, seeds):
    """Grow a class to k rows, and further while its score falls.

    Returned are the number of members and the score: what the cells cost, and the share of each row of the price. It is
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
def _pair(i, trees, seeds):
    """Begin a class with a tuple, and return its cost."""
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
def _take(i, n, rows, seeds):
    """Append a tuple to the class, and return its members and rows."""
    seeds.members[n], seeds.is_taken[i] = i, True
    return n + 1, rows + seeds.rows[i]


@kernel
def _widen_to(i, seeds):
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
def _next_tuple(start, cost, need, seeds):
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
