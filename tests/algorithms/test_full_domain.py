"""Exhaustive search under pymoo's options, and Datafly and Samarati's search beside their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import tables
from tasks import eights, minimal, printed

from pymoo_anon.algorithms import Datafly, ExhaustiveSearch, SamaratiSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Violating

TABLE = eights("abcd")


def problem(k=3):
    """Return a lattice of 256 nodes."""
    return LatticeProblem(
        TABLE, [DistinctLDiversity("s"), GeneralLossMetric()], suppression=0.05, constraints=[KAnonymity() >= k]
    )


def every(own):
    return own.evaluate(own.nodes(0, own.n_nodes), return_values_of=["F", "G"])


@pytest.mark.parametrize("batch_size", [1, 7, 256, 4096])
def test_the_front_is_that_of_the_feasible_nodes(batch_size):
    own = problem()
    res = minimize(own, ExhaustiveSearch(batch_size))
    F, G = every(own)
    assert np.array_equal(res.F, minimal(F[G[:, 0] <= 0]))
    assert np.array_equal(own.evaluate(res.X, return_values_of=["F"]), res.F)
    assert np.array_equal(own.evaluate(res.X, return_values_of=["G"]), res.G)
    # The first of nodes with equal values is returned, in the order of the lattice.
    nodes = own.nodes(0, own.n_nodes)
    for x, f in zip(res.X, res.F, strict=True):
        assert x.tolist() == nodes[((f == F).all(axis=1) & (G[:, 0] <= 0)).argmax()].tolist()


def test_of_equally_infeasible_nodes_the_first_is_returned():
    own = problem(k=81)
    res = minimize(own, ExhaustiveSearch(1, return_least_infeasible=True), ("n_gen", 2))
    assert len(set(every(own)[1][:2, 0])) == 1
    assert res.X.tolist() == [[0, 0, 0, 0]]


def test_it_ends_with_the_last_node_whatever_the_termination_allows():
    res = minimize(problem(), ExhaustiveSearch(64), ("n_gen", 50))
    assert (res.algorithm.n_gen - 1, res.algorithm.n_visited) == (4, 256)


@pytest.mark.parametrize(
    ("termination", "visited"), [(("n_eval", 100), 120), (("n_gen", 3), 180), (("n_eval", 120), 120)]
)
def test_terminations_are_looked_at_after_every_batch(termination, visited):
    own = problem()
    res = minimize(own, ExhaustiveSearch(60), termination)
    assert res.algorithm.n_visited == own.n_unique == res.algorithm.evaluator.n_eval == visited
    F, G = (values[:visited] for values in every(own))
    assert np.array_equal(res.F, minimal(F[G[:, 0] <= 0]))


def test_the_output_shows_what_was_visited_and_counts_feasible_members(capsys):
    minimize(problem(k=81), ExhaustiveSearch(200), verbose=True)
    heads, rows = printed(capsys)
    assert heads == ["n_gen", "n_eval", "visited", "front"]
    assert [row[2:] for row in rows] == [["78.1%", "0"], ["100.0%", "0"]]


def test_a_front_of_all_nodes_is_proven():
    own = problem()
    whole = minimize(own, ExhaustiveSearch(batch_size=100))
    assert (whole.algorithm.n_undecided, own.front(whole).certified) == (0, True)
    stopped = minimize(own, ExhaustiveSearch(batch_size=100), ("n_gen", 2))
    assert (stopped.algorithm.n_undecided, own.front(stopped).certified) == (56, False)


def problem_of(n_rows, k, rule=0):
    return LatticeProblem(make_census(n_rows), [GeneralLossMetric()], rule, [KAnonymity() >= k])


@given(st.integers(20, 300), st.integers(1, 30), st.sampled_from([0, 0.1]))
def test_datafly_raises_the_column_with_the_most_values(n_rows, k, rule):
    problem = problem_of(n_rows, min(k, n_rows), rule)
    codes, x = problem.table.tuples.codes, [0] * problem.n_var
    while (problem.evaluate(np.array([x]), return_values_of=["G"])[0] > 0).any():
        held = [
            len(set(h.groups[level][codes[:, j]])) if level < h.length else 0
            for j, (h, level) in enumerate(zip(problem.table.quasi_identifiers.values(), x, strict=True))
        ]
        x[held.index(max(held))] += 1
    assert minimize(problem, Datafly()).X.tolist() == x


@given(tables(rooted=True), st.integers(1, 8))
def test_samarati_finds_the_best_of_the_least_feasible_height(table, k):
    constraints = [KAnonymity() >= min(k, len(table.frame))]
    problem = LatticeProblem(table.microdata, [GeneralLossMetric()], constraints=constraints)
    every = problem.nodes(0, problem.n_nodes)
    F, G = problem.evaluate(every, return_values_of=["F", "G"])
    feasible = G[:, 0] <= 0
    heights = every.sum(axis=1)
    least = heights[feasible].min()
    res = minimize(problem, SamaratiSearch())
    assert res.X.sum() == least
    assert res.F.tolist() == [F[feasible & (heights == least), 0].min()]


def test_arx_s_rule_suppresses_what_is_left():
    problem = problem_of(500, 5, Violating(0.05))
    res = minimize(problem, Datafly())
    assert 0 < problem.equivalence_classes(res.X).n_suppressed[0] <= 25
