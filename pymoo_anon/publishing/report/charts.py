"""The charts of the report: Vega specifications, made of Vega-Lite's, that draw the rows of its tables."""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from pymoo_anon.objectives.privacy.identity import KAnonymity, ProsecutorRisk
from pymoo_anon.publishing.report.changes import HERE
from pymoo_anon.publishing.report.decision import PASS
from pymoo_anon.publishing.report.front import CHOSEN, axes, title
from pymoo_anon.publishing.report.sizes import BELOW
from pymoo_anon.publishing.report.subject import Subject

# Okabe and Ito's colours, which the colour-blind tell apart; in grey the orange is the lighter one.
BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#8A8F98", "#1B1F24"

#: What all charts share.
CONFIG: dict[str, Any] = {
    "background": None,
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "titlePadding": 10,
        "labelColor": "#3A414B",
        "titleColor": "#3A414B",
        "gridColor": "#E6E8EB",
        "domainColor": "#A9AFB8",
        "tickColor": "#A9AFB8",
    },
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500, "orient": "top", "titleLimit": 300},
}

Spec = dict[str, Any]
_ROWS = alt.NamedData("rows")
_ONCE = alt.InlineData(values=[{}])

# Values stand in the order of their rows. Without a sort they would stand in that of their first appearance, which is
# another one as soon as the rows of another point have been shown.
_ORDER = alt.EncodingSortField(field="place", op="min", order="ascending")


def charts(subject: Subject) -> dict[str, Spec]:
    """By kind of chart its specification, compiled to Vega.

    The page puts the rows of a table into the data source "rows", with their columns c0, c1, ... No name or value of
    the data stands in an expression.
    """
    return {**_always(), "front": _compiled(_front(subject)), "risks": _compiled(_risks(subject))}


@cache
def _always() -> dict[str, Spec]:
    """The charts that are the same in every report."""
    made = {
        "sizes": _sizes(),
        "ladder": _ladder(),
        "bars": _bars(),
        "columns": _columns(),
        "groups": _groups(),
        "lorenz": _lorenz(),
    }
    return {kind: _compiled(chart) for kind, chart in made.items()}


def _compiled(chart: Any) -> Spec:
    spec = chart.properties(width="container").to_dict()
    compiled: Spec = vl_convert.vegalite_to_vega({**spec, "config": CONFIG})
    return {key: value for key, value in compiled.items() if key != "$schema"}


def _front(subject: Subject) -> Any:
    """The members as points; the release is marked, and so is the point whose data are shown."""
    x, y = axes(subject)
    last = len(subject.problem.measured) + 3
    shown = alt.param(name="shown", value=subject.chosen + 1)
    brush = alt.selection_interval(name="brush")
    place = {"x": _axis(subject, x, alt.X), "y": _axis(subject, y, alt.Y)}
    names = [str(name) for name in subject.measures.columns]
    base = alt.Chart(_ROWS)
    third = [j for j in range(len(subject.problem.objectives)) if j not in (x, y)]
    colour: Any = alt.value(BLUE)
    if third:
        step = 1 if subject.problem.objectives[third[0]].whole else alt.Undefined
        scale = alt.Scale(scheme="viridis", reverse=True)
        legend = alt.Legend(
            title=title(subject.problem.objectives[third[0]], names[third[0]]), gradientLength=180, tickMinStep=step
        )
        colour = alt.Color(f"c{third[0] + 1}:Q", scale=scale, legend=legend)
    points = base.mark_circle(size=110, opacity=0.9, stroke="white", strokeWidth=0.7, cursor="pointer")
    layers = [
        points.encode(**place, color=colour, tooltip="label:N").properties(name="points").add_params(brush),
        base.mark_point(shape="diamond", size=230, filled=True, fill=ORANGE, stroke="white", opacity=1)
        .encode(**place)
        .transform_filter(f"datum.c{last} == '{CHOSEN}'"),
        base.mark_point(shape="circle", size=420, filled=False, stroke=INK, strokeWidth=1.8)
        .encode(**place)
        .transform_filter("datum.c0 == shown"),
        *_bounds(subject, x, "x"),
        *_bounds(subject, y, "y"),
    ]
    return alt.layer(*layers).add_params(shown).properties(height=340)


