"""Objectives broken in one line each, with the contract's error messages."""

import random
import time

import numpy as np

from pymoo_anon.objectives import *
from pymoo_anon.objectives.bounds import AdditiveLoss, Bounding, Monotone, RisingLoss, SquaresOverClasses


class Sound(Objective):
    """A sound objective, from which each broken one differs in one line."""

    name = "largest"
    maximize = False

    def evaluate_one(self, classes):
        return float(classes.sizes.max())


def broken(kind, base=Sound, /, **line):
    """Make a class that differs from its base in one line."""
    return type(kind, (base,), line)


NoName = broken("NoName", name="")
NoDirection = broken("NoDirection", maximize="yes")
NoStep = broken("NoStep", step=0)
NoFamily = broken("NoFamily", bounding="AdditiveLoss")
#: A family that asks for more than there is.
NoBounds = broken("NoBounds", bounding=AdditiveLoss)
NotANumber = broken("NotANumber", evaluate=lambda self, classes: np.where(classes.n_suppressed > 0, np.nan, 1.0))
Failing = broken("Failing", evaluate_one=lambda self, classes: float(classes.sizes[classes.kept].min()))
Whole = broken("Whole", whole=True, evaluate_one=lambda self, classes: float(classes.sizes.mean()))
Ranged = broken("Ranged", value_range=lambda self, tuples: (0, len(tuples) - 1))
OneForAll = broken("OneForAll", evaluate=lambda self, classes: np.array([1.0]))
Integers = broken("Integers", evaluate=lambda self, classes: np.array([1 for _ in classes]))
Random = broken("Random", evaluate_one=lambda self, classes: random.random())
FirstClass = broken("FirstClass", evaluate_one=lambda self, classes: float(classes.sizes[0]))
FirstTuple = broken("FirstTuple", evaluate_one=lambda self, classes: float(classes.tuples.codes[0].sum()))
OneWorth = broken("OneWorth", worst_class=True, of_classes=lambda self, classes: 1.0)
NoWorth = broken("NoWorth", worst_class=True)
NotRising = broken("NotRising", bounding=RisingLoss, evaluate_one=lambda self, classes: float(len(classes.sizes)))
NoSquares = broken(
    "NoSquares", SquaredClassSizes, bounding=SquaresOverClasses, squares=lambda self, classes: classes.sizes
)
OneCase = broken("OneCase", Bounding, best_of_specializations=lambda self, classes, below: np.zeros(3))
WrongCases = broken("WrongCases", bounding=OneCase)
Miscounted = broken("Miscounted", recount=lambda self, recount: recount.sizes.min())


class NeverEqual(Sound):
    def __init__(self):
        self.own = object()


class Unpickled(Sound):
    def __init__(self):
        self.own = len

    def __reduce__(self):
        raise TypeError("not me")


class Sorting(Sound):
    def evaluate_one(self, classes):
        classes.sizes.sort()
        return float(classes.sizes[-1])


class FirstValue(ColumnObjective):
    name, maximize = "first", False

    def evaluate_one(self, classes):
        return float(self._counts(classes).values[self._counts(classes).starts[:-1]].sum())


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


class NotMonotone(Sound):
    """An objective that is larger for the parts of a class."""

    name, maximize, bounding, worst_class = "rarity", True, Monotone, True

    def of_classes(self, classes):
        return 1 / classes.sizes

    def evaluate_one(self, classes):
        return float(np.min(1 / classes.sizes[classes.kept], initial=1.0))


#: Of parts of a class it knows nothing.
Knowing = broken("Monotone", Monotone, best_of_specializations=lambda self, classes, below: None)
PartsHaveMore = broken("PartsHaveMore", NotMonotone, bounding=Knowing)


class NotAdditive(GeneralLossMetric):
    def attribute_terms(self, tuples, maps):
        return super().attribute_terms(tuples, maps) + 0.5


class LessLeft(GeneralLossMetric):
    def left_by_value(self, tuples, maps):
        return super().left_by_value(tuples, maps) + 0.5


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


class MiscountedLocally(Sound):
    def recount(self, recount):
        return recount.kept.max() + recount.is_local if len(recount.kept) else 0
