"""Bounds of sums over tuples and classes: losses, and what bit strings save of them; squares; the number of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.objectives.bounds.base import Bounding, Ints, Kind, Suppressible, Values
from pymoo_anon.table.domain_values import meant

# A common denominator beyond this is none: whole numbers of it would leave too little room for sums.
_LARGEST_DENOMINATOR = 1 << 32


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

        mass * (flat + sum over a of worths[a][g_a]) - square * n^2.

    Its mass is n or, where there are labels, the number of tuples with its most frequent one. No gain is negative.

    Attributes:
        most: The loss where every tuple is suppressed.
        worths: Per attribute a (n_groups,) float array: what a tuple saves in each group. None is negative.
        flat: What a tuple saves in every group.
        square: How much of the squared size a class loses again.
        labels: (n_distinct, n_labels) int64 array, the labels of every distinct tuple, or None without labels.
        denominator: A number of which all worths, `flat` and `square` are multiples of the inverse, or 0 for none.
    """

    most: float
    worths: tuple[Values, ...]
    flat: float = 0.0
    square: float = 0.0
    labels: Ints | None = None
    denominator: int = 0


def common_denominator(weights: Sequence[float], divisors: Sequence[int]) -> int:
    """The least common denominator of all weights[a] / divisors[a], the weights as they were meant; 0 if too large.

    >>> common_denominator([1, 0.5], [6, 7])
    42
    """
    found = lcm(*(meant(w).denominator * d for w, d in zip(weights, divisors, strict=True)))
    return found if found <= _LARGEST_DENOMINATOR else 0
