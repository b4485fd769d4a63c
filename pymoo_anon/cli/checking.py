"""`pymoo-anon hierarchy check` and `show`: what is wrong with hierarchy files, and what their levels are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np
import typer
from rich import box
from rich.table import Table
from rich.text import Text

from pymoo_anon._messages import examples, plain
from pymoo_anon.cli.console import clear_errors, said_warnings, standard_output
from pymoo_anon.cli.folders import by_column, csv_files
from pymoo_anon.cli.tables import columns_of, read_columns
from pymoo_anon.table.findings import check_hierarchy
from pymoo_anon.table.hierarchy import Hierarchy

# So many labels of a level are shown at its beginning, and one at its end.
_SHOWN = 4


def say_findings(path: Path, data: Path | None) -> None:
    """Say everything that was found in a hierarchy file or in those of a folder."""
    with clear_errors(), standard_output() as console:
        files = csv_files(path, data) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"hierarchies must be a folder with CSV files, got {str(path)!r}, which has none")
        columns = {} if data is None else _columns(files, data)
        frame = None if data is None else read_columns(data, list(columns.values()))
        n_found = dict.fromkeys(("error", "warning", "note"), 0)
        for file in files if data is None else columns:
            found = check_hierarchy(file, None if frame is None else frame[columns[file]].unique().tolist())
            for finding in found:
                n_found[finding.severity] += 1
                console.print(plain(f"{file}: {finding}"))
            if not found:
                console.print(plain(f"{file}: no findings"))
        console.print(", ".join(f"{n:,} {severity}{'s' * (n != 1)}" for severity, n in n_found.items()) + ".")
    if n_found["error"]:
        raise typer.Exit(1)


def show_levels(path: Path) -> None:
    """Show the levels of a hierarchy."""
    with clear_errors(), standard_output() as console:
        hierarchy = Hierarchy.from_csv(path)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
        table.add_column("level", justify="right")
        table.add_column("groups", justify="right")
        table.add_column("values in a group", justify="right")
        table.add_column("labels", no_wrap=True, overflow="ellipsis")
        for level, labels in enumerate(hierarchy.labels):
            sizes = np.bincount(hierarchy.groups[level])
            least, most = int(sizes.min()), int(sizes.max())
            size = f"{least:,}" if least == most else f"{least:,} to {most:,}"
            table.add_row(str(level), f"{len(labels):,}", size, Text(_some(labels)))
        console.print(plain(f"{path}: {hierarchy.n_values:,} values, {hierarchy.length} levels above them."))
        # Not soft: rich keeps tables within the terminal.
        console.print(table, soft_wrap=False)


def _columns(files: Sequence[Path], data: Path) -> dict[Path, str]:
    """The column that each file is of, by the file's name."""
    known = columns_of(data)
    with said_warnings():
        found = by_column(files, data, known)
    unknown = [str(path) for name, path in found.items() if name not in known]
    if unknown:
        raise ValueError(
            f"hierarchies must be of columns of {data}, got files of other names: {examples(unknown)}; the columns are "
            f"{examples(known)}"
        )
    return {path: name for name, path in found.items()}


def _some(labels: Sequence[Hashable]) -> str:
    """The first labels of a level, and the last one."""
    shown = ["(missing)" if label is None else plain(str(label)) for label in labels]
    if len(shown) > _SHOWN + 1:
        shown = [*shown[:_SHOWN], "…", shown[-1]]
    return ", ".join(shown)
