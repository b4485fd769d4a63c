"""The options of `pymoo-anon hierarchy draft`, `check` and `show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pymoo_anon.cli.console import clear_errors, said_warnings
from pymoo_anon.cli.interrupt import modules_are_loaded
from pymoo_anon.cli.names import KINDS
from pymoo_anon.cli.settings import check_path, chosen

hierarchy = typer.Typer(
    name="hierarchy", no_args_is_help=True, help="Draft hierarchies from a table, check them, and show them."
)


@hierarchy.command()
def draft(
    data: Annotated[Path, typer.Argument(metavar="DATA.csv", help="The table.")],
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A column to draft a hierarchy for; repeatable.", show_default="all of them"),
    ] = None,
    output: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the hierarchy of the column NAME goes, as NAME.csv.")
    ] = Path("hierarchies"),
    kind: Annotated[
        str,
        typer.Option(
            metavar="|".join(KINDS),
            help=f"What the values are, and become: {'; '.join(f'{name}: {words}' for name, words in KINDS.items())}.",
        ),
    ] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
) -> None:
    """Draft a hierarchy for each column from its values, in ARX's layout, to be read and edited."""
    with clear_errors():
        chosen("kind", kind, KINDS)
        check_path("data", data)
    with said_warnings():
        from pymoo_anon.cli.drafting import write_drafts

    modules_are_loaded()
    write_drafts(data, column or [], output, kind, force)


@hierarchy.command()
def check(
    path: Annotated[Path, typer.Argument(metavar="FILE|FOLDER", help="A hierarchy, or a folder of them.")],
    data: Annotated[
        Path | None,
        typer.Option(metavar="DATA.csv", help="A table that has to fit: NAME.csv is of its column NAME."),
    ] = None,
) -> None:
    """Say all that is wrong or doubtful in hierarchies; exit code 1 if one cannot be used."""
    with clear_errors():
        check_path("hierarchies", path, folder=True)
        if data is not None:
            check_path("data", data)
    with said_warnings():
        from pymoo_anon.cli.checking import say_findings

    modules_are_loaded()
    say_findings(path, data)


@hierarchy.command()
def show(path: Annotated[Path, typer.Argument(metavar="FILE", help="A hierarchy.")]) -> None:
    """Show the levels of a hierarchy: how many groups each has, how large they are, and what they are called."""
    with clear_errors():
        check_path("hierarchy", path)
    with said_warnings():
        from pymoo_anon.cli.checking import show_levels

    modules_are_loaded()
    show_levels(path)
