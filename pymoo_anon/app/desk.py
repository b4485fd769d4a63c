"""State of all pages: the folder, its project and study, and the work."""

from __future__ import annotations

import shlex
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pymoo_anon._files import content_of
from pymoo_anon._messages import error_text
from pymoo_anon.study.names import CHOICE, FRONT, HIERARCHIES, KINDS_BY_ENDING, RECORD, RELEASES, Source, path_from
from pymoo_anon.study.options import is_project
from pymoo_anon.study.project import Project, read_project
from pymoo_anon.study.proposal import Proposer
from pymoo_anon.study.study import Study

#: Errors that are told, and do not end the screen.
TOLD = (ValueError, KeyError, TypeError, OSError, MemoryError, ImportError)

# Endings of files that hold one table, or whose table can be found.
_ENDINGS = (".csv", ".gz", *(ending for ending, kind in KINDS_BY_ENDING.items() if kind != "duckdb"))

# Seconds for work to write its results when the screen ends.
_WRITE_SECONDS = 20


@dataclass
class Job:
    """Work in the background, of which pages show the state."""

    words: str
    start: float = field(default_factory=time.monotonic)
    stops: bool = False  # Whether it can be stopped, with its results
    quiet: bool = False  # Whether pages stay as they are at its end
    share: float | None = None  # The share that is done, or None
    shown: Any = None  # Data to show meanwhile, or None
    drawn: float = 0.0  # When these were made
    error: str = ""
    notes: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def show(self, words: str) -> None:
        """Set the words of the step, or end stopped work."""
        self.words = words
        if self.stop.is_set():
            raise KeyboardInterrupt

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.thread is not None and self.thread.is_alive()

    @property
    def status(self) -> str:
        """Its words and seconds."""
        return f"{self.words} ({time.monotonic() - self.start:,.0f} s)"


