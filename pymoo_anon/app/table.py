"""The beginning and step 1: a table, its risk, and the roles of its columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nicegui import ui

from pymoo_anon._messages import counted, listed, percent
from pymoo_anon.app.desk import Job, command
from pymoo_anon.app.screen import Screen, button, check_box, heading, show_rows, text
from pymoo_anon.comparison.uniques import SMALL_CLASSES, Uniqueness, uniqueness
from pymoo_anon.publishing.report.cells import one_line
from pymoo_anon.study.editing import change_role
from pymoo_anon.study.interrupt import write_new
from pymoo_anon.study.names import HIERARCHIES, file_names, source_of
from pymoo_anon.study.project import ROLES
from pymoo_anon.study.proposal import Proposer, reading_of

# So many pairs, columns and minimal sets are shown, and values of a column.
_SETS_SHOWN, _MINIMAL_SHOWN, _VALUES_SHOWN = 5, 6, 3

# The filter reads the columns: names, examples and roles.
_TITLES = [("column", "left"), ("values", "left"), ("role", "left")]
_OPTIONS = "".join(f"<option>{role}</option>" for role in ROLES)
_CELL_TEMPLATES = {
    0: "<b>{{ props.row.c0 }}</b><br>{{ props.row.c3 }}",
    1: "{{ props.row.c4 }}<br><span class='faint'>{{ props.row.c1 }}</span>",
    2: f"""
      <select :value="props.row.c2" :aria-label="'role of ' + props.row.c0"
              @change="(event) => $parent.$emit('role', [props.row.id, event.target.value])">{_OPTIONS}</select>
      <br><span class='faint'>{{{{ props.row.c5 }}}}</span>""",
}


def show_beginning(screen: Screen) -> None:
    """Show the files of the folder, and the risk of a table."""
    desk = screen.desk
    projects, tables = desk.files()
    if projects:
        heading("Open a project")
        _show_choices(projects, lambda name: screen.does(lambda: desk.open(name)))
    heading("Or begin with a table" if projects else "Begin with a table")
    if tables:
        text("The first look counts who is unique, and writes nothing.")
    else:
        text(f"There is no table in {desk.folder.resolve()}: put a CSV, Excel or Parquet file there.")
    _show_choices(tables, lambda name: screen.works(f"Reading {name}", lambda job: _begun(screen, job, name)))
    if "table" in desk.found:
        _show_begun(screen, **desk.found)


def _show_choices(names: list[str], chooses: Any) -> None:
    with ui.element("div").classes("choices"):
        for name in names:
            button(name, chooses(name))


def _begun(screen: Screen, job: Job, name: str) -> dict[str, Any]:
    table = screen.desk.inside(screen.desk.folder / name)
    proposer = Proposer(reading_of(source_of(name, table.parent), "auto", None))
    known = [own.profile.name for own in proposer.looks if own.role == "quasi-identifier"]
    job.show("Counting unique rows")
    return {"table": table, "proposer": proposer, "risk": uniqueness(proposer.frame, known) if known else None}


def _show_begun(screen: Screen, table: Path, proposer: Proposer, risk: Uniqueness | None) -> None:
    heading(f"The risk of {table.name} as it stands")
    if risk is None:
        text("No column looks as if others knew it of a person: the roles of columns say so, and can be changed.")
    else:
        _show_risk(risk)
    stem = Path(file_names([table.stem])[0]).stem
    replaces = check_box("Replace files that are there")
    replaces.set_visibility((table.parent / f"{stem}.toml").exists())

    def begin(job: Job) -> None:
        screen.desk.inside(table.parent / HIERARCHIES)
        texts = proposer.propose(table.parent / f"{stem}.toml").texts
        write_new(table.parent, texts, [table], bool(replaces.value))
        screen.desk.open(f"{stem}.toml")

    text("Next, a project: a file with the role of each column and all that follows, which you can change.")
    words = f"Begin a project: write {stem}.toml and drafts of hierarchies"
    button(words, screen.works("Drafting hierarchies", begin), True)
    screen.same_as(command("risk", table.name), command("init", table.name))


def _show_risk(found: Uniqueness) -> None:
    unique, whole = found.below(found.columns)[2], listed(map(str, found.columns))
    text(f"{unique:,} of {found.n_rows:,} rows ({percent(unique / found.n_rows)}) are unique by {whole}.")
    text("Whoever knows these of a person finds the row. A class is all rows that agree.")
    rows = [[listed(map(str, own)), *(f"{n:,}" for n in found.below(own).values())] for own in found.worst(_SETS_SHOWN)]
    titles = ["unique rows", *(f"in classes below {least}" for least in SMALL_CLASSES[1:])]
    show_rows([("by", "left"), *((title, "right") for title in titles)], rows, "Unique rows")
    if added := [f"{name} ({n:,})" for name, n in found.added.items() if n]:
        text(f"Fewer unique rows without: {', '.join(added)}.")
    minimal = found.minimal.head(_MINIMAL_SHOWN).itertuples(index=False, name=None)
    if told := [f"{listed(map(str, own))} ({n:,})" for own, n in minimal]:
        text(f"Smallest sets that single rows out: {'; '.join(told)}.")


def show_table(screen: Screen) -> None:
    """Show all columns with their roles, which a click changes."""
    desk, project, known = screen.desk, screen.desk.project(), screen.desk.text
    looks = [own for own in desk.proposer.looks if own.profile.name in project.columns]
    text(f"{counted(looks[0].profile.n_rows, 'row', 'rows')}, {counted(len(looks), 'column', 'columns')}.")
    text("A role says what becomes of a column. They are guesses: read all, and change what is wrong.")
    with ui.expansion("What the roles mean").props("dense"):
        show_rows([("role", "left"), ("a column with it", "left")], [*ROLES.items()], "Roles")
    if undecided := project.with_role("other"):
        text(f"Not decided: {', '.join(undecided)}. Nothing is searched until these have another role.", "warning")
    words = ui.input("Find a column").props("dense clearable").classes("find")
    words.set_visibility(len(looks) > 12)
    rows = []
    for profile, kind, guess, reason in looks:
        role = project.columns[profile.name].role
        told = reason if role == guess else f"your choice; the guess is {guess}: {reason}"
        examples = " · ".join(one_line(value)[:40] for value in profile.values[:_VALUES_SHOWN])
        rows.append([profile.name, examples, role, kind, profile, told])
    table = show_rows(_TITLES, rows, "Columns", _CELL_TEMPLATES).classes("columns")
    words.bind_value_to(table, "filter")

    def change(event: Any) -> None:
        place, role = event.args
        name = looks[place].profile.name

        def work(job: Job) -> None:
            try:
                change_role(project, desk.proposer, name, role, known)
            finally:
                # After an error, the role is shown as it was.
                desk.changed()

        screen.works(f"Changing the role of {name}", work)()

    table.on("role", change)
    text(f"All roles stand in {desk.path.name}, which the commands read.")
    heading("The risk of the table as it stands")
    if "risk" in desk.found:
        _show_risk(desk.found["risk"])
    else:
        names = project.with_role("quasi-identifier")
        count = screen.works("Counting unique rows", lambda job: {"risk": uniqueness(desk.proposer.frame, names)})
        button("Count unique rows", count)
    screen.same_as(command("init", desk.named(project.data)), command("risk", desk.path.name))
