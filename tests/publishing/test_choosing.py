"""Choices of a point of a front: requirements, preferences and messages, and what explains them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pymoo.decomposition.asf import ASF
from raw_tables import raw_problem
from tasks import KINDS, invented, tasks

from pymoo_anon._messages import percent
from pymoo_anon.comparison import ClassSize, CountQueries, TupleUtility
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import (
    DistinctLDiversity,
    EnhancedBetaLikeness,
    GeneralLossMetric,
    KAnonymity,
    Precision,
    TCloseness,
)
from pymoo_anon.problems import BitStringProblem, LatticeProblem, risk_at_most
from pymoo_anon.problems.tradeoffs import next_steps, shortfalls, steadiness
from pymoo_anon.publishing import explain
from pymoo_anon.table import Below, Hierarchy, Microdata

K, L, T, GLM = KAnonymity(), DistinctLDiversity("s0"), TCloseness("s0"), GeneralLossMetric()

# Random tables have hierarchies without a root, too.
pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of")

PROBLEM = LatticeProblem(invented(1), [K, L, GLM], suppression=3)
FRONT = PROBLEM.pareto_set()
VALUES = PROBLEM.natural(PROBLEM.pareto_front())


def plain_best(problem, X, keep, key):
    """Return the kept row of least key, then objectives, then row."""
    F = problem.evaluate(X, return_values_of=["F"])
    rows = [row for row in range(len(X)) if keep(row)]
    return min(rows, key=lambda row: (key(row), *F[row], row))


def test_the_least_loss_of_those_that_satisfy_what_is_required():
    choice = PROBLEM.front(FRONT).choose(require=[K >= 5, L >= 3], best=GLM)
    row = plain_best(PROBLEM, FRONT, lambda r: VALUES[r, 0] >= 5 and VALUES[r, 1] >= 3, lambda r: VALUES[r, 2])
    assert choice.row == row
    assert choice.x == tuple(FRONT[row].tolist())
    assert all(type(level) is int for level in choice.x)
    assert choice.values == {"k": VALUES[row, 0], "l": VALUES[row, 1], "GLM": VALUES[row, 2]}
    assert [type(value) for value in choice.values.values()] == [int, int, float]
    assert choice.n_suppressed == PROBLEM.equivalence_classes(choice.x).n_suppressed[0]
    left = ((VALUES[:, 0] >= 5) & (VALUES[:, 1] >= 3)).sum()
    assert choice.reason == f"the least GLM of the {left} points with k >= 5 and l >= 3, of {len(FRONT)}"
    assert str(choice).startswith(f"k = {choice.values['k']}, l = ")
    assert str(choice).endswith(f" %): {choice.reason}")


def test_without_a_way_it_is_the_least_loss():
    assert PROBLEM.front(FRONT).choose(require=[K >= 5]) == PROBLEM.front(FRONT).choose(require=[K >= 5], best=GLM)
    assert PROBLEM.front(FRONT).choose().row == VALUES[:, 2].argmin()
    # Lower t is better as well, but the lowest gives no useful release.
    problem = LatticeProblem(invented(1), [T, Precision(), GLM])
    nodes = problem.nodes(0, problem.n_nodes)
    assert problem.front(nodes).choose().reason == "the greatest precision of all 625 points"


def test_a_loss_of_ones_own_class_is_a_loss():
    class Mine(GeneralLossMetric):
        name = "mine"

    assert LatticeProblem(invented(1), [K, Mine()]).front(FRONT).choose().reason.startswith("the least mine of")


def test_the_only_point_is_the_knee_and_loses_least():
    front = PROBLEM.front(FRONT[0])
    assert front.choose(knee=True).row == front.choose().row == 0
    assert front.choose().reason == "the least GLM of the front's only point"


def test_measures_that_are_no_objectives_are_measured():
    """Compare with a problem that has the measures as its objectives."""
    measures = [each for each in KINDS if each not in PROBLEM.objectives]
    problem = LatticeProblem(invented(1), [K, GLM], suppression=3, constraints=[L >= 2])
    front = problem.front(problem.nodes(0, problem.n_nodes)[1::3])
    other = LatticeProblem(invented(1), measures, suppression=3)
    for measure, values in zip(measures, other.natural(other.compute(front.X)).T, strict=True):
        np.testing.assert_array_equal(front.values(measure), values)
        best = values.max() if measure.maximize else values.min()
        assert best in front.choose(best=measure).values.values()


@given(tasks(), tasks(violating=True), st.data())
def test_any_choice_is_what_a_loop_over_all_points_finds(plainly, violating, data):
    task = data.draw(st.sampled_from([plainly, violating]))
    problem = task.problem
    X = problem.nodes(0, problem.n_nodes)
    F, G = (problem.evaluate(X, return_values_of=["F", "G"])) if problem.n_ieq_constr else (task.F, None)
    feasible = np.ones(len(X), dtype=bool) if G is None else (G <= 0).all(axis=1)
    measure = data.draw(st.sampled_from(problem.measured))
    values = problem.front(X).values(measure) if feasible.any() else np.empty(0)
    finite = values[np.isfinite(values)].tolist()
    assume(finite)
    edge = data.draw(st.sampled_from(finite))
    constraint = measure >= edge if data.draw(st.booleans()) else measure <= edge
    whole = np.full(len(X), np.nan)
    whole[feasible] = values
    keep = feasible & ((whole >= edge) if constraint.at_least else (whole <= edge))
    choice = problem.front(X).choose(require=[constraint], best=problem.objectives[0])
    assert choice.row == plain_best(problem, X, lambda row: keep[row], lambda row: F[row, 0])


# --- risk ---------------------------------------------------------------------------------------------------------


def test_every_risk_that_a_k_has_allows_that_k():
    """Check rounded decimals of 1 / k, and one step below them."""
    for k in range(1, 3000):
        assert risk_at_most(PROBLEM.table, 1 / k).bound == k
        assert risk_at_most(PROBLEM.table, float(np.nextafter(1 / k, 0))).bound == k + 1


def test_the_risk_of_persons_counts_persons():
    problem = raw_problem({"q": [0, 0, 0, 1, 1, 1], "who": [1, 1, 2, 3, 4, 5]}, person="who")
    # Three rows in each class, but two persons in one of them.
    assert problem.front([[0], [1]]).choose(risk=0.5).x == (0,)
    assert problem.front([[0], [1]]).choose(risk=0.34).x == (1,)
    assert problem.front([[0], [1]]).choose(risk=0.34).values["k in persons"] == 5


# --- knee and weights ---------------------------------------------------------------------------------------------


def test_the_knee_is_the_steadiest_point_that_is_the_worst_in_nothing():
    choice = PROBLEM.front(FRONT).choose(knee=True)
    worst = [*VALUES[:, :2].min(axis=0), VALUES[:, 2].max()]
    inner = np.flatnonzero((worst != VALUES).all(axis=1))
    steady = steadiness(VALUES, [True, True, False])
    assert choice.row == plain_best(PROBLEM, FRONT, lambda row: row in inner, lambda row: -steady[row])
    assert choice.reason == f"the knee of all {len(FRONT)} points"


def test_the_knee_is_of_what_is_left():
    ks = sorted(VALUES[:, 0])
    least = float(ks[len(ks) // 2]) <= K
    choice = PROBLEM.front(FRONT).choose(require=[least], knee=True)
    left = VALUES[:, 0] >= least.bound
    assert choice.x == PROBLEM.front(FRONT[left]).choose(knee=True).x


@pytest.mark.parametrize("weights", [{K: 1, GLM: 2}, {K: 1, L: 1, GLM: 1}, {L: 3, GLM: 1}, {GLM: 1}, {T: 1, GLM: 4}])
def test_weights_are_an_achievement_function(weights):
    """Check pymoo's achievement function, which divides by its weights."""
    choice = PROBLEM.front(FRONT).choose(weights=weights)
    values = np.column_stack([PROBLEM.front(FRONT).values(measure) for measure in weights])
    short = shortfalls(values, [measure.maximize for measure in weights])
    achieved = ASF().do(short, 1 / np.array(list(weights.values()), dtype=float))
    assert achieved[choice.row] == pytest.approx(achieved.min())


