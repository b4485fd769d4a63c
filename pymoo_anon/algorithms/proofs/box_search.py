"""The search over boxes of a lattice, best bound first: one compiled slice of it."""

from __future__ import annotations

import numpy as np

from pymoo_anon.algorithms.proofs.box_arrays import (
    GROWS,
    IN_DEPTH,
    LEAVES,
    N_FOUND,
    N_HEAP,
    N_STACK,
    PRUNED,
    ROOT,
    SETTLED,
    STEPS,
    WORK,
    K,
    named,
)
from pymoo_anon.algorithms.proofs.box_nodes import floor_of, pack, unpack
from pymoo_anon.algorithms.proofs.clauses import ascend, by_cost, collect, learn, look_up
from pymoo_anon.engine.compiled import njit


@njit(cache=True, nogil=True)
def search(work, slack, *arrays):  # type: ignore[no-untyped-def]
    """Settle boxes until all are, until nodes are found that may be better, or until so much work is done.

    It also stops where the heap is full and may grow. Where it may not, the next box is searched depth first: what is
    settled in it is forgotten, and the box goes back with the least bound that is left, so that memory stays bounded.

    Args:
        work: About how many tuples and clauses may be read.
        slack: What a sum of floats may be too large by.
        arrays: As `named` takes them.

    Returns:
        Whether all boxes are settled for the k that is asked for.
    """
    space, classes, heap, stack, learnt, scratch = named(arrays)
    counts, marks = scratch.counts, scratch.marks
    counts[WORK] = 0
    y, u = scratch.nodes[0], scratch.nodes[1]
    while counts[WORK] < work and counts[N_FOUND] == 0:
        counts[WORK] += len(y)
        if counts[IN_DEPTH] and counts[N_STACK] == 0:
            counts[IN_DEPTH] = 0
            if marks[LEAVES] < np.inf:
                _push(marks[LEAVES], scratch.nodes[2], scratch.nodes[3], heap, space, scratch)
        if counts[IN_DEPTH]:
            bound = _pop_last(y, u, stack, space, scratch)
        else:
            if counts[N_HEAP] == 0 or heap.bounds[0] >= marks[SETTLED]:
                return True
            full = counts[N_HEAP] + 2 * len(y) >= len(heap.bounds)
            if full and counts[GROWS]:
                return False
            bound = _pop_least(y, u, heap, space, scratch)
            if full:
                counts[IN_DEPTH], marks[LEAVES], marks[ROOT] = 1, np.inf, bound
                scratch.nodes[2], scratch.nodes[3] = y, u
        if bound >= marks[SETTLED]:
            marks[LEAVES] = min(marks[LEAVES], bound)
        else:
            counts[STEPS] += 1
            _settle(bound, slack, space, classes, heap, stack, learnt, scratch)
    return False


@njit(cache=True, nogil=True)
def _settle(bound, slack, space, classes, heap, stack, learnt, scratch):  # type: ignore[no-untyped-def]
    """Bound one box again with all that was learnt; put it back, or the parts that it is split into."""
    y, u, order, packed = scratch.nodes[0], scratch.nodes[1], scratch.order[0], scratch.packed[0]
    counts, settled = scratch.counts, scratch.marks[SETTLED]
    pack(y, packed, space)
    while True:
        n = collect(y, u, packed, space, learnt, scratch)
        if n < 0:
            counts[PRUNED] += 1
            return
        floor = floor_of(y, space.least)
        bound = max(bound, floor)
        if bound >= settled:
            _put(bound, y, u, heap, stack, space, scratch)
            return
        if n > 0:
            break
        if look_up(y, space, classes, learnt, scratch) >= counts[K]:
            break
        by_cost(y, space, order)
        learn(y, order, space, classes, learnt, scratch)
        _shuffle(order, counts[STEPS])
        learn(y, order, space, classes, learnt, scratch)
    cost, clause = ascend(y, u, n, settled - floor + slack, space, learnt, scratch)
    base = floor + cost - slack if cost > 0 else floor
    bound = max(bound, base)
    # A lowest node that was found has to be evaluated first: it may settle its own box.
    if bound >= settled or (n == 0 and counts[N_FOUND] > 0):
        _put(bound, y, u, heap, stack, space, scratch)
    else:
        _branch(bound, base, clause, heap, stack, space, learnt, scratch)


