"""Recoding of frames of any kind, in their own engine.

Rows that agree in all released columns become one and the same released row. So they are grouped first, by one look at
the table; what is recoded, sorted and written is each distinct row once, with how many it stands for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pymoo_anon._messages import examples, repeated
from pymoo_anon.engine.classes import EquivalenceClasses, groups_of
from pymoo_anon.problems.arguments import RefinementError
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import (
    COUNT,
    Frame,
    Renamed,
    as_text,
    coded,
    combinations_of,
    distinct_rows,
    fetched,
    in_ascending_order,
    missing,
)
from pymoo_anon.table.generalization import SUPPRESSED, Decoded, Generalization, label_texts
from pymoo_anon.table.hierarchy import Hierarchy, fitted
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Ints


def lookup(frame: Frame, columns: Mapping[str, Sequence[Any]], schema: Mapping[str, Any]) -> Frame:
    """Return a small table of another frame's kind."""
    kind = frame.implementation
    native = frame.to_native()
    if kind.is_duckdb():
        small = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
        sql_types = {nw.String: "VARCHAR", nw.Int64: "BIGINT"}
        chosen = ", ".join(f'CAST("{name}" AS {sql_types[schema[name]]}) AS "{name}"' for name in columns)
        # The query runs where the relation lives, and finds `small` among the variables of this function.
        assert small is not None
        return nw.from_native(native.query("pymoo_anon_released", f"SELECT {chosen} FROM small"))
    if kind.is_pyspark() or kind.is_pyspark_connect():
        spark_types = {nw.String: "string", nw.Int64: "bigint"}
        types = ", ".join(f"`{name}` {spark_types[schema[name]]}" for name in columns)
        return nw.from_native(native.sparkSession.createDataFrame(list(zip(*columns.values(), strict=True)), types))
    if kind.is_ibis():
        ibis_types = {nw.String: "string", nw.Int64: "int64"}
        rows = list(zip(*columns.values(), strict=True))
        return nw.from_native(
            import_module("ibis").memtable(rows, schema={name: ibis_types[schema[name]] for name in columns})
        )
    if kind.is_pandas():
        # A Series that is made as text keeps a gap; one that pandas 2 turns into text has a word there.
        dtypes = {nw.String: "str", nw.Int64: "int64"}
        own = {name: pd.Series(values, dtype=dtypes[schema[name]]) for name, values in columns.items()}
        return nw.from_native(pd.DataFrame(own))
    eager: Frame = nw.from_dict(dict(columns), dict(schema), backend=kind)
    return eager.lazy() if isinstance(frame, nw.LazyFrame) else eager


# A key of several attributes is a whole number below this.
_LARGEST_KEY = 2**62


