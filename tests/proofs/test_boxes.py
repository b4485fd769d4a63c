"""Lattices that are not stored, whose intervals give the exact front, and gaps of proofs that are stopped."""

import copy
import pickle
import tracemalloc
from contextlib import suppress
from functools import partial
from itertools import count

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from tasks import any_tasks, limited, members_stand, printed, sorted_rows

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts.archive import boxes, first_non_dominated
from pymoo_anon.objectives import *
from pymoo_anon.objectives.bounds import AdditiveLoss
from pymoo_anon.problems import LatticeProblem, base
from pymoo_anon.proofs.base import gap, least_covered, share_off, tolerance
from pymoo_anon.proofs.intervals import Interval, IntervalBounds, IntervalProof
from pymoo_anon.proofs.stored import StoredLatticeProof
from pymoo_anon.table import Hierarchy, Microdata

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

CENSUS = make_census(1000, seed=3)


def begun(problem, limits=None, max_bytes=1, **kwargs):
    """Set up a search that stores no lattice, unless there is room."""
    algorithm = limited(BranchAndBound(max_bytes=max_bytes, **kwargs), **(limits or {}))
    algorithm.setup(problem, seed=0)
    return algorithm


def solved(problem, **kwargs):
    algorithm = begun(problem, **kwargs)
    assert not algorithm.certified
    algorithm.run()
    assert isinstance(algorithm.proof, IntervalProof)
    assert algorithm.certified
    assert algorithm.n_undecided == len(algorithm.open_bounds) == 0
    return algorithm.proof


class CheaperAbove(GeneralLossMetric.bounding):
    """Floors of a loss by attribute, with cheaper higher levels."""

    def attribute_floors(self, tuples, groups):
        own = super().attribute_floors(tuples, groups)
        drawn = np.random.default_rng(0).integers(0, 99, own.shape).astype(float)
        # Beyond the greatest level of an attribute nothing changes.
        return np.where(own < own[-1], drawn, drawn[-1])


def test_a_floor_of_all_generalizations_is_below_each_of_them(monkeypatch):
    monkeypatch.setattr(GeneralLossMetric, "bounding", CheaperAbove)
    problem = LatticeProblem(CENSUS, [GeneralLossMetric()])
    terms = CheaperAbove(GeneralLossMetric()).attribute_floors(CENSUS.tuples, problem.groups)
    nodes, columns = problem.nodes(0, problem.n_nodes), np.arange(problem.n_var)
    losses, corners = terms[nodes, columns].sum(axis=1), IntervalBounds(problem)
    for x in nodes[:: problem.n_nodes // 50]:
        assert corners.floors_of(x).tolist() == [losses[(nodes >= x).all(axis=1)].min()]


def test_an_attribute_that_never_varies_stays_lowest_where_no_higher_level_is_cheaper(monkeypatch):
    table = Microdata.from_frame(
        pd.DataFrame({"a": [0, 0, 0, 0], "b": [0, 1, 2, 3], "c": [0, 0, 0, 0]}),
        {name: Hierarchy.intervals(0, 16, widths=[2, 4, 8]) for name in "abc"},
    )
    problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()])
    assert IntervalBounds(problem).highest.tolist() == [0, 4, 0]
    # Other measures may tell levels apart.
    assert IntervalBounds(LatticeProblem(table, [KAnonymity(), KLDivergence()])).highest.tolist() == [4, 4, 4]
    monkeypatch.setattr(GeneralLossMetric, "bounding", CheaperAbove)
    terms = CheaperAbove(GeneralLossMetric()).attribute_floors(table.tuples, problem.groups)
    assert (terms[0] > terms.min(axis=0))[[0, 2]].any()
    assert IntervalBounds(problem).highest.tolist() == np.where(terms[0] > terms.min(axis=0), 4, [0, 4, 0]).tolist()


def between(own, low, high):
    """Return an interval with the bounds of its two corners."""
    read = own.problem.measure_with_bounds(np.unique([low, high], axis=0), partial(map, own.read))[1]
    return Interval(low, high, np.maximum(read[0][0], own.floors_of(low)), read[-1][1])


def assert_bounded(bounds, F):
    assert (bounds[np.newaxis, :, : F.shape[1]] <= F[:, np.newaxis]).all(axis=2).any(axis=1).all()


