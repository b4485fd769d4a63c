"""The commands of `pymoo-anon`.

Help, the version and wrong options answer before anything else is loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pymoo_anon import __version__
from pymoo_anon.cli import requests
from pymoo_anon.cli.console import clear_errors, loading
from pymoo_anon.cli.declaring import check_values, is_project, options_named, takes
from pymoo_anon.cli.settings import Settings

app = typer.Typer(no_args_is_help=True, add_completion=False)
hierarchy = typer.Typer(name="hierarchy", no_args_is_help=True, help="Draft, check and show hierarchies.")


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pymoo-anon {__version__}")
        raise typer.Exit


@app.callback()
def commands(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_say_version, is_eager=True)
    ] = False,
) -> None:
    """Anonymize microdata: the whole trade-off between privacy and information loss."""


@app.command()
@takes(requests.InitRequest)
def init(request: requests.InitRequest) -> None:
    """Write a project file with a guess for every column, and drafts of hierarchies."""
    with clear_errors():
        check_values(request)
    with loading():
        from pymoo_anon.cli.initializing import initialize
    initialize(request)


@app.command()
@takes(Settings)
def search(settings: Settings) -> None:
    """Find the front between privacy and loss, and write it to a folder."""
    with clear_errors():
        if settings.file is not None:
            from pymoo_anon.cli.project import read_project

            settings = read_project(settings.file).settings(settings)
        with options_named(settings, settings.project):
            settings.check()
    with loading():
        # Drawing loads now: an error after a search of hours would lose it.
        import pymoo_anon.visualization.fronts  # noqa: F401
        from pymoo_anon.cli.searching import search_and_write
    search_and_write(settings)


@app.command()
@takes(requests.Wish)
def pick(wish: requests.Wish) -> None:
    """Choose one point of a front, and write it to choice.json beside the front."""
    with clear_errors():
        wish.check()
    with loading():
        from pymoo_anon.cli.picking import pick_and_write
    pick_and_write(wish)


@app.command()
@takes(requests.ReleaseRequest)
def release(request: requests.ReleaseRequest) -> None:
    """Write the table of the chosen point, with evidence and codebook."""
    with clear_errors():
        from pymoo_anon.cli.project import read_project

        check_values(request)
        project = read_project(request.file)
    with loading():
        from pymoo_anon.cli import releasing
    releasing.release(project, request)


@app.command()
@takes(requests.VerifyRequest)
def verify(request: requests.VerifyRequest) -> None:
    """Count released tables again. The exit code is 1 if something does not hold."""
    project = None
    with clear_errors():
        request.check()
        if is_project(request.file):
            from pymoo_anon.cli.project import read_project

            project = read_project(Path(request.file))
    with loading():
        from pymoo_anon.cli import releasing
    if project is not None:
        releasing.verify_project(project)
    else:
        releasing.verify_table(request)


@app.command()
@takes(requests.ReportRequest)
def report(request: requests.ReportRequest) -> None:
    """Write one HTML file about the chosen point and its release."""
    with clear_errors():
        from pymoo_anon.cli.project import read_project

        check_values(request)
        project = read_project(request.file)
    with loading():
        from pymoo_anon.cli.reporting import run
    run(project, request)


@hierarchy.command()
@takes(requests.DraftRequest)
def draft(request: requests.DraftRequest) -> None:
    """Draft a hierarchy for each column from its values, in ARX's layout."""
    with clear_errors():
        check_values(request)
        requests.check_path(request.data)
    with loading():
        from pymoo_anon.cli.hierarchies import write_drafts
    write_drafts(request)


@hierarchy.command()
@takes(requests.CheckRequest)
def check(request: requests.CheckRequest) -> None:
    """List errors and doubts in hierarchies, and exit with 1 after an error."""
    with clear_errors():
        requests.check_path(request.path, folder=True)
        if request.data is not None:
            requests.check_path(request.data)
    with loading():
        from pymoo_anon.cli.hierarchies import say_findings
    say_findings(request.path, request.data)


@hierarchy.command()
@takes(requests.ShowRequest)
def show(request: requests.ShowRequest) -> None:
    """Show the levels of a hierarchy: number of groups, their sizes and labels."""
    with clear_errors():
        requests.check_path(request.path)
    with loading():
        from pymoo_anon.cli.hierarchies import show_levels
    show_levels(request.path)


app.add_typer(hierarchy)
