"""The charts of the report, as Vega specifications."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from pymoo_anon import __version__
from pymoo_anon._files import replaced
from pymoo_anon.objectives.privacy.identity import KAnonymity, ProsecutorRisk
from pymoo_anon.problems.front import axes_of
from pymoo_anon.problems.tradeoffs import logarithmic
from pymoo_anon.publishing.report.cells import Row
from pymoo_anon.publishing.report.decision import CHOSEN, DETAILED, Measure, labelling, measures, point_label
from pymoo_anon.publishing.report.people import BELOW
from pymoo_anon.publishing.report.subject import Subject
from pymoo_anon.publishing.report.values import HERE

Spec = dict[str, Any]


def script() -> str:
    """Return the script of Vega, which needs no eval."""
    made = _cached("window.vegaEmbed = vegaEmbed;", _bundled)
    # These would end the script element too early.
    assert re.search(r"</script|<!--", made, re.IGNORECASE) is None
    return made


def compiled(specs: Sequence[Spec]) -> list[Spec]:
    """Compile Vega-Lite specifications."""
    return json.loads(_cached(json.dumps(specs), _compiled))


def _bundled(snippet: str) -> str:
    import vl_convert

    return vl_convert.javascript_bundle(snippet)


def _compiled(specs: str) -> str:
    import vl_convert

    made = map(vl_convert.vegalite_to_vega, json.loads(specs))
    return json.dumps([{key: value for key, value in spec.items() if key != "$schema"} for spec in made])


def _cached(source: str, make: Callable[[str], str]) -> str:
    """Make a text of a source, or load it from the user's cache."""
    import pooch

    folder = pooch.os_cache("pymoo_anon")
    identity = f"{__version__} {version('vl-convert-python')} {make.__name__} {source}"
    path = folder / f"vega-{sha256(identity.encode()).hexdigest()[:32]}.zlib"
    # The checksum of zlib tells damaged files.
    with suppress(OSError, zlib.error, UnicodeDecodeError):
        return zlib.decompress(path.read_bytes()).decode()
    made = make(source)
    # A report needs no cache: a disk that is full or read-only has none.
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with replaced(path) as temporary:
            temporary.write_bytes(zlib.compress(made.encode()))
    return made


def charts(subject: Subject, kinds: Collection[str]) -> dict[str, Spec]:
    """Return the specification of each kind of chart."""
    before = [] if subject.external else ["raw table"]
    made = _CHARTS | {
        "front": _front_chart(subject.chosen, measures(subject)[-1].drawn + 4),
        "risks": _risks_chart(subject.threshold, before),
        "at_risk": _before_after_chart("risk above", before, 200),
        "sure": _before_after_chart("share of the likeliest value", before, 180),
    }
    specs = {kind: {**made[kind], **_SHARED} for kind in kinds}
    fixed = [kind for kind in kinds if kind != "front"]
    return specs | dict(zip(fixed, compiled([specs[kind] for kind in fixed]), strict=True))


def front_chart(subject: Subject, rows: Sequence[Row]) -> dict[str, Any]:
    """Return labels of points by row, axes, and the axes shown first."""
    shown, every = labelling(subject), measures(subject)
    order = [one.measure for one in every]
    x, *others = [order.index(objective) for objective in axes_of(subject.front.objectives)]
    y, colour = [*(others or [x]), None][:2]
    labels = {row[0]: point_label(shown, row) for row in rows}
    return {"labels": labels, "axes": [_axis(subject, one) for one in every], "first": [x, y, colour]}


def _axis(subject: Subject, one: Measure) -> Spec:
    values = np.array([one.share(value) for value in subject.front.values(one.measure).tolist()])
    values = values[np.isfinite(values)]
    log = logarithmic(values)
    large = len(values) > 0 and abs(values).max() >= 1000
    # On a linear scale "~g" would write 150 as 1.5e+2.
    form = "~%" if one.loss else "~s" if large else "~g" if log else "~r"
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
            "legend": {"gradientLength": 180, "format": ".3~r" if form in ("~g", "~r") else form, **whole},
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


# --- the charts, in Vega-Lite ---------------------------------------------------------------------------------------

# The page fills the data source "rows" with columns c0, c1, ... and the place of each row. Expressions hold no names of
# the data. Colours are Okabe and Ito's, for colour-blind readers: in grey, orange is the lighter one.
BLUE, ORANGE, GREY, INK, SOFT = "#0072B2", "#D55E00", "#8A8F98", "#1B1F24", "#3A414B"