@given(st.data(), any_tasks())
def test_the_corners_of_a_box_bound_all_of_its_nodes(data, task):
    """Compare with the slow twin, the values of all nodes between two."""
    problem = task.problem
    X = problem.nodes(0, problem.n_nodes)
    own = IntervalBounds(problem)
    F, feasible = task.F, (task.G <= 0).all(axis=1) if task.limits else np.ones(len(X), dtype=bool)
    for _ in range(5):
        a, b = (X[data.draw(st.integers(0, len(X) - 1))] for _ in range(2))
        low, high = np.minimum(a, b), np.maximum(a, b)
        within = feasible & (low <= X).all(axis=1) & (high >= X).all(axis=1)
        assert_bounded(own.bounds([between(own, low, high)]), F[within])


def test_bounds_are_exact_where_nothing_is_suppressed():
    """Check that rounded floors keep no interval of equal losses open."""
    problem = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()])
    # Before the first evaluation, bounds are the ranges of the values.
    assert begun(problem).open_bounds.tolist() == [[-1000, 0]]
    own = IntervalBounds(problem)
    X = problem.nodes(0, problem.n_nodes)[::97]
    floors = np.array([own.floors_of(x) for x in X])
    np.testing.assert_array_equal(floors[:, 0], 0)
    losses, leeway = problem.compute(X)[:, 1], AdditiveLoss(GeneralLossMetric()).leeway(CENSUS.tuples)
    assert 0 < leeway < 1e-13
    assert (losses * (1 - leeway) <= floors[:, 1]).all()
    assert (floors[:, 1] <= losses).all()


def test_bounds_of_one_node_are_exact_and_none_where_it_breaks_a_constraint():
    """Check bounds without rounding, and none for infeasible nodes."""
    measures = [KAnonymity(), ProsecutorRisk(), Discernibility(), SquaredClassSizes()]
    problem = LatticeProblem(CENSUS, measures, constraints=[KAnonymity() >= 3])
    own, n_feasible = IntervalBounds(problem), 0
    X = problem.nodes(0, problem.n_nodes)[::-97]
    for x in X:
        F, G = problem.evaluate(x[np.newaxis], return_values_of=["F", "G"])
        bounds = own.bounds([between(own, x, x)])
        np.testing.assert_array_equal(bounds[:, : problem.n_obj], F[G[:, 0] <= 0])
        n_feasible += len(bounds)
    assert 0 < n_feasible < len(X)


@pytest.mark.parametrize("max_bytes", [1, 2 << 30], ids=["intervals", "stored"])
@given(any_tasks(), st.integers(0, 8), st.booleans(), st.sampled_from([1, 256]), st.sampled_from([1, 3, 32]))
def test_stopped_early_the_bounds_hold_and_it_goes_on(max_bytes, task, n_slices, pickled, room, batch):
    # A slice is one step, and there is room for few boxes.
    limits = {"tuples": 1, "fewest_intervals": room, "halved": batch, "evaluated": 1, "examined": 9, "batch": batch}
    algorithm = begun(task.problem, limits, max_bytes)
    front = task.front
    assert members_stand(algorithm.proof.F, algorithm.open_bounds, front)
    for _ in range(n_slices):
        if algorithm.has_next():
            algorithm.next()
            assert members_stand(algorithm.proof.F, algorithm.open_bounds, front)
            assert (algorithm.gap >= true_gap(sorted_rows(algorithm.proof.F), front) - 1e-9).all()
    other = pickle.loads(pickle.dumps(algorithm)) if pickled else copy.deepcopy(algorithm)
    while other.has_next():
        other.next()
        assert members_stand(other.proof.F, other.open_bounds, front)
    assert other.certified
    np.testing.assert_array_equal(sorted_rows(other.proof.F), front)


@given(any_tasks(), st.integers(0, 5), st.sampled_from(["read", "bounds"]), st.integers(0, 20))
def test_interrupted_at_any_place_nothing_is_lost(task, n_slices, where, nth):
    problem = task.problem
    with pytest.MonkeyPatch.context() as patch:
        proof = begun(problem, {"tuples": 1}).proof
        for _ in range(n_slices):
            proof.advance()
        calls, right = [], getattr(IntervalBounds, where)

        def interrupted(self, *arguments):
            calls.append(1)
            if len(calls) > nth:
                raise KeyboardInterrupt
            return right(self, *arguments)

        with patch.context() as broken:
            broken.setattr(IntervalBounds, where, interrupted)
            try:
                while not proof.certified:
                    proof.advance()
            except KeyboardInterrupt:
                pass
        assert members_stand(proof.F, proof.open_bounds(), task.front)
        while not proof.certified:
            proof.advance()
    np.testing.assert_array_equal(sorted_rows(proof.F), task.front)


