"""Constraints: infeasible points, exact fronts, and branch and bound."""

import numpy as np
import pandas as pd
import pytest
from errors import refused
from hypothesis import given
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.optimize import minimize
from tasks import Task, invented, minimal, sorted_rows, tasks, values_of

from pymoo_anon.algorithms import PBGEA, BranchAndBound, ExhaustiveSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import (
    DistinctLDiversity,
    EnhancedBetaLikeness,
    GeneralLossMetric,
    KAnonymity,
    KMap,
    Objective,
    TCloseness,
)
from pymoo_anon.operators import (
    LatticeSampling,
    LevelCrossover,
    SingleStepMutation,
)
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")


CENSUS = make_census(300, seed=5)


@given(tasks())
def test_G_is_how_far_each_bound_is_missed(task):
    problem = task.problem
    assert problem.n_ieq_constr == len(task.limits)
    X = problem.nodes(0, problem.n_nodes)
    F, G = problem.evaluate(X, return_values_of=["F", "G"])
    np.testing.assert_array_equal(F, task.F)
    np.testing.assert_array_equal(G, task.G)
    pop = Evaluator().eval(problem, Population.new(X=X))
    np.testing.assert_array_equal(pop.get("FEAS")[:, 0], (task.G <= 0).all(axis=1))


# Runs in pymoo


def small_problem(*constraints):
    objectives = [KAnonymity(), GeneralLossMetric()]
    return LatticeProblem(CENSUS, objectives, constraints=constraints, suppression=0.02)


def searches():
    nsga2 = NSGA2(pop_size=25, sampling=LatticeSampling(), crossover=LevelCrossover(), mutation=SingleStepMutation())
    return [nsga2, PBGEA(), ExhaustiveSearch(), BranchAndBound()]


def test_one_objective_may_be_bounded_on_both_sides():
    problem = small_problem(KAnonymity() >= 5, KAnonymity() <= 20)
    k = problem.natural(problem.pareto_front())[:, 0]
    assert k.min() >= 5
    assert k.max() <= 20


def test_what_looks_alike_is_not_mixed_up():
    """Distinguish two hierarchies of the same shape, and two populations."""
    table = invented(0)
    distances = [Hierarchy([list("abcd"), list(halves), list("****")]) for halves in ("xxyy", "xyyx")]
    populations_ = [
        Microdata.from_frame(pd.DataFrame(rows, columns=list(table.quasi_identifiers)), table.quasi_identifiers)
        for rows in (table.tuples.codes, (table.tuples.codes + 1) % 16)
    ]
    for one, other in ([TCloseness("s0", own) for own in distances], [KMap(own) for own in populations_]):
        assert not np.array_equal(values_of(table, [one]), values_of(table, [other]))
        problem = LatticeProblem(table, [one], constraints=[other >= 0.2])
        G = problem.evaluate(problem.nodes(0, problem.n_nodes), return_values_of=["G"])
        np.testing.assert_array_equal(G, 0.2 - values_of(table, [other]))
        both = values_of(table, [one, other])
        np.testing.assert_array_equal(both, np.column_stack([values_of(table, [one]), values_of(table, [other])]))


# NSGA-II's crowding distance subtracts infinities.
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning:pymoo")
@pytest.mark.parametrize("algorithm", searches(), ids=lambda algorithm: type(algorithm).__name__)
def test_infinite_values_disturb_no_search(algorithm):
    table = invented(1)
    objectives = [EnhancedBetaLikeness("s0"), GeneralLossMetric(), KAnonymity()]
    problem = LatticeProblem(table, objectives, suppression=3)
    front = Task(table, objectives, [], 3).front
    assert 1 < np.isinf(front[:, 0]).sum() < len(front)
    res = minimize(problem, algorithm, ("n_gen", 200), seed=1)
    np.testing.assert_array_equal(minimal(res.F), np.unique(res.F, axis=0))
    if isinstance(algorithm, ExhaustiveSearch | BranchAndBound):
        np.testing.assert_array_equal(sorted_rows(res.F), front)
    else:
        assert len({tuple(f) for f in front} & {tuple(f) for f in res.F}) > len(front) / 2


# Refusals


