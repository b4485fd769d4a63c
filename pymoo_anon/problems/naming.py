"""Names of the columns of a front."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import pandas as pd

from pymoo_anon.objectives.base import Objective
from pymoo_anon.table.microdata import Microdata


def column_index(table: Microdata) -> pd.Index:
    """The quasi-identifiers as columns of a frame; tuples stay single names."""
    return pd.Index(list(table.quasi_identifiers), dtype=object, tupleize_cols=False)


def free_name(name: str, taken: Container[Any]) -> str:
    """The name of a column, marked where a quasi-identifier or an objective has it."""
    return f"{name} (measured)" if name in taken else name


def unique_names(objectives: Sequence[Objective], table: Microdata) -> tuple[str, ...]:
    """The objectives' names, with their column, written out or numbered where two would be the same."""
    names = [objective.name for objective in objectives]
    for longer in (
        [f"{objective.name} of {objective.column}" for objective in objectives],
        [repr(objective) for objective in objectives],
        [f"{objective!r} {number}" for number, objective in enumerate(objectives, start=1)],
    ):
        names = [long if names.count(name) > 1 else name for name, long in zip(names, longer, strict=True)]
    return tuple(f"{name} (objective)" if name in table.quasi_identifiers else name for name in names)
