"""The table of a search, built from the files that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pymoo_anon._messages import examples
from pymoo_anon.cli.engines import open_frame
from pymoo_anon.cli.plain_csv import dialect_of
from pymoo_anon.cli.sources import Inputs, Reading, Source
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata


def open_table(inputs: Inputs) -> Any:
    """The frame that holds a table, with all columns that are named."""
    return _opened(inputs, list(inputs.columns or ()))


def table_of(inputs: Inputs) -> Microdata:
    """The table with its hierarchies."""
    others = [*inputs.sensitive, *(name for name in (inputs.label, inputs.person) if name is not None)]
    frame = _opened(inputs, [*inputs.hierarchies, *others])
    hierarchies = {name: Hierarchy.from_csv(path) for name, path in inputs.hierarchies.items()}
    return Microdata.from_frame(
        frame, hierarchies, inputs.sensitive, inputs.label, inputs.missing, person=inputs.person
    )


def columns_of(path: Path) -> list[str]:
    """The names of the columns of a CSV file; a column without a name has none."""
    return [column for column in dialect_of(path, None).names if column]


def read_columns(path: Path, columns: Sequence[str]) -> Any:
    """Some columns of a CSV file as pandas, all text."""
    inputs = Inputs(Reading(Source("csv", path), "pandas"), {})
    return _opened(inputs, columns)


def _opened(inputs: Inputs, wanted: Sequence[str]) -> Any:
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
