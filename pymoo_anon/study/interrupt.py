"""Exit codes, and Ctrl-C as one line, also while modules load."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import Any


class ExitCode(IntEnum):
    """Exit codes of all commands."""

    #: The command succeeded.
    DONE = 0
    #: Something does not hold.
    DOES_NOT_HOLD = 1
    #: An option, a file or a table is wrong, or a file cannot be written.
    BAD_USE = 2
    #: Ctrl-C or a request to terminate. A search has written its results.
    INTERRUPTED = 130


#: Message of an interrupt before anything is written.
INTERRUPTED = "Interrupted: nothing was written."


class _Command:
    """State of the command of this process for its signal handler."""

    works = False  # All modules are loaded
    interrupted = False  # A signal came, and the command has not ended yet
    moves = False  # It moves its files into place
    written = False  # Its files are in place


def modules_load() -> None:
    """Let signals end the process, and disable garbage collection, while modules load.

    An import can swallow a KeyboardInterrupt. Nearly everything that loads stays, and looking for garbage takes a
    fourth of a short run.
    """
    gc.disable()
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual:
            signal.signal(number, _on_signal)


def modules_are_loaded() -> bool:
    """Turn signals into KeyboardInterrupt from here on. Called by another program it returns False alone."""
    own = not gc.isenabled()
    if own:
        gc.freeze()
        gc.enable()
        _Command.works = True
    return own


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt at the end of a block if a signal came.

    Callbacks from C swallow the KeyboardInterrupt of a signal, and libraries turn it into errors of their own.
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
    """Continue after an interrupt, to write the results of a search."""
    _Command.interrupted = False


def put_in_place(new: Path, folder: Path, names: Sequence[str]) -> list[Path]:
    """Move new files into the output folder, unless a signal came, and return their paths.

    Signals wait meanwhile. Each name stands for a whole file at every moment, old or new. The last file should hold the
    checksums of the others: after a failure it is the old one, and refuses them.
    """
    check_interrupted()
    _Command.moves = True
    try:
        for name in names:
            (folder / name).parent.mkdir(exist_ok=True)
            os.replace(new / name, folder / name)
        _Command.written = True
    finally:
        _Command.moves = False
    return [folder / name for name in names]


def write_new(folder: Path, texts: Mapping[str, str], read: Sequence[Path], force: bool, hint: str = "") -> list[Path]:
    """Write texts by path in the output folder, or replace existing files by force.

    `read` are files that are read, which none replaces. `hint` ends the message about an existing file.
    """
    # It loads before signals are listened to.
    from pymoo_anon._files import check_free, tried

    with tried(folder, list(texts), read, own=True) as temporary:
        check_free([folder / name for name in texts], force, hint)
        for name, text in texts.items():
            target = temporary / name
            target.parent.mkdir(exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        return put_in_place(temporary, folder, list(texts))


def interrupted_words() -> str:
    """Return the message of an interrupt."""
    return "Interrupted: everything was written before." if _Command.written else INTERRUPTED


def _on_signal(number: int, frame: FrameType | None) -> None:
    """Note a signal and raise KeyboardInterrupt, or end a process that still loads.

    A signal is only noted while files are moved. So is the first one after that, when little is left to do, and the
    first one while numba compiles: its callbacks would swallow the error, and a half-compiled loop can crash the
    process.
    """
    if not _Command.works:
        os.write(2, f"{INTERRUPTED}\n".encode())
        os._exit(ExitCode.INTERRUPTED)
    first, _Command.interrupted = not _Command.interrupted, True
    lock: Any = sys.modules.get("numba.core.compiler_lock")
    waits = _Command.written or (lock is not None and lock.global_compiler_lock.is_locked())
    if not (_Command.moves or (first and waits)):
        raise KeyboardInterrupt
