"""The hierarchies of a table as trees: the nodes of all attributes in arrays, attribute after attribute."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Forest:
    """The nodes of the hierarchies of all quasi-identifiers, attribute after attribute; all arrays are read-only.

    In tree order the values of each node stand side by side, so a node is an interval of places.

    Attributes:
        starts: (n_attributes + 1,) int64 array, where the nodes of each attribute begin; the root comes first.
        places: (n_codes,) int64 array, the place of every domain value in the tree order of its attribute.
        first: (n_nodes,) int64 array, the first place of each node.
        stop: (n_nodes,) int64 array, the place after its last.
        levels: (n_nodes,) int64 array, the lowest level at which the node is a group.
    """

    starts: Ints
    places: Ints
    first: Ints
    stop: Ints
    levels: Ints

    @cached_property
    def extents(self) -> Ints:
        """(n_nodes,) int64 array: the number of domain values in each node, less one."""
        extents: Ints = self.stop - self.first - 1
        extents.flags.writeable = False
        return extents

    def held(self, offsets: Ints, marginals: Ints) -> Ints:
        """(n_nodes,) int64 array: how many rows hold a value of each node.

        Args:
            offsets: (n_attributes + 1,) int64 array, where each attribute's domain values begin.
            marginals: (n_codes,) int64 array, how many rows hold each domain value.
        """
        held = np.empty(len(self.first), dtype=np.int64)
        for j, offset in enumerate(offsets[:-1]):
            own, nodes = slice(offset, offsets[j + 1]), slice(self.starts[j], self.starts[j + 1])
            before = np.zeros(offsets[j + 1] - offset + 1, dtype=np.int64)
            before[1 + self.places[own]] = marginals[own]
            before = np.cumsum(before)
            held[nodes] = before[self.stop[nodes]] - before[self.first[nodes]]
        return held
