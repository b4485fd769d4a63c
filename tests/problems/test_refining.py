"""Refinement of small lattices, which loses less at equal protection, and advice on points that lose less."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import run
from hypothesis import given
from hypothesis import strategies as st
from persons_of_a_report import subject_of
from recodings import small_blocks
from strategies import times

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem, refine
from pymoo_anon.problems import less_lost as room
from pymoo_anon.problems.arguments import RefinementError
from pymoo_anon.problems.less_lost import less_lost
from pymoo_anon.publishing import release
from pymoo_anon.publishing.report.subject import Subject
from pymoo_anon.publishing.report.values import usefulness
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Violating
from pymoo_anon.testing import small_problems

GOALS = [KAnonymity(), GeneralLossMetric()]
HELD = [
    DistinctLDiversity("occupation"),
    EntropyLDiversity("occupation"),
    AlphaDeassociation("occupation"),
    TCloseness("occupation"),
]


@pytest.fixture(scope="module")
def census():
    return make_census(250)


def value_sets(hierarchy, nodes):
    """Return the values of each node."""
    places = hierarchy.nodes.order
    return [
        set(np.flatnonzero((places >= hierarchy.nodes.first[n]) & (places < hierarchy.nodes.stop[n]))) for n in nodes
    ]


def check(problem, x, method="bottom-up"):
    """Check a refinement by sets, and return class numbers before and after."""
    table, made = problem.table, refine(problem, x, method)
    before, after = problem.equivalence_classes(x), table.equivalence_classes(made)
    groups, gone = problem.decode(x).groups, before.suppressed[before.class_of[0]]
    for j, (name, hierarchy) in enumerate(table.quasi_identifiers.items()):
        cells = value_sets(hierarchy, made.cells[:, j])
        for place, own in enumerate(cells):
            code = table.tuples.codes[place, j]
            assert code in own
            # A suppressed cell stood for all values.
            assert gone[place] or own <= set(np.flatnonzero(groups[name] == groups[name][code]))
    for measure in problem.measured:
        old, new = (float(measure.evaluate(own)[0]) for own in (before, after))
        if measure.worst_class or measure == GeneralLossMetric():
            assert new >= old if measure.maximize else new <= old, measure
    assert after.n_suppressed[0] <= before.n_suppressed[0]
    return len(before.sizes), len(after.sizes)


@given(st.data())
def test_no_cell_is_coarser_and_nobody_less_protected(data):
    rule = data.draw(st.sampled_from([0, 0.05, 0.3, Below(3)]))
    problem = LatticeProblem(make_census(120), [*GOALS, *HELD], rule)
    x = np.array([data.draw(st.integers(0, most)) for most in problem.lengths.tolist()])
    check(problem, x, data.draw(st.sampled_from(["bottom-up", "top-down"])))


@pytest.mark.parametrize("method", ["bottom-up", "top-down"])
def test_classes_are_divided_and_lose_far_less(census, method):
    problem = LatticeProblem(census, GOALS, 0.02)
    front = problem.front(problem.pareto_set())
    choice = front.choose(require=[KAnonymity() >= 5])
    n_before, n_after = check(problem, choice.x, method)
    assert n_after > 1.2 * n_before
    after = census.equivalence_classes(refine(problem, choice.x, method))
    assert GeneralLossMetric().evaluate(after)[0] < 0.7 * choice.values["GLM"]


def test_suppressed_rows_that_are_too_few_stay_so():
    frame = pd.DataFrame({"q": [0] * 6 + [1] * 6 + [2], "s": [*"abcabcabcabc", "a"]})
    table = Microdata.from_frame(frame, {"q": Hierarchy.flat(range(4))}, sensitive="s")
    problem = LatticeProblem(table, GOALS, Below(2))
    made = refine(problem, [0])
    after = table.equivalence_classes(made)
    assert after.n_suppressed.tolist() == [1]
    assert KAnonymity().evaluate(after).tolist() == [6]
    assert GeneralLossMetric().evaluate(after).tolist() == [1]


def test_suppressed_rows_that_are_enough_are_released():
    values = [0] * 6 + [1] * 6 + [2, 2, 3, 3, 4, 4]
    pairs = Hierarchy([list(range(6)), ["01", "01", "2-4", "2-4", "2-4", "5"], ["*"] * 6])
    table = Microdata.from_frame(pd.DataFrame({"q": values}), {"q": pairs})
    problem = LatticeProblem(table, GOALS, Below(6))
    after = table.equivalence_classes(refine(problem, [0]))
    assert problem.equivalence_classes([0]).n_suppressed.tolist() == [6]
    assert after.n_suppressed.tolist() == [0]
    assert sorted(after.sizes.tolist()) == [6, 6, 6]
    # Six cells of three of six values.
    assert GeneralLossMetric().evaluate(after).tolist() == [6 * 2 / 5]
    # Together they need level 1 of one column, which may not have it, and none of the other.
    two = Microdata.from_frame(pd.DataFrame({"q": values, "p": 0}), {"q": pairs, "p": Hierarchy.flat([0, 1])})
    within = LatticeProblem(two, GOALS, Below(6), levels={"q": (0, 0)})
    assert two.equivalence_classes(refine(within, [0, 0])).n_suppressed.tolist() == [6]


def test_what_violates_is_released_where_it_holds_together(census):
    problem = LatticeProblem(census, GOALS, Violating(0.4), [KAnonymity() >= 8])
    front = problem.front(problem.pareto_set())
    choice = front.choose(best=GeneralLossMetric())
    assert choice.n_suppressed >= 8
    check(problem, choice.x)
    assert census.equivalence_classes(refine(problem, choice.x)).n_suppressed.tolist() == [0]


def test_strings_of_taxonomies_are_refined():
    problem = small_problems(BitStringProblem)["two objectives"]
    made = refine(problem, np.zeros(problem.n_var, dtype=bool))
    assert problem.table.equivalence_classes(made).sizes.min() >= 40


def test_a_bound_on_the_mean_risk_that_breaks_is_told(census):
    problem = LatticeProblem(census, GOALS, constraints=[MarketerRisk() <= 2 / 250])
    x = problem.lengths.copy()
    x[list(census.quasi_identifiers).index("salary-class")] = 0
    with pytest.raises(RefinementError, match=r"^refine would raise marketer risk from 0\.008 to 0\.0\d+;"):
        refine(problem, x)


def test_a_column_of_one_value_is_refined():
    frame = pd.DataFrame({"p": ["a"] * 6, "q": [0, 0, 1, 1, 3, 3]})
    table = Microdata.from_frame(frame, {"p": Hierarchy([["a"]]), "q": Hierarchy.intervals(0, 4, [2])})
    made = refine(LatticeProblem(table, GOALS), [0, 2])
    assert sorted(table.equivalence_classes(made).sizes.tolist()) == [6]
    made = refine(LatticeProblem(table, [*GOALS], 0), [0, 0])
    assert sorted(table.equivalence_classes(made).sizes.tolist()) == [2, 2, 2]


QUASI = {"a": Hierarchy.intervals(0, 16, [2, 4, 8]), "b": Hierarchy.intervals(0, 4, [2]), "c": Hierarchy.flat([0, 1])}
PERSONS, KNOWN = KAnonymity(person="p"), KAnonymity(known=[["a", "b"], ["b", "c"]])


def drawn(seed):
    """Draw a frame, a problem with person measures if needed, and points."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    several = seed % 5 < 2
    frame = pd.DataFrame(
        {
            **{name: rng.integers(0, len(own.domain), n) for name, own in QUASI.items()},
            "s": rng.choice([*"abcd"], n),
            "p": rng.integers(0, max(2, n // 4), n) if several else np.arange(n),
        }
    )
    if seed % 2:
        # Rows of one person are alike.
        frame[[*QUASI]] = frame.groupby("p")[[*QUASI]].transform("first")
    table = Microdata.from_frame(frame, QUASI, "s", person="p")
    goals = [PERSONS if several else KAnonymity(), GeneralLossMetric()]
    others = [
        DistinctLDiversity(),
        TCloseness("s"),
        EntropyLDiversity("s"),
        MarketerRisk(),
        KNOWN,
        DeltaDisclosure("s"),
    ]
    goals += [one for one in others if rng.random() < 0.4]
    bounds = [PERSONS >= 2, DistinctLDiversity("s") >= 2, TCloseness("s") <= 0.4, KNOWN >= 3, MarketerRisk() <= 0.3]
    constraints = [one for one in bounds if rng.random() < 0.3]
    rules = [AtMost(0)]
    if KNOWN not in [*goals, *(one.objective for one in constraints)]:
        rules += [AtMost(0.1), Below(3)]
    if any(one.speaks_of_classes for one in constraints):
        rules.append(Violating(0.3))
    problem = LatticeProblem(table, goals, rules[seed % len(rules)], constraints)
    return frame, problem, [rng.integers(0, problem.lengths + 1) for _ in range(4)]


def test_all_that_a_point_promises_stays_or_the_refinement_is_refused():
    """Cover large and wide tables by shrinking the blocks."""
    n_refined, refused = 0, []
    for seed in range(times(20)):
        _, problem, points = drawn(seed)
        table = problem.table
        for number, x in enumerate(points):
            before = problem.equivalence_classes(x)
            with small_blocks(int(3 + seed % 9), (0, 1, 4, 1000)[number], 1 + seed % 7):
                try:
                    check(problem, x)
                except RefinementError as error:
                    refused.append(str(error))
                    continue
                after = table.equivalence_classes(refine(problem, x), 0, problem.constraints)
            n_refined += 1
            for one in problem.constraints:
                if one.keeps(one.objective.evaluate(before))[0]:
                    assert one.keeps(one.objective.evaluate(after))[0], one
    # No kernel knows a test of these.
    assert {error.partition(" from ")[0].split("would ")[1] for error in refused} == {
        "lower k (a, b | b, c)",
        "raise delta",
        "raise marketer risk",
    }
    assert n_refined > 2 * len(refused)


def test_claims_of_a_refined_release_promise_what_the_point_holds():
    for seed in range(times(3)):
        frame, problem, points = drawn(seed)
        for x in points:
            classes = problem.equivalence_classes(x)
            if not classes.kept.any():
                continue
            try:
                made = release(frame, problem, x, recoding="local", suppressed="drop", anyway="it is only a test")
            except RefinementError:
                continue
            for measure, claim in zip(problem.measured, made.claims.itertuples(), strict=True):
                value = float(measure.evaluate(classes)[0])
                # More classes have a greater mean risk.
                assert claim.promised == pytest.approx(claim.recounted if measure == MarketerRisk() else value)
                assert claim.holds is True


def test_what_a_choice_required_stays_though_the_problem_does_not_measure_it():
    # All rows of a value are of one person.
    values = np.repeat(np.arange(32), [12] * 24 + [2] * 8)
    frame = pd.DataFrame({"q": values, "s": np.resize([*"abcdef"], len(values)), "p": values})
    table = Microdata.from_frame(frame, {"q": Hierarchy.intervals(0, 32, [2, 4, 8, 16])}, "s", person="p")
    problem = LatticeProblem(table, GOALS)
    required = [PERSONS >= 5, DistinctLDiversity("s") >= 4]
    choice = problem.front([[3]]).choose(row=0, require=required)
    after = table.equivalence_classes(refine(problem, choice))
    assert [one.keeps(one.objective.evaluate(after)).tolist() for one in required] == [[True], [True]]
    assert PERSONS.evaluate(table.equivalence_classes(refine(problem, choice.x))).tolist() == [2]
    assert PERSONS.evaluate(after).tolist() == [8]
    made = release(frame, problem, choice, recoding="local", keep=[])
    assert made.claims.holds.tolist() == [True] * 4


def test_classes_of_which_one_value_decides_stay_as_fine_as_at_the_point():
    """Keep both classes apart although rounding leaves their common entropy undecided."""
    frame = pd.DataFrame({"q": [0, 0, 0, 1, 1, 1], "s": [*"aab"] * 2})
    table = Microdata.from_frame(frame, {"q": Hierarchy.flat([0, 1])}, "s")
    problem = LatticeProblem(table, [EntropyLDiversity("s"), GeneralLossMetric()])
    assert check(problem, [0]) == (2, 2)


def test_a_refinement_is_made_anew_for_another_point_requirement_and_method(census, monkeypatch):
    problem = LatticeProblem(census, GOALS)
    points = [[6, 3, 3, 3, 1, 0, 4, 0], [6, 3, 3, 2, 1, 1, 4, 1]]
    front = problem.front(points[:1])
    choices = [front.choose(row=0), front.choose(row=0, require=[DistinctLDiversity("occupation") >= 1])]
    asked = [(one, method) for one in (*points, *choices) for method in ("bottom-up", "top-down")]
    alone = [refine(problem.fresh_copy(), *one) for one in asked]
    assert [refine(problem, *one) for one in (*asked, *asked[::-1])] == [*alone, *alone[::-1]]
    assert refine(problem, *asked[0]) is refine(problem, *asked[0])

    class Shared(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, (None, alone[-1]))  # Another thread is as quick.

    monkeypatch.setattr("pymoo_anon.problems.refining._LAST_REFINEMENT", Shared())
    assert refine(problem, *asked[0]) == alone[0] != alone[-1]
    assert len({made.nodes.tobytes() for made in alone}) > 2


@pytest.fixture(scope="module")
def front():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 64, 600) ** 2 // 64,
            "zip": rng.integers(0, 64, 600) ** 2 // 64,
            "ill": rng.choice([*"aaaabbcd"], 600),
        }
    )
    tree = Hierarchy.intervals(0, 64, widths=[4, 16])
    table = Microdata.from_frame(frame, {"age": tree, "zip": tree}, sensitive="ill")
    problem = LatticeProblem(table, [KAnonymity(), DistinctLDiversity(), GeneralLossMetric()])
    return problem.front(problem.pareto_set()).sorted()


