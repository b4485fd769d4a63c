"""What a first population must be, whoever gives it."""

from __future__ import annotations

import numpy as np
from pymoo.core.population import Population
from pymoo.core.problem import Problem


def check_evaluated(pop: Population, problem: Problem) -> None:
    """Refuse individuals that were evaluated under another problem: an evaluator would pass over them."""
    expected = (problem.n_obj, problem.n_ieq_constr, problem.n_eq_constr)
    for one in pop:
        found = tuple(np.size(values) for values in (one.F, one.G, one.H))
        if one.evaluated and found != expected:
            raise ValueError(
                f"sampling must hold individuals of this problem, with {expected} values in F, G and H, got {found}"
            )


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
