"""The table that --data names: invented, downloaded, or the user's own files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pymoo_anon._messages import examples, repeated
from pymoo_anon.cli.names import TABLES
from pymoo_anon.cli.project import Project
from pymoo_anon.cli.settings import Settings
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.table.delimited import decoded, rows_of, separator_of
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata


class Inputs(NamedTuple):
    """The files that a search reads.

    Attributes:
        data: The user's table, or None.
        hierarchies: By quasi-identifier the file with its hierarchy.
    """

    data: Path | None
    hierarchies: Mapping[str, Path]

    @property
    def paths(self) -> list[Path]:
        """All of the files."""
        return [*([] if self.data is None else [self.data]), *self.hierarchies.values()]

    def checksums(self) -> dict[str, str]:
        """The sha256 of every file, by its path."""
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in self.paths}


def find_inputs(settings: Settings) -> Inputs:
    """The files that a search reads, none of them opened.

    Raises:
        ValueError: There is no folder with hierarchies, or two files of it are for one quasi-identifier.
    """
    if settings.data in TABLES:
        return Inputs(None, {})
    data, folder = Path(settings.data), settings.hierarchies
    listed = [] if folder is None or not folder.is_dir() else sorted(folder.iterdir())
    # What the system hides is no file of the user's, and the table may stand beside its hierarchies.
    files = [
        path
        for path in listed
        if path.suffix.lower() == ".csv" and not path.name.startswith(".") and not path.samefile(data)
    ]
    if not files:
        got = "none" if folder is None else f"{str(folder)!r}, which has no such file"
        raise ValueError(
            f"hierarchies must be a folder with a file NAME.csv for each quasi-identifier of {data}, got {got}"
        )
    twice = repeated(path.stem for path in files)
    if twice:
        raise ValueError(f"hierarchies must hold one file for each quasi-identifier, got two for {examples(twice)}")
    return Inputs(data, {path.stem: path for path in files})


def read_table(settings: Settings, inputs: Inputs) -> Microdata:
    """The table with its hierarchies.

    Raises:
        ValueError: A file is not what it has to be, or table and hierarchies do not fit.
        KeyError: A column has no hierarchy, or is none of the table's.
        OSError: A file cannot be read or downloaded.
    """
    if settings.data == "census":
        return make_census(settings.rows)
    if settings.data == "adult":
        # As in Dewri et al. 2010, salary-class is no quasi-identifier where it is the label.
        labelled = "CM" in [part.strip() for part in (settings.objectives or "").split(",")]
        return fetch_adult(label="salary-class" if labelled else None)
    assert inputs.data is not None
    own = [*settings.sensitive, *([] if settings.label is None else [settings.label])]
    frame = read_frame(inputs.data, inputs.hierarchies, own)
    hierarchies = {name: Hierarchy.from_csv(path) for name, path in inputs.hierarchies.items()}
    return Microdata.from_frame(frame, hierarchies, settings.sensitive, settings.label, settings.missing)


def open_project(project: Project, columns: list[str]) -> pd.DataFrame:
    """Some columns of a project's table, as a frame of its engine.

    Args:
        project: What the project file says.
        columns: Names of the columns.

    Raises:
        ValueError: The file is not what it has to be.
        OSError: It cannot be read.
    """
    assert project.data.path is not None
    return read_frame(project.data.path, {}, columns)


def project_table(project: Project) -> Microdata:
    """A project's table with its hierarchies.

    Raises:
        ValueError: A file is not what it has to be, or table and hierarchies do not fit.
        KeyError: The table lacks a column.
        OSError: A file cannot be read.
    """
    files = project.quasi_identifiers
    frame = open_project(project, [*files, *project.with_role("sensitive", "label", "person")])
    hierarchies = {name: Hierarchy.from_csv(path) for name, path in files.items()}
    return Microdata.from_frame(
        frame, hierarchies, project.sensitive, project.label, project.missing, person=project.person
    )


def read_frame(path: Path, hierarchies: Mapping[str, Path], others: list[str]) -> pd.DataFrame:
    """The columns of a CSV file that have a role. All is text, so that 02139 stays what it is.

    Only an empty field is missing; NA may be a value.

    Args:
        path: The file. Its separator is recognised, its first row names the columns.
        hierarchies: By quasi-identifier the file with its hierarchy.
        others: Names of the columns with another role.

    Raises:
        ValueError: The file is not in UTF-8 or UTF-16, has a quote that is not closed, a name twice, lacks a column,
            or has rows of more or fewer fields than its header.
    """
    name = str(path)
    text = decoded(path.read_bytes(), name)
    rows = rows_of(text, separator_of(text), name)
    header = next(rows, [])
    if not any(header):
        raise ValueError(f"{name} must be a CSV file whose first row names its columns, got an empty row")
    twice = repeated(column for column in header if column)
    if twice:
        raise ValueError(f"{name} must name each of its columns once, got more than once: {examples(twice)}")
    _check_columns(name, header, hierarchies, others)
    places = {column: header.index(column) for column in dict.fromkeys([*hierarchies, *others])}
    columns: dict[str, list[str | None]] = {column: [] for column in places}
    # Equal texts are one object: a table of a million rows has few different values.
    known: dict[str, str | None] = {"": None}
    uneven: dict[int, int] = {}
    for number, row in enumerate(rows, start=2):
        if not row:
            continue
        if len(row) != len(header):
            uneven[number] = len(row)
            continue
        for column, place in places.items():
            columns[column].append(known.setdefault(row[place], row[place]))
    if uneven:
        counts = " or ".join(map(str, sorted(set(uneven.values()))[:5]))
        raise ValueError(
            f"{name} must have {len(header)} fields in every row, as in its header, which is row 1; got {counts} "
            f"fields in {len(uneven)} of its rows: rows {examples(list(uneven))}"
        )
    return pd.DataFrame({column: pd.Series(values, dtype=object) for column, values in columns.items()})


def _check_columns(name: str, header: list[str], hierarchies: Mapping[str, Path], others: list[str]) -> None:
    """Refuse roles for what is no column of the file."""
    known = [column for column in header if column]
    unknown = [str(path) for column, path in hierarchies.items() if column not in known]
    if unknown:
        raise ValueError(
            f"hierarchies must be of columns of {name}, got files of other names: {examples(unknown)}; "
            f"the columns are {examples(known)}"
        )
    unknown = [column for column in others if column not in known]
    if unknown:
        raise ValueError(f"{name} must have the columns {examples(unknown)}, got columns {examples(known)}")
