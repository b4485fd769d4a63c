"""The commands `pymoo-anon hierarchy`: draft, check and show."""

from __future__ import annotations

import os
import shlex
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from pymoo_anon._files import tried
from pymoo_anon._messages import counted, examples, plain, repeated
from pymoo_anon.cli.console import check_free, clear_errors, new_table, standard_output, working
from pymoo_anon.cli.declaring import is_project
from pymoo_anon.cli.interrupt import ExitCode, put_in_place
from pymoo_anon.cli.names import Inputs, Reading, Source, file_names
from pymoo_anon.cli.project import read_project
from pymoo_anon.cli.requests import DraftRequest
from pymoo_anon.cli.tables import by_column, columns_of, csv_files, open_table
from pymoo_anon.table.draft_levels import Draft
from pymoo_anon.table.drafts import draft_hierarchy
from pymoo_anon.table.findings import check_hierarchy
from pymoo_anon.table.frames import coded, combinations_of
from pymoo_anon.table.hierarchy import Hierarchy

# Fewer rows do not tell an identifier.
_TELLING = 20

# So many labels of a level are shown at its beginning, and one at its end.
_SHOWN = 4


def write_drafts(request: DraftRequest) -> None:
    """Draft hierarchies, write their files, and list them."""
    with clear_errors(), standard_output() as console:
        if repeated(request.column):
            twice = examples(repeated(request.column))
            raise ValueError(f"--column must name each column once, got more than once: {twice}")
        inputs, names, files, folder = _asked_for(request)
        drafts, why = {}, {}
        with working("Reading the table") as show:
            frame = open_table(inputs, names)
            for place, name in enumerate(names):
                show(f"Drafting hierarchies: column {place + 1} of {len(names)}")
                drafts[name], why[name] = _draft(request, frame, name)
        kept = {name: draft for name, draft in drafts.items() if why.get(name) is None}
        written = [files[name] for name in kept]
        if not written:
            raise ValueError(f"{request.data} has no column that needs a hierarchy; --column NAME drafts one anyway")
        with tried(folder, written, [request.data, *inputs.paths], own=True) as temporary:
            check_free(
                [folder / name for name in written],
                request.force,
                _others(folder, {name: files[name] for name in kept}),
            )
            for name, draft in kept.items():
                draft.hierarchy.to_csv(temporary / files[name])
            paths = put_in_place(temporary, folder, written)
        table = new_table(["column", "kind", "groups by level", "from what, and how"])
        for name, draft in kept.items():
            groups = " → ".join(f"{n:,}" for n in draft.hierarchy.n_groups)
            table.add_row(*map(plain, (name, draft.kind, groups, draft.reason)))
        console.print(table, soft_wrap=False)
        for name, draft in kept.items():
            if draft.question is not None:
                console.print(plain(f"{name}: {draft.question}"))
        for name, reason in why.items():
            if reason is not None:
                console.print(plain(f"No draft for {name}: {reason}; --column {name} drafts one anyway."))
        console.print(plain("Written: " + ", ".join(map(str, paths))))
        more = f", and name them in {request.data}" if is_project(request.data) else f" --data {request.data}"
        console.print(plain(f"Next: read and edit them, then: pymoo-anon hierarchy check {folder}{more}"))


def _draft(request: DraftRequest, frame: Any, name: str) -> tuple[Draft, str | None]:
    """Draft a hierarchy, and say why it is of no use."""
    found = combinations_of(frame, [name])
    if not len(found.weights):
        raise ValueError(f"{request.data} must have at least one row below its header, got none")
    column = found.columns[name].astype(object)
    values = column.where(column.notna(), None).tolist()
    try:
        draft = draft_hierarchy(values, found.weights.tolist(), request.kind, name)
    except ValueError as error:
        raise ValueError(f"column {name!r}: {error}") from None
    return draft, None if request.column else _useless(draft, int(found.weights.sum()))


