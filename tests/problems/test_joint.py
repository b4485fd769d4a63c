"""Several releases of one table: joint classes, counted row by row, and recodings inside a coarser release."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import fewer, nodes, policies, promised, rule_of, tables
from tasks import check_proofs, invented

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem, joint, ladder, ladders, refine
from pymoo_anon.problems.arguments import RefinementError
from pymoo_anon.problems.releases import together
from pymoo_anon.table import Hierarchy, Microdata, Violating

pytestmark = [
    pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group"),
    pytest.mark.filterwarnings("ignore:column .* looks the same"),
]

GONE = "gone"
GOALS = [KAnonymity(), GeneralLossMetric()]


def labels_of(problem, x, table):
    """Return the label of each row, without suppression, as one text."""
    own = problem.decode(x).labels_of(table.microdata.tuples.codes, table.tuple_of_row)
    return pd.Series(["|".join(map(str, labels)) for labels in zip(*own.values(), strict=True)])


def suppressed(labels, policy):
    """Suppress the rows of small classes, by definition."""
    sizes = labels.map(labels.value_counts())
    below = policy.get("below", 0)
    if not below:
        each = sizes.value_counts().sort_index().cumsum()
        below = each.index[each > policy.get("limit", 0)][0]
    return labels.where(sizes >= below, GONE)


def drawn_release(data, table):
    """Draw a release of any kind, and the label of each row in it."""
    kind = data.draw(st.sampled_from(["levels", "bits", "local"]))
    if kind == "local":
        problem = LocalRecodingProblem(table.microdata, GOALS)
        x = problem.x_of(data.draw(st.integers(1, min(len(table.frame), 9))))
        return (problem, x), labels_of(problem, x, table)
    policy = data.draw(policies(table))
    if kind == "bits" and any(len(own[0]) > 1 for own in table.levels.values()):
        problem = BitStringProblem(table.microdata, GOALS, rule_of(policy))
        x = data.draw(st.lists(st.booleans(), min_size=problem.n_var, max_size=problem.n_var))
    else:
        problem, x = LatticeProblem(table.microdata, GOALS, rule_of(policy)), data.draw(nodes(table))
    return (problem, np.array(x)), suppressed(labels_of(problem, x, table), policy)


@promised(1000)
@given(data=st.data(), table=tables(rooted=True))
def test_joint_classes_are_those_of_the_rows(data, table):
    drawn = [drawn_release(data, table) for _ in range(data.draw(st.integers(2, 3)))]
    rows = pd.DataFrame({i: own for i, (_, own) in enumerate(drawn)})
    own = joint([release for release, _ in drawn])
    hidden = (rows == GONE).all(axis=1)
    frame, keys = table.frame, list(rows)
    groups = pd.concat([rows, frame], axis=1)[~hidden].groupby(keys)
    of_row = own.class_of[0][table.tuple_of_row]
    assert (own.kept[of_row] == ~hidden).all()
    assert sorted(own.sizes[own.kept]) == sorted(groups.size())
    # Two rows are in one joint class exactly if all their labels agree.
    assert rows.assign(own=of_row).groupby(keys).own.nunique().max() == 1
    assert len(own.sizes) == len(rows.drop_duplicates())
    whole, n = pd.concat([frame], keys=[0]).groupby(level=0), len(frame)
    read = groups if len(groups) else whole
    n_classes = len(groups) + hidden.any()
    shares = frame.s0.value_counts() / n
    apart = [
        (own.value_counts(normalize=True).reindex(shares.index, fill_value=0) - shares).abs().sum() / 2
        for _, own in read.s0
    ]
    expected = {
        KAnonymity(): read.size().min(),
        KAnonymity("s1"): read.s1.nunique().min(),
        DistinctLDiversity("s0"): read.s0.nunique().min(),
        TCloseness("s0"): max(apart),
        ProsecutorRisk(): 1 / read.size().min(),
        MarketerRisk(): n_classes / n,
    }
    for measure, value in expected.items():
        np.testing.assert_allclose(measure.evaluate(own), [value], rtol=1e-9, atol=1e-12)


#: By the column that each counts in a joint class.
MEASURES = {
    "row": KAnonymity(joint=True),
    "s1": KAnonymity("s1", joint=True),
    "s0": DistinctLDiversity("s0", joint=True),
}


def values_of_rows(column, frame, own, first):
    """Return the value of each joint class, by its label here and in the first release."""
    met = {}
    for *key, one in zip(own, first, frame[column], strict=True):
        met.setdefault(tuple(key), set()).add(one)
    return {key: len(ones) for key, ones in met.items() if key != (GONE, GONE)}


def violating(column, bound, frame, own, first):
    """Suppress classes until all others keep the bound jointly, by definition."""
    sizes = own.value_counts()
    while True:
        broken = set()
        for (here, there), value in values_of_rows(column, frame, own, first).items():
            if value >= bound:
                continue
            meeting = own[(first == there) & (own != GONE)].unique() if here == GONE else [here]
            least = sizes[meeting].min()
            broken |= {one for one in meeting if sizes[one] == least}
        if not broken:
            return own
        own = own.where(~own.isin(broken), GONE)


@promised(500, quick=2)
@given(data=st.data(), table=tables(max_attributes=3, max_rows=20, rooted=True))
def test_the_best_second_release_is_proven(data, table):
    frame = table.frame.assign(row=table.frame.index)
    release, first = drawn_release(data, table)
    column = data.draw(st.sampled_from(list(MEASURES)))
    measure, bound = MEASURES[column], data.draw(st.integers(1, 4))
    if data.draw(st.booleans()):
        limit = data.draw(st.integers(0, len(frame) - 1))
        rule, policy = Violating(limit), None
    else:
        policy = data.draw(policies(table))
        rule, limit = rule_of(policy), len(frame)
    problem = LatticeProblem(
        table.microdata, [measure, GeneralLossMetric()], rule, [measure >= bound], beside=[release]
    )
    X, plain = problem.nodes(0, problem.n_nodes), table.plain
    F, G = problem.evaluate(X, return_values_of=["F", "G"])
    for x, values, violations in zip(X, problem.natural(F), G, strict=True):
        own = labels_of(problem, x, table)
        own = violating(column, bound, frame, own, first) if policy is None else suppressed(own, policy)
        found_values = values_of_rows(column, frame, own, first)
        value = min(found_values.values(), default=frame[column].nunique())
        cost = sum(plain.costs[choice].to_numpy() for choice in zip(plain.columns, map(int, x), strict=True))
        loss = np.where(own == GONE, len(plain.columns), cost).sum()
        np.testing.assert_allclose(values, [value, loss], rtol=1e-9, atol=1e-12)
        assert (violations <= 0).all() == (value >= bound and (own == GONE).sum() <= limit)
    check_proofs(problem)


def test_proofs_prune_beside_a_release():
    pruned = 0
    for seed in range(3):
        table = invented(seed)
        first = LatticeProblem(table, GOALS, 3)
        chosen = first.front(first.pareto_set(max_nodes=10**6)).choose(require=[KAnonymity() >= 5])
        for measure in (KAnonymity(joint=True), DistinctLDiversity("s0", joint=True)):
            goals = [GeneralLossMetric(), measure]
            problem = LatticeProblem(table, goals, Violating(6), [measure >= 2], beside=[chosen])
            pruned += check_proofs(problem)
    assert pruned > 0


def test_any_measure_of_the_worst_class_can_be_joint():
    table = invented(2)
    problem = LatticeProblem(table, GOALS)
    chosen = (problem, problem.nodes(40, 41)[0])
    plain = [EntropyLDiversity("s0"), TCloseness("s0"), ProsecutorRisk(), AlphaDeassociation("s0")]
    measures = [one.jointly() for one in plain]
    second = LatticeProblem(table, [GeneralLossMetric(), *measures], beside=[chosen])
    assert list(second.names.values())[1:] == ["joint entropy l", "joint t", "joint prosecutor risk", "joint alpha"]
    X = second.nodes(0, second.n_nodes)[::7]
    for x, values in zip(X, second.measure(X), strict=True):
        own = joint([chosen, (second, x)])
        assert values[1:-1].tolist() == [float(one.evaluate(own)[0]) for one in plain]
    check_proofs(second)


def test_joint_measures_are_told_apart():
    one = KAnonymity(joint=True)
    assert one == KAnonymity().jointly() != KAnonymity()
    assert hash(one) == hash(KAnonymity().jointly())
    assert repr(one >= 5) == "KAnonymity(joint=True) >= 5"
    assert (one.name, DistinctLDiversity("s", joint=True).full_name) == ("joint k", "joint l of s")
    assert DistinctLDiversity("s").jointly() == DistinctLDiversity("s", joint=True)


def test_journals_tell_releases_apart():
    table = make_census(200)
    first = LatticeProblem(table, GOALS)
    told = {
        LatticeProblem(table, GOALS, beside=beside).space_fingerprint
        for beside in ([], [(first, first.xu.astype(int))], [(first, first.xl.astype(int))])
    }
    assert len(told) == 3


def test_who_has_nothing_but_suppressed_rows_counts_the_first_release():
    frame = pd.DataFrame({"a": [1, 1, 2, 3]})
    table = Microdata.from_frame(frame, {"a": Hierarchy.flat([1, 2, 3])})
    first = LatticeProblem(table, GOALS, 1)
    goals, beside = [KAnonymity(joint=True)], [(first, [1])]
    problem = LatticeProblem(table, goals, Violating(3), [KAnonymity() >= 4], beside=beside)
    assert problem.measure(np.array([[0], [1]])).tolist() == [[4, 4, 4], [4, 4, 0]]
    # Of equally small classes beside suppressed rows all are suppressed.
    table = Microdata.from_frame(pd.DataFrame({"a": [1, 2, 2, 3, 3, 4, 4, 4]}), {"a": Hierarchy.flat([1, 2, 3, 4])})
    beside = [(LatticeProblem(table, GOALS), [1])]
    tied = LatticeProblem(table, goals, Violating(5), [goals[0] >= 2], beside=beside)
    assert tied.front([[0]]).n_suppressed.tolist() == [5]


def test_refinements_hold_jointly_or_are_refused():
    table = make_census(500)
    public = LatticeProblem(table, GOALS, 5)
    first = public.front(public.pareto_set()).choose(require=[KAnonymity() >= 10])
    measure, kept = KAnonymity(joint=True), []
    problem = LatticeProblem(table, [measure, GeneralLossMetric()], 5, [measure >= 2], beside=[first])
    for x in problem.front(problem.pareto_set()).X:
        try:
            made = refine(problem, x)
        except RefinementError as error:
            assert "lower joint k" in str(error)  # noqa: PT017
            kept.append(False)
            continue
        both = joint([first, table.equivalence_classes(made)])
        assert KAnonymity().evaluate(both) >= measure.evaluate(problem.equivalence_classes(x))
        kept.append(True)
    assert set(kept) == {True, False}


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
        ks = tuple(one.values["k"] for one in pair)
        found[ks] = (few.min(), (few == 1).sum(), few[few < 5].sum())
        told = together(pair, table)
        assert (told.k, told.alone, told.below) == (*found[ks][:2], few[few < min(ks)].sum())
    assert {pair: found[pair] for pair in PAIRS[limit]} == PAIRS[limit]


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
    more = [100 * (one.values["GLM"] / alone[k] - 1) for one, k in ((first, 100), (second, 5))]
    said = "the first loses {:.1f} % more than alone, and the second {:.1f} %".format(*more)
    assert said in (Path(__file__).parents[2] / "examples/guide/releasing.md").read_text(encoding="utf-8")
    assert KAnonymity().evaluate(joint([first, second])) == 5
    apart = problem.front([problem.x_of(100), problem.x_of(5)])
    both = joint([apart.choose(row=0), apart.choose(row=1)])
    assert both.sizes.min() == 1


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


def test_small_classes_of_the_coarser_release_stay_whole_and_bounds_know_it():
    table = Microdata.from_frame(pd.DataFrame({"GLM": [1, 1, 1, 2, 2, 3, 3]}), {"GLM": Hierarchy.flat([1, 2, 3])})
    assert len(ladders(LocalRecodingProblem(table, GOALS), [3, 2])) == 1
    # Persons of a register are counted in the recoding alone.
    bounds, within = [KMap(table) >= 2], (LatticeProblem(table, GOALS), [0])
    inside = LocalRecodingProblem(table, GOALS, bounds, within=within)
    assert inside.measure(inside.x_of(3)[None]).tolist() == [[2, 0, 2, 0]]
    assert inside.lower_bound(inside.x_of(3), ("n_iter", 5)).value == 0