def shares(front):
    return front.values(GeneralLossMetric()) / (600 * 2)


def test_every_figure_is_what_is_there(front):
    choice = front.choose(require=[KAnonymity() >= 20])
    lost = shares(front)[choice.row]
    assert lost > 0.4
    text = less_lost(front, choice, "mark")
    found = re.fullmatch(
        r"(\d+) % lost\. Less: release --local \((\d+) %\), k = (\d+) in place of the required 20 "
        r"\(row (\d+), (\d+) %\), without .*",
        text,
    )
    assert less_lost(front, front.choose(row=choice.row), "mark") == text.replace(" in place of the required 20", "")
    own, local, k, row, smaller = map(int, found.groups())
    assert own == round(100 * lost)
    made = front.table.equivalence_classes(refine(front.problem, np.array(choice.x)))
    assert local == round(100 * GeneralLossMetric().evaluate(made)[0] / 1200)
    # The hint is the greatest smaller k that saves a tenth of the loss.
    fitting = [
        p for p in range(len(front)) if shares(front)[p] < 0.9 * lost and front.natural[p, 0] < choice.values["k"]
    ]
    best = max(fitting, key=lambda place: front.natural[place, 0])
    assert (row, k, smaller) == (best + 1, front.natural[best, 0], round(100 * shares(front)[best]))