def test_what_weights_say():
    choice = PROBLEM.front(FRONT).choose(require=[K >= 2], weights={K: 1, GLM: 2.5})
    left = (VALUES[:, 0] >= 2).sum()
    expected = f"the least weighted shortfall by k = 1 and GLM = 2.5 of the {left} points with k >= 2, of {len(FRONT)}"
    assert choice.reason == expected


# --- refusals -----------------------------------------------------------------------------------------------------


def test_where_nothing_satisfies_the_nearest_is_named_whatever_the_units():
    """Sum each bound's miss as a share of its largest miss: a loss is missed by hundreds, and an l by few."""
    k, diversity, loss = VALUES.T
    missed_l, missed_loss = np.maximum(5 - diversity, 0), loss + 1
    nearest = np.argmin(missed_l / missed_l.max() + missed_loss / missed_loss.max())
    assert nearest != np.argmin(missed_l + missed_loss)
    share = loss[nearest] / (PROBLEM.table.n_rows * PROBLEM.n_var)
    has = f"l = {diversity[nearest]:.0f}, GLM = {loss[nearest]:.6g} ({100 * share:.1f} %) and k = {k[nearest]:.0f}"
    with pytest.raises(ValueError) as caught:
        PROBLEM.front(FRONT).choose(require=[L >= 5, GLM <= -1])
    assert str(caught.value) == f"no point of the front's {len(FRONT)} has l >= 5 and GLM <= -1; the nearest has {has}"


