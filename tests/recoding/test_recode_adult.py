"""Loss of local recodings of Adult, which no change may increase unnoticed."""

import numpy as np
import pytest
from recodings import trees_of

from pymoo_anon.datasets import fetch_adult
from pymoo_anon.recoding import ColumnRequirement, RequirementKind, Requirements, recode


@pytest.fixture(scope="module")
def table(adult_rows):
    return fetch_adult(sensitive="occupation", label=None)


def loss_and_sizes(table, k, *others, **options):
    """Return the general loss metric per cell and the class sizes."""
    nodes = [hierarchy.nodes for hierarchy in table.quasi_identifiers.values()]
    trees = trees_of(table)
    cells = recode(trees, Requirements(k, others).tests(table.tuples, trees), **options)
    _, class_of = np.unique(cells, axis=0, return_inverse=True)
    sizes = np.bincount(class_of.ravel(), table.tuples.counts)
    lost = sum(own.losses[cell] for own, cell in zip(nodes, cells.T, strict=True))
    return float(lost @ table.tuples.counts) / table.tuples.n_rows / len(nodes), sizes


@pytest.mark.parametrize(("k", "most"), [(2, 0.0106), (5, 0.0276), (25, 0.0697), (100, 0.1287)])
def test_k_anonymity(table, k, most):
    loss, sizes = loss_and_sizes(table, k)
    assert loss <= most
    assert sizes.min() >= k


def test_top_down(table):
    assert loss_and_sizes(table, 5, method="top-down")[0] <= 0.0377


@pytest.mark.parametrize(
    ("kind", "bound", "by_sizes", "direct"),
    [
        (RequirementKind.DISTINCT, 3, 0.0323, 0.0316),
        pytest.param(RequirementKind.ENTROPY, 5, 0.0995, 0.0880, marks=pytest.mark.slow),
        pytest.param(RequirementKind.TREE, 0.3, 0.2600, 0.2180, marks=pytest.mark.slow),
    ],
)
def test_sensitive_values(table, kind, bound, by_sizes, direct):
    required = ColumnRequirement(kind, "occupation", bound)
    assert loss_and_sizes(table, 5, required)[0] <= by_sizes
    assert loss_and_sizes(table, 5, required, structure="direct")[0] <= direct


def test_a_price_holds_down_the_mean_risk_at_less_loss_than_a_larger_k(table):
    loss, sizes = loss_and_sizes(table, 5, price=10.0)
    dearer, fewer = loss_and_sizes(table, 25)
    assert len(sizes) <= len(fewer)
    assert loss < dearer
    assert sizes.min() >= 5
