"""Ctrl-C and a request to terminate: one line at any time, also while modules load."""

from __future__ import annotations

import os
import signal
from types import FrameType

from pymoo_anon.cli.names import ExitCode

#: What Ctrl-C says before anything is written.
INTERRUPTED = "Interrupted: nothing was written."


def modules_load() -> None:
    """From here on Ctrl-C ends the process with one line, and so does a request to terminate.

    A KeyboardInterrupt inside a module that loads may be swallowed, or end in a traceback.
    """
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual:
            signal.signal(number, _leave)


def modules_are_loaded() -> None:
    """From here on both are a KeyboardInterrupt, so that what was begun is cleared away."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is _leave:
            signal.signal(number, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process at once: nothing was begun that needs clearing away."""
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(ExitCode.INTERRUPTED)
