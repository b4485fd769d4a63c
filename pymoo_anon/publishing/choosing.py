"""Choosing one point of a front: what has to hold, and which of the rest.

A measure need not be an objective of the problem: what is not is measured here. Among equals the best in the objectives
is taken, in their order, and the first row of those that agree in all.

The *knee* is the point from which going on to the next better one, in whatever objective, costs most for what it gains:
the high trade-off of Rachmawati and Srinivasan 2009. Ends of the front, which are worst in something, are no knees. Das
1999 takes the point farthest beyond the line between the ends; fronts of privacy and loss often are curved the other
way and have none.

*Weights* take the point whose greatest weighted shortfall is least: an achievement function (Wierzbicki 1980), which
reaches all points of a front. What has no weight does not matter.

Both count shortfalls from 0 for the best of what is left to 1 for the worst, in logarithms where values span more than
two decades.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.problems.arguments import checked_constraints
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.publishing.members import Members
from pymoo_anon.publishing.tradeoffs import first_of, shortfalls, steadiness
from pymoo_anon.publishing.wording import bound, listed, measure_names, number
from pymoo_anon.table.domain_values import is_number, is_whole, meant
from pymoo_anon.table.microdata import Microdata

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """One point of a front.

    Attributes:
        row: Its row of `res.X`, from 0.
        x: The point, as Python numbers.
        values: By name what is measured of it, natural signs: the objectives, what constraints bound, and what the
            choice asked for; a mapping that cannot be written.
        n_suppressed: How many tuples are suppressed.
        reason: How it was chosen, in words.
    """

    row: int
    x: tuple[int, ...]
    values: Mapping[str, float]
    n_suppressed: int
    reason: str

    def __str__(self) -> str:
        return f"{listed(f'{name} = {number(value)}' for name, value in self.values.items())}: {self.reason}"


def choose(
    problem: AnonymizationProblem,
    res: Any,
    *,
    require: Sequence[Constraint] = (),
    risk: float | None = None,
    best: Objective | None = None,
    row: int | None = None,
    knee: bool = False,
    weights: Mapping[Objective, float] | None = None,
) -> Choice:
    """Choose one point of a front: of those that satisfy `require` and `risk`, by one of the other arguments.

    Without any of these, the best of the first objective is taken that is one of `objectives.loss`.

    Args:
        problem: The problem.
        res: What `minimize` returned, or an (n, n_var) array of points. Points that break a constraint of the problem
            are no members.
        require: What has to hold, such as `[KAnonymity() >= 5]`.
        risk: The greatest risk that a person may have to be found, 1 / k, as in `risk_at_most`.
        best: Take the best of this measure: the least where lower is better, else the greatest.
        row: Take this row of `res.X`, from 0, if it satisfies what has to hold.
        knee: Take the knee of what is left.
        weights: How much measures matter, by measure: take the least weighted shortfall.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: An argument is out of range, several say which point to take, or no point is left; the nearest is
            named then.

    >>> from pymoo_anon.datasets import make_census
    >>> from pymoo_anon.objectives import GeneralLossMetric
    >>> from pymoo_anon.problems import LatticeProblem
    >>> problem = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()], suppression=0.05)
    >>> choice = choose(problem, problem.pareto_set(), require=[KAnonymity() >= 5], best=GeneralLossMetric())
    >>> choice.values["k"], choice.reason
    (5, 'the least GLM of the 11 points with k >= 5, of 15')
    """
    _check_ways(best=best, row=row, knee=knee or None, weights=weights)
    bounds = [*checked_constraints(require, problem.table)]
    if risk is not None:
        bounds.append(risk_at_most(problem.table, risk))
    return _chosen(Members(problem, res), bounds, best, row, knee, weights)


def risk_at_most(table: Microdata, risk: float) -> Constraint:
    """The least k at which nobody has a greater risk to be found, 1 / k.

    The EMA and Health Canada ask for 0.09, which a k of 12 has and one of 11 has not.

    Args:
        table: The table. Where it says whose row it is, k counts persons.
        risk: The greatest risk, above 0, at most 1.

    Raises:
        TypeError: `risk` is no number.
        ValueError: It is not above 0 and at most 1.

    >>> from pymoo_anon.datasets import make_census
    >>> [risk_at_most(make_census(50), risk).bound for risk in (0.09, 0.2, 1 / 3, 0.05)]
    [12, 5, 3, 20]
    """
    if not is_number(risk):
        raise TypeError(f"risk must be a number, got {risk!r}")
    if not 0 < risk <= 1:
        raise ValueError(f"risk must be above 0 and at most 1, a chance to be found, got {risk!r}")
    return KAnonymity(person=table.person) >= ceil(1 / meant(risk))


def _chosen(
    members: Members,
    bounds: Sequence[Constraint],
    best: Objective | None,
    row: int | None,
    knee: bool,
    weights: Mapping[Objective, float] | None,
) -> Choice:
    """The choice, of checked arguments."""
    asked = [*([] if best is None else [best]), *(weights or [])]
    names = measure_names([*members.problem.measured, *(one.objective for one in bounds), *asked])
    left = _left(members, bounds, names)
    among = _among(members, bounds, names, len(left))
    if row is not None:
        place, reason = _numbered(members, left, row, bounds, names), "asked for by its row"
    elif knee:
        place, reason = _knee(members, left), f"the knee of {among}"
    elif weights is not None:
        place, reason = _weighted(members, left, weights, names, among)
    else:
        measure = _loss(members.problem) if best is None else best
        place = int(left[first_of(_minimised(members, measure)[left], members.F[left])])
        reason = f"the {'greatest' if measure.maximize else 'least'} {names[measure]} of {among}"
    return _choice(members, place, names, reason)


def _check_ways(**given: Any) -> None:
    """Refuse more than one way to take a point, and arguments of another kind."""
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) > 1:
        raise ValueError(f"one of best, row, knee and weights must say which point to take, got {listed(asked)}")
    best, row, weights = given["best"], given["row"], given["weights"]
    if best is not None and not isinstance(best, Objective):
        raise TypeError(f"best must be an Objective such as GeneralLossMetric(), got {best!r}")
    if row is not None and not is_whole(row):
        raise TypeError(f"row must be a whole number, got {row!r}")
    if weights is None:
        return
    if not isinstance(weights, Mapping) or not all(isinstance(measure, Objective) for measure in weights):
        raise TypeError(f"weights must be a dict of Objective and number, got {weights!r}")
    wrong = {repr(measure): weight for measure, weight in weights.items() if not is_number(weight)}
    if wrong:
        raise TypeError(f"weights must be numbers, got {wrong}")
    if not weights or not all(isfinite(weight) and weight > 0 for weight in weights.values()):
        raise ValueError(f"weights must be positive numbers, at least one, got {dict(weights)}")


def _loss(problem: AnonymizationProblem) -> Objective:
    """The first objective that is a loss. The least of a privacy such as t would be everybody wholly generalized."""
    for objective in problem.objectives:
        if any(base.__module__.startswith("pymoo_anon.objectives.loss.") for base in type(objective).__mro__):
            return objective
    raise ValueError(
        "best, row, knee or weights must say which point to take, as no objective is one of objectives.loss, got "
        f"{listed(objective.name for objective in problem.objectives)}"
    )


def _minimised(members: Members, measure: Objective) -> NDArray[np.float64]:
    return members.values(measure) * (-1.0 if measure.maximize else 1.0)


def _left(members: Members, bounds: Sequence[Constraint], names: Mapping[Objective, str]) -> Ints:
    """The places of the members that satisfy all bounds."""
    if not bounds:
        return np.arange(len(members))
    left = np.flatnonzero(np.all([one.keeps(members.values(one.objective)) for one in bounds], axis=0))
    if len(left):
        return left
    violations = np.column_stack([one.violation(members.values(one.objective)) for one in bounds])
    # Nearest by the sum of what each bound is missed by, from 0 to 1 for the member that misses it by most.
    missed = np.maximum(violations, 0)
    finite = np.where(np.isfinite(missed), missed, 0).max(axis=0)
    relative = np.where(np.isfinite(missed), missed / np.where(finite > 0, finite, 1), 2)
    nearest = first_of(relative.sum(axis=1), members.F)
    has = _has(members, nearest, bounds, names)
    raise ValueError(f"no point of the front's {len(members)} has {_all(bounds, names)}; the nearest has {has}")


def _all(bounds: Sequence[Constraint], names: Mapping[Objective, str]) -> str:
    """The bounds in words."""
    return listed(bound(one, names[one.objective]) for one in bounds)


def _has(members: Members, place: int, bounds: Sequence[Constraint], names: Mapping[Objective, str]) -> str:
    """What a member has of all that is bounded, and of the objectives."""
    measures = dict.fromkeys([*(one.objective for one in bounds), *members.problem.objectives])
    return listed(f"{names[measure]} = {number(members.values(measure)[place])}" for measure in measures)


def _among(members: Members, bounds: Sequence[Constraint], names: Mapping[Objective, str], n_left: int) -> str:
    """What a point was chosen from, in words."""
    if not bounds:
        return f"all {len(members)} points" if len(members) > 1 else "the front's only point"
    asked = listed(bound(one, names[one.objective]) for one in bounds)
    return (
        f"the {n_left} points with {asked}, of {len(members)}"
        if n_left > 1
        else (f"the only point with {asked}, of {len(members)}")
    )


def _numbered(
    members: Members, left: Ints, row: int, bounds: Sequence[Constraint], names: Mapping[Objective, str]
) -> int:
    """The place of a row of `res.X` among the members."""
    if not 0 <= row < len(members.X):
        raise ValueError(f"row must be from 0 to {len(members.X) - 1}, a row of the front, got {row}")
    if row not in members.rows:
        raise ValueError(f"row must be a point that satisfies the constraints of its problem, got {row}")
    place = int(np.searchsorted(members.rows, row))
    if place not in left:
        has = _has(members, place, bounds, names)
        raise ValueError(f"row must be a point with {_all(bounds, names)}, got one with {has}")
    return place


def _knee(members: Members, left: Ints) -> int:
    # Shortfalls make (0, 1) and (1, 0) of the two ends: the less their sum, the farther is the point beyond the line.
    values = members.objectives[left]
    # The worst in anything is an end of the front, which has nothing more to lose.
    inner = np.flatnonzero((shortfalls(values, members.maximize) < 1).all(axis=1))
    if len(inner) == 0:
        raise ValueError(
            f"the front must have a knee, and each of its {len(left)} points is the worst in one of the objectives; "
            "best or weights can choose"
        )
    steady = steadiness(values, members.maximize)[inner]
    return int(left[inner[first_of(-steady, members.F[left[inner]])]])


def _weighted(
    members: Members, left: Ints, weights: Mapping[Objective, float], names: Mapping[Objective, str], among: str
) -> tuple[int, str]:
    values = np.column_stack([members.values(measure)[left] for measure in weights])
    short = shortfalls(values, [measure.maximize for measure in weights]) * list(map(float, weights.values()))
    # Of those whose greatest shortfall is the same, the one that falls short by least in all.
    place = int(left[first_of(short.max(axis=1), short.sum(axis=1), members.F[left])])
    said = listed(f"{names[measure]} = {number(float(weight))}" for measure, weight in weights.items())
    return place, f"the least weighted shortfall by {said} of {among}"


def _choice(members: Members, place: int, names: Mapping[Objective, str], reason: str) -> Choice:
    row = int(members.rows[place])
    values = {}
    for measure, name in names.items():
        value = float(members.values(measure)[place])
        values[name] = int(value) if measure.whole and isfinite(value) else value
    x = tuple(members.X[row].tolist())
    return Choice(row, x, MappingProxyType(values), int(members.n_suppressed[place]), reason)
