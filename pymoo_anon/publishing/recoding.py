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

from pymoo_anon._messages import examples
from pymoo_anon.engine.classes import EquivalenceClasses
from pymoo_anon.problems.arguments import RefinementError
from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.front import Choice
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import (
    COUNT,
    Frame,
    Renamed,
    as_key,
    coded,
    combinations_of,
    distinct_rows,
    fetched,
    in_ascending_order,
    missing,
)
from pymoo_anon.table.generalization import SUPPRESSED, Decoded, Generalization, LocalGeneralization, label_texts
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


#: The Boolean column that tells which rows are suppressed.
FLAG = "suppressed"

# A key of several attributes is a whole number below this.
_LARGEST_KEY = 2**62


class Recoding(NamedTuple):
    """Inputs of a recoding."""

    source: Renamed
    table: Microdata
    generalization: Generalization | LocalGeneralization
    classes: EquivalenceClasses
    suppressed: str  # Fate of the rows of suppressed classes, "mark" or "drop"
    values: Frame  # Holds every value of the quasi-identifiers, and is quick to read

    def applied(self, frame: Frame, names: Sequence[Name]) -> Frame:
        """Return columns and `COUNT` with labels as text, suppressed rows marked or dropped."""
        if isinstance(self.generalization, LocalGeneralization):
            frame = self._by_class(frame, self.generalization)
        else:
            frame = self._by_value(frame, self.generalization)
        labels = {}
        for j, name in enumerate(self.table.quasi_identifiers):
            label = nw.col(f"label {j}")
            if self.suppressed == "mark":
                label = nw.when(nw.col(FLAG)).then(nw.lit(SUPPRESSED)).otherwise(label)
            labels[name] = label.alias(self.source.alias(name))
        counts = [nw.col(COUNT)] if COUNT in frame.collect_schema().names() else []
        frame = frame.select([*(labels.get(name, nw.col(self.source.alias(name))) for name in names), *counts, FLAG])
        # Last, since it copies all columns.
        return (frame.filter(~nw.col(FLAG)) if self.suppressed == "drop" else frame).drop(FLAG)

    def _by_value(self, frame: Frame, made: Generalization) -> Frame:
        """Add the labels of whole columns, `label 0`, ..., and `FLAG`."""
        frame = self._with_groups(frame, made.groups, label_texts(made.labels))
        codes = self.table.tuples.codes
        groups = np.stack([own[codes[:, j]] for j, own in enumerate(made.groups.values())], axis=1)
        suppressed = groups[self.classes.representatives[~self.classes.kept]]
        if len(suppressed) == 0:
            return frame.with_columns(nw.lit(False).alias(FLAG))
        frame = self._joined(frame, suppressed, made.n_groups, {"found": [1] * len(suppressed)}, {"found": nw.Int64})
        return frame.with_columns((~nw.col("found").is_null()).alias(FLAG))

    def _by_class(self, frame: Frame, made: LocalGeneralization) -> Frame:
        """Add the labels of each row's class, and `FLAG`."""
        texts = label_texts(made.labels)
        labels = {
            f"label {j}": [texts[name][node] for node in nodes]
            for j, (name, nodes) in enumerate(zip(texts, made.nodes.T.tolist(), strict=True))
        }
        frame = self.with_class(frame, made.class_of)
        # There are fewer classes than tuples: the texts of a class are handed over once.
        columns = {"known": list(range(len(made.nodes))), **labels, "kept": made.kept.astype(np.int64).tolist()}
        schema = {"known": nw.Int64, **dict.fromkeys(labels, nw.String), "kept": nw.Int64}
        frame = frame.join(lookup(self.values, columns, schema), left_on="class", right_on="known", how="left")
        return frame.with_columns((nw.col("kept") == 0).alias(FLAG))

    def with_class(self, frame: Frame, class_of: Ints) -> Frame:
        """Add the `class` of each row, known for each distinct tuple."""
        tuples = self.table.tuples
        # Each value is its own group, without a label.
        values = {name: np.arange(n) for name, n in zip(self.table.quasi_identifiers, tuples.domain_sizes, strict=True)}
        frame = self._with_groups(frame, values, {name: [""] * len(own) for name, own in values.items()})
        frame = frame.drop([f"label {j}" for j in range(len(values))])
        numbers = {"class": class_of.tolist()}
        return self._joined(frame, tuples.codes, tuples.domain_sizes, numbers, {"class": nw.Int64})

    def _with_groups(
        self, frame: Frame, groups: Mapping[Name, Ints], texts: Mapping[Name, Sequence[str | None]]
    ) -> Frame:
        """Add groups and labels of the quasi-identifiers, `group j` and `label j`."""
        # Values are joined by their text: it is compared alike in every engine.
        keys = [as_key(frame, self.source.alias(name)).alias(f"key {j}") for j, name in enumerate(groups)]
        known = []
        for name, own in groups.items():
            found = groups_by_text(self.values, self.source.alias(name), name, self.table.quasi_identifiers[name], own)
            known.append({**found, "label": [texts[name][group] for group in found["group"]]})
        frame, columns = _with_known(frame.with_columns(keys), known), []
        for j, (name, own) in enumerate(groups.items()):
            domain, group, label = self.table.quasi_identifiers[name].domain, nw.col(f"group {j}"), nw.col(f"label {j}")
            if None in domain:
                there, missing_group = ~missing(frame, self.source.alias(name)), int(own[domain.index(None)])
                # pandas 2 warns where a second branch does not fit into the first: the column with gaps stands first.
                group = nw.when(there).then(group).otherwise(nw.lit(missing_group))
                label, word = nw.when(there).then(label), texts[name][missing_group]
                label = label if word is None else label.otherwise(nw.lit(word, nw.String))
            columns += [group.cast(nw.Int64).alias(f"group {j}"), label.alias(f"label {j}")]
        # All columns at once, as an engine looks at every step so far for each further one.
        return frame.with_columns(columns)

    def _joined(
        self,
        frame: Frame,
        groups: Ints,
        n_groups: tuple[int, ...],
        columns: Mapping[str, Sequence[Any]],
        schema: Mapping[str, Any],
    ) -> Frame:
        """Join columns known for each combination of groups."""
        keys, expressions = _packed(groups, n_groups)
        named = {f"known {i}": key.tolist() for i, key in enumerate(keys)}
        small = lookup(self.values, {**named, **columns}, {**dict.fromkeys(named, nw.Int64), **schema})
        frame = frame.with_columns([own.alias(f"cell {i}") for i, own in enumerate(expressions)])
        return _left_joined(frame, small, [f"cell {i}" for i in range(len(keys))], list(named))


