"""The options of a search, and what can be refused before anything is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pymoo_anon.cli.names import ALGORITHMS, TABLES
from pymoo_anon.cli.sources import ENGINES, source_of

if TYPE_CHECKING:
    from pymoo_anon.cli.project import Project

#: The options that say what the table is.
_OF_THE_TABLE = ("data", "engine", "rows", "hierarchies", "sensitive", "label", "missing")

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """Every option of a search, by the name it has on the command line.

    `given` names those that were not left out; `project` is what the project file says, where there is one.
    """

    data: str
    engine: str
    rows: int
    hierarchies: Path | None
    sensitive: list[str]
    label: str | None
    missing: str
    objectives: str | None
    require: list[str]
    suppression: str
    algorithm: str
    generations: int
    pop_size: int
    epsilon: str | None
    time_limit: float | None
    seed: int
    output: Path
    verbose: bool
    resume: bool
    given: Set[str]
    project: Project | None = None

    def check(self) -> None:
        """Refuse what is wrong whatever the table holds."""
        self._check_meant(self.algorithm, chosen("algorithm", self.algorithm, ALGORITHMS).idle)
        if self.project is None:
            self._check_data()
        if self.epsilon is not None:
            self.sides()
        if self.time_limit is not None and not (math.isfinite(self.time_limit) and self.time_limit > 0):
            raise ValueError(f"time-limit must be a positive number of seconds, got {self.time_limit}")

    def _check_data(self) -> None:
        """Refuse a table that is none, and options that mean nothing with it."""
        if self.data in TABLES:
            self._check_meant(self.data, TABLES[self.data])
            return
        chosen("engine", self.engine, dict.fromkeys(ENGINES))
        try:
            path = source_of(self.data, Path()).path
        except ValueError as error:
            raise ValueError(f"data: {error}") from None
        if path is not None and not path.is_file():
            raise ValueError(
                f"data must be {', '.join(TABLES)}, a CSV or Parquet file, duckdb:FILE:TABLE or spark:TABLE, got "
                f"{self.data!r}, which is no file"
            )
        folder = self.hierarchies
        if folder is not None and folder.is_dir() and self.output.exists() and self.output.samefile(folder):
            raise ValueError(
                f"output must not be the folder of the hierarchies, got {str(self.output)!r}: the next search would "
                "read front.csv as a hierarchy; name another folder"
            )
        self._check_meant(self.data, ("rows",))

    def sides(self) -> list[float] | None:
        """The sides of the archive's boxes, or None where none are given."""
        return None if self.epsilon is None else [number("epsilon", part) for part in self.epsilon.split(",")]

    def _check_meant(self, choice: str, idle: tuple[str, ...]) -> None:
        """Refuse options that would be passed over in silence."""
        for name in idle:
            if name in self.given:
                raise ValueError(f"--{name.replace('_', '-')} means nothing with {choice}")


def of_project(project: Project, options: Mapping[str, Any], given: Set[str]) -> Settings:
    """The options of a search of a project: those of the command line win over those of the file."""
    for name in _OF_THE_TABLE:
        if name in given:
            raise ValueError(f"--{name} means nothing with {project.path}, which says what the table is")
    taken = {name: value for name, value in project.search.items() if name not in given}
    if "algorithm" in given and options["algorithm"] in ALGORITHMS:
        # The file speaks to another algorithm.
        idle = ALGORITHMS[options["algorithm"]].idle
        taken = {name: value for name, value in taken.items() if name not in idle}
    if "output" not in given:
        taken["output"] = project.output
    table = {
        "data": str(project.data),
        "engine": project.engine,
        "sensitive": project.sensitive,
        "label": project.label,
        "missing": project.missing,
    }
    return Settings(**{**options, **table, **taken}, given=given | set(taken), project=project)


def chosen(option: str, name: str, choices: Mapping[str, T]) -> T:
    """The choice that a name stands for."""
    if name not in choices:
        raise ValueError(f"{option} must be one of {', '.join(choices)}, got {name!r}")
    return choices[name]


def number(option: str, text: str) -> float:
    """A whole number as int, any other as float."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise ValueError(f"{option} must be a number, got {text!r}")


def check_path(option: str, path: Path, folder: bool = False) -> None:
    """Refuse what is no file."""
    if not (path.is_file() or (folder and path.is_dir())):
        kinds = "a file or a folder" if folder else "a file"
        raise ValueError(f"{option} must be {kinds}, got {str(path)!r}, which is {'neither' if folder else 'none'}")
