"""Twins of all measures in exact arithmetic, from the rows.

A measure with a logarithm or a root is compared, and never computed: log2(a) / n with log2(b) / m as a^m with b^n.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import total_ordering
from math import prod
from typing import Any

from pymoo_anon.objectives import *
from pymoo_anon.table import Hierarchy, Microdata

DIGITS = 60


@total_ordering
@dataclass(frozen=True, eq=False)
class Exact:
    """A fraction, its n-th root, or its log2 over n.

    Infinity belongs to every kind.
    """

    fraction: Fraction
    n: int = 1
    kind: str = "itself"

    def _powers(self, other: Exact) -> tuple[Fraction, Fraction]:
        assert self.kind == other.kind
        return self.fraction**other.n, other.fraction**self.n

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Exact)
        if self is INFINITE or other is INFINITE:
            return self is other
        own, theirs = self._powers(other)
        return own == theirs

    def __lt__(self, other: Exact) -> bool:
        if self is INFINITE or other is INFINITE:
            return self is not INFINITE
        own, theirs = self._powers(other)
        return own < theirs

    __hash__ = None  # type: ignore[assignment]

    def __float__(self) -> float:
        """Return the nearest float."""
        if self is INFINITE:
            return float("inf")
        if self.kind == "itself":
            return self.fraction.numerator / self.fraction.denominator
        with localcontext() as context:
            context.prec = DIGITS
            log = (Decimal(self.fraction.numerator).ln() - Decimal(self.fraction.denominator).ln()) / self.n
            return float(log.exp() if self.kind == "root" else log / Decimal(2).ln())


INFINITE = Exact(Fraction(0), 1, "infinite")


@dataclass
class Release:
    """A table under one generalization, row by row.

    Attributes:
        rows: The rows, each a dict of values.
        hierarchies: Per quasi-identifier its hierarchy.
        group_of: Per quasi-identifier the group of every value of its domain.
        kept: Whether each row is kept.
    """

    rows: list[dict[str, Any]]
    hierarchies: dict[str, Hierarchy]
    group_of: dict[str, dict[Any, int]]
    kept: list[bool]

    @property
    def n(self) -> int:
        return len(self.rows)

    @property
    def n_suppressed(self) -> int:
        return self.n - sum(self.kept)

    def cell(self, row: dict[str, Any]) -> tuple[int, ...]:
        return tuple(self.group_of[name][row[name]] for name in self.hierarchies)

    def classes(self, everything: bool = False) -> list[list[dict[str, Any]]]:
        """Return the rows of each class that is kept, or of all."""
        found: dict[Any, list[dict[str, Any]]] = {}
        for row, kept in zip(self.rows, self.kept, strict=True):
            if kept or everything:
                found.setdefault(self.cell(row), []).append(row)
        return list(found.values())

    def sizes(self) -> list[int]:
        """Return the size of each kept class."""
        return [*map(len, self.classes())]

    def counted(self) -> list[list[dict[str, Any]]]:
        """Return the kept classes, or the whole table if there are none."""
        return self.classes() or [self.rows]

    def alone(self) -> list[Release]:
        """Release each class as the only one that is kept."""
        cells = list(map(self.cell, self.rows))
        return [
            Release(self.rows, self.hierarchies, self.group_of, [own == cell for own in cells])
            for cell in dict.fromkeys(cells)
        ]

    def group(self, name: str, row: dict[str, Any]) -> set[Any]:
        """Return the domain values that the cell of a row covers."""
        own = self.group_of[name][row[name]]
        return {value for value, group in self.group_of[name].items() if group == own}

    def extent(self, name: str, row: dict[str, Any]) -> int:
        """Count the domain values that the cell of a row covers."""
        return len(self.group(name, row))

    def level(self, name: str, row: dict[str, Any]) -> int:
        """Return the lowest level with groups that hold all of the column's.

        It is the highest if no other does.
        """
        hierarchy = self.hierarchies[name]
        groups = [self.group_of[name][value] for value in hierarchy.domain]
        fits = [len(set(zip(groups, own, strict=True))) == len(set(groups)) for own in hierarchy.groups.tolist()]
        return [*fits[:-1], True].index(True)


@dataclass
class LocalRelease(Release):
    """A table under a local recoding, in which nothing is suppressed.

    Attributes:
        level_of: By tuple of original values the level of each of its cells.
    """

    level_of: dict[tuple[Any, ...], tuple[int, ...]]

    def group(self, name: str, row: dict[str, Any]) -> set[Any]:
        hierarchy, own = self.hierarchies[name], tuple(row[one] for one in self.hierarchies)
        groups = hierarchy.groups[self.level_of[own][list(self.hierarchies).index(name)]]
        mine = groups[hierarchy.domain.index(row[name])]
        return {value for value, group in zip(hierarchy.domain, groups, strict=True) if group == mine}

    def cell(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(frozenset(self.group(name, row)) for name in self.hierarchies)

    def level(self, name: str, row: dict[str, Any]) -> int:
        """Return the lowest level at which the cell's values form a group."""
        hierarchy, own = self.hierarchies[name], self.group(name, row)
        at = [hierarchy.domain.index(value) for value in own]
        return [
            {i for i, group in enumerate(groups) if group == groups[at[0]]} == set(at)
            for groups in hierarchy.groups.tolist()
        ].index(True)


