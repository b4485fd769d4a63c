"""Local recodings inside a coarser release, and ladders of them."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import fewer, nodes, policies, rule_of, tables

from pymoo_anon.algorithms import TargetSweep
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem, LocalRecodingProblem, joint, ladder, ladders
from pymoo_anon.table import Hierarchy, Microdata, Violating

GOALS = [KAnonymity(), GeneralLossMetric()]
WAYS = ("bottom-up", "top-down", "mondrian", "mondrian-relaxed")


@fewer(1)
@given(data=st.data(), table=tables(max_rows=40, rooted=True), method=st.sampled_from(WAYS))
def test_classes_lie_in_those_of_the_coarser_release(data, table, method):
    coarse = LatticeProblem(table.microdata, GOALS, rule_of(data.draw(policies(table))))
    first = coarse, np.array(data.draw(nodes(table)))
    k, structure = data.draw(st.integers(1, 6)), data.draw(st.sampled_from(["sizes", "direct"]))
    problem = LocalRecodingProblem(
        table.microdata,
        GOALS,
        method=method,
        structure=structure,
        n_improvements=data.draw(st.sampled_from([0, 3])),
        within=first,
    )
    x = problem.x_of(min(k, len(table.frame)))
    classes = coarse.equivalence_classes(first[1])
    of_row = table.tuple_of_row
    # The suppressed rows are one class of the first release.
    public = np.where(classes.kept, np.arange(len(classes.sizes)), -1)[classes.class_of[0]][of_row]
    own = joint([first, (problem, x)]).class_of[0][of_row]
    rows = pd.DataFrame({"public": public, "both": own, "own": problem.decode(x).class_of[of_row]})
    sizes = rows.groupby("public").size()
    # A class too small for the target stays whole, and all parts of the others reach it.
    for one, part in rows.groupby("public"):
        assert part.groupby("both").size().min() >= min(sizes[one], k)
    assert rows.groupby("both").public.nunique().max() == 1


def test_constraints_hold_for_whoever_has_both():
    table = make_census(400)
    column = table.sensitive[0]
    bounds = [KAnonymity() >= 5, DistinctLDiversity(column) >= 3]
    public = LocalRecodingProblem(table, GOALS, [KAnonymity() >= 40, DistinctLDiversity(column) >= 3])
    first = public.front([public.x_of(40)]).choose(row=0)
    alone, inside = (LocalRecodingProblem(table, GOALS, bounds, within=one) for one in (None, first))
    for problem, holds in ((alone, False), (inside, True)):
        both = joint([first, problem.front([problem.x_of(5)]).choose(row=0)])
        assert holds == all(one.keeps(one.objective.evaluate(both)).all() for one in bounds)
    least, most = (float(problem.measure(problem.x_of(5)[None])[0, 1]) for problem in (alone, inside))
    assert least < most < 1.3 * least
    assert alone.space_fingerprint != inside.space_fingerprint


def test_each_release_of_a_ladder_is_inside_the_one_before():
    problem = LocalRecodingProblem(make_census(1000), GOALS)
    tiers = ladder(problem, [100, 25, 5])
    assert [one.values["k"] >= k for one, k in zip(tiers, (100, 25, 5), strict=True)] == [True] * 3
    for n, least in ((1, 100), (2, 25), (3, 5)):
        assert KAnonymity().evaluate(joint(tiers[:n])) >= least
    for i in (1, 2):
        both, fine = joint(tiers[i - 1 : i + 1]), joint(tiers[i : i + 1])
        # Two classes of one release with equal cells are one, and two in both releases.
        assert len(fine.sizes) <= len(both.sizes) <= 1.02 * len(fine.sizes)
    first = problem.x_of(100)
    assert tiers[0].values["GLM"] == problem.measure(first[None])[0, 1]


def test_kept_classes_stay_whole_in_the_first_release():
    problem = LocalRecodingProblem(make_census(1000), GOALS)
    alone = LocalRecodingProblem(problem.table, GOALS, [KAnonymity() >= 5])
    fine, counts = alone.decode(alone.x_of(5)), problem.table.tuples.counts
    found = []
    for share in (0.0, 0.5, 1.0):
        units = alone.kept_whole(alone.x_of(5), share)
        tiers = ladder(problem, [50, 5], kept=share)
        own = tiers[0].problem.decode(tiers[0].x).class_of
        rows = pd.DataFrame({"unit": units, "fine": fine.class_of, "first": own, "n": counts})
        assert rows.groupby("unit")["first"].nunique().max() == 1
        in_one = rows.groupby("fine")["unit"].transform("nunique") == 1
        assert rows.groupby("unit").fine.nunique().max() == 1
        assert share - 0.05 <= rows.n[in_one].sum() / counts.sum()
        assert all(one.values["k"] >= k for one, k in zip(tiers, (50, 5), strict=True))
        assert KAnonymity().evaluate(joint(tiers)) >= 5
        found.append([one.values["GLM"] for one in tiers])
    assert found[0][0] < found[-1][0]
    assert found[-1][1] < found[0][1]
    apart = ladder(problem, [50, 5])
    assert [one.x for one in apart] == [one.x for one in tiers]
    assert apart[0].problem.space_fingerprint != tiers[0].problem.space_fingerprint


def test_ladders_are_a_front_of_two_losses():
    problem = LocalRecodingProblem(make_census(600), [*GOALS, DistinctLDiversity(make_census(600).sensitive[0])])
    front = ladders(problem, [30, 10, 3])
    F = np.array([[one.values["GLM"] for one in tiers] for tiers in front])
    assert len(front) > 2
    assert (np.diff(F[:, 0]) > 0).all()
    assert (np.diff(F[:, 1]) < 0).all()
    for kept in (0.0, 0.8, 1.0):
        own = [one.values["GLM"] for one in ladder(problem, [30, 10, 3], kept)]
        assert any((row[:2] <= own[:2]).all() for row in F)


def test_suppressed_rows_of_the_coarser_release_are_divided_too():
    frame = pd.DataFrame({"a": [1, 1, 1, 2, 2, 3, 3]})
    table = Microdata.from_frame(frame, {"a": Hierarchy.flat([1, 2, 3])})
    public = LatticeProblem(table, GOALS, Violating(4), [KAnonymity() >= 3])
    assert public.measure(np.array([[0]]))[0, -1] == 4
    inside = LocalRecodingProblem(table, GOALS, [KAnonymity() >= 2], within=(public, [0]))
    assert sorted(inside.equivalence_classes(inside.x_of(2)).sizes) == [2, 2, 3]


def test_a_sweep_inside_a_coarser_release_has_only_classes_inside():
    table = make_census(300)
    public = LocalRecodingProblem(table, GOALS)
    first = public.front([public.x_of(30)]).choose(row=0)
    problem = LocalRecodingProblem(table, GOALS, [KAnonymity() >= 3], within=first)
    front = problem.front(minimize(problem, TargetSweep(), seed=1))
    assert len(front) > 3
    for x, k in zip(front.X, front.values(KAnonymity()), strict=True):
        assert KAnonymity().evaluate(joint([first, (problem, x)])) == k
