"""People in the release: risks, inferences, class sizes and losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pymoo_anon._messages import listed
from pymoo_anon.comparison.comparing import QUANTILES, distribution, gini, lorenz_curve
from pymoo_anon.comparison.properties import PropertyVector, TupleLoss, released
from pymoo_anon.comparison.risk import PopulationUniques, population_uniques
from pymoo_anon.engine.classes import DistinctTuples
from pymoo_anon.objectives.loss import GeneralLossMetric
from pymoo_anon.objectives.privacy.closeness import TCloseness
from pymoo_anon.objectives.privacy.diversity import DistinctLDiversity
from pymoo_anon.objectives.privacy.identity import KAnonymity, smallest_k
from pymoo_anon.objectives.privacy.register import KMap
from pymoo_anon.publishing.report.cells import Table, View, cell_of, one_line, share_text
from pymoo_anon.publishing.report.subject import MOST_CLASSES, TENTHS, Inference, Member, Subject
from pymoo_anon.typing import Floats, Ints

#: Definition of each risk.
DEFINITIONS = {
    "prosecutor, highest": "The attacker knows that a person is in the table and picks one of the people who fit: the "
    "chance to be right for the person who is easiest to find, 1 in the size of the smallest class.",
    "marketer": "The attacker links everybody to one of the people who fit: the share of them that are linked "
    "rightly on average, the number of classes over the number of people in them.",
    "journalist, highest": "The attacker does not know who is in the table and picks one person of the population who "
    "fits: the chance to be right for the person who is easiest to find.",
}

#: Definitions of the most frequent measures.
MEANINGS = {
    KAnonymity: "The fewest rows of a class: each person hides among so many at least. Where it says in persons, "
    "rows of one person count once.",
    DistinctLDiversity: "The fewest different values of a sensitive column in a class: so many are left to guess from.",
    TCloseness: "How far the values of a sensitive column in a class are from those of all rows, at most: 0 is alike.",
    GeneralLossMetric: "What is lost: the share of the values of an attribute that its label leaves open, summed over "
    "all cells; behind it, in percent, of what could be lost.",
}

#: Addition for measures with background knowledge.
OF_KNOWN = (
    " Here a class is all rows that agree on what one of the adversaries knows; who knows more finds smaller ones."
)

#: Source of the threshold 0.09.
SOURCE = (
    "the threshold that the European Medicines Agency (Policy 0070, 2016) and Health Canada (Public Release of "
    "Clinical Information, 2019) name for documents of clinical trials that are published"
)

# Limits of the risk of records, beside the risk for comparison.
_RISKS = (0.5, 1 / 3, 0.2, 0.1, 0.05, 0.02, 0.01)

BELOW, ABOVE = "too small", "large enough"

# Left edges of the histogram.
_EDGES = (1, 2, 5, 12, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 100_000, 1_000_000)

# Greatest number of groups that lose most, and of sensitive columns that are shown class by class.
_MOST_LOSERS, _MOST_DETAILED = 20, 20

# Steps of a Lorenz curve.
_SHARES = np.linspace(0, 1, 21)


def risks_view(subject: Subject, member: Member) -> View:
    """List the risks of identification and the estimates for the population."""
    sides = _before_and_after(subject, member)
    highest, mean = zip(*(highest_and_mean_risk(own.persons) for own in sides.values()), strict=True)
    found = {"prosecutor, highest": highest, "marketer": mean}
    if subject.population is not None:
        # A table of released rows has classes without the values of the population.
        own = {"release": subject.own} if subject.external else sides
        fewest = [KMap(subject.population).evaluate(one.classes)[0] for one in own.values()]
        found["journalist, highest"] = tuple(1 / n if n else None for n in fewest)
    rows = ((name, *risks, subject.threshold) for name, risks in found.items())
    columns = "risk", *_shares(sides), ("for comparison", "share")
    risks = Table.of("risks", "The risks of identification.", columns, rows, "risks")
    words, uniques = _uniques(subject, member)
    return View((*compared(subject, member), *words), (risks, _at_risk(subject, member), *uniques))


def compared(subject: Subject, member: Member) -> list[str]:
    """Compare the risk to be found with the one for comparison."""
    if member.n_released == 0:
        return ["Every row is suppressed and dropped: nothing is released, and nobody can be found."]
    persons = member.persons
    if persons is None:
        return [
            "A person may have several rows here, and the release does not say which ones are one person's: it does "
            "not tell how many persons a class holds."
        ]
    smallest = int(persons.min())
    source = f", {SOURCE}" if subject.threshold == 0.09 else ""
    kept = f"That does not count the kept columns ({listed(subject.kept)}), which may identify a person."
    return [
        "By the generalized attributes alone, somebody who is known to be in the table is found with a chance of at "
        f"most 1 in {smallest:,} ({share_text(1 / smallest)}).",
        *([kept] if subject.kept else []),
        f"For comparison, and no requirement: a risk of {subject.threshold:.3g}{source}, corresponds to "
        f"k ≥ {subject.enough:,}; here k = {smallest:,}.",
    ]


def highest_and_mean_risk(persons: Ints | None) -> tuple[float | None, float | None]:
    """Return the prosecutor's and the marketer's risk, if known."""
    if persons is None:
        return None, None
    return (1 / int(persons.min()), len(persons) / int(persons.sum())) if len(persons) else (0.0, 0.0)


def _at_risk(subject: Subject, member: Member) -> Table:
    limits, sides = sorted({*_RISKS, subject.threshold}, reverse=True), _before_and_after(subject, member)
    columns, rows = ("risk above", *_shares(sides), ("classes of fewer people than", "whole")), []
    for limit in limits:
        enough, shares = smallest_k(limit), []
        for own in sides.values():
            few = None if own.persons is None else own.sizes[own.persons < enough].sum() / max(own.n_released, 1)
            shares.append(few)
        rows.append((share_text(limit), *shares, enough))
    title = "Records at risk: the share of the rows in classes whose risk is above a limit."
    return Table.of("at_risk", title, columns, rows, "at_risk")


def _before_and_after(subject: Subject, member: Member) -> dict[str, Member]:
    """Return the release, and inside the raw table."""
    return {"release": member} if subject.external else {"raw table": subject.raw, "release": member}


def _shares(sides: Iterable[str]) -> list[tuple[str, str]]:
    return [(title, "share") for title in sides]


def _uniques(subject: Subject, member: Member) -> tuple[list[str], list[Table]]:
    n = subject.about.get("population_size")
    if n is None:
        return ["Unique people in the population were not estimated: its size is not stated."], []
    if subject.table.person is not None:
        return ["Unique people in the population were not estimated: a person may have several rows."], []
    sides = _before_and_after(subject, member).items()
    # Rows that are suppressed are no part of the sample.
    named = {title: population_uniques(own.classes, n) for title, own in sides if own.classes.kept.any()}
    said, found = [f"{title[0].upper()}{title[1:]}: {_range(one)}" for title, one in named.items()], named.values()
    rows = []
    # If the table is the whole population, the count is exact.
    for name in dict.fromkeys(name for one in found for name in one.estimates):
        known = [one.estimates.get(name) for one in found]
        rows.append((name, *(None if one is None else round(one) for one in known)))
    columns = "estimator", *((title, "whole") for title in named)
    title = f"People who are unique among the {n:,} of the population, by three estimators: none is a bound."
    return said, [Table.of("uniques", title, columns, rows)]


def _range(found: PopulationUniques) -> str:
    n = found.n_population
    if found.range is None:
        return f"no estimate of how many of {n:,} people are unique in the population."
    low, high = (one / n for one in found.range)
    if high * n < 1:
        return f"none of {n:,} people is estimated to be unique in the population."
    return f"{share_text(low)} to {share_text(high)} of {n:,} people are estimated to be unique in the population."


def inference_view(subject: Subject, member: Member) -> View:
    """List the possible inferences about each released sensitive column."""
    sides = _before_and_after(subject, member)
    found = [(one_line(name), [own.inferences[name] for own in sides.values()]) for name in subject.released_sensitive]
    words = _said(subject, [(name, own[-1]) for name, own in found if own[-1].worst])
    tables = [_inferred(subject, found)] if found else []
    words += [f"The first {_MOST_DETAILED} columns are shown class by class."] * (len(found) > _MOST_DETAILED)
    for place, (name, own) in enumerate(found[:_MOST_DETAILED]):
        tables.append(_sure(_shares(sides), place, name, own))
        tables += [] if subject.external else [_worst(subject, member, place, name, own[-1])]
    return View(tuple(words), tuple(tables))


# The figures of an inference in words, and whether those of the raw table stand beside them.
_FIGURES = {
    "knowing": ("correct guesses knowing the class", True),
    "not_knowing": ("correct guesses without knowing the class", False),
    "certain": ("rows in classes of one value", True),
    "mean": ("mean distance", False),
    "greatest": ("greatest distance", False),
}


def _said(subject: Subject, told: list[tuple[str, Inference]]) -> list[str]:
    if not told:
        return ["Inference was not examined: no released sensitive column is known."]
    gain, own = max(told, key=lambda one: one[1].knowing - one[1].not_knowing)
    far, other = max(told, key=lambda one: one[1].mean)
    of_all = f" of {len(told)} sensitive columns" if len(told) > 1 else ""
    widest, most = (f", the {word}{of_all}" if of_all else "" for word in ("greatest difference", "most"))
    return [
        f"{gain}: knowing the class, the likeliest value is right for {share_text(own.knowing)} of the "
        f"{subject.unit}, without knowing it for {share_text(own.not_knowing)}{widest}.",
        revealed(subject, told) or "No class has a single value.",
        f"The values of {far} in a class differ from those of all released rows by {share_text(other.mean)} "
        f"on average{most}, and by {share_text(other.greatest)} at most; 0 % is alike, 100 % has nothing in common.",
    ]


def revealed(subject: Subject, told: Iterable[tuple[str, Inference]], most: int | None = None) -> str:
    """Tell the rows in classes of a single value, by most revealing column."""
    alone = [
        f"{name} of {subject.rows(one.n_certain)} ({share_text(one.certain)})"
        for name, one in sorted(told, key=lambda found: -found[1].n_certain)
        if one.n_certain
    ]
    return f"A class with a single value reveals it: {listed(alone, most)}." if alone else ""


def _inferred(subject: Subject, found: list[tuple[str, list[Inference]]]) -> Table:
    columns: list[Sequence[str]] = ["sensitive column"]
    cells: list[list[Any]] = [[name] for name, _ in found]
    for figure, (words, beside) in _FIGURES.items():
        both = beside and not subject.external
        columns += [(words, "share"), *([("the same, raw table", "share")] if both else [])]
        for row, (_, own) in zip(cells, found, strict=True):
            row += [getattr(one, figure) for one in ((own[-1], own[0]) if both else own[-1:])]
    caption = "What can be inferred of each sensitive column; distances are those of a class from all released rows."
    return Table.of("inferred", caption, columns, cells)


def _sure(shares: list[tuple[str, str]], place: int, name: str, found: list[Inference]) -> Table:
    rows = []
    for i in range(TENTHS + 1):
        label = "all" if i == TENTHS else f"{100 * i // TENTHS}–{100 * (i + 1) // TENTHS} %"
        rows.append((label, *(one.sure[i] for one in found)))
    columns = "share of the likeliest value", *shares
    return Table.of(f"sure{place}", f"{name}: how sure a guess is, by share of the rows.", columns, rows, "sure")


def _worst(subject: Subject, member: Member, place: int, name: str, found: Inference) -> Table:
    rows = (
        (*map(one_line, member.cells(at)), size, likeliest, *figures) for at, size, likeliest, *figures in found.worst
    )
    shares = _shares(["share of it", "in all rows", "distance"])
    columns = *map(one_line, subject.names), (subject.unit, "whole"), "likeliest", *shares
    return Table.of(f"worst{place}", f"{name}: the classes with the surest guesses.", columns, rows)


def sizes_view(subject: Subject, member: Member) -> View:
    """Count the rows by the size of their class."""
    words = [suppressed(subject, member)]
    if member.n_released:
        words += _sized(subject, member)
    return View(tuple(word[0].upper() + word[1:] for word in words), (_histogram(subject, member),))


def _sized(subject: Subject, member: Member) -> list[str]:
    sizes = np.sort(member.sizes)
    # Weighted median: the class of the middle person, with people in a row by class size.
    middle = int(sizes[np.searchsorted(np.cumsum(sizes), member.n_released / 2)])
    held = "1 class holds" if len(sizes) == 1 else f"{len(sizes):,} classes hold"
    are = "is" if member.n_released == 1 else "are"
    words = [
        f"{subject.rows(member.n_released)} {are} in the release; {held} them. The smallest class is of "
        f"{subject.rows(int(sizes[0]))}, and half of them are in a class of at least {middle:,}."
    ]
    # Bounds on k and risks are those of persons where these are known.
    one, whom = ("in a class of one person", " persons") if member.has_persons else ("alone in a class", "")
    bounds = {2, 5, subject.enough, subject.required_k or 2}
    for bound in sorted(bounds - {1}):
        n = int(member.sizes[member.counts < bound].sum())
        share = f" ({share_text(n / member.n_released)})" if n else ""
        alone = one if bound == 2 else f"in a class of fewer than {bound:,}{whom}"
        words.append(f"{subject.rows(n)}{share} {'is' if n < 2 else 'are'} {alone}.")
    return words


def suppressed(subject: Subject, member: Member) -> str:
    """State the number of suppressed rows and their fate."""
    n = member.n_stars if subject.external else member.n_suppressed
    if subject.external:
        # An external report does not even tell whether rows were left out.
        if subject.suppressed == "drop":
            return "Suppressed rows are left out."
        if n == 0:
            return "No row has * throughout, as suppressed rows would have."
        if n == member.n_released:
            return "All rows have * throughout: they are one class."
        return f"{subject.rows(n)} {'has' if n == 1 else 'have'} * throughout: suppressed rows, which are one class."
    if n == 0:
        return "No row is suppressed."
    fate = "shown as * throughout, which makes one class of them" if member.marked else "left out of the release"
    share = share_text(n / member.classes.n_rows)
    return f"{subject.rows(n)} ({share} of all) {'is' if n == 1 else 'are'} suppressed: {fate}."


def _histogram(subject: Subject, member: Member) -> Table:
    sizes, k = member.sizes, subject.required_k
    edges = sorted({*_EDGES, subject.enough, *([] if k is None else [k])})
    place = np.searchsorted(edges, sizes, side="right") - 1
    rows_in = np.bincount(place, sizes, len(edges)).astype(np.int64).tolist()
    classes = np.bincount(place, minlength=len(edges)).tolist()
    used, rows = [i for i, n in enumerate(classes) if n], []
    # Of people with several rows, a class of many rows may have few.
    counts = [(one, sizes if one.objective.column is None else member.persons) for one in subject.bounds_on_k]
    few = [place[~one.keeps(np.asarray(own, dtype=float))] for one, own in counts]
    for i in range(used[0], used[-1] + 1) if used else ():
        kind = () if k is None else (BELOW if edges[i] < k or any(i in own for own in few) else ABOVE,)
        rows.append((_ends(edges, i), rows_in[i], classes[i], *kind))
    against = () if k is None else ("against the required k",)
    columns = f"{subject.unit} in the class", (subject.unit, "whole"), ("classes", "whole"), *against
    return Table.of("sizes", f"How many {subject.unit} are in classes of which size.", columns, rows, "sizes")


def _ends(edges: list[int], i: int) -> str:
    if i + 1 == len(edges):
        return f"{edges[i]:,} or more"
    last = edges[i + 1] - 1
    return f"{edges[i]:,}" if last == edges[i] else f"{edges[i]:,}–{last:,}"


def bias_view(subject: Subject, member: Member) -> View:
    """List the distribution of privacy and loss over people and groups."""
    loss = TupleLoss().measure(member.classes)
    # As shares: a suppressed row loses everything.
    loss = replace(loss, values=loss.values / len(subject.names))
    # Rows that are left out are in no class, and nobody finds them.
    groups = _losers(subject, loss.values, np.append(1 / member.counts, 0.0)[released(member.classes)[0]])
    vectors = {"information lost": loss}
    if member.n_released:
        classes = DistinctTuples(np.zeros((len(member.sizes), 1), dtype=np.int64), member.sizes, (1,))
        size = PropertyVector(member.sizes.astype(float), classes, "class size", maximize=True)
        risk = PropertyVector(1 / member.counts, classes, "risk to be found", maximize=False)
        vectors = {"class size": size, **vectors, "risk to be found": risk}
    average = share_text(loss.mean())
    words = [
        f"All {subject.unit} lose {average} of their information on average."
        if not groups or share_text(groups[0][3]) == average
        else f"Most is lost where {groups[0][0]} is {groups[0][1]}: {share_text(groups[0][3])} of the "
        f"information, against {average} for all {subject.unit} on average.",
        f"Gini coefficients say how unequal {subject.unit} are, from 0 (all alike) to 1 (one has everything): "
        f"{listed(f'{gini(own):.2f} for the {name}' for name, own in vectors.items())}.",
    ]
    columns = "attribute", "group", (subject.unit, "whole"), *_shares(["information lost", "mean risk"])
    caption = f"Who loses most: groups of {subject.unit}, the greatest mean loss first."
    tables = (
        Table.of("groups", caption, columns, groups, "groups"),
        _quantiles(subject, vectors),
        _lorenz(subject, vectors),
    )
    return View(tuple(words), (*tables, _smallest(subject, member)))


def _losers(subject: Subject, loss: Floats, risk: Floats) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for name, own in subject.people:
        people, lost, chances = (
            np.bincount(own.groups, own.counts * values, len(own.labels))
            for values in (1, loss[own.places], risk[own.places])
        )
        for group in np.flatnonzero(people).tolist():
            n, label = int(people[group]), one_line(own.labels[group])
            # The mean over the people of the group.
            rows.append((one_line(name), label, n, cell_of(lost[group] / n), cell_of(chances[group] / n)))
    return sorted(rows, key=lambda row: -row[3])[:_MOST_LOSERS]


def _quantiles(subject: Subject, vectors: Mapping[str, PropertyVector]) -> Table:
    rows = []
    for name, vector in vectors.items():
        found = distribution({name: vector}).iloc[0]
        told = float if name == "class size" else share_text
        values = [told(found[column]) for column in ("mean", *QUANTILES)]
        rows.append((name, *values, f"{found['Gini']:.2f}", int(found["worst off"])))
    numbers = ((name, "number") for name in ("mean", *QUANTILES, "Gini"))
    columns = "property", *numbers, ("with the worst value", "whole")
    caption = (
        f"Distribution of loss over all {subject.unit}, of class size and risk over the released ones. A quantile is "
        "the value that such a share of them does not exceed; the last column counts those with the worst value."
    )
    return Table.of("quantiles", caption, columns, rows)


def _lorenz(subject: Subject, vectors: Mapping[str, PropertyVector]) -> Table:
    nothing = np.full_like(_SHARES, np.nan)
    size, loss = (
        np.interp(_SHARES, *lorenz_curve(vectors[name]).T) if name in vectors else nothing
        for name in ("class size", "information lost")
    )
    rows = zip(_SHARES, size, loss, strict=True)
    columns = _shares([f"share of the {subject.unit}, those with least first", "of all class sizes", "of all loss"])
    return Table.of("lorenz", "Shares of the privacy and of the loss, those with least first.", columns, rows, "lorenz")


def _smallest(subject: Subject, member: Member) -> Table:
    counts = {subject.unit: member.sizes, **({"persons": member.counts} if member.has_persons else {})}
    first = np.argsort(member.counts, kind="stable")[:MOST_CLASSES].tolist()
    rows = ((*map(one_line, member.cells(place)), *(int(own[place]) for own in counts.values())) for place in first)
    columns = *map(one_line, subject.names), *((unit, "whole") for unit in counts)
    return Table.of("smallest", "The smallest classes, easiest to identify.", columns, rows)
