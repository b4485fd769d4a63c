"""What several algorithms share: arguments, first populations, what pymoo sees of points, columns of the output."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from inspect import signature
from operator import attrgetter
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
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
from pymoo_anon.problems.base import AnonymizationProblem

Matrix = NDArray[np.float64]

# What every algorithm of pymoo takes.
_OPTIONS = set(signature(Algorithm.__init__).parameters) - {"self", "kwargs"}


def check_arguments(algorithm: Algorithm, given: Collection[str], more: Collection[str] = ()) -> None:
    """Refuse arguments that neither an algorithm nor pymoo knows: a misspelt one would be passed over in silence."""
    unknown = sorted(set(given) - _OPTIONS - set(more))
    if unknown:
        raise TypeError(f"{type(algorithm).__name__} takes no argument {examples(unknown)}")


class Search(Algorithm):  # type: ignore[misc]
    """What searches share: the kinds of problems that they are for, a beginning, an end of their own, alike iterations.

    pymoo's wrappers of algorithms pass over `_setup`, so that `_begin` is in its place.
    """

    archive: Any
    initialization: Initialization
    opt: Any
    termination: Any
    _kinds: tuple[type[Problem], ...] = (Problem,)

    def setup(self, problem: Problem, **kwargs: Any) -> Algorithm:
        """Set the algorithm up; without a termination it runs until it ends by itself.

        Raises:
            TypeError: The problem is of another kind than the algorithm is for.
            ValueError: The problem is none that it can search, as its class says.
        """
        check_kind(problem, *self._kinds)
        has_end = self.termination is not None or kwargs.get("termination") is not None
        super().setup(problem, **kwargs)
        self._begin(problem)
        if not has_end:
            self.termination = self._end(problem)
        return self

    def _begin(self, problem: Problem) -> None:
        """Forget what was found, and refuse a problem that cannot be searched."""
        raise NotImplementedError

    def _end(self, problem: Problem) -> Termination:
        """What ends no search before it ends by itself."""
        return NoTermination()

    def _sampled(self, n: int) -> Population:
        """First points in the type of the problem; none that were evaluated under another problem."""
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

    def _initialize_infill(self) -> Population | None:
        return self._infill()

    def _initialize_advance(self, infills: Population | None = None, **kwargs: Any) -> None:
        self._advance(infills)


class OwnSearch(Search):
    """A search that evaluates points itself, and shows them to pymoo."""

    def _begin(self, problem: Problem) -> None:
        # While there is no front, who breaks the constraints least.
        self._least_infeasible = Population.empty()

    def ask(self) -> NoReturn:
        """Refuse: there is nothing to evaluate outside.

        Raises:
            NotImplementedError: Always.
        """
        name = type(self).__name__
        raise NotImplementedError(f"{name} evaluates nodes itself; call next() or run() instead of ask and tell")

    def _show(self, X: NDArray[Any]) -> tuple[Matrix, Matrix]:
        """F and G of points, through pymoo's evaluator and into the user's archive."""
        evaluator = self.evaluator
        if self.archive is None and type(evaluator) is Evaluator and evaluator.callback is None:
            # Individuals for nobody: 10 microseconds for each of all points would outweigh their evaluation.
            names = evaluator.evaluate_values_of
            out = self.problem.evaluate(X, return_values_of=names, return_as_dictionary=True)
            evaluator.n_eval += len(X)
            return out["F"], out.get("G", np.empty((len(X), 0)))
        pop = evaluator.eval(self.problem, Population.new(X=X), algorithm=self)
        if self.archive is not None:
            self.archive = self.archive.add(pop)
        F, G = pop.get("F", "G")
        return F, G

    def _stand_in(self, X: NDArray[Any], F: Matrix, G: Matrix) -> None:
        """Remember who of these and of those before breaks the constraints least."""
        violations = np.maximum(G, 0).sum(axis=1)
        least = [int(violations.argmin())]
        if not len(self._least_infeasible) or self._least_infeasible[0].cv > violations[least[0]]:
            self._least_infeasible = evaluated(X[least], F[least], G[least])

    def _tell(self, front: Population) -> None:
        """Tell pymoo the front. Its `result` leaves out who stands in, unless `return_least_infeasible` asks for it."""
        self.pop = self.opt = in_order(front) if len(front) else self._least_infeasible


def check_kind(problem: Problem, *kinds: type[Problem]) -> None:
    """Refuse a problem of another kind than an algorithm is for."""
    if not isinstance(problem, kinds):
        wanted = " or a ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"problem must be a {wanted}, got {type(problem).__name__}")


def in_type_of_problem(pop: Population, problem: Problem) -> Population:
    """Whole numbers that came as floats or objects become integers, so that equal nodes have equal bytes.

    What is no whole number stays as it is: the problem refuses it in its own words.
    """
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
    """A front in its order, of points with equal values the first."""
    _, first = np.unique(front.get("F"), axis=0, return_index=True)
    return in_order(front[np.sort(first)])


def add_columns(output: Output, algorithm: Algorithm, archive: str) -> None:
    """Add the size of the archive, distinct points, and the best of each objective, where a problem has them."""
    output.columns.append(Column("archive", width=7, func=partial(_size, archive)))
    problem = algorithm.problem
    if isinstance(problem, AnonymizationProblem):
        output.columns.append(Column("distinct", width=8, func=attrgetter("problem.n_unique")))
    if has_own_columns(problem):
        for index, (name, objective) in enumerate(zip(problem.objective_names, problem.objectives, strict=True)):
            heading = plain(f"{'best' if objective.maximize else 'lowest'} {name}")
            output.columns.append(Column(heading, width=max(12, len(heading)), func=partial(_best, archive, index)))


def has_own_columns(problem: Problem) -> bool:
    """Whether the columns of F are the objectives of a problem of ours, with none added by a wrapper."""
    return isinstance(problem, AnonymizationProblem) and len(problem.objectives) == problem.n_obj


def _size(archive: str, algorithm: Algorithm) -> int:
    """The number of members of an archive."""
    return len(getattr(algorithm, archive))


def _best(archive: str, index: int, algorithm: Algorithm) -> str:
    """The best value of one objective in the archive, as a person writes it."""
    problem, members = algorithm.problem, getattr(algorithm, archive)
    if not len(members):
        return "-"
    best = members.F[:, index].min()
    value = problem.natural(np.where(np.arange(problem.n_obj) == index, best, 0.0))[index]
    return f"{value:,.0f}" if problem.objectives[index].whole else f"{value:,.2f}"


class FrontOutput(Output):  # type: ignore[misc]
    """A column of an algorithm's own, and the size of the front."""

    def __init__(self, heading: str, told: Callable[[Any], str]) -> None:
        super().__init__()
        self.columns += [Column(heading, width=8, func=told), Column("front", width=6, func=front_size)]


def front_size(algorithm: Algorithm) -> int:
    """The number of points of the front so far."""
    return int(algorithm.opt.get("feas").sum())
