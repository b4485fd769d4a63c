"""Local recoding as a problem: points, and recodings that keep them."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from pymoo.optimize import minimize
from recodings import members_of
from tasks import nsga2

from pymoo_anon._messages import percent
from pymoo_anon.algorithms import TargetSweep
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import LocalRecodingProblem
from pymoo_anon.publishing import explain, release
from pymoo_anon.publishing.codebook import codebook
from pymoo_anon.recoding import FEW
from pymoo_anon.table import Hierarchy, Microdata

GOALS = [KAnonymity(), GeneralLossMetric()]


@pytest.fixture(scope="module")
def census():
    return make_census(600)


def test_targets_are_all_numbers_of_two_digits_from_the_least_k_to_the_rows(census):
    problem = LocalRecodingProblem(census, GOALS)
    assert problem.targets == (*range(1, 100), *range(100, 601, 10))
    assert LocalRecodingProblem(census, GOALS, [KAnonymity() >= 96]).targets[:6] == (96, 97, 98, 99, 100, 110)
    assert LocalRecodingProblem(census, GOALS, [KAnonymity() >= 123]).targets[:2] == (123, 130)
    # Every k that is asked for is kept, also one between two targets.
    assert [problem.target(problem.x_of(k)).k for k in range(1, 601)] == [*range(1, 601)]
    assert problem.target(problem.x_of(122.5)).k == 123
    assert problem.x_of(7.2).tolist() == problem.x_of(8).tolist()
    assert problem.target(LocalRecodingProblem(census, GOALS, [KAnonymity() >= 5]).x_of(2)).k == 1
    assert LocalRecodingProblem(census, GOALS, [KAnonymity() >= 25]).targets[0] == 25
    assert LocalRecodingProblem(census, GOALS, [KAnonymity() >= 2.5]).targets[0] == 3
    assert LocalRecodingProblem(census, GOALS, [ProsecutorRisk() <= 0.09]).targets[0] == 12
    assert LocalRecodingProblem(census, GOALS, [KAnonymity() >= 10**6]).targets == (600,)
    # No other measure bounds rows from below, and neither does an upper bound on k.
    for other in (AverageClassSize() >= 30, KAnonymity() <= 40, MarketerRisk() >= 0.5):
        assert LocalRecodingProblem(census, GOALS, [other]).targets[0] == 1


def test_a_point_asks_for_k_a_price_and_weights(census):
    problem = LocalRecodingProblem(census, GOALS)
    assert problem.prices[:10] == (0, 1, 2, 3, 4, 6, 8, 11, 16, 23)
    assert census.n_rows / 2 < problem.prices[-1] <= census.n_rows
    x = problem.x_of(10, price=9)
    target = problem.target(x)
    assert (target.k, target.price, target.weights) == (10, 11, (1.0,) * 8)
    # Only ratios of weights count.
    x[2:] = 7
    assert problem.target(x) == target
    x[2] = 9
    weights = np.array(problem.target(x).weights)
    np.testing.assert_allclose(weights / weights[1], [4, 1, 1, 1, 1, 1, 1, 1])
    assert weights.mean() == pytest.approx(1)


def test_points_that_ask_for_the_same_have_one_recoding(census):
    problem = LocalRecodingProblem(census, GOALS)
    x = problem.x_of(10)
    heavier = x + np.array([0, 0, *[3] * 8])
    assert problem.decode(x) is problem.decode(heavier)
    F = problem.evaluate(np.stack([x, heavier]))
    np.testing.assert_array_equal(F[0], F[1])


HELD = [
    KAnonymity() >= 5,
    DistinctLDiversity("occupation") >= 3,
    EntropyLDiversity("occupation") >= 2.5,
    RecursiveCLDiversity("occupation", 2) >= 2,
    AlphaDeassociation("occupation") <= 0.5,
    TCloseness("occupation") <= 0.4,
    BasicBetaLikeness("occupation") <= 3,
    EnhancedBetaLikeness("occupation") <= 4,
]


@pytest.mark.parametrize("structure", ["sizes", "direct"])
def test_constraints_on_classes_are_held_and_told(census, structure):
    problem = LocalRecodingProblem(census, GOALS, HELD, method="top-down", structure=structure)
    assert problem.held == problem.constraints
    F, G = problem.evaluate(problem.x_of(5)[np.newaxis], return_values_of=["F", "G"])
    assert (G <= 0).all()
    assert F[0, 1] < 0.9 * census.n_rows * 8


def test_other_constraints_are_told_alone(census):
    problem = LocalRecodingProblem(census, GOALS, [MarketerRisk() <= 0.02], method="top-down")
    assert problem.held == ()
    _, G = problem.evaluate(np.stack([problem.x_of(2), problem.x_of(200)]), return_values_of=["F", "G"])
    assert G[0, 0] > 0 >= G[1, 0]


def test_a_price_makes_classes_fewer(census):
    problem = LocalRecodingProblem(census, [KAnonymity(), GeneralLossMetric(), MarketerRisk()], method="top-down")
    risks = [problem.evaluate(problem.x_of(2, price)[np.newaxis])[0, 2] for price in (0, 4, 32)]
    assert risks[0] > risks[1] > risks[2]


def test_weights_move_the_loss_from_one_column_to_another(census):
    age, others = GeneralLossMetric([1, 0, 0, 0, 0, 0, 0, 0]), GeneralLossMetric([0, 1, 1, 1, 1, 1, 1, 1])
    problem = LocalRecodingProblem(census, [age, others], [KAnonymity() >= 10], method="top-down")
    # Both objectives count alike, so that age weighs as much as the others together.
    weights = problem.target(problem.x_of(10)).weights
    assert weights[0] == pytest.approx(7 * weights[1])
    light, heavy = problem.x_of(10), problem.x_of(10)
    heavy[2], light[3:] = 5, 5
    F = problem.compute(np.stack([light, heavy]))
    assert F[1, 0] < F[0, 0]
    assert F[1, 1] > F[0, 1]


def test_a_column_that_no_objective_counts_keeps_what_costs_nothing(census):
    problem = LocalRecodingProblem(census, [GeneralLossMetric([1, 0, 1, 1, 1, 1, 1, 1])], method="top-down")
    weights = problem.target(problem.x_of(2)).weights
    assert 0 < weights[1] < 0.01


def test_searches_copies_and_pickles_agree(census):
    problem = LocalRecodingProblem(census, GOALS, [DistinctLDiversity("occupation") >= 2], method="top-down")
    res = minimize(problem, nsga2(), ("n_gen", 3), seed=1)
    again = minimize(problem.fresh_copy(), nsga2(), ("n_gen", 3), seed=1)
    np.testing.assert_array_equal(res.F, again.F)
    unpickled = pickle.loads(pickle.dumps(problem))
    assert unpickled.decode(res.X[0]) == problem.decode(res.X[0])
    assert copy.deepcopy(problem).decode(res.X[0]) is problem.decode(res.X[0])


def test_a_front_is_read_as_any_other(census):
    problem = LocalRecodingProblem(census, GOALS, method="top-down")
    front = problem.front(np.stack([problem.x_of(k) for k in (2, 5, 20)]))
    choice = front.choose(require=[KAnonymity() >= 5])
    assert choice.values["k"] >= 5
    assert choice.n_suppressed == 0
    assert front.values(MarketerRisk()).tolist() == sorted(front.values(MarketerRisk()), reverse=True)
    frame = front.to_frame()
    assert list(frame)[:8] == list(census.quasi_identifiers)
    assert frame.loc[choice.row, "age"] == problem.decode(choice.x).n_groups[0]
    explained = explain(problem, front, choice)
    ages = next(line for line in explained.levels if line.startswith("age: "))
    rows = problem.table.tuples.counts
    level = problem.table.quasi_identifiers["age"].nodes.level[problem.decode(choice.x).cells[:, 0]]
    assert f"{percent(rows[level == level.max()].sum() / 600)} at level {level.max()}" in ages
    assert f"{problem.decode(choice.x).n_groups[0]} labels" in ages
    assert explained.steps
    assert explained.people[0].startswith("Worst off are")
    book = codebook(problem, choice.x)
    assert (book.column == "age").sum() == problem.decode(choice.x).n_groups[0]


@pytest.mark.parametrize("n_rows", [2, 3, 5, 8, 13, 21, 34, 55, 600])
def test_no_larger_k_loses_less_where_there_are_few_classes(n_rows):
    problem = LocalRecodingProblem(make_census(n_rows, seed=n_rows), GOALS)
    every = np.arange(n_rows // FEW + 1, n_rows + 1, 7 if n_rows > 100 else 1)
    F = problem.evaluate(np.array([problem.x_of(k) for k in every]))
    assert (np.diff(F[:, 1]) >= 0).all()
    assert (-F[:, 0] >= every).all()


def test_any_number_of_threads_makes_the_same_cells(census):
    made = []
    for n_threads in (1, 2, 5):
        problem = LocalRecodingProblem(census, GOALS)
        problem.n_threads = n_threads
        X = np.array([problem.x_of(k) for k in (2, 7, 30, 110, 250)])
        problem.evaluate(X)
        made.append([problem.decode(x).cells for x in X])
    for other in made[1:]:
        np.testing.assert_array_equal(made[0], other)


def test_a_recoding_in_the_making_is_made_once(census):
    problem = LocalRecodingProblem(census, GOALS, method="top-down")
    x = problem.x_of(10)
    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(problem.decode, [x] * 20)
    assert all(other is first for other in others)


LETTERS = Hierarchy([list("xyz"), ["xy", "xy", "z"], ["*"] * 3])
FRAME = pd.DataFrame({"a": list("xyxzyx"), "b": [0, 1, 2, 3, 0, 1], "s": list("uvuvuv")})
NAN = float("nan")


def table_of(a=LETTERS, frame=FRAME, **roles):
    return Microdata.from_frame(frame, {"a": a, "b": Hierarchy.intervals(0, 4, [2])}, "s", **roles)


def problem_of(*constraints, objectives=GOALS, table=None, **options):
    return LocalRecodingProblem(table or table_of(), objectives, constraints, **options)


def released(frame, *constraints):
    problem = problem_of(*constraints)
    return release(frame, problem, problem.x_of(2))


def is_recoded(problem, k, l_of_s=1):
    """Check a recoding by its rows, and return its number of classes."""
    tuples, cells = problem.table.tuples, problem.decode(problem.x_of(k)).cells
    classes = members_of(cells)
    assert min(tuples.counts[members].sum() for members in classes) >= k
    if "s" in tuples.columns:
        counts = tuples.columns["s"].histogram()
        assert min((counts[members].sum(axis=0) > 0).sum() for members in classes) >= l_of_s
    return len(classes)


@pytest.mark.parametrize("method", ["bottom-up", "top-down"])
def test_odd_tables_are_recoded(method):
    one_value = Microdata.from_frame(
        pd.DataFrame({"a": ["x"] * 4, "b": [0, 0, 3, 3]}),
        {"a": Hierarchy([["x"]]), "b": Hierarchy.intervals(0, 4, [2])},
    )
    assert is_recoded(problem_of(table=one_value, method=method), 2) == 2
    alike = Microdata.from_frame(pd.DataFrame({"a": ["x"] * 4}), {"a": LETTERS})
    assert is_recoded(problem_of(table=alike, method=method), 4) == 1
    # A value of no row lies below nodes without a row. Missing is a value, too.
    sparse = Hierarchy.intervals(0, 1000, [10, 100])
    gaps = Microdata.from_frame(pd.DataFrame({"a": [3, 7, 980, None] * 2}), {"a": sparse}, missing="keep")
    assert is_recoded(problem_of(table=gaps, method=method), 2) == 4
    # One column has weight zero, and is as coarse as the other needs.
    weighed = problem_of(objectives=[KAnonymity(), GeneralLossMetric([0, 1])], method=method)
    assert is_recoded(weighed, 2) > 1
    assert weighed.evaluate(weighed.x_of(2))[1] == pytest.approx(2 / 3)


def test_where_nothing_is_feasible_nothing_is_found():
    for constraint in (KAnonymity() >= 7, DistinctLDiversity("s") >= 3, TCloseness("s") <= -0.5):
        problem = problem_of(constraint)
        F, G = problem.evaluate(problem.x_of(2), return_values_of=["F", "G"])
        assert F.tolist() == [-6, 12]
        assert G[0] > 0
        assert minimize(problem, TargetSweep(n_targets=3), seed=1).X is None


def test_thirty_columns_end():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 4, 80) for i in range(30)} | {"s": rng.integers(0, 5, 80)})
    hierarchies = {f"c{i}": Hierarchy.intervals(0, 4, [2]) for i in range(30)}
    table = Microdata.from_frame(frame, hierarchies, "s")
    problem = problem_of(DistinctLDiversity("s") >= 3, table=table)
    for k in (3, 10):
        assert is_recoded(problem, k, 3) > 1
    bound = problem.lower_bound(problem.x_of(3), ("n_iter", 2))
    assert 0 < bound.value <= bound.loss < 80 * 30
    assert 1 <= len(minimize(problem, TargetSweep(n_targets=4), seed=1).F) <= 4
    assert release(frame, problem, problem.x_of(3)).claims.holds.all()
