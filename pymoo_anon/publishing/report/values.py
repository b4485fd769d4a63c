"""The values in the release: columns, changes, labels, and utility."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon._messages import listed, plain
from pymoo_anon.comparison.uniques import SMALL_CLASSES
from pymoo_anon.comparison.utility import CertainCounts, distance, domain_numbers, means, of_release, of_table
from pymoo_anon.publishing.codebook import codebook_of
from pymoo_anon.publishing.explaining import advice, alternatives, bound_words
from pymoo_anon.publishing.release import said_of
from pymoo_anon.publishing.report.cells import Row, Table, View, cell_text, one_line, share_text
from pymoo_anon.publishing.report.decision import measures
from pymoo_anon.publishing.report.people import highest_and_mean_risk
from pymoo_anon.publishing.report.subject import Member, Subject
from pymoo_anon.table.domain_values import ROOT
from pymoo_anon.table.generalization import LocalGeneralization
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.typing import Ints

#: Mark of the release's level.
HERE = "●"

#: Warning of every report.
UNPROTECTED = (
    "What this does not protect against: classes that agree in what is secret, people who know a secret already, a "
    "second release of the same table, and columns that are kept as they are, among others. The page “What this does "
    "not protect against” of pymoo_anon's guide tells all of it, with sources."
)

# Greatest number of labels shown of an attribute, without and with an order.
_MOST_LABELS, _MOST_ORDERED = 14, 120

# Greatest number of labels listed from the codebook.
_MOST_LISTED = 3000

# Number of labels given as examples of a level.
_EXAMPLES = 3

_SUPPRESSED = "* (suppressed)"


def columns_view(subject: Subject) -> View:
    """List the columns of the release with their roles, and unique rows."""
    evidence = subject.evidence
    if "columns" not in evidence:
        return View((UNPROTECTED, "The other columns of the release are unknown: no evidence was given."), ())
    roles = (
        (one_line(one["column"]), one_line(one["role"]), one["reason"] and one_line(one["reason"]))
        for one in evidence["columns"]
    )
    named = "column", "role", "why it is kept"
    gone = dropped(subject)
    words = [UNPROTECTED, uniqueness_said(subject), *([f"Dropped: {gone}."] if gone else [])]
    unique = (
        (one_line(one["columns"]), one["unique"], one["unique"] / one["rows"], one["rows"])
        for one in evidence.get("uniqueness", ())
    )
    counted = "unique by", ("unique rows", "whole"), ("share", "share"), ("of", "whole")
    columns = Table.of("columns", "Every column of the release, and its role.", named, roles)
    return View(tuple(words), (columns, Table.of("unique", "Rows unlike all others.", counted, unique)))


# Of more columns the first page names the first ones.
_MOST_DROPPED = 10


def dropped(subject: Subject) -> str:
    """List the first dropped columns, except for outsiders."""
    return "" if subject.external else listed(map(one_line, subject.evidence.get("dropped", ())), _MOST_DROPPED)


def uniqueness_said(subject: Subject) -> str:
    """Say how many released rows are unique, by the evidence."""
    evidence = subject.evidence
    if not evidence.get("uniqueness"):
        return "Unique rows were not counted: no evidence was given."
    return plain(said_of(pd.DataFrame(evidence["columns"]), pd.DataFrame(evidence["uniqueness"])))


# Greatest median error of counts called good, and called rough. Nine in ten may be off ten times as much.
_GOOD, _ROUGH = 0.1, 0.3


def usefulness(subject: Subject) -> str:
    """Give one verdict on the utility of the release."""
    own, (half, most) = subject.own, subject.errors(subject.own)
    error = max(half, most / 10)
    word = "Good" if error <= _GOOD else "Rough" if error <= _ROUGH else "Poor"
    empty = f" Wholly generalized: {listed(own.gone)}." if own.gone else ""
    off = f"{word} for counts: half are off by at most {share_text(half)}, nine in ten by {share_text(most)}."
    return f"{off} {share_text(own.lost)} of the detail is lost.{empty}"


def codebook_view(subject: Subject) -> View:
    """List the values behind each label of the release."""
    own = subject.own
    book = codebook_of(subject.problem, subject.front.X[own.place], own.generalization, own.classes, own.marked)
    columns = "attribute", "label", "stands for", ("level", "whole"), ("share of rows", "share")
    rows = (
        (one_line(name), one_line(label), one_line(members), level, share)
        for name, label, members, level, share in book.head(_MOST_LISTED).itertuples(index=False)
    )
    left = len(book) - _MOST_LISTED
    words = (f"There are {left:,} labels more: the codebook of the release has all.",) if left > 0 else ()
    return View(words, (Table.of("codebook", "The values behind every label of the release.", columns, rows),))


def changes_view(subject: Subject, member: Member) -> View:
    """Compare the distribution of each attribute before and after."""
    tables = (
        [] if subject.external else [_levels(subject, member) if subject.own.is_local else _ladder(subject, member)]
    )
    tables += [_distribution(subject, member, j) for j in range(len(subject.names))]
    gone = member.gone
    words = [f"Wholly generalized, one value for everybody: {', '.join(gone) or 'none of the attributes'}."]
    if not subject.external:
        raw = [one_line(name) for name in subject.names if one_line(name) not in gone and _is_raw(member, name)]
        words.insert(0, f"Left as in the raw table: {', '.join(raw) or 'none of the attributes'}.")
    return View(tuple(words), tuple(tables))


def before_view(subject: Subject) -> View:
    """Count the values of each attribute in the raw table."""
    return View((), tuple(_distribution(subject, subject.raw, j) for j in range(len(subject.names))))


def _is_of_numbers(hierarchy: Hierarchy) -> bool:
    """Return whether the values of a domain are ordered numbers or days."""
    numbers = domain_numbers(hierarchy)
    return numbers is not None and bool((np.diff(numbers[~np.isnan(numbers)]) >= 0).all())


def _distribution(subject: Subject, member: Member, j: int) -> Table:
    name, is_raw = subject.names[j], member is subject.raw
    # Labels of several levels have no order.
    ordered = (is_raw or not subject.own.is_local) and _is_of_numbers(subject.table.quasi_identifiers[name])
    rows = _counted_labels(member.generalization.labels[name], member.rows[name], ordered)
    if member.marked and member.n_suppressed:
        rows = [*rows, (_SUPPRESSED, member.n_suppressed)]
    when, what = ("before", "the raw table") if is_raw else ("after", "the release")
    columns, chart = (one_line(name), ("rows", "whole")), "columns" if ordered else "bars"
    return Table.of(f"{when}{j}", f"{one_line(name)}: {what}", columns, rows, chart)


def _is_raw(member: Member, name: Any) -> bool:
    made = member.generalization
    if isinstance(made, LocalGeneralization):
        return bool((made.quasi_identifiers[name].nodes.extents[member.rows[name] > 0] == 1).all())
    return len(made.groups[name]) == len(made.labels[name])


def _levels(subject: Subject, member: Member) -> Table:
    rows = []
    for name, hierarchy in subject.table.quasi_identifiers.items():
        counts, labels = member.rows[name], member.generalization.labels[name]
        level = subject.level(member.place, name)
        levels = hierarchy.nodes.level if member.is_local else np.full(len(labels), level or 0)
        shares = np.bincount(levels, counts, hierarchy.length + 1) / max(counts.sum(), 1)
        for at in np.flatnonzero(shares).tolist():
            held = [labels[one] for one in np.flatnonzero((levels == at) & (counts > 0)).tolist()]
            way = round(at / max(hierarchy.length, 1), 3)
            rows.append((one_line(name), at, way, shares[at], len(held), _examples(held)))
    shares = ("way from raw to all", "share"), ("share of cells", "share")
    columns = "attribute", ("level", "whole"), *shares, ("labels", "whole"), "such as"
    title = "The levels of every attribute's cells: each class of rows has its own."
    return Table.of("levels", title, columns, rows, "levels")


def _ladder(subject: Subject, member: Member) -> Table:
    rows = []
    for name in subject.names:
        hierarchy, own = subject.table.quasi_identifiers[name], member.generalization.labels[name]
        here = subject.level(member.place, name)
        if here is None:
            # Without levels there are three: the values, the groups of the release, and one group.
            share = 1 - (len(own) - 1) / max(hierarchy.n_values - 1, 1)
            rungs = [(0.0, hierarchy.labels[0], False), (share, own, True), (1.0, (ROOT,), False)]
        else:
            length = max(hierarchy.length, 1)
            rungs = [(level / length, labels, level == here) for level, labels in enumerate(hierarchy.labels)]
        for number, (share, labels, is_here) in enumerate(rungs):
            rows.append(
                (one_line(name), number, round(share, 3), len(labels), _examples(labels), HERE if is_here else "")
            )
    title = "The levels of every attribute, and where the release stands."
    numbers = ("level", "whole"), ("way from raw to *", "share"), ("groups", "whole")
    return Table.of("ladder", title, ("attribute", *numbers, "such as", "the release"), rows, "ladder")


def _examples(labels: Sequence[Hashable]) -> str:
    told = " | ".join(one_line(label)[:40] for label in labels[:_EXAMPLES])
    return f"{told} | …" if len(labels) > _EXAMPLES else told


def _counted_labels(labels: tuple[Hashable, ...], counts: Ints, ordered: bool) -> list[Row]:
    """Order the labels by value, or by frequency, and merge the rest."""
    pairs = [(one_line(label), n) for label, n in zip(labels, counts.tolist(), strict=True) if n]
    if ordered:
        width = -(-len(pairs) // _MOST_ORDERED)
        if width < 2:
            return list(pairs)
        runs = [pairs[start : start + width] for start in range(0, len(pairs), width)]
        return [(" … ".join(dict.fromkeys((run[0][0], run[-1][0]))), sum(n for _, n in run)) for run in runs]
    pairs = sorted(pairs, key=lambda pair: -pair[1])
    if len(pairs) <= _MOST_LABELS:
        return list(pairs)
    rest = pairs[_MOST_LABELS - 1 :]
    return [*pairs[: _MOST_LABELS - 1], (f"{len(rest)} other labels", sum(n for _, n in rest))]


def utility_view(subject: Subject, member: Member) -> View:
    """State the error of counts and the loss of detail."""
    asked, (half, most) = subject.queries, map(share_text, subject.errors(member))
    return View(
        (
            f"{share_text(member.lost)} of the detail in the quasi-identifiers is lost.",
            f"Of {asked.n:,} random counts, such as that of {subject.unit} with {asked.words(0)}, half are off by at "
            f"most {half}, and nine in ten by at most {most}.",
        ),
        (),
    )


def left_view(subject: Subject) -> View:
    """Compare attributes before and after, and errors of neighbours."""
    own = subject.own
    how = "mark" if own.marked else "drop"
    before, after = of_table(subject.table), of_release(subject.table, own.classes, how)
    # `loc` would take a name that is a tuple for two names.
    found = means(subject.table, own.classes, how).T
    # The values of an attribute, such as years, have no commas between thousands either.
    mean = {name: [cell_text(one, "number").replace(",", "") for one in both] for name, both in found.items()}
    rows = (
        (one_line(name), distance(before, after, j, j), *mean.get(name, [None, None]))
        for j, name in enumerate(subject.names)
    )
    columns = "attribute", ("distance", "share"), ("mean before", "number"), ("mean after", "number")
    title = (
        "Each attribute before and after, labels spread over their values: distance of the distributions, and means."
    )
    return View((), (Table.of("left", title, columns, rows), _queries(subject)))


def side_by_side(subject: Subject, places: Sequence[int]) -> Table:
    """Compare points of the front by measures, risk, errors and losses."""
    members, certain = [subject.member(place) for place in places], CertainCounts(subject.queries)
    rows: list[Row] = []

    def add(words: str, values: Iterable[Any], kind: str = "number") -> None:
        rows.append((words, *(cell_text(value, kind) for value in values)))

    for one in measures(subject):
        values = subject.front.values(one.measure)[list(places)].tolist()
        add(one.name, values)
        if one.loss:
            add(f"{one.name}, share lost", map(one.share, values), "share")
    add("suppressed rows", (own.n_suppressed for own in members))
    add("mean risk", (highest_and_mean_risk(own.persons)[1] for own in members), "share")
    for least in SMALL_CLASSES:
        add(f"rows in classes below {least}", (own.sizes[own.sizes < least].sum() for own in members))
    errors = [subject.errors(own) for own in members]
    add("counts: half are off by at most", (half for half, _ in errors), "share")
    add("counts: nine in ten are off by at most", (most for _, most in errors), "share")
    add("certain counts: median width", (certain.evaluate_one(own.classes) for own in members), "share")
    lost = [(subject.front.lost(place) / subject.table.n_rows).tolist() for place in places]
    for name, own in zip(subject.names, zip(*lost, strict=True), strict=True):
        add(f"loss of {one_line(name)}", own, "share")
    columns = "", *(f"point {subject.number(place)}" for place in places)
    return Table.of("side", "Points side by side.", columns, rows)


def _queries(subject: Subject) -> Table:
    shown = next((one for one in measures(subject) if one.loss), None)
    rows, certain = [], CertainCounts(subject.queries)
    for member in map(subject.member, subject.detailed()):
        own = [] if shown is None else [shown.share(float(shown.measure.evaluate(member.classes)[0]))]
        errors, width = subject.errors(member), certain.evaluate_one(member.classes)
        here = HERE if member is subject.own else ""
        rows.append((f"point {subject.number(member.place)}", *errors, width, *own, here))
    loss = [] if shown is None else [f"{shown.name}, share lost"]
    shares = "error of half", "error of nine in ten", "certain width of half", *loss
    columns = "point", *((words, "share") for words in shares), "the release"
    title = (
        "Errors of counts: half and nine in ten are off by at most so much, in the release and its neighbours. The "
        "certain width is that of the interval in which a true count is sure to lie."
    )
    return Table.of("queries", title, columns, rows, "queries")


def beside_view(subject: Subject) -> View:
    """Compare a local recoding with full-domain releases."""
    if not subject.own.is_local:
        return View((), ())
    said, ways = alternatives(subject.problem, subject.front.X[subject.place], subject.own.classes)
    errors = subject.queries.summary({way.how: way.classes for way in ways}, subject.suppressed)["median"]
    rows = ((way.how, way.k, way.mean_risk, way.loss, errors[way.how]) for way in ways)
    shares = "mean risk", "loss", "counts off by, median"
    columns = "recoding", ("k", "whole"), *((title, "share") for title in shares)
    title = "Local recoding beside full-domain recoding, at equal k and at equal mean risk."
    own = (subject.evidence.get("chosen") or {}).get("local") or {}
    words = (said, bound_words(own.get("bound")), *advice(subject.problem, subject.asked))
    return View(words, (Table.of("beside", title, columns, rows, "beside"),))
