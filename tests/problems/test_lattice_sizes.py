"""Lattices of any size: nodes, fronts within a budget, and refusals."""

import tracemalloc
from itertools import product

import numpy as np
import pandas as pd
import pytest
from errors import refused
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from tasks import minimal, nsga2

from pymoo_anon.algorithms import PBGEA, ExhaustiveSearch
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem, lattice
from pymoo_anon.table import Hierarchy, Microdata


def wide_table(lengths, n_rows=60):
    """Return a table with a quasi-identifier of 2 ** length values each.

    Each level halves the number of values.
    """
    rng = np.random.default_rng(0)
    hierarchies = {
        f"q{j}": Hierarchy([[value >> level for value in range(2**length)] for level in range(length + 1)])
        for j, length in enumerate(lengths)
    }
    frame = pd.DataFrame({name: rng.integers(0, own.n_values, n_rows) for name, own in hierarchies.items()})
    return Microdata.from_frame(frame, hierarchies)


def wide(lengths, **kwargs):
    return LatticeProblem(wide_table(lengths), [KAnonymity(), GeneralLossMetric()], **kwargs)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5), st.integers(0, 20), st.integers(0, 300), st.integers(1, 40))
def test_nodes_are_numbered_like_digits(lengths, start, stop, size):
    own = wide(lengths)
    every = list(product(*(range(length + 1) for length in lengths)))
    assert own.n_nodes == len(every)
    found = own.nodes(start, stop)
    assert (found.dtype, found.shape[1]) == (np.int64, len(lengths))
    assert list(map(tuple, found)) == every[start:stop]
    assert list(map(tuple, np.concatenate(list(own.batches(size))))) == every


def test_nodes_of_a_lattice_that_no_integer_counts():
    own = wide([3] * 70)
    assert own.n_nodes == 4**70
    last = own.nodes(own.n_nodes - 3, own.n_nodes + 10)
    assert last[:, :-1].tolist() == [[3] * 69] * 3
    assert last[:, -1].tolist() == [1, 2, 3]
    middle = own.nodes(4**50 - 1, 4**50 + 1)
    assert middle.tolist() == [[0] * 20 + [3] * 50, [0] * 19 + [1] + [0] * 50]
    assert own.nodes(4**70, 4**70 + 5).shape == (0, 70)
    assert own.nodes(5, 5).shape == (0, 70)


@pytest.mark.parametrize("n_attributes", [24, 70])
@pytest.mark.parametrize("make", [lambda: PBGEA(pop_size=10), nsga2], ids=["PBGEA", "NSGA2"])
def test_many_quasi_identifiers_are_searched(n_attributes, make, capsys):
    own = wide([3] * n_attributes, suppression=0.1)
    res = minimize(own, make(), ("n_gen", 4), seed=1, verbose=True)
    assert capsys.readouterr().out
    assert own.to_frame(res).shape == (len(res.X), n_attributes + 3)
    for x, f in zip(res.X, res.F, strict=True):
        classes = own.equivalence_classes(x)
        assert [-KAnonymity().evaluate(classes)[0], GeneralLossMetric().evaluate(classes)[0]] == f.tolist()


@pytest.mark.parametrize("n_attributes", [24, 70])
def test_what_is_too_large_is_said_before_anything_is_allocated(n_attributes):
    own = wide([3] * n_attributes)
    count = f"{4**n_attributes:,}"
    too_many = (
        f"problem must have at most 1,000,000,000 nodes to visit all of them, got {count}; PBGEA and NSGA2 search a "
        "part of them"
    )
    tracemalloc.start()
    assert refused(ValueError, lambda: own.batches(10)) == too_many
    assert refused(ValueError, lambda: minimize(own, ExhaustiveSearch())) == too_many
    assert refused(ValueError, lambda: minimize(own, ExhaustiveSearch(), ("n_gen", 1))) == too_many
    assert refused(ValueError, lambda: own.pareto_front(max_nodes=own.n_nodes)) == too_many
    assert refused(ValueError, lambda: own.nodes(0, own.n_nodes)) == (
        f"{count} of the lattice's {count} nodes would take {4**n_attributes * n_attributes * 8 / 2**30:,.0f} GiB; "
        "ask for fewer at a time, or search a part of them with PBGEA or NSGA2"
    )
    for known in (own.pareto_front, own.pareto_set, own.ideal_point, own.nadir_point):
        assert known() is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**7


def test_many_nodes_of_a_large_domain_take_little_memory():
    """Avoid 340 MB for the groups of all values at all nodes."""
    own = wide([14, 2, 2, 2, 2])
    X = own.nodes(0, 2_600)[::2]
    expected = own.compute(X[::100])
    tracemalloc.start()
    values = own.compute(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000_000
    np.testing.assert_array_equal(values[::100], expected)


def test_nodes_times_tuples_bound_the_unasked_front_and_no_clock_does(monkeypatch, capsys):
    own = wide([3, 3, 3])
    work = own.n_nodes * len(own.table.tuples)
    monkeypatch.setattr(lattice, "_UNASKED_WORK", work - 1)
    minimize(own, nsga2(), ("n_gen", 1), seed=1, verbose=True)
    assert "igd" not in capsys.readouterr().out
    assert own.pareto_front() is None
    monkeypatch.setattr(lattice, "_UNASKED_WORK", work)
    front = own.pareto_front()
    assert len(front) > 1
    minimize(own, nsga2(), ("n_gen", 1), seed=1, verbose=True)
    assert "igd" in capsys.readouterr().out
    assert np.array_equal(own.pareto_front(max_nodes=1), front)
    monkeypatch.setattr(lattice, "_UNASKED_WORK", 0)
    assert np.array_equal(own.pareto_front(), front)
    other = wide([3, 3, 3])
    assert other.pareto_front() is None
    assert other.pareto_front(max_nodes=other.n_nodes).tolist() == front.tolist()


def test_a_larger_budget_is_asked_for_by_the_call(monkeypatch):
    monkeypatch.setattr(lattice, "_UNASKED_NODES", 15)
    own = wide([3, 3])
    assert own.pareto_front() is None
    assert own.pareto_front(max_nodes=15) is None
    expected = minimal(own.compute(own.nodes(0, 16)))
    assert own.nadir_point(max_nodes=15) is None
    assert np.array_equal(own.nadir_point(max_nodes=16), expected.max(axis=0))
    assert np.array_equal(own.ideal_point(), expected.min(axis=0))
    assert np.array_equal(own.pareto_front(), expected)
    assert np.array_equal(own.compute(own.pareto_set()), expected)
    monkeypatch.setattr(lattice, "_UNASKED_NODES", 16)
    assert np.array_equal(wide([3, 3]).pareto_front(), expected)


def test_points_of_a_front_without_a_feasible_node_are_refused():
    own = wide([2, 2], constraints=[KAnonymity() >= 61])
    assert own.pareto_front().shape == (0, 2)
    assert own.pareto_set().shape == (0, 2)
    for point in (own.ideal_point, own.nadir_point):
        assert refused(ValueError, point) == (
            "the front must have a member for its ideal and nadir points, got none of 9 nodes that satisfies all "
            "constraints"
        )
