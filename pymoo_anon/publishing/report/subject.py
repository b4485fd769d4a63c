"""What a report is about: a front, the point of it that was chosen, and what else is known of its release."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon._messages import counted
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.privacy.identity import KAnonymity, KMap, smallest_k
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.domain_values import ROOT, Name, is_number
from pymoo_anon.table.generalization import Generalization, label_texts
from pymoo_anon.table.local import of_columns
from pymoo_anon.table.microdata import Microdata

Sizes = NDArray[np.int64]

#: So many points have all their details in the file: the chosen one and its neighbours.
MOST_DETAILED = 24


@dataclass(frozen=True)
class Member:
    """One point and its release."""

    place: int  # Its place in the front
    table: Microdata  # The rows: those of the whole table or, for people outside, the released ones alone
    generalization: Generalization  # What the point decodes to
    classes: EquivalenceClasses  # The equivalence classes of the rows, with the class of each distinct tuple
    n_suppressed: int  # The suppressed rows; for people outside those that are `*` throughout
    marked: bool  # Whether suppressed rows are in the release, as one class; otherwise they are dropped
    person: Name | None  # The column that tells whose row it is, or None where a row is a person

    @property
    def kept_counts(self) -> Sizes:
        """(n_distinct,) int64 array: how many rows of each distinct tuple are not suppressed."""
        assert self.classes.class_of is not None
        counts: Sizes = self.classes.tuples.counts * self.classes.kept[self.classes.class_of[0]]
        return counts

    @property
    def n_kept(self) -> int:
        """Number of rows that are not suppressed."""
        return int(self.kept_counts.sum())

    @property
    def n_released(self) -> int:
        """Number of rows of the release."""
        return self.n_kept + (self.n_suppressed if self.marked else 0)

    @property
    def sizes(self) -> Sizes:
        """(n,) int64 array: the rows of each class of the release; marked rows are one class."""
        kept = self.classes.sizes[self.classes.kept]
        return np.append(kept, self.n_suppressed) if self.marked and self.n_suppressed else kept

    @property
    def persons(self) -> Sizes | None:
        """(n,) int64 array: the persons of each class; None where its rows do not tell whose they are."""
        person = self.person
        if person is None or self.table.person is None:
            return self.sizes if person is None else None
        column, kept = self.table.tuples.columns[person], self.classes.kept
        persons = KAnonymity(person=person).of_classes(self.classes)[kept].astype(np.int64)
        if not self.marked or not self.n_suppressed:
            return persons
        gone = np.repeat(self.kept_counts == 0, np.diff(column.starts))
        return np.append(persons, len(np.unique(column.values[gone])))


@dataclass(frozen=True)
class Subject:
    """What all views read."""

    front: Front
    place: int  # The place in it of the point that is released
    asked: tuple[Constraint, ...]  # What the choice asked for beyond the constraints of the problem
    evidence: Mapping[str, Any] | None  # What is known of the release, as `evidence` has it, or None
    suppressed: str  # What becomes of suppressed rows, "mark" or "drop"
    threshold: float  # A risk that is shown for comparison
    population: Microdata | None  # A table of the population, or None
    external: bool  # Whether the report leaves the building
    most: int = MOST_DETAILED  # At most so many points have details in the file
    raw: Member = field(init=False)  # The table as it is, as if it were released

    def __post_init__(self) -> None:
        own = self.table.quasi_identifiers
        values = {name: hierarchy.labels[0] for name, hierarchy in own.items()}
        groups = {name: hierarchy.groups[0] for name, hierarchy in own.items()}
        same = Generalization(groups, values)
        classes = self.table.equivalence_classes(same)
        vars(self).update(raw=Member(self.place, self.table, same, classes, 0, False, self.table.person))

    @property
    def problem(self) -> AnonymizationProblem:
        """The problem."""
        own: AnonymizationProblem = self.front.problem
        return own

    @property
    def table(self) -> Microdata:
        """The table."""
        return self.front.table

    @property
    def names(self) -> list[Any]:
        """The quasi-identifiers."""
        return list(self.table.quasi_identifiers)

    @property
    def chosen(self) -> int:
        """The number of the released point, as the command line counts the rows of a front: from 1."""
        return self.number(self.place)

    @property
    def enough(self) -> int:
        """The smallest class size whose risk is at most the one that is shown for comparison: 12 for 0.09."""
        return smallest_k(self.threshold)

    @property
    def required_k(self) -> int | None:
        """The greatest k that is required, or None; outside nobody is told what was."""
        bounds = [*self.problem.constraints, *self.asked]
        ks = [ceil(one.bound) for one in bounds if isinstance(one.objective, KAnonymity) and one.at_least]
        return max(ks) if ks and not self.external else None

    def number(self, place: int) -> int:
        """The number of a point, as the command line counts the rows of a front: from 1."""
        return int(self.front.rows[place]) + 1

    def level(self, place: int, name: Any) -> int | None:
        """The level of an attribute in a point; None in a search space without levels."""
        j = self.names.index(name)
        return int(self.front.X[place][j]) if isinstance(self.problem, LatticeProblem) else None

    def rows(self, n: int) -> str:
        """A number of rows in words; a row is a person, unless a person may have several."""
        unit = ("person", "people") if self.table.person is None else ("row", "rows")
        return counted(n, *unit) if n else "nobody" if unit[0] == "person" else "no row"

    def member(self, place: int) -> Member:
        """One point and its release."""
        classes = self.problem.equivalence_classes(self.front.X[place])
        n_suppressed, k = int(self.front.n_suppressed[place]), int(KAnonymity().evaluate(classes)[0])
        # Fewer marked rows than k would be a smaller class: such a release is refused.
        marked = self.suppressed == "mark" and (n_suppressed == 0 or n_suppressed >= k)
        made = of_columns(self.problem.decode(self.front.X[place]))
        own = Member(place, self.table, made, classes, n_suppressed, marked, self.table.person)
        return _outside(own) if self.external else own

    def detailed(self) -> list[int]:
        """The places whose details are in the file: the chosen one and its neighbours; outside the chosen one alone."""
        if self.external:
            return [self.place]
        # The next better points in every objective, then those that differ least in what they fall short of the best.
        places = {int(row): place for place, row in enumerate(self.front.rows)}
        short = self.front.shortfalls()
        far = np.square(short - short[self.place]).sum(axis=1)
        first = [self.place, *(places[step.row] for step in self.front.steps(self.place))]
        return sorted(list(dict.fromkeys([*first, *np.argsort(far, kind="stable").tolist()]))[: self.most])

    def members(self) -> Iterator[Member]:
        """The points whose details are in the file."""
        return (self.member(place) for place in self.detailed())


def _outside(member: Member) -> Member:
    """The same release made of its own rows alone: for every value stands the first one that has its label."""
    made, tuples, kept = member.generalization, member.table.tuples, member.kept_counts
    groups = np.column_stack([own[tuples.codes[:, j]] for j, own in enumerate(made.groups.values())])
    released, place = np.unique(groups[kept > 0], axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), kept[kept > 0], len(released)).astype(np.int64)
    n_marked = member.n_suppressed if member.marked else 0
    roots = [np.array([text == ROOT for text in own]) for own in label_texts(made.labels).values()]
    if member.marked and not all(own.all() for own in roots):
        # Nobody can tell a row whose labels all are * from one that is marked.
        stars = np.logical_and.reduce([own[released[:, j]] for j, own in enumerate(roots)])
        n_marked += int(counts[stars].sum())
        released, counts = released[~stars], counts[~stars]
    firsts = [np.unique(own, return_index=True)[1] for own in made.groups.values()]
    codes = np.column_stack([own[released[:, j]] for j, own in enumerate(firsts)])
    table = Microdata(member.table.quasi_identifiers, codes, counts, {}, {})
    if len(counts) == 0:
        raise ValueError("choice must leave a row to release that is not suppressed, got a point that leaves none")
    return Member(member.place, table, made, table.equivalence_classes(made), n_marked, member.marked, member.person)


def checked_subject(
    front: Any,
    choice: Any,
    *,
    evidence: Any,
    suppressed: Any,
    threshold: Any,
    population: Any,
    external: bool,
) -> Subject:
    """A subject of arguments that were checked."""
    if not isinstance(front, Front):
        raise TypeError(f"front must be a Front, as problem.front(res) makes it, got {type(front).__name__}")
    if not isinstance(choice, Choice):
        raise TypeError(f"choice must be a Choice, as front.choose() makes it, got {type(choice).__name__}")
    if evidence is not None and not isinstance(evidence, Mapping):
        raise TypeError(f"evidence must be a dict, as evidence() makes it, got {type(evidence).__name__}")
    how = suppressed if evidence is None else evidence["suppressed"]["how"]
    if how not in ("mark", "drop"):
        raise ValueError(f"suppressed must be 'mark' or 'drop', got {how!r}")
    if not is_number(threshold) or not 0 < threshold <= 1:
        raise ValueError(f"threshold must be a risk above 0 and at most 1, got {threshold!r}")
    if population is not None:
        KMap(population).check(front.table)
    place = front.place_of(choice)
    return Subject(front, place, choice.requirements, evidence, how, float(threshold), population, bool(external))
