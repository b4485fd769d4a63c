"""The contracts of problems and operators."""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.crossover import Crossover
from pymoo.core.mutation import Mutation
from pymoo.core.operator import Operator
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.core.sampling import Sampling
from pymoo.core.selection import Selection
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding

from pymoo_anon.operators.levels import Neighborhood
from pymoo_anon.problems.base import AnonymizationProblem, check_kind
from pymoo_anon.problems.local_recoding import LocalRecodingProblem
from pymoo_anon.table.generalization import of_columns
from pymoo_anon.testing.support import (
    ContractError,
    at_point,
    called,
    check_points,
    check_same,
    numpy_seeded,
    output_names,
    outputs_of,
    pickled,
    refuse,
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
    check_kind(problem, Problem)
    name = type(problem).__name__
    X = valid_points(problem, _N_POINTS, sampling, seed)
    _check_filled(problem, X.copy())
    before = X.copy()
    values = called(f"{name} must evaluate any valid points", outputs_of, problem, X)
    check_same(f"{name} must not change X", before, X)
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
        duty = f"{name} of {type(problem).__name__} must be numbers"
        refuse(duty, np.isnan(own).any(axis=1), own, partial(at_point, X))


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
    classes = [problem.equivalence_classes(x) for x in X]
    for objective, natural in zip(problem.objectives, problem.natural(values["F"]).T, strict=True):
        duty = f"natural of {name} must give F the value of {objective!r}"
        measured = np.concatenate([objective.evaluate(one) for one in classes])
        check_same(duty, measured, natural, partial(at_point, X), exact=False)
    for column, constraint in enumerate(problem.constraints):
        duty = f"G of {name} must tell by how much a point breaks {constraint!r}"
        broken = np.concatenate([constraint.violation(constraint.objective.evaluate(one)) for one in classes])
        check_same(duty, broken, values["G"][:, column], partial(at_point, X), exact=False)


# --- operators ------------------------------------------------------------------------------------------------------


# How many individuals an operator is given or asked for, even and odd.
_NUMBERS_GIVEN = (1, 2, 7, 40)


def check_operator(
    operator: Operator,
    problem: Problem,
    *,
    sampling: Sampling | None = None,
    repair: Repair | None = None,
    seed: int = 0,
) -> None:
    """Check that an operator serves any algorithm on a problem.

    What it makes is valid: as many points as pymoo asks for, of one type, between the bounds, whole numbers where
    variables are, and taken by the problem. It changes no individual that it is given and nothing of the problem. It
    draws from the `random_state` that it is given alone: the same state gives the same points, whatever numpy's own
    state is, and from a copy or a pickle of it, too.

    A `Sampling` is asked for points. A `Crossover`, a `Mutation` and a `Neighborhood` are given some. A `Repair` is
    given any points between the bounds, and leaves those that it made as they are. A `Selection` chooses among
    evaluated individuals with a rank and a crowding distance.

    Args:
        operator: The operator.
        problem: A problem that it is for; `small_problems` has some.
        sampling: Where points come from; None is `LatticeSampling()` for levels, `BitStringSampling()` for bit strings
            and pymoo's samplings for other variables.
        repair: What makes points valid, for a crossover or a mutation that needs one.
        seed: Of the draws.

    Raises:
        AssertionError: It breaks the contract.
        TypeError: It is no such operator, or the problem is no Problem.

    >>> from pymoo_anon.operators import LevelCrossover
    >>> from pymoo_anon.testing import small_problems
    >>> check_operator(LevelCrossover(), small_problems()["two objectives"])
    """
    check_kind(problem, Problem)
    use = _use_of(operator)
    before = copy.deepcopy(problem.bounds())
    for n in _NUMBERS_GIVEN:
        X = valid_points(problem, n, sampling, seed)
        act = partial(use, problem=problem, X=X, n=n, seed=seed)
        made = called(f"{_name(operator)} must serve {n} individuals", act, operator)
        _check_made(operator, problem, made, repair, seed)
        _check_draws(operator, act, made, n)
    if isinstance(operator, Repair):
        _check_repaired(operator, problem, seed)
    check_same(f"{_name(operator)} must not change the bounds of the problem", before, problem.bounds())


def _use_of(operator: Operator) -> Callable[..., Array]:
    for kind, use in _USES.items():
        if isinstance(operator, kind):
            return use
    raise TypeError(f"operator must be a {', '.join(kind.__name__ for kind in _USES)}, got {operator!r}")


def _name(operator: Operator) -> str:
    return type(operator).__name__


def _check_made(operator: Operator, problem: Problem, made: Array, repair: Repair | None, seed: int) -> None:
    if isinstance(operator, Selection) or not len(made):
        return
    if repair is not None and isinstance(operator, Crossover | Mutation):
        rng = np.random.default_rng(seed)
        made = repair.do(problem, Population.new(X=made), random_state=rng).get("X")
    check_points(f"{_name(operator)} must make", problem, made)


def _check_draws(operator: Operator, act: Callable[[Operator], Array], made: Array, n: int) -> None:
    others = {
        "again": operator,
        "from a deep copy": called(f"{_name(operator)} must be copied", copy.deepcopy, operator),
        "from a pickle": called(f"{_name(operator)} must be pickled", pickled, operator),
    }
    for number, (way, other) in enumerate(others.items()):
        # An operator that draws from numpy's own state draws others from another one.
        with numpy_seeded(number):
            found = act(other)
        duty = f"{_name(operator)} must make the same of the same random_state {way}"
        check_same(duty, made, found, lambda row: f", row {row} of {n} individuals")


def _check_repaired(operator: Repair, problem: Problem, seed: int) -> None:
    once = _repaired(operator, problem=problem, X=np.empty(0), n=_NUMBERS_GIVEN[-1], seed=seed)
    twice = _repair(operator, problem, once, seed + 1)
    check_same(f"{_name(operator)} must leave valid points as they are", once, twice)


def _sampled(operator: Sampling, *, problem: Problem, X: Array, n: int, seed: int) -> Array:
    pop = operator(problem, n, random_state=np.random.default_rng(seed))
    return _points_of(operator, pop, n)


def _crossed(operator: Crossover, *, problem: Problem, X: Array, n: int, seed: int) -> Array:
    # pymoo's first generation may mate an individual with itself.
    rng = np.random.default_rng(seed)
    mates = rng.integers(0, len(X), size=(n, operator.n_parents))
    pop = Population.new(X=X.copy())
    made = operator(problem, pop, parents=mates, random_state=rng)
    _check_unchanged(operator, pop.get("X"), X)
    return _points_of(operator, made, n * operator.n_offsprings)


def _mutated(operator: Mutation, *, problem: Problem, X: Array, n: int, seed: int) -> Array:
    # pymoo assigns the result to the individuals itself, so the given array must not change.
    children = X.copy()
    found = operator._do(problem, children, random_state=np.random.default_rng(seed))
    _check_unchanged(operator, children, X)
    if np.shape(found) != X.shape:
        raise ContractError(f"{_name(operator)} must keep the shape {X.shape} of X, got {np.shape(found)}")
    return _points_of(
        operator, operator(problem, Population.new(X=X.copy()), random_state=np.random.default_rng(seed)), n
    )


def _repaired(operator: Repair, *, problem: Problem, X: Array, n: int, seed: int) -> Array:
    # Anything between the bounds, in the type of the variables.
    rng = np.random.default_rng(seed)
    low, high = (np.asarray(own, dtype=float) for own in problem.bounds())
    drawn = low + rng.random((n, problem.n_var)) * (high - low)
    if problem.vtype in (int, bool):
        drawn = np.round(drawn).astype(problem.vtype)
    return _repair(operator, problem, drawn, seed)


def _repair(operator: Repair, problem: Problem, X: Array, seed: int) -> Array:
    given = X.copy()
    operator._do(problem, given, random_state=np.random.default_rng(seed))
    _check_unchanged(operator, given, X)
    pop = operator.do(problem, Population.new(X=X.copy()), random_state=np.random.default_rng(seed))
    return _points_of(operator, pop, len(X))


def _neighbors(operator: Neighborhood, *, problem: Problem, X: Array, n: int, seed: int) -> Array:
    found = []
    given = X.copy()
    for x in given:
        for distance in range(1, operator.reach + 1):
            ring = operator.do(problem, x, distance, random_state=np.random.default_rng(seed))
            if np.ndim(ring) != 2 or np.shape(ring)[1] != problem.n_var:
                raise ContractError(
                    f"{_name(operator)} must give an (n, {problem.n_var}) array of points at distance {distance} of "
                    f"{typed(x)}, got shape {np.shape(ring)}"
                )
            found.append(ring)
    _check_unchanged(operator, given, X)
    return np.concatenate(found)


def _selected(operator: Selection, *, problem: Problem, X: Array, n: int, seed: int) -> Array:
    pop = Population.new(X=X.copy())
    pop.set(**outputs_of(problem, X))
    # pymoo's tournaments read these values.
    RankAndCrowding().do(problem, pop, n_survive=len(pop), random_state=np.random.default_rng(seed))
    pop.set("number", np.arange(len(pop)))
    # Some draw from the state of the algorithm, which is the same one.
    algorithm = NSGA2()
    algorithm.random_state = np.random.default_rng(seed)
    chosen = operator.do(problem, pop, n, 2, algorithm=algorithm, random_state=algorithm.random_state)
    if np.shape(chosen) != (n, 2):
        raise ContractError(f"{_name(operator)} must choose {n} times 2 parents, got shape {np.shape(chosen)}")
    _check_unchanged(operator, pop.get("X"), X)
    known = {id(one) for one in pop}
    if any(id(one) not in known for one in np.ravel(chosen)):
        raise ContractError(f"{_name(operator)} must choose individuals of the population, got another one")
    return np.array([[one.get("number") for one in pair] for pair in chosen])


def _points_of(operator: Operator, pop: Any, n: int) -> Array:
    if not isinstance(pop, Population) or len(pop) != n:
        raise ContractError(f"{_name(operator)} must make {n} individuals, got {np.size(pop)}")
    return pop.get("X")


def _check_unchanged(operator: Operator, given: Array, X: Array) -> None:
    check_same(f"{_name(operator)} must not change what it is given", X, given)


_USES: dict[type[Operator], Callable[..., Array]] = {
    Sampling: _sampled,
    Crossover: _crossed,
    Mutation: _mutated,
    Repair: _repaired,
    Selection: _selected,
    Neighborhood: _neighbors,
}
