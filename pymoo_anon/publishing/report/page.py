"""The page of the report: views put together, one script for all charts, and a policy that forbids everything else."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import vl_convert
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from pymoo_anon.publishing.report.bias import bias_view
from pymoo_anon.publishing.report.cells import Cell, Row, Table, View, shown, text
from pymoo_anon.publishing.report.changes import before_table, changes_view, is_ordered
from pymoo_anon.publishing.report.charts import charts
from pymoo_anon.publishing.report.decision import DEFINITIONS, decision_view, verdict
from pymoo_anon.publishing.report.evidence import evidence_view
from pymoo_anon.publishing.report.front import axes, badge, front_view
from pymoo_anon.publishing.report.sizes import sizes_view
from pymoo_anon.publishing.report.subject import Member, Subject

#: The largest file, in characters; the scripts of the charts are most of it.
MOST_CHARACTERS = 1_450_000

_VIEWS = {"decision": decision_view, "sizes": sizes_view, "changes": changes_view, "bias": bias_view}


@dataclass(frozen=True)
class Figure:
    """A table of the page, and the chart that draws it.

    Attributes:
        table: The table, its rows those of the chosen release.
        chart: The kind of chart, or None.
        words: What the chart shows, for those who do not see it.
        follows: Whether its rows follow the selected point.
    """

    table: Table
    chart: str | None
    words: str
    follows: bool


def page(subject: Subject) -> str:
    """The HTML of the report, with as many members of the front as it has room for."""
    while True:
        made = _page(subject)
        if len(made) <= MOST_CHARACTERS:
            return made
        if len(subject.rows) == 1 or subject.external:
            raise ValueError(
                f"the report must be of at most {MOST_CHARACTERS:,} characters, got {len(made):,}; a problem "
                "with fewer quasi-identifiers fits"
            )
        subject = replace(subject, most=len(subject.rows) // 2)


def _page(subject: Subject) -> str:
    """The HTML of all members that are in the file."""
    own = subject.member(subject.chosen)
    views = {name: view(subject, own) for name, view in _VIEWS.items()}
    fixed = {"front": front_view(subject), "evidence": evidence_view(subject)}
    labels = _labels(fixed["front"].tables[0], len(subject.problem.measured))
    figures = {name: _figures(subject, name, view) for name, view in {**fixed, **views}.items()}
    members = [_member(subject, member) for member in subject.members()]
    scripts = [_bundle(), _resource("report.js")]
    frame: str = _template().render(
        subject=subject,
        own=own,
        badge=badge(subject),
        verdict=verdict(subject, own),
        sentences={name: view.sentences for name, view in {**fixed, **views}.items()},
        figures=figures,
        definitions=DEFINITIONS if subject.population is not None else dict(list(DEFINITIONS.items())[:2]),
        columns=[text(name) for name in subject.names],
        style=Markup(_resource("report.css")),
        scripts=[Markup(script) for script in scripts],
        hashes=[_hash(script) for script in scripts],
        label=labels[subject.chosen + 1],
        data=Markup("@data@"),
    )
    return frame.replace("@data@", _embedded(_payload(subject, labels, figures, members)))


def _figures(subject: Subject, name: str, view: View) -> list[Figure]:
    """The figures of a view, in the order of the page."""
    kinds = {"front": "front", "risks": "risks", "sizes": "sizes", "ladder": "ladder", "groups": "groups"}
    kinds["lorenz"] = "lorenz"
    made = []
    for table in view.tables:
        kind = kinds.get(table.name)
        if table.name.startswith("after"):
            j = int(table.name.removeprefix("after"))
            column = subject.names[j]
            kind = "columns" if is_ordered(subject.table.quasi_identifiers[column]) else "bars"
            if not subject.external:
                before = before_table(subject, j, column)
                made.append(Figure(before, kind, before.caption, False))
        made.append(Figure(table, kind, table.caption, name in _VIEWS))
    return made


def _member(subject: Subject, member: Member) -> dict[str, Any]:
    """All that the page shows of one member of the front."""
    views = {name: view(subject, member) for name, view in _VIEWS.items()}
    return {
        "point": member.row + 1,
        "verdict": verdict(subject, member),
        "words": {name: list(view.sentences) for name, view in views.items()},
        "tables": {table.name: table.rows for view in views.values() for table in view.tables},
    }


def _labels(front: Table, n_measures: int) -> dict[Cell, str]:
    """By its number each point in a few words: its number and its measures."""
    titles = [column.title for column in front.columns[1 : 1 + n_measures]]
    return {
        row[0]: f"Point {row[0]}: "
        + ", ".join(f"{name} = {shown(cell, 'number')}" for name, cell in zip(titles, row[1:], strict=False))
        for row in front.rows
    }


def _payload(
    subject: Subject, labels: dict[Cell, str], figures: dict[str, list[Figure]], members: list[dict[str, Any]]
) -> dict[str, Any]:
    """What the script reads: charts, the rows of tables that stay, and those of every member, equal ones once."""
    every = [figure for own in figures.values() for figure in own]
    pool: dict[str, int] = {}
    told = [
        {**member, "tables": {name: _pooled(pool, rows) for name, rows in member["tables"].items()}}
        for member in members
    ]
    kinds = {figure.chart for figure in every}
    return {
        "charts": {kind: spec for kind, spec in charts(subject).items() if kind in kinds},
        "kinds": {figure.table.name: [column.kind for column in figure.table.columns] for figure in every},
        "fixed": {figure.table.name: figure.table.rows for figure in every if figure.chart and not figure.follows},
        "labels": list(labels.values()),
        "axes": [f"c{j + 1}" for j in axes(subject)],
        "members": told,
        "chosen": subject.chosen + 1,
        "pool": [json.loads(rows) for rows in pool],
    }


def _pooled(pool: dict[str, int], rows: Iterable[Row]) -> int:
    """The place of rows among those that are held once."""
    return pool.setdefault(json.dumps(list(rows), separators=(",", ":")), len(pool))


def _embedded(data: Any) -> str:
    r"""Data as JSON that can stand inside a script element: nothing in it ends the element or begins a comment.

    >>> _embedded("</script><!--")
    '"\\u003c/script\\u003e\\u003c!--"'
    """
    made = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return made.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(script: str) -> str:
    """What a content policy calls a script that may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _bundle() -> str:
    """Vega and its interpreter of expressions, which needs no eval."""
    made: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # A script that held these would end its element too early.
    assert re.search(r"</script|<!--", made, re.IGNORECASE) is None
    return made


def _resource(name: str) -> str:
    return (files("pymoo_anon.publishing.report") / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = shown
    environment.filters["text"] = text
    return environment.from_string(_resource("report.html.jinja"))
