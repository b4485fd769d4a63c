"""The charts of the report, as Vega specifications."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Sequence
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
from pymoo_anon.publishing.report.cells import Row, template
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
    marks = measures(subject)[-1].drawn + 4
    made: Spec = json.loads(
        template("charts.json.jinja").render(
            external=subject.external,
            threshold=subject.threshold,
            shown=subject.chosen,
            marks=marks,
            detailed=DETAILED,
            chosen=CHOSEN,
            here=HERE,
            below=BELOW,
        )
    )
    shared = {"data": {"name": "rows"}, "width": "container", "config": made["config"]}
    specs = {kind: {**made[kind], **shared} for kind in kinds}
    fixed = [kind for kind in kinds if kind != "front"]
    return specs | dict(zip(fixed, compiled([specs[kind] for kind in fixed]), strict=True))


def front_chart(subject: Subject, rows: Sequence[Row]) -> dict[str, Any]:
    """Return labels of points by row, axes, and the axes shown first.

    Args:
        subject: The subject.
        rows: The rows of the table of the front.
    """
    shown = labelling(subject)
    labels = {row[0]: point_label(shown, row) for row in rows}
    return {"labels": labels, "axes": [_axis(subject, one) for one in measures(subject)], "first": _first_axes(subject)}


def _first_axes(subject: Subject) -> list[int | None]:
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
