"""The search over boxes of a lattice, best bound first: one compiled slice of it."""

from __future__ import annotations

import numpy as np

from pymoo_anon.algorithms.proofs.boxes.arrays import (
    A_BOX,
    A_BOX_ABOVE,
    GROWS,
    IN_DEPTH,
    IN_HAND,
    LEAVES,
    N_HEAP,
    N_STACK,
    NOTHING,
    OWN,
    PRUNED,
    ROOT,
    SETTLED,
    STEPS,
    WORK,
    Boxes,
    Clauses,
    Lattice,
    State,
)
from pymoo_anon.algorithms.proofs.boxes.clauses import ascend, collect
from pymoo_anon.algorithms.proofs.boxes.nodes import pack, unpack
from pymoo_anon.engine.compiled import njit

# Where each group ends among all arrays.
_LATTICE = len(Lattice._fields)
_HEAP = _LATTICE + len(Boxes._fields)
_STACK = _HEAP + len(Boxes._fields)
_CLAUSES = _STACK + len(Clauses._fields)

# How a search ends: it has worked enough, all boxes are settled, or the lowest node of the box in hand is wanted.
ENOUGH, ALL_SETTLED, ASKS = range(3)


@njit(cache=True, nogil=True)
def search(work, slack, *arrays):  # type: ignore[no-untyped-def]
    """Settle boxes until all are, until a node has to be evaluated, or until so much work is done.

    It also stops where the heap is full and may grow. Where it may not, the next box is searched depth first: what is
    settled in it is forgotten, and the box goes back with the least bound that is left, so that memory stays bounded.

    Args:
        work: About how many clauses may be read.
        slack: What a sum of floats may be too large by.
        arrays: Those of `Lattice`, of the heap and the stack of `Boxes`, of `Clauses` and of `State`.

    Returns:
        How it ends, by the names above.
    """
    lattice = Lattice(*arrays[:_LATTICE])
    heap, stack = Boxes(*arrays[_LATTICE:_HEAP]), Boxes(*arrays[_HEAP:_STACK])
    clauses, state = Clauses(*arrays[_STACK:_CLAUSES]), State(*arrays[_CLAUSES:])
    counts, marks = state.counts, state.marks
    counts[WORK] = 0
    while counts[WORK] < work:
        counts[WORK] += len(lattice.lengths)
        if counts[IN_HAND] == NOTHING:
            if counts[IN_DEPTH] and counts[N_STACK] == 0:
                counts[IN_DEPTH] = 0
                if marks[LEAVES] < np.inf:
                    _put(marks[LEAVES], state.nodes[2], state.nodes[3], heap, stack, lattice, state)
            if not counts[IN_DEPTH]:
                if counts[N_HEAP] == 0 or heap.bounds[0] >= marks[SETTLED]:
                    return ALL_SETTLED
                if counts[GROWS] and counts[N_HEAP] + 2 * len(lattice.lengths) >= len(heap.bounds):
                    return ENOUGH
            _take(heap, stack, lattice, state)
        n = 0
        if counts[IN_HAND] == A_BOX:
            n = collect(state.nodes[0], state.nodes[1], state.packed[0], lattice, clauses, state)
        if n < 0:
            counts[PRUNED] += 1
            counts[IN_HAND] = NOTHING
        elif _settle(n, slack, heap, stack, lattice, clauses, state):
            counts[IN_HAND] = NOTHING
        else:
            return ASKS
    return ENOUGH


@njit(cache=True, nogil=True)
def _take(heap, stack, lattice, state):  # type: ignore[no-untyped-def]
    """Take the next box in hand, off the stack or out of the heap; where that is full, the box goes depth first."""
    y, u, counts, marks = state.nodes[0], state.nodes[1], state.counts, state.marks
    if counts[IN_DEPTH]:
        counts[N_STACK] -= 1
        unpack(stack.low[counts[N_STACK]], y, lattice)
        unpack(stack.high[counts[N_STACK]], u, lattice)
        marks[OWN] = stack.bounds[counts[N_STACK]]
    else:
        full = counts[N_HEAP] + 2 * len(y) >= len(heap.bounds)
        marks[OWN] = heap.bounds[0]
        unpack(heap.low[0], y, lattice)
        unpack(heap.high[0], u, lattice)
        _drop_least(heap, state)
        if full:
            counts[IN_DEPTH], marks[LEAVES], marks[ROOT] = 1, np.inf, marks[OWN]
            state.nodes[2], state.nodes[3] = y, u
    counts[IN_HAND] = A_BOX
    counts[STEPS] += 1
    pack(y, state.packed[0], lattice)


