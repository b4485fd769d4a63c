"""A problem's memory, which holds points once, and its journal, read up to the last whole record."""

import copy
import os
import pickle
import re
import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from itertools import product

import numba
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize

from pymoo_anon.algorithms import PBGEA, BranchAndBound, ExhaustiveSearch, ParetoLocalSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem, PreferredPoint, journaled
from pymoo_anon.problems.base import Memory, keys_of
from pymoo_anon.problems.journal import BOUNDS, VALUES, Journal, _beyond_repr, fingerprint
from pymoo_anon.table import Hierarchy, Microdata

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
def test_eight_threads_remember_the_same_values():
    """Ask for the same points in a different order per thread."""
    for trial in range(20):
        memory = Memory(2)
        X = np.stack(np.meshgrid(*[np.arange(8)] * 3), axis=-1).reshape(-1, 3)

        def ask(number, memory=memory, X=X, trial=trial):
            order = np.random.default_rng((trial, number)).permutation(len(X))
            return [(X[rows], recall(memory, X[rows], of_nodes)) for rows in np.array_split(order, 60)]

        for answers in together(8, ask):
            for points, values in answers:
                assert np.array_equal(values, of_nodes(points))
        assert len(memory) == len(X)
        assert np.array_equal(memory[X], of_nodes(X))


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
        return [pickle.dumps(own.memory) for _ in range(30)]

    for stored in together(4, act)[0]:
        memory = pickle.loads(stored)
        held = holds(memory, X)
        assert np.array_equal(memory[X[held]][:, 0], -F[held, 0])


def test_a_pickle_holds_points_and_values_alone():
    memory, X = Memory(2), np.arange(3000).reshape(-1, 3)
    recall(memory, X, of_nodes)
    recall(memory, X[:1] + 9000, of_nodes)
    other = pickle.loads(pickle.dumps(memory))
    assert np.array_equal(other[X], of_nodes(X))
    more = X + 5000
    assert np.array_equal(recall(other, more, of_nodes), of_nodes(more))
    assert len(pickle.dumps(memory)) < 1001 * (24 + 16 + 16) + 1000


TABLE = make_census(300)


def census(rows=300, **kwargs):
    table = TABLE if rows == 300 else make_census(rows)
    return LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], **kwargs)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write four records, and return the journal's bytes and record ends."""
    path = tmp_path_factory.mktemp("journal") / "search.journal"
    journal, sizes = Journal(path, "this"), []
    for i in range(4):
        journal.append(VALUES if i % 2 else BOUNDS, [bytes([i] * 8)] * (i + 1), np.arange(2.0 * i + 1))
        sizes.append(path.stat().st_size)
    journal.close()
    return path, path.read_bytes(), sizes


@given(st.integers(0, 400))
def test_a_record_that_was_torn_is_not_there(written, size):
    path, content, sizes = written
    path.write_bytes(content[:size])
    journal = Journal(path, "this")
    whole = sum(end <= min(size, len(content)) for end in sizes)
    assert [len(record.keys) for record in journal.records()] == list(range(1, whole + 1))
    # New records replace the torn record.
    journal.append(VALUES, [b"x" * 8], np.array([7.0]))
    journal.close()
    assert [record.numbers[-1] for record in Journal(path, "this").records()] == [
        *map(float, range(0, 2 * whole, 2)),
        7,
    ]


@given(st.integers(0, 400), st.integers(1, 255))
def test_a_byte_that_was_changed_ends_what_is_read(written, place, difference):
    path, content, sizes = written
    place %= len(content)
    damaged = bytearray(content)
    damaged[place] ^= difference
    path.write_bytes(damaged)
    if place < content.index(b"this") + 5:
        with pytest.raises(ValueError, match=r"belongs to a search with other settings; search again$"):
            list(Journal(path, "this").records())
        return
    assert len(list(Journal(path, "this").records())) == sum(end <= place for end in sizes)


def test_another_identity_is_refused(written):
    path, content, _ = written
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"search\.journal belongs to a search with other settings; search again$"):
        list(Journal(path, "that").records())
    path.write_bytes(b"k,l\n")
    with pytest.raises(ValueError, match=r"search\.journal is no journal of a search, got b'k,l\\n' at its beginning$"):
        Journal(path, "this").check_replaceable()


