"""Preferences: loss, dispersion, achievement, preferred points, selection rule, search."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.population import Population
from pymoo.core.repair import Repair
from pymoo.decomposition.asf import ASF
from pymoo.optimize import minimize
from strategies import more
from tasks import printed

from pymoo_anon.algorithms import PreferenceNSGA2
from pymoo_anon.algorithms.preference import picks, prefer_feasible
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import KAnonymity, NormalizedClassDispersion, NormalizedWeightedPenalty
from pymoo_anon.operators import ClosestValidRepair, PartitionCrossover, PerAttributeBitMutation
from pymoo_anon.problems import Achievement, BitStringProblem, LatticeProblem, PreferredPoint
from pymoo_anon.table import Hierarchy, Microdata, Taxonomy

CENSUS = make_census(300, seed=5)
TABLE = Microdata.from_frame(
    pd.DataFrame({"age": np.arange(120) % 7, "sex": np.arange(120) % 2, "race": (np.arange(120) // 9) % 3}),
    {"age": Hierarchy.flat(range(7)), "sex": Hierarchy.flat([0, 1]), "race": Hierarchy.flat([0, 1, 2])},
)
shares = st.floats(0, 1)
points = st.tuples(shares, shares)


def preferring(table, preferences, weights=None, **kwargs):
    """Build the problem of the achievements of some points, and k."""
    preferred = [PreferredPoint(point, weights) for point in preferences]
    return BitStringProblem(table, [*preferred, KAnonymity()], **kwargs)


def test_loss_and_dispersion_reach_their_bounds():
    weights = np.array([0.2, 0.3, 0.5])
    own = BitStringProblem(TABLE, [NormalizedWeightedPenalty(weights), NormalizedClassDispersion()])
    assert repr(own.objectives[0]) == "NormalizedWeightedPenalty([0.2, 0.3, 0.5])"
    assert own.objective_names == ("NWP", "NECD")
    weights[:] = 0
    assert own.evaluate(np.array([[False] * 9, [True] * 9]))[:, 0].tolist() == [1, 0]
    assert own.evaluate(np.zeros(9, bool))[1] == 0
    only_sex = BitStringProblem(TABLE, [NormalizedWeightedPenalty([0, 1, 0])])
    assert only_sex.evaluate(np.arange(9) == 6).tolist() == [0]
    for objective in own.objectives:
        assert objective.value_range(TABLE.tuples) == (0, 1)
    lopsided = Microdata.from_frame(pd.DataFrame({"q": [0] * 9 + [1]}), {"q": Hierarchy.flat([0, 1])})
    assert BitStringProblem(lopsided, [NormalizedClassDispersion()]).evaluate(np.array([[True]])).tolist() == [[8 / 9]]


def ach(point, preference, eps=1e-6):
    """Compute the achievement as printed in the paper."""
    (nwp, necd), (nwp_pref, necd_pref) = point, preference
    w = (1 / (nwp_pref + eps)) / (1 / (nwp_pref + eps) + 1 / (necd_pref + eps))
    return max(w * (nwp + eps), (1 - w) * (necd + eps))


@given(
    st.lists(points, min_size=1, max_size=5), st.lists(points, min_size=1, max_size=4), st.sampled_from([1e-6, 0.01])
)
def test_achievement_is_the_papers(F, preferences, eps):
    achievement = Achievement() if eps == 1e-6 else Achievement(eps=eps)
    expected = np.array([[ach(f, p, eps) for p in preferences] for f in F])
    X, P = np.array(F), np.array(preferences)
    np.testing.assert_allclose(achievement(X, P, _type="many_to_many"), expected, rtol=1e-9, atol=1e-15)
    for preference in preferences:
        np.testing.assert_allclose(
            PreferredPoint(preference).deviation(X), [sum(f) - sum(preference) for f in F], atol=1e-12
        )


def test_achievement_stands_beside_pymoos():
    F, preference = np.random.default_rng(0).random((50, 2)), np.array([0.2, 0.9])
    w = 1 / (preference + 1e-6) / (1 / (preference + 1e-6)).sum()
    # ASF divides by its weights.
    assert np.allclose(Achievement()(F, preference), ASF()(F + 1e-6, 1 / w))
    assert Achievement()(F, preference).argmin() == ASF()(F, preference).argmin()
    moved = Achievement()(F, preference, ideal_point=np.array([0.1, 0.05]))
    assert np.allclose(moved, [ach(f - [0.1, 0.05], preference - [0.1, 0.05]) for f in F])
    three = Achievement(eps=0)(np.array([[0.2, 0.5, 0.5]]), np.array([0.1, 0.5, 1.0]))
    assert three.ravel().tolist() == pytest.approx([0.2 * 10 / 13])


@pytest.fixture
def problem():
    return preferring(TABLE, [(0.2, 0.6)], [0.5, 0.2, 0.3])


def measured_by(own, X):
    """Return an (n, 3) array: NWP, NECD and k."""
    point = own.objectives[0]
    return np.column_stack([own.values_of(X, one) for one in (point.loss, point.bias, own.objectives[-1])])


def test_values_are_achievement_and_k(problem):
    plain = BitStringProblem(
        TABLE, [NormalizedWeightedPenalty([0.5, 0.2, 0.3]), NormalizedClassDispersion(), KAnonymity()]
    )
    X = problem.sample(60, np.random.default_rng(0))
    measured = plain.natural(plain.evaluate(X))
    F = problem.evaluate(X)
    assert problem.n_obj == 2
    np.testing.assert_array_equal(measured_by(problem, X), measured)
    np.testing.assert_allclose(F[:, 0], [ach(point, (0.2, 0.6)) for point in measured[:, :2]], rtol=1e-9)
    assert F[:, 1].tolist() == (-measured[:, 2]).tolist()


@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_the_pick_is_the_feasible_one_of_smallest_achievement(k):
    preferences = [(0.2, 1.0), (1.0, 0.0), (0.05, 0.3)]
    own = preferring(TABLE, preferences)
    X = own.sample(200, np.random.default_rng(0))
    X[100] = False
    measured = measured_by(own, X)
    picked = picks(own, X, k)
    assert len(picked) == 3
    for number, preference in enumerate(preferences):
        pick = picked.loc[number]
        keys = [
            (own.evaluate(x)[number], sum(m[:2]) - sum(preference), row)
            for row, (x, m) in enumerate(zip(X, measured, strict=True))
            if m[2] >= k
        ]
        assert pick["row"] == min(keys)[2]
        row = int(pick["row"])
        assert pick["k"] == measured[row, 2]
        assert (pick["NWP"], pick["NECD"]) == tuple(measured[row, :2])
        assert (pick["achievement"], pick["deviation"]) == pytest.approx(min(keys)[:2])
        assert tuple(pick[["age", "sex", "race"]]) == own.decode(X[row]).n_groups
    assert [str(picked[name].dtype) for name in ("row", "k", "age", "sex", "race")] == ["int64"] * 5


class Given(BitStringProblem):
    """Given measures that allow ties. A string selects the row of its number."""

    table_of_measures: np.ndarray

    def values_of(self, X, measure):
        column = 0 if isinstance(measure, NormalizedWeightedPenalty) else 1
        return self.table_of_measures[np.asarray(X).astype(int) @ (1 << np.arange(self.n_var)), column]

    def evaluate(self, X):
        return -self.table_of_measures[np.asarray(X).astype(int) @ (1 << np.arange(self.n_var)), 2:]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 8)), min_size=1, max_size=12))
def test_picks_of_many_ties(rows):
    own = Given(TABLE, [PreferredPoint((0.5, 0.5)), KAnonymity()])
    own.table_of_measures = np.array([(a / 4, b / 4, k) for a, b, k in rows])
    X = np.arange(len(rows))[:, None] >> np.arange(9) & 1 == 1
    picked = picks(own, X, 4)
    keys = [(max(a, b), a + b, row) for row, (a, b, k) in enumerate(rows) if k >= 4]
    assert picked["row"].tolist() == [min(keys)[2]] if keys else len(picked) == 0
    assert list(picked.columns) == [
        "row", "NWP_pref", "NECD_pref", "k", "NWP", "NECD", "achievement", "deviation", "age", "sex", "race",
    ]  # fmt: skip


def test_nothing_feasible_is_an_empty_frame():
    own = preferring(TABLE, [(0.2, 1.0), (0.5, 0.5)])
    finest = np.ones((3, 9), bool)
    assert picks(own, finest, 120).shape == (0, 11)
    assert picks(own, finest[:0], 120).shape == (0, 11)
    assert picks(own, np.zeros((1, 9), bool), 120)["k"].tolist() == [120, 120]


def winner(a, b):
    """Apply the paper's rules to two individuals. Return None for a tie."""
    if a.feasible != b.feasible:
        return a if a.feasible else b
    order = [(a.rank, b.rank)] if a.feasible else [(a.f2, b.f2), (min(a.f1), min(b.f1))]
    for mine, theirs in [*order, (-a.crowding, -b.crowding)]:
        if mine != theirs:
            return a if mine < theirs else b
    return None


