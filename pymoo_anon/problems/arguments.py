"""What problems are given, checked, and what it is called: measures, constraints and columns in words."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pymoo_anon._messages import examples, listed, number, plain, repeated, told_apart
from pymoo_anon.objectives.base import (
    Known,
    Objective,
    known_of,
    reach_of,
    sets_in_words,
    sets_of,
    text_of,
)
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.objectives.privacy.identity import KAnonymity
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import Suppression


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


def one_point(x: ArrayLike, point: str, n_var: int) -> NDArray[Any]:
    """One point as a (1, n_var) array; results of one objective have it as such a row, or without the outer axis."""
    given = plain_array(x)
    if given.shape not in ((n_var,), (1, n_var)):
        raise ValueError(f"x must be one {point}, got shape {given.shape}")
    return given.reshape(1, n_var)


def whole_numbers(
    X: ArrayLike, points: str, whole: str, ranged: str, lowest: NDArray[np.int64], highest: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Points of whole numbers within their ranges as an (n, n_var) int64 array.

    Others are refused: `points` says what points are, `whole` and `ranged` what their numbers have to be.
    """
    given, n_var = plain_array(X), len(highest)
    if given.ndim != 2 or given.shape[1] != n_var:
        raise ValueError(f"X must be {points}, an (n, {n_var}) array, got shape {given.shape}")
    if given.dtype.kind not in "iuf" or not np.array_equal(given, np.floor(given)):
        raise ValueError(
            f"X must hold {whole}, got others; LatticeSampling, LevelCrossover and SingleStepMutation keep "
            "them whole in any algorithm"
        )
    # Before they are cast: what is too large would become another number.
    outside = given[((given < lowest) | (given > highest)).any(axis=1)]
    if len(outside):
        least = lowest.tolist() if lowest.any() else 0
        raise ValueError(f"X must hold {ranged} from {least} to {highest.tolist()}, got {examples(outside.tolist())}")
    return given.astype(np.int64)


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


def known_of_all(measures: Iterable[Objective], names: Sequence[Name]) -> Known:
    """What adversaries know of whom any measure of privacy speaks; None where one speaks of who knows everything."""
    found = {measure.known for measure in measures if not is_loss(measure)} or {None}
    if len(found) == 1 or None in found:
        return found.pop() if len(found) == 1 else None
    return known_of([[names[place] for place in one] for known in found for one in sets_of(known, names)])


def adversaries_of(names: Mapping[Objective, str]) -> list[dict[str, Any]]:
    """Per measure of adversaries who know some columns alone, what they know, and of whom it speaks."""
    return [
        {"measure": name, "known": sets_in_words(measure.known), "reach": reach_of(measure.known)}
        for measure, name in names.items()
        if measure.known is not None
    ]


def reaches_of(measures: Iterable[Objective]) -> list[str]:
    """For adversaries who know some columns alone, which measures are of them, who they are, and who not."""
    by_known: dict[Known, list[str]] = {}
    for measure in dict.fromkeys(measures):
        if measure.known is not None:
            by_known.setdefault(measure.known, []).append(plain(measure.full_name))
    return [f"{listed(names)} {'is' if len(names) == 1 else 'are'} {reach_of(own)}" for own, names in by_known.items()]


def check_known(measures: Sequence[Objective], table: Microdata, rule: Suppression) -> None:
    """Refuse what adversaries who know some columns alone make meaningless: other rules, columns that nobody knows."""
    partial = [measure for measure in measures if measure.known is not None]
    limit, below = rule.grouping(table.n_rows)
    if partial and (limit > 0 or below > 1):
        raise ValueError(
            f"suppression must be Violating or 0 where adversaries know some columns alone, as in {partial[0]!r}, got "
            f"{rule!r}, which goes by the size of whole classes"
        )
    names = list(table.quasi_identifiers)
    known = {names[place] for one in sets_of(known_of_all(measures, names), names) for place in one}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"known must name every quasi-identifier in some set of some measure, got none with {examples(unknown)}: "
            "nothing would generalize what nobody knows; name it, or make it no quasi-identifier"
        )


def safe_repr(measure: Objective) -> str:
    """What `repr` says of a measure, without values of the data; of one of one's own only its class and column.

    >>> from pymoo_anon.objectives import TCloseness
    >>> safe_repr(TCloseness("grade", ["low", "middle", "high"]))
    "TCloseness('grade', distance=order of 3 values)"
    """
    parts = [] if measure.column is None else [repr(measure.column)]
    if type(measure).__module__.startswith("pymoo_anon."):
        parts += [
            f"{name}={value!r}" if name == "known" else f"{name}={_argument(value)}"
            for name, value in vars(measure).items()
            if name != "column" and value is not None and not (isinstance(value, str) and value == "equal")
        ]
    return plain(f"{type(measure).__name__}({', '.join(parts)})")


