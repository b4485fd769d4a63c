"""Fronts: values by measure, requirements, their printed form, and trade-offs between their points."""

import copy
import pickle
from itertools import compress, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.result import Result
from pymoo.optimize import minimize
from strategies import more
from tasks import invented, tasks
from work import work_of

from pymoo_anon.algorithms import PBGEA, BranchAndBound
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts import ParetoArchive
from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, Front, LatticeProblem, PreferredPoint
from pymoo_anon.problems.arguments import texts_of
from pymoo_anon.problems.front import axes_of
from pymoo_anon.problems.tradeoffs import first_of, knee_of, minimised, next_better, next_steps, shortfalls, steadiness
from pymoo_anon.publishing import release
from pymoo_anon.table import Below, Hierarchy, Microdata, Violating

K, L, T, GLM = KAnonymity(), DistinctLDiversity("s0"), TCloseness("s0"), GeneralLossMetric()

# Random tables have hierarchies without a root, too.
pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of")

PROBLEM = LatticeProblem(invented(1), [K, L, GLM], suppression=3)
NODES = PROBLEM.nodes(0, PROBLEM.n_nodes)


@given(tasks())
def test_a_front_is_what_keeps_the_constraints(task):
    """Compare every array with a plain loop and with the problem."""
    problem = task.problem
    X = problem.nodes(0, 60)
    F, G = problem.evaluate(X, return_values_of=["F", "G"])
    front = problem.front(X)
    rows = [row for row in range(len(X)) if all(G[row] <= 0)]
    assert front.rows.tolist() == rows
    assert np.array_equal(front.X, X[rows])
    assert np.array_equal(front.F, F[rows])
    for place, row in enumerate(rows):
        assert front.place_of(row) == place
        assert front.n_suppressed[place] == problem.equivalence_classes(X[row]).n_suppressed[0]
        assert all(requirement.met for requirement in front.requirements(place))
        assert len(front.requirements(place)) == len(set(problem.constraints))
    for measure in problem.measured:
        again = [measure.evaluate(problem.equivalence_classes(X[row]))[0] for row in rows]
        assert front.values(measure).tolist() == again
    frame = front.to_frame()
    assert frame.index.tolist() == rows
    assert frame.equals(problem.to_frame(X).iloc[rows].set_axis(frame.index)[list(frame)])


def test_a_front_of_strings_holds_values_by_measure_not_by_position():
    """Look values up by measure, as strings have more bits than columns."""
    goals = [PreferredPoint((0.2, 1.0)), K, GLM]
    problem = BitStringProblem(make_census(200), goals, suppression=5, constraints=[KAnonymity() >= 2])
    X = problem.sample(50, np.random.default_rng(1))
    X[0] = False
    front = problem.front(X)
    assert len(front) > 0
    for objective, own in zip(goals, front.natural.T, strict=True):
        assert np.array_equal(front.values(objective), own)
        assert own.tolist() == [objective.evaluate(problem.equivalence_classes(x))[0] for x in front.X]


def test_what_is_proven_comes_from_the_search():
    proven = minimize(PROBLEM, BranchAndBound(), seed=1)
    front = PROBLEM.front(proven)
    assert front.certified is True
    assert np.array_equal(front.gap, np.zeros_like(front.F))
    assert len(front.open_bounds) == 0
    assert "proven to be complete" in repr(front)
    unknown = PROBLEM.front(minimize(PROBLEM, PBGEA(), ("n_gen", 2), seed=1))
    assert (unknown.certified, unknown.gap, unknown.open_bounds) == (None, None, None)
    assert "proven" not in repr(unknown)
    stopped = minimize(PROBLEM, BranchAndBound(), ("n_gen", 1), seed=1)
    assert PROBLEM.front(stopped).certified is False


def test_a_front_of_a_front_is_the_front():
    front = PROBLEM.front(NODES[:30])
    assert PROBLEM.front(front) is front
    # That of a copy keeps its rows and what is proven.
    for copied in (PROBLEM.fresh_copy(), copy.deepcopy(PROBLEM)):
        proven = copied.front(minimize(copied, BranchAndBound(), seed=1))
        assert PROBLEM.front(proven) is proven
    other = LatticeProblem(invented(1), [K, T, GLM])
    assert isinstance(other.front(front), Front)
    assert np.array_equal(other.front(front).X, front.X)


def test_a_front_of_individuals_is_that_of_their_points():
    res = minimize(PROBLEM, PBGEA(archive=ParetoArchive()), ("n_gen", 3), seed=1)
    for given_ in (res.pop, res.archive, list(res.opt)):
        X = np.array([one.X for one in given_])
        assert np.array_equal(PROBLEM.front(given_).X, PROBLEM.front(X).X)
        assert PROBLEM.to_frame(given_).equals(PROBLEM.to_frame(X))


