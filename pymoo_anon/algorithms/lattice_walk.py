"""A walk over a lattice in random order, for what a search has not found otherwise."""

from __future__ import annotations

from collections.abc import Callable
from math import gcd

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int64]
Flags = NDArray[np.bool_]

# Of a lattice with more nodes random ones are drawn, and the walk gives up after so many in a row of no use.
_MOST_NODES = 1 << 20

# A slice is so many nodes, in steps that begin small and double: well below a second, and little to no use.
_NODES_A_SLICE = 4096
_NODES_A_STEP = 32


class LatticeWalk:
    """Goes over all nodes of a lattice once, in random order; over one that is too large, until nothing seems left.

    A node that is settled stays settled, so that no node has to be looked at twice.

    Args:
        lengths: (n_var,) int64 array, the greatest level of each attribute.
        random_state: Draws the order.

    Attributes:
        is_whole: Whether the walk goes over all nodes.
        ended: Whether it has come to its end.
    """

    def __init__(self, lengths: Nodes, random_state: np.random.Generator) -> None:
        self._lengths = lengths
        self._n_nodes = 1
        for length in lengths.tolist():
            self._n_nodes *= length + 1
        self.is_whole = self._n_nodes <= _MOST_NODES
        self._length = min(self._n_nodes, _MOST_NODES)
        # In a whole walk nodes before this place are settled; in any other so many in a row were.
        self._place = 0
        # Place i is node number first + i * step: every number once, as the step has no factor of their count.
        self._first, self._step = 0, 1
        if self.is_whole:
            self._first, self._step = random_state.integers(1, self._n_nodes + 1, size=2).tolist()
            while gcd(self._step, self._n_nodes) > 1:
                self._step += 1

    @property
    def ended(self) -> bool:
        """Whether it has come to its end."""
        return self._place >= self._length

    def find(self, is_open: Callable[[Nodes], Flags], n: int, random_state: np.random.Generator) -> Nodes:
        """Go on until so many open nodes have come, or for a slice.

        Returns:
            (m, n_var) int64 array, at most n open nodes.
        """
        found = np.empty((0, len(self._lengths)), dtype=np.int64)
        # Not beyond the first open node: it is open until somebody has evaluated it.
        place, done, size, stays = self._place, 0, _NODES_A_STEP, self._place
        while len(found) < n and done < _NODES_A_SLICE and place < self._length:
            size = min(size, self._length - place)
            X = self._nodes(place, size) if self.is_whole else self._drawn(size, random_state)
            own = np.flatnonzero(is_open(X))
            if not len(found):
                stays = place + (int(own[0]) if len(own) else size)
            found = np.concatenate([found, X[own]])
            place, done, size = place + size, done + size, 2 * size
        self._place = 0 if len(found) and not self.is_whole else stays
        return found[:n]

    def _nodes(self, place: int, size: int) -> Nodes:
        """(size, n_var) int64 array: the nodes from a place on."""
        numbers = (self._first + (place + np.arange(size)) * self._step) % self._n_nodes
        X = np.empty((size, len(self._lengths)), dtype=np.int64)
        for j in reversed(range(len(self._lengths))):
            numbers, X[:, j] = np.divmod(numbers, self._lengths[j] + 1)
        return X

    def _drawn(self, size: int, random_state: np.random.Generator) -> Nodes:
        """(m, n_var) int64 array: up to so many random nodes, each once."""
        return np.unique(random_state.integers(0, self._lengths + 1, size=(size, len(self._lengths))), axis=0)
