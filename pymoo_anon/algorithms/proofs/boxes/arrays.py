"""The arrays that the search over boxes of a lattice works on, in named groups.

A node is packed into words of 64 bits: one lane per attribute, wide enough for its levels and one guard bit. So one
subtraction tells whether a node is a generalization of another. Compiled functions take all arrays one by one, and give
them their names back, as in the engine.

In the shapes, d is the number of attributes, n the number of distinct tuples, n_words that of the words of a node, and
n_keys that of the words of a tuple's key.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]
Matrix = NDArray[np.float64]


class Lattice(NamedTuple):
    """The lattice, which nothing changes.

    Attributes:
        least: (d, n_levels) float64, what an attribute costs at a level or above it, if nothing is suppressed.
        lengths: (d,) int64, the greatest levels.
        lanes: (3, d) uint64, of each attribute the word of its lane, where the lane begins, and the lane without its
            guard bit, at the right end.
        guards: (n_words,) uint64, all guard bits.
    """

    least: Matrix
    lengths: Ints
    lanes: Bits
    guards: Bits


class Table(NamedTuple):
    """The table as the lattice generalizes it, which nothing changes.

    Attributes:
        codes: (n, d) int32, the distinct tuples in an order without meaning.
        tuples: (n,) int64, counted from 0.
        counts: (n,) int64, how often each occurs.
        values: (n,) uint64, a bit for each sensitive value that a tuple occurs with; 0 where nobody counts them.
        left: (n,) float64, what a suppressed tuple costs at the most general node beyond what it costs there.
        starts: (d, n_levels) int64, where the values of an attribute at a level begin in `keys` and `more`.
        keys: (n_keys, n_cells) uint64, what a value adds to the key of its tuple. Different groups add different sums.
        more: (n_cells,) float64, how much more a suppressed tuple costs than at the most general node.
        floors: (d, n_levels) float64, what an attribute costs at a level if nothing is suppressed.
        n_groups: (d, n_levels) int64.
        rule: (5,) int64, by the names below.
    """

    codes: NDArray[np.int32]
    tuples: Ints
    counts: Ints
    values: Bits
    left: Matrix
    starts: Ints
    keys: Bits
    more: Matrix
    floors: Matrix
    n_groups: Ints
    rule: Ints


class Rows(NamedTuple):
    """What is grouped: all distinct tuples, or in their place the classes of a node, for its generalizations.

    Attributes:
        tuples: (m,) int64, the distinct tuple of each row, or one of those in it.
        counts: (m,) int64, how many tuples of the table are in a row.
        values: (m,) uint64, a bit for each sensitive value in it.
    """

    tuples: Ints
    counts: Ints
    values: Bits


class Classes(NamedTuple):
    """The classes of the node that is being evaluated.

    Attributes:
        slots: (n_slots,) int64, epoch and number of the class whose key hashes here; older epochs are empty.
        keys: (n, n_keys) uint64.
        sizes: (n,) int64.
        values: (n,) uint64, a bit for each sensitive value.
        firsts: (n,) int64, the distinct tuple that a class was first seen with.
        tally: (limit + 2,) int64, zero before and after.
        active: (d + 1,) int64, the attributes of more than one group, and last the epoch.
        kept: (2, n) int64, tuples and counts of the classes of a node whose generalizations are evaluated.
        kept_values: (n,) uint64, their values.
    """

    slots: Ints
    keys: Bits
    sizes: Ints
    values: Bits
    firsts: Ints
    tally: Ints
    active: Ints
    kept: Ints
    kept_values: Bits


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


class Clauses(NamedTuple):
    """Maximal refuted nodes: neither they nor a specialization has the k that is asked for.

    Attributes:
        packed: (room, n_words) uint64.
        levels: (room, d) uint8, the same unpacked.
    """

    packed: Bits
    levels: NDArray[np.uint8]


class Known(NamedTuple):
    """Evaluated nodes that were not refuted, and what members there are.

    Attributes:
        good: (good_room, n_words) uint64, such nodes.
        good_k: (good_room,) int64, the largest k for which a node is not refuted.
        nodes: (n_known, n_words) uint64, such nodes, each at the place of its hash.
        k: (n_known, 3) int64: the largest k for which it is not refuted, its own k, -1 where it is not feasible, and
            whether it was found.
        loss: (n_known,) float64.
        found: (n_found, d) int64, nodes that no member is as good as, for the caller to evaluate.
        front_k: (m,) int64, the k of the members of the front, rising.
        front_loss: (m,) float64, the least loss of the members of so large a k.
    """

    good: Bits
    good_k: Ints
    nodes: Bits
    k: Ints
    loss: Matrix
    found: Ints
    front_k: Ints
    front_loss: Matrix


class State(NamedTuple):
    """What the search is at.

    Attributes:
        violated: (room, 2) int64, clauses that the lowest node of a box breaks, and how many levels can satisfy each.
        costs: (2, d, n_levels) float64, what of a level's cost is not charged to a clause, and the least of this for a
            level and those above it.
        nodes: (6, d) int64, unpacked nodes: lowest and highest of the box in hand, the same of the box that is searched
            depth first, and room.
        order: (2, d) int64, attributes in an order, and room.
        packed: (3, n_words) uint64, room.
        marks: (4,) float64, by the names below.
        counts: (14,) int64, by the names below.
    """

    violated: Ints
    costs: Matrix
    nodes: Ints
    order: Ints
    packed: Bits
    marks: Matrix
    counts: Ints


# Places in `Table.rule`: rows, limit of suppressed tuples, size that `Violating` asks for or 0, number of sensitive
# values that a class must have, and whether no other constraint suppresses classes.
ROWS, LIMIT, VIOLATING_K, DISTINCT, COMPLETE = range(5)

# Places in `State.marks`: the bound from which on boxes are settled, the least bound of the leaves of the box that is
# searched depth first, that box's own bound, and the bound of the box in hand.
SETTLED, LEAVES, ROOT, OWN = range(4)

# Places in `State.counts`. What is in hand: nothing, a box, or one whose lowest node is done with.
(N_HEAP, N_STACK, N_CLAUSES, OLDEST, N_GOOD, N_FOUND, EVALUATED, PRUNED, WORK, STEPS, IN_DEPTH, GROWS, IN_HAND, K) = (
    range(14)
)
NOTHING, A_BOX, A_BOX_ABOVE = range(3)
