"""The certified front is exhaustive search's, for any objectives and constraints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from tasks import BOUNDED, any_tasks, check_certified, found, minimal, sorted_rows, tasks

from pymoo_anon.algorithms import BranchAndBound, ExhaustiveSearch
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives import *

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
    check_certified(problem, task.front, seed)
    np.testing.assert_array_equal(found(minimize(problem, ExhaustiveSearch()), problem), task.front)


stored_or_not = pytest.mark.parametrize("max_bytes", [2 << 30, 1], ids=["stored", "intervals"])


@st.composite
def tolerances(draw, n):
    """Draw a share or a side per objective, but not all sides."""
    drawn = draw(st.lists(st.sampled_from([0, "1%", "10%", "60%", 0.5, 3]), min_size=n, max_size=n))
    return drawn if any(one == 0 or isinstance(one, str) for one in drawn) else [0, *drawn[1:]]


@stored_or_not
@given(st.data(), any_tasks())
def test_members_stand_for_every_node_within_the_tolerance(max_bytes, data, task):
    epsilon = data.draw(tolerances(len(task.objectives)))
    proof = minimize(task.problem, BranchAndBound(epsilon, max_bytes=max_bytes), seed=0).algorithm.proof
    assert proof.certified
    for point in proof.tolerance.widened(task.front):
        assert (point + 1e-9 * np.abs(point) >= proof.F).all(axis=1).any()
    assert {tuple(f) for f in proof.F} <= {tuple(f) for f in task.F[(task.G <= 0).all(axis=1)]}


@stored_or_not
@given(any_tasks(), st.sampled_from([1.0, 3.0, 10.0]))
def test_boxes_give_one_feasible_node_of_each_that_is_not_dominated(max_bytes, task, epsilon):
    proof = minimize(task.problem, BranchAndBound(epsilon, max_bytes=max_bytes), seed=0).algorithm.proof
    assert proof.certified
    maximize = [objective.maximize for objective in task.objectives]
    own = boxes(proof.F, epsilon, maximize) if len(proof.F) else proof.F
    np.testing.assert_array_equal(sorted_rows(own), minimal(boxes(task.front, epsilon, maximize)))
    assert {tuple(f) for f in proof.F} <= {tuple(f) for f in task.F[(task.G <= 0).all(axis=1)]}
