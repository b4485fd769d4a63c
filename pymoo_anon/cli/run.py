"""A search from the first option to the last line."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from importlib.metadata import version
from typing import Any

import typer
from rich.console import Console

from pymoo_anon import __version__
from pymoo_anon._files import alone, put_in_place, tried
from pymoo_anon._messages import plain
from pymoo_anon.cli.console import clear_errors, count, said_warnings, standard_output
from pymoo_anon.cli.data import find_inputs, read_table
from pymoo_anon.cli.names import ALGORITHMS, FILES, JOURNAL, ExitCode
from pymoo_anon.cli.options import problem_of
from pymoo_anon.cli.project import Project
from pymoo_anon.cli.report import front_tables, legend, run_record, sorted_front, write_report
from pymoo_anon.cli.searching import Found, choose, progress, search, tiny
from pymoo_anon.cli.settings import Settings
from pymoo_anon.cli.sources import checksum
from pymoo_anon.problems.journal import Journal
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.resuming import journaled


def run(settings: Settings) -> None:
    """Search, write, and then say what was found: a reader of standard output that leaves early loses nothing."""
    with clear_errors(), standard_output() as console:
        inputs = find_inputs(settings)
        read = [*inputs.paths, *([] if settings.project is None else [settings.project.path])]
        with tried(settings.output, FILES, read) as temporary, alone(settings.output):
            checksums = inputs.checksums()
            # Now, because somebody may edit the file while the search lasts.
            own = {} if settings.project is None else _of_project(settings.project, checksums)
            with said_warnings():
                problem = problem_of(
                    read_table(settings, inputs), settings.objectives, settings.require, settings.suppression
                )
            console.print(
                f"Table: {problem.table.n_rows:,} rows, {problem.table.n_distinct:,} distinct tuples of "
                f"{problem.n_var} quasi-identifiers, a lattice of {count(problem.n_nodes)} nodes."
            )
            algorithm = choose(problem, settings)
            console.print(plain(f"Algorithm: {ALGORITHMS[algorithm[0]].words} ({algorithm[1]})."))
            start = time.perf_counter()
            search(tiny(problem), algorithm[0], settings)
            compile_seconds = time.perf_counter() - start
            console.print(f"Compiled or loaded in {compile_seconds:.1f} s.")
            with _kept(console, problem, algorithm[0], settings) as journal:
                found = _searched(problem, algorithm[0], settings)
                if found.res.X is None:
                    journal.remove()
                _check_found(problem, found, settings)
                front = sorted_front(problem, found.res)
                record = run_record(
                    problem, found, _options(settings), checksums, algorithm=algorithm, compile_seconds=compile_seconds
                )
                with said_warnings():
                    write_report(problem, found.res, front, {**record, **own}, temporary)
                paths = put_in_place(temporary, settings.output, FILES)
                if found.stopped != "Ctrl-C":
                    journal.remove()
        for table in front_tables(problem, front, console.width):
            # Not soft: rich keeps tables within the terminal, and this one fits.
            console.print(table, soft_wrap=False)
        console.print(legend(problem))
        console.print(plain("Written: " + ", ".join(map(str, paths))))
        _say_the_end(console, problem, found, len(front))
    if found.stopped == "Ctrl-C":
        raise typer.Exit(ExitCode.INTERRUPTED)


def _searched(problem: LatticeProblem, name: str, settings: Settings) -> Found:
    """The search, with pymoo's table or a progress bar."""
    if settings.verbose:
        return search(problem, name, settings, verbose=True)
    with progress() as callback:
        return search(problem, name, settings, callback=callback)


def _check_found(problem: LatticeProblem, found: Found, settings: Settings) -> None:
    """Refuse to write a front of nothing."""
    if found.res.X is None:
        among = "the lattice" if found.certified else f"the {problem.n_unique:,} that were visited"
        raise ValueError(
            f"no generalization of {among} keeps {' and '.join(settings.require) or 'the limit of suppression'}; "
            "ask for less, or allow more suppression"
        )


@contextmanager
def _kept(console: Console, problem: LatticeProblem, algorithm: str, settings: Settings) -> Iterator[Journal]:
    """The journal of a search, in its output folder; it stays there unless the search ends."""
    path = settings.output / JOURNAL
    if path.exists() and not settings.resume:
        console.print(plain(f"{path} is of a search that did not end; --resume would go on with it. This one is new."))
    asked = {name: getattr(settings, name) for name in ("seed", "generations", "pop_size", "epsilon")}
    versions = {"pymoo_anon": __version__, **{name: version(name) for name in ("pymoo", "moocore", "numpy")}}
    identity = {**asked, "algorithm": algorithm, "versions": versions}
    with journaled(problem, path, settings=identity, resume=settings.resume) as journal:
        if settings.resume:
            console.print(f"Resumed: {problem.n_unique:,} nodes were evaluated before.")
        try:
            yield journal
        finally:
            journal.close()
            if path.exists():
                console.print(plain(f"What was evaluated is in {path}; --resume goes on with it."))


def _options(settings: Settings) -> Mapping[str, Any]:
    """The options of a search, as `run.json` holds them."""
    left_out = ("given", "project", "resume")
    return {field.name: getattr(settings, field.name) for field in fields(settings) if field.name not in left_out}


def _of_project(project: Project, checksums: Mapping[str, str | None]) -> Mapping[str, Any]:
    """What ties a front to a project file, as `run.json` holds it."""
    return {"project": {"file": project.path.name, "sha256": checksum(project.path), **project.identity(checksums)}}


def _say_the_end(console: Console, problem: LatticeProblem, found: Found, n_front: int) -> None:
    proof = (
        "certified: proven to be complete"
        if found.certified
        else f"not certified: stopped by {found.stopped}, {count(found.n_undecided)} nodes undecided"
    )
    console.print(
        f"Members of the front: {n_front:,}, found in {found.seconds:.1f} s from {problem.n_unique:,} distinct nodes "
        f"({problem.n_unique / problem.n_nodes:.1%} of the lattice); {proof}."
    )
