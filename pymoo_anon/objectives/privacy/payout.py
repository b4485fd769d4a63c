"""Payout of a publisher under attacks that pay."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import prod

import numpy as np

from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.objectives.base import WorstClassObjective
from pymoo_anon.objectives.privacy.register import AgainstRegister
from pymoo_anon.objectives.recount import Recount, Recounted
from pymoo_anon.table.domain_values import is_number, meant
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats

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
        """Return the payout of one row."""
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
