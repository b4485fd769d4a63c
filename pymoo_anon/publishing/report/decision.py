"""The decision: the front, the requirements, the risks, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pymoo_anon._messages import listed, number, plain
from pymoo_anon.objectives.base import Objective
from pymoo_anon.problems.arguments import bound, reaches_of
from pymoo_anon.problems.releases import Together
from pymoo_anon.problems.tradeoffs import with_share
from pymoo_anon.publishing.explaining import wishes
from pymoo_anon.publishing.report.cells import NOTHING, Row, Table, View, cell_of, cell_text, one_line
from pymoo_anon.publishing.report.people import risks_view
from pymoo_anon.publishing.report.subject import ABOUT, Member, Subject

#: Marks of the released point and of points with details.
CHOSEN, DETAILED = "chosen", "yes"

#: Status of a requirement, or of a point with all its requirements or none.
MET, MISSED, FREE = "met", "not met", "nothing required"

# Greatest number of parts listed one by one, and of measures in a point's name.
_MOST_PARTS, _MOST_CALLED = 20, 4


class Measure(NamedTuple):
    """A measure as the front shows it."""

    measure: Objective
    name: str
    place: int  # Where its values stand in the table of the front
    # Least and greatest possible loss, or None. The column after a loss holds its share.
    loss: tuple[float, float] | None

    @property
    def drawn(self) -> int:
        """The column that is drawn: of a loss its share."""
        return self.place + (self.loss is not None)

    @property
    def title(self) -> str:
        """The measure in words, and which direction is better."""
        words = self.measure.words
        told = f"{self.name}, {words}" if words and words != self.name else self.name
        better = "higher" if self.measure.maximize else "lower"
        return f"{told} ({better} is better)"

    def share(self, value: float) -> float:
        """Return the value to draw, of a loss its share."""
        return value if self.loss is None else (value - self.loss[0]) / (self.loss[1] - self.loss[0])


def measures(subject: Subject) -> list[Measure]:
    """Return the measures of the front, in its order."""
    made: list[Measure] = []
    losses = subject.front.losses()
    for measure, name in subject.front.names.items():
        place = 1 if not made else made[-1].drawn + 1
        made.append(Measure(measure, one_line(name), place, losses.get(name)))
    return made


def front_view(subject: Subject) -> View:
    """List all points of the front, and the state of its proof."""
    shown = measures(subject)
    columns: list[Sequence[str]] = [("point", "whole")]
    for one in shown:
        columns.append((one.name, "whole" if one.measure.whole else "number"))
        columns += [(f"{one.name}, share lost", "share")] if one.loss else []
    columns += [("suppressed rows", "whole"), "levels", "details", "release"]
    front, detailed = subject.front, set(subject.detailed())
    values = [
        [[value, *([one.share(value)] if one.loss else [])] for value in front.values(one.measure)] for one in shown
    ]
    points = subject.problem.words(front.X)
    rows = []
    for place in np.argsort(front.rows):
        last = (DETAILED if place in detailed else "", CHOSEN if place == subject.place else "")
        cells = [cell for column in values for cell in column[place]]
        rows.append((subject.number(place), *cells, int(front.n_suppressed[place]), points[place], *last))
    caption = "The points of the front. None is better than another in every measure."
    return View((_proof(subject),), (Table.of("front", caption, columns, rows, "front"),))


def point_label(shown: list[Measure], row: Row) -> str:
    """Name a point by its number and its measures."""
    said = []
    for one in shown:
        share = f" ({cell_text(row[one.drawn], 'share')})" if one.loss else ""
        said.append(f"{one.name} = {cell_text(row[one.place], 'number')}{share}")
    return f"Point {row[0]}: {', '.join(said)}"


def badge(subject: Subject) -> tuple[str, str]:
    """Return the state of the proof in words and as a badge."""
    if subject.front.certified:
        return "proven", "proven"
    return ("not proven, gap known", "gap") if subject.front.gap is not None else ("not proven", "open")


def labelling(subject: Subject) -> list[Measure]:
    """Return the measures in a point's name."""
    shown = measures(subject)
    bound = {one.objective for one in (*subject.problem.constraints, *subject.asked)}
    few = [one for one in shown if one.loss or one.measure in bound]
    return shown if len(shown) <= _MOST_CALLED or not few else few


