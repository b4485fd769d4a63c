"""Releases of one table: their joint classes, and ladders of local recodings.

A recoding inside the classes of a coarser release has its own classes as joint ones, so that it says as little with the
coarser one as alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymoo_anon._messages import examples, in_order, listed, number, plain, positive_whole, share
from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.objectives.knowledge import grouped_jointly, partition_of
from pymoo_anon.objectives.privacy.diversity import DistinctLDiversity
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.arguments import measure_names
from pymoo_anon.problems.front import Choice
from pymoo_anon.table.domain_values import is_number
from pymoo_anon.table.generalization import Constraint
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Ints

# Shares of the rows in kept classes, by the ladders of a front beside the one without any.
_KEPT_SHARES = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.96, 0.98, 1.0)


def joint(releases: Sequence[Any]) -> EquivalenceClasses:
    """Return the joint classes of several releases of one table.

    Rows are in one joint class if they are in the same class of every release. The suppressed rows of a release are one
    class in it. Rows that are suppressed in all releases count as suppressed.

    Whoever has all releases and can link their rows sees these classes. `KAnonymity().evaluate(joint([a, b]))` values
    them, as every measure of class sizes and sensitive values does. They have no cells to lose detail.

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
    found = [_classes_of(one) for one in in_order("releases", releases)]
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
    measure, tuples, found = KAnonymity(table.person), table.tuples, [_classes_of(one) for one in releases]
    # A table of another search may count other columns.
    found = [one if one.tuples is tuples else grouped_jointly(tuples, [_parts_in(one, tuples)]) for one in found]
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
    """Return the problem and the point of a choice or pair, else None."""
    if isinstance(release, Choice) and release.problem is not None:
        release = release.problem, release.x
    if isinstance(release, tuple) and len(release) == 2 and hasattr(release[0], "equivalence_classes"):
        return release[0], np.asarray(release[1])
    return None


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
    if own is not tuples and not _is_same(own, tuples):
        n, other = tuples.n_rows, own.n_rows
        others = f"two of {n:,} rows with other columns or values"
        got = others if n == other else f"one of {n:,} rows and one of {other:,} rows"
        raise ValueError(f"releases must be of one table, got {got}")
    return partition_of(classes)


def _is_same(own: DistinctTuples, other: DistinctTuples) -> bool:
    pairs = (own.codes, other.codes), (own.counts, other.counts)
    if own.names != other.names or not all(np.array_equal(*pair) for pair in pairs):
        return False
    held = ((name, code) for name, column in zip(own.names, own.codes.T, strict=True) for code in np.unique(column))
    return all(own.domains[name][code] == other.domains[name][code] for name, code in held)


def parts_within(within: Any, table: Microdata, constraints: Sequence[Constraint]) -> Ints | None:
    """Return each tuple's part in the coarser release, or None."""
    if within is None:
        return None
    parts = parts_beside([within], table)
    assert parts is not None
    # The suppressed rows are one more class, and are divided as well.
    classes = grouped_jointly(table.tuples, [parts + 1])
    for one in constraints:
        if one.depends_on_kept:
            raise ValueError(f"constraints must be without background knowledge where within is given, got {one!r}")
        if one.speaks_of_classes and one.broken(classes).any():
            raise ValueError(
                f"within must be a release of which every class, and the suppressed rows together, hold {one!r}, got "
                "one with others; require less"
            )
    return parts


def ladder(problem: Any, ks: Sequence[int], kept: float = 0.0) -> list[Choice]:
    """Return a release for each k, each the best inside the one before.

    Who has several of them sees the classes of the finest one. The first release is as good as alone. The others lose
    some percents more than alone. With kept classes the second one loses less, and the first one more.

    Args:
        problem: A `LocalRecodingProblem` with the constraints of all releases.
        ks: The least k of each release, descending.
        kept: The share of the rows, from 0 to 1, whose classes in the second release, made alone, stay whole in the
            first one. Those that lose least are kept.

    Returns:
        A choice for each k, whose `problem` makes it.

    Raises:
        TypeError: `problem` is no LocalRecodingProblem, or `ks` no list.
        ValueError: `ks` are no descending whole numbers, `kept` is no share, or the table cannot hold the constraints
            with the first.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> from pymoo_anon.problems import LocalRecodingProblem, joint
    >>> tiers = ladder(LocalRecodingProblem(make_census(400), [KAnonymity(), GeneralLossMetric()]), [50, 20, 5])
    >>> [KAnonymity().evaluate(joint(tiers[:n])).item() >= k for n, k in zip((1, 2, 3), (50, 20, 5))]
    [True, True, True]
    """
    demands = _demands(problem, ks)
    if not is_number(kept) or not 0 <= kept <= 1:
        raise ValueError(f"kept must be a share of the rows from 0 to 1, got {kept!r}")
    if not kept or len(demands) < 2:
        return nested(problem, demands)
    alone = _requiring(problem, demands[1])
    return nested(problem, demands, alone.kept_whole(alone.x_of(0), kept))


