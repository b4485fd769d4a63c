"""Messages and comparisons of contracts."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon.typing import Floats, T

# Relative tolerance for sums of floats in another order.
CLOSE = 1e-9


class ContractError(AssertionError):
    """A broken contract, in one sentence."""


def typed(values: Any) -> str:
    """Format up to eight values in one line, as typed in Python.

    >>> typed(np.array([[1, 2], [3, 4]]))
    '[[1, 2], [3, 4]]'
    """
    given = np.asarray(values)
    if given.ndim == 0:
        return repr(given.item())
    rows = ", ".join(typed(one) for one in given[:8])
    return f"[{rows}, ...]" if len(given) > 8 else f"[{rows}]"


def slack(values: ArrayLike) -> Floats:
    """Return the tolerance for rounding of values, 0 for infinite ones.

    >>> slack([2.0, np.inf]).tolist()
    [2e-09, 0.0]
    """
    given = np.asarray(values, dtype=float)
    return np.where(np.isfinite(given), CLOSE * np.maximum(np.abs(given), 1.0), 0.0)


def first_difference(ours: ArrayLike, theirs: ArrayLike, exact: bool = True) -> int | None:
    """Return the first row in which two arrays differ, or None.

    >>> first_difference([1, 2, 3], [1, 2, 4])
    2
    """
    a, b = np.asarray(ours), np.asarray(theirs)
    same = a == b
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        same = same | (np.isnan(a) & np.isnan(b))
        if not exact:
            with np.errstate(invalid="ignore"):
                same = same | (np.abs(a - b) <= slack(a))
    rows = np.flatnonzero(~same.all(axis=tuple(range(1, same.ndim))))
    return int(rows[0]) if len(rows) else None


def at_point(X: Any, row: int) -> str:
    """Describe a point for an error message."""
    return f" for x = {typed(X[row])}"


def check_same(
    duty: str, expected: Any, found: Any, where: Callable[[int], str] = lambda _: "", exact: bool = True
) -> None:
    """Check that two arrays agree in every row. `where` describes a row."""
    row = first_difference(expected, found, exact) if np.shape(expected) == np.shape(found) else 0
    if row is not None:
        raise ContractError(f"{duty}, got {typed(found[row])} and not {typed(expected[row])}{where(row)}")


def check_unchanged(duty: str, before: ArrayLike, after: ArrayLike) -> None:
    """Check that a call has changed no row of an array."""
    row = first_difference(before, after)
    if row is not None:
        raise ContractError(f"{duty}, got {typed(np.asarray(after)[row])} where {typed(np.asarray(before)[row])} was")


@contextmanager
def numpy_seeded(seed: int) -> Iterator[None]:
    """Seed numpy's own random state, and restore it."""
    own = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(seed)  # noqa: NPY002
        yield
    finally:
        np.random.set_state(own)  # noqa: NPY002


def pickled(one: T) -> T:
    """Pickle and unpickle an object."""
    made: T = pickle.loads(pickle.dumps(one))
    return made


def called(duty: str, call: Callable[..., T], *given: Any) -> T:
    """Return the result of a call, or raise a ContractError."""
    try:
        return call(*given)
    except ContractError:
        raise
    except Exception as error:
        raise ContractError(f"{duty}, got {type(error).__name__}: {error}") from error
