"""How many domain values each group holds."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.compiled import njit


@njit(cache=True, nogil=True)
def group_extents(maps, offsets):  # type: ignore[no-untyped-def]
    """(n, n_codes) int64 array: for every domain value the number of domain values in its group, less one.

    Args:
        maps: (n, n_codes) int64 array, the group of every domain value.
        offsets: (n_attributes + 1,) int64 array, where each attribute's values begin.
    """
    extents = np.empty_like(maps)
    sizes = np.empty(maps.shape[1], dtype=np.int64)
    for i in range(len(maps)):
        for j in range(len(offsets) - 1):
            a, b = offsets[j], offsets[j + 1]
            sizes[: b - a] = -1
            for v in range(a, b):
                sizes[maps[i, v]] += 1
            for v in range(a, b):
                extents[i, v] = sizes[maps[i, v]]
    return extents
