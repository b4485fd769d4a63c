"""The command `app`."""

from __future__ import annotations

import webbrowser

from rich.console import Console

from pymoo_anon._messages import plain
from pymoo_anon.cli.options import AppRequest
from pymoo_anon.study.interrupt import forget_interrupt


def run_app(asked: AppRequest, console: Console) -> None:
    """Serve the screen until Ctrl-C."""

    def show(address: str) -> None:
        console.print(f"{address}\nOpen it on this machine; Ctrl-C ends it.")
        console.file.flush()
        if not asked.no_browser:
            webbrowser.open(address)

    try:
        # Only this command needs the extra.
        from pymoo_anon.app.server import serve

        serve(asked.path, show)
    except ImportError as error:
        raise ValueError(
            f'the screen needs the extra app: pip install "pymoo_anon[app]" ({plain(str(error))})'
        ) from None
    except KeyboardInterrupt:
        pass
    # Ctrl-C is how it ends.
    forget_interrupt()
    console.print("Ended.")
