"""Background knowledge, the least l of all columns, households, payouts and presence, counted row by row."""

import pickle
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from exact_cases import case
from hypothesis import given
from hypothesis import strategies as st
from persons_of_a_report import subject_of
from strategies import fewer, invented_frame, more, nodes, promised, tables, times
from tasks import Task, check_proofs, constraint_of, invented

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.objectives.recount import Recount
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem
from pymoo_anon.problems.arguments import measure_names, short_name
from pymoo_anon.publishing import release, verify
from pymoo_anon.publishing.report.decision import decision_view
from pymoo_anon.publishing.report.page import _definitions
from pymoo_anon.study.tables import Roles, objective
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Violating
from pymoo_anon.testing import check_objective

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

KINDS = {
    "k": (lambda known: KAnonymity(known=known), [1, 2, 3, 4]),
    "k in persons": (lambda known: KAnonymity("s1", known=known), [1, 2, 3]),
    "l": (lambda known: DistinctLDiversity("s0", known=known), [1, 2, 3]),
    "alpha": (lambda known: AlphaDeassociation("s0", known=known), [0.3, 0.5, 0.6, 0.75]),
}
#: Value of a measure for rows that agree on a set, from their "s0" and "s1".
PLAIN = {
    "k": lambda s0, s1: len(s0),
    "k in persons": lambda s0, s1: len(set(s1)),
    "l": lambda s0, s1: len(set(s0)),
    "alpha": lambda s0, s1: max(Counter(s0).values()) / len(s0),
}


def worth(kind, rows, kept, sets):
    """Return each kept row's worst value over the known sets.

    The value is that of the kept rows that agree with it on the set.
    """
    pick, found = max if kind == "alpha" else min, {}
    for row in kept:
        others = [[other for other in kept if all(rows[other][j] == rows[row][j] for j in one)] for one in sets]
        found[row] = pick(PLAIN[kind]([rows[o][-2] for o in own], [rows[o][-1] for o in own]) for own in others)
    return found


def left(kind, bound, rows, sets):
    """Drop rows that break a bound until all others keep it."""
    kept = list(range(len(rows)))
    while True:
        values = worth(kind, rows, kept, sets)
        good = [row for row in kept if (values[row] <= bound if kind == "alpha" else values[row] >= bound)]
        if good == kept:
            return kept, values
        kept = good


def some_sets(table):
    """Draw sets of quasi-identifiers in any order, repeated or nested."""
    names = st.sampled_from(list(table.levels))
    return st.lists(st.lists(names, min_size=1, max_size=4), min_size=1, max_size=4)


@pytest.mark.parametrize("kind", list(KINDS))
@promised(500)
@given(data=st.data(), table=tables())
def test_classes_suppression_and_values_are_what_the_rows_say(kind, data, table):
    node, sets = data.draw(nodes(table)), data.draw(some_sets(table))
    make, bounds = KINDS[kind]
    measure, bound = make(sets), data.draw(st.sampled_from(bounds))
    labels = table.frame[list(table.levels)].copy()
    for name, level in zip(table.levels, node, strict=True):
        labels[name] = labels[name].map(table.levels[name][level])
    rows = list(pd.concat([labels, table.frame[["s0", "s1"]]], axis=1).itertuples(index=False, name=None))
    # Subsets of known columns are implied. For k and l they change nothing at all.
    largest = [one for one in map(set, sets) if kind != "alpha" or not any(one < set(other) for other in sets)]
    places = [[list(table.levels).index(name) for name in one] for one in largest]
    generalization = table.generalization(node)
    classes = table.microdata.equivalence_classes(generalization, Violating(0.5), [constraint_of(measure, bound)])
    of_row = classes.class_of[0][table.tuple_of_row]
    kept, values = left(kind, bound, rows, places)
    assert np.flatnonzero(classes.kept[of_row]).tolist() == kept
    # This holds for rules without this measure, too.
    k_only = table.microdata.equivalence_classes(generalization, Violating(0.5), [KAnonymity() >= 2, measure >= -1])
    for own in (classes, k_only):
        of_row, of_classes = own.class_of[0][table.tuple_of_row], measure.of_classes(own)
        kept = np.flatnonzero(own.kept[of_row]).tolist()
        values = worth(kind, rows, kept, places)
        assert [of_classes[of_row[row]] for row in kept] == [values[row] for row in kept]
        everybody = PLAIN[kind](table.frame.s0.tolist(), table.frame.s1.tolist())
        worst = (max if kind == "alpha" else min)(values.values(), default=everybody)
        assert measure.evaluate(own).tolist() == [worst]


