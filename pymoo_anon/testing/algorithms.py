"""The contract of algorithms, and its runs."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import Any

import numpy as np
from alive_progress import config_handler
from pymoo.core.algorithm import Algorithm
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.result import Result
from pymoo.core.termination import NoTermination, Termination
from pymoo.indicators.igd import IGD
from pymoo.optimize import minimize
from pymoo.termination.collection import TerminationCollection
from pymoo.termination.cv import ConstraintViolationTermination, UntilFeasibleTermination
from pymoo.termination.default import DefaultMultiObjectiveTermination, DefaultSingleObjectiveTermination
from pymoo.termination.fmin import MinimumFunctionValueTermination
from pymoo.termination.ftol import MultiObjectiveSpaceTermination, SingleObjectiveSpaceTermination
from pymoo.termination.indicator import IndicatorTermination
from pymoo.termination.max_gen import MaximumGenerationTermination
from pymoo.termination.max_time import TimeBasedTermination
from pymoo.termination.robust import RobustTermination
from pymoo.termination.xtol import DesignSpaceTermination

from pymoo_anon.problems.base import AnonymizationProblem, check_kind
from pymoo_anon.testing.support import (
    ContractError,
    at_point,
    called,
    check_points,
    check_same,
    numpy_seeded,
    outputs_of,
    pickled,
    typed,
)
from pymoo_anon.typing import Array

# Terminations that wait for rest stop at smaller changes.
_OTHERS = 0.1

# Runs that wait in vain end after so many generations.
_MOST_GENERATIONS = 3

#: Copies of an algorithm between two generations, which must go on as the original.
COPIES: dict[str, Callable[[Algorithm], Algorithm]] = {"a deep copy": copy.deepcopy, "a pickle": pickled}


@dataclass
class _Trial:
    """An algorithm on a problem, run from fresh copies."""

    algorithm: Algorithm
    problem: Problem
    n_gen: int
    seed: int

    @property
    def name(self) -> str:
        return type(self.algorithm).__name__

    def run(self, termination: Termination | tuple[Any, ...] | None = None, **options: Any) -> Result:
        """Run by `minimize`, by default for `n_gen` generations."""
        termination = ("n_gen", self.n_gen) if termination is None else termination
        return minimize(self.problem, self.algorithm, termination, seed=self.seed, **options)

    def started(self) -> Algorithm:
        algorithm = copy.deepcopy(self.algorithm)
        algorithm.setup(self.problem, termination=("n_gen", self.n_gen), seed=self.seed)
        return algorithm

    def by_ask_and_tell(self) -> Result | None:
        """Run by ask and tell, or return None if refused."""
        algorithm = self.started()
        while algorithm.has_next():
            try:
                infills = algorithm.ask()
            except NotImplementedError:
                return None
            if infills is not None:
                Evaluator().eval(self.problem, infills)
            algorithm.tell(infills=infills)
        return algorithm.result()

    def copied_after(self, n_gen: int, made: Callable[[Algorithm], Algorithm]) -> Result:
        """Go on from a copy after some generations, beside the original."""
        algorithm = self.started()
        while algorithm.has_next() and (algorithm.n_gen or 1) <= n_gen:
            algorithm.next()
        other = made(algorithm)
        if algorithm.has_next():
            # The original must not affect its copy.
            algorithm.next()
        return other.run()

    def check_same(self, expected: Result, found: Result, way: str) -> None:
        for key in ("X", "F"):
            # No result is an array of no rows.
            made = [getattr(res, key) for res in (expected, found)]
            ours, theirs = (np.empty((0, 0)) if own is None else np.atleast_2d(own) for own in made)
            check_same(f"{self.name} must find the same {way}", ours, theirs, partial(", {} of row {}".format, key))


def _printed(run: Callable[[], Result]) -> tuple[Result, str]:
    text = StringIO()
    with redirect_stdout(text):
        # pymoo's progress bars keep the standard output that was there when they were first imported.
        config_handler.set_global(file=text)
        try:
            res = run()
        finally:
            config_handler.set_global(file=sys.__stdout__ or sys.stdout)
    return res, text.getvalue()


class _Watching(Evaluator):  # type: ignore[misc]
    """Evaluator that records X and F of all calls."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Any, Array, Array]] = []
        self.rows: list[Array] = []

    def _eval(self, problem: Problem, pop: Population, *args: Any, **kwargs: Any) -> None:
        before = pop.get("X").copy()
        super()._eval(problem, pop, *args, **kwargs)
        self.rows.append(before)
        self.seen += [(one, x, np.copy(one.F)) for one, x in zip(pop, before, strict=True)]


