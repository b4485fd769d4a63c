"""Datafly and Samarati's search beside their definitions, node by node."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pymoo.optimize import minimize
from strategies import tables

from pymoo_anon.algorithms import Datafly, SamaratiSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Violating


def problem_of(n_rows, k, rule=0):
    return LatticeProblem(make_census(n_rows), [GeneralLossMetric()], rule, [KAnonymity() >= k])


def is_feasible(problem, x):
    return bool((problem.evaluate(np.array([x]), return_values_of=["G"])[0] <= 0).all())


@given(st.integers(20, 300), st.integers(1, 30), st.sampled_from([0, 0.1]))
def test_datafly_raises_the_column_with_the_most_values(n_rows, k, rule):
    problem = problem_of(n_rows, min(k, n_rows), rule)
    codes, x = problem.table.tuples.codes, [0] * problem.n_var
    while not is_feasible(problem, x):
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