class Recoding(NamedTuple):
    """Inputs of a recoding."""

    source: Renamed
    table: Microdata
    generalization: Decoded
    classes: EquivalenceClasses
    suppressed: str  # Fate of the rows of suppressed classes, "mark" or "drop"
    values: Frame  # Holds every value of the quasi-identifiers, and is quick to read

    def applied(self, frame: Frame, names: Sequence[Name]) -> Frame:
        """Return columns and `COUNT` with labels as text, suppressed rows marked or dropped."""
        kept = self.classes.kept.tolist()
        columns: dict[str, list[Any]] = {"known": list(range(len(kept))), "kept": list(map(int, kept))}
        schema, labels = dict.fromkeys(columns, nw.Int64), {}
        for j, (name, texts) in enumerate(label_texts(self.generalization.labels).items()):
            cells = zip(groups_of(self.classes, j).cells.tolist(), kept, strict=True)
            columns[f"label {j}"] = [texts[cell] if is_kept else SUPPRESSED for cell, is_kept in cells]
            schema[f"label {j}"] = nw.String
            labels[name] = nw.col(f"label {j}").alias(self.source.alias(name))
        frame = self.with_class(frame, np.arange(len(kept)))
        frame = _left_joined(frame, lookup(self.values, columns, schema), ["class"], ["known"])
        counts = [nw.col(COUNT)] if COUNT in frame.collect_schema().names() else []
        frame = frame.select([*(labels.get(name, nw.col(self.source.alias(name))) for name in names), *counts, "kept"])
        # Last, since it copies all columns.
        return (frame.filter(nw.col("kept") == 1) if self.suppressed == "drop" else frame).drop("kept")

    def with_class(self, frame: Frame, numbers: Ints) -> Frame:
        """Add the `class` of each row by its number, known for each class."""
        made, codes, hierarchies = self.generalization, self.table.tuples.codes, self.table.quasi_identifiers
        if isinstance(made, Generalization):
            groups, rows = made.groups, self.classes.representatives
        else:
            assert self.classes.class_of is not None
            # Each value is a group of its own.
            groups = {name: np.arange(own.n_values) for name, own in hierarchies.items()}
            rows, numbers = np.arange(len(codes)), numbers[self.classes.class_of[0]]
        known = np.stack([own[codes[rows, j]] for j, own in enumerate(groups.values())], axis=1)
        keys, expressions = _packed(known, [int(own.max()) + 1 for own in groups.values()])
        columns = {**{f"known {i}": key.tolist() for i, key in enumerate(keys)}, "class": numbers.tolist()}
        small = lookup(self.values, columns, dict.fromkeys(columns, nw.Int64))
        cells = [own.alias(f"cell {i}") for i, own in enumerate(expressions)]
        frame = self._with_groups(frame, groups).with_columns(cells).drop([f"group {j}" for j in range(len(groups))])
        return _left_joined(frame, small, [f"cell {i}" for i in range(len(keys))], list(columns)[:-1])

    def _with_groups(self, frame: Frame, groups: Mapping[Name, Ints]) -> Frame:
        """Add the groups of the quasi-identifiers, `group 0`, ...."""
        # Values are joined by their text: it is compared alike in every engine.
        keys = [as_text(self.source.alias(name)).alias(f"key {j}") for j, name in enumerate(groups)]
        hierarchies, source = self.table.quasi_identifiers, self.source
        known = [groups_by_text(self.values, source.alias(n), n, hierarchies[n], own) for n, own in groups.items()]
        frame, columns = _with_known(frame.with_columns(keys), known), []
        for j, (name, own) in enumerate(groups.items()):
            domain, group = hierarchies[name].domain, nw.col(f"group {j}")
            if None in domain:
                gap = nw.lit(int(own[domain.index(None)]))
                # pandas 2 warns where a second branch does not fit into the first: the column with gaps stands first.
                group = nw.when(~missing(frame, source.alias(name))).then(group).otherwise(gap)
            columns.append(group.cast(nw.Int64).alias(f"group {j}"))
        # All columns at once, as an engine looks at every step so far for each further one.
        return frame.with_columns(columns)


def groups_by_text(frame: Frame, column: str, name: Name, hierarchy: Hierarchy, own: Ints) -> dict[str, int]:
    """Return the group of each value of a column, by its text."""
    key = "key"
    # An engine groups texts that it has made slowly, so each is made of a distinct value.
    values = fetched(distinct_rows(frame, [column]).select(nw.col(column), as_text(column).alias(key)))
    found = combinations_of(values.to_native(), [column, key]).columns
    positions, held = coded(found[column])
    present = [value for value in held if value is not None]
    groups = np.append(own[fitted(name, hierarchy, present)[1]], -1)[np.minimum(positions, len(present))]
    pairs = dict.fromkeys(pair for pair in zip(found[key], groups.tolist(), strict=True) if pair[1] >= 0)
    if twice := repeated(text for text, _ in pairs):
        raise ValueError(f"column {name!r} must hold values that differ as text, got several of {examples(twice)}")
    return dict(pairs.keys())


def _with_known(frame: Frame, known: Sequence[Mapping[str, int]]) -> Frame:
    """Join the known groups of each key."""
    if not frame.implementation.is_duckdb():
        for j, own in enumerate(known):
            columns = {f"known {j}": list(own), f"group {j}": list(own.values())}
            small = lookup(frame, columns, {f"known {j}": nw.String, f"group {j}": nw.Int64})
            frame = _left_joined(frame, small, [f"key {j}"], [f"known {j}"])
        return frame
    # One query: DuckDB reads all steps so far again for each further one.
    rows = [(j, text, group) for j, own in enumerate(known) for text, group in own.items()]
    schema = {"place": nw.Int64, "known": nw.String, "group": nw.Int64}
    small = lookup(frame, dict(zip(schema, zip(*rows, strict=True), strict=True)), schema).to_native()
    assert small is not None
    columns = [f'known_{j}."group" AS "group {j}"' for j in range(len(known))]
    joins = [
        f'LEFT JOIN small AS known_{j} ON known_{j}.place = {j} AND known_{j}.known = own."key {j}"'
        for j in range(len(known))
    ]
    query = f"SELECT own.*, {', '.join(columns)} FROM pymoo_anon_rows AS own {' '.join(joins)}"
    return nw.from_native(frame.to_native().query("pymoo_anon_rows", query))