def _axis(subject: Subject, j: int, channel: Any) -> Any:
    """One measure as an axis: logarithmic where its values are positive and span more than two decades."""
    values = subject.measures.iloc[list(subject.rows), j].to_numpy(dtype=float)
    values = values[np.isfinite(values)]
    log = bool(len(values) and values.min() > 0 and values.max() > 100 * values.min())
    name = title(subject.problem.measured[j], str(subject.measures.columns[j]))
    scale = alt.Scale(type="log", nice=False, padding=18) if log else alt.Scale(zero=False, nice=False, padding=18)
    powers = [10.0**e for e in range(-12, 13) if values.min() / 10 < 10.0**e < values.max() * 10] if log else None
    format_ = "~s" if len(values) and abs(values).max() >= 1000 else "~g"
    axis = alt.Axis(format=format_, tickCount=6) if powers is None else alt.Axis(format=format_, values=powers)
    return channel(f"c{j + 1}:Q", title=name, scale=scale, axis=axis)


def _bounds(subject: Subject, j: int, side: str) -> list[Any]:
    """Lines where an axis' measure is bounded: by a constraint, or by the accepted risk."""
    measure = subject.problem.measured[j]
    at = {
        one.bound: f"required: {'≥' if one.at_least else '≤'} {one.bound:g}"
        for one in subject.problem.constraints
        if one.objective == measure
    }
    if isinstance(measure, KAnonymity):
        at.setdefault(subject.enough, f"risk at most {subject.threshold:.3g}: k ≥ {subject.enough}")
    elif isinstance(measure, ProsecutorRisk):
        at.setdefault(subject.threshold, f"accepted risk: {subject.threshold:.3g}")
    lines = []
    for bound, words in at.items():
        where = {side: alt.datum(bound)}
        lines.append(alt.Chart(_ONCE).mark_rule(color=ORANGE, strokeDash=[5, 4], strokeWidth=1.5).encode(**where))
        corner: dict[str, Any] = (
            {"x": "width", "align": "right", "dy": -6} if side == "y" else {"y": 6, "align": "left", "dx": 5}
        )
        mark = {key: value for key, value in corner.items() if key not in ("x", "y")}
        fixed = {key: alt.value(value) for key, value in corner.items() if key in ("x", "y")}
        lines.append(
            alt.Chart(_ONCE)
            .mark_text(color="#A34700", fontSize=12, **mark)
            .encode(**where, **fixed, text=alt.value(words))
        )
    return lines


def _risks(subject: Subject) -> Any:
    """Each risk as a line from before to after, against the accepted one."""
    base = alt.Chart(_ROWS)
    y = alt.Y("c0:N", sort=_ORDER, title=None)
    scale = alt.Scale(type="log", domainMax=1, nice=False, padding=12)
    axis = alt.Axis(format="~%", values=[0.00001, 0.0001, 0.001, 0.01, 0.1, 1])
    x = {
        name: alt.X(f"{name}:Q", scale=scale, title="risk, on a logarithmic scale", axis=axis) for name in ("c1", "c2")
    }
    passed = f"datum.c4 == '{PASS}'"
    tips = [
        alt.Tooltip("c0:N", title="risk"),
        alt.Tooltip("c1:Q", title="raw table", format=".3~%"),
        alt.Tooltip("c2:Q", title="release", format=".3~%"),
    ]
    line = base.mark_rule(color=GREY, strokeWidth=2).encode(x=x["c1"], x2="c2:Q", y=y)
    before = base.mark_point(filled=False, size=110, stroke=GREY, strokeWidth=2, fill="white").encode(
        x=x["c1"], y=y, tooltip=tips
    )
    after = base.mark_point(filled=True, size=170, opacity=1).encode(
        x=x["c2"],
        y=y,
        color=alt.condition(passed, alt.value(BLUE), alt.value(ORANGE)),
        shape=alt.condition(passed, alt.value("circle"), alt.value("square")),
        tooltip=tips,
    )
    accepted = (
        alt.Chart(_ONCE)
        .mark_rule(color=ORANGE, strokeDash=[5, 4], strokeWidth=1.5)
        .encode(x=alt.datum(subject.threshold))
    )
    return alt.layer(accepted, line, before, after).properties(height=alt.Step(44))


def _sizes() -> Any:
    base = alt.Chart(_ROWS).encode(
        x=alt.X("c0:O", sort=_ORDER, title="people in the class", axis=alt.Axis(labelAngle=-40, labelOverlap=False)),
        y=alt.Y("c1:Q", title="people", axis=alt.Axis(tickCount=5, format=",d", tickMinStep=1)),
    )
    bars = base.mark_bar(cornerRadiusEnd=2).encode(
        color=alt.condition(f"datum.c2 == '{BELOW}'", alt.value(ORANGE), alt.value(BLUE)),
        tooltip=[alt.Tooltip("c0:N", title="class of"), alt.Tooltip("c1:Q", title="people", format=",")],
    )
    return alt.layer(bars).properties(height=260)