def test_the_nearest_of_infinite_values():
    problem = LatticeProblem(invented(1), [K, GLM])
    beta = EnhancedBetaLikeness("s0")
    values = problem.front(problem.pareto_set()).values(beta)
    assert np.isinf(values).any()
    with pytest.raises(ValueError, match="the nearest has enhanced beta = 0, k = 60"):
        problem.front(problem.pareto_set()).choose(require=[beta <= 0.5, K >= 61])


# Ages are grouped in tens and twenties. One of six people is alone in the first ten years.
FRAME = pd.DataFrame({"age": [5, 12, 15, 22, 27, 28], "sex": list("FFFMMM")})
HIERARCHIES = {"age": Hierarchy.intervals(0, 40, widths=[10, 20]), "sex": Hierarchy.flat(["F", "M", "X"])}


def problem_of(frame=FRAME, suppression=0, **roles):
    return LatticeProblem(Microdata.from_frame(frame, HIERARCHIES, **roles), [K, GLM], suppression)


def test_counts_are_those_of_what_becomes_of_suppressed_rows():
    census = make_census(1000)
    problem = LatticeProblem(census, [K, GLM], suppression=0.2)
    X = problem.pareto_set()
    choice = problem.front(X).choose(row=1)
    assert choice.n_suppressed > 0
    half = set()
    for how in ("mark", "drop"):
        (found,) = CountQueries(census).summary({0: problem.equivalence_classes(choice.x)}, how)["median"]
        said = explain(problem, X, choice, suppressed=how).utility[0]
        assert f"half are at most {percent(found)} off" in said
        half.add(said)
    assert len(half) == 2


def test_the_text_has_its_parts_in_turn():
    problem = problem_of()
    X = [[0, 0], [1, 0], [2, 0], [3, 1]]
    lines = str(explain(problem, X, problem.front(X).choose(row=1))).splitlines()
    assert [line for line in lines if line[0] != " "] == [
        *("Levels:", "Suppressed:", "Still good for:", "The next better ones:", "The people:")
    ]
    assert {
        "  age: level 1 of 3, 3 groups such as 20–29, 10–19 and 0–9",
        "  Of 1,000 random counts, such as that of people with age 10 to 39, half are at most 0 % off, and nine in "
        "ten at most 40.0 %.",
        "  With k = 3, half are at most 5.0 % off, and nine in ten at most 55.0 %.",
        "  k = 3 costs 1.53846 of GLM (12.8 %)",
        "  GLM = 0 (0 %) costs nothing",
        "  By age, from 0 % of 20–29 to 100 % of 0–9 would stand in a larger class.",
    } <= set(lines)


@pytest.mark.parametrize(
    ("x", "options", "suppressed", "worst"),
    [
        ([2, 0], {}, "none of 6 people", "6 of 6 people (100.0 %), in 2 classes of 3"),
        ([3, 1], {}, "none of 6 people", "6 of 6 people (100.0 %), in a class of 6"),
        (
            [1, 0],
            {"suppression": 1},
            "1 of 6 people (16.7 %)",
            "the suppressed, 1 of 6 people (16.7 %), a class of their own",
        ),
        # Rows are no people where a person may have several.
        ([2, 0], {"person": "who"}, "none of 6 rows", "6 of 6 rows (100.0 %), in 2 classes of 3"),
    ],
)
def test_who_is_suppressed_and_who_is_worst_off(x, options, suppressed, worst):
    problem = problem_of(FRAME.assign(who=[1, 1, 1, 2, 2, 2]), **options)
    explanation = explain(problem, [x], problem.front([x]).choose())
    assert (explanation.suppressed, explanation.people) == (suppressed, (f"Worst off are {worst}.",))
    assert explanation.steps == ()
    assert "  No point is better in anything." in str(explanation)


def test_everybody_has_the_label_of_a_single_group():
    problem = problem_of()
    explanation = explain(problem, [[3, 1]], problem.front([[3, 1]]).choose())
    assert explanation.levels == ("age: level 3 of 3, everybody has *", "sex: level 1 of 1, everybody has *")


