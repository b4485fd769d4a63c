"""The command line, `pymoo-anon`.

Whatever a search needs is loaded when a search begins: help, the version and a wrong option answer at once.
"""

from pymoo_anon.cli.start import main

__all__ = ["main"]
