"""Pareto local search on lattices: results, copies, threads and history."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.population import Population
from pymoo.core.termination import NoTermination
from pymoo.optimize import minimize
from tasks import Task, found, invented, minimal, sorted_rows, tasks

from pymoo_anon.algorithms import ParetoLocalSearch
from pymoo_anon.algorithms.common import in_type_of_problem
from pymoo_anon.algorithms.local_search import _violations
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")


def problem():
    return LatticeProblem(invented(1), [KAnonymity(), GeneralLossMetric()], suppression=3)


def to_the_end(of, seed=0, **options):
    return minimize(of, ParetoLocalSearch(termination=NoTermination(), **options), seed=seed)


def seen(of):
    """Return all nodes, and a mask of the evaluated ones."""
    X = of.nodes(0, of.n_nodes)
    return X, np.array([x.tobytes() in of._memory._rows for x in X])


@given(tasks() | tasks(violating=True) | tasks(below=True), st.integers(0, 3), st.sampled_from([1, 5, 16]))
def test_it_ends_with_the_best_of_what_it_saw_and_with_no_neighbor_left(task, seed, n_offsprings):
    own = task.problem
    res = to_the_end(own, seed, n_offsprings=n_offsprings)
    assert res.algorithm.evaluator.n_eval == own.n_unique
    X, evaluated = seen(own)
    feasible = (task.G <= 0).all(axis=1) if task.G.shape[1] else np.ones(len(X), dtype=bool)
    np.testing.assert_array_equal(found(res, own), minimal(task.F[evaluated & feasible]))
    for x in np.reshape(res.X if res.X is not None else [], (-1, own.n_var)):
        # Two steps: one level in two attributes, or two in one.
        assert evaluated[np.abs(X - x).sum(axis=1) <= 2].all()


def test_small_fronts_are_found_nearly_whole():
    """Check a typical share, which is no promise."""
    shares = []
    for seed in range(4):
        own = Task(invented(seed), [KAnonymity(), DistinctLDiversity("s0"), GeneralLossMetric()], [], 3).problem
        exact = own.pareto_front()
        of = own.fresh_copy()
        res = to_the_end(of, seed)
        shares.append(np.mean([(f == res.F).all(axis=1).any() for f in exact]))
        assert of.n_unique < of.n_nodes
    assert np.mean(shares) > 0.95


@given(tasks(), st.sampled_from([1.0, 3.0, 10.0]))
def test_members_are_in_boxes_that_do_not_dominate_each_other(task, epsilon):
    own = task.problem
    res = to_the_end(own, epsilon=epsilon)
    grid = boxes(found(res, own), epsilon, [objective.maximize for objective in task.objectives])
    assert len(minimal(grid)) == len(grid)


def test_members_are_explored_when_no_neighbor_at_any_distance_is_left():
    near = far = 0

    def count(algorithm):
        nonlocal near, far
        # The neighbors of each member are explored up to 0, 1 or 2 steps.
        done = [algorithm._explored.get(one.X.tobytes(), 0) for one in algorithm.front.pop]
        assert algorithm.n_unexplored == sum(distance < 2 for distance in done)
        near, far = near + done.count(0), far + done.count(1)

    algorithm = ParetoLocalSearch(1, termination=NoTermination(), callback=count)
    assert minimize(problem(), algorithm, seed=1, copy_algorithm=False).algorithm.n_unexplored == 0
    assert min(near, far) > 0


def test_children_propose_nodes_where_all_members_are_explored():
    algorithm = ParetoLocalSearch(termination=NoTermination())
    algorithm.setup(problem(), seed=1)
    while not algorithm.is_initialized or algorithm.n_unexplored:
        algorithm.next()
    before = set(algorithm._seen)
    X = algorithm.ask().get("X")
    assert len(X) > 0
    assert X.dtype == np.int64
    assert len({x.tobytes() for x in X} - before) == len(X)


def test_a_limit_on_both_sides_is_broken_by_what_is_below_and_above():
    pop = Population.new(X=np.zeros((3, 1)), G=np.array([[-1.0], [2], [-3]]), H=np.array([[-2.0], [0], [1]]))
    np.testing.assert_array_equal(_violations(pop), [[0, 2], [2, 0], [0, 1]])


def test_numbers_beyond_any_level_are_left_to_the_problem_to_refuse():
    pop = Population.new(X=np.array([[10**30, 0, 0, 0]], dtype=object))
    assert in_type_of_problem(pop, problem()) is pop


def test_sides_of_boxes_are_those_of_the_natural_values():
    own = problem()
    algorithm = to_the_end(own, epsilon=[3, 20]).algorithm
    assert algorithm.front.epsilon.tolist() == [3, 20]
    assert algorithm.front.maximize.tolist() == [True, False]
    assert sorted_rows(algorithm.opt.get("F")).tolist() == sorted_rows(algorithm.front.F).tolist()