def test_what_is_no_constraint_is_refused():
    k = KAnonymity()
    assert refused(TypeError, lambda: k < 5) == "a constraint must be written with >= or <=, got KAnonymity() < 5"
    assert refused(TypeError, lambda: k > 5) == "a constraint must be written with >= or <=, got KAnonymity() > 5"
    for chain in (lambda: 2 <= k <= 5, lambda: bool(k >= 2)):
        assert refused(TypeError, chain) == (
            "KAnonymity() >= 2 has no truth value; give each bound as a constraint of its own"
        )
    for bound in ("5", None, True, [5]):
        assert refused(TypeError, lambda bound=bound: k >= bound) == (
            f"the bound of KAnonymity() must be a number, got {bound!r}"
        )
    for bound in (float("nan"), float("inf"), 10**400):
        assert refused(ValueError, lambda bound=bound: k <= bound) == (
            f"the bound of KAnonymity() must be finite, got {bound!r}"
        )
    # Whole numbers that no int64 holds are bounds, too.
    assert not (k >= 10**26).keeps(np.array([5.0]))[0]
    assert (k <= 10**26).violation(np.array([5.0]))[0] < 0
    for bad in (k, 5, None):
        assert refused(TypeError, lambda bad=bad: small_problem(bad)) == (
            f"constraints must be such as KAnonymity() >= 5, got {bad!r}"
        )
    assert refused(ValueError, lambda: small_problem(DistinctLDiversity("note") >= 2)).startswith(
        "DistinctLDiversity('note') reads column 'note', which has no role in the table"
    )


def test_a_single_objective_or_constraint_is_no_list():
    k = KAnonymity()
    assert refused(TypeError, lambda: LatticeProblem(CENSUS, k)) == (
        "objectives must be a list of them, got KAnonymity(); [KAnonymity()] is one"
    )
    assert refused(TypeError, lambda: LatticeProblem(CENSUS, [k], constraints=k >= 2)) == (
        "constraints must be a list of them, got KAnonymity() >= 2; [KAnonymity() >= 2] is one"
    )


def test_constraints_are_equal_where_objectives_and_bounds_are():
    assert (KAnonymity() >= np.int64(5)) == (KAnonymity() >= 5)
    assert repr(TCloseness("s0") <= np.float64(0.5)) == "TCloseness('s0') <= 0.5"
    assert (TCloseness("s0") <= 0.5) != (TCloseness("s0", "ordered") <= 0.5)
    assert len({KAnonymity() >= 5, KAnonymity() >= 5, KAnonymity() <= 5}) == 2


class Share(Objective):
    """A custom objective with an argument: tuples in large classes."""

    name = "share"
    maximize = True

    def __init__(self, size):
        self.size = size

    def evaluate_one(self, classes):
        return classes.sizes[classes.sizes >= self.size].sum() / classes.n_rows


def test_objectives_of_ones_own_are_told_apart_by_their_arguments():
    own = LatticeProblem(CENSUS, [Share(2), Share(3)], constraints=[Share(8) >= 0.9, Share(2) <= 1])
    assert [measure.size for measure in own.measured] == [2, 3, 8]
    X = own.nodes(0, 50)
    values = np.column_stack([LatticeProblem(CENSUS, [Share(size)]).compute(X) for size in (2, 3, 8)])
    F, G = own.evaluate(X, return_values_of=["F", "G"])
    np.testing.assert_array_equal(F, values[:, :2])
    np.testing.assert_array_equal(G, np.column_stack([0.9 + values[:, 2], -values[:, 0] - 1]))
    names = list(own.to_frame(minimize(own, PBGEA(), ("n_gen", 3), seed=1)))[-5:-2]
    assert names == ["Share() 1", "Share() 2", "Share() 3"]


class Undefined(Objective):
    """An objective that forgets a case."""

    name = "undefined"
    maximize = False

    def evaluate_one(self, classes):
        return float("nan")


def test_an_objective_that_is_not_defined_is_named():
    own = LatticeProblem(CENSUS, [KAnonymity(), Undefined()])
    assert refused(ValueError, lambda: minimize(own, PBGEA(), ("n_gen", 2))) == (
        "evaluate_one of Undefined() must give a number, got nan"
    )


def test_what_only_infeasible_nodes_reach_is_not_shown(capsys):
    own = small_problem(KAnonymity() >= 301)
    minimize(own, PBGEA(), ("n_gen", 2), seed=1, verbose=True)
    assert capsys.readouterr().out.splitlines()[-1].split(" | ")[-1].strip() == "-"
