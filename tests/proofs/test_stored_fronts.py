"""Proven fronts of stored lattices: rules, orders, threads, visits of all nodes, and learned bounds."""

import pickle
import time

import numpy as np
import pytest
from limits import limited
from numba.core.event import install_timer
from pymoo.optimize import minimize
from strategies import invented_frame
from tasks import Task, found, invented, nsga2, sorted_rows

from pymoo_anon.algorithms import PBGEA, BranchAndBound, ExhaustiveSearch, ParetoLocalSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.engine.compiled import njit
from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem, base, journaled
from pymoo_anon.proofs import stored
from pymoo_anon.table import Microdata

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

GOALS = {
    "k, GLM": [KAnonymity(), GeneralLossMetric()],
    "k, l, GLM": [KAnonymity(), DistinctLDiversity("s0"), GeneralLossMetric()],
    "S_k, S_l, GLM": [SquaredClassSizes(), SquaredValueCounts("s0"), GeneralLossMetric()],
    "k, S_k, GLM": [KAnonymity(), SquaredClassSizes(), GeneralLossMetric()],
    "k, GLM, CM": [KAnonymity(), GeneralLossMetric(), ClassificationMetric("s0")],
    "entropy l, GLM": [EntropyLDiversity("s0"), GeneralLossMetric()],
    "persons, GLM": [KAnonymity(person="s1"), KAnonymity(), GeneralLossMetric()],
}


@pytest.fixture
def threads_at_once(monkeypatch):
    """Let threads begin for the smallest batch."""
    monkeypatch.setattr(base, "_TUPLES_OF_A_THREAD", 1)
    monkeypatch.setattr(stored, "_FEWEST_IN_THREADS", 1)


@pytest.mark.parametrize("goals", GOALS.values(), ids=list(GOALS))
def test_larger_lattices_where_projections_come_first(goals):
    """Use 625 nodes, most of them neither projections nor in the front."""
    pruned = 0
    for seed in range(8):
        limit, below = [(0, 0), (3, 0), (12, 0), (0, 4)][seed % 4]
        task = Task(invented(seed), goals, [], limit, below=below)
        res = minimize(task.problem, BranchAndBound(), seed=seed)
        np.testing.assert_array_equal(found(res, task.problem), task.front)
        pruned += res.algorithm.n_pruned
    assert pruned > 8 * 150


@pytest.mark.parametrize("goals", [GOALS["k, GLM"], GOALS["k, GLM, CM"]], ids=["sweep", "at random"])
def test_order_of_tuples_and_threads_change_nothing_but_the_choice_among_equals(goals, threads_at_once):
    """Reorder rows, which reorders tuples."""
    table = invented(3)
    fronts, numbers = [], []
    for n_threads in (1, 2):
        for order in (None, 0, 1):
            own = LatticeProblem(table if order is None else shuffled(3, order), goals, suppression=3)
            own.n_threads = n_threads
            res = minimize(own, BranchAndBound(), seed=1)
            fronts.append(found(res, own).tolist())
            numbers.append((order, res.algorithm.n_evaluated))
    assert all(front == fronts[0] for front in fronts)
    assert numbers[:3] == numbers[3:]


def test_what_is_known_of_every_node_does_not_depend_on_threads(threads_at_once):
    """Screen each layer in one part, without hints between parts."""
    known = []
    for n_threads in (1, 2):
        own = LatticeProblem(make_census(1000, seed=3), [KAnonymity(), GeneralLossMetric()], suppression=0.01)
        own.n_threads = n_threads
        known.append(minimize(own, BranchAndBound(), seed=1).algorithm.proof._nodes.tops)
    np.testing.assert_array_equal(*known)


@pytest.mark.parametrize("module", [base, stored])
def test_a_proof_of_a_small_table_begins_no_thread(module, monkeypatch):
    """Starting threads for each of its small batches took longer than the batches."""
    monkeypatch.setattr(module, "ThreadPoolExecutor", None)
    own = LatticeProblem(make_census(500, seed=3), [KAnonymity(), GeneralLossMetric()], suppression=0.01)
    own.n_threads = 2
    assert minimize(own, BranchAndBound(), seed=1).algorithm.certified


def shuffled(seed, order):
    """Return a table of `invented` with its distinct tuples in another order."""
    frame = invented_frame(seed).sample(frac=1, random_state=order)
    return Microdata.from_frame(frame, invented(seed).quasi_identifiers, sensitive=["s0", "s1"])


