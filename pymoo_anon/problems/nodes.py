"""Nodes of a lattice as group maps; bounds over nodes, numbered from special to general, the last level fastest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.engine.compiled import njit

Ints = NDArray[np.int64]
Matrix = NDArray[np.float64]


def level_maps(X: Ints, groups: Ints, n_groups: Ints, offsets: Ints) -> tuple[Ints, Ints]:
    """The group maps of nodes, looked up level by level.

    Returns:
        (n, n_codes) int64 array, the group of every domain value, and (n, n_attributes) int64 array, how many there
        are of each attribute.
    """
    maps, numbers = _level_maps(X, groups, n_groups, offsets)
    return maps, numbers


@njit(cache=True, nogil=True)
def _level_maps(X, groups, n_groups, offsets):  # type: ignore[no-untyped-def]
    n, n_attributes = X.shape
    maps = np.empty((n, groups.shape[1]), dtype=np.int64)
    numbers = np.empty((n, n_attributes), dtype=np.int64)
    for i in range(n):
        for j in range(n_attributes):
            numbers[i, j] = n_groups[X[i, j], j]
            for v in range(offsets[j], offsets[j + 1]):
                maps[i, v] = groups[X[i, j], v]
    return maps, numbers