def test_what_else_is_required_holds_of_a_smaller_k(front):
    assert front.values(DistinctLDiversity())[1:3].tolist() == [4, 3]
    for least, row in ((3, "3"), (4, None)):
        choice = front.choose(require=[KAnonymity() >= 20, DistinctLDiversity() >= least])
        found = re.search(r"row (\d+)", less_lost(front, choice, "mark"))
        assert (found and found[1]) == row


def test_the_column_that_costs_most_is_named(front):
    choice = next(
        front.choose(row=int(row)) for row, x in zip(front.rows, front.X, strict=True) if x[0] + 1 < x[1] == 3
    )
    assert less_lost(front, choice, "mark").endswith("without zip (-50 %).")


def test_little_loss_needs_no_advice(front):
    few = front.choose(row=int(front.rows[shares(front) < 0.4][0]))
    assert less_lost(front, few, "mark") == ""


def test_no_smaller_k_is_advised_where_k_or_the_loss_is_no_objective(front):
    for goals in ([DistinctLDiversity(), GeneralLossMetric()], [KAnonymity(), DistinctLDiversity()]):
        problem = LatticeProblem(front.table, goals)
        own = problem.front(np.array([[3, 3], [0, 0]]))
        text = less_lost(own, own.choose(row=0), "mark")
        assert ("without " in text, "k = " in text) == (True, False)


