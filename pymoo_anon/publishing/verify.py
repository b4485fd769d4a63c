"""Recount of a released table against its bounds and its original rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd

from pymoo_anon._messages import counted, examples, in_order
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.recount import MISSING, Recount, Recounted, combinations
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.releases import point_of
from pymoo_anon.publishing.recoding import Recoding, decoded_point, lookup
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import (
    COUNT,
    Frame,
    Renamed,
    as_key,
    codes_and_values,
    codes_of,
    combinations_of,
    keyed,
    renamed,
    rows_of,
    totals,
)
from pymoo_anon.table.generalization import SUPPRESSED, Constraint, Decoded, Generalization, keeps, label_texts
from pymoo_anon.table.hierarchy import Hierarchy, fitted
from pymoo_anon.table.microdata import names_of
from pymoo_anon.typing import Array, Bools, Ints

# Of a measure that is counted again in floats, digits from here on do not count: sums in another order differ in them.
_TOLERANCE = 1e-12


def verify(
    frame: Any,
    quasi_identifiers: Name | Sequence[Name],
    measures: Sequence[Objective | Constraint],
    *,
    sensitive: Name | Sequence[Name] = (),
    original: Any = None,
    hierarchies: Mapping[Name, Hierarchy] | None = None,
    generalization: Decoded | None = None,
) -> pd.DataFrame:
    """Recount a released table with plain dataframe operations.

    The table may come from anywhere. Rows with `*` in every quasi-identifier are one class of their own: an attacker
    who knows that a person is in no other class looks for them there. So k counts them, too.

    With the original and the hierarchies each row is laid over one of the original: its labels stand for the values of
    that row, and the sensitive values that are counted are the same.

    Args:
        frame: The released table: pandas, polars, pyarrow, DuckDB, Ibis or Spark.
        quasi_identifiers: Names of its quasi-identifiers.
        measures: Objectives, `KAnonymity()`, and constraints, `KAnonymity() >= 5`.
        sensitive: Names of its sensitive columns, all of which `DistinctLDiversity()` reads.
        original: The table that was released, of any kind. Rows that the release lacks count as suppressed, and
            measures that compare with the whole table (t, beta, delta) take its distribution. None takes the release
            for the whole table.
        hierarchies: The hierarchy of every quasi-identifier. Losses that go by levels or original values need them.
        generalization: What the release was recoded by, `problem.decode(x)`. Losses by cells need it.

    Returns:
        A row per measure: `measure`, its name; `recounted`, its value with natural sign; `required`, the bound of a
        constraint as text, else empty; `holds`, True or False for a constraint, else None.

    Raises:
        TypeError: `frame` is no frame, or a measure is none.
        KeyError: The frame lacks a column.
        ValueError: The frame has no row, a measure lacks its recount or an argument, or rows are not of the original.

    >>> from pymoo_anon.objectives.privacy.identity import KAnonymity
    >>> released = pd.DataFrame({"age": ["20–29", "20–29", "30–39"], "sex": ["F", "F", "*"]})
    >>> verify(released, ["age", "sex"], [KAnonymity() >= 2])
      measure recounted required  holds
    0       k         1     >= 2  False
    """
    names = names_of(sensitive)
    columns = [column for objective in _objectives(measures) for column in objective.reads(names)]
    recount = Recount(frame, names_of(quasi_identifiers), columns, original, hierarchies, generalization, names)
    if original is not None and hierarchies is not None:
        check_matching(recount)
    return object_frame(("measure", "recounted", "required", "holds"), [_row(own, recount) for own in measures])


def _row(measure: Objective | Constraint, recount: Recount) -> tuple[Any, ...]:
    if isinstance(measure, Objective):
        return measure.full_name, shown(measure, measure.recount(recount)), "", None
    found = measure.objective.recount(recount)
    required = f"{'>=' if measure.at_least else '<='} {measure.bound}"
    holds = kept(found, measure.bound, measure.at_least)
    return measure.objective.full_name, shown(measure.objective, found), required, holds


def object_frame(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Return a frame of objects, with whole numbers and None unchanged."""
    return pd.DataFrame({name: pd.Series([row[i] for row in rows], dtype=object) for i, name in enumerate(columns)})


def _objectives(measures: Sequence[Objective | Constraint]) -> list[Objective]:
    given = in_order("measures", measures, Objective | Constraint, "objectives or constraints")
    objectives = [measure.objective if isinstance(measure, Constraint) else measure for measure in given]
    if unknown := [objective for objective in objectives if objective.joint or not objective.recountable]:
        raise ValueError(f"measures must define recount to be counted again, got {examples(unknown)}")
    return objectives