def one_pass_table():
    """Return a table that breaks k = 2 after one pass.

    There are two adversaries, and one pass leaves the row (1, y) alone with both.
    """
    frame = pd.DataFrame({"a": [1, 1, 2], "b": ["x", "y", "y"]})
    return Microdata.from_frame(frame, {"a": Hierarchy.flat([1, 2]), "b": Hierarchy.flat(["x", "y"])})


def test_one_pass_is_not_enough():
    table, constraint = one_pass_table(), KAnonymity(known=[["a"], ["b"]]) >= 2
    problem = LatticeProblem(table, [GeneralLossMetric()], Violating(2), [constraint])
    raw = table.equivalence_classes(problem.decode([0, 0]))
    assert constraint.broken(raw).tolist() == [True, False, True]
    assert problem.equivalence_classes([0, 0]).kept.tolist() == [False, False, False]
    assert problem.evaluate(np.array([[0, 0]]), return_values_of=["G"])[0].tolist() == [-1.0, 1.0]


ONE, TWO = [["q0", "q1"], ["q2", "q3"]], [["q0", "q1", "q2"], ["q1", "q3"], ["q2", "q3"]]
FRONTS = [
    (KAnonymity(known=ONE), 4, [GeneralLossMetric()]),
    (KAnonymity(known=TWO), 3, [GeneralLossMetric(), KAnonymity(known=TWO)]),
    (KAnonymity(known=any_of(2)), 5, [GeneralLossMetric(), DistinctLDiversity("s0", known=ONE)]),
    (KAnonymity("s1", known=ONE), 3, [GeneralLossMetric()]),
    (DistinctLDiversity("s0", known=TWO), 3, [GeneralLossMetric(), KAnonymity(known=ONE)]),
    (AlphaDeassociation("s0", known=ONE), 0.6, [GeneralLossMetric(), AlphaDeassociation("s0", known=any_of(2))]),
    (TCloseness("s0"), 0.4, [GeneralLossMetric(), KAnonymity(known=ONE), AlphaDeassociation("s0", known=TWO)]),
    (DistinctLDiversity(), 2, [KAnonymity(), DistinctLDiversity(), GeneralLossMetric()]),
]


@pytest.mark.parametrize("number", range(len(FRONTS)))
def test_certified_fronts_are_those_of_all_nodes(number):
    (measure, bound, objectives), pruned = FRONTS[number], 0
    for seed in range(number, number + times(1)):
        limit = [0, 3, 12][seed % 3]
        task = Task(invented(seed), objectives, [(measure, measure.maximize, bound)], limit, violating=True)
        pruned += check_proofs(task.problem, task.front, seed)
    assert pruned > 0


