"""Compiled loops by numba, which loads when one is first called."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache as once
from functools import cached_property, update_wrapper
from typing import Any

#: Functions to call before the first compilation and after each one.
_WATCHING: list[tuple[Callable[[], None], Callable[[], None]]] = []


class Loop:
    """A function that numba compiles when it is first called."""

    def __init__(self, function: Callable[..., Any], inner: bool, cache: bool, options: dict[str, Any]) -> None:
        self.py_func = function
        self._inner, self._cached, self._options = inner, cache, options
        update_wrapper(self, function)

    @cached_property
    def dispatcher(self) -> Any:
        """The dispatcher of numba."""
        return _machine_code().dispatcher_of(self.py_func, self._options, self._cached)

    def __call__(self, *args: Any) -> Any:
        # Where numba is told to compile nothing, the dispatcher is the function.
        if self._inner and self.dispatcher is not self.py_func:
            raise TypeError(f"{self.py_func.__name__} is only called by compiled loops: it has no way in from Python")
        return self.dispatcher(*args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__


@once
def _machine_code() -> Any:
    from pymoo_anon.engine import machine_code

    machine_code.take_for_dispatcher(Loop)
    for own in _WATCHING:
        machine_code.watch(*own)
    return machine_code


def njit(
    *, allocates: bool = True, inner: bool = False, cache: bool = True, **options: Any
) -> Callable[[Callable[..., Any]], Loop]:
    """Compile a loop without the GIL when it is first called.

    Args:
        allocates: Whether the loop, or one that it calls, makes arrays. Others compile faster, since nobody counts
            who holds an array.
        inner: Whether only compiled loops call it. It compiles faster, since it needs no way in from Python, where a
            call raises TypeError.
        cache: Whether to keep the machine code on disk.
        options: Others of numba's `njit`.
    """
    # Told to every loop: one that is not told takes it from the loop that first calls it.
    options["_nrt"] = allocates
    options["no_cfunc_wrapper"] = True
    options["no_cpython_wrapper"] = inner
    options.setdefault("nogil", True)
    return lambda function: Loop(function, inner, cache, options)


#: Compiles a loop that makes no arrays and that only compiled loops call.
kernel = njit(allocates=False, inner=True)


def watch_compiling(before: Callable[[], None], after: Callable[[], None]) -> None:
    """Call `before` the first compilation and `after` each one."""
    _WATCHING.append((before, after))
    if _machine_code.cache_info().currsize:
        _machine_code().watch(before, after)


#: A kernel that is copied into its callers. To pass many arrays takes longer than a short loop over them.
inlined = njit(allocates=False, inner=True, forceinline=True)
