"""Records beside a front: of its search, and of releases."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pymoo_anon._files import content_of
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.spelling import short_name
from pymoo_anon.problems.arguments import as_json
from pymoo_anon.problems.front import Choice

#: Endings of the files beside a release.
EVIDENCE, CODEBOOK = "evidence.json", "codebook.csv"

#: Two releases that differ in any of these tell more together than one of them.
TELLING = ("x", "suppressed", "recoding", "columns")


class Released(NamedTuple):
    """Record of a release."""

    file: str  # The released table, relative to the project file
    sha256: str  # Its checksum
    x: list[int]  # The released point
    suppressed: str  # Treatment of suppressed rows: "mark" or "drop"
    columns: list[str]  # The released columns
    recoding: str | None = None  # "local" if the point was refined, else None
    requirements: list[str] | None = None  # Promised bounds, or None for those of the choice


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


def beside(release: Path, what: str) -> Path:
    """Return the path of a file beside a release."""
    return release.with_name(f"{release.name}.{what}")


def bound_text(requirement: Constraint) -> str:
    """Return a requirement as the command line spells it."""
    return f"{short_name(requirement.objective)}{'>=' if requirement.at_least else '<='}{requirement.bound!r}"


def commands_of(project: Path, choice: Choice, asked: Mapping[str, Any]) -> list[str]:
    """Return the commands that make the same release again."""
    file = str(project)
    commands, row = [["pymoo-anon", "search", file]], ["--row", str(choice.row + 1)]
    again = ["pymoo-anon", "release", file]
    if choice.requirements:
        # Requirements are promised, too.
        bounds = [part for one in choice.requirements for part in ("--require", bound_text(one))]
        commands.append(["pymoo-anon", "pick", file, *row, *bounds])
    else:
        again += row
    for name, value in asked.items():
        if value:
            again += [f"--{name}", *([] if value is True else [str(value)])]
    return [shlex.join(command) for command in (*commands, again)]


def warning_of(one: Released, same_file: bool) -> str:
    """Return a warning of another release of the same table."""
    is_another = "was another release of this table until now" if same_file else "is another release of this table"
    return (
        f"{one.file} {is_another}. Whoever has both can compare them, and find people that neither of them reveals "
        "alone: publish only one"
    )


def agree(claims: pd.DataFrame, told: Mapping[str, Any]) -> bool:
    """Return whether evidence holds these claims, up to rounding."""
    known = told["claims"]
    return len(known) == len(claims) and all(
        _equal(one[key], as_json(other[key]))
        for one, other in zip(known, claims.to_dict("records"), strict=True)
        for key in ("measure", "promised", "recounted", "holds")
    )


def _equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal up to rounding."""
    if isinstance(one, str) or isinstance(other, str) or one is None or other is None:
        return bool(one == other)
    return bool(abs(one - other) <= 1e-9 * max(abs(other), 1.0))