@pytest.mark.parametrize(
    "objectives",
    [
        [KAnonymity(), GeneralLossMetric()],
        [SquaredClassSizes(), SquaredValueCounts("occupation"), GeneralLossMetric()],
        [KAnonymity(), GeneralLossMetric(), ClassificationMetric("salary-class")],
    ],
    ids=repr,
)
def test_where_boxes_are_too_many_they_are_searched_depth_first(objectives):
    problem = LatticeProblem(CENSUS, objectives, suppression=0.01)
    proof, most = begun(problem, {"tuples": 1, "fewest_intervals": 8, "halved": 2}).proof, 0
    while not proof.certified:
        proof.advance()
        most = max(most, proof.n_undecided)
    # Each batch leaves as many of its halves behind, at most once for each level that a box has.
    assert 8 < most < 8 + 2 * (1 + problem.lengths.sum())
    assert proof._n_bytes == 0
    np.testing.assert_array_equal(sorted_rows(proof.F), problem.pareto_front())


@pytest.mark.parametrize(
    "objectives", [[KAnonymity(), GeneralLossMetric()], [ProsecutorRisk(), GeneralLossMetric()]], ids=str
)
def test_attributes_that_never_vary_cost_nothing(objectives):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"q{j}": rng.integers(0, 16, 60) for j in range(3)})
    quasi_identifiers = {name: Hierarchy.intervals(0, 16, widths=[2, 4, 8]) for name in frame}
    small = LatticeProblem(Microdata.from_frame(frame, quasi_identifiers), objectives)
    constant = dict.fromkeys((f"constant {j}" for j in range(24)), Hierarchy.intervals(0, 4096, widths=[2, 4]))
    frame[list(constant)] = 0
    many = solved(LatticeProblem(Microdata.from_frame(frame, {**constant, **quasi_identifiers}), objectives))
    np.testing.assert_array_equal(sorted_rows(many.F), small.pareto_front())
    assert many.n_evaluated <= solved(small).n_evaluated


def test_few_nodes_are_evaluated():
    """Check that each node is evaluated once, and few of them."""
    problem = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=0.01)
    proof = solved(problem)
    assert proof.n_evaluated <= problem.n_nodes // 10
    assert problem.n_unique <= proof.n_evaluated <= problem.n_unique + 1
    # A tolerance fathoms more.
    assert solved(problem, epsilon=[0, "20%"]).n_evaluated < 0.9 * proof.n_evaluated


def test_threads_find_the_same_front(monkeypatch):
    monkeypatch.setattr(base, "_TUPLES_OF_A_THREAD", 1)
    problem = LatticeProblem(CENSUS, [KAnonymity(), Discernibility(), GeneralLossMetric()], suppression=0.01)
    alone = solved(problem)
    problem = LatticeProblem(CENSUS, problem.objectives, suppression=0.01)
    problem.n_threads = 2
    np.testing.assert_array_equal(solved(problem).X, alone.X)


def test_the_output_shows_the_gap_until_it_is_closed(capsys):
    problem = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=0.01)
    minimize(problem, limited(max_bytes=1, tuples=1, halved=1), seed=0, verbose=True)
    heads, rows = printed(capsys)
    assert heads[-1] == "gap"
    shares = [float(row[-1].rstrip("%")) for row in rows]
    assert shares[0] == 100
    assert shares[-1] == 0
    assert len(set(shares)) > 5
    # The most distant comes first: in any other order the gap stays wide until the end.
    assert np.mean(shares) < 50


def test_the_share_of_a_gap_is_what_would_certify_the_front():
    bounds = np.array([[-12.0, 95.0], [-5.0, 60.0]])
    F = np.array([[-10.0, 100.0], [-5.0, 75.0]])
    # The first row is within 20 % of the first member's k, the second within 20 % of the second member's loss.
    assert share_off(F, bounds) == share_off(F, bounds[:1]) == 0.2
    assert share_off(F, bounds[:0]) == 0
    assert share_off(F[:0], bounds) == np.inf
    assert share_off(np.array([[0.0]]), np.array([[-1.0]])) == np.inf


FEWER = make_census(500, seed=2)


def true_gap(F, front):
    """Loop over members, objectives and points of the exact front."""
    widest = np.zeros_like(F)
    for i, member in enumerate(F):
        for j in range(F.shape[1]):
            for point in front:
                # Infinite values that are equal have no distance.
                others = [o for o in range(F.shape[1]) if o != j]
                if member[j] > point[j] and (point[others] <= member[others]).all():
                    widest[i, j] = max(widest[i, j], member[j] - point[j])
    return widest


