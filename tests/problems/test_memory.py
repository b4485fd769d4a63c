"""A problem's memory: points once, threads, copies, pickles and interruptions."""

import copy
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.problems.base import Memory, keys_of

CENSUS = make_census(200, seed=5)


def holds(memory, X):
    """Return a mask of the points that a memory holds."""
    return np.array([key in memory._rows for key in keys_of(X)], dtype=bool)


def recall(memory, X, measure):
    """Return the values of points as problems do, measuring only missing ones."""
    missing = memory.missing(X)
    memory.add(missing, measure(missing))
    return memory[X]


def problem():
    return LatticeProblem(
        CENSUS,
        [KAnonymity(), GeneralLossMetric()],
        suppression=0.02,
        constraints=[DistinctLDiversity("occupation") >= 2],
    )


@pytest.fixture
def many_switches():
    """Switch threads as often as Python permits."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(n_threads, action):
    """Run action(0), action(1), ... in threads that begin at the same moment."""
    barrier = threading.Barrier(n_threads)

    def run(number):
        barrier.wait()
        return action(number)

    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(run, range(n_threads)))


def of_nodes(X):
    """Return values that differ between any two points."""
    return X @ np.array([[1, 2], [100, 200], [10_000, 20_000]]) + 0.5


@given(st.lists(st.lists(st.tuples(*[st.integers(0, 4)] * 3), max_size=40), max_size=8))
def test_every_point_is_measured_once(batches):
    memory, seen = Memory(2), []
    for batch in batches:
        X = np.array(batch, dtype=np.int64).reshape(-1, 3)
        held = holds(memory, X)
        assert held.tolist() == [tuple(x) in seen for x in batch]
        values = recall(memory, X, lambda new: seen.extend(map(tuple, new.tolist())) or of_nodes(new))
        assert values.tolist() == of_nodes(X).tolist()
        assert holds(memory, X).all()
    assert len(seen) == len(set(seen)) == len(memory)
    assert seen == list(dict.fromkeys(point for batch in batches for point in batch))


@pytest.mark.usefixtures("many_switches")
@pytest.mark.parametrize("copied", [False, True], ids=["one problem", "copies"])
def test_eight_threads_evaluate_what_a_fresh_problem_does(copied):
    own, fresh = problem(), problem()
    X = np.random.default_rng(0).integers(0, own.lengths + 1, size=(240, own.n_var))
    F, G = fresh.evaluate(X)

    def evaluate(number):
        mine = copy.deepcopy(own) if copied else own
        order = np.random.default_rng(number).permutation(len(X))
        parts = [(rows, mine.evaluate(X[rows])) for rows in np.array_split(order, 40)]
        return [np.concatenate(rows) for rows in zip(*((rows, *values) for rows, values in parts), strict=True)]

    for rows, some_F, some_G in together(8, evaluate):
        assert np.array_equal(some_F, F[rows])
        assert np.array_equal(some_G, G[rows])
    assert own.n_unique == fresh.n_unique
    assert np.array_equal(own.evaluate(X)[0], F)


@pytest.mark.usefixtures("many_switches")
def test_a_pickle_may_be_made_while_threads_evaluate():
    own = problem()
    X = np.random.default_rng(0).integers(0, own.lengths + 1, size=(300, own.n_var))
    F = problem().evaluate(X)[0]

    def act(number):
        if number:
            return [own.evaluate(rows) for rows in np.array_split(np.roll(X, 70 * number, axis=0), 60)] and None
        return [pickle.dumps(own._memory) for _ in range(30)]

    for stored in together(4, act)[0]:
        memory = pickle.loads(stored)
        held = holds(memory, X)
        assert np.array_equal(memory[X[held]][:, 0], -F[held, 0])


def test_a_pickle_holds_points_and_values_and_no_free_rows():
    memory, X = Memory(2), np.arange(3000).reshape(-1, 3)
    recall(memory, X, of_nodes)
    recall(memory, X[:1] + 9000, of_nodes)
    other = pickle.loads(pickle.dumps(memory))
    assert np.array_equal(other[X], of_nodes(X))
    more = X + 5000
    assert np.array_equal(recall(other, more, of_nodes), of_nodes(more))
    assert len(pickle.dumps(memory)) < 1001 * (24 + 16 + 16) + 1000
