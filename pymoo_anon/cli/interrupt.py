"""How a command ends: its exit code, and Ctrl-C as one line at any time, also while modules load."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import Any


class ExitCode(IntEnum):
    """How a command ends, for whoever calls it."""

    #: It did what was asked.
    DONE = 0
    #: A check was made, and something does not hold.
    DOES_NOT_HOLD = 1
    #: An option, a file or a table is wrong, or something cannot be written; one sentence says what.
    BAD_USE = 2
    #: Ctrl-C, or a request to terminate: what was found until then is written, and nothing is written by half.
    INTERRUPTED = 130


#: What Ctrl-C says before anything is written.
INTERRUPTED = "Interrupted: nothing was written."


class _Command:
    """Where the command of this process stands."""

    works = False  # Its modules are loaded
    interrupted = False  # A signal came, and the command has not ended for it yet
    written = False  # Its files are in place, or are just being moved there


def modules_load() -> None:
    """From here on Ctrl-C and a request to terminate end the process with one line: loading might swallow an error.

    Nothing is looked for that is no longer needed: of what loads nearly all stays, and to look through it again and
    again is a fourth of a short run.
    """
    gc.disable()
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual:
            signal.signal(number, _on_signal)


def modules_are_loaded() -> bool:
    """From here on both are a KeyboardInterrupt, which clears up; true in a process that is the command line's own."""
    own = not gc.isenabled()
    if own:
        # Whatever was loaded is never looked through.
        gc.freeze()
        gc.enable()
        _Command.works = True
    return own


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt if a signal came in a block, at its end at the latest.

    The error of the signal itself may be lost: callbacks from C drop it, and libraries make errors of their own of it.
    """
    _Command.written = False
    try:
        yield
    finally:
        check_interrupted()


def check_interrupted() -> None:
    """Raise KeyboardInterrupt if a signal came."""
    if _Command.interrupted:
        raise KeyboardInterrupt


def forget_interrupt() -> None:
    """Go on after an interrupt, to write what was found until then."""
    _Command.interrupted = False


def put_in_place(new: Path, folder: Path, names: Sequence[str]) -> list[Path]:
    """Move new files into the output folder, all or none, and none after a signal."""
    # Not loaded before signals are listened to.
    from pymoo_anon import _files

    check_interrupted()
    _Command.written = True
    try:
        return _files.put_in_place(new, folder, names)
    except OSError:
        _Command.written = False
        raise


def interrupted_words() -> str:
    """What a command says that was interrupted."""
    return "Interrupted: everything was written before." if _Command.written else INTERRUPTED


def _on_signal(number: int, frame: FrameType | None) -> None:
    """End a process that loads; note a signal and raise KeyboardInterrupt in one that works.

    The first one waits while numba compiles, whose callbacks lose the error, and what is compiled by half may end the
    process. So it does where files are in place: a few lines are left to be said.
    """
    if not _Command.works:
        os.write(2, f"{INTERRUPTED}\n".encode())
        os._exit(ExitCode.INTERRUPTED)
    first, _Command.interrupted = not _Command.interrupted, True
    lock: Any = sys.modules.get("numba.core.compiler_lock")
    if not (first and (_Command.written or (lock is not None and lock.global_compiler_lock.is_locked()))):
        raise KeyboardInterrupt
