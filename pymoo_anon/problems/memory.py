"""What a problem remembers of the points that it has evaluated."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymoo_anon.problems.journal import VALUES, Journal

Matrix = NDArray[np.float64]


class Memory:
    """The measured values of every point that was evaluated, found by the bytes of x.

    Several threads may use one memory. They measure at the same time, and take turns only to look up and to write. A
    point that two of them want at the same moment is measured by both and remembered once.

    A copy is the memory itself, so that all copies of a problem share one; a history of algorithms holds it once. A
    pickle holds every point with its values: a search that is resumed in another process measures nothing twice and
    goes on counting distinct points.

    Args:
        n_measures: Number of values of a point.

    >>> memory = Memory(1)
    >>> memory.recall(np.array([[1, 2], [0, 3], [1, 2]]), lambda X: X.sum(axis=1, keepdims=True)).ravel()
    array([3., 3., 3.])
    >>> len(memory)
    2
    """

    def __init__(self, n_measures: int) -> None:
        # Where new points are written before they are remembered.
        self.journal: Journal | None = None
        # The row of each point in the values. Rows beyond the last point are free.
        self._rows: dict[bytes, int] = {}
        self._values: Matrix = np.empty((64, n_measures))
        self._lock = Lock()

    def __len__(self) -> int:
        """Number of distinct points."""
        return len(self._rows)

    def __copy__(self) -> Memory:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Memory:
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Points and values as they stand at one moment. A lock belongs to its process and stays there."""
        with self._lock:
            return {"rows": dict(self._rows), "values": self._values[: len(self._rows)].copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._rows, self._values, self._lock = state["rows"], state["values"], Lock()
        # It writes to a file of another process.
        self.journal = None

    def holds(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """(n,) Boolean array: which points were seen before."""
        return np.array([key in self._rows for key in _keys(X)], dtype=bool)

    def recall(self, X: NDArray[Any], measure: Callable[[NDArray[Any]], Matrix]) -> Matrix:
        """The values of points, measured where they were not seen before.

        Where measuring fails or is interrupted, nothing is remembered.

        Returns:
            (n, n_measures) float array, one row per row of X.
        """
        keys = _keys(X)
        # The first place in X of each point that is new.
        new: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            if key not in self._rows:
                new.setdefault(key, i)
        if new:
            # Outside of the lock, so that threads measure at the same time.
            measured = measure(X[list(new.values())])
            self._write(list(new), measured)
        with self._lock:
            return self._values[[self._rows[key] for key in keys]]

    def fill(self, keys: list[bytes], values: Matrix) -> None:
        """Remember points that were evaluated elsewhere."""
        self._write(keys, values)

    def _write(self, keys: list[bytes], measured: Matrix) -> None:
        """Remember the values of points, but of those that another thread was quicker with."""
        with self._lock:
            own = [i for i, key in enumerate(keys) if key not in self._rows]
            known = len(self._rows)
            total = known + len(own)
            if total > len(self._values):
                grown = np.empty((max(total, 2 * len(self._values)), self._values.shape[1]))
                grown[:known] = self._values[:known]
                self._values = grown
            if own and self.journal is not None:
                self.journal.append(VALUES, [keys[i] for i in own], measured[own])
            self._values[known:total] = measured[own]
            # Last, and in one step: whatever interrupts this before leaves free rows and no point.
            self._rows.update(zip([keys[i] for i in own], range(known, total), strict=True))


def _keys(X: NDArray[Any]) -> list[bytes]:
    """The bytes of every row."""
    X = np.ascontiguousarray(X)
    keys: list[bytes] = X.view(np.dtype((np.void, X.itemsize * X.shape[1]))).ravel().tolist()  # type: ignore[assignment]
    return keys
