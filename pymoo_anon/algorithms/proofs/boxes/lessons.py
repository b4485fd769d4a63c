"""What evaluated nodes teach the search over boxes: clauses of refuted ones, and nodes that may be better."""

from __future__ import annotations

import numpy as np

from pymoo_anon.algorithms.proofs.boxes.arrays import (
    A_BOX_ABOVE,
    IN_HAND,
    N_CLAUSES,
    N_FOUND,
    N_GOOD,
    OLDEST,
    STEPS,
    WORK,
    Classes,
    Clauses,
    K,
    Known,
    Lattice,
    Rows,
    State,
    Table,
)
from pymoo_anon.algorithms.proofs.boxes.nodes import evaluate, group, holds, pack, place_of
from pymoo_anon.engine.compiled import njit

# Where each group ends among all arrays.
_LATTICE = len(Lattice._fields)
_TABLE = _LATTICE + len(Table._fields)
_CLASSES = _TABLE + len(Classes._fields)
_CLAUSES = _CLASSES + len(Clauses._fields)
_KNOWN = _CLAUSES + len(Known._fields)


@njit(cache=True, nogil=True)
def teach(*arrays):  # type: ignore[no-untyped-def]
    """Evaluate the lowest node of the box in hand: learn clauses where it is refuted, else it is done with.

    Args:
        arrays: Those of `Lattice`, `Table`, `Classes`, `Clauses`, `Known` and `State`.
    """
    lattice = Lattice(*arrays[:_LATTICE])
    table = Table(*arrays[_LATTICE:_TABLE])
    classes = Classes(*arrays[_TABLE:_CLASSES])
    clauses = Clauses(*arrays[_CLASSES:_CLAUSES])
    known = Known(*arrays[_CLAUSES:_KNOWN])
    state = State(*arrays[_KNOWN:])
    y, order = state.nodes[0], state.order[0]
    rows = Rows(table.tuples, table.counts, table.values)
    if _look_up(y, rows, lattice, table, classes, known, state) >= state.counts[K]:
        state.counts[IN_HAND] = A_BOX_ABOVE
        return
    _by_cost(y, lattice, order)
    # What follows are generalizations: its classes stand for the tuples.
    n = group(y, len(table.counts), rows, table, classes, state)
    classes.kept[0, :n], classes.kept[1, :n] = classes.firsts[:n], classes.sizes[:n]
    classes.kept_values[:n] = classes.values[:n]
    rows = Rows(classes.kept[0, :n], classes.kept[1, :n], classes.kept_values[:n])
    for _ in range(2):
        _grow(y, order, rows, lattice, table, classes, known, state)
        _keep(lattice, clauses, state)
        _shuffle(order, state.counts[STEPS])


@njit(cache=True, nogil=True)
def _look_up(node, rows, lattice, table, classes, known, state):  # type: ignore[no-untyped-def]
    """What a node is worth, as `evaluate` says, out of memory where it was evaluated before.

    A node that no member of the front is as good as is found: written once for the caller to evaluate.

    Args:
        node: (d,) int64.
        rows: `Rows` that the node groups.
        lattice: `Lattice`.
        table: `Table`.
        classes: `Classes`.
        known: `Known`; what was not known is written.
        state: `State`, written.

    Returns:
        The largest k for which it is not refuted, which may be less than the one asked for.
    """
    k, packed = state.counts[K], state.packed[1]
    pack(node, packed, lattice)
    place = place_of(packed, len(known.nodes))
    own = known.k[place]
    same = own[0] > 0
    for w in range(len(packed)):
        same &= known.nodes[place, w] == packed[w]
    if not same:
        good_k, own_k, loss = evaluate(node, k, rows, table, classes, state)
        if good_k < k:
            return good_k
        known.nodes[place], known.loss[place] = packed, loss
        own[0], own[1], own[2] = good_k, own_k, 0
        # Where there is no room, in place of the oldest one.
        good = state.counts[N_GOOD] % len(known.good)
        known.good[good], known.good_k[good] = packed, good_k
        state.counts[N_GOOD] += 1
    if own[2] == 0 and own[1] >= k and state.counts[N_FOUND] < len(known.found):
        # A little less, so that the rounding of the sum hides nothing.
        loss = known.loss[place]
        if loss - 1e-12 * abs(loss) < _best_at(own[1], known):
            known.found[state.counts[N_FOUND]] = node
            state.counts[N_FOUND] += 1
            own[2] = 1
    return own[0]


