"""What the short names of the command line stand for: the objective of "l:diagnosis", the constraint of "k>=5"."""

from __future__ import annotations

from pymoo_anon._messages import examples
from pymoo_anon.cli.names import OBJECTIVES, SUPPRESSIONS
from pymoo_anon.cli.settings import chosen, number
from pymoo_anon.objectives import loss, privacy
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.constraint import Constraint
from pymoo_anon.table import suppression
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import Suppression

_MODULES = {"privacy": privacy, "loss": loss}


def objective(option: str, name: str, table: Microdata) -> Objective:
    """The objective of a name such as "k", "l" or "l:diagnosis", which an option gave.

    Raises:
        ValueError: There is no such objective, or it is not clear which column it reads.
    """
    short, _, column = name.partition(":")
    module, kind, role = chosen(option, short, OBJECTIVES)
    build = getattr(_MODULES[module], kind)
    if role is None:
        if column:
            raise ValueError(f"{option}: {short} reads no column, got {name!r}")
        columns: tuple[str, ...] = ()
    elif column:
        columns = (column,)
    else:
        columns = table.sensitive if role == "sensitive" else (table.label,) if table.label is not None else ()
        if len(columns) != 1:
            raise ValueError(
                f"{option}: {short} reads one {role} column and the table has {examples(columns) or 'none'}; "
                f"{short}:NAME names a column"
            )
    made: Objective = build(*columns)
    return made


def constraint(text: str, table: Microdata) -> Constraint:
    """The constraint of a text such as "k>=5" or "t:diagnosis <= 0.3".

    Raises:
        ValueError: It is no such text.
    """
    for sign, at_least in ((">=", True), ("<=", False)):
        name, found, bound = text.partition(sign)
        if found:
            return Constraint(objective("require", name.strip(), table), number("require", bound.strip()), at_least)
    raise ValueError(f"require must be a bound such as 'k>=5' or 't<=0.3', got {text!r}")


def suppression_of(text: str) -> Suppression:
    """The rule of a text such as "0.01", "301", "below:5" or "violating:0.01".

    Raises:
        ValueError: It is no such text.
    """
    kind, colon, bound = text.rpartition(":")
    name = chosen("suppression", kind.strip(), SUPPRESSIONS) if colon else "AtMost"
    made: Suppression = getattr(suppression, name)(number("suppression", bound.strip()))
    return made
