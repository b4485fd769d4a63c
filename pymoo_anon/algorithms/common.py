"""Bases of the algorithms, and columns of their output."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from inspect import signature
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np
from pymoo.core.algorithm import Algorithm
from pymoo.core.evaluator import Evaluator
from pymoo.core.initialization import Initialization
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.core.termination import NoTermination, Termination
from pymoo.util.display.column import Column
from pymoo.util.display.output import Output

from pymoo_anon._messages import examples, plain
from pymoo_anon.fronts.archive import evaluated, in_order
from pymoo_anon.problems.base import AnonymizationProblem, check_kind, uncounted_compilation
from pymoo_anon.typing import Array, Floats

# The arguments that every algorithm of pymoo takes.
_PYMOO_OPTIONS = set(signature(Algorithm.__init__).parameters) - {"self", "kwargs"}


def options_of(
    algorithm: Algorithm, given: dict[str, Any], more: Collection[str] = (), **defaults: Any
) -> dict[str, Any]:
    """Return the options of an algorithm with their defaults."""
    if unknown := sorted(set(given) - _PYMOO_OPTIONS - set(more)):
        raise TypeError(f"{type(algorithm).__name__} takes no argument {examples(unknown)}")
    return {**defaults, **given}


class Search(Algorithm):  # type: ignore[misc]
    """Base of algorithms that end by themselves.

    `_kinds` are the problems that an algorithm is for. pymoo's wrappers of algorithms skip `_setup`. A subclass defines
    `_begin` in its place.
    """

    archive: Any
    pop: Any
    initialization: Initialization
    opt: Any
    termination: Any
    _kinds: tuple[type[Problem], ...] = (Problem,)

    def setup(self, problem: Problem, **kwargs: Any) -> Algorithm:
        """Set the algorithm up for a problem, or raise as its class states. Without a termination it ends by itself."""
        check_kind(problem, *self._kinds)
        has_end = self.termination is not None or kwargs.get("termination") is not None
        super().setup(problem, **kwargs)
        # A search that ran before begins anew.
        self.is_initialized = False
        # The point that violates the constraints least, while there is no front.
        self._closest = Population.empty()
        self._begin(problem)
        if not has_end:
            self.termination = self._end(problem)
        return self

    def next(self) -> None:
        """Run one iteration, without its compile time in the time budget."""
        with uncounted_compilation(self):
            super().next()

    def _begin(self, problem: Problem) -> None:
        """Reset the state for a problem, or raise."""
        raise NotImplementedError

    def _end(self, problem: Problem) -> Termination:
        return NoTermination()

    def _sampled(self, n: int) -> Population:
        """Return n first points of this problem, or raise."""
        problem = self.problem
        pop = self.initialization.do(problem, n, algorithm=self, random_state=self.random_state)
        if not len(pop):
            raise ValueError("sampling must give at least one individual, got none")
        expected = (problem.n_obj, problem.n_ieq_constr, problem.n_eq_constr)
        for one in pop:
            found = tuple(np.size(values) for values in (one.F, one.G, one.H))
            if one.evaluated and found != expected:
                raise ValueError(
                    f"sampling must hold individuals of this problem, with {expected} values in F, G and H, got {found}"
                )
        return in_type_of_problem(pop, problem)

    def _keep_closest(self, pop: Population) -> None:
        together = Population.merge(self._closest, pop)
        self._closest = together[[int(np.argmin(together.get("CV")[:, 0]))]]

    def _initialize_infill(self) -> Population | None:
        return self._infill()

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        self._advance(infills)


class OwnSearch(Search):
    """Base of searches that evaluate points themselves."""

    def ask(self) -> NoReturn:
        """Raise, since nothing is evaluated outside."""
        name = type(self).__name__
        raise NotImplementedError(f"{name} evaluates nodes itself; call next() or run() instead of ask and tell")

    @property
    def _shows_individuals(self) -> bool:
        return self.archive is not None or type(self.evaluator) is not Evaluator or self.evaluator.callback is not None

    def _evaluated(self, X: Array) -> tuple[Floats, Floats]:
        evaluator = self.evaluator
        if not self._shows_individuals:
            # Each individual takes 10 microseconds to make, which is more than its evaluation.
            names = evaluator.evaluate_values_of
            out = self.problem.evaluate(X, return_values_of=names, return_as_dictionary=True, algorithm=self)
            evaluator.n_eval += len(X)
            return out["F"], out.get("G", np.empty((len(X), 0)))
        pop = evaluator.eval(self.problem, Population.new(X=X), algorithm=self)
        if self.archive is not None:
            self.archive = self.archive.add(pop)
        F, G = pop.get("F", "G")
        return F, G

    def _keep_closest_of(self, X: Array, F: Floats, G: Floats) -> None:
        least = [int(np.maximum(G, 0).sum(axis=1).argmin())]
        self._keep_closest(evaluated(X[least], F[least], G[least]))

    def _show_front(self, front: Population) -> None:
        self.pop = self.opt = in_order(front) if len(front) else self._closest


def in_type_of_problem(pop: Population, problem: Problem) -> Population:
    """Return a population of integers, so that equal points have equal bytes."""
    X = pop.get("X")
    if problem.vtype not in (int, bool) or X.dtype == np.dtype(problem.vtype):
        return pop
    try:
        with np.errstate(invalid="ignore"):
            whole = X.astype(problem.vtype)
    except (TypeError, ValueError, OverflowError):
        return pop
    if not np.array_equal(whole, X):
        return pop
    copies = Population([one.copy() for one in pop])
    copies.set("X", whole)
    return copies


def one_of_each(front: Population) -> Population:
    """Return a front in order, without equal F."""
    _, first = np.unique(front.get("F"), axis=0, return_index=True)
    return in_order(front[np.sort(first)])


class ArchiveOutput(Output):  # type: ignore[misc]
    """Columns of a search with an archive of this name.

    They show the size of the archive, and of an `AnonymizationProblem` the distinct points and the best value of each
    objective. Further columns come first.
    """

    def __init__(self, archive: str, *columns: Column) -> None:
        super().__init__()
        self.archive, self.first = archive, columns

    def initialize(self, algorithm: Algorithm) -> None:
        """Add the columns that the problem can fill."""
        self.columns += [*self.first, Column("archive", width=7, func=partial(_size, self.archive))]
        problem = algorithm.problem
        if isinstance(problem, AnonymizationProblem):
            self.columns.append(Column("distinct", width=8, func=attrgetter("problem.n_unique")))
        if has_own_columns(problem):
            for index, (name, objective) in enumerate(zip(problem.objective_names, problem.objectives, strict=True)):
                heading = plain(f"{'best' if objective.maximize else 'lowest'} {name}")
                best = partial(_best, self.archive, index)
                self.columns.append(Column(heading, width=max(12, len(heading)), func=best))


def has_own_columns(problem: Problem) -> bool:
    """Return whether F has the objectives alone."""
    return isinstance(problem, AnonymizationProblem) and len(problem.objectives) == problem.n_obj


def grid_of(problem: Problem) -> tuple[Floats | None, list[bool] | None]:
    """Return the default sides of boxes, and the maximised objectives."""
    if not isinstance(problem, AnonymizationProblem):
        return np.ones(1), None
    maximize = [objective.maximize for objective in problem.objectives]
    if has_own_columns(problem):
        return problem.steps, maximize
    # `ConstraintsAsObjective` puts the violation before the objectives, or replaces them by it.
    n_more = problem.n_obj - len(maximize)
    return None, [False] * n_more + maximize if n_more > 0 else None


def _size(archive: str, algorithm: Algorithm) -> int:
    return len(getattr(algorithm, archive))


def _best(archive: str, index: int, algorithm: Algorithm) -> str:
    problem, members = algorithm.problem, getattr(algorithm, archive)
    if not len(members):
        return "-"
    best = members.F[:, index].min()
    value = problem.natural(np.where(np.arange(problem.n_obj) == index, best, 0.0))[index]
    return f"{value:,.0f}" if problem.objectives[index].whole else f"{value:,.2f}"


class FrontOutput(Output):  # type: ignore[misc]
    """Columns with the size of the front between others."""

    def __init__(self, *before: Column, after: Sequence[Column] = ()) -> None:
        super().__init__()
        self.columns += [*before, Column("front", width=6, func=_front_size), *after]


def _front_size(algorithm: Algorithm) -> int:
    return int(algorithm.opt.get("feas").sum())
