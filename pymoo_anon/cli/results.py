"""What a search of a project found, read from its folder: the front, and the problem that it belongs to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pymoo_anon._files import content_of
from pymoo_anon._messages import examples
from pymoo_anon.cli.declaring import numeral
from pymoo_anon.cli.names import FILES, JOURNAL
from pymoo_anon.cli.options import problem_of
from pymoo_anon.cli.project import Project
from pymoo_anon.cli.sources import checksum
from pymoo_anon.problems.lattice import LatticeProblem


class Results(NamedTuple):
    """What a search found.

    Attributes:
        problem: The problem that was searched, built anew.
        front: The front as `front.csv` holds it: levels, measures with natural signs, suppressed tuples.
        X: (n, n_var) int64 array, the levels; row i belongs to row i of the front.
        record: What `run.json` holds.
    """

    problem: LatticeProblem
    front: pd.DataFrame
    X: NDArray[np.int64]
    record: dict[str, Any]


def read_results(project: Project) -> Results:
    """The front that `search` wrote for a project."""
    table_path, _, record_path = (project.output / name for name in FILES)
    for path in (table_path, record_path):
        if not path.is_file():
            hint = f"search {project.path}" + (" --resume" if (project.output / JOURNAL).exists() else "")
            raise ValueError(f"there is no front of {project.path}: {path} is missing; pymoo-anon {hint} writes it")
    record = _record(record_path)
    _check_unchanged(project, record)
    if checksum(table_path) != record["front"]["sha256"]:
        raise ValueError(f"{table_path} is not the front that {record_path} speaks of; search again")
    options = record["options"]
    problem = problem_of(project.table(), options["objectives"], options["require"], options["suppression"])
    try:
        # As text, so that every number is the one that was written.
        front = pd.read_csv(table_path, dtype=str, keep_default_na=False).apply(_numbers)
        levels = front.iloc[:, : problem.n_var]
        names = list(problem.table.quasi_identifiers)
        if list(levels.columns) != names:
            raise ValueError(f"its first columns must be {examples(names)}, got {examples(list(levels.columns))}")
        X = problem.checked(levels.to_numpy())
    except ValueError as error:
        raise ValueError(f"{table_path} must be a front of {project.path}: {error}") from None
    return Results(problem, front, X, record)


def _numbers(column: pd.Series[str]) -> pd.Series[Any]:
    """The numbers that a column of texts spells, whole ones as such."""
    return pd.Series([numeral(str(column.name), text) for text in column], index=column.index)


def _record(path: Path) -> dict[str, Any]:
    """The record of a run."""
    try:
        record = json.loads(content_of(path))
        options = record["options"]
        whole = isinstance(options["suppression"], str) and isinstance(options["require"], list)
        if not whole or not isinstance(options["objectives"], str | None):
            raise ValueError("an option is missing")
        if not isinstance(record["front"]["sha256"], str) or not isinstance(record["project"]["hierarchies"], dict):
            raise ValueError("no checksums")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} must be what pymoo-anon search wrote with a project file, got {error}") from None
    return dict(record)


def _check_unchanged(project: Project, record: dict[str, Any]) -> None:
    """Refuse a front of another table, or of another search of it."""
    changed = project.changed(record)
    if changed:
        raise ValueError(
            f"the front in {project.output} is of other inputs, changed since: {', '.join(changed)}; search again"
        )
