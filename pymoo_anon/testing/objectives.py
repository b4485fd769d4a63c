"""The contract of objectives and of their bounds."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from pymoo.optimize import minimize

from pymoo_anon.algorithms.branch_and_bound import BranchAndBound
from pymoo_anon.engine.classes import EquivalenceClasses, ValueCounts
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.bounds import Bounding, ClassGains, Kind, suppression_budget
from pymoo_anon.objectives.loss import GeneralLossMetric, NormalizedWeightedPenalty
from pymoo_anon.objectives.privacy import KAnonymity
from pymoo_anon.objectives.recount import Recount
from pymoo_anon.problems.bitstrings import BitStringProblem
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.table.domain_values import label_text
from pymoo_anon.table.generalization import AtMost, Below, Decoded, Violating
from pymoo_anon.table.microdata import Microdata
from pymoo_anon.testing import support
from pymoo_anon.testing.support import (
    ContractError,
    called,
    check_same,
    pickled,
    refuse,
    slack,
    typed,
)
from pymoo_anon.typing import Bools, Floats, Ints

# So many tables, each under four rules of suppression.
_N_TABLES = 6

# The front of a larger lattice takes long to find without bounds.
_MOST_PROVEN = 1000

# So many strings are looked at, beside the two ends.
_STRINGS = 8


class _Case:
    """An objective on nodes of one lattice."""

    def __init__(self, objective: Objective, problem: LatticeProblem, rng: np.random.Generator) -> None:
        self.objective, self.problem, self.X = objective, problem, support.some_nodes(problem, rng)
        F = called(f"{objective!r} must measure every generalization of a table", problem.compute, self.X)
        self.batches = [(rows, batch.copy()) for rows, batch in problem._grouped(self.X)]
        self.classes = [problem.equivalence_classes(x) for x in self.X]
        self.values = np.empty(len(self.X))
        for rows, batch in self.batches:
            duty = f"{objective!r} must measure any number of generalizations"
            self.values[rows] = called(duty, _of, objective, batch)
        self.minimised: Floats = -self.values + 0.0 if objective.maximize else self.values
        duty = f"{objective!r} must have the same value in a search as by itself"
        check_same(duty, self.values, problem.natural(F)[:, 0], self.at)
        check_same(duty, self.minimised, F[:, 0], self.at)
        self.maps, _ = problem.group_maps(self.X)
        self.counts = np.array([int(one.n_suppressed[0]) for one in self.classes])
        self.suppressing = np.flatnonzero((self.counts > 0) & (self.counts < problem.table.n_rows))
        self.class_of = np.concatenate([one.class_of for one in self.classes])
        self.suppressed = np.array([~one.kept[own] for one, own in zip(self.classes, self.class_of, strict=True)])
        # Whether the node of a row specializes the node of a column.
        self.below: Bools = np.all(self.X[:, np.newaxis] <= self.X[np.newaxis], axis=2)

    @cached_property
    def family(self) -> Any:
        """Bounds of the objective."""
        assert self.objective.bounding is not None
        return called(f"bounding of {self.objective!r} must take it", self.objective.bounding, self.objective)

    def at(self, row: int) -> str:
        """Describe a node for an error message."""
        own = self.classes[row]
        return (
            f", at x = {typed(self.X[row])} under {self.problem.suppression!r}, with classes of sizes "
            f"{typed(own.sizes)} and kept {typed(own.kept)}"
        )

    @cached_property
    def floors(self) -> Floats:
        floors, family = np.full(len(self.X), -np.inf), self.family
        if family.has_floor:
            terms = family.attribute_floors(self.problem.table.tuples, self.maps)
            if terms is not None:
                floors = np.asarray(terms, dtype=float).sum(axis=1)
            if family.floor_rises:
                rising = [_of_one(self, "floor_of_generalizations", one) for one in self.classes]
                floors = np.maximum(floors, rising)
        return floors

    def bound_below(self, what: str, bounds: Floats, node: int | None = None) -> None:
        """Refuse bounds that minimised values are below, by more than rounding."""
        self.demand(bounds <= self.minimised + slack(self.minimised), what, bounds, self.minimised, node)

    def demand(self, holds: Bools, what: str, bounds: Floats, of: Floats, node: int | None = None) -> None:
        """Refuse a bound that does not hold."""
        if not holds.all():
            row = int(np.flatnonzero(~holds)[0])
            source = "" if node is None else f"; the bound is from x = {typed(self.X[node])}"
            raise ContractError(
                f"{type(self.family).__name__} of {self.objective!r}: {what}, got {of[row]} and the bound "
                f"{bounds[row]}{self.at(row)}{source}"
            )


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
        ValueError: It cannot measure the table, or random ones where `table` is None.

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
    cases: list[_Case] = []
    for number, own in enumerate(_tables(objective, table, rng)):
        cases += _checked_cases(objective, own, number, rng)
    _check_repeated(cases[0], "after other tables")
    _check_threads(cases[-1])


def _checked_cases(objective: Objective, table: Microdata, number: int, rng: np.random.Generator) -> list[_Case]:
    duty = f"{objective!r} must measure every generalization of a table"
    problems = called(duty, support.some_rules, objective, table, rng)
    cases = []
    for problem in problems:
        case = _Case(objective, problem, rng)
        _check_range(case)
        _check_order(case, rng)
        _check_worst(case)
        _check_bounds(case)
        cases.append(case)
    # Recounts and proofs take as long as all the rest: one rule after the other.
    turn = [*cases[number % len(cases) :], *cases[: number % len(cases)]]
    _check_recount(next((one for one in turn if len(one.suppressing)), turn[0]), rng)
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
    duty = f"evaluate of {objective!r} must not change the arrays of its classes"
    for array, earlier in zip(arrays, before, strict=True):
        check_same(duty, [earlier], [array])
    duty = f"evaluate of {objective!r} must give a number"
    refuse(duty, np.isnan(values), values, lambda row: f" for classes of sizes {typed(classes[row].sizes)}")
    return values


def _check_range(case: _Case) -> None:
    objective, values = case.objective, case.values
    refuse(f"{objective!r} says that values are whole", objective.whole & (values != np.floor(values)), values, case.at)
    least, greatest = objective.value_range(case.problem.table.tuples)
    outside = (values < least - slack(values)) | (values > greatest + slack(values))
    refuse(f"value_range of {objective!r} says {least} to {greatest}", outside, values, case.at)


def _check_order(case: _Case, rng: np.random.Generator) -> None:
    objective = case.objective
    _check_repeated(case, "again")
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


def _check_repeated(case: _Case, when: str) -> None:
    objective = case.objective
    for who, one in (("", objective), ("a pickle of ", pickled(objective))):
        values = np.empty(len(case.X))
        for rows, batch in case.batches:
            values[rows] = one.evaluate(batch)
        check_same(f"{who}{objective!r} must give the same value {when}", case.values, values, case.at)


def _check_threads(case: _Case) -> None:
    objective = case.objective
    with ThreadPoolExecutor(4) as pool:
        found = np.concatenate(list(pool.map(objective.evaluate, case.classes)))
    check_same(f"{objective!r} must give the same value in several threads at once", case.values, found, case.at, False)


def _check_worst(case: _Case) -> None:
    objective = case.objective
    if not objective.worst_class:
        return
    found = case.values.copy()
    for row, one in enumerate(case.classes):
        worths = called(f"of_classes of {objective!r} must tell the worth of classes", objective.of_classes, one)
        if np.shape(worths) != one.sizes.shape:
            raise ContractError(
                f"of_classes of {objective!r} must give a number for each of {len(one.sizes)} classes, got shape "
                f"{np.shape(worths)}"
            )
        kept = np.asarray(worths, dtype=float)[one.kept]
        if len(kept):
            found[row] = kept.min() if objective.maximize else kept.max()
    duty = f"{objective!r} says that its value is that of the worst kept class"
    check_same(duty, found, case.values, case.at, exact=False)


def _check_recount(case: _Case, rng: np.random.Generator) -> None:
    objective, table = case.objective, case.problem.table
    read = objective.reads(table.sensitive)
    if objective.joint or not objective.recountable or {*read} & {*table.quasi_identifiers}:
        return
    tuples, names = table.tuples, list(table.quasi_identifiers)
    of_rows, held = support.codes_of_rows(table, read)
    columns = {column: [tuples.domains[column][value] for value in own] for column, own in held.items()}
    codes = tuples.codes[of_rows]
    original = pd.DataFrame(
        {name: [table.quasi_identifiers[name].domain[code] for code in codes[:, j]] for j, name in enumerate(names)}
        | columns,
        dtype=object,
    )
    # Any point, and one that suppresses some rows.
    made: list[tuple[Decoded, EquivalenceClasses, float, str]] = [
        (case.problem.decode(case.X[row]), case.classes[row], case.values[row], case.at(row))
        for row in [*rng.choice(len(case.X), 1), *rng.permutation(case.suppressing)[:1]]
    ]
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
            duty = f"recount of {objective!r} must find the value of a release{where}"
            check_same(duty, [value], [float(again)], exact=False)


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


def _check_bounds(case: _Case) -> None:
    """Check the stated bounds of an objective, if any."""
    if case.objective.bounding is None:
        return
    checks: Sequence[Callable[[_Case], None]] = {
        Kind.ADDITIVE: [_check_left_by_value],
        Kind.THRESHOLD: [_check_thresholds, _check_reach],
        Kind.SQUARES: [_check_squares],
        Kind.FIXED: [],
    }[case.family.kind]
    duty = f"{type(case.family).__name__} of {case.objective!r} must bound every node of a table"
    for check in [_check_floors, _check_surely_suppressed, _check_specializations, *checks]:
        called(duty, check, case)


def _of_one(case: _Case, method: str, classes: EquivalenceClasses) -> float:
    found = getattr(case.family, method)(classes)
    if found is not None and np.shape(found) != (1,):
        raise ContractError(
            f"{method} of {type(case.family).__name__} must give an array of a number for each node, got {found!r}"
        )
    return -np.inf if found is None else float(found[0])


def _check_floors(case: _Case) -> None:
    case.bound_below("no node is below its floor", case.floors)
    for node, one in enumerate(case.classes):
        bounds = np.where(case.below[node], _of_one(case, "floor_of_generalizations", one), -np.inf)
        case.bound_below("no generalization is below the floor", bounds, node)


def _check_specializations(case: _Case) -> None:
    problem = case.problem
    limit = problem.suppression.limit_of(problem.table.n_rows)
    # A bound may be above the values of infeasible points.
    possible = case.counts <= (problem.table.n_rows if limit is None else limit)
    k = np.array([one.sizes[one.kept].min(initial=problem.table.n_rows) for one in case.classes])
    for node, one in enumerate(case.classes):
        for by_k in (False, True):
            below = suppression_budget(one, problem.suppression, problem.constraints, by_k)
            # Where every specialization is over the limit, `surely_suppressed` says so.
            best = None if below.impossible else case.family.best_of_specializations(one, below)
            if best is None:
                continue
            if np.shape(best) != (len(below),):
                raise ContractError(
                    f"best_of_specializations of {type(case.family).__name__} must give a number for each of "
                    f"{len(below)} cases, got {best!r}"
                )
            own = np.minimum(np.searchsorted(below.most_k, k), len(below) - 1)
            found = np.asarray(best, dtype=float)[own]
            minimised = -found if case.objective.maximize else found
            bounds = case.floors + found if case.family.has_floor else minimised
            bounds = np.where(case.below[:, node] & possible, bounds, -np.inf)
            case.bound_below("no specialization is better than the best of them", bounds, node)


def _check_left_by_value(case: _Case) -> None:
    tuples = case.problem.table.tuples
    left = np.asarray(case.family.left_by_value(tuples, case.maps), dtype=float)
    of_tuples = left[:, tuples.offsets[:-1] + tuples.codes].sum(axis=2)
    bounds = case.floors + (of_tuples * case.suppressed) @ tuples.counts
    case.bound_below("no node is below its floor and what its suppressed tuples lose", bounds)
    for node in range(len(case.X)):
        least = np.where(case.below[:, node, np.newaxis], of_tuples[node], -np.inf)
        off = (least - of_tuples).max(axis=1)
        what = "a suppressed tuple has no less left to lose in a specialization"
        case.demand(off <= slack(of_tuples).max(), what, off, np.zeros(len(off)), node)


def _check_thresholds(case: _Case) -> None:
    of_classes = [np.asarray(case.family.values_of(one), dtype=float) for one in case.classes]
    of_tuples = np.array([own[ids] for own, ids in zip(of_classes, case.class_of, strict=True)])
    for node in range(len(case.X)):
        most = np.where(case.below[:, node, np.newaxis], of_tuples[node], np.inf)
        row, of = np.unravel_index(int((of_tuples - most).argmax()), most.shape)
        holds = np.arange(len(most)) != row if of_tuples[row, of] > most[row, of] else np.ones(len(most), dtype=bool)
        what = "no part of a class has a greater value than the class"
        case.demand(holds, what, most[:, of], of_tuples[:, of], node)
    kept = [own[one.kept] for own, one in zip(of_classes, case.classes, strict=True)]
    some = np.array([len(own) > 0 for own in kept])
    bounds = np.full(len(kept), -np.inf)
    bounds[some] = case.family.at(np.array([own.min() for own in kept if len(own)]))
    case.bound_below("no node is better than the least value of its kept classes", bounds)


def _check_reach(case: _Case) -> None:
    values = np.unique(np.concatenate([case.family.values_of(one).astype(float) for one in case.classes]))
    at = np.asarray(case.family.at(values), dtype=float)
    for need in np.unique(at):
        (reached,) = case.family.reach(np.array([need]), case.problem.table.n_rows)
        wrong = np.flatnonzero((at >= need) != (values <= reached))
        if len(wrong):
            value = values[wrong[0]]
            raise ContractError(
                f"{type(case.family).__name__} of {case.objective!r}: reach({need}) must be the greatest value whose "
                f"`at` is no less, got {reached}, and at({value}) is {at[wrong[0]]}"
            )


def _check_squares(case: _Case) -> None:
    n_suppressed = case.counts.astype(float)
    for node, one in enumerate(case.classes):
        most = _of_one(case, "most_of_specializations", one)
        bounds = np.where(case.below[:, node], -most - n_suppressed**2, -np.inf)
        what = "no specialization is better than its kept classes can be, with all suppressed tuples as one class"
        case.bound_below(what, bounds, node)


def _check_surely_suppressed(case: _Case) -> None:
    tuples = case.problem.table.tuples
    if not isinstance(case.problem.suppression, Violating):
        return
    for constraint in case.problem.constraints:
        if constraint.objective != case.objective or not constraint.speaks_of_classes:
            continue
        for node, one in enumerate(case.classes):
            sure = np.asarray(case.family.surely_suppressed(one, constraint), dtype=np.int64)
            for row in np.flatnonzero(case.below[:, node]):
                gone = np.bincount(case.class_of[node], tuples.counts * case.suppressed[row], minlength=len(one.sizes))
                if (gone < sure).any():
                    of = int(np.flatnonzero(gone < sure)[0])
                    raise ContractError(
                        f"{type(case.family).__name__} of {case.objective!r}: every specialization suppresses what "
                        f"is surely gone under {constraint!r}, {sure[of]} of the {one.sizes[of]} tuples of a class "
                        f"at x = {typed(case.X[node])}, got {int(gone[of])}{case.at(int(row))}"
                    )


def check_proof(objective: Objective, problem: LatticeProblem) -> None:
    """Check that branch and bound finds the exact front with this objective."""
    if objective.bounding is None or problem.n_nodes > _MOST_PROVEN:
        return
    rule, constraints = problem.suppression, list(problem.constraints)
    for partner, unlike in ((GeneralLossMetric(), NormalizedWeightedPenalty), (KAnonymity(), KAnonymity)):
        if partner == objective or isinstance(objective, unlike):
            # Such a front has few points.
            continue
        both = support.quiet_lattice(problem.table, [objective, partner], rule, constraints)
        exact = np.asarray(both.pareto_front(max_nodes=both.n_nodes))
        res = called(
            f"BranchAndBound must prove the front of {objective!r} and {partner!r}",
            partial(minimize, both, BranchAndBound(), seed=1),
        )
        found = np.empty((0, 2)) if res.F is None else res.F
        duty = f"bounds of {objective!r} must leave the front of it and {partner!r} exact under {rule!r}"
        check_same(duty, exact, found)


def check_gains(objective: Objective, table: Microdata, rng: np.random.Generator) -> None:
    """Check that the class gains make up a loss."""
    if objective.known is not None or all(hierarchy.n_values == 1 for hierarchy in table.quasi_identifiers.values()):
        return
    for rule in (AtMost(int(rng.integers(0, table.n_rows))), Below(int(rng.integers(1, table.n_rows + 1)))):
        problem = BitStringProblem(table, [objective], rule)
        X = np.concatenate([problem.sample(_STRINGS, rng), np.array([[False], [True]]).repeat(problem.n_var, axis=1)])
        F = called(f"{objective!r} must measure every generalization of a table", problem.compute, X)
        duty = f"class_gains of {objective!r} must tell what classes save"
        losses = [called(duty, _loss, objective, problem, x, f) for x, (f,) in zip(X, F, strict=True)]
        duty = f"class_gains of {objective!r} must add up to the minimised value under {rule!r}"
        check_same(duty, F[:, 0], losses, partial(support.at_point, X), exact=False)


def _loss(objective: Objective, problem: BitStringProblem, x: np.ndarray, measured: float) -> float:
    """Return one string's loss from its gains, or as measured without them."""
    tuples = problem.table.tuples
    (maps,), _ = problem.group_maps(x[np.newaxis])
    spans = []
    for a, b in zip(tuples.offsets[:-1], tuples.offsets[1:], strict=True):
        firsts = np.flatnonzero(np.diff(maps[a:b], prepend=-1))
        spans.append(np.stack([firsts, np.append(firsts[1:], b - a)], axis=1).astype(np.int64))
    gains: ClassGains | None = objective.class_gains(tuples, spans)
    if gains is None:
        return measured
    classes = problem.equivalence_classes(x)
    groups = maps[tuples.offsets[:-1] + tuples.codes[classes.representatives]]
    saved = classes.sizes * sum(own[groups[:, a]] for a, own in enumerate(gains.worths))
    return float(gains.most - saved[classes.kept].sum())
