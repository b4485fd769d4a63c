"""Bounds of a stored lattice as named groups of arrays.

A compiled function is called quickly with many arrays and slowly with tuples of arrays. So all arrays go in one flat
tuple, and `known_groups` gives them their names back.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import kernel
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives.bounds.base import Kind, SuppressionBudget, fewest_unavoidable
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.proofs.base import Tolerance
from pymoo_anon.proofs.reading import BoundsReader
from pymoo_anon.typing import Bools, Floats, Ints

#: Kinds of bounds of a measure: a column of `NodeBounds.bounds`, a floor, a threshold, or a sum of squares.
FIXED, ADDITIVE, THRESHOLD, SQUARES = (int(kind) for kind in Kind)


class Rules(NamedTuple):
    """Constants of the lattice and its measures."""

    lengths: Ints  # (n_var,) int64, number of levels of each attribute above its least one; nodes count from there
    strides: Ints  # (n_var,) int64, difference in number between nodes that differ by one level
    kinds: Ints  # (n_measures,) int64, the kind of each measure
    places: Ints  # (n_measures,) int64, the number of each among those of its kind
    columns: Ints  # (n_measures,) int64, the column of each in `NodeBounds.bounds`, or -1
    limits: Floats  # (n_measures,) float, the greatest minimised values that constraints allow, or infinity
    first: Floats  # (n_thresholds,) float: at every feasible node each threshold is above this
    terms: Floats  # (n_additive, n_var, n_levels) float, the floor of each level from the least one on
    least: Floats  # (n_additive, n_var, n_levels) float, the least that a suppressed row loses on top of the floor
    limit: int  # Greatest number of suppressed rows; all rows if there is no limit
    n_inherited: int  # Number of columns of bounds that hold for all specializations


class NodeBounds(NamedTuple):
    """Bounds of each node."""

    tops: Floats  # (n_nodes, n_values) float: no threshold is above its top
    bounds: Floats  # (n_nodes, n_columns) float, lower bounds of minimised values
    done: Bools  # (n_nodes,) Boolean, the nodes that were evaluated


class Members(NamedTuple):
    """Members of the front, the farthest first reach first."""

    needs: Floats  # (m, n_measures) float: a member covers minimised values from this one on
    reaches: Floats  # (m, n_values) float: it covers thresholds up to this one


class NodeScratch(NamedTuple):
    """Memory for one node."""

    x: Ints  # (n_var,) int64, its levels above the least ones
    floors: Floats  # (n_additive,) float
    # (n_additive, n_var + 1) float, the sums of its terms from the first attribute to each, one place on.
    prefixes: Floats
    numbers: Ints  # (n_var + 1,) int64, the same of its strides; the last is its number
    squares: Floats  # (n_squares,) float, bounds of the sums of squares without the square of the suppressed rows
    thresholds: Floats  # (2, n_thresholds) float: each threshold is above the first; the proof ends at the second
    bounds: Floats  # (n_measures,) float, bounds of the measures above the thresholds


# End of each group among all arrays, in this order.
_RULES = len(Rules._fields)
_NODES = _RULES + len(NodeBounds._fields)
_MEMBERS = _NODES + len(Members._fields)


@kernel
def known_groups(arrays: Any) -> Any:
    """Return the four groups of a flat tuple."""
    return (
        Rules(*arrays[:_RULES]),
        NodeBounds(*arrays[_RULES:_NODES]),
        Members(*arrays[_NODES:_MEMBERS]),
        NodeScratch(*arrays[_MEMBERS:]),
    )


# Projections are evaluated first if they are at most this share of the nodes.
_SHARE_OF_PROJECTIONS = 1 / 16


class MeasureRules:
    """Measures of a problem by their families of bounds."""

    def __init__(self, problem: LatticeProblem, reader: BoundsReader) -> None:
        self._problem, self.reader = problem, reader
        families = reader.families
        # Whether no floor of an objective rises from below.
        self.sweeps = not any(family.floor_rises for family in families[: problem.n_obj])
        listed = [family for family in families if family.kind is Kind.THRESHOLD]
        by_size = [family for family in listed if family.by_size]
        # The families of the thresholds. One by size comes first.
        self.thresholds: list[Any] = by_size[:1] + [family for family in listed if not family.by_size]
        own = [i for i, family in enumerate(families) if family.kind not in (Kind.ADDITIVE, Kind.THRESHOLD)]
        # The measures with a column of bounds. Those that specializations inherit come first.
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

    def _from_lowest(self, by_level: Floats) -> Floats:
        """Shift values of levels to begin at the least level."""
        problem, steps = self._problem, np.arange(by_level.shape[2])
        levels = np.minimum(problem.lowest[:, np.newaxis] + steps, problem.highest[:, np.newaxis])
        return by_level[:, np.arange(problem.n_var)[:, np.newaxis], levels].copy()

    def _first(self, limits: Floats, has_sums: bool) -> Floats:
        """Return the (n_thresholds,) values that feasible nodes exceed."""
        first = np.full(max(len(self.thresholds), 1), -np.inf)
        for family, most in zip(self.reader.families, limits, strict=True):
            if family.kind is Kind.THRESHOLD and np.isfinite(most):
                (broken,) = family.reach(np.array([np.nextafter(most, np.inf)]), self._problem.table.n_rows)
                first[self._place(family)] = max(first[self._place(family)], broken)
        # The last threshold is the number of suppressed rows.
        return np.append(first, -1.0) if has_sums else first

    def _place(self, family: Any) -> int:
        return 0 if family.by_size else self.thresholds.index(family)

    def first_tops(self) -> Floats:
        """Return the (n_values,) greatest thresholds."""
        tuples = self._problem.table.tuples
        found = [
            float(tuples.n_rows) if family.by_size else family.measure.value_range(tuples)[1]
            for family in self.thresholds
        ]
        return np.array(found or [np.inf], dtype=float)

    def first_bounds(self) -> Floats:
        """Return the (n_nodes, n_columns) bounds before any evaluation."""
        bounds = np.empty((self._problem.n_nodes, len(self.columns)))
        for place, terms in enumerate(self._from_lowest(self.reader.terms[self.columns])):
            by_attribute = [own[: length + 1] for own, length in zip(terms, self.rules.lengths, strict=True)]
            bounds[:, place] = reduce(lambda sums, own: np.add.outer(sums, own).ravel(), by_attribute)
        return bounds

    def levels(self, nodes: Ints) -> Ints:
        """Return the levels of numbered nodes."""
        steps: Ints = nodes[:, np.newaxis] // self.rules.strides % (self.rules.lengths + 1)
        return steps + self._problem.lowest

    def steps(self, X: Ints) -> Ints:
        """Return the levels above the least ones."""
        return X - self._problem.lowest

    def first_floors(self, ahead: Ints) -> Floats:
        """Return the (n,) floors of the first additive measure."""
        additive = np.flatnonzero(self.rules.kinds == ADDITIVE)[:1]
        floors: Floats = self.reader.floors(self.levels(ahead))[:, additive].sum(axis=1)
        return floors

    def bounds_of(self, ahead: Ints, nodes: NodeBounds) -> Floats:
        """Return the (n, n_measures) bounds of numbered nodes."""
        rules, bounds = self.rules, self.reader.floors(self.levels(ahead))
        for o, family in enumerate(self.reader.families):
            if family.kind is Kind.THRESHOLD:
                bounds[:, o] = family.at(nodes.tops[ahead, self._place(family)])
            elif family.kind is not Kind.ADDITIVE:
                bounds[:, o] = nodes.bounds[ahead, rules.columns[o]]
                if family.kind is Kind.SQUARES:
                    bounds[:, o] -= float(rules.limit) ** 2
        return bounds

    def members_of(self, F: Floats, tolerance: Tolerance) -> Members:
        """Build the members of a front."""
        # Measures of constraints alone make no member worse than another.
        needs = np.full((len(F), len(self.reader.families)), -np.inf)
        needs[:, : F.shape[1]] = least_covered(F, tolerance, self.reader.maximize[: F.shape[1]])
        reaches = np.full((len(F), max(len(self.thresholds), 1)), np.inf)
        for column, family in enumerate(self.reader.families):
            if family.kind is Kind.THRESHOLD:
                reach, own = family.reach(needs[:, column], self._problem.table.n_rows), reaches[:, self._place(family)]
                np.minimum(own, reach, out=own)
        furthest = np.argsort(-reaches[:, 0], kind="stable")
        return Members(needs[furthest], reaches[furthest])

    def read(self, classes: EquivalenceClasses) -> Iterable[Floats]:
        """Read bounds of other nodes from equivalence classes.

        Returns:
            (n, n_values + 2 n_columns) float array, as a journal holds its rows: the tops of all specializations, their
            lower bounds, and the lower bounds of all generalizations.
        """
        n, below = len(classes), self.reader.below(classes, by_k=False)
        # Each class of a specialization lies inside of a class, and its value is no greater.
        tops = [fewest_unavoidable(family.values_of(classes), classes, below) for family in self.thresholds]
        special = [self._of_specializations(column, classes, below) for column in self.columns]
        general = np.full((n, len(self.columns)), -np.inf)
        if not self.sweeps:
            general = self.reader.floors_above(classes)[:, self.columns]
        found = np.column_stack([*(tops or [np.full(n, np.inf)]), *special, general])
        # No specialization keeps the limit of suppression, so that none is feasible.
        found[below.impossible, : len(tops) or 1] = -np.inf
        return found

    def _of_specializations(self, column: int, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        family = self.reader.families[column]
        if family.kind is Kind.SQUARES:
            most: Floats = family.most_of_specializations(classes)
            return -most
        if family.has_floor:
            return np.full(len(classes), -np.inf)
        return self.reader.best_below(column, classes, below)


def scratch_for(rules: Rules) -> NodeScratch:
    """Allocate memory for one node."""
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
    """Return nodes with few attributes below the top.

    At most `depth` attributes are below it, or fewer if these nodes are too many.
    """
    n_nodes = float(np.prod(lengths + 1.0))
    # Number of nodes with 0, 1, 2, ... attributes below the top: sums of products of lengths.
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
    # The most special node, number 0, has the least loss. It covers nodes of little privacy.
    return np.array(sorted({0, *(top - down for down in found)}), dtype=np.int64)


def least_covered(F: Floats, tolerance: Tolerance, maximize: Bools) -> Floats:
    """Return the (m, n_obj) least values that members cover.

    They cover larger ones as well: the tolerance grows by less than the values do.
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
        # Rounding may have led too low.
        covered = boxes(least, sides, maximize) >= own if sides.all() else tolerance.widened(least) >= F
        if covered.all():
            return least
        least = np.where(covered, least, np.nextafter(least, np.inf))
