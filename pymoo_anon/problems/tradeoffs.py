"""Trade-offs of fronts as plain numbers.

Nothing here needs a table: a front on paper serves as well as one of a search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon._messages import listed, number, percent
from pymoo_anon.typing import Floats, Ints

# Positive values that span more than two decades count in logarithms.
_DECADES = 100


class ReadOnly:
    """Base of records with read-only mappings that can be pickled."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, dict):
                object.__setattr__(self, name, MappingProxyType(value))

    def __reduce__(self) -> tuple[Any, ...]:
        fields = vars(self).values()
        return type(self), tuple(dict(own) if isinstance(own, MappingProxyType) else own for own in fields)


@dataclass(frozen=True)
class Step(ReadOnly):
    """Step to the next better point in an objective."""

    better_in: str  # Name of the objective
    row: int  # Row of the next point
    values: Mapping[str, float]  # By name of an objective the value of the next point
    gains: Mapping[str, float]  # By name of an objective the improvement, negative where the next point is worse
    # By name of a loss, the least and the greatest possible value.
    losses: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __str__(self) -> str:
        parts: dict[str, list[str]] = {"costs": [], "gives": []}
        for name, gain in self.gains.items():
            if gain and name != self.better_in:
                low, high = self.losses.get(name, (0, 0))
                said = with_share(f"{number(abs(gain))} of {name}", abs(gain), (0, high - low))
                parts["gives" if gain > 0 else "costs"].append(said)
        rest = [f"{verb} {listed(each)}" for verb, each in parts.items() if each]
        value = self.values[self.better_in]
        better = with_share(f"{self.better_in} = {number(value)}", value, self.losses.get(self.better_in))
        return f"{better} {' and '.join(rest) or 'costs nothing'}"


def with_share(text: str, value: float, loss: tuple[float, float] | None) -> str:
    """Add to a loss its share of the possible loss.

    >>> with_share("GLM = 36,070", 36_070, (0, 241_296)), with_share("t = 0.2", 0.2, None)
    ('GLM = 36,070 (14.9 %)', 't = 0.2')
    """
    if loss is None or not loss[1] > loss[0] or not np.isfinite(value):
        return text
    return f"{text} ({percent((value - loss[0]) / (loss[1] - loss[0]))})"


def logarithmic(values: ArrayLike) -> bool:
    """Tell whether finite values are positive and span more than two decades.

    >>> logarithmic([1, 100]), logarithmic([1, 101]), logarithmic([0, 101]), logarithmic([])
    (False, True, False, False)
    """
    given = np.asarray(values, dtype=float)
    finite = given[np.isfinite(given)]
    return bool(len(finite) and finite.min() > 0 and finite.max() > _DECADES * finite.min())


def shortfalls(values: ArrayLike, maximize: Sequence[bool]) -> Floats:
    """Return the (n, n_obj) shortfalls: 0 for the best, 1 for the worst.

    >>> shortfalls([[2, 0.0], [4, 0.1], [6, 0.4]], [True, False]).tolist()
    [[1.0, 0.0], [0.5, 0.25], [0.0, 1.0]]
    >>> shortfalls([[1], [100], [10_000]], [True]).tolist()
    [[1.0], [0.5], [0.0]]
    """
    given = np.asarray(values, dtype=float)
    found = np.zeros_like(given)
    for j, higher in enumerate(maximize):
        own = given[:, j]
        finite = np.isfinite(own)
        # An infinity is the worst or the best of all values.
        found[~finite, j] = (own[~finite] < 0) == higher
        if finite.any():
            column = own[finite]
            if logarithmic(column):
                column = np.log(column)
            low, high = column.min(), column.max()
            if high > low:
                found[finite, j] = ((high - column) if higher else (column - low)) / (high - low)
    return found


def first_of(*keys: ArrayLike) -> int:
    """Return the first row that is least by several keys.

    >>> first_of([1, 0, 0, 0], [[0, 0], [1, 2], [1, 1], [1, 1]])
    2
    """
    columns = [column for key in keys for column in np.atleast_2d(np.asarray(key, dtype=float).T)]
    # The last key of lexsort counts most, and equal rows stay in their order.
    return int(np.lexsort(columns[::-1])[0])