def counts(rows: list[dict[str, Any]], column: str) -> Counter[Any]:
    return Counter(row[column] for row in rows)


def shares(rows: list[dict[str, Any]], column: str) -> dict[Any, Fraction]:
    return {value: Fraction(count, len(rows)) for value, count in counts(rows, column).items()}


# Each takes a release and an objective, and returns a fraction, a whole number or an `Exact`.


def marketer_risk(release: Release, objective: MarketerRisk) -> Fraction:
    if objective.register is None:
        return Fraction(classes_of(release), release.n)
    register = objective.register.population
    risks = [Fraction(len(own), max(len(own), fitting(release, register, own[0]))) for own in release.classes()]
    return (sum(risks) + Fraction(release.n_suppressed, max(register.n_rows, release.n))) / release.n


def records_at_risk(release: Release, objective: Any) -> Fraction:
    sizes = [*release.sizes(), release.n_suppressed]
    written = Fraction(objective.risk).limit_denominator(1000)
    return Fraction(sum(size for size in sizes if size and Fraction(1, size) > written), release.n)


def squared_counts(release: Release, objective: Any) -> int:
    gone = [row for row, kept in zip(release.rows, release.kept, strict=True) if not kept]
    return sum(c**2 for own in [*release.classes(), gone] for c in counts(own, objective.column).values())


def fitting(release: Release, population: Microdata, row: dict[str, Any]) -> int:
    """Count the persons of a population that fit a row's class."""
    tuples, names = population.tuples, list(release.hierarchies)
    groups = [release.group(name, row) for name in names]
    people = [
        ([release.hierarchies[name].domain[value] for name, value in zip(names, code, strict=True)], int(count))
        for code, count in zip(tuples.codes, tuples.counts, strict=True)
    ]
    return sum(n for values, n in people if all(v in own for v, own in zip(values, groups, strict=True)))


def household_risk(release: Release, objective: HouseholdRisk) -> Fraction:
    free: dict[Any, Fraction] = {}
    for own in release.counted():
        for row in own:
            home = row[objective.column]  # type: ignore[index]
            free[home] = free.get(home, Fraction(1)) * (1 - Fraction(1, len(own)))
    return 1 - min(free.values())


def presences(release: Release, population: Microdata) -> list[Fraction]:
    """Return the share of kept rows among those like each person of a population."""
    if not release.classes():
        return [Fraction(release.n, max(release.n, population.n_rows))]
    names, found = list(release.hierarchies), []
    for code in population.tuples.codes:
        person = {name: release.hierarchies[name].domain[value] for name, value in zip(names, code, strict=True)}
        own = [row for row, kept in zip(release.rows, release.kept, strict=True) if kept]
        alike = sum(release.cell(row) == release.cell(person) for row in own)
        found.append(Fraction(alike, max(alike, fitting(release, population, person))))
    return found


def presence(release: Release, objective: DeltaPresence) -> Fraction:
    # Rows that are no persons of the population are there for sure.
    strangers = (
        [Fraction(1)] if any(not fitting(release, objective.population, own[0]) for own in release.classes()) else []
    )
    return max([*presences(release, objective.population), *strangers])


