"""Privacy by the sizes of equivalence classes: the risk to be found."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import Any

import numpy as np

from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.objectives.base import Objective, WithBackgroundKnowledge, WorstClassObjective
from pymoo_anon.objectives.bounds import (
    Bounding,
    FollowsK,
    Monotone,
    SquaresOverClasses,
    SuppressionBudget,
)
from pymoo_anon.objectives.knowledge import JointMonotone, known_of
from pymoo_anon.objectives.privacy.register import AgainstRegister
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.table.domain_values import is_number, meant
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints


class KAnonymity(WithBackgroundKnowledge):
    """k: size of the smallest kept class (Dewri et al. 2010, section 3).

    Whole, from 1 to the number of rows; higher is better.

    Formula:
        min |E|, E a kept class

    Args:
        person: Name of the column that identifies persons. k then is the fewest distinct persons of a class, where a
            person may have several rows. None counts rows.
        known: Background knowledge: `["age", "zip"]` for one adversary, `[["age", "zip"], ["sex"]]` for several, of
            whom the worst counts, or `any_of(3)` for all who know any three. k then is the fewest kept rows that agree
            on a known set. It does not hold for somebody who knows what two of them know together. None is full
            knowledge.
        joint: Whether k is that of somebody who has the releases beside this one, too, with rows linked: the fewest
            rows that are in the same class of each. Suppressed rows of a release are one class in it.

    Raises:
        TypeError: `person` is no name.
        ValueError: `known` is none of these.

    >>> KAnonymity() >= 5
    KAnonymity() >= 5
    >>> KAnonymity(known=[["zip", "age"], ["sex", "zip"]]).name
    'k (age, zip | sex, zip)'
    """

    short = "k"
    role = "person"
    maximize = True
    whole = True
    shown = ("known",)

    def __init__(self, person: Hashable | None = None, *, known: Any = None, joint: bool = False) -> None:
        if not isinstance(person, Hashable):
            raise TypeError(f"person must be the name of a column, got {person!r}")
        self.column = person
        self.known, self.joint = known_of(known), joint

    @property
    def _name(self) -> str:  # type: ignore[override]
        return "k" if self.column is None else "k in persons"

    @property
    def bounding(self) -> type[Bounding]:  # type: ignore[override]
        """The family of bounds. Suppression goes by rows, so only k in rows has cases of its own."""
        if self.joint:
            return JointMonotone
        return FollowsK if self.column is None and self.known is None else Monotone

    @property
    def is_fewest(self) -> bool:  # type: ignore[override]
        """Whether the fewest distinct persons are all it needs. A subclass may need more."""
        return type(self) is KAnonymity and self.known is None and not self.joint

    def _of_classes(self, classes: EquivalenceClasses) -> Floats:
        return classes.sizes if self.column is None else np.diff(classes.columns[self.column].starts)  # type: ignore[return-value]

    def of_k(self, k: Ints) -> Floats:
        """Return k itself."""
        return k.astype(float)

    def check(self, table: Microdata) -> None:
        super().check(table)
        if self.column is not None:
            table.tuples.check_role(self.column, self)

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 1, tuples.n_rows if self.column is None else int(np.count_nonzero(tuples.totals(self.column)))

    def _recount(self, recount: Recount) -> Recounted:
        if self.column is None:
            return float(recount.sizes.min())
        return float(recount.counts(self.column).groupby("cell").value.nunique().min())

    def _arguments(self) -> list[str]:
        return [] if self.column is None else [f"person={self.column!r}"]


class SquaredClassSizes(Objective):
    """S_k: size of each tuple's class, summed up.

    It is the sum of the squared class sizes, the unary form of their spread (Dewri et al. 2010, section 4.1). Whole,
    from the number of rows N to N²; higher is better.

    Formula:
        Σ |E|², over the classes E
    """

    name = "S_k"
    short = "S_k"
    words = "sum of class sizes"
    maximize = True
    whole = True
    bounding = SquaresOverClasses

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        kept = classes.totals(classes.sizes**2 * classes.kept)
        return (kept + classes.n_suppressed**2).astype(float)

    def squares(self, classes: EquivalenceClasses) -> Ints:
        """Return the term of each class. (n_classes,) int64 array."""
        return classes.sizes**2

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return tuples.n_rows, float(tuples.n_rows) ** 2

    def recount(self, recount: Recount) -> Recounted:
        return float((recount.kept**2).sum() + recount.n_suppressed**2)


class ProsecutorRisk(WorstClassObjective):
    """Prosecutor risk: greatest probability to find a person, 1 / k.

    The attacker knows that the person is in the table (El Emam and Dankar 2008). From 1 / rows to 1; lower is better.

    Formula:
        max 1 / |E|, E a kept class
    """

    name = "prosecutor risk"
    short = "prosecutor-risk"
    words = "maximum re-identification risk"
    maximize = False
    step = 0.001
    bounding = FollowsK

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        return 1 / classes.sizes

    def of_k(self, k: Ints) -> Floats:
        """Return the risk of each k."""
        return 1 / k

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 1 / tuples.n_rows, 1

    def recount(self, recount: Recount) -> Recounted:
        return Fraction(1, int(recount.sizes.min()))


class MarketerRisk(AgainstRegister):
    """Marketer risk: mean over all tuples of 1 / (size of their class).

    The number of released classes over the rows; the suppressed tuples are one class (Dankar and El Emam 2010). From 1
    / rows to 1; lower is better. Against a register, the mean of 1 / (persons of the register that the tuple's class
    fits): the holder of the register links each row to one of them. All persons fit a suppressed tuple. The register
    holds the persons of the table: no class fits fewer persons than it has tuples.

    Formula:
        (1 / N) Σ 1 / |E(t)|, over the N tuples t; with a register (1 / N) Σ 1 / |{p in the register: E(t) fits p}|

    Args:
        population: The register that the marketer holds, of which the table is a part: a table with the same
            quasi-identifiers, in the same order and with the same domains. None is the persons of the table alone.

    Raises:
        TypeError: `population` is no Microdata.
    """

    short = "marketer-risk"
    words = "average re-identification risk"
    maximize = False
    step = 0.0001
    bounding = Bounding
    shown = ("register",)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Marketer risk, and whether there is a register."""
        return "marketer risk" if self.register is None else "marketer risk with a register"

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        if self.register is None:
            return classes.n_released / classes.n_rows
        persons, kept = self.persons(classes), np.where(classes.kept, classes.sizes, 0)
        n_rows, everybody = classes.n_rows, self.everybody(classes.n_rows)
        ends = zip(pairwise(classes.starts), classes.n_suppressed.tolist(), strict=True)
        sums = (_sum_of_ratios(kept[a:b], persons[a:b]) + Fraction(n, everybody) for (a, b), n in ends)
        return np.array([float(one / n_rows) for one in sums])

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the risk after the best suppression.

        Splitting makes classes no fewer. A part fits no more persons than its class, so its tuples add no less.
        """
        found = []
        if self.register is None:
            ends = [np.cumsum(np.sort(one.sizes)) for one in classes]
            found = [max(len(own) - int(np.searchsorted(own, below.limit, side="right")), 1) for own in ends]
            return np.repeat(np.array(found) / classes.n_rows, len(below))
        persons, everybody = self.persons(classes), self.everybody(classes.n_rows)
        for a, b in pairwise(classes.starts):
            order = np.argsort(persons[a:b], kind="stable")
            sizes = classes.sizes[a:b][order]
            before = np.append(0, np.cumsum(sizes)[:-1])
            gone = np.clip(below.limit - before, 0, sizes)
            found.append(((sizes - gone) / persons[a:b][order]).sum() + gone.sum() / everybody)
        # A sum of so many positive terms, each rounded, is off by a smaller share.
        share = (len(persons) + 4) * 2.0**-52
        return np.repeat(np.array(found) / classes.n_rows * (1 - share), len(below))

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 1 / self.everybody(tuples.n_rows), 1

    def recount(self, recount: Recount) -> Recounted:
        if self.register is None:
            return Fraction(recount.n_classes, recount.n_rows)
        risks = sum((Fraction(n, persons) for n, persons in self.fitting(recount)), Fraction(0))
        return (risks + Fraction(recount.n_suppressed, self.everybody(recount.n_rows))) / recount.n_rows

    def _arguments(self) -> list[str]:
        return [] if self.register is None else [repr(self.register.population)]


def _sum_of_ratios(tuples: Ints, persons: Ints) -> Fraction:
    different, ids = np.unique(persons, return_inverse=True)
    together = np.zeros(len(different), dtype=np.int64)
    np.add.at(together, ids, tuples)
    parts = [Fraction(n, d) for n, d in zip(together.tolist(), different.tolist(), strict=True) if n]
    return sum(parts, Fraction(0))


class RecordsAtRisk(Objective):
    """Records at risk: share of the rows in classes with 1 / size above a limit.

    The rows that the prosecutor has a fair chance to find; `ProsecutorRisk` is the chance for the row that is found
    most easily. The suppressed tuples are one class (El Emam 2013). From 0 to 1; lower is better.

    Formula:
        (1 / N) Σ |E|, over the classes E with 1 / |E| > risk

    Args:
        risk: The greatest accepted risk, above 0, at most 1. With 0.09, rows in classes of up to 11 are above it.

    Raises:
        TypeError: `risk` is no number.
        ValueError: It is not above 0 and at most 1.

    >>> RecordsAtRisk(0.2) <= 0.05
    RecordsAtRisk(0.2) <= 0.05
    """

    short = "records-at-risk"
    words = "share of records at risk"
    maximize = False
    step = 0.0001
    bounding = Bounding
    shown = ("risk", "enough")
    limits = (0, 1)

    def __init__(self, risk: float = 0.09) -> None:
        self.risk = risk
        self.enough = smallest_k(risk)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Records at risk, and the limit."""
        return f"records at risk {self.risk:g}"

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        small = classes.kept & (classes.sizes < self.enough)
        suppressed = classes.n_suppressed
        at_risk = classes.totals(np.where(small, classes.sizes, 0))
        return (at_risk + np.where(suppressed < self.enough, suppressed, 0)) / classes.n_rows

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the rows of small classes that suppression cannot hide.

        Parts of a small class are small, and so are the suppressed tuples where they are fewer than `enough`.
        """
        rows = classes.totals(np.where(classes.sizes < self.enough, classes.sizes, 0))
        hidden = below.limit if below.limit >= self.enough else 0
        return np.repeat(np.maximum(rows - hidden, 0) / classes.n_rows, len(below))

    def recount(self, recount: Recount) -> Recounted:
        sizes = [*recount.kept.tolist(), recount.n_suppressed]
        return Fraction(sum(size for size in sizes if size * meant(self.risk) < 1), recount.n_rows)

    def __repr__(self) -> str:
        return f"RecordsAtRisk({self.risk!r})"


def smallest_k(risk: float) -> int:
    """Return the smallest class size within a limit of risk.

    >>> [smallest_k(risk) for risk in (0.09, 0.2, 1 / 3, 1 / 12, 0.05)]
    [12, 5, 3, 12, 20]
    """
    if not is_number(risk):
        raise TypeError(f"risk must be a number, got {risk!r}")
    if not 0 < risk <= 1:
        raise ValueError(f"risk must be above 0 and at most 1, a chance to be found, got {risk!r}")
    return ceil(1 / meant(risk))
