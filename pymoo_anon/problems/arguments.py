"""Checks of arguments, and names and spellings of measures, constraints and columns."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pymoo_anon._messages import examples, in_order, listed, number, plain, repeated, told_apart
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.knowledge import (
    BackgroundKnowledge,
    any_of,
    knowledge_in_words,
    known_of,
    reach_of,
    sets_in_words,
    sets_of,
)
from pymoo_anon.table.domain_values import Name
from pymoo_anon.table.generalization import Constraint, Suppression
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.typing import Array, Ints


def framed(columns: Mapping[Name, Array]) -> pd.DataFrame:
    """Return columns as a frame. A name may be a tuple."""
    names = pd.Index(list(columns), dtype=object, tupleize_cols=False)
    return pd.DataFrame(dict(enumerate(columns.values()))).set_axis(names, axis="columns")


def free_name(name: str, taken: Container[Any]) -> str:
    """Return the name of a column, marked if it is taken."""
    return f"{name} (measured)" if name in taken else name


def checked_objectives(objectives: Any, table: Microdata) -> tuple[Objective, ...]:
    """Return the objectives as a tuple."""
    checked = tuple(in_order("objectives", objectives, Objective, "Objective instances"))
    if not checked:
        raise ValueError("objectives must name at least one objective, got none")
    for objective in checked:
        objective.check(table)
    if twice := repeated(checked):
        raise ValueError(f"objectives must differ, given more than once: {', '.join(map(repr, twice))}")
    return checked


def checked_constraints(constraints: Any, table: Microdata) -> tuple[Constraint, ...]:
    """Return the constraints as a tuple."""
    checked = tuple(in_order("constraints", constraints, Constraint, "such as KAnonymity() >= 5"))
    for constraint in checked:
        constraint.objective.check(table)
    return checked


def known_of_all(measures: Iterable[Objective], names: Sequence[Name]) -> BackgroundKnowledge:
    """Return the union of background knowledge, or None for all columns."""
    found = {measure.known for measure in measures if not measure.is_loss} or {None}
    if len(found) == 1 or None in found:
        return found.pop() if len(found) == 1 else None
    return known_of([[names[place] for place in one] for known in found for one in sets_of(known, names)])


def adversaries_of(names: Mapping[Objective, str]) -> list[dict[str, Any]]:
    """Describe the adversaries of each measure with background knowledge."""
    return [
        {"measure": name, "known": sets_in_words(measure.known), "reach": reach_of(measure.known)}
        for measure, name in names.items()
        if measure.known is not None
    ]


def reaches_of(measures: Iterable[Objective]) -> list[str]:
    """Describe the adversaries that measures cover."""
    by_known: dict[BackgroundKnowledge, list[str]] = {}
    for measure in dict.fromkeys(measures):
        if measure.known is not None:
            by_known.setdefault(measure.known, []).append(plain(measure.full_name))
    return [f"{listed(names)} {'is' if len(names) == 1 else 'are'} {reach_of(own)}" for own, names in by_known.items()]


def check_measures(measures: Sequence[Objective], table: Microdata, rule: Suppression, beside: Ints | None) -> None:
    """Check that background knowledge and joint measures fit the rest of the problem."""
    partial = [measure for measure in measures if measure.known is not None]
    limit, below = rule.grouping(table.n_rows)
    if partial and (limit > 0 or below > 1):
        raise ValueError(
            "suppression must be Violating (as text violating:0.01) or 0 where adversaries know some columns alone, as "
            f"in {partial[0]!r}, got {rule!r}, which goes by the size of whole classes"
        )
    names = list(table.quasi_identifiers)
    known = {names[place] for one in sets_of(known_of_all(measures, names), names) for place in one}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(
            f"known must name every quasi-identifier in some set of some measure, got none with {examples(unknown)}; "
            "add it to a set, or give it another role"
        )
    joint = [measure for measure in measures if measure.joint]
    if joint and beside is None:
        raise ValueError(f"beside must name earlier releases for {joint[0]!r}, such as beside=[choice], got none")


def safe_repr(measure: Objective) -> str:
    """Return the `repr` of a measure without values of the data. It tells the column and what is `shown`."""
    parts = [] if measure.column is None else [repr(measure.column)]
    for name in measure.shown:
        value = getattr(measure, name)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        elif isinstance(value, tuple) and name != "known":
            parts.append(f"{name}=order of {len(value)} values")
            continue
        # The `repr` of a table or a hierarchy tells its size alone.
        if value is not None and value != "equal":
            parts.append(f"{name}={value!r}")
    parts += ["joint=True"] if measure.joint else []
    return plain(f"{type(measure).__name__}({', '.join(parts)})")


def measure_names(measures: Iterable[Objective], taken: Container[Any] = ()) -> dict[Objective, str]:
    """Return a unique name for each measure, without values of the data.

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
    """Return a constraint in words: "k >= 5"."""
    return f"{name} {'>=' if constraint.at_least else '<='} {number(constraint.bound)}"


class RefinementError(ValueError):
    """A refinement that breaks a promise of its point, with its change in words."""

    def __init__(self, change: str, asked: str = "refine") -> None:
        super().__init__(f"{asked} {change}; release the point as it is")
        self.change = change