TABLE = make_census(400, seed=3)
SETS = {
    "layers": [KAnonymity(), TCloseness("occupation"), GeneralLossMetric()],
    "in random order": [TCloseness("occupation"), GeneralLossMetric(), ClassificationMetric("salary-class")],
}


def census(objectives):
    return LatticeProblem(TABLE, objectives, suppression=0.01)


@pytest.mark.parametrize("objectives", SETS.values(), ids=list(SETS))
def test_all_is_visited_where_bounds_settle_less_than_half(objectives):
    """Keep every missing front member within the open bounds."""
    problem = census(objectives)
    exact = problem.pareto_front()
    algorithm = limited(batch_of_all=1500).setup(problem, seed=1)
    visited, resumed, pruned = [], None, 0
    while algorithm.has_next():
        algorithm.next()
        visited.append(algorithm.proof.visits_all)
        if visited[-1] and resumed is None:
            resumed = pickle.loads(pickle.dumps(algorithm))
        if visited[-1] or len(visited) % 10 == 0:
            bounds = algorithm.open_bounds
            for own in exact:
                assert (own == algorithm.proof.F).all(axis=1).any() or (bounds <= own).all(axis=1).any()
        # A node that is pruned is not visited later.
        earlier, pruned = pruned, algorithm.n_pruned
        assert earlier <= pruned == problem.n_nodes - algorithm.n_evaluated - algorithm.n_undecided
    assert algorithm.certified
    assert not visited[0]
    assert visited[-1]
    np.testing.assert_array_equal(sorted_rows(algorithm.proof.F), exact)
    resumed.run()
    np.testing.assert_array_equal(resumed.proof.F, algorithm.proof.F)
    assert resumed.n_evaluated == algorithm.n_evaluated


def test_what_another_version_learned_is_read_or_refused(tmp_path):
    """Ignore extra numbers behind a bound, and refuse missing ones."""
    own = census(SETS["layers"])
    with journaled(own, tmp_path / "a.journal") as journal:
        minimize(own, BranchAndBound(), ("n_gen", 2), seed=1)
        learned = dict(journal.bounds)
    for lessons, refused in (("longer", False), ("shorter", True)):
        again = census(SETS["layers"])
        with journaled(again, tmp_path / "a.journal", resume=True) as journal:
            learned = journal.bounds
            for key, lesson in learned.items():
                learned[key] = np.append(lesson, [1.0, 2.0]) if lessons == "longer" else lesson[:1]
            assert learned
            if refused:
                with pytest.raises(ValueError, match="holds bounds of another version; search anew"):
                    minimize(again, BranchAndBound(), seed=1)
            else:
                assert minimize(again, BranchAndBound(), seed=1).algorithm.certified


def test_what_nodes_teach_is_spread_to_all_above_and_below(monkeypatch):
    """Compare with a slow twin that compares levels node by node."""
    problem = census([KAnonymity(), Discernibility()])
    proof = BranchAndBound().setup(problem, seed=1).proof
    every, rng = problem.nodes(0, problem.n_nodes), np.random.default_rng(0)
    for _ in range(5):
        X = every[rng.choice(len(every), 3, replace=False)]
        lessons = rng.integers(0, 9, (3, 3)).astype(float)
        lessons[:, 1] -= 5
        nodes = proof._nodes
        tops, bounds = nodes.tops[:, 0].copy(), nodes.bounds[:, 0].copy()
        for x, (top, special, general) in zip(X, lessons, strict=True):
            below, above = (every <= x).all(axis=1), (every >= x).all(axis=1)
            tops[below] = np.minimum(tops[below], top)
            bounds[below] = np.maximum(bounds[below], special)
            bounds[above] = np.maximum(bounds[above], general)
        proof._apply(X @ proof.bounds.rules.strides, X, lessons)
        np.testing.assert_array_equal(nodes.tops[:, 0], tops)
        np.testing.assert_array_equal(nodes.bounds[:, 0], bounds)


@pytest.mark.parametrize("kind", [BranchAndBound, ExhaustiveSearch, ParetoLocalSearch, PBGEA, nsga2])
def test_a_budget_of_seconds_does_not_count_compilation(monkeypatch, kind):
    measure, spent = LatticeProblem._measure, []

    def compiling(self, *arguments):
        with install_timer("numba:compiler_lock", spent.append):
            njit()(lambda x: x + 1)(1)
        return measure(self, *arguments)

    monkeypatch.setattr(LatticeProblem, "_measure", compiling)
    began = time.time()
    res = minimize(census(SETS["layers"][::2]), kind(), ("n_gen", 2), seed=1)
    assert res.algorithm.start_time - began > 0.9 * sum(spent) > 0.0
