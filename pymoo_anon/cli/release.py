"""The command `release`."""

from __future__ import annotations

import click
from rich.console import Console

from pymoo_anon._messages import counted, listed, number, plain
from pymoo_anon.cli.console import tell, working
from pymoo_anon.cli.options import ReleaseRequest
from pymoo_anon.problems.arguments import measure_names
from pymoo_anon.problems.less_lost import less_lost
from pymoo_anon.publishing.codebook import about_single_rows
from pymoo_anon.publishing.release import RecountError
from pymoo_anon.study.interrupt import ExitCode
from pymoo_anon.study.options import options_named
from pymoo_anon.study.stored import CODEBOOK, EVIDENCE
from pymoo_anon.study.study import Study, target_of


def run_release(asked: ReleaseRequest, console: Console) -> None:
    """Write a release, its evidence and its codebook."""
    study = Study.open(asked.file)
    with options_named(asked):
        study = study.for_audience(asked.audience)
    # A wrong place is refused before any work.
    target, _ = target_of(study, asked.output, asked.table, asked.force)
    # The point of an audience is searched, for as long as the search itself lasts.
    first = "reading the front" if asked.audience is None else f"searching for audience {asked.audience!r}"
    with working(f"Step 1 of 4: {first}"), options_named(asked):
        front = study.front
    try:
        with working("Step 2 of 4: recoding and writing") as show, options_named(asked):
            made = study.release(
                asked.output,
                table=asked.table,
                row=asked.row,
                suppressed=asked.suppressed,
                local=asked.local,
                lower_bound=asked.lower_bound,
                anyway=asked.anyway,
                show=show,
            )
    except RecountError as error:
        click.echo(f"Error: {plain(str(error))}", err=True)
        raise click.exceptions.Exit(ExitCode.DOES_NOT_HOLD) from None
    names = list(measure_names(study.problem.measured).values())
    counts = zip(names, made.claims.recounted.tolist()[: len(names)], strict=True)
    found = listed(f"{name} = {number(value)}" for name, value in counts if value is not None)
    tell(console, f"Counted again: {found}. {made.verdict}")
    done = {"mark": "marked", "drop": "left out"}[made.suppressed]
    tell(console, f"Written: {target} ({counted(made.n_suppressed, 'row', 'rows')} {done}), .{EVIDENCE}, .{CODEBOOK}")
    if single := about_single_rows(study.table):
        tell(console, single)
    # Nobody picks the point of an audience.
    is_picked = not asked.local and asked.audience is None
    if is_picked and (less := less_lost(front, study.point(asked.row), made.suppressed)):
        tell(console, less)
