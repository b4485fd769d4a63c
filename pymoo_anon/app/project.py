"""Steps 1 to 3: the table, its hierarchies, and requirements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import tomlkit
from nicegui import ui

from pymoo_anon._messages import counted, examples, label_words, listed, percent, plain
from pymoo_anon.app.desk import ARX, Desk, Job
from pymoo_anon.app.screen import Screen, button, heading, parts, show_rows, text, warn
from pymoo_anon.comparison.uniques import Uniqueness, uniqueness
from pymoo_anon.publishing.report.cells import one_line
from pymoo_anon.study import options
from pymoo_anon.study.arx import taken_over
from pymoo_anon.study.interrupt import write_new
from pymoo_anon.study.names import HIERARCHIES, MISSING, RECODINGS, ROLES, SUPPRESSED, Reading, path_from, source_of
from pymoo_anon.study.options import command, numeral, read_bounds
from pymoo_anon.study.project import Project
from pymoo_anon.study.proposal import Proposer, change_roles, reading_of
from pymoo_anon.study.tables import Roles, check_same, constraint, in_words, measures_by_name, told_measures, unmet
from pymoo_anon.table import hierarchy_edits as edits
from pymoo_anon.table.delimited import decoded
from pymoo_anon.table.guesses import Profile
from pymoo_anon.table.hierarchy import Hierarchy

# So many pairs, columns and minimal sets are shown, and values of a column.
_SETS_SHOWN, _MINIMAL_SHOWN, _VALUES_SHOWN = 5, 6, 3

# So many groups of a level, and values of a group, are listed. A hierarchy that is imported has so many bytes at most.
_GROUPS_SHOWN, _MOST_MEMBERS, _MOST_IMPORTED = 300, 2000, 20_000_000

# The filter reads the columns: names, examples and roles. Until a role is written it is shown as it was.
_CELL = '<q-td :props="props">{}</q-td>'
_COLUMN_CELLS = [
    "<b>{{ props.row.c0 }}</b><br>{{ props.row.c3 }}",
    "{{ props.row.c4 }}<br><span class='faint'>{{ props.row.c1 }}</span>",
    f"""<select :value="props.row.c2" :aria-label="'role of ' + props.row.c0" @change="(event) => {{
      $parent.$emit('role', [props.row.id, event.target.value]); event.target.value = props.row.c2 }}">
    {"".join(f"<option>{role}</option>" for role in ROLES)}</select>
    <br><span class='faint'>{{{{ props.row.c5 }}}}</span>""",
]
_SHARE_CELL = """<span class="percent">{{ props.row.c3 }}</span>
  <span class="bar" :style="{width: 'calc(min(140px, 20vw) * ' + props.row.c4 + ')'}"></span>"""


def show_beginning(screen: Screen) -> None:
    """Show the files of the folder, and the risk of a table."""
    desk, (projects, tables) = screen.desk, screen.desk.files()
    if projects:
        heading("Open a project")
        for name in projects:
            button(name, desk.open, name)
    heading("Or begin with a table" if projects else "Begin with a table")
    none = f"There is no table in {desk.folder.resolve()}: put a CSV, Excel or Parquet file there."
    text("The first look counts who is unique, and writes nothing." if tables else none)
    for name in tables:
        button(name, partial(screen.choose, looked=name))
    ui.input("Sheet or table, if a file has several").bind_value(screen.chosen, "table")
    ui.input("Encoding, if not UTF-8", placeholder="cp1252").bind_value(screen.chosen, "encoding")
    ui.input("Column names, if it has none", placeholder="age,zip").bind_value(screen.chosen, "names")
    if "looked" in screen.chosen:
        screen.part(partial(show_look, screen))


def show_look(screen: Screen) -> None:
    """Show the risk of a table that is chosen, and begin a project."""
    desk, name, proposer = screen.desk, screen.chosen["looked"], None
    table, names, encoding = (screen.chosen.get(key) or None for key in ("table", "names", "encoding"))
    path, reading = desk.inside(desk.folder / name), Reading(source_of(name, desk.folder, table))
    if name.lower().endswith(ARX):
        heading(f"{name}, a project of ARX")
    else:
        proposer = desk.look(reading_of(reading.source, "auto", names, encoding))
        reading = proposer.reading
        heading(f"The risk of {name} as it stands")
        screen.part(partial(_show_risk, desk, proposer, proposer.known))
    stem = reading.source.stem

    def begin(job: Job) -> None:
        desk.inside(desk.folder / HIERARCHIES)
        if proposer is None:
            taken = taken_over(path, stem)
            texts, told = taken.files, [f"Not taken over: {line}." for line in taken.left]
        else:
            made = proposer.propose(desk.folder / f"{stem}.toml")
            advice = 'If so, add it to "Texts that mean: no value", and draft the column anew at step 2.'
            asked = [f"{name}: {words} {advice}" for name, words in made.questions.items()]
            texts, told = made.texts, [*asked, *made.hints]
        write_new(desk.folder, texts, [path], bool(replaces.value))
        desk.open(f"{stem}.toml")
        desk.questions = told

    text("Next, a project: a file with the role of each column and all that follows, which you can change.")
    replaces = ui.checkbox("Replace files that are there")
    words = f"Begin a project: write {stem}.toml and {'drafts of ' if proposer else ''}hierarchies"
    button(words, desk.start, "Drafting hierarchies", begin, first=True)
    screen.same_as(_init_of(reading, desk), partial(command, "risk", f"{stem}.toml"))


def _init_of(reading: Reading, desk: Desk) -> Callable[[], str]:
    (data, table), names = reading.source.named_from(desk.folder), options.joined(reading.names or ())
    return partial(command, "init", data, table=table, names=names, encoding=reading.encoding)


def _show_risk(desk: Desk, proposer: Proposer, names: list[str]) -> None:
    if not names:
        text("No column looks as if others knew it of a person: the roles of columns say so, and can be changed.")
        return
    found = desk.once("risk", "Counting unique rows", [], _risk_of, proposer, names)
    titles, *rows = found.table(_SETS_SHOWN)
    _, unique, share, *_ = rows[0]
    text(f"{unique} of {found.n_rows:,} rows ({share}) are unique by {listed(map(str, found.columns))}.")
    text("Whoever knows these of a person finds the row. A class is all rows that agree.")
    show_rows(titles, rows, "Unique rows", right=titles[1:])
    text(f"Fewer unique rows without: {', '.join(found.fewer)}." if found.fewer else "")
    text(*found.singled_out(_MINIMAL_SHOWN))


def _risk_of(proposer: Proposer, names: list[str]) -> Uniqueness:
    return uniqueness(proposer.frame, names)


def show_table(screen: Screen) -> None:
    """Show all columns with their roles, which a click changes."""
    desk, project = screen.desk, screen.desk.project()
    every = {own.name: own for own in desk.proposer.profiles}
    n_rows = desk.proposer.profiles[0].n_rows
    text(f"{counted(n_rows, 'row', 'rows')}, {counted(len(every), 'column', 'columns')}.")
    screen.part(partial(check_same, project.data, [*every], [*project.columns]))
    warn(*desk.questions)
    text("A role says what becomes of a column. They are guesses: read all, and change what is wrong.")
    roles = ["role", "a column with it"], [*ROLES.items()], "Roles"
    screen.folded("What the roles mean", partial(show_rows, *roles))
    _show_roles(screen, project, [own for name, own in every.items() if name in project.columns])
    heading("How it is read")

    def emptied(words: str) -> dict[tuple[str, ...], Any]:
        return {("data", "empty"): [*filter(None, options.parts_of(words))]}

    screen.ask(ui.select, "Rows without a value", ("data", "missing"), options=MISSING, value=project.missing)
    known = options.joined(project.reading.empty)
    screen.ask(ui.input, "Texts that mean: no value", emptied, desk.changed, value=known)
    text(f"All of this stands in {desk.path.name}, which the commands read.")
    heading("The risk of the table as it stands")
    names = project.with_role("quasi-identifier")
    screen.folded("Count unique rows", partial(_show_risk, desk, desk.proposer, names))
    screen.same_as(_init_of(project.reading, desk), partial(command, "risk", desk.path.name))


def _show_roles(screen: Screen, project: Project, profiles: Sequence[Profile]) -> None:
    desk, known, undecided, rows = screen.desk, screen.known, project.with_role("other"), []
    for profile in profiles:
        role, (guess, reason) = project.columns[profile.name].role, desk.proposer.roles[profile.name]
        told = reason if role == guess else f"your choice; the guess is {guess}: {reason}"
        shown = " · ".join(one_line(value)[:40] for value in profile.values[:_VALUES_SHOWN])
        rows.append([profile.name, shown, role, profile.kind, profile, told])

    def found() -> list[str]:
        # As the filter of the table finds them.
        sought = (words.value or "").lower()
        return [row[0] for row in rows if row[2] == "other" and any(sought in cell.lower() for cell in row[:3])]

    def change(names: list[str], role: str) -> None:
        told = f"Changing the role of {examples(names, plain)}"
        desk.start(told, lambda job: change_roles(project, desk.proposer, names, role, known))

    # It tells all that is wrong with the roles.
    screen.part(partial(desk.project, decided=True))
    words = ui.input("Find a column").bind_value(screen.chosen, "sought").props("dense clearable").classes("find")
    words.set_visibility(len(profiles) > 12)
    if len(undecided) > 1:
        one = ui.select([*ROLES][:-1], value="drop", label="Role of those not decided")
        button("Give it to all of them that are found", lambda: change(found(), one.value))
    table = show_rows(["column", "values", "role"], rows, "Columns").classes("columns")
    for i, cell in enumerate(_COLUMN_CELLS):
        table.add_slot(f"body-cell-c{i}", _CELL.format(cell))
    words.bind_value_to(table, "filter")
    table.on("role", lambda event: change([rows[event.args[0]][0]], event.args[1]))


def show_hierarchies(screen: Screen) -> None:
    """Show one hierarchy, and the ways to change it."""
    desk, files = screen.desk, screen.desk.project().quasi_identifiers
    if not files:
        raise ValueError("There is no quasi-identifier: step 1 names them.")
    name: str = screen.chosen.get("column", "")
    name = name if name in files else next(iter(files))
    file, n_earlier = files[name], len(desk.earlier.get(name, []))
    columns = {own: plain(own) for own in files}

    def draft(job: Job) -> None:
        desk.save(name, desk.proposer.draft(name), desk.hierarchy(name).text)

    async def take(event: Any) -> None:
        data, named = await event.file.read(), event.file.name
        desk.start("Importing", lambda job: desk.save(name, decoded(data, named)))

    def refuse() -> None:
        raise ValueError(
            f"a hierarchy must be a .csv or .txt file of at most {_MOST_IMPORTED:,} bytes, got another one"
        )

    text("A level says how coarse a column is: the search gives each column the level that serves.")
    ui.select(columns, value=name, label="Column", on_change=lambda own: screen.choose(column=own.value, level=1))
    undo = button(f"Undo ({n_earlier})", desk.start, "Undoing", lambda job: desk.undo(name))
    undo.set_enabled(n_earlier > 0)
    button("Draft anew", desk.start, "Drafting", draft)
    export = button("Export", lambda: ui.download.content(file.read_bytes(), file.name))
    export.props('aria-label="Export in the layout of ARX"')
    upload = ui.upload(on_upload=take, on_rejected=refuse, auto_upload=True, max_file_size=_MOST_IMPORTED)
    upload.classes("import").props("""label="Import (ARX's layout)" accept=".csv,.txt" flat bordered""")
    screen.part(lambda: _show_levels(screen, name, desk.hierarchy(name)))
    path = path_from(desk.folder, file)
    screen.same_as(*(partial(command, "hierarchy", part, path) for part in ("check", "show")))


def _show_levels(screen: Screen, name: str, opened: edits.OpenHierarchy) -> None:
    desk, hierarchy = screen.desk, opened.hierarchy
    for finding in opened.findings:
        text(str(finding), kind="warning" if finding.severity != "note" else "")
    text("" if opened.findings else "The check finds nothing.", kind="good")
    if hierarchy is None or hierarchy.length == 0:
        warn("It has no level above the values: undo, or import another one.")
        return
    heading("Levels")
    level = min(screen.chosen.get("level", 1), hierarchy.length)
    n_groups = enumerate(hierarchy.n_groups.tolist())
    levels = {own: f"Level {own}: {counted(n, 'group', 'groups')}" for own, n in n_groups if own}
    toggle = ui.toggle(levels, value=level, on_change=lambda event: screen.choose(level=event.value))
    toggle.props("no-caps dense unelevated")
    labels, n_values, rows = hierarchy.labels[level], np.bincount(hierarchy.groups[level]), opened.rows_of(level)
    most, total = max(int(rows.max()), 1), max(int(rows.sum()), 1)
    made = [
        [one_line(label_words(label)), f"{n:,}", f"{own:,}", percent(own / total), f"{own / most:.3f}"]
        for label, n, own in zip(labels, n_values.tolist(), rows.tolist(), strict=True)
    ]
    table = show_rows(["group", "values", "rows", "share"], made[:_GROUPS_SHOWN], "Groups", right=["values", "rows"])
    table.classes("groups").props("selection=multiple").add_slot("body-cell-c3", _CELL.format(_SHARE_CELL))
    if len(made) > _GROUPS_SHOWN:
        text(f"{len(made) - _GROUPS_SHOWN:,} groups more are not listed.")

    def change(make: Callable[[], Hierarchy]) -> None:
        desk.start("Writing the hierarchy", lambda job: desk.save(name, str(make().to_csv()), opened.text))

    show_changes = partial(_show_changes, hierarchy, level, table, change)
    below = screen.part(show_changes)
    # The table stays, and with it the focus.
    table.on_select(lambda: screen.part(show_changes, below))
    if desk.proposer.profile(name).kind == "numbers":
        heading("Intervals")
        widths = ui.input("Widths, from fine to coarse", placeholder="5, 10, 20").bind_value(screen.chosen, "widths")

        def make() -> Hierarchy:
            return edits.with_widths(hierarchy, [numeral("widths", own) for own in parts(widths)])

        button("Make intervals", change, make)


def _show_changes(hierarchy: Hierarchy, level: int, table: ui.table, change: Callable[..., object]) -> None:
    labels, own = hierarchy.labels[level], hierarchy.labels[level - 1]
    places = sorted(row["id"] for row in table.selected)
    chosen = [labels[place] for place in places]
    if not chosen:
        text("Choose groups to rename, merge, split or move them.")
        return
    label = ui.input("Label", value=str(chosen[0] or ""))
    words = "Rename" if len(chosen) == 1 else f"Merge {len(chosen)} groups"
    button(words, change, lambda: edits.merged(hierarchy, level, chosen, label.value), first=True)
    if len(chosen) > 1:
        return
    inside = np.unique(hierarchy.groups[level - 1][hierarchy.groups[level] == places[0]])[:_MOST_MEMBERS]
    shown = [one_line(label_words(one)) for one in labels[:_GROUPS_SHOWN]]
    others = {place: one for place, one in enumerate(shown) if place != places[0]}
    values = {place: one_line(label_words(own[place])) for place in inside.tolist()}
    members = ui.select(values, multiple=True, value=[], label="Members").props("use-chips")
    new = ui.input("New label")

    def taken() -> list[Any]:
        return [own[place] for place in members.value]

    button("Split off", change, lambda: edits.split(hierarchy, level, taken(), new.value or ""))
    if others:
        target = ui.select(others, value=next(iter(others)), label="Other group")
        button("Move there", change, lambda: edits.moved(hierarchy, level, taken(), labels[target.value]))


def show_requirements(screen: Screen) -> None:
    """Show the bounds, adversaries and audiences of the project."""
    desk, project = screen.desk, screen.desk.project()
    content: dict[str, Any] = tomlkit.parse(screen.known).unwrap()
    bounds = read_bounds(content.get("search", {}).get("require", []))
    adversaries = content.get("adversary", [])
    audiences = [{**own, "require": read_bounds(own["require"])} for own in content.get("audience", [])]

    def check() -> None:
        own = desk.project(decided=True)
        wrong = desk.once("check", "Checking what must hold", own.files, unmet, own)
        warn(*wrong)
        text("" if wrong else "Each bound can be met.", kind="good")

    ask = screen.checked(check)
    heading("Required of every release")
    text("" if bounds else "Nothing is required yet: the search then shows the whole front.")
    said = [f"{in_words(project, [bound])} ({bound})" for bound in bounds]
    _show_entries(screen, "Require", ("search", "require"), bounds, said)
    heading("Against somebody who knows only some columns")
    said = [in_words(project, options.bounds_of_adversary(own)) for own in adversaries]
    _show_entries(screen, "Add the adversary", ("adversary",), adversaries, said)
    heading("For whom")
    text("Each audience gets a release that holds together with those before it, the coarsest first. None is needed.")
    said = [f"{own['name']}: {in_words(project, own['require'])}" for own in audiences]
    _show_entries(screen, "Add the audience", ("audience",), audiences, said)
    heading("How it is recoded")
    _show_recoding(project, ask)
    text(f"All of this stands in {desk.path.name}, which the commands read.")
    screen.same_as(partial(command, "search", desk.path.name))


def _show_entries(screen: Screen, words: str, key: tuple[str, ...], entries: list[Any], said: list[str]) -> None:
    """Show entries of the project file, to remove or add one."""
    for place, told in enumerate(said):
        left = [*entries[:place], *entries[place + 1 :]]
        with ui.element("div").classes("controls"):
            text(told)
            button("Remove", screen.write, {key: left}).props(f'flat dense aria-label="Remove: {place + 1}"')
    project = screen.desk.project()
    whom: Any = None
    if key == ("adversary",):
        whom = ui.select(list(project.quasi_identifiers), multiple=True, value=[], label="Known columns")
    elif key == ("audience",):
        whom = ui.input("Name").bind_value(screen.chosen, "name")
    bound = _bound_fields(project)

    def add() -> None:
        own, named = bound(), whom and whom.value
        if whom is None:
            made = list(dict.fromkeys([*entries, own]))
        elif not named:
            wanted = "known columns" if key == ("adversary",) else "a name"
            raise ValueError(f"an {key[-1]} must have {wanted}, got none")
        elif key == ("adversary",):
            made = [*entries, {"known": named, "require": [own]}]
        else:
            # Another bound for the same name is of the same audience.
            by_name = {one["name"]: one for one in entries}
            before = by_name.get(named, {"name": named, "require": []})
            made = [*{**by_name, named: {**before, "require": [*before["require"], own]}}.values()]
        screen.chosen.pop("name", None)
        screen.write({key: made})

    button(words, add, first=whom is None)


def _bound_fields(project: Project) -> Callable[[], str]:
    """Make the fields of a bound, and return its reader."""
    kinds = measures_by_name()
    names = {name: words for name, words in told_measures().items() if not kinds[name].numbered}
    measure = ui.select(names, value="k", label="Measure")
    column, limit = ui.select([""], value="", label="Of"), ui.number()

    def fit() -> None:
        kind = kinds[measure.value]
        own = {name: plain(name) for name in project.with_role(kind.role or "")}
        every = {"": "every sensitive column"} if kind.every else {}
        # The only column of a role is read unasked.
        choices = {**every, **own} if len(own) > 1 else {"": ""}
        column.set_options(choices, value=next(iter(choices)))
        column.set_visibility(len(choices) > 1)
        # A bound of one measure says little or nothing of another one.
        limit.set_value(5 if measure.value == "k" else None)
        limit.set_label(f"Bound, at {'least' if kind.maximize else 'most'}")

    measure.on_value_change(fit)
    fit()

    def spelled() -> str:
        sign = ">=" if kinds[measure.value].maximize else "<="
        if limit.value is None or limit.value < 0:
            raise ValueError(f"a bound must be a number of at least 0, got {limit.value or 'none'}")
        bound = f"{measure.value}{':' * bool(column.value)}{column.value}{sign}{limit.value:.15g}"
        constraint(bound, Roles(*project.roles))
        return bound

    return spelled


def _show_recoding(project: Project, ask: Callable[..., Any]) -> None:
    search, usual = project.search, options.usual(project.with_role("sensitive"))
    goals = options.measures_in(search["objectives"]) if "objectives" in search else usual
    measures = {**{name: name for name in goals}, **told_measures()}
    known, limit = [*RECODINGS][search.get("local", False)], search.get("suppression", options.Settings.suppression)

    def recoded(chosen: str) -> dict[tuple[str, ...], Any]:
        # The algorithm is of the other recoding. Where classes have levels of their own, nothing is suppressed.
        own = {"recoding": chosen, "suppression": None if chosen == "local" else rule.value, "algorithm": None}
        return {("search", key): value for key, value in own.items()}

    def traded(names: list[str]) -> dict[tuple[str, ...], Any]:
        return {("search", "objectives"): [] if names == usual else names}

    recoding = ask(ui.select, "Recoding", recoded, options=RECODINGS, value=known)
    rule = ask(ui.input, "Suppress at most: a share, or rows", ("search", "suppression"), value=limit)
    rule.bind_visibility_from(recoding, "value", lambda chosen: chosen != "local")
    ask(ui.select, "Trade off", traded, options=measures, multiple=True, value=goals)
    ask(ui.select, "Suppressed rows", ("release", "suppressed"), options=SUPPRESSED, value=project.suppressed)