def _left_joined(frame: Frame, small: Frame, keys: list[str], known: list[str]) -> Frame:
    # pandas copies all columns that it joins, and keeps the order of rows.
    is_pandas = frame.implementation.is_pandas()
    found = (frame.select(keys) if is_pandas else frame).join(small, left_on=keys, right_on=known, how="left")
    return frame.drop(keys).with_columns(*found.drop(keys).iter_columns()) if is_pandas else found


def decoded_point(
    problem: AnonymizationProblem, x: ArrayLike | Choice, recoding: str | None
) -> tuple[Decoded, EquivalenceClasses]:
    """Decode or refine a point, and return its equivalence classes."""
    if recoding not in (None, "local"):
        raise ValueError(f"recoding must be 'local' or None, got {recoding!r}")
    if recoding is None:
        x = x.x if isinstance(x, Choice) else x
        return problem.decode(x), problem.equivalence_classes(x)
    # Few releases are refined.
    from pymoo_anon.problems.refining import refine

    try:
        made = refine(problem, x)
    except RefinementError as error:
        raise RefinementError(error.change, 'recoding="local"') from None
    return made, problem.table.equivalence_classes(made, 0, problem.constraints, problem.beside_parts)


def complete_rows(source: Renamed, table: Microdata) -> Frame:
    """Return the rows of a table, without missing values unless it holds them."""
    there = []
    for name, domain in table.tuples.domains.items():
        # A hierarchy may know a missing value where rows without a value were left out.
        holds = None in domain and bool((table.tuples.columns[name].values == domain.index(None)).any())
        if name in source.names and not holds:
            there.append(~missing(source.frame, source.alias(name)))
    return source.frame.filter(*there) if there else source.frame


def unrolled(frame: Frame) -> Frame:
    """Repeat every row by its `COUNT`, in the same order."""
    kind, native = frame.implementation, frame.to_native()
    if kind.is_duckdb():
        return nw.from_native(native.project(f"*, unnest(range({COUNT})) AS again"))
    if kind.is_pyspark() or kind.is_pyspark_connect():
        return nw.from_native(native.selectExpr("*", f"explode(sequence(1L, {COUNT})) AS again"))
    if kind.is_ibis():
        most = int(native[COUNT].max().execute())
        again = lookup(frame, {"again": range(most)}, {"again": nw.Int64}).to_native()
        # Not every database can unnest, and a join keeps no order.
        joined = nw.from_native(native.join(again, again["again"] < native[COUNT]))
        return in_ascending_order(joined, [name for name in native.columns if name != COUNT])
    if isinstance(frame, nw.LazyFrame):
        return unrolled(frame.collect()).lazy()
    places = np.repeat(np.arange(len(frame), dtype=np.int32), frame[COUNT].to_numpy())
    if kind.is_pandas():
        # Column by column, as an index of pandas is as large as a column.
        columns = {name: column.array.take(places) for name, column in native.items() if name != COUNT}
        return nw.from_native(pd.DataFrame(columns, copy=False))
    return frame[places]


def _packed(groups: Ints, sizes: Sequence[int]) -> tuple[list[Ints], list[Any]]:
    """Pack groups of several attributes into few numbers, as arrays and as expressions."""
    arrays: list[Ints] = []
    expressions: list[Any] = []
    room = 0
    for j, n in enumerate(sizes):
        own = nw.col(f"group {j}")
        if arrays and room * n < _LARGEST_KEY:
            arrays[-1] = arrays[-1] * n + groups[:, j]
            expressions[-1] = expressions[-1] * n + own
            room *= n
        else:
            arrays.append(groups[:, j])
            expressions.append(own)
            room = n
    return arrays, expressions
