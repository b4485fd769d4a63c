"""The table of a search: which files hold it and its hierarchies, and the table that is built from them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pymoo_anon._messages import examples, repeated
from pymoo_anon.cli.console import said_warnings
from pymoo_anon.cli.engines import dialect_of, open_frame
from pymoo_anon.cli.names import TABLES, Inputs, Reading, Source, source_of
from pymoo_anon.cli.settings import Settings
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata

#: What stands in the name of a file of ARX between the table's name and the column's: adult_hierarchy_age.csv.
ARX = "_hierarchy_"


def find_inputs(settings: Settings) -> Inputs:
    """What a search reads. Where files are named as ARX names them, the table's first row is read."""
    if settings.project is not None:
        inputs: Inputs = settings.project.inputs
        return inputs
    if settings.data in TABLES:
        return Inputs(None, {})
    source, folder = source_of(settings.data, Path()), settings.hierarchies
    files = [] if folder is None else csv_files(folder, source.path)
    if not files:
        got = "none" if folder is None else f"{str(folder)!r}, which has no such file"
        raise ValueError(
            f"hierarchies must be a folder with a file NAME.csv for each quasi-identifier of {source}, got {got}"
        )
    reading = Reading(source, settings.engine)
    if source.kind == "csv" and source.path is not None and any(ARX in path.stem for path in files):
        with said_warnings():
            hierarchies = by_column(files, source.path, columns_of(source.path))
    else:
        check_once([path.stem for path in files])
        hierarchies = {path.stem: path for path in files}
    return Inputs(reading, hierarchies, settings.sensitive, settings.label, missing=settings.missing)


def read_table(settings: Settings, inputs: Inputs) -> Microdata:
    """The table that a search reads, with its hierarchies."""
    if inputs.reading is not None:
        return table_of(inputs)
    from pymoo_anon.datasets import fetch_adult, make_census

    if settings.data == "census":
        return make_census(settings.rows)
    # As in Dewri et al. 2010, salary-class is no quasi-identifier where it is the label.
    labelled = "CM" in [part.strip() for part in (settings.objectives or "").split(",")]
    return fetch_adult(label="salary-class" if labelled else None)


def table_of(inputs: Inputs) -> Microdata:
    """The table with its hierarchies."""
    others = [*inputs.sensitive, *(name for name in (inputs.label, inputs.person) if name is not None)]
    frame = open_table(inputs, [*inputs.hierarchies, *others])
    hierarchies = {name: Hierarchy.from_csv(path) for name, path in inputs.hierarchies.items()}
    return Microdata.from_frame(
        frame, hierarchies, inputs.sensitive, inputs.label, inputs.missing, person=inputs.person
    )


def columns_of(path: Path) -> list[str]:
    """The names of the columns of a CSV file; a column without a name has none."""
    return [column for column in dialect_of(path, None).names if column]


def csv_inputs(path: Path) -> Inputs:
    """A CSV file that pandas reads, without roles."""
    return Inputs(Reading(Source("csv", path), "pandas"), {})


def open_table(inputs: Inputs, wanted: Sequence[str]) -> Any:
    """Some columns of a table, as a frame of its engine."""
    assert inputs.reading is not None
    name = str(inputs.reading.source)

    def choose(found: list[str]) -> Sequence[str]:
        if inputs.columns is None:
            _check_named(name, found, inputs, wanted)
        else:
            _check_same(name, found, inputs.columns)
        return wanted

    return open_frame(inputs.reading, choose)


def _check_named(name: str, found: list[str], inputs: Inputs, wanted: Sequence[str]) -> None:
    """Refuse roles for what is no column of the table."""
    known = [column for column in found if column]
    unknown = [str(path) for column, path in inputs.hierarchies.items() if column not in known]
    if unknown:
        raise ValueError(
            f"hierarchies must be of columns of {name}, got files of other names: {examples(unknown)}; "
            f"the columns are {examples(known)}"
        )
    unknown = [column for column in wanted if column not in known]
    if unknown:
        raise ValueError(f"{name} must have the columns {examples(unknown)}, got columns {examples(known)}")


def _check_same(name: str, found: list[str], columns: Sequence[str]) -> None:
    """Refuse a table with a column that nobody decided on, or without one that is named."""
    nameless = [place for place, column in enumerate(found, start=1) if not column]
    if nameless:
        raise ValueError(f"{name} must name every column, got no name for column {examples(nameless)}")
    lacking = [column for column in columns if column not in found]
    if lacking:
        raise ValueError(f"{name} must have the columns {examples(lacking)}, got columns {examples(found)}")
    undecided = [column for column in found if column not in columns]
    if undecided:
        raise ValueError(
            f"the project file must say what becomes of the columns {examples(undecided)} of {name}: write a table "
            f'[columns."NAME"] with role = "keep" or role = "drop"'
        )


def csv_files(folder: Path, data: Path | None = None) -> list[Path]:
    """The CSV files of a folder, in order.

    What the system hides is no file of the user's, and the table may stand beside its hierarchies.
    """
    return [
        path
        for path in (sorted(folder.iterdir()) if folder.is_dir() else [])
        if path.suffix.lower() == ".csv"
        and not path.name.startswith(".")
        and not (data is not None and path.samefile(data))
    ]


def by_column(files: Sequence[Path], data: Path, columns: Sequence[str]) -> dict[str, Path]:
    """The files of a table, by the column whose hierarchy they hold.

    `NAME.csv` and `TABLE_hierarchy_NAME.csv`, as ARX calls it, are of the column NAME. Where a folder has ARX's files
    of the table itself, those of other tables do not count; other tables themselves do not either, so that a file of no
    column is passed over with a warning.

    Returns:
        By column its file. A file of no column stands under its own name, so that it can be refused.
    """
    tables: dict[Path, str | None] = {}
    names: dict[Path, str] = {}
    for path in files:
        readings = _readings(path.stem, columns)
        if len(readings) > 1:
            raise ValueError(
                f"hierarchies must be of one column each, got {path.name!r}, which may be of "
                f"{' or '.join(repr(name) for name, _ in readings)}"
            )
        names[path], tables[path] = readings[0] if readings else (path.stem, None)
    known = dict.fromkeys(table for table in tables.values() if table is not None)
    if data.stem in known:
        own = [path for path in files if path.stem.startswith(data.stem + ARX) or path.stem in columns]
        passed = [path.name for path in files if path not in own and tables[path] is None]
        if passed:
            warnings.warn(
                f"no column of {data} has the name of these files, passed over: {examples(passed)}", stacklevel=2
            )
        names = {path: names[path] for path in own}
    elif len(known) > 1:
        raise ValueError(
            f"hierarchies must be of one table, got files of {examples(list(known))}, none of which is {data.stem!r}"
        )
    check_once(list(names.values()))
    return {name: path for path, name in names.items()}


def check_once(names: Sequence[str]) -> None:
    """Refuse two files for one column."""
    twice = repeated(names)
    if twice:
        raise ValueError(f"hierarchies must hold one file for each quasi-identifier, got two for {examples(twice)}")


def _readings(stem: str, columns: Sequence[str]) -> list[tuple[str, str | None]]:
    """The columns that a file may be of: the one of its own name, and those behind ARX's sign, with the table."""
    found: list[tuple[str, str | None]] = [(stem, None)] if stem in columns else []
    place = stem.find(ARX)
    while place >= 0:
        if place > 0 and stem[place + len(ARX) :] in columns:
            found.append((stem[place + len(ARX) :], stem[:place]))
        place = stem.find(ARX, place + 1)
    return found
