"""A release from the project file to the last line: recoded, written, counted again as it is written, put in place."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import narwhals as nw
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from pymoo_anon._files import put_in_place, tried
from pymoo_anon._messages import plain
from pymoo_anon.cli.console import check_free, clear_errors, said_warnings, standard_output
from pymoo_anon.cli.engines import engine_of, open_frame
from pymoo_anon.cli.names import FILES, ExitCode
from pymoo_anon.cli.project import Project
from pymoo_anon.cli.requests import ReleaseRequest
from pymoo_anon.cli.results import read_choice, read_front
from pymoo_anon.cli.sources import Reading, Source, checksum
from pymoo_anon.cli.tabular import claims_table
from pymoo_anon.cli.writing import as_text, kind_of, write_table
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.publishing.evidence import evidence
from pymoo_anon.publishing.evidence_format import write_evidence
from pymoo_anon.publishing.release import Recoded, RecountError, Release, recode


def evidence_of(release: Path) -> Path:
    """The file with the evidence of a release, beside it."""
    return release.with_name(f"{release.name}.evidence.json")


def run(project: Project, request: ReleaseRequest) -> None:
    """Write a release and its evidence, both or neither."""
    with clear_errors(), standard_output() as console:
        target = project.release if request.output is None else request.output
        kind_of(target)
        names = [target.name, evidence_of(target).name]
        check_free([target, evidence_of(target)], request.force)
        with said_warnings():
            front, record = read_front(project)
            choice = _choice(project, front, request.row)
        read = [project.path, *project.inputs.paths, *(project.output / name for name in FILES)]
        try:
            with tried(target.parent, names, read) as temporary:
                written = temporary / target.name
                with said_warnings(), busy() as say:
                    made = _written(project, front, choice, request.suppressed or project.suppressed, written, say)
                sums = _checksums(project, record, target.name, checksum(written))
                search = _search(record, _commands(request, choice))
                now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
                content = evidence(
                    front.problem,
                    front,
                    choice,
                    made,
                    checksums=sums,
                    search=search,
                    made=now,
                )
                write_evidence(temporary / names[1], content)
                paths = put_in_place(temporary, target.parent, names)
        except RecountError as error:
            typer.echo(f"Error: {plain(str(error))}", err=True)
            raise typer.Exit(ExitCode.DOES_NOT_HOLD) from None
        _say(console, made, front.table.n_rows)
        console.print(plain("Written: " + ", ".join(map(str, paths))))


@contextmanager
def busy() -> Iterator[Callable[[str], None]]:
    """A line that says what is being done and for how long, on a terminal; what it gives takes the words."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as line:
        task = line.add_task("Reading", total=None)
        yield lambda words: line.update(task, description=words)


def read_back(project: Project, path: Path) -> Any:
    """A release that was written, read by the engine of its project."""
    assert project.inputs.reading is not None
    return open_frame(Reading(Source(kind_of(path), path), engine_of(project.inputs.reading)), list)


def prepared(project: Project, kind: str) -> Any:
    """The table of a project as it is recoded: where the release is a CSV file, what is not recoded is text."""
    frame = project.open()
    if kind == "csv" and project.data.kind != "csv":
        known = nw.from_native(frame).collect_schema().names()
        frame = as_text(frame, [name for name in known if name not in project.quasi_identifiers])
    return frame


def recoded(project: Project, front: Front, choice: Choice, suppressed: str, kind: str) -> Recoded:
    """The table of a project, recoded by a point of its front."""
    return recode(
        prepared(project, kind),
        front.problem,
        choice,
        drop=project.with_role("drop", "identifier"),
        keep=project.with_role("keep"),
        suppressed=suppressed,
    )


def _written(
    project: Project, front: Front, choice: Choice, suppressed: str, path: Path, say: Callable[[str], None]
) -> Release:
    """The release as it is counted in the file that it was written to."""
    say("Recoding and writing")
    made = recoded(project, front, choice, suppressed, kind_of(path))
    write_table(made.frame, path)
    say("Counting again")
    return made.counted_again(read_back(project, path))


def _choice(project: Project, front: Front, row: int | None) -> Choice:
    if row is not None and row > len(front):
        raise ValueError(f"row must be from 1 to {len(front)}, a row of the front, got {row}")
    return read_choice(project, front) if row is None else front.choose(row=row - 1)


def _checksums(
    project: Project, record: Mapping[str, Any], name: str, output: str
) -> Mapping[str, Mapping[str, str | None]]:
    """The checksums that the search recorded, and that of the release; names are those of files, without folders."""
    known = record["project"]
    return {
        "input": {Path(str(project.data)).name: known["data"]},
        "hierarchies": dict(known["hierarchies"]),
        "output": {name: output},
    }


def _search(record: Mapping[str, Any], commands: list[str]) -> dict[str, Any]:
    return {
        "algorithm": record["algorithm"]["name"],
        "seed": record["options"]["seed"],
        "certified": record["certified"],
        "n_undecided": record["n_undecided"],
        "stopped": record["stopped"],
        "commands": commands,
    }


def _commands(request: ReleaseRequest, choice: Choice) -> list[str]:
    """What is typed to make the same release again."""
    again = ["pymoo-anon", "release", str(request.file), "--row", str(choice.row + 1)]
    again += [] if request.suppressed is None else ["--suppressed", request.suppressed]
    again += [] if request.output is None else ["--output", str(request.output)]
    return [shlex.join(["pymoo-anon", "search", str(request.file)]), shlex.join(again)]


def _say(console: Console, made: Release, n_rows: int) -> None:
    console.print(claims_table(made.claims), soft_wrap=False)
    done = {"mark": "marked with *", "drop": "left out"}[made.suppressed]
    console.print(f"Counted again in the written file: all holds. {made.n_suppressed:,} of {n_rows:,} rows are {done}.")