_AXIS = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500, "titlePadding": 10, "labelColor": SOFT}
_AXIS |= {"titleColor": SOFT, "gridColor": "#E6E8EB", "domainColor": "#A9AFB8", "tickColor": "#A9AFB8"}
_LEGEND = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500, "orient": "top", "titleLimit": 300}
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_CONFIG = {"background": None, "font": _FONT, "view": {"stroke": None}, "axis": _AXIS, "legend": _LEGEND}
_SHARED = {"data": {"name": "rows"}, "width": "container", "config": _CONFIG}

_TYPES = {"N": "nominal", "O": "ordinal", "Q": "quantitative"}


def _channel(name: str, **more: Any) -> Spec:
    """Return a column, such as "c1:Q", as a channel."""
    return {"field": name[:-2], "type": _TYPES[name[-1]], **more}


def _as_listed(name: str, **more: Any) -> Spec:
    # Without a sort, values keep the order of the point shown first.
    return _channel(name, sort={"field": "place", "op": "min", "order": "ascending"}, **more)


def _slanted(title: str) -> Spec:
    return _as_listed("c0:O", title=title, axis={"labelAngle": -40, "labelOverlap": False})


def _percent(name: str, title: str, ticks: int = 5, **axis: Any) -> Spec:
    return _channel(name, title=title, axis={"format": "~%", "tickCount": ticks, **axis})


def _row_axis(ticks: int) -> Spec:
    return _channel("c1:Q", title="rows", axis={"format": ",d", "tickCount": ticks, "tickMinStep": 1})


def _either(test: str, one: str = ORANGE, other: str = BLUE) -> Spec:
    return {"condition": {"test": test, "value": one}, "value": other}


def _tips(titles: Mapping[str, str]) -> list[Spec]:
    """Return tooltips of columns, `title|format` each."""
    told = [(name, *title.split("|")) for name, title in titles.items()]
    return [_channel(name, title=title, **({"format": form[0]} if form else {})) for name, title, *form in told]


def _marked(kind: str, **looks: Any) -> Callable[..., Spec]:
    """Return a maker of layers of one mark."""
    return lambda **channels: {"mark": {"type": kind, **looks}, "encoding": channels}


def _dot(size: int, **looks: Any) -> Callable[..., Spec]:
    return _marked("point", filled=True, opacity=1, size=size, **looks)


def _ring(size: int, **looks: Any) -> Callable[..., Spec]:
    return _marked("point", filled=False, size=size, **looks)


def _only(test: str) -> Spec:
    return {"transform": [{"filter": test}]}


def _computed(name: str, formula: str) -> Spec:
    return {"transform": [{"calculate": formula, "as": name}]}


def _stepped(step: int, *layers: Spec) -> Spec:
    return {"layer": [*layers], "height": {"step": step}}


_NAMES = _as_listed("c0:N", title=None)
_BAR = _marked("bar", color=BLUE, cornerRadiusEnd=2)


def _front_chart(shown: int, marks: int) -> Spec:
    at, label = {"x": _channel("x:Q"), "y": _channel("y:Q")}, {"field": "label", "type": "nominal"}
    size = {"condition": {"test": f"datum.c{marks - 1} == '{DETAILED}'", "value": 110}, "value": 45}
    circle = _marked("circle", cursor="pointer", stroke="white", strokeWidth=0.7)
    diamond = _dot(230, fill=ORANGE, shape="diamond", stroke="white")
    ring = _ring(420, shape="circle", stroke=INK, strokeWidth=1.8)
    layers = [
        circle(color=_channel("z:Q"), tooltip=label, size=size, **at) | {"name": "points"},
        diamond(tooltip=label, **at) | {"name": "chosen", **_only(f"datum.c{marks} == '{CHOSEN}'")},
        ring(**at) | {"name": "shown", **_only("datum.c0 == shown")},
        # The page drops the layers without data: a scale without data is invalid.
        *_bound_line("x", {"y": {"value": 6}}, align=_beyond_half("'right' : 'left'"), dx=_beyond_half("-5 : 5")),
        *_bound_line("y", {"x": {"value": "width"}}, align="right", baseline="bottom", dy=-3),
    ]
    brush = {"name": "brush", "select": {"type": "interval", "encodings": ["x", "y"]}, "views": ["points"]}
    return {"layer": layers, "height": 310, "params": [brush, {"name": "shown", "value": shown}]}


def _beyond_half(choices: str) -> Spec:
    # The words stand on the side of the line with more room.
    return {"expr": f"scale('x', datum.at) > width / 2 ? {choices}"}


def _bound_line(side: str, place: Spec, **looks: Any) -> list[Spec]:
    """Return the line of a bound, and its words."""
    at, own = {side: _channel("at:Q")}, {"data": {"name": "bounds"}, **_only(f"datum.side == '{side}'")}
    rule, text = _marked("rule", strokeDash=[5, 4], strokeWidth=1.5), _marked("text", fontSize=12, **looks)
    words = {"text": _channel("words:N"), **at, **place}
    return [
        rule(color=_either("datum.required", other=GREY), **at) | {"name": f"{side}_rule", **own},
        text(color=_either("datum.required", "#A34700", "#4C5561"), **words) | {"name": f"{side}_words", **own},
    ]


