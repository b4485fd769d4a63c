"""Step 5: the front, points side by side, and the choice."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from pymoo_anon._messages import counted
from pymoo_anon.app.chart import chart_of, draw, place_for, subject_of
from pymoo_anon.app.desk import Desk, Job, command
from pymoo_anon.app.screen import Screen, button, heading, parts, show_rows, text
from pymoo_anon.problems.less_lost import less_lost
from pymoo_anon.publishing.report.values import side_by_side
from pymoo_anon.study.names import CHOICE
from pymoo_anon.study.stored import bound_text
from pymoo_anon.study.study import Study
from pymoo_anon.study.tables import constraint

#: So many points stand side by side.
MOST_BESIDE = 3

_WAY_WORDS = {
    "least loss": "of the points that hold it, the least loss",
    "knee": "the knee: beyond it every gain costs much more",
}


def is_read(screen: Screen) -> bool:
    """Return whether there is a front to show, or tell of it."""
    desk = screen.desk
    if not desk.has_front():
        text("There is no front yet.", "warning")
        button("Go to the search", lambda: screen.go_to(4))
        return False
    if "front" in vars(desk.study):
        return True
    if screen.wait_for("Reading the front", lambda job: len(desk.study.front)):
        button("Go to the search", lambda: screen.go_to(4))
    return False


def show_front(screen: Screen) -> None:
    """Show the front as a chart and a table."""
    if not is_read(screen):
        return
    desk = screen.desk
    study = desk.study
    front = study.front
    proof = "proven: none is missing" if front.certified else "not proven: better points may exist"
    text(f"{counted(len(front), 'point', 'points')}; {proof}. A click chooses a point.")
    place_for("points")
    chart = chart_of(front, study.choice.row + 1 if (study.folder / CHOICE).is_file() else None)
    heading("The points")
    table, below = _point_table(study), ui.element("div").classes("part")

    def choose(rows: list[int]) -> None:
        screen.chosen["rows"] = rows
        # The table stays, and with it the focus.
        table.selected = [table.rows[row - 1] for row in rows]
        draw("points", chart, rows[-1] if rows else 0)
        below.clear()
        with below, screen.told():
            _show_beside(screen, desk, rows)
            _show_choice(screen, study, rows)

    def toggle(row: int) -> None:
        rows: list[int] = screen.chosen["rows"]
        choose([one for one in rows if one != row] if row in rows else [*rows, row][-MOST_BESIDE:])

    screen.on_point = toggle
    table.on_select(lambda event: choose(sorted(int(own["c0"]) for own in event.selection)[-MOST_BESIDE:]))
    choose([row for row in screen.chosen.get("rows", []) if row <= len(front)])


def _point_table(study: Study) -> ui.table:
    refusals, cells = study.refusals(), study.front.cells()
    n = len(study.table.quasi_identifiers)
    columns = [*cells[n:], *cells[:n]]
    titles = [("row", "right"), *((title, "right") for title, _ in columns), ("cannot be released", "left")]
    rows = [[place + 1, *(own[place] for _, own in columns), why or ""] for place, why in enumerate(refusals)]
    return show_rows(titles, rows, "The points of the front").classes("points").props("selection=multiple")


def _show_beside(screen: Screen, desk: Desk, rows: list[int]) -> None:
    if not rows:
        return
    study = desk.study

    def work(job: Job) -> dict[str, Any]:
        made = side_by_side(subject_of(study.front, study.project.suppressed), [row - 1 for row in rows])
        return {"beside": (rows, made)}

    heading("Side by side")
    if desk.found.get("beside", ([],))[0] == rows:
        made = desk.found["beside"][1]
        titles = [(column.title, "right" if place else "left") for place, column in enumerate(made.columns)]
        # Its numbers hold spaces that do not break, which `show_rows` would spell.
        cells = [[str(cell).replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in made.rows]
        show_rows(titles, cells, made.caption)
    else:
        button(
            f"Compare {counted(len(rows), 'point', 'points')}: {', '.join(map(str, rows))}",
            screen.does(lambda: desk.start("Counting queries", work)),
        )


def _show_choice(screen: Screen, study: Study, rows: list[int]) -> None:
    heading("The choice")
    typed: list[str] = []
    if (study.folder / CHOICE).is_file():
        with screen.told():
            choice = study.choice
            text(f"Chosen: row {choice.row + 1}, {choice.said}; {choice.reason}.", "good")
            text(less_lost(study.front, choice, study.project.suppressed))
            typed = [part for one in choice.requirements for part in ("--require", bound_text(one))]
            typed += ["--row", str(choice.row + 1)]
    with ui.element("div").classes("controls"):
        bounds = ui.input("What must hold", value=screen.chosen.get("bounds", ""), placeholder="k>=5, l>=2")
        way = ui.select(_WAY_WORDS, value=screen.chosen.get("way", "least loss"), label="Take")
        button("Choose by rule", screen.does(lambda: _pick(screen, bounds, way.value)), True)
        for row in rows:
            button(f"Choose row {row}", screen.does(lambda row=row: _pick(screen, bounds, row=row)))
    screen.same_as(command("pick", screen.desk.path.name, *screen.chosen.get("typed", typed)))


def _pick(screen: Screen, bounds: ui.input, way: str = "", row: int | None = None) -> None:
    screen.chosen |= {"bounds": bounds.value, **({"way": way} if way else {})}
    study, texts, knee = screen.desk.study, parts(bounds), way == "knee"
    study.pick([constraint(part, study.table, study.problem.measured) for part in texts], row=row, knee=knee)
    typed = [part for own in texts for part in ("--require", own)]
    screen.chosen["typed"] = [*typed, *["--knee"] * knee, *([] if row is None else ["--row", str(row)])]
    screen.desk.changed()
