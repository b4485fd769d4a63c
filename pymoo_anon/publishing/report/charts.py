"""The charts of the report, as Vega specifications."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Any

import altair as alt
import numpy as np
import vl_convert

from pymoo_anon.objectives.privacy.identity import KAnonymity, ProsecutorRisk
from pymoo_anon.problems.front import axes_of
from pymoo_anon.problems.tradeoffs import logarithmic
from pymoo_anon.publishing.report.decision import CHOSEN, DETAILED, Measure, measures
from pymoo_anon.publishing.report.people import BELOW
from pymoo_anon.publishing.report.subject import Subject, titles
from pymoo_anon.publishing.report.values import HERE

# Okabe and Ito's palette for colour-blind readers. In grey, orange is the lighter one.
BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#8A8F98", "#1B1F24"

#: Configuration of all charts.
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

# Without a sort, values keep the order of the point shown first.
_ORDER = alt.EncodingSortField(field="place", op="min", order="ascending")
_NAMES = alt.Y("c0:N", sort=_ORDER, title=None)
_SLANTED = alt.Axis(labelAngle=-40, labelOverlap=False)


def charts(subject: Subject, kinds: Collection[str]) -> dict[str, Spec]:
    """Compile the specification of each kind of chart."""
    # The page fills the data source "rows" with columns c0, c1, ... Expressions hold no names of the data.
    made = {}
    for kind in kinds:
        if kind == "front":
            made[kind] = {**_front(subject).to_dict(), "config": CONFIG}
        else:
            made[kind] = _compiled(kind, subject.external, *([subject.threshold] if kind == "risks" else []))
    return made


@cache
def _compiled(kind: str, *about: Any) -> Spec:
    """Compile one kind of chart, once for all reports to the same readers."""
    external = about[0]
    made: dict[str, Callable[[], Any]] = {
        "risks": lambda: _risks(*about),
        "at_risk": lambda: _before_after(external, "risk above", 200),
        "sure": lambda: _before_after(external, "share of the likeliest value", 180),
        "queries": _queries,
        "sizes": _sizes,
        "ladder": _ladder,
        "levels": _levels,
        "beside": _beside,
        "bars": _bars,
        "columns": _columns,
        "groups": _groups,
        "lorenz": _lorenz,
    }
    spec = made[kind]().properties(width="container").to_dict()
    compiled: Spec = vl_convert.vegalite_to_vega({**spec, "config": CONFIG})
    return {key: value for key, value in compiled.items() if key != "$schema"}


def _tips(*columns: tuple[str, ...]) -> list[alt.Tooltip]:
    return [alt.Tooltip(name, title=title, format=form[0] if form else alt.Undefined) for name, title, *form in columns]


def _of_rows(external: bool, first: tuple[str, str]) -> list[alt.Tooltip]:
    shares = [(f"c{at}:Q", title, ".3~%") for at, title in enumerate(titles(external), start=1)]
    return _tips(first, *shares)


def axes(subject: Subject) -> list[Spec]:
    """Return the axis and the colour scale of every measure."""
    return [_axis(subject, one) for one in measures(subject)]


def first_axes(subject: Subject) -> list[int | None]:
    """Return the first measures for x, y and colour."""
    order = [one.measure for one in measures(subject)]
    x, *others = [order.index(objective) for objective in axes_of(subject.front.objectives)]
    y, *more = others or [x]
    return [x, y, more[0] if more else None]


def _axis(subject: Subject, one: Measure) -> Spec:
    values = np.array([one.share(value) for value in subject.front.values(one.measure).tolist()])
    values = values[np.isfinite(values)]
    log = logarithmic(values)
    large = len(values) > 0 and abs(values).max() >= 1000
    form = "~%" if one.loss else "~s" if large else "~g"
    axis: Spec = {"format": form, "tickCount": 6}
    if log:
        powers = 10.0 ** np.arange(-12, 13)
        within = (values.min() / 10 < powers) & (powers < values.max() * 10)
        axis = {"format": form, "values": powers[within].tolist()}
    scale = {"type": "log"} if log else {"type": "linear", "zero": False}
    whole = {"tickMinStep": 1} if one.measure.whole and not log else {}
    return {
        "name": one.name,
        "column": f"c{one.drawn}",
        "place": {"title": one.title, "scale": {**scale, "nice": False, "padding": 18}, "axis": axis},
        "colour": {
            "title": one.title,
            "scale": {**scale, "scheme": "viridis", "reverse": True},
            "legend": {"gradientLength": 180, "format": ".3~r" if form == "~g" else form, **whole},
        },
        "bounds": [bound for bound in _bounds(subject, one) if not log or bound["at"] > 0],
    }


def _bounds(subject: Subject, one: Measure) -> list[Spec]:
    required = dict.fromkeys([*subject.problem.constraints, *subject.asked])
    found = [
        {
            "at": one.share(own.bound),
            "words": f"required: {'≥' if own.at_least else '≤'} {own.bound:,g}",
            "required": True,
        }
        for own in required
        if own.objective == one.measure
    ]
    at = {KAnonymity: subject.enough, ProsecutorRisk: subject.threshold}.get(type(one.measure))
    if at is not None and at not in [bound["at"] for bound in found]:
        found.append({"at": at, "words": f"risk {subject.threshold:.3g}, for comparison", "required": False})
    return found


def _front(subject: Subject) -> Any:
    last = measures(subject)[-1].drawn + 4
    shown = alt.param(name="shown", value=subject.chosen)
    brush = alt.selection_interval(name="brush", encodings=["x", "y"])
    place = {"x": alt.X("x:Q"), "y": alt.Y("y:Q")}
    base = alt.Chart(_ROWS)
    detailed = f"datum.c{last - 1} == '{DETAILED}'"
    points = base.mark_circle(stroke="white", strokeWidth=0.7, cursor="pointer").encode(
        **place, color=alt.Color("z:Q"), size=alt.condition(detailed, alt.value(110), alt.value(45)), tooltip="label:N"
    )
    layers = [
        points.properties(name="points").add_params(brush),
        base.mark_point(shape="diamond", size=230, filled=True, fill=ORANGE, stroke="white", opacity=1)
        .encode(**place, tooltip="label:N")
        .transform_filter(f"datum.c{last} == '{CHOSEN}'"),
        base.mark_point(shape="circle", size=420, filled=False, stroke=INK, strokeWidth=1.8)
        .encode(**place)
        .transform_filter("datum.c0 == shown"),
        *_lines("x"),
        *_lines("y"),
    ]
    return alt.layer(*layers).add_params(shown).properties(height=310, width="container")


def _lines(side: str) -> list[Any]:
    base = alt.Chart(alt.NamedData("bounds")).transform_filter(f"datum.side == '{side}'")
    where = {side: alt.X("at:Q") if side == "x" else alt.Y("at:Q")}
    rule = base.mark_rule(strokeDash=[5, 4], strokeWidth=1.5).encode(
        **where, color=alt.condition("datum.required", alt.value(ORANGE), alt.value(GREY))
    )
    corner: dict[str, Any] = {"align": "right", "baseline": "bottom", "dy": -3}
    if side == "x":
        # The words stand on the side of the line with more room.
        right = "scale('x', datum.at) > width / 2"
        corner = {"align": alt.expr(f"{right} ? 'right' : 'left'"), "dx": alt.expr(f"{right} ? -5 : 5")}
    fixed = {"x": alt.value("width")} if side == "y" else {"y": alt.value(6)}
    ink = alt.condition("datum.required", alt.value("#A34700"), alt.value("#4C5561"))
    words = base.mark_text(fontSize=12, **corner).encode(**where, **fixed, text="words:N", color=ink)
    # The page drops the layers without data: a scale without data is invalid.
    return [rule.properties(name=f"{side}_rule"), words.properties(name=f"{side}_words")]


def _risks(external: bool, threshold: float) -> Any:
    base = alt.Chart(_ROWS)
    scale = alt.Scale(type="log", domainMax=1, nice=False, padding=12)
    ticks = [one * 10.0**power for power in range(-6, 0) for one in (1, 3)]
    axis = alt.Axis(format="~%", values=[*ticks, 1], labelOverlap="greedy", labelSeparation=8)
    x = [alt.X(f"c{at}:Q", scale=scale, title="risk, on a logarithmic scale", axis=axis) for at in (1, 2)]
    tips = _of_rows(external, ("c0:N", "risk"))
    line = alt.Chart(_ONCE).mark_rule(color=GREY, strokeDash=[5, 4], strokeWidth=1.5)
    layers = [line.encode(x=alt.datum(threshold))]
    if not external:
        layers += [
            base.mark_rule(color=GREY, strokeWidth=2).encode(x=x[0], x2="c2:Q", y=_NAMES),
            base.mark_point(filled=False, size=110, stroke=GREY, strokeWidth=2, fill="white").encode(
                x=x[0], y=_NAMES, tooltip=tips
            ),
        ]
    after = base.mark_point(filled=True, size=170, opacity=1, color=BLUE)
    after = after.encode(x=x[0 if external else 1], y=_NAMES, tooltip=tips)
    return alt.layer(*layers, after).properties(height=alt.Step(44))


def _before_after(external: bool, title: str, height: int) -> Any:
    base = alt.Chart(_ROWS).encode(x=alt.X("c0:O", sort=_ORDER, title=title, axis=_SLANTED))
    y = [alt.Y(f"c{at}:Q", title="share of the rows", axis=alt.Axis(format="~%", tickCount=5)) for at in (1, 2)]
    tips = _of_rows(external, ("c0:N", "of"))
    bars = base.mark_bar(color=BLUE, cornerRadiusEnd=2).encode(y=y[0 if external else 1], tooltip=tips)
    raw = base.mark_point(filled=False, size=70, stroke=GREY, strokeWidth=2).encode(y=y[0], tooltip=tips)
    return alt.layer(bars, *([] if external else [raw])).properties(height=height)


def _queries() -> Any:
    about: dict[str, Any] = {"axis": alt.Axis(format="~%", tickCount=3), "scale": alt.Scale(type="sqrt", domainMin=0)}
    x = [alt.X(f"c{at}:Q", title="error of counts (square-root scale)", **about) for at in (1, 2)]
    last = alt.Chart(_ROWS).transform_calculate(own="isValid(datum.c4) ? datum.c4 : datum.c3")
    colour = alt.condition(f"datum.own == '{HERE}'", alt.value(ORANGE), alt.value(BLUE))
    tips = _tips(("c0:N", "point"), ("c1:Q", "half", ".3~%"), ("c2:Q", "nine in ten", ".3~%"))
    line = last.mark_rule(strokeWidth=2).encode(x=x[0], x2="c2:Q", y=_NAMES, color=colour)
    half = last.mark_point(filled=True, size=80, opacity=1).encode(x=x[0], y=_NAMES, color=colour, tooltip=tips)
    most = last.mark_point(filled=False, size=60, fill="white").encode(x=x[1], y=_NAMES, color=colour, tooltip=tips)
    return alt.layer(line, half, most).properties(height=alt.Step(16))


def _sizes() -> Any:
    base = alt.Chart(_ROWS).encode(
        x=alt.X("c0:O", sort=_ORDER, title="size of the class", axis=_SLANTED),
        y=alt.Y("c1:Q", title="rows", axis=alt.Axis(tickCount=5, format=",d", tickMinStep=1)),
    )
    bars = base.mark_bar(cornerRadiusEnd=2).encode(
        color=alt.condition(f"datum.c3 == '{BELOW}'", alt.value(ORANGE), alt.value(BLUE)),
        tooltip=_tips(("c0:N", "class of"), ("c1:Q", "rows", ",")),
    )
    return alt.layer(bars).properties(height=210)


def _ladder() -> Any:
    base = alt.Chart(_ROWS)
    y = alt.Y("c0:N", sort=_ORDER, title=None, axis=alt.Axis(grid=False, domain=False, ticks=False))
    ends = "datum.value == 0 ? 'raw' : '*'"
    axis = alt.Axis(values=[0, 1], labelExpr=ends, grid=False, domain=False, orient="top", labelFlush=False)
    x = alt.X("c2:Q", title=None, scale=alt.Scale(domain=[0, 1], nice=False, padding=14), axis=axis)
    here = base.transform_filter(f"datum.c5 == '{HERE}'")
    tips = _tips(("c0:N", "attribute"), ("c1:Q", "level"), ("c3:Q", "groups", ","), ("c4:N", "such as"))
    rail = base.mark_rule(color="#D3D7DC", strokeWidth=3)
    return alt.layer(
        rail.encode(y=y, x=alt.X("min(c2):Q", title=None), x2="max(c2):Q"),
        base.mark_point(filled=True, size=70, color="#B4BAC3", opacity=1).encode(x=x, y=y, tooltip=tips),
        here.mark_rule(color=BLUE, strokeWidth=5, strokeCap="round").encode(
            y=y, x=alt.X("c2:Q", title=None), x2=alt.datum(0)
        ),
        here.mark_point(filled=True, size=190, color=BLUE, opacity=1).encode(x=x, y=y, tooltip=tips),
        here.mark_text(dy=-13, fontSize=11, color="#3A414B").encode(x=x, y=y, text="c3:Q"),
    ).properties(height=alt.Step(30))


def _levels() -> Any:
    axis, ends = alt.Axis(format="~%", tickCount=5), alt.Scale(domain=[0, 1])
    x = alt.X("c3:Q", stack="zero", title="share of the cells", axis=axis, scale=ends)
    scale = alt.Scale(domain=[0, 0.5, 1], range=["#004A75", "#56A8DC", "#D5D9DE"])
    legend = alt.Legend(title="way from the raw value to *", format="~%", gradientLength=180, tickCount=3)
    bars = alt.Chart(_ROWS, height=alt.Step(30)).mark_bar(stroke="white", strokeWidth=1)
    tips = _tips(
        ("c0:N", "attribute"),
        ("c1:Q", "level"),
        ("c3:Q", "share of the cells", ".1%"),
        ("c4:Q", "labels", ","),
        ("c5:N", "such as"),
    )
    return bars.encode(
        y=_NAMES, x=x, color=alt.Color("c2:Q", scale=scale, legend=legend), order="place:Q", tooltip=tips
    )


def _beside() -> Any:
    base = alt.Chart(_ROWS).transform_calculate(k="'k = ' + format(datum.c1, ',')")
    ticks = alt.Axis(format="~%", values=[one * 10.0**power for power in range(-7, 1) for one in (1, 3)])
    scale = alt.Scale(type="log", padding=60, nice=False)
    x = alt.X("c2:Q", title="mean risk, on a logarithmic scale", axis=ticks, scale=scale)
    y = alt.Y("c3:Q", title="loss", axis=alt.Axis(format="~%", tickCount=6), scale=alt.Scale(padding=14))
    is_own = "datum.place == 0"
    tips = _tips(("c0:N", "recoding"), ("k:N", "smallest class"))
    points = base.mark_point(filled=True, size=170, opacity=1).encode(
        x=x, y=y, color=alt.condition(is_own, alt.value(ORANGE), alt.value(BLUE)), tooltip=tips
    )
    words = base.mark_text(align="left", dx=12, fontSize=12, color=INK).encode(x=x, y=y, text="k:N")
    return alt.layer(points, words).properties(height=220)


_OF_VALUE = _tips(("c0:N", "value"), ("c1:Q", "rows", ","))


def _bars() -> Any:
    axis = alt.Axis(labelOverlap=True, labelSeparation=8, tickCount=3, format="~s", tickMinStep=1)
    bars = alt.Chart(_ROWS, height=alt.Step(20)).mark_bar(color=BLUE, cornerRadiusEnd=2)
    # The scale ends at a tick, so that its label has room.
    x = alt.X("c1:Q", title="rows", axis=axis, scale=alt.Scale(nice=3))
    return bars.encode(y=_NAMES, x=x, tooltip=_OF_VALUE)


def _columns() -> Any:
    # Few labels are all shown. A run of many values shows its first one.
    few = "domain('x').length <= 14 ? false : 'greedy'"
    first = "split(datum.label, ' … ')[0]"
    axis = alt.Axis(labelAngle=-40, labelOverlap=alt.ExprRef(few), labelSeparation=8, labelExpr=first)
    x = alt.X("c0:O", sort=_ORDER, title=None, axis=axis)
    y = alt.Y("c1:Q", title="rows", axis=alt.Axis(tickCount=4, format=",d", tickMinStep=1))
    return alt.Chart(_ROWS, height=130).mark_bar(color=BLUE).encode(x=x, y=y, tooltip=_OF_VALUE)


def _groups() -> Any:
    shown = ("c2:Q", "people", ","), ("c3:Q", "information lost", ".1%")
    axis = alt.Axis(labelOverlap=True, tickCount=5, format="~%")
    x = alt.X("c3:Q", title="information lost, mean of the group", axis=axis, scale=alt.Scale(domainMin=0))
    named = alt.Chart(_ROWS, height=alt.Step(20)).transform_calculate(name="datum.c1 + ' (' + datum.c0 + ')'")
    bars = named.mark_bar(color=BLUE, cornerRadiusEnd=2)
    return bars.encode(
        y=alt.Y("name:N", sort=_ORDER, title=None), x=x, tooltip=_tips(("c0:N", "attribute"), ("c1:N", "group"), *shown)
    )


def _lorenz() -> Any:
    base = alt.Chart(_ROWS)
    axis = alt.Axis(format="~%", tickCount=5)
    x = alt.X("c0:Q", title="share of the people, those with least first", axis=axis)

    def y(name: str) -> alt.Y:
        return alt.Y(f"{name}:Q", title="share of the whole that is theirs", axis=axis)

    equal = base.mark_line(color=GREY, strokeDash=[2, 3]).encode(x=x, y=alt.Y("c0:Q"))
    privacy = base.mark_line(color=BLUE, strokeWidth=2.5).encode(x=x, y=y("c1"))
    loss = base.mark_line(color=ORANGE, strokeWidth=2.5, strokeDash=[7, 3]).encode(x=x, y=y("c2"))
    return alt.layer(equal, privacy, loss).properties(height=300)
