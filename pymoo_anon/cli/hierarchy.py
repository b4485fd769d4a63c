"""The commands `pymoo-anon hierarchy`: draft, check and show."""

from __future__ import annotations

import os
import shlex
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from pymoo_anon._files import tried
from pymoo_anon._messages import counted, examples, plain, repeated
from pymoo_anon.cli.console import new_table, print_rows, working
from pymoo_anon.cli.options import CheckRequest, DraftRequest, ShowRequest
from pymoo_anon.study.interrupt import ExitCode, write_new
from pymoo_anon.study.names import Reading, all_there, file_names, source_of
from pymoo_anon.study.options import command, is_project
from pymoo_anon.study.project import Project, read_project
from pymoo_anon.study.tables import by_column, columns_of, csv_files, open_table
from pymoo_anon.table.draft_levels import Draft
from pymoo_anon.table.drafts import draft_hierarchy
from pymoo_anon.table.frames import at_hand, coded, combinations_of
from pymoo_anon.table.guesses import TELLING
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.hierarchy_edits import check_hierarchy

# So many labels of a level are shown at its beginning, and one at its end.
_LABELS_SHOWN = 4


def run_draft(request: DraftRequest, console: Console) -> None:
    """Draft hierarchies, write their files, and list them."""
    if twice := repeated(request.column):
        raise ValueError(f"--column must name each column once, got more than once: {examples(twice)}")
    reading, names, files, folder = _asked_for(request)
    read = [] if reading.source.path is None else [reading.source.path]
    drafts, why = {}, {}
    # The folder is tried before the work.
    with tried(folder, [], own=True), working("Reading the table") as show:
        frame = at_hand(open_table(reading, names))
        for place, name in enumerate(names):
            show(f"Drafting hierarchies: column {place + 1} of {len(names)}")
            drafts[name], why[name] = _draft(request, frame, name, reading.decimal == ",")
    kept = {name: draft for name, draft in drafts.items() if why.get(name) is None}
    if not kept:
        raise ValueError(f"{request.data} has no column that needs a hierarchy; --column NAME drafts one anyway")
    texts = {files[name]: str(draft.hierarchy.to_csv()) for name, draft in kept.items()}
    hint = _others(folder, {name: files[name] for name in kept})
    paths = write_new(folder, texts, [request.data, *read], request.force, hint)
    groups = {name: " → ".join(f"{n:,}" for n in draft.hierarchy.n_groups) for name, draft in kept.items()}
    rows = ([name, draft.kind, groups[name], draft.reason] for name, draft in kept.items())
    print_rows(console, ["column", "kind", "groups by level", "from what, and how"], rows)
    for name, draft in kept.items():
        if draft.question is not None:
            console.print(plain(f"{name}: {draft.question}"))
    for name, reason in why.items():
        if reason is not None:
            console.print(plain(f"No draft for {name}: {reason}; --column {name} drafts one anyway."))
    console.print(plain("Written: " + ", ".join(map(str, paths))))
    check, more = command("hierarchy", "check", folder, data=request.data), ", and name them there"
    console.print(plain(f"Next: read and edit them, then: {check}{more * is_project(request.data)}"))


def _draft(request: DraftRequest, frame: Any, name: str, decimal_point: bool) -> tuple[Draft, str | None]:
    found = combinations_of(frame, [name])
    if not len(found.weights):
        raise ValueError(f"{request.data} must have at least one row below its header, got none")
    try:
        draft = draft_hierarchy(found.columns[name], found.weights.tolist(), request.kind, name, decimal_point)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None
    return draft, None if request.column else _useless(draft, int(found.weights.sum()))


def _others(folder: Path, files: Mapping[str, str]) -> str:
    lacking = [name for name, file in files.items() if not os.path.lexists(folder / file)]
    if not lacking:
        return ", --force --column NAME replaces one alone" if len(files) > 1 else ""
    return f", {shlex.join(part for name in lacking for part in ('--column', name))} drafts what is not there"


