"""Local recoding of a Spark table, partition by partition."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from importlib import import_module
from operator import itemgetter
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import pandas as pd

from pymoo_anon._messages import examples, positive_whole
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.loss import GeneralLossMetric
from pymoo_anon.objectives.privacy import (
    AlphaDeassociation,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    ProsecutorRisk,
    RecursiveCLDiversity,
)
from pymoo_anon.objectives.recount import Recount
from pymoo_anon.problems.local_recoding import LocalRecodingProblem
from pymoo_anon.problems.requirements import least_k
from pymoo_anon.publishing.recoding import groups_by_text
from pymoo_anon.publishing.release import (
    RecountError,
    Release,
    broken_promises,
    claims_of,
    promises_of,
    recode,
    uniqueness_of,
)
from pymoo_anon.publishing.verify import object_frame, shown
from pymoo_anon.recoding.top_down import first_split
from pymoo_anon.recoding.trees import Trees
from pymoo_anon.table import frames
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.frames import Renamed
from pymoo_anon.table.generalization import Constraint, LocalGeneralization
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata, names_of

# Their constraints hold of a table where they hold of each of its parts.
_OF_PARTS = AlphaDeassociation, DistinctLDiversity, EntropyLDiversity, KAnonymity, ProsecutorRisk, RecursiveCLDiversity

# A partition has at least this share of the most rows where its columns allow: few rows end where they do not belong.
_SMALLEST_PART = 4

# Columns beside those of the table: the number of a partition, and the notes of a worker on its first row.
_PART, _NOTE = "partition", "note"

# By the number of a split partition its column, and the texts and the number of each child.
_Splits = dict[int, tuple[str, list[tuple[list[str], int]]]]


class _Work(NamedTuple):
    """Task of a worker, the same for every partition."""

    names: tuple[Name, ...]
    quasi_identifiers: Mapping[Name, Hierarchy]
    measures: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    sensitive: tuple[Name, ...]
    person: Name | None
    method: str
    max_rows: int

    def recoded(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Recode one partition, count it again, and note measures or a refusal."""
        aliases = [*rows]
        own = rows.set_axis(pd.Index(self.names, tupleize_cols=False), axis="columns")
        try:
            table = Microdata.from_frame(own, self.quasi_identifiers, self.sensitive, person=self.person)
            problem = LocalRecodingProblem(table, self.measures, self.constraints, method=self.method)
            # A worker has one core.
            problem.n_threads = 1
            made = recode(own, problem, problem.x_of(max(2, least_k(self.constraints))))
            found = made.counted_again(made.frame).claims.promised.tolist()
        except ValueError as error:
            return pd.DataFrame({**dict.fromkeys(aliases), _NOTE: [json.dumps({"refused": str(error)})]})
        whole: pd.DataFrame = made.with_columns(self.names)
        notes = [json.dumps({"rows": len(whole), "found": found}), *[None] * (len(whole) - 1)]
        whole = whole.set_axis(aliases, axis="columns")
        whole[_NOTE] = notes
        return whole

    def counted(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Count the measures of some released classes."""
        own = rows.set_axis(pd.Index(self.names, tupleize_cols=False), axis="columns")
        # Rows of roots alone are a class as any other, as nothing is suppressed.
        roots = LocalGeneralization(self.quasi_identifiers, [[0] * len(self.quasi_identifiers)])
        columns = [column for measure in self.measures for column in measure.reads(self.sensitive)]
        again = Recount(own, [*self.quasi_identifiers], columns, None, self.quasi_identifiers, roots, self.sensitive)
        found = [shown(measure, measure.recount(again)) for measure in self.measures]
        return pd.DataFrame({_NOTE: [json.dumps({"rows": len(own), "found": found})]})

    def combined(self, notes: Sequence[Any]) -> tuple[int, list[float]]:
        """Return a table's rows and measures from those of its parts."""
        values = zip(self.measures, zip(*(note["found"] for note in notes), strict=True), strict=True)
        whole = [(min if one.maximize else max)(own) if one.worst_class else sum(own) for one, own in values]
        return sum(note["rows"] for note in notes), whole


def recode_partitions(
    frame: Any,
    quasi_identifiers: Mapping[Name, Hierarchy],
    constraints: Sequence[Constraint],
    *,
    sensitive: Name | Sequence[Name] = (),
    person: Name | None = None,
    method: str = "bottom-up",
    max_rows: int = 1_000_000,
) -> Release:
    """Recode a Spark table of more distinct tuples than fit in memory.

    The table is split from the top, as "top-down" splits, until no partition has more than `max_rows` rows. Workers
    recode one partition each and count it again, and then the whole release is counted again, by classes that are
    spread anew.

    Args:
        frame: A Spark frame without missing quasi-identifiers. Every column has a role.
        quasi_identifiers: The hierarchy of each quasi-identifier, which has to end in one group.
        constraints: Bounds on k, in rows or persons, on l, on alpha and on the prosecutor risk. k is at least 2.
        sensitive: Names of the sensitive columns.
        person: Name of the column of persons, which is not released. A person may have rows in several partitions.
        method: How a partition is recoded, as of `LocalRecodingProblem`.
        max_rows: So many rows fit in the memory of a worker. Rows that no hierarchy tells apart stay together.

    Returns:
        The release, a lazy frame of Spark, with the claims on k, loss and all constraints.

    Raises:
        TypeError: `frame` is not of Spark.
        KeyError: The frame lacks a column.
        ValueError: A column has no role, or a missing value or one that its hierarchy lacks; a constraint compares
            with the whole table; or a partition does not hold the constraints. As `RecountError`: the recount does not
            hold what was promised.
    """
    source = frames.renamed(frame)
    kind = source.frame.implementation
    if not (kind.is_pyspark() or kind.is_pyspark_connect()):
        raise TypeError(f"frame must be a Spark frame, got {source.kind.__name__}; release takes frames of any kind")
    secret, asked = names_of(sensitive), tuple(constraints)
    _check(source.names, [*quasi_identifiers, *secret, *([] if person is None else [person])], asked)
    measures = tuple(dict.fromkeys([KAnonymity(), GeneralLossMetric(), *(one.objective for one in asked)]))
    splits, n_rows = _split_table(source, quasi_identifiers, positive_whole("max_rows", max_rows), least_k(asked))
    work = _Work(source.names, quasi_identifiers, measures, asked, secret, person, method, max_rows)
    return _counted_release(source, work, *_recoded(source, work, splits), n_rows)


def _check(names: Sequence[Name], roles: Sequence[Name], constraints: Sequence[Constraint]) -> None:
    if lacking := [name for name in roles if name not in names]:
        raise KeyError(f"frame must have the columns {examples(lacking)}, got columns {examples(names)}")
    if others := [name for name in names if name not in roles]:
        raise ValueError(
            f"frame must have no columns without a role, got {examples(others)}; frame.drop leaves them out"
        )
    wrong = [
        one
        for one in constraints
        if type(one.objective) not in _OF_PARTS or not one.speaks_of_classes or one.depends_on_kept
    ]
    if wrong:
        raise ValueError(
            "constraints must be of k, l, alpha or prosecutor risk, which hold of a table where they hold of its "
            f"parts, got {examples(wrong)}"
        )


def _split_table(
    source: Renamed, quasi_identifiers: Mapping[Name, Hierarchy], max_rows: int, least: int
) -> tuple[_Splits, int]:
    columns = {}
    for name, own in quasi_identifiers.items():
        alias = source.alias(name)
        columns[alias] = name, own, groups_by_text(source.frame, alias, name, own, np.arange(own.n_values))
    splits: _Splits = {}
    todo, n_parts, n_rows = [0], 1, 0
    while todo:
        counts = _counts_by_column(source.frame.to_native(), splits, list(columns), todo)
        gaps = counts[counts.text.isna()]
        if len(gaps):
            names = [columns[alias][0] for alias in gaps.column.unique()]
            raise ValueError(f"frame must have no missing quasi-identifiers, got some in {examples(names)}")
        n_rows = n_rows or int(counts.n.sum()) // len(columns)
        parts, todo = [int(part) for part in counts[_PART].unique()], []
        for part in parts:
            by_column = dict(iter(counts[counts[_PART] == part].groupby("column")))
            size = int(by_column[next(iter(columns))].n.sum())
            for smallest in (max(least, max_rows // _SMALLEST_PART), least) if size > max_rows else ():
                gains = [_best_split_by(alias, *columns[alias], by_column[alias], smallest) for alias in columns]
                gain, column, children = max(gains, key=itemgetter(0))
                if gain > 0:
                    numbers = list(range(n_parts, n_parts + len(children)))
                    splits[part] = column, list(zip(children, numbers, strict=True))
                    todo += numbers
                    n_parts += len(children)
                    break
    return splits, n_rows


def _counts_by_column(native: Any, splits: _Splits, columns: Sequence[str], parts: Sequence[int]) -> pd.DataFrame:
    """Count the values of each column in some partitions: `partition`, `column`, `text`, `n`."""
    f = _functions()
    values = [f.struct(f.lit(one).alias("column"), f.col(one).cast("string").alias("text")) for one in columns]
    own = native.select(_number_of(splits, 0).alias(_PART), f.explode(f.array(*values)).alias("value"))
    grouped = own.where(f.col(_PART).isin(list(parts))).groupBy(_PART, "value.column", "value.text")
    found = frames.fetched(nw.from_native(grouped.agg(f.count(f.lit(1)).alias("n"))))
    return pd.DataFrame({name: found[name].to_list() for name in found.columns})


def _number_of(splits: _Splits, part: int) -> Any:
    """Return the number of the partition of each row as an expression."""
    f = _functions()
    if part not in splits:
        return f.lit(part)
    column, children = splits[part]
    text = f.col(column).cast("string")
    return reduce(lambda made, one: made.when(text.isin(one[0]), _number_of(splits, one[1])), children, f)


def _best_split_by(
    alias: str, name: Name, hierarchy: Hierarchy, places: Mapping[str, int], counts: pd.DataFrame, least: int
) -> tuple[float, str, list[list[str]]]:
    """Return the best split of a partition: gain, column, and texts of each child."""
    codes = np.array([places[text] for text in counts.text])
    table = Microdata.from_codes({name: hierarchy}, [codes], counts.n.to_numpy(), {}, {})
    trees = Trees.of(table.tuples, [hierarchy.nodes])
    gain, part_of = first_split(trees, least)
    parts = dict(zip(table.tuples.codes[trees.places, 0].tolist(), part_of.tolist(), strict=True))
    return gain, alias, [own.tolist() for _, own in counts.text.groupby([parts[code] for code in codes.tolist()])]


def _recoded(source: Renamed, work: _Work, splits: _Splits) -> tuple[Any, tuple[int, list[float]]]:
    """Return the recoded rows with all their columns, computed once, and their measures."""
    f, types, native = _functions(), import_module("pyspark.sql.types"), source.frame.to_native()
    fields = [
        types.StructField(own.name, types.StringType() if name in work.quasi_identifiers else own.dataType)
        for name, own in zip(work.names, native.schema.fields, strict=True)
    ]
    schema = types.StructType([*fields, types.StructField(_NOTE, types.StringType())])
    groups = native.withColumn(_PART, _number_of(splits, 0)).groupBy(_PART)
    recoded = groups.applyInPandas(lambda rows: work.recoded(rows.drop(columns=_PART)), schema)
    made = frames.held(nw.from_native(recoded)).to_native()
    notes = _notes(made.where(f.col(_NOTE).isNotNull()))
    if refused := [note["refused"] for note in notes if "refused" in note]:
        raise ValueError(
            f"every partition must hold the constraints, got {len(refused):,} of {len(notes):,} that do not, such as: "
            f"{refused[0]}; a greater max_rows than {work.max_rows:,} makes larger partitions"
        )
    return made.drop(_NOTE), work.combined(notes)


def _notes(frame: Any) -> list[Any]:
    return [json.loads(row[_NOTE]) for row in frame.select(_NOTE).collect()]


def _counted_release(
    source: Renamed, work: _Work, made: Any, promised: tuple[int, list[float]], n_rows: int
) -> Release:
    """Count the whole release again, by classes that are spread anew."""
    f = _functions()
    labels = [source.alias(name) for name in work.quasi_identifiers]
    bucket = f.pmod(f.hash(*labels), f.lit(max(1, n_rows // work.max_rows)))
    counted = made.withColumn(_PART, bucket).groupBy(_PART)
    notes = counted.applyInPandas(lambda rows: work.counted(rows.drop(columns=_PART)), f"{_NOTE} string")
    n_again, found = work.combined(_notes(notes))
    again = dict(zip(work.measures, found, strict=True))
    promises = promises_of(dict(zip(work.measures, promised[1], strict=True)), work.constraints)
    claims = claims_of(promises, again.__getitem__)
    broken = broken_promises(claims)
    if n_again != n_rows:
        broken.append(f"the release has {n_again:,} rows where the frame has {n_rows:,}")
    if broken:
        raise RecountError(broken)
    names = [name for name in work.names if name != work.person]
    roles = ["quasi-identifier" if name in work.quasi_identifiers else "sensitive" for name in names]
    described = object_frame(("column", "role", "reason"), [(*own, None) for own in zip(names, roles, strict=True)])
    table = nw.from_native(made)
    unique = uniqueness_of(source.native(table, names), described)
    gone = () if work.person is None else (work.person,)
    return Release(source.native(table, names, in_order=True), claims, described, unique, 0, "mark", dropped=gone)


def _functions() -> Any:
    return import_module("pyspark.sql.functions")
