"""Privacy of households, found by any member."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from math import prod

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.base import ColumnObjective, one_class
from pymoo_anon.objectives.bounds import Bounding, SuppressionBudget
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.typing import Floats

# A risk that is summed up in logarithms is off by a smaller share.
_ROUNDING = 1e-9


class HouseholdRisk(ColumnObjective):
    """household risk: greatest probability to find some member of a household (Templ et al. 2015).

    A member is a row, and is found with probability 1 / (size of its class). Suppressed rows add nothing; where all are
    suppressed the table is one class. From 0 to 1; lower is better.

    Formula:
        max 1 - Π (1 - 1 / |E(t)|), over the kept rows t of a household

    Args:
        column: Name of the column that identifies households. As `person` of a table it makes `KAnonymity(person=...)`
            the fewest households of a class.

    Raises:
        TypeError: `column` is no name.
    """

    name = "household risk"
    short = "household-risk"
    role = "person"
    words = "greatest risk of a household"
    maximize = False
    step = 0.001
    bounding = Bounding
    limits = (0, 1)

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        return np.array([self._greatest(one) for one in classes])

    def _greatest(self, classes: EquivalenceClasses) -> float:
        if not classes.kept.any():
            classes = one_class(classes.tuples, self.column)
        risks = self._risks(classes, np.where(classes.kept, classes.sizes, np.inf))
        if risks.max() == 1:
            return 1.0
        own, near = self._counts(classes), risks >= risks.max() * (1 - _ROUNDING)
        sizes = np.repeat(np.where(classes.kept, classes.sizes, 0), np.diff(own.starts))
        chosen = near[own.values] & (sizes > 0)
        members = defaultdict(list)
        for home, size, count in zip(own.values[chosen], sizes[chosen], own.counts[chosen], strict=True):
            members[home].append((int(size), int(count)))
        return float(max(map(_risk, {tuple(sorted(one)) for one in members.values()})))

    def _risks(self, classes: EquivalenceClasses, sizes: Floats) -> Floats:
        """Return nearly the risk of each household, given class sizes. (n_values,) array."""
        own = self._counts(classes)
        with np.errstate(divide="ignore"):
            logs = own.counts * np.repeat(np.log1p(-1 / sizes), np.diff(own.starts))
        risks: Floats = -np.expm1(np.bincount(own.values, logs, own.n_values))
        return risks

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the greatest risk of a household that loses no row.

        So many rows are of at most so many households. The others are in classes that are no larger than here.
        """
        found = []
        for one in classes:
            risks = np.sort(self._risks(one, one.sizes.astype(float)))[::-1]
            found.append(risks[below.limit] if below.limit < len(risks) else 0)
        return np.repeat(np.array(found, dtype=float) * (1 - _ROUNDING), len(below))

    def recount(self, recount: Recount) -> Recounted:
        pairs = recount.counts(self.column)
        kept = ~recount.marked.to_numpy()[pairs.cell]
        pairs = pairs[kept] if kept.any() else pairs
        members = zip(pairs.value, recount.sizes.to_numpy()[pairs.cell], pairs.n, strict=True)
        free: defaultdict[object, Fraction] = defaultdict(lambda: Fraction(1))
        for home, size, count in members:
            free[home] *= Fraction(int(size) - 1, int(size)) ** int(count)
        return 1 - min(free.values())


def _risk(members: tuple[tuple[int, int], ...]) -> Fraction:
    """Return the exact risk of one household."""
    return 1 - prod((Fraction(size - 1, size) ** count for size, count in members), start=Fraction(1))
