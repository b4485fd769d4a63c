"""Preferred points of loss and bias (Dewri et al. 2009, section 4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from pymoo.core.decomposition import Decomposition

from pymoo_anon.engine.classes import DistinctTuples, EquivalenceClasses
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.loss import NormalizedClassDispersion, NormalizedWeightedPenalty
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Floats


class Achievement(Decomposition):  # type: ignore[misc]
    """The achievement of a preferred point (Dewri et al. 2009, section 4).

    It is `max_i w_i (F_i - utopian_i)`, where lower is better. w_i is proportional to 1 / (preference_i - utopian_i),
    and the weights sum to 1. The utopian point is the ideal point, the origin by default, minus `eps`. As with pymoo's
    `ASF`, it is called with F and weights, which are the preferred points here.

    Args:
        eps: A very small positive number.

    >>> Achievement()(np.array([[0.2, 0.5], [0.4, 0.1]]), np.array([0.2, 1.0])).round(3)
    array([0.167, 0.333])
    """

    def __init__(self, eps: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(eps=eps, **kwargs)

    def _do(self, F: Floats, weights: Floats, **kwargs: Any) -> Floats:
        w = 1 / (weights - self.utopian_point)
        return (w / w.sum(axis=1, keepdims=True) * (F - self.utopian_point)).max(axis=1)


class PreferredPoint(Objective):
    """The achievement of preferred NWP and NECD, where lower is better.

    Args:
        preference: The preferred (NWP, NECD), each from 0 to 1.
        weights: Weights of the quasi-identifiers in NWP, as in `NormalizedWeightedPenalty`.

    Raises:
        ValueError: `preference` is not a point between 0 and 1, or `weights` do not sum to 1.

    >>> PreferredPoint((0.2, 1.0)).name
    'achievement of (0.2, 1)'
    """

    maximize = False
    step = 0.001

    def __init__(self, preference: ArrayLike, weights: Sequence[float] | Floats | None = None) -> None:
        try:
            point = np.array(preference, dtype=float)
        except (TypeError, ValueError):
            point = np.empty(0)
        if point.shape != (2,) or not ((point >= 0) & (point <= 1)).all():
            raise ValueError(f"preference must be a point (NWP, NECD) between 0 and 1, got {preference!r}")
        self.name = f"achievement of ({point[0]:g}, {point[1]:g})"
        self.preference: Floats = point
        self.loss = NormalizedWeightedPenalty(weights)
        self.bias = NormalizedClassDispersion()

    def check(self, table: Microdata) -> None:
        """Raise unless there is a weight for every quasi-identifier."""
        self.loss.check(table)

    def evaluate(self, classes: EquivalenceClasses) -> Floats:
        """Return the (n,) achievements of n generalizations."""
        return self.achieved(np.column_stack([self.loss.evaluate(classes), self.bias.evaluate(classes)]))

    def achieved(self, points: Floats) -> Floats:
        """Return the (n,) achievements of (n, 2) points of NWP and NECD."""
        return Achievement().do(points, self.preference, _type="many_to_one")

    def deviation(self, points: Floats) -> Floats:
        """Return the preference deviations of points, NWP and NECD minus the preferred ones.

        They decide between equal achievements (Dewri et al. 2009, section 4).
        """
        return points.sum(axis=-1) - self.preference.sum()

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        """Return the achievements of the best and of the worst point."""
        best, worst = self.achieved(np.array([[0.0, 0.0], [1.0, 1.0]]))
        return float(best), float(worst)

    def _arguments(self) -> list[str]:
        return [repr(tuple(self.preference.tolist()))]
