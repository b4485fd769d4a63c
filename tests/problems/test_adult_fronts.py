"""Exact fronts of Dewri et al. 2010 on Adult, against plain pandas."""

from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from plain import PlainTable, read_levels

import pymoo_anon
from pymoo_anon.datasets import fetch_adult, fetch_adult_frame
from pymoo_anon.datasets.adult import QUASI_IDENTIFIERS
from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem

SUPPRESSION = 301
HIERARCHIES = Path(pymoo_anon.__file__).parent / "datasets" / "hierarchies"

SETS = {
    "k, GLM": [KAnonymity(), GeneralLossMetric()],
    "k, l, GLM": [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()],
    "S_k, GLM": [SquaredClassSizes(), GeneralLossMetric()],
    "S_k, S_l, GLM": [SquaredClassSizes(), SquaredValueCounts("occupation"), GeneralLossMetric()],
    "k, GLM, CM": [KAnonymity(), GeneralLossMetric(), ClassificationMetric("salary-class")],
}


@lru_cache
def adult_by_pandas():
    """Adult's rows with the packaged hierarchies."""
    levels = {
        name: read_levels(HIERARCHIES / f"{name}.csv", int if name == "age" else str) for name in QUASI_IDENTIFIERS
    }
    return PlainTable(fetch_adult_frame(), levels)


def lattice():
    """Return all nodes, the last level changing fastest."""
    table = adult_by_pandas()
    return list(product(*(range(sum(name == column for name, _ in table.groups)) for column in table.columns)))


NAMES = ["k", "GLM", "S_k", "l", "S_l", "CM"]


def values_by_pandas(nodes):
    """Return the values at some nodes per class label, a column for each objective.

    A column that is the label and no quasi-identifier tells nobody apart, as one that is wholly generalized does not;
    what the latter costs, 1 for every row, is taken off.
    """
    table, rows = adult_by_pandas(), []
    for node in nodes:
        # The label is measured only where it separates no classes.
        label = "salary-class" if is_without_salary(node) else None
        found = table.measure(node, "occupation", label, limit=SUPPRESSION)
        rows.append([getattr(found, name) for name in NAMES])
    values = pd.DataFrame(rows, columns=NAMES)
    without = values[list(map(is_without_salary, nodes))]
    return {None: values, "salary-class": without.assign(GLM=without.GLM - len(table.frame))}


def is_without_salary(node):
    """Return whether the salary class is wholly generalized."""
    return node[adult_by_pandas().columns.index("salary-class")] == 1


def signed(objectives, values):
    """Return one row per node, with rounded losses, since sums depend on order."""
    rows = values[[one.name for one in objectives]] * [-1 if one.maximize else 1 for one in objectives]
    return list(rows.round(6).itertuples(index=False, name=None))


def problem_of(objectives):
    return LatticeProblem(fetch_adult(label=objectives[-1].column), objectives, suppression=SUPPRESSION)


@pytest.fixture(scope="module")
def at_some_nodes(adult_rows):
    """Measure a sample of the lattice's nodes by pandas."""
    nodes = lattice()[:: len(lattice()) // 230]
    return nodes, values_by_pandas(nodes)


@pytest.fixture(scope="module")
def at_every_node(adult_rows):
    return values_by_pandas(lattice())


def minimal(F):
    """Return the nondominated rows of F by a plain scan."""
    front = []
    for f in sorted(set(F)):
        if not any(all(a <= b for a, b in zip(g, f, strict=True)) for g in front):
            front.append(f)
    return front


@pytest.mark.parametrize("objectives", SETS.values(), ids=list(SETS))
def test_values_are_those_of_a_plain_program(objectives, at_some_nodes):
    label = objectives[-1].column
    nodes, values = at_some_nodes
    if label:
        salary = adult_by_pandas().columns.index("salary-class")
        nodes = [(*node[:salary], *node[salary + 1 :]) for node in nodes if is_without_salary(node)]
    F = signed(objectives, values[label])
    assert len(nodes) > 100
    np.testing.assert_allclose(problem_of(objectives).compute(np.array(nodes)), np.array(F), rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("objectives", SETS.values(), ids=list(SETS))
def test_exact_fronts_are_those_of_a_plain_program(objectives, at_every_node):
    problem = problem_of(objectives)
    F = signed(objectives, at_every_node[objectives[-1].column])
    assert len(F) == problem.n_nodes
    expected = minimal(F)
    found = problem.pareto_front()
    assert len(found) == len(expected)
    np.testing.assert_allclose(found[np.lexsort(found.T[::-1])], np.array(expected), rtol=0, atol=1e-6)
    # Every node of the lattice agrees, not only the fronts.
    np.testing.assert_allclose(problem.compute(problem.nodes(0, problem.n_nodes)), np.array(F), rtol=0, atol=1e-6)
