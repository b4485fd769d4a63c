"""Requirements of a project: in sentences, and whether any release can meet them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from pymoo_anon._messages import error_text, listed
from pymoo_anon.objectives import Constraint, DistinctLDiversity, KAnonymity, TCloseness
from pymoo_anon.objectives.knowledge import knowledge_in_words
from pymoo_anon.problems.requirements import impossible
from pymoo_anon.study.names import MEASURES
from pymoo_anon.study.options import Settings
from pymoo_anon.study.project import Project
from pymoo_anon.study.tables import Roles, constraint, measures_by_name, problem_of, table_of
from pymoo_anon.table.microdata import Microdata

_FIRST = ("k", "l", "t")


def told_measures() -> dict[str, str]:
    """Explain each measure by its short name, the most common ones first."""
    names = [*_FIRST, *(name for name in MEASURES if name not in _FIRST)]
    # The first line of the docstring, without its source.
    kinds = measures_by_name()
    first = {name: (kinds[name].__doc__ or "").partition("\n")[0] for name in names}
    return {name: re.sub(r" \([^)]*\d{4}[^)]*\)|\.$", "", line) for name, line in first.items()}


def sentence(one: Constraint) -> str:
    """Say a constraint in a sentence."""
    measure, limit = one.objective, f"{one.bound:,.6g}"
    column = measure.column if measure.column is not None else "every sensitive column"
    if isinstance(measure, KAnonymity):
        told = f"everybody hides among at least {limit} {'rows' if measure.column is None else 'persons'}"
    elif isinstance(measure, DistinctLDiversity):
        told = f"everybody's class leaves at least {limit} values of {column} to guess from"
    elif isinstance(measure, TCloseness):
        told = f"in no class are the values of {column} more than {limit} away from those of all rows"
    else:
        told = f"{measure.words or measure.name} is at {'least' if one.at_least else 'most'} {limit}"
    if measure.known is not None:
        told = f"for somebody who knows {knowledge_in_words(measure.known)}: {told}"
    return f"{told[0].upper()}{told[1:]}."


def in_words(project: Project, bounds: Sequence[str]) -> str:
    """Say bounds in sentences, or tell the error of a wrong one."""
    return " ".join(_sentence(project, bound) for bound in bounds)


def _sentence(project: Project, bound: str) -> str:
    try:
        return sentence(constraint(bound, Roles(project.sensitive, project.label, project.person)))
    except ValueError as error:
        return f"{bound}: {error_text(error)}."


def unmet(project: Project) -> list[str]:
    """Tell the bounds of a project and its audiences that no release meets.

    Raises:
        ValueError: The project cannot be searched, or a bound cannot be read.
    """
    settings = project.settings(Settings(file=project.path, given=frozenset({"file"})))
    table = table_of(project)
    problem = problem_of(table, vars(settings))
    asked = {"": problem.constraints}
    for name, audience in project.audiences.items():
        asked[f" for {name}"] = [constraint(bound, table, problem.measured) for bound in audience["require"]]
    return [
        f"Impossible{whom}: {sentence(one)} Not even one class of all rows keeps it{_why(table, one)}."
        for whom, constraints in asked.items()
        for one in impossible(table, constraints)
    ]


def _why(table: Microdata, one: Constraint) -> str:
    """Name the columns for which a bound on every sensitive column is impossible."""
    if one.objective.column is not None or not one.objective.every:
        return ""
    by_column = {}
    for column in table.sensitive:
        measure = by_column[column] = copy(one.objective)
        measure.column = column
    wrong = [name for name, own in by_column.items() if impossible(table, [replace(one, objective=own)])]
    return f", because of {listed(map(str, wrong))}: require it of other columns alone"
