"""Privacy by the sizes of equivalence classes: the risk to be found."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from itertools import chain, pairwise
from math import ceil
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.engine.compiled import njit
from pymoo_anon.engine.numbering import row_ids
from pymoo_anon.objectives.base import Objective, WithBackgroundKnowledge, WorstClassObjective
from pymoo_anon.objectives.bounds import (
    Bounding,
    FollowsK,
    Monotone,
    SquaresOverClasses,
    SuppressionBudget,
)
from pymoo_anon.objectives.knowledge import JointMonotone, known_of
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.table.domain_values import is_number, meant, same_as
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


class MarketerRisk(Objective):
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

    def __init__(self, population: Microdata | None = None) -> None:
        self.register = None if population is None else KMap(population)

    @property
    def name(self) -> str:  # type: ignore[override]
        """Marketer risk, and whether there is a register."""
        return "marketer risk" if self.register is None else "marketer risk with a register"

    def check(self, table: Microdata) -> None:
        if self.register is not None:
            self.register.check(table)

    def persons(self, classes: EquivalenceClasses) -> Ints:
        """Return the persons of the register that each class fits, at least its tuples."""
        assert self.register is not None
        return np.maximum(self.register.of_classes(classes).astype(np.int64), classes.sizes)

    def everybody(self, n_rows: int) -> int:
        """Return the number of persons in the register, at least the rows."""
        assert self.register is not None
        return max(self.register.population.n_rows, n_rows)

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
        return 1 / (tuples.n_rows if self.register is None else self.everybody(tuples.n_rows)), 1

    def recount(self, recount: Recount) -> Recounted:
        if self.register is None:
            return Fraction(recount.n_classes, recount.n_rows)
        kept = recount.cells[~recount.marked]
        fitting = zip(kept.n.tolist(), self.register.fitting(recount), strict=True)
        risks = sum((Fraction(n, max(n, fit)) for n, fit in fitting), Fraction(0))
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


class KMap(WorstClassObjective):
    """k-map: smallest number of persons of a population that a kept class fits.

    As k, but counted in a population table of which the released one is a part (Sweeney 2002). Whole, from 0 where none
    fits; where every tuple is suppressed all do. In a local recoding a person fits every class whose cells hold the
    person's values; higher is better.

    Formula:
        min |{p in the population: the values of E fit p}|, E a kept class

    Args:
        population: A table with the same quasi-identifiers, in the same order and with the same domains.

    Raises:
        TypeError: It is no Microdata.
    """

    name = "k-map"
    maximize = True
    whole = True
    shown = ("population",)
    bounding = Monotone

    def __init__(self, population: Microdata) -> None:
        if not isinstance(population, Microdata):
            raise TypeError(f"population must be a Microdata, got {type(population).__name__}")
        self.population = population

    def check(self, table: Microdata) -> None:
        """Check that the table has the quasi-identifiers of the population.

        Raises:
            ValueError: Names, order or domains differ.
        """
        own, known = table.quasi_identifiers, self.population.quasi_identifiers
        if list(own) != list(known):
            raise ValueError(
                f"population must have the table's quasi-identifiers {examples(list(own))}, got {examples(list(known))}"
            )
        different = [
            name for name in own if list(map(same_as, own[name].domain)) != list(map(same_as, known[name].domain))
        ]
        if different:
            raise ValueError(
                f"population must have the domains of the table, in the same order; those of {examples(different)} "
                "differ; population.recoded gives it hierarchies of these domains"
            )

    def jointly(self) -> NoReturn:
        """Refuse joint classes.

        Raises:
            ValueError: Always.
        """
        raise ValueError("persons of a population have no classes in earlier releases, so that k-map cannot be joint")

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        if classes.maps is None:
            return self._fitting_cells(classes)
        firsts = classes.tuples.offsets[:-1]
        n_groups = np.maximum.reduceat(classes.maps, firsts, axis=1) + 1
        codes, people = classes.tuples.codes, self.population.tuples.codes
        found = []
        theirs = chain.from_iterable(self.population.grouper.classes(classes.maps, n_groups))
        for own, their, groups, n in zip(classes, theirs, classes.maps, n_groups.tolist(), strict=True):
            mine = groups[firsts + codes[own.representatives]]
            together = np.concatenate([mine, groups[firsts + people[their.representatives]]])
            ids, first = row_ids(together, tuple(n))
            persons = np.zeros(len(first), dtype=np.int64)
            persons[ids[len(mine) :]] = their.sizes
            found.append(persons[ids[: len(mine)]])
        return np.concatenate(found)

    def _fitting_cells(self, classes: EquivalenceClasses) -> Floats:
        forest, nodes, theirs = classes.forest, classes.cells, self.population.tuples
        assert forest is not None
        places = forest.places[classes.tuples.offsets[:-1] + theirs.codes]
        persons: Floats = _persons_below(forest.first[nodes], forest.stop[nodes], places, theirs.counts)
        return persons

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 0, self.population.n_rows

    def recount(self, recount: Recount) -> Recounted:
        return min(self.fitting(recount), default=self.population.n_rows)

    def fitting(self, recount: Recount) -> list[int]:
        """Return the persons that each kept class of a release fits."""
        kept = recount.cells[~recount.marked]
        keys, tuples = [f"column {i}" for i in range(len(recount.names))], self.population.tuples
        if not recount.is_local:
            # Each value has one label, so that persons are recoded as the table is.
            people = pd.DataFrame({"persons": tuples.counts})
            for key, name, codes in zip(keys, recount.names, tuples.codes.T, strict=True):
                people[key] = recount.became(name, codes)
            persons = people.groupby(keys, as_index=False, sort=False)
            return kept.merge(persons.persons.sum(), on=keys, how="left").persons.fillna(0).astype(int).tolist()
        members = [
            recount.labels[name].members(kept[key].tolist()) for key, name in zip(keys, recount.names, strict=True)
        ]
        fits = (
            np.logical_and.reduce([own[one, codes] for own, codes in zip(members, tuples.codes.T, strict=True)])
            for one in range(len(kept))
        )
        return [int(tuples.counts[one].sum()) for one in fits]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KMap):
            return NotImplemented
        own, theirs = self.population, other.population
        if own is theirs:
            return True
        return (
            [(name, hierarchy.domain) for name, hierarchy in own.quasi_identifiers.items()]
            == [(name, hierarchy.domain) for name, hierarchy in theirs.quasi_identifiers.items()]
            and np.array_equal(own.tuples.codes, theirs.tuples.codes)
            and np.array_equal(own.tuples.counts, theirs.tuples.counts)
        )

    __hash__ = Objective.__hash__

    def __repr__(self) -> str:
        return f"KMap({self.population!r})"


def smallest_k(risk: float) -> int:
    """Return the smallest class size with a risk, 1 / k, within a limit.

    >>> [smallest_k(risk) for risk in (0.09, 0.2, 1 / 3, 1 / 12, 0.05)]
    [12, 5, 3, 12, 20]
    """
    if not is_number(risk):
        raise TypeError(f"risk must be a number, got {risk!r}")
    if not 0 < risk <= 1:
        raise ValueError(f"risk must be above 0 and at most 1, a chance to be found, got {risk!r}")
    return ceil(1 / meant(risk))


@njit()
def _persons_below(first, stop, places, counts):  # type: ignore[no-untyped-def]
    """Count the persons below the nodes of each class: from `first` to before `stop` in every attribute."""
    n_classes, n_attributes = first.shape
    persons = np.zeros(n_classes, dtype=np.int64)
    for c in range(n_classes):
        for t in range(len(counts)):
            j = 0
            while j < n_attributes and first[c, j] <= places[t, j] < stop[c, j]:
                j += 1
            if j == n_attributes:
                persons[c] += counts[t]
    return persons