class _Everything:
    """An archive that keeps all that it is given."""

    def __init__(self) -> None:
        self.members: list[Any] = []

    def add(self, pop: Population) -> _Everything:
        self.members += list(pop)
        return self


def check_algorithm(algorithm: Algorithm, problem: Problem, *, n_gen: int = 3, seed: int = 1) -> None:
    """Check that an algorithm keeps pymoo's promises on a problem.

    The same seed gives the same result: by `minimize` and by ask and tell, again, whatever numpy's own random state is,
    in several threads at once, with everything that a user may switch on (output, progress bar, callback, history,
    archive), and from a deep copy or a pickle of any generation. Every termination of pymoo ends it.

    What it evaluates is valid and stays as it was. Its result is what the problem makes of its X, satisfies the
    constraints, and no row dominates another; where nothing is feasible it is None, or the least infeasible point for
    who asks for it. The evaluator counts what was evaluated. The callback and the history see every generation, the
    archive sees every individual.

    Call it with each kind of problem that the algorithm serves (`small_problems` has constrained ones, infeasible ones,
    ones of one objective), and with populations of one, of odd and of even sizes.

    Args:
        algorithm: The algorithm; copies of it run, itself never does.
        problem: The problem.
        n_gen: Generations of a run.
        seed: Of the runs.

    Raises:
        AssertionError: It breaks the contract.
        TypeError: It is no Algorithm, or the problem is no Problem.
        ValueError: It is set up for a problem.

    >>> from pymoo_anon.algorithms import PBGEA
    >>> from pymoo_anon.testing import small_problems
    >>> check_algorithm(PBGEA(pop_size=5), small_problems()["two objectives"])
    """
    if not isinstance(algorithm, Algorithm):
        raise TypeError(f"algorithm must be an Algorithm, got {algorithm!r}")
    check_kind(problem, Problem)
    if algorithm.problem is not None:
        raise ValueError(f"algorithm must be a new one, got a {type(algorithm).__name__} that is set up")
    trial = _Trial(algorithm, problem, n_gen, seed)
    expected = called(f"{trial.name} must search {type(problem).__name__}", trial.run)
    if algorithm.problem is not None or algorithm.is_initialized:
        raise ContractError(f"{trial.name} must run as a copy and stay as it was, got one that is set up")
    _check_result(trial, expected)
    _check_least_infeasible(trial, expected)
    sizes = _check_evaluated(trial, expected)
    _check_again(trial, expected)
    _check_resumed(trial, expected)
    _check_watched(trial, expected)
    _check_terminations(trial, expected, sizes)


def _check_result(trial: _Trial, res: Result) -> None:
    problem, name = trial.problem, trial.name
    if res.X is None:
        if not problem.has_constraints():
            raise ContractError(f"{name} must find something where there are no constraints, got X = None")
        return
    X, F = np.atleast_2d(res.X), np.atleast_2d(res.F)
    check_points(f"{name} must find", problem, X)
    G, H = (np.atleast_2d(own) if own is not None else np.empty((len(X), 0)) for own in (res.G, res.H))
    for key, own in outputs_of(problem, X).items():
        duty = f"{name} must give {key} as the problem has it for X"
        check_same(duty, own, np.atleast_2d(getattr(res, key)), partial(at_point, X))
    broken = np.flatnonzero((np.concatenate([G, np.abs(H) - 1e-4], axis=1) > 0).any(axis=1))
    if len(broken):
        raise ContractError(
            f"{name} must find rows that satisfy all constraints, got G = {typed(G[broken[0]])} for "
            f"x = {typed(X[broken[0]])}"
        )
    for row, f in enumerate(F):
        worse = np.flatnonzero((f <= F).all(axis=1) & (f < F).any(axis=1))
        if len(worse):
            raise ContractError(
                f"{name} must find rows that do not dominate each other, got F = {typed(F[worse[0]])} beside "
                f"{typed(f)}, rows {worse[0]} and {row}"
            )


