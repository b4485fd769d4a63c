"""The front of a proof over a stored lattice, as what its members can stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.algorithms.proofs.stored.known import Members
from pymoo_anon.algorithms.proofs.tolerance import Tolerance
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives.bounds.base import Kind

Matrix = NDArray[np.float64]


def members_of(
    F: Matrix, tolerance: Tolerance, maximize: NDArray[np.bool_], families: Sequence[Any], thresholds: Sequence[Any]
) -> Members:
    """What the members of a front stand for."""
    # What only constraints bound makes no member worse than another.
    needs = np.full((len(F), len(families)), -np.inf)
    needs[:, : F.shape[1]] = least_bounds(F, tolerance, maximize)
    reaches = np.full((len(F), max(len(thresholds), 1)), np.inf)
    for column, family in enumerate(families):
        if family.kind is Kind.THRESHOLD:
            n_rows = family.n_rows
            place = 0 if family.by_size else thresholds.index(family)
            np.minimum(reaches[:, place], family.reach(needs[:, column], n_rows), out=reaches[:, place])
    furthest = np.argsort(-reaches[:, 0], kind="stable")
    return Members(needs[furthest], reaches[furthest])


def least_bounds(F: Matrix, tolerance: Tolerance, maximize: NDArray[np.bool_]) -> Matrix:
    """(m, n_obj) float array: the least minimised values, or bounds of them, that a member stands for.

    It stands for larger ones as well: the tolerance grows by less than the values do.
    """
    sides = tolerance.absolute
    if not sides.any() and not tolerance.relative.any():
        return F
    if sides.all():
        own = boxes(F, sides, maximize)
        least = np.where(maximize, np.nextafter((own - 1) * sides, np.inf), own * sides)
    else:
        least = (F - sides) / np.where(sides <= F, 1 + tolerance.relative, 1 - tolerance.relative)
    while True:
        # Rounding may have led below.
        stands = boxes(least, sides, maximize) >= own if sides.all() else tolerance.widened(least) >= F
        if stands.all():
            return least
        least = np.where(stands, least, np.nextafter(least, np.inf))
