"""The risk to be found: measures of class sizes and of the worst class."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Hashable, Iterator
from fractions import Fraction
from functools import reduce
from math import ceil, prod
from typing import Any, TypeVar

import numpy as np

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, one_class
from pymoo_anon.objectives.base import ColumnObjective, Objective
from pymoo_anon.objectives.bounds import Bounding, FollowsK, Monotone, SquaresOverClasses, SuppressionBudget
from pymoo_anon.objectives.knowledge import (
    BackgroundKnowledge,
    JointMonotone,
    agreeing,
    any_of,
    joint_classes,
    knowledge_in_words,
    known_of,
    sets_of,
)
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.table.domain_values import is_number, meant
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints

Knowing = TypeVar("Knowing", bound="WithBackgroundKnowledge")
Worst = TypeVar("Worst", bound="WorstClassObjective")


class WorstClassObjective(Objective):
    """The value of the worst kept class.

    It is that of the whole table if all are suppressed. A subclass defines `of_classes`.
    """

    worst_class = True
    #: Reason why joint classes have no value, or None.
    _no_joint: str | None = None

    def jointly(self: Worst) -> Worst:
        """Return the same measure of joint classes, as `KAnonymity(joint=True)`.

        Its bounds are those of `best_of_specializations` alone, unless it names others for joint classes.

        Raises:
            ValueError: Joint classes have no value.
        """
        if self._no_joint is not None:
            raise ValueError(f"{self._no_joint}, so that {self.name} cannot be joint")
        made = copy.copy(self)
        made.joint = True
        own = {"name": f"joint {self.name}", "bounding": self.bounding and Bounding}
        # A property of the class knows of joint classes itself.
        vars(made).update({one: v for one, v in own.items() if not isinstance(getattr(type(self), one), property)})
        return made

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        if not self.joint:
            return self._worst(classes)
        return np.array([self._worst(joint_classes(one))[0] for one in classes], dtype=float)

    def _worst(self, classes: EquivalenceClasses) -> Floats:
        worst_of, none = (np.minimum, np.inf) if self.maximize else (np.maximum, -np.inf)
        of_classes = np.where(classes.kept, self.of_classes(classes), none)
        worst: Floats = worst_of.reduceat(of_classes, classes.starts[:-1])
        gone = classes.n_suppressed == classes.n_rows
        if gone.any():
            worst[gone] = self.of_classes(one_class(classes.tuples, *self.reads(classes.tuples.sensitive)))
        return worst


class WithBackgroundKnowledge(WorstClassObjective):
    """A measure of the worst class, against adversaries with background knowledge.

    A class then has the value of all kept rows that agree with it on a known set, and the worst of these over the sets.
    A subclass defines `_of_classes` and `_recount`, which are as `of_classes` and `recount` for full knowledge.
    """

    known: BackgroundKnowledge = None
    _name: str

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name with the background knowledge."""
        own = f"joint {self._name}" if self.joint else self._name
        return own if self.known is None else f"{own} ({knowledge_in_words(self.known)})"

    def _of_classes(self, classes: EquivalenceClasses) -> Floats:
        raise NotImplementedError

    def _recount(self, recount: Recount) -> Recounted:
        raise NotImplementedError

    def knowing_all(self: Knowing) -> Knowing:
        """Return the same measure for full knowledge."""
        made = copy.copy(self)
        made.known = None
        return made

    def merged(self, classes: EquivalenceClasses) -> Iterator[tuple[EquivalenceClasses, Ints]]:
        """Yield merged classes by known set, with each class's number."""
        tuples = classes.tuples
        return agreeing(classes, sets_of(self.known, tuples.names), self.reads(tuples.sensitive))

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        if self.known is None:
            return self._of_classes(classes)
        found = (self._of_classes(merged)[ids] for merged, ids in self.merged(classes))
        return reduce(np.minimum if self.maximize else np.maximum, found)

    def recount(self, recount: Recount) -> Recounted:
        if self.known is None:
            return self._recount(recount)
        sets = [[recount.names[place] for place in one] for one in sets_of(self.known, recount.names)]
        found = [self._recount(recount.agreeing(names)) for names in sets]
        return min(found) if self.maximize else max(found)

    def check(self, table: Microdata) -> None:
        super().check(table)
        known = self.known
        if self.joint and known is not None:
            raise ValueError(f"known must be None for a joint measure: its adversary knows all columns, got {known!r}")
        named = () if isinstance(known, any_of) else [name for one in known or () for name in one]
        if sensitive := [name for name in dict.fromkeys(named) if name in table.sensitive]:
            raise ValueError(f"known must name quasi-identifiers, got {examples(sensitive)}, which is sensitive")
        sets_of(known, list(table.quasi_identifiers))

    def __repr__(self) -> str:
        if self.joint:
            return f"{type(self).__name__}({', '.join([*self._arguments(), 'joint=True'])})"
        if self.known is None:
            return super().__repr__()
        sets: Any = self.known if isinstance(self.known, any_of) else [list(one) for one in self.known]
        shown = sets[0] if isinstance(sets, list) and len(sets) == 1 else sets
        return f"{type(self).__name__}({', '.join([*self._arguments(), f'known={shown!r}'])})"


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

    def _of_classes(self, classes: EquivalenceClasses) -> Floats:
        return classes.sizes if self.column is None else np.diff(classes.columns[self.column].starts)  # type: ignore[return-value]

    def of_k(self, k: Ints) -> Floats:
        """Return k itself."""
        return k.astype(float)

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
        different = {tuple(sorted(one)) for one in members.values()}
        return float(1 - min(prod(Fraction(n - 1, n) ** count for n, count in one) for one in different))

    def _risks(self, classes: EquivalenceClasses, sizes: Floats) -> Floats:
        """Return nearly the risk of each household, given class sizes. (n_values,) array."""
        own = self._counts(classes)
        with np.errstate(divide="ignore"):
            logs = own.counts * np.repeat(np.log1p(-1 / sizes), np.diff(own.starts))
        return -np.expm1(np.bincount(own.values, logs, own.n_values))

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
        sizes = recount.sizes.to_numpy()[pairs.cell]
        nearly = ((1 - 1 / sizes) ** pairs.n).groupby(pairs.value, sort=False).transform("prod")
        # Fractions take long: only those of the households that may have the greatest risk are counted.
        near = nearly <= nearly.min() * (1 + _ROUNDING)
        free: defaultdict[object, Fraction] = defaultdict(lambda: Fraction(1))
        for home, size, count in zip(pairs.value[near], sizes[near], pairs.n[near], strict=True):
            free[home] *= Fraction(int(size) - 1, int(size)) ** int(count)
        return 1 - min(free.values())
