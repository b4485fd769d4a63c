"""Where `pymoo-anon` starts: the options are read with few modules loaded, and Ctrl-C is one line from then on."""

from __future__ import annotations

from pymoo_anon.cli.interrupt import modules_load


def main() -> None:
    """Run the command line with the arguments of the process."""
    modules_load()
    from pymoo_anon.cli.app import app

    app(prog_name="pymoo-anon")
