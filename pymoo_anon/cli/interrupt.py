"""Ctrl-C: one line at any time, also while modules load."""

from __future__ import annotations

import os
import signal
from types import FrameType

#: What Ctrl-C says before anything is written.
INTERRUPTED = "Interrupted: nothing was written."


def modules_load() -> None:
    """From here on Ctrl-C ends the process with one line.

    A KeyboardInterrupt inside a module that loads may be swallowed, or end in a traceback.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def modules_are_loaded() -> None:
    """From here on Ctrl-C is a KeyboardInterrupt again, so that what was begun is cleared away."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process at once: nothing was begun that needs clearing away."""
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(130)