_TICKS = [tick for power in (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1) for tick in (power, 3 * power)]


def _shares_chart(before: Sequence[str], first: str) -> list[Spec]:
    """Return tooltips of shares before and in the release."""
    return _tips({"c0:N": first} | {f"c{i}:Q": f"{name}|.3~%" for i, name in enumerate([*before, "release"], start=1)})


def _risks_chart(threshold: float, before: Sequence[str]) -> Spec:
    def risk(name: str) -> Spec:
        scale = {"domainMax": 1, "nice": False, "padding": 12, "type": "log"}
        axis = {"format": "~%", "labelOverlap": "greedy", "labelSeparation": 8, "values": [*_TICKS, 1]}
        return _channel(name, title="risk, on a logarithmic scale", scale=scale, axis=axis)

    line = _marked("rule", color=GREY, strokeDash=[5, 4], strokeWidth=1.5)(x={"datum": threshold})
    way = _marked("rule", color=GREY, strokeWidth=2)(x=risk("c1:Q"), x2={"field": "c2"}, y=_NAMES)
    tips = _shares_chart(before, "risk")
    raw = _ring(110, fill="white", stroke=GREY, strokeWidth=2)(tooltip=tips, x=risk("c1:Q"), y=_NAMES)
    own = _dot(170, color=BLUE)(tooltip=tips, x=risk(f"c{len(before) + 1}:Q"), y=_NAMES)
    layers = line | {"data": {"name": "empty"}}, *([way, raw] if before else []), own
    return _stepped(44, *layers) | {"datasets": {"empty": [{}]}}


def _before_after_chart(title: str, before: Sequence[str], height: int) -> Spec:
    marks = [_BAR, *(_ring(70, stroke=GREY, strokeWidth=2) for _ in before)]
    columns = [f"c{len(before) + 1}:Q", *("c1:Q" for _ in before)]
    layers = [
        mark(tooltip=_shares_chart(before, "of"), x=_slanted(title), y=_percent(column, "share of the rows"))
        for mark, column in zip(marks, columns, strict=True)
    ]
    return {"layer": layers, "height": height}


def _queries_chart() -> Spec:
    def error(name: str) -> Spec:
        title, scale = "error of counts (square-root scale)", {"domainMin": 0, "type": "sqrt"}
        return _percent(name, title, 3) | {"scale": scale}

    tips = _tips({"c0:N": "point", "c1:Q": "half|.3~%", "c2:Q": "nine in ten|.3~%"})
    # Without a loss the release is told one column earlier.
    same = {"color": _either(f"datum.c5 == '{HERE}' || datum.c4 == '{HERE}'"), "y": _NAMES}
    return _stepped(
        16,
        _marked("rule", strokeWidth=2)(x=error("c1:Q"), x2={"field": "c2"}, **same),
        _dot(80)(tooltip=tips, x=error("c1:Q"), **same),
        _ring(60, fill="white")(tooltip=tips, x=error("c2:Q"), **same),
    )


def _ladder_chart() -> Spec:
    y = _as_listed("c0:N", title=None, axis={"domain": False, "grid": False, "ticks": False})
    ends = {"labelExpr": "datum.value == 0 ? 'raw' : '*'", "labelFlush": False, "orient": "top", "values": [0, 1]}
    scale = {"domain": [0, 1], "nice": False, "padding": 14}
    own = {"x": _channel("c2:Q", title=None, scale=scale, axis={"domain": False, "grid": False, **ends}), "y": y}
    tips = _tips({"c0:N": "attribute", "c1:Q": "level", "c3:Q": "groups|,", "c4:N": "such as"})
    least, greatest = _channel("c2:Q", aggregate="min", title=None), {"aggregate": "max", "field": "c2"}
    way, here = _marked("rule", color=BLUE, strokeCap="round", strokeWidth=5), _only(f"datum.c5 == '{HERE}'")
    return _stepped(
        30,
        _marked("rule", color="#D3D7DC", strokeWidth=3)(x=least, x2=greatest, y=y),
        _dot(70, color="#B4BAC3")(tooltip=tips, **own),
        way(x=_channel("c2:Q", title=None), x2={"datum": 0}, y=y) | here,
        _dot(190, color=BLUE)(tooltip=tips, **own) | here,
        _marked("text", color=SOFT, dy=-13, fontSize=11)(text=_channel("c3:Q"), **own) | here,
    )