@fewer(3)
@given(data=st.data(), table=tables(max_attributes=3))
def test_certified_fronts_are_exact_whatever_else_is_required(data, table):
    """Require measures such as alpha that improve by losses of others."""
    measures = [make(data.draw(some_sets(table))) for make, _ in KINDS.values()]
    others = [AlphaDeassociation("s0") <= 0.7, TCloseness("s0") <= 0.5, EntropyLDiversity("s0") >= 1.5]
    bounds = [
        constraint_of(one, data.draw(st.sampled_from(own)))
        for one, (_, own) in zip(measures, KINDS.values(), strict=True)
    ]
    chosen = data.draw(st.lists(st.sampled_from([*bounds, *others]), min_size=1, max_size=3, unique_by=repr))
    goals = [GeneralLossMetric(), data.draw(st.sampled_from([*measures, KAnonymity()]))]
    # With one measure of all columns, sets may leave some columns out.
    rule = Violating(data.draw(st.integers(0, len(table.frame) - 1)))
    problem = LatticeProblem(table.microdata, goals, rule, [*chosen, KAnonymity() >= 1])
    check_proofs(problem)


def same_on_all_nodes(table, one, other, suppression=0, constraints=((), ())):
    """Return whether two measures have equal values and classes everywhere."""
    found = []
    for measure, bounds in zip((one, other), constraints, strict=True):
        problem = LatticeProblem(table, [measure, GeneralLossMetric()], suppression, list(bounds))
        found.append(problem.measure(problem.nodes(0, problem.n_nodes)))
    return np.array_equal(*found)


@pytest.mark.parametrize("make", [make for make, _ in KINDS.values()], ids=list(KINDS))
def test_who_knows_everything_is_the_adversary_of_whole_classes(make):
    table, names = invented(1), [f"q{j}" for j in range(4)]
    plain = make(None)
    for known in (names, [names], any_of(4), any_of(9)):
        assert same_on_all_nodes(table, plain, make(known))
        bounds = [[constraint_of(one, 0.6 if plain.name == "alpha" else 3)] for one in (plain, make(known))]
        assert same_on_all_nodes(table, plain, make(known), Violating(12), bounds)


def test_sets_have_one_form():
    one = KAnonymity(known=[["zip", "age"], ["sex"], ["age", "zip", "age"], ("sex", "zip"), {"zip"}])
    other = KAnonymity(known=[["zip", "sex"], ["age", "zip"]])
    assert one == other
    assert hash(one) == hash(other)
    assert one.known == (("age", "zip"), ("sex", "zip"))
    assert repr(one) == "KAnonymity(known=[['age', 'zip'], ['sex', 'zip']])"
    assert eval(repr(one)) == one
    assert pickle.loads(pickle.dumps(one)) == one
    assert one.name == "k (age, zip | sex, zip)"
    assert one != KAnonymity() != KAnonymity(known=["age", "zip"])
    assert KAnonymity(known="age") == KAnonymity(known=["age"]) == KAnonymity(known=[["age"]])
    assert KAnonymity("p", known=any_of(2)).full_name == "k in persons (any 2) of p"
    assert repr(AlphaDeassociation("s", known=any_of(2))) == "AlphaDeassociation('s', known=any_of(2))"
    assert KAnonymity(known=[[i] for i in range(9)]).name == "k (9 sets)"
    assert DistinctLDiversity("s", known=[[("a", 1), 2]]).known == ((("a", 1), 2),)


def test_a_measure_of_all_columns_lets_sets_leave_some_out():
    table, known = invented(1), ["q0", "q1"]
    LatticeProblem(table, [KAnonymity(known=known), TCloseness("s0"), GeneralLossMetric()])


@pytest.mark.parametrize("space", [LatticeProblem, BitStringProblem])
def test_a_rule_that_suppresses_nothing_is_taken(space):
    space(invented(1), [GeneralLossMetric(), DistinctLDiversity("s0", known=any_of(2))], Below(1))


