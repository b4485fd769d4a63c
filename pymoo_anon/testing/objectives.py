"""The contract of objectives."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from pymoo_anon.engine.classes import EquivalenceClasses, ValueCounts
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.bounds import Bounding
from pymoo_anon.objectives.recount import Recount
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.domain_values import label_text
from pymoo_anon.table.generalization import Decoded
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.testing import support
from pymoo_anon.testing.bounds import Case, check_bounds, check_gains, check_proof
from pymoo_anon.testing.support import (
    ContractError,
    called,
    check_same,
    check_unchanged,
    first_difference,
    pickled,
    slack,
    typed,
)
from pymoo_anon.typing import Floats, Ints

# So many tables, each under four rules of suppression.
_N_TABLES = 6


def check_objective(objective: Objective, table: Microdata | None = None, *, seed: int = 0) -> None:
    """Check that an objective suits searches, proofs and releases.

    Its words are there, and copies and pickles of it are equal to it. It gives a number for every generalization,
    whatever is suppressed: the same one again, alone or with others, in any order of classes, values and tuples, in
    several threads, and after other tables. It changes no array. Values are whole and in `value_range` where the
    objective says so, that of the worst kept class where `worst_class` says so, and their natural sign survives pymoo's
    F. A recount finds the value of a release. Bounds that it states hold of every pair of nodes where one generalizes
    the other, and a proof with them finds the exact front.

    Args:
        objective: The objective.
        table: A table of your own that it measures; parts of a few rows are drawn from it. None draws tables with
            quasi-identifiers "q0", "q1" and so on, a sensitive column of the name that the objective reads, and the
            class label "label".
        seed: Of the draws.

    Raises:
        AssertionError: It breaks the contract.
        TypeError: It is no Objective, or `table` is no Microdata.
        ValueError: It cannot measure random tables, and `table` is None.

    >>> from pymoo_anon.objectives import KAnonymity
    >>> check_objective(KAnonymity())
    """
    if not isinstance(objective, Objective):
        raise TypeError(f"objective must be an Objective, got {objective!r}")
    if table is not None and not isinstance(table, Microdata):
        raise TypeError(f"table must be a Microdata or None, got {type(table).__name__}")
    _check_words(objective)
    _check_equal_copies(objective)
    rng = np.random.default_rng(seed)
    cases: list[Case] = []
    for number, own in enumerate(_tables(objective, table, rng)):
        cases += _checked_cases(objective, own, number, rng)
    _check_repeated(objective, cases[0], "after other tables")
    _check_threads(objective, cases[-1])


def _checked_cases(objective: Objective, table: Microdata, number: int, rng: np.random.Generator) -> list[Case]:
    duty = f"{objective!r} must measure every generalization of a table"
    problems = called(duty, support.some_rules, objective, table, rng)
    cases = []
    for problem in problems:
        case = _case(objective, problem, rng)
        _check_range(objective, case)
        _check_order(objective, case, rng)
        _check_worst(objective, case)
        check_bounds(objective, case)
        cases.append(case)
    # Recounts and proofs take as long as all the rest: one rule after the other.
    _check_recount(objective, cases[number % len(cases)], rng)
    check_proof(objective, problems[number % len(problems)])
    check_gains(objective, table, rng)
    return cases


def _tables(objective: Objective, table: Microdata | None, rng: np.random.Generator) -> Iterator[Microdata]:
    drawn = (
        support.small_parts(table, _N_TABLES, rng)
        if table is not None
        else support.random_tables(objective.column or ("s1" if objective.every else None), _N_TABLES, rng)
    )
    one = next(drawn)
    try:
        objective.check(one)
    except ValueError as error:
        raise ValueError(
            f"objective must measure the tables that it is checked on, got {error}; give check_objective a table of "
            "your own"
        ) from error
    return chain([one], drawn)


def _check_words(objective: Objective) -> None:

    def is_family(given: Any) -> bool:
        return given is None or (isinstance(given, type) and issubclass(given, Bounding))

    duties: list[tuple[str, str, Callable[[Any], bool]]] = [
        ("name", "a text", lambda given: isinstance(given, str) and given != ""),
        ("maximize", "True or False", lambda given: isinstance(given, bool)),
        ("whole", "True or False", lambda given: isinstance(given, bool)),
        ("worst_class", "True or False", lambda given: isinstance(given, bool)),
        ("words", "a text or None", lambda given: given is None or isinstance(given, str)),
        ("step", "a positive number", lambda given: isinstance(given, Real) and 0 < float(given) < np.inf),
        ("bounding", "a family of objectives.bounds or None", is_family),
    ]
    for attribute, duty, holds in duties:
        given = getattr(objective, attribute, None)
        if not holds(given):
            raise ContractError(f"{attribute} of {type(objective).__name__} must be {duty}, got {given!r}")


def _check_equal_copies(objective: Objective) -> None:
    """Check that copies are equal, so that problems find them."""
    for name, made in (
        ("deep copy", called(f"{objective!r} must be copied", copy.deepcopy, objective)),
        ("pickle", called(f"{objective!r} must be pickled", pickled, objective)),
    ):
        if made != objective or hash(made) != hash(objective):
            raise ContractError(f"a {name} of {objective!r} must be equal to it and have its hash, got {made!r}")


def _case(objective: Objective, problem: LatticeProblem, rng: np.random.Generator) -> Case:
    X = support.some_nodes(problem, rng)
    F = called(f"{objective!r} must measure every generalization of a table", problem.compute, X)
    batches = [(rows, batch.copy()) for rows, batch in problem._grouped(X)]
    classes = {int(row): one for rows, batch in batches for row, one in zip(rows, batch, strict=True)}
    case = Case(problem, X, batches, [classes[row] for row in range(len(X))], np.empty(len(X)))
    for rows, batch in batches:
        case.values[rows] = called(f"{objective!r} must measure any number of generalizations", _of, objective, batch)
    duty = f"{objective!r} must have the same value in a search as by itself"
    check_same(duty, case.values, problem.natural(F)[:, 0], case.at)
    check_same(duty, -case.values + 0.0 if objective.maximize else case.values, F[:, 0], case.at)
    return case


def _of(objective: Objective, classes: EquivalenceClasses) -> Floats:
    holders = [classes, *classes.columns.values()]
    arrays = [value for holder in holders for value in vars(holder).values() if isinstance(value, np.ndarray)]
    before = [array.copy() for array in arrays]
    values = objective.evaluate(classes)
    if not isinstance(values, np.ndarray) or values.shape != (len(classes),) or values.dtype != np.float64:
        got = f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray) else repr(values)
        raise ContractError(
            f"evaluate of {objective!r} must give float64 numbers, one for each of {len(classes)} generalizations, "
            f"got {got}"
        )
    for array, earlier in zip(arrays, before, strict=True):
        check_unchanged(f"evaluate of {objective!r} must not change the arrays of its classes", [earlier], [array])
    if np.isnan(values).any():
        raise ContractError(
            f"evaluate of {objective!r} must give a number, got nan for classes of sizes "
            f"{typed(classes[int(np.flatnonzero(np.isnan(values))[0])].sizes)}"
        )
    return values


def _check_range(objective: Objective, case: Case) -> None:
    values = case.values
    if objective.whole and (values != np.floor(values)).any():
        row = int(np.flatnonzero(values != np.floor(values))[0])
        raise ContractError(f"{objective!r} says that values are whole, got {values[row]}{case.at(row)}")
    least, greatest = objective.value_range(case.problem.table.tuples)
    outside = (values < least - slack(values)) | (values > greatest + slack(values))
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        raise ContractError(f"value_range of {objective!r} says {least} to {greatest}, got {values[row]}{case.at(row)}")


def _check_order(objective: Objective, case: Case, rng: np.random.Generator) -> None:
    _check_repeated(objective, case, "again")
    mixed = [_reordered(one, rng.permutation(len(one.sizes))) for one in case.classes]
    table = support.shuffled(case.problem.table, rng)
    other = support.quiet_lattice(table, [objective], case.problem.suppression, list(case.problem.constraints))
    found = {
        "alone": np.concatenate([_of(objective, one) for one in case.classes]),
        "with its classes in another order": np.concatenate([_of(objective, one) for one in mixed]),
        "with the tuples of the table in another order": other.natural(other.compute(case.X))[:, 0],
    }
    for way, values in found.items():
        check_same(f"{objective!r} must have the same value {way}", case.values, values, case.at, exact=False)


def _check_repeated(objective: Objective, case: Case, when: str) -> None:
    for who, one in (("", objective), ("a pickle of ", pickled(objective))):
        values = np.empty(len(case.X))
        for rows, batch in case.batches:
            values[rows] = one.evaluate(batch)
        check_same(f"{who}{objective!r} must give the same value {when}", case.values, values, case.at)


def _check_threads(objective: Objective, case: Case) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = np.concatenate(list(pool.map(objective.evaluate, case.classes)))
    check_same(f"{objective!r} must give the same value in several threads at once", case.values, found, case.at, False)


def _check_worst(objective: Objective, case: Case) -> None:
    if not objective.worst_class:
        return
    for row, one in enumerate(case.classes):
        worths = called(f"of_classes of {objective!r} must tell the worth of classes", objective.of_classes, one)
        if np.shape(worths) != one.sizes.shape:
            raise ContractError(
                f"of_classes of {objective!r} must give a number for each of {len(one.sizes)} classes, got shape "
                f"{np.shape(worths)}"
            )
        kept = np.asarray(worths, dtype=float)[one.kept]
        worst = (kept.min() if objective.maximize else kept.max()) if len(kept) else case.values[row]
        if first_difference([worst], case.values[[row]], exact=False) is not None:
            raise ContractError(
                f"{objective!r} says that its value is that of the worst kept class, {worst}, got {case.values[row]}, "
                f"{case.at(row)}"
            )


def _check_recount(objective: Objective, case: Case, rng: np.random.Generator) -> None:
    table = case.problem.table
    read = objective.reads(table.sensitive)
    if objective.joint or not objective.recountable or {*read} & {*table.quasi_identifiers}:
        return
    tuples, names = table.tuples, list(table.quasi_identifiers)
    of_rows, columns = np.repeat(np.arange(len(tuples)), tuples.counts), {}
    for column in read:
        own, domain = tuples.columns[column], tuples.domains[column]
        columns[column] = [domain[value] for value in np.repeat(own.values, own.counts)]
    codes = tuples.codes[of_rows]
    original = pd.DataFrame(
        {name: [table.quasi_identifiers[name].domain[code] for code in codes[:, j]] for j, name in enumerate(names)}
        | columns,
        dtype=object,
    )
    made: list[tuple[Decoded, EquivalenceClasses, float, str]] = []
    for row in rng.choice(len(case.X), 2):
        x = case.X[row]
        made.append((case.problem.decode(x), case.problem.equivalence_classes(x), case.values[row], case.at(row)))
    local = support.random_recoding(table, rng)
    if local is not None:
        own_classes = table.equivalence_classes(local)
        # A measure that reads the groups of whole columns has no value here.
        with suppress(AttributeError, TypeError):
            made.append((local, own_classes, _of(objective, own_classes)[0], ", of a local recoding"))
    for generalization, classes, value, where in made:
        assert classes.class_of is not None
        found = generalization.labels_of(tuples.codes, of_rows)
        labels = {name: [label_text(label) for label in own] for name, own in found.items()}
        released = pd.DataFrame(labels | columns, dtype=object)[classes.kept[classes.class_of[0][of_rows]]]
        if len(released):
            given = (names, list(columns), original, table.quasi_identifiers, generalization, table.sensitive)
            again = called(
                f"recount of {objective!r} must count any release", objective.recount, Recount(released, *given)
            )
            if first_difference([value], [float(again)], exact=False) is not None:
                raise ContractError(
                    f"recount of {objective!r} must find the value of a release, got {again} and not {value}{where}"
                )


def _reordered(one: EquivalenceClasses, order: Ints) -> EquivalenceClasses:
    """Return the same classes in another order, with reversed values."""
    columns = {}
    for name, column in one.columns.items():
        runs = [np.arange(column.starts[c], column.starts[c + 1])[::-1] for c in order]
        places, starts = np.concatenate(runs), np.concatenate([[0], np.cumsum([len(run) for run in runs])])
        columns[name] = ValueCounts(starts, column.values[places], column.counts[places], column.n_values)
    return replace(
        one,
        sizes=one.sizes[order],
        representatives=one.representatives[order],
        kept=one.kept[order],
        columns=columns,
        class_of=None,
    )
