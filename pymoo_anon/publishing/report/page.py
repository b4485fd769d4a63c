"""Page of the report: views, script and security policy."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from typing import Any

from pymoo_anon._files import replaced
from pymoo_anon._messages import listed
from pymoo_anon.problems.front import Choice, Front
from pymoo_anon.publishing.release import Release
from pymoo_anon.publishing.report import decision, people, values
from pymoo_anon.publishing.report.cells import Row, Table, View, cell_text, one_line, resource
from pymoo_anon.publishing.report.charts import charts, front_chart, script
from pymoo_anon.publishing.report.subject import ABOUT, Member, Subject, checked_subject
from pymoo_anon.table.microdata import Microdata

#: Greatest number of characters of the file. The scripts of the charts have 0.9 million.
MOST_CHARACTERS = 2_000_000

# Views that follow the shown point, and views that stay. Outsiders see only those of released rows.
_VIEWS = {
    "decision": decision.decision_view,
    "sizes": people.sizes_view,
    "inference": people.inference_view,
    "utility": values.utility_view,
    "changes": values.changes_view,
    "bias": people.bias_view,
}
_STAY = {
    "columns": values.columns_view,
    "before": values.before_view,
    "codebook": values.codebook_view,
    "front": decision.front_view,
    "evidence": decision.evidence_view,
    "beside": values.beside_view,
    "left": values.left_view,
    "open": decision.open_view,
}
_OUTSIDE = ("decision", "sizes", "inference", "changes", "columns", "codebook")


def write_report(
    path: str | os.PathLike[str],
    front: Front,
    choice: Choice,
    *,
    evidence: Mapping[str, Any] | Release | None = None,
    suppressed: str = "mark",
    threshold: float = 0.09,
    population: Microdata | None = None,
    external: bool = False,
    **about: Any,
) -> None:
    """Write the report of a release: one HTML file that needs no network.

    It tells what the release holds, and has views of the front, the decision, class sizes, what changed, who pays, the
    codebook, and the evidence. Every chart has its numbers beside it as a table. All points of the front are in it; the
    chosen one and its neighbours can be seen in all views. Equal arguments give equal files.

    The report for people outside holds what can be computed of the released rows and their codebook, and nothing else:
    neither front nor proof, neither requirements nor evidence, no loss, and no number of rows that were left out.

    Args:
        path: Where to write; the file appears whole or not at all.
        front: The front, `problem.front(res)`.
        choice: The point that is released, as `front.choose` gives it. What it asked for is shown as met or not.
        evidence: What `evidence` says of the release, or where there is none the release, or None.
        suppressed: What becomes of suppressed rows, "mark" or "drop", where there is no evidence that says it.
        threshold: A risk to be found that is shown for comparison. It decides nothing. 0.09 is that of EMA and Health
            Canada.
        population: A table of the population with the same quasi-identifiers, for the journalist risk.
        external: Whether the report is for people outside.
        **about: What stands at its head, in words: `owner`, whose data these are; `data`, the file they come from, not
            told outside; `release`, the file that is released; `recipients`, for whom; `purpose`, why. And
            `population_size`, how many persons the rows were drawn from, for an estimate of who is unique among them.

    Raises:
        TypeError: An argument is of another kind or unknown.
        ValueError: The choice is no point of the front, the threshold is no risk, `suppressed` is no such word, the
            population has other quasi-identifiers, or the file would be too large.
        OSError: The file cannot be written.
    """
    asked = {"evidence": evidence, "suppressed": suppressed, "threshold": threshold, "population": population}
    write_page(path, checked_subject(front, choice, **asked, external=external, about=about))


def write_page(
    path: str | os.PathLike[str], subject: Subject, show: Callable[[str], object] = lambda words: None
) -> None:
    """Write the report of a subject with as many points as fit, and show the number of each."""
    with replaced(path) as temporary:
        while len(made := _page(subject, show)) > MOST_CHARACTERS:
            if subject.most == 1 or subject.external:
                raise ValueError(
                    f"the report must be of at most {MOST_CHARACTERS:,} characters, got {len(made):,}; a front of "
                    "fewer points, front.only(...), or fewer quasi-identifiers fit"
                )
            subject = replace(subject, most=subject.most // 2)
        temporary.write_text(made, encoding="utf-8", newline="\n")


def _page(subject: Subject, show: Callable[[str], object]) -> str:
    followed = {name: view for name, view in _VIEWS.items() if not subject.external or name in _OUTSIDE}
    places, shown = subject.detailed(), []
    for number, place in enumerate(places, start=1):
        show(f"point {number} of {len(places)}")
        one = subject.member(place)
        shown.append((one, {name: view(subject, one) for name, view in followed.items()}))
    own, views = next((one, views) for one, views in shown if one.place == subject.place)
    stay = {name: view(subject) for name, view in _STAY.items() if not subject.external or name in _OUTSIDE}
    views = {**views, **stay}
    # Tables that follow the shown point may have rows at another one.
    figures = {name: [own for own in view.tables if own.rows or name in followed] for name, view in views.items()}
    scripts = [script(), resource("front.js") + resource("report.js")]
    payload = _payload(subject, shown, stay, figures)
    about = {words: subject.about[key] for key, words in ABOUT.items() if subject.about.get(key)}
    if subject.external:
        about.pop(ABOUT["data"], None)
    frame: str = _template().render(
        subject=subject,
        own=own,
        about=about,
        missing="" if subject.external else decision.not_stated(subject),
        badge=decision.badge(subject),
        verdict="" if subject.external else decision.verdict(subject, own),
        facts=_facts(subject, own),
        sentences={name: view.sentences for name, view in views.items()},
        figures=figures,
        definitions=_definitions(subject),
        columns=[one_line(name) for name in subject.names],
        axes=payload.get("axes", []),
        first=payload.get("first", []),
        label="" if subject.external else payload["labels"][subject.chosen],
        fate="" if subject.external else payload["fate"],
        style=resource("report.css"),
        scripts=scripts,
        # Name of a script in a content security policy.
        hashes=[f"'sha256-{b64encode(sha256(one.encode()).digest()).decode()}'" for one in scripts],
        data="@data@",
    )
    return frame.replace("@data@", _embedded(payload))


@cache
def _template() -> Any:
    """Return the template of the page, which escapes all it is given."""
    # Loaded late: a release does not need it.
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = cell_text
    return environment.from_string(resource("report.html.jinja"))


def _facts(subject: Subject, own: Member) -> list[tuple[str, str, str]]:
    # Classes of a single value with at most one percent of the rows stand in the view of inference alone.
    found = [(one_line(name), own.inferences[name]) for name in subject.released_sensitive]
    revealed = people.revealed(subject, [told for told in found if told[1].certain > 0.01], most=3)
    risks = [("", "Risk", people.compared(subject, own)[0]), ("", "Unique rows", values.uniqueness_said(subject))]
    risks += [(decision.MISSED, "Inference", revealed)] if revealed else []
    if subject.external:
        return risks
    joint, refined = decision.joint_of(subject), ", with each of its classes refined" if own.is_refined else ""
    risks += [("", "Other releases", f"Whoever has all of them and links their rows sees {joint}.")] if joint else []
    met = decision.verdict(subject, own)
    required = [f"{one} (here {value})" for one, value in decision.required(subject, own)]
    badge, kind = decision.badge(subject)
    if why := subject.evidence.get("anyway"):
        risks.insert(
            0, (decision.MISSED, "Released anyway", f"Although {listed(subject.evidence['exceptions'])}: {why}.")
        )
    return [
        (met, "Required" if met == decision.FREE else f"Required, and {met}", listed(required) or "nothing"),
        *risks,
        ("", "Usefulness", values.usefulness(subject)),
        (kind, "Choice", f"point {subject.chosen} of {len(subject.front)}{refined}; the front is {badge}"),
        ("", "Suppressed", people.suppressed(subject, own)),
        *([("", "Dropped columns", values.dropped(subject))] if values.dropped(subject) else []),
    ]


def _definitions(subject: Subject) -> dict[str, str]:
    told = {
        name: words
        for name, words in people.DEFINITIONS.items()
        if subject.population is not None or name != "journalist, highest"
    }
    if subject.external:
        return told
    found = {}
    for one, name in subject.front.names.items():
        if type(one) in people.MEANINGS:
            # Measures of one kind share a definition.
            alike = [type(other) for other in subject.front.names].count(type(one)) > 1 and one.known is None
            words = people.MEANINGS[type(one)] + ("" if one.known is None else people.OF_KNOWN)
            found[one.name if alike else one_line(name)] = words
    return found | told


def _payload(
    subject: Subject,
    shown: list[tuple[Member, dict[str, View]]],
    stay: dict[str, View],
    figures: dict[str, list[Table]],
) -> dict[str, Any]:
    """Return the data of the script: charts and tables, equal ones once."""
    every = [table for own in figures.values() for table in own]
    pool: dict[str, int] = {}

    def pooled(rows: Sequence[Row]) -> int:
        return pool.setdefault(json.dumps(rows, separators=(",", ":")), len(pool))

    told = [
        {
            "point": subject.number(member.place),
            "verdict": "" if subject.external else decision.verdict(subject, member),
            "words": {name: list(view.sentences) for name, view in views.items()},
            "tables": {table.name: pooled(table.rows) for view in views.values() for table in view.tables},
        }
        for member, views in shown
    ]
    # Sorted, as hashes of texts differ between processes.
    kinds = sorted({table.chart for table in every if table.chart})
    made = {
        "charts": charts(subject, kinds),
        "kinds": {table.name: [column.kind for column in table.columns] for table in every},
        "fixed": {table.name: table.rows for name in stay for table in figures[name] if table.chart},
        "members": told,
        "chosen": subject.chosen,
        "pool": [json.loads(rows) for rows in pool],
    }
    if subject.external:
        return made | {"chosen": 1, "members": [{**told[0], "point": 1}]}
    refined = " before each of its classes was refined" if subject.own.is_refined else ""
    return made | {"fate": f"This is the release{refined}."} | front_chart(subject, figures["front"][0].rows)


def _embedded(data: Any) -> str:
    r"""Encode data as JSON that is safe inside a script element.

    >>> _embedded("</script><!--")
    '"\\u003c/script\\u003e\\u003c!--"'
    """
    made = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return made.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