def _argument(value: Any) -> str:
    if isinstance(value, tuple | list):
        return f"order of {len(value)} values"
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    # Numbers and choices such as "ordered"; a table or a hierarchy says how large it is, and no value.
    return repr(value)


def short_name(measure: Objective) -> str:
    """The name of a measure as the command line has it: "k", "l:diagnosis", "prosecutor-risk".

    >>> from pymoo_anon.objectives import DistinctLDiversity, KAnonymity, ProsecutorRisk
    >>> short_name(ProsecutorRisk()), short_name(DistinctLDiversity("diagnosis")), short_name(KAnonymity("patient"))
    ('prosecutor-risk', 'l:diagnosis', 'k:patient')
    >>> short_name(KAnonymity(known=[["age", "zip"], ["sex", "zip"]]))
    'k[age,zip|sex,zip]'
    """
    # A class that is made from another has a name of its own.
    name = vars(type(measure)).get("short") or measure.name.replace(" ", "-")
    if measure.known is not None and "short" in vars(type(measure)):
        name += f"[{text_of(measure.known)}]"
    return plain(name if measure.column is None else f"{name}:{measure.column}")


def measure_names(measures: Iterable[Objective], taken: Container[Any] = ()) -> dict[Objective, str]:
    """A name for each measure that tells it from the others, in few words, and holds no value of the data.

    >>> from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric
    >>> list(measure_names([DistinctLDiversity("a"), DistinctLDiversity("b"), GeneralLossMetric()]).values())
    ['l of a', 'l of b', 'GLM']
    """
    given = list(dict.fromkeys(measures))
    names = told_apart(
        [plain(measure.name) for measure in given],
        [plain(measure.full_name) for measure in given],
        [safe_repr(measure) for measure in given],
        [f"{safe_repr(measure)} {number}" for number, measure in enumerate(given, start=1)],
    )
    marked = [f"{name} (objective)" if name in taken else name for name in names]
    return dict(zip(given, marked, strict=True))


def bound(constraint: Constraint, name: str) -> str:
    """A constraint with the name of what it bounds: "k >= 5"."""
    return f"{name} {'>=' if constraint.at_least else '<='} {number(constraint.bound)}"


class RefinementError(ValueError):
    """A refinement is worse than its point in what the point promised.

    Args:
        change: The change for the worse, in words: "would lower k in persons from 5 to 4".
        asked: The call or argument that asked for the refinement.
    """

    def __init__(self, change: str, asked: str = "refine") -> None:
        super().__init__(f"{asked} {change}; release the point as it is")
        self.change = change


def is_loss(measure: Objective) -> bool:
    """Whether a measure is one of `objectives.loss`, or a class of one's own that is made from one."""
    return any(base.__module__.startswith("pymoo_anon.objectives.loss") for base in type(measure).__mro__)


def lost(measure: Objective, table: Microdata) -> tuple[float, float] | None:
    """The least and the most that can be lost by a loss; None where it is a share already, or has no greatest value."""
    if not is_loss(measure) or measure.maximize:
        return None
    low, high = measure.value_range(table.tuples)
    return (float(low), float(high)) if np.isfinite([low, high]).all() and high > max(low, 1) else None


def column_name(column: Hashable) -> str:
    """The name of a column in one line."""
    return plain(str(column))


def texts_of(values: pd.Series[Any]) -> list[str]:
    """Numbers as a person writes them, all of a column with the same decimals."""
    if pd.api.types.is_integer_dtype(values):
        return [f"{value:,}" for value in values]
    decimals = 1 if len(values) and values.abs().max() >= 1000 else 4
    return [f"{value:,.{decimals}f}" for value in values]


def broken_by_marked(n: int, promised: Sequence[tuple[Objective, float, float]]) -> str | None:
    """Say what the class of the n marked rows is worse in than is promised, or return None.

    Args:
        n: How many rows are marked.
        promised: Measures of single classes, each with what is promised and what the class of the marked rows has.
    """
    if n == 1:
        return 'its single suppressed row would stand alone; suppressed = "drop" leaves it out'
    for measure, least, own in promised:
        if own < least if measure.maximize else own > least:
            name = measure_names(one for one, _, _ in promised)[measure]
            small = isinstance(measure, KAnonymity)
            broken = "smaller than k" if small else f"with {name} = {number(own)}, not {number(least)}"
            return f'its {n:,} suppressed rows would be a class {broken}; suppressed = "drop" leaves them out'
    return None