def test_labels_of_suppressed_rows_alone_are_not_told():
    problem = raw_problem({"n": list("aabbc")}, suppression=Below(2))
    explanation = explain(problem, [[0]], problem.front([[0]]).choose())
    assert explanation.levels == ("n: level 0 of 1, 2 groups such as a and b",)
    nothing = raw_problem({"n": list("ab")}, suppression=Below(2))
    explanation = explain(nothing, [[0]], nothing.front([[0]]).choose())
    assert explanation.levels == ("n: level 0 of 1, everybody has *",)


def test_suppressed_rows_that_are_left_out_are_no_class():
    problem = problem_of(suppression=1)
    explanation = explain(problem, [[1, 0]], problem.front([[1, 0]]).choose(), suppressed="drop")
    assert explanation.people == ("Worst off are the suppressed, 1 of 6 people (16.7 %), left out.",)


def test_classes_of_as_many_people_as_are_suppressed_are_not_those():
    problem = raw_problem({"n": list("abcdeeffggg")}, suppression=Below(2))
    choice = problem.front([[0]]).choose()
    assert choice.n_suppressed == 4
    assert explain(problem, [[0]], choice).people == ("Worst off are 4 of 11 people (36.4 %), in 2 classes of 2.",)


def test_names_and_labels_stay_in_one_line():
    problem = raw_problem({"zip\ncode": ["a\tb", "c"], "n": [1, 2]})
    explanation = explain(problem, [[0, 0], [1, 1]], problem.front([[0, 0], [1, 1]]).choose())
    assert explanation.levels[0] == r"zip\ncode: level 0 of 1, 2 values such as a\tb and c"
    assert all(line.isprintable() for line in [*explanation.levels, *explanation.people])


@pytest.mark.parametrize("row", range(0, 30, 7))
def test_the_people_are_counted_one_by_one(row):
    """Recount every number of a verdict from vectors, row by row."""
    problem = LatticeProblem(invented(3), [K, L, GLM], suppression=2)
    X = problem.pareto_set()
    choice = problem.front(X).choose(row=row % len(X))
    explanation = explain(problem, X, choice)
    text = "\n".join(explanation.people)
    for step in explanation.steps:
        old, new = (problem.equivalence_classes(X[each]) for each in (choice.row, step.row))
        sizes = [ClassSize().measure(each).expand() for each in (old, new)]
        kept = [TupleUtility().measure(each).expand() for each in (old, new)]
        larger, smaller = (sizes[1] > sizes[0]).sum(), (sizes[1] < sizes[0]).sum()
        more, less = (kept[1] > kept[0]).sum(), (kept[1] < kept[0]).sum()
        mean = (sizes[1] - sizes[0]).mean()
        start = f"{larger} of 60 people ({100 * larger / 60:.1f} %)" if larger else "none of 60 people"
        size = f"{abs(mean):.1f}".removesuffix(".0")
        assert (
            f"{start} would stand in a larger class and {smaller} in a smaller one, of {size} "
            f"{'more' if mean >= 0 else 'fewer'} on average; {more} would keep more of their information "
            f"and {less} less."
        ) in text


def test_the_steps_lead_to_rows_of_the_result_also_where_some_break_a_constraint():
    problem = LatticeProblem(invented(1), [K, GLM], constraints=[K >= 4])
    X = problem.nodes(0, problem.n_nodes)
    for step in explain(problem, X, problem.front(X).choose()).steps:
        values = problem.natural(problem.evaluate(X[[step.row]], return_values_of=["F"]))[0]
        assert dict(step.values) == dict(zip(["k", "GLM"], values.tolist(), strict=True))


def test_two_measures_of_one_name_are_told_apart():
    problem = LatticeProblem(invented(1), [DistinctLDiversity("s0"), DistinctLDiversity("s1"), GLM])
    front = problem.front(problem.pareto_set())
    assert [step.better_in for step in explain(problem, front, front.choose()).steps] == ["l of s0", "l of s1"]


def test_steps_of_infinite_values():
    [step] = next_steps(["beta", "k"], [[np.inf, 2], [np.inf, 5]], [False, True], 0)
    assert dict(step.gains) == {"beta": 0, "k": 3}
    assert str(step) == "k = 5 costs nothing"
    worse, better = next_steps(["beta", "k"], [[1, 2], [np.inf, 5], [0, 1]], [False, True], 0)
    assert str(better) == "k = 5 costs infinity of beta"
    assert str(worse) == "beta = 0 costs 1 of k"


def test_bit_strings_have_no_levels():
    problem = BitStringProblem(make_census(100), [K, GLM])
    X = np.zeros((1, problem.n_var), dtype=bool)
    explanation = explain(problem, X, problem.front(X).choose())
    assert len(explanation.levels) == 8
    assert not any("level" in line for line in explanation.levels)
