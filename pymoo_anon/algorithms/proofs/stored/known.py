"""What is known of a stored lattice, as named groups of arrays for compiled loops.

A compiled function is called quickly with many arrays and slowly with tuples of arrays. So all arrays go in one flat
tuple, and `known_groups` gives them their names back.

One compiled function passes a group to another by copying all that is known of every array in it, hundreds of words.
That takes longer than most of what is done with one node. So what is called for every node is inlined by force.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.base import Tolerance
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.refuting import Blocks, Cells
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives.bounds.base import Bounding, Kind
from pymoo_anon.problems.lattice import LatticeProblem

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


class NodeScratch(NamedTuple):
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
_SCRATCH = _EVIDENCE + len(NodeScratch._fields)


@njit(cache=True, nogil=True)
def known_groups(arrays: Any) -> Any:
    """The groups of a flat tuple of all arrays, in the order in which they stand above; `Cells` come second."""
    return (
        Rules(*arrays[:_RULES]),
        Cells(*arrays[_RULES:_CELLS]),
        Nodes(*arrays[_CELLS:_NODES]),
        Members(*arrays[_NODES:_MEMBERS]),
        Evidence(*arrays[_MEMBERS:_EVIDENCE]),
        NodeScratch(*arrays[_EVIDENCE:_SCRATCH]),
        Blocks(*arrays[_SCRATCH:]),
    )


_NUMBERS = {
    Kind.FIXED: FIXED,
    Kind.ADDITIVE: ADDITIVE,
    Kind.MAJORITY: MAJORITY,
    Kind.THRESHOLD: THRESHOLD,
    Kind.SQUARES: SQUARES,
}

# No more than this share of the tuples is read to refute a node: what takes longer seldom succeeds.
_SHARE_READ = 1 / 8

# Projections are evaluated first where they are no more than this share of the nodes.
_SHARE_OF_PROJECTIONS = 1 / 8


class Measures:
    """The measures of a problem, by their families.

    Args:
        problem: The problem.
        cells: Its distinct tuples.

    Attributes:
        families: What is known of each measure, in order.
        thresholds: The families of the thresholds that tuples are listed by; one by size comes first.
        columns: The measures with a column of bounds of their own.
        sweeps: Whether no floor of an objective rises from below.
        entries: (3, n_entries) int64 array: the tuple, a mark and the rows of each entry of the sums of squares.
        rules: All as arrays.
    """

    def __init__(self, problem: LatticeProblem, cells: Cells) -> None:
        self._problem = problem
        measures = problem.measured
        self.families: list[Any] = [Bounding(m) if m.bounding is None else m.bounding(m) for m in measures]
        self.sweeps = not any(family.floor_rises for family in self.families[: problem.n_obj])
        listed = [family for family in self.families if family.kind is Kind.THRESHOLD]
        by_size = [family for family in listed if family.by_size]
        self.thresholds: list[Any] = by_size[:1] + [family for family in listed if not family.by_size]
        for family in listed:
            family.n_rows = problem.table.n_rows
        own = [i for i, family in enumerate(self.families) if family.kind not in (Kind.ADDITIVE, Kind.THRESHOLD)]
        # What all specializations inherit comes first.
        self.columns = sorted(own, key=lambda i: self.families[i].has_floor)
        self.entries, segments = self._entries()
        self.rules = self._rules(segments, cells)

    def _rules(self, segments: Ints, cells: Cells) -> Rules:
        problem, families = self._problem, self.families
        tuples, lengths = problem.table.tuples, problem.lengths
        strides = np.append(np.cumprod(lengths[:0:-1] + 1)[::-1], 1).astype(np.int64)
        kinds = np.array([_NUMBERS[family.kind] for family in families], dtype=np.int64)
        places = np.array([np.count_nonzero(kinds[:i] == kind) for i, kind in enumerate(kinds)], dtype=np.int64)
        columns = np.full(len(families), -1, dtype=np.int64)
        columns[self.columns] = np.arange(len(self.columns))
        groups = problem.groups
        additive = [family for family in families if family.kind is Kind.ADDITIVE]
        left = np.array([family.left_by_value(tuples, groups) for family in additive])
        left = left.reshape(len(additive), *groups.shape)
        terms = np.array([family.attribute_floors(tuples, groups).T for family in additive])
        limits = problem.limits
        limit = problem.suppression.limit_of(tuples.n_rows)
        n_inherited = sum(not families[i].has_floor for i in self.columns)
        by_size_alone = len(self.thresholds) == 1 and self.thresholds[0].by_size and len(segments) == 1
        return Rules(
            lengths=lengths,
            strides=strides,
            groups=groups,
            kinds=kinds,
            places=places,
            columns=columns,
            limits=limits,
            first=self._first(limits, len(segments) > 1),
            terms=terms.reshape(len(additive), len(lengths), len(groups)),
            left=left,
            least=np.minimum.reduceat(left, tuples.offsets[:-1], axis=2).transpose(0, 2, 1).copy(),
            most=self._most(additive),
            labels=self._labels(),
            weights=self.entries[2].copy(),
            segments=segments,
            amounts=np.array(
                [
                    tuples.n_rows if limit is None else limit,
                    max(int(_SHARE_READ * len(tuples)), 1),
                    0 if limit is not None and by_size_alone else -1,
                    n_inherited,
                    tuples.n_rows,
                ]
            ),
        )

    def _first(self, limits: Matrix, has_sums: bool) -> Matrix:
        """(n_thresholds,) float array: what each threshold is above at every node that keeps the constraints."""
        first = np.full(max(len(self.thresholds), 1), -np.inf)
        for family, most in zip(self.families, limits, strict=True):
            if family.kind is Kind.THRESHOLD and np.isfinite(most):
                place = 0 if family.by_size else self.thresholds.index(family)
                (broken,) = family.reach(np.array([np.nextafter(most, np.inf)]), family.n_rows)
                first[place] = max(first[place], broken)
        # The last threshold is the number of suppressed rows.
        return np.append(first, -1.0) if has_sums else first

    def _most(self, additive: list[Any]) -> Matrix:
        """(n_additive,) float array: the minimised values where every row is suppressed."""
        classes = self._problem.equivalence_classes(self._problem.lengths)
        nothing = replace(classes, kept=np.zeros(len(classes.sizes), dtype=bool))
        return np.array([(-1 if own.measure.maximize else 1) * own.measure.evaluate(nothing)[0] for own in additive])

    def first_tops(self) -> Matrix:
        """(n_values,) float array: what no threshold is above at any node."""
        tuples = self._problem.table.tuples
        found = [
            float(tuples.n_rows) if family.by_size else family.measure.value_range(tuples)[1]
            for family in self.thresholds
        ]
        return np.array(found or [np.inf], dtype=float)

    def _labels(self) -> Ints:
        """(n_majority, n_distinct, n_labels) int64 array, filled up with zeros."""
        tuples = self._problem.table.tuples
        found = [family.labels(tuples) for family in self.families if family.kind is Kind.MAJORITY]
        labels = np.zeros((len(found), len(tuples), max([1, *(own.shape[1] for own in found)])), dtype=np.int64)
        for own, given in zip(labels, found, strict=True):
            own[:, : given.shape[1]] = given
        return labels

    def _entries(self) -> tuple[Ints, Ints]:
        """The entries of all sums of squares, and where those of each begin."""
        tuples = self._problem.table.tuples
        found = [family.entries(tuples) for family in self.families if family.kind is Kind.SQUARES]
        segments = np.cumsum([0, *(len(rows) for _, _, rows in found)])
        if tuples.n_rows >= 1 << 32:
            # Counts would not fit; a bound of all specializations is there without them.
            return np.empty((3, 0), dtype=np.int64), np.zeros(len(found) + 1, dtype=np.int64)
        rng = np.random.default_rng(1)
        entries = [np.empty((3, 0), dtype=np.int64)]
        for owners, values, rows in found:
            # Added to a tuple's key: different for different values.
            marks = rng.integers(0, 2**63, size=int(values.max(initial=0)) + 1, dtype=np.int64)
            entries.append(np.array([owners, marks[values], rows]))
        return np.concatenate(entries, axis=1), segments.astype(np.int64)

    def first_bounds(self) -> Matrix:
        """(n_nodes, n_columns) float array: lower bounds before anything is evaluated."""
        bounds = np.full((self._problem.n_nodes, len(self.columns)), -np.inf)
        for place, column in enumerate(self.columns):
            if self.families[column].has_floor:
                bounds[:, place] = _floors(self._problem, self.families[column])
        return bounds

    def first_floors(self, ahead: Ints) -> Matrix:
        """(n,) float array: the first additive floor of some nodes, given by number; 0 where there is none."""
        if len(self.rules.terms) == 0:
            return np.zeros(len(ahead))
        levels = ahead[:, np.newaxis] // self.rules.strides % (self.rules.lengths + 1)
        sums: Matrix = np.cumsum(self.rules.terms[0][np.arange(levels.shape[1]), levels], axis=1)[:, -1]
        return sums

    def bounds_of(self, ahead: Ints, nodes: Nodes) -> Matrix:
        """(n, n_measures) float array: lower bounds of the minimised values of some nodes."""
        rules = self.rules
        levels = ahead[:, np.newaxis] // rules.strides % (rules.lengths + 1)
        bounds = np.empty((len(ahead), len(self.families)))
        for o, family in enumerate(self.families):
            if family.kind is Kind.ADDITIVE:
                terms = rules.terms[rules.places[o]][np.arange(levels.shape[1]), levels]
                bounds[:, o] = np.cumsum(terms, axis=1)[:, -1]
            elif family.kind is Kind.THRESHOLD:
                place = 0 if family.by_size else self.thresholds.index(family)
                bounds[:, o] = family.at(nodes.tops[ahead, place])
            else:
                bounds[:, o] = nodes.bounds[ahead, rules.columns[o]]
                if family.kind is Kind.SQUARES:
                    bounds[:, o] -= float(rules.amounts[0]) ** 2
        return bounds


def scratch_for(rules: Rules, cells: Cells, n_values: int) -> NodeScratch:
    """Memory for one node at a time; that for evidence grows with it."""
    n_distinct = len(cells.counts)
    n_listed = n_values if len(rules.first) > 1 else 0
    return NodeScratch(
        work=np.zeros(5, dtype=np.int64),
        x=np.zeros(len(rules.lengths), dtype=np.int64),
        floors=np.zeros(len(rules.terms)),
        prefixes=np.zeros((len(rules.terms), len(rules.lengths) + 1)),
        numbers=np.zeros(len(rules.lengths) + 1, dtype=np.int64),
        split=np.zeros(len(rules.lengths), dtype=bool),
        words=np.zeros(0, dtype=np.uint64),
        accepted=np.zeros(0, dtype=np.int64),
        places=np.zeros(0, dtype=np.int64),
        marked=np.zeros((n_distinct + 63) // 64, dtype=np.uint64),
        env=np.empty((n_listed, n_distinct)),
        touched=np.zeros(n_distinct + 2, dtype=np.int64),
        counted=np.zeros(n_distinct, dtype=bool),
        sums=np.zeros(1 + len(rules.terms)),
        tally=np.zeros((len(rules.labels), rules.labels.shape[2]), dtype=np.int64),
        squares=np.zeros(len(rules.segments) - 1),
        thresholds=np.zeros((2, len(rules.first))),
        bounds=np.empty(len(rules.kinds)),
        least=np.zeros(len(rules.weights), dtype=np.uint32),
    )


def projections(lengths: Ints, strides: Ints, depth: int) -> tuple[int, Ints]:
    """The most special node, and those with at most so many attributes below the top, or fewer if these are too many.

    Returns:
        How many attributes it is, and the numbers of the nodes.
    """
    n_nodes = float(np.prod(lengths + 1.0))
    # How many nodes have so many attributes below the top: sums of the products of so many lengths.
    counts = np.zeros(depth + 1)
    counts[0] = 1
    for length in lengths:
        counts[1:] += counts[:-1] * length
    depth = max((i for i in range(depth + 1) if counts[: i + 1].sum() <= _SHARE_OF_PROJECTIONS * n_nodes), default=-1)
    found = []
    for size in range(depth + 1):
        for chosen in combinations(np.flatnonzero(lengths), size):
            steps = [range(1, int(lengths[j]) + 1) for j in chosen]
            found += [sum(d * int(strides[j]) for d, j in zip(down, chosen, strict=True)) for down in product(*steps)]
    top = int(lengths @ strides)
    # The most special node, number 0, has the least loss: without it nothing stands for what is little private.
    return depth, np.array(sorted({0, *(top - down for down in found)}), dtype=np.int64)


def _floors(problem: LatticeProblem, family: Bounding) -> Matrix:
    """(n_nodes,) float array: what an objective is not below at every node, before anything is evaluated."""
    terms = family.attribute_floors(problem.table.tuples, problem.groups)
    if terms is None:
        return np.full(problem.n_nodes, family.measure.value_range(problem.table.tuples)[0])
    by_attribute = [terms[: length + 1, j] for j, length in enumerate(problem.lengths)]
    sums: Matrix = reduce(lambda sums, own: np.add.outer(sums, own).ravel(), by_attribute)
    return sums


def members_of(
    F: Matrix, tolerance: Tolerance, maximize: NDArray[np.bool_], families: Sequence[Any], thresholds: Sequence[Any]
) -> Members:
    """What the members of a front stand for."""
    # What only constraints bound makes no member worse than another.
    needs = np.full((len(F), len(families)), -np.inf)
    needs[:, : F.shape[1]] = least_bounds(F, tolerance, maximize)
    reaches = np.full((len(F), max(len(thresholds), 1)), np.inf)
    for column, family in enumerate(families):
        if family.kind is Kind.THRESHOLD:
            n_rows = family.n_rows
            place = 0 if family.by_size else thresholds.index(family)
            np.minimum(reaches[:, place], family.reach(needs[:, column], n_rows), out=reaches[:, place])
    furthest = np.argsort(-reaches[:, 0], kind="stable")
    return Members(needs[furthest], reaches[furthest])


def least_bounds(F: Matrix, tolerance: Tolerance, maximize: NDArray[np.bool_]) -> Matrix:
    """(m, n_obj) float array: the least minimised values, or bounds of them, that a member stands for.

    It stands for larger ones as well: the tolerance grows by less than the values do.
    """
    sides = tolerance.absolute
    if not sides.any() and not tolerance.relative.any():
        return F - tolerance.leeway * np.abs(np.where(np.isfinite(F), F, 0.0))
    if sides.all():
        own = boxes(F, sides, maximize)
        least = np.where(maximize, np.nextafter((own - 1) * sides, np.inf), own * sides)
    else:
        least = (F - sides) / np.where(sides <= F, 1 + tolerance.relative, 1 - tolerance.relative)
    while True:
        # Rounding may have led below.
        stands = boxes(least, sides, maximize) >= own if sides.all() else tolerance.widened(least) >= F
        if stands.all():
            return least
        least = np.where(stands, least, np.nextafter(least, np.inf))
