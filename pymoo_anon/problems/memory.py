"""Memory of a problem: the measured values of every point that was evaluated."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from pymoo_anon.typing import Array, Floats


class Memory:
    """Measured values of points, found by the bytes of x.

    Several threads may share a memory: they take turns only to read and to write. A copy is the memory itself, so that
    all copies of a problem share one. A pickle holds all points with their values.

    >>> memory, X = Memory(1), np.array([[1, 2], [0, 3], [1, 2]])
    >>> missing = memory.missing(X)
    >>> missing.tolist()
    [[1, 2], [0, 3]]
    >>> memory.add(missing, missing.sum(axis=1, keepdims=True))
    >>> memory[X].ravel(), len(memory)
    (array([3., 3., 3.]), 2)
    """

    def __init__(self, n_measures: int) -> None:
        # A file to which new points are written first.
        self.journal: Any = None
        # Row of each point in the values. Rows beyond the last point are free.
        self._rows: dict[bytes, int] = {}
        self._values: Floats = np.empty((64, n_measures))
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the number of distinct points."""
        return len(self._rows)

    def __copy__(self) -> Memory:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Memory:
        return self

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {"rows": dict(self._rows), "values": self._values[: len(self._rows)].copy()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Locks and journals belong to their process and are not in a pickle.
        self._rows, self._values, self._lock, self.journal = state["rows"], state["values"], Lock(), None

    def missing(self, X: Array) -> Array:
        """Return the points that are not stored, each once."""
        first: dict[bytes, int] = {}
        for i, key in enumerate(keys_of(X)):
            if key not in self._rows:
                first.setdefault(key, i)
        return X[list(first.values())]

    def add(self, X: Array, values: Floats) -> None:
        """Store the values of points that are not stored yet.

        Args:
            X: (n, n_var) array of distinct points.
            values: (n, n_measures) float array.
        """
        keys = keys_of(X)
        with self._lock:
            new = [i for i, key in enumerate(keys) if key not in self._rows]
            if not new:
                return
            begin, end = len(self._rows), len(self._rows) + len(new)
            if end > len(self._values):
                grown = np.empty((max(end, 2 * len(self._values)), self._values.shape[1]))
                grown[:begin] = self._values[:begin]
                self._values = grown
            if self.journal is not None:
                self.journal.remember([keys[i] for i in new], values[new])
            self._values[begin:end] = values[new]
            # Last and in one step, so that an interruption leaves free rows and no point without values.
            self._rows.update(zip([keys[i] for i in new], range(begin, end), strict=True))

    def __getitem__(self, X: Array) -> Floats:
        """Return the (n, n_measures) values of stored points."""
        keys = keys_of(X)
        with self._lock:
            return self._values[[self._rows[key] for key in keys]]


def keys_of(X: Array) -> list[bytes]:
    """Return the bytes of every row."""
    X = np.ascontiguousarray(X)
    keys: list[bytes] = X.view(np.dtype((np.void, X.itemsize * X.shape[1]))).ravel().tolist()  # type: ignore[assignment]
    return keys
