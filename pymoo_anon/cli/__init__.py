"""The command line, `pymoo-anon`."""

from pymoo_anon.cli.app import app

__all__ = ["app"]