@njit(cache=True, nogil=True)
def _settle(n, slack, heap, stack, lattice, clauses, state):  # type: ignore[no-untyped-def]
    """Bound the box in hand again; put it back, or the parts that it is split into.

    Args:
        n: How many clauses its lowest node breaks.
        slack: What a sum of floats may be too large by.
        heap: `Boxes`.
        stack: `Boxes`.
        lattice: `Lattice`.
        clauses: `Clauses`.
        state: `State`.

    Returns:
        Whether that is done; else the lowest node has to be evaluated.
    """
    y, u, settled = state.nodes[0], state.nodes[1], state.marks[SETTLED]
    floor = 0.0
    for j in range(len(y)):
        floor += lattice.least[j, y[j]]
    bound = max(state.marks[OWN], floor)
    state.marks[OWN] = bound
    if bound < settled:
        if n == 0 and state.counts[IN_HAND] != A_BOX_ABOVE:
            return False
        cost, clause = ascend(y, u, n, settled - floor + slack, lattice, clauses, state)
        base = floor + cost - slack if cost > 0 else floor
        bound = max(bound, base)
        if bound < settled:
            _branch(bound, base, clause, heap, stack, lattice, clauses, state)
            return True
    _put(bound, y, u, heap, stack, lattice, state)
    return True


@njit(cache=True, nogil=True)
def _branch(bound, base, clause, heap, stack, lattice, clauses, state):  # type: ignore[no-untyped-def]
    """Split a box by the literals of a clause, or by every level above its lowest node, which is done, without one.

    The part of a literal has its level, and lacks the literals that come before it: the cheap ones, so that the dear
    ones have little room.

    Args:
        bound: The bound of the box.
        base: What literals cost on top of.
        clause: Number of the clause, or -1.
        heap: `Boxes`.
        stack: `Boxes`.
        lattice: `Lattice`.
        clauses: `Clauses`.
        state: `State`; its costs hold what levels cost on top.
    """
    y, u, z, order = state.nodes[0], state.nodes[1], state.nodes[5], state.order[0]
    highest = state.order[1]
    highest[:] = u
    n = 0
    for j in range(len(y)):
        z[j] = y[j] if clause < 0 else np.int64(clauses.levels[clause, j])
        if z[j] < u[j]:
            order[n] = j
            b = n
            while b > 0 and _price(order[b - 1], z, y, lattice) > _price(order[b], z, y, lattice):
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
        _put(max(bound, base + state.costs[1, j, z[j] + 1]), y, u, heap, stack, lattice, state)
        y[j] = low


@njit(cache=True, nogil=True)
def _price(j, z, y, lattice):  # type: ignore[no-untyped-def]
    """What the literal of an attribute costs."""
    return lattice.least[j, z[j] + 1] - lattice.least[j, y[j]]


@njit(cache=True, nogil=True)
def _put(bound, low, high, heap, stack, lattice, state):  # type: ignore[no-untyped-def]
    """Put a box into the heap; depth first on the stack, or only its bound where it is settled."""
    counts, marks = state.counts, state.marks
    if not counts[IN_DEPTH]:
        place = counts[N_HEAP]
        counts[N_HEAP] += 1
        # Invariant: all boxes above `place` are in order, and it is free.
        while place > 0 and heap.bounds[(place - 1) // 2] > bound:
            _move((place - 1) // 2, place, heap)
            place = (place - 1) // 2
        heap.bounds[place] = bound
        pack(low, heap.low[place], lattice)
        pack(high, heap.high[place], lattice)
    elif bound >= marks[SETTLED]:
        marks[LEAVES] = min(marks[LEAVES], bound)
    else:
        place = counts[N_STACK]
        counts[N_STACK] += 1
        stack.bounds[place] = bound
        pack(low, stack.low[place], lattice)
        pack(high, stack.high[place], lattice)


@njit(cache=True, nogil=True)
def _drop_least(heap, state):  # type: ignore[no-untyped-def]
    """Drop the box of the least bound from the heap."""
    state.counts[N_HEAP] -= 1
    last = state.counts[N_HEAP]
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


@njit(cache=True, nogil=True)
def _move(source, target, heap):  # type: ignore[no-untyped-def]
    heap.bounds[target] = heap.bounds[source]
    heap.low[target] = heap.low[source]
    heap.high[target] = heap.high[source]