def payout(release: Release, objective: Any, own: list[dict[str, Any]]) -> Fraction:
    """Return the payout of a row of a class, but for digits beyond the eighteenth."""
    persons = len(own)
    if objective.register is not None:
        persons = max(persons, fitting(release, objective.register.population, own[0]))
    trees = release.hierarchies
    with localcontext() as context:
        context.prec = DIGITS
        whole = sum((Decimal(tree.n_values).ln() for tree in trees.values()), Decimal(0))
        lost = sum((Decimal(release.extent(name, own[0])).ln() for name in trees), Decimal(0))
        share = Fraction((1 - lost / (whole or 1)).quantize(Decimal("1e-40")))
    found = Fraction(str(objective.loss)) / persons
    is_attacked = Fraction(str(objective.gain)) / persons > Fraction(str(objective.cost))
    exactly = Fraction(str(objective.benefit)) * share - (found if is_attacked else 0)
    return Fraction(round(exactly * 10**18), 10**18)


def least_payout(release: Release, objective: LeastPayout) -> Fraction:
    if not release.classes():
        trees = release.hierarchies.items()
        whole = {name: dict.fromkeys(tree.domain, 0) for name, tree in trees}
        return least_payout(Release(release.rows, release.hierarchies, whole, [True] * release.n), objective)
    return min(payout(release, objective, own) for own in release.classes())


def entropy_of(own: list[int]) -> Exact:
    """Return exp(entropy): the n-th root of n^n over the product of c^c."""
    n = sum(own)
    return Exact(Fraction(n**n, prod(c**c for c in own)), n, "root")


def recursive_l(release: Release, objective: RecursiveCLDiversity) -> int:
    c = Fraction(str(objective.c))
    found = []
    for own in release.counted():
        r = sorted(counts(own, objective.column).values(), reverse=True)
        found.append(max([1, *(length for length in range(2, len(r) + 1) if r[0] < c * sum(r[length - 1 :]))]))
    return min(found)


def _distance(p: dict[Any, Fraction], q: dict[Any, Fraction], distance: Any) -> Fraction:
    extra = {value: p.get(value, Fraction(0)) - share for value, share in q.items()}
    if isinstance(distance, Hierarchy):
        height, total = max(distance.length, 1), Fraction(0)
        # A group's surplus leaves it: at each level below the root that is half of all differences.
        for groups in distance.groups[:height]:
            moved: Counter[int] = Counter()
            for value, more in extra.items():
                moved[int(groups[distance.domain.index(value)])] += more  # type: ignore[assignment]
            total += sum(map(abs, moved.values())) / Fraction(2)
        return total / height
    if distance == "equal":
        return sum(map(abs, extra.values()), Fraction(0)) / 2
    order = sorted(q) if distance == "ordered" else list(distance)
    total, passed = Fraction(0), Fraction(0)
    for value in order[:-1]:
        passed += extra.get(value, Fraction(0))
        total += abs(passed)
    return total / max(len(order) - 1, 1)


def enhanced_beta(release: Release, objective: Any) -> Exact | Fraction:
    for gain, q in _gains(release, objective):
        # A gain is rational. A logarithm of a rational is not, except that of 1, so that both are never equal.
        with localcontext() as context:
            context.prec = DIGITS
            if gain > 0 and Decimal(gain.numerator) / gain.denominator > -(Decimal(q.numerator) / q.denominator).ln():
                return INFINITE
    return TWINS[BasicBetaLikeness](release, objective)


def delta(release: Release, objective: DeltaDisclosure) -> Exact:
    q, ratios = shares(release.rows, objective.column), [Fraction(1)]
    for own in release.counted():
        p = shares(own, objective.column)
        if objective.strict and len(p) < len(q):
            return INFINITE
        ratios += [max(p[value] / q[value], q[value] / p[value]) for value in p]
    return Exact(max(ratios), 1, "log2")


def _gains(release: Release, objective: Any) -> list[tuple[Fraction, Fraction]]:
    q = shares(release.rows, objective.column)
    return [
        (p / q[value] - 1, q[value]) for own in release.counted() for value, p in shares(own, objective.column).items()
    ]


def _loss(release: Release, weights: Any, weight: Fraction) -> Fraction:
    total = Fraction(0)
    for i, (name, hierarchy) in enumerate(release.hierarchies.items()):
        own = weight if weights is None else Fraction(str(float(weights[i])))
        for row, kept in zip(release.rows, release.kept, strict=True):
            cost = Fraction(release.extent(name, row) - 1, max(hierarchy.n_values - 1, 1))
            total += own * (cost if kept else 1)
    return total


