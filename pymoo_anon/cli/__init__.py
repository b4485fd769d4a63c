"""The command line, `pymoo-anon`.

Whatever a search needs is loaded when a search begins: help, the version and a wrong option answer at once.
"""

from pymoo_anon.study.interrupt import modules_load

__all__ = ["main"]


def main() -> None:
    """Run the command line with the arguments of the process."""
    modules_load()
    from pymoo_anon.cli.app import app

    app(prog_name="pymoo-anon")
