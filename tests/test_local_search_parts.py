"""What the local search counts, learns and measures on its way, and how its walk draws nodes."""

from functools import partial

import numpy as np
from pymoo.core.population import Population
from pymoo.core.termination import NoTermination
from pymoo.optimize import minimize
from tasks import invented

from pymoo_anon.algorithms import ParetoLocalSearch, lessons
from pymoo_anon.algorithms.common import in_type_of_problem
from pymoo_anon.algorithms.lessons import LearnedBounds
from pymoo_anon.algorithms.local_search import LatticeWalk, _violations
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives import ClassificationMetric, DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem


def problem():
    return LatticeProblem(invented(1), [KAnonymity(), GeneralLossMetric()], suppression=3)


def test_members_are_explored_when_no_neighbor_at_any_distance_is_left():
    near = far = 0

    def count(algorithm):
        nonlocal near, far
        # How far each member's neighbors are done: 0, 1 or 2 steps.
        done = [algorithm._explored.get(one.X.tobytes(), 0) for one in algorithm.front.pop]
        assert algorithm.n_unexplored == sum(distance < 2 for distance in done)
        near, far = near + done.count(0), far + done.count(1)

    algorithm = ParetoLocalSearch(1, bounds=False, termination=NoTermination(), callback=count)
    assert minimize(problem(), algorithm, seed=1, copy_algorithm=False).algorithm.n_unexplored == 0
    assert min(near, far) > 0


def test_no_node_teaches_twice(monkeypatch):
    own, taught = problem(), []
    measure = own.measure_with_bounds
    monkeypatch.setattr(
        own, "measure_with_bounds", lambda X, read: taught.extend(map(tuple, X.tolist())) or measure(X, read)
    )
    res = minimize(own, ParetoLocalSearch(termination=NoTermination()), seed=1)
    assert len(taught) == len(set(taught)) == res.algorithm.evaluator.n_eval


def test_a_limit_on_both_sides_is_broken_by_what_is_below_and_above():
    pop = Population.new(X=np.zeros((3, 1)), G=np.array([[-1.0], [2], [-3]]), H=np.array([[-2.0], [0], [1]]))
    np.testing.assert_array_equal(_violations(pop), [[0, 2], [2, 0], [0, 1]])


def test_random_nodes_are_of_every_level():
    lengths, drawn = np.array([0] + [1] * 20 + [5]), []

    def none_is_open(X):
        drawn.append(X)
        return np.zeros(len(X), dtype=bool)

    rng = np.random.default_rng(0)
    walk = LatticeWalk(0 * lengths, lengths, rng)
    assert not walk.is_whole
    assert len(walk.find(none_is_open, 1, rng)) == 0
    X = np.concatenate(drawn)
    assert len(X) > 4000
    for column, length in zip(X.T, lengths, strict=True):
        assert np.unique(column).tolist() == list(range(length + 1))


def test_a_range_of_k_says_what_all_of_its_k_say(monkeypatch):
    """Ranges of several k against those that hold one k each."""
    table = make_census(400, seed=3)
    objectives = [KAnonymity(), GeneralLossMetric(), DistinctLDiversity("occupation"), ClassificationMetric("sex")]
    own = LatticeProblem(table, objectives, suppression=120)
    # General nodes, some of whose suppressed classes are large.
    X = own.lengths - np.random.default_rng(0).integers(0, 2, size=(60, own.n_var)).clip(max=own.lengths)
    wide = LearnedBounds(own, np.zeros(own.n_obj))
    monkeypatch.setattr(lessons, "_SINGLE_CASES", 1000)
    single = LearnedBounds(own, np.zeros(own.n_obj))
    assert single.ranges.tolist() == list(range(121))
    assert wide.ranges.tolist() == [*range(33), *wide.ranges[33:].tolist()]
    ends = [*wide.ranges[1:].tolist(), 121]
    assert max(np.diff(wide.ranges)) > 5
    n_several = 0
    for x, (coarse, _), (fine, _) in zip(
        X,
        own.measure_with_bounds(X, partial(map, wide.lesson))[1],
        own.measure_with_bounds(X, partial(map, single.lesson))[1],
        strict=True,
    ):
        sizes = own.equivalence_classes(x)
        most_k = sizes.sizes[sizes.kept].min()
        assert (fine[:, -1] == (np.arange(121) >= most_k)).all()
        for row, (first, end) in enumerate(zip(wide.ranges.tolist(), ends, strict=True)):
            if first >= most_k:
                assert coarse[row, -1] == 1
                continue
            possible = fine[first : min(end, most_k)]
            assert (coarse[row] <= possible.min(axis=0)).all()
            assert (coarse[row] >= fine[first:most_k].min(axis=0)).all()
            assert coarse[row, 0] == possible[:, 0].min()
            n_several += len(np.unique(possible, axis=0)) > 1
    assert n_several > 10


def test_a_bound_is_in_the_box_in_which_its_value_is():
    """Nothing is suppressed, so that what a node says of itself are its values."""
    own = LatticeProblem(invented(1), [KAnonymity(), GeneralLossMetric()])
    X, sides, maximize = own.nodes(0, own.n_nodes), np.array([3.0, 0.7]), [True, False]
    bounds = LearnedBounds(own, sides)
    bounds.learn(X, own.measure_with_bounds(X, partial(map, bounds.lesson))[1])
    F = own.compute(X)
    for member in F[::25]:
        stands = (boxes(member[np.newaxis], sides, maximize) <= boxes(F, sides, maximize)).all(axis=1)
        np.testing.assert_array_equal(bounds.settles(X, member[np.newaxis]), stands)


def test_numbers_beyond_any_level_are_left_to_the_problem_to_refuse():
    pop = Population.new(X=np.array([[10**30, 0, 0, 0]], dtype=object))
    assert in_type_of_problem(pop, problem()) is pop