def lost(measure: Objective, table: Microdata) -> tuple[float, float] | None:
    """Return the range of a loss, or None without one."""
    if not measure.is_loss or measure.maximize:
        return None
    low, high = measure.value_range(table.tuples)
    return (float(low), float(high)) if np.isfinite([low, high]).all() and high > max(low, 1) else None


def column_name(column: Hashable) -> str:
    """Return the name of a column in one line."""
    return plain(str(column))


def texts_of(values: Array) -> list[str]:
    """Format the numbers of a column with the same decimals."""
    if values.dtype.kind in "iu":
        return [f"{value:,}" for value in values]
    decimals = 1 if np.abs(values[np.isfinite(values)]).max(initial=0) >= 1000 else 4
    return [f"{value:,.{decimals}f}" for value in values]


def as_json(value: Any, whole: bool = False) -> Any:
    """Return a value for JSON, infinity as text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return [as_json(each) for each in value]
    if isinstance(value, float) and np.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    return int(value) if whole else value


# --- spelling of measures, such as `l[age,zip|sex]:diagnosis` ---------------------------------------------------------


# The text in brackets. A name in quotes may hold any sign.
_INSIDE = r'(?:"(?:[^"\\]|\\.)*"|[^\]"])*'
_MEASURE = re.compile(rf"([\w-]+)\[({_INSIDE})\](?::(.*))?", re.DOTALL)
_OPEN = re.compile(rf"[\w-]+\[{_INSIDE}", re.DOTALL)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[,|]|[^,|"]+', re.DOTALL)
_ANY = re.compile(r"any (\d+)")


class Spelled(NamedTuple):
    """The parts of a spelled measure."""

    short: str  # Its short name
    known: list[list[str]] | any_of | None = None  # The columns of each set, or any of so many, or None
    column: str = ""  # The column that it reads, or nothing where none is named

    def __str__(self) -> str:
        inside = "" if self.known is None else f"[{knowledge_text(known_of(self.known))}]"
        return f"{self.short}{inside}{':' if self.column else ''}{self.column}"


def measure_in(text: str) -> Spelled:
    """Return the parts of a measure. Their `str` is the one spelling of it.

    >>> measure_in('l[zip,age|"a,b"]:diagnosis')
    Spelled(short='l', known=[['zip', 'age'], ['a,b']], column='diagnosis')
    >>> measure_in("k[any 3]").known, measure_in("l:diagnosis").column, str(measure_in("k[zip, age]"))
    (any_of(3), 'diagnosis', 'k[age,zip]')
    """
    found = _MEASURE.fullmatch(text.strip())
    if found is None:
        short, _, column = text.partition(":")
        return Spelled(short, None, column)
    short, inside, column = found.groups(default="")
    if known := _ANY.fullmatch(inside.strip()):
        return Spelled(short, any_of(int(known[1])), column)
    sets = [[""]]
    for token in _TOKEN.findall(inside):
        if token == "|":
            sets.append([""])
        elif token == ",":
            sets[-1].append("")
        else:
            sets[-1][-1] += _unquoted(token)
    return Spelled(short, sets, column)


def rejoined(parts: list[str]) -> list[str]:
    """Join the parts of measures that commas in brackets have divided.

    >>> rejoined(["k[age", "zip|sex]", "l:a,b", "GLM"])
    ['k[age,zip|sex]', 'l:a,b', 'GLM']
    """
    found: list[str] = []
    for part in parts:
        if found and _OPEN.fullmatch(found[-1]):
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def short_name(measure: Objective) -> str:
    """Spell a measure as the command line reads it.

    >>> from pymoo_anon.objectives import DistinctLDiversity, KAnonymity, ProsecutorRisk
    >>> short_name(ProsecutorRisk()), short_name(DistinctLDiversity("diagnosis")), short_name(KAnonymity("patient"))
    ('prosecutor-risk', 'l:diagnosis', 'k:patient')
    >>> short_name(KAnonymity(known=[["age", "zip"], ["sex", "zip"]]))
    'k[age,zip|sex,zip]'
    """
    name = measure.short or measure.name.replace(" ", "-")
    if measure.known is not None and measure.short:
        name += f"[{knowledge_text(measure.known)}]"
    of = measure.number if measure.numbered else measure.column
    return name if of is None else f"{name}:{of}"


def knowledge_text(known: BackgroundKnowledge) -> str:
    """Spell background knowledge, with names that hold its signs in quotes.

    >>> knowledge_text((("age", "zip"), ("a|b", "zip")))
    'age,zip|"a|b",zip'
    """
    if isinstance(known, any_of):
        return knowledge_in_words(known)
    return "|".join(",".join(map(_quoted_name, map(str, one))) for one in known or ())


def _quoted_name(name: str) -> str:
    return json.dumps(name, ensure_ascii=False) if set(name) & set(',|[]"') or name != name.strip() else name


def _unquoted(token: str) -> str:
    if not token.startswith('"'):
        return token.strip()
    try:
        return str(json.loads(token))
    except ValueError:
        raise ValueError(f"a name in quotes must be written as in JSON, got {token}") from None