def test_a_write_that_fails_leaves_whole_records(tmp_path, monkeypatch):
    journal, write = Journal(tmp_path / "search.journal", "this"), os.write
    journal.append(VALUES, [b"x"], np.array([1.0]))
    for failure in (OSError(28, "No space left on device"), KeyboardInterrupt()):
        calls = []

        def half(file, data, calls=calls, failure=failure):
            calls.append(data)
            if len(calls) > 1:
                raise failure
            return write(file, data[: len(data) // 2])

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", half)
            with pytest.raises(type(failure)):
                journal.append(VALUES, [b"y"], np.array([2.0]))
    journal.append(VALUES, [b"z"], np.array([3.0]))
    journal.close()
    assert [record.keys for record in Journal(journal.path, "this").records()] == [[b"x"], [b"z"]]


OBJECTIVES = {
    "sweeps": [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()],
    "floors rise": [KAnonymity(), ClassificationMetric("occupation")],
    # Bounds settle so little that all nodes are visited, in layers or at random.
    "layers": [KAnonymity(), TCloseness("occupation"), GeneralLossMetric()],
    "at random": [TCloseness("occupation"), GeneralLossMetric(), ClassificationMetric("salary-class")],
}
SEARCHES = {
    "branch and bound": (BranchAndBound, None),
    "exhaustive": (ExhaustiveSearch, None),
    "PBGEA": (lambda: PBGEA(10), ("n_gen", 10)),
    "local": (ParetoLocalSearch, ("n_eval", 150)),
}
BY_ONE = [("branch and bound", name) for name in ("layers", "at random")]


@pytest.mark.parametrize(("search", "objectives"), [*product(SEARCHES, ("sweeps", "floors rise")), *BY_ONE])
def test_a_search_that_was_cut_anywhere_ends_the_same(tmp_path, search, objectives):
    algorithm, termination = SEARCHES[search]
    path = tmp_path / "search.journal"

    def found(settings, **kwargs):
        problem = LatticeProblem(TABLE, OBJECTIVES[objectives], suppression=0.02)
        measured = []
        compute = problem._measure
        problem._measure = lambda X, *args: measured.append(len(X)) or compute(X, *args)
        with journaled(problem, path, settings=settings, **kwargs):
            res = minimize(problem, algorithm(), termination, seed=1)
        return problem.to_frame(res), problem.n_unique, sum(measured)

    whole = found({})
    size = path.stat().st_size
    assert whole[2] > 0
    for share in (0.0, 0.37, 0.8, 1.0):
        os.truncate(path, int(share * size))
        again = found({}, resume=True)
        assert again[0].equals(whole[0])
        assert again[1] == whole[1]
        # Points of the journal are not measured again. Records of nodes without bounds are short.
        spare = 0.4 if (search, objectives) in BY_ONE else 0.1
        assert again[2] <= (1 - share + spare) * whole[2] or search == "exhaustive"
        assert path.stat().st_size == size
    assert again[2] == 0


def test_what_makes_a_search_another_one(tmp_path):
    path = tmp_path / "search.journal"
    others = [census(299), census(suppression=0.01), census(constraints=[KAnonymity() >= 2])]
    others = [(one, {"seed": 1}) for one in (*others, LatticeProblem(TABLE, [KAnonymity()]))]
    with journaled(census(), path, settings={"seed": 1}) as journal:
        journal.append(VALUES, [b"\0" * 64], np.zeros(3))
    for problem, settings in (*others, (census(), {"seed": 2})):
        with pytest.raises(ValueError, match="belongs to a search with other settings"):
            journaled(problem, path, settings=settings, resume=True).__enter__()
    with journaled(census(), path, settings={"seed": 1}, resume=True):
        pass


def small(rows, tree=("x", "x", "y")):
    frame = pd.DataFrame(rows, columns=["q", "s"])
    hierarchy = Hierarchy([["a", "b", "c"], list(tree), ["*"] * 3])
    return LatticeProblem(Microdata.from_frame(frame, {"q": hierarchy}, sensitive="s"), [KAnonymity()])


def test_problems_that_differ_in_anything_differ_to_a_journal():
    problems = [
        small([("a", 1), ("b", 1), ("c", 2), ("c", 2)]),
        # The domains and numbers are the same, but other counts, other sensitive values and another tree.
        small([("a", 1), ("b", 1), ("b", 1), ("c", 2)]),
        small([("a", 1), ("b", 2), ("c", 1), ("c", 2)]),
        small([("a", 1), ("b", 1), ("c", 2), ("c", 2)], ("x", "y", "y")),
        small([("a", 1), ("b", 1), ("c", 2), ("c", 2)], ("x", "x", "z")),
    ]
    assert len({fingerprint(problem, {}) for problem in problems}) == len(problems)
    assert fingerprint(problems[0], {}) == fingerprint(small([("c", 2), ("a", 1), ("c", 2), ("b", 1)]), {})


class OwnLimit(Objective):
    """A measure with a limit that its `repr` does not tell."""

    name = "own"
    maximize = False

    def __init__(self, limit):
        self.limit = limit


def below(limit):
    return lambda sizes: sizes < limit


def above(limit):
    def check(sizes, *, than=limit):
        return sizes > than

    return check


def rewritten(limit):
    """Return a measure of one class, as a program has it before and after an edit."""

    class Edited(OwnLimit):
        def evaluate_one(self, classes):
            return limit

    return Edited(3)


class Slots:
    """An object with its place in memory as `repr`."""

    __slots__ = ("own",)

    def __init__(self, own):
        self.own = own


LONG = np.arange(2_000)
# A `repr` of these lacks some content, or tells a place in memory.
ODD_LIMITS = [
    (np.float64(3), np.float64(4)),
    ({"a", "b"}, {"a", "c"}),
    ({"a": {"b"}}, {"a": {"c"}}),
    ([LONG], [LONG * (LONG != 1_000)]),
    (Slots([3]), Slots([4])),
    (below(3), below(4)),
    (partial(below, 3), partial(below, 4)),
    (np.add, np.subtract),
    (int, float),
    ((None, 5), (5, None)),
    (((1,), 2), ((1, 2),)),
    (above(3), above(4)),
    (numba.njit(below(3)), numba.njit(below(4))),
    (deque([3]), deque([4])),
    (re.compile("a"), re.compile("b")),
]


def test_measures_that_differ_in_what_they_hold_differ_to_a_journal():
    grades = [TCloseness("s", Hierarchy([[1, 2, 3], own, ["*"] * 3])) for own in ("xxy", "xyy")]
    people = [MarketerRisk(small(rows).table) for rows in ([("a", 1), ("b", 1)] * 3, [("a", 1), ("c", 1)] * 3)]
    weighed = [PreferredPoint((0.2, 1.0), weights) for weights in (None, [1.0])]
    table = small([("a", 1), ("b", 2), ("b", 3), ("c", 2)]).table
    limited = [OwnLimit(3), OwnLimit(np.array([3.0, 4.0])), OwnLimit(np.array([3.0, 4.5]))]
    edited = [rewritten(3), rewritten(4)]
    for measures in (grades, people, weighed, limited, edited, *(map(OwnLimit, pair) for pair in ODD_LIMITS)):
        measures = [*measures]
        found = [fingerprint(LatticeProblem(table, [measure]), {}) for measure in measures]
        again = [fingerprint(LatticeProblem(table, [copy.deepcopy(measure)]), {}) for measure in measures]
        assert found == again
        assert len(set(found)) == len(measures)


LEAST, GREATEST = 3, [4]


@numba.njit
def least(sizes):
    return sizes > LEAST


@pytest.mark.parametrize("name", ["LEAST", "GREATEST", "least", "doubled"])
def test_what_a_measure_reads_beside_itself_differs_to_a_journal(monkeypatch, name):
    measure = OwnLimit(lambda sizes: [one for one in sizes if least(one) and one < GREATEST[0]])
    table, used = small([("a", 1), ("b", 2)]).table, name != "doubled"
    before = fingerprint(LatticeProblem(table, [measure]), {})
    monkeypatch.setitem(globals(), name, below(5) if name.islower() else [5])
    assert (fingerprint(LatticeProblem(table, [measure]), {}) != before) == used


def test_a_measure_may_hold_itself_and_what_nothing_is_known_of():
    table, own = small([("a", 1), ("b", 2)]).table, OwnLimit(threading.Lock())
    before = fingerprint(LatticeProblem(table, [own]), {})
    own.itself = [own, own.check, {own}]
    assert fingerprint(LatticeProblem(table, [own]), {}) != before


class Cached(OwnLimit):
    @cached_property
    def doubled(self):
        return 2 * self.limit


@numba.njit
def doubled(number):
    return 2 * number


def recursive():
    def own():
        return later

    before = len([*_beyond_repr(own)])
    later = 1
    return before + later


def test_the_order_of_work_is_none_of_a_journal():
    assert recursive()
    table, own = small([("a", 1), ("b", 2)]).table, Cached(3)
    own.twice, own.again = doubled, numba.njit(doubled.py_func)
    before = fingerprint(LatticeProblem(table, [own]), {})
    assert own.doubled == own.twice(3) == 6
    own.again = numba.njit(doubled.py_func)
    assert fingerprint(LatticeProblem(table, [own]), {}) == before


def test_a_pickled_problem_writes_nowhere(tmp_path):
    problem = census()
    with journaled(problem, tmp_path / "search.journal"):
        copy = pickle.loads(pickle.dumps(problem))
        assert copy.memory.journal is None
        assert problem.memory.journal is not None
    assert problem.memory.journal is None
