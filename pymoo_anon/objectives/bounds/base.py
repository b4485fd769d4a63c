"""What every bounding family says, what suppression can do below an evaluated node, and bounds of sums over classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.arrays import Flags, Ints, Values
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.table.suppression import AtMost, Below, Suppression, Violating

# Whole values below this are counted one by one.
_SMALL = 1 << 12


class Kind(IntEnum):
    """How a proof puts together what several evaluated generalizations say of a node.

    Attributes:
        FIXED: Each of them bounds the value; the best of these bounds holds.
        ADDITIVE: The floor of the node, and on top what its suppressed tuples lose.
        THRESHOLD: The least value of the classes that are kept, each at most that of the classes it was part of.
        SQUARES: A sum of squares over classes, of which the suppressed tuples are one.
    """

    FIXED = 0
    ADDITIVE = 1
    THRESHOLD = 2
    SQUARES = 3


@dataclass(frozen=True, eq=False)
class Suppressible:
    """What suppression can do in the specializations of one evaluated node, in one or several cases.

    A specialization splits classes into parts. In each of them one of the cases is true: there at least `gone[i, j]`
    tuples of class `small[j]` are suppressed, and k is at most `most_k[i]`. It may also speak of several nodes, whose
    classes lie end to end. Then there is one case.

    Attributes:
        limit: No more tuples than this are suppressed in all.
        small: (m,) int64 array, the classes of which tuples are surely suppressed in some case.
        gone: (n_cases, m) int64 array, how many tuples of each of them are.
        most_k: (n_cases,) int64 array, or one for each of several nodes.
        impossible: (n_nodes,) Boolean array: whether every specialization would lose more tuples than the limit.
    """

    limit: int
    small: Ints
    gone: Ints
    most_k: Ints
    impossible: Flags

    def __len__(self) -> int:
        """Number of cases."""
        return len(self.gone)

    def merged(self, ids: Ints, n: int) -> Suppressible:
        """The same of n classes that hold those of the node.

        Args:
            ids: (n_classes,) int64 array, in which of them each class is.
            n: Their number.
        """
        gone = np.zeros((len(self.gone), n), dtype=np.int64)
        np.add.at(gone.T, ids[self.small], self.gone.T)
        small = np.flatnonzero(gone.any(axis=0))
        return replace(self, small=small, gone=gone[:, small])

    def wholly_gone(self, classes: EquivalenceClasses) -> Flags:
        """(n_cases, m) Boolean array: which of the small classes have no tuple left."""
        return self.gone >= classes.sizes[self.small]


class Bounding:
    """What a proof may conclude from evaluated nodes about others; a family of measures shares one.

    Values that are called floors are minimised: the negative of a measure that is better when higher.

    Attributes:
        kind: How a proof puts together what evaluated nodes say.
        has_floor: Whether there are floors: values that a node cannot be below, whatever is suppressed.
        floor_rises: Whether evaluated nodes raise the floors of their generalizations.
    """

    kind = Kind.FIXED
    has_floor = False
    floor_rises = False

    def __init__(self, measure: Any) -> None:
        self.measure = measure

    def attribute_floors(self, tuples: DistinctTuples, maps: Ints) -> Values | None:
        """(n, n_attributes) float array whose row sums are floors of n generalizations; needs no grouping."""
        return None

    def leeway(self, tuples: DistinctTuples) -> float:
        """By what share a bound may be below its exact value, where no other value of the measure lies between.

        A member that is above a bound by no more is not worse than any value that the bound allows.
        """
        return 0.0

    def floor_of_generalizations(self, classes: EquivalenceClasses) -> Values | None:
        """(n,) float array: a floor of all generalizations of each of n nodes; None where there is none."""
        return None

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values | None:
        """(n_cases,) float array: the best value of any specialization of one node, in each case.

        A family with floors gives what comes on top of the specialization's own floor; it is not negative. The others
        give the value with its natural sign. One of the kind `FIXED` without floors is asked of several nodes at once,
        too, in one case: then (n_nodes,) array.
        """
        return None

    def surely_suppressed(self, classes: EquivalenceClasses, constraint: Constraint) -> Ints:
        """(n_classes,) int64 array: how many tuples of each class every specialization suppresses at least.

        This is under `Violating`, where a part that breaks the constraint is suppressed whole, and no other.
        """
        return np.zeros(len(classes.sizes), dtype=np.int64)


def fewest_unavoidable(numbers: NDArray[Any], classes: EquivalenceClasses, below: Suppressible) -> Values:
    """(n_cases,) or (n_nodes,) float array: the smallest number that not all classes can be suppressed with.

    Let no part of a class have a larger number than the class, as with distinct values. Take the smallest t for which
    the classes with a number of at most t hold more tuples than can still be suppressed. Then some part of one of them
    is kept, and its number is at most t. Tuples that are surely suppressed have used up their share of the limit.
    Infinity where all can be suppressed; -inf where more than the limit surely are.
    """
    fewest, tally = np.empty((len(below), len(classes))), np.empty(_SMALL, dtype=np.int64)
    for own, amounts in zip(fewest, below.gone, strict=True):
        gone = np.zeros(len(classes.sizes), dtype=np.int64)
        gone[below.small] = amounts
        _write_fewest(numbers.astype(float), classes.starts, classes.sizes, gone, below.limit, tally, own)
    return fewest.ravel()


def suppressible(
    classes: EquivalenceClasses, rule: Suppression, constraints: Sequence[Constraint], by_k: bool
) -> Suppressible:
    """What a rule of suppression can do in the specializations of one node.

    Without cases by the k of the specialization it may be asked of several nodes.
    """
    if isinstance(rule, Violating):
        return _below_violating(classes, rule, constraints)
    if isinstance(rule, AtMost):
        return _below_at_most(classes, rule.limit_of(classes.n_rows), by_k)
    if isinstance(rule, Below):
        # Without a limit everything may be suppressed. Parts of a class below the k are below it, too.
        small = np.flatnonzero(classes.sizes < rule.k)
        gone, possible = classes.sizes[small][np.newaxis], np.zeros(len(classes), dtype=bool)
        return Suppressible(classes.n_rows, small, gone, _one(classes.n_rows), possible)
    raise TypeError(f"rule must be AtMost, Below or Violating, got {rule!r}")


def _below_at_most(classes: EquivalenceClasses, limit: int, by_k: bool) -> Suppressible:
    """Cases by the k of the specialization.

    Let k be that of the node, and s_1 < ... < s_m the sizes of its suppressed classes. A specialization has no larger
    k: it splits classes, so at least as many tuples are in classes of at most k. If its own k is above s_i, all parts
    of the classes of at most s_i tuples are smaller than it and suppressed. So with s_0 = 0 and s_(m+1) = k, its k lies
    above s_i and is at most s_(i+1) for one i, and the classes of at most s_i tuples are gone.
    """
    sizes, possible = classes.sizes, np.zeros(len(classes), dtype=bool)
    if not by_k:
        nothing = np.empty(0, dtype=np.int64)
        return Suppressible(limit, nothing, nothing[np.newaxis], _one(classes.n_rows), possible)
    k = sizes[classes.kept].min()
    small = np.flatnonzero(sizes < k)
    different = np.unique(sizes[small])
    above = np.append(0, different)
    gone = np.where(sizes[small] <= above[:, np.newaxis], sizes[small], 0)
    return Suppressible(limit, small, gone, np.append(different, k), possible)


def _below_violating(classes: EquivalenceClasses, rule: Violating, constraints: Sequence[Constraint]) -> Suppressible:
    """One case: what every constraint surely costs, class by class.

    Each constraint alone needs so many tuples of a class suppressed, so all together need at least the most of these.
    Tuples of different classes are different tuples, so the classes add up.
    """
    sure = np.zeros(len(classes.sizes), dtype=np.int64)
    for constraint in constraints:
        family = constraint.objective.bounding
        if constraint.speaks_of_classes and family is not None:
            sure = np.maximum(sure, family(constraint.objective).surely_suppressed(classes, constraint))
    limit = rule.limit_of(classes.n_rows)
    small = np.flatnonzero(sure)
    impossible = np.add.reduceat(sure, classes.starts[:-1]) > limit
    below = Suppressible(limit, small, sure[small][np.newaxis], _one(classes.n_rows), impossible)
    # No part of a class is larger than the class. Of what is impossible any k may be told.
    most_k = np.maximum(fewest_unavoidable(classes.sizes, classes, below), 1).astype(np.int64)
    return replace(below, most_k=most_k)


def _one(value: int) -> Ints:
    return np.array([value], dtype=np.int64)


@njit(cache=True, nogil=True, allocates=False)
def _write_fewest(numbers, starts, sizes, gone, limit, tally, fewest):  # type: ignore[no-untyped-def]
    """Write what `fewest_unavoidable` gives for n nodes in one case; so many tuples of each class are surely gone."""
    for i in range(len(fewest)):
        fewest[i] = _fewest(numbers, starts[i], starts[i + 1], sizes, gone, limit, tally)


@njit(cache=True, nogil=True, allocates=False, inner=True)
def _fewest(numbers, first, end, sizes, gone, limit, tally):  # type: ignore[no-untyped-def]
    """What `_write_fewest` writes for the node with the classes from `first` on; `tally` is scratch."""
    for v in range(len(tally)):
        tally[v] = 0
    room, everything, all_whole = np.int64(limit), np.int64(0), True
    for c in range(first, end):
        left = sizes[c] - gone[c]
        room -= gone[c]
        everything += left
        if 0 <= numbers[c] < len(tally) and numbers[c] == np.floor(numbers[c]):
            tally[np.int64(numbers[c])] += left
        else:
            all_whole = all_whole and numbers[c] >= len(tally)
    if room < 0:
        return -np.inf
    if everything <= room:
        return np.inf
    last = -np.inf
    if all_whole:
        # Invariant: `room` is what is left once the classes of less than v are suppressed.
        for v in range(len(tally)):
            room -= tally[v]
            if room < 0:
                return float(v)
        last = float(len(tally) - 1)
    # Invariant: `room` is what is left once the classes of at most `last` are suppressed.
    while True:
        lowest, held = np.inf, np.int64(0)
        for c in range(first, end):
            left = sizes[c] - gone[c]
            if left > 0 and numbers[c] > last and numbers[c] <= lowest:
                held = left if numbers[c] < lowest else held + left
                lowest = numbers[c]
        room -= held
        if room < 0 or held == 0:
            return lowest
        last = lowest


class AdditiveLoss(Bounding):
    """A sum over the attributes, to which suppression only adds: GLM, NWP, non-uniform entropy, precision.

    It asks the measure for `attribute_terms(tuples, maps)`, (n, n_attributes) float array, what each attribute costs
    where nothing is suppressed; and for `left_by_value(tuples, maps)`, (n, n_codes) float array, what a suppressed
    tuple with each domain value costs beyond that, attribute by attribute. Costs are minimised values.
    """

    kind = Kind.ADDITIVE
    has_floor = True

    def attribute_floors(self, tuples: DistinctTuples, maps: Ints) -> Values:
        """The cost of each attribute if nothing is suppressed, and a little less."""
        terms: Values = self.measure.attribute_terms(tuples, maps)
        # So little that the rounding of their sum, in whatever order, leads to no more than the value itself.
        return terms - np.abs(terms) * _rounding(tuples)

    def leeway(self, tuples: DistinctTuples) -> float:
        """Twice of what is taken off, where the measure's values are farther apart than that."""
        share, most = 2 * _rounding(tuples), max(map(abs, self.measure.value_range(tuples)))
        return share if self.measure.spacing(tuples) > 4 * share * most else 0.0

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """What suppression adds at least: tuples that are gone lose all that they have not lost yet.

        In a specialization a tuple has lost no more by generalization than here, so it has at least as much left.
        """
        tuples = classes.tuples
        assert classes.maps is not None
        left = self.left_by_value(tuples, classes.maps)[0]
        cells = tuples.offsets[:-1] + tuples.codes[classes.representatives[below.small]]
        added: Values = (below.gone * left[cells].sum(axis=1)).sum(axis=1)
        return added

    def left_by_value(self, tuples: DistinctTuples, maps: Ints) -> Values:
        """(n, n_codes) float array: what a suppressed tuple loses by each of its domain values, beyond its floors."""
        left: Values = self.measure.left_by_value(tuples, maps)
        return left


