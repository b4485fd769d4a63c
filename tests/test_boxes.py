"""Lattices that are not stored: boxes and clauses give the exact front, whatever stops or bounds the search."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import tables

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.algorithms.proofs.base import share_off
from pymoo_anon.algorithms.proofs.boxes import proof as proofs
from pymoo_anon.algorithms.proofs.boxes import space
from pymoo_anon.algorithms.proofs.boxes.arrays import LEAVES
from pymoo_anon.algorithms.proofs.boxes.proof import BoxProof
from pymoo_anon.algorithms.proofs.stored.proof import bytes_of
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import (
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    MaximumRisk,
    NonUniformEntropy,
    NormalizedWeightedPenalty,
    Precision,
    TCloseness,
)
from pymoo_anon.objectives.bounds import AdditiveLoss
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Below, Hierarchy, Microdata, Violating

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

# Less memory than any lattice takes: no lattice is stored.
LITTLE = 1
LOSSES = (GeneralLossMetric(), NormalizedWeightedPenalty(), NonUniformEntropy(), Precision())
CENSUS = make_census(1000, seed=3)


def sorted_rows(F):
    F = np.atleast_2d(F)
    return F[np.lexsort(F.T[::-1])]


@st.composite
def losses(draw, n):
    """An additive loss, weighed or not."""
    weights = draw(st.none() | st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    weighted = (
        []
        if weights is None
        else [GeneralLossMetric(weights), NormalizedWeightedPenalty(np.array(weights) / sum(weights))]
    )
    return draw(st.sampled_from([*LOSSES, *weighted]))


@st.composite
def problems(draw):
    """A small lattice, an additive loss and what follows k, with any limit and with constraints or without."""
    table = draw(tables())
    n = len(table.frame)
    loss = draw(losses(len(table.top)))
    by_k = draw(st.lists(st.sampled_from([KAnonymity(), MaximumRisk()]), max_size=2, unique_by=repr))
    distinct = draw(st.lists(st.sampled_from([DistinctLDiversity("s0"), KAnonymity(person="s1")]), max_size=1))
    objectives = draw(st.permutations([loss, *by_k, *distinct]))
    low, high = sorted(loss.value_range(table.microdata.tuples))
    bound = low + draw(st.floats(0.1, 0.9)) * (high - low)
    offered = [
        KAnonymity() >= draw(st.integers(1, n)),
        KAnonymity() <= draw(st.integers(1, n)),
        MaximumRisk() <= draw(st.sampled_from([0.2, 0.5, 1])),
        DistinctLDiversity("s0") >= draw(st.integers(1, 3)),
        DistinctLDiversity("s1") >= 2,
        KAnonymity(person="s0") >= 2,
        TCloseness("s1") <= 0.4,
        (loss >= bound) if loss.maximize else (loss <= bound),
        (loss <= bound) if loss.maximize else (loss >= bound),
    ]
    constraints = draw(st.lists(st.sampled_from(offered), max_size=2, unique_by=repr))
    suppression = draw(st.integers(0, max(n // 3, 1)).map(lambda limit: min(limit, n - 1)))
    if not distinct and any(one.speaks_of_classes for one in constraints) and draw(st.booleans()):
        suppression = Violating(suppression)
    return LatticeProblem(table.microdata, objectives, suppression=suppression, constraints=constraints)


def solved(problem, **kwargs):
    algorithm = minimize(problem, BranchAndBound(max_bytes=LITTLE, **kwargs), seed=0).algorithm
    assert isinstance(algorithm.proof, BoxProof)
    assert algorithm.certified
    assert len(algorithm.open_bounds) == 0
    return algorithm.proof


@settings(max_examples=300)
@given(problems())
def test_the_front_is_exact(problem):
    proof = solved(problem)
    np.testing.assert_array_equal(sorted_rows(proof.F), sorted_rows(problem.pareto_front()))
    if len(proof.X):
        np.testing.assert_array_equal(problem.compute(proof.X), proof.F)


@settings(max_examples=100)
@given(problems(), st.sampled_from([0.01, 0.1, 0.6]), st.sampled_from([0, 0.5, 3]))
def test_members_stand_for_every_node_within_the_tolerance(problem, share, absolute):
    epsilon = [
        f"{100 * share}%" if o.bounding in {type(loss).bounding for loss in LOSSES} else absolute
        for o in problem.objectives
    ]
    proof = solved(problem, epsilon=epsilon)
    wide = proof.tolerance.widened(problem.pareto_front())
    for point in wide:
        assert (point + 1e-9 * np.abs(point) >= proof.F).all(axis=1).any()


def members_stand(F, bounds, front):
    """Whether every point of the exact front is as bad as a member, or lies above an open bound."""
    settled = (F[np.newaxis] <= front[:, np.newaxis]).all(axis=2).any(axis=1)
    open_ = (bounds[np.newaxis] <= front[:, np.newaxis] + 1e-9).all(axis=2).any(axis=1)
    return (settled | open_).all()


def true_gap(F, front):
    """How much lower each objective is among points of the exact front that are as good in all others."""
    as_good = front[np.newaxis] <= F[:, np.newaxis]
    widest = np.zeros_like(F)
    for j in range(F.shape[1]):
        others = np.delete(as_good, j, axis=2).all(axis=2)
        lower = np.where(others, F[:, np.newaxis, j] - front[np.newaxis, :, j], 0)
        widest[:, j] = lower.max(axis=1, initial=0)
    return widest


@settings(max_examples=100)
@given(problems(), st.integers(1, 8), st.booleans(), st.sampled_from([1, 256]))
def test_stopped_early_the_bounds_hold_and_it_goes_on(problem, n_slices, pickled, room):
    with pytest.MonkeyPatch.context() as patch:
        # So little work that the smallest lattice takes several slices.
        patch.setattr(proofs, "_WORK_A_CALL", 1)
        patch.setattr(proofs, "_SECONDS_A_SLICE", 0)
        patch.setattr(space, "_FEWEST_BOXES", room)
        algorithm = BranchAndBound(max_bytes=LITTLE)
        algorithm.setup(problem, seed=0)
        front = problem.pareto_front()
        for _ in range(n_slices):
            if algorithm.has_next():
                algorithm.next()
                assert members_stand(algorithm.proof.F, algorithm.open_bounds, front)
                assert (algorithm.gap >= true_gap(algorithm.proof.F, front) - 1e-9).all()
        other = pickle.loads(pickle.dumps(algorithm)) if pickled else copy.deepcopy(algorithm)
        while other.has_next():
            other.next()
            assert members_stand(other.proof.F, other.open_bounds, front)
    assert other.certified
    np.testing.assert_array_equal(sorted_rows(other.proof.F), sorted_rows(front))


@pytest.mark.parametrize("limit", [0, 0.01, 0.1])
def test_a_full_heap_goes_depth_first(monkeypatch, limit):
    monkeypatch.setattr(space, "_FEWEST_BOXES", 8)
    problem = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=limit)
    proof = solved(problem)
    assert len(proof._memory.heap.bounds) == 2 * problem.n_var + 8
    assert proof._memory.state.marks[LEAVES] > -np.inf
    np.testing.assert_array_equal(sorted_rows(proof.F), problem.pareto_front())


def test_more_memory_changes_nothing_but_the_way():
    problem = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=0.01)
    fronts = []
    for max_bytes in (LITTLE, 10_000, bytes_of(problem) - 1):
        algorithm = minimize(problem, BranchAndBound(max_bytes=max_bytes), seed=0).algorithm
        assert isinstance(algorithm.proof, BoxProof)
        fronts.append(sorted_rows(algorithm.proof.F))
    assert algorithm.proof._memory.state.marks[LEAVES] == -np.inf
    np.testing.assert_array_equal(fronts[0], fronts[1])
    np.testing.assert_array_equal(fronts[0], fronts[2])


def test_several_words_a_key_and_a_node():
    """Attributes that never vary change neither k nor loss, but fill domains and hierarchies of more than 64 bits."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"q{j}": rng.integers(0, 16, 60) for j in range(3)})
    quasi_identifiers = {name: Hierarchy.intervals(0, 16, widths=[2, 4, 8]) for name in frame}
    small = LatticeProblem(Microdata.from_frame(frame, quasi_identifiers), [KAnonymity(), GeneralLossMetric()])
    for j in range(24):
        quasi_identifiers = {f"constant {j}": Hierarchy.intervals(0, 4096, widths=[2, 4]), **quasi_identifiers}
        frame[f"constant {j}"] = 0
    problem = LatticeProblem(Microdata.from_frame(frame, quasi_identifiers), small.objectives)
    proof = solved(problem)
    assert len(proof._memory._table.keys) > 1
    assert len(proof._memory._lattice.guards) > 1
    np.testing.assert_array_equal(sorted_rows(proof.F), small.pareto_front())


