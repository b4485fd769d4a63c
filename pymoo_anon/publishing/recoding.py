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
from pymoo_anon.table import frames
from pymoo_anon.table.domain_values import Name, is_missing
from pymoo_anon.table.frames import COUNT, Frame, Renamed
from pymoo_anon.table.generalization import SUPPRESSED, Decoded, Generalization, label_texts
from pymoo_anon.table.hierarchy import Hierarchy, fitted
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Ints


def lookup(frame: Frame, numbers: Mapping[str, Sequence[int]], texts: Mapping[str, Sequence[str | None]]) -> Frame:
    """Return a small table of another frame's kind, of whole numbers and texts."""
    kind, native, columns = frame.implementation, frame.to_native(), {**numbers, **texts}

    def typed(whole: Any, text: Any) -> dict[str, Any]:
        return {**dict.fromkeys(numbers, whole), **dict.fromkeys(texts, text)}

    if kind.is_pandas() or kind.is_duckdb():
        # A Series that is made as text keeps a gap; one that pandas 2 turns into text has a word there.
        dtypes = typed("int64", "str" if kind.is_pandas() else object)
        small = pd.DataFrame({name: pd.Series(values, dtype=dtypes[name]) for name, values in columns.items()})
        if kind.is_pandas():
            return nw.from_native(small)
        chosen = ", ".join(f'CAST("{name}" AS {own}) AS "{name}"' for name, own in typed("BIGINT", "VARCHAR").items())
        # The query runs where the relation lives, and finds `small` among the variables of this function.
        return nw.from_native(native.query("pymoo_anon_released", f"SELECT {chosen} FROM small"))
    if kind.is_polars() or kind.is_pyarrow():
        eager: Frame = nw.from_dict(columns, typed(nw.Int64, nw.String), backend=kind)
        return eager.lazy() if isinstance(frame, nw.LazyFrame) else eager
    rows = list(zip(*columns.values(), strict=True))
    if kind.is_ibis():
        return nw.from_native(import_module("ibis").memtable(rows, schema=typed("int64", "string")))
    types = ", ".join(f"`{name}` {own}" for name, own in typed("bigint", "string").items())
    return nw.from_native(native.sparkSession.createDataFrame(rows, types))


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
        kept, texts, labels = self.classes.kept.tolist(), {}, {}
        for j, (name, own) in enumerate(label_texts(self.generalization.labels).items()):
            cells = zip(groups_of(self.classes, j).cells.tolist(), kept, strict=True)
            texts[f"label {j}"] = [own[cell] if is_kept else SUPPRESSED for cell, is_kept in cells]
            labels[name] = nw.col(f"label {j}").alias(self.source.alias(name))
        frame = self.with_classes(frame, {"kept": [*map(int, kept)]}, texts)
        counts = [nw.col(COUNT)] if COUNT in frame.collect_schema().names() else []
        frame = frame.select([*(labels.get(name, nw.col(self.source.alias(name))) for name in names), *counts, "kept"])
        # Last, since it copies all columns.
        return (frame.filter(nw.col("kept") == 1) if self.suppressed == "drop" else frame).drop("kept")

    def with_classes(
        self, frame: Frame, numbers: Mapping[str, Sequence[int]], texts: Mapping[str, Sequence[str | None]]
    ) -> Frame:
        """Add to each row the numbers and texts of its class."""
        made, codes, hierarchies = self.generalization, self.table.tuples.codes, self.table.quasi_identifiers
        if isinstance(made, Generalization):
            groups, rows, classes = made.groups, self.classes.representatives, range(len(self.classes.kept))
        else:
            assert self.classes.class_of is not None
            # Each value is a group of its own.
            groups = {name: np.arange(own.n_values) for name, own in hierarchies.items()}
            rows, classes = np.arange(len(codes)), self.classes.class_of[0].tolist()
        known = {f"known {j}": own[codes[rows, j]].tolist() for j, own in enumerate(groups.values())}
        numbers = {name: [own[at] for at in classes] for name, own in numbers.items()}
        texts = {name: [own[at] for at in classes] for name, own in texts.items()}
        small = lookup(self.values, {**known, **numbers}, texts)
        # pandas copies all columns that it joins, and keeps the order of rows.
        is_pandas = frame.implementation.is_pandas()
        rows = self._with_groups(frame.select(map(self.source.alias, groups)) if is_pandas else frame, groups)
        rows = rows.join(small, left_on=[f"group {j}" for j in range(len(groups))], right_on=[*known], how="left")
        return frame.with_columns(*(rows[name] for name in (*numbers, *texts))) if is_pandas else rows

    def _with_groups(self, frame: Frame, groups: Mapping[Name, Ints]) -> Frame:
        """Add the groups of the quasi-identifiers, `group 0`, ...."""
        # Values are joined by their text: it is compared alike in every engine.
        keys = [frames.as_key(frame, self.source.alias(name)).alias(f"key {j}") for j, name in enumerate(groups)]
        hierarchies, source = self.table.quasi_identifiers, self.source
        known = [groups_by_text(self.values, source.alias(n), n, hierarchies[n], own) for n, own in groups.items()]
        frame, columns = _with_known(frame.with_columns(keys), known), []
        for j, (name, own) in enumerate(groups.items()):
            domain, group = hierarchies[name].domain, nw.col(f"group {j}")
            if None in domain:
                gap = nw.lit(int(own[domain.index(None)]))
                # pandas 2 warns where a second branch does not fit into the first: the column with gaps stands first.
                group = nw.when(~frames.missing(frame, source.alias(name))).then(group).otherwise(gap)
                columns.append(group.cast(nw.Int64).alias(f"group {j}"))
        # All columns at once, as an engine looks at every step so far for each further one.
        return frame.with_columns(columns) if columns else frame


