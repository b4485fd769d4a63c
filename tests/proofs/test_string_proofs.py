"""Proofs over bit strings against enumeration: every suppression, loss, constraint."""

import copy
import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from pymoo.optimize import minimize
from strategies import a_third_at_once, grown, renamed

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.fronts.archive import merge_front
from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem
from pymoo_anon.proofs.base import Limits, tolerance
from pymoo_anon.proofs.strings import PairSearch, StringProof
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Taxonomy, Violating


def random_table(rng):
    """Build a small table with unused values, and some taxonomies."""
    sizes = [int(rng.integers(1, 6)) for _ in range(int(rng.integers(1, 6)))]
    while sum(sizes) - len(sizes) > 10:
        sizes[int(np.argmax(sizes))] -= 1
    if max(sizes) == 1:
        sizes[0] = 3
    n = int(rng.integers(5, 70))
    frame, domains, taxonomies = pd.DataFrame(index=range(n)), {}, {}
    for j, size in enumerate(sizes):
        domains[f"q{j}"] = [f"{j}{letter}" for letter in "abcdef"[:size]]
        shares = rng.dirichlet(np.full(size, 0.7))
        frame[f"q{j}"] = rng.choice(domains[f"q{j}"], n, p=shares)
        if size > 1 and rng.random() < 0.4:
            tree = grown(lambda low, high: int(rng.integers(low, high + 1)), size)
            taxonomies[f"q{j}"] = Taxonomy(renamed(tree, domains[f"q{j}"]))
    frame["label"] = rng.choice(["x", "y", "z"], n, p=[0.5, 0.4, 0.1])
    frame["illness"] = rng.choice(list("uvw"), n)
    hierarchies = {name: Hierarchy.flat(domain) for name, domain in domains.items()}
    return Microdata.from_frame(frame, hierarchies, sensitive="illness", label="label"), taxonomies


def random_losses(rng, n):
    weights = rng.integers(0, 5, n) / 4 if n > 1 else np.ones(1)
    if weights.sum() == 0:
        weights[0] = 1
    shares = rng.dirichlet(np.ones(n))
    return [
        GeneralLossMetric(),
        GeneralLossMetric(),
        GeneralLossMetric(weights),
        NormalizedWeightedPenalty(),
        NormalizedWeightedPenalty(shares / shares.sum()),
        NormalizedWeightedPenalty(),
        GeneralLossMetric(),
        NonUniformEntropy(),
    ]


