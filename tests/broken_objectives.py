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


BROKEN = [
    (NoName(), "name of NoName must be a text, got ''"),
    (NoDirection(), "maximize of NoDirection must be True or False, got 'yes'"),
    (NoStep(), "step of NoStep must be a positive number, got 0"),
    (NoFamily(), "bounding of NoFamily must be a family of objectives.bounds or None, got 'AdditiveLoss'"),
    (NeverEqual(), "a deep copy of NeverEqual() must be equal to it and have its hash, got NeverEqual()"),
    (Unpickled(), "Unpickled() must be copied, got TypeError: not me"),
    (NotANumber(), "evaluate of NotANumber() must give a number, got nan for classes of sizes ["),
    (Failing(), "Failing() must measure every generalization of a table, got ValueError: zero-size array"),
    (Whole(), "Whole() says that values are whole, got "),
    (Ranged(), "value_range of Ranged() says 0 to "),
    (OneForAll(), "evaluate of OneForAll() must give float64 numbers, one for each of "),
    (Integers(), "evaluate of Integers() must give float64 numbers, one for each of "),
    (Random(), "Random() must have the same value in a search as by itself, got "),
    (Sorting(), "evaluate of Sorting() must not change the arrays of its classes, got "),
    (FirstClass(), "FirstClass() must have the same value with its classes in another order, got "),
    (FirstValue("s"), "FirstValue('s') must have the same value with its classes in another order, got "),
    (FirstTuple(), "FirstTuple() must have the same value with the tuples of the table in another order, got "),
    (Relative(), "Relative() must have the same value alone, got "),
    (Remembering(), "Remembering() must give the same value after other tables, got "),
    (Shared(), "Shared() must give the same value in several threads at once, got "),
    (MeanOfClasses(), "MeanOfClasses() says that its value is that of the worst kept class, "),
    (OneWorth(), "of_classes of OneWorth() must give a number for each of "),
    (
        NoWorth(),
        "of_classes of NoWorth() must tell the worth of classes, got NotImplementedError: NoWorth is no value of",
    ),
    (Miscounted(), "recount of Miscounted() must find the value of a release, got "),
    (MiscountedLocally(), "recount of MiscountedLocally() must find the value of a release, got "),
    (NotMonotone(), "Monotone of NotMonotone(): no specialization is better than the best of them, got "),
    (PartsHaveMore(), "Monotone of PartsHaveMore(): no part of a class has a greater value than the class, got "),
    (NotAdditive(), "AdditiveLoss of NotAdditive(): no node is below its floor, got "),
    (LessLeft(), "AdditiveLoss of LessLeft(): no specialization is better than the best of them, got "),
    (NotRising(), "RisingLoss of NotRising(): no generalization is below the floor, got "),
    (NoSquares(), "SquaresOverClasses of NoSquares(): no specialization is better than the best of them, got "),
    (NoBounds(), "AdditiveLoss of NoBounds() must bound every node of a table, got AttributeError: "),
    (WrongCases(), "best_of_specializations of OneCase must give a number for each of "),
    (TooSure("s"), "Sure of TooSure('s'): every specialization suppresses what is surely gone under TooSure('s') <= "),
    (MoreGained(), "class_gains of MoreGained() must add up to the minimised value "),
]
