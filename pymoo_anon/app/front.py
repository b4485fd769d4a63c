"""Step 5: the front, points side by side, and the choice."""

from __future__ import annotations

import json
from typing import Any

from nicegui import ui

from pymoo_anon._messages import counted
from pymoo_anon.app.desk import Job, command
from pymoo_anon.app.screen import Screen, button, controls, heading, in_steps, parts, show_rows, text
from pymoo_anon.problems.front import Front
from pymoo_anon.problems.less_lost import less_lost
from pymoo_anon.publishing.report.charts import charts, front_chart
from pymoo_anon.publishing.report.decision import CHOSEN, DETAILED, front_view
from pymoo_anon.publishing.report.subject import Subject, checked_subject
from pymoo_anon.publishing.report.values import side_by_side
from pymoo_anon.study.names import CHOICE
from pymoo_anon.study.stored import bound_text
from pymoo_anon.study.study import Study
from pymoo_anon.study.tables import constraint, told_measures

#: So many points stand side by side.
MOST_BESIDE = 3

_WAY_WORDS = {
    "least loss": "of the points that hold it, the least loss",
    "knee": "the knee: beyond it every gain costs much more",
}


def chart_of(front: Front, chosen: int | None = None) -> dict[str, Any]:
    """Return the data of the chart of a front, with the chosen row."""
    subject = _subject(front)
    (table,) = front_view(subject).tables
    # All points look alike but the chosen one.
    rows = [(*row[:-2], DETAILED, CHOSEN if row[0] == chosen else "") for row in table.rows]
    return {"spec": charts(subject, ["front"])["front"], "rows": rows, **front_chart(subject, rows)}


def _subject(front: Front, suppressed: str = "mark") -> Subject:
    return checked_subject(front, front.choose(row=int(front.rows[0])), suppressed=suppressed)


def place_for(name: str) -> None:
    """Make a place for the chart of a front."""
    ui.element("div").classes("front").props(f'id="{name}" aria-hidden="true"')


def draw(name: str, data: Any, shown: int = 0) -> None:
    """Draw a front in its place, if that is on the page."""
    made = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    ui.run_javascript(f"window.frontChart?.draw({json.dumps(name)}, {made}, {shown})")


def has_front(screen: Screen) -> bool:
    """Return whether there is a front to show, or tell of it."""
    there = screen.desk.has_front()
    if not there:
        text("There is no front yet: step 4 searches it.", "warning")
    return there


def show_front(screen: Screen) -> None:
    """Show the front as a chart and a table."""
    if not has_front(screen):
        return
    study = screen.desk.study
    front = study.front
    proof = "proven: none is missing" if front.certified else "not proven: better points may exist"
    text(f"{counted(len(front), 'point', 'points')}; {proof}. A click marks a point, to compare it or to choose it.")
    place_for("points")
    is_chosen = (study.folder / CHOICE).is_file()
    chart = chart_of(front, study.choice.row + 1 if is_chosen else None)
    heading("The points")
    _explain_measures(study)
    table, below = _point_table(study), ui.element("div").classes("part")

    def choose(rows: list[int]) -> None:
        screen.chosen["rows"] = rows
        # The table stays, and with it the focus.
        table.selected = [table.rows[row - 1] for row in rows]
        draw("points", chart, rows[-1] if rows else 0)
        below.clear()
        with below, screen.told():
            _show_beside(screen, study, rows)
            _show_choice(screen, study, rows, is_chosen)

    def toggle(row: int) -> None:
        rows: list[int] = screen.chosen["rows"]
        choose([one for one in rows if one != row] if row in rows else [*rows, row][-MOST_BESIDE:])

    screen.on_point = toggle
    table.on_select(lambda event: choose(sorted(int(own["c0"]) for own in event.selection)[-MOST_BESIDE:]))
    choose([row for row in screen.chosen.get("rows", []) if row <= len(front)])


def _explain_measures(study: Study) -> None:
    known = told_measures()
    told = {one.short: known[one.short] for one in study.problem.measured if one.short in known}
    text(f"{'; '.join(told.values())}.")
    if study.problem.table.quasi_identifiers:
        text("Below a column's name stands its level: 0 keeps its values, and the highest leaves nothing of them.")


def _point_table(study: Study) -> ui.table:
    refusals, cells = study.refusals(), study.front.cells()
    n = len(study.table.quasi_identifiers)
    columns = [*cells[n:], *cells[:n]]
    titles = [("row", "right"), *((title, "right") for title, _ in columns), ("cannot be released", "left")]
    told = [in_steps(why or "") for why in refusals]
    rows = [[place + 1, *(own[place] for _, own in columns), why] for place, why in enumerate(told)]
    return show_rows(titles, rows, "The points of the front").classes("points").props("selection=multiple")


def _show_beside(screen: Screen, study: Study, rows: list[int]) -> None:
    if not rows:
        return
    heading("Side by side")
    if screen.desk.found.get("beside", ([],))[0] == rows:
        made = screen.desk.found["beside"][1]
        titles = [(column.title, "right" if place else "left") for place, column in enumerate(made.columns)]
        # Its numbers hold spaces that do not break, which `show_rows` would spell.
        cells = [[str(cell).replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in made.rows]
        show_rows(titles, cells, made.caption)
        return

    def work(job: Job) -> dict[str, Any]:
        subject = _subject(study.front, study.project.suppressed)
        return {"beside": (rows, side_by_side(subject, [row - 1 for row in rows]))}

    words = f"Compare {counted(len(rows), 'point', 'points')}: {', '.join(map(str, rows))}"
    button(words, screen.works("Counting queries", work))


def _show_choice(screen: Screen, study: Study, rows: list[int], is_chosen: bool) -> None:
    heading("The choice")
    typed: list[str] = []
    if is_chosen:
        choice = study.choice
        text(f"Chosen: row {choice.row + 1}, {choice.said}; {choice.reason}.", "good")
        screen.part(lambda: _show_less(screen, study))
        typed = [part for one in choice.requirements for part in ("--require", bound_text(one))]
        typed += ["--row", str(choice.row + 1)]
    with controls():
        bounds = ui.input("What must hold").props('hint="such as k>=5, l>=2"').bind_value(screen.chosen, "bounds")
        way = ui.select(_WAY_WORDS, value="least loss", label="Take")

        def pick(**how: Any) -> None:
            asked = parts(bounds)

            def work(job: Job) -> None:
                study.pick([constraint(part, study.table, study.problem.measured) for part in asked], **how)
                options = ["--knee"] * bool(how.get("knee")) + (["--row", str(how["row"])] if "row" in how else [])
                screen.chosen["typed"] = [*(part for own in asked for part in ("--require", own)), *options]

            screen.works("Comparing the points", work)()

        button("Choose by rule", lambda: pick(knee=way.value == "knee"), True)
        for row in rows:
            button(f"Choose row {row}", lambda row=row: pick(row=row))
    screen.same_as(command("pick", screen.desk.path.name, *screen.chosen.get("typed", typed)))


def _show_less(screen: Screen, study: Study) -> None:
    choice, how = study.choice, study.project.suppressed
    less = screen.desk.once(
        "less", "Looking for less loss", [study.folder / CHOICE], lambda: less_lost(study.front, choice, how), id(study)
    )
    text(in_steps(less))
