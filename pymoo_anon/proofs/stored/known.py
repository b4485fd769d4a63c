"""What is known of a stored lattice, as named groups of arrays for compiled loops.

A compiled function is called quickly with many arrays and slowly with tuples of arrays. So all arrays go in one flat
tuple, and `known_groups` gives them their names back.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.arrays import Flags, Ints
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives.bounds.base import Kind, SuppressionBudget, fewest_unavoidable
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.proofs.base import Tolerance
from pymoo_anon.proofs.reading import BoundsReader, Matrix

#: What the bound of a measure is: as it stands in `Nodes.bounds`; a floor; a threshold of `Members.reaches`; a sum of
#: squares.
FIXED, ADDITIVE, THRESHOLD, SQUARES = (int(kind) for kind in Kind)


class Rules(NamedTuple):
    """What does not change: the lattice, and what is asked of its nodes."""

    lengths: Ints  # (n_var,) int64, how many levels each attribute has above its least one, from which nodes count here
    strides: Ints  # (n_var,) int64, how far apart nodes are in their numbering that differ by one level
    kinds: Ints  # (n_measures,) int64, the kind of each measure
    places: Ints  # (n_measures,) int64, its number among those of its kind
    columns: Ints  # (n_measures,) int64, its column in `Nodes.bounds`, or -1
    limits: Matrix  # (n_measures,) float, the greatest minimised values that constraints allow, or infinity
    first: Matrix  # (n_thresholds,) float: what each threshold is above at every node that keeps the constraints
    terms: Matrix  # (n_additive, n_var, n_levels) float, the floor of each level from the least one on
    least: Matrix  # (n_additive, n_var, n_levels) float, the least that a suppressed row loses on top of the floor
    limit: int  # How many rows may be suppressed; all where there is no limit
    n_inherited: int  # How many columns of bounds hold of all specializations


class Nodes(NamedTuple):
    """What is known of each node."""

    tops: Matrix  # (n_nodes, n_values) float: what each threshold cannot be above
    bounds: Matrix  # (n_nodes, n_columns) float, lower bounds of minimised values
    done: Flags  # (n_nodes,) Boolean, the nodes that were evaluated


class Members(NamedTuple):
    """The front, as what it can stand for; by their first reach, the furthest first."""

    needs: Matrix  # (m, n_measures) float: a member stands for minimised values from this one on
    reaches: Matrix  # (m, n_values) float: it stands for thresholds up to this one


class NodeScratch(NamedTuple):
    """Memory for the node that is looked at."""

    x: Ints  # (n_var,) int64, its levels above the least ones
    floors: Matrix  # (n_additive,) float
    # (n_additive, n_var + 1) float, the sums of its terms from the first attribute to each, one place on.
    prefixes: Matrix
    numbers: Ints  # (n_var + 1,) int64, the same of its strides; the last is its number
    squares: Matrix  # (n_squares,) float, bounds of the sums of squares without the suppressed rows' own
    thresholds: Matrix  # (2, n_thresholds) float: what each threshold is above, and where what is proven of it ends
    bounds: Matrix  # (n_measures,) float, bounds of the measures above the thresholds


# Where each group ends among all arrays. They stand in this order.
_RULES = len(Rules._fields)
_NODES = _RULES + len(Nodes._fields)
_MEMBERS = _NODES + len(Members._fields)


@njit(cache=True, nogil=True, allocates=False, inner=True)
def known_groups(arrays: Any) -> Any:
    """The groups of a flat tuple of all arrays, in the order in which they stand above."""
    return (
        Rules(*arrays[:_RULES]),
        Nodes(*arrays[_RULES:_NODES]),
        Members(*arrays[_NODES:_MEMBERS]),
        NodeScratch(*arrays[_MEMBERS:]),
    )


# Projections are evaluated first where they are no more than this share of the nodes.
_SHARE_OF_PROJECTIONS = 1 / 16


class Measures:
    """The measures of a problem, by their families."""

    def __init__(self, problem: LatticeProblem, reader: BoundsReader) -> None:
        self._problem, self.reader = problem, reader
        families = reader.families
        # Whether no floor of an objective rises from below.
        self.sweeps = not any(family.floor_rises for family in families[: problem.n_obj])
        listed = [family for family in families if family.kind is Kind.THRESHOLD]
        by_size = [family for family in listed if family.by_size]
        # The families of the thresholds; one by size comes first.
        self.thresholds: list[Any] = by_size[:1] + [family for family in listed if not family.by_size]
        own = [i for i, family in enumerate(families) if family.kind not in (Kind.ADDITIVE, Kind.THRESHOLD)]
        # The measures with a column of bounds of their own; what all specializations inherit comes first.
        self.columns = sorted(own, key=lambda i: families[i].has_floor)
        self.rules = self._rules()

    def _rules(self) -> Rules:
        problem, families = self._problem, self.reader.families
        tuples, lengths = problem.table.tuples, problem.lengths
        strides = np.append(np.cumprod(lengths[:0:-1] + 1)[::-1], 1).astype(np.int64)
        kinds = np.array([family.kind for family in families], dtype=np.int64)
        places = np.array([np.count_nonzero(kinds[:i] == kind) for i, kind in enumerate(kinds)], dtype=np.int64)
        columns = np.full(len(families), -1, dtype=np.int64)
        columns[self.columns] = np.arange(len(self.columns))
        groups = problem.groups
        additive = kinds == ADDITIVE
        left = np.array([families[o].left_by_value(tuples, groups) for o in np.flatnonzero(additive)])
        left = left.reshape(-1, *groups.shape)
        limits = problem.limits
        limit = problem.suppression.limit_of(tuples.n_rows)
        return Rules(
            lengths=lengths,
            strides=strides,
            kinds=kinds,
            places=places,
            columns=columns,
            limits=limits,
            first=self._first(limits, bool((kinds == SQUARES).any())),
            terms=self._from_lowest(self.reader.terms[additive]),
            least=self._from_lowest(np.minimum.reduceat(left, tuples.offsets[:-1], axis=2).transpose(0, 2, 1)),
            limit=tuples.n_rows if limit is None else limit,
            n_inherited=sum(not families[i].has_floor for i in self.columns),
        )

    def _from_lowest(self, by_level: Matrix) -> Matrix:
        """(n, n_var, n_levels) float array of what stands for every level, from the least one of each attribute on."""
        problem, steps = self._problem, np.arange(by_level.shape[2])
        levels = np.minimum(problem.lowest[:, np.newaxis] + steps, problem.highest[:, np.newaxis])
        return by_level[:, np.arange(problem.n_var)[:, np.newaxis], levels].copy()

    def _first(self, limits: Matrix, has_sums: bool) -> Matrix:
        """(n_thresholds,) float array: what each threshold is above at every node that keeps the constraints."""
        first = np.full(max(len(self.thresholds), 1), -np.inf)
        for family, most in zip(self.reader.families, limits, strict=True):
            if family.kind is Kind.THRESHOLD and np.isfinite(most):
                (broken,) = family.reach(np.array([np.nextafter(most, np.inf)]), self._problem.table.n_rows)
                first[self._place(family)] = max(first[self._place(family)], broken)
        # The last threshold is the number of suppressed rows.
        return np.append(first, -1.0) if has_sums else first

    def _place(self, family: Any) -> int:
        """The number of a threshold among all of them."""
        return 0 if family.by_size else self.thresholds.index(family)

    def first_tops(self) -> Matrix:
        """(n_values,) float array: what no threshold is above at any node."""
        tuples = self._problem.table.tuples
        found = [
            float(tuples.n_rows) if family.by_size else family.measure.value_range(tuples)[1]
            for family in self.thresholds
        ]
        return np.array(found or [np.inf], dtype=float)

    def first_bounds(self) -> Matrix:
        """(n_nodes, n_columns) float array: lower bounds before anything is evaluated."""
        bounds = np.empty((self._problem.n_nodes, len(self.columns)))
        for place, terms in enumerate(self._from_lowest(self.reader.terms[self.columns])):
            by_attribute = [own[: length + 1] for own, length in zip(terms, self.rules.lengths, strict=True)]
            bounds[:, place] = reduce(lambda sums, own: np.add.outer(sums, own).ravel(), by_attribute)
        return bounds

    def levels(self, nodes: Ints) -> Ints:
        """(n, n_var) int64 array: the levels of nodes, given by number."""
        steps: Ints = nodes[:, np.newaxis] // self.rules.strides % (self.rules.lengths + 1)
        return steps + self._problem.lowest

    def steps(self, X: Ints) -> Ints:
        """(n, n_var) int64 array: how many levels nodes are above the least ones."""
        return X - self._problem.lowest

    def first_floors(self, ahead: Ints) -> Matrix:
        """(n,) float array: the first additive floor of some nodes, given by number; 0 where there is none."""
        additive = np.flatnonzero(self.rules.kinds == ADDITIVE)[:1]
        floors: Matrix = self.reader.floors(self.levels(ahead))[:, additive].sum(axis=1)
        return floors

    def bounds_of(self, ahead: Ints, nodes: Nodes) -> Matrix:
        """(n, n_measures) float array: lower bounds of the minimised values of some nodes."""
        rules, bounds = self.rules, self.reader.floors(self.levels(ahead))
        for o, family in enumerate(self.reader.families):
            if family.kind is Kind.THRESHOLD:
                bounds[:, o] = family.at(nodes.tops[ahead, self._place(family)])
            elif family.kind is not Kind.ADDITIVE:
                bounds[:, o] = nodes.bounds[ahead, rules.columns[o]]
                if family.kind is Kind.SQUARES:
                    bounds[:, o] -= float(rules.limit) ** 2
        return bounds

    def members_of(self, F: Matrix, tolerance: Tolerance) -> Members:
        """What the members of a front stand for."""
        # What only constraints bound makes no member worse than another.
        needs = np.full((len(F), len(self.reader.families)), -np.inf)
        needs[:, : F.shape[1]] = least_bounds(F, tolerance, self.reader.maximize[: F.shape[1]])
        reaches = np.full((len(F), max(len(self.thresholds), 1)), np.inf)
        for column, family in enumerate(self.reader.families):
            if family.kind is Kind.THRESHOLD:
                reach, own = family.reach(needs[:, column], self._problem.table.n_rows), reaches[:, self._place(family)]
                np.minimum(own, reach, out=own)
        furthest = np.argsort(-reaches[:, 0], kind="stable")
        return Members(needs[furthest], reaches[furthest])

    def lessons_of(self, classes: EquivalenceClasses) -> Iterable[Matrix]:
        """What evaluated nodes teach about others: one lesson for each generalization of some classes.

        A lesson is one float array, as a journal holds it: what each threshold cannot be above in any specialization;
        the lower bounds that hold of all specializations; those that hold of all generalizations.
        """
        n, below = len(classes), self.reader.below(classes, by_k=False)
        # A class of a specialization lies inside of a class, and is worth no more.
        tops = [fewest_unavoidable(family.values_of(classes), classes, below) for family in self.thresholds]
        special = [self._of_specializations(column, classes, below) for column in self.columns]
        general = np.full((n, len(self.columns)), -np.inf)
        if not self.sweeps:
            general = self.reader.floors_above(classes)[:, self.columns]
        found = np.column_stack([*(tops or [np.full(n, np.inf)]), *special, general])
        # No specialization keeps the limit: every threshold is out of reach.
        found[below.impossible, : len(tops) or 1] = -np.inf
        return found

    def _of_specializations(self, column: int, classes: EquivalenceClasses, below: SuppressionBudget) -> Matrix:
        """(n,) float array: a lower bound of one measure in all specializations of nodes; -inf where none is known."""
        family = self.reader.families[column]
        if family.kind is Kind.SQUARES:
            most: Matrix = family.most_of_specializations(classes)
            return -most
        if family.has_floor:
            return np.full(len(classes), -np.inf)
        return self.reader.best_below(column, classes, below)


def scratch_for(rules: Rules) -> NodeScratch:
    """Memory for one node at a time."""
    return NodeScratch(
        x=np.zeros(len(rules.lengths), dtype=np.int64),
        floors=np.zeros(len(rules.terms)),
        prefixes=np.zeros((len(rules.terms), len(rules.lengths) + 1)),
        numbers=np.zeros(len(rules.lengths) + 1, dtype=np.int64),
        squares=np.zeros(np.count_nonzero(rules.kinds == SQUARES)),
        thresholds=np.zeros((2, len(rules.first))),
        bounds=np.empty(len(rules.kinds)),
    )


def projections(lengths: Ints, strides: Ints, depth: int) -> Ints:
    """The most special node, and those with at most so many attributes below the top; fewer if these are too many."""
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
    return np.array(sorted({0, *(top - down for down in found)}), dtype=np.int64)


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
