"""Proofs over bit strings against all strings of small tables: every suppression, loss and kind of constraint."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from pymoo_anon.algorithms.proofs import strings, strings_bounds, strings_search, strings_space, strings_tables
from pymoo_anon.algorithms.proofs.strings import StringProof
from pymoo_anon.algorithms.proofs.tolerance import tolerance
from pymoo_anon.fronts.archive import merge_front
from pymoo_anon.objectives import (
    ClassificationMetric,
    Discernibility,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    MaximumRisk,
    NonUniformEntropy,
    NormalizedWeightedPenalty,
)
from pymoo_anon.problems import PartitionProblem
from pymoo_anon.table import AtMost, Below, Hierarchy, Microdata, Taxonomy, Violating


def random_tree(rng, names):
    """A random tree over leaves in order: an inner node has two or three children."""
    nodes = [{"name": name} for name in names]
    number = 0
    while len(nodes) > 1:
        width = min(int(rng.integers(2, 4)), len(nodes))
        at = int(rng.integers(0, len(nodes) - width + 1))
        nodes[at : at + width] = [{"name": f"node {number}", "children": nodes[at : at + width]}]
        number += 1
    return Taxonomy(nodes[0])


def random_table(rng, n_bits=10):
    """A small table, and taxonomies for some of its attributes; not all values of a domain occur."""
    sizes = [int(rng.integers(1, 6)) for _ in range(int(rng.integers(1, 6)))]
    while sum(sizes) - len(sizes) > n_bits:
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
            taxonomies[f"q{j}"] = random_tree(rng, domains[f"q{j}"])
    frame["label"] = rng.choice(["x", "y", "z"], n, p=[0.5, 0.4, 0.1])
    frame["illness"] = rng.choice(list("uvw"), n)
    hierarchies = {name: Hierarchy.flat(domain) for name, domain in domains.items()}
    return Microdata.from_frame(frame, hierarchies, sensitive="illness", label="label"), taxonomies


def random_loss(rng, n):
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
        Discernibility(),
        ClassificationMetric("label"),
        NonUniformEntropy(),
    ][int(rng.integers(0, 8))]


def random_problem(seed):
    rng = np.random.default_rng(seed)
    table, taxonomies = random_table(rng)
    n = table.n_rows
    loss = random_loss(rng, len(table.quasi_identifiers))
    k = int(rng.integers(1, 1 + max(n // 3, 1)))
    limit = int(rng.integers(0, max(n // 3, 1)))
    constraints = [
        [],
        [KAnonymity() >= k],
        [KAnonymity() >= k, DistinctLDiversity("illness") >= 2],
        [MaximumRisk() <= 1 / k],
    ][int(rng.integers(0, 4))]
    suppression = [AtMost(0), AtMost(limit), Below(k), Violating(limit)][int(rng.integers(0, 4))]
    if isinstance(suppression, Violating) and not constraints:
        constraints = [KAnonymity() >= k]
    measure = [None, KAnonymity(), MaximumRisk()][int(rng.choice(3, p=[0.4, 0.4, 0.2]))]
    objectives = [loss] if measure is None else [[loss, measure], [measure, loss]][int(rng.integers(0, 2))]
    return PartitionProblem(table, objectives, suppression, constraints, taxonomies=taxonomies)


def front_of_all(problem):
    """The front of all valid strings."""
    X = np.array(list(product([False, True], repeat=problem.n_var)))
    X, F = problem.compute_feasible(X[problem.is_valid(X)])
    return merge_front(X[:0], F[:0], X, F)[1]


def in_order(F):
    return F[np.lexsort(F.T[::-1])]


def prove(problem, epsilon=None, seed=0, slices=10_000):
    proof = StringProof(problem, tolerance(epsilon, problem.n_obj), 2 << 30, np.random.default_rng(seed))
    while not proof.certified and slices > 0:
        proof.advance()
        slices -= 1
    return proof


@pytest.mark.parametrize("seed", range(150))
def test_a_proof_finds_what_all_strings_hold(seed):
    problem = random_problem(seed)
    expected = in_order(front_of_all(problem))
    proof = prove(problem)
    assert proof.certified
    found = in_order(proof.F)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    np.testing.assert_array_equal(problem.compute(proof.X), proof.F)


@pytest.mark.parametrize("seed", range(150, 175))
def test_a_tolerance_is_kept(seed):
    problem = random_problem(seed)
    expected = front_of_all(problem)
    for epsilon in ("10%", [1.5] * problem.n_obj, ["20%", 0][: problem.n_obj]):
        proof = prove(problem, epsilon)
        assert proof.certified
        np.testing.assert_array_equal(problem.compute(proof.X), proof.F)
        # Every point of the whole front has a member that stands for it.
        allowed = tolerance(epsilon, problem.n_obj).widened(expected)
        assert (proof.F[None] <= allowed[:, None] + 1e-9).all(axis=2).any(axis=1).all()


def test_a_wide_tolerance_of_k_passes_over_thresholds():
    problem = next(one for one in map(random_problem, range(1000)) if one.n_obj == 2 and len(front_of_all(one)) > 4)
    column = next(i for i, one in enumerate(problem.objectives) if isinstance(one, KAnonymity | MaximumRisk))
    wide = ["90%" if i == column else 0 for i in range(2)]
    assert len(prove(problem, wide).F) < len(prove(problem).F)


@pytest.mark.parametrize("seed", range(175, 215))
def test_stopped_early_the_open_bounds_hold(seed, monkeypatch):
    """After every part of the work: what of the whole front no member covers is above some row of the bounds."""
    monkeypatch.setattr(strings, "_SLICE", 0.0)
    problem = random_problem(seed)
    # A search from nothing: what is found first is not the optimum.
    monkeypatch.setattr(strings, "improve", lambda instance, cuts, *args: cuts)
    monkeypatch.setattr(strings, "improve_within", lambda instance, cuts, *args: ([cuts], 0.0))
    expected = front_of_all(problem)
    proof = prove(problem, slices=0)
    n_open = 0
    while not proof.certified:
        bounds = proof.open_bounds()
        # What is missing, but for the rounding of values that are not whole.
        covered = (proof.F[None] <= expected[:, None] + 1e-9 * np.abs(expected[:, None])).all(axis=2).any(axis=1)
        missing = expected[~covered]
        assert (bounds[None] <= missing[:, None]).all(axis=2).any(axis=1).all()
        n_open += len(missing) > 0
        proof.advance()
    assert len(proof.open_bounds()) == 0
    np.testing.assert_allclose(in_order(proof.F), in_order(expected), rtol=1e-7)


@pytest.mark.parametrize("seed", range(215, 235))
def test_threads_and_the_order_of_attributes_and_tuples_change_nothing(seed):
    problem = random_problem(seed)
    expected = in_order(prove(problem).F)
    problem.n_threads = 3
    np.testing.assert_allclose(in_order(prove(problem, seed=1).F), expected, rtol=1e-12)
    rng = np.random.default_rng(seed)
    table = problem.table
    names = [list(table.quasi_identifiers)[i] for i in rng.permutation(len(table.quasi_identifiers))]
    shuffled = rng.permutation(table.n_distinct)
    place = [list(table.quasi_identifiers).index(name) for name in names]
    columns, values, at = {}, {}, np.concatenate([np.full(n, i) for i, n in enumerate(table.tuples.counts)])
    if any(getattr(one, "weights", None) is not None for one in problem.objectives):
        return
    rows = pd.DataFrame({name: at for name in ["row"]})
    for name in ("label", "illness"):
        histogram = table.tuples.columns[name].histogram()
        columns[name] = np.concatenate([np.repeat(np.arange(len(h)), h) for h in histogram])
        values[name] = table.tuples.domains[name]
    order = rng.permutation(len(rows))
    codes = [table.tuples.codes[rows["row"].to_numpy()[order], j] for j in place]
    again = Microdata.from_codes(
        {name: table.quasi_identifiers[name] for name in names},
        codes,
        np.ones(len(rows), dtype=np.int64),
        {name: column[order] for name, column in columns.items()},
        values,
        ["illness"],
        "label",
    )
    other = PartitionProblem(
        again, problem.objectives, problem.suppression, problem.constraints, taxonomies=problem.taxonomies
    )
    np.testing.assert_allclose(in_order(prove(other).F), expected, rtol=1e-9)
    assert len(shuffled) == len(again.tuples)
