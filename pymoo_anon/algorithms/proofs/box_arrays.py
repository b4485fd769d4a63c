"""The arrays that the search over boxes of a lattice works on, in named groups.

A node is packed into words of 64 bits: one lane per attribute, wide enough for its levels and one guard bit. So one
subtraction tells whether a node is a generalization of another. Compiled functions take all arrays one by one, and
`named` gives them their names back, as in the engine.

In the shapes, d is the number of attributes, n the number of distinct tuples, n_words that of the words of a node, and
n_keys that of the words of a tuple's key.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import njit

Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]
Matrix = NDArray[np.float64]


class Space(NamedTuple):
    """The lattice and its table, which nothing changes.

    Attributes:
        codes: (n, d) int32, the distinct tuples in an order without meaning.
        counts: (n,) int64, how often each occurs.
        values: (n,) uint64, a bit for each sensitive value that a tuple occurs with; 0 where nobody counts them.
        left: (n,) float64, what a suppressed tuple costs at the most general node beyond what it costs there.
        starts: (d, n_levels) int64, where the values of an attribute at a level begin in `keys` and `more`.
        keys: (n_keys, n_cells) uint64, what a value adds to the key of its tuple. Different groups add different sums.
        more: (n_cells,) float64, how much more a suppressed tuple costs than at the most general node.
        floors: (d, n_levels) float64, what an attribute costs at a level if nothing is suppressed.
        least: (d, n_levels) float64, the least floor of a level and those above it.
        n_groups: (d, n_levels) int64.
        lengths: (d,) int64, the greatest levels.
        words: (d,) int64, the word of each attribute's lane.
        shifts: (d,) uint64, where the lane begins.
        masks: (d,) uint64, the lane without its guard bit, at the right end.
        guards: (n_words,) uint64, all guard bits.
        rule: (5,) int64: rows, limit of suppressed tuples, size that `Violating` asks for or 0, number of sensitive
            values that a class must have, and whether no other constraint suppresses classes.
    """

    codes: NDArray[np.int32]
    counts: Ints
    values: Bits
    left: Matrix
    starts: Ints
    keys: Bits
    more: Matrix
    floors: Matrix
    least: Matrix
    n_groups: Ints
    lengths: Ints
    words: Ints
    shifts: Bits
    masks: Bits
    guards: Bits
    rule: Ints


class Classes(NamedTuple):
    """The classes of the node that is being evaluated.

    Attributes:
        slots: (n_slots,) int64, epoch and number of the class whose key hashes here; older epochs are empty.
        keys: (n, n_keys) uint64.
        sizes: (n,) int64.
        values: (n,) uint64, a bit for each sensitive value.
        firsts: (n,) int64, the distinct tuple that a class was first seen with.
        tally: (limit + 2,) int64, zero before and after.
        active: (d,) int64, room for the attributes of more than one group.
        epoch: (1,) int64.
    """

    slots: Ints
    keys: Bits
    sizes: Ints
    values: Bits
    firsts: Ints
    tally: Ints
    active: Ints
    epoch: Ints


class Boxes(NamedTuple):
    """Boxes of nodes: all between a lowest and a highest one. As a heap the least bound comes first.

    Attributes:
        bounds: (room,) float64, what no node of the box with the k that is asked for, or a larger one, costs less than.
        low: (room, n_words) uint64.
        high: (room, n_words) uint64.
    """

    bounds: Matrix
    low: Bits
    high: Bits


class Learnt(NamedTuple):
    """What evaluated nodes tell about others.

    Attributes:
        clauses: (room, n_words) uint64, maximal refuted nodes: neither they nor a specialization has the k.
        levels: (room, d) uint8, the same unpacked.
        good: (good_room, n_words) uint64, nodes that are not refuted.
        good_k: (good_room,) int64, the largest k for which that is so.
        known: (n_known, n_words) uint64, evaluated nodes that were not refuted, each at the place of its hash.
        known_k: (n_known, 3) int64: the largest k for which it is not refuted, its own k, -1 where none is, and whether
            it was found.
        known_loss: (n_known,) float64.
    """

    clauses: Bits
    levels: NDArray[np.uint8]
    good: Bits
    good_k: Ints
    known: Bits
    known_k: Ints
    known_loss: Matrix


class Scratch(NamedTuple):
    """What one box needs while it is worked on.

    Attributes:
        violated: (room,) int64, clauses that the box's lowest node breaks.
        n_literals: (room,) int64, how many levels can still satisfy each of them.
        left: (d, n_levels) float64, what of a level's cost is not charged to a clause.
        suffix: (d, n_levels) float64, the least of a level and those above it.
        nodes: (6, d) int64, unpacked nodes.
        order: (2, d) int64, attributes in an order.
        packed: (4, n_words) uint64.
        found: (n_found, d) int64, nodes that may be better than the best, for the caller to evaluate.
        front_k: (m,) int64, the k of the members of the front, rising.
        front_loss: (m,) float64, the least loss of the members of so large a k.
        marks: (3,) float64: the bound from which on boxes are settled, the least bound of the leaves of a box that is
            searched depth first, and that box's own bound.
        counts: (13,) int64, by the names below.
    """

    violated: Ints
    n_literals: Ints
    left: Matrix
    suffix: Matrix
    nodes: Ints
    order: Ints
    packed: Bits
    found: Ints
    front_k: Ints
    front_loss: Matrix
    marks: Matrix
    counts: Ints


# Places in `Scratch.counts`.
N_HEAP, N_STACK, N_CLAUSES, OLDEST, N_GOOD, N_FOUND, EVALUATED, PRUNED, WORK, STEPS, IN_DEPTH, GROWS, K = range(13)

# Places in `Scratch.marks`.
SETTLED, LEAVES, ROOT = range(3)

# Places in `Space.rule`.
ROWS, LIMIT, VIOLATING_K, DISTINCT, COMPLETE = range(5)

_SPACE = len(Space._fields)
_CLASSES = _SPACE + len(Classes._fields)
_HEAP = _CLASSES + len(Boxes._fields)
_STACK = _HEAP + len(Boxes._fields)
_LEARNT = _STACK + len(Learnt._fields)


@njit(cache=True, nogil=True)
def named(arrays: Any) -> Any:
    """The six groups of a flat tuple of all arrays: `Space`, `Classes`, heap and stack of `Boxes`, `Learnt`, `Scratch`."""
    return (
        Space(*arrays[:_SPACE]),
        Classes(*arrays[_SPACE:_CLASSES]),
        Boxes(*arrays[_CLASSES:_HEAP]),
        Boxes(*arrays[_HEAP:_STACK]),
        Learnt(*arrays[_STACK:_LEARNT]),
        Scratch(*arrays[_LEARNT:]),
    )