def _rounding(tuples: DistinctTuples) -> float:
    """More than the share by which a sum over the attributes can be off, in whatever order it is taken."""
    return float((len(tuples.domain_sizes) + 2) * 2.0**-51)


class RisingLoss(Bounding):
    """A loss that neither merging classes nor suppressing them lowers: CM, DM, average class size."""

    has_floor = True
    floor_rises = True
    slack = 0.0

    def floor_of_generalizations(self, classes: EquivalenceClasses) -> Values:
        """The loss of each node if nothing were suppressed."""
        everything = replace(classes, kept=np.ones(len(classes.sizes), dtype=bool))
        losses: Values = self.measure.evaluate(everything) * (1 - self.slack)
        return losses


class RisingSum(RisingLoss):
    """A rising loss that is a rounded sum: KL. The floor is a little lower, so that the rounding proves nothing."""

    slack = 1e-9


class MajorityLoss(RisingLoss):
    """CM: tuples outside the majority of their class. It asks the measure for `majorities(classes)`.

    Merging classes puts no tuple into a majority that was outside one, and suppression penalises more. Of suppressed
    classes the majorities are penalised, too.
    """

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The majorities of the classes that are gone are penalised, too; splitting makes them no smaller."""
        majorities = self.measure.majorities(classes)[below.small]
        penalised: Values = np.where(below.wholly_gone(classes), majorities, 0).sum(axis=1).astype(float)
        return penalised


class SquaresOverClasses(Bounding):
    """A sum over classes that splitting does not raise, where the suppressed tuples form one class: S_k, S_l.

    It asks the measure for `squares(classes)`, (n_classes,) int64 array: what each class adds.

    A square of a sum is at least the sum of the squares, so that the parts of a class add no more than the class. Parts
    of classes that are gone are suppressed. The suppressed tuples add at most the square of their number.
    """

    kind = Kind.SQUARES

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The sum over the classes that are not gone, and the square of the limit."""
        squares = self.measure.squares(classes)
        gone = np.where(below.wholly_gone(classes), squares[below.small], 0).sum(axis=1)
        # Of Python's whole numbers, rounded once: what is exact beyond 2^53 in a value has to be in its bound.
        total = int(squares.sum())
        return np.array([float(total - int(lost) + below.limit**2) for lost in gone])

    def most_of_specializations(self, classes: EquivalenceClasses) -> Values:
        """(n,) float array: the most that kept classes of any specialization of each of n nodes add up to."""
        # Of whole numbers, rounded once.
        return np.add.reduceat(self.measure.squares(classes), classes.starts[:-1]).astype(float)