def shown(objective: Objective, found: Recounted) -> float:
    """Return a recount as an int or the nearest float."""
    return int(found) if objective.whole else float(found)


def kept(found: Recounted, bound: float, at_least: bool) -> bool:
    """Return whether a recount keeps a bound, up to rounding of floats."""
    slack = _TOLERANCE * abs(bound) if isinstance(found, float) and np.isfinite(bound) else 0.0
    return bool(keeps(np.array([float(found) + (slack if at_least else -slack)]), bound, at_least)[0])


# --- every cell is its original value, or a label that stands for it --------------------------------------------------


def check_rows(recoding: Recoding, names: Sequence[Name], written: Renamed) -> None:
    """Raise if a table is not a recoding of the original.

    Each row must be there as often as it was made, by all released columns. Rows in memory are compared there, and the
    many of a lazy frame where they live.
    """
    balance = _balance(_made_rows(recoding, names), written) if isinstance(written.frame, nw.LazyFrame) else None
    if balance is None:
        other = _other_rows_in_memory(recoding, names, written)
    else:
        n = nw.col(COUNT)
        other = max(totals(balance, more=nw.when(n > 0).then(n).sum(), fewer=nw.when(n < 0).then(n * -1).sum()))
    if other:
        told = "row is other than the recoding makes it", "rows are other than the recoding makes them"
        raise ValueError(counted(other, *told))


class _Labelled(NamedTuple):
    """Labels of some rows of the original, by tuple."""

    kept: Bools  # Whether the row's class is not suppressed
    numbers: dict[Name, Array]  # By quasi-identifier the place of each row's label among `texts`
    texts: dict[Name, list[str | None]]  # The labels, and that of suppressed rows


def _labelled(recoding: Recoding, rows: Any, weights: Ints) -> _Labelled:
    table, made, n = recoding.table, recoding.generalization, recoding.table.n_distinct
    places = [_places(rows[recoding.source.alias(name)], name, own) for name, own in table.quasi_identifiers.items()]
    keys = keyed(np.append(own, found) for own, found in zip(table.tuples.codes.T, places, strict=True))
    assert recoding.classes.class_of is not None
    is_kept = recoding.classes.kept[recoding.classes.class_of[0]]
    texts = {name: [*own, SUPPRESSED] for name, own in label_texts(made.labels).items()}
    at = pd.Index(keys[:n]).get_indexer(pd.Index(keys[n:]))
    if (at < 0).any():
        told = "row of the original is", "rows of the original are"
        raise ValueError(f"{counted(int(weights[at < 0].sum()), *told)} not in the problem's table")
    kept = is_kept[at]
    groups = (_groups(made, name, at, own, kept) for name, own in zip(texts, places, strict=True))
    numbers = {}
    for (n, labels), own in zip(texts.items(), groups, strict=True):
        # Most columns have few labels.
        small = np.min_scalar_type(len(labels))
        numbers[n] = np.where(kept, own.astype(small), small.type(len(labels) - 1))
    return _Labelled(kept, numbers, texts)


def _other_rows_in_memory(recoding: Recoding, names: Sequence[Name], written: Renamed) -> int:
    (given, weights), (there, n_there) = rows_of(recoding.values), rows_of(written.frame)
    kept, numbers, texts = _labelled(recoding, given, weights)
    columns = (
        _label_codes(numbers[n], texts[n], found) if n in texts else codes_of(given[recoding.source.alias(n)], found)
        for n, found in zip(names, (there[written.alias(name)] for name in written.names), strict=True)
    )
    n_given = weights * (kept | (recoding.suppressed == "mark"))
    rest = np.bincount(pd.factorize(keyed(columns))[0], np.append(n_given, -n_there))
    return int(max(rest.clip(min=0).sum(), (-rest).clip(min=0).sum()))