@njit(cache=True, nogil=True)
def _best_at(k, known):  # type: ignore[no-untyped-def]
    """The least loss of members with at least this k."""
    place = np.searchsorted(known.front_k, k)
    return known.front_loss[place] if place < len(known.front_k) else np.inf


@njit(cache=True, nogil=True)
def _is_refuted(node, rows, lattice, table, classes, known, state):  # type: ignore[no-untyped-def]
    """Whether a node is refuted for the k that is asked for; known where a specialization of it is not."""
    packed = state.packed[2]
    pack(node, packed, lattice)
    n_good = min(state.counts[N_GOOD], len(known.good))
    state.counts[WORK] += n_good // 8
    for g in range(n_good):
        if known.good_k[g] >= state.counts[K] and holds(packed, known.good[g], lattice.guards):
            return False
    return _look_up(node, rows, lattice, table, classes, known, state) < state.counts[K]


@njit(cache=True, nogil=True)
def _grow(y, order, rows, lattice, table, classes, known, state):  # type: ignore[no-untyped-def]
    """Grow a refuted node to a maximal one, one attribute after the other by bisection.

    Args:
        y: (d,) int64, a refuted node.
        order: (d,) int64, the attributes in the order in which they rise as far as they can.
        rows: `Rows`: the classes of the node.
        lattice: `Lattice`.
        table: `Table`.
        classes: `Classes`.
        known: `Known`, written.
        state: `State`; the maximal node is written.
    """
    z = state.nodes[4]
    z[:] = y
    for j in order:
        low, high = z[j], lattice.lengths[j]
        middle = high
        # Invariant: with level `low` the node is refuted, with a level above `high` it is not.
        while low < high:
            z[j] = middle
            if _is_refuted(z, rows, lattice, table, classes, known, state):
                low = middle
            else:
                high = middle - 1
            middle = (low + high + 1) // 2
        z[j] = low


@njit(cache=True, nogil=True)
def _keep(lattice, clauses, state):  # type: ignore[no-untyped-def]
    """Keep the maximal refuted node as a clause, in place of the oldest one where there is no room."""
    z, packed = state.nodes[4], state.packed[1]
    pack(z, packed, lattice)
    n, room = state.counts[N_CLAUSES], len(clauses.packed)
    for c in range(n):
        if holds(clauses.packed[c], packed, lattice.guards):
            return
    place = n
    if n < room:
        state.counts[N_CLAUSES] += 1
    else:
        place = state.counts[OLDEST] % room
        state.counts[OLDEST] += 1
    clauses.packed[place] = packed
    for j in range(len(z)):
        clauses.levels[place, j] = z[j]


@njit(cache=True, nogil=True)
def _by_cost(y, lattice, order):  # type: ignore[no-untyped-def]
    """Order attributes by what their highest level costs beyond a node's: cheap literals are to vanish first.

    Args:
        y: (d,) int64, the node.
        lattice: `Lattice`.
        order: (d,) int64, written.
    """
    for j in range(len(y)):
        order[j] = j
        b = j
        while b > 0 and _rise(order[b - 1], y, lattice) > _rise(order[b], y, lattice):
            order[b - 1], order[b] = order[b], order[b - 1]
            b -= 1


@njit(cache=True, nogil=True)
def _rise(j, y, lattice):  # type: ignore[no-untyped-def]
    return lattice.least[j, lattice.lengths[j]] - lattice.least[j, y[j]]


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
