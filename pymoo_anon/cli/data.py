"""The table that --data names: invented, downloaded, or the user's own files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pymoo_anon._messages import examples, repeated
from pymoo_anon.cli.console import said_warnings
from pymoo_anon.cli.folders import ARX, by_column, check_once, csv_files
from pymoo_anon.cli.names import TABLES
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
    """The files that a search reads. Where files are named as ARX names them, the table's first row is read.

    Raises:
        ValueError: There is no folder with hierarchies, two files of it are for one quasi-identifier, or it cannot be
            told which table or column a file is of.
    """
    if settings.data in TABLES:
        return Inputs(None, {})
    data, folder = Path(settings.data), settings.hierarchies
    files = [] if folder is None else csv_files(folder, data)
    if not files:
        got = "none" if folder is None else f"{str(folder)!r}, which has no such file"
        raise ValueError(
            f"hierarchies must be a folder with a file NAME.csv for each quasi-identifier of {data}, got {got}"
        )
    if any(ARX in path.stem for path in files):
        with said_warnings():
            return Inputs(data, by_column(files, data, columns_of(data)))
    check_once([path.stem for path in files])
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
    header, rows = _opened(path)
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


def columns_of(path: Path) -> list[str]:
    """The names of the columns of a CSV file; a column without a name has none.

    Args:
        path: The file.

    Raises:
        ValueError: As `read_frame`.
    """
    return [column for column in _opened(path)[0] if column]


def _opened(path: Path) -> tuple[list[str], Iterator[list[str]]]:
    """The header of a CSV file, and the rows below it."""
    name = str(path)
    text = decoded(path.read_bytes(), name)
    rows = rows_of(text, separator_of(text), name)
    header = next(rows, [])
    if not any(header):
        raise ValueError(f"{name} must be a CSV file whose first row names its columns, got an empty row")
    twice = repeated(column for column in header if column)
    if twice:
        raise ValueError(f"{name} must name each of its columns once, got more than once: {examples(twice)}")
    return header, rows


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