def _proof(subject: Subject) -> str:
    front = subject.front
    if front.certified:
        return (
            "The front is proven: every generalization of this table was visited or ruled out, and none is better in "
            "one measure without being worse in another."
        )
    if front.gap is not None:
        worst = front.gap.max(axis=0) if len(front) else []
        names = [front.names[objective] for objective in front.objectives]
        told = [f"{one_line(name)} by {number(gap, 'ROUND_CEILING')}" for name, gap in zip(names, worst, strict=True)]
        return f"The front is not proven. What was not visited is better by at most: {', '.join(told)}."
    return "The front is not proven: better points may exist."


def verdict(subject: Subject, member: Member) -> str:
    """Return whether a point meets all requirements, in a word."""
    found = subject.requirements(member)
    return FREE if not found else MET if all(one.met for one in found) else MISSED


def decision_view(subject: Subject, member: Member) -> View:
    """List the requirements and the risks, in an external report the risks alone."""
    found = risks_view(subject, member)
    if subject.external:
        return found
    asked = [f"Asked of columns: {one}." for one in wishes(subject.problem)]
    return View((_required(subject, member), *asked, *found.sentences), (_requirements(subject, member), *found.tables))


def _required(subject: Subject, member: Member) -> str:
    found = subject.requirements(member)
    missed = [f"{bound(one.constraint, one.name)} (it has {number(one.value)})" for one in found if not one.met]
    said = f"Not met: {plain(listed(missed))}." if missed else "All requirements are met."
    if not found:
        said = "Nothing was required: neither search nor pick sets a bound."
    return " ".join([said, *reaches_of([*subject.problem.measured, *(one.constraint.objective for one in found)])])


def _requirements(subject: Subject, member: Member) -> Table:
    columns = "required", "status", ("the release has", "number"), "set with"
    own = set(subject.problem.constraints)
    rows = (
        (
            plain(f"{one.name} {'≥' if one.constraint.at_least else '≤'} {one.constraint.bound:,.6g}"),
            MET if one.met else MISSED,
            _valued(subject, one.name, one.value),
            "search" if one.constraint in own else "pick",
        )
        for one in subject.requirements(member)
    )
    return Table.of("requirements", "Requirements, and the values of the release.", columns, rows)


def required(subject: Subject, member: Member) -> list[tuple[str, str]]:
    """Return the requirements in words, and the values of the release."""
    return [(str(row[0]), cell_text(row[2], "number")) for row in _requirements(subject, member).rows]


def _valued(subject: Subject, name: str, value: Any) -> Any:
    loss = subject.front.losses().get(name)
    if loss is None or value is None or isinstance(value, str):
        return value
    return with_share(cell_text(value, "number"), value, loss)


def not_stated(subject: Subject) -> str:
    """Name the missing entries of the head, and where to fill them in."""
    missing = [words for key, words in ABOUT.items() if not subject.about.get(key)]
    if not missing:
        return ""
    named = listed(words if number == 0 else words.lower() for number, words in enumerate(missing))
    verb = "is" if len(missing) == 1 else "are"
    return f"{named} {verb} not stated: fill in [report] of the project file, or step 6 of the screen."


