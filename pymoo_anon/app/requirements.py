"""Step 3: requirements, adversaries and audiences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import tomlkit
from nicegui import ui

from pymoo_anon._messages import error_text
from pymoo_anon.app.desk import Desk, command
from pymoo_anon.app.screen import Screen, button, heading, parts, text
from pymoo_anon.objectives import Constraint, DistinctLDiversity, KAnonymity, TCloseness
from pymoo_anon.objectives.knowledge import knowledge_in_words
from pymoo_anon.problems.requirements import impossible
from pymoo_anon.study.names import MEASURES
from pymoo_anon.study.options import Settings, bound_parts, bounds_of_adversary
from pymoo_anon.study.project import Project
from pymoo_anon.study.proposal import change_project
from pymoo_anon.study.tables import Roles, constraint, measures_by_name, problem_of, table_of

_RECODING_WORDS = {
    "full-domain": "whole columns, each at one level",
    "local": "every class of rows at levels of its own",
}


def show_requirements(screen: Screen) -> None:
    """Show the bounds, adversaries and audiences of the project."""
    desk = screen.desk
    screen.chosen["text"] = desk.text
    content: dict[str, Any] = tomlkit.parse(desk.text).unwrap()
    project = desk.project()
    search = content.get("search", {})
    bounds = search.get("require", [])
    _show_check(screen, desk)
    heading("Required of every release")
    _show_bounds(screen, project, [bounds] if isinstance(bounds, str) else bounds)
    heading("Against somebody who knows only some columns")
    _show_adversaries(screen, project, content.get("adversary", []))
    heading("For whom")
    _show_audiences(screen, project, content.get("audience", []))
    heading("How it is recoded")
    _show_recoding(screen, search)
    text(f"All of this stands in {desk.path.name}, which the commands read.")
    screen.same_as(command("search", desk.path.name))


def sentence(one: Constraint) -> str:
    """Say a constraint in a sentence."""
    measure, limit = one.objective, f"{one.bound:,.6g}"
    column = measure.column if measure.column is not None else "every sensitive column"
    if isinstance(measure, KAnonymity):
        told = f"everybody hides among at least {limit} {'rows' if measure.column is None else 'persons'}"
    elif isinstance(measure, DistinctLDiversity):
        told = f"everybody's class leaves at least {limit} values of {column} to guess from"
    elif isinstance(measure, TCloseness):
        told = f"in no class are the values of {column} more than {limit} away from those of all rows"
    else:
        told = f"{measure.words or measure.name} is at {'least' if one.at_least else 'most'} {limit}"
    if measure.known is not None:
        told = f"for somebody who knows {knowledge_in_words(measure.known)}: {told}"
    return f"{told[0].upper()}{told[1:]}."


def _show_check(screen: Screen, desk: Desk) -> None:
    """Check in the background, so that fields keep their values."""
    known, place = screen.chosen["text"], ui.element("div").props('role="status"')

    def follow() -> None:
        checked, wrong = desk.found.get("checked", ("", []))
        if checked != known:
            if not desk.job.is_running:
                desk.start("Checking what must hold", lambda job: {"checked": (known, _wrong(desk))}, quiet=True)
            return
        timer.deactivate()
        with place:
            for words in wrong:
                text(words, "warning")
            if not wrong:
                text("Each bound can be met.", "good")

    timer = ui.timer(0.2, follow)


def _wrong(desk: Desk) -> list[str]:
    try:
        project = desk.project(decided=True)
        settings = project.settings(Settings(file=project.path, given=frozenset({"file"})))
        table = table_of(project)
        problem = problem_of(table, vars(settings))
        found = [
            f"Impossible: {sentence(one)} Not even one class of all rows keeps it."
            for one in impossible(table, problem.constraints)
        ]
        for name, audience in project.audiences.items():
            asked = [constraint(bound, table, problem.measured) for bound in audience["require"]]
            found += [f"Impossible for {name}: {sentence(one)}" for one in impossible(table, asked)]
        return found
    except (ValueError, KeyError) as error:
        return [error_text(error)]


def _changes(screen: Screen, changes: dict[tuple[str, ...], Any]) -> None:
    # An empty value leaves the key out.
    change_project(screen.desk.path, {key: value or None for key, value in changes.items()}, screen.chosen["text"])
    screen.desk.changed()


def _lines(screen: Screen, key: tuple[str, ...], values: list[Any], words: Sequence[str]) -> None:
    """List values in words, each with a button that removes it."""
    for place, told in enumerate(words):
        left = [*values[:place], *values[place + 1 :]]
        with ui.element("div").classes("controls"):
            text(told)
            remove = screen.does(lambda left=left: _changes(screen, {key: left}))
            ui.button("Remove", on_click=remove).props(f'flat dense no-caps aria-label="Remove: {place + 1}"')


def _in_words(project: Project, bounds: Sequence[str]) -> str:
    return " ".join(_said_bound(project, bound) for bound in bounds)


def _said_bound(project: Project, bound: str) -> str:
    """Say a bound in a sentence, or as it is spelled."""
    try:
        return sentence(constraint(bound, Roles(project.sensitive, project.label, project.person)))
    except ValueError as error:
        return f"{bound}: {error_text(error)}."


def _show_bounds(screen: Screen, project: Project, bounds: list[str]) -> None:
    _lines(screen, ("search", "require"), bounds, [f"{_said_bound(project, bound)} ({bound})" for bound in bounds])
    if not bounds:
        text("Nothing is required yet: the search then shows the whole front.")
    with ui.element("div").classes("controls"):
        made = _bound_fields(project)
        add = screen.does(lambda: _changes(screen, {("search", "require"): [*bounds, made()]}))
        button("Require", add, True)


def _bound_fields(project: Project) -> Any:
    """Make the fields of a bound, and return a function that spells it."""
    names = {name: _title(name) for name in MEASURES}
    measure = ui.select(names, value="k", label="Measure")
    columns = {
        "": "the usual one",
        **{name: name for name in [*project.sensitive, *project.with_role("label", "person")]},
    }
    column = ui.select(columns, value="", label="Column, if it reads one")
    limit = ui.number("Bound", value=5)

    def spelled() -> str:
        sign = ">=" if measures_by_name()[measure.value].maximize else "<="
        if limit.value is None:
            raise ValueError("a bound must be a number, got none")
        bound = f"{measure.value}{':' * bool(column.value)}{column.value or ''}{sign}{limit.value:g}"
        bound_parts(bound)
        constraint(bound, Roles(project.sensitive, project.label, project.person))
        return bound

    return spelled


def _title(name: str) -> str:
    """Return the first line of a measure's docstring, without its source."""
    return re.sub(r" \([^)]*\d{4}[^)]*\)|\.$", "", (measures_by_name()[name].__doc__ or "").partition("\n")[0])


