"""Steps 1 to 3: the table, its hierarchies, and requirements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit
from nicegui import ui

from pymoo_anon._messages import counted, examples, label_words, listed, percent, plain
from pymoo_anon.app.desk import Desk, Job
from pymoo_anon.app.screen import Screen, button, check_box, controls, heading, parts, show_rows, text, value_of
from pymoo_anon.comparison.uniques import Uniqueness, uniqueness
from pymoo_anon.publishing.report.cells import one_line
from pymoo_anon.study import options
from pymoo_anon.study.interrupt import write_new
from pymoo_anon.study.names import HIERARCHIES, MISSING, ROLES, SUPPRESSED, Reading, path_from, source_of
from pymoo_anon.study.options import command, measures_in, numeral, read_bounds
from pymoo_anon.study.project import Project
from pymoo_anon.study.proposal import Proposer, change_roles, reading_of
from pymoo_anon.study.tables import Roles, constraint, in_words, measures_by_name, told_measures, unmet
from pymoo_anon.table import hierarchy_edits as edits
from pymoo_anon.table.delimited import decoded
from pymoo_anon.table.guesses import Profile
from pymoo_anon.table.hierarchy import Hierarchy

# So many pairs, columns and minimal sets are shown, and values of a column.
_SETS_SHOWN, _MINIMAL_SHOWN, _VALUES_SHOWN = 5, 6, 3

# Treatments of rows without a value, in words.
_MISSING_WORDS = dict(zip(MISSING, ("are refused", "are left out", "stay: none is a value of its own"), strict=True))

# So many groups of a level, and values of a group, are listed.
_GROUPS_SHOWN, _MOST_MEMBERS = 300, 2000

# So many bytes a hierarchy that is imported may have.
_MOST_IMPORTED = 20_000_000

# The filter reads the columns: names, examples and roles.
_OPTIONS = "".join(f"<option>{role}</option>" for role in ROLES)
_COLUMN_CELLS = {
    0: "<b>{{ props.row.c0 }}</b><br>{{ props.row.c3 }}",
    1: "{{ props.row.c4 }}<br><span class='faint'>{{ props.row.c1 }}</span>",
    2: f"""
      <select :value="props.row.c2" :aria-label="'role of ' + props.row.c0"
              @change="(event) => $parent.$emit('role', [props.row.id, event.target.value])">{_OPTIONS}</select>
      <br><span class='faint'>{{{{ props.row.c5 }}}}</span>""",
}
_SHARE_CELL = """
  <span class="percent">{{ props.row.c3 }}</span>
  <span class="bar" :style="{width: 'calc(min(140px, 20vw) * ' + props.row.c4 + ')'}"></span>"""

_RECODING_WORDS = {
    "full-domain": "whole columns, each at one level",
    "local": "every class of rows at levels of its own",
}
#: Treatments of suppressed rows, in words.
SUPPRESSED_WORDS = dict(zip(SUPPRESSED, ("stay as rows of *", "are left out"), strict=True))


# --- before there is a project ----------------------------------------------------------------------------------------


def show_beginning(screen: Screen) -> None:
    """Show the files of the folder, and the risk of a table."""
    desk, (projects, tables) = screen.desk, screen.desk.files()
    if projects:
        heading("Open a project")
        with controls():
            for name in projects:
                button(name, screen.does(partial(desk.open, name)))
    heading("Or begin with a table" if projects else "Begin with a table")
    none = f"There is no table in {desk.folder.resolve()}: put a CSV, Excel or Parquet file there."
    text("The first look counts who is unique, and writes nothing." if tables else none)
    with controls():
        for name in tables:
            button(name, screen.works(f"Reading {name}", partial(look_at, desk, name, screen.chosen)))
    with controls():
        ui.input("Sheet or table, if a file has several").bind_value(screen.chosen, "table").classes("wide")
        ui.input("Encoding, if not UTF-8", placeholder="cp1252").bind_value(screen.chosen, "encoding")
        names = ui.input("Names of the columns, if its first row has none", placeholder="age,zip").classes("wide")
        names.bind_value(screen.chosen, "names")
    if "proposer" in desk.found:
        _show_table_alone(screen, **desk.found)


def look_at(desk: Desk, name: str, asked: Mapping[str, str], job: Job) -> dict[str, Any]:
    """Guess the roles of columns, and count unique rows."""
    table = desk.inside(desk.folder / name)
    named, names, encoding = (asked.get(key) or None for key in ("table", "names", "encoding"))
    proposer = Proposer(reading_of(source_of(name, desk.folder, named), "auto", names, encoding))
    job.show("Counting unique rows")
    known = proposer.known
    return {"table": table, "proposer": proposer, "risk": uniqueness(proposer.frame, known) if known else None}


def _show_table_alone(screen: Screen, table: Path, proposer: Proposer, risk: Uniqueness | None) -> None:
    desk, reading = screen.desk, proposer.reading
    project = table.with_name(f"{reading.source.stem}.toml")
    heading(f"The risk of {table.name} as it stands")
    if risk is None:
        text("No column looks as if others knew it of a person: the roles of columns say so, and can be changed.")
    else:
        _show_risk(risk)
    replaces = check_box("Replace files that are there")
    # A project of another table may have a hierarchy of the same name.
    replaces.set_visibility(project.exists() or (desk.folder / HIERARCHIES).exists())

    def begin(job: Job) -> None:
        desk.inside(desk.folder / HIERARCHIES)
        made = proposer.propose(project)
        write_new(desk.folder, made.texts, [table], bool(replaces.value))
        desk.open(project.name)
        advice = 'If so, add it to "Texts that mean: no value", and draft the column anew at step 2.'
        desk.questions = [f"{name}: {words} {advice}" for name, words in made.questions.items()]
        desk.questions += [] if made.about_rows is None else [made.about_rows]

    text("Next, a project: a file with the role of each column and all that follows, which you can change.")
    words = f"Begin a project: write {project.name} and drafts of hierarchies"
    button(words, screen.works("Drafting hierarchies", begin), True)
    screen.same_as(_init_of(reading, desk), partial(command, "risk", project.name))


def _init_of(reading: Reading, desk: Desk) -> Callable[[], str]:
    (data, table), names = reading.source.named_from(desk.folder), options.joined(reading.names or ())
    return partial(command, "init", data, table=table, names=names, encoding=reading.encoding)


def _show_risk(found: Uniqueness) -> None:
    titles, *rows = found.table(_SETS_SHOWN)
    (_, unique, share, *_), whole = rows[0], listed(map(str, found.columns))
    text(f"{unique} of {found.n_rows:,} rows ({share}) are unique by {whole}.")
    text("Whoever knows these of a person finds the row. A class is all rows that agree.")
    show_rows(titles, rows, "Unique rows", right=titles[1:])
    if found.fewer:
        text(f"Fewer unique rows without: {', '.join(found.fewer)}.")
    for line in found.singled_out(_MINIMAL_SHOWN):
        text(line)


# --- step 1 -----------------------------------------------------------------------------------------------------------


def show_table(screen: Screen) -> None:
    """Show all columns with their roles, which a click changes."""
    desk, project = screen.desk, screen.desk.project()
    every = {own.name: own for own in desk.proposer.profiles}
    n_rows = desk.proposer.profiles[0].n_rows
    text(f"{counted(n_rows, 'row', 'rows')}, {counted(len(every), 'column', 'columns')}.")
    if odd := sorted(every.keys() ^ project.columns.keys()):
        text(f"Not both in the table and in {desk.path.name}: {', '.join(odd)}.", "warning")
    for question in desk.questions:
        text(question, "warning")
    text("A role says what becomes of a column. They are guesses: read all, and change what is wrong.")
    with ui.expansion("What the roles mean").props("dense"):
        show_rows(["role", "a column with it"], [*ROLES.items()], "Roles")
    _show_roles(screen, project, [own for name, own in every.items() if name in project.columns])
    heading("How it is read")
    with controls():
        missing = ui.select(_MISSING_WORDS, value=project.missing, label="Rows without a value")
        screen.keeps(missing.classes("wide"), "data", "missing")
        empty = ui.input("Texts that mean: no value", value=options.joined(project.reading.empty)).classes("wide")

        def texts() -> dict[Any, Any]:
            return {("data", "empty"): [own for own in options.parts_of(empty.value or "") if own]}

        screen.keeps(empty, made=texts, then=desk.changed)
    text(f"All of this stands in {desk.path.name}, which the commands read.")
    heading("The risk of the table as it stands")
    if "risk" in desk.found:
        _show_risk(desk.found["risk"])
    else:
        names = project.with_role("quasi-identifier")
        count = screen.works("Counting unique rows", lambda job: {"risk": uniqueness(desk.proposer.frame, names)})
        button("Count unique rows", count)
    screen.same_as(_init_of(project.reading, desk), partial(command, "risk", desk.path.name))


def _show_roles(screen: Screen, project: Project, profiles: Sequence[Profile]) -> None:
    known, undecided, rows = screen.known, project.with_role("other"), []
    for profile in profiles:
        role, (guess, reason) = project.columns[profile.name].role, screen.desk.proposer.roles[profile.name]
        told = reason if role == guess else f"your choice; the guess is {guess}: {reason}"
        shown = " · ".join(one_line(value)[:40] for value in profile.values[:_VALUES_SHOWN])
        rows.append([profile.name, shown, role, profile.kind, profile, told])

    def found() -> list[str]:
        # As the filter of the table finds them.
        sought = (words.value or "").lower()
        return [row[0] for row in rows if row[2] == "other" and any(sought in cell.lower() for cell in row[:3])]

    def change(names: list[str], role: str) -> None:
        told = f"Changing the role of {examples(names, plain)}"
        screen.works(told, lambda job: change_roles(project, screen.desk.proposer, names, role, known))()
        # Until it is written, and after an error, the role is shown as it was.
        screen.show()

    # It tells all that is wrong with the roles.
    screen.part(partial(screen.desk.project, decided=True))
    with controls():
        words = ui.input("Find a column").props("dense clearable").classes("find")
        words.set_visibility(len(profiles) > 12)
        if len(undecided) > 1:
            one = ui.select([*ROLES][:-1], value="drop", label="Role of those not decided")
            button("Give it to all of them that are found", lambda: change(found(), one.value))
    table = show_rows(["column", "values", "role"], rows, "Columns", templates=_COLUMN_CELLS).classes("columns")
    words.bind_value_to(table, "filter")
    table.on("role", lambda event: change([rows[event.args[0]][0]], event.args[1]))


# --- step 2 -----------------------------------------------------------------------------------------------------------


def show_hierarchies(screen: Screen) -> None:
    """Show one hierarchy, and the ways to change it."""
    desk, files = screen.desk, screen.desk.project().quasi_identifiers
    if not files:
        raise ValueError("There is no quasi-identifier: step 1 names them.")
    name: str = screen.chosen.get("column", "")
    name = name if name in files else next(iter(files))
    text("A level says how coarse a column is: the search gives each column the level that serves.")
    with controls():
        chooser = ui.select({own: plain(own) for own in files}, value=name, label="Column")
        chooser.on_value_change(screen.does(lambda: screen.chosen.update(column=chooser.value, level=1)))
        _show_file(screen, name, files[name])
    screen.part(lambda: _show_levels(screen, name, desk.hierarchy(name)))
    file = path_from(desk.folder, files[name])
    screen.same_as(*(partial(command, "hierarchy", part, file) for part in ("check", "show")))


def _show_file(screen: Screen, name: str, file: Path) -> None:
    desk, n_earlier = screen.desk, len(screen.desk.earlier.get(name, []))

    async def take(event: Any) -> None:
        data, named = await event.file.read(), event.file.name
        screen.works("Importing", lambda job: desk.save(name, decoded(data, named)))()

    def draft(job: Job) -> None:
        desk.save(name, desk.proposer.draft(name), desk.hierarchy(name).text)

    button(f"Undo ({n_earlier})", screen.works("Undoing", lambda job: desk.undo(name))).set_enabled(n_earlier > 0)
    button("Draft anew", screen.works("Drafting", draft))
    export = screen.does(lambda: ui.download.content(file.read_bytes(), file.name), anew=False)
    button("Export", export).props('aria-label="Export in the layout of ARX"')
    upload = ui.upload(label="Import (ARX's layout)", on_upload=take, auto_upload=True, max_file_size=_MOST_IMPORTED)
    upload.props('accept=".csv,.txt" flat bordered').classes("import")


def _show_levels(screen: Screen, name: str, opened: edits.OpenHierarchy) -> None:
    for finding in opened.findings:
        text(str(finding), "warning" if finding.severity != "note" else "")
    if not opened.findings:
        text("The check finds nothing.", "good")
    hierarchy = opened.hierarchy
    if hierarchy is None or hierarchy.length == 0:
        text("It has no level above the values: undo, or import another one.", "warning")
        return
    heading("Levels")
    level = min(screen.chosen.get("level", 1), hierarchy.length)
    levels = [f"Level {own}: {counted(int(n), 'group', 'groups')}" for own, n in enumerate(hierarchy.n_groups)]
    toggle = ui.toggle(dict(enumerate(levels[1:], start=1)), value=level).props("no-caps dense unelevated")
    toggle.on_value_change(screen.does(lambda: screen.chosen.update(level=toggle.value)))
    table = _group_table(hierarchy, level, opened)
    if len(table.rows) < hierarchy.n_groups[level]:
        text(f"{hierarchy.n_groups[level] - len(table.rows):,} groups more are not listed.")

    def change(make: Callable[[], Hierarchy]) -> Callable[[], None]:
        save = screen.desk.save
        return screen.works("Writing the hierarchy", lambda job: save(name, str(make().to_csv()), opened.text))

    def show_changes() -> None:
        _show_changes(hierarchy, level, sorted(int(own["id"]) for own in table.selected), change)

    below = screen.part(show_changes)
    # The table stays, and with it the focus.
    table.on_select(lambda event: screen.part(show_changes, below))
    if screen.desk.profile_of(name).kind == "numbers":
        heading("Intervals")
        with controls():
            widths = ui.input("Widths, from fine to coarse", placeholder="5, 10, 20").classes("wide")
            make = change(lambda: edits.with_widths(hierarchy, [numeral("widths", own) for own in parts(widths)]))
            button("Make intervals", make)


def _group_table(hierarchy: Hierarchy, level: int, opened: edits.OpenHierarchy) -> ui.table:
    rows, n_values = opened.rows_of(level), np.bincount(hierarchy.groups[level])
    most, total = max(int(rows.max()), 1), max(int(rows.sum()), 1)
    made = [
        [one_line(label_words(label)), f"{n:,}", f"{own:,}", percent(own / total), f"{own / most:.3f}"]
        for label, n, own in zip(hierarchy.labels[level], n_values.tolist(), rows.tolist(), strict=True)
    ][:_GROUPS_SHOWN]
    table = show_rows(["group", "values", "rows", "share"], made, "Groups", ["values", "rows"], {3: _SHARE_CELL})
    return table.classes("groups").props("selection=multiple")


def _show_changes(hierarchy: Hierarchy, level: int, places: list[int], change: Callable[..., Any]) -> None:
    labels, own = hierarchy.labels[level], hierarchy.labels[level - 1]
    chosen = [labels[place] for place in places]
    if not chosen:
        text("Choose groups to rename, merge, split or move them.")
        return
    with controls():
        label = ui.input("Label", value=str(chosen[0]))
        words = "Rename" if len(chosen) == 1 else f"Merge {len(chosen)} groups"
        button(words, change(lambda: edits.merged(hierarchy, level, chosen, label.value)), True)
    if len(chosen) > 1:
        return
    inside = np.unique(hierarchy.groups[level - 1][hierarchy.groups[level] == places[0]])[:_MOST_MEMBERS]
    others = {place: one_line(label_words(one)) for place, one in enumerate(labels[:_GROUPS_SHOWN])}
    del others[places[0]]
    with controls():
        values = {place: one_line(label_words(own[place])) for place in inside.tolist()}
        members = ui.select(values, multiple=True, value=[], label="Members").props("use-chips").classes("members")
        new = ui.input("New label")

        def taken() -> list[Any]:
            return [own[place] for place in members.value]

        button("Split off", change(lambda: edits.split(hierarchy, level, taken(), new.value or "")))
        if others:
            target = ui.select(others, value=next(iter(others)), label="Other group")
            button("Move there", change(lambda: edits.moved(hierarchy, level, taken(), labels[target.value])))


# --- step 3 -----------------------------------------------------------------------------------------------------------


def show_requirements(screen: Screen) -> None:
    """Show the bounds, adversaries and audiences of the project."""
    desk, project = screen.desk, screen.desk.project()
    content: dict[str, Any] = tomlkit.parse(screen.known).unwrap()
    search, adversaries = content.get("search", {}), content.get("adversary", [])
    bounds = read_bounds(search.get("require", []))
    audiences = [{**own, "require": read_bounds(own["require"])} for own in content.get("audience", [])]
    keeps = screen.checked(partial(_show_check, desk))
    heading("Required of every release")
    if not bounds:
        text("Nothing is required yet: the search then shows the whole front.")
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
    with controls():
        _show_recoding(project, search, keeps)
    text(f"All of this stands in {desk.path.name}, which the commands read.")
    screen.same_as(partial(command, "search", desk.path.name))


def _show_entries(screen: Screen, words: str, key: tuple[str, ...], entries: list[Any], said: list[str]) -> None:
    """Show entries of the project file, to remove each and to add another one."""
    for place, told in enumerate(said, start=1):
        left = [*entries[: place - 1], *entries[place:]]
        with controls():
            text(told)
            remove = ui.button("Remove", on_click=screen.does(partial(screen.write, {key: left})))
            remove.props(f'flat dense no-caps aria-label="Remove: {place}"')
    with controls():
        more = _one_more(screen.desk.project(), key[-1], entries)
        button(words, screen.does(lambda: screen.write({key: more()})), key[-1] == "require")


def _show_check(desk: Desk) -> None:
    project = desk.project(decided=True)
    wrong = desk.once("check", "Checking what must hold", project.files, lambda: unmet(project))
    for words in wrong:
        text(words, "warning")
    if not wrong:
        text("Each bound can be met.", "good")


def _show_recoding(project: Project, search: dict[str, Any], keeps: Callable[..., None]) -> None:
    asked, usual = search.get("objectives", []), options.usual(project.sensitive)
    goals = (measures_in(asked) if isinstance(asked, str) else asked) or usual
    recoding = ui.select(_RECODING_WORDS, value=search.get("recoding", "full-domain"), label="Recoding")
    limit = str(search.get("suppression", options.Settings.suppression))
    rule = ui.input("Suppress at most: a share, or rows", value=limit).classes("wide")
    rule.bind_visibility_from(recoding, "value", lambda chosen: chosen != "local")
    measures = {**{name: name for name in goals}, **told_measures()}
    objectives = ui.select(measures, multiple=True, value=goals, label="Trade off").classes("wide")

    def recoded() -> dict[tuple[str, ...], Any]:
        # The algorithm is of the other recoding. Where classes have levels of their own, nothing is suppressed.
        own = {"recoding": recoding.value, "suppression": None if recoding.value == "local" else rule.value}
        return {("search", key): value for key, value in {**own, "algorithm": None}.items()}

    keeps(recoding, made=recoded)
    keeps(rule, "search", "suppression")
    keeps(ui.select(SUPPRESSED_WORDS, value=project.suppressed, label="Suppressed rows"), "release", "suppressed")
    keeps(objectives, made=lambda: {("search", "objectives"): [] if objectives.value == usual else objectives.value})


def _one_more(project: Project, kind: str, entries: list[Any]) -> Callable[[], list[Any]]:
    """Make the fields of one more entry, and return a function of their values."""
    whom: Any = None
    if kind == "adversary":
        whom = ui.select(list(project.quasi_identifiers), multiple=True, value=[], label="Known columns")
    elif kind == "audience":
        whom = ui.input("Name")
    bound = _bound_fields(project)

    def more() -> list[Any]:
        if whom is None:
            return list(dict.fromkeys([*entries, bound()]))
        if not whom.value:
            raise ValueError(f"an {kind} must have {'known columns' if kind == 'adversary' else 'a name'}, got none")
        if kind == "adversary":
            return [*entries, {"known": whom.value, "require": [bound()]}]
        # Another bound for the same name is of the same audience.
        by_name = {own["name"]: own for own in entries}
        before = by_name.get(whom.value, {"name": whom.value, "require": []})
        return [*{**by_name, whom.value: {**before, "require": [*before["require"], bound()]}}.values()]

    return more


def _bound_fields(project: Project) -> Callable[[], str]:
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
        column.set_visibility(len(column.options) > 1)
        # A bound of one measure says little or nothing of another one.
        limit.set_value(5 if measure.value == "k" else None)
        limit.set_label(f"Bound, at {'least' if kind.maximize else 'most'}")

    measure.on_value_change(fit)
    fit()

    def spelled() -> str:
        sign = ">=" if kinds[measure.value].maximize else "<="
        if limit.value is None or limit.value < 0:
            raise ValueError(f"a bound must be a number of at least 0, got {limit.value or 'none'}")
        bound = f"{measure.value}{':' * bool(column.value)}{column.value}{sign}{value_of(limit)}"
        constraint(bound, Roles(project.sensitive, project.label, project.person))
        return bound

    return spelled