few = st.integers(0, 2)
individuals = st.builds(
    lambda f1, f2, rank, crowding: SimpleNamespace(
        f1=f1, f2=float(f2), rank=rank, crowding=[0.5, 1.0, np.inf][crowding], feasible=f2 <= 0
    ),
    st.tuples(few, few), st.sampled_from([-1, 0, 1, 1, 2]), few, few,
)  # fmt: skip


@more(2)
@given(st.lists(individuals, min_size=4, max_size=12))
def test_tournaments_go_by_the_papers_rules(members):
    """Decide between infeasible points of equal f2 by the smaller of two achievements."""
    F = np.array([[*one.f1, one.f2 - 4] for one in members], dtype=float)
    pop = Population.new(X=np.zeros((len(members), 1)), F=F)
    pop.set("rank", [one.rank for one in members])
    pop.set("crowding", [one.crowding for one in members])
    pairs = np.array([(i, j) for i in range(len(members)) for j in range(len(members))])
    won = prefer_feasible(pop, pairs, k=4, random_state=np.random.default_rng(0))
    assert won.shape == (len(pairs), 1)
    for (i, j), (w,) in zip(pairs, won, strict=True):
        expected = winner(members[i], members[j])
        assert w in (i, j)
        assert expected is None or members[w] is expected
    selection = PreferenceNSGA2(k=4).mating.selection.func_comp
    assert (selection.func, selection.keywords) == (prefer_feasible, {"k": 4})


