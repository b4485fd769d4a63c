"""Several releases of Adult: what pairs of its proven fronts tell together, and what nesting costs."""

import itertools

import numpy as np
import pytest
from pymoo.optimize import minimize

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import fetch_adult
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem, joint, ladder
from pymoo_anon.table import Violating

GOALS = [KAnonymity(), GeneralLossMetric()]
#: By k of two points and what was suppressed: joint k, persons alone, and rows in joint classes below 5.
PAIRS = {
    0: {(5, 6): (1, 3, 31), (5, 13): (1, 16, 93), (5, 25): (5, 0, 0), (6, 13): (1, 27, 124)},
    301: {(5, 6): (1, 137, 736), (5, 7): (1, 138, 784), (5, 8): (1, 2, 32), (6, 8): (1, 75, 378)},
}


@pytest.mark.parametrize("limit", PAIRS)
def test_two_points_of_a_front_leave_persons_alone(limit, adult_rows):
    table = fetch_adult()
    problem = LatticeProblem(table, GOALS, suppression=limit)
    front = problem.front(minimize(problem, BranchAndBound(), seed=1))
    places = sorted(
        np.flatnonzero((front.natural[:, 0] >= 5) & (front.natural[:, 0] <= 60)), key=lambda i: -front.F[i, 0]
    )
    chosen = [front.choose(row=int(front.rows[i])) for i in places][:4]
    found = {}
    for pair in itertools.combinations(chosen, 2):
        both = joint(pair)
        few = both.sizes[both.kept]
        found[tuple(one.values["k"] for one in pair)] = (few.min(), (few == 1).sum(), few[few < 5].sum())
    assert {pair: found[pair] for pair in PAIRS[limit]} == PAIRS[limit]
    if limit:
        # Beside the first of them, another one is proven to be the best that leaves nobody with fewer than four others.
        measure = KAnonymity(joint=True)
        second = LatticeProblem(
            table, [measure, GeneralLossMetric()], Violating(limit), [measure >= 5], beside=chosen[:1]
        )
        res = minimize(second, BranchAndBound(), seed=1)
        assert res.algorithm.certified
        assert second.n_unique < second.n_nodes / 10
        best = second.front(res).choose()
        both = joint([chosen[0], best])
        assert (both.sizes[both.kept].min(), best.values["joint k"]) == (5, 5)


def test_nesting_costs_the_finer_release_some_percents(adult_rows):
    table = fetch_adult()
    problem = LocalRecodingProblem(table, GOALS)
    alone = {k: problem.measure(problem.x_of(k)[None])[0, 1] for k in (100, 5)}
    coarse, fine = ladder(problem, [100, 5])
    assert coarse.values["GLM"] == alone[100]
    assert 1 < fine.values["GLM"] / alone[5] < 1.075
    assert KAnonymity().evaluate(joint([coarse, fine])) == 5
    # Made for the classes of the second release, the first one costs it half as much.
    first, second = ladder(problem, [100, 5], kept=0.92)
    assert first.values["GLM"] / alone[100] < 1.02
    assert second.values["GLM"] / alone[5] < 1.035
    assert KAnonymity().evaluate(joint([first, second])) == 5
    apart = problem.front([problem.x_of(100), problem.x_of(5)])
    both = joint([apart.choose(row=0), apart.choose(row=1)])
    assert both.sizes.min() == 1