def _made_rows(recoding: Recoding, names: Sequence[Name]) -> Frame:
    """Return the rows that must be there, `cell 0`, `cell 1`, ... and `COUNT`.

    Whole tuples are looked up by the text of their values, while a recoding looks up each value.
    """
    frame, quasi = recoding.values, {name: recoding.source.alias(name) for name in recoding.table.quasi_identifiers}
    # No value of a quasi-identifier is `*`.
    keys = {f"key {j}": as_key(frame, alias).fill_null(SUPPRESSED) for j, alias in enumerate(quasi.values())}
    tuples = frame.group_by(list(quasi.values()), drop_null_keys=False).agg(nw.col(COUNT).sum().cast(nw.Int64))
    rows, weights = rows_of(tuples.with_columns(**keys))
    kept, numbers, texts = _labelled(recoding, rows, weights)
    columns = {f"known {key}": rows[key].to_list() for key in keys}
    for j, name in enumerate(quasi):
        columns[f"label {j}"] = [texts[name][number] for number in numbers[name].tolist()]
    is_there = (kept | (recoding.suppressed == "mark")).astype(int)
    own = lookup(frame, {"is there": is_there.tolist()}, columns)
    joined = frame.with_columns(**keys).join(own, left_on=[*keys], right_on=[f"known {key}" for key in keys])
    labels = {name: f"label {j}" for j, name in enumerate(quasi)}
    aliases = [labels.get(name, recoding.source.alias(name)) for name in names]
    return joined.filter(nw.col("is there") == 1).select(*_cells(aliases), COUNT)


def _cells(aliases: Sequence[str]) -> list[Any]:
    return [nw.col(alias).alias(f"cell {i}") for i, alias in enumerate(aliases)]


def _balance(made: Frame, written: Renamed) -> Frame | None:
    """Return the missing rows of each kind, if the engine can compare."""
    cells = _cells([written.alias(name) for name in written.names])
    there = written.frame.select(*cells, nw.lit(-1).cast(nw.Int64).alias(COUNT))
    made = made.with_columns(nw.col(COUNT).cast(nw.Int64))
    if made.implementation != there.implementation or made.collect_schema() != there.collect_schema():
        return None
    try:
        both = nw.concat([made, there])
    except Exception as error:
        # DuckDB combines no relations of two connections, such as of a database and of a file.
        if "duckdb" not in type(error).__module__:
            raise
        return None
    return both.group_by([f"cell {i}" for i in range(len(cells))], drop_null_keys=False).agg(nw.col(COUNT).sum())


def _places(column: Any, name: Name, hierarchy: Hierarchy) -> Array:
    codes, values = codes_and_values(column)
    places = fitted(name, hierarchy, [*values, *([None] if (codes < 0).any() else [])])[1]
    return places.astype(np.min_scalar_type(hierarchy.n_values))[codes]


def _groups(made: Decoded, name: Name, at: Ints, places: Array, kept: Bools) -> Ints:
    """Return the number of every row's label, checked against the hierarchy."""
    if isinstance(made, Generalization):
        return made.groups[name][places]
    nodes = made.quasi_identifiers[name].nodes
    groups, positions = made.cells[at, list(made.quasi_identifiers).index(name)], nodes.order[places]
    if not ((nodes.first[groups] <= positions) & (positions < nodes.stop[groups]))[kept].all():
        raise ValueError(f"labels of {name!r} do not stand for the values that they came from")
    return groups


def _label_codes(numbers: Array, labels: Sequence[str | None], found: Any) -> Ints:
    """Encode given labels and found values together, -1 for missing."""
    own, values = codes_and_values(found)
    codes = np.append(pd.factorize(pd.Series([*labels, *values], dtype=object))[0], -1)
    # Missing values have the last code.
    return np.concatenate([codes[numbers], codes[len(labels) :][own]])


def check_matching(own: Recount) -> None:
    """Raise if some row cannot come from a row of the original.

    A release is sorted: nothing tells which row was made of which. So one of the ways has to be found. A row goes with
    a row of the original whose values its labels stand for, and which has the same in the other columns that are
    counted. All released rows have one of their own if a flow from distinct rows to distinct rows can be so great.
    Rows of `*` alone may be of anybody.
    """
    # It takes a third of a second to load, and no other recount needs it.
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import maximum_flow

    known = renamed(own.source).names
    names = {f"column {i}": name for i, name in enumerate(own.columns) if name in own.names or name in known}
    keys = [key for key, name in names.items() if name in own.names]
    made = own.found.groupby([*names], as_index=False, sort=False)[["n"]].sum()
    given = combinations(own.source, [*names.values()]).set_axis([*names, "n"], axis="columns")
    for key in keys:
        if None not in own.hierarchies[names[key]].domain:
            # No table has such rows.
            given = given[given[key].astype(object) != MISSING]
    given = given.reset_index(drop=True)
    edges = _edges(own, made, given, names)
    # The source, the released rows, the original ones, the sink.
    rows, originals = 1 + np.arange(len(made)), 1 + len(made) + np.arange(len(given))
    sink = 1 + len(made) + len(given)
    tails = np.concatenate([np.zeros_like(rows), rows[edges.row], originals])
    heads = np.concatenate([rows, originals[edges.original], np.full_like(originals, sink)])
    room = np.minimum(made.n.to_numpy()[edges.row], given.n.to_numpy()[edges.original])
    limits = np.concatenate([made.n, room, given.n]).astype(np.int32)
    flow = maximum_flow(csr_matrix((limits, (tails, heads)), shape=(sink + 1, sink + 1)), 0, sink).flow
    left = made.n - flow[[0]].toarray()[0, rows]
    if left.any():
        cells = [f"{name} = {made.loc[left.idxmax(), key]!r}" for key, name in names.items()]
        raise ValueError(
            f"frame must have a row of the original behind each of its rows, one that its labels stand for, got "
            f"{int(left.sum()):,} without one, such as {', '.join(cells)}"
        )


