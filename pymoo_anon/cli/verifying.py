"""A released table counted again: that of a project, or any other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import typer
from rich.console import Console

from pymoo_anon._messages import plain
from pymoo_anon.cli.console import clear_errors, said_warnings, standard_output
from pymoo_anon.cli.engines import open_frame
from pymoo_anon.cli.names import ExitCode
from pymoo_anon.cli.options import constraint, objective
from pymoo_anon.cli.project import Project
from pymoo_anon.cli.releasing import evidence_of, read_back, recoded
from pymoo_anon.cli.requests import VerifyRequest
from pymoo_anon.cli.results import read_choice, read_front
from pymoo_anon.cli.sources import Reading, checksum, source_of
from pymoo_anon.cli.tabular import claims_table
from pymoo_anon.cli.writing import kind_of
from pymoo_anon.publishing.evidence_format import read_evidence
from pymoo_anon.publishing.verify import verify


class _Roles(NamedTuple):
    sensitive: tuple[str, ...]
    label: str | None = None
    person: str | None = None


def verify_project(project: Project) -> None:
    """Count the release of a project again, and hold it against what its evidence promises."""
    with clear_errors(), standard_output() as console:
        path = project.release
        known = evidence_of(path)
        for one in (path, known):
            if not one.is_file():
                raise ValueError(
                    f"there is no release of {project.path}: {one} is missing; pymoo-anon release writes it"
                )
        content = read_evidence(known)
        if checksum(path) != content["checksums"]["output"].get(path.name):
            typer.echo(plain(f"Error: {path} is not the file that was released: its checksum is another one"), err=True)
            raise typer.Exit(ExitCode.DOES_NOT_HOLD)
        with said_warnings():
            front, _ = read_front(project)
            x = content["front"][content["chosen"]["place"]]["x"]
            rows = [row for row, own in enumerate(front.X.tolist()) if own == x]
            if not rows:
                raise ValueError(f"{known} must be of a point of the front in {project.output}, got {x}; search again")
            choice = front.choose(row=rows[0])
            if content["chosen"]["requirements"]:
                # What the choice asked for was promised, too.
                choice = replace(choice, requirements=read_choice(project, front).requirements)
            again = recoded(project, front, choice, content["suppressed"]["how"], kind_of(path))
            claims = again.claims(read_back(project, path))
        console.print(claims_table(claims), soft_wrap=False)
        agree = _agree(claims, [row["promised"] for row in content["claims"]])
        if not agree:
            console.print(plain(f"{known} promises something else than the search of {project.path} found."))
        _end(console, claims, agree)


def verify_table(request: VerifyRequest) -> None:
    """Count any table again, and hold it against bounds."""
    sensitive, require, engine = request.sensitive, request.require, request.engine
    with clear_errors(), standard_output() as console:
        roles = _Roles(tuple(sensitive))
        measures: list[Any] = [constraint(text, roles) for text in require]
        if not measures:
            names = ["k", *(f"l:{name}" for name in sensitive)]
            measures = [objective("require", name, roles) for name in names]
        with said_warnings():
            whole = None if request.original is None else _opened(request.original, engine)
            claims = verify(_opened(request.file, engine), request.quasi_identifiers, measures, original=whole)
        console.print(claims_table(claims), soft_wrap=False)
        _end(console, claims, True)


def _opened(table: str, engine: str) -> Any:
    return open_frame(Reading(source_of(table, Path()), engine), list)


def _agree(claims: pd.DataFrame, promised: list[Any]) -> bool:
    """Whether evidence promises what the search found."""
    found = [value if isinstance(value, str) else float(value) for value in promised]
    return len(found) == len(claims) and all(
        isinstance(one, str) or abs(one - other) <= 1e-9 * max(abs(other), 1.0)
        for one, other in zip(found, claims.promised, strict=True)
    )


def _end(console: Console, claims: pd.DataFrame, same: bool) -> None:
    asked = [holds for holds in claims.holds if holds is not None]
    if asked or not same:
        console.print("All holds." if same and all(asked) else "Not all holds.")
    if not (same and all(asked)):
        console.file.flush()
        raise typer.Exit(ExitCode.DOES_NOT_HOLD)
