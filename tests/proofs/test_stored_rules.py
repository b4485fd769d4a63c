"""Rules and bounds of stored proofs as arrays, beside the table itself."""

import numpy as np
import pytest
from pymoo.optimize import minimize
from strategies import invented_frame
from tasks import found, invented, sorted_rows

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.objectives import (
    ClassificationMetric,
    Discernibility,
    DistinctLDiversity,
    EntropyLDiversity,
    GeneralLossMetric,
    KAnonymity,
    SquaredClassSizes,
)
from pymoo_anon.objectives.bounds import AdditiveLoss, Kind
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.proofs.stored import MeasureRules
from pymoo_anon.table import Below, Violating

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

TABLE, FRAME = invented(0), invented_frame(0)


def measures(objectives, constraints=(), suppression=3):
    problem = LatticeProblem(TABLE, objectives, suppression=suppression, constraints=list(constraints))
    return MeasureRules(problem)


@pytest.mark.parametrize(("suppression", "limit"), [(3, 3), (Violating(3), 3), (Below(4), 60)], ids=str)
def test_without_a_limit_no_number_of_rows_is_too_many(suppression, limit):
    constraints = [KAnonymity() >= 2] if isinstance(suppression, Violating) else []
    assert measures([KAnonymity(), GeneralLossMetric()], constraints, suppression).rules.limit == limit


def test_a_constraint_is_about_its_own_threshold():
    own = measures([KAnonymity(person="s1"), GeneralLossMetric()], [DistinctLDiversity("s0") >= 3])
    assert own.rules.first.tolist() == pytest.approx([-np.inf, 3])


def test_bounds_of_nodes_are_floors_and_what_is_known_of_each():
    """Expect nothing suppressed at floors, and the limit at greatest squares."""
    objectives = [KAnonymity(), DistinctLDiversity("s0"), SquaredClassSizes(), GeneralLossMetric()]
    problem = LatticeProblem(TABLE, objectives, suppression=5)
    proof = BranchAndBound().setup(problem, seed=0).proof
    for _ in range(3):
        proof.advance()
    nodes, every = problem.nodes(0, problem.n_nodes), np.arange(problem.n_nodes)
    known, bounds = proof._nodes, proof.bounds.bounds_of(every, proof._nodes)
    np.testing.assert_array_equal(bounds[:, :2], -known.tops)
    losses = LatticeProblem(TABLE, [GeneralLossMetric()]).compute(nodes)[:, 0]
    leeway = AdditiveLoss(GeneralLossMetric()).leeway(TABLE.tuples)
    assert (losses * (1 - leeway) <= bounds[:, 3]).all()
    assert (bounds[:, 3] <= losses).all()
    F = problem.compute(nodes)
    assert (bounds <= F).all()
    # Bounds of an evaluated node hold for itself, too. Thresholds may have none.
    assert known.done.any()
    assert np.isfinite(bounds[known.done][:, 2:]).all()
    # Suppressed rows may add up to more than they did in their classes.
    assert (F[:, 2] - bounds[:, 2]).min() < 5**2


def test_the_first_bounds_are_below_all_nodes():
    objectives = [ClassificationMetric("s0"), Discernibility(), EntropyLDiversity("s0")]
    problem = LatticeProblem(TABLE, objectives)
    own = MeasureRules(problem)
    least = problem.compute(problem.nodes(0, problem.n_nodes)).min(axis=0)
    bounds = own.first_bounds()[:, np.argsort(own.columns)]
    assert (bounds <= least).all()
    assert bounds[:, 0].tolist() == [0] * problem.n_nodes


class Floored(AdditiveLoss):
    """Floors by attribute, and nothing on top of them."""

    kind = Kind.FIXED


def test_floors_of_generalizations_are_not_those_of_their_specializations(monkeypatch):
    monkeypatch.setattr(GeneralLossMetric, "bounding", Floored)
    for seed in range(4):
        problem = LatticeProblem(invented(seed), [GeneralLossMetric(), EntropyLDiversity("s0")], suppression=3)
        res = minimize(problem, BranchAndBound(), seed=0)
        np.testing.assert_array_equal(found(res, problem), sorted_rows(problem.pareto_front()))
        assert res.algorithm.n_pruned > 0
