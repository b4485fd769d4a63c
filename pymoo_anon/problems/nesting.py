"""Local recodings inside the classes of a coarser release.

The joint classes of both releases are then those of the finer one, so that it says as little with the coarser one as
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pymoo_anon._messages import examples, positive_whole
from pymoo_anon.engine.classes import grouped_jointly
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.front import Choice
from pymoo_anon.problems.releases import parts_beside
from pymoo_anon.recoding import Tests, Trees
from pymoo_anon.recoding.trees import cells_of_classes
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Ints, Ints32

# Shares of the rows in kept classes, by the ladders of a front beside the one without any.
_KEPT_SHARES = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.96, 0.98, 1.0)


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


def divided_parts(trees: Trees, tests: Tests, recoded: Callable[[Trees, Tests], Ints32]) -> Ints32:
    """Return the cells of a recoding that divides each part of the trees.

    Parts that break a requirement stay whole. Tuples are numbered anew for `recoded`.
    """
    parts = trees.parts
    by_part = np.argsort(parts, kind="stable")
    members = np.split(by_part, np.flatnonzero(np.diff(parts[by_part])) + 1)
    cells = trees.released(cells_of_classes(trees, parts, int(parts.max()) + 1)[parts])
    chosen = [own for own in members if tests.subset(own).keeps_whole(trees.rows[own])]
    if chosen:
        own = np.sort(np.concatenate(chosen))
        part = trees.subset(own)._replace(places=np.arange(len(own)))
        cells[trees.places[own]] = recoded(part, tests.subset(own))
    return cells[:, :-1]


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
        TypeError: `problem` is no LocalRecodingProblem.
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
    if not 0 <= kept <= 1:
        raise ValueError(f"kept must be a share of the rows from 0 to 1, got {kept!r}")
    if not kept or len(demands) < 2:
        return nested(problem, demands)
    alone = _requiring(problem, demands[1])
    return nested(problem, demands, alone.kept_whole(alone.x_of(0), kept))


def _demands(problem: Any, ks: Sequence[int]) -> list[list[Constraint]]:
    if not hasattr(problem, "within_parts"):
        raise TypeError(f"problem must be a LocalRecodingProblem, got {type(problem).__name__}")
    wanted = [positive_whole("a k of ks", k) for k in ks]
    if not wanted or wanted != sorted(set(wanted), reverse=True):
        raise ValueError(f"ks must be descending whole numbers, at least one, got {list(ks)!r:.80}")
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
    losses = [problem.names[one] for one in problem.objectives if one.is_loss]
    if not losses or len(ks) < 2:
        raise ValueError(f"ladders need an objective that is a loss, and at least two ks, got {list(ks)!r:.80}")
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
    """Return a release for each audience, each inside the one before.

    The first release is made of whole units, `LocalRecodingProblem.kept_whole`, if there are any.
    """
    found: list[Choice] = []
    for demanded in demands:
        own = _requiring(problem, demanded, found[-1] if found else None)
        if not found:
            own.units = units
        # The least k that the constraints allow, no price and equal weights.
        front = own.front([own.x_of(0)])
        if len(front) == 0:
            raise ValueError(
                f"the table must hold {examples(demanded)} as one class, got one that does not; require less"
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
