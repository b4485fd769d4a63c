"""The options of `pymoo-anon release`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pymoo_anon.cli.console import clear_errors, said_warnings
from pymoo_anon.cli.declaring import choice_of
from pymoo_anon.cli.interrupt import modules_are_loaded


def release(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The project file that init wrote.")],
    row: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="A row of the front, from 1, instead of the one that pick chose."),
    ] = None,
    suppressed: Annotated[
        str | None,
        typer.Option(
            metavar="mark|drop",
            help="What becomes of suppressed rows: * in their quasi-identifiers, or nothing.",
            show_default="as the project file says",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv|FILE.parquet", help="The released table.", show_default="as the project file says"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a release of the same name.")] = False,
) -> None:
    """Write the table of the chosen point, where a recount of it holds what was promised, and its evidence."""
    with clear_errors():
        from pymoo_anon.cli.project import read_project

        if suppressed is not None:
            choice_of("suppressed", suppressed, dict.fromkeys(("mark", "drop")))
        project = read_project(file)
    with said_warnings():
        from pymoo_anon.cli.releasing import run

    modules_are_loaded()
    run(project, row, suppressed, output, force)
