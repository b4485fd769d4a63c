"""Folders with hierarchies: which file is of which column, in our naming and in that of ARX."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from pymoo_anon._messages import examples, repeated

#: What stands in the name of a file of ARX between the table's name and the column's: adult_hierarchy_age.csv.
ARX = "_hierarchy_"


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
