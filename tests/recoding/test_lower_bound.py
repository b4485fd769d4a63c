"""Improvement of local recodings by neighbourhoods, and lower bounds of their loss."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.termination.max_gen import MaximumGenerationTermination
from recodings import lost, trees_of
from strategies import more

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import LocalRecodingProblem
from pymoo_anon.recoding import Ascent, ColumnRequirement, RequirementKind, Requirements
from pymoo_anon.recoding.bound import Items
from pymoo_anon.recoding.neighbourhood import Neighbourhoods, improved_classes, try_all
from pymoo_anon.recoding.trees import cells_of_classes
from pymoo_anon.table import Hierarchy, Microdata

GOALS = [KAnonymity(), GeneralLossMetric()]
HIERARCHIES = {
    "a": Hierarchy.intervals(0, 8, [2, 4]),
    "b": Hierarchy([["x", "y", "z"], ["xy", "xy", "z"], ["*"] * 3]),
    "c": Hierarchy.flat(range(4)),
}


@st.composite
def tables(draw):
    """Draw tables of 6 to 10 rows, small enough for all recodings."""
    n = draw(st.integers(6, 10))
    row = st.tuples(st.integers(0, 7), st.sampled_from("xyz"), st.integers(0, 3), st.sampled_from("pqrs"))
    rows = draw(st.lists(row, min_size=n, max_size=n))
    return Microdata.from_frame(pd.DataFrame(rows, columns=["a", "b", "c", "s"]), HIERARCHIES, sensitive="s")


def optimum(table, weights, holds):
    """Return the least loss over all partitions of the distinct tuples.

    `holds` says of the rows of a class whether it may stand.
    """
    tuples = table.tuples
    lowest = [hierarchy.groups for hierarchy in table.quasi_identifiers.values()]
    n = len(tuples)

    def loss(members):
        total = 0.0
        for groups, codes, weight in zip(lowest, tuples.codes[members].T, weights, strict=True):
            for level in groups:
                if len(set(level[codes])) == 1:
                    extent = np.count_nonzero(level == level[codes[0]])
                    total += weight * (extent - 1) / (groups.shape[1] - 1)
                    break
        return total * tuples.counts[members].sum()

    price = {}
    for mask in range(1, 1 << n):
        members = [r for r in range(n) if mask >> r & 1]
        price[mask] = loss(members) if holds(members) else np.inf
    best = {0: 0.0}
    for mask in range(1, 1 << n):
        low = mask & -mask
        rest = part = mask ^ low
        best[mask] = np.inf
        while True:
            best[mask] = min(best[mask], price[part | low] + best[rest ^ part])
            if part == 0:
                break
            part = (part - 1) & rest
    return best[(1 << n) - 1]


CONSTRAINTS = [
    None,
    DistinctLDiversity("s") >= 2,
    DistinctLDiversity("s") >= 3,
    EntropyLDiversity("s") >= 1.7,
    RecursiveCLDiversity("s", 2) >= 2,
    AlphaDeassociation("s") <= 0.5,
    TCloseness("s") <= 0.3,
    BasicBetaLikeness("s") <= 1,
]


@more(3)
@given(
    tables(),
    st.integers(1, 4),
    st.sampled_from(CONSTRAINTS),
    st.sampled_from([None, (1, 3, 2), (4, 0, 1)]),
    st.sampled_from(["sizes", "direct"]),
)
def test_no_bound_is_above_the_optimum_and_no_recoding_below_it(table, k, constraint, weights, structure):
    """Find the optimum among all partitions into classes that hold the constraint, if the table does."""
    asked = [] if constraint is None else [constraint]
    problem = LocalRecodingProblem(table, [KAnonymity(), GeneralLossMetric(weights)], asked, structure=structure)
    trees, tests = trees_of(table), problem._tests._replace(k=k)
    kept, rank = tests.keeps_whole(trees.rows), np.argsort(trees.places)

    def holds(members):
        chosen = np.sort(rank[members])
        rows = trees.rows[chosen]
        return rows.sum() >= k and (not kept or tests.subset(chosen).keeps_whole(rows))

    least = optimum(table, weights or (1, 1, 1), holds)
    for passes in (1, 30):
        bound = problem.lower_bound(problem.x_of(k), ("n_iter", passes))
        assert bound.value <= least + 1e-6
        assert least <= bound.loss + 1e-9
        assert bound.gap == max(bound.loss - bound.value, 0)


EIGHT = [*"ppppsqqr"]


@pytest.mark.parametrize(
    ("kind", "asked", "values", "n_values"),
    [
        (RequirementKind.DISTINCT, 2.5, EIGHT, 3),
        (RequirementKind.ENTROPY, 2.1, EIGHT, 3),
        (RequirementKind.RECURSIVE, 3, EIGHT, 3),
        (RequirementKind.ALPHA, 0.5, EIGHT, 2),
        (RequirementKind.TREE, 0.3, EIGHT, 2),
        (RequirementKind.TREE, 0.05, EIGHT, 4),
        (RequirementKind.BETA, 1, EIGHT, 1),
        (RequirementKind.BETA, 0.5, EIGHT, 2),
        (RequirementKind.ENHANCED_BETA, 0.1, EIGHT, 4),
        # Rounding makes none necessary: floats put 1 / (1 / 49) above 49, and 9 (1 - 6 / 9) above 3.
        (RequirementKind.ALPHA, 1 / 49, range(49), 49),
        (RequirementKind.TREE, 6 / 9, [0, 0, *range(7)], 1),
    ],
)
def test_a_requirement_makes_so_many_values_necessary(kind, asked, values, n_values):
    frame = pd.DataFrame({"a": [i % 8 for i in range(len(values))], "s": values})
    table = Microdata.from_frame(frame, {"a": HIERARCHIES["a"]}, sensitive="s")
    trees = trees_of(table)
    tests = Requirements.of(table.tuples, trees, 2, [ColumnRequirement(kind, "s", asked, c=(5, 1))])
    (items,) = Items.readings(trees, tests)
    assert max(items.n_values, 1) == n_values
    assert items.k == max(2, n_values)


def best_excess(trees, items, prices):
    """Return the greatest overpayment of a set of rows over all vectors.

    It is found by sorting, and by all sets one by one.
    """
    places = [range(a, b) for a, b in zip(trees.offsets[:-1], trees.offsets[1:], strict=True)]
    most = 0.0
    for vector in product(*places):
        first, stop = trees.first[list(vector)], trees.stop[list(vector)]
        below = np.flatnonzero(((first <= items.positions) & (items.positions < stop)).all(axis=1))
        rows = [r for r in below for _ in range(items.rows[r])]
        rows.sort(key=lambda r: -prices[r])
        values = [items.values[r] for r in rows]
        # The best row of each value comes first, in the order of the values.
        heads = [values.index(value) for value in dict.fromkeys(values)][: items.n_values]
        if len(rows) < items.k or len(heads) < items.n_values:
            continue
        others = [i for i in range(len(rows)) if i not in heads]
        gains = [prices[r] - trees.costs[list(vector)].sum() for r in rows]
        need = items.k - items.n_values
        excess = sum(gains[i] for i in heads) + sum(gains[i] for n, i in enumerate(others) if n < need or gains[i] > 0)
        most = max(most, excess)
    return most


@given(tables(), st.integers(1, 4), st.sampled_from([1, 2, 3]), st.integers(0, 2**32 - 1))
def test_prices_are_feasible_and_the_check_finds_what_is_not(table, k, n_values, seed):
    trees = trees_of(table)
    tests = Requirements.of(table.tuples, trees, k, [ColumnRequirement(RequirementKind.DISTINCT, "s", n_values)])
    ascent = Ascent.of(trees, tests)
    for _ in range(15):
        ascent.advance()
        assert best_excess(trees, ascent.items, ascent.prices) <= 1e-9
        assert best_excess(trees, ascent.items, ascent.parts[0]._current) <= 1e-9
    honest = ascent.bound()
    assert honest == pytest.approx(ascent.paid, abs=1e-6)
    # A price that is too great is planted.
    (part,) = ascent.parts
    part.prices = ascent.prices.copy()
    part.prices[np.random.default_rng(seed).integers(len(part.prices))] += 0.5
    too_much = best_excess(trees, ascent.items, part.prices)
    planted = ascent.bound()
    assert part._walk.greatest[0] == pytest.approx(too_much, abs=1e-9)
    assert planted == pytest.approx(max(ascent.paid - too_much * table.n_rows / ascent.items.k, 0), abs=1e-6)
    # It is forgotten with the price.
    part.prices[:] = 0.0
    assert (ascent.bound(), part._walk.greatest[0]) == (0.0, 0.0)


def test_many_attributes_are_parted_and_the_bound_still_holds():
    """Part forty columns, as a pass over all vectors would never end."""
    rng = np.random.default_rng(4)
    n, n_columns = 120, 40
    kinds = rng.integers(0, 6, n)
    frame = pd.DataFrame({f"c{i}": (kinds + rng.integers(0, 3, n)) % 8 for i in range(n_columns)})
    hierarchy = Hierarchy.intervals(0, 8, [2, 4])
    table = Microdata.from_frame(frame, dict.fromkeys(frame.columns, hierarchy))
    problem = LocalRecodingProblem(table, GOALS)
    made = problem.lower_bound(problem.x_of(3), ("n_iter", 3))
    assert 0 < made.value < made.loss
    trees = trees_of(table)
    ascent = Ascent(trees, Items.of(trees, 3))
    ascent.advance()
    attributes = np.concatenate([part._walk.attributes for part in ascent.parts])
    assert len(ascent.parts) > 1
    assert sorted(attributes) == list(range(n_columns))
    # No class is paid more than it loses. The recodings are classes of neighbours and a single class.
    for class_of in (np.arange(len(trees.rows)) // 4, np.zeros(len(trees.rows), dtype=np.int64)):
        class_of = np.minimum(class_of, len(trees.rows) // 4 - 1)
        cells = cells_of_classes(trees, class_of, int(class_of.max()) + 1)
        loss = trees.costs[cells].sum(axis=1) * np.bincount(class_of, trees.rows)
        paid = np.bincount(class_of, ascent.prices * trees.rows)
        assert (paid <= loss + 1e-9).all()


@pytest.mark.parametrize("n_columns", [2, 3])
def test_parts_end_where_a_visit_may_look_at_little(monkeypatch, n_columns):
    """Split down to parts of one attribute with jointly feasible prices."""
    monkeypatch.setattr("pymoo_anon.recoding.bound._VISIT_LOOKS", 1)
    rows = [(0, "x", 0), (1, "x", 1), (2, "z", 0), (3, "y", 1), (6, "z", 2), (7, "x", 3), (7, "y", 3)]
    frame = pd.DataFrame(rows, columns=list("abc")).iloc[:, :n_columns]
    hierarchies = {name: HIERARCHIES[name] for name in frame}
    table = Microdata.from_frame(frame, hierarchies)
    trees = trees_of(table)
    ascent = Ascent(trees, Items.of(trees, 2))
    for _ in range(20):
        ascent.advance()
    assert len(ascent.parts) == n_columns
    assert best_excess(trees, ascent.items, ascent.prices) <= 1e-9
    least = optimum(table, [1] * n_columns, lambda members: table.tuples.counts[members].sum() >= 2)
    assert 0 < ascent.bound() <= least + 1e-6
    # All parts count, and nothing is paid too much.
    assert ascent.bound() == pytest.approx(ascent.paid, abs=1e-6)


@pytest.fixture(scope="module")
def problem():
    return LocalRecodingProblem(make_census(600), GOALS)


def test_passes_raise_the_bound_and_count(problem):
    x = problem.x_of(5)
    few, many, again = (problem.lower_bound(x, ("n_iter", n)) for n in (2, 20, 20))
    assert few.value < many.value < many.loss
    assert (few.n_passes, many.n_passes) == (2, 20)
    assert many == again == problem.lower_bound(x, MaximumGenerationTermination(20))
    assert many.share < 0.1
    assert f"{many.share:.1%}".replace("%", " %") in str(many)


def test_other_rows_first_and_other_targets(problem):
    frame = make_census(600)
    k = 8
    again = LocalRecodingProblem(frame, [GeneralLossMetric(), KAnonymity()], [KAnonymity() >= k])
    made = problem.lower_bound(problem.x_of(k), ("n_gen", 5))
    assert again.lower_bound(again.x_of(k), ("n_gen", 5)) == made
    # A price of classes asks for more loss and is bounded by the same.
    dear = problem.lower_bound(problem.x_of(k, price=16), ("n_gen", 5))
    assert dear.value == made.value
    assert dear.loss > made.loss


def test_time_is_a_wish_that_ends(problem):
    made = problem.lower_bound(problem.x_of(5), ("time", 0.05))
    assert made.n_passes >= 1
    assert 0 < made.value <= made.loss


def test_a_proven_recoding_ends_at_once(problem):
    """Put all rows in one class, as k = 600 requires it."""
    made = problem.lower_bound(problem.x_of(600), ("n_iter", 10**6))
    assert made.share < 1e-6


def test_what_no_recoding_holds_is_bounded_by_k_alone():
    census, impossible = make_census(200), [DistinctLDiversity("occupation") >= 100]
    free, never = (LocalRecodingProblem(census, GOALS, asked) for asked in ([], impossible))
    bounds = [one.lower_bound(one.x_of(5), ("n_iter", 3)).value for one in (free, never)]
    assert bounds[0] == bounds[1] > 0


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
    ages, four, six = Hierarchy.intervals(0, 16, [2, 4, 8]), Hierarchy.flat(range(4)), Hierarchy.flat(range(6))
    hierarchies = {"a": ages, "b": four, "c": six}
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.integers(0, own.n_values, n) for name, own in hierarchies.items()})
    return Microdata.from_frame(frame.assign(s=rng.choice(list("pqrst"), n)), hierarchies, sensitive="s")


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
    tests = Requirements.of(table.tuples, trees, k, REQUIREMENTS[name])
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
    tests = Requirements.of(table.tuples, trees, 3)
    begun = np.minimum(np.arange(len(trees.rows)) // 4, len(trees.rows) // 4 - 1)
    search = Neighbourhoods.of(trees, tests, begun, np.zeros(len(begun)))
    classes, before = search.classes, search.classes.loss(price)
    try_all(300, price, trees, tests, search)
    assert classes.loss(price) < 0.8 * before
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