class FewestClasses(Bounding):
    """The number of released classes over the rows: marketer risk. Splitting classes makes them no fewer."""

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The classes that are left where as many as possible are suppressed, and at least one."""
        ends = [np.cumsum(np.sort(one.sizes)) for one in classes]
        left = [len(own) - np.searchsorted(own, below.limit, side="right") for own in ends]
        return np.repeat(np.maximum(left, 1) / classes.n_rows, len(below))


class RisksOverClasses(Bounding):
    """The mean risk of the tuples in a register: tuples over persons, summed over classes; marketer risk with one.

    It asks the measure for `persons(classes)`, how many persons of the register each class fits, and `everybody`.

    A part of a class fits no more persons than the class, so that its tuples add no less to the sum than they add
    in the class. Suppressed tuples, of which there are at most the limit, add 1 / everybody each.
    """

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The sum where those tuples are suppressed that fit the fewest persons, and a little less."""
        persons, everybody = self.measure.persons(classes), self.measure.everybody(classes.n_rows)
        found = []
        for a, b in pairwise(classes.starts):
            order = np.argsort(persons[a:b], kind="stable")
            sizes = classes.sizes[a:b][order]
            before = np.append(0, np.cumsum(sizes)[:-1])
            gone = np.clip(below.limit - before, 0, sizes)
            found.append(((sizes - gone) / persons[a:b][order]).sum() + gone.sum() / everybody)
        # A sum of so many positive terms, each rounded, is off by a smaller share.
        share = (len(persons) + 4) * 2.0**-52
        return np.repeat(np.array(found) / classes.n_rows * (1 - share), len(below))


