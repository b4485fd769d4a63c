"""The contract of operators: sampling, crossover, mutation, repair, selection and neighborhoods."""

from __future__ import annotations

import copy
from collections.abc import Callable
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
from pymoo_anon.testing.support import (
    ContractError,
    called,
    check_points,
    check_same,
    check_unchanged,
    numpy_seeded,
    outputs_of,
    pickled,
    typed,
    valid_points,
)
from pymoo_anon.typing import Array

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
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem, got {problem!r}")
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
    check_unchanged(f"{_name(operator)} must not change the bounds of the problem", before, problem.bounds())


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
    check_unchanged(f"{_name(operator)} must leave valid points as they are", once, twice)


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
    check_unchanged(f"{_name(operator)} must not change what it is given", X, given)


_USES: dict[type[Operator], Callable[..., Array]] = {
    Sampling: _sampled,
    Crossover: _crossed,
    Mutation: _mutated,
    Repair: _repaired,
    Selection: _selected,
    Neighborhood: _neighbors,
}