def _asked_for(request: DraftRequest) -> tuple[Reading, list[str], dict[str, str], Path]:
    reading, every, project = _reading_of(request.data)
    if project is not None:
        # A column that the project does not name yet can have a draft, too.
        asked = all_there(request.column, every)
        every, names = list(dict.fromkeys([*every, *asked])), asked or project.with_role("quasi-identifier")
        folder = request.output if "output" in request.given else project.path.parent / request.output
    else:
        names, folder = all_there(request.column, every) or every, request.output
    return reading, names, dict(zip(every, file_names(every), strict=True)), folder


def _reading_of(data: Path) -> tuple[Reading, list[str], Project | None]:
    """Return the reading of a table, its column names, and the project if it is of one."""
    if is_project(data):
        project = read_project(data, decided=False)
        return project.reading, list(project.columns), project
    source = source_of(str(data), Path())
    return Reading(source), columns_of(source), None


def _named_by(project: Project | None, files: Sequence[Path]) -> list[tuple[Path, str]]:
    """Return files with the columns for which a project names them."""
    columns = () if project is None else project.columns.items()
    named = [(own.hierarchy.resolve(), name) for name, own in columns if own.hierarchy is not None]
    return [(file, name) for file in files for path, name in named if path == file.resolve()]


def _useless(draft: Draft, n_rows: int) -> str | None:
    n_values = draft.hierarchy.n_values
    if n_values == 1:
        return "it has one value"
    if n_values == n_rows >= TELLING and draft.kind in ("codes", "categories"):
        return f"its {n_values:,} values are all different, as in an identifier"
    return None


def run_check(request: CheckRequest, console: Console) -> None:
    """Print all findings in a hierarchy file or a folder of them."""
    if is_project(request.path):
        raise ValueError(f"{request.path} must be a hierarchy or a folder of them, got a project file; --data names it")
    files = csv_files(request.path, request.data) if request.path.is_dir() else [request.path]
    if not files:
        raise ValueError(f"hierarchies must be a folder with CSV files, got {str(request.path)!r}, which has none")
    known: list[tuple[Path, list[Any] | None]] = [(file, None) for file in files]
    checked = []
    with working("Reading the table") as show:
        if request.data is not None:
            reading, names, project = _reading_of(request.data)
            named = _named_by(project, files)
            others = [file for file in files if file not in dict(named)]
            found = sorted([*named, *((file, name) for name, file in by_column(others, reading.source, names).items())])
            frame = at_hand(open_table(reading, list(dict.fromkeys(name for _, name in found))))
            known = [(file, coded(combinations_of(frame, [name]).columns[name])[1]) for file, name in found]
        for place, (file, values) in enumerate(known):
            show(f"Checking hierarchies: file {place + 1} of {len(known)}")
            checked.append((file, check_hierarchy(file, values)))
    severities = [finding.severity for _, findings in checked for finding in findings]
    for file, findings in checked:
        for finding in findings:
            console.print(plain(f"{file}: {finding}"))
        if not findings:
            console.print(plain(f"{file}: no findings"))
    told = (counted(severities.count(one), one, f"{one}s") for one in ("error", "warning", "note"))
    console.print(", ".join(told) + ".")
    if "error" in severities:
        raise click.exceptions.Exit(ExitCode.DOES_NOT_HOLD)


def run_show(request: ShowRequest, console: Console) -> None:
    """Print the levels of a hierarchy."""
    hierarchy = Hierarchy.from_csv(request.path)
    numbers = ("level", "groups", "values in a group")
    table = new_table(numbers, right=numbers)
    table.add_column("labels", no_wrap=True, overflow="ellipsis")
    for level, labels in enumerate(hierarchy.labels):
        sizes = np.bincount(hierarchy.groups[level])
        least, most = int(sizes.min()), int(sizes.max())
        size = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        table.add_row(str(level), f"{len(labels):,}", size, _some(labels))
    n_values, n_levels = counted(hierarchy.n_values, "value", "values"), counted(hierarchy.length, "level", "levels")
    console.print(plain(f"{request.path}: {n_values}, {n_levels} above."))
    console.print(table, soft_wrap=False)


def _some(labels: Sequence[Hashable]) -> str:
    shown = ["(missing)" if label is None else plain(str(label)) for label in labels]
    if len(shown) > _LABELS_SHOWN + 1:
        shown = [*shown[:_LABELS_SHOWN], "…", shown[-1]]
    return ", ".join(shown)