class Desk:
    """A folder, its chosen project, and the work on it.

    Its path is that of the folder, or of a project file in it.
    """

    def __init__(self, path: Path) -> None:
        is_file = path.is_file() and is_project(path)
        if not (is_file or path.is_dir()):
            raise ValueError(f"{path} must be a folder or a project file, NAME.toml, got neither")
        self.folder = path.parent if is_file else path
        self.file = path if is_file else None
        self.version = 0
        self.job = Job("")
        self.found: dict[str, Any] = {}  # Results of work by name, until the project changes
        self.undo: dict[str, list[str]] = {}  # Earlier texts of hierarchies by column
        self.report: Path | None = None  # The report that was written last
        self._known: dict[str, tuple[Any, Any]] = {}

    # --- files --------------------------------------------------------------------------------------------------------

    def inside(self, path: Path) -> Path:
        """Return a path that lies in the folder, or raise ValueError."""
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise ValueError(f"{path} must lie in {self.folder.resolve()}; start the screen in a folder that holds it")
        return path

    def named(self, source: Source) -> str:
        """Return the name of a table as one types it in the folder."""
        return str(source if source.path is None else source._replace(path=Path(path_from(self.folder, source.path))))

    def files(self) -> tuple[list[str], list[str]]:
        """Return the names of the projects and of the tables in the folder."""
        names = sorted(path.name for path in self.folder.iterdir() if path.is_file() and not path.name.startswith("."))
        tables = [name for name in names if name.lower().endswith(_ENDINGS)]
        return [name for name in names if is_project(name)], tables

    def open(self, name: str | None) -> None:
        """Choose a project of the folder, or none."""
        file = None if name is None else self.inside(self.folder / name)
        if file is not None:
            read_project(file, decided=False)
        self.file, self.undo, self.report, self._known = file, {}, None, {}
        self.changed()

    @property
    def path(self) -> Path:
        """The project file."""
        if self.file is None:
            raise ValueError("no project is open: begin with a table, or open a project")
        return self.file

    @property
    def text(self) -> str:
        """The content of the project file."""
        return content_of(self.path).decode("utf-8-sig")

    def project(self, decided: bool = False) -> Project:
        """Read the project, or raise for files outside the folder."""
        project = read_project(self.path, decided)
        releases = [project.release, *(project.for_audience(name).release for name in project.audiences)]
        paths = [own.path for own in releases if own.path is not None]
        for path in (*project.files, project.path.parent / HIERARCHIES, project.output, *paths):
            self.inside(path)
        return project

    @property
    def study(self) -> Study:
        """The study, read anew when one of its files has changed."""
        project = self.project(decided=True)
        output = project.output
        made: Study = self._once("study", [*project.files, output / FRONT, output / RECORD], lambda: Study(project))
        # These change with every choice and release, also of a command: they alone are read anew.
        for part, file in (("choice", CHOICE), ("releases", RELEASES)):
            self._once(part, [output / file], partial(vars(made).pop, part, None), id(made))
        return made

    @property
    def proposer(self) -> Proposer:
        """The guesses about the table, counted once."""
        project = self.project()
        files = [] if project.data.path is None else [project.data.path]
        made: Proposer = self._once("proposer", files, partial(Proposer, project.reading), project.reading)
        return made

    @property
    def guesses(self) -> dict[str, tuple[str, str]]:
        """The guessed role of every column, with the reason."""
        proposer = self.proposer
        made: dict[str, tuple[str, str]] = self._once("guesses", [], proposer.roles, id(proposer))
        return made

    def is_counted(self) -> bool:
        """Return whether the guesses about the table are there."""
        return "guesses" in self._known

    def has_front(self) -> bool:
        """Return whether there is a front."""
        return self.file is not None and (self.project().output / RECORD).is_file()

    def _once(self, name: str, files: list[Path], make: Callable[[], Any], *more: Any) -> Any:
        key = ([(path, path.stat().st_mtime_ns, path.stat().st_size) for path in files if path.exists()], more)
        if name not in self._known or self._known[name][0] != key:
            self._known[name] = key, make()
        return self._known[name][1]

    # --- work ---------------------------------------------------------------------------------------------------------

    def changed(self) -> None:
        """Let all pages show the new state."""
        self.found, self.version = {}, self.version + 1

    def start(self, words: str, work: Callable[[Job], object], stops: bool = False, quiet: bool = False) -> Job:
        """Work in the background, one piece at a time.

        Args:
            words: The words of its first step.
            work: The work, which returns what it found by name, or None.
            stops: Whether it can be stopped, and keeps what it has.
            quiet: Whether it changes nothing but what is found, so that pages stay as they are.
        """
        before = self.job
        if before.is_running and not before.quiet:
            raise ValueError(f"wait for the end of this work: {before.words}")
        job = self.job = Job(words, stops=stops, quiet=quiet)
        job.thread = threading.Thread(target=self._work, args=(job, work, before.thread), daemon=True)
        job.thread.start()
        return job

    def _work(self, job: Job, work: Callable[[Job], object], before: threading.Thread | None) -> None:
        if before is not None:
            # A quiet one may still run.
            before.join()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                made = work(job)
            job.notes = list(dict.fromkeys(str(one.message) for one in caught if issubclass(one.category, UserWarning)))
            if not job.quiet:
                self.changed()
            if isinstance(made, dict):
                self.found |= made
        except TOLD as error:
            job.error = error_text(error)
            self.version += not job.quiet
        except KeyboardInterrupt:
            job.error = "Stopped: nothing was written."
            self.version += 1

    def close(self) -> None:
        """Stop the work, and wait until its results are written."""
        self.job.stop.set()
        if self.job.thread is not None:
            self.job.thread.join(_WRITE_SECONDS)


def command(*parts: str | Path) -> str:
    """Return a command of the command line, as one types it."""
    return shlex.join(["pymoo-anon", *map(str, parts)])
