"""Exact fronts of Dewri et al. 2010 on Adult, against plain pandas."""

from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
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


def measured(nodes):
    """Measure all objectives of some nodes by pandas."""
    table = adult_by_pandas()
    salary = table.columns.index("salary-class")
    values = []
    for node in nodes:
        # The label is measured only at the upper of its two levels, where it separates no classes.
        label = "salary-class" if node[salary] == 1 else None
        values.append(table.measure(node, "occupation", label, limit=SUPPRESSION))
    return [[v.k, v.GLM, v.S_k, v.l, v.S_l, v.CM] for v in values]


NAMES = ("k", "GLM", "S_k", "l", "S_l", "CM")


def values_by_pandas(nodes):
    """Return the values at some nodes, per class label and objective.

    A column that is the label and no quasi-identifier tells nobody apart, as one that is wholly generalized does not;
    what the latter costs, 1 for every row, is taken off.
    """
    table = adult_by_pandas()
    rows = measured(nodes)
    without = [row for row, node in zip(rows, nodes, strict=True) if is_without_salary(node)]
    columns = {None: dict(zip(NAMES, zip(*rows, strict=True), strict=True))}
    columns["salary-class"] = dict(zip(NAMES, zip(*without, strict=True), strict=True))
    columns["salary-class"]["GLM"] = tuple(loss - len(table.frame) for loss in columns["salary-class"]["GLM"])
    return columns


def is_without_salary(node):
    """Return whether the salary class is wholly generalized."""
    return node[adult_by_pandas().columns.index("salary-class")] == 1


def signed(objectives, values):
    """Return one row per node, with rounded losses, since sums depend on order."""
    return [
        tuple(-v if o.maximize else round(v, 6) for o, v in zip(objectives, row, strict=True))
        for row in zip(*(values[o.name] for o in objectives), strict=True)
    ]


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
