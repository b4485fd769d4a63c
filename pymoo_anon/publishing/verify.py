"""Verify: every measure of a released table counted again, as its definition reads, and held against its bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon._messages import examples
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint, keeps
from pymoo_anon.objectives.recount import Counted, Recount
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.generalization import Decoded
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import names_of

# Of a measure that is counted again in floats, digits from here on do not count: sums in another order differ in them.
_TOLERANCE = 1e-12


def verify(
    frame: Any,
    quasi_identifiers: Name | Sequence[Name],
    measures: Sequence[Objective | Constraint],
    *,
    original: Any = None,
    hierarchies: Mapping[Name, Hierarchy] | None = None,
    generalization: Decoded | None = None,
) -> pd.DataFrame:
    """Count a released table again, with plain dataframe operations and without the engine of a search.

    The table may come from anywhere. Rows with `*` in every quasi-identifier are one class of their own: an attacker
    who knows that a person is in no other class looks for them there. So k counts them, too.

    With the original and the hierarchies each row is laid over one of the original: its labels stand for the values of
    that row, and the sensitive values that are counted are the same.

    Args:
        frame: The released table: pandas, polars, pyarrow, DuckDB, Dask or Spark.
        quasi_identifiers: Names of its quasi-identifiers.
        measures: Objectives, `KAnonymity()`, and constraints, `KAnonymity() >= 5`.
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
        ValueError: The frame has no row, a measure has no recount, or needs an argument that was not given; or rows
            cannot be of the original.

    >>> from pymoo_anon.objectives.privacy.identity import KAnonymity
    >>> released = pd.DataFrame({"age": ["20–29", "20–29", "30–39"], "sex": ["F", "F", "*"]})
    >>> verify(released, ["age", "sex"], [KAnonymity() >= 2])
      measure recounted required  holds
    0       k         1     >= 2  False
    """
    columns = [objective.column for objective in _objectives(measures) if objective.column is not None]
    recount = Recount(frame, names_of(quasi_identifiers), columns, original, hierarchies, generalization)
    if original is not None and hierarchies is not None:
        from pymoo_anon.publishing.ancestors import check_matching  # No release needs it.

        check_matching(recount)
    return object_frame(("measure", "recounted", "required", "holds"), [_row(own, recount) for own in measures])


def _row(measure: Objective | Constraint, recount: Recount) -> tuple[Any, ...]:
    """What `verify` says of a measure."""
    if isinstance(measure, Objective):
        return measure.full_name, shown(measure, measure.recount(recount)), "", None
    found = measure.objective.recount(recount)
    required = f"{'>=' if measure.at_least else '<='} {measure.bound}"
    holds = kept(found, measure.bound, measure.at_least)
    return measure.objective.full_name, shown(measure.objective, found), required, holds


def object_frame(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Rows as a frame that keeps every value as it is: whole numbers whole, and None None."""
    return pd.DataFrame({name: pd.Series([row[i] for row in rows], dtype=object) for i, name in enumerate(columns)})


def _objectives(measures: Sequence[Objective | Constraint]) -> list[Objective]:
    """The objectives among measures, and those that constraints bound."""
    if isinstance(measures, Objective | Constraint):
        raise TypeError(f"measures must be a list of them, got {measures!r}; [{measures!r}] is one")
    objectives = [measure.objective if isinstance(measure, Constraint) else measure for measure in measures]
    for objective in objectives:
        if not isinstance(objective, Objective):
            raise TypeError(f"measures must be objectives or constraints, got {objective!r}")
    unknown = [objective for objective in objectives if not objective.recountable]
    if unknown:
        raise ValueError(f"measures must define recount to be counted again, got {examples(unknown)}")
    return objectives


def shown(objective: Objective, found: Counted) -> float:
    """What was counted again as a number: whole where all values are, else the float next to it."""
    return int(found) if objective.whole else float(found)


def kept(found: Counted, bound: float, at_least: bool) -> bool:
    """Whether what was counted again keeps a bound: decided as a search decides it, but for the rounding of floats."""
    slack = _TOLERANCE * abs(bound) if isinstance(found, float) and np.isfinite(bound) else 0.0
    return bool(keeps(np.array([float(found) + (slack if at_least else -slack)]), bound, at_least)[0])
