"""How far a front may stay off and still count as proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Tolerance:
    """What a point of the front may be worse than a point that it stands for, objective by objective.

    A member m stands for a point with the values v, minimised, where m <= v + absolute + relative * |v| in every
    objective.

    Attributes:
        absolute: (n_obj,) float array, in units of the objectives; 0 for none.
        relative: (n_obj,) float array of shares below 1; 0 for none.
    """

    absolute: Matrix
    relative: Matrix

    def widened(self, values: Matrix) -> Matrix:
        """(n, n_obj) float array: what members may be at most to stand for points of these values."""
        finite = np.where(np.isfinite(values), values, 0.0)
        wide: Matrix = values + self.absolute + self.relative * np.abs(finite)
        return wide


def tolerance(epsilon: Any, n_obj: int) -> Tolerance:
    """The tolerance that an argument asks for.

    >>> tolerance([0, "5%"], 2)
    Tolerance(absolute=array([0., 0.]), relative=array([0.  , 0.05]))
    """
    given = [0.0 if epsilon is None else epsilon] if np.ndim(epsilon) == 0 else list(epsilon)
    if len(given) not in (1, n_obj):
        raise ValueError(f"epsilon must be one number or one per objective: {n_obj}, got {len(given)}")
    absolute, relative = np.array([_sides(one, epsilon) for one in given], dtype=float).T
    return Tolerance(np.broadcast_to(absolute, n_obj).copy(), np.broadcast_to(relative, n_obj).copy())


def check_epsilon(epsilon: Any) -> None:
    """Refuse an `epsilon` that fits no number of objectives."""
    tolerance(epsilon, np.size(epsilon))


def _sides(one: Any, given: Any) -> tuple[float, float]:
    """The absolute and the relative tolerance of one objective."""
    share = isinstance(one, str) and one.endswith("%")
    try:
        size = float(one[:-1]) / 100 if share else float("nan" if isinstance(one, str | bool) else one)
    except (TypeError, ValueError):
        size = float("nan")
    if not 0 <= size < (1 if share else np.inf):
        raise ValueError(
            f'epsilon must be a number that is not negative, a share such as "5%", or one per objective, got {given!r}'
        )
    return (0.0, size) if share else (size, 0.0)