@pytest.mark.parametrize("suppressed", ["drop", "mark"])
def test_a_release_holds_for_every_set_and_not_for_their_union(suppressed):
    smallest = []
    for seed in range(times(2)):
        frame, table = invented_frame(seed), invented(seed)
        bounds = [KAnonymity(known=TWO) >= 3, DistinctLDiversity("s0", known=ONE) >= 2]
        bounds.append(AlphaDeassociation("s0", known=TWO) <= 0.7)
        problem = LatticeProblem(table, [GeneralLossMetric()], Violating(20), bounds)
        X = problem.nodes(0, problem.n_nodes)
        F, G = problem.evaluate(X, return_values_of=["F", "G"])
        # The marked rows are a class, too, so there must be enough of them to keep the constraints.
        good = np.flatnonzero((G <= 0).all(axis=1) & ((G[:, -1] >= -5) | (suppressed == "drop")))
        (x,) = X[good[F[good, 0].argsort()[:1]]]
        made = release(frame, problem, x, suppressed=suppressed)
        assert made.claims.holds.all()
        out = made.frame
        out["marked"] = (out[[f"q{j}" for j in range(4)]] == "*").all(axis=1)
        for one in TWO:
            groups = out.groupby([*one, "marked"])
            assert groups.size().min() >= 3
            assert (groups.s0.value_counts().groupby(level=[*one, "marked"]).max() / groups.size()).max() <= 0.7
        assert min(out.groupby([*one, "marked"]).s0.nunique().min() for one in ONE) >= 2
        smallest.append(int(out.groupby([f"q{j}" for j in range(4)]).size().min()))
        names = [f"q{j}" for j in range(4)]
        assert verify(out, names, bounds[:1], original=frame).recounted.tolist() == made.claims.recounted.tolist()[1:2]
    assert min(smallest) == 1


def test_rows_that_are_marked_agree_with_no_others():
    """Mark all cells of the known column and one of the other."""
    frame = pd.DataFrame({"a": ["*"] * 4, "b": ["*", "1", "1", "1"]})
    assert verify(frame, ["a", "b"], [KAnonymity(known=["a"])]).recounted.tolist() == [1]


def test_a_release_counts_every_set_once_whoever_asks_for_it(monkeypatch):
    """Ask for the same k in problem, choice and every release.

    Every release asks for k of at least 2.
    """
    frame, table = invented_frame(0), invented(0)
    problem = LatticeProblem(table, [KAnonymity(known=any_of(2)), GeneralLossMetric()])
    choice = problem.front([problem.lengths]).choose(require=[KAnonymity(known=any_of(2)) >= 2])
    counted, agreeing = [], Recount.agreeing
    monkeypatch.setattr(Recount, "agreeing", lambda self, names: counted.append(names) or agreeing(self, names))
    made = release(frame, problem, choice)
    assert made.claims.measure.tolist() == ["k (any 2)", "GLM", "k (any 2) >= 2"]
    assert counted == [list(pair) for pair in combinations(table.quasi_identifiers, 2)]


@pytest.mark.parametrize("make", [KINDS["k"][0], KINDS["alpha"][0]], ids=["k", "alpha"])
def test_the_contract_of_objectives_is_kept(make):
    check_objective(make([["q0", "q1"], ["q1", "q2", "q3"]]), invented(2))


@pytest.mark.parametrize(
    "bounds",
    [
        [KAnonymity(known=TWO) >= 5],
        [DistinctLDiversity("s0", known=ONE) >= 3, KAnonymity("s1", known=any_of(2)) >= 2],
        [AlphaDeassociation("s0", known=TWO) <= 0.6, KAnonymity(known=ONE) >= 4],
        [DistinctLDiversity() >= 2],
        [DistinctLDiversity(known=any_of(2)) >= 2],
    ],
    ids=str,
)
def test_local_recodings_hold_for_every_set(bounds):
    trees = dict.fromkeys(["q0", "q1", "q2", "q3"], Hierarchy.intervals(0, 16, widths=[2, 4, 8]))
    table = Microdata.from_frame(invented_frame(3), trees, sensitive=["s0", "s1"])
    for method in ("bottom-up", "top-down"):
        problem = LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric()], bounds, method=method)
        assert problem.held == problem.constraints
        X = np.array([problem.x_of(k) for k in (1, 2, 3, 5, 20)])
        assert (problem.evaluate(X, return_values_of=["G"]) <= 0).all()


