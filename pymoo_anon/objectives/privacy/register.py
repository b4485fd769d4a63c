"""Privacy against holders of a register of the population."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import chain, pairwise
from math import prod

import numpy as np
import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, row_ids
from pymoo_anon.engine.compiled import njit
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.bounds import Bounding, Monotone, SuppressionBudget
from pymoo_anon.objectives.privacy.identity import WorstClassObjective
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.table.domain_values import is_number, meant, same_as
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints


class WithPopulation(Objective):
    """A measure that counts persons of a population."""

    shown = ("population",)
    _no_joint: str | None = "persons of a population have no classes in earlier releases"

    def __init__(self, population: Microdata) -> None:
        if not isinstance(population, Microdata):
            raise TypeError(f"population must be a Microdata, got {type(population).__name__}")
        self.population = population

    def check(self, table: Microdata) -> None:
        """Check that the table has the quasi-identifiers of the population."""
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

    def persons(self, classes: EquivalenceClasses) -> Floats:
        """Return the persons of the population that each class fits. (n_classes,) array."""
        firsts, codes, people = classes.tuples.offsets[:-1], classes.tuples.codes, self.population.tuples.codes
        if classes.maps is None:
            forest, nodes = classes.forest, classes.cells
            assert forest is not None
            places, counts = forest.places[firsts + people], self.population.tuples.counts
            return _persons_below(forest.first[nodes], forest.stop[nodes], places, counts)
        n_groups = np.maximum.reduceat(classes.maps, firsts, axis=1) + 1
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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.population!r})"


class KMap(WithPopulation, WorstClassObjective):
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
    bounding = Monotone

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        return self.persons(classes)

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return 0, self.population.n_rows

    def recount(self, recount: Recount) -> Recounted:
        return min(self.fitting(recount), default=self.population.n_rows)


class AgainstRegister(Objective):
    """A measure against attackers with or without a register."""

    def __init__(self, population: Microdata | None = None) -> None:
        self.register = None if population is None else KMap(population)

    def check(self, table: Microdata) -> None:
        if self.register is not None:
            self.register.check(table)

    def persons(self, classes: EquivalenceClasses) -> Ints:
        """Return each class's fitting persons, at least its tuples. (n_classes,) int64 array."""
        if self.register is None:
            return classes.sizes
        return np.maximum(self.register.persons(classes).astype(np.int64), classes.sizes)

    def everybody(self, n_rows: int) -> int:
        """Return the number of all persons, at least the rows."""
        return n_rows if self.register is None else max(self.register.population.n_rows, n_rows)

    def fitting(self, recount: Recount) -> list[tuple[int, int]]:
        """Return rows and fitting persons of each kept class of a release."""
        sizes = recount.cells[~recount.marked].n.tolist()
        persons = sizes if self.register is None else self.register.fitting(recount)
        return [(n, max(n, fit)) for n, fit in zip(sizes, persons, strict=True)]


class _Presence(WithPopulation):
    """The chance of a person to be in the table."""

    step = 0.001
    bounding = Bounding
    limits = (0, 1)

    def of_everybody(self, n_rows: int) -> Fraction:
        """Return the chance where every tuple is suppressed."""
        return Fraction(n_rows, max(self.population.n_rows, n_rows))

    def fitted(self, classes: EquivalenceClasses) -> Floats:
        """Return the persons that each class of a full-domain recoding fits."""
        if classes.maps is None:
            check_local([self])
        return self.persons(classes)

    def refitted(self, recount: Recount) -> list[tuple[int, int]]:
        """Return the rows of each kept class, and its fitting persons."""
        for name in recount.names:
            rows = recount.of_labels(name)
            if (recount.labels[name].members(list(rows.index[rows > 0])).sum(axis=0) > 1).any():
                raise ValueError(f"{self.name} takes no local recoding, got labels of {name!r} that share values")
        return list(zip(recount.kept.tolist(), self.fitting(recount), strict=True))


def check_local(measures: Iterable[Objective]) -> None:
    """Refuse measures that local recodings have no value of."""
    for one in measures:
        if isinstance(one, _Presence):
            raise TypeError(f"{one.name} takes no local recoding, where a person may fit several classes")


