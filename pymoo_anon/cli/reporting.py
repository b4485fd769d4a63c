"""The command `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pymoo_anon._files import tried
from pymoo_anon._messages import listed, plain
from pymoo_anon.cli.console import check_free, clear_errors, standard_output, working
from pymoo_anon.cli.interrupt import put_in_place
from pymoo_anon.cli.names import FILES, Reading, checksum, source_of
from pymoo_anon.cli.project import Project
from pymoo_anon.cli.releasing import EVIDENCE, beside, counted_as_told, released_last
from pymoo_anon.cli.requests import ReportRequest
from pymoo_anon.cli.results import read_choice, read_front
from pymoo_anon.cli.tables import table_of
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.publishing.evidence import read_evidence
from pymoo_anon.publishing.report.page import write_report
from pymoo_anon.table.microdata import Microdata

_ENDINGS = (".html", ".htm")


def run(project: Project, request: ReportRequest) -> None:
    """Write the report of the chosen point."""
    with clear_errors(), standard_output() as console:
        released = released_last(project)
        target = _target(released, request)
        with working("Step 1 of 3: reading the front") as show:
            front, _ = read_front(project)
            choice = read_choice(project, front)
            population = None if request.population is None else _population(front, project, request.population)
            show("Step 2 of 3: recoding and counting again")
            evidence = _evidence(project, front, released, choice)
        read = [released, beside(released, EVIDENCE), *project.files]
        read += [project.output / name for name in FILES]
        about = {**project.report, "data": Path(str(project.data)).name, "release": released.name}
        if request.population_size is not None:
            # The option wins over the file.
            about["population_size"] = request.population_size
        with tried(target.parent, [target.name], read) as temporary, working("Step 3 of 3: writing the report"):
            write_report(
                temporary / target.name,
                front,
                choice,
                evidence=evidence,
                suppressed=project.suppressed,
                threshold=request.threshold,
                population=population,
                external=request.external,
                **about,
            )
            paths = put_in_place(temporary, target.parent, [target.name])
        if evidence is None:
            console.print(
                plain(f"The report has no claims and no evidence: pymoo-anon release {project.path} writes them.")
            )
        console.print(plain(f"Written: {paths[0]}, about {released if evidence else 'a choice that is not released'}"))


def _target(released: Path, request: ReportRequest) -> Path:
    target = request.output
    if target is None:
        target = released.with_suffix(".external.html" if request.external else ".report.html")
    if target.suffix.lower() not in _ENDINGS:
        raise ValueError(f"--output must be a file that ends in .html, got {str(target)!r}")
    check_free([target], request.force)
    return target


def _evidence(project: Project, front: Front, released: Path, choice: Choice) -> dict[str, Any] | None:
    """Load the evidence that belongs to this point and file, if there is one."""
    path = beside(released, EVIDENCE)
    if not path.is_file():
        return None
    content = read_evidence(path)
    point = content["front"][content["chosen"]["place"]]
    if point["x"] != list(choice.x):
        raise ValueError(
            f"{path} is about another point than the chosen; pymoo-anon release {project.path} --force releases that"
        )
    if not released.is_file():
        raise ValueError(
            f"{released} is missing, and {path} is there; pymoo-anon release {project.path} --force writes both"
        )
    if checksum(released) != content["checksums"]["output"].get(released.name):
        raise ValueError(f"{released} has changed since its release: the checksum in {path} differs")
    if broken := counted_as_told(project, front, released, content):
        raise ValueError(
            f"{released} does not hold: {listed(broken)}; pymoo-anon release {project.path} --force writes it again"
        )
    return content


def _population(front: Front, project: Project, named: str) -> Microdata:
    """Read a table of the population, with the domains of the table."""
    source = source_of(named, Path())
    # Options for reading the project's CSV file do not fit other kinds.
    own = project.reading._replace(source=source)
    reading = own if source.kind == "csv" else Reading(source, empty=own.empty)
    table = table_of(project.inputs._replace(reading=reading, sensitive=(), label=None, person=None, columns=None))
    return table.recoded(dict(front.table.quasi_identifiers))
