"""Step 4: the search, its progress and its growing front."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from nicegui import ui
from pymoo.core.algorithm import Algorithm

from pymoo_anon._messages import counted, magnitude
from pymoo_anon.app.chart import chart_of, draw, place_for
from pymoo_anon.app.desk import Desk, Job, command
from pymoo_anon.app.front import is_read
from pymoo_anon.app.screen import Screen, button, text
from pymoo_anon.problems.journal import journaled
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.study.names import ALGORITHMS, JOURNAL
from pymoo_anon.study.options import Settings, dashed
from pymoo_anon.study.search import Run, searched_folder

# A growing front is drawn with so many points at most, those that were found last.
_MOST_DRAWN = 400

# Seconds between two drawings.
_DRAW_SECONDS = 0.5


def show_search(screen: Screen) -> None:
    """Show the options of a search, and its front."""
    desk = screen.desk
    project = desk.project()
    settings = _chosen_settings(screen)
    local = settings.local
    fitting = {name: own.words for name, own in ALGORITHMS.items() if own.local in (None, local)}
    with ui.element("div").classes("controls"):
        algorithm = ui.select(fitting, value=settings.algorithm, label="Algorithm")
        algorithm.on_value_change(lambda event: screen.shows(algorithm=event.value))
        limit = ui.number("Time limit in seconds", value=settings.time_limit, min=1, placeholder="none")
        limit.on("blur", lambda: screen.shows(time_limit=limit.value))
        seed = ui.number("Seed", value=settings.seed, min=0, precision=0)
        seed.on("blur", lambda: screen.shows(seed=seed.value))
    journal = project.output / JOURNAL
    with ui.element("div").classes("controls"):
        again = "Search again" if desk.has_front() else "Search"
        button(again, screen.does(lambda: _start(desk, settings)), True)
        if journal.is_file() and not desk.job.is_running:
            resumed = replace(settings, resume=True, given=frozenset({*settings.given, "resume"}))
            button("Go on with the search that did not end", screen.does(lambda: _start(desk, resumed)))
    place_for("growing")
    if desk.has_front() and not desk.job.is_running and is_read(screen):
        _show_end(desk)
    screen.same_as(command("search", desk.path.name, *_search_options(settings)))


def _show_end(desk: Desk) -> None:
    study = desk.study
    front, record = study.front, study.record
    proof = "proven complete" if front.certified else f"not proven ({record['stopped']})"
    method, seconds = ALGORITHMS[record["algorithm"]["name"]].words, record["search_seconds"]
    text(f"The front has {counted(len(front), 'point', 'points')}, {proof}, by {method} in {seconds:,.1f} s.", "good")
    draw("growing", chart_of(front))


def _chosen_settings(screen: Screen) -> Settings:
    """Return the settings of the project with those of the page."""
    chosen: dict[str, Any] = {}
    if screen.chosen.get("algorithm", "auto") != "auto":
        chosen["algorithm"] = screen.chosen["algorithm"]
    if screen.chosen.get("time_limit"):
        chosen["time_limit"] = float(screen.chosen["time_limit"])
    if screen.chosen.get("seed") is not None:
        chosen["seed"] = int(screen.chosen["seed"])
    project = screen.desk.project(decided=True)
    asked = project.settings(Settings(file=project.path, given=frozenset({"file", *chosen}), **chosen))
    asked.check()
    return asked


def _search_options(settings: Settings) -> list[str]:
    typed: list[str] = []
    for name in ("algorithm", "time_limit", "seed"):
        value = getattr(settings, name)
        if value != settings.project.search.get(name, getattr(Settings, name)):
            typed += [f"--{dashed(name)}", f"{value:g}" if isinstance(value, float) else str(value)]
    return typed


def _start(desk: Desk, settings: Settings) -> None:

    def work(job: Job) -> None:
        with searched_folder(settings) as temporary:
            job.show("Reading the table")
            own = Run(settings)
            job.show("Compiling or loading loops")
            own.compile()
            with journaled(
                own.problem, settings.output / JOURNAL, settings=own.identity, resume=settings.resume
            ) as journal:
                found = own.search(callback=lambda algorithm: _notify(job, own, algorithm))
                own.write(found, temporary, journal)

    desk.start("Searching", work, stops=True)


def _notify(job: Job, own: Run, algorithm: Algorithm) -> None:
    n_found = len(algorithm.opt)
    space = f" of {magnitude(own.problem.n_nodes)}" if isinstance(own.problem, LatticeProblem) else ""
    job.share = float(algorithm.termination.perc)
    if time.monotonic() - job.drawn > _DRAW_SECONDS:
        front = own.problem.front(algorithm.opt.get("X")[-_MOST_DRAWN:])
        job.shown, job.drawn = chart_of(front) if len(front) else None, time.monotonic()
    job.show(f"Searching: {n_found:,} found, {own.problem.n_unique:,}{space} points visited")
