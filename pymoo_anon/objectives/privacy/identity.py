"""Privacy by the sizes of equivalence classes: the risk to be found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import ceil, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.objectives.base import (
    ColumnObjective,
    Objective,
    WithBackgroundKnowledge,
    WorstClassObjective,
    one_class,
)
from pymoo_anon.objectives.bounds import Bounding, FollowsK, Monotone, SquaresOverClasses, SuppressionBudget
from pymoo_anon.objectives.knowledge import JointMonotone, known_of
from pymoo_anon.objectives.privacy.register import AgainstRegister
from pymoo_anon.table.domain_values import is_number, meant
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints

if TYPE_CHECKING:
    from pymoo_anon.objectives.recount import Recount, Recounted


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
    together = np.bincount(ids, tuples).astype(np.int64)
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
        members = zip(pairs.value, recount.sizes.to_numpy()[pairs.cell], pairs.n, strict=True)
        free: defaultdict[object, Fraction] = defaultdict(lambda: Fraction(1))
        for home, size, count in members:
            free[home] *= Fraction(int(size) - 1, int(size)) ** int(count)
        return 1 - min(free.values())


# Digits beyond this are rounding errors of 28 digits.
_LAST_DIGIT = Decimal("1e-18")


class _Payout(AgainstRegister):
    """A publisher's payout, from that of each row by class."""

    maximize = True
    shown = ("cost", "gain", "loss", "benefit")

    def __init__(
        self,
        cost: float = 4,
        gain: float = 300,
        loss: float = 300,
        benefit: float = 1200,
        population: Microdata | None = None,
    ) -> None:
        super().__init__(population)
        for name, price in (("cost", cost), ("gain", gain), ("loss", loss), ("benefit", benefit)):
            if not is_number(price):
                raise TypeError(f"{name} must be a number, got {price!r}")
            if not 0 <= price < np.inf:
                raise ValueError(f"{name} must be a price from 0 on, got {price!r}")
        self.cost, self.gain, self.loss, self.benefit = cost, gain, loss, benefit

    def of_rows(self, classes: EquivalenceClasses) -> list[Decimal]:
        """Return the payout of a row of each class of one generalization."""
        values, sizes = (classes.extents[0][classes.cells] + 1).tolist(), classes.tuples.domain_sizes
        logs = {n: Decimal(n).ln() for n in {*sizes, *(n for own in values for n in own)}}
        whole = sum((logs[n] for n in sizes), Decimal(0)) or 1
        lost = (sum((logs[n] for n in own), Decimal(0)) / whole for own in values)
        return [self._of_row(share, n) for share, n in zip(lost, self.persons(classes).tolist(), strict=True)]

    def _of_row(self, lost: Decimal, persons: int) -> Decimal:
        attacked = meant(self.gain) > meant(self.cost) * persons
        found = meant(self.loss) / persons if attacked else Fraction(0)
        return (_decimal(meant(self.benefit)) * (1 - lost) - _decimal(found)).quantize(_LAST_DIGIT)

    def recounted(self, recount: Recount) -> list[tuple[int, Decimal]]:
        """Return rows and payout of each kept class of a release."""
        kept = recount.cells[~recount.marked]
        labels = [recount.labels[name] for name in recount.names]
        columns = [kept[f"column {i}"].map(own.extents).tolist() for i, own in enumerate(labels)]
        whole = Decimal(prod(own.n_values for own in labels)).ln()
        lost = [Decimal(prod(map(int, own))).ln() / (whole or 1) for own in zip(*columns, strict=True)]
        pairs = zip(lost, self.fitting(recount), strict=True)
        return [(n, self._of_row(share, fit)) for share, (n, fit) in pairs]

    def _arguments(self) -> list[str]:
        prices = [f"{self.cost!r}, {self.gain!r}, {self.loss!r}, {self.benefit!r}"]
        return prices if self.register is None else [*prices, repr(self.register.population)]


class PublisherPayout(_Payout):
    """publisher payout: expected payout of the publisher, over the kept rows (Wan et al. 2015).

    A row is worth the benefit times the share of the information that it keeps. An attack on it succeeds with
    probability 1 / |E|, or with a register 1 / (persons that its class fits), is made where it pays, and costs the
    publisher the loss. Suppressed rows pay nothing. From -loss · rows to benefit · rows; higher is better. It has no
    bounds.

    Formula:
        Σ benefit (1 - Σ ln(values in the group) / Σ ln(values in the domain)) - loss / |E| where gain / |E| > cost

    Args:
        cost: The price of an attack on one row.
        gain: The gain of an attacker who finds a person.
        loss: The loss of the publisher for a person who is found.
        benefit: The benefit of the publisher from a row that loses nothing.
        population: The register that the attacker holds: a table with the same quasi-identifiers, in the same order
            and with the same domains. None is an attacker who knows who is in the table.

    Raises:
        TypeError: A price is no number, or `population` is no Microdata.
        ValueError: A price is negative.
    """

    name = "publisher payout"
    short = "publisher-payout"

    def evaluate_one(self, classes: EquivalenceClasses) -> float:
        rows = (classes.sizes * classes.kept).tolist()
        return float(sum((n * own for n, own in zip(rows, self.of_rows(classes), strict=True)), Decimal(0)))

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return -self.loss * tuples.n_rows, self.benefit * tuples.n_rows

    def recount(self, recount: Recount) -> Recounted:
        return sum((n * own for n, own in self.recounted(recount)), Decimal(0))


class LeastPayout(_Payout, WorstClassObjective):
    """least payout: smallest expected payout for a row of a kept class (Wan et al. 2015).

    The payout of `PublisherPayout` class by class. Above 0 it pays to publish every row: `Violating` suppresses the
    others. Nobody attacks at all where k is at least gain / cost, for which `KAnonymity` has bounds. From -loss to
    benefit; higher is better. It has no bounds.

    Formula:
        min benefit (1 - Σ ln(values in the group) / Σ ln(values in the domain)) - loss / |E| where gain / |E| > cost

    Args:
        cost, gain, loss, benefit, population: As of `PublisherPayout`.

    Raises:
        TypeError, ValueError: As of `PublisherPayout`.
    """

    name = "least payout"
    short = "least-payout"

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        return np.array([float(own) for one in classes for own in self.of_rows(one)])

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return -self.loss, self.benefit

    def recount(self, recount: Recount) -> Recounted:
        found = [own for _, own in self.recounted(recount)]
        return min(found, default=self._of_row(Decimal(1), self.everybody(recount.n_rows)))


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / number.denominator
