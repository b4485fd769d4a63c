"""Several releases of one table, and the joint classes of whoever has all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.joint import grouped_jointly, partition_of
from pymoo_anon.engine.tuples import DistinctTuples
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
    found = [_classes_of(one) for one in _listed(releases, "releases")]
    if not found:
        raise ValueError("releases must name at least one release, got none")
    tuples = found[0].tuples
    return grouped_jointly(tuples, [_parts_in(one, tuples) for one in found])


def parts_beside(releases: Sequence[Any], table: Microdata) -> Ints | None:
    """Return the part of each distinct tuple in all releases together, or None without releases."""
    parts = [_parts_in(_classes_of(one), table.tuples) for one in _listed(releases, "beside")]
    return partition_of(grouped_jointly(table.tuples, parts, ())) if parts else None


def _listed(releases: Any, argument: str) -> list[Any]:
    # A pair of a problem and a point is a sequence, too.
    if not isinstance(releases, list | tuple) or (len(releases) == 2 and _is_pair(releases)):
        raise TypeError(f"{argument} must be a list of releases, got {releases!r:.80}; [{releases!r:.20}] is one")
    return list(releases)


def _is_pair(release: Any) -> bool:
    return isinstance(release, tuple) and len(release) == 2 and hasattr(release[0], "equivalence_classes")


def _classes_of(release: Any) -> EquivalenceClasses:
    if isinstance(release, Choice) and release.problem is not None:
        release = release.problem, release.x
    if _is_pair(release):
        problem, x = release
        release = problem.equivalence_classes(np.asarray(x))
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
