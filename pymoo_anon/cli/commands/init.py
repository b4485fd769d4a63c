"""The options of `pymoo-anon init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pymoo_anon.cli.console import clear_errors, said_warnings
from pymoo_anon.cli.declaring import choice_of, parts_of
from pymoo_anon.cli.interrupt import modules_are_loaded
from pymoo_anon.cli.sources import ENGINES


def init(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="A CSV or Parquet file, duckdb:FILE:TABLE or spark:TABLE.", show_default=False
        ),
    ],
    names: Annotated[
        str | None,
        typer.Option(metavar="NAME,NAME,...", help="The columns of a CSV file whose first row does not name them."),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN=ROLE",
            help="The role of all columns of a name such as 'Q*', in place of the guess; may be given more than once, "
            "the last one that fits counts.",
        ),
    ] = None,
    engine: Annotated[str, typer.Option(metavar="|".join(ENGINES), help="What reads the table.")] = "auto",
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the files go.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Write a project file for a table, with a guess for every column, and a draft of every hierarchy."""
    with clear_errors():
        choice_of("engine", engine, dict.fromkeys(ENGINES))
    with said_warnings():
        from pymoo_anon.cli.initializing import Request, initialize

    modules_are_loaded()
    initialize(Request(data, engine, None if names is None else parts_of(names), role or [], output, force))