def test_what_was_asked_for_stays_with_the_choice():
    front = PROBLEM.front(NODES)
    choice = front.choose(require=[L >= 2], risk=0.2)
    assert choice.requirements == (L >= 2, K >= 5)
    met = front.requirements(front.place_of(choice), choice.requirements)
    assert [str(one) for one in met] == [f"l >= 2: {choice.values['l']}, met", f"k >= 5: {choice.values['k']}, met"]
    raw = front.place_of(0)
    assert [one.met for one in front.requirements(raw, [K >= 5])] == [front.values(K)[raw] >= 5]
    assert str(front.requirements(raw, [K >= 500])[0]).endswith(", not met")
    assert front.choose(require=[K >= 5, K >= 5]).requirements == (K >= 5,)


def test_sorted_is_from_private_to_useful_and_keeps_rows():
    front = PROBLEM.front(NODES[::-1]).sorted()
    order = sorted(range(len(NODES)), key=lambda row: tuple(-front.natural[front.place_of(row)]))
    assert front.natural[front.place_of(order[0])].tolist() == front.natural[0].tolist()
    values = front.natural.tolist()
    assert len(values) == len(NODES)
    assert values == sorted(values, reverse=True)
    assert np.array_equal(NODES[::-1][front.rows], front.X)
    for place in range(0, len(front), 50):
        assert front.values(T)[place] == T.evaluate(PROBLEM.equivalence_classes(front.X[place]))[0]
    many = front.values(K) >= 5
    assert front.only(many).rows.tolist() == [*compress(front.rows, many)]
    # Equal points keep their order.
    assert PROBLEM.front([NODES[0], NODES[-1], NODES[0]]).sorted().rows.tolist() == [1, 0, 2]


def test_a_front_of_nothing_is_empty():
    strict = LatticeProblem(invented(1), [K, GLM], constraints=[K >= 10_000])
    assert len(strict.front(NODES)) == 0
    assert (strict.pareto_front().shape, strict.pareto_set().shape) == ((0, 2), (0, 4))
    for nothing in (Result(), [], np.array([])):
        front = PROBLEM.front(nothing)
        assert len(front) == len(front.to_frame()) == 0
        assert str(front).startswith("Front of 0 points")


@pytest.mark.parametrize("first", [K, ProsecutorRisk(), GLM, Precision()])
def test_whatever_comes_first_the_most_general_point_does(first):
    problem = LatticeProblem(make_census(200), [first, MarketerRisk()])
    assert problem.front(problem.nodes(0, problem.n_nodes)).sorted().X[0].tolist() == problem.highest.tolist()
    assert len(problem.front([]).sorted()) == 0


def test_choices_and_steps_are_pickled():
    front = PROBLEM.front(PROBLEM.pareto_set())
    for made in (front.choose(), front.steps(0)[0]):
        assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
        for one in (made, pickle.loads(pickle.dumps(made))):
            with pytest.raises(TypeError, match="does not support item assignment"):
                one.values["k"] = 100


@pytest.mark.parametrize(
    ("objectives", "axes"),
    [
        ([K, L, T, GLM], (GLM, K, L, T)),
        ([GLM, T], (GLM, T)),
        ([T, GLM, K], (GLM, K, T)),
        ([T, K], (T, K)),
        ([K, L], (K, L)),
        ([GLM, Precision()], (GLM, Precision())),
        ([K, GLM, Precision()], (GLM, K, Precision())),
        ([K, L, Precision(), GLM], (Precision(), K, L, GLM)),
        ([L], (L,)),
    ],
)
def test_axes_are_loss_then_privacy_whatever_the_order(objectives, axes):
    assert axes_of(objectives) == axes


def test_what_could_be_lost_is_told_where_a_loss_is_no_share_already():
    problem = LatticeProblem(
        make_census(300), [K, GLM, ClassificationMetric("salary-class"), NormalizedWeightedPenalty()]
    )
    losses = problem.front(problem.nodes(0, 5)).losses()
    assert losses == {"GLM": (0, 300 * problem.n_var), "CM": (0, 300)}


def test_the_table_that_is_printed():
    front = PROBLEM.front(PROBLEM.pareto_set())
    head, titles, *lines = repr(front).splitlines()
    assert head == f"Front of {len(front)} points"
    assert titles.split() == ["row", *PROBLEM.table.quasi_identifiers, "k", "l", "GLM", "GLM", "lost", "suppressed"]
    assert len(lines) == len(front)
    ordered = front.sorted()
    for line, row, k in zip(lines, ordered.rows, ordered.values(K), strict=True):
        assert line.split()[0] == str(row)
        assert line.split()[5] == f"{k:.0f}"
    assert "100.0 %" in lines[0]
    many = repr(PROBLEM.front(NODES)).splitlines()
    assert many[0].endswith("; the first 40, to_frame() has all")
    assert len(many) == 42


