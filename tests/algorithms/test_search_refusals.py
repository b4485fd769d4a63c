"""Refusals of algorithms, operators, archives, indicators and proofs, with their sentences."""

from inspect import isclass

import numpy as np
import pytest
from pymoo.algorithms.moo.nsga2 import NSGA2, RankAndCrowdingSurvival
from pymoo.constraints.as_obj import ConstraintsAsObjective
from pymoo.constraints.as_penalty import ConstraintsAsPenalty
from pymoo.core.mixed import MixedVariableGA
from pymoo.core.population import Population
from pymoo.optimize import minimize
from refusals import check_refusals, refusals
from test_genetic import NODES
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


# Arguments of pymoo's genetic algorithms that Algorithm 2 or GENITOR does not take, and of other algorithms.
UNKNOWN = {
    PBGEA: ["survival", "n_offsprings", "mating", "popsize"],
    GENITOR: ["survival", "n_offsprings", "mating", "popsize"],
    PreferenceNSGA2: ["popsize", "epsilon", "advance_after_initial_infill"],
    ParetoLocalSearch: ["pop_size", "repair"],
    BitStringLocalSearch: ["pop_size", "n_start"],
    BranchAndBound: ["eps", "batch_size"],
    ExhaustiveSearch: ["pop_size", "batchsize"],
    Datafly: ["pop_size"],
    SamaratiSearch: ["pop_size"],
    TargetSweep: ["n_points"],
}


def made_of(algorithm, **arguments):
    return algorithm(**({"k": 5} if algorithm is PreferenceNSGA2 else {}), **arguments)


@pytest.mark.parametrize(("algorithm", "name"), [(own, name) for own, names in UNKNOWN.items() for name in names])
def test_unknown_arguments_are_refused(algorithm, name):
    with pytest.raises(TypeError) as caught:
        made_of(algorithm, **{name: 10})
    assert str(caught.value) == f"{algorithm.__name__} takes no argument '{name}'"


@pytest.mark.parametrize("algorithm", UNKNOWN)
def test_objects_share_nothing_that_changes(algorithm):
    """Create defaults per object, and none in a signature."""
    one, two = made_of(algorithm), made_of(algorithm)
    kept = {name: value for name, value in vars(one).items() if hasattr(value, "__dict__") and not isclass(value)}
    assert len(kept) > 2
    for name, value in kept.items():
        # pymoo's NSGA-II has one survival for all.
        assert value is not getattr(two, name) or name == "survival", name
    for name in ("selection", "crossover", "mutation"):
        if hasattr(one, "mating"):
            assert getattr(one.mating, name) is not getattr(two.mating, name)


@pytest.mark.parametrize("algorithm", UNKNOWN)
def test_what_every_algorithm_of_pymoo_takes_is_taken(algorithm):
    given = {"termination": ("n_gen", 3), "seed": 7, "verbose": True, "save_history": True, "callback": print}
    made = made_of(algorithm, **given, return_least_infeasible=True)
    assert (made.seed, made.verbose, made.save_history, made.return_least_infeasible) == (7, True, True, True)
    assert (made.callback, made.termination) == (print, ("n_gen", 3))


def test_a_genetic_algorithm_takes_what_is_left_to_the_caller():
    assert PBGEA(eliminate_duplicates=True).eliminate_duplicates
    assert PreferenceNSGA2(k=2, pop_size=10, n_offsprings=4).n_offsprings == 4
