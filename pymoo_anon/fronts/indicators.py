"""Measures of a front against the true one (Dewri et al. 2010, section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from moocore import is_nondominated
from numpy.typing import ArrayLike, NDArray
from pymoo.core.indicator import Indicator

from pymoo_anon.fronts.archive import boxes, checked_epsilon, checked_maximize

Matrix = NDArray[np.float64]


class ConvergenceError(Indicator):  # type: ignore[misc]
    """CE: how far the members of a front are from the nearest point of the true front; lower is better, 0 is best.

    Every objective is divided by its largest absolute value in the true front, distances are euclidean. The paper's
    formula prints the sum over the members, its tables fit the mean.

    Args:
        pf: (n, n_obj) array, the true front, minimised values.
        total: Whether to give the sum over the members instead of their mean.
    """

    def __init__(self, pf: ArrayLike, total: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pf = _front(pf)
        self.total = total
        largest = np.abs(self.pf).max(axis=0)
        # An objective that is 0 all over the true front has no scale of its own.
        self.scale = np.where(largest > 0, largest, 1.0)

    def _do(self, F: Matrix, *args: Any, **kwargs: Any) -> float:
        members, truth = F / self.scale, self.pf / self.scale
        nearest = [np.sqrt(((truth - member) ** 2).sum(axis=1)).min() for member in members]
        return float(np.sum(nearest) if self.total else np.mean(nearest))


class RepresentationRatio(Indicator):  # type: ignore[misc]
    """RR: the share of the non-dominated boxes of the true front that a front occupies; higher is better, 1 is best.

    Args:
        pf: (n, n_obj) array, the true front, minimised values.
        epsilon: Side of the boxes, one positive number or one per objective.
        maximize: Whether an objective is maximised, one truth value or one per objective, as in `BoxArchive`: the
            boxes then are the paper's, on the natural values. None counts them in F.
    """

    def __init__(
        self,
        pf: ArrayLike,
        epsilon: float | Sequence[float] = 1.0,
        maximize: bool | Sequence[bool] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pf = _front(pf)
        self.epsilon = checked_epsilon(epsilon)
        self.maximize = checked_maximize(maximize)
        distinct = np.unique(boxes(self.pf, self.epsilon, self.maximize), axis=0)
        self.boxes = {tuple(box) for box in distinct[is_nondominated(distinct)]}

    def _do(self, F: Matrix, *args: Any, **kwargs: Any) -> float:
        occupied = {tuple(box) for box in boxes(F, self.epsilon, self.maximize)}
        return len(self.boxes & occupied) / len(self.boxes)


def _front(pf: ArrayLike) -> Matrix:
    front = np.array(pf, dtype=float)
    if front.ndim != 2 or front.size == 0 or not np.isfinite(front).all():
        raise ValueError(f"pf must be a front of finite values, an (n, n_obj) array, got shape {front.shape}")
    return front
