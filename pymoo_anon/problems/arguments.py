"""What problems are given: checked arguments, points as arrays, and names of columns that tell them apart."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pymoo_anon._messages import repeated, told_apart
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.table.microdata import Microdata


def check_table(table: Any) -> None:
    """Refuse what is no table before it is asked for anything."""
    if not isinstance(table, Microdata):
        raise TypeError(f"table must be a Microdata, got {type(table).__name__}; Microdata.from_frame makes one")


def column_index(table: Microdata) -> pd.Index:
    """The quasi-identifiers as columns of a frame; tuples stay single names."""
    return pd.Index(list(table.quasi_identifiers), dtype=object, tupleize_cols=False)


def free_name(name: str, taken: Container[Any]) -> str:
    """The name of a column, marked where a quasi-identifier or an objective has it."""
    return f"{name} (measured)" if name in taken else name


def plain_array(X: ArrayLike) -> NDArray[Any]:
    """Points as an array of numbers or truth values, also where they come as objects."""
    given = np.asarray(X)
    if given.dtype == object:
        try:
            return np.array(given.tolist())
        except ValueError:  # Rows of several lengths are left to who asks for a shape.
            return given
    return given


def checked_objectives(objectives: Any, table: Microdata) -> tuple[Objective, ...]:
    """The objectives as a tuple."""
    if isinstance(objectives, Objective):
        raise TypeError(f"objectives must be a list of them, got {objectives!r}; [{objectives!r}] is one")
    checked = tuple(objectives)
    if not checked:
        raise ValueError("objectives must name at least one objective, got none")
    for objective in checked:
        if not isinstance(objective, Objective):
            raise TypeError(f"objectives must be Objective instances, got {objective!r}")
        objective.check(table)
    twice = repeated(checked)
    if twice:
        raise ValueError(f"objectives must differ, given more than once: {', '.join(map(repr, twice))}")
    return checked


def checked_constraints(constraints: Any, table: Microdata) -> tuple[Constraint, ...]:
    """The constraints as a tuple."""
    if isinstance(constraints, Constraint):
        raise TypeError(f"constraints must be a list of them, got {constraints!r}; [{constraints!r}] is one")
    checked = tuple(constraints)
    for constraint in checked:
        if not isinstance(constraint, Constraint):
            raise TypeError(f"constraints must be such as KAnonymity() >= 5, got {constraint!r}")
        constraint.objective.check(table)
    return checked


def unique_names(objectives: Sequence[Objective], table: Microdata) -> tuple[str, ...]:
    """The objectives' names, with their column, written out or numbered where two would be the same."""
    names = told_apart(
        [objective.name for objective in objectives],
        [f"{objective.name} of {objective.column}" for objective in objectives],
        [repr(objective) for objective in objectives],
        [f"{objective!r} {number}" for number, objective in enumerate(objectives, start=1)],
    )
    return tuple(f"{name} (objective)" if name in table.quasi_identifiers else name for name in names)
