"""Machine code of loops: numba with a cache on disk. It loads with the first call of a loop."""

from __future__ import annotations

import pickle
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numba
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.extending import typeof_impl

_hinted = False


def dispatcher_of(function: Callable[..., Any], options: Mapping[str, Any], cache: bool) -> Any:
    """Return numba's dispatcher of a loop, cached where possible.

    numba looks for a folder beside the source, then in the user's own cache. A user without a home who cannot write to
    the installation has neither, and numba alone refuses to decorate. A full disk and damaged files are passed over.
    """
    loop = numba.njit(**options)(function)
    # Where numba is told to compile nothing it gives the function back.
    if cache and isinstance(loop, CPUDispatcher):
        try:
            loop._cache = _Cache(function)  # type: ignore[attr-defined, no-untyped-call]
        except RuntimeError as error:
            _hint(f"numba finds no folder that it may write its cache to ({error})")
    return loop


def take_for_dispatcher(kind: type) -> None:
    """Let compiled loops call objects of a class by their dispatchers."""
    typeof_impl.register(kind)(lambda loop, context: typeof_impl(loop.dispatcher, context))


class _CheckedFiles(CompileResultCacheImpl):
    """Cache files with zlib's checksum, as damaged machine code may crash."""

    def get_filename_base(self, *args: Any) -> str:
        # Files without a checksum, which numba itself writes, have other names.
        return f"{super().get_filename_base(*args)}.zlib"  # type: ignore[no-untyped-call]

    def reduce(self, cres: Any) -> bytes:
        return zlib.compress(dumps(super().reduce(cres)), level=0)  # type: ignore[no-untyped-call]

    def rebuild(self, target_context: Any, payload: bytes) -> Any:
        return super().rebuild(target_context, pickle.loads(zlib.decompress(payload)))  # type: ignore[no-untyped-call]


class _Cache(FunctionCache):
    """Cache of a loop on disk, bypassed if unusable."""

    _impl_class = _CheckedFiles

    @contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        """Pass over an error, so that numba compiles in memory."""
        try:
            yield
        except Exception as error:
            # Unpickling a damaged file raises anything. An empty index lets the next process write the loop anew.
            if not isinstance(error, OSError):
                with suppress(OSError):
                    self.flush()  # type: ignore[no-untyped-call]
            _hint(f"numba's cache in {self.cache_path} cannot be used ({type(error).__name__}: {error})")


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


def watch(before: Callable[[], None], after: Callable[[], None]) -> None:
    """Call `before` the first compilation and `after` each one."""

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