BUGS = {
    "floors": (AdditiveLoss, "attribute_floors", lambda right: right * 1.2),
    "what is left to lose": (AdditiveLoss, "left_by_value", lambda right: right + 30),
    "the limit": (proofs, "_rule", lambda right: (right[0] - np.array([0, 1, 0, 0, 0]), *right[1:])),
    "the least k": (proofs, "_rule", lambda right: (*right[:2], right[2] + 3)),
    "the greatest loss": (LatticeProblem, "limits", lambda right: np.minimum(right, [np.inf, 300])),
    "keys": (space, "_keys", lambda right: right + np.arange(right.size, dtype=np.uint64)),
    "how far a member stands": (BoxProof, "_last_k", lambda right: right + 2),
    "from where boxes are settled": (BoxProof, "_least_bound", lambda right: right * 0.98),
}


@pytest.mark.parametrize(("where", "name", "wrong"), BUGS.values(), ids=list(BUGS))
def test_a_planted_mistake_is_found_out(monkeypatch, where, name, wrong):
    """A test of the test: every part that bounds rest on is broken once, and a front is no longer exact."""
    right = getattr(where, name)
    if isinstance(right, property):
        monkeypatch.setattr(where, name, property(lambda problem: wrong(right.fget(problem))))
    else:
        monkeypatch.setattr(where, name, lambda *arguments: wrong(right(*arguments)))
    n_wrong = 0
    for seed in range(8):
        table = make_census(60 + 20 * seed, seed=seed)
        problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], suppression=0.05)
        algorithm = BranchAndBound(max_bytes=LITTLE)
        algorithm.setup(problem, seed=0)
        for _ in range(20):
            if algorithm.has_next():
                algorithm.next()
        exact = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], suppression=0.05).pareto_front()
        n_wrong += not np.array_equal(sorted_rows(algorithm.proof.F), exact)
    assert n_wrong > 0


