"""Files in the folder of a search: front, picture, record and choice."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon._files import content_of, tried
from pymoo_anon._messages import examples
from pymoo_anon.cli.declaring import numeral
from pymoo_anon.cli.interrupt import put_in_place
from pymoo_anon.cli.names import CHOICE, FILES, JOURNAL, STORED, checksum
from pymoo_anon.cli.project import Project
from pymoo_anon.cli.stored import Stored, read_search, write_search
from pymoo_anon.cli.tables import constraint, problem_of, table_of
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.spelling import short_name
from pymoo_anon.problems.arguments import free_name
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.publishing.evidence import as_json


def write_front(front: Front, record: Mapping[str, Any], folder: Path) -> None:
    """Write the files of a front: table, picture, stored search, and record."""
    # Reading a front needs no pictures.
    from pymoo_anon.visualization.fronts import plot_front

    table, picture, run = (folder / name for name in FILES)
    frame = front.to_frame()
    if not isinstance(front.problem, LatticeProblem):
        # Groups and labels of columns do not tell the target.
        frame[free_name("made for", frame.columns)] = front.problem.words(front.X)
    frame.to_csv(table, index=False, lineterminator="\n")
    plot_front(front.problem, front, picture)
    own: dict[str, Any] = {"sha256": hashlib.sha256(table.read_bytes()).hexdigest()}
    # A table without a checksum may change unseen.
    if record.get("project", {}).get("data") is not None and write_search(front, folder / STORED):
        own[STORED] = checksum(folder / STORED)
    if not isinstance(front.problem, LatticeProblem):
        # The table of the front does not hold the points.
        own["x"] = front.X.tolist()
    whole = {**record, "front": own}
    text = json.dumps(whole, indent=2, default=str, ensure_ascii=False)
    # File names need not be UTF-8: other bytes are escaped.
    run.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def read_front(project: Project) -> tuple[Front, dict[str, Any]]:
    """Read the front of a project and its record, and build its problem anew."""
    table_path, _, record_path = (project.output / name for name in FILES)
    for path in (table_path, record_path):
        if not path.is_file():
            hint = f"search {project.path}" + (" --resume" if (project.output / JOURNAL).exists() else "")
            raise ValueError(f"there is no front of {project.path}: {path} is missing; pymoo-anon {hint} writes it")
    record = _record(record_path)
    if changed := project.changed(record):
        raise ValueError(
            f"the front in {project.output} is out of date, changed since: {', '.join(changed)}; search again"
        )
    if checksum(table_path) != record["front"]["sha256"]:
        raise ValueError(
            f"{table_path} has changed since the search: its checksum in {record_path} differs; search again"
        )
    options, stored = record["options"], _stored(project, record)
    problem = problem_of(table_of(project.inputs) if stored is None else stored.table, options)
    try:
        # As text, so that every number is the one that was written.
        written = pd.read_csv(table_path, dtype=str, keep_default_na=False)
        names = list(problem.table.quasi_identifiers)
        lacking = [name for name in names if name not in written]
        if lacking:
            raise ValueError(f"it must have a column for each quasi-identifier, got none for {examples(lacking)}")
        if options.get("local", False):
            X = np.array(record["front"].get("x", [])).reshape(-1, problem.n_var)
            if len(X) != len(written):
                raise ValueError(f"{record_path} must hold its {len(written)} points, got {len(X)}")
        else:
            X = np.array([[numeral(name, text) for text in written[name]] for name in names])
            X = X.T.reshape(-1, problem.n_var)
        certified = record["certified"]
        front = Front(problem, X, certified=certified) if stored is None else stored.front(problem, X, certified)
    except ValueError as error:
        raise ValueError(f"{table_path} must be a front of {project.path}: {error}") from None
    return front, record


def _stored(project: Project, record: Mapping[str, Any]) -> Stored | None:
    """Read the stored search, or return None if there is none."""
    path, sha256 = project.output / STORED, record["front"].get(STORED)
    if sha256 is None:
        return None
    data = path.read_bytes() if path.is_file() else b""
    if hashlib.sha256(data).hexdigest() != sha256:
        got = "another file" if data else "none"
        raise ValueError(f"{path} must be what the search in {project.output} wrote, got {got}; search again")
    with as_written(path, "search wrote", "; search again"):
        return read_search(data, project.inputs)


@contextmanager
def as_written(path: Path, by: str, hint: str = "") -> Iterator[None]:
    """Turn errors in a file into one sentence."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} must be what pymoo-anon {by}, got {error!r:.80}{hint}") from None