class RowsOfSmallClasses(Bounding):
    """The share of the rows in small classes, of which the suppressed tuples may be one: records at risk.

    It asks the measure for `enough`, the size from which on a class is not small.

    Parts of a small class are small. So in a specialization its rows are in small classes or suppressed. Where fewer
    tuples than are enough are suppressed, these are a small class, too. Where more are, they are at most the limit.
    """

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The rows of small classes, kept or not, less as many as a class of suppressed tuples can hide."""
        rows = classes.totals(np.where(classes.sizes < self.measure.enough, classes.sizes, 0))
        hidden = below.limit if below.limit >= self.measure.enough else 0
        return np.repeat(np.maximum(rows - hidden, 0) / classes.n_rows, len(below))


@dataclass(frozen=True, eq=False)
class ClassGains:
    """A minimised loss as the loss of suppressing everything, less a gain for every class that is kept.

    A class of n tuples, each in the group g_a of attribute a, gains

        n * (sum over a of worths[a][g_a]).

    Attributes:
        most: The loss where every tuple is suppressed.
        worths: Per attribute a (n_groups,) float array: what a tuple saves in each group. None is negative.
        denominator: A number of which all worths are multiples of the inverse, or 0 for none.
    """

    most: float
    worths: tuple[Values, ...]
    denominator: int = 0