def next_steps(
    names: Sequence[str],
    values: ArrayLike,
    maximize: Sequence[bool],
    row: int,
    losses: Mapping[str, tuple[float, float]] | None = None,
) -> list[Step]:
    """Return the steps to the next better points. Of equally good ones it is the one that loses least."""
    given, costs, short = np.asarray(values, dtype=float), minimised(values, maximize), shortfalls(values, maximize)
    steps = []
    for j, own in enumerate(costs.T):
        better = own < own[row]
        if not better.any():
            continue
        nearest = np.flatnonzero(own == own[better].max())
        worse = np.delete(short[nearest] - short[row], j, axis=1)
        other = int(nearest[first_of(np.maximum(worse, 0).sum(axis=1), worse.sum(axis=1), costs[nearest])])
        # Two infinities are equal.
        pairs = zip(costs[row].tolist(), costs[other].tolist(), strict=True)
        gains = [0.0 if mine == theirs else mine - theirs for mine, theirs in pairs]
        there = dict(zip(names, given[other].tolist(), strict=True))
        steps.append(Step(names[j], other, there, dict(zip(names, gains, strict=True)), losses or {}))
    return steps


def steadiness(values: ArrayLike, maximize: Sequence[bool]) -> Floats:
    """Return the least loss per gain of steps from every point.

    This is the trade-off of Rachmawati and Srinivasan 2009: losses / gains in `shortfalls`. It is infinite for a point
    that is best in everything.
    """
    costs, short = minimised(values, maximize), shortfalls(values, maximize)
    found = np.full(len(costs), np.inf)
    for nearest in next_better(costs, short).T:
        rows = np.flatnonzero(nearest >= 0)
        step = short[nearest[rows]] - short[rows]
        gain, loss = -np.minimum(step, 0).sum(axis=1), np.maximum(step, 0).sum(axis=1)
        gains = gain > 0
        found[rows[gains]] = np.minimum(found[rows[gains]], loss[gains] / gain[gains])
    return found


def knee_of(values: ArrayLike, maximize: Sequence[bool]) -> int | None:
    """Return the point of the greatest `steadiness`, or None if all are ends.

    >>> knee_of([[1, 0], [7, 2], [9, 8]], [True, False])
    1
    """
    # A point that is worst in something is an end of the front, with nothing more to lose.
    inner = np.flatnonzero((shortfalls(values, maximize) < 1).all(axis=1))
    if len(inner) == 0:
        return None
    return int(inner[first_of(-steadiness(values, maximize)[inner], minimised(values, maximize)[inner])])


def minimised(values: ArrayLike, maximize: Sequence[bool]) -> Floats:
    """Return values with lower ones better, (n, n_obj) float array."""
    return np.asarray(values, dtype=float) * np.where(np.asarray(maximize, dtype=bool), -1.0, 1.0)


def next_better(costs: Floats, short: Floats) -> Ints:
    """Return the next better point of each by objective, or -1.

    Of several it is the one with the least shortfalls in the others, for whichever point steps there: one sort finds
    them all. `next_steps` weighs the losses of one point's own step, and may take another one. With that rule the knee
    of a front of three objectives may be another point. All arrays are (n, n_obj).

    >>> next_better(np.array([[-5, 10], [-7, 30], [-9, 20], [-2, 4]]), np.zeros((4, 2))).tolist()
    [[1, 3], [2, 2], [-1, 0], [0, -1]]
    """
    found = np.full(costs.shape, -1, dtype=np.int64)
    for j, own in enumerate(costs.T):
        others = np.delete(short, j, axis=1).sum(axis=1)
        # The last key of lexsort counts most: of points with equal values the best comes first.
        order = np.lexsort([*costs.T[::-1], others, own])
        values, first = np.unique(own[order], return_index=True)
        place = np.searchsorted(values, own)
        found[place > 0, j] = order[first[place[place > 0] - 1]]
    return found
