"""Files beside a front: its record, its stored search, and records of releases.

The file of a search is written once and read by all later commands, so that none reads the table only to choose a
point. It is as confidential as the table: it holds each distinct tuple with its sensitive values. Of persons it has
numbers alone.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymoo_anon._files import content_of
from pymoo_anon.engine.classes import ValueCounts
from pymoo_anon.objectives.base import Objective
from pymoo_anon.problems.arguments import free_name, short_name
from pymoo_anon.problems.front import Front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.study.names import FILES, STORED, checksum
from pymoo_anon.study.project import Project
from pymoo_anon.table.generalization import Constraint, LocalGeneralization
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata, leaving_out
from pymoo_anon.typing import Array, Ints

# Values that stand in JSON as text, under the name of their type.
_TYPES: Mapping[str, Callable[[str], Any]] = {
    "date": date.fromisoformat,
    "Decimal": Decimal,
    "Timestamp": lambda text: pd.Timestamp(text),
}


def write_front(front: Front, record: Mapping[str, Any], folder: Path) -> None:
    """Write the files of a front: table, picture, stored search, and record."""
    # Reading a front needs no pictures.
    from pymoo_anon.visualization.fronts import plot_front

    table, picture, run = (folder / name for name in FILES)
    columns = {name: own.tolist() for name, own in front.problem.described(front.X).items()}
    if not isinstance(front.problem, LatticeProblem):
        # Groups and labels of columns do not tell the target.
        columns[free_name("made for", columns)] = front.problem.words(front.X)
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *zip(*columns.values(), strict=True)])
    plot_front(front.problem, front, picture)
    own: dict[str, Any] = {"sha256": hashlib.sha256(table.read_bytes()).hexdigest()}
    # A table without a checksum may change unseen.
    if record.get("project", {}).get("data") is not None and write_search(front, folder / STORED):
        own[STORED] = checksum(folder / STORED)
    if not isinstance(front.problem, LatticeProblem):
        # The table of the front does not hold the points.
        own["x"] = front.X.tolist()
    text = json.dumps({**record, "front": own}, indent=2, default=str, ensure_ascii=False)
    # File names need not be UTF-8: other bytes are escaped.
    run.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")


def write_search(front: Front, path: Path) -> bool:
    """Write table and values of a front for the owner alone. False means that a value does not fit."""
    table = front.table
    head = _head(table)
    text = json.dumps(head, default=lambda value: {type(value).__name__: str(value)})
    try:
        if repr(json.loads(text, object_hook=_typed_value)) != repr(head):
            return False
    except (ValueError, KeyError):
        return False
    arrays: dict[str, Any] = {"head": np.frombuffer(text.encode(), np.uint8)}
    arrays |= {"codes": table.tuples.codes, "rows": table.tuples.counts, "left out": np.array(table.n_left_out)}
    for j, hierarchy in enumerate(table.quasi_identifiers.values()):
        arrays[f"groups {j}"] = hierarchy.groups
    for i, (name, _) in enumerate(head[1]):
        own = table.tuples.columns[name]
        arrays |= {f"lengths {i}": np.diff(own.starts), f"values {i}": own.values, f"counts {i}": own.counts}
    measures = _measures(front.problem)
    found: dict[str, Any] = {
        "values": np.column_stack([front.values(one) for one in measures]),
        "marked": np.column_stack([front.marked(one) for one in measures]),
        "lost": np.reshape([front.lost(place) for place in range(len(front))], (-1, len(table.quasi_identifiers))),
    }
    if not isinstance(front.problem, LatticeProblem):
        for place, made in enumerate(map(front.problem.decode, front.X)):
            arrays |= {f"nodes {place}": made.nodes, f"class of {place}": made.class_of}
    small = {name: own.astype(np.min_scalar_type(own.max(initial=0))) for name, own in arrays.items()}
    path.touch(0o600)
    with path.open("wb") as file:
        np.savez(file, **small, **found, suppressed=front.n_suppressed)
    return True


class Stored(NamedTuple):
    """Content of the file of a search."""

    table: Microdata
    arrays: Mapping[str, Array]

    def front(self, problem: Any, X: Array, certified: bool | None) -> Front:
        """Build the front of points, (n, n_var), from its stored values."""
        measures, values = _measures(problem), self.arrays["values"]
        n_measured = len(problem.measured)
        problem.memory.add(X, np.column_stack([values[:, :n_measured], self.arrays["suppressed"]]))
        if "nodes 0" in self.arrays:
            problem.remember_recodings(X, [partial(self._recoding, place) for place in range(len(X))])
        front = Front(problem, X, certified=certified)
        if len(front) != len(values):
            raise ValueError(f"its {len(values)} points must satisfy all constraints, got {len(front)} that do")
        known, marked = (dict(zip(measures, self.arrays[name].T, strict=True)) for name in ("values", "marked"))
        # Files of earlier versions have no losses.
        front.recall(known, marked, self.arrays.get("lost"))
        return front

    def _recoding(self, place: int) -> LocalGeneralization:
        nodes, class_of = self.arrays[f"nodes {place}"], self.arrays[f"class of {place}"]
        return LocalGeneralization(self.table.quasi_identifiers, nodes[class_of])


def read_search(data: bytes, project: Project) -> Stored:
    """Read the content of a search's file, or raise ValueError or KeyError."""
    arrays = np.load(BytesIO(data), allow_pickle=False)
    named, others = json.loads(arrays["head"].tobytes(), object_hook=_typed_value)
    hierarchies, rows = {}, arrays["rows"].astype(np.int64)
    for j, (name, levels) in enumerate(named):
        groups = arrays[f"groups {j}"].tolist()
        hierarchies[name] = Hierarchy(
            [[own[i] for i in of_values] for own, of_values in zip(levels, groups, strict=True)]
        )
    columns = {name: _value_counts(arrays, i, len(domain), rows) for i, (name, domain) in enumerate(others)}
    codes = arrays["codes"].astype(np.int64)
    table = Microdata(hierarchies, codes, rows, columns, dict(others), *project.roles)
    return Stored(leaving_out(table, int(arrays["left out"])), arrays)