def groups_by_text(frame: Frame, column: str, name: Name, hierarchy: Hierarchy, own: Ints) -> dict[str, list[Any]]:
    """Return the texts of a column's values, `known`, and the `group` of each."""
    key = "key"
    # An engine groups texts that it has made slowly, so each is made of a distinct value.
    values = fetched(distinct_rows(frame, [column]).select(nw.col(column), as_key(frame, column).alias(key)))
    found = combinations_of(values.to_native(), [column, key]).columns
    positions, held = coded(found[column])
    present = [value for value in held if value is not None]
    _, places = fitted(name, hierarchy, present)
    groups = np.append(own[places], -1)[np.minimum(positions, len(present))]
    keys = pd.DataFrame({"known": found[key].astype(object), "group": groups})[groups >= 0].drop_duplicates()
    if twice := keys.known[keys.known.duplicated()].unique().tolist():
        raise ValueError(f"column {name!r} must hold values that differ as text, got several of {examples(twice)}")
    return {"known": keys.known.tolist(), "group": keys.group.tolist()}


def _with_known(frame: Frame, known: Sequence[Mapping[str, list[Any]]]) -> Frame:
    """Join the known groups and labels of each key."""
    schema = {"known": nw.String, "group": nw.Int64, "label": nw.String}
    if not frame.implementation.is_duckdb():
        for j, own in enumerate(known):
            small = lookup(frame, own, schema).rename({one: f"{one} {j}" for one in schema})
            frame = _left_joined(frame, small, [f"key {j}"], [f"known {j}"])
        return frame
    # One query: DuckDB reads all steps so far again for each further one.
    rows = {"place": [j for j, own in enumerate(known) for _ in own["known"]]}
    rows |= {one: [value for own in known for value in own[one]] for one in schema}
    small = lookup(frame, rows, {"place": nw.Int64, **schema}).to_native()
    assert small is not None
    columns = [f'known_{j}."group" AS "group {j}", known_{j}.label AS "label {j}"' for j in range(len(known))]
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


def _packed(groups: Ints, n_groups: tuple[int, ...]) -> tuple[list[Ints], list[Any]]:
    """Pack groups of several attributes into few numbers, as arrays and as expressions."""
    arrays: list[Ints] = []
    expressions: list[Any] = []
    room = 0
    for j, n in enumerate(n_groups):
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
