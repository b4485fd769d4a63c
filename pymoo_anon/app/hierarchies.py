"""Step 2: the hierarchies, level by level, with the rows of each group."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any, TypeAlias

import numpy as np
from nicegui import ui

from pymoo_anon._messages import counted, label_words, percent, plain
from pymoo_anon.app.desk import Desk, command
from pymoo_anon.app.screen import Screen, button, controls, heading, parts, show_rows, text
from pymoo_anon.publishing.report.cells import one_line
from pymoo_anon.study.editing import OpenHierarchy, change_hierarchy
from pymoo_anon.study.names import path_from
from pymoo_anon.table import hierarchy_edits as edits
from pymoo_anon.table.delimited import text_of_file
from pymoo_anon.table.hierarchy import Hierarchy

# Makes a handler that writes another hierarchy.
Change: TypeAlias = Callable[[Callable[[], Hierarchy]], Callable[..., None]]

# So many groups of a level, and values of a group, are listed.
_GROUPS_SHOWN, _MOST_MEMBERS = 300, 2000

# So many bytes a hierarchy that is imported may have.
_MOST_IMPORTED = 20_000_000

_GROUP_TITLES = [("group", "left"), ("values", "right"), ("rows", "right"), ("share", "left")]
_SHARE_CELL = """
  <span class="percent">{{ props.row.c3 }}</span>
  <span class="bar" :style="{width: 'calc(min(140px, 20vw) * ' + props.row.c4 + ')'}"></span>"""


def show_hierarchies(screen: Screen) -> None:
    """Show one hierarchy, and the ways to change it."""
    desk = screen.desk
    files = desk.project().quasi_identifiers
    if not files:
        text("There is no quasi-identifier: step 1 names them.", "warning")
        return
    name: str = screen.chosen.get("column", "")
    name = name if name in files else next(iter(files))
    text("A level says how coarse a column is: the search gives each column the level that serves.")
    with controls():
        chooser = ui.select({own: plain(own) for own in files}, value=name, label="Column")
        chooser.on_value_change(lambda event: screen.shows(column=event.value, level=1))
        _show_file(screen, name)
    screen.part(lambda: _show_levels(screen, name, desk.hierarchy(name)))
    file = path_from(desk.folder, files[name])
    screen.same_as(*(command("hierarchy", part, file) for part in ("check", "show")))


def _save(desk: Desk, name: str, make: Callable[[], str], known: str | None = None) -> None:
    """Write a hierarchy, keep the one before for undo, and read it again."""
    file = desk.project().quasi_identifiers[name]
    before = text_of_file(file, str(file))[1]
    change_hierarchy(file, make(), before if known is None else known)
    desk.undo.setdefault(name, []).append(before)
    desk.hierarchy(name)


def _show_file(screen: Screen, name: str) -> None:
    desk, earlier = screen.desk, screen.desk.undo.get(name, [])
    file = desk.project().quasi_identifiers[name]

    def undo(*_: Any) -> None:
        change_hierarchy(file, earlier[-1])
        earlier.pop()
        desk.hierarchy(name)

    async def take(event: Any) -> None:
        data, named = await event.file.read(), event.file.name

        def given() -> str:
            return text_of_file(StringIO(data.decode("utf-8-sig")), named)[1]

        screen.works("Importing", lambda job: _save(desk, name, given))()

    button(f"Undo ({len(earlier)})", screen.works("Undoing", undo)).set_enabled(bool(earlier))
    export = button("Export", lambda: ui.download.content(file.read_bytes(), file.name))
    export.props('aria-label="Export in the layout of ARX"')
    upload = ui.upload(label="Import (ARX's layout)", on_upload=take, auto_upload=True, max_file_size=_MOST_IMPORTED)
    upload.props('accept=".csv,.txt" flat bordered').classes("import")


def _show_levels(screen: Screen, name: str, opened: OpenHierarchy) -> None:
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
    with controls():
        for own in range(1, hierarchy.length + 1):
            words = f"Level {own}: {counted(int(hierarchy.n_groups[own]), 'group', 'groups')}"
            chooses = ui.button(words, on_click=lambda own=own: screen.shows(level=own))
            chooses.props(f"no-caps dense {'unelevated aria-pressed=true' if own == level else 'outline'}")
    table = _group_table(hierarchy, level, opened)
    if len(table.rows) < hierarchy.n_groups[level]:
        text(f"{hierarchy.n_groups[level] - len(table.rows):,} groups more are not listed.")
    below = ui.element("div").classes("part")

    def change(make: Callable[[], Hierarchy]) -> Callable[..., None]:
        made, desk = (lambda: str(make().to_csv())), screen.desk
        return screen.works("Writing the hierarchy", lambda job: _save(desk, name, made, opened.text))

    def choose(places: list[int]) -> None:
        # The table stays, and with it the focus.
        below.clear()
        with below:
            _show_changes(hierarchy, level, places, change)

    table.on_select(lambda event: choose(sorted(int(own["id"]) for own in event.selection)))
    choose([])
    if next(own.kind for own in screen.desk.proposer.looks if own.profile.name == name) == "numbers":
        heading("Intervals")
        with controls():
            widths = ui.input("Widths, from fine to coarse", placeholder="5, 10, 20").classes("wide")
            button("Make intervals", change(lambda: edits.with_widths(hierarchy, list(map(float, parts(widths))))))


def _group_table(hierarchy: Hierarchy, level: int, opened: OpenHierarchy) -> ui.table:
    rows, n_values = opened.rows_of(level), np.bincount(hierarchy.groups[level])
    most, total = max(int(rows.max()), 1), max(int(rows.sum()), 1)
    labels = hierarchy.labels[level][:_GROUPS_SHOWN]
    shown = zip(labels, n_values.tolist()[: len(labels)], rows.tolist()[: len(labels)], strict=True)
    made = [
        [one_line(label_words(label)), f"{n:,}", f"{own:,}", percent(own / total), f"{own / most:.3f}"]
        for label, n, own in shown
    ]
    table = show_rows(_GROUP_TITLES, made, "Groups", {3: _SHARE_CELL})
    return table.classes("groups").props("selection=multiple")


def _show_changes(hierarchy: Hierarchy, level: int, places: list[int], change: Change) -> None:
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
        options = {place: one_line(label_words(own[place])) for place in inside.tolist()}
        members = ui.select(options, multiple=True, value=[], label="Members").props("use-chips").classes("members")
        new = ui.input("New label")

        def taken() -> list[Any]:
            return [own[place] for place in members.value]

        button("Split off", change(lambda: edits.split(hierarchy, level, taken(), new.value or "")))
        if others:
            target = ui.select(others, value=next(iter(others)), label="Other group")
            button("Move there", change(lambda: edits.moved(hierarchy, level, taken(), labels[target.value])))
