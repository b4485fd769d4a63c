"""The command `report`."""

from __future__ import annotations

# Loading it here, an interrupt ends the command before its work.
import numba  # noqa: F401
from rich.console import Console

import pymoo_anon.publishing.report.page  # noqa: F401
from pymoo_anon._messages import plain
from pymoo_anon.cli.console import working
from pymoo_anon.cli.options import ReportRequest
from pymoo_anon.study.options import options_named
from pymoo_anon.study.study import Study, release_command, report_of


def run_report(asked: ReportRequest, console: Console) -> None:
    """Write the report of the chosen point."""
    study = Study.open(asked.file)
    with options_named(asked):
        study = study.for_audience(asked.audience)
        target = report_of(study, asked.external, asked.output, asked.force)
    with working("Step 1 of 3: reading the front") as show, options_named(asked):
        evidence = study.report(
            target,
            external=asked.external,
            threshold=asked.threshold,
            population=asked.population,
            population_size=asked.population_size,
            show=show,
        )
    if evidence is None:
        hint = f"{release_command(study)} writes them"
        console.print(plain(f"The report has no claims and no evidence: {hint}."))
    console.print(plain(f"Written: {target}, about {study.released if evidence else 'a choice that is not released'}"))