def test_locally_too_who_knows_less_leaves_more_of_the_table():
    census = make_census(500)
    names = list(census.quasi_identifiers)
    pairs, losses = [names[:2], names[2:4], names[4:6], names[6:]], []
    for known, k in ((pairs, 1), (None, 5)):
        problem = LocalRecodingProblem(census, [GeneralLossMetric()], [KAnonymity(known=known) >= 5])
        (F,), (G,) = problem.evaluate(problem.x_of(k)[np.newaxis], return_values_of=["F", "G"])
        assert (G <= 0).all()
        losses.append(F[0])
    assert losses[0] < 0.95 * losses[1]


def test_few_tuples_that_hold_nothing_alone_are_joined_by_others():
    """Join (2, y), which alone breaks k = 2, with other tuples.

    No class of one row holds k = 2.
    """
    table = one_pass_table()
    problem = LocalRecodingProblem(table, [GeneralLossMetric()], [KAnonymity(known=["a", "b"]) >= 2])
    assert (problem.evaluate(problem.x_of(1)[np.newaxis], return_values_of=["G"]) <= 0).all()


def test_a_report_says_of_whom_it_speaks():
    problem = LatticeProblem(invented(1), [KAnonymity(known=ONE), GeneralLossMetric()])
    front = problem.front([problem.lengths])
    subject = subject_of(front, row=0, threshold=0.1)
    words = _definitions(subject)["k (q0, q1 | q2, q3)"]
    assert words.endswith(
        "a class is all rows that agree on what one of the adversaries knows; who knows more finds smaller ones."
    )
    said = decision_view(subject, subject.member(0)).sentences[0]
    assert "k (q0, q1 | q2, q3) is for adversaries of whom each knows one of: q0 and q1; q2 and q3. This does" in said


EACH = [DistinctLDiversity("s0"), DistinctLDiversity("s1")]
WARD = pd.DataFrame({"age": [1, 1, 1, 2, 2, 2], "ill": [*"abcabb"], "paid": [*"xxyyxz"]})


def ward(sensitive=("ill", "paid")):
    return Microdata.from_frame(WARD, {"age": Hierarchy.flat([1, 2])}, sensitive=sensitive)


@more(5)
@given(data=st.data(), table=tables())
def test_it_is_the_least_of_all_columns_whatever_is_suppressed_and_known(data, table):
    node, known = data.draw(nodes(table)), data.draw(st.sampled_from([None, any_of(1), any_of(2)]))
    least, each = DistinctLDiversity(known=known), [DistinctLDiversity(own.column, known=known) for own in EACH]
    bound = data.draw(st.integers(1, 4))
    violating = Violating(0.5), [least >= bound], [one >= bound for one in each]
    for rule, own, others in ((AtMost(0), [], []), violating):
        made = [table.microdata.equivalence_classes(table.generalization(node), rule, two) for two in (own, others)]
        np.testing.assert_array_equal(made[0].kept, made[1].kept)
        worth = np.minimum(*(one.of_classes(made[0]) for one in each))
        np.testing.assert_array_equal(least.of_classes(made[0]), worth)
        assert least.evaluate(made[0])[0] == min(one.evaluate(made[0])[0] for one in each)


@pytest.mark.parametrize("drop", [(), "paid", ("ill", "paid")])
def test_a_release_counts_it_again_in_all_columns(drop):
    problem = LatticeProblem(ward(), [KAnonymity(), DistinctLDiversity(), GeneralLossMetric()])
    made = release(WARD, problem, [0], drop=drop)
    own = made.claims[made.claims.measure == "l"].iloc[0]
    assert (own.promised, own.recounted, own.holds) == (2, 2, True)


def test_a_table_from_elsewhere_is_held_against_it():
    asked = [DistinctLDiversity() >= 2, DistinctLDiversity(known=["age"]) >= 3]
    claims = verify(WARD, ["age"], asked, sensitive=["ill", "paid"])
    assert (claims.recounted.tolist(), claims.holds.tolist()) == ([2, 2], [True, False])


