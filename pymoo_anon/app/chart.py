"""The chart of a front, as the report draws it."""

from __future__ import annotations

import json
from typing import Any

from nicegui import ui

from pymoo_anon.problems.front import Front
from pymoo_anon.publishing.report.charts import axes, charts, first_axes
from pymoo_anon.publishing.report.decision import CHOSEN, DETAILED, front_view, labelling, point_label
from pymoo_anon.publishing.report.subject import Subject, checked_subject


def subject_of(front: Front, suppressed: str = "mark") -> Subject:
    """Return the subject of a report about the first point of a front."""
    about: dict[str, Any] = {}
    asked: dict[str, Any] = {"evidence": None, "suppressed": suppressed, "threshold": 0.09, "population": None}
    return checked_subject(front, front.choose(row=int(front.rows[0])), **asked, external=False, about=about)


def chart_of(front: Front, chosen: int | None = None) -> dict[str, Any]:
    """Return the data of the chart of a front, with the chosen row."""
    subject = subject_of(front)
    (table,) = front_view(subject).tables
    measures = labelling(subject)
    return {
        "spec": charts(subject, ["front"])["front"],
        "axes": axes(subject),
        "first": first_axes(subject),
        # All points look alike but the chosen one.
        "rows": [(*row[:-2], DETAILED, CHOSEN if row[0] == chosen else "") for row in table.rows],
        "labels": {row[0]: point_label(measures, row) for row in table.rows},
    }


def place_for(name: str) -> None:
    """Make a place for the chart of a front."""
    ui.element("div").classes("front").props(f'id="{name}" aria-hidden="true"')


def draw(name: str, data: Any, shown: int = 0) -> None:
    """Draw a front in its place, if that is on the page."""
    made = json.dumps(data, allow_nan=False).replace("<", "\\u003c")
    ui.run_javascript(f"window.frontChart?.draw({json.dumps(name)}, {made}, {shown})")
