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
    """State of this process's command, as far as signals need it."""

    works = False  # Its modules are loaded
    interrupted = False  # A signal came, and the command did not end yet
    written = False  # Its files are in place, or on their way there


def modules_load() -> None:
    """Let signals end the process with one line, and disable garbage collection, while modules load.

    An import may lose the error of a signal. Nearly all that loads stays, and looking through it again and again is a
    fourth of a short run.
    """
    gc.disable()
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual:
            signal.signal(number, _on_signal)


def modules_are_loaded() -> bool:
    """Turn signals into KeyboardInterrupt from here on; false where another program called the command."""
    own = not gc.isenabled()
    if own:
        # Whatever was loaded is never looked through.
        gc.freeze()
        gc.enable()
        _Command.works = True
    return own


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of a block if a signal came and its own error was lost.

    Callbacks from C drop that error, and libraries turn it into errors of their own.
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
    except BaseException:
        _Command.written = False
        raise


def interrupted_words() -> str:
    """Say whether an interrupted command wrote its files."""
    return "Interrupted: everything was written before." if _Command.written else INTERRUPTED


def _on_signal(number: int, frame: FrameType | None) -> None:
    """Note a signal and raise KeyboardInterrupt, or end a process that still loads.

    A first signal is only noted while numba compiles: its callbacks would lose the error, and a loop compiled by half
    can crash the process. It is only noted, too, once files are in place, since little is left to do.
    """
    if not _Command.works:
        os.write(2, f"{INTERRUPTED}\n".encode())
        os._exit(ExitCode.INTERRUPTED)
    first, _Command.interrupted = not _Command.interrupted, True
    lock: Any = sys.modules.get("numba.core.compiler_lock")
    if not (first and (_Command.written or (lock is not None and lock.global_compiler_lock.is_locked()))):
        raise KeyboardInterrupt
