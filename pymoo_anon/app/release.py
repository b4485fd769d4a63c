"""Step 6: the release, its recount, and the report."""

from __future__ import annotations

import pandas as pd
from nicegui import ui

from pymoo_anon._files import check_free
from pymoo_anon._messages import listed
from pymoo_anon.app.desk import Job, command
from pymoo_anon.app.front import has_front
from pymoo_anon.app.screen import Screen, button, check_box, controls, heading, show_rows, text
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.publishing.release import claim_rows, said_of
from pymoo_anon.publishing.report.subject import ABOUT
from pymoo_anon.study.names import CHOICE
from pymoo_anon.study.project import ROLES
from pymoo_anon.study.stored import CODEBOOK, EVIDENCE, beside
from pymoo_anon.study.study import Study, all_together, target_of

# Entries of the head of a report, beside its files.
_SIGNED = ("owner", "recipients", "purpose")


def show_release_step(screen: Screen) -> None:
    """Show the release, its recount and its report."""
    if not has_front(screen):
        return
    study = screen.desk.study
    if not (study.folder / CHOICE).is_file() and not study.project.audiences:
        text("No point is chosen yet: step 5 chooses one.", "warning")
        return
    heading("What leaves")
    rows = [(role, listed(names), told) for role, told in ROLES.items() if (names := study.project.with_role(role))]
    show_rows([("role", "left"), ("columns", "left"), ("what becomes of them", "left")], rows, "What leaves")
    for name in study.project.with_role("keep"):
        why = ui.input(f"Why {name} may leave as it stands", value=study.project.columns[name].reason or "")
        screen.keeps(why.classes("wide"), "columns", name, "reason")
    heading("Release")
    _show_release(screen, study)
    if study.releases:
        heading("Released")
        screen.part(lambda: _show_releases(screen, study))
        _show_report(screen, study)


def _show_release(screen: Screen, study: Study) -> None:
    desk, project, chosen = screen.desk, study.project, screen.chosen
    has_choice = (study.folder / CHOICE).is_file()
    if not project.audiences:
        text(f"Row {study.choice.row + 1}: {study.choice.said}.")
    names: list[str | None] = [*[None] * has_choice, *project.audiences]
    options = {name: name or "the choice" for name in names}
    if chosen.get("audience") not in options:
        chosen["audience"] = names[0]
    with controls():
        audience = ui.select(options, label="Audience").bind_value(chosen, "audience")
        audience.set_visibility(bool(project.audiences))
        output = ui.input("File", value=project.documents.name)
        anyway = ui.input("Release anyway, because", placeholder="only where it is refused").classes("wide")
        local = check_box("Every class at levels of its own, which loses less")
        local.set_visibility(isinstance(study.problem, LatticeProblem))
        force = check_box("Replace a release of this name")

        def make(job: Job) -> None:
            # The fields may have changed the project.
            own = desk.study.for_audience(audience.value)
            place = None if output.value == project.documents.name else project.path.parent / output.value
            # A wrong place is refused before any work.
            target, paths = target_of(own, place, None)
            for path in (*paths, *([target.path] if target.path is not None else [])):
                desk.inside(path)
            check_free(paths, bool(force.value))
            own.release(place, local=bool(local.value), anyway=anyway.value or None, show=job.show)

        button("Release", screen.works("Step 1 of 4: recoding and writing", make), True)
    for field, name in ((output, "output"), (anyway, "anyway"), (local, "local")):
        field.bind_value(chosen, name)
    given = {"output": output.value, "audience": audience.value, "anyway": anyway.value}
    given["output"] = None if output.value == project.documents.name else output.value
    typed = [part for name, value in given.items() if value for part in (f"--{name}", value)]
    screen.same_as(command("release", desk.path.name, *typed, *["--local"] * bool(local.value)))


def _show_releases(screen: Screen, study: Study) -> None:
    desk = screen.desk
    last = study.for_audience(study.releases[-1].audience)
    path = last.released
    if (told := last.evidence) is not None:
        book, own = beside(path, CODEBOOK).name, beside(path, EVIDENCE).name
        text(f"{path.name}, with {book} for its readers and {own} for you alone.")
        titles = [("measure", "left"), ("promised", "right"), ("recounted", "right"), ("holds", "left")]
        show_rows(titles, claim_rows(told["claims"]), "Promised and recounted")
        text(said_of(pd.DataFrame(told["columns"]), pd.DataFrame(told["uniqueness"])))
        text("The promises are against whoever knows quasi-identifiers, and no sensitive column.")
    if len(study.releases) > 1:
        files = [study.path_of(one) for one in study.releases]
        n, together = desk.once("together", "Comparing all releases", files, lambda: all_together(study), id(study))
        if together is not None:
            text(f"Whoever has the {n} releases and links their rows sees {together}.", "warning")
    for file, broken in desk.found.get("verified", {}).items():
        text(f"{file.name}: {listed(broken) if broken else 'holds'}.", "warning" if broken else "good")
    button("Count all releases again", screen.works("Counting", lambda job: {"verified": study.verify(job.show)}))
    screen.same_as(command("verify", desk.path.name))


def _show_report(screen: Screen, study: Study) -> None:
    desk, audience = screen.desk, study.releases[-1].audience
    heading("The report")
    with controls():
        for name in _SIGNED:
            field = ui.input(ABOUT[name], value=study.project.report.get(name, "")).classes("wide")
            screen.keeps(field, "report", name)
    with controls():
        external = check_box("Report for outsiders", value=screen.chosen.get("external", False))
        external.on_value_change(lambda event: screen.shows(external=event.value))
        force = check_box("Replace a report that is there")

        def write(job: Job) -> None:
            own = desk.study.for_audience(audience)
            target = own.released.with_suffix(".external.html" if external.value else ".report.html")
            check_free([desk.inside(target)], bool(force.value))
            own.report(target, external=bool(external.value), show=job.show)
            desk.report = target

        button("Write the report", screen.works("Step 1 of 3: reading the front", write))
    if desk.report is not None and desk.report.is_file():
        text(f"Written: {desk.report.name}")
        ui.link("Open it alone, to print and sign it", "report", new_tab=True)
        # Without an origin of its own it reaches nothing of the screen.
        ui.element("iframe").props('src="report" title="The report" sandbox="allow-scripts"')
    options = [*(["--audience", audience] if audience else []), *["--external"] * bool(external.value)]
    screen.same_as(command("report", desk.path.name, *options))
