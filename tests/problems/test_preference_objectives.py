"""Preferred points as objectives: one search space, one F, pictures, search options."""

import numpy as np
import pandas as pd
import pytest
from errors import refused
from pymoo.core.population import Population
from pymoo.core.repair import Repair
from pymoo.core.result import Result
from pymoo.optimize import minimize

from pymoo_anon.algorithms import PreferenceNSGA2
from pymoo_anon.algorithms.preference import picks, prefer_feasible
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import KAnonymity, NormalizedClassDispersion, NormalizedWeightedPenalty
from pymoo_anon.operators import ClosestValidRepair
from pymoo_anon.problems import BitStringProblem, LatticeProblem, PreferredPoint
from pymoo_anon.table import Hierarchy, Microdata
from pymoo_anon.visualization import plot_front
from pymoo_anon.visualization.fronts import front_picture

CENSUS = make_census(200, seed=5)
POINTS = [(0.2, 1.0), (0.5, 0.1)]
WEIGHTS = np.arange(1, 9) / 36


def problem(preferences=POINTS, **kwargs):
    points = [PreferredPoint(point, WEIGHTS) for point in preferences]
    return BitStringProblem(CENSUS, [*points, KAnonymity()], **kwargs)


def test_names_of_points():
    assert problem().objective_names == ("achievement of (0.2, 1)", "achievement of (0.5, 0.1)", "k")
    assert repr(problem().objectives[1]) == "PreferredPoint((0.5, 0.1))"
    assert problem().steps.tolist() == [0.001, 0.001, 1]


@pytest.mark.parametrize("preferences", [POINTS[:1], POINTS], ids=["one", "two"])
def test_pictures_show_k_as_it_is(preferences, tmp_path):
    own = problem(preferences)
    res = minimize(own, PreferenceNSGA2(5, 20), ("n_gen", 5), seed=1)
    plot_front(own, res, tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 0
    picture = front_picture(own, {"Front": res.F})
    achievement, k = picture.axes[:2]
    assert (achievement.label, k.short, k.maximize) == (
        f"{own.objective_names[0]} (lower is better)", "k", True
    )  # fmt: skip
    shown = picture.fronts["Front"][:, 1]
    assert sorted(shown) == sorted(own.values_of(res.X, KAnonymity()))


def test_a_preferred_point_is_an_objective_for_any_problem():
    point = PreferredPoint((0.3, 0.2))
    for space in (LatticeProblem, BitStringProblem):
        own = space(CENSUS, [point, NormalizedWeightedPenalty(), NormalizedClassDispersion()], suppression=0.05)
        X = np.array([own.xl, own.xu]).astype(own.vtype)
        F = own.evaluate(X)
        assert np.array_equal(F[:, 0], point.achieved(F[:, 1:]))
        low, high = point.value_range(CENSUS.tuples)
        assert ((low <= F[:, 0]) & (F[:, 0] <= high)).all()
    assert point == PreferredPoint([0.3, 0.2])
    assert point != PreferredPoint((0.3, 0.3))
    for bad in (POINTS, (0.3, 1.2)):
        assert refused(ValueError, lambda bad=bad: PreferredPoint(bad)) == (
            f"preference must be a point (NWP, NECD) between 0 and 1, got {bad!r}"
        )
    assert refused(ValueError, lambda: LatticeProblem(CENSUS, [PreferredPoint((0.3, 0.2), [0.5, 0.5])])) == (
        "weights must be one for each of the 8 quasi-identifiers, got 2"
    )


def test_quasi_identifiers_may_have_any_name():
    names = ["row", "achievement", "deviation", "NWP_pref", "k"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 3, 60) for name in names})
    table = Microdata.from_frame(frame, {name: Hierarchy.flat(range(3)) for name in names})
    own = BitStringProblem(table, [PreferredPoint((0.2, 1.0)), KAnonymity()])
    X = np.array([[True] * 2 + [False] * 8, [False] * 10])
    res = Result()
    res.X = X
    shown = own.to_frame(res)
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
    res = Result()
    for own, x in (
        (LatticeProblem(table, [KAnonymity()]), [1, 0]),
        (BitStringProblem(table, [KAnonymity()]), [False, True]),
    ):
        res.X = np.array([x])
        shown = own.to_frame(res)
        assert list(shown.columns[:3]) == [("a", 1), ("b", 2), "k"]
        assert shown["k"].tolist() == [2]


def test_tournaments_between_two_preferred_points():
    """Decide between infeasible points of equal f2 by their smallest achievement."""
    # The last column is f2, for k = 5.
    F = np.array([[3, 9, 1], [4, 2, 1], [5, 8, 1], [1, 9, 2], [9, 9, 0], [8, 8, -5]], dtype=float) - [0, 0, 5]
    pop = Population.new(X=np.zeros((6, 1)), F=F)
    pop.set("rank", [0, 0, 0, 0, 1, 1])
    pop.set("crowding", [1.0, 1.0, 1.0, 1.0, 1.0, 2.0])

    def winner(a, b):
        won = {int(prefer_feasible(pop, np.array([pair]), k=5)[0, 0]) for pair in ((a, b), (b, a))}
        assert len(won) == 1
        return won.pop()

    assert winner(0, 1) == 1  # 2 for the second point is less than 3 for the first
    assert winner(0, 2) == 0
    assert winner(1, 2) == 1
    assert winner(2, 3) == 2  # f2 comes first: 1 is less than 2, regardless of the achievement
    assert winner(0, 4) == 4  # feasible before infeasible, at f2 = 0 as well
    assert winner(4, 5) == 5  # of equal rank the one in the larger gap


class Most(Repair):
    """A repair that counts the rows given to it."""

    given = 0

    def _do(self, problem, X, **kwargs):
        Most.given += len(X)
        return problem.closest(X)


def test_a_repair_of_ones_own_is_taken():
    own = problem()
    res = minimize(own, PreferenceNSGA2(5, 10, repair=Most()), ("n_gen", 3), seed=1)
    assert Most.given == 30
    assert len(res.F) > 0
    assert isinstance(PreferenceNSGA2(k=5).repair, ClosestValidRepair)
