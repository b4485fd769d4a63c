"""Large neighbourhood search of local recodings: constraints, savings and repeatability."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recodings import lost, trees_of
from strategies import more

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, TCloseness
from pymoo_anon.problems import LocalRecodingProblem
from pymoo_anon.recoding import ColumnRequirement, RequirementKind, Requirements
from pymoo_anon.recoding.neighbourhood import Neighbourhoods, improved_classes, try_all
from pymoo_anon.recoding.trees import cells_of_classes
from pymoo_anon.table import Hierarchy, Microdata

GOALS = [KAnonymity(), GeneralLossMetric()]
REQUIREMENTS = {
    "none": (),
    "distinct": (ColumnRequirement(RequirementKind.DISTINCT, "s", 3),),
    "entropy": (ColumnRequirement(RequirementKind.ENTROPY, "s", 2.2),),
    "alpha and t": (
        ColumnRequirement(RequirementKind.ALPHA, "s", 0.6),
        ColumnRequirement(RequirementKind.TREE, "s", 0.5),
    ),
}


def table_of(n, seed):
    rng = np.random.default_rng(seed)
    sizes = {"a": 16, "b": 4, "c": 6}
    frame = pd.DataFrame({name: rng.integers(0, size, n) for name, size in sizes.items()})
    frame["s"] = rng.choice(list("pqrst"), n)
    hierarchies = {
        "a": Hierarchy.intervals(0, 16, [2, 4, 8]),
        "b": Hierarchy.flat(range(4)),
        "c": Hierarchy.flat(range(6)),
    }
    return Microdata.from_frame(frame, hierarchies, sensitive="s")


@more(2)
@given(
    st.integers(20, 200),
    st.integers(0, 10**6),
    st.integers(2, 6),
    st.sampled_from(list(REQUIREMENTS)),
    st.sampled_from([0.0, 1.5]),
)
def test_classes_hold_what_they_held_and_lose_less(n, seed, k, name, price):
    table = table_of(n, seed)
    trees = trees_of(table)
    tests = Requirements(k, REQUIREMENTS[name]).tests(table.tuples, trees)
    if not tests.keeps_whole(trees.rows):
        return
    # The worst there is to begin with: one class.
    begun = np.zeros(len(trees.rows), dtype=np.int64)
    if name == "none":
        begun = np.minimum(np.arange(len(begun)) // k, len(begun) // k - 1)
    made = improved_classes(trees, tests, begun, price, 60)
    assert lost(trees, made, price)[1].sum() <= lost(trees, begun, price)[1].sum() + 1e-9
    for c in np.unique(made):
        chosen = np.flatnonzero(made == c)
        rows = trees.rows[chosen]
        assert rows.sum() >= k
        assert tests.subset(chosen).keeps_whole(rows)
    np.testing.assert_array_equal(made, improved_classes(trees, tests, begun, price, 60))


@pytest.mark.parametrize("price", [0.0, 2.0])
def test_what_the_search_knows_of_its_classes_is_so(price):
    table = table_of(300, 5)
    trees = trees_of(table)
    tests = Requirements(3).tests(table.tuples, trees)
    begun = np.minimum(np.arange(len(trees.rows)) // 4, len(trees.rows) // 4 - 1)
    search = Neighbourhoods.of(trees, tests, begun, np.zeros(len(begun)))
    try_all(300, price, trees, tests, search)
    assert search.tally[2] > 20
    classes = search.classes
    room = len(classes.rows)
    np.testing.assert_array_equal(np.bincount(classes.class_of, trees.rows, room), classes.rows)
    np.testing.assert_array_equal(np.bincount(classes.class_of, minlength=room), search.n_tuples)
    cells = cells_of_classes(trees, classes.class_of, room)
    used = classes.rows > 0
    np.testing.assert_array_equal(cells[used], classes.cells[used])
    np.testing.assert_allclose(trees.costs[cells[used]].sum(axis=1), classes.costs[used])
    assert sorted(search.spare[: search.tally[0]]) == np.flatnonzero(~used).tolist()
    for c in np.flatnonzero(used):
        chain, r = [], classes.heads[c]
        while r >= 0:
            chain.append(r)
            r = classes.following[r]
        assert sorted(chain) == np.flatnonzero(classes.class_of == c).tolist()


@pytest.mark.parametrize("constraints", [(), (DistinctLDiversity("occupation") >= 3, TCloseness("occupation") <= 0.6)])
@pytest.mark.parametrize("structure", ["sizes", "direct"])
def test_a_problem_asks_for_improvements(constraints, structure):
    census = make_census(600)
    found = []
    for n in (0, 400):
        problem = LocalRecodingProblem(census, GOALS, constraints, structure=structure, n_improvements=n)
        assert problem.n_improvements == n
        x = problem.x_of(5)
        F, G = problem.evaluate(x[np.newaxis], return_values_of=["F", "G"])
        assert -F[0, 0] >= 5
        assert G.max(initial=0) <= 0
        found.append(F[0, 1])
        assert problem.lower_bound(x, ("n_iter", 5)).value <= F[0, 1]
    # Merges come after the improvement by sizes.
    if structure == "direct" or not constraints:
        assert found[1] < 0.995 * found[0]
