"""Compiled loops: numba with a cache on disk. It loads with the first call of a loop."""

from __future__ import annotations

import pickle
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache as once
from functools import cached_property, update_wrapper
from typing import Any


class Loop:
    """A function that numba compiles when it is first called."""

    # The dispatcher takes the place of the first call, so that nothing stands before later ones.
    __slots__ = ("__call__", "__dict__")
    __call__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any], inner: bool, options: dict[str, Any]) -> None:
        self.py_func, self._inner, self._options = function, inner, options
        update_wrapper(self, function)
        self.__call__ = self._call_first

    @cached_property
    def dispatcher(self) -> Any:
        """The dispatcher of numba, cached on disk where possible.

        numba looks for a folder beside the source, then in the user's own cache. A user without a home who cannot write
        to the installation has neither, and numba alone refuses to decorate. A full disk is passed over.
        """
        cache = _prepared_numba()
        import numba
        from numba.core.registry import CPUDispatcher

        loop = numba.njit(**self._options)(self.py_func)
        # Where numba is told to compile nothing it gives the function back.
        if isinstance(loop, CPUDispatcher):
            try:
                loop._cache = cache(self.py_func)  # type: ignore[attr-defined]
            except RuntimeError as error:
                _hint(f"numba finds no folder that it may write its cache to ({error})")
        return loop

    def _call_first(self, *args: Any) -> Any:
        # Where numba is told to compile nothing, the dispatcher is the function.
        if self._inner and self.dispatcher is not self.py_func:
            raise TypeError(f"{self.py_func.__name__} is only called by compiled loops: it has no way in from Python")
        self.__call__ = self.dispatcher
        return self.dispatcher(*args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__


def njit(*, allocates: bool = True, inner: bool = False, **options: Any) -> Callable[[Callable[..., Any]], Loop]:
    """Compile a loop without the GIL when it is first called.

    A loop compiles faster if neither it nor one that it calls `allocates` arrays, since nobody counts who holds them.
    So does an `inner` one, which only compiled loops call, since it needs no way in from Python. `options` are others
    of numba's `njit`.
    """
    # Told to every loop: one that is not told takes it from the loop that first calls it.
    options["_nrt"] = allocates
    options["no_cfunc_wrapper"] = True
    options["no_cpython_wrapper"] = inner
    options.setdefault("nogil", True)
    return lambda function: Loop(function, inner, options)


#: Compiles a loop that makes no arrays and that only compiled loops call.
kernel = njit(allocates=False, inner=True)

#: A kernel that is copied into its callers. To pass many arrays takes longer than a short loop over them.
inlined = njit(allocates=False, inner=True, forceinline=True)

#: Functions to call before the first compilation and after each one.
_WATCHING: list[tuple[Callable[[], None], Callable[[], None]]] = []


def watch_compiling(before: Callable[[], None], after: Callable[[], None]) -> None:
    """Call `before` the first compilation and `after` each one."""
    _WATCHING.append((before, after))
    if _prepared_numba.cache_info().currsize:
        _watch(before, after)


@once
def _prepared_numba() -> Callable[[Callable[..., Any]], Any]:
    """Let loops call others by their dispatchers, and return the cache's class."""
    from numba.core.caching import CompileResultCacheImpl, FunctionCache
    from numba.core.serialize import dumps
    from numba.extending import typeof_impl

    class CheckedFiles(CompileResultCacheImpl):
        """Cache files with zlib's checksum, as damaged machine code may crash."""

        def get_filename_base(self, *args: Any) -> str:
            # Files without a checksum, which numba itself writes, have other names.
            return f"{super().get_filename_base(*args)}.zlib"  # type: ignore[no-untyped-call]

        def reduce(self, cres: Any) -> bytes:
            return zlib.compress(dumps(super().reduce(cres)), level=0)  # type: ignore[no-untyped-call]

        def rebuild(self, target_context: Any, payload: bytes) -> Any:
            whole = pickle.loads(zlib.decompress(payload))
            return super().rebuild(target_context, whole)  # type: ignore[no-untyped-call]

    class Cache(FunctionCache):
        """Cache of a loop on disk, bypassed if unusable."""

        _impl_class = CheckedFiles

        def _load_overload(self, *args: Any) -> Any:
            try:
                return super()._load_overload(*args)  # type: ignore[no-untyped-call]
            except Exception:
                # A damaged file raises anything, and one of another version may name a class that is gone.
                return self.flush()  # type: ignore[no-untyped-call]

        @contextmanager
        def _guard_against_spurious_io_errors(self) -> Iterator[None]:
            try:
                yield
            except Exception as error:
                _hint(f"numba's cache in {self.cache_path} cannot be used ({type(error).__name__}: {error})")

    typeof_impl.register(Loop)(lambda loop, context: typeof_impl(loop.dispatcher, context))
    for own in _WATCHING:
        _watch(*own)
    return Cache


def _watch(before: Callable[[], None], after: Callable[[], None]) -> None:
    from numba.core import event
    from numba.core.compiler_lock import global_compiler_lock

    class Watch(event.Listener):
        said = False

        def on_start(self, event: Any) -> None:
            if event.kind == "numba:compile" and not self.said:
                self.said = True
                before()

        def on_end(self, event: Any) -> None:
            # A loop may compile or load others: only the outermost one has ended.
            if not global_compiler_lock.is_locked():  # type: ignore[no-untyped-call]
                after()

    own = Watch()
    for kind in ("numba:compile", "numba:compiler_lock"):
        event.register(kind, own)  # type: ignore[no-untyped-call]


_hinted = False


def _hint(why: str) -> None:
    """Warn once per process, with a remedy."""
    global _hinted
    if not _hinted:
        _hinted = True
        warnings.warn(
            f"loops are compiled in memory, since {why}; set the environment variable NUMBA_CACHE_DIR to a folder with "
            "room",
            RuntimeWarning,
            stacklevel=4,
        )
