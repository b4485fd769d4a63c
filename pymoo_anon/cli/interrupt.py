"""How a command ends: its exit code, and Ctrl-C as one line at any time, also while modules load."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType


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


def modules_load() -> None:
    """From here on Ctrl-C and a request to terminate end the process with one line: loading might swallow an error.

    Nothing is looked for that is no longer needed: of what loads nearly all stays, and to look through it again and
    again is a fourth of a short run.
    """
    gc.disable()
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual:
            signal.signal(number, _leave)


def modules_are_loaded() -> bool:
    """From here on both are a KeyboardInterrupt, which clears up; true in a process that is the command line's own."""
    own = not gc.isenabled()
    if own:
        # Whatever was loaded is never looked through.
        gc.freeze()
        gc.enable()
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is _leave:
            signal.signal(number, signal.default_int_handler)
    return own


@contextmanager
def not_swallowed() -> Iterator[None]:
    """Ctrl-C in a block that may swallow it, as compiling does, is raised again at its end."""
    seen: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    own = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) is signal.default_int_handler]
    for number in own:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number in own:
            signal.signal(number, signal.default_int_handler)
    if seen:
        raise KeyboardInterrupt


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process at once: nothing was begun that needs clearing away."""
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(ExitCode.INTERRUPTED)
