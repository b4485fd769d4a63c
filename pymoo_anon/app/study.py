"""Steps 4 to 6: the search, its front, and the release."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import partial
from typing import Any

from nicegui import ui
from pymoo.core.algorithm import Algorithm

from pymoo_anon._messages import counted, error_text, examples
from pymoo_anon.app.desk import Job
from pymoo_anon.app.screen import Screen, button, heading, in_steps, parts, show_rows, text, warn
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.less_lost import less_lost
from pymoo_anon.publishing.codebook import about_single_rows
from pymoo_anon.publishing.evidence import release_of
from pymoo_anon.publishing.release import claim_rows
from pymoo_anon.publishing.report.charts import charts, front_chart
from pymoo_anon.publishing.report.decision import CHOSEN, DETAILED, front_view
from pymoo_anon.publishing.report.subject import ABOUT, Subject, checked_subject
from pymoo_anon.publishing.report.values import side_by_side
from pymoo_anon.study.names import ALGORITHMS, CHOICE, JOURNAL, RECORD, ROLES, SUPPRESSED
from pymoo_anon.study.options import command, joined
from pymoo_anon.study.stored import CODEBOOK, EVIDENCE, beside, bound_text
from pymoo_anon.study.study import Study, all_together, report_of, target_of, verdict_of
from pymoo_anon.study.tables import told_measures

# A growing front is drawn with so many points at most, those that were found last, and so many seconds apart.
_MOST_DRAWN, _DRAW_SECONDS = 400, 0.5

# So many points stand side by side, and so many columns of a role are named.
_MOST_BESIDE, _MOST_NAMED = 3, 12


def _chart_of(front: Front, chosen: int | None = None) -> dict[str, Any]:
    """Return the data of the chart of a front, with the chosen row."""
    subject = _subject(front)
    (table,) = front_view(subject).tables
    # All points look alike but the chosen one.
    rows = [(*row[:-2], DETAILED, CHOSEN if row[0] == chosen else "") for row in table.rows]
    return {"spec": charts(subject, ["front"])["front"], "rows": rows, **front_chart(subject, rows)}


def _subject(front: Front, suppressed: str = "mark") -> Subject:
    return checked_subject(front, front.choose(row=int(front.rows[0])), suppressed=suppressed)


def _draw(name: str, data: Any, shown: int = 0) -> None:
    """Draw a front in its place, if that is on the page."""
    made = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    ui.run_javascript(f"window.frontChart?.draw({json.dumps(name)}, {made}, {shown})")


def show_search(screen: Screen) -> None:
    """Show the options of a search, and its front."""
    desk, settings = screen.desk, screen.desk.project(decided=True).settings()
    ask = screen.checked(lambda: desk.project().settings().check())
    # Other work ends without a look at this page.
    is_searching = desk.job.is_alive() and desk.job.stops
    fitting = {name: ALGORITHMS[name].words for name in settings.fitting}
    text("The search finds the points between privacy and loss. As it stands it serves most tables.")
    chosen = settings.algorithm if settings.algorithm in fitting else None
    ask(ui.select, "Algorithm", ("search", "algorithm"), options=fitting, value=chosen)
    limit: Any = {"value": settings.time_limit, "min": 1, "placeholder": "none"}
    ask(ui.number, "Time limit in seconds", ("search", "time-limit"), **limit)
    ask(ui.number, "Seed", ("search", "seed"), value=settings.seed, min=0, precision=0)
    button("Search again" if desk.has(RECORD) else "Search", _start, screen, first=True)
    if desk.has(JOURNAL) and not is_searching:
        button("Go on with the search that did not end", _start, screen, True)
    ui.element("div").classes("front").props('id="growing"')

    def show_growing() -> None:
        if desk.job.is_alive() and desk.job.shown is not None:
            _draw("growing", desk.job.shown)

    def show_end() -> None:
        front, record = desk.study.front, desk.study.record
        proof = "proven complete" if front.certified else f"not proven ({record['stopped']})"
        method, seconds = ALGORITHMS[record["algorithm"]["name"]].words, record["search_seconds"]
        found = f"The front has {counted(len(front), 'point', 'points')}, {proof}"
        text(f"{found}, by {method} in {seconds:,.1f} s.", kind="good")
        _draw("growing", _chart_of(front))

    ui.timer(_DRAW_SECONDS, show_growing)
    if desk.has(RECORD) and not is_searching:
        screen.part(show_end)
    screen.same_as(partial(command, "search", desk.path.name))


def _start(screen: Screen, resume: bool = False) -> None:
    settings = replace(screen.desk.project(decided=True).settings(), resume=resume)
    settings.check()

    def work(job: Job) -> None:
        # It loads matplotlib, which no other step needs.
        from pymoo_anon.study.search import Run, searched_folder

        drawn = 0.0

        def follow(algorithm: Algorithm) -> None:
            nonlocal drawn
            job.share = float(algorithm.termination.perc)
            if time.monotonic() - drawn > _DRAW_SECONDS:
                front = own.problem.front(algorithm.opt.get("X")[-_MOST_DRAWN:])
                job.shown, drawn = _chart_of(front) if len(front) else None, time.monotonic()
            job.show(f"Searching: {own.progress(algorithm)}")

        with searched_folder(settings) as temporary:
            job.show("Reading the table")
            own = Run(settings)
            with own.journaled() as journal:
                own.write(own.search(callback=follow), temporary, journal)

    screen.desk.start("Searching", work, stops=True)
    # The front of an earlier search is shown no longer.
    screen.show()


def show_front(screen: Screen) -> None:
    """Show the front as a chart and a table."""
    study = screen.desk.study
    front, choice = study.front, None
    proof = "proven: none is missing" if front.certified else "not proven: better points may exist"
    text(f"{counted(len(front), 'point', 'points')}; {proof}. A click marks a point, to compare it or to choose it.")
    if screen.desk.has(CHOICE):
        try:
            choice = study.choice
        except ValueError as error:
            # A search came after it.
            warn(error_text(error))
    place = ui.element("div").classes("front").props('id="points"')
    chart = _chart_of(front, None if choice is None else choice.row + 1)
    heading("The points")
    known = told_measures()
    told = {one.short: known[one.short] for one in study.problem.measured if one.short in known}
    text(f"{'; '.join(told.values())}.")
    own = "its level: 0 keeps its values, and the highest"
    if not isinstance(study.problem, LatticeProblem):
        own = "the number of its groups: 1"
    text(f"Below a column's name stands {own} leaves nothing of them.")
    table, below = _point_table(study), ui.element("div").classes("part")

    def show_chosen() -> None:
        if rows := screen.chosen["rows"]:
            screen.part(partial(_show_beside, screen, study, rows))
        _show_choice(screen, study, rows, choice)

    def choose(rows: list[int]) -> None:
        screen.chosen["rows"] = rows
        # The table stays, and with it the focus.
        table.selected = [table.rows[row - 1] for row in rows]
        _draw("points", chart, rows[-1] if rows else 0)
        screen.part(show_chosen, below)

    def toggle(row: int) -> None:
        rows: list[int] = screen.chosen["rows"]
        choose([one for one in rows if one != row] if row in rows else [*rows, row][-_MOST_BESIDE:])

    place.on("point", lambda event: toggle(int(event.args["detail"])), ["detail"])
    table.on_select(lambda event: choose(sorted(int(own["c0"]) for own in event.selection)[-_MOST_BESIDE:]))
    choose([row for row in screen.chosen.get("rows", []) if row <= len(front)])


def _point_table(study: Study) -> ui.table:
    cells, n = study.front.cells(), len(study.table.quasi_identifiers)
    refusals = "cannot be released", [in_steps(why or "") for why in study.refusals()]
    # Whether a point can be released stands before the levels, of which not all fit on the page.
    columns = [("row", range(1, len(study.front) + 1)), *cells[n:], refusals, *cells[:n]]
    titles, rows = [title for title, _ in columns], zip(*(own for _, own in columns), strict=True)
    table = show_rows(titles, rows, "The points of the front", right={*titles} - {refusals[0]})
    # Not all of them fit side by side.
    table.add_slot("header-selection")
    return table.classes("points").props("selection=multiple")


def _show_beside(screen: Screen, study: Study, rows: list[int]) -> None:
    heading("Side by side")
    compare, places = partial(side_by_side, _subject(study.front, study.project.suppressed)), [row - 1 for row in rows]
    made = screen.desk.once("beside", "Counting queries", study.files, compare, places)
    titles = [column.title for column in made.columns]
    # Its numbers hold spaces that do not break, which `show_rows` would spell.
    cells = [[str(cell).replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in made.rows]
    show_rows(titles, cells, made.caption, right=titles[1:])


def _show_choice(screen: Screen, study: Study, rows: list[int], choice: Choice | None) -> None:
    heading("The choice")
    files = [*study.files, study.folder / CHOICE]
    once: Any = partial(screen.desk.once, words="Comparing the points", files=files)
    if study.project.audiences:
        text("Each audience gets a point of its own at step 6, and needs no choice.")
    if choice is not None:
        text(f"Chosen: row {choice.row + 1}, {choice.said}; {choice.reason}.", kind="good")
        less = partial(less_lost, study.front, choice, study.project.suppressed)
        screen.part(lambda: text(once("less", make=less)))
        why = "Why this point, and what others would cost"
        screen.folded(why, lambda: text(*once("explained", make=study.explained)))
        screen.chosen.setdefault("bounds", joined([bound_text(one) for one in choice.requirements]))

    def pick(how: dict[str, Any]) -> None:
        asked = parts(bounds)

        def work(job: Job) -> None:
            chosen = study.pick(study.constraints(asked), **how)
            job.notes += filter(None, [study.passed_over(chosen, **how)])

        screen.desk.start("Comparing the points", work)

    bounds = ui.input("What must hold").props('hint="such as k>=5, l>=2"').bind_value(screen.chosen, "bounds")
    ways: dict[str, dict[str, Any]] = {
        "Choose the least loss of those that hold it": {},
        "Choose the knee: beyond it every gain costs much more": {"knee": True},
        **{f"Choose row {row}": {"row": row} for row in rows},
    }
    for words, how in ways.items():
        button(words, pick, how, first=not how)
    name = study.project.path.name
    screen.same_as(
        *(partial(lambda how: command("pick", name, require=parts(bounds), **how), how) for how in ways.values())
    )


def show_release_step(screen: Screen) -> None:
    """Show the release, its recount and its report."""
    desk, study = screen.desk, screen.desk.study
    project = study.project
    heading("What leaves, and what stays")
    rows = [(role, examples(own, str, _MOST_NAMED), ROLES[role]) for role in ROLES if (own := project.with_role(role))]
    show_rows(["role", "columns", "what becomes of them"], rows, "What leaves")
    kept = {name: project.columns[name].reason or "" for name in project.with_role("keep")}
    reasons = {("columns", name, "reason"): why for name, why in kept.items() if not why}
    if len(reasons) > 1:
        every = "Why all of these may leave as they stand"
        screen.ask(ui.input, every, partial(dict.fromkeys, reasons), desk.changed).classes("reason")
    for name, known in kept.items():
        why = screen.ask(ui.input, f"Why {name} may leave as it stands", ("columns", name, "reason"), value=known)
        why.classes("reason")
    heading("Release")
    audiences = [*[None] * (desk.has(CHOICE) or not project.audiences), *project.audiences]
    released = [one.audience for one in study.releases]
    audience = screen.chosen.get("audience", released[-1] if released else None)
    audience = audience if audience in audiences else audiences[0]
    if project.audiences:
        names = {name: name or "the choice" for name in audiences}
        ui.select(names, value=audience, label="Audience", on_change=lambda own: screen.choose(audience=own.value))
    # Earlier releases can be counted again, also where nothing is to be released.
    screen.part(partial(_show_release, screen, study, audience))
    if released:
        heading("Released")
        if audience in released:
            screen.part(partial(_show_released, study, audience))
        _show_releases(screen, study)
        _show_report(screen, study, audience)


def _show_release(screen: Screen, study: Study, audience: str | None) -> None:
    desk, project, chosen = screen.desk, study.project, screen.chosen
    if audience is None:
        if not desk.has(CHOICE):
            raise ValueError("No point is chosen yet: step 5 chooses one.")
        text(f"Row {study.choice.row + 1}: {study.choice.said}.")
    output = ui.input("File, if not the usual one").bind_value(chosen, "output")
    anyway = ui.input("Release anyway, because", placeholder="only where it is refused")
    anyway.bind_value(chosen, "anyway")
    local = ui.checkbox("Every class at levels of its own, which loses less").bind_value(chosen, "local")
    local.set_visibility(isinstance(study.problem, LatticeProblem))
    force = ui.checkbox("Replace a release of this name")

    def asked() -> dict[str, Any]:
        is_refined = bool(local.visible and local.value)
        return {"output": output.value or None, "anyway": anyway.value or None, "local": is_refined}

    def make(job: Job) -> None:
        given = asked()
        # The fields may have changed the project.
        own = desk.study.for_audience(audience)
        if given["output"] is not None:
            given["output"] = project.path.parent / given["output"]
        # A wrong place is refused before any work.
        target, paths = target_of(own, given["output"], None, bool(force.value))
        for path in (*paths, target.path or paths[0]):
            desk.inside(path)
        # An audience is searched for, as long as the search itself lasts.
        own.point()
        job.show("Step 2 of 4: recoding and writing")
        own.release(**given, show=job.show)

    button("Release", desk.start, "Step 1 of 4: reading the front", make, first=True)
    screen.same_as(lambda: command("release", project.path.name, audience=audience, **asked()))


def _show_released(study: Study, audience: str | None) -> None:
    own = study.for_audience(audience)
    path, told, titles = own.released, own.evidence, ["measure", "promised", "recounted", "holds"]
    book, evidence = beside(path, CODEBOOK).name, beside(path, EVIDENCE).name
    if told is None:
        warn(f"{evidence} is missing: release it again.")
        return
    made = release_of(told)
    text(f"{path.name}, with {book} for its readers and {evidence} for you alone.")
    text(f"Counted when it was released, {told['made']}:")
    show_rows(titles, claim_rows(told["claims"]), "Promised and recounted", right=titles[1:3])
    is_doubtful = bool(made.exceptions) or made.uniqueness["unique"].any()
    text(made.verdict, kind="warning" if is_doubtful else "good")
    if made.n_suppressed:
        text(f"Suppressed rows, {made.n_suppressed:,}, {SUPPRESSED[made.suppressed]}.")
    text("The promises are against whoever knows quasi-identifiers, and no sensitive column.")
    warn(about_single_rows(study.table))


def _show_releases(screen: Screen, study: Study) -> None:
    desk, released = screen.desk, [*map(study.path_of, study.releases)]
    # Another search of the table may have released it, too.
    evidence = [file for path in released for file in path.parent.glob(f"*.{EVIDENCE}")]
    files = [*study.files, *released, *evidence]

    def show_together() -> None:
        n, together = desk.once("together", "Comparing all releases", files, all_together, study)
        warn(f"Whoever has the {n} releases and links their rows sees {together}." if together else "")

    screen.part(show_together)
    for file, broken in screen.chosen.pop("verified", {}).items():
        text(f"{file.name}: {verdict_of(study, file, broken)}.", kind="warning" if broken else "good")
    again = "Counting", lambda job: screen.chosen.update(verified=study.verify(job.show))
    button("Count all releases again", desk.start, *again)
    screen.same_as(partial(command, "verify", desk.path.name))


def _show_report(screen: Screen, study: Study, audience: str | None) -> None:
    desk, about = screen.desk, study.project.report
    heading("The report")
    for name in ("owner", "recipients", "purpose"):
        screen.ask(ui.input, ABOUT[name], ("report", name), value=about.get(name, ""))
    size: Any = {"value": about.get("population_size"), "min": 1, "precision": 0}
    screen.ask(ui.number, "Size of the population", ("report", "population-size"), **size)
    external = ui.checkbox("Report for outsiders").bind_value(screen.chosen, "external")
    force = ui.checkbox("Replace a report that is there")

    def write(job: Job) -> None:
        own, is_external = desk.study.for_audience(audience), bool(external.value)
        target = desk.inside(report_of(own, is_external, None, bool(force.value)))
        own.report(target, external=is_external, show=job.show)
        desk.report = target

    button("Write the report", desk.start, "Step 1 of 3: reading the front", write)
    if desk.report is not None and desk.report.is_file():
        text(f"Written: {desk.report.name}")
        ui.link("Open it alone, to print and sign it", "report", new_tab=True)
        # Without an origin of its own it reaches nothing of the screen.
        ui.element("iframe").props('src="report" title="The report" sandbox="allow-scripts"')
    name = desk.path.name
    screen.same_as(lambda: command("report", name, audience=audience, external=external.value))