def groups_by_text(frame: Frame, column: str, name: Name, hierarchy: Hierarchy, own: Ints) -> dict[str, int]:
    """Return the group of each value of a column, by its text."""
    values = values_and_texts(frame, column)
    groups = own[fitted(name, hierarchy, [value for value, _ in values])[1]].tolist()
    pairs = list(dict.fromkeys(zip((text for _, text in values), groups, strict=True)))
    if twice := repeated(text for text, _ in pairs):
        raise ValueError(f"column {name!r} must hold values that differ as text, got several of {examples(twice)}")
    return dict(pairs)


def values_and_texts(frame: Frame, column: str) -> list[tuple[Any, str]]:
    """Return the values of a column with their texts, without missing ones."""
    # An engine groups texts that it has made slowly, so each is made of a distinct value.
    text = frames.as_key(frame, column)
    found = frames.fetched(frames.distinct_rows(frame, [column]).select(nw.col(column), text=text))
    values = frames.python_values(found[column], found.schema[column])
    return [pair for pair in zip(values, found["text"].to_list(), strict=True) if not is_missing(pair[0])]


def _with_known(frame: Frame, known: Sequence[Mapping[str, int]]) -> Frame:
    """Add the known group of each key."""
    if frame.implementation.is_pandas():
        coded = [pd.factorize(frame[f"key {j}"].to_native()) for j in range(len(known))]
        found = [np.array([*map(own.get, texts), -1])[codes] for own, (codes, texts) in zip(known, coded, strict=True)]
        return nw.from_native(frame.to_native().assign(**{f"group {j}": own for j, own in enumerate(found)}))
    if not frame.implementation.is_duckdb():
        for j, own in enumerate(known):
            small = lookup(frame, {f"group {j}": [*own.values()]}, {f"known {j}": [*own]})
            frame = frame.join(small, left_on=f"key {j}", right_on=f"known {j}", how="left")
        return frame
    # One query: DuckDB reads all steps so far again for each further one.
    numbers = {"place": [j for j, own in enumerate(known) for _ in own]}
    numbers["group"] = [group for own in known for group in own.values()]
    small = lookup(frame, numbers, {"known": [text for own in known for text in own]}).to_native()
    assert small is not None
    columns = [f'known_{j}."group" AS "group {j}"' for j in range(len(known))]
    joins = [
        f'LEFT JOIN small AS known_{j} ON known_{j}.place = {j} AND known_{j}.known = own."key {j}"'
        for j in range(len(known))
    ]
    query = f"SELECT own.*, {', '.join(columns)} FROM pymoo_anon_rows AS own {' '.join(joins)}"
    return nw.from_native(frame.to_native().query("pymoo_anon_rows", query))


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
            there.append(~frames.missing(source.frame, source.alias(name)))
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
        again = lookup(frame, {"again": range(most)}, {}).to_native()
        # Not every database can unnest, and a join keeps no order.
        joined = nw.from_native(native.join(again, again["again"] < native[COUNT]))
        return frames.in_ascending_order(joined, [name for name in native.columns if name != COUNT])
    if isinstance(frame, nw.LazyFrame):
        return unrolled(frame.collect()).lazy()
    places = np.repeat(np.arange(len(frame), dtype=np.int32), frame[COUNT].to_numpy())
    if kind.is_pandas():
        # Column by column, as an index of pandas is as large as a column.
        columns = {name: column.array.take(places) for name, column in native.items() if name != COUNT}
        return nw.from_native(pd.DataFrame(columns, copy=False))
    return frame[places]
