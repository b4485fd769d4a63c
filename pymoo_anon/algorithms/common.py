"""What several algorithms share: arguments, first populations, what pymoo sees of points, columns of the output."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from inspect import signature
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymoo.core.algorithm import Algorithm
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.core.problem import Problem
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


def check_kind(problem: Problem, kind: type[Problem]) -> None:
    """Refuse a problem of another kind than an algorithm is for."""
    if not isinstance(problem, kind):
        raise TypeError(f"problem must be a {kind.__name__}, got {type(problem).__name__}")


def ending(algorithm: Algorithm, given: dict[str, Any], termination: Any) -> dict[str, Any]:
    """The arguments of `setup`, with a termination where neither the algorithm nor they have one."""
    has_one = algorithm.termination is not None or given.get("termination") is not None
    return given if has_one else {**given, "termination": termination}


def checked_first(pop: Population, problem: Problem) -> Population:
    """A first population in the type of a problem; none that is empty or was evaluated under another problem."""
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


def show(algorithm: Algorithm, X: NDArray[Any]) -> tuple[Matrix, Matrix]:
    """F and G of points that an algorithm evaluates itself, through pymoo's evaluator and into the user's archive."""
    evaluator = algorithm.evaluator
    if algorithm.archive is None and type(evaluator) is Evaluator and evaluator.callback is None:
        # Individuals for nobody: 10 microseconds for each of all points would outweigh their evaluation.
        names = evaluator.evaluate_values_of
        out = algorithm.problem.evaluate(X, return_values_of=names, return_as_dictionary=True)
        evaluator.n_eval += len(X)
        return out["F"], out.get("G", np.empty((len(X), 0)))
    pop = evaluator.eval(algorithm.problem, Population.new(X=X), algorithm=algorithm)
    if algorithm.archive is not None:
        algorithm.archive = algorithm.archive.add(pop)
    F, G = pop.get("F", "G")
    return F, G


def least_infeasible(so_far: Population, X: NDArray[Any], F: Matrix, G: Matrix) -> Population:
    """Of the point that broke the constraints least so far and of further ones the one that does."""
    violations = np.maximum(G, 0).sum(axis=1)
    least = [int(violations.argmin())]
    if len(so_far) and so_far[0].cv <= violations[least[0]]:
        return so_far
    return evaluated(X[least], F[least], G[least])


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
