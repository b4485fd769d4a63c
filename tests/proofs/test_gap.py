"""Gaps of fronts: tolerances in percent, open bounds, and stopped proofs."""

import tracemalloc
from contextlib import suppress
from itertools import count

import numpy as np
import pytest
from limits import limited
from pymoo.optimize import minimize
from tasks import sorted_rows

from pymoo_anon.datasets import make_census
from pymoo_anon.fronts.archive import boxes, first_non_dominated
from pymoo_anon.objectives import ClassificationMetric, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.proofs.base import gap, least_covered, share_off, tolerance
from pymoo_anon.proofs.stored import StoredLatticeProof

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

CENSUS = make_census(500, seed=2)


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
    problem = LatticeProblem(CENSUS, objectives)
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


@pytest.mark.parametrize("constraints", [pytest.param([], marks=pytest.mark.slow), [KAnonymity() >= 4]], ids=str)
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
    problem = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=5, constraints=constraints)
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
        bounds = bounds[bounds[:, 0] <= -4] if constraints else bounds
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
