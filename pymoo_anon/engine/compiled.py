"""Compiled loops: numba's `njit`, with a cache on disk wherever there is a folder for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event
from numba.core.registry import CPUDispatcher

_hinted = False


def njit(*, allocates: bool = True, inner: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a loop as numba's `njit` does; without a folder for its cache it is compiled anew by every process.

    numba looks for such a folder beside the source, then in the user's own cache. A user without a home who cannot
    write to the installation has neither, and numba then refuses to decorate.

    Args:
        allocates: Whether the loop, or one that it calls, makes arrays. Others compile faster, since nobody counts
            who holds an array.
        inner: Whether only compiled loops call it. It compiles faster, since it needs no way in from Python, where a
            call raises TypeError.
        options: Those of numba's `njit`.
    """
    # Told to every loop: one that is not told takes it from the loop that first calls it.
    options["_nrt"] = allocates
    options["no_cfunc_wrapper"] = True
    options["no_cpython_wrapper"] = inner

    def decorate(function: Callable[..., Any]) -> Any:
        try:
            loop = numba.njit(**options)(function)
        except RuntimeError as error:
            if not options.get("cache"):
                raise
            _hint(error)
            loop = numba.njit(**{**options, "cache": False})(function)
        # Where numba is told to compile nothing it gives the function back.
        if inner and isinstance(loop, CPUDispatcher):
            loop.__class__ = _Inner
        return loop

    return decorate


class _Inner(CPUDispatcher):
    """A loop that only compiled loops call: from Python numba would jump to nowhere, and end the process."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"{self.py_func.__name__} is only called by compiled loops: it has no way in from Python")


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


def before_compiling(say: Callable[[], None]) -> None:
    """Call a function once, as soon as this process compiles something that no cache holds."""

    class Once(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if not self.said:
                self.said = True
                say()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Once())  # type: ignore[no-untyped-call]
