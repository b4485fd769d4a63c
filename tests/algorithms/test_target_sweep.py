"""The sweep of targets, exhaustive search, and Datafly and Samarati's search beside their definitions."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import tables
from tasks import eights, minimal, printed

from pymoo_anon.algorithms import Datafly, ExhaustiveSearch, SamaratiSearch, TargetSweep
from pymoo_anon.algorithms.target_sweep import sweep_of
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import AverageClassSize, DistinctLDiversity, GeneralLossMetric, KAnonymity, MarketerRisk
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem
from pymoo_anon.publishing import explain
from pymoo_anon.table import Violating

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


def test_a_choice_does_not_depend_on_those_before():
    problem = LocalRecodingProblem(make_census(60, seed=0), [GeneralLossMetric()])
    X = np.array([[4, 0, 0, 1, 2, 1, 1, 2, 2, 2], [4, 0, 1, 1, 2, 2, 0, 2, 1, 1]])
    asked = [KAnonymity() >= 5], [KAnonymity() >= 5, DistinctLDiversity("occupation") >= 3]
    front = problem.front(X)
    # The first point loses less than the one that is made for k, but has a smaller l.
    assert [front.choose(require=one).row for one in asked] == [0, 2]
    assert [problem.front(X).choose(require=one).row for one in asked] == [0, 2]


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


TABLE = eights("abcd")


def problem(k=3):
    """Return a lattice of 256 nodes."""
    return LatticeProblem(
        TABLE, [DistinctLDiversity("s"), GeneralLossMetric()], suppression=0.05, constraints=[KAnonymity() >= k]
    )


def every(own):
    return own.evaluate(own.nodes(0, own.n_nodes), return_values_of=["F", "G"])


@pytest.mark.parametrize("batch_size", [1, 7, 256, 4096])
def test_the_front_is_that_of_the_feasible_nodes(batch_size):
    own = problem()
    res = minimize(own, ExhaustiveSearch(batch_size))
    F, G = every(own)
    assert np.array_equal(res.F, minimal(F[G[:, 0] <= 0]))
    assert np.array_equal(own.evaluate(res.X, return_values_of=["F"]), res.F)
    assert np.array_equal(own.evaluate(res.X, return_values_of=["G"]), res.G)
    # The first of nodes with equal values is returned, in the order of the lattice.
    nodes = own.nodes(0, own.n_nodes)
    for x, f in zip(res.X, res.F, strict=True):
        assert x.tolist() == nodes[((f == F).all(axis=1) & (G[:, 0] <= 0)).argmax()].tolist()


def test_of_equally_infeasible_nodes_the_first_is_returned():
    own = problem(k=81)
    res = minimize(own, ExhaustiveSearch(1, return_least_infeasible=True), ("n_gen", 2))
    assert len(set(every(own)[1][:2, 0])) == 1
    assert res.X.tolist() == [[0, 0, 0, 0]]


def test_it_ends_with_the_last_node_whatever_the_termination_allows():
    res = minimize(problem(), ExhaustiveSearch(64), ("n_gen", 50))
    assert (res.algorithm.n_gen - 1, res.algorithm.n_visited) == (4, 256)


@pytest.mark.parametrize(
    ("termination", "visited"), [(("n_eval", 100), 120), (("n_gen", 3), 180), (("n_eval", 120), 120)]
)
def test_terminations_are_looked_at_after_every_batch(termination, visited):
    own = problem()
    res = minimize(own, ExhaustiveSearch(60), termination)
    assert res.algorithm.n_visited == own.n_unique == res.algorithm.evaluator.n_eval == visited
    F, G = (values[:visited] for values in every(own))
    assert np.array_equal(res.F, minimal(F[G[:, 0] <= 0]))


def test_the_output_shows_what_was_visited_and_counts_feasible_members(capsys):
    minimize(problem(k=81), ExhaustiveSearch(200), verbose=True)
    heads, rows = printed(capsys)
    assert heads == ["n_gen", "n_eval", "visited", "front"]
    assert [row[2:] for row in rows] == [["78.1%", "0"], ["100.0%", "0"]]


def test_a_front_of_all_nodes_is_proven():
    own = problem()
    whole = minimize(own, ExhaustiveSearch(batch_size=100))
    assert (whole.algorithm.n_undecided, own.front(whole).certified) == (0, True)
    stopped = minimize(own, ExhaustiveSearch(batch_size=100), ("n_gen", 2))
    assert (stopped.algorithm.n_undecided, own.front(stopped).certified) == (56, False)


def problem_of(n_rows, k, rule=0):
    return LatticeProblem(make_census(n_rows), [GeneralLossMetric()], rule, [KAnonymity() >= k])


@given(st.integers(20, 300), st.integers(1, 30), st.sampled_from([0, 0.1]))
def test_datafly_raises_the_column_with_the_most_values(n_rows, k, rule):
    problem = problem_of(n_rows, min(k, n_rows), rule)
    codes, x = problem.table.tuples.codes, [0] * problem.n_var
    while (problem.evaluate(np.array([x]), return_values_of=["G"])[0] > 0).any():
        held = [
            len(set(h.groups[level][codes[:, j]])) if level < h.length else 0
            for j, (h, level) in enumerate(zip(problem.table.quasi_identifiers.values(), x, strict=True))
        ]
        x[held.index(max(held))] += 1
    assert minimize(problem, Datafly()).X.tolist() == x


@given(tables(rooted=True), st.integers(1, 8))
def test_samarati_finds_the_best_of_the_least_feasible_height(table, k):
    constraints = [KAnonymity() >= min(k, len(table.frame))]
    problem = LatticeProblem(table.microdata, [GeneralLossMetric()], constraints=constraints)
    every = problem.nodes(0, problem.n_nodes)
    F, G = problem.evaluate(every, return_values_of=["F", "G"])
    feasible = G[:, 0] <= 0
    heights = every.sum(axis=1)
    least = heights[feasible].min()
    res = minimize(problem, SamaratiSearch())
    assert res.X.sum() == least
    assert res.F.tolist() == [F[feasible & (heights == least), 0].min()]


def test_arx_s_rule_suppresses_what_is_left():
    problem = problem_of(500, 5, Violating(0.05))
    res = minimize(problem, Datafly())
    assert 0 < problem.equivalence_classes(res.X).n_suppressed[0] <= 25
