"""Tables, objectives and constraints from the texts of options."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from pymoo_anon._messages import error_text, examples, listed, repeated
from pymoo_anon.objectives import (
    Constraint,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    NormalizedWeightedPenalty,
    Objective,
    TCloseness,
)
from pymoo_anon.objectives.base import ColumnObjective
from pymoo_anon.objectives.knowledge import knowledge_in_words
from pymoo_anon.objectives.privacy.identity import WithBackgroundKnowledge
from pymoo_anon.problems.arguments import measure_in, short_name
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.study import options
from pymoo_anon.study.names import Reading, Source, all_there, as_there, check_named, file_names, source_of
from pymoo_anon.study.project import Project
from pymoo_anon.table.generalization import AtMost, Below, Suppression, Violating
from pymoo_anon.table.hierarchy import Hierarchy
from pymoo_anon.table.microdata import Microdata

#: Text between table and column in ARX's file names: adult_hierarchy_age.csv.
ARX = "_hierarchy_"


def table_of(project: Project) -> Microdata:
    """Return the table of a project with its hierarchies."""
    hierarchies = {name: Hierarchy.from_csv(path) for name, path in project.quasi_identifiers.items()}
    sensitive, label, person = project.roles
    others = project.with_role("sensitive", "label", "person")
    frame = open_table(project.reading, [*hierarchies, *others], list(project.columns))
    table = Microdata.from_frame(frame, hierarchies, sensitive, label, project.missing, person)
    if n := table.n_left_out:
        warnings.warn(f"{n:,} of {n + table.n_rows:,} rows left out for a missing value", stacklevel=2)
    return table


def columns_of(source: Source) -> list[str]:
    """Return the column names of a table."""
    return list(_open(Reading(source), lambda found: [name for name in found if name]).columns)


def _open(reading: Reading, choose: Callable[[list[str]], Sequence[str]] = list) -> Any:
    # Loaded late: a front is read without its table.
    from pymoo_anon.study.engines import open_frame

    return open_frame(reading, choose)


def open_table(reading: Reading, wanted: Sequence[str], columns: Sequence[str] | None = None) -> Any:
    """Return some columns of a table, as a frame of its engine.

    `columns` are all that the table must have, or None if it may have others.
    """

    def choose(found: list[str]) -> Sequence[str]:
        if columns is not None:
            check_same(reading.source, found, columns)
            return wanted
        known = [column for column in found if column]
        asked = all_there(wanted, known)
        _check_there(reading.source, known, asked)
        return asked

    return _open(reading, choose)


def table_at(named: str, engine: str = "auto", table: str | None = None) -> Any:
    """Return the table that a command names, with all columns."""
    return _open(Reading(source_of(named, Path(), table), engine))


def open_released(project: Project, kind: str) -> Any:
    """Return the table of a project for a release of a kind.

    Columns that are not recoded become text for a CSV file, and unless they are numbers for a workbook and SQLite,
    which have no other types.
    """
    import narwhals as nw

    from pymoo_anon.table.frames import as_text

    frame = open_table(project.reading, list(project.columns), list(project.columns))
    if kind not in ("csv", "excel", "sqlite") or project.data.kind == "csv":
        return frame
    table = nw.from_native(frame)
    others = [
        name
        for name, dtype in table.collect_schema().items()
        if name not in project.quasi_identifiers and not (kind != "csv" and (dtype.is_integer() or dtype.is_float()))
    ]
    return table.with_columns([as_text(name).alias(name) for name in others]).to_native()


def open_again(project: Project, source: Source) -> Any:
    """Return a table that was released."""
    from pymoo_anon.study.engines import engine_of

    engine = engine_of(project.reading) if source.kind in ("csv", "parquet") else "auto"
    return _open(Reading(source, engine))


def population_of(project: Project, table: Microdata, named: str) -> Microdata:
    """Read a table of the population, with the domains of the project's table."""
    source = source_of(named, Path())
    # Options for reading the project's CSV file do not fit other kinds.
    own = project.reading._replace(source=source)
    reading = own if source.kind == "csv" else Reading(source, empty=own.empty)
    trees = table.quasi_identifiers
    frame = open_table(reading, [*project.quasi_identifiers])
    return Microdata.from_frame(frame, dict(trees), (), None, project.missing).recoded(dict(trees))


