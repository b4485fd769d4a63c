"""Messages and comparisons of contracts."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pymoo_anon.typing import Floats

T = TypeVar("T")

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
    rows = np.flatnonzero(~same.reshape(len(a), -1).all(axis=1))
    return int(rows[0]) if len(rows) else None


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
