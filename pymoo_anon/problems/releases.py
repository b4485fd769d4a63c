"""Releases of one table, and the joint classes of all."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymoo_anon._messages import listed, number, plain, share
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses, grouped_jointly, partition_of
from pymoo_anon.objectives.privacy.diversity import DistinctLDiversity
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.front import Choice
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Ints


def joint(releases: Sequence[Any]) -> EquivalenceClasses:
    """Return the joint classes of several releases of one table.

    Rows are in one joint class if they are in the same class of every release. The suppressed rows of a release are one
    class in it. Rows that are suppressed in all releases count as suppressed.

    Whoever has all releases and can link their rows sees these classes. Every measure can be valued on them, such as
    `KAnonymity().evaluate(joint([a, b]))`.

    Args:
        releases: Each a `Choice` of a front, a pair of a problem and a point, or the `EquivalenceClasses` of one
            generalization.

    Raises:
        TypeError: A release is none of these.
        ValueError: There are none, or they are not of the same table.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
    >>> from pymoo_anon.problems import LatticeProblem
    >>> problem = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
    >>> front = problem.front(problem.pareto_set())
    >>> fine, coarse = (front.choose(require=[KAnonymity() >= k]) for k in (5, 10))
    >>> KAnonymity().evaluate(joint([fine, coarse])).tolist()
    [1.0]
    """
    found = [_classes_of(one) for one in releases]
    if not found:
        raise ValueError("releases must name at least one release, got none")
    tuples = found[0].tuples
    return grouped_jointly(tuples, [_parts_in(one, tuples) for one in found])


@dataclass(frozen=True)
class Together:
    """Joint classes of several releases in numbers.

    >>> print(Together(k=1, least_l={}, alone=3, below=8, single_k=5, n_rows=200))
    joint k = 1; 8 of 200 rows (4.0 %) are in joint classes below 5; 3 of 200 rows (1.5 %) are alone
    """

    k: int  # Joint k, in persons if a column identifies them
    least_l: Mapping[str, int]  # Joint distinct l by sensitive column
    alone: int  # Rows in a joint class of their own
    below: int  # Rows in joint classes below single_k
    single_k: int  # k that each release has by itself
    n_rows: int

    def __str__(self) -> str:
        values = [f"joint k = {number(self.k)}"]
        values += [f"joint l of {plain(name)} = {number(own)}" for name, own in self.least_l.items()]
        below = f"{self._share(self.below)} in joint classes below {number(self.single_k)}; "
        alone = f"{self._share(self.alone)} alone" if self.alone else "no row is alone"
        return f"{listed(values)}; {below * (self.below > self.alone)}{alone}"

    def _share(self, n: int) -> str:
        return f"{share(n, self.n_rows, 'rows')} {'is' if n == 1 else 'are'}"

    def as_record(self) -> dict[str, Any]:
        """Return the numbers for evidence."""
        others = {"alone": self.alone, "below": self.below, "single_k": self.single_k}
        return {"k": self.k, "l": dict(self.least_l), **others}

    @classmethod
    def of_record(cls, told: Mapping[str, Any], n_rows: int) -> Together:
        """Return the numbers of evidence."""
        return cls(least_l=told["l"], n_rows=n_rows, **{key: own for key, own in told.items() if key != "l"})


def together(releases: Sequence[Any], table: Microdata) -> Together:
    """Count the joint classes of several releases, given as for `joint`."""
    measure, found = KAnonymity(table.person), [_classes_of(one) for one in releases]
    classes = joint(found)
    k, single_k = int(measure.evaluate(classes)[0]), min(int(measure.evaluate(one)[0]) for one in found)
    least_l = {str(name): int(DistinctLDiversity(name).evaluate(classes)[0]) for name in table.sensitive}
    below = int(classes.sizes[classes.kept & (measure.of_classes(classes) < single_k)].sum())
    alone = int(np.count_nonzero(classes.kept & (classes.sizes == 1)))
    return Together(k, least_l, alone, below, single_k, table.n_rows)


def parts_beside(releases: Sequence[Any], table: Microdata) -> Ints | None:
    """Return each tuple's part in all releases together, or None."""
    parts = [_parts_in(_classes_of(one), table.tuples) for one in releases]
    return partition_of(grouped_jointly(table.tuples, parts, ())) if parts else None


def fingerprint_of(word: str, parts: Ints | None) -> str:
    """Return a word and a fingerprint of parts, or nothing without them."""
    return "" if parts is None else f" {word} {hashlib.sha256(parts.tobytes()).hexdigest()[:16]}"


def point_of(release: Any) -> tuple[Any, Ints] | None:
    """Return the problem and the point of a release, or None if it is neither choice nor pair."""
    if isinstance(release, Choice) and release.problem is not None:
        release = release.problem, release.x
    if isinstance(release, tuple) and len(release) == 2 and hasattr(release[0], "equivalence_classes"):
        return release[0], np.asarray(release[1])
    return None


def points_or_classes(releases: Sequence[Any]) -> tuple[Any, ...]:
    """Return releases in a form that can be pickled, which a Choice cannot."""
    return tuple(one if (point := point_of(one)) is None else point for one in releases)


def all_earlier(problem: Any) -> list[Any]:
    """Return the releases before one of a problem, each once."""
    found: dict[Any, Any] = {}
    for one in problem.earlier:
        point = point_of(one)
        before = [] if point is None else all_earlier(point[0])
        for own, at in ((own, point_of(own)) for own in (*before, one)):
            found.setdefault(id(own) if at is None else (id(at[0]), at[1].tobytes()), own)
    return list(found.values())


def _classes_of(release: Any) -> EquivalenceClasses:
    point = point_of(release)
    if point is not None:
        release = point[0].equivalence_classes(point[1])
    if not isinstance(release, EquivalenceClasses) or len(release) != 1 or release.class_of is None:
        raise TypeError(
            "a release must be a Choice of a front, a pair of a problem and a point, or what "
            f"problem.equivalence_classes(x) gives, got {release!r:.80}"
        )
    return release


def _parts_in(classes: EquivalenceClasses, tuples: DistinctTuples) -> Ints:
    own = classes.tuples
    pairs = (own.codes, tuples.codes), (own.counts, tuples.counts)
    if own is not tuples and not all(np.array_equal(*pair) for pair in pairs):
        raise ValueError(
            f"releases must be of one table, got one of {tuples.n_rows:,} rows and one of {own.n_rows:,} rows, or with "
            "other values"
        )
    return partition_of(classes)