def _check_there(source: Source, found: Sequence[str], wanted: Sequence[str]) -> None:
    if lacking := [column for column in wanted if column not in found]:
        raise ValueError(f"{source} must have the columns {examples(lacking)}, got columns {examples(found)}")


def check_same(source: Source, found: list[str], columns: Sequence[str]) -> None:
    """Refuse a table with other columns than those of its project."""
    check_named(source, found)
    _check_there(source, found, columns)
    if undecided := [column for column in found if column not in columns]:
        raise ValueError(
            f"the project file must say what becomes of the columns {examples(undecided)} of {source}: write a table "
            f'[columns."NAME"] with its role, such as role = "drop"'
        )


def csv_files(folder: Path, data: Path | None = None) -> list[Path]:
    """Return the sorted CSV files of a folder, without the table."""
    return [
        path
        for path in (sorted(folder.iterdir()) if folder.is_dir() else [])
        if path.suffix.lower() == ".csv"
        and not path.name.startswith(".")
        and not (data is not None and path.samefile(data))
    ]


def by_column(files: Sequence[Path], source: Source, columns: Sequence[str]) -> dict[str, Path]:
    """Return the files of hierarchies by column of a table.

    `NAME.csv`, `TABLE_hierarchy_NAME.csv`, as ARX calls it, and the name of a draft are of the column NAME. Where a
    folder has ARX's files of the table itself, those of other tables do not count, and a file of no column is passed
    over with a warning.
    """
    tables: dict[Path, str | None] = {}
    names: dict[Path, str] = {}
    own_name = Path(source.table or str(source.path)).stem
    drafts = {Path(file).stem: column for column, file in zip(columns, file_names(columns), strict=True)}
    for path in files:
        readings = _readings(path.stem, columns, drafts)
        if len(readings) > 1:
            raise ValueError(
                f"hierarchies must be of one column each, got {path.name!r}, which may be of "
                f"{' or '.join(repr(name) for name, _ in readings)}"
            )
        names[path], tables[path] = readings[0] if readings else (path.stem, None)
    known = dict.fromkeys(table for table in tables.values() if table is not None)
    if own_name in known:
        own = [path for path in files if path.stem.startswith(own_name + ARX) or path.stem in {*columns, *drafts}]
        passed = [path.name for path in files if path not in own and tables[path] is None]
        if passed:
            warnings.warn(
                f"no column of {source} has the name of these files, passed over: {examples(passed)}", stacklevel=2
            )
        names = {path: names[path] for path in own}
    elif len(known) > 1:
        raise ValueError(
            f"hierarchies must be of one table, got files of {examples(list(known))}, none of which is {own_name!r}"
        )
    if twice := repeated(names.values()):
        raise ValueError(f"hierarchies must hold one file for each quasi-identifier, got two for {examples(twice)}")
    if unknown := [str(path) for path, name in names.items() if name not in columns]:
        raise ValueError(
            f"hierarchies must be of columns of {source}, got files of other names: {examples(unknown)}; "
            f"the columns are {examples(columns)}"
        )
    return {name: path for path, name in names.items()}