def test_the_output_shows_the_gap_until_it_is_closed(monkeypatch, capsys):
    monkeypatch.setattr(proofs, "_WORK_A_CALL", 1)
    monkeypatch.setattr(proofs, "_SECONDS_A_SLICE", 0)
    problem = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=0.01)
    minimize(problem, BranchAndBound(max_bytes=LITTLE), seed=0, verbose=True)
    lines = [line.split("|") for line in capsys.readouterr().out.splitlines() if "|" in line]
    assert lines[0][-1].strip() == "gap"
    shares = [float(line[-1].strip().rstrip("%")) for line in lines[1:]]
    assert shares[0] == 100
    assert shares[-1] == 0
    assert len(set(shares)) > 5


def test_the_share_of_a_gap_is_what_would_certify_the_front():
    bounds = np.array([[-12.0, 95.0], [-5.0, 60.0]])
    F = np.array([[-10.0, 100.0], [-5.0, 75.0]])
    # The first row is within 20 % of the first member's k, the second within 20 % of the second member's loss.
    assert share_off(F, bounds) == 0.2
    assert share_off(F, bounds[:0]) == 0
    assert share_off(F[:0], bounds) == np.inf
    assert share_off(np.array([[0.0]]), np.array([[-1.0]])) == np.inf


def test_what_is_refused():
    problem = LatticeProblem(CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=Below(5))
    with pytest.raises(ValueError, match=r"^Below has no bounds; ExhaustiveSearch or PBGEA search without any$"):
        BranchAndBound(max_bytes=LITTLE).setup(problem)
