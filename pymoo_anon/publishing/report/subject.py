"""What a report is about: a problem, the members of its front, and what is known of the chosen release."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pymoo.core.result import Result

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.privacy.identity import KAnonymity, KMap
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.domain_values import is_number, is_whole, meant
from pymoo_anon.table.generalization import Generalization
from pymoo_anon.table.microdata import Microdata

#: At most so many members of a front are in a file with all that belongs to them.
MOST_MEMBERS = 60

_CLAIMS = ("measure", "promised", "recounted", "holds")


@dataclass(frozen=True)
class Findings:
    """What is known of a front and of the release that was chosen from it.

    Attributes:
        claims: The frame of a release's claims: measure, promised, recounted, holds; or None.
        evidence: What is kept as evidence, by key; or None.
        certified: Whether the front is proven; None where nobody tried.
        gap: By name of an objective, how far the front may be from the best; or None.
        suppressed: What the release does with suppressed rows, "mark" or "drop".

    Raises:
        TypeError: The evidence or the gap is no dict, or the claims are no pandas frame.
        ValueError: The claims lack a column, or `suppressed` is neither.
    """

    claims: pd.DataFrame | None = None
    evidence: Mapping[str, Any] | None = None
    certified: bool | None = None
    gap: Mapping[str, float] | None = None
    suppressed: str = "mark"

    def __post_init__(self) -> None:
        if self.claims is not None:
            if not isinstance(self.claims, pd.DataFrame):
                raise TypeError(f"claims must be a pandas frame, got {type(self.claims).__name__}")
            lacking = [name for name in _CLAIMS if name not in self.claims.columns]
            if lacking:
                raise ValueError(f"claims must have the columns {', '.join(_CLAIMS)}, got none of {lacking}")
        for name, given in (("evidence", self.evidence), ("gap", self.gap)):
            if given is not None and not isinstance(given, Mapping):
                raise TypeError(f"{name} must be a dict, got {type(given).__name__}")
        if self.suppressed not in ("mark", "drop"):
            raise ValueError(f"suppressed must be 'mark' or 'drop', got {self.suppressed!r}")


@dataclass(frozen=True)
class Member:
    """One member of the front and its release.

    Attributes:
        row: Its row of X.
        generalization: What it decodes to.
        classes: Its equivalence classes, with the class of each distinct tuple.
        k: The smallest class that is kept.
        n_suppressed: The suppressed rows.
        marked: Whether suppressed rows are in the release, as one class; otherwise they are dropped.
    """

    row: int
    generalization: Generalization
    classes: EquivalenceClasses
    k: int
    n_suppressed: int
    marked: bool

    @property
    def n_kept(self) -> int:
        """Number of rows that are not suppressed."""
        return self.classes.n_rows - self.n_suppressed

    @property
    def n_released(self) -> int:
        """Number of rows of the release."""
        return self.classes.n_rows if self.marked else self.n_kept

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(n,) int64 array: the sizes of the classes of the release; marked rows are one class."""
        kept = self.classes.sizes[self.classes.kept]
        return np.append(kept, self.n_suppressed) if self.marked and self.n_suppressed else kept

    @property
    def kept_counts(self) -> NDArray[np.int64]:
        """(n_distinct,) int64 array: how many rows of each distinct tuple are not suppressed."""
        assert self.classes.class_of is not None
        counts: NDArray[np.int64] = self.classes.tuples.counts * self.classes.kept[self.classes.class_of[0]]
        return counts


