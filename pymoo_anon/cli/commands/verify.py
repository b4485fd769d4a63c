"""The options of `pymoo-anon verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pymoo_anon.cli.console import clear_errors, said_warnings
from pymoo_anon.cli.interrupt import modules_are_loaded

_File = Annotated[
    str,
    typer.Argument(
        metavar="FILE.toml|TABLE",
        help="A project file, whose release is counted again, or any table: FILE.csv, FILE.parquet, "
        "duckdb:FILE:TABLE, spark:TABLE.",
    ),
]
_QuasiIdentifiers = Annotated[
    list[str] | None,
    typer.Option("--quasi-identifier", metavar="NAME", help="TABLE: a quasi-identifier; repeatable."),
]
_Sensitive = Annotated[list[str] | None, typer.Option(metavar="NAME", help="TABLE: a sensitive column; repeatable.")]
_Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME>=N|NAME<=N",
        help='TABLE: what has to hold, such as "k>=5" or "l:diagnosis>=3"; repeatable. Names are '
        "those of search --objectives that need no hierarchy.",
    ),
]
_Original = Annotated[
    str | None,
    typer.Option(
        metavar="TABLE", help="TABLE: what was released, for measures that compare with it.", show_default="none"
    ),
]
_Engine = Annotated[str, typer.Option(metavar="auto|pandas|polars|duckdb|dask|spark", help="TABLE: what reads it.")]


def verify(
    file: _File,
    quasi_identifiers: _QuasiIdentifiers = None,
    sensitive: _Sensitive = None,
    require: _Require = None,
    original: _Original = None,
    engine: _Engine = "auto",
) -> None:
    """Count a released table again by plain dataframe operations; exit code 1 where something does not hold."""
    project = None
    with clear_errors():
        if file.lower().endswith(".toml"):
            from pymoo_anon.cli.project import read_project

            project = read_project(Path(file))
        else:
            _check_named(quasi_identifiers)
    with said_warnings():
        from pymoo_anon.cli.verifying import verify_project, verify_table

    modules_are_loaded()
    if project is not None:
        verify_project(project)
    else:
        verify_table(file, quasi_identifiers or [], sensitive or [], require or [], original, engine)


def _check_named(quasi_identifiers: list[str] | None) -> None:
    """Refuse a table of which nobody says what others may know."""
    if not quasi_identifiers:
        raise ValueError("--quasi-identifier must name at least one column, got none")