def open_view(subject: Subject) -> View:
    """List the open questions and the missing entries."""
    earlier, joint, missing = subject.evidence.get("earlier"), joint_of(subject), not_stated(subject)
    sensitive = [name for name in subject.table.sensitive if name not in subject.released_sensitive]
    words = {
        missing: missing,
        "The release was not recounted: no evidence was given.": not subject.evidence,
        "Attackers who know other columns than the quasi-identifiers"
        + (f", such as the kept {listed(subject.kept)}." if subject.kept else "."): True,
        "The risk from somebody who does not know who is in the table: no table of the population was given.": (
            subject.population is None
        ),
        "Unique people in the population: its size is not stated.": subject.about.get("population_size") is None,
        "How many persons a row stands for: rows have no sampling weights.": True,
        "What can be inferred of sensitive columns: none is named.": not subject.table.sensitive,
        f"What can be inferred of {listed(map(one_line, sensitive))}, which the release does not hold.": sensitive,
        "Whether better points exist: the front is not proven.": not subject.front.certified,
        "How well a model learns from the release.": True,
        "Other releases of the same table, which can be compared with this one"
        + (f": {len(earlier)} {'is' if len(earlier) == 1 else 'are'} known." if earlier else ": none is known."): True,
        f"Whoever has all of them and links their rows sees {joint}.": joint,
    }
    tables = () if not joint else (_joint_table(joint),)
    return View(tuple(sentence for sentence, holds in words.items() if holds), tables)


def joint_of(subject: Subject) -> Together | None:
    """Return the joint classes of all releases in numbers, if several."""
    own = subject.evidence.get("joint")
    return own and Together.of_record(own, subject.table.n_rows)


def _joint_table(found: Together) -> Table:
    least = {f"joint l of {one_line(name)}": own for name, own in found.least_l.items()}
    few = {"rows alone": found.alone, f"rows in joint classes below {found.single_k}": found.below}
    values = {"joint k": found.k, **least, **few}
    columns, rows = ("release", *((title, "whole") for title in values)), [("all releases", *values.values())]
    return Table.of("joint", "Whoever has all releases and links their rows.", columns, rows)


def evidence_view(subject: Subject) -> View:
    """List the claims of the release and its evidence."""
    if not subject.evidence:
        return View(("The release was not recounted: no evidence was given.",), ())
    rows: list[Row] = []
    for one in subject.evidence["claims"]:
        values = [_valued(subject, one["measure"], one[key]) for key in ("promised", "recounted")]
        rows.append((one_line(one["measure"]), *values, _written(one["holds"]) or NOTHING))
    broken = [str(row[0]) for row in rows if row[-1] == "no"]
    unknown = [str(row[0]) for row in rows if row[-1] == NOTHING]
    words = f"All {'other ' * bool(unknown)}promises were recounted from the released table alone, by other means than "
    words += "the search: "
    words += f"{listed(broken)} {'does' if len(broken) == 1 else 'do'} not hold." if broken else "they hold."
    words += f" Not recounted: {listed(unknown)}." if unknown else ""
    # Other views show these.
    rest = {key: value for key, value in subject.evidence.items() if key not in _ELSEWHERE}
    told = ((" › ".join(map(one_line, path)), _written(value)) for path, value in _flat(rest))
    claimed = "measure", ("promised", "number"), ("recounted", "number"), "holds"
    claims = Table.of("claims", "Promised values, and a recount of the release.", claimed, rows)
    settings = Table.of("evidence", "Settings that reproduce the release.", ("what", "value"), told)
    # A release alone tells no settings.
    return View((words,), (claims, settings) if "reproduce" in rest else (claims,))


_ELSEWHERE = ("claims", "front", "columns", "dropped", "uniqueness")


def _flat(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the single values of nested dicts and lists with their paths."""
    if isinstance(found, Mapping):
        parts = [(str(key), value) for key, value in found.items()]
    elif isinstance(found, list | tuple) and any(isinstance(value, Mapping | list | tuple) for value in found):
        if len(found) > _MOST_PARTS:
            yield path, f"{len(found)} parts, which the file of the evidence has"
            return
        parts = [(str(number), value) for number, value in enumerate(found, start=1)]
    else:
        yield path or ("",), found
        return
    for key, value in parts:
        yield from _flat(value, (*path, key))


def _written(value: Any) -> str | None:
    if isinstance(value, list | tuple):
        return ", ".join(str(_written(one)) for one in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return str(cell_of(value))
    return None if value is None else plain(str(value))