def test_names_tell_it_from_that_of_a_column():
    both = [DistinctLDiversity(), DistinctLDiversity("ill")]
    assert list(measure_names(both).values()) == ["l", "l of ill"]
    assert [*map(short_name, both)] == ["l", "l:ill"]
    assert list(map(repr, both)) == ["DistinctLDiversity()", "DistinctLDiversity('ill')"]


SEEDS = st.integers(0, 2**32 - 1)
AGES = Hierarchy([[1, 2, 3, 4], ["1-2", "1-2", "3-4", "3-4"], ["*"] * 4])
#: Two households of three, one of one.
HOMES = pd.DataFrame({"age": [1, 2, 3, 1, 3, 4, 2], "home": [*"aaabbbc"]})
OF_HOMES = Microdata.from_frame(HOMES, {"age": AGES}, person="home")
RISK = HouseholdRisk("home")


@pytest.mark.parametrize(
    ("level", "risk", "homes"),
    [(0, 1, 1), (1, max(1 - (3 / 4) ** 2 * (2 / 3), 1 - (3 / 4) * (2 / 3) ** 2), 2), (2, 1 - (6 / 7) ** 3, 3)],
)
def test_a_household_is_found_where_some_member_is(level, risk, homes):
    problem = LatticeProblem(OF_HOMES, [RISK, KAnonymity(person="home")])
    assert problem.natural(problem.compute(np.array([[level]])))[0] == pytest.approx([risk, homes], abs=1e-15)
    made = release(HOMES, problem, [level], anyway="it is only a test")
    assert made.claims.holds.all()
    assert list(made.frame) == ["age"]


