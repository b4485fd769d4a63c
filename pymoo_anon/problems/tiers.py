"""Releases of one table for several audiences, each inside the one before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pymoo_anon._messages import positive_whole
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.front import Choice
from pymoo_anon.problems.local_recoding import LocalRecodingProblem


def ladder(problem: LocalRecodingProblem, ks: Sequence[int]) -> list[Choice]:
    """Return a release for each k, each the best inside the one before.

    Who has several of them sees the classes of the finest one. The first release is as good as alone. The others lose
    some percents more than alone.

    Args:
        problem: The problem, with the constraints of all releases.
        ks: The least k of each release, descending.

    Returns:
        A choice for each k, whose `problem` makes it.

    Raises:
        TypeError: `problem` is no LocalRecodingProblem.
        ValueError: `ks` are no descending whole numbers, or the table cannot hold the constraints with the first.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> from pymoo_anon.problems import joint
    >>> tiers = ladder(LocalRecodingProblem(make_census(400), [KAnonymity(), GeneralLossMetric()]), [50, 20, 5])
    >>> [KAnonymity().evaluate(joint(tiers[:n])).item() >= k for n, k in zip((1, 2, 3), (50, 20, 5))]
    [True, True, True]
    """
    if not isinstance(problem, LocalRecodingProblem):
        raise TypeError(f"problem must be a LocalRecodingProblem, got {type(problem).__name__}")
    wanted = [positive_whole("a k of ks", k) for k in ks]
    if not wanted or wanted != sorted(set(wanted), reverse=True):
        raise ValueError(f"ks must be descending whole numbers, at least one, got {list(ks)!r:.80}")
    return nested(problem, [[KAnonymity() >= k] for k in wanted])


def nested(problem: LocalRecodingProblem, demands: Sequence[Sequence[Constraint]]) -> list[Choice]:
    """Return a release for the demands of each audience, each inside the one before.

    Raises:
        ValueError: A release cannot hold its demands inside the one before.
    """
    found: list[Choice] = []
    for demanded in demands:
        own: Any = LocalRecodingProblem(
            problem.table,
            problem.objectives,
            [*problem.constraints, *demanded],
            method=problem.method,
            structure=problem.structure,
            n_improvements=problem.n_improvements,
            within=found[-1] if found else None,
        )
        # The least k that the constraints allow, no price and equal weights.
        found.append(own.front(np.zeros((1, own.n_var), dtype=np.int64)).choose(row=0))
    return found
