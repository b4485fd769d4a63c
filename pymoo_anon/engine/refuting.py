"""Tuples in small classes: what evaluated generalizations say of them, and how little of another has to be grouped.

A class of a generalization is a union of classes of any specialization. So in all specializations a tuple's class has
at most as many tuples as here, and a class that is small here stays small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.tuples import DistinctTuples

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]
Matrix = NDArray[np.float64]

# An index of this type cannot be negative, so that numba leaves out the test whether it counts from the end.
_U = np.uint64

# Classes of so many tuples and more stand together at the end of an order by size.
_LARGE = 1 << 12


class Cells(NamedTuple):
    """The distinct tuples, attribute by attribute, for keys of generalized tuples.

    A key is the sum of random numbers of 64 bits, one for each group. Two different generalized tuples may get one key
    once in 2^64 times. `small_tuples` looks again; for the others a class that is taken for larger than it is only
    proves less.

    Attributes:
        places: (n_attributes, n_distinct) uint32 array, the place of each value among all domain values.
        counts: (n_distinct,) int64 array, the rows of each tuple.
        offsets: (n_attributes + 1,) int64 array, where each attribute's domain values begin.
        marks: (n_codes,) uint64 array, a random number for each group of each attribute.
    """

    places: NDArray[np.uint32]
    counts: Ints
    offsets: Ints
    marks: Keys


class Small(NamedTuple):
    """The tuples in small classes of some generalizations, by one or several values of classes.

    Attributes:
        tops: (n, n_values) float array: the smallest value v for which the classes of at most v hold more tuples than
            the limit, together with those that go anyway; infinite where there is none.
        starts: (n * n_values + 1,) int64 array, where the tuples by each value of each generalization begin.
        ids: (m,) int32 array, the tuples in classes of less than `tops`, in order of values.
        values: (m,) float array, the values of their classes; -inf, by the first value, for those that go anyway.
    """

    tops: Matrix
    starts: Ints
    ids: NDArray[np.int32]
    values: Matrix


def cells_of(tuples: DistinctTuples) -> Cells:
    """The distinct tuples for keys."""
    places = np.ascontiguousarray((tuples.codes + tuples.offsets[:-1]).T.astype(np.uint32))
    marks = np.random.default_rng(0).integers(0, 2**64, size=int(tuples.offsets[-1]), dtype=np.uint64)
    # Copies that can be written, as those of a pickle can: for others numba compiles everything again.
    return Cells(places, tuples.counts.copy(), tuples.offsets.copy(), marks)


@njit(cache=True, nogil=True, allocates=False)
def keys_of(groups, cells, keys, part):  # type: ignore[no-untyped-def]
    """Write a key for every distinct tuple: equal for those of one class."""
    keys[:] = _U(0)
    for j in range(len(cells.offsets) - 1):
        a, b = cells.offsets[j], cells.offsets[j + 1]
        several = False
        for v in range(a, b):
            part[v] = cells.marks[a + groups[v]]
            several |= groups[v] != groups[a]
        if several:
            own = cells.places[j]
            for t in range(len(keys)):
                keys[t] += part[own[t]]


@njit(cache=True, nogil=True, allocates=False)
def top_of(values, sizes, gone, limit):  # type: ignore[no-untyped-def]
    """The smallest value v for which classes of at most v, and those that are gone, hold more than `limit` tuples.

    Args:
        values: (n_classes,) float.
        sizes: (n_classes,) int64.
        gone: (n_classes,) Boolean, or empty.
        limit: Number of tuples.

    Returns:
        The value; -inf where the gone ones are too many already, inf where there is none.
    """
    total, everything = np.int64(0), np.int64(0)
    for c in range(len(sizes)):
        everything += sizes[c]
        if len(gone) > 0 and gone[c]:
            total += sizes[c]
    if total > limit:
        return -np.inf
    if everything <= limit:
        return np.inf
    last = -np.inf
    # Invariant: the gone ones and those of at most `last` hold `total` tuples, which is within the limit.
    while True:
        lowest, held = np.inf, np.int64(0)
        for c in range(len(sizes)):
            if values[c] > last and values[c] <= lowest and not (len(gone) > 0 and gone[c]):
                held = sizes[c] if values[c] < lowest else held + sizes[c]
                lowest = values[c]
        total += held
        if total > limit or held == 0:
            return lowest
        last = lowest


@njit(cache=True, nogil=True)
def small_tuples(maps, starts, sizes, representatives, values, gone, limit, *cells):  # type: ignore[no-untyped-def]
    """The tuples in small classes of n generalizations.

    The keys of the small classes go into a table, then every tuple looks for its own there and compares its groups.

    Args:
        maps: (n, n_codes) int64, the group of every domain value.
        starts: (n + 1,) int64, where the classes of each generalization begin.
        sizes: (n_classes,) int64.
        representatives: (n_classes,) int64, one tuple of each class.
        values: (n_values, n_classes) float, what goes up with the privacy of a class.
        gone: (n_classes,) Boolean, the classes that every specialization suppresses; empty for none.
        limit: Number of tuples.
        cells: The arrays of `Cells`.

    Returns:
        The arrays of `Small`.
    """
    cells = Cells(cells[0], cells[1], cells[2], cells[3])
    n, n_values = len(starts) - 1, len(values)
    tops = np.empty((n, n_values))
    list_starts = np.zeros(n * n_values + 1, dtype=np.int64)
    ids, found = np.empty(1024, dtype=np.int32), np.empty(1024)
    keys, part = np.empty(len(cells.counts), dtype=np.uint64), np.empty(len(cells.marks), dtype=np.uint64)
    members, class_of = np.empty(len(cells.counts), dtype=np.int32), np.empty(len(cells.counts), dtype=np.int32)
    for i in range(n):
        a, b = starts[i], starts[i + 1]
        out = gone[a:b] if len(gone) > 0 else gone
        wanted = np.zeros(b - a, dtype=np.bool_)
        for h in range(n_values):
            tops[i, h] = top_of(values[h, a:b], sizes[a:b], out, limit)
            for c in range(b - a):
                wanted[c] |= values[h, a + c] < tops[i, h] or (len(out) > 0 and out[c])
        if not wanted.any():
            list_starts[i * n_values + 1 : (i + 1) * n_values + 1] = list_starts[i * n_values]
            continue
        keys_of(maps[i], cells, keys, part)
        slots = _empty_slots(8 * wanted.sum())
        m = _find_members(maps[i], wanted, representatives[a:b], cells, keys, slots, members, class_of)
        for h in range(n_values):
            first = list_starts[i * n_values + h]
            own = values[h, a:b].copy()
            # They are listed once, before all others.
            if len(out) > 0:
                own[out] = -np.inf if h == 0 else np.inf
            last, ids, found = _append(members[:m], class_of, own, tops[i, h], first, ids, found)
            list_starts[i * n_values + h + 1] = last
            in_order = first + np.argsort(found[first:last])
            ids[first:last], found[first:last] = ids[in_order], found[in_order]
    return tops, list_starts, ids[: list_starts[-1]].copy(), found[: list_starts[-1]].copy()


@njit(cache=True, nogil=True)
def _empty_slots(n):  # type: ignore[no-untyped-def]
    """(n_slots,) int32 array of -1, of a power of two of at least n slots."""
    n_slots = 64
    while n_slots < n:
        n_slots *= 2
    return np.full(n_slots, -1, dtype=np.int32)


@njit(cache=True, nogil=True)
def _append(members, class_of, values, top, at, ids, found):  # type: ignore[no-untyped-def]
    """Append the tuples in classes below `top`, or that go anyway, from `at` on; returns the end and the arrays."""
    for i in range(len(members)):
        c = class_of[i]
        if values[c] < top or values[c] == -np.inf:
            if at == len(ids):
                ids, found = np.concatenate((ids, ids)), np.concatenate((found, found))
            ids[at] = members[i]
            found[at] = values[c]
            at += 1
    return at, ids, found


@njit(cache=True, nogil=True, allocates=False)
def _find_members(groups, wanted, representatives, cells, keys, slots, members, class_of):  # type: ignore[no-untyped-def]
    """Find the tuples of the wanted classes.

    Returns:
        How many there are.
    """
    mask = _U(len(slots) - 1)
    for c in range(len(wanted)):
        if wanted[c]:
            slot = (keys[representatives[c]] >> _U(20)) & mask
            while slots[slot] >= 0:
                slot = (slot + _U(1)) & mask
            slots[slot] = c
    n = 0
    for t in range(len(keys)):
        slot = (keys[t] >> _U(20)) & mask
        while slots[slot] >= 0:
            c = slots[slot]
            if keys[representatives[c]] == keys[t] and _same_groups(groups, representatives[c], t, cells):
                members[n], class_of[n] = t, c
                n += 1
                break
            slot = (slot + _U(1)) & mask
    return n


@njit(cache=True, nogil=True, allocates=False)
def _same_groups(groups, one, other, cells):  # type: ignore[no-untyped-def]
    """Whether two tuples are one generalized tuple."""
    same = True
    for j in range(len(cells.places)):
        same &= groups[cells.places[j, one]] == groups[cells.places[j, other]]
    return same


@njit(cache=True, nogil=True)
def number_keys(keys, ids):  # type: ignore[no-untyped-def]
    """Number equal keys from 0 by first appearance; writes the numbers to `ids` and returns how many there are."""
    slots = _empty_slots(2 * len(keys))
    mask, held = _U(len(slots) - 1), np.empty(len(slots), dtype=np.uint64)
    n = 0
    for t in range(len(keys)):
        slot = (keys[t] >> _U(20)) & mask
        while slots[slot] >= 0 and held[slot] != keys[t]:
            slot = (slot + _U(1)) & mask
        if slots[slot] < 0:
            slots[slot] = n
            held[slot] = keys[t]
            n += 1
        ids[t] = slots[slot]
    return n


@njit(cache=True, nogil=True)
def order_by_class(groups, order, ends, *cells):  # type: ignore[no-untyped-def]
    """Sort the tuples by class, small classes first.

    Args:
        groups: (n_codes,) int64, the group of every domain value.
        order: (n_distinct,) int32, written: the tuples.
        ends: (n_distinct,) int32, written: for the first tuple of each class in this order, where the class ends.
        cells: The arrays of `Cells`.
    """
    cells = Cells(cells[0], cells[1], cells[2], cells[3])
    n = len(order)
    keys, part = np.empty(n, dtype=np.uint64), np.empty(len(cells.marks), dtype=np.uint64)
    ids = np.empty(n, dtype=np.int64)
    keys_of(groups, cells, keys, part)
    n_classes = number_keys(keys, ids)
    sizes, members = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes, dtype=np.int64)
    for t in range(n):
        sizes[ids[t]] += cells.counts[t]
        members[ids[t]] += 1
    # Where the classes of each size begin among the tuples, then where each class does.
    begins = np.zeros(_LARGE + 2, dtype=np.int64)
    for c in range(n_classes):
        begins[min(sizes[c], _LARGE) + 1] += members[c]
    begins = np.cumsum(begins)
    at = np.empty(n_classes, dtype=np.int64)
    for c in range(n_classes):
        size = min(sizes[c], _LARGE)
        at[c] = begins[size]
        begins[size] += members[c]
        ends[at[c]] = at[c] + members[c]
    for t in range(n):
        order[at[ids[t]]] = t
        at[ids[t]] += 1


class Blocks(NamedTuple):
    """Scratch to group the tuples of one class by a specialization; a slot whose stamp is not `stamp[0]` is empty.

    Attributes:
        stamp: (1,) int64.
        stamps: (n_slots,) int64, a power of two and at least twice n_distinct.
        keys: (n_slots,) uint64.
        sizes: (n_slots,) int64, the rows of each part.
        slots: (n_distinct,) int64, the slot of each tuple of the class.
    """

    stamp: Ints
    stamps: Ints
    keys: Keys
    sizes: Ints
    slots: Ints


def blocks_for(n_distinct: int) -> Blocks:
    """Scratch for a table of so many distinct tuples."""
    n_slots = max(64, 1 << (2 * n_distinct - 1).bit_length())
    return Blocks(
        np.zeros(1, dtype=np.int64),
        np.zeros(n_slots, dtype=np.int64),
        np.empty(n_slots, dtype=np.uint64),
        np.empty(n_slots, dtype=np.int64),
        np.empty(n_distinct, dtype=np.int64),
    )


@njit(cache=True, nogil=True, allocates=False, forceinline=True)
def split_class(members, levels, groups, split, cells, blocks):  # type: ignore[no-untyped-def]
    """Group the tuples of one class of a generalization by a specialization.

    A class of the specialization lies inside of one class of the generalization, so its size is final.

    Args:
        members: (m,) int32, the tuples of the class.
        levels: (n_attributes,) int64, the specialization.
        groups: (n_levels, n_codes) int64, the group of every domain value at every level.
        split: (n_attributes,) Boolean, the attributes in which the specialization is more special.
        cells: `Cells`.
        blocks: `Blocks`; afterwards `sizes[slots[i]]` is the size of the part that tuple i is in.
    """
    mask = _U(len(blocks.stamps) - 1)
    blocks.stamp[0] += 1
    stamp = blocks.stamp[0]
    for i in range(len(members)):
        t = members[i]
        key = _U(0)
        for j in range(len(levels)):
            if split[j]:
                key += cells.marks[cells.offsets[j] + groups[levels[j], cells.places[j, t]]]
        slot = (key >> _U(20)) & mask
        while blocks.stamps[slot] == stamp and blocks.keys[slot] != key:
            slot = (slot + _U(1)) & mask
        if blocks.stamps[slot] != stamp:
            blocks.stamps[slot] = stamp
            blocks.keys[slot] = key
            blocks.sizes[slot] = 0
        blocks.sizes[slot] += cells.counts[t]
        blocks.slots[i] = slot
