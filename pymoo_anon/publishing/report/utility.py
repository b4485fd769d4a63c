"""What a release is still good for, and what else it could have been."""

from __future__ import annotations

from pymoo_anon.comparison.properties import TupleLoss
from pymoo_anon.comparison.utility import means, total_variation
from pymoo_anon.publishing.report.cells import Heading, Row, Table, View, cell_of, headings, one_line, share_text
from pymoo_anon.publishing.report.decision import measures
from pymoo_anon.publishing.report.subject import Member, Subject
from pymoo_anon.publishing.report.values import HERE


def utility_view(subject: Subject, member: Member) -> View:
    """How far off counts in a release are."""
    asked, (half, most) = subject.queries, map(share_text, subject.errors(member))
    lost = TupleLoss().measure(member.classes).mean() / len(subject.names)
    return View(
        (
            f"Of the information in the quasi-identifiers {share_text(lost)} is lost, and the rest is left.",
            f"Who counts in the release instead of the table, such as people with {asked.words(0)}, is off by at most "
            f"{half} in half of {asked.n:,} random counts, and by at most {most} in nine of ten.",
        ),
        (),
    )


def left_view(subject: Subject) -> View:
    """What the release leaves of each attribute, and how far off counts are beside its neighbours on the front."""
    own = subject.own
    how = "mark" if own.marked else "drop"
    apart, mean = total_variation(subject.table, own.classes, how), means(subject.table, own.classes, how)
    rows: list[Row] = []
    for name in subject.names:
        numbers = [cell_of(one) for one in mean.loc[name]] if name in mean.index else [None, None]
        rows.append((one_line(name), cell_of(apart.loc[name, name]), *numbers))
    distance = Heading("distance of the distributions", "share")
    columns = (Heading("attribute"), distance, *headings(mean_before="number", mean_after="number"))
    title = "What the release leaves of each attribute, rows being spread evenly over what their labels stand for."
    return View((), (Table("left", title, columns, tuple(rows)), _queries(subject)))


def _queries(subject: Subject) -> Table:
    """How far off counts are in the release and in its neighbours on the front."""
    shown = next((one for one in measures(subject) if one.loss), None)
    rows: list[Row] = []
    for member in subject.members():
        own = [] if shown is None else [cell_of(shown.share(float(shown.measure.evaluate(member.classes)[0])))]
        errors = map(cell_of, subject.errors(member))
        rows.append((f"point {subject.number(member.place)}", *errors, *own, HERE if member is subject.own else ""))
    loss = [] if shown is None else [Heading(f"{shown.name} in % of the most", "share")]
    columns = (Heading("point"), Heading("half are at most", "share"), Heading("nine in ten are at most", "share"))
    title = "How far off counts in the release are, beside its neighbours on the front."
    return Table("queries", title, (*columns, *loss, Heading("the release")), tuple(rows))


def beside_view(subject: Subject) -> View:
    """The release beside levels of whole columns, where each of its classes has levels of its own; else nothing."""
    if subject.external or not subject.is_local:
        return View((), ())
    # What it needs is loaded for local recodings alone.
    from pymoo_anon.publishing.local_facts import advice, beside, bound_words

    found = beside(subject.problem, subject.front.X[subject.place], subject.own.classes)
    errors = subject.queries.summary({way.how: way.classes for way in found.ways})["median"]
    rows = tuple(
        (way.how, way.k, cell_of(way.mean_risk), cell_of(way.loss), cell_of(errors[way.how])) for way in found.ways
    )
    columns = (Heading("recoding"), Heading("k", "whole"), *headings(mean_risk="share", loss="share"))
    columns += (Heading("counts off by, median", "share"),)
    title = "Levels for each class beside levels of whole columns, at equal k and at equal mean risk."
    own = ((subject.evidence or {}).get("chosen") or {}).get("local") or {}
    words = (str(found), bound_words(own.get("bound")), *advice(subject.problem, subject.asked))
    return View(words, (Table("beside", title, columns, rows),))