def _check_least_infeasible(trial: _Trial, expected: Result) -> None:
    watching = _Watching()
    res = trial.run(return_least_infeasible=True, evaluator=watching)
    if expected.X is not None:
        trial.check_same(expected, res, "with return_least_infeasible=True, where something is feasible")
        return
    least = min(float(one.cv) for one, _, _ in watching.seen)
    if res.X is None or not (np.atleast_2d(res.CV) <= least).all():
        got = "None" if res.X is None else f"violations of {typed(np.ravel(res.CV))}"
        raise ContractError(
            f"{trial.name} must give the least infeasible point that it evaluated with return_least_infeasible=True, "
            f"with a violation of {least}, got {got}"
        )


def _check_evaluated(trial: _Trial, expected: Result) -> list[int]:
    """Return the numbers of individuals that are evaluated together."""
    name, problem = trial.name, trial.problem
    watching = _Watching()
    res = trial.run(evaluator=watching)
    trial.check_same(expected, res, "with an evaluator of one's own")
    if not watching.rows:
        raise ContractError(f"{name} must evaluate by its evaluator, got no individual in it")
    X = np.concatenate(watching.rows)
    check_points(f"{name} must evaluate", problem, X)
    for one, x, f in watching.seen:
        if not np.array_equal(one.X, x) or not np.array_equal(one.F, f):
            raise ContractError(
                f"{name} must not change individuals that are evaluated, got x = {typed(one.X)} with F = {typed(one.F)}"
                f" where {typed(x)} with {typed(f)} was"
            )
    for who, counted in (("its own", expected.algorithm.evaluator), ("a given", watching)):
        if counted.n_eval != len(X):
            raise ContractError(
                f"{name} must count every evaluation in {who} evaluator, {len(X)}, got n_eval = {counted.n_eval}"
            )
    if isinstance(problem, AnonymizationProblem):
        fresh = problem.fresh_copy()
        seen = _Watching()
        _Trial(trial.algorithm, fresh, trial.n_gen, trial.seed).run(evaluator=seen)
        distinct = len(np.unique(np.concatenate(seen.rows), axis=0))
        if fresh.n_unique != distinct:
            raise ContractError(
                f"{name} must evaluate by its evaluator alone, which saw {distinct} distinct points, got "
                f"{fresh.n_unique} that the problem evaluated"
            )
    return [len(rows) for rows in watching.rows]


def _check_again(trial: _Trial, expected: Result) -> None:
    for number in range(2):
        with numpy_seeded(number):
            trial.check_same(expected, trial.run(), "again from the same seed")
    told = called(f"{trial.name} must ask and tell, or refuse with NotImplementedError", trial.by_ask_and_tell)
    if told is not None:
        trial.check_same(expected, told, "by ask and tell")
    with ThreadPoolExecutor(2) as pool:
        for res in pool.map(trial.run, [None] * 2):
            trial.check_same(expected, res, "in several threads at once")


def _check_resumed(trial: _Trial, expected: Result) -> None:
    for n_gen in range(trial.n_gen):
        for how, made in COPIES.items():
            when = f"from {how} " + (f"after generation {n_gen}" if n_gen else "before the first generation")
            res = called(f"{trial.name} must go on {when}", trial.copied_after, n_gen, made)
            trial.check_same(expected, res, when)


