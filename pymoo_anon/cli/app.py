"""The command line's commands: help, the version and wrong options answer before anything else is loaded."""

from __future__ import annotations

from typing import Annotated

import typer

from pymoo_anon import __version__
from pymoo_anon.cli.commands.hierarchy import hierarchy
from pymoo_anon.cli.commands.init import init
from pymoo_anon.cli.commands.pick import pick
from pymoo_anon.cli.commands.release import release
from pymoo_anon.cli.commands.report import report
from pymoo_anon.cli.commands.search import search
from pymoo_anon.cli.commands.verify import verify

app = typer.Typer(no_args_is_help=True, add_completion=False)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pymoo-anon {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Say the version and exit.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Anonymize microdata: the whole trade-off between privacy and information loss."""


app.command()(init)
app.command()(search)
app.command()(pick)
app.command()(release)
app.command()(verify)
app.command()(report)
app.add_typer(hierarchy)
