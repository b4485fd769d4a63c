"""Choices in words: levels, suppressed rows, next better points and people."""

import numpy as np
import pandas as pd
import pytest
from raw_tables import raw_problem
from tasks import invented

from pymoo_anon._messages import percent
from pymoo_anon.comparison import ClassSize, CountQueries, TupleUtility
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.problems.tradeoffs import next_steps
from pymoo_anon.publishing import explain
from pymoo_anon.table import Below, Hierarchy, Microdata

K, L, GLM = KAnonymity(), DistinctLDiversity("s0"), GeneralLossMetric()

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
