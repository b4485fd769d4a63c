"""Step 3: requirements, adversaries and audiences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import tomlkit
from nicegui import ui

from pymoo_anon._messages import plain
from pymoo_anon.app.desk import Desk, command
from pymoo_anon.app.screen import Screen, button, controls, heading, text
from pymoo_anon.study.editing import change_project
from pymoo_anon.study.names import SUPPRESSED
from pymoo_anon.study.options import Settings, bounds_of_adversary, measures_in, usual
from pymoo_anon.study.project import Project
from pymoo_anon.study.tables import Roles, constraint, in_words, measures_by_name, told_measures, unmet

# Writes changes into the project file.
Write: TypeAlias = Callable[[dict[tuple[str, ...], Any]], None]

_RECODING_WORDS = {
    "full-domain": "whole columns, each at one level",
    "local": "every class of rows at levels of its own",
}
_SUPPRESSED_WORDS = dict(zip(SUPPRESSED, ("stay as rows of *", "are left out"), strict=True))

# Words for a measure without a column, by its role.
_USUAL = {"sensitive": "every sensitive column", "label": "the label", "person": "rows"}


def show_requirements(screen: Screen) -> None:
    """Show the bounds, adversaries and audiences of the project."""
    desk = screen.desk
    known, project = desk.text, desk.project()
    content: dict[str, Any] = tomlkit.parse(known).unwrap()

    def write(changes: dict[tuple[str, ...], Any]) -> None:
        change_project(desk.path, changes, known)
        desk.changed()

    screen.part(lambda: _show_check(desk)).props('role="status"')
    search = content.get("search", {})
    bounds = search.get("require", [])
    _show_bounds(screen, project, [bounds] if isinstance(bounds, str) else bounds, write)
    _show_adversaries(screen, project, content.get("adversary", []), write)
    _show_audiences(screen, project, content.get("audience", []), write)
    _show_recoding(screen, project, search, write)
    text(f"All of this stands in {desk.path.name}, which the commands read.")
    screen.same_as(command("search", desk.path.name))


def _show_check(desk: Desk) -> None:
    project = desk.project(decided=True)
    wrong = desk.once("check", "Checking what must hold", project.files, lambda: unmet(project))
    for words in wrong:
        text(words, "warning")
    if not wrong:
        text("Each bound can be met.", "good")


def _listed(screen: Screen, key: tuple[str, ...], values: Sequence[Any], words: Sequence[str], write: Write) -> None:
    for place, told in enumerate(words):
        left = [*values[:place], *values[place + 1 :]]
        with controls():
            text(told)
            remove = ui.button("Remove", on_click=screen.does(lambda left=left: write({key: left})))
            remove.props(f'flat dense no-caps aria-label="Remove: {place + 1}"')


def _show_bounds(screen: Screen, project: Project, bounds: list[str], write: Write) -> None:
    key = ("search", "require")
    heading("Required of every release")
    _listed(screen, key, bounds, [f"{in_words(project, [bound])} ({bound})" for bound in bounds], write)
    if not bounds:
        text("Nothing is required yet: the search then shows the whole front.")
    with controls():
        made = _bound_fields(project)
        button("Require", screen.does(lambda: write({key: [*bounds, made()]})), True)


def _show_adversaries(screen: Screen, project: Project, adversaries: list[dict[str, Any]], write: Write) -> None:
    key = ("adversary",)
    heading("Against somebody who knows only some columns")
    said = [in_words(project, bounds_of_adversary(own)) for own in adversaries]
    _listed(screen, key, adversaries, said, write)
    with controls():
        known = ui.select(list(project.quasi_identifiers), multiple=True, value=[], label="Known columns")
        made = _bound_fields(project)

        def add() -> None:
            if not known.value:
                raise ValueError("known columns must be at least one, got none")
            write({key: [*adversaries, {"known": known.value, "require": [made()]}]})

        button("Add the adversary", screen.does(add))


def _show_audiences(screen: Screen, project: Project, audiences: list[dict[str, Any]], write: Write) -> None:
    key = ("audience",)
    heading("For whom")
    text("Each audience gets a release that holds together with those before it, the coarsest first. None is needed.")
    said = [f"{own['name']}: {in_words(project, own['require'])}" for own in audiences]
    _listed(screen, key, audiences, said, write)
    with controls():
        name, made = ui.input("Name"), _bound_fields(project)

        def add() -> None:
            if not name.value:
                raise ValueError("an audience must have a name, got none")
            # Another bound for the same name is of the same audience.
            by_name = {own["name"]: own for own in audiences}
            before = by_name.get(name.value, {"name": name.value, "require": []})
            write({key: [*{**by_name, name.value: {**before, "require": [*before["require"], made()]}}.values()]})

        button("Add the audience", screen.does(add))


def _bound_fields(project: Project) -> Callable[[], str]:
    """Make the fields of a bound, and return a function that spells it."""
    kinds = measures_by_name()
    names = {name: words for name, words in told_measures().items() if not kinds[name].numbered}
    measure = ui.select(names, value="k", label="Measure")
    column, limit = ui.select([""], value="", label="Of"), ui.number(value=5)

    def fit() -> None:
        kind = kinds[measure.value]
        role = kind.role or ""
        column.set_options({"": _USUAL.get(role, ""), **{own: plain(own) for own in project.with_role(role)}}, value="")
        column.set_visibility(len(column.options) > 1)
        limit.set_label(f"Bound, at {'least' if kind.maximize else 'most'}")

    measure.on_value_change(fit)
    fit()

    def spelled() -> str:
        sign = ">=" if kinds[measure.value].maximize else "<="
        if limit.value is None:
            raise ValueError("a bound must be a number, got none")
        bound = f"{measure.value}{':' * bool(column.value)}{column.value}{sign}{limit.value:g}"
        constraint(bound, Roles(project.sensitive, project.label, project.person))
        return bound

    return spelled


def _show_recoding(screen: Screen, project: Project, search: dict[str, Any], write: Write) -> None:
    heading("How it is recoded")
    asked, own = search.get("objectives", []), usual(project.sensitive)
    goals = (measures_in(asked) if isinstance(asked, str) else asked) or own
    options = {**{name: name for name in goals}, **told_measures()}
    with controls():
        recoding = ui.select(_RECODING_WORDS, value=search.get("recoding", "full-domain"), label="Recoding")
        limit = str(search.get("suppression", Settings.suppression))
        rule = ui.input("Suppress at most: a share, or rows", value=limit).classes("wide")
        suppressed = ui.select(_SUPPRESSED_WORDS, value=project.suppressed, label="Suppressed rows")
        objectives = ui.select(options, multiple=True, value=goals, label="Trade off").classes("wide")

        def change() -> None:
            # Where classes have levels of their own, nothing is suppressed.
            changes: dict[tuple[str, ...], Any] = {
                ("search", "recoding"): recoding.value,
                ("search", "suppression"): None if recoding.value == "local" else rule.value,
                ("search", "objectives"): objectives.value if objectives.value != own else None,
                ("release", "suppressed"): suppressed.value,
            }
            if recoding.value != search.get("recoding", "full-domain"):
                # It is of the other recoding.
                changes["search", "algorithm"] = None
            write(changes)

        button("Change", screen.does(change))
