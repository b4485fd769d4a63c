"""The contract of problems."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from pymoo.core.problem import Problem
from pymoo.core.sampling import Sampling

from pymoo_anon.problems.base import AnonymizationProblem
from pymoo_anon.problems.local_recoding import LocalRecodingProblem
from pymoo_anon.table.generalization import of_columns
from pymoo_anon.testing.support import (
    ContractError,
    at_point,
    called,
    check_same,
    check_unchanged,
    first_difference,
    output_names,
    outputs_of,
    pickled,
    slack,
    typed,
    valid_points,
)
from pymoo_anon.typing import Array, Floats, Ints

Measured = dict[str, Floats]

_N_POINTS = 24


def check_problem(problem: Problem, *, sampling: Sampling | None = None, seed: int = 0) -> None:
    """Check that a problem serves any algorithm of pymoo.

    `_evaluate` fills F, and G and H where there are constraints, with one row of numbers for every point. A point has
    the same values always: alone and among others, in any order, twice in an array, again, in several threads, and from
    a copy or a pickle of the problem. X stays as it is. Where a problem has a `pareto_front`, no point is better.

    An `AnonymizationProblem` is asked for more: a point decodes to the groups that it is evaluated with, the classes of
    these have the values of F with their natural sign, and G is what the constraints make of them.

    Args:
        problem: The problem; `small_problems` has some.
        sampling: Where points come from; None is `LatticeSampling()` for levels, `BitStringSampling()` for bit strings
            and pymoo's samplings for other variables.
        seed: Of the draws.

    Raises:
        AssertionError: It breaks the contract.
        TypeError: It is no Problem.

    >>> from pymoo_anon.testing import small_problems
    >>> check_problem(small_problems()["constraints"])
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem, got {problem!r}")
    name = type(problem).__name__
    X = valid_points(problem, _N_POINTS, sampling, seed)
    _check_filled(problem, X.copy())
    before = X.copy()
    values = called(f"{name} must evaluate any valid points", outputs_of, problem, X)
    check_unchanged(f"{name} must not change X", before, X)
    _check_numbers(problem, X, values)
    _check_all_ways(problem, X, values, seed)
    _check_front(problem, X, values)
    if isinstance(problem, AnonymizationProblem):
        _check_decoded(problem, X)
        _check_natural(problem, X, values)


def _check_filled(problem: Problem, X: Array) -> None:
    """Check that `_evaluate` sets all outputs, before pymoo fills or refuses them."""
    out: dict[str, Any] = {}
    given = X[0] if problem.elementwise else X
    called(f"_evaluate of {type(problem).__name__} must take valid points", problem._evaluate, given, out)
    if missing := [name for name in output_names(problem) if out.get(name) is None]:
        raise ContractError(
            f"_evaluate of {type(problem).__name__} must set out[{missing[0]!r}], got only {', '.join(map(repr, out))}"
        )


def _check_numbers(problem: Problem, X: Array, values: Measured) -> None:
    lengths = {"F": problem.n_obj, "G": problem.n_ieq_constr, "H": problem.n_eq_constr}
    for name, own in values.items():
        expected = (len(X), lengths[name])
        if name in lengths and (own.shape != expected or own.dtype != np.float64):
            raise ContractError(
                f"{name} of {type(problem).__name__} must be float64 of shape {expected}, got {own.dtype} of shape "
                f"{own.shape}"
            )
        wrong = np.flatnonzero(np.isnan(own).any(axis=1))
        if len(wrong):
            raise ContractError(
                f"{name} of {type(problem).__name__} must be numbers, got {typed(own[wrong[0]])} for "
                f"x = {typed(X[wrong[0]])}"
            )


