"""Short names of the command line: the objective of "l:diagnosis", the constraint of "k>=5"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TypeVar

from pymoo_anon._messages import examples
from pymoo_anon.objectives import loss, privacy
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.table.microdata import Microdata

T = TypeVar("T")

#: The objectives that --objectives names, each with the role of the column that it reads.
OBJECTIVES: dict[str, tuple[Callable[..., Objective], str | None]] = {
    "k": (privacy.KAnonymity, None),
    "l": (privacy.DistinctLDiversity, "sensitive"),
    "S_k": (privacy.ClassSizeSum, None),
    "S_l": (privacy.SensitiveCountSum, "sensitive"),
    "entropy-l": (privacy.EntropyLDiversity, "sensitive"),
    "t": (privacy.TCloseness, "sensitive"),
    "alpha": (privacy.AlphaKAnonymity, "sensitive"),
    "beta": (privacy.BasicBetaLikeness, "sensitive"),
    "enhanced-beta": (privacy.EnhancedBetaLikeness, "sensitive"),
    "delta": (privacy.DeltaDisclosure, "sensitive"),
    "maximum-risk": (privacy.MaximumRisk, None),
    "average-risk": (privacy.AverageRisk, None),
    "GLM": (loss.GeneralLossMetric, None),
    "CM": (loss.ClassificationMetric, "label"),
    "NWP": (loss.NormalizedWeightedPenalty, None),
    "NECD": (loss.NormalizedClassDispersion, None),
    "DM": (loss.Discernibility, None),
    "AECS": (loss.AverageClassSize, None),
    "NUE": (loss.NonUniformEntropy, None),
    "precision": (loss.Precision, None),
    "KL": (loss.KLDivergence, None),
}


def objective(option: str, name: str, table: Microdata) -> Objective:
    """The objective of a name such as "k", "l" or "l:diagnosis", which an option gave."""
    short, _, column = name.partition(":")
    build, role = chosen(option, short, OBJECTIVES)
    if role is None:
        if column:
            raise ValueError(f"{option}: {short} reads no column, got {name!r}")
        return build()
    if column:
        return build(column)
    columns = table.sensitive if role == "sensitive" else (table.label,) if table.label is not None else ()
    if len(columns) != 1:
        raise ValueError(
            f"{option}: {short} reads one {role} column and the table has {examples(columns) or 'none'}; "
            f"{short}:NAME names a column"
        )
    return build(columns[0])


def constraint(text: str, table: Microdata) -> Constraint:
    """The constraint of a text such as "k>=5" or "t:diagnosis <= 0.3"."""
    for sign, at_least in ((">=", True), ("<=", False)):
        name, found, bound = text.partition(sign)
        if found:
            return Constraint(objective("require", name.strip(), table), number("require", bound.strip()), at_least)
    raise ValueError(f"require must be a bound such as 'k>=5' or 't<=0.3', got {text!r}")


def chosen(option: str, name: str, choices: Mapping[str, T]) -> T:
    """The choice that a name stands for, or an error that lists the names."""
    if name not in choices:
        raise ValueError(f"{option} must be one of {', '.join(choices)}, got {name!r}")
    return choices[name]


def number(option: str, text: str) -> float:
    """A whole number as int, any other as float."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise ValueError(f"{option} must be a number, got {text!r}")
