"""Comparison of generalizations of one table, and their bias.

Bias is the spread of a property: Dewri et al. 2009 (*On the comparison of microdata disclosure control algorithms*,
section 2) name it and ask for measures of it. Everything here counts tuples (rows of the table): a value of a distinct
tuple as often as it occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymoo_anon._messages import examples, in_order, repeated, told_apart
from pymoo_anon.comparison.comparators import Comparator, Coverage, Dominance, Hypervolume, Minimum, Spread, Tournament
from pymoo_anon.comparison.properties import (
    ClassSize,
    Property,
    PropertyVector,
    TupleLoss,
    TupleUtility,
    Vector,
    align,
    finite_values,
    quantiles,
    released,
)
from pymoo_anon.comparison.uniques import SMALL_CLASSES
from pymoo_anon.comparison.utility import CountQueries
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.objectives.base import marked_value
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.table.domain_values import ROOT, Name, is_whole
from pymoo_anon.table.frames import combinations_of
from pymoo_anon.table.generalization import Constraint, Decoded, Suppression
from pymoo_anon.table.microdata import Microdata, check_table, names_of
from pymoo_anon.typing import Array, Floats, Ints

#: The name in place of a property for all properties together.
ALL = "all"

_TALLIED = ("better", "worse", "equal", "incomparable")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Compared generalizations of one table.

    Attributes:
        names: The generalizations.
        vectors: By property its property vectors, in the order of the names.
        tournaments: By property, or "all" for all together, and by comparator.
    """

    names: tuple[Hashable, ...]
    vectors: dict[str, tuple[PropertyVector, ...]]
    tournaments: dict[tuple[str, str], Tournament]

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row for each property, comparator and pair of generalizations.

        Columns: property, comparator, first, second; both indices; the verdict on the first.
        """
        names = pd.Series(self.names, dtype=object)
        first, second = np.triu_indices(len(names), 1)

        def columns_of(played: Tournament) -> dict[str, Any]:
            return {
                "first": names.iloc[first].array,
                "second": names.iloc[second].array,
                "first_index": played.indices[first, second],
                "second_index": played.indices[second, first],
                "verdict": played.verdicts[first, second],
            }

        return self._each(columns_of)

    @cached_property
    def ranking(self) -> pd.DataFrame:
        """One row for each property, comparator and generalization.

        Columns: property, comparator, generalization; the numbers of others that it is better than, worse than, equal
        to and incomparable to; its rank. More wins rank before fewer, as in a tournament (Dewri et al. 2009, section
        5.4). With equal wins, fewer losses rank before more. Equals share the smaller rank.
        """

        def columns_of(played: Tournament) -> dict[str, Any]:
            # The diagonal is always equal and no game.
            counts = {one: (played.verdicts == one).sum(axis=1) - (one == "equal") for one in _TALLIED}
            # A win outweighs all losses, which are fewer than the names.
            points = counts["better"] * len(self.names) - counts["worse"]
            ranks = 1 + (points[:, np.newaxis] < points).sum(axis=1)
            return {"generalization": pd.Series(self.names, dtype=object).array, **counts, "rank": ranks}

        return self._each(columns_of)

    def _each(self, columns_of: Callable[[Tournament], dict[str, Any]]) -> pd.DataFrame:
        frames = [
            pd.DataFrame({"property": of, "comparator": comparator, **columns_of(played)})
            for (of, comparator), played in self.tournaments.items()
        ]
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """Ranks, one row per generalization, one column per property and comparator."""
        columns = pd.MultiIndex.from_tuples(self.tournaments, names=["property", "comparator"])
        ranks = self.ranking["rank"].to_numpy().reshape(len(columns), len(self.names)).T
        # Names that are tuples stay names.
        index = pd.Index(self.names, name="generalization", dtype=object, tupleize_cols=False)
        return pd.DataFrame(ranks, index=index, columns=columns)

    def __str__(self) -> str:
        n = len(self.names)
        # The longer of the two runs down the page.
        ranks = self.ranks.T if n <= len(self.tournaments) else self.ranks
        return f"Ranks of {n} generalization{'s' if n > 1 else ''}, 1 is best:\n{ranks.to_string(max_rows=40)}"


def compare(
    table: Microdata,
    generalizations: Mapping[Hashable, Decoded] | Sequence[Decoded],
    properties: Sequence[Property],
    comparators: Sequence[Comparator],
    suppression: float | Suppression = 0,
    constraints: Sequence[Constraint] = (),
) -> Comparison:
    """Compare every generalization with every other (Dewri et al. 2009).

    Comparators of vectors compare by each property, comparators of sets by all properties together, in their order;
    those of dominance do both where there are several properties.

    Args:
        table: The table.
        generalizations: By name, or a sequence, whose names are 0, 1, 2, ...
        properties: What a generalization is worth to a tuple.
        comparators: The comparators.
        suppression: `AtMost`, `Below` or `Violating`; a number means `AtMost`. It says who is suppressed. A
            generalization that suppresses more than the limit of `Violating` is compared as well.
        constraints: What must hold of the release; only `Violating` reads them.

    Raises:
        TypeError: An argument holds something of another kind.
        ValueError: An argument holds nothing, a property or comparator is given twice, or something does not fit the
            table or the properties.

    >>> import pandas as pd
    >>> from pymoo_anon.comparison import ClassSize, Coverage, Minimum
    >>> from pymoo_anon.table import Generalization, Hierarchy, Microdata
    >>> ages = Microdata.from_frame(pd.DataFrame({"age": [1, 2, 3, 4]}), {"age": Hierarchy.flat([1, 2, 3, 4])})
    >>> pairs = Generalization({"age": [0, 0, 1, 1]}, {"age": ["1-2", "3-4"]})
    >>> alone = Generalization({"age": [0, 1, 1, 1]}, {"age": ["1", "2-4"]})
    >>> found = compare(ages, {"pairs": pairs, "1 alone": alone}, [ClassSize()], [Minimum(), Coverage()])
    >>> found.pairs[["first", "second", "comparator", "verdict"]].to_numpy().tolist()
    [['pairs', '1 alone', 'min', 'better'], ['pairs', '1 alone', 'cov', 'worse']]
    """
    check_table(table)
    properties = _checked_list(properties, Property, "properties")
    named, labels, by_name = _by_name(generalizations, properties, comparators)
    grouped = [table.equivalence_classes(one, suppression, constraints) for one in named.values()]
    sets = [[one.measure(classes) for one in properties] for classes in grouped]
    vectors = dict(zip(labels, zip(*sets, strict=True), strict=True))
    return Comparison(tuple(named), vectors, _tournaments(vectors, sets, by_name))


def _by_name(
    generalizations: Any,
    properties: Sequence[Property],
    comparators: Sequence[Comparator],
) -> tuple[dict[Hashable, Decoded], list[str], dict[str, Comparator]]:
    is_named = isinstance(generalizations, Mapping)
    own = _checked_list([*generalizations.values()] if is_named else generalizations, Decoded, "generalizations")
    comparators = _checked_list(comparators, Comparator, "comparators")
    labels = [one.label for one in properties]
    if ALL in labels:
        raise ValueError(f"properties must not be labelled {ALL!r}, which stands for all of them together")
    names = told_apart([one.name for one in comparators], [*map(repr, comparators)])
    for kind, given in (("properties", labels), ("comparators", names)):
        if twice := repeated(given):
            raise ValueError(f"{kind} must differ by name, got more than once: {examples(twice)}")
    named: dict[Hashable, Decoded] = dict(generalizations if is_named else enumerate(own))
    return named, labels, dict(zip(names, comparators, strict=True))


def _tournaments(
    vectors: Mapping[str, Sequence[PropertyVector]],
    sets: Sequence[Sequence[PropertyVector]],
    comparators: Mapping[str, Comparator],
) -> dict[tuple[str, str], Tournament]:
    played = {
        (label, name): comparator.tournament(own)
        for label, own in vectors.items()
        for name, comparator in comparators.items()
        if comparator.takes_vectors
    }
    for name, comparator in comparators.items():
        if comparator.takes_sets and (len(vectors) > 1 or not comparator.takes_vectors):
            played[ALL, name] = comparator.tournament(sets)
    return played


def _checked_list(given: Any, kind: Any, name: str) -> list[Any]:
    word = "Generalization" if kind is Decoded else kind.__name__
    found = in_order(name, given, kind, f"objects of {word}")
    if not found:
        raise ValueError(f"{name} must hold at least one {word}, got none")
    return found


#: Comparators that judge two releases, each in another way (Dewri et al. 2009).
JUDGES: tuple[Comparator, ...] = (Minimum(), Coverage(), Spread(), Hypervolume(), Dominance())


class BetterOff(NamedTuple):
    """People of a table under two releases, by one property."""

    property: str  # Name of the property
    first: int  # Rows that are better off with the first release
    second: int  # Rows that are better off with the second
    equal: int  # Rows that are as well off with both
    verdicts: dict[str, str]  # Verdict on the first release by each comparator: better, worse, equal, incomparable


def compare_sizes(releases: Mapping[str, Any], quasi_identifiers: Name | Sequence[Name]) -> pd.DataFrame:
    """Compare releases by the sizes of their classes.

    Args:
        releases: By name a released table: pandas, or a frame that narwhals reads.
        quasi_identifiers: The columns that others may know.

    Returns:
        One row for each release. Columns: rows; classes; k, the smallest class; mean risk, the share of rows that
        somebody finds who picks one in each class, lower is better; below 2, below 5 and below 12, the numbers of rows
        in classes of fewer rows.

    Raises:
        KeyError: A release lacks a column.
        ValueError: A release has no row, or no column is named.

    >>> tables = {"a": pd.DataFrame({"zip": [1, 2, 2, 2]}), "b": pd.DataFrame({"zip": ["*"] * 4})}
    >>> compare_sizes(tables, ["zip"]).to_numpy().tolist()
    [[4.0, 2.0, 1.0, 0.5, 1.0, 4.0, 4.0], [4.0, 1.0, 4.0, 0.25, 0.0, 4.0, 4.0]]
    """
    rows, names = [], names_of(quasi_identifiers)
    if not names:
        raise ValueError("quasi_identifiers must name at least one column, got none")
    for name, frame in releases.items():
        own = combinations_of(frame, names).weights
        if not len(own):
            raise ValueError(f"{name} must have at least one row, got none")
        n, below = int(own.sum()), {f"below {least}": int(own[own < least].sum()) for least in SMALL_CLASSES}
        rows.append({"rows": n, "classes": len(own), "k": int(own.min()), "mean risk": len(own) / n, **below})
    return pd.DataFrame(rows, index=pd.Index(list(releases), name="release", tupleize_cols=False))


def compare_uses(
    queries: CountQueries, classes: Mapping[str, EquivalenceClasses], dropped: Collection[str] = ()
) -> pd.DataFrame:
    """Compare releases of one table by loss and errors of counts.

    Args:
        queries: Counts that are asked of the table and its releases.
        classes: By name of a release its classes.
        dropped: Names of the releases that leave suppressed rows out. In all others they are `*`.

    Returns:
        One row for each release. Columns, all shares and lower is better: loss, of the detail; median and 90 %, the
        errors that half and nine in ten of the counts do not exceed. Where a column identifies persons, k in persons
        comes first, and rows that are `*` are a class.

    Raises:
        ValueError: `dropped` names no release.
    """
    n, person = len(queries.table.quasi_identifiers), queries.table.person
    if unknown := [name for name in names_of(dropped) if name not in classes]:
        raise ValueError(f"dropped must name releases among {examples(classes)}, got {examples(unknown)}")
    hows = ["drop" if name in names_of(dropped) else "mark" for name in classes]
    found = pd.concat([queries.summary({name: classes[name]}, how) for name, how in zip(classes, hows, strict=True)])
    found.insert(0, "loss", [TupleLoss().measure(own).mean() / n for own in classes.values()])
    if person is not None:
        k, both = KAnonymity(person), zip(classes.values(), hows, strict=True)
        marked = [marked_value(k, own) if how == "mark" else np.nan for own, how in both]
        found.insert(0, k.name, np.fmin([k.evaluate(own)[0] for own in classes.values()], marked))
    return found


def better_off(first: EquivalenceClasses, second: EquivalenceClasses) -> list[BetterOff]:
    """Count the people better off with each of two releases.

    They are so by the size of their class, and by the detail that is left of their row.

    Args:
        first: The classes of one release.
        second: The classes of another release of the same table.

    Raises:
        TypeError: One is no EquivalenceClasses.
        ValueError: The releases are of two tables.
    """
    _checked_list([first, second], EquivalenceClasses, "first and second")
    if first.tuples is not second.tuples:
        raise ValueError("first and second must be releases of one table, got classes of two Microdata objects")
    found = []
    for own in (ClassSize(), TupleUtility()):
        d1, d2 = own.measure(first), own.measure(second)
        gains = np.sign(d1.oriented - d2.oriented)
        better, worse, equal = (int(d1.counts[gains == sign].sum()) for sign in (1, -1, 0))
        verdicts = {judge.name: judge.compare(d1, d2) for judge in JUDGES}
        found.append(BetterOff(own.label, better, worse, equal, verdicts))
    return found


# --- bias -------------------------------------------------------------------------------------------------------------

#: The quantiles of a distribution by name, as shares of the tuples.
QUANTILES = {"minimum": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "maximum": 1.0}


def lorenz_curve(vector: Vector) -> Floats:
    """Return the sum's share of the tuples with least (Lorenz 1905).

    Args:
        vector: A `PropertyVector` or an (N,) array of non-negative values.

    Returns:
        (n + 1, 2) float array of a curve from (0, 0) to (1, 1): the share of the tuples, by ascending value, and their
        share of the sum; one point for each of the n different values. The diagonal where all are 0.

    Raises:
        ValueError: A value is negative, or the vector is empty or not finite.

    >>> lorenz_curve([3, 1, 1, 3]).tolist()
    [[0.0, 0.0], [0.5, 0.25], [1.0, 1.0]]
    """
    values, counts = _ascending(vector)
    if values[0] < 0:
        raise ValueError(f"values for a Lorenz curve must not be negative, got {examples(values[values < 0].tolist())}")
    tuples = np.concatenate([[0], np.cumsum(counts)])
    # Divided by the largest value, so that the sums are floats however large the values are.
    relative = values / values[-1] if values[-1] > 0 else np.ones(1)
    held = np.concatenate([[0], np.cumsum(relative * counts)])
    return np.column_stack([tuples / tuples[-1], held / held[-1]])


def gini(vector: Vector) -> float:
    """Return the Gini coefficient of the values of the tuples.

    It goes from 0 (all alike) to below 1 (one has all): twice the area between the Lorenz curve and the diagonal.
    Arguments and errors are those of `lorenz_curve`.

    >>> gini([3, 3, 3, 3]), gini([0, 0, 0, 8])
    (0.0, 0.75)
    """
    share, held = lorenz_curve(vector).T
    # The area under the curve is that of its trapezoids; twice the one under the diagonal is 1.
    return max(0.0, float(1 - (np.diff(share) * (held[1:] + held[:-1])).sum()))


def distribution(vectors: Mapping[Hashable, Vector]) -> pd.DataFrame:
    """Return the distribution of one property under each of several anonymizations.

    Args:
        vectors: By name of an anonymization, its vector: a `PropertyVector` or an (N,) array.

    Returns:
        One row for each anonymization. Columns: the mean; the minimum, the 5 %, 25 %, 50 %, 75 % and 95 % quantiles and
        the maximum; the Gini coefficient (NaN where values are negative); and the number of tuples with the worst value
        ("worst off"), which is the greatest for a property that is better when lower.

    Raises:
        ValueError: There is no vector, or some are not comparable, empty or not finite.

    >>> found = distribution({"T3a": [3, 3, 3, 3, 4, 4, 4, 3, 3, 4], "T3b": [3, 7, 7, 3, 7, 7, 7, 3, 7, 7]})
    >>> found[["mean", "minimum", "median", "worst off"]].to_numpy().tolist()
    [[3.4, 3.0, 3.0, 6.0], [5.8, 3.0, 7.0, 3.0]]
    """
    if not isinstance(vectors, Mapping) or not vectors:
        raise ValueError(f"vectors must be a dict of at least one name and its vector, got {vectors!r:.80}")
    aligned = align(list(vectors.values()))
    rows = []
    for vector, oriented in zip(vectors.values(), aligned.values, strict=True):
        values, counts = _ascending(vector)
        worst = aligned.counts[oriented == oriented.min()].sum()
        rows.append(
            {
                "mean": float((values * counts).sum() / counts.sum()),
                **dict(zip(QUANTILES, quantiles(values, counts, np.array([*QUANTILES.values()])), strict=True)),
                "Gini": gini(vector) if values[0] >= 0 else np.nan,
                "worst off": int(worst),
            }
        )
    return pd.DataFrame(rows, index=pd.Index(list(vectors), name="anonymization", tupleize_cols=False))


def worst_off(
    table: Microdata,
    generalization: Decoded,
    measured: Property,
    suppression: float | Suppression = 0,
    constraints: Sequence[Constraint] = (),
) -> pd.DataFrame:
    """Return the equivalence classes with the worst value of a property.

    Args:
        table: The table.
        generalization: The generalization.
        measured: The property.
        suppression: As for `compare`, as are the constraints.
        constraints: The constraints of the release; only `Violating` reads them.

    Returns:
        One row for each class, the smallest first. The index holds its generalized quasi-identifiers, `*` throughout
        for the class of all suppressed tuples. Columns: its size, the number of its tuples with the worst value, and
        that value, under the property's label.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: Something does not fit the table, or the property is labelled as another column.
    """
    _checked_list([generalization], Decoded, "generalization")
    _checked_list([measured], Property, "measured")
    if measured.label in ("size", "tuples"):
        raise ValueError(f"measured must not be labelled {measured.label!r}, which is a column of the result")
    check_table(table)
    classes = table.equivalence_classes(generalization, suppression, constraints)
    vector = measured.measure(classes)
    class_of, sizes = released(classes)
    worst = vector.oriented == vector.oriented.min()
    # How many tuples with the worst value each class holds.
    members = np.bincount(class_of[vector.distinct_tuples[worst]], vector.counts[worst], len(sizes)).astype(np.int64)
    chosen = np.flatnonzero(members)
    chosen = chosen[np.argsort(sizes[chosen], kind="stable")]
    kept = classes.representatives[classes.kept]
    cells = generalization.labels_of(table.tuples.codes, kept)
    # The class after all that are kept is that of the suppressed tuples.
    labels = [[own[c] if c < len(kept) else ROOT for c in chosen] for own in cells.values()]
    index = pd.MultiIndex.from_arrays(labels, names=list(cells))
    value = vector.values[worst][0]
    return pd.DataFrame({"size": sizes[chosen], "tuples": members[chosen], vector.name: value}, index=index)


def gains(table: Microdata, d1: PropertyVector, d2: PropertyVector, column: Any, level: int = 0) -> pd.DataFrame:
    """Count the people better off with each of two anonymizations.

    Args:
        table: The table of both.
        d1: The property under the first.
        d2: The same property under the second.
        column: Name of a column with a role, whose values are the groups of people.
        level: For a quasi-identifier, the level of its hierarchy with the groups; 0 takes the values.

    Returns:
        One row for each group that occurs. Columns: its tuples; the numbers of them that are better and worse off with
        the first; and the mean difference, first less second, in units of the property.

    Raises:
        KeyError: The column has no role.
        ValueError: The vectors are not comparable or of another table, the hierarchy lacks the level, or the vectors
            tell tuples apart by another column than this, so that their values of this one are unknown.
    """
    check_table(table)
    aligned = align([d1, d2])
    if not isinstance(d1, PropertyVector) or d1.tuples is not table.tuples:
        raise ValueError("d1 and d2 must be of the table, got vectors of another Microdata object or plain arrays")
    names, groups, places, counts = people_by(table, d1, column, level)
    first, second = aligned.values[:, places]
    difference = d1.values[places] - d2.values[places]

    def added(weights: Array) -> Array:
        return np.bincount(groups, weights, len(names))

    found = pd.DataFrame(
        {
            "tuples": added(counts).astype(np.int64),
            "better": added(counts * (first > second)).astype(np.int64),
            "worse": added(counts * (first < second)).astype(np.int64),
            "difference": added(counts * difference),
        },
        index=pd.Index(names, name=column, tupleize_cols=False),
    )
    found = found[found["tuples"] > 0]
    return found.assign(difference=found["difference"] / found["tuples"])


class People(NamedTuple):
    """The people of a table in groups."""

    labels: tuple[Hashable, ...]  # Labels of the groups
    groups: Ints  # Group of some tuples that share a value
    places: Ints | slice  # Place of this value
    counts: Ints  # Number of these tuples


def people_by(table: Microdata, vector: PropertyVector, column: Any, level: int) -> People:
    """Group the people of a table by a column or level."""
    names = table.domain_of(column)
    own = table.tuples.columns[column]
    if column in table.quasi_identifiers:
        hierarchy = table.quasi_identifiers[column]
        if not is_whole(level) or not 0 <= level <= hierarchy.length:
            raise ValueError(f"level must be from 0 to {hierarchy.length}, the levels of {column!r}, got {level!r}")
        # A distinct tuple has one value of a quasi-identifier.
        groups = hierarchy.groups[level][own.values]
        groups = groups if vector.unit is None else groups[vector.distinct_tuples]
        return People(hierarchy.labels[level], groups, slice(None), vector.counts)
    if level != 0:
        raise ValueError(f"level must be 0 for {column!r}, which has no hierarchy, got {level!r}")
    if vector.unit == column:
        return People(names, own.values, slice(None), own.counts)
    if vector.unit is None:
        # The tuples of a distinct tuple may differ in the column, but have one value in the vector.
        places = np.repeat(np.arange(table.n_distinct), np.diff(own.starts))
        return People(names, own.values, places, own.counts)
    raise ValueError(
        f"column must be {vector.unit!r} or a quasi-identifier for {vector!r}, which has one value for all tuples "
        f"with one {vector.unit!r}, got {column!r}"
    )


def _ascending(vector: Vector) -> tuple[Floats, Ints]:
    if isinstance(vector, PropertyVector):
        return vector.ascending
    different, counts = np.unique(finite_values(vector, "vector"), return_counts=True)
    return different, counts.astype(np.int64)
