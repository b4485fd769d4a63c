"""The table that --data names: invented, downloaded, or the user's own files."""

from __future__ import annotations

from pathlib import Path

from pymoo_anon._messages import examples, repeated
from pymoo_anon.cli.names import TABLES
from pymoo_anon.cli.settings import Settings
from pymoo_anon.cli.sources import Inputs, Reading, source_of
from pymoo_anon.cli.tables import table_of
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.table.microdata import Microdata


def find_inputs(settings: Settings) -> Inputs:
    """What a search reads, nothing of it opened.

    Raises:
        ValueError: There is no folder with hierarchies, or two files of it are for one quasi-identifier.
    """
    if settings.project is not None:
        return settings.project.inputs
    if settings.data in TABLES:
        return Inputs(None, {})
    source, folder = source_of(settings.data, Path()), settings.hierarchies
    listed = [] if folder is None or not folder.is_dir() else sorted(folder.iterdir())
    # What the system hides is no file of the user's, and the table may stand beside its hierarchies.
    files = [
        path
        for path in listed
        if path.suffix.lower() == ".csv"
        and not path.name.startswith(".")
        and not (source.path is not None and path.samefile(source.path))
    ]
    if not files:
        got = "none" if folder is None else f"{str(folder)!r}, which has no such file"
        raise ValueError(
            f"hierarchies must be a folder with a file NAME.csv for each quasi-identifier of {source}, got {got}"
        )
    twice = repeated(path.stem for path in files)
    if twice:
        raise ValueError(f"hierarchies must hold one file for each quasi-identifier, got two for {examples(twice)}")
    reading, hierarchies = Reading(source, settings.engine), {path.stem: path for path in files}
    return Inputs(reading, hierarchies, settings.sensitive, settings.label, missing=settings.missing)


def read_table(settings: Settings, inputs: Inputs) -> Microdata:
    """The table that a search reads, with its hierarchies.

    Raises:
        ValueError: A file is not what it has to be, or table and hierarchies do not fit.
        KeyError: A column has no hierarchy, or is none of the table's.
        OSError: A file cannot be read or downloaded.
    """
    if inputs.reading is not None:
        return table_of(inputs)
    if settings.data == "census":
        return make_census(settings.rows)
    # As in Dewri et al. 2010, salary-class is no quasi-identifier where it is the label.
    labelled = "CM" in [part.strip() for part in (settings.objectives or "").split(",")]
    return fetch_adult(label="salary-class" if labelled else None)