def _check_all_ways(problem: Problem, X: Array, values: Measured, seed: int) -> None:
    name = type(problem).__name__
    order = np.random.default_rng(seed).permutation(len(X))
    twice = np.repeat(np.arange(len(X)), 2)
    unpickled = called(f"{name} must be pickled", pickled, problem)
    copied = called(f"{name} must be copied", copy.deepcopy, problem)

    def one_by_one(rows: Ints) -> Measured:
        single = [outputs_of(problem, X[row]) for row in rows]
        return {key: np.array([one[key] for one in single]) for key in values}

    def threads(rows: Ints) -> Measured:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda part: outputs_of(problem, X[part]), np.array_split(rows, 8)))
        return {key: np.concatenate([one[key] for one in found]) for key in values}

    everything = np.arange(len(X))
    for way, rows, evaluate in (
        ("again", everything, lambda rows: outputs_of(problem, X[rows])),
        ("one by one", everything, one_by_one),
        ("in another order", order, lambda rows: outputs_of(problem, X[rows])),
        ("twice in one array", twice, lambda rows: outputs_of(problem, X[rows])),
        ("in several threads at once", everything, threads),
        ("from a pickle", everything, lambda rows: outputs_of(unpickled, X[rows])),
        ("from a deep copy", everything, lambda rows: outputs_of(copied, X[rows])),
    ):
        found = called(f"{name} must evaluate points {way}", evaluate, rows)
        for key, own in values.items():
            duty = f"{name} must give a point the same {key} {way}"
            check_same(duty, own[rows], found[key], partial(at_point, X[rows]), exact=False)


def _check_front(problem: Problem, X: Array, values: Measured) -> None:
    name = type(problem).__name__
    front = called(f"pareto_front of {name} must answer", problem.pareto_front)
    if front is None:
        return
    if front.ndim != 2 or front.shape[1] != problem.n_obj:
        raise ContractError(f"pareto_front of {name} must be an (n, {problem.n_obj}) array, got shape {front.shape}")
    for x, f, *others in zip(X, *values.values(), strict=True):
        if problem.n_eq_constr or not all((own <= 0).all() for own in others):
            continue
        worse = front[(f < front - slack(front)).all(axis=1)]
        if len(worse):
            raise ContractError(
                f"pareto_front of {name} must be no worse than any point, got {typed(worse[0])}, and F = {typed(f)} "
                f"for x = {typed(x)}"
            )
        if isinstance(problem, AnonymizationProblem) and not (front <= f + slack(f)).all(axis=1).any():
            raise ContractError(
                f"pareto_front of {name} must be complete, got no member that is as good as F = {typed(f)} of "
                f"x = {typed(x)}"
            )


def _check_decoded(problem: AnonymizationProblem, X: Array) -> None:
    name = type(problem).__name__
    if isinstance(problem, LocalRecodingProblem):
        return  # They have no group maps.
    maps, n_groups = problem.group_maps(problem.checked(X))
    for x, groups, numbers in zip(X, maps, n_groups, strict=True):
        made = of_columns(called(f"decode of {name} must take any valid point", problem.decode, x))
        decoded = np.concatenate(list(made.groups.values()))
        if not np.array_equal(decoded, groups) or list(numbers) != list(made.n_groups):
            raise ContractError(
                f"{name} must evaluate x = {typed(x)} with the groups that decode gives, {typed(decoded)}, got "
                f"{typed(groups)} and {typed(numbers)} groups"
            )


def _check_natural(problem: AnonymizationProblem, X: Array, values: Measured) -> None:
    name = type(problem).__name__
    natural = problem.natural(values["F"])
    for row, x in enumerate(X):
        classes = problem.equivalence_classes(x)
        for column, objective in enumerate(problem.objectives):
            (value,) = objective.evaluate(classes)
            if first_difference([value], natural[row, [column]], exact=False) is not None:
                raise ContractError(
                    f"natural of {name} must give F the value of {objective!r}, {value}, got {natural[row, column]} "
                    f"for x = {typed(x)}"
                )
        for column, constraint in enumerate(problem.constraints):
            expected = constraint.violation(constraint.objective.evaluate(classes))
            if first_difference(expected, values["G"][row, [column]], exact=False) is not None:
                raise ContractError(
                    f"G of {name} must tell by how much x = {typed(x)} breaks {constraint!r}, {expected[0]}, got "
                    f"{values['G'][row, column]}"
                )
