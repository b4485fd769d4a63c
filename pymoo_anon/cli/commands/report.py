"""The options of `pymoo-anon report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pymoo_anon.cli.console import clear_errors, said_warnings
from pymoo_anon.cli.interrupt import modules_are_loaded


def report(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The project file that init wrote.")],
    external: Annotated[
        bool,
        typer.Option(
            "--external", help="For people outside: only what the released rows tell, and the codebook of their labels."
        ),
    ] = False,
    threshold: Annotated[
        float,
        typer.Option(metavar="RISK", help="A risk to be found that is shown for comparison; pick --risk requires one."),
    ] = 0.09,
    population: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="A table of the population with the same quasi-identifiers, for the journalist risk: a CSV or Parquet "
            "file, duckdb:FILE:TABLE or spark:TABLE.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="The report.",
            show_default="beside the release: NAME.report.html, with --external NAME.external.html",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a report of the same name.")] = False,
) -> None:
    """Write one HTML file about the chosen point and its release, which needs no network."""
    with clear_errors():
        from pymoo_anon.cli.project import read_project

        project = read_project(file)
    with said_warnings():
        from pymoo_anon.cli.reporting import ReportRequest, run

    modules_are_loaded()
    run(project, ReportRequest(external, threshold, population, output, force))
