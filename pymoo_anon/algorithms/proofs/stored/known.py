"""What is known of a stored lattice, as named groups of arrays for compiled loops.

A compiled function is called quickly with many arrays and slowly with tuples of arrays. So all arrays go in one flat
tuple, and `named` gives them their names back.

One compiled function passes a group to another by copying all that is known of every array in it, hundreds of words.
That takes longer than most of what is done with one node. So what is called for every node is inlined by force.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.refuting import Blocks, Cells

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Words = NDArray[np.uint64]
Matrix = NDArray[np.float64]

#: What the bound of a measure is: as it stands in `Nodes.bounds`; a floor and what suppressed tuples lose on top; a
#: floor and a majority of the suppressed tuples; a threshold of `Members.reaches`; a sum of squares.
FIXED, ADDITIVE, MAJORITY, THRESHOLD, SQUARES = range(5)


class Rules(NamedTuple):
    """What does not change: the lattice, and what is asked of its nodes.

    Attributes:
        lengths: (n_var,) int64, the greatest level of each attribute.
        strides: (n_var,) int64, how far apart nodes are in their numbering that differ by one level.
        groups: (n_levels, n_codes) int64, the group of every domain value at every level.
        kinds: (n_measures,) int64, the kind of each measure.
        places: (n_measures,) int64, its number among those of its kind.
        columns: (n_measures,) int64, its column in `Nodes.bounds`, or -1.
        limits: (n_measures,) float, the greatest minimised values that constraints allow, or infinity.
        first: (n_thresholds,) float: what each threshold is above at every node that keeps the constraints.
        terms: (n_additive, n_var, n_levels) float, the floor of each level.
        left: (n_additive, n_levels, n_codes) float, what a suppressed row loses by each domain value.
        least: (n_additive, n_var, n_levels) float, the least of these.
        most: (n_additive,) float, the value where every row is suppressed.
        labels: (n_majority, n_distinct, n_labels) int64, the labels of each tuple.
        weights: (n_entries,) int64, the rows of each entry of the sums of squares.
        segments: (n_squares + 1,) int64, where the entries of each sum begin.
        amounts: (5,) int64: the limit of suppressed rows; how many tuples are read to refute a node; 0 where the only
            threshold is k, which reading refutes, else -1; how many columns of bounds hold of all specializations;
            the rows of the table.
    """

    lengths: Ints
    strides: Ints
    groups: Ints
    kinds: Ints
    places: Ints
    columns: Ints
    limits: Matrix
    first: Matrix
    terms: Matrix
    left: Matrix
    least: Matrix
    most: Matrix
    labels: Ints
    weights: Ints
    segments: Ints
    amounts: Ints


class Nodes(NamedTuple):
    """What is known of each node.

    Attributes:
        tops: (n_nodes, n_values) float: what each threshold cannot be above.
        bounds: (n_nodes, n_columns) float, lower bounds of minimised values.
        done: (n_nodes,) Boolean, the nodes that were evaluated.
    """

    tops: Matrix
    bounds: Matrix
    done: Flags


class Members(NamedTuple):
    """The front, as what it can stand for; by their first reach, the furthest first.

    Attributes:
        needs: (m, n_measures) float: a member stands for minimised values from this one on.
        reaches: (m, n_values) float: it stands for thresholds up to this one.
    """

    needs: Matrix
    reaches: Matrix


class Evidence(NamedTuple):
    """What was grouped, node after node: tuples in small classes.

    Attributes:
        numbers: (2,) int64: how many nodes there are, and tuples of all of them.
        levels: (room, n_var) int64.
        reached: (n_steps, room / 64) uint64: for each level of each attribute but the lowest, a bit for each node that
            has it or a higher one. The lowest bit of a word stands for its latest node.
        whole: (room,) Boolean: whether all of the node was grouped, and not only what refuted it.
        tops: (room,) float: the first threshold that is out of reach, or the size of the class that reading stopped at.
        starts: (room * n_values + 1,) int64, where the tuples of each node by each value begin; in order of values.
        ids: (entry_room,) int32, tuples.
        values: (entry_room,) float, the values of their classes.
        orders: (room,) int32, the row of `order` that holds its tuples by class, or -1.
        dense: (room,) int32, the row of `counts` that holds its sums of squares, or -1.
        order: (n, n_distinct) int32, tuples by class, small classes first.
        ends: (n, n_distinct) int32, where each class ends.
        counts: (n, n_entries) uint32: how often each entry is found in its class.
    """

    numbers: Ints
    levels: Ints
    reached: Words
    whole: Flags
    tops: Matrix
    starts: Ints
    ids: NDArray[np.int32]
    values: Matrix
    orders: NDArray[np.int32]
    dense: NDArray[np.int32]
    order: NDArray[np.int32]
    ends: NDArray[np.int32]
    counts: NDArray[np.uint32]


class Scratch(NamedTuple):
    """Memory for the node that is looked at.

    Attributes:
        work: (5,) int64: tuples read to refute nodes, nodes refuted so, the evidence whose order is wanted, tuples
            looked at, tuples looked at for nodes that were left open.
        x: (n_var,) int64, its levels.
        floors: (n_additive,) float.
        prefixes: (n_additive, n_var + 1) float, the sums of its terms from the first attribute to each, one place on.
        numbers: (n_var + 1,) int64, the same of its strides; the last is its number.
        split: (n_var,) Boolean, where it is more special than the evidence that is read.
        words: (room / 64,) uint64, the bits of the evidence that speaks of it.
        accepted: (room,) int64, the same as numbers, the latest first.
        places: (room,) int64, how far each of them was read.
        marked: (n_distinct / 64,) uint64: a bit for each tuple, whether it was touched.
        env: (n_values, n_distinct) float, the least value of a touched tuple's classes; without rows where there is one
            threshold, to which all touched tuples belong.
        touched: (n_distinct + 2,) int64: the touched tuples, and room for one that may turn out to be there already;
            their number comes last.
        counted: (n_distinct,) Boolean, by place in `touched`: whether it is among the suppressed.
        sums: (1 + n_additive,) float: rows that are suppressed, and what they lose.
        tally: (n_majority, n_labels) int64, their labels.
        squares: (n_squares,) float, bounds of the sums of squares without the suppressed rows' own.
        thresholds: (2, n_thresholds) float: what each threshold is above, and where what is proven of it ends.
        bounds: (n_measures,) float, bounds of the measures above the thresholds.
        least: (n_entries,) uint32, the fewest that an entry is found with.
    """

    work: Ints
    x: Ints
    floors: Matrix
    prefixes: Matrix
    numbers: Ints
    split: Flags
    words: Words
    accepted: Ints
    places: Ints
    marked: Words
    env: Matrix
    touched: Ints
    counted: Flags
    sums: Matrix
    tally: Ints
    squares: Matrix
    thresholds: Matrix
    bounds: Matrix
    least: NDArray[np.uint32]


# Where each group ends among all arrays. They stand in this order.
_RULES = len(Rules._fields)
_CELLS = _RULES + len(Cells._fields)
_NODES = _CELLS + len(Nodes._fields)
_MEMBERS = _NODES + len(Members._fields)
_EVIDENCE = _MEMBERS + len(Evidence._fields)
_SCRATCH = _EVIDENCE + len(Scratch._fields)


@njit(cache=True, nogil=True)
def named(arrays: Any) -> Any:
    """The groups of a flat tuple of all arrays, in the order in which they stand above; `Cells` come second."""
    return (
        Rules(*arrays[:_RULES]),
        Cells(*arrays[_RULES:_CELLS]),
        Nodes(*arrays[_CELLS:_NODES]),
        Members(*arrays[_NODES:_MEMBERS]),
        Evidence(*arrays[_MEMBERS:_EVIDENCE]),
        Scratch(*arrays[_EVIDENCE:_SCRATCH]),
        Blocks(*arrays[_SCRATCH:]),
    )