def test_a_large_table_is_not_refined_for_a_figure(front, monkeypatch):
    monkeypatch.setattr(room, "_MOST_REFINED", 10)
    text = less_lost(front, front.choose(require=[KAnonymity() >= 20]), "mark")
    assert "Less: release --local, " in text


def test_a_local_recoding_is_no_advice_for_one(front):
    problem = LocalRecodingProblem(front.table, [KAnonymity(), GeneralLossMetric()])
    own = problem.front(np.array([problem.x_of(600), problem.x_of(20)])).sorted()
    text = less_lost(own, own.choose(require=[KAnonymity() >= 600]), "mark")
    assert text.startswith("100 % lost. Less: k = ")
    assert "--local" not in text


def test_pick_and_release_say_it(folder):
    rng = np.random.default_rng(1)
    rows = zip(
        20 + rng.integers(0, 70, 400) ** 2 // 70,
        rng.choice([*"FM"], 400),
        rng.choice(["flu", "cold"], 400),
        strict=True,
    )
    Path("mine.csv").write_text("age,sex,ill\n" + "".join(f"{age},{sex},{ill}\n" for age, sex, ill in rows))
    run("init", "mine.csv", "--role", "ill=sensitive")
    searched = run("search", "mine.toml")
    picked = run("pick", "mine.toml", "--require", "k>=60", "--require", "l>=2")
    released = run("release", "mine.toml")
    assert re.search(r"\n\d+ % lost\. Less: .*without age \(-\d+ %\)\.\n", picked)
    assert picked.splitlines()[1] in released.splitlines()
    # With a dozen lines of `init`, a user reads no more than these.
    assert len(f"{searched}{picked}{released}".splitlines()) <= 17
    assert "lost. Less" not in run("release", "mine.toml", "--local", "--force")


