"""GENITOR under constraints; tests of GENITOR hold the births."""

import numpy as np
from pymoo.core.problem import Problem
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM
from pymoo.operators.sampling.rnd import FloatRandomSampling
from pymoo.optimize import minimize
from pymoo.problems import get_problem

from pymoo_anon.algorithms import GENITOR
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import BitStringProblem
from pymoo_anon.table import Violating

CENSUS = make_census(300, seed=5)


def problem(**kwargs):
    constraints = [KAnonymity() >= 5, DistinctLDiversity("occupation") >= 2]
    return BitStringProblem(CENSUS, [GeneralLossMetric()], constraints=constraints, **kwargs)


def test_the_rule_of_suppression_by_constraints_is_kept():
    own = problem(suppression=Violating(0.5))
    res = minimize(own, GENITOR(pop_size=30), ("n_eval", 1500), seed=1)
    (row,) = own.to_frame(res).to_dict("records")
    assert row["feasible"]
    assert row["k"] >= 5
    assert 0 < row["suppressed"] <= 150
    assert res.F[0] < minimize(problem(), GENITOR(pop_size=30), ("n_eval", 1500), seed=1).F[0]


class Tied(Problem):
    """A problem with value -x and violation x - 10 above 10."""

    def __init__(self):
        super().__init__(n_var=1, n_obj=1, n_ieq_constr=1, xl=0, xu=1000, vtype=int)

    def _evaluate(self, X, out, *args, **kwargs):
        out["F"], out["G"] = -np.asarray(X, dtype=float), np.asarray(X, dtype=float) - 10


def test_feasible_ones_come_before_better_ones():
    algorithm = GENITOR(6, sampling=np.array([[20], [3], [11], [10], [0], [500]]))
    algorithm.setup(Tied(), seed=1)
    algorithm.next()
    assert algorithm.pop.get("X")[:, 0].tolist() == [10, 3, 0, 11, 20, 500]
    assert algorithm.opt.get("X").tolist() == [[10]]


def test_problems_of_pymoo_with_constraints_will_do():
    own = get_problem("g1")
    algorithm = GENITOR(30, sampling=FloatRandomSampling(), crossover=SBX(), mutation=PM())
    res = minimize(own, algorithm, ("n_gen", 60), seed=1)
    assert (own.evaluate(res.X, return_values_of=["G"]) <= 0).all()
    assert res.F[0] < -5
