"""Compiled loops: numba's `njit`, with a cache on disk wherever there is a folder for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numba

_hinted = False


def njit(*, allocates: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a loop as numba's `njit` does; without a folder for its cache it is compiled anew by every process.

    numba looks for such a folder beside the source, then in the user's own cache. A user without a home who cannot
    write to the installation has neither, and numba then refuses to decorate.
    """
    # Told to every loop: one that is not told takes it from the loop that first calls it.
    options["_nrt"] = allocates

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if not options.get("cache"):
                raise
            _hint(error)
            return numba.njit(**{**options, "cache": False})(function)

    return decorate


def _hint(error: RuntimeError) -> None:
    """Say once a process what can be done."""
    global _hinted
    if not _hinted:
        _hinted = True
        warnings.warn(
            "loops are compiled anew by every process, since numba finds no folder that it may write its cache to "
            f"({error}); set the environment variable NUMBA_CACHE_DIR to one",
            RuntimeWarning,
            stacklevel=4,
        )