@promised(500, 4)
@given(SEEDS)
def test_proofs_of_households_find_the_front_of_every_node(seed):
    own, rng = case(seed), np.random.default_rng(seed)
    rule = AtMost(int(rng.integers(0, len(own.rows) // 2 + 1)))
    check_proofs(LatticeProblem(own.table, [HouseholdRisk("who"), GeneralLossMetric()], rule))


def test_the_command_line_reads_the_person_column():
    assert objective("--objectives", "household-risk", Roles([], person="home")) == RISK


WAYS = {"age": AGES, "zip": Hierarchy([[*"abcd"], [*"xxyy"], ["*"] * 4])}
FRAME = pd.DataFrame({"age": [1, 1, 2, 3, 3], "zip": [*"aabcc"]})
TABLE = Microdata.from_frame(FRAME, WAYS)
REGISTER = Microdata.from_frame(pd.concat([FRAME] * 3), WAYS)


@pytest.mark.parametrize(
    ("node", "prices", "whole", "least"),
    [
        # The defaults: found with probability 1 / size, an attack pays up to 74 persons.
        ([0, 0], (), 5 * 1200 - 3 * 300, 1200 - 300),
        # Half of one of two columns is lost: a quarter of the bits.
        ([1, 0], (), 5 * 900 - 3 * 300, 900 - 300),
        ([1, 1], (), 5 * 600 - 2 * 300, 600 - 150),
        ([2, 2], (), -300, -60),
        # An attack pays on single persons alone, and then on nobody.
        ([0, 0], (6, 10, 300, 100), 5 * 100 - 300, 100 - 300),
        ([1, 1], (6, 10, 300, 100), 5 * 50, 50),
        ([0, 0], (10, 10, 300, 100), 500, 100),
        # Prices in another currency.
        ([1, 0], (4e9, 3e11, 3e11, 1.2e12), 1e9 * (5 * 900 - 3 * 300), 1e9 * (900 - 300)),
        # Who holds a register of three times as many finds a third.
        ([0, 0], (4, 300, 300, 1200, REGISTER), 5 * 1200 - 3 * 100, 1200 - 100),
    ],
)
def test_a_row_is_worth_what_it_keeps_less_what_an_attack_costs(node, prices, whole, least):
    problem = LatticeProblem(TABLE, [PublisherPayout(*prices), LeastPayout(*prices)])
    assert problem.natural(problem.compute(np.array([node])))[0].tolist() == [whole, least]
    assert release(FRAME, problem, node, anyway="it is only a test").claims.holds.all()


def test_nobody_attacks_from_gain_over_cost_on():
    """Compare with the k that the no-attack variant of the model asks for."""
    prices = (4, 10, 300, 1200)
    safe = LatticeProblem(TABLE, [GeneralLossMetric()], constraints=[KAnonymity() >= 10 / 4])
    problem = LatticeProblem(TABLE, [PublisherPayout(*prices), PublisherPayout(*prices[:2], 0, 1200)])
    X = problem.nodes(0, problem.n_nodes)
    with_loss, without = problem.compute(X).T
    assert (with_loss == without).tolist() == (safe.evaluate(X, return_values_of=["G"])[:, 0] <= 0).tolist()


def test_prices_are_shown():
    assert repr(LeastPayout(1, 2, 3, 4)) == "LeastPayout(1, 2, 3, 4)"


# A register of nine persons, of whom four are in the table.
PLACES = {
    "zip": Hierarchy([["47905", "47906", "53706"], ["4790*", "4790*", "53706"], ["*"] * 3]),
    "age": Hierarchy([[21, 27, 35, 39], ["2*", "2*", "3*", "3*"], ["*"] * 4]),
}
EVERYBODY = pd.DataFrame(
    {
        "zip": ["47905", "47905", "47906", "47906", "47905", "53706", "53706", "53706", "53706"],
        "age": [21, 27, 21, 35, 39, 21, 27, 35, 39],
    }
)
EVERYWHERE = Microdata.from_frame(EVERYBODY, PLACES)
ROWS = EVERYBODY.iloc[[0, 2, 4, 5]].reset_index(drop=True)
PRESENT = Microdata.from_frame(ROWS, PLACES)
BOTH = [DeltaPresence(EVERYWHERE), LeastPresence(EVERYWHERE)]


@pytest.mark.parametrize(
    ("node", "greatest", "least"),
    [
        # Two of three, one of two, one of two and none of two persons are in the table.
        ([1, 1], 2 / 3, 0),
        ([1, 2], 3 / 5, 1 / 4),
        ([2, 1], 3 / 5, 1 / 4),
        ([0, 0], 1, 0),
        ([2, 2], 4 / 9, 4 / 9),
    ],
)
def test_the_presence_of_a_class_is_its_share_of_the_persons_it_fits(node, greatest, least):
    problem = LatticeProblem(PRESENT, BOTH)
    assert problem.natural(problem.compute(np.array([node])))[0].tolist() == [greatest, least]
    made = release(ROWS, problem, node, anyway="it is only a test")
    assert made.claims.holds.all()
    again = verify(made.frame, ["zip", "age"], BOTH, hierarchies=PLACES)
    assert again.recounted.astype(float).tolist() == [greatest, least]


@promised(500, 4)
@given(SEEDS, st.sampled_from([AtMost, Below, Violating]))
def test_proofs_of_presence_find_the_front_of_every_node(seed, kind):
    """Compare branch and bound with all nodes, under limits that suppress some, many or no rows."""
    own, rng = case(seed), np.random.default_rng(seed)
    rule = kind(int(rng.integers(kind is Below, len(own.rows) + (kind is Below))))
    both = [DeltaPresence(own.population), LeastPresence(own.population)]
    bounds = [both[0] <= float(rng.choice([0.4, 0.5, 0.75, 1]))] if kind is Violating else []
    asked = [both, [both[0], GeneralLossMetric()], [both[1], GeneralLossMetric()]][int(rng.integers(0, 3))]
    check_proofs(LatticeProblem(own.table, asked, rule, bounds))