@pytest.mark.parametrize(("x", "gone"), [([1, 0], " Wholly generalized: sex."), ([0, 0], "")])
def test_the_verdict_on_usefulness_names_columns_without_detail(x, gone):
    frame = pd.DataFrame({"sex": ["F", "M"] * 10, "age": list("aabbccddee") * 2})
    ways = {"sex": Hierarchy.flat(["F", "M"]), "age": Hierarchy.flat(list("abcde"))}
    front = LatticeProblem(Microdata.from_frame(frame, ways), [KAnonymity(), GeneralLossMetric()]).front([x])
    said = usefulness(subject_of(front))
    assert said.startswith("Good for counts: half are off by at most 0")
    assert said.endswith(f"of the detail is lost.{gone}")


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ([0.03, 0.6], "Good for counts: half are off by at most 3 %, nine in ten by 60 %."),
        ([0.03, 1.5], "Rough for counts"),
        ([0.2, 0.6], "Rough for counts"),
        ([0.03, 17.2], "Poor for counts: half are off by at most 3 %, nine in ten by "),
        ([0.4, 0.6], "Poor for counts"),
    ],
)
def test_counts_that_are_far_off_are_told(front, errors, said, monkeypatch):
    monkeypatch.setattr(Subject, "errors", lambda self, member: list(errors))
    assert usefulness(subject_of(front)).replace("\N{NO-BREAK SPACE}", " ").startswith(said)