def census(preferences=((0.2, 1.0),), **kwargs):
    leaves = [{"name": value} for value in CENSUS.quasi_identifiers["workclass"].domain]
    taxonomy = Taxonomy({"name": "any", "children": leaves})
    return preferring(CENSUS, preferences, taxonomies={"workclass": taxonomy}, **kwargs)


@pytest.mark.parametrize("k", [2, 10, 40])
def test_the_reported_solution_is_efficient(k):
    own = census()
    res = minimize(own, PreferenceNSGA2(k, 40), ("n_gen", 40), seed=1)
    assert res.X.dtype == bool
    assert own.is_valid(res.pop.get("X")).all()
    assert np.array_equal(own.evaluate(res.X), res.F)
    assert res.picks.equals(picks(own, res.X, k))
    assert len(res.picks) == 1
    pick = res.picks.loc[0]
    assert pick["k"] >= k
    measured = measured_by(own, res.X)
    feasible = measured[measured[:, 2] >= k, :2]
    # Definition 2: no feasible one is better in both.
    assert not (feasible < [pick["NWP"], pick["NECD"]]).all(axis=1).any()
    assert pick["achievement"] == res.F[measured[:, 2] >= k, 0].min()
    assert pick["achievement"] < own.evaluate(np.zeros(own.n_var, bool))[0]