def _value_counts(arrays: Mapping[str, Array], i: int, n_values: int, rows: Ints) -> ValueCounts:
    lengths, values, counts = (arrays[f"{name} {i}"].astype(np.int64) for name in ("lengths", "values", "counts"))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    if not lengths.all() or starts[-1] != len(values) or values.max() >= n_values or not counts.all():
        raise ValueError("other values than those of a column")
    if not np.array_equal(np.add.reduceat(counts, starts[:-1]), rows):
        raise ValueError("other rows than those of the distinct tuples")
    return ValueCounts(starts, values, counts, n_values)


def _head(table: Microdata) -> list[Any]:
    """Return the labels of the quasi-identifiers and the values of the other columns."""
    named = [
        [name, [*map(list, own.labels)] if own.bins is None else own.bins]
        for name, own in table.quasi_identifiers.items()
    ]
    domains = {name: list(own) for name, own in table.tuples.domains.items() if name not in table.quasi_identifiers}
    if table.person is not None:
        # Nothing reads the identities of persons.
        domains[table.person] = [None if value is None else place for place, value in enumerate(domains[table.person])]
    return [named, [*map(list, domains.items())]]


def _typed_value(found: Mapping[str, str]) -> Any:
    ((kind, text),) = found.items()
    return _TYPES[kind](text)


def _measures(problem: Any) -> list[Objective]:
    return list(dict.fromkeys([*problem.measured, problem.default_constraint.objective]))


# --- records ----------------------------------------------------------------------------------------------------------

#: Endings of the files beside a release.
EVIDENCE, CODEBOOK = "evidence.json", "codebook.csv"

#: Two releases that differ in any of these tell more together than one of them.
COMPARED = ("x", "suppressed", "recoding", "columns", "audience")


class Released(NamedTuple):
    """Record of a release."""

    file: str  # The released file, or the name of its documents, relative to the project file
    sha256: str  # Its checksum
    x: list[int]  # The released point
    suppressed: str  # Treatment of suppressed rows: "mark" or "drop"
    columns: list[str]  # The released columns
    recoding: str | None = None  # "local" if the point was refined, else None
    requirements: list[str] | None = None  # Promised bounds, or None for those of the choice
    audience: str | None = None  # Audience of the project, or None
    database: str | None = None  # The database of a released table, or None for a file
    table: str | None = None  # The table there


@contextmanager
def as_written(path: Path, by: str, hint: str = "") -> Iterator[None]:
    """Turn errors in a file into one sentence."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} must be what pymoo-anon {by}, got {error!r:.80}{hint}") from None


def read_record(path: Path) -> dict[str, Any]:
    """Read the record of a search of a project."""
    with as_written(path, "search wrote with a project file"):
        record: dict[str, Any] = json.loads(content_of(path))
        options = record["options"]
        of_demo = "project" not in record and "demo" in options
    if of_demo:
        raise ValueError(
            f"{path.parent} was searched without a project file, so that nothing can be picked or released: "
            "pymoo-anon init DATA writes one for a table, and pymoo-anon search PROJECT searches it"
        )
    with as_written(path, "search wrote with a project file"):
        lists = [options["require"], options.get("level", []), options.get("weight", [])]
        whole = isinstance(options["suppression"], str) and all(isinstance(one, list) for one in lists)
        if not whole or "seed" not in options or not isinstance(options["objectives"], str | None):
            raise ValueError("an option is missing")
        own = record["project"]
        if not isinstance(record["front"]["sha256"], str) or not isinstance(own["hierarchies"], dict):
            raise ValueError("no checksums")
        if not {"certified", "n_undecided", "stopped"} <= {*record} or not {"name"} <= {*record["algorithm"]}:
            raise ValueError("no end of the search")
    return record


def read_releases(path: Path) -> list[Released]:
    """Read the records of all releases."""
    with as_written(path, "release wrote", "; remove it"):
        found = [Released(**one) for one in json.loads(content_of(path))]
        for one in found:
            texts = [one.file, one.sha256, one.suppressed, *one.columns, *(one.requirements or ())]
            texts += [own for own in (one.recoding, one.audience, one.database, one.table) if own is not None]
            if not all(isinstance(own, str) for own in texts) or not all(type(own) is int for own in one.x):
                raise ValueError("a release with other parts")
    return found


def beside(release: Path, what: str) -> Path:
    """Return the path of a file beside a release."""
    return release.with_name(f"{release.name}.{what}")


def bound_text(requirement: Constraint) -> str:
    """Return a requirement as the command line spells it."""
    return f"{short_name(requirement.objective)}{'>=' if requirement.at_least else '<='}{requirement.bound!r}"


def agree(claims: Sequence[Mapping[str, Any]], told: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the claims of two pieces of evidence are equal, up to rounding."""
    return len(claims) == len(told) and all(
        _is_close(one[key], other[key]) for one, other in zip(claims, told, strict=True) for key in one
    )


def _is_close(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return bool(one == other)
    return bool(abs(one - other) <= 1e-9 * max(abs(other), 1.0))