class DeltaPresence(_Presence, WorstClassObjective):
    """presence: greatest share of a kept class's persons in the table (Nergiz et al. 2007).

    The persons of a class are those of a register, of which the table is a part, that it fits. This is the δ_max of
    δ-presence: whoever holds the register learns with this probability that a person is in the table. No class fits
    fewer persons than it has rows. From 0 to 1; lower is better. A local recoding has no value, as a person may fit
    several of its classes.

    Formula:
        max |E| / |{p in the population: the values of E fit p}|, E a kept class

    Args:
        population: A table with the same quasi-identifiers, in the same order and with the same domains.

    Raises:
        TypeError: It is no Microdata.
    """

    name = "presence"
    words = "greatest probability to be in the table"
    maximize = False

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        return classes.sizes / np.maximum(self.fitted(classes), classes.sizes)

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the presence after the best suppression.

        The share of a class is no larger than the largest of its parts. Where all parts that are kept have a share of
        at most x, a class of n rows that fits p persons has lost at least n - x p of them.
        """
        shares, persons, found = self.of_classes(classes), np.maximum(self.persons(classes), classes.sizes), []
        for a, b in pairwise(classes.starts):
            order = a + np.argsort(-shares[a:b], kind="stable")
            # The classes that lose rows are those with the largest shares.
            left = np.cumsum(classes.sizes[order]) - below.limit
            found.append(max((left / np.cumsum(persons[order])).max(), 0))
        return np.repeat(np.array(found, dtype=float), len(below))

    def recount(self, recount: Recount) -> Recounted:
        shares = [Fraction(n, max(n, persons)) for n, persons in self.refitted(recount)]
        return max(shares, default=self.of_everybody(recount.n_rows))


class LeastPresence(_Presence):
    """least presence: smallest share of a class's persons in the table (Nergiz et al. 2007).

    The δ_min of δ-presence: below it, whoever holds a register learns that somebody is probably not in the table. It is
    0 where a person of the register fits no kept class. From 0 to 1; higher is better. A local recoding has no value.

    Formula:
        min |E| / |{p in the population: the values of E fit p}|, E a kept class, or 0 where they do not fit everybody

    Args:
        population: A table with the same quasi-identifiers, in the same order and with the same domains.

    Raises:
        TypeError: It is no Microdata.
    """

    name = "least presence"
    words = "least probability to be in the table"
    maximize = True

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        persons = np.where(classes.kept, self.fitted(classes), 0)
        shares = np.where(classes.kept, classes.sizes / np.maximum(persons, classes.sizes), np.inf)
        least = np.minimum.reduceat(shares, classes.starts[:-1])
        least = np.where(classes.totals(persons) < self.population.n_rows, 0, least)
        return np.where(classes.n_suppressed < classes.n_rows, least, float(self.of_everybody(classes.n_rows)))

    def best_of_specializations(self, classes: EquivalenceClasses, below: SuppressionBudget) -> Floats:
        """Return the presence without suppression, or that of a wholly suppressed table.

        The share of a class is no smaller than the smallest of its parts, and suppression removes rows alone.
        """
        best = self.evaluate(replace(classes, kept=np.ones_like(classes.kept)))
        if below.limit >= classes.n_rows:
            best = np.maximum(best, float(self.of_everybody(classes.n_rows)))
        return np.repeat(best, len(below))

    def recount(self, recount: Recount) -> Recounted:
        found = self.refitted(recount)
        if found and sum(persons for _, persons in found) < self.population.n_rows:
            return 0
        return min((Fraction(n, max(n, persons)) for n, persons in found), default=self.of_everybody(recount.n_rows))


class MarketerRisk(AgainstRegister):
    """Marketer risk: mean over all tuples of 1 / (size of their class).

    The number of released classes over the rows; the suppressed tuples are one class (Dankar and El Emam 2010). From 1
    / rows, or 1 / persons of a register, to 1; lower is better. Against a register, the mean of 1 / (persons of the
    register that the tuple's class fits): the holder of the register links each row to one of them. All persons fit a
    suppressed tuple. The register holds the persons of the table: no class fits fewer persons than it has tuples.

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


# Digits beyond this are rounding errors of 28 digits, of prices below 10^10. Those of larger ones come sooner.
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
        values = (classes.extents[0][classes.cells] + 1).tolist()
        whole = Decimal(prod(classes.tuples.domain_sizes)).ln() or 1

        @cache
        def payout(own: tuple[int, ...], persons: int) -> Decimal:
            return self._of_row(Decimal(prod(own)).ln() / whole, persons)

        return [payout(tuple(own), n) for own, n in zip(values, self.persons(classes).tolist(), strict=True)]

    def _of_row(self, lost: Decimal, persons: int) -> Decimal:
        attacked = meant(self.gain) > meant(self.cost) * persons
        found = meant(self.loss) / persons if attacked else Fraction(0)
        beyond = max(Decimal(float(max(self.benefit, self.loss))).adjusted() - 9, 0)
        return (_decimal(meant(self.benefit)) * (1 - lost) - _decimal(found)).quantize(_LAST_DIGIT.scaleb(beyond))

    def recounted(self, recount: Recount) -> list[tuple[int, Decimal]]:
        """Return rows and payout of each kept class of a release."""
        columns = [recount.extents(name).tolist() for name in recount.names]
        whole = Decimal(prod(own.n_values for own in recount.labels.values())).ln() or 1
        lost = (Decimal(prod(map(int, own))).ln() / whole for own in zip(*columns, strict=True))
        return [(n, self._of_row(share, fit)) for share, (n, fit) in zip(lost, self.fitting(recount), strict=True)]

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
    _no_joint = "cells of joint classes have no groups"

    def of_classes(self, classes: EquivalenceClasses) -> Floats:
        return np.array([float(own) for one in classes for own in self.of_rows(one)])

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        return -self.loss, self.benefit

    def recount(self, recount: Recount) -> Recounted:
        found = [own for _, own in self.recounted(recount)]
        return min(found, default=self._of_row(Decimal(1), self.everybody(recount.n_rows)))


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / number.denominator


@njit()
def _persons_below(first, stop, places, counts):
    """Count the persons below the nodes of each class. These go from `first` to before `stop` in an attribute."""
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
