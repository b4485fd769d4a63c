"""The commands `release` and `verify`."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pymoo_anon._files import content_of, replaced, tried
from pymoo_anon._messages import counted, listed, number, plain
from pymoo_anon.cli import engines
from pymoo_anon.cli.console import check_free, clear_errors, new_table, standard_output, tell, working
from pymoo_anon.cli.declaring import dashed, options_named, options_of
from pymoo_anon.cli.interrupt import ExitCode, put_in_place
from pymoo_anon.cli.names import FILES, RELEASES, Reading, Source, checksum, source_of
from pymoo_anon.cli.project import Project
from pymoo_anon.cli.requests import ReleaseRequest, VerifyRequest
from pymoo_anon.cli.results import as_written, read_choice, read_front, text_of
from pymoo_anon.cli.tables import Roles, constraint, objective, open_table
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.problems.arguments import RefinementError, measure_names
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.publishing.codebook import codebook
from pymoo_anon.publishing.evidence import as_json, evidence, read_evidence, write_evidence
from pymoo_anon.publishing.less_lost import less_lost
from pymoo_anon.publishing.release import Asked, Recoded, RecountError, Release, recode, said_of, uniqueness_of
from pymoo_anon.publishing.verify import object_frame, verify
from pymoo_anon.table.frames import as_text

#: Endings of the files beside a release.
EVIDENCE, CODEBOOK = "evidence.json", "codebook.csv"


def beside(release: Path, what: str) -> Path:
    """Return the path of a file beside a release."""
    return release.with_name(f"{release.name}.{what}")


def release(project: Project, request: ReleaseRequest) -> None:
    """Write a release, its evidence and its codebook."""
    with clear_errors(), standard_output() as console:
        target = project.release if request.output is None else request.output
        # A wrong ending is refused before any work.
        engines.kind_of(target)
        paths = [target, *(beside(target, what) for what in (CODEBOOK, EVIDENCE))]
        check_free(paths, request.force)
        with working("Step 1 of 4: reading the front"):
            front, record = read_front(project)
            choice = _choice(project, front, request)
        read = [*project.files, *(project.output / name for name in FILES)]
        try:
            files = tried(target.parent, [path.name for path in paths], read)
            with files as temporary, working("Step 2 of 4: recoding and writing") as show:
                new = temporary / target.name
                made = _written(project, request, front, choice, new, show)
                show("Step 4 of 4: writing evidence and codebook")
                sha256 = checksum(new)
                done = _entry(project, choice, made, target, sha256)
                # Two releases that differ in any of these tell more together than one of them.
                telling = ("x", "suppressed", "recoding", "columns")
                earlier = [one for one in _releases(project) if any(one[key] != done[key] for key in telling)]
                content = evidence(
                    front.problem,
                    front,
                    choice,
                    made,
                    checksums=_checksums(project, record, {target.name: sha256}),
                    search=_search(record, front, choice, request),
                    earlier=[{key: one[key] for key in _TOLD} for one in earlier],
                    made=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                )
                write_evidence(beside(new, EVIDENCE), content)
                how: Any = {"suppressed": made.suppressed, "recoding": made.recoding, "keep": project.kept}
                engines.write_table(codebook(front.problem, choice, **how), beside(new, CODEBOOK))
                put_in_place(temporary, target.parent, [path.name for path in paths])
        except RecountError as error:
            _end(str(error))
        _remember(project, done)
        _say(console, made, front, target)
        if not request.local and (less := less_lost(front, choice, made.suppressed)):
            tell(console, less)
        for one in earlier:
            typer.echo(f"Warning: {plain(_warning(one, one['file'] == done['file']))}", err=True)


def read_back(project: Project, path: Path) -> Any:
    """Read a written release by the engine of its project."""
    return engines.open_frame(Reading(Source(engines.kind_of(path), path), engines.engine_of(project.reading)), list)


def _recoded(project: Project, front: Front, choice: Choice, kind: str, **asked: Any) -> Recoded:
    """Recode the table of a project.

    For a CSV file the columns that are not recoded become text.
    """
    frame = open_table(project.inputs, list(project.columns))
    if kind == "csv" and project.data.kind != "csv":
        table = nw.from_native(frame)
        others = [name for name in table.collect_schema().names() if name not in project.quasi_identifiers]
        frame = table.with_columns([as_text(name).alias(name) for name in others]).to_native()
    roles = Asked(project.with_role("drop", "identifier"), project.kept, **asked)
    return recode(frame, front.problem, choice, roles)


def _written(
    project: Project, request: ReleaseRequest, front: Front, choice: Choice, path: Path, show: Callable[[str], None]
) -> Release:
    """Write the release, and count it again in its file."""
    about = {
        "suppressed": request.suppressed or project.suppressed,
        "recoding": "local" if request.local else None,
        "anyway": request.anyway,
    }
    try:
        made = _recoded(project, front, choice, engines.kind_of(path), **about)
    except RefinementError as error:
        raise ValueError(f"--local {error.change}. Nothing was written.") from None
    engines.write_table(made.frame, path)
    show("Step 3 of 4: counting again")
    return made.counted_again(read_back(project, path))


def _choice(project: Project, front: Front, request: ReleaseRequest) -> Choice:
    """Return the point that is released."""
    row = request.row
    if request.lower_bound is not None and isinstance(front.problem, LatticeProblem):
        raise ValueError(f"--lower-bound needs a local search; the front of {project.path} has levels of whole columns")
    if request.local and not isinstance(front.problem, LatticeProblem):
        raise ValueError(f"--local cannot refine the front of {project.path}, which is local already")
    if row is not None and row > len(front):
        raise ValueError(f"--row must be from 1 to {len(front)}, a row of the front, got {row}")
    return read_choice(project, front) if row is None else front.choose(row=row - 1)


def _checksums(project: Project, record: Mapping[str, Any], output: Mapping[str, str]) -> dict[str, Any]:
    """Return the checksums of inputs, hierarchies and output by file name."""
    known = record["project"]
    data = {Path(str(project.data)).name: known["data"]}
    trees = known["hierarchies"] | {name: checksum(file) for name, file in project.kept_hierarchies.items()}
    return {"input": data, "hierarchies": trees, "output": output}


def _search(record: Mapping[str, Any], front: Front, choice: Choice, request: ReleaseRequest) -> dict[str, Any]:
    """Return the facts about the search for the evidence."""
    bound = None
    if request.lower_bound is not None:
        bound = front.problem.lower_bound(np.array(choice.x), ("n_iter", request.lower_bound))
    return {
        "algorithm": record["algorithm"]["name"],
        "seed": record["options"]["seed"],
        **{key: record[key] for key in ("certified", "n_undecided", "stopped")},
        "commands": _commands(choice, request),
        "bound": bound,
    }


def _commands(choice: Choice, request: ReleaseRequest) -> list[str]:
    """Return the commands that make the same release again."""
    file = str(request.file)
    commands, row = [["pymoo-anon", "search", file]], ["--row", str(choice.row + 1)]
    again = ["pymoo-anon", "release", file]
    if choice.requirements:
        # Requirements are promised, too.
        asked = [part for one in choice.requirements for part in ("--require", text_of(one))]
        commands.append(["pymoo-anon", "pick", file, *row, *asked])
    else:
        again += row
    for name in options_of(request):
        value = getattr(request, name)
        if name not in ("file", "row", "force") and value:
            again += [f"--{dashed(name)}", *([] if value is True else [str(value)])]
    return [shlex.join(command) for command in (*commands, again)]


def _say(console: Console, made: Release, front: Front, target: Path) -> None:
    names = list(measure_names(front.problem.measured).values())
    counts = zip(names, made.claims.recounted.tolist()[: len(names)], strict=True)
    found = listed(f"{name} = {number(value)}" for name, value in counts if value is not None)
    tell(console, f"Counted again: {found}. {made.verdict}")
    done = {"mark": "marked", "drop": "left out"}[made.suppressed]
    rows = counted(made.n_suppressed, "row", "rows")
    tell(console, f"Written: {target} ({rows} {done}), .{EVIDENCE}, .{CODEBOOK}")


def _end(message: str) -> None:
    typer.echo(f"Error: {plain(message)}", err=True)
    raise typer.Exit(ExitCode.DOES_NOT_HOLD) from None


# --- earlier releases ------------------------------------------------------------------------------------------------


# Keys of an earlier release in the evidence.
_TOLD = ("file", "sha256", "x", "suppressed")


def _releases(project: Project) -> list[dict[str, Any]]:
    """Return the recorded releases of a project, the last one last."""
    path = project.output / RELEASES
    if not path.is_file():
        return []
    with as_written(path, "release wrote", "; remove it"):
        known = json.loads(content_of(path))
        others = ("recoding", "requirements")
        return [{key: one[key] for key in (*_TOLD, "columns")} | {key: one.get(key) for key in others} for one in known]


def _entry(project: Project, choice: Choice, made: Release, target: Path, sha256: str) -> dict[str, Any]:
    """Return the record of a release."""
    try:
        file = os.path.relpath(target, project.path.parent)
    except ValueError:
        # Another drive has no path from here.
        file = str(target.resolve())
    columns = made.columns.column.map(str).tolist()
    x = [int(one) for one in choice.x]
    told = dict(zip(_TOLD, (Path(file).as_posix(), sha256, x, made.suppressed), strict=True))
    asked = [text_of(one) for one in choice.requirements]
    return {**told, "recoding": made.recoding, "columns": columns, "requirements": asked}


def _warning(one: Mapping[str, Any], same_file: bool) -> str:
    is_another = "was another release of this table until now" if same_file else "is another release of this table"
    return (
        f"{one['file']} {is_another}. Whoever has both can compare them, and find people that neither of them reveals "
        "alone: publish only one"
    )


def _remember(project: Project, done: Mapping[str, Any]) -> None:
    known = [*(one for one in _releases(project) if one != done), done]
    with replaced(project.output / RELEASES) as path:
        path.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")


def _asked_of(project: Project, front: Front, path: Path) -> tuple[Constraint, ...]:
    """Return the requirements of a release, as they were recorded."""
    own = [one["requirements"] for one in _releases(project) if project.path.parent / one["file"] == path]
    if not own or own[-1] is None:
        return read_choice(project, front).requirements
    return tuple(constraint(text, front.table, front.problem.measured) for text in own[-1])


def released_last(project: Project) -> Path:
    """Return the file that was released last, or the one that the project names."""
    paths = [project.path.parent / one["file"] for one in reversed(_releases(project))]
    return next((path for path in paths if path.is_file()), project.release)


# --- verify ---------------------------------------------------------------------------------------------------------


def verify_project(project: Project) -> None:
    """Count all releases of a project again, and print a line for each."""
    with clear_errors(), standard_output() as console:
        files = dict.fromkeys(one["file"] for one in _releases(project))
        paths = [project.path.parent / file for file in files] or [project.release]
        if not any(path.is_file() for path in paths):
            raise ValueError(
                f"there is no release of {project.path}: {paths[-1]} is missing; pymoo-anon release writes it"
            )
        found = {}
        with working("Reading the front") as show:
            front, _ = read_front(project)
            for path in filter(Path.is_file, paths):
                show(f"Recoding and counting {path} again")
                found[path] = _broken(project, front, path)
        for path in paths:
            if path not in found:
                held = f"is missing: put it back, or delete it in {project.output / RELEASES}"
            else:
                held = f"does not hold: {listed(found[path])}" if found[path] else "holds"
            tell(console, f"{path}: {held}.")
        if any(map(found.get, paths)) or len(found) < len(paths):
            console.file.flush()
            raise typer.Exit(ExitCode.DOES_NOT_HOLD)


def _broken(project: Project, front: Front, path: Path) -> list[str]:
    """Return the broken promises of a release, in words."""
    known = beside(path, EVIDENCE)
    if not known.is_file():
        return [f"{known} is missing"]
    try:
        content = read_evidence(known)
        if checksum(path) != content["checksums"]["output"].get(path.name):
            return ["the file has changed: its checksum differs"]
        return counted_as_told(project, front, path, content)
    except ValueError as error:
        return [str(error)]


def counted_as_told(project: Project, front: Front, path: Path, content: Mapping[str, Any]) -> list[str]:
    """Count a release again, and return its broken promises in words."""
    again = _recoded_again(project, front, content, path)
    written = again.grouped(read_back(project, path))
    try:
        claims, unique = again.claims(written), uniqueness_of(written, again.columns)
    except RecountError as error:
        return list(error.broken)
    names = list(measure_names(front.problem.measured).values())
    names += [plain(words) for words in claims.measure[len(names) :]]
    wrong = [
        f"{name} is {number(one['recounted'])} where {number(one['promised'])} was promised"
        for name, one in zip(names, claims.to_dict("records"), strict=True)
        if one["holds"] is False
    ]
    if not (_agree(claims.assign(measure=names), content) and unique.to_dict("records") == content["uniqueness"]):
        wrong.append(f"{beside(path, EVIDENCE)} differs from the search and the recount")
    return wrong


def _recoded_again(project: Project, front: Front, content: Mapping[str, Any], path: Path) -> Recoded:
    """Recode the table of a project as the evidence of a release says."""
    x = content["front"][content["chosen"]["place"]]["x"]
    rows = [row for row, own in enumerate(front.X.tolist()) if own == x]
    if not rows:
        raise ValueError(f"its point, {x}, is not in the front of {project.output}; search again")
    choice = front.choose(row=rows[0])
    if content["chosen"]["requirements"]:
        # Requirements of the choice were promised, too.
        choice = replace(choice, requirements=_asked_of(project, front, path))
    own = content["chosen"]["local"]
    recoding = "local" if own is not None and own["refined"] else None
    about = {"suppressed": content["suppressed"]["how"], "recoding": recoding, "anyway": content["anyway"]}
    return _recoded(project, front, choice, engines.kind_of(path), **about)


def verify_table(request: VerifyRequest) -> None:
    """Count any table again, and compare it with bounds."""
    with clear_errors(), standard_output() as console:
        roles = Roles(request.sensitive)
        with options_named(request):
            measures: list[Any] = [constraint(text, roles) for text in request.require]
        if not measures:
            names = ["k", *(f"l:{name}" for name in request.sensitive)]
            measures = [objective("require", name, roles) for name in names]
        with working("Reading and counting"):
            whole = None if request.original is None else _opened(request.original, request.engine)
            frame = _opened(request.file, request.engine)
            claims = verify(frame, request.quasi_identifiers, measures, sensitive=request.sensitive, original=whole)
            known = nw.from_native(frame).collect_schema().names()
            known_roles = dict.fromkeys(known, "keep") | dict.fromkeys(request.sensitive, "sensitive")
            known_roles |= dict.fromkeys(request.quasi_identifiers, "quasi-identifier")
            columns = object_frame(("column", "role", "reason"), [(name, known_roles[name], None) for name in known])
            said = said_of(columns, uniqueness_of(frame, columns))
        tell(console, f"Counted again: {request.file}")
        console.print(_table(claims), soft_wrap=False)
        _finish(console, claims, said)


def _opened(table: str, engine: str) -> Any:
    return engines.open_frame(Reading(source_of(table, Path()), engine), list)


def _agree(claims: pd.DataFrame, content: Mapping[str, Any]) -> bool:
    told = content["claims"]
    return len(told) == len(claims) and all(
        _same(one[key], as_json(other[key]))
        for one, other in zip(told, claims.to_dict("records"), strict=True)
        for key in ("measure", "promised", "recounted", "holds")
    )


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal up to rounding."""
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return bool(one == other)
    return bool(abs(one - other) <= 1e-9 * max(abs(other), 1.0))


def _finish(console: Console, claims: pd.DataFrame, said: str) -> None:
    """Print the verdict, and end with an exit code."""
    asked = [holds for holds in claims.holds if holds is not None]
    tell(console, said)
    if not all(asked):
        console.print("Something does not hold.")
        console.file.flush()
        raise typer.Exit(ExitCode.DOES_NOT_HOLD)
    if asked:
        console.print("What was promised holds.")


# --- tables as a person reads them ----------------------------------------------------------------------------------

_HOLDS = {"True": ("yes", ""), "False": ("NO", "bold red"), "None": ("not asked", "dim")}


def _table(frame: pd.DataFrame) -> Table:
    table = new_table(map(str, frame), right=("promised", "recounted", "required", "holds"))
    for row in frame.to_dict("records"):
        table.add_row(*(_cell(str(name), value) for name, value in row.items()))
    return table


def _cell(name: str, value: Any) -> str | Text:
    if name == "holds":
        words, style = _HOLDS[str(value)]
        return Text(words, style=style)
    if value is None:
        return ""
    return number(value) if isinstance(value, int | float) else plain(str(value))
