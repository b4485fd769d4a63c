"""The options of a search, and what can be refused before anything is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pymoo_anon.cli.names import ALGORITHMS, TABLES

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """Every option of a search, by the name it has on the command line; `given` names those that were not left out."""

    data: str
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
    given: Set[str]

    def check(self) -> None:
        """Refuse what is wrong whatever the table holds.

        Raises:
            ValueError: A name stands for nothing, an option would be passed over in silence, or a number or a folder
                is none.
        """
        self._check_meant(self.algorithm, chosen("algorithm", self.algorithm, ALGORITHMS).idle)
        if self.data in TABLES:
            self._check_meant(self.data, TABLES[self.data])
        elif not Path(self.data).is_file():
            raise ValueError(f"data must be {', '.join(TABLES)} or a CSV file, got {self.data!r}, which is no file")
        else:
            self._check_meant(self.data, ("rows",))
        if self.epsilon is not None:
            self.sides()
        if self.time_limit is not None and not (math.isfinite(self.time_limit) and self.time_limit > 0):
            raise ValueError(f"time-limit must be a positive number of seconds, got {self.time_limit}")

    def sides(self) -> list[float] | None:
        """The sides of the archive's boxes, or None where none are given.

        Raises:
            ValueError: One is no number.
        """
        return None if self.epsilon is None else [number("epsilon", part) for part in self.epsilon.split(",")]

    def _check_meant(self, choice: str, idle: tuple[str, ...]) -> None:
        """Refuse options that would be passed over in silence."""
        for name in idle:
            if name in self.given:
                raise ValueError(f"--{name.replace('_', '-')} means nothing with {choice}")


def chosen(option: str, name: str, choices: Mapping[str, T]) -> T:
    """The choice that a name stands for.

    Raises:
        ValueError: There is none; the message lists the names.
    """
    if name not in choices:
        raise ValueError(f"{option} must be one of {', '.join(choices)}, got {name!r}")
    return choices[name]


def number(option: str, text: str) -> float:
    """A whole number as int, any other as float.

    Raises:
        ValueError: The text is no number.
    """
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise ValueError(f"{option} must be a number, got {text!r}")


def check_path(option: str, path: Path, folder: bool = False) -> None:
    """Refuse what is no file.

    Args:
        option: What messages call it.
        path: The path.
        folder: Whether a folder will do, too.

    Raises:
        ValueError: It is none.
    """
    if not (path.is_file() or (folder and path.is_dir())):
        kinds = "a file or a folder" if folder else "a file"
        raise ValueError(f"{option} must be {kinds}, got {str(path)!r}, which is {'neither' if folder else 'none'}")
