"""The subject of a report: a front, its released point, and the evidence."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon._messages import counted, examples, one_of, unit_of_rows
from pymoo_anon.comparison.comparing import People, people_by
from pymoo_anon.comparison.properties import TupleLoss
from pymoo_anon.comparison.risk import by_class, worst_first
from pymoo_anon.comparison.utility import CountQueries
from pymoo_anon.engine.classes import EquivalenceClasses, ValueCounts, groups_of, row_ids
from pymoo_anon.objectives.base import marked_value
from pymoo_anon.objectives.privacy.identity import KAnonymity, smallest_k
from pymoo_anon.objectives.privacy.register import KMap
from pymoo_anon.problems.arguments import column_name
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice, Front, Requirement
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.publishing.codebook import rows_by_label
from pymoo_anon.publishing.evidence import check_released, told_of
from pymoo_anon.publishing.recoding import decoded_point
from pymoo_anon.publishing.release import Release
from pymoo_anon.publishing.report.cells import one_line
from pymoo_anon.table.domain_values import ROOT, Name, is_number, is_whole
from pymoo_anon.table.generalization import (
    HOW_RELEASED,
    Constraint,
    Decoded,
    Generalization,
    LocalGeneralization,
    label_texts,
)
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats, Ints

#: Entries at the head of a report, by argument.
ABOUT = {
    "owner": "Owner",
    "data": "Data file",
    "release": "Released file",
    "recipients": "Recipients",
    "purpose": "Purpose",
}

#: Greatest number of points with details in the file.
MOST_DETAILED = 24

#: Number of classes listed, and of steps of a share.
MOST_CLASSES, TENTHS = 10, 10

# Greatest number of groups per attribute, and of values of a sensitive column that are groups.
_MOST_GROUPS, _MOST_VALUES = 12, 20


class Inference(NamedTuple):
    """Guesses of a sensitive column, and distances of classes from all rows."""

    knowing: float  # Share of right guesses with the class
    not_knowing: float  # Share of right guesses without it
    certain: float  # Share of the rows in classes of one value
    mean: float  # Mean distance
    greatest: float  # Greatest distance
    n_certain: int  # Rows in classes of one value
    sure: Floats  # Share of the rows by tenths of the share of the likeliest value, the last one for all of it
    worst: list[tuple[int, int, str, float, float, float]]  # Place, size, likeliest value and figures of some classes

    @classmethod
    def of_values(cls, held: ValueCounts, texts: Sequence[str]) -> Inference:
        """Return the inference from values in the order of their texts."""
        found = by_class(held)
        if found.empty:
            return cls(0.0, 0.0, 0.0, 0.0, 0.0, 0, np.zeros(TENTHS + 1), [])
        n_rows, certain = found["size"].sum(), int(found["size"][found["share"] == 1].sum())
        tenth = np.minimum((found["share"] * TENTHS + 1e-9).astype(np.int64), TENTHS)
        worst = worst_first(found)[:MOST_CLASSES].itertuples(name=None)
        return cls(
            float((found["size"] * found["share"]).sum() / n_rows),
            float(np.bincount(held.values, held.counts).max() / n_rows),
            certain / n_rows,
            float((found["size"] * found["distance"]).sum() / n_rows),
            float(found["distance"].max()),
            certain,
            np.bincount(tenth, found["size"], TENTHS + 1) / n_rows,
            [(at, size, texts[likeliest], *figures) for at, size, likeliest, *figures in worst],
        )


@dataclass(frozen=True)
class Member:
    """One point and its release."""

    place: int  # Its place in the front
    table: Microdata  # The rows: those of the whole table or, for people outside, the released ones alone
    generalization: Decoded  # Generalization of the rows
    classes: EquivalenceClasses  # The equivalence classes of the rows, with the class of each distinct tuple
    marked: bool  # Whether suppressed rows are in the release, as one class; otherwise they are dropped
    person: Name | None  # Column of persons, or None if every row is a person
    is_refined: bool = False  # Whether it is a point of whole columns that was refined

    @property
    def n_suppressed(self) -> int:
        """Number of suppressed rows."""
        return int(self.classes.n_suppressed[0])

    @property
    def n_released(self) -> int:
        """Number of rows of the release."""
        return self.classes.n_rows - (0 if self.marked else self.n_suppressed)

    @cached_property
    def sizes(self) -> Ints:
        """(n,) int64 array of rows per released class, marked rows as the last class."""
        kept = self.classes.sizes[self.classes.kept]
        return np.append(kept, self.n_suppressed) if self.marked and self.n_suppressed else kept

    @cached_property
    def persons(self) -> Ints | None:
        """(n,) int64 array of persons per class, or None if not known."""
        if self.person is None:
            return self.sizes
        return None if self.table.person is None else np.diff(self.values(self.person).starts)

    @property
    def has_persons(self) -> bool:
        """Whether a person may have several rows, and it is known which."""
        return self.table.person is not None

    @property
    def counts(self) -> Ints:
        """(n,) int64 array of persons per class, or of rows if unknown."""
        return self.sizes if self.persons is None else self.persons

    @property
    def n_stars(self) -> int:
        """Number of rows of kept classes that have * throughout."""
        named = map(self.labels, self.table.quasi_identifiers)
        stars = [np.array([label == ROOT for label in labels])[own] for own, labels in named]
        return int(self.classes.sizes[self.classes.kept][np.all(stars, axis=0)].sum())

    @cached_property
    def inferences(self) -> dict[Name, Inference]:
        """Inference about each sensitive column."""
        found = {}
        for name in self.table.sensitive:
            texts, numbers = np.unique([one_line(value) for value in self.table.domain_of(name)], return_inverse=True)
            held = self.values(name)
            found[name] = Inference.of_values(replace(held, values=numbers[held.values]), texts.tolist())
        return found

    @property
    def is_local(self) -> bool:
        """Whether every class has levels of its own."""
        return isinstance(self.generalization, LocalGeneralization)

    @property
    def lost(self) -> float:
        """Share of the detail that is lost, a mean over the rows."""
        return TupleLoss().measure(self.classes).mean() / len(self.table.quasi_identifiers)

    @property
    def gone(self) -> list[str]:
        """The quasi-identifiers with one label for everybody."""
        return [one_line(name) for name in self.table.quasi_identifiers if np.count_nonzero(self.rows[name]) < 2]

    @cached_property
    def rows(self) -> dict[Name, Ints]:
        """The number of rows with each label, without suppressed ones."""
        return rows_by_label(self.generalization, self.classes)

    def labels(self, name: Name) -> tuple[Ints, tuple[Hashable, ...]]:
        """(n_kept,) int64 array, which label each class has that is kept, and the labels."""
        groups = groups_of(self.classes, list(self.table.quasi_identifiers).index(name)).cells
        return groups[self.classes.kept], self.generalization.labels[name]

    def cells(self, place: int) -> list[Hashable]:
        """Return the labels of one class of `sizes`."""
        own = self.classes.representatives[self.classes.kept][place : place + 1]
        if len(own) == 0:
            return [ROOT] * len(self.table.quasi_identifiers)
        return [label for (label,) in self.generalization.labels_of(self.table.tuples.codes, own).values()]

    def values(self, column: Name) -> ValueCounts:
        """Return the values of a column in each class of `sizes`."""
        kept = self.classes.kept
        # Suppressed classes stand after all others, as one.
        numbers = np.where(kept, np.cumsum(kept) - 1, np.count_nonzero(kept))
        return self.classes.columns[column].merged(numbers, int(kept.sum()) + 1).part(0, len(self.sizes))


@dataclass(frozen=True)
class Subject:
    """Data of all views."""

    front: Front
    place: int  # The place in it of the point that is released
    asked: tuple[Constraint, ...]  # Constraints of the choice beyond those of the problem
    evidence: Mapping[str, Any]  # Evidence of the release, empty if there is none
    suppressed: str  # Fate of suppressed rows, "mark" or "drop"
    recoding: str | None  # "local" where the point that is released was refined, else None
    point: Choice  # The point that is released, with the requirements that its release promised
    threshold: float  # A risk that is shown for comparison
    population: Microdata | None  # A table of the population, or None
    external: bool  # Whether the report leaves the building
    about: Mapping[str, Any] = field(default_factory=dict)  # Entries of the head, with the size of the population
    most: int = MOST_DETAILED  # At most so many points have details in the file
    known: dict[int, Member] = field(default_factory=dict)  # By place the members that were made
    found: dict[int, list[float]] = field(default_factory=dict)  # Results of `errors` by place

    @cached_property
    def raw(self) -> Member:
        """The table as it is, as if it were released."""
        own = self.table.quasi_identifiers.items()
        groups, labels = {name: one.groups[0] for name, one in own}, {name: one.labels[0] for name, one in own}
        same = Generalization(groups, labels)
        classes = self.table.equivalence_classes(same)
        return Member(self.place, self.table, same, classes, False, self.table.person)

    @cached_property
    def people(self) -> list[tuple[Name, People]]:
        """The people of the table, grouped by attributes with few groups."""
        chosen: list[tuple[Name, int]] = []
        for name, hierarchy in self.table.quasi_identifiers.items():
            n_groups = hierarchy.n_groups.tolist()
            several = [level for level, n in enumerate(n_groups) if n >= 2]
            # The finest level with few groups, else the level with fewest.
            few = [level for level in several if n_groups[level] <= _MOST_GROUPS]
            chosen += [(name, level) for level in few[:1] or several[-1:]]
        chosen += [(name, 0) for name in self.table.sensitive if len(self.table.domain_of(name)) <= _MOST_VALUES]
        whole = TupleLoss().measure(self.raw.classes)
        return [(name, people_by(self.table, whole, name, level)) for name, level in chosen]

    @property
    def problem(self) -> AnonymizationProblem:
        """The problem."""
        return self.front.problem

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
        """Number of the released point on the command line, from 1."""
        return self.number(self.place)

    @property
    def enough(self) -> int:
        """Smallest class size with at most the risk for comparison."""
        return smallest_k(self.threshold)

    @property
    def required_k(self) -> int | None:
        """Greatest required k, or None, and None for outsiders."""
        return max((ceil(one.bound) for one in self.bounds_on_k), default=None)

    @property
    def bounds_on_k(self) -> list[Constraint]:
        """Required bounds on the k of all columns, none for outsiders."""
        bounds = [] if self.external else [one for one in (*self.problem.constraints, *self.asked) if one.at_least]
        return [one for one in bounds if isinstance(one.objective, KAnonymity) and one.objective.known is None]

    def number(self, place: int) -> int:
        """Return the number of a point, from 1 as in the tables."""
        return int(self.front.rows[place]) + 1

    def level(self, place: int, name: Any) -> int | None:
        """Return the level of an attribute, or None in spaces without levels."""
        j = self.names.index(name)
        return int(self.front.X[place][j]) if isinstance(self.problem, LatticeProblem) else None

    @property
    def unit(self) -> str:
        """Unit of counts of rows."""
        return unit_of_rows(self.table.person)

    def rows(self, n: int) -> str:
        """Format a number of rows, or of people if each has one row."""
        one, nothing = ("person", "nobody") if self.unit == "people" else ("row", "no row")
        return counted(n, one, self.unit) if n else nothing

    def requirements(self, member: Member) -> list[Requirement]:
        """Return the requirements of a point, with the values of its release."""
        found = self.front.requirements(member.place, self.asked)
        if not member.is_refined:
            return found
        values = [one.constraint.objective.evaluate(member.classes) for one in found]
        return [
            replace(one, value=float(own[0]), met=bool(one.constraint.keeps(own)[0]))
            for one, own in zip(found, values, strict=True)
        ]

    @property
    def kept(self) -> list[str]:
        """The columns that are kept as they are, if the evidence names any."""
        return [one_line(one["column"]) for one in self.evidence.get("columns", ()) if one["role"] == "keep"]

    @cached_property
    def queries(self) -> CountQueries:
        """Random counts that are asked of the table and of releases."""
        return CountQueries(self.table)

    def errors(self, member: Member) -> list[float]:
        """Return the errors of counts not exceeded by half and by nine in ten."""
        if member.place not in self.found:
            found = self.queries.summary({0: member.classes}, "mark" if member.marked else "drop")
            self.found[member.place] = found.to_numpy()[0].tolist()
        return self.found[member.place]

    @property
    def own(self) -> Member:
        """The release with all that is known inside."""
        return self._made(self.place)

    def member(self, place: int) -> Member:
        """Return one point and its release, as the report may show it."""
        made = self._made(place)
        return _outside(made, self.released_sensitive) if self.external else made

    def _made(self, place: int) -> Member:
        if place in self.known:
            return self.known[place]
        recoding = self.recoding if place == self.place else None
        made, classes = decoded_point(self.problem, self.front.X[place] if recoding is None else self.point, recoding)
        # Fewer marked rows than a k that is promised are refused, and a single one is without a reason.
        promised = [one for one in self.problem.measured if isinstance(one, KAnonymity)]
        is_refused = any(marked_value(one, classes) < one.evaluate(classes)[0] for one in promised)
        is_alone = not promised and classes.n_suppressed[0] == 1 and not (self.evidence and place == self.place)
        marked = self.suppressed == "mark" and not is_refused and not is_alone
        made_of_it = Member(place, self.table, made, classes, marked, self.table.person, recoding is not None)
        return self.known.setdefault(place, made_of_it)

    @property
    def released_sensitive(self) -> list[Name]:
        """Sensitive columns of the release, for outsiders those named in the evidence."""
        told = self.evidence.get("columns")
        if told is None:
            return [] if self.external else list(self.table.sensitive)
        known = {one["column"] for one in told if "sensitive" in one["role"]}
        return [name for name in self.table.sensitive if column_name(name) in known]

    def detailed(self) -> list[int]:
        """Return the points with details: the released one and, inside, its neighbours."""
        if self.external:
            return [self.place]
        # First the next better point in every objective, then the nearest ones.
        places = {int(row): place for place, row in enumerate(self.front.rows)}
        short = self.front.shortfalls()
        far = np.square(short - short[self.place]).sum(axis=1)
        first = [self.place, *(places[step.row] for step in self.front.steps(self.place))]
        return sorted(list(dict.fromkeys([*first, *np.argsort(far, kind="stable").tolist()]))[: self.most])


def _outside(member: Member, sensitive: Sequence[Name]) -> Member:
    """Return the released rows as a table with labels for values."""
    sizes, texts = member.sizes, label_texts(member.generalization.labels)
    if len(sizes) == 0:
        raise ValueError("choice must leave a row to release that is not suppressed, got a point that leaves none")
    n_marked = len(sizes) - int(member.classes.kept.sum())
    hierarchies, labels, codes = {}, {}, []
    for name in member.table.quasi_identifiers:
        own, _ = member.labels(name)
        star = texts[name].index(ROOT) if ROOT in texts[name] else len(texts[name])
        # A row with * throughout looks like a marked one.
        held, places = np.unique(np.append(own, [star] * n_marked).astype(np.int64), return_inverse=True)
        labels[name] = tuple([*texts[name], ROOT][one] for one in held)
        hierarchies[name] = Hierarchy.flat(range(len(held)))
        codes.append(places)
    matrix, columns, domains = np.column_stack(codes), {}, {}
    rows, first = row_ids(matrix, tuple(map(len, labels.values())))
    for name in sensitive:
        counts, domain = member.values(name), member.table.domain_of(name)
        # In the order of their texts: the order of the whole domain may reveal values that are not released.
        order = sorted(np.unique(counts.values).tolist(), key=lambda value: str(domain[value]))
        domains[name] = tuple(domain[value] for value in order)
        values = np.argsort(order)[np.searchsorted(np.sort(order), counts.values)]
        columns[name] = replace(counts, values=values, n_values=len(order)).merged(rows, len(first))
    n_rows = np.bincount(rows, sizes).astype(np.int64)
    table = Microdata(hierarchies, matrix[first], n_rows, columns, domains, sensitive)
    same = Generalization({name: np.arange(len(own)) for name, own in labels.items()}, labels)
    return Member(member.place, table, same, table.equivalence_classes(same), False, member.person)


def _check_about(about: Mapping[str, Any], table: Microdata) -> None:
    if unknown := [name for name in about if name not in (*ABOUT, "population_size")]:
        raise TypeError(f"entries of the head must be among {', '.join(ABOUT)}, population_size, got {unknown}")
    if wrong := [name for name in ABOUT if not isinstance(about.get(name, ""), str)]:
        raise TypeError(f"{wrong[0]} must be text, got {about[wrong[0]]!r}")
    n = about.get("population_size")
    unit, least = ("rows", table.n_rows) if table.person is None else ("persons", len(table.domain_of(table.person)))
    if n is not None and (not is_whole(n) or n < least):
        raise ValueError(f"population_size must be a whole number from {least:,} on, the {unit}, got {n!r}")


def _check_evidence(evidence: Mapping[str, Any], choice: Choice) -> None:
    if lacking := [key for key in ("suppressed", "claims", "columns") if key not in evidence]:
        raise ValueError(f"evidence must be a dict, as evidence() makes it, got one without {examples(lacking)}")
    chosen = evidence.get("chosen")
    if chosen and (x := evidence["front"][chosen["place"]]["x"]) != list(choice.x):
        raise ValueError(f"evidence must be of the chosen point, {list(choice.x)}, got that of {x}")


def checked_subject(
    front: Any,
    choice: Any,
    *,
    evidence: Any = None,
    suppressed: Any = "mark",
    threshold: Any = 0.09,
    population: Any = None,
    external: bool = False,
    about: Mapping[str, Any] = MappingProxyType({}),
) -> Subject:
    """Check the arguments, and make a subject of them."""
    if not isinstance(front, Front):
        raise TypeError(f"front must be a Front, as problem.front(res) makes it, got {type(front).__name__}")
    if not isinstance(choice, Choice):
        raise TypeError(f"choice must be a Choice, as front.choose() makes it, got {type(choice).__name__}")
    recoding, promised, place = None, True, front.place_of(choice)
    if isinstance(evidence, Release):
        promised = len(evidence.claims) > len(front.problem.measured)
        check_released(front, place, evidence)
        recoding, evidence = evidence.recoding, told_of(front.problem, evidence)
    elif isinstance(evidence, Mapping):
        _check_evidence(evidence, choice)
        chosen = evidence.get("chosen") or {}
        known, promised = chosen.get("local"), bool(chosen.get("requirements"))
        recoding = "local" if known is not None and known["refined"] else None
    elif evidence is not None:
        raise TypeError(f"evidence must be a dict, as evidence() makes it, or a Release, got {type(evidence).__name__}")
    how = suppressed if evidence is None else evidence["suppressed"]["how"]
    one_of("suppressed", how, HOW_RELEASED)
    if not is_number(threshold) or not 0 < threshold <= 1:
        raise ValueError(f"threshold must be a risk above 0 and at most 1, got {threshold!r}")
    if population is not None:
        KMap(population).check(front.table)
    _check_about(about, front.table)
    return Subject(
        front=front,
        place=place,
        asked=choice.requirements,
        evidence=evidence or {},
        suppressed=how,
        recoding=recoding,
        # A release with unmet requirements may break those of the choice, too.
        point=choice if promised else replace(choice, requirements=()),
        threshold=float(threshold),
        population=population,
        external=bool(external),
        about=about,
    )