def random_problem(seed):
    """Cycle through losses and suppressions, alone, beside k, and with constraints."""
    rng = np.random.default_rng(seed)
    table, taxonomies = random_table(rng)
    n = table.n_rows
    losses = random_losses(rng, len(table.quasi_identifiers))
    k = int(rng.integers(1, 1 + max(n // 3, 1)))
    limit = int(rng.integers(0, max(n // 3, 1)))
    which, rule, beside = seed % 8, seed // 8 % 4, seed // 32 % 3
    constraints = [
        [],
        [KAnonymity() >= k],
        [KAnonymity() >= k, (DistinctLDiversity("illness") if seed % 2 else DistinctLDiversity()) >= 2],
        [ProsecutorRisk() <= 1 / k],
    ][(which + rule + beside) % 4]
    suppression = [AtMost(0), AtMost(limit), Below(k), Violating(limit)][rule]
    if isinstance(suppression, Violating) and not constraints:
        constraints = [KAnonymity() >= k]
    loss, measure = losses[which], [KAnonymity(), None, ProsecutorRisk()][beside]
    objectives = [loss] if measure is None else [[loss, measure], [measure, loss]][int(rng.integers(0, 2))]
    return BitStringProblem(table, objectives, suppression, constraints, taxonomies=taxonomies)


def front_of_all(problem):
    X = np.array(list(product([False, True], repeat=problem.n_var)))
    X, F = problem.compute_feasible(X[problem.is_valid(X)])
    return merge_front(X[:0], F[:0], X, F)[1]


def in_order(F):
    """Sort a front. Equal losses may differ in their last bits, by the order in which cells are added up."""
    rounded = np.round(F, 9)
    front = merge_front(rounded[:0], rounded[:0], rounded, rounded)[1]
    return front[np.lexsort(front.T[::-1])]


def prove(problem, epsilon=None, seed=0, slices=10_000, **limits):
    proof = StringProof(problem, tolerance(epsilon, problem.n_obj), Limits(**limits), np.random.default_rng(seed))
    while not proof.certified and slices > 0:
        proof.advance()
        slices -= 1
    return proof


@pytest.mark.parametrize("seed", a_third_at_once(range(150)))
def test_a_proof_finds_what_all_strings_hold(seed):
    problem = random_problem(seed)
    expected = in_order(front_of_all(problem))
    problem.n_threads = 1 + seed % 2
    proof = prove(problem)
    assert proof.certified
    found = in_order(proof.F)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    np.testing.assert_array_equal(problem.compute(proof.X), proof.F)
    if proof._space.slack == 0:
        # The loss of whole units is rounded up or down, and needs as many again.
        for gain in range(round(proof._space.most / proof._space.unit) + 1):
            assert proof._space.need(proof._space.least_loss(gain), exact=True) == gain


@pytest.mark.parametrize("seed", range(150, 175))
def test_a_tolerance_is_kept(seed):
    problem = random_problem(seed)
    expected = front_of_all(problem)
    for epsilon in ("10%", [1.5] * problem.n_obj, ["20%", 0][: problem.n_obj]):
        proof = prove(problem, epsilon)
        assert proof.certified
        np.testing.assert_array_equal(problem.compute(proof.X), proof.F)
        # Every point of the whole front has a member that stands for it.
        own, column = tolerance(epsilon, problem.n_obj), proof._goal.loss
        allowed = own.widened(expected)
        assert (proof.F[None] <= allowed[:, None] + 1e-9).all(axis=2).any(axis=1).all()
        # The least loss that a member of 7 stands for.
        assert own.widened(np.full((1, problem.n_obj), proof._covered_from(7.0)))[0, column] == pytest.approx(7)


def test_a_wide_tolerance_of_k_passes_over_thresholds():
    problem = next(one for one in map(random_problem, range(1000)) if one.n_obj == 2 and len(front_of_all(one)) > 4)
    column = next(i for i, one in enumerate(problem.objectives) if isinstance(one, KAnonymity | ProsecutorRisk))
    wide = ["90%" if i == column else 0 for i in range(2)]
    assert len(prove(problem, wide).F) < len(prove(problem).F)


@pytest.mark.parametrize("seed", range(175, 215))
def test_stopped_early_the_open_bounds_hold(seed, monkeypatch):
    """Check after each part that bounds lie below uncovered front points."""
    problem = random_problem(seed)
    # The search starts from nothing. Its first find is not the optimum.
    monkeypatch.setattr(PairSearch, "within", lambda self, cuts, multiplier: ([cuts], 0.0))
    expected = front_of_all(problem)
    proof = prove(problem, slices=0, read=1, read_a_turn=(1, 100)[seed % 2])
    n_open = 0
    while not proof.certified:
        bounds = proof.open_bounds()
        # Uncovered members, up to the rounding of fractional values.
        covered = (proof.F[None] <= expected[:, None] + 1e-9 * np.abs(expected[:, None])).all(axis=2).any(axis=1)
        missing = expected[~covered]
        assert (bounds[None] <= missing[:, None]).all(axis=2).any(axis=1).all()
        n_open += len(missing) > 0
        proof.advance()
    assert len(proof.open_bounds()) == 0
    np.testing.assert_allclose(in_order(proof.F), in_order(expected), rtol=1e-7)


def test_minimize_proves_and_goes_on_elsewhere():
    problem = next(p for p in map(random_problem, range(1000)) if p.n_obj == 2 and len(front_of_all(p)) > 3)
    expected = in_order(front_of_all(problem))
    res = minimize(problem, BranchAndBound(), seed=1)
    assert res.algorithm.certified
    np.testing.assert_allclose(in_order(res.F), expected)
    assert (res.algorithm.gap == 0).all()
    assert res.algorithm.n_undecided == 0
    assert res.algorithm.n_evaluated >= len(expected)
    algorithm = BranchAndBound().setup(problem, seed=1)
    for _ in range(3):
        algorithm.next()
    for again in (copy.deepcopy(algorithm), pickle.loads(pickle.dumps(algorithm))):
        again.run()
        assert again.certified
        np.testing.assert_allclose(in_order(again.opt.get("F")), expected)


def test_a_search_that_is_interrupted_loses_nothing(monkeypatch):
    """Interrupt at every evaluation and table, and still prove the same front."""
    problem = next(p for p in map(random_problem, range(1000)) if p.n_obj == 2 and len(front_of_all(p)) > 3)
    expected = in_order(front_of_all(problem))
    monkeypatch.setattr(PairSearch, "within", lambda self, cuts, multiplier: ([cuts], 0.0))
    proof = StringProof(problem, tolerance(None, 2), Limits(), np.random.default_rng(0))
    calls, rng = 0, np.random.default_rng(0)

    def often_interrupted(method):
        def call(*args):
            nonlocal calls
            calls += 1
            if rng.random() < 0.25:
                raise KeyboardInterrupt
            return method(*args)

        return call

    monkeypatch.setattr(proof, "_evaluate", often_interrupted(proof._evaluate))
    monkeypatch.setattr(proof._space, "walk", often_interrupted(proof._space.walk))
    for _ in range(10_000):
        try:
            proof.advance()
        except KeyboardInterrupt:
            continue
        if proof.certified:
            break
    assert proof.certified
    assert calls > 5
    np.testing.assert_allclose(in_order(proof.F), expected)


def test_little_memory_and_small_tables_find_the_same():
    """Choose parts by depth, and walk without the first tabled attribute."""
    for seed in range(330, 350):
        problem = random_problem(seed)
        proof = prove(problem, max_bytes=1 << 12, table_bytes=1 << 8)
        np.testing.assert_allclose(in_order(proof.F), in_order(front_of_all(problem)), rtol=1e-7)