def _check_watched(trial: _Trial, expected: Result) -> None:
    name, n_done = trial.name, int(expected.algorithm.n_gen) - 1
    generations: list[int] = []
    empty: list[int] = []

    def note(algorithm: Algorithm) -> None:
        generations.append(int(algorithm.n_gen))
        if algorithm.pop is None or algorithm.opt is None or not len(algorithm.opt):
            empty.append(int(algorithm.n_gen))

    options: dict[str, dict[str, Any]] = {
        "with verbose=True": {"verbose": True},
        "with progress=True": {"progress": True},
        "with a callback": {"callback": note},
        "with save_history=True": {"save_history": True},
        "with an archive": {"archive": _Everything()},
    }
    found = {}
    for way, own in options.items():
        found[way] = called(f"{name} must run {way}", _printed, partial(trial.run, **own))
        trial.check_same(expected, found[way][0], way)
    lines = found["with verbose=True"][1].splitlines()
    # A heading between two rules, then a line for every generation.
    if len(lines) < n_done + 3:
        raise ContractError(f"{name} must show a line for each of {n_done} generations, got {len(lines)} lines in all")
    if generations != list(range(1, n_done + 1)) or empty:
        raise ContractError(
            f"{name} must call the callback once in each of {n_done} generations, with a population and an optimum, "
            f"got generations {generations}, of which {empty} had none"
        )
    history = found["with save_history=True"][0].history
    kept = [int(entry.n_gen) for entry in history]
    if kept != generations:
        raise ContractError(f"{name} must keep each of {n_done} generations in its history, got {kept}")
    last = [one.F for one in history[-1].opt]
    if not np.array_equal(last, [one.F for one in expected.algorithm.opt]):
        raise ContractError(f"{name} must end its history with its result, got F = {typed(last)}")
    res = found["with an archive"][0]
    shown = {one.X.tobytes() for one in res.archive.members} if res.archive is not None else set()
    if missing := [one for one in res.algorithm.opt if one.X.tobytes() not in shown]:
        raise ContractError(
            f"{name} must show all that is evaluated to the archive, got none of x = {typed(missing[0].X)}"
        )


def _check_terminations(trial: _Trial, expected: Result, sizes: Sequence[int]) -> None:
    name = trial.name
    for termination in _terminations(trial.problem, expected):
        kind = type(termination).__name__
        res = called(f"{name} must run to {kind}", trial.run, termination)
        n_done = int(res.algorithm.n_gen) - 1
        if not res.algorithm.termination.has_terminated() or n_done > _MOST_GENERATIONS:
            raise ContractError(
                f"{name} must end by {kind} after at most {_MOST_GENERATIONS} generations, got {n_done}"
            )
    for n_gen in (1, 2):
        res = trial.run(("n_gen", n_gen))
        if int(res.algorithm.n_gen) - 1 != n_gen and not res.algorithm.termination.force_termination:
            raise ContractError(
                f"{name} must end after {n_gen} generations where it is told to, got {int(res.algorithm.n_gen) - 1}"
            )
    wanted = max(1, sum(sizes) - 1)
    res = trial.run(("n_eval", wanted))
    n_eval, most = res.algorithm.evaluator.n_eval, wanted + max(sizes)
    ended = res.algorithm.termination.force_termination
    if n_eval > most or (n_eval < wanted and not ended):
        raise ContractError(f"{name} must end after {wanted} evaluations, at most {max(sizes)} later, got {n_eval}")


def _terminations(problem: Problem, expected: Result) -> list[Termination]:
    """Return every working termination of pymoo, each with an early end."""
    # `MultiObjectiveSpaceTerminationWithRenormalization` of pymoo 0.6.2 fails at its first call.
    several = problem.n_obj > 1
    space = MultiObjectiveSpaceTermination if several else SingleObjectiveSpaceTermination
    default = DefaultMultiObjectiveTermination if several else DefaultSingleObjectiveTermination
    waiting: list[Termination] = [
        DesignSpaceTermination(tol=_OTHERS),
        space(tol=_OTHERS, only_feas=False),
        RobustTermination(space(tol=_OTHERS, only_feas=False), period=2),
        ConstraintViolationTermination(tol=_OTHERS),
        NoTermination(),
    ]
    if expected.F is not None:
        waiting.append(IndicatorTermination(IGD(np.atleast_2d(expected.F)), threshold=-1.0, goal="minimize"))
        if not several and expected.F.min() > 0:  # This one is for positive values.
            waiting.append(MinimumFunctionValueTermination(expected.F.min()))
    if problem.has_constraints():
        waiting.append(UntilFeasibleTermination())
    # These may wait for something that never comes, as for a feasible point.
    guarded = [TerminationCollection(one, MaximumGenerationTermination(_MOST_GENERATIONS)) for one in waiting]
    return [*guarded, TimeBasedTermination(1e-6), default(n_max_gen=_MOST_GENERATIONS)]