def test_what_makes_no_release_is_said_in_words():
    frame = {"a": [1, 1, 2, 2, 2, 3], "s": list("xyxyxy")}
    tree = {"a": Hierarchy([[1, 2, 3], ["1-2", "1-2", "3"], ["*"] * 3])}
    table = Microdata.from_frame(pd.DataFrame(frame), tree, "s")
    raw = LatticeProblem(table, [K, GLM]).front([[0], [2]])
    assert raw.refusal(0) == raw.refusal(0, "drop") == "k is 1: some row stands alone in a class"
    assert raw.refusal(1) is None
    one = LatticeProblem(table, [K, GLM], suppression=1).front([[0]])
    assert "its single suppressed row would stand alone" in one.refusal(0)
    assert one.refusal(0, "drop") is None
    # A single marked row is alone even if k is not required.
    assert LatticeProblem(table, [GLM], suppression=1).front([[0]]).refusal(0) == one.refusal(0)
    alike = Microdata.from_frame(pd.DataFrame(frame | {"a": [1, 1, 2, 2, 3, 3], "s": list("xyxyzz")}), tree, "s")
    least = DistinctLDiversity("s")
    pair = LatticeProblem(alike, [K, GLM], Violating(2), [least >= 2]).front([[0]])
    assert pair.refusal(0) == (
        'its 2 suppressed rows would be a class with l = 1, not 2; suppressed = "drop" leaves them out'
    )
    assert pair.refusal(0, "drop") is None
    every = LatticeProblem(table, [GLM], Violating(5), [DistinctLDiversity("s") >= 3])
    assert len(every.front([[0], [2]])) == 0


@more(2)
@given(
    st.lists(st.tuples(*(st.integers(0, n) for n in (3, 2, 2, 4))), min_size=3, max_size=12),
    st.integers(0, 4),
    st.booleans(),
    st.booleans(),
    st.integers(0, 5),
    st.sampled_from(["mark", "drop"]),
    st.none() | st.tuples(st.integers(1, 3), st.floats(0, 1)),
)
def test_a_release_refuses_what_is_not_offered_and_nothing_else(rows, limit, persons, below, place, how, asked):
    """Give the same reasons for refusal as the release itself.

    A point of a small lattice is released with marked or dropped rows. l and t are objectives, or are asked for.
    """
    frame = pd.DataFrame(rows, columns=["a", "b", "s", "p"])[["a", "b", "s", *(["p"] if persons else [])]]
    tree = {"a": Hierarchy([[0, 1, 2, 3], ["01", "01", "23", "23"], ["*"] * 4]), "b": Hierarchy.flat([0, 1, 2])}
    table = Microdata.from_frame(frame, tree, "s", person="p" if persons else None)
    diversity, closeness = DistinctLDiversity("s"), TCloseness("s")
    measures = [KAnonymity("p") if persons else K, *([] if asked else [diversity, closeness]), GLM]
    bounds = [diversity >= asked[0], diversity >= 1, closeness <= asked[1]] if asked else []
    rule = Below(min(limit + 1, len(rows))) if below else min(limit, len(rows) - 1)
    problem = LatticeProblem(table, measures, suppression=rule)
    front = problem.front(problem.nodes(0, problem.n_nodes))
    assert len(front) == 6
    met = [one for one in bounds if one.keeps(front.values(one.objective)[[place]])[0]]
    choice = front.choose(row=place, require=met)
    why = front.refusal(place, how, bounds)
    try:
        made = release(frame, problem, choice, suppressed=how)
    except ValueError:
        assert why is not None
    else:
        assert why is None
        assert len(made.claims) == len(measures) + len(choice.requirements)


def test_marked_rows_are_held_to_what_is_asked_of_classes_and_to_nothing_else():
    """Hold two marked rows to l, and to no bound on loss.

    The two rows have one value, so that alone they break l.
    """
    frame = pd.DataFrame({"q": [0, 0, 0, 0, 1, 1], "s": list("ababaa")})
    table = Microdata.from_frame(frame, {"q": Hierarchy.flat([0, 1])}, "s")
    front = LatticeProblem(table, [GLM], 2).front([[0]])
    assert front.refusal(0) is None
    assert front.refusal(0, also=[GLM <= 2]) is None
    assert front.refusal(0, also=[DistinctLDiversity("s") >= 2]) is not None
    assert front.refusal(0, "drop", [DistinctLDiversity("s") >= 2]) is None