@dataclass(frozen=True)
class Subject:
    """What all views read.

    Attributes:
        problem: The problem.
        X: (n, n_var) array, the front.
        chosen: The row of the release.
        findings: What is known of it.
        threshold: The greatest risk that is accepted.
        population: A table of the population, or None.
        external: Whether the report leaves the building.
        most: At most so many members are in the file.
        front: The front as a frame, one row per row of X.
        rows: The rows of X that are in the file with their data, ascending.
        floor: No number of people below it is shown; 0 inside the building.
        raw: The classes of the table as it is.
    """

    problem: AnonymizationProblem
    X: NDArray[Any]
    chosen: int
    findings: Findings
    threshold: float
    population: Microdata | None
    external: bool
    most: int = MOST_MEMBERS
    front: pd.DataFrame = field(init=False)
    rows: tuple[int, ...] = field(init=False)
    floor: int = field(init=False)
    raw: EquivalenceClasses = field(init=False)

    def __post_init__(self) -> None:
        table, result = self.problem.table, Result()
        result.X = self.X
        values = {name: hierarchy.labels[0] for name, hierarchy in table.quasi_identifiers.items()}
        groups = {name: hierarchy.groups[0] for name, hierarchy in table.quasi_identifiers.items()}
        vars(self).update(
            front=self.problem.to_frame(result),
            raw=table.equivalence_classes(Generalization(groups, values)),
            floor=0,
        )
        needed = [self.member(self.chosen).k, *(math.ceil(one.bound) for one in self.required_k)]
        vars(self).update(rows=self._spread(), floor=max(needed) if self.external else 0)

    @property
    def table(self) -> Microdata:
        """The table."""
        return self.problem.table

    @property
    def names(self) -> list[Any]:
        """The quasi-identifiers."""
        return list(self.table.quasi_identifiers)

    @property
    def measures(self) -> pd.DataFrame:
        """The measures of the front: natural signs, in the order of `problem.measured`."""
        first = len(self.names)
        return self.front.iloc[:, first : first + len(self.problem.measured)]

    @property
    def suppressed(self) -> list[int]:
        """The suppressed rows of each member of the front."""
        values: list[int] = self.front.iloc[:, len(self.names) + len(self.problem.measured)].tolist()
        return values

    @property
    def required_k(self) -> list[Constraint]:
        """The constraints that ask for a k."""
        return [one for one in self.problem.constraints if isinstance(one.objective, KAnonymity) and one.at_least]

    @property
    def enough(self) -> int:
        """The smallest class size whose risk is at most the threshold: 12 for 0.09."""
        return math.ceil(1 / meant(self.threshold))

    def level(self, row: int, name: Any) -> int | None:
        """The level of an attribute in a member of the front; None in a search space without levels."""
        return int(self.X[row][self.names.index(name)]) if isinstance(self.problem, LatticeProblem) else None

    def member(self, row: int) -> Member:
        """One member of the front."""
        generalization = self.problem.decode(self.X[row])
        classes = self.table.equivalence_classes(generalization, self.problem.suppression, self.problem.constraints)
        (k,), (n_suppressed,) = KAnonymity().evaluate(classes).tolist(), classes.n_suppressed.tolist()
        # Fewer marked rows than k would be a smaller class: they cannot be marked.
        marked = self.findings.suppressed == "mark" and (n_suppressed == 0 or n_suppressed >= k)
        return Member(row, generalization, classes, int(k), n_suppressed, marked)

    def members(self) -> Iterator[Member]:
        """The members of the front that are in the file; outside the building only the chosen one."""
        return (self.member(row) for row in ((self.chosen,) if self.external else self.rows))

    def people(self, n: int) -> str:
        """A number of people in words; outside the building none below the floor."""
        if n == 0:
            return "nobody"
        if n < self.floor:
            return f"fewer than {self.floor:,} people"
        return "1 person" if n == 1 else f"{n:,} people"

    def _spread(self) -> tuple[int, ...]:
        """The members that are in the file: all, or some that are spread evenly along the front, the chosen among."""
        first = [values.to_numpy() for _, values in self.measures.items()]
        order = np.lexsort(first[::-1])
        if len(order) > self.most:
            order = order[np.unique(np.linspace(0, len(order) - 1, self.most - 1).round().astype(int))]
        return tuple(sorted({*map(int, order), self.chosen}))


def checked_subject(
    problem: Any, X: ArrayLike, chosen: Any, findings: Any, threshold: Any, population: Any, external: bool
) -> Subject:
    """A subject of arguments that were checked."""
    if not isinstance(problem, AnonymizationProblem):
        raise TypeError(f"problem must be a LatticeProblem or a BitStringProblem, got {type(problem).__name__}")
    findings = Findings() if findings is None else findings
    if not isinstance(findings, Findings):
        raise TypeError(f"findings must be Findings, got {type(findings).__name__}")
    points = problem.checked(X)
    if not is_whole(chosen) or not 0 <= chosen < len(points):
        raise ValueError(f"chosen must be a row of X, from 0 to {len(points) - 1}, got {chosen!r}")
    if not is_number(threshold) or not 0 < threshold <= 1:
        raise ValueError(f"threshold must be a risk above 0 and at most 1, got {threshold!r}")
    if population is not None:
        KMap(population).check(problem.table)
    return Subject(problem, points, int(chosen), findings, float(threshold), population, bool(external))
