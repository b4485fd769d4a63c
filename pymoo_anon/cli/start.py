"""Where `pymoo-anon` starts: the options are read with few modules loaded, and Ctrl-C is one line from then on."""

from __future__ import annotations

import os
import signal
from types import FrameType

#: What Ctrl-C says before anything is written.
INTERRUPTED = "Interrupted: nothing was written."


def main() -> None:
    """Run the command line with the arguments of the process."""
    # Modules load under their own rules: a KeyboardInterrupt inside one may be swallowed, or end in a traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from pymoo_anon.cli.app import app

    app(prog_name="pymoo-anon")


def modules_are_loaded() -> None:
    """From here on Ctrl-C is a KeyboardInterrupt again, so that what was begun is cleared away."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process at once: nothing was begun that needs clearing away."""
    os.write(2, f"{INTERRUPTED}\n".encode())
    os._exit(130)
