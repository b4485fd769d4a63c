"""The sweep of targets: points, termination, and worth of its front."""

from dataclasses import replace

import numpy as np
import pytest
from pymoo.optimize import minimize
from tasks import minimal

from pymoo_anon.algorithms import TargetSweep
from pymoo_anon.algorithms.target_sweep import sweep_of
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import AverageClassSize, GeneralLossMetric, KAnonymity, MarketerRisk
from pymoo_anon.problems import LocalRecodingProblem
from pymoo_anon.publishing import explain

GOALS = [KAnonymity(), GeneralLossMetric()]


@pytest.fixture(scope="module")
def census():
    return make_census(400)


def top_down(table, objectives=GOALS, constraints=()):
    return LocalRecodingProblem(table, objectives, constraints, method="top-down")


def test_every_target_is_made_once_and_the_front_holds_what_is_not_dominated():
    problem = top_down(make_census(120))
    res = minimize(problem, TargetSweep(n_targets=100_000), seed=1)
    every = np.zeros((len(problem.targets), problem.n_var), dtype=np.int64)
    every[:, 0] = np.arange(len(every))
    np.testing.assert_array_equal(res.F, minimal(problem.evaluate(every)))
    assert problem.n_unique == len(problem.targets)
    np.testing.assert_array_equal(problem.evaluate(res.X), res.F)


@pytest.mark.parametrize("n_targets", [1, 2, 7])
def test_fewer_targets_are_spread_from_end_to_end(census, n_targets):
    problem = top_down(census)
    points = sweep_of(problem, n_targets)
    assert len(points) == n_targets
    assert points[0, 0] == 0
    assert n_targets == 1 or points[-1, 0] == len(problem.targets) - 1
    targets = np.array(problem.targets)[points[:, 0]]
    np.testing.assert_allclose(targets, np.geomspace(1, 400, n_targets), rtol=0.15)


def test_a_sweep_has_the_targets_that_people_ask_for(census):
    problem = top_down(census)
    made = {problem.target(x).k for x in sweep_of(problem, 48)}
    assert {*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 75, 100, 120, 150, 200, 250, 300, 400} <= made
    assert len(made) <= 48
    held = top_down(census, constraints=[KAnonymity() >= 37])
    assert held.target(sweep_of(held, 48)[0]).k == 37


@pytest.mark.parametrize("k", [13, 37, 123])
def test_a_front_makes_what_a_choice_requires(census, k):
    problem = top_down(census)
    res = minimize(problem, TargetSweep(), seed=1)
    front = problem.front(res)
    n = len(front)
    (expected,) = problem.natural(problem.evaluate(problem.x_of(k)[np.newaxis]))
    choice = front.choose(require=[KAnonymity() >= k])
    assert choice.values["GLM"] <= expected[1]
    assert choice.values["k"] >= k
    assert len(front) in (n, n + 1)
    # The same once more, with a risk, and by its row.
    assert front.choose(require=[KAnonymity() >= k]) == choice
    assert front.choose(risk=1 / k).values["GLM"] == choice.values["GLM"]
    assert front.choose(row=choice.row).x == choice.x
    assert front.values(MarketerRisk()).shape == (len(front),)
    # Another front of the same result finds the point of the choice.
    other = problem.front(res)
    place = other.place_of(choice)
    assert other.X[place].tolist() == list(choice.x)


def test_points_that_are_made_on_one_front_are_found_on_others(census):
    problem = top_down(census)
    res = minimize(problem, TargetSweep(n_targets=3), seed=1)
    front = problem.front(res)
    choices = [front.choose(require=[KAnonymity() >= k]) for k in (7, 13)]
    # Once made, a point may be chosen for another reason.
    choices.append(front.choose(row=len(res.X) + 1))
    assert [one.row for one in choices] == [len(res.X), len(res.X) + 1, len(res.X) + 1]
    # In any order, and each alone.
    for chosen in (choices, choices[::-1], choices[1:]):
        other = problem.front(res)
        for one in chosen:
            for own in (other, front):
                place = own.place_of(one)
                assert own.X[place].tolist() == list(one.x)
    assert explain(problem, res, choices[1]) == explain(problem, problem.front(res.X), choices[1])
    # A front of some points makes its own.
    whole = problem.front(res)
    assert whole.sorted().choose(require=[KAnonymity() >= 7]).x == whole.choose(require=[KAnonymity() >= 7]).x
    with pytest.raises(ValueError, match="choice must be one of the points of res, got row 4, which is another point"):
        problem.front(res.X[:2]).place_of(replace(choices[1], x=tuple(problem.x_of(7, price=2).tolist())))


def test_what_breaks_a_constraint_is_not_made(census):
    problem = top_down(census, constraints=[MarketerRisk() >= 0.05])
    front = problem.front(minimize(problem, TargetSweep(), seed=1))
    n = len(front)
    with pytest.raises(ValueError, match="no point of the front's"):
        front.choose(require=[KAnonymity() >= 333])
    assert len(front) == n


@pytest.mark.parametrize("objective", [MarketerRisk(), AverageClassSize()])
def test_prices_are_swept_where_the_number_of_classes_counts(census, objective):
    problem = top_down(census, [*GOALS, objective])
    points = sweep_of(problem, 58)
    assert (points[:, 1] > 0).sum() > 20
    assert set(points[:, 1]) == set(range(len(problem.prices)))
    assert len(np.unique(points, axis=0)) == len(points)
    assert (sweep_of(top_down(census), 58)[:, 1] == 0).all()


def test_prices_find_what_no_target_finds(census):
    """Lose less by a price than by a larger k at equal risk."""
    problem = top_down(census, [GeneralLossMetric(), MarketerRisk()], [KAnonymity() >= 2])
    front = problem.front(minimize(problem, TargetSweep(), seed=1))
    plain = problem.front(sweep_of(top_down(census, constraints=[KAnonymity() >= 2]), 58))
    assert len(front) > 10
    for risk in (0.02, 0.04, 0.08):
        with_prices, without = (own.choose(require=[MarketerRisk() <= risk]).values["GLM"] for own in (front, plain))
        assert with_prices <= without
    assert (front.X[:, 1] > 0).sum() > 5


def test_it_stops_where_it_is_told_to(census):
    problem = top_down(census)
    res = minimize(problem, TargetSweep(), ("n_gen", 2), seed=1)
    assert problem.n_unique == 16
    assert len(res.X) <= 16