def _others(folder: Path, files: Mapping[str, str]) -> str:
    """Return a hint to draft the columns with missing files."""
    lacking = [name for name, file in files.items() if not os.path.lexists(folder / file)]
    if not lacking:
        return ", --force --column NAME replaces one alone" if len(files) > 1 else ""
    return f", {shlex.join(part for name in lacking for part in ('--column', name))} drafts what is not there"


def _asked_for(request: DraftRequest) -> tuple[Inputs, list[str], dict[str, str], Path]:
    """Return inputs, columns, the file of every column, and the folder."""
    if is_project(request.data):
        project = read_project(request.data, decided=False)
        inputs, every = project.inputs._replace(hierarchies={}, columns=None), list(project.columns)
        names = request.column or project.with_role("quasi-identifier")
        folder = request.output if "output" in request.given else project.path.parent / request.output
    else:
        inputs, every, folder = _csv_inputs(request.data, {}), columns_of(request.data), request.output
        names = request.column or every
    return inputs, names, dict(zip(every, file_names(every), strict=True)), folder


def _csv_inputs(data: Path, hierarchies: Mapping[str, Path]) -> Inputs:
    return Inputs(Reading(Source("csv", data), "pandas"), hierarchies)


def _useless(draft: Draft, n_rows: int) -> str | None:
    """Say why a hierarchy of a column is of no use, or return None."""
    n_values = draft.hierarchy.n_values
    if n_values == 1:
        return "it has one value"
    if n_values == n_rows >= _TELLING and draft.kind in ("codes", "categories"):
        return f"its {n_values:,} values are all different, as in an identifier"
    return None


def say_findings(path: Path, data: Path | None) -> None:
    """Print all findings in a hierarchy file or a folder of them."""
    with clear_errors(), standard_output() as console:
        files = csv_files(path, data) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"hierarchies must be a folder with CSV files, got {str(path)!r}, which has none")
        known: list[tuple[Path, list[Any] | None]] = [(file, None) for file in files]
        if data is not None:
            with working("Reading the table"):
                found = by_column(files, data, columns_of(data))
                frame = open_table(_csv_inputs(data, found), list(found))
            known = [(file, coded(combinations_of(frame, [name]).columns[name])[1]) for name, file in found.items()]
        n_found = dict.fromkeys(("error", "warning", "note"), 0)
        for file, values in known:
            findings = check_hierarchy(file, values)
            for finding in findings:
                n_found[finding.severity] += 1
                console.print(plain(f"{file}: {finding}"))
            if not findings:
                console.print(plain(f"{file}: no findings"))
        console.print(", ".join(f"{n:,} {severity}{'s' * (n != 1)}" for severity, n in n_found.items()) + ".")
    if n_found["error"]:
        raise typer.Exit(ExitCode.DOES_NOT_HOLD)


def show_levels(path: Path) -> None:
    """Print the levels of a hierarchy."""
    with clear_errors(), standard_output() as console:
        hierarchy = Hierarchy.from_csv(path)
        numbers = ("level", "groups", "values in a group")
        table = new_table(numbers, right=numbers)
        table.add_column("labels", no_wrap=True, overflow="ellipsis")
        for level, labels in enumerate(hierarchy.labels):
            sizes = np.bincount(hierarchy.groups[level])
            least, most = int(sizes.min()), int(sizes.max())
            size = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            table.add_row(str(level), f"{len(labels):,}", size, _some(labels))
        console.print(
            plain(
                f"{path}: {counted(hierarchy.n_values, 'value', 'values')}, "
                f"{counted(hierarchy.length, 'level', 'levels')} above."
            )
        )
        console.print(table, soft_wrap=False)


def _some(labels: Sequence[Hashable]) -> str:
    """Return the first labels of a level and the last one."""
    shown = ["(missing)" if label is None else plain(str(label)) for label in labels]
    if len(shown) > _SHOWN + 1:
        shown = [*shown[:_SHOWN], "…", shown[-1]]
    return ", ".join(shown)