def precision(release: Release, _: Any) -> Fraction:
    cost = Fraction(0)
    for name, hierarchy in release.hierarchies.items():
        for row, kept in zip(release.rows, release.kept, strict=True):
            cost += Fraction(release.level(name, row), max(hierarchy.length, 1)) if kept else 1
    return 1 - cost / (release.n * len(release.hierarchies))


def non_uniform_entropy(release: Release, _: Any) -> Exact:
    product = Fraction(1)
    for name in release.hierarchies:
        of_value = counts(release.rows, name)
        for row, kept in zip(release.rows, release.kept, strict=True):
            became = sum(of_value[value] for value in release.group(name, row)) if kept else release.n
            product *= Fraction(became, of_value[row[name]])
    return Exact(product, 1, "log2")


def divergence(release: Release, _: Any) -> Exact:
    own = Counter(tuple(row[name] for name in release.hierarchies) for row in release.rows)
    sizes = Counter(release.cell(row) for row, kept in zip(release.rows, release.kept, strict=True) if kept)
    everywhere = Fraction(release.n_suppressed, prod(h.n_values for h in release.hierarchies.values()))
    product = Fraction(1)
    for row, kept in zip(release.rows, release.kept, strict=True):
        density = everywhere
        if kept:
            cells = prod(release.extent(name, row) for name in release.hierarchies)
            density += Fraction(sizes[release.cell(row)], cells)
        product *= own[tuple(row[name] for name in release.hierarchies)] / density
    return Exact(product, release.n, "log2")


def classes_of(release: Release) -> int:
    """Count the classes, of which the suppressed rows are one."""
    return len(release.classes()) + (release.n_suppressed > 0)


#: Of one line where one is enough.
TWINS: dict[type, Callable[[Release, Any], Any]] = {
    AlphaDeassociation: lambda release, o: max(max(shares(own, o.column).values()) for own in release.counted()),
    AverageClassSize: lambda release, _: Fraction(release.n, classes_of(release)),
    BasicBetaLikeness: lambda release, o: max([0, *(gain for gain, _ in _gains(release, o))]),
    ClassificationMetric: lambda release, o: (
        release.n - sum(max(counts(own, o.column).values()) for own in release.classes())
    ),
    DeltaDisclosure: delta,
    DeltaPresence: presence,
    Discernibility: lambda release, _: sum(s**2 for s in release.sizes()) + release.n_suppressed * release.n,
    DistinctLDiversity: lambda release, o: min(len(counts(own, o.column)) for own in release.counted()),
    EnhancedBetaLikeness: enhanced_beta,
    EntropyLDiversity: lambda release, o: min(
        entropy_of([*counts(own, o.column).values()]) for own in release.counted()
    ),
    GeneralLossMetric: lambda release, o: _loss(release, o.weights, Fraction(1)),
    HouseholdRisk: household_risk,
    KAnonymity: lambda release, o: min(
        len(own) if o.column is None else len(counts(own, o.column)) for own in release.counted()
    ),
    KLDivergence: divergence,
    KMap: lambda release, o: min(
        (fitting(release, o.population, own[0]) for own in release.classes()), default=o.population.n_rows
    ),
    LeastPayout: least_payout,
    LeastPresence: lambda release, o: min(presences(release, o.population)),
    MarketerRisk: marketer_risk,
    NonUniformEntropy: non_uniform_entropy,
    NormalizedClassDispersion: lambda release, _: Fraction(
        max(release.sizes(), default=0) - min(release.sizes(), default=0), max(release.n - 1, 1)
    ),
    NormalizedWeightedPenalty: lambda release, o: (
        _loss(release, o.weights, Fraction(1, len(release.hierarchies))) / release.n
    ),
    Precision: precision,
    ProsecutorRisk: lambda release, _: Fraction(1, min(map(len, release.counted()))),
    PublisherPayout: lambda release, o: sum(len(own) * payout(release, o, own) for own in release.classes()),
    RecordsAtRisk: records_at_risk,
    RecursiveCLDiversity: recursive_l,
    SquaredClassSizes: lambda release, _: sum(s**2 for s in release.sizes()) + release.n_suppressed**2,
    SquaredValueCounts: squared_counts,
    TCloseness: lambda release, o: max(
        _distance(shares(own, o.column), shares(release.rows, o.column), o.distance) for own in release.counted()
    ),
}


def exact(release: Release, objective: Any) -> Exact:
    """Return the exact value of an objective."""
    value = TWINS[type(objective)](release, objective)
    return value if isinstance(value, Exact) else Exact(Fraction(value))
