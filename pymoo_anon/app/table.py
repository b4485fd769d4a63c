"""Step 1: the columns of the table, their guessed roles, and the risk."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from pymoo_anon._messages import counted, plain
from pymoo_anon.app.begin import show_risk
from pymoo_anon.app.desk import Job, command
from pymoo_anon.app.screen import Screen, button, heading, text
from pymoo_anon.comparison.uniques import uniqueness
from pymoo_anon.publishing.report.cells import one_line
from pymoo_anon.study.project import ROLES
from pymoo_anon.study.proposal import Proposer, change_role
from pymoo_anon.table.guesses import kind_of_values

# So many values are shown of a column.
_VALUES_SHOWN = 3

_TEMPLATES = {
    "column": "<b>{{ props.row.name }}</b><br>{{ props.row.kind }}",
    "values": "{{ props.row.values }}<br><span class='faint'>{{ props.row.examples }}</span>",
    "role": """
      <select :value="props.row.role" :aria-label="'role of ' + props.row.name"
              @change="(event) => $parent.$emit('role', [props.row.name, event.target.value])">
        <option v-for="role in props.row.roles" :key="role" :value="role">{{ role }}</option>
      </select><br><span class='faint'>{{ props.row.reason }}</span>""",
}


def is_counted(screen: Screen) -> bool:
    """Return whether the guesses about the table are there, or wait for them."""
    desk = screen.desk
    if desk.is_counted():
        return True
    screen.wait_for("Reading the table", lambda job: len(desk.guesses))
    return False


def show_table(screen: Screen) -> None:
    """Show all columns with their roles, which a click changes."""
    desk = screen.desk
    if not is_counted(screen):
        return
    rows = _column_rows(screen, desk.proposer)
    n_rows = desk.proposer.profiles[0].n_rows
    text(f"{counted(n_rows, 'row', 'rows')}, {counted(len(rows), 'column', 'columns')}.")
    text("A role says what becomes of a column: read all, and change what is wrong.")
    if undecided := [row["name"] for row in rows if row["role"] == "other"]:
        text(f"Not decided: {', '.join(undecided)}. Nothing is searched until these have another role.", "warning")
    # The filter reads the fields.
    fields = {"column": "name", "values": "examples", "role": "role"}
    columns = [{"name": name, "field": fields[name], "label": name, "align": "left"} for name in _TEMPLATES]
    words = ui.input("Find a column").props("dense clearable").classes("find") if len(rows) > 12 else None
    table = ui.table(columns=columns, rows=rows, row_key="name", pagination=0)
    table.props('flat dense wrap-cells hide-pagination aria-label="Columns"').classes("columns")
    for name, cell in _TEMPLATES.items():
        table.add_slot(f"body-cell-{name}", f'<q-td :props="props">{cell}</q-td>')
    if words is not None:
        words.bind_value_to(table, "filter")

    def change(event: Any) -> None:
        name, role = event.args
        with screen.told():
            if role not in ROLES:
                raise ValueError(f"role must be one of {', '.join(ROLES)}, got {role!r}")
            change_role(desk.project(), desk.proposer, name, role, screen.chosen["text"])
            desk.changed()
        screen.show()

    table.on("role", change)
    text(f"All roles stand in {desk.path.name}, which the commands read.")
    _show_risk(screen)
    screen.same_as(command("init", desk.named(desk.project().data)), command("risk", desk.path.name))


def _column_rows(screen: Screen, proposer: Proposer) -> list[dict[str, Any]]:
    desk = screen.desk
    screen.chosen["text"] = desk.text
    project, guesses, rows = desk.project(), desk.guesses, []
    for profile in proposer.profiles:
        if profile.name not in project.columns:
            continue
        role, (guessed, reason) = project.columns[profile.name].role, guesses[profile.name]
        examples = [one_line(value)[:40] for value in profile.values[:_VALUES_SHOWN]]
        rows.append(
            {
                "name": plain(profile.name),
                "kind": kind_of_values(profile),
                "values": str(profile),
                "examples": " · ".join(examples),
                "role": role,
                "roles": list(ROLES),
                "reason": reason if role == guessed else f"your choice; the guess is {guessed}: {reason}",
            }
        )
    return rows


def _show_risk(screen: Screen) -> None:
    desk = screen.desk

    def work(job: Job) -> dict[str, Any]:
        names = desk.project().with_role("quasi-identifier")
        return {"risk": uniqueness(desk.proposer.frame, names)}

    heading("The risk of the table as it stands")
    if "risk" in desk.found:
        show_risk(desk.found["risk"])
    else:
        button("Count unique rows", screen.does(lambda: desk.start("Counting unique rows", work)))