def test_numbers_of_a_column_have_the_decimals_of_the_finite_ones():
    assert texts_of(np.array([0.25, 1.0, np.inf])) == ["0.2500", "1.0000", "inf"]
    assert texts_of(np.array([0.25, 1000.0])) == ["0.2", "1,000.0"]
    assert texts_of(np.array([np.inf])) == ["inf"]
    assert texts_of(np.empty(0)) == []


def test_shortfalls_count_in_logarithms_what_spans_more_than_two_decades():
    np.testing.assert_allclose(shortfalls([[1], [10], [1000]], [True])[:, 0], [1, 2 / 3, 0])
    np.testing.assert_allclose(shortfalls([[1], [50.5], [100]], [True])[:, 0], [1, 0.5, 0])
    np.testing.assert_allclose(shortfalls([[2], [101], [200]], [True])[:, 0], [1, 0.5, 0])
    np.testing.assert_allclose(shortfalls([[0], [500], [1000]], [False])[:, 0], [0, 0.5, 1])


def test_shortfalls_of_infinite_values_are_the_ends():
    np.testing.assert_array_equal(shortfalls([[np.inf], [1], [3]], [False])[:, 0], [1, 0, 1])
    np.testing.assert_array_equal(shortfalls([[np.inf], [1], [3], [-np.inf]], [True])[:, 0], [0, 1, 0, 1])
    np.testing.assert_array_equal(shortfalls([[2], [2]], [True])[:, 0], [0, 0])
    np.testing.assert_array_equal(shortfalls([[np.inf], [np.inf]], [False])[:, 0], [1, 1])


@given(st.lists(st.tuples(*[st.integers(1, 5)] * 3), min_size=1, max_size=9), st.tuples(*[st.booleans()] * 3))
def test_steadiness_is_the_least_loss_for_a_gain_over_all_steps(rows, maximize):
    values = np.array(rows, dtype=float)
    short = shortfalls(values, maximize)
    for row, found in enumerate(steadiness(values, maximize)):
        expected = np.inf
        others = next_better(minimised(values, maximize), short)[row]
        for other in others[others >= 0]:
            gain = sum(max(short[row, j] - short[other, j], 0) for j in range(3))
            loss = sum(max(short[other, j] - short[row, j], 0) for j in range(3))
            expected = min(expected, loss / gain)
        assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("ks", "losses", "knee"),
    [
        # A bend towards the ideal, and one in a front that bends away from it.
        ([2, 18, 20], [0, 1, 10], 1),
        ([10, 20, 60, 70, 80], [0, 40, 45, 85, 95], 2),
    ],
)
def test_from_a_knee_every_step_costs_much(ks, losses, knee):
    values = np.column_stack([ks, losses])
    assert np.argmax(steadiness(values, [True, False])[1:-1]) + 1 == knee


def test_an_end_of_a_front_is_no_knee():
    values = [[2, 1], [3, 5], [4, 6], [7, 9]]
    assert np.argmax(steadiness(values, [True, False])) == 0
    assert knee_of(values, [True, False]) == 2


def test_the_knee_of_a_long_front_is_found_by_sorting():
    """Compare no pairs of points, in a loop or at once."""
    x = np.linspace(0, 1, 100_000)
    values = np.column_stack([x, 1 - x**2, x % 0.3])
    knee, calls, peak = work_of(knee_of, values, [False] * 3)
    assert knee is not None
    assert calls < 1000
    assert peak < 20 * values.nbytes


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=12))
def test_the_first_of_rows(rows):
    values = np.array(rows)
    expected = min(range(len(rows)), key=lambda row: (rows[row], row))
    assert first_of(values) == expected
    assert first_of(values[:, 0], values[:, 1:]) == expected


def test_a_step_leads_to_the_point_that_costs_least():
    # The third point is best in sum, as its k is so great.
    values = [[1, 5, 10], [2, 9, 15], [2, 5000, 55], [3, 4, 100]]
    steps = next_steps(["l", "k", "GLM"], values, [True, True, False], 0)
    assert [(step.better_in, step.row) for step in steps] == [("l", 1), ("k", 1)]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10), st.data())
def test_the_next_better_points(rows, data):
    values = np.array(rows, dtype=float)
    maximize = data.draw(st.tuples(*[st.booleans()] * 3))
    short = shortfalls(values, maximize)
    expected = np.full(values.shape, -1)
    for row, j in product(range(len(rows)), range(3)):
        sign = -1 if maximize[j] else 1
        better = [r for r in range(len(rows)) if sign * values[r, j] < sign * values[row, j]]
        if better:
            others = [i for i in range(3) if i != j]
            costs = values * np.where(maximize, -1, 1)
            expected[row, j] = min(
                better,
                key=lambda r: (-sign * values[r, j], short[r][others].sum(), *costs[r], r),
            )
    assert next_better(minimised(values, maximize), short).tolist() == expected.tolist()