def _levels_chart() -> Spec:
    legend = {"format": "~%", "gradientLength": 180, "tickCount": 3, "title": "way from the raw value to *"}
    scale = {"domain": [0, 0.5, 1], "range": ["#004A75", "#56A8DC", "#D5D9DE"]}
    titles = {
        "c0:N": "attribute",
        "c1:Q": "level",
        "c3:Q": "share of the cells|.1%",
        "c4:Q": "labels|,",
        "c5:N": "such as",
    }
    bar = _marked("bar", stroke="white", strokeWidth=1)(
        color=_channel("c2:Q", scale=scale, legend=legend),
        order=_channel("place:Q"),
        tooltip=_tips(titles),
        x=_percent("c3:Q", "share of the cells") | {"stack": "zero", "scale": {"domain": [0, 1]}},
        y=_NAMES,
    )
    return bar | {"height": {"step": 30}}


def _beside_chart() -> Spec:
    axis = {"format": "~%", "values": [1e-7, 3e-7, *_TICKS, 1.0, 3.0]}
    scale = {"nice": False, "padding": 60, "type": "log"}
    at = {
        "x": _channel("c2:Q", title="mean risk, on a logarithmic scale", scale=scale, axis=axis),
        "y": _percent("c3:Q", "loss", 6) | {"scale": {"padding": 14}},
    }
    tips, k = _tips({"c0:N": "recoding", "k:N": "smallest class"}), _computed("k", "'k = ' + format(datum.c1, ',')")
    text = _marked("text", align="left", color=INK, dx=12, fontSize=12)
    layers = [
        _dot(170)(color=_either("datum.place == 0"), tooltip=tips, **at) | k,
        text(text=_channel("k:N"), **at) | k,
    ]
    return {"layer": layers, "height": 220}


def _sizes_chart() -> Spec:
    bar = _marked("bar", cornerRadiusEnd=2)(
        color=_either(f"datum.c3 == '{BELOW}'"),
        tooltip=_tips({"c0:N": "class of", "c1:Q": "rows|,"}),
        x=_slanted("size of the class"),
        y=_row_axis(5),
    )
    return {"layer": [bar], "height": 210}


def _bars_chart() -> Spec:
    # The scale ends at a tick, so that its label has room.
    axis = {"format": "~s", "labelOverlap": True, "labelSeparation": 8, "tickCount": 3, "tickMinStep": 1}
    rows = _channel("c1:Q", title="rows", scale={"nice": 3}, axis=axis)
    return _BAR(tooltip=_tips({"c0:N": "value", "c1:Q": "rows|,"}), x=rows, y=_NAMES) | {"height": {"step": 20}}


def _columns_chart() -> Spec:
    # Few labels are all shown. A run of many values shows its first one.
    axis = {"labelAngle": -40, "labelExpr": "split(datum.label, ' … ')[0]", "labelSeparation": 8}
    axis["labelOverlap"] = {"expr": "domain('x').length <= 14 ? false : 'greedy'"}
    bar, value = _marked("bar", color=BLUE), _as_listed("c0:O", title=None, axis=axis)
    return bar(tooltip=_tips({"c0:N": "value", "c1:Q": "rows|,"}), x=value, y=_row_axis(4)) | {"height": 130}


def _groups_chart() -> Spec:
    lost = _percent("c3:Q", "information lost, mean of the group", labelOverlap=True) | {"scale": {"domainMin": 0}}
    tips = _tips({"c0:N": "attribute", "c1:N": "group", "c2:Q": "number|,", "c3:Q": "information lost|.1%"})
    named = _computed("name", "datum.c1 + ' (' + datum.c0 + ')'")
    return _BAR(tooltip=tips, x=lost, y=_as_listed("name:N", title=None)) | {"height": {"step": 20}, **named}


def _lorenz_chart() -> Spec:
    people, whole = _percent("c0:Q", "share of all, those with least first"), "share of the whole that is theirs"
    layers = [
        _marked("line", color=GREY, strokeDash=[2, 3])(x=people, y=_channel("c0:Q")),
        _marked("line", color=BLUE, strokeWidth=2.5)(x=people, y=_percent("c1:Q", whole)),
        _marked("line", color=ORANGE, strokeDash=[7, 3], strokeWidth=2.5)(x=people, y=_percent("c2:Q", whole)),
    ]
    return {"layer": layers, "height": 300}


# The charts that are the same in every report.
_CHARTS = {
    "queries": _queries_chart(),
    "sizes": _sizes_chart(),
    "ladder": _ladder_chart(),
    "levels": _levels_chart(),
    "beside": _beside_chart(),
    "bars": _bars_chart(),
    "columns": _columns_chart(),
    "groups": _groups_chart(),
    "lorenz": _lorenz_chart(),
}
