"""Constraints that neither end of the lattice keeps."""

import numpy as np
import pytest

from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.problems.requirements import impossible

TABLE = make_census(100)
N_VALUES = len(np.unique(TABLE.tuples.columns["occupation"].values))


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        (KAnonymity() >= 100, True),
        (KAnonymity() >= 101, False),
        (DistinctLDiversity("occupation") >= N_VALUES, True),
        (DistinctLDiversity("occupation") >= N_VALUES + 1, False),
        (GeneralLossMetric() <= 0, True),
        (GeneralLossMetric() <= -1, False),
    ],
)
def test_the_ends_of_the_lattice_decide(constraint, holds):
    assert impossible(TABLE, [constraint]) == ([] if holds else [constraint])
    problem = LatticeProblem(TABLE, [KAnonymity(), GeneralLossMetric()], constraints=[constraint])
    found = [len(problem.front([x])) for x in (problem.xl.astype(int), problem.xu.astype(int))]
    assert any(found) == holds
