"""Objectives broken in one line each, with the contract's error messages."""

import random
import time

import numpy as np

from pymoo_anon.objectives import (
    AlphaDeassociation,
    ColumnObjective,
    GeneralLossMetric,
    Objective,
    SquaredClassSizes,
)
from pymoo_anon.objectives.bounds import AdditiveLoss, Bounding, Monotone, RisingLoss, SquaresOverClasses


class Sound(Objective):
    """A sound objective, from which each broken one differs in one line."""

    name = "largest"
    maximize = False

    def evaluate_one(self, classes):
        return float(classes.sizes.max())


class NoName(Sound):
    name = ""


class NoDirection(Sound):
    maximize = "yes"


class NoStep(Sound):
    step = 0


class NoFamily(Sound):
    bounding = "AdditiveLoss"


class NeverEqual(Sound):
    def __init__(self):
        self.own = object()


class Unpickled(Sound):
    def __init__(self):
        self.own = len

    def __reduce__(self):
        raise TypeError("not me")


class NotANumber(Sound):
    def evaluate(self, classes):
        return np.where(classes.n_suppressed > 0, np.nan, 1.0)


class Failing(Sound):
    def evaluate_one(self, classes):
        return float(classes.sizes[classes.kept].min())


class Whole(Sound):
    whole = True

    def evaluate_one(self, classes):
        return float(classes.sizes.mean())


class Ranged(Sound):
    def value_range(self, tuples):
        return 0, len(tuples) - 1


class OneForAll(Sound):
    def evaluate(self, classes):
        return np.array([1.0])


class Integers(Sound):
    def evaluate(self, classes):
        return np.array([1 for _ in classes])


class Random(Sound):
    def evaluate_one(self, classes):
        return random.random()


class Sorting(Sound):
    def evaluate_one(self, classes):
        classes.sizes.sort()
        return float(classes.sizes[-1])


class FirstClass(Sound):
    def evaluate_one(self, classes):
        return float(classes.sizes[0])


class FirstValue(ColumnObjective):
    name, maximize = "first", False

    def evaluate_one(self, classes):
        return float(self._counts(classes).values[self._counts(classes).starts[:-1]].sum())


class FirstTuple(Sound):
    def evaluate_one(self, classes):
        return float(classes.tuples.codes[0].sum())


class Relative(Sound):
    def evaluate(self, classes):
        values = np.array([one.sizes.max() for one in classes], dtype=float)
        return values / values.max()


class Remembering(Sound):
    """An objective that keeps the number of rows of the last table."""

    def __init__(self):
        self.n_rows = ()

    def evaluate_one(self, classes):
        self.__dict__["n_rows"] = {*self.n_rows, classes.n_rows}
        return float(classes.sizes.max() + len(self.n_rows) // 3)


class Shared(Sound):
    """An objective that works in an array shared by threads."""

    def __init__(self):
        self.own = 0

    def evaluate_one(self, classes):
        self.own = int(classes.sizes.max()) * 100 + int(classes.maps.sum())
        time.sleep(0.0002)
        own, self.own = self.own, 0
        return float(own)


class MeanOfClasses(Sound):
    worst_class = True

    def of_classes(self, classes):
        return classes.sizes.astype(float)

    def evaluate_one(self, classes):
        return float(classes.sizes.mean())


class OneWorth(Sound):
    worst_class = True

    def of_classes(self, classes):
        return 1.0


class NoWorth(Sound):
    worst_class = True


class NotMonotone(Sound):
    """An objective that is larger for the parts of a class."""

    name, maximize, bounding, worst_class = "rarity", True, Monotone, True

    def of_classes(self, classes):
        return 1 / classes.sizes

    def evaluate_one(self, classes):
        return float(np.min(1 / classes.sizes[classes.kept], initial=1.0))


class _NothingKnown(Monotone):
    def best_of_specializations(self, classes, below):
        return None


class PartsHaveMore(NotMonotone):
    bounding = type("Monotone", (_NothingKnown,), {})


class NotAdditive(GeneralLossMetric):
    def attribute_terms(self, tuples, maps):
        return super().attribute_terms(tuples, maps) + 0.5


class LessLeft(GeneralLossMetric):
    def left_by_value(self, tuples, maps):
        return super().left_by_value(tuples, maps) + 0.5


class NotRising(Sound):
    """The number of classes, lowered by merging."""

    bounding = RisingLoss

    def evaluate_one(self, classes):
        return float(len(classes.sizes))


class NoSquares(SquaredClassSizes):
    bounding = SquaresOverClasses

    def squares(self, classes):
        return classes.sizes


class NoBounds(Sound):
    """An objective with a family that asks for more than exists."""

    bounding = AdditiveLoss


class OneCase(Bounding):
    def best_of_specializations(self, classes, below):
        return np.array([0.0, 0.0, 0.0])


class WrongCases(Sound):
    bounding = OneCase


class TooSure(AlphaDeassociation):
    """An objective with a family that claims all rows but those of a first class surely suppressed."""

    class Sure(Bounding):
        def surely_suppressed(self, classes, constraint):
            return classes.sizes * (np.arange(len(classes.sizes)) > 0)

    bounding = Sure


class MoreGained(GeneralLossMetric):
    def class_gains(self, tuples, spans):
        gains = super().class_gains(tuples, spans)
        return type(gains)(**{**vars(gains), "most": gains.most + 1})


class Miscounted(Sound):
    def recount(self, recount):
        return recount.sizes.min()


class MiscountedLocally(Sound):
    def recount(self, recount):
        return recount.kept.max() + recount.is_local if len(recount.kept) else 0
