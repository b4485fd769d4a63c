"""The table that --data names: invented, downloaded, or the user's own files."""

from __future__ import annotations

from pathlib import Path

from pymoo_anon.cli.console import said_warnings
from pymoo_anon.cli.folders import ARX, by_column, check_once, csv_files
from pymoo_anon.cli.names import TABLES
from pymoo_anon.cli.settings import Settings
from pymoo_anon.cli.sources import Inputs, Reading, source_of
from pymoo_anon.cli.tables import columns_of, table_of
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.table.microdata import Microdata


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
    if settings.data == "census":
        return make_census(settings.rows)
    # As in Dewri et al. 2010, salary-class is no quasi-identifier where it is the label.
    labelled = "CM" in [part.strip() for part in (settings.objectives or "").split(",")]
    return fetch_adult(label="salary-class" if labelled else None)
