"""State of all pages: the folder, its project and study, and the work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pymoo_anon._files import content_of
from pymoo_anon._messages import error_text, warnings_for_users
from pymoo_anon.study.names import CHOICE, FRONT, HIERARCHIES, KINDS_BY_ENDING, RECORD, RELEASES, Reading
from pymoo_anon.study.options import is_project
from pymoo_anon.study.project import Project, read_project
from pymoo_anon.study.proposal import Proposer
from pymoo_anon.study.stored import CODEBOOK, EVIDENCE
from pymoo_anon.study.study import Study
from pymoo_anon.table.hierarchy_edits import OpenHierarchy, change_hierarchy, open_hierarchy
from pymoo_anon.typing import T

#: Errors that are told, and do not end the screen.
TOLD = (ValueError, KeyError, TypeError, OSError, MemoryError, ImportError)

#: Ending of projects of ARX.
ARX = ".deid"

# Endings of files that hold a table, or several to choose from.
_ENDINGS = (".csv", ".tsv", ".txt", ".gz", ARX, *(own for own, kind in KINDS_BY_ENDING.items() if kind != "duckdb"))

# Seconds for work to write its results when the screen ends.
_WRITE_SECONDS = 20


class NotYetError(Exception):
    """A page first needs work: its words, and a function."""


class Job(threading.Thread):
    """Work in the background, of which pages show the state."""

    def __init__(
        self, words: str, work: Callable[[Job], Any] = lambda job: None, stops: bool = False, quiet: bool = False
    ) -> None:
        super().__init__(target=work, args=(self,), daemon=True)
        self.words = words
        self.stops = stops  # Whether it can be stopped, with its results
        self.quiet = quiet  # Whether pages stay as they are at its end
        self.share = 0.0  # The share that is done, or 0 if unknown
        self.shown: Any = None  # Data to show meanwhile, or None
        self.error, self.notes = "", list[str]()
        self.stop = threading.Event()
        self._since = time.monotonic()

    def show(self, words: str) -> None:
        """Set the words of the step, or end stopped work."""
        self.words = words
        if self.stop.is_set():
            raise KeyboardInterrupt

    @property
    def status(self) -> str:
        """Its words and seconds."""
        return f"{self.words} ({time.monotonic() - self._since:,.0f} s)"


class Desk:
    """A folder, its chosen project, and the work on it.

    Its path is that of the folder, or of a project file in it. Long work is done once, until its files change, and
    never on the event loop: there a page gets `NotYetError`.
    """

    def __init__(self, path: Path) -> None:
        is_file = path.is_file() and is_project(path)
        if not (is_file or path.is_dir()):
            raise ValueError(f"{path} must be a folder or a project file, NAME.toml, got neither")
        self.folder = path.parent if is_file else path
        self.version = 0
        self.job = Job("")
        self._turn = threading.Lock()
        self._begin(path if is_file else None)

    def _begin(self, file: Path | None) -> None:
        self.file = file
        self.earlier: dict[str, list[tuple[str, str]]] = {}  # Texts of hierarchies by column, before and after changes
        self.report: Path | None = None  # The report that was written last
        self.questions: list[str] = []  # Questions of the draft about the table
        self._known: dict[str, tuple[Any, Any]] = {}
        self.changed()

    def inside(self, path: Path) -> Path:
        """Return a path that lies in the folder, or raise ValueError."""
        if not path.resolve().is_relative_to(self.folder.resolve()):
            raise ValueError(f"{path} must lie in {self.folder.resolve()}; start the screen in a folder that holds it")
        return path

    def files(self) -> tuple[list[str], list[str]]:
        """Return the names of projects and of tables to begin with."""
        names = sorted(path.name for path in self.folder.iterdir() if path.is_file() and not path.name.startswith("."))
        tables = [name for name in names if name.lower().endswith(_ENDINGS) and not name.endswith(CODEBOOK)]
        # A release is no table to begin with.
        tables = [name for name in tables if f"{name}.{EVIDENCE}" not in names]
        return [name for name in names if is_project(name)], tables

    def open(self, name: str | None = None) -> None:
        """Choose a project of the folder, or none. Work other than a search must have ended."""
        # It would go on with the new project.
        if not (self.job.stops or self.job is threading.current_thread()):
            self._check_idle()
        file = None if name is None else self.inside(self.folder / name)
        if file is not None:
            read_project(file, decided=False)
        self._begin(file)

    @property
    def path(self) -> Path:
        """The project file."""
        if self.file is None:
            raise ValueError("no project is open: begin with a table, or open a project")
        return self.file

    @property
    def text(self) -> str:
        """The content of the project file, if it can be read."""
        with suppress(ValueError, OSError):
            return content_of(self.path).decode("utf-8-sig", "replace")
        return ""

    @property
    def state(self) -> Any:
        """Version of all that pages show, with the files that other programs change."""
        files = [] if self.file is None else [self.file]
        with suppress(*TOLD):
            files += [self.project().output / name for name in (FRONT, RECORD, CHOICE, RELEASES)]
        return self.version, self.file, _stamps(files)

    def project(self, decided: bool = False) -> Project:
        """Read the project, or raise for files outside the folder."""
        project = self.once(f"project {decided}", "", [self.path], read_project, self.path, decided)
        releases = [project.release, *(project.for_audience(name).release for name in project.audiences)]
        paths = [own.path for own in releases if own.path is not None]
        for path in (*project.files, project.path.parent / HIERARCHIES, project.output, *paths):
            self.inside(path)
        return project

    def has(self, name: str) -> bool:
        """Return whether the search has a file."""
        return (self.project().output / name).is_file()

    @property
    def study(self) -> Study:
        """The study with its front, read anew when a file has changed."""
        if not self.has(RECORD):
            raise ValueError("There is no front yet: step 4 searches it.")
        project = self.project(decided=True)
        files = [*project.files, project.output / FRONT, project.output / RECORD]
        study = self.once("study", "Reading the front", files, _loaded, Study, project, "front")
        # It changes with every choice, also of a command: it alone is read anew.
        self.once("choice", "", [project.output / CHOICE], vars(study).pop, "choice", None)
        return study

    @property
    def proposer(self) -> Proposer:
        """The guesses about the table of the project."""
        return self.look(self.project().reading)

    def look(self, reading: Reading) -> Proposer:
        """Return the guesses about a table."""
        files = [] if reading.source.path is None else [reading.source.path]
        return self.once("proposer", "Reading the table", files, _loaded, Proposer, reading, "roles")

    def hierarchy(self, name: str) -> OpenHierarchy:
        """Return the hierarchy of a column, with its rows."""
        file = self.project().quasi_identifiers[name]
        given = file, self.proposer.profile(name)
        return self.once("hierarchy", "Reading the hierarchy", [file], open_hierarchy, *given)

    def once(self, name: str, words: str, files: Sequence[Path], make: Callable[..., T], *given: Any) -> T:
        """Return a value that is made once of what is given, until files change.

        A page gets `NotYetError` in its place if there are words for the work.
        """
        key = _stamps(files), given
        known = self._known.get(name)
        if known is None or known[0] != key:
            if words and threading.current_thread() is threading.main_thread():
                raise NotYetError(words, partial(self.once, name, words, files, make, *given))
            known = self._known[name] = key, make(*given)
        made: T = known[1]
        return made

    def save(self, name: str, text: str, known: str | None = None) -> None:
        """Write a hierarchy in place of the known text."""
        before = change_hierarchy(self.project().quasi_identifiers[name], text, known)
        self.earlier.setdefault(name, []).append((before, text))
        self.hierarchy(name)

    def undo(self, name: str) -> None:
        """Undo the last change of a hierarchy."""
        self.save(name, *self.earlier[name][-1])
        # Undoing is no change to be undone.
        del self.earlier[name][-2:]

    def changed(self) -> None:
        """Let all pages show the new state."""
        self.version += 1

    def start(self, words: str, work: Callable[[Job], Any], stops: bool = False, quiet: bool = False) -> Job:
        """Work in the background, one piece at a time."""
        self._check_idle()
        self.job = Job(words, partial(self._work, work), stops, quiet)
        self.job.start()
        return self.job

    def _check_idle(self) -> None:
        if self.job.is_alive() and not self.job.quiet:
            raise ValueError(f"wait for the end of this work: {self.job.words}")

    def _work(self, work: Callable[[Job], Any], job: Job) -> None:
        try:
            # A quiet one may still run.
            with self._turn, warnings_for_users() as job.notes:
                work(job)
            if not job.quiet:
                self.changed()
        except Exception as error:
            # Fields keep their values.
            job.error = error_text(error)
            self.version += job.stops
            if not isinstance(error, TOLD):
                job.error = f"a mistake of this program, which its terminal shows: {type(error).__name__}: {job.error}"
                raise
        except KeyboardInterrupt:
            job.error = "Stopped: nothing was written."
            self.version += 1

    def close(self) -> None:
        """Stop the work, and wait until its results are written."""
        self.job.stop.set()
        if self.job.is_alive():
            self.job.join(_WRITE_SECONDS)


def _stamps(files: Iterable[Path]) -> list[tuple[Path, int, int]]:
    found = []
    for path in files:
        with suppress(FileNotFoundError):
            about = path.stat()
            found.append((path, about.st_mtime_ns, about.st_size))
    return found


def _loaded(make: Callable[[Any], T], given: Any, part: str) -> T:
    made = make(given)
    getattr(made, part)
    return made
