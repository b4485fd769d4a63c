"""Bounds of losses: floors that hold whatever is suppressed, and what suppression adds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.objectives.bounds.base import Bounding, Ints, Kind, Suppressible, Values


class AdditiveLoss(Bounding):
    """A sum over the attributes, to which suppression only adds: GLM, NWP, non-uniform entropy, precision.

    It asks the measure for `attribute_terms(tuples, maps)`, (n, n_attributes) float array, what each attribute costs
    where nothing is suppressed; and for `left_by_value(tuples, maps)`, (n, n_codes) float array, what a suppressed
    tuple with each domain value costs beyond that, attribute by attribute. Costs are minimised values.
    """

    kind = Kind.ADDITIVE
    has_floor = True

    def attribute_floors(self, tuples: DistinctTuples, maps: Ints) -> Values:
        """The cost of each attribute if nothing is suppressed."""
        floors: Values = self.measure.attribute_terms(tuples, maps)
        return floors

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """What suppression adds at least: tuples that are gone lose all that they have not lost yet.

        In a specialization a tuple has lost no more by generalization than here, so it has at least as much left.
        """
        tuples = classes.tuples
        left = self.left_by_value(tuples, classes.maps)[0]
        cells = tuples.offsets[:-1] + tuples.codes[classes.representatives[below.small]]
        added: Values = (below.gone * left[cells].sum(axis=1)).sum(axis=1)
        return added

    def left_by_value(self, tuples: DistinctTuples, maps: Ints) -> Values:
        """(n, n_codes) float array: what a suppressed tuple loses by each of its domain values, beyond its floors."""
        left: Values = self.measure.left_by_value(tuples, maps)
        return left


class RisingLoss(Bounding):
    """A loss that neither merging classes nor suppressing them lowers: CM, DM, average class size."""

    has_floor = True
    floor_rises = True
    slack = 0.0

    def floor_of_generalizations(self, classes: EquivalenceClasses) -> float:
        """The loss of the node if nothing were suppressed."""
        everything = replace(classes, kept=np.ones(len(classes.sizes), dtype=bool))
        return float(self.measure.evaluate(everything)[0]) * (1 - self.slack)


class RisingSum(RisingLoss):
    """A rising loss that is a rounded sum: KL. The floor is a little lower, so that the rounding proves nothing."""

    slack = 1e-9


class MajorityLoss(RisingLoss):
    """CM: tuples outside the majority of their class. It asks the measure for `majorities(classes)`.

    Merging classes puts no tuple into a majority that was outside one, and suppression penalises more. Of suppressed
    classes the majorities are penalised, too. Together these are at least as many as any one label has there, and so
    as it has among the tuples that are suppressed for sure.
    """

    kind = Kind.MAJORITY

    def best_of_specializations(self, classes: EquivalenceClasses, below: Suppressible) -> Values:
        """The majorities of the classes that are gone are penalised, too; splitting makes them no smaller."""
        majorities = self.measure.majorities(classes)[below.small]
        penalised: Values = np.where(below.wholly_gone(classes), majorities, 0).sum(axis=1).astype(float)
        return penalised

    def labels(self, tuples: DistinctTuples) -> Ints:
        """(n_distinct, n_labels) int64 array: how often each distinct tuple has each label."""
        labels: Ints = tuples.columns[self.measure.column].histogram()
        return labels