@pytest.mark.parametrize("n_obj", [1, 2, 3])
def test_the_gap_is_what_bounds_leave_open(n_obj):
    rng = np.random.default_rng(n_obj)
    for _ in range(50):
        # Small whole numbers, so that equality is common.
        F, bounds = rng.integers(-3, 4, (5, n_obj)).astype(float), rng.integers(-3, 4, (4, n_obj)).astype(float)
        np.testing.assert_array_equal(gap(F, bounds), true_gap(F, bounds))


@pytest.mark.parametrize("objectives", [[KAnonymity(), GeneralLossMetric()], [ClassificationMetric("salary-class")]])
def test_the_gap_of_a_stored_lattice_holds_no_row_for_each_node(objectives):
    algorithm = limited(bounded=1 << 10)
    problem = LatticeProblem(FEWER, objectives)
    minimize(problem, algorithm, ("n_eval", 1), seed=1, copy_algorithm=False)
    assert not algorithm.certified
    tracemalloc.start()
    try:
        algorithm.proof.open_bounds()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Each node takes two or three numbers: its own, and its bounds.
    assert peak < 60 * problem.n_nodes


@pytest.mark.parametrize("epsilon", ["1%", "60%", 2.5, [0, "10%"], ["50%", 3], [0.1, 7]], ids=str)
def test_a_member_stands_for_values_from_its_least_covered_on_and_for_no_smaller_ones(epsilon):
    own, maximize = tolerance(epsilon, 2), np.array([True, False])
    rng = np.random.default_rng(0)
    F = np.concatenate([rng.integers(-9, 9, (40, 2)), rng.normal(0, 100, (40, 2)), [[0.1, -0.3], [-7.5, 21.0]]])
    sides = own.absolute

    def stands(values):
        if sides.all():
            return boxes(values, sides, maximize) >= boxes(F, sides, maximize)
        return own.widened(values) >= F

    least = least_covered(F, own, maximize)
    for more in (0, 1e-12, 0.5, 100):
        assert stands(least + more).all()
    assert not stands(least - 1e-9 * np.abs(least) - 1e-12).any()


@pytest.mark.parametrize("constraints", [pytest.param([], marks=pytest.mark.slow), [KAnonymity() >= 5]], ids=str)
def test_open_bounds_are_those_of_all_nodes_that_are_not_settled(monkeypatch, constraints):
    """Compare with a slow twin that lowers bounds on a full grid.

    Every other evaluation is interrupted.
    """
    calls, measured = count(), StoredLatticeProof._measured

    def interrupted(self, X):
        if next(calls) % 2:
            raise KeyboardInterrupt
        return measured(self, X)

    monkeypatch.setattr(StoredLatticeProof, "_measured", interrupted)
    problem = LatticeProblem(FEWER, [KAnonymity(), GeneralLossMetric()], suppression=5, constraints=constraints)
    proof = limited(bounded=97, evaluated=1, batch=1).setup(problem, seed=1).proof
    sums, most = problem.nodes(0, problem.n_nodes).sum(axis=1), problem.lengths.sum()
    floors = proof.bounds.first_floors(np.arange(problem.n_nodes))
    n_compared = 0
    while not proof.certified:
        with suppress(KeyboardInterrupt):
            proof.advance()
        if not 0 <= proof._layer <= most:
            continue
        is_open = sums < proof._layer
        is_open[proof._ahead[proof._position :]] = is_open[proof._open] = True
        is_open[proof._nodes.done] = False
        tops = proof._nodes.tops[:, 0].reshape(problem.lengths + 1)
        for axis in range(problem.n_var):
            tops = np.flip(np.minimum.accumulate(np.flip(tops, axis), axis=axis), axis)
        bounds = np.column_stack([-tops.ravel(), floors])[is_open]
        # A node exactly on its limit may be feasible.
        bounds = bounds[bounds[:, 0] <= -5] if constraints else bounds
        bounds = bounds[first_non_dominated(bounds)]
        np.testing.assert_array_equal(sorted_rows(proof.open_bounds()), sorted_rows(bounds))
        n_compared += 1
    assert n_compared > 5


def test_infinite_values_are_equal():
    """Treat infinite values as equal, as in a measure such as beta."""
    F, bounds = np.array([[np.inf, 3.0], [1.0, 5.0]]), np.array([[np.inf, 2.0]])
    assert gap(F, bounds).tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert share_off(F, bounds) == 1 / 3
    assert share_off(F[:1], np.array([[4.0, 2.0]])) == np.inf