def _readings(stem: str, columns: Sequence[str], drafts: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """Return the possible columns of a file by its name."""
    found: list[tuple[str, str | None]] = [(name, None) for name in columns if name in (stem, drafts.get(stem))]
    ends = [(name, f"{ARX}{name}") for name in sorted(columns, key=len, reverse=True)]
    return found + [(name, stem.removesuffix(end)) for name, end in ends if stem.endswith(end) and stem != end]


def problem_of(table: Microdata, asked: Mapping[str, Any]) -> Any:
    """Return the problem of the options of a search or of its record."""
    names = options.usual(table.sensitive) if asked["objectives"] is None else options.measures_in(asked["objectives"])
    weighted = _weighted(_of_columns(options.weights_of(asked.get("weight", ())), table), table)
    goals = [objective("objectives", name, table, weighted) for name in names]
    constraints = [constraint(text, table, weighted) for text in asked["require"]]
    if weighted and not any(one in weighted for one in [*goals, *(own.objective for own in constraints)]):
        raise ValueError(f"weight must be of a loss that is searched, GLM or NWP, got objectives {', '.join(names)}")
    if asked.get("local", False):
        # No other search needs it.
        from pymoo_anon.problems.local_recoding import LocalRecodingProblem

        return LocalRecodingProblem(table, goals, constraints)
    levels = _of_columns(options.levels_of(asked.get("level", ())), table)
    return LatticeProblem(table, goals, suppression_of(asked["suppression"]), constraints, levels=levels)


def _of_columns(wishes: Mapping[str, Any], table: Microdata) -> dict[str, Any]:
    return {as_there(name, table.quasi_identifiers): own for name, own in wishes.items()}


def _weighted(weights: Mapping[str, float], table: Microdata) -> list[Objective]:
    if not weights:
        return []
    loss = GeneralLossMetric(weights)
    loss.check(table)
    own = loss.weights_of(list(table.quasi_identifiers))
    shares = dict(zip(table.quasi_identifiers, (own / own.sum()).tolist(), strict=True))
    return [loss, NormalizedWeightedPenalty(shares)]


def measures_by_name() -> dict[str, type[Objective]]:
    """Return all measures, also the one that loads with the comparison of releases."""
    from pymoo_anon.comparison import PopulationUniqueness

    every = {**Objective.registered, PopulationUniqueness.short: PopulationUniqueness}
    return dict(sorted(every.items(), key=lambda own: own[0].casefold()))


class Roles(NamedTuple):
    """Default columns of a measure."""

    sensitive: Sequence[str]
    label: str | None = None
    person: str | None = None
    columns: Sequence[str] = ()  # All columns that a measure may name


def objective(option: str, name: str, table: Microdata | Roles, known: Iterable[Objective] = ()) -> Objective:
    """Return the objective of a name such as "k", "l:diagnosis" or "k[age,zip|sex]"."""
    for one in known:
        if short_name(one) == name:
            return one
    short, sets, column = measure_in(name)
    known_names = list(table.columns if isinstance(table, Roles) else table.tuples.domains)
    column = column and as_there(column, known_names)
    kind: Any = Objective.registered.get(short) or options.choice_of(option, short, measures_by_name())
    role = kind.role
    columns: tuple[Any, ...] = ()
    if kind.numbered:
        if not column:
            raise ValueError(f"{option}: {short} needs a number, {short}:NUMBER, got {name!r}")
        columns = (options.numeral(f"{option}: the number of {short}", column),)
    elif role is None:
        if column:
            raise ValueError(f"{option}: {short} reads no column, got {name!r}")
    elif column:
        columns = (column,)
    elif not (kind.every and table.sensitive):
        own = {"sensitive": table.sensitive, "label": [table.label], "person": [table.person]}[role]
        columns = tuple(name for name in own if name is not None)
        if len(columns) != 1 and (role != "person" or issubclass(kind, ColumnObjective)):
            raise ValueError(
                f"{option}: {short} reads one {role} column and the table has {examples(columns) or 'none'}; "
                f"{short}:NAME names a column"
            )
    if sets is None:
        return kind(*columns)
    if not issubclass(kind, WithBackgroundKnowledge):
        raise ValueError(f"{option}: {short} takes no columns in brackets, as k, l and alpha do, got {name!r}")
    return kind(*columns, known=[all_there(own, known_names) for own in sets] if isinstance(sets, list) else sets)


def constraint(text: str, table: Microdata | Roles, known: Iterable[Objective] = ()) -> Constraint:
    """Return the constraint of a text such as "k>=5"."""
    name, sign, limit = options.bound_parts(text)
    return Constraint(objective("require", name, table, known), options.numeral("require", limit), sign == ">=")


def suppression_of(text: str) -> Suppression:
    """Return the rule of a text such as "0.01", "301", "below:5" or "violating:0.01"."""
    kind, colon, bound = text.rpartition(":")
    rules: dict[str, Any] = {"below": Below, "violating": Violating}
    rule = options.choice_of("suppression", kind.strip(), rules) if colon else AtMost
    return rule(options.numeral("suppression", bound.strip()))


def demanded(project: Project, problem: Any, audience: str) -> list[Constraint]:
    """Return the bounds that an audience adds to a problem. Levels hold them jointly with the releases before it."""
    joint: list[Constraint] = []
    try:
        own = [constraint(text, problem.table, problem.measured) for text in project.audiences[audience]["require"]]
        if audience != next(iter(project.audiences)):
            of_classes = [one for one in [*problem.constraints, *own] if one.speaks_of_classes]
            if known := [one for one in of_classes if one.depends_on_kept]:
                raise ValueError(f"bounds beside other releases must be without background knowledge, got {known[0]!r}")
            if isinstance(problem, LatticeProblem):
                joint = [replace(one, objective=one.objective.jointly()) for one in of_classes]
    except ValueError as error:
        raise ValueError(f"{project.path}: [[audience]] {audience!r}: {error}") from None
    return [*own, *joint]


# --- requirements in words --------------------------------------------------------------------------------------------


def told_measures() -> dict[str, str]:
    """Explain each measure by its short name, the most common ones first."""
    kinds = measures_by_name()
    # The first line of the docstring, without its source.
    first = {name: (kinds[name].__doc__ or "").partition("\n")[0] for name in ("k", "l", "t", *kinds)}
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
        return sentence(constraint(bound, Roles(*project.roles)))
    except ValueError as error:
        return f"{bound}: {error_text(error)}."


def unmet(project: Project) -> list[str]:
    """Tell the bounds of a project and its audiences that no release meets.

    Raises:
        ValueError: The project cannot be searched, or a bound cannot be read.
    """
    # It loads the local recodings.
    from pymoo_anon.problems.requirements import impossible

    table, told = table_of(project), []
    problem = problem_of(table, vars(project.settings()))
    asked = {"": problem.constraints}
    for name, audience in project.audiences.items():
        asked[f" for {name}"] = [constraint(bound, table, problem.measured) for bound in audience["require"]]
    for whom, constraints in asked.items():
        for one in impossible(table, constraints):
            wrong = [name for name, own in _by_column(table, one).items() if impossible(table, [own])]
            why = f", because of {listed(map(str, wrong))}: require it of other columns alone" if wrong else ""
            told.append(f"Impossible{whom}: {sentence(one)} Not even one class of all rows keeps it{why}.")
    return told


def before_release(project: Project, problem: Any) -> list[str]:
    """Tell before a search why its releases will be refused, or give values away."""
    from pymoo_anon.publishing.keeping import coarsened, telling, unexplained
    from pymoo_anon.table.frames import renamed

    # Means wait for the classes.
    table, kept = problem.table, {name: own for name, own in project.kept.items() if not own.mean}
    others = project.with_role("sensitive", "label")
    read = [*project.with_role("quasi-identifier", "person"), *others, *kept]
    source = coarsened(renamed(open_table(project.reading, read, list(project.columns))), table, kept)
    told = [asked] if (asked := unexplained(source, table, kept)) else []
    for name, why in telling(source, table, others).items():
        told.append(f"column {name!r} is released as it is: {why}; drop it, or make it a quasi-identifier")
    return [*told, *(error for name in [*project.audiences] if (error := _refusal(project, problem, name)))]


def _refusal(project: Project, problem: Any, audience: str) -> str:
    try:
        demanded(project, problem, audience)
    except ValueError as error:
        return error_text(error)
    return ""


def _by_column(table: Microdata, one: Constraint) -> dict[Any, Constraint]:
    """Return a bound for each sensitive column, if the one given is on all."""
    by_column = {}
    for column in table.sensitive if one.objective.column is None and one.objective.every else ():
        measure = copy(one.objective)
        measure.column = column
        by_column[column] = replace(one, objective=measure)
    return by_column