def test_several_preferences_and_operators_of_ones_own(capsys):
    own = census([(0.2, 1.0), (0.6, 0.02)])
    algorithm = PreferenceNSGA2(5, 20, crossover=PartitionCrossover(), mutation=PerAttributeBitMutation(0.01))
    res = minimize(own, algorithm, ("n_gen", 20), seed=1, verbose=True, save_history=True)
    assert len(res.picks) == 2
    assert res.F.shape[1] == 3
    assert res.picks["NECD"][1] <= res.picks["NECD"][0]
    assert len(res.history) == 20
    heads, (*_, last) = printed(capsys)
    assert heads == ["n_gen", "n_eval", "distinct", "feasible", "lowest f1", "lowest f2"]
    feasible = res.F[res.F[:, -1] <= -5]
    assert last[:4] == ["20", "400", str(own.n_unique), str(len(feasible))]
    assert [float(cell) for cell in last[4:]] == pytest.approx(feasible[:, :2].min(axis=0).tolist(), rel=1e-4)


POINTS = [(0.2, 1.0), (0.5, 0.1)]
WEIGHTS = np.arange(1, 9) / 36


def weighted(preferences=POINTS, **kwargs):
    return preferring(CENSUS, preferences, WEIGHTS, **kwargs)


def test_names_of_points():
    assert weighted().objective_names == ("achievement of (0.2, 1)", "achievement of (0.5, 0.1)", "k")
    assert repr(weighted().objectives[1]) == "PreferredPoint((0.5, 0.1))"
    assert weighted().steps.tolist() == [0.001, 0.001, 1]


def test_quasi_identifiers_may_have_any_name():
    names = ["row", "achievement", "deviation", "NWP_pref", "k"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 3, 60) for name in names})
    table = Microdata.from_frame(frame, {name: Hierarchy.flat(range(3)) for name in names})
    own = BitStringProblem(table, [PreferredPoint((0.2, 1.0)), KAnonymity()])
    X = np.array([[True] * 2 + [False] * 8, [False] * 10])
    shown = own.to_frame(X)
    assert shown[names].to_numpy().tolist() == [[3, 1, 1, 1, 1], [1, 1, 1, 1, 1]]
    assert shown["achievement of (0.2, 1)"].tolist() == own.evaluate(X)[:, 0].tolist()
    picked = picks(own, X, 2)
    assert picked.shape == (1, 13)
    assert picked.columns.is_unique
    assert picked[names].to_numpy().tolist() == shown.loc[picked["row (measured)"], names].to_numpy().tolist()


def test_columns_of_frames_may_be_tuples():
    frame = pd.DataFrame({"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]})
    frame.columns = pd.Index([("a", 1), ("b", 2)], tupleize_cols=False)
    hierarchies = {name: Hierarchy([[0, 1], ["*", "*"]]) for name in frame.columns}
    table = Microdata.from_frame(frame, hierarchies)
    for own, x in (
        (LatticeProblem(table, [KAnonymity()]), [1, 0]),
        (BitStringProblem(table, [KAnonymity()]), [False, True]),
    ):
        shown = own.to_frame(np.array([x]))
        assert list(shown.columns[:3]) == [("a", 1), ("b", 2), "k"]
        assert shown["k"].tolist() == [2]


class Most(Repair):
    """A repair that counts the rows given to it."""

    given = 0

    def _do(self, problem, X, **kwargs):
        Most.given += len(X)
        return problem.closest(X)


def test_a_repair_of_ones_own_is_taken():
    own = weighted()
    res = minimize(own, PreferenceNSGA2(5, 10, repair=Most()), ("n_gen", 3), seed=1)
    assert Most.given == 30
    assert len(res.F) > 0
    assert isinstance(PreferenceNSGA2(k=5).repair, ClosestValidRepair)