def _demands(problem: Any, ks: Sequence[int]) -> list[list[Constraint]]:
    if getattr(problem, "within_parts", problem) is not None:
        raise TypeError(f"problem must be a LocalRecodingProblem without within, got {type(problem).__name__}")
    wanted = [positive_whole("a k of ks", k) for k in in_order("ks", ks)]
    if not wanted or wanted != sorted(set(wanted), reverse=True):
        raise ValueError(f"ks must be descending whole numbers, at least one, got {wanted!r:.80}")
    return [[KAnonymity() >= k] for k in wanted]


def ladders(problem: Any, ks: Sequence[int]) -> list[list[Choice]]:
    """Return ladders that trade the first release's loss for the second's.

    No ladder loses less than another one in both. The first is best for the first release.

    Args:
        problem: As of `ladder`, with a loss among its objectives.
        ks: As of `ladder`, at least two.

    Raises:
        TypeError: As of `ladder`.
        ValueError: As of `ladder`; or no objective is a loss, or `ks` names one release alone.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> from pymoo_anon.problems import LocalRecodingProblem
    >>> front = ladders(LocalRecodingProblem(make_census(400), [KAnonymity(), GeneralLossMetric()]), [20, 5])
    >>> public, research = np.array([[one.values["GLM"] for one in tiers] for tiers in front]).T
    >>> bool((np.diff(public) > 0).all()), bool((np.diff(research) < 0).all())
    (True, True)
    """
    demands = _demands(problem, ks)
    names = measure_names(problem.measured)
    losses = [names[one] for one in problem.objectives if one.is_loss]
    if not losses or len(demands) < 2:
        wanted = [one.bound for (one,) in demands]
        raise ValueError(f"ladders need an objective that is a loss, and at least two ks, got {wanted!r:.80}")
    # The second release alone is made once for all shares.
    alone = _requiring(problem, demands[1])
    units = [alone.kept_whole(alone.x_of(0), kept) for kept in _KEPT_SHARES]
    made = [nested(problem, demands, own) for own in (None, *units)]
    F = np.array([[one.values[losses[0]] for one in tiers[:2]] for tiers in made])
    # No command needs it.
    from moocore import is_nondominated

    best = is_nondominated(F, keep_weakly=False)
    return [made[place] for place in np.argsort(F[:, 0], kind="stable") if best[place]]


def nested(problem: Any, demands: Sequence[Sequence[Constraint]], units: Ints | None = None) -> list[Choice]:
    """Return releases of audiences, each inside the one before. The first is made of whole units, if any."""
    found: list[Choice] = []
    for demanded in demands:
        own = _requiring(problem, demanded, found[-1] if found else None)
        if not found:
            own.units = units
        # The least k that the constraints allow, no price and equal weights.
        X = own.x_of(0)[np.newaxis]
        front = own.front(X)
        if len(front) == 0:
            broken = [one for one in own.constraints if not one.keeps(own.values_of(X, one.objective))[0]]
            raise ValueError(
                f"the recoding with the least k must hold all constraints, got one that breaks {examples(broken)}; "
                "require less"
            )
        found.append(front.choose(row=0))
    return found


def _requiring(problem: Any, demanded: Sequence[Constraint], within: Choice | None = None) -> Any:
    return type(problem)(
        problem.table,
        problem.objectives,
        [*problem.constraints, *demanded],
        method=problem.method,
        structure=problem.structure,
        n_improvements=problem.n_improvements,
        within=within,
    )