def _edges(own: Recount, made: pd.DataFrame, given: pd.DataFrame, names: dict[str, Name]) -> pd.DataFrame:
    """Return the possible pairs of released and original distinct rows."""
    keys = [key for key, name in names.items() if name in own.names]
    others = [key for key in names if key not in keys]
    classes, tuples = (table[keys].drop_duplicates(ignore_index=True) for table in (made, given))
    stars = (classes == SUPPRESSED).all(axis=1).to_numpy()
    # Per column the tuples below each label, as bits, and the label of each class.
    below = []
    for key in keys:
        labels, texts = pd.factorize(classes[key][~stars])
        members = own.labels[names[key]].members(list(texts))
        places = own.places(names[key], tuples[key].tolist())
        below.append(([np.packbits(of[places]) for of in members], labels))
    found = [np.arange(len(tuples))] * len(classes)
    for c, number in enumerate(np.flatnonzero(~stars)):
        bits = reduce(np.bitwise_and, [held[labels[c]] for held, labels in below])
        found[number] = np.flatnonzero(np.unpackbits(bits, count=len(tuples)))
    numbers = np.repeat(np.arange(len(classes)), [len(places) for places in found])
    pairs = pd.DataFrame({"class": numbers, "tuple": np.concatenate(found)})
    # A column of moments has another type where one is missing.
    made, given = made.astype(dict.fromkeys(others, object)), given.astype(dict.fromkeys(others, object))
    rows = made[others].assign(row=np.arange(len(made)), **{"class": made.groupby(keys, sort=False).ngroup()})
    originals = given[others].assign(original=np.arange(len(given)), tuple=given.groupby(keys, sort=False).ngroup())
    return pairs.merge(rows, on="class").merge(originals, on=["tuple", *others])


def linked_rows(
    own: Recoding, problem: AnonymizationProblem, original: Renamed, columns: Sequence[Name]
) -> Recount | None:
    """Return the rows of all releases as joint classes. None means that one is known by its classes alone."""
    points = [point for one in problem.earlier if (point := point_of(one)) is not None]
    if len(points) < len(problem.earlier):
        return None
    names = list(problem.table.quasi_identifiers)
    columns = [name for name in dict.fromkeys(columns) if name not in names]
    found = combinations_of(original, [*names, *columns])
    rows = renamed(pd.DataFrame({j: found.columns[name] for j, name in enumerate([*names, *columns])}))
    rows = Renamed(rows.frame, (*names, *columns), rows.kind)
    made = [decoded_point(before, x, None) for before, x in points] + [(own.generalization, own.classes)]
    releases = [
        _labelled(Recoding(rows, own.table, *one, "mark", rows.frame), rows.frame, found.weights) for one in made
    ]
    # Rows that are suppressed in all releases are a class where they are marked.
    kept = np.any([one.kept for one in releases], axis=0) | (own.suppressed == "mark")
    cells = [np.array(one.texts[name], dtype=object)[one.numbers[name]] for one in releases for name in names]
    values = [*cells, *(found.columns[name] for name in columns)]
    frame = pd.DataFrame({f"column {i}": pd.Series(column)[kept] for i, column in enumerate(values)})
    frame[COUNT] = found.weights[kept]
    places = [(place,) for place in range(len(cells))]
    released = Renamed(nw.from_native(frame), (*places, *columns), pd.DataFrame)
    return Recount(released, places, columns, original, sensitive=own.table.sensitive)
