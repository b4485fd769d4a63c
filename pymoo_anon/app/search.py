"""Step 4: the search, its progress and its growing front."""

from __future__ import annotations

import time

from nicegui import ui
from pymoo.core.algorithm import Algorithm

from pymoo_anon._messages import counted, magnitude
from pymoo_anon.app.desk import Desk, Job, command
from pymoo_anon.app.front import chart_of, draw, place_for
from pymoo_anon.app.screen import Screen, button, controls, text
from pymoo_anon.problems.journal import journaled
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.study.names import ALGORITHMS, JOURNAL
from pymoo_anon.study.options import Settings
from pymoo_anon.study.search import Run, searched_folder

# A growing front is drawn with so many points at most, those that were found last.
_MOST_DRAWN = 400

# Seconds between two drawings.
_DRAW_SECONDS = 0.5


def show_search(screen: Screen) -> None:
    """Show the options of a search, and its front."""
    desk = screen.desk
    settings = _search_settings(desk)
    fitting = {name: own.words for name, own in ALGORITHMS.items() if own.local in (None, settings.local)}
    text("The search finds the points between privacy and loss. As it stands it serves most tables.")
    with controls():
        screen.keeps(ui.select(fitting, value=settings.algorithm, label="Algorithm"), "search", "algorithm")
        limit = ui.number("Time limit in seconds", value=settings.time_limit, min=1, placeholder="none")
        screen.keeps(limit, "search", "time-limit")
        screen.keeps(ui.number("Seed", value=settings.seed, min=0, precision=0), "search", "seed")
    with controls():
        again = "Search again" if desk.has_front() else "Search"
        button(again, screen.does(lambda: _start(desk)), True)
        if (settings.output / JOURNAL).is_file() and not desk.job.is_alive():
            button("Go on with the search that did not end", screen.does(lambda: _start(desk, resume=True)))
    place_for("growing")
    ui.timer(_DRAW_SECONDS, lambda: _show_growing(desk.job))
    if desk.has_front() and not (desk.job.is_alive() and desk.job.stops):
        screen.part(lambda: _show_end(desk))
    screen.same_as(command("search", desk.path.name))


def _show_growing(job: Job) -> None:
    if job.is_alive() and job.shown is not None:
        draw("growing", job.shown)


def _show_end(desk: Desk) -> None:
    front, record = desk.study.front, desk.study.record
    proof = "proven complete" if front.certified else f"not proven ({record['stopped']})"
    method, seconds = ALGORITHMS[record["algorithm"]["name"]].words, record["search_seconds"]
    text(f"The front has {counted(len(front), 'point', 'points')}, {proof}, by {method} in {seconds:,.1f} s.", "good")
    draw("growing", chart_of(front))


def _search_settings(desk: Desk, resume: bool = False) -> Settings:
    project = desk.project(decided=True)
    given = frozenset({"file", *["resume"] * resume})
    settings = project.settings(Settings(file=project.path, given=given, resume=resume))
    settings.check()
    return settings


def _start(desk: Desk, resume: bool = False) -> None:
    settings = _search_settings(desk, resume)

    def work(job: Job) -> None:
        with searched_folder(settings) as temporary:
            job.show("Reading the table")
            own = Run(settings)
            job.show("Compiling or loading loops")
            own.compile()
            path, identity = settings.output / JOURNAL, own.identity
            with journaled(own.problem, path, settings=identity, resume=settings.resume) as journal:
                found = own.search(callback=lambda algorithm: _follow(job, own, algorithm))
                own.write(found, temporary, journal)

    desk.start("Searching", work, stops=True)


def _follow(job: Job, own: Run, algorithm: Algorithm) -> None:
    space = f" of {magnitude(own.problem.n_nodes)}" if isinstance(own.problem, LatticeProblem) else ""
    job.share = float(algorithm.termination.perc)
    if time.monotonic() - job.drawn > _DRAW_SECONDS:
        front = own.problem.front(algorithm.opt.get("X")[-_MOST_DRAWN:])
        job.shown, job.drawn = chart_of(front) if len(front) else None, time.monotonic()
    job.show(f"Searching: {len(algorithm.opt):,} found, {own.problem.n_unique:,}{space} points visited")
