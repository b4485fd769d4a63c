"""The certified front is exhaustive search's, for any objectives and constraints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from tasks import BOUNDED, found, minimal, sorted_rows, tasks

from pymoo_anon.algorithms import BranchAndBound, ExhaustiveSearch
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives import (
    ClassificationMetric,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    SquaredClassSizes,
    SquaredValueCounts,
)

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

#: In a group of their own the paper's objectives are combined more often.
KINDS = {
    "the paper's": (
        KAnonymity(),
        DistinctLDiversity("s0"),
        SquaredClassSizes(),
        SquaredValueCounts("s0"),
        GeneralLossMetric(),
        ClassificationMetric("s1"),
    ),
    "all with bounds": BOUNDED,
}
RULES = {"AtMost": {}, "Violating": {"violating": True}, "Below": {"below": True}}

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))


@every_rule
@pytest.mark.parametrize("kinds", KINDS.values(), ids=list(KINDS))
@given(data=st.data(), seed=st.integers(0, 3))
def test_the_certified_front_is_that_of_exhaustive_search(kinds, rule, data, seed):
    """Compare also with plain comparisons of the values of all nodes."""
    task = data.draw(tasks(of=kinds, **rule))
    problem = task.problem
    res = minimize(problem, BranchAndBound(), seed=seed)
    algorithm = res.algorithm
    assert algorithm.certified
    assert algorithm.n_undecided == 0
    assert algorithm.n_evaluated + algorithm.n_pruned == problem.n_nodes
    assert algorithm.n_evaluated == problem.n_unique
    np.testing.assert_array_equal(found(res, problem), task.front)
    if res.F is not None:
        X, F = res.X.reshape(-1, problem.n_var), res.F.reshape(-1, problem.n_obj)
        np.testing.assert_array_equal(problem.compute(X), F)
    np.testing.assert_array_equal(found(minimize(problem, ExhaustiveSearch()), problem), task.front)


@every_rule
@given(data=st.data(), epsilon=st.sampled_from([1.0, 3.0, 10.0]))
def test_boxes_give_one_feasible_node_of_each_that_is_not_dominated(rule, data, epsilon):
    task = data.draw(tasks(of=BOUNDED, **rule))
    problem = task.problem
    res = minimize(problem, BranchAndBound(epsilon=epsilon), seed=0)
    assert res.algorithm.certified
    maximize = [objective.maximize for objective in task.objectives]
    expected = minimal(boxes(task.front, epsilon, maximize))
    np.testing.assert_array_equal(sorted_rows(boxes(found(res, problem), epsilon, maximize)), expected)
    for f in found(res, problem):
        assert (task.F[(task.G <= 0).all(axis=1)] == f).all(axis=1).any()