def _show_adversaries(screen: Screen, project: Project, adversaries: list[dict[str, Any]]) -> None:
    _lines(screen, ("adversary",), adversaries, [_in_words(project, bounds_of_adversary(own)) for own in adversaries])
    with ui.element("div").classes("controls"):
        known = ui.select(list(project.quasi_identifiers), multiple=True, value=[], label="Known columns").props(
            "use-chips"
        )
        made = _bound_fields(project)

        def add() -> None:
            if not known.value:
                raise ValueError("known columns must be at least one, got none")
            _changes(screen, {("adversary",): [*adversaries, {"known": [*known.value], "require": [made()]}]})

        button("Add the adversary", screen.does(add))


def _show_audiences(screen: Screen, project: Project, audiences: list[dict[str, Any]]) -> None:
    told = [f"{own['name']}: {_in_words(project, own['require'])}" for own in audiences]
    _lines(screen, ("audience",), audiences, told)
    text("Each audience gets a release that holds together with those before it, the coarsest first. None is needed.")
    with ui.element("div").classes("controls"):
        name = ui.input("Name")
        bounds = ui.input("Requires", placeholder="k>=100, l>=3")

        def add() -> None:
            made = {"name": name.value, "require": parts(bounds)}
            if not made["name"] or not made["require"]:
                raise ValueError("an audience must have a name and what it requires, such as k>=100")
            _changes(screen, {("audience",): [*audiences, made]})

        button("Add the audience", screen.does(add))


def _show_recoding(screen: Screen, search: dict[str, Any]) -> None:
    goals = search.get("objectives", [])
    with ui.element("div").classes("controls"):
        recoding = ui.select(_RECODING_WORDS, value=search.get("recoding", "full-domain"), label="Recoding")
        rule = ui.input(
            "Suppress at most", value=str(search.get("suppression", Settings.suppression)), placeholder="0.01"
        )
        objectives = ui.input(
            "Trade off", value=goals if isinstance(goals, str) else ", ".join(goals), placeholder="k, l, GLM"
        )

        def change() -> None:
            # Where classes have levels of their own, nothing is suppressed.
            own = {
                "recoding": recoding.value,
                "suppression": None if recoding.value == "local" else rule.value,
                "objectives": parts(objectives),
            }
            _changes(screen, {("search", key): value for key, value in own.items()})

        button("Change", screen.does(change))
