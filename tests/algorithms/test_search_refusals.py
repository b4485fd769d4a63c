"""Refusals of algorithms, operators, archives, indicators and proofs, with their sentences."""

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2, RankAndCrowdingSurvival
from pymoo.constraints.as_obj import ConstraintsAsObjective
from pymoo.constraints.as_penalty import ConstraintsAsPenalty
from pymoo.core.mixed import MixedVariableGA
from pymoo.core.population import Population
from pymoo.optimize import minimize
from refusals import check_refusals, refusals
from test_pbgea import NODES
from test_preference import TABLE, preferring

from pymoo_anon.algorithms import *
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts import BoxArchive, ConvergenceMetric, RepresentationRatio
from pymoo_anon.fronts.archive import evaluated
from pymoo_anon.objectives import *
from pymoo_anon.operators import *
from pymoo_anon.problems import *
from pymoo_anon.table import *

NAN, INF = float("nan"), float("inf")
K, L, GLM = KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()
CENSUS = make_census(50)
PF = np.array([[-100.0, 50.0], [-10.0, 20.0], [-2.0, 0.0]])
LATTICE, STRINGS = LatticeProblem(CENSUS, [K, GLM]), BitStringProblem(CENSUS, [K, GLM])
THREE, ONE_LOSS = LatticeProblem(CENSUS, [K, L, GLM]), BitStringProblem(CENSUS, [GLM], Below(2))
ARCHIVE = BoxArchive().add(Population.new(X=np.zeros((2, 1)), F=np.array([[0.0, 1.0], [1.0, 0.0]])))


def first_points(problem, n):
    """Return points of a problem, evaluated as if it had three objectives."""
    return evaluated(np.zeros((n, problem.n_var), dtype=problem.vtype), np.zeros((n, 3)))


def population(F):
    return Population.new(X=np.zeros((len(F), 1)), F=np.array(F, dtype=float))


def preferences(*objectives, **options):
    """Search by preferences, with other objectives or constraints."""
    return minimize(BitStringProblem(TABLE, objectives, **options), PreferenceNSGA2(k=5), seed=1)


def proven(*objectives):
    return minimize(BitStringProblem(CENSUS, objectives), BranchAndBound(), seed=1)


@refusals(__file__)
def test_what_is_refused(section):
    check_refusals(section, globals())
    # Tolerances are checked before anything is evaluated, and what is refused enters no archive.
    assert THREE.n_unique == 0
    assert ARCHIVE.F.tolist() == [[0, 1], [1, 0]]
