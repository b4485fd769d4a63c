"""Indicators against the true front (Dewri et al. 2010, section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from moocore import is_nondominated
from numpy.typing import ArrayLike
from pymoo.core.indicator import Indicator

from pymoo_anon.fronts.archive import boxes, checked_epsilon, checked_maximize
from pymoo_anon.typing import Floats


class _TrueFrontIndicator(Indicator):  # type: ignore[misc]
    """Base of the indicators, with checks of both fronts."""

    def __init__(
        self, pf: ArrayLike, zero_to_one: bool = False, ideal: ArrayLike | None = None, nadir: ArrayLike | None = None
    ) -> None:
        truth = np.array(pf, dtype=float)
        if truth.ndim != 2 or truth.size == 0 or not np.isfinite(truth).all():
            raise ValueError(f"pf must be a front of finite values, an (n, n_obj) array, got shape {truth.shape}")
        low = truth.min(axis=0) if ideal is None else np.array(ideal, dtype=float)
        high = truth.max(axis=0) if nadir is None else np.array(nadir, dtype=float)
        super().__init__(zero_to_one=zero_to_one, ideal=low, nadir=high)
        self.pf: Floats = self.normalization.forward(truth)

    def do(self, F: ArrayLike | None, *args: Any, **kwargs: Any) -> float:
        """Return the value of a front."""
        n_obj = self.pf.shape[1]
        given = np.empty((0, n_obj)) if F is None else np.asarray(F, dtype=float)
        members = np.atleast_2d(given) if given.size else np.empty((0, n_obj))
        if members.ndim != 2 or members.shape[1] != n_obj:
            raise ValueError(f"F must have {n_obj} objectives, as pf does, got shape {given.shape}")
        if np.isnan(members).any():
            raise ValueError("F must hold numbers, got nan")
        return super().do(members, *args, **kwargs)


class ConvergenceMetric(_TrueFrontIndicator):
    """CE, the mean distance to the true front.

    Lower is better, 0 is best. Every objective is divided by its largest absolute value in the true front, and the
    distance to the nearest point is euclidean. The paper's formula prints the sum over the members, but its tables fit
    the mean.

    Args:
        pf: (n, n_obj) array, the true front, minimised values.
        total: Whether to give the sum over the members instead of their mean.
        zero_to_one: Whether every objective is scaled to 0 to 1 by `ideal` and `nadir`, as in pymoo's indicators,
            instead of being divided by its largest value.
        ideal: (n_obj,) array. None takes the least values of the true front.
        nadir: (n_obj,) array. None takes the largest values of the true front.

    >>> pf = [[-10, 40], [-2, 0]]
    >>> ConvergenceMetric(pf)([[-10, 40], [-2, 4]])  # the second is 4 of 40 away
    0.05
    >>> ConvergenceMetric(pf, total=True)([[-10, 40], [-2, 4]])
    0.1
    """

    def __init__(
        self,
        pf: ArrayLike,
        total: bool = False,
        *,
        zero_to_one: bool = False,
        ideal: ArrayLike | None = None,
        nadir: ArrayLike | None = None,
    ) -> None:
        super().__init__(pf, zero_to_one, ideal, nadir)
        self.total = total
        largest = np.abs(self.pf).max(axis=0)
        # An objective that is 0 all over the true front has no scale, and after zero_to_one all have the scale 1.
        self.scale = np.where((largest > 0) & (not zero_to_one), largest, 1.0)

    def do(self, F: ArrayLike | None, *args: Any, **kwargs: Any) -> float:
        """Return the value of a front.

        Raises:
            ValueError: F has no row, another number of objectives than the true front, or holds NaN.
        """
        if F is None or np.size(F) == 0:
            raise ValueError("F must have at least one row, got none")
        return super().do(F, *args, **kwargs)

    def _do(self, F: Floats, *args: Any, **kwargs: Any) -> float:
        members, truth = F / self.scale, self.pf / self.scale
        nearest = [np.sqrt(((truth - member) ** 2).sum(axis=1)).min() for member in members]
        return float(np.sum(nearest) if self.total else np.mean(nearest))


class RepresentationRatio(_TrueFrontIndicator):
    """RR, the occupied share of the true front's boxes.

    Only non-dominated boxes of the true front count. Higher is better, 1 is best. A front without a row occupies no
    box. The boxes have to be small beside the true front: where its values lie between 0 and 1, a box of side 1 holds
    all of it.

    Args:
        pf: (n, n_obj) array, the true front, minimised values.
        epsilon: Side of the boxes, one positive number or one per objective.
        maximize: Whether an objective is maximised, one truth value or one per objective, as in `BoxArchive`. The
            boxes then lie on the natural values, as in the paper. None lays them on F.

    >>> pf = [[-10, 40], [-7, 30], [-2, 0]]
    >>> RepresentationRatio(pf)([[-10, 40], [-2, 4]])  # one of three points
    0.3333333333333333
    >>> RepresentationRatio(pf, epsilon=[5, 10], maximize=[True, False])([[-11, 42], [-2, 4]])
    0.6666666666666666
    """

    def __init__(
        self, pf: ArrayLike, epsilon: float | Sequence[float] = 1.0, maximize: bool | Sequence[bool] | None = None
    ) -> None:
        super().__init__(pf)
        self.epsilon = checked_epsilon(epsilon)
        self.maximize = checked_maximize(maximize)
        distinct = np.unique(boxes(self.pf, self.epsilon, self.maximize), axis=0)
        self.boxes = {tuple(box) for box in distinct[is_nondominated(distinct)]}

    def _do(self, F: Floats, *args: Any, **kwargs: Any) -> float:
        occupied = {tuple(box) for box in boxes(F, self.epsilon, self.maximize)}
        return len(self.boxes & occupied) / len(self.boxes)
