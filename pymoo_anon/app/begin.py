"""The beginning: a project, or a table with its risk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nicegui import ui

from pymoo_anon._messages import listed, percent, plain
from pymoo_anon.app.desk import Job, command
from pymoo_anon.app.screen import Screen, button, check_box, heading, show_rows, text
from pymoo_anon.comparison.uniques import SMALL_CLASSES, Uniqueness, uniqueness
from pymoo_anon.study.interrupt import write_new
from pymoo_anon.study.names import HIERARCHIES, file_names, source_of
from pymoo_anon.study.proposal import Proposer, known_columns, reading_of

# So many pairs, columns and minimal sets are shown.
_SETS_SHOWN, _MINIMAL_SHOWN = 5, 6


def show_beginning(screen: Screen) -> None:
    """Show the files of the folder, and the risk of a table."""
    desk = screen.desk
    projects, tables = desk.files()
    if projects:
        heading("Open a project")
        with ui.element("div").classes("choices"):
            for name in projects:
                button(plain(name), screen.does(lambda name=name: desk.open(name)))
    heading("Or begin with a table")
    if not tables:
        text(f"There is no table in {desk.folder.resolve()}.")
    with ui.element("div").classes("choices"):
        for name in tables:
            button(plain(name), screen.does(lambda name=name: _count(screen, name)))
    if "risk" in desk.found:
        _show_begun(screen, desk.found["risk"], desk.found["table"])


def _count(screen: Screen, name: str) -> None:
    path = screen.desk.inside(screen.desk.folder / name)

    def work(job: Job) -> dict[str, Any]:
        known = known_columns(str(path))
        job.show("Counting unique rows")
        return {"risk": uniqueness(known.frame, known.columns), "table": path}

    screen.desk.start(f"Reading {name}", work)


def _show_begun(screen: Screen, found: Uniqueness, table: Path) -> None:
    heading(f"The risk of {table.name} as it stands")
    show_risk(found)
    stem = Path(file_names([table.stem])[0]).stem
    replaces = check_box("Replace files that are there") if (table.parent / f"{stem}.toml").exists() else None
    make = screen.does(lambda: _begin_project(screen, table, stem, replaces is not None and bool(replaces.value)))
    button(f"Begin a project: write {stem}.toml and drafts of hierarchies", make, True)
    screen.same_as(command("risk", table.name), command("init", table.name))


def _begin_project(screen: Screen, table: Path, stem: str, force: bool) -> None:
    desk = screen.desk
    desk.inside(table.parent / HIERARCHIES)

    def work(job: Job) -> None:
        source = source_of(table.name, table.parent)
        proposer = Proposer(reading_of(source, "auto", None))
        job.show("Guessing roles and drafting hierarchies")
        write_new(table.parent, proposer.propose(table.parent / f"{stem}.toml").texts, [table], force)
        desk.open(f"{stem}.toml")

    desk.start(f"Reading {table.name}", work)


def show_risk(found: Uniqueness) -> None:
    """Show the unique rows of a table by sets of its columns."""
    unique, whole = found.below(found.columns)[2], listed(map(str, found.columns))
    text(f"{unique:,} of {found.n_rows:,} rows ({percent(unique / found.n_rows)}) are unique by {whole}.")
    rows = [[listed(map(str, own)), *(f"{n:,}" for n in found.below(own).values())] for own in found.worst(_SETS_SHOWN)]
    titles = [
        ("by", "left"),
        ("unique rows", "right"),
        *((f"in classes below {least}", "right") for least in SMALL_CLASSES[1:]),
    ]
    show_rows(titles, rows, "Unique rows")
    if added := [f"{name} ({n:,})" for name, n in found.added.items() if n]:
        text(f"Fewer unique rows without: {', '.join(added)}.")
    minimal = found.minimal.head(_MINIMAL_SHOWN).itertuples(index=False, name=None)
    if told := [f"{listed(map(str, own))} ({n:,})" for own, n in minimal]:
        text(f"Smallest sets that single rows out: {'; '.join(told)}.")