def _ladder() -> Any:
    """Of each attribute a rung for each level, and a bar up to where the release stands."""
    base = alt.Chart(_ROWS)
    y = alt.Y("c0:N", sort=_ORDER, title=None, axis=alt.Axis(grid=False, domain=False, ticks=False))
    axis = alt.Axis(
        values=[0, 1],
        labelExpr="datum.value == 0 ? 'raw' : '*'",
        grid=False,
        domain=False,
        orient="top",
        labelFlush=False,
    )
    x = alt.X("c2:Q", title=None, scale=alt.Scale(domain=[0, 1], nice=False, padding=14), axis=axis)
    here = base.transform_filter(f"datum.c5 == '{HERE}'")
    tips = [
        alt.Tooltip("c0:N", title="attribute"),
        alt.Tooltip("c1:Q", title="level"),
        alt.Tooltip("c3:Q", title="groups", format=","),
        alt.Tooltip("c4:N", title="such as"),
    ]
    rail = (
        alt.Chart(_ROWS)
        .mark_rule(color="#D3D7DC", strokeWidth=3)
        .encode(y=y, x=alt.X("min(c2):Q", title=None), x2="max(c2):Q")
    )
    return alt.layer(
        rail,
        base.mark_point(filled=True, size=70, color="#B4BAC3", opacity=1).encode(x=x, y=y, tooltip=tips),
        here.mark_rule(color=BLUE, strokeWidth=5, strokeCap="round").encode(
            y=y, x=alt.X("c2:Q", title=None), x2=alt.datum(0)
        ),
        here.mark_point(filled=True, size=190, color=BLUE, opacity=1).encode(x=x, y=y, tooltip=tips),
        here.mark_text(dy=-13, fontSize=11, color="#3A414B").encode(x=x, y=y, text="c3:Q"),
    ).properties(height=alt.Step(38))


def _people_tips() -> list[alt.Tooltip]:
    return [alt.Tooltip("c0:N", title="value"), alt.Tooltip("c1:Q", title="people", format=",")]


def _bars() -> Any:
    """Values without an order."""
    return (
        alt.Chart(_ROWS)
        .mark_bar(color=BLUE, cornerRadiusEnd=2)
        .encode(
            y=alt.Y("c0:N", sort=_ORDER, title=None),
            x=alt.X("c1:Q", title="people", axis=alt.Axis(labelOverlap=True, tickCount=4, format=",d", tickMinStep=1)),
            tooltip=_people_tips(),
        )
        .properties(height=alt.Step(20))
    )


def _columns() -> Any:
    """Values with an order."""
    return (
        alt.Chart(_ROWS)
        .mark_bar(color=BLUE)
        .encode(
            x=alt.X("c0:O", sort=_ORDER, title=None, axis=alt.Axis(labelOverlap="greedy", labelAngle=0)),
            y=alt.Y("c1:Q", title="people", axis=alt.Axis(tickCount=4, format=",d", tickMinStep=1)),
            tooltip=_people_tips(),
        )
        .properties(height=170)
    )


def _groups() -> Any:
    """The groups of people that lose most."""
    tips = [
        alt.Tooltip("c0:N", title="attribute"),
        alt.Tooltip("c1:N", title="group"),
        alt.Tooltip("c2:Q", title="people", format=","),
        alt.Tooltip("c3:Q", title="information lost", format=".1%"),
    ]
    return (
        alt.Chart(_ROWS)
        .transform_calculate(name="datum.c1 + ' (' + datum.c0 + ')'")
        .mark_bar(color=BLUE, cornerRadiusEnd=2)
        .encode(
            y=alt.Y("name:N", sort=_ORDER, title=None),
            x=alt.X(
                "c3:Q",
                title="information lost, mean of the group",
                axis=alt.Axis(labelOverlap=True, tickCount=5, format="~%"),
                scale=alt.Scale(domainMin=0),
            ),
            tooltip=tips,
        )
        .properties(height=alt.Step(20))
    )


def _lorenz() -> Any:
    """The Lorenz curves of privacy and loss, and the line where all people have the same."""
    base = alt.Chart(_ROWS)
    axis = alt.Axis(format="~%", tickCount=5)
    x = alt.X("c0:Q", title="share of the people, those with least first", axis=axis)

    def y(name: str) -> alt.Y:
        return alt.Y(f"{name}:Q", title="share of the whole that is theirs", axis=axis)

    equal = base.mark_line(color=GREY, strokeDash=[2, 3]).encode(x=x, y=alt.Y("c0:Q"))
    privacy = base.mark_line(color=BLUE, strokeWidth=2.5).encode(x=x, y=y("c1"))
    loss = base.mark_line(color=ORANGE, strokeWidth=2.5, strokeDash=[7, 3]).encode(x=x, y=y("c2"))
    return alt.layer(equal, privacy, loss).properties(height=300)
