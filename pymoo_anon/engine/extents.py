"""The extents of groups: how many domain values become one."""

from __future__ import annotations

import numpy as np

from pymoo_anon.engine.compiled import njit


@njit(cache=True, nogil=True)
def group_extents(maps, offsets):  # type: ignore[no-untyped-def]
    """How many other domain values share the group of each domain value, the numerator of most losses.

    Args:
        maps: (n, n_codes) int64 array, the group of every domain value, attribute after attribute.
        offsets: (n_attributes + 1,) int64 array, where each attribute's values begin.

    Returns:
        (n, n_codes) int64 array, the size of each value's group less one.
    """
    extents = np.empty_like(maps)
    sizes = np.empty(maps.shape[1], dtype=np.int64)
    for i in range(len(maps)):
        for j in range(len(offsets) - 1):
            a, b = offsets[j], offsets[j + 1]
            # An attribute has no more groups than values. From -1 on, so that a value does not count itself.
            sizes[: b - a] = -1
            for v in range(a, b):
                sizes[maps[i, v]] += 1
            for v in range(a, b):
                extents[i, v] = sizes[maps[i, v]]
    return extents