@njit(cache=True, nogil=True)
def _branch(bound, base, clause, heap, stack, space, learnt, scratch):  # type: ignore[no-untyped-def]
    """Split a box by the literals of a clause, or by every level above its lowest node, which is done, without one.

    The part of a literal has its level, and lacks the literals that come before it: the cheap ones, so that the dear
    ones have little room.

    Args:
        bound: The bound of the box.
        base: What literals cost on top of.
        clause: Number of the clause, or -1.
        heap: `Boxes`.
        stack: `Boxes`.
        space: `Space`.
        learnt: `Learnt`.
        scratch: `Scratch`; `suffix` holds what levels cost on top.
    """
    y, u, z, order = scratch.nodes[0], scratch.nodes[1], scratch.nodes[5], scratch.order[0]
    highest = scratch.order[1]
    highest[:] = u
    n = 0
    for j in range(len(y)):
        z[j] = y[j] if clause < 0 else np.int64(learnt.levels[clause, j])
        if z[j] < u[j]:
            order[n] = j
            b = n
            while b > 0 and _price(order[b - 1], z, y, space) > _price(order[b], z, y, space):
                order[b - 1], order[b] = order[b], order[b - 1]
                b -= 1
            n += 1
    for a in range(n):
        u[order[a]] = z[order[a]]
    # From the dearest on, so that the cheapest is the last on the stack.
    for a in range(n - 1, -1, -1):
        j = order[a]
        low = y[j]
        u[j], y[j] = highest[j], z[j] + 1
        _put(max(bound, base + scratch.suffix[j, z[j] + 1]), y, u, heap, stack, space, scratch)
        y[j] = low


@njit(cache=True, nogil=True)
def _price(j, z, y, space):  # type: ignore[no-untyped-def]
    """What the literal of an attribute costs."""
    return space.least[j, z[j] + 1] - space.least[j, y[j]]


@njit(cache=True, nogil=True)
def _shuffle(order, seed):  # type: ignore[no-untyped-def]
    """Put attributes into an order that depends on a number."""
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
    for a in range(len(order) - 1, 0, -1):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        b = np.int64((state >> np.uint64(33)) % np.uint64(a + 1))
        order[a], order[b] = order[b], order[a]


@njit(cache=True, nogil=True)
def _put(bound, low, high, heap, stack, space, scratch):  # type: ignore[no-untyped-def]
    """Put a box where it belongs: depth first on the stack, or only its bound where it is settled."""
    if not scratch.counts[IN_DEPTH]:
        _push(bound, low, high, heap, space, scratch)
    elif bound >= scratch.marks[SETTLED]:
        scratch.marks[LEAVES] = min(scratch.marks[LEAVES], bound)
    else:
        place = scratch.counts[N_STACK]
        stack.bounds[place] = bound
        pack(low, stack.low[place], space)
        pack(high, stack.high[place], space)
        scratch.counts[N_STACK] += 1


@njit(cache=True, nogil=True)
def _pop_last(low, high, stack, space, scratch):  # type: ignore[no-untyped-def]
    """Take the last box off the stack; its bound."""
    scratch.counts[N_STACK] -= 1
    place = scratch.counts[N_STACK]
    unpack(stack.low[place], low, space)
    unpack(stack.high[place], high, space)
    return stack.bounds[place]


@njit(cache=True, nogil=True)
def _push(bound, low, high, heap, space, scratch):  # type: ignore[no-untyped-def]
    """Put a box into the heap."""
    place = scratch.counts[N_HEAP]
    scratch.counts[N_HEAP] += 1
    # Invariant: all boxes above `place` are in order, and it is free.
    while place > 0 and heap.bounds[(place - 1) // 2] > bound:
        above = (place - 1) // 2
        _move(above, place, heap)
        place = above
    heap.bounds[place] = bound
    pack(low, heap.low[place], space)
    pack(high, heap.high[place], space)


@njit(cache=True, nogil=True)
def _pop_least(low, high, heap, space, scratch):  # type: ignore[no-untyped-def]
    """Take the box of the least bound out of the heap; its bound."""
    least = heap.bounds[0]
    unpack(heap.low[0], low, space)
    unpack(heap.high[0], high, space)
    scratch.counts[N_HEAP] -= 1
    last = scratch.counts[N_HEAP]
    bound, place = heap.bounds[last], np.int64(0)
    # Invariant: `place` is free, and the last box does not belong above it.
    while 2 * place + 1 < last:
        below = 2 * place + 1
        if below + 1 < last and heap.bounds[below + 1] < heap.bounds[below]:
            below += 1
        if heap.bounds[below] >= bound:
            break
        _move(below, place, heap)
        place = below
    _move(last, place, heap)
    return least


@njit(cache=True, nogil=True)
def _move(source, target, heap):  # type: ignore[no-untyped-def]
    heap.bounds[target] = heap.bounds[source]
    heap.low[target] = heap.low[source]
    heap.high[target] = heap.high[source]
