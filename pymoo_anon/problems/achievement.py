"""Achievement of a preferred point: beside pymoo's decompositions, and as an objective."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pymoo.core.decomposition import Decomposition

from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.engine.tuples import DistinctTuples
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.loss import NormalizedClassDispersion, NormalizedWeightedPenalty
from pymoo_anon.table.microdata import Microdata

Matrix = NDArray[np.float64]


class Achievement(Decomposition):  # type: ignore[misc]
    """How far a point is, in the direction of a preferred one, from the utopian point (Dewri et al. 2009, section 4).

    `max_i w_i (F_i - utopian_i)`, where w_i is proportional to 1 / (preference_i - utopian_i) and of sum 1; lower is
    better. The utopian point is the ideal one, the origin by default, less `eps`. As with pymoo's `ASF`, it is called
    with F and weights, which are the preferred points here.

    Args:
        eps: A very small positive number.

    >>> Achievement()(np.array([[0.2, 0.5], [0.4, 0.1]]), np.array([0.2, 1.0])).round(3)
    array([0.167, 0.333])
    """

    def __init__(self, eps: float = 1e-6, **kwargs: Any) -> None:
        super().__init__(eps=eps, **kwargs)

    def _do(self, F: Matrix, weights: Matrix, **kwargs: Any) -> Matrix:
        w = 1 / (weights - self.utopian_point)
        achieved: Matrix = (w / w.sum(axis=1, keepdims=True) * (F - self.utopian_point)).max(axis=1)
        return achieved


class PreferredPoint(Objective):
    """The achievement of preferred values of NWP and NECD: how far a generalization is from them; lower is better.

    Args:
        preference: The preferred (NWP, NECD), each from 0 to 1.
        weights: Weights of the quasi-identifiers in NWP, as in `NormalizedWeightedPenalty`.
        name: Short name, which tells it from those of other preferred points.

    Attributes:
        preference: (2,) float array, the preferred point.
        loss: The objective NWP.
        bias: The objective NECD.

    Raises:
        ValueError: The preference is no point between 0 and 1, or the weights are not of sum 1.
    """

    maximize = False
    step = 0.001

    def __init__(
        self,
        preference: ArrayLike,
        weights: Sequence[float] | NDArray[np.float64] | None = None,
        name: str = "achievement",
    ) -> None:
        points = preferred_points(preference)
        if len(points) != 1:
            raise ValueError(f"preference must be one point (NWP, NECD), got {preference!r}")
        self.name = name
        self.preference: Matrix = points[0]
        self.loss = NormalizedWeightedPenalty(weights)
        self.bias = NormalizedClassDispersion()

    def check(self, table: Microdata) -> None:
        """Refuse a table with another number of quasi-identifiers than of weights.

        Raises:
            ValueError: They differ.
        """
        self.loss.check(table)

    def evaluate(self, classes: EquivalenceClasses) -> Matrix:
        """(n,) float array, the achievement of each of n generalizations."""
        return self.achieved(np.column_stack([self.loss.evaluate(classes), self.bias.evaluate(classes)]))

    def achieved(self, points: Matrix) -> Matrix:
        """(n,) float array: the achievement of points.

        Args:
            points: (n, 2) float array of NWP and NECD.
        """
        achieved: Matrix = Achievement().do(points, self.preference, _type="many_to_one")
        return achieved

    def deviation(self, points: Matrix) -> Matrix:
        """(n,) float array: the preference deviation of points, which decides between equal achievements.

        Args:
            points: (n, 2) float array of NWP and NECD.
        """
        return preference_deviation(points, self.preference)

    def value_range(self, tuples: DistinctTuples) -> tuple[float, float]:
        """The achievements of the best and of the worst point."""
        best, worst = self.achieved(np.array([[0.0, 0.0], [1.0, 1.0]]))
        return float(best), float(worst)

    def __repr__(self) -> str:
        return f"PreferredPoint({tuple(self.preference.tolist())})"


def preferred_points(preferences: ArrayLike) -> Matrix:
    """(n, 2) float array: one preferred point (NWP, NECD) or several."""
    try:
        points = np.atleast_2d(np.array(preferences, dtype=float))
    except (TypeError, ValueError):
        points = np.empty((0, 0))
    if points.ndim != 2 or points.shape[1] != 2 or not points.size or not ((points >= 0) & (points <= 1)).all():
        raise ValueError(f"preferences must be points (NWP, NECD) between 0 and 1, got {preferences!r}")
    return points


def preference_deviation(F: ArrayLike, preference: ArrayLike) -> Matrix:
    """(n,) float array: sum of the objectives less the sum of the preferred ones; lower is better.

    It decides between equal achievements (Dewri et al. 2009, section 4).
    """
    deviation: Matrix = np.asarray(F, dtype=float).sum(axis=-1) - np.sum(preference)
    return deviation