def _record(path: Path) -> dict[str, Any]:
    with as_written(path, "search wrote with a project file"):
        record: dict[str, Any] = json.loads(content_of(path))
        options = record["options"]
        lists = [options["require"], options.get("level", []), options.get("weight", [])]
        whole = isinstance(options["suppression"], str) and all(isinstance(one, list) for one in lists)
        if not whole or "seed" not in options or not isinstance(options["objectives"], str | None):
            raise ValueError("an option is missing")
        if not isinstance(record["front"]["sha256"], str) or not isinstance(record["project"]["hierarchies"], dict):
            raise ValueError("no checksums")
        if not {"certified", "n_undecided", "stopped"} <= {*record} or not {"name"} <= {*record["algorithm"]}:
            raise ValueError("no end of the search")
    return record


def write_choice(project: Project, front: Front, choice: Choice) -> Path:
    """Write a choice beside its front, and return its path."""
    point: dict[str, Any] = {"x": list(choice.x)}
    if isinstance(front.problem, LatticeProblem):
        point = {"levels": dict(zip(map(str, front.table.quasi_identifiers), choice.x, strict=True))}
    content = {
        "row": choice.row + 1,
        **point,
        "values": {name: as_json(value) for name, value in choice.values.items()},
        "suppressed": choice.n_suppressed,
        "reason": choice.reason,
        "requirements": [text_of(one) for one in choice.requirements],
        "front": {"rows": len(front), "sha256": checksum(project.output / FILES[0])},
    }
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)
    with tried(project.output, [CHOICE], project.files) as temporary:
        (temporary / CHOICE).write_text(text + "\n", encoding="utf-8", errors="backslashreplace", newline="\n")
        (path,) = put_in_place(temporary, project.output, [CHOICE])
    return path


def read_choice(project: Project, front: Front) -> Choice:
    """Read the chosen point, its reason and its requirements."""
    path = project.output / CHOICE
    if not path.is_file():
        raise ValueError(f"no point of {project.path} is chosen: {path} is missing; pymoo-anon pick writes it")
    with as_written(path, "pick wrote"):
        content = json.loads(content_of(path))
        row, sha256, asked = content["row"], content["front"]["sha256"], list(map(str, content["requirements"]))
        levels = list(content["levels"].values()) if "levels" in content else list(content["x"])
        reason = str(content["reason"])
    if sha256 != checksum(project.output / FILES[0]):
        raise ValueError(f"{path} was chosen from another front than {project.output / FILES[0]}: pick again")
    if type(row) is not int or not 1 <= row <= len(front) or levels != front.X[row - 1].tolist():
        raise ValueError(f"{path} must hold a row of the front and its levels, got row {row!r:.80} and {levels!r:.80}")
    try:
        choice = front.choose(
            row=row - 1, require=[constraint(text, front.table, front.problem.measured) for text in asked]
        )
    except ValueError as error:
        raise ValueError(f"{path} must hold what the chosen point meets, got {asked!r:.80}: {error}") from None
    return replace(choice, reason=reason)


def text_of(requirement: Constraint) -> str:
    """Return a requirement as the command line spells it."""
    return f"{short_name(requirement.objective)}{'>=' if requirement.at_least else '<='}{requirement.bound!r}"
