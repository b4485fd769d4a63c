"""Step 6: the release, its recount, and the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from nicegui import ui

from pymoo_anon._files import check_free
from pymoo_anon._messages import listed
from pymoo_anon.app.desk import Desk, Job, command
from pymoo_anon.app.front import is_read
from pymoo_anon.app.screen import Screen, button, check_box, heading, show_rows, text
from pymoo_anon.publishing.release import claim_rows, said_of
from pymoo_anon.study.names import CHOICE, SUPPRESSED
from pymoo_anon.study.releasing import all_together, target_of
from pymoo_anon.study.stored import CODEBOOK, EVIDENCE, beside
from pymoo_anon.study.study import Study


def show_release_step(screen: Screen) -> None:
    """Show the release, its recount and its report."""
    if not is_read(screen):
        return
    desk = screen.desk
    study = desk.study
    if not (study.folder / CHOICE).is_file() and not study.project.audiences:
        text("No point is chosen yet.", "warning")
        button("Go to the front", lambda: screen.go_to(5))
        return
    _show_columns(study)
    _show_release(screen, study)
    if study.releases:
        _show_releases(screen, desk, study)


def _show_columns(study: Study) -> None:
    heading("What leaves")
    said = {
        "quasi-identifier": "leaves generalized",
        "sensitive": "leaves as it is",
        "label": "leaves as it is",
        "keep": "leaves as it is, and nothing protects it",
    }
    rows = [[name, own.role, said.get(own.role, "does not leave")] for name, own in study.project.columns.items()]
    show_rows([("column", "left"), ("role", "left"), ("what becomes of it", "left")], rows, "What leaves")


def _show_release(screen: Screen, study: Study) -> None:
    heading("Release")
    project, chosen = study.project, screen.chosen
    if not project.audiences:
        text(f"Row {study.choice.row + 1}: {study.choice.said}.")
    file = project.documents.name
    with ui.element("div").classes("controls"):
        audience = None
        if project.audiences:
            names = [*([None] if (study.folder / CHOICE).is_file() else []), *project.audiences]
            options = {name: "the choice" if name is None else name for name in names}
            audience = ui.select(options, value=chosen.get("audience", names[0]), label="Audience")
        output = ui.input("File", value=chosen.get("output", file))
        suppressed = ui.select(
            list(SUPPRESSED), value=chosen.get("suppressed", project.suppressed), label="Suppressed rows"
        )
        anyway = ui.input(
            "Release anyway, because", value=chosen.get("anyway", ""), placeholder="only where it is refused"
        ).classes("wide")
        force = check_box("Replace a release of this name", value=False)

        def make() -> None:
            screen.chosen |= {"output": output.value, "suppressed": suppressed.value, "anyway": anyway.value or ""}
            screen.chosen["audience"] = None if audience is None else audience.value
            _start_release(screen, bool(force.value))

        button("Release", screen.does(make), True)
    screen.same_as(
        command("release", screen.desk.path.name, *_release_options(screen, file)),
        command("verify", screen.desk.path.name),
    )


def _release_options(screen: Screen, file: str) -> list[str]:
    chosen = screen.chosen
    parts = [("output", chosen.get("output", file) if chosen.get("output", file) != file else None)]
    parts += [(name, chosen.get(name)) for name in ("suppressed", "audience", "anyway")]
    return [part for name, value in parts if value for part in (f"--{name}", value)]


def _start_release(screen: Screen, force: bool) -> None:
    desk, chosen = screen.desk, screen.chosen
    study = desk.study.for_audience(chosen["audience"])
    default = chosen["output"] == desk.study.project.documents.name
    output = None if default else study.project.path.parent / chosen["output"]
    # A wrong place is refused before any work.
    target, paths = target_of(study, output, None)
    for path in (*paths, *([target.path] if target.path is not None else [])):
        desk.inside(path)
    check_free(paths, force)

    def work(job: Job) -> None:
        study.release(output, suppressed=chosen["suppressed"], anyway=chosen["anyway"] or None, show=job.show)

    desk.start("Step 1 of 4: recoding and writing", work)


def _show_releases(screen: Screen, desk: Desk, study: Study) -> None:
    heading("Released")
    audience = study.releases[-1].audience
    last = study.for_audience(audience)
    path = last.released
    if (told := last.evidence) is not None:
        book, own = beside(path, CODEBOOK).name, beside(path, EVIDENCE).name
        text(f"{path.name}, with {book} for its readers and {own} for you alone.")
        show_rows(
            [("measure", "left"), ("promised", "right"), ("recounted", "right"), ("holds", "left")],
            claim_rows(told["claims"]),
            "Promised and recounted",
        )
        text(said_of(pd.DataFrame(told["columns"]), pd.DataFrame(told["uniqueness"])))
    if len(study.releases) > 1:
        n, together = all_together(study)
        if together is not None:
            text(f"Whoever has the {n} releases and links their rows sees {together}.", "warning")
    for file, broken in desk.found.get("verified", {}).items():
        text(f"{file.name}: {listed(broken) if broken else 'holds'}.", "warning" if broken else "good")

    def verify(job: Job) -> dict[str, Any]:
        return {"verified": study.verify(job.show)}

    with ui.element("div").classes("controls"):
        button("Count all releases again", screen.does(lambda: desk.start("Counting again", verify)))
        external = check_box("Report for outsiders", value=screen.chosen.get("external", False))
        external.on_value_change(lambda event: screen.shows(external=event.value))
        force = check_box("Replace a report that is there", value=False)
        button("Write the report", screen.does(lambda: _report(screen, last, path, bool(force.value))))
    if desk.report is not None and desk.report.is_file():
        text(f"Written: {desk.report.name}")
        # Without an origin of its own it reaches nothing of the screen.
        ui.element("iframe").props('src="report" title="The report" sandbox="allow-scripts"')
    options = [*(["--audience", audience] if audience else []), *["--external"] * bool(external.value)]
    screen.same_as(command("report", desk.path.name, *options))


def _report(screen: Screen, study: Study, path: Path, force: bool) -> None:
    desk, external = screen.desk, bool(screen.chosen.get("external"))
    target = path.with_suffix(".external.html" if external else ".report.html")
    check_free([desk.inside(target)], force)

    def work(job: Job) -> None:
        study.report(target, external=external, show=job.show)
        desk.report = target

    desk.start("Step 1 of 3: reading the front", work)
