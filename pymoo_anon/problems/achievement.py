"""Achievement of a preferred point, beside pymoo's decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pymoo.core.decomposition import Decomposition

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


def preference_deviation(F: ArrayLike, preference: ArrayLike) -> Matrix:
    """(n,) float array: sum of the objectives less the sum of the preferred ones; lower is better.

    It decides between equal achievements (Dewri et al. 2009, section 4).

    Args:
        F: (n, n_obj) array.
        preference: (n_obj,) array.
    """
    deviation: Matrix = np.asarray(F, dtype=float).sum(axis=-1) - np.sum(preference)
    return deviation
