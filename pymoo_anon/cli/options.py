"""What the short names of the command line stand for: the objective of "l:diagnosis", the constraint of "k>=5"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pymoo_anon._messages import examples
from pymoo_anon.cli.declaring import bound_parts, choice_of, numeral, parts_of
from pymoo_anon.objectives import Constraint, Objective
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.table.suppression import AtMost, Below, Suppression, Violating


def problem_of(
    table: Microdata, objectives: str | None, require: Sequence[str], suppression_rule: str
) -> LatticeProblem:
    """The problem that the options of a search ask for."""
    usual = ["k", *(f"l:{column}" for column in table.sensitive), "GLM"]
    names = usual if objectives is None else parts_of(objectives)
    goals = [objective("objectives", name, table) for name in names]
    constraints = [constraint(text, table) for text in require]
    return LatticeProblem(table, goals, suppression_of(suppression_rule), constraints)


class Roles(Protocol):
    """What says which columns a measure reads where its name does not: a table, for one."""

    @property
    def sensitive(self) -> Sequence[Any]:
        """Names of the sensitive columns."""

    @property
    def label(self) -> Any:
        """Name of the column with the class labels, or None."""

    @property
    def person(self) -> Any:
        """Name of the column that tells whose row it is, or None: k counts persons where there is one."""


def objective(option: str, name: str, table: Roles) -> Objective:
    """The objective of a name such as "k", "l" or "l:diagnosis", which an option gave."""
    short, _, column = name.partition(":")
    kind: Any = choice_of(option, short, dict(sorted(Objective.registered.items(), key=lambda own: own[0].casefold())))
    role = kind.role
    if role is None:
        if column:
            raise ValueError(f"{option}: {short} reads no column, got {name!r}")
        columns: tuple[str, ...] = ()
    elif column:
        columns = (column,)
    else:
        own = {"sensitive": table.sensitive, "label": [table.label], "person": [table.person]}[role]
        columns = tuple(name for name in own if name is not None)
        if len(columns) != 1 and role != "person":
            raise ValueError(
                f"{option}: {short} reads one {role} column and the table has {examples(columns) or 'none'}; "
                f"{short}:NAME names a column"
            )
    made: Objective = kind(*columns)
    return made


def constraint(text: str, table: Roles) -> Constraint:
    """The constraint of a text such as "k>=5" or "t:diagnosis <= 0.3"."""
    name, sign, limit = bound_parts(text)
    return Constraint(objective("require", name, table), numeral("require", limit), sign == ">=")


def suppression_of(text: str) -> Suppression:
    """The rule of a text such as "0.01", "301", "below:5" or "violating:0.01"."""
    kind, colon, bound = text.rpartition(":")
    rules: dict[str, Any] = {"below": Below, "violating": Violating}
    rule = choice_of("suppression", kind.strip(), rules) if colon else AtMost
    made: Suppression = rule(numeral("suppression", bound.strip()))
    return made
