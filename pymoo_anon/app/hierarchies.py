"""Step 2: the hierarchies, level by level, with the rows of each group."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from nicegui import ui

from pymoo_anon._messages import counted, label_words, percent, plain
from pymoo_anon.app.desk import Desk, command
from pymoo_anon.app.screen import Screen, button, heading, parts, text
from pymoo_anon.app.table import is_counted
from pymoo_anon.publishing.report.cells import one_line
from pymoo_anon.study.names import path_from
from pymoo_anon.study.proposal import change_hierarchy
from pymoo_anon.table import hierarchy_edits as edits
from pymoo_anon.table.delimited import text_of_file
from pymoo_anon.table.findings import check_hierarchy
from pymoo_anon.table.guesses import Profile, kind_of_values
from pymoo_anon.table.hierarchy import Hierarchy, matched
from pymoo_anon.typing import Ints

Change: TypeAlias = Callable[[Hierarchy], None]

# So many groups of a level, and values of a group, are listed.
_GROUPS_SHOWN, _MOST_MEMBERS = 300, 2000

# So many bytes a hierarchy that is imported may have.
_MOST_IMPORTED = 20_000_000

_SHARE_CELL = """
  <q-td :props="props"><span class="percent">{{ props.row.share }}</span>
    <span class="bar" :style="{width: 'calc(min(140px, 20vw) * ' + props.row.width + ')'}"></span></q-td>"""


def show_hierarchies(screen: Screen) -> None:
    """Show one hierarchy, and the ways to change it."""
    desk = screen.desk
    files = desk.project().quasi_identifiers
    if not files:
        text("There is no quasi-identifier: step 1 names them.", "warning")
        return
    if not is_counted(screen):
        return
    name: str = screen.chosen.get("column", "")
    name = name if name in files else next(iter(files))
    file = desk.inside(files[name])
    with ui.element("div").classes("controls"):
        chooser = ui.select({own: plain(own) for own in files}, value=name, label="Column")
        chooser.on_value_change(lambda event: screen.shows(column=event.value, level=1, groups=[]))
        _show_file(screen, name, file)
    before = text_of_file(file, str(file))[1]
    profile = next(own for own in desk.proposer.profiles if own.name == name)
    _show_findings(before, profile)
    hierarchy = Hierarchy.from_csv(StringIO(before))
    _show_levels(screen, hierarchy, profile, lambda made: _write_text(desk, name, file, str(made.to_csv()), before))
    screen.same_as(*(command("hierarchy", part, path_from(desk.folder, file)) for part in ("check", "show")))


def _write_text(desk: Desk, name: str, file: Path, text: str, before: str) -> None:
    """Write a hierarchy at once, and keep the one before for undo."""
    change_hierarchy(file, text, before)
    desk.undo.setdefault(name, []).append(before)
    desk.changed()


def _show_file(screen: Screen, name: str, file: Path) -> None:
    desk = screen.desk

    def undo() -> None:
        change_hierarchy(file, desk.undo[name][-1])
        desk.undo[name].pop()
        desk.changed()

    async def take(event: Any) -> None:
        with screen.told():
            given = text_of_file(StringIO((await event.file.read()).decode("utf-8-sig")), event.file.name)[1]
            _write_text(desk, name, file, given, text_of_file(file, str(file))[1])
        screen.show()

    n_undo = len(desk.undo.get(name, []))
    button(f"Undo ({n_undo})", screen.does(undo)).set_enabled(n_undo > 0)
    export = ui.button("Export", on_click=lambda: ui.download.content(file.read_bytes(), file.name))
    export.props('outline no-caps aria-label="Export in the layout of ARX"')
    upload = ui.upload(label="Import (ARX's layout)", on_upload=take, auto_upload=True, max_file_size=_MOST_IMPORTED)
    upload.props('accept=".csv,.txt" flat bordered').classes("import")


def _show_findings(before: str, profile: Profile) -> None:
    values = None if profile.is_sampled else profile.values
    findings = check_hierarchy(StringIO(before), values)
    for finding in findings:
        text(str(finding), "warning" if finding.severity != "note" else "")
    if not findings:
        text("The check finds nothing.", "good")


def _show_levels(screen: Screen, hierarchy: Hierarchy, profile: Profile, change: Change) -> None:
    levels = {
        level: f"Level {level}: {counted(int(n), 'group', 'groups')}"
        for level, n in enumerate(hierarchy.n_groups)
        if level
    }
    level = min(screen.chosen.setdefault("level", 1), hierarchy.length)
    if not level:
        text("It has no level above the values.", "warning")
        return
    heading("Levels")
    with ui.element("div").classes("controls"):
        for own, words in levels.items():
            chooses = ui.button(words, on_click=lambda own=own: screen.shows(level=own, groups=[]))
            chooses.props(f"no-caps dense {'unelevated aria-pressed=true' if own == level else 'outline'}")
    table = _group_table(hierarchy, level, _rows_by_value(hierarchy, profile))
    if len(table.rows) < hierarchy.n_groups[level]:
        text(f"{hierarchy.n_groups[level] - len(table.rows):,} groups more are not listed.")
    below = ui.element("div").classes("part")

    def choose(places: list[int]) -> None:
        screen.chosen["groups"] = places
        # The table stays, and with it the focus.
        below.clear()
        with below:
            _show_changes(screen, hierarchy, level, change)

    table.on_select(lambda event: choose(sorted(int(own["id"]) for own in event.selection)))
    choose([])
    if kind_of_values(profile) == "numbers":
        _show_widths(screen, hierarchy, change)


def _rows_by_value(hierarchy: Hierarchy, profile: Profile) -> Ints:
    if profile.is_sampled:
        return np.zeros(hierarchy.n_values, dtype=np.int64)
    values = list(profile.values)
    try:
        places = matched(hierarchy, values).encode(values)
    except ValueError:
        places = hierarchy.encode(values)
    known = places >= 0
    return np.bincount(places[known], np.array(profile.counts)[known], hierarchy.n_values).astype(np.int64)


def _group_table(hierarchy: Hierarchy, level: int, rows: Ints) -> ui.table:
    groups, labels = hierarchy.groups[level], hierarchy.labels[level]
    of_group = np.bincount(groups, rows, len(labels)).astype(np.int64)
    n_values, most, total = np.bincount(groups), max(int(of_group.max()), 1), max(int(rows.sum()), 1)
    shown = range(min(len(labels), _GROUPS_SHOWN))
    made = [
        {
            "id": place,
            "group": one_line(label_words(labels[place])),
            "values": f"{n_values[place]:,}",
            "rows": f"{of_group[place]:,}",
            "share": percent(of_group[place] / total),
            "width": round(int(of_group[place]) / most, 3),
        }
        for place in shown
    ]
    sides = {"group": "left", "values": "right", "rows": "right", "share": "left"}
    columns = [{"name": name, "field": name, "label": name, "align": side} for name, side in sides.items()]
    table = ui.table(columns=columns, rows=made, row_key="id", pagination=0, selection="multiple").classes("groups")
    table.props('flat dense wrap-cells hide-pagination aria-label="Groups"')
    table.add_slot("body-cell-share", _SHARE_CELL)
    return table


def _show_changes(screen: Screen, hierarchy: Hierarchy, level: int, change: Change) -> None:
    labels = hierarchy.labels[level]
    chosen = [labels[place] for place in screen.chosen.get("groups", []) if place < len(labels)]
    if not chosen:
        text("Choose groups to rename, merge, split or move them.")
        return

    def does(make: Callable[[], Hierarchy]) -> Callable[..., None]:
        def act() -> None:
            change(make())
            screen.chosen["groups"] = []

        return screen.does(act)

    with ui.element("div").classes("controls"):
        label = ui.input("Label", value=str(chosen[0]))
        words = "Rename" if len(chosen) == 1 else f"Merge {len(chosen)} groups"
        button(words, does(lambda: edits.merged(hierarchy, level, chosen, label.value)), True)
    if len(chosen) > 1:
        return
    inside = hierarchy.groups[level] == labels.index(chosen[0])
    places = np.unique(hierarchy.groups[level - 1][inside])[:_MOST_MEMBERS].tolist()
    own = hierarchy.labels[level - 1]
    with ui.element("div").classes("controls"):
        members = ui.select(
            {place: one_line(label_words(own[place])) for place in places}, multiple=True, value=[], label="Members"
        )
        members.props("use-chips").classes("members")
        new = ui.input("New label")
        split = does(lambda: edits.split(hierarchy, level, [own[place] for place in members.value], new.value or ""))
        button("Split off", split)
        others = {
            place: one_line(label_words(one)) for place, one in enumerate(labels[:_GROUPS_SHOWN]) if one != chosen[0]
        }
        if others:
            target = ui.select(others, value=next(iter(others)), label="Other group")
            move = does(
                lambda: edits.moved(hierarchy, level, [own[place] for place in members.value], labels[target.value])
            )
            button("Move there", move)


def _show_widths(screen: Screen, hierarchy: Hierarchy, change: Change) -> None:
    heading("Intervals")

    def make() -> None:
        change(edits.with_widths(hierarchy, list(map(float, parts(widths)))))
        screen.chosen |= {"groups": [], "level": 1}

    with ui.element("div").classes("controls"):
        widths = ui.input("Widths, from fine to coarse", placeholder="5, 10, 20").classes("wide")
        button("Make intervals", screen.does(make))
