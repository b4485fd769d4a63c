"""Measures, constraints and numbers in words that hold no value of the data."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from pymoo_anon._messages import plain, told_apart
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint


def safe_repr(measure: Objective) -> str:
    """What `repr` says of a measure, without what may be a value of the data.

    Values in an order of one's own are counted. Of a measure of one's own only the class and the column are named: what
    else it holds is not known.

    >>> from pymoo_anon.objectives import TCloseness
    >>> safe_repr(TCloseness("grade", ["low", "middle", "high"]))
    "TCloseness('grade', distance=order of 3 values)"
    """
    parts = [] if measure.column is None else [repr(measure.column)]
    if type(measure).__module__.startswith("pymoo_anon."):
        parts += [
            f"{name}={_argument(value)}"
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

    >>> from pymoo_anon.objectives import DistinctLDiversity, ProsecutorRisk
    >>> short_name(ProsecutorRisk()), short_name(DistinctLDiversity("diagnosis"))
    ('prosecutor-risk', 'l:diagnosis')
    """
    name = measure.name.replace(" ", "-")
    return plain(name if measure.column is None else f"{name}:{measure.column}")


def measure_names(measures: Iterable[Objective]) -> dict[Objective, str]:
    """A name for each measure that tells it from the others, in few words, and holds no value of the data.

    >>> from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric
    >>> list(measure_names([DistinctLDiversity("a"), DistinctLDiversity("b"), GeneralLossMetric()]).values())
    ['l of a', 'l of b', 'GLM']
    """
    given = list(dict.fromkeys(measures))
    names = told_apart(
        [plain(measure.name) for measure in given],
        [plain(f"{measure.name} of {measure.column}") for measure in given],
        [safe_repr(measure) for measure in given],
        [f"{safe_repr(measure)} {number}" for number, measure in enumerate(given, start=1)],
    )
    return dict(zip(given, names, strict=True))


def number(value: float) -> str:
    """A number as a person reads it.

    >>> number(12), number(19_540.27), number(1 / 12), number(float("inf"))
    ('12', '19,540.3', '0.0833333', 'infinity')
    """
    if not np.isfinite(value):
        return "infinity" if value > 0 else "-infinity"
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:,.6g}"


def bound(constraint: Constraint, name: str) -> str:
    """A constraint with the name of what it bounds: "k >= 5"."""
    return f"{name} {'>=' if constraint.at_least else '<='} {number(constraint.bound)}"


def share(part: int, whole: int, unit: str) -> str:
    """A part of a whole, as a number and a share.

    >>> share(301, 30_162, "rows"), share(0, 10, "people"), share(1, 30_162, "rows")
    ('301 of 30,162 rows (1.0 %)', 'none of 10 people', '1 of 30,162 rows (less than 0.1 %)')
    """
    if part == 0:
        return f"none of {whole:,} {unit}"
    percent = 100 * part / whole
    return f"{part:,} of {whole:,} {unit} ({'less than 0.1' if percent < 0.1 else f'{percent:.1f}'} %)"


def listed(items: Iterable[str]) -> str:
    """Words in a row, the last one after "and".

    >>> listed(["k = 5", "l = 3", "GLM = 10"]), listed(["k = 5"])
    ('k = 5, l = 3 and GLM = 10', 'k = 5')
    """
    words = list(items)
    return " and ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), *words[-1:]])


def column_name(column: Hashable) -> str:
    """The name of a column in one line."""
    return plain(str(column))


def label_words(label: Any) -> str:
    """A label of a hierarchy as a person reads it; what is missing is said.

    >>> label_words("15–19"), label_words(None), label_words(float("nan"))
    ('15–19', 'nothing known', 'nothing known')
    """
    return "nothing known" if label is None or label != label else str(label)
