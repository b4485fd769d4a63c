"""Taxonomies of the suite: which runs of an attribute's values may be one group, and what is a cut."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

#: Runs of values, first and last, that lie side by side or within one another; one of them holds all values.
Nodes = tuple[tuple[int, ...], ...]


def n_cuts(nodes: Nodes, first: int, last: int) -> int:
    """Number of ways to group the values of one node, or of a single value: as one, or every part by itself."""
    if first == last:
        return 1
    counts, start = [], first
    while start <= last:
        # The largest node that begins here is a part. It is not the whole, and a value that begins none is one itself.
        ends = [own for begin, own in nodes if begin == start and own <= last and (begin, own) != (first, last)]
        end = max(ends, default=start)
        counts.append(n_cuts(nodes, start, end))
        start = end + 1
    return 1 + prod(counts)


def n_strays(nodes: Nodes, groups: NDArray[np.int64]) -> int:
    """Number of groups that are neither a single value nor a node."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    lasts = np.append(starts[1:], len(groups)) - 1
    runs = set(zip(starts.tolist(), lasts.tolist(), strict=True))
    return sum(first < last for first, last in runs.difference(nodes))
