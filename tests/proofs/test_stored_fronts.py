"""Proven fronts of stored lattices under every rule, order and thread number."""

import numpy as np
import pytest
from pymoo.optimize import minimize
from strategies import invented_frame
from tasks import Task, found, invented

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import (
    ClassificationMetric,
    DistinctLDiversity,
    EntropyLDiversity,
    GeneralLossMetric,
    KAnonymity,
    SquaredClassSizes,
    SquaredValueCounts,
)
from pymoo_anon.problems import LatticeProblem, base
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
