"""Scripts of a pymoo user: they work, or explain the needed change."""

import pickle
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.spea2 import SPEA2
from pymoo.operators.crossover.pntx import TwoPointCrossover
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.bitflip import BitflipMutation
from pymoo.operators.mutation.pm import PM
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import BinaryRandomSampling, IntegerRandomSampling
from pymoo.optimize import minimize
from pymoo.parallelization import JoblibParallelization, StarmapParallelization

from pymoo_anon.operators import ClosestValidRepair
from pymoo_anon.problems import BitStringProblem, LatticeProblem
from pymoo_anon.testing import check_algorithm, small_problems

LATTICES, STRINGS = small_problems(LatticeProblem), small_problems(BitStringProblem)


def of_integers(**more):
    """Build NSGA-II for whole numbers, as on pymoo's pages."""
    return NSGA2(
        pop_size=10,
        sampling=IntegerRandomSampling(),
        crossover=SBX(prob=1.0, eta=3.0, vtype=float, repair=RoundingRepair()),
        mutation=PM(prob=1.0, eta=3.0, vtype=float, repair=RoundingRepair()),
        eliminate_duplicates=True,
        **more,
    )


@pytest.mark.parametrize("name", ["two objectives", "constraints", "violating"])
def test_integer_operators_of_pymoo_work(name):
    problem = LATTICES[name].fresh_copy()
    res = minimize(problem, of_integers(), ("n_gen", 8), seed=1)
    assert res.X.dtype.kind == "i"
    # The lattice is small: most of the front is found.
    exact = problem.pareto_front()
    assert (res.F[:, np.newaxis] == exact).all(axis=2).any(axis=0).mean() > 0.5
    check_algorithm(of_integers(), problem, n_gen=2)


CUT = "^SBX without vtype=float cuts levels down to whole ones before they can be rounded, .* LevelCrossover keeps"


@pytest.mark.parametrize("vtype", [None, int])
@pytest.mark.parametrize("made", [NSGA2, SPEA2])
def test_crossover_that_cuts_levels_down_is_told(made, vtype):
    rounded = {"vtype": vtype, "repair": RoundingRepair()}
    own = made(10, sampling=IntegerRandomSampling(), crossover=SBX(**rounded), mutation=PM(repair=RoundingRepair()))
    with pytest.warns(UserWarning, match=CUT):
        minimize(LATTICES["two objectives"].fresh_copy(), own, ("n_gen", 2), seed=1)


def test_crossover_that_cuts_nothing_is_not_told():
    """Use level swaps, real numbers and real levels, with warnings as errors."""
    rounded, problem = RoundingRepair(), LATTICES["two objectives"]
    mutation = PM(repair=rounded)
    real = np.random.default_rng(1).permutation(problem.nodes(0, problem.n_nodes))[:10].astype(float)
    for sampling, crossover in (
        (IntegerRandomSampling(), UX(repair=rounded)),
        (IntegerRandomSampling(), SBX(vtype=np.float32, repair=rounded)),
        (real, SBX()),
    ):
        own = NSGA2(10, sampling=sampling, crossover=crossover, mutation=mutation)
        minimize(problem.fresh_copy(), own, ("n_gen", 1), seed=1)


def test_binary_operators_of_pymoo_work():
    own = {
        "sampling": BinaryRandomSampling(),
        "crossover": TwoPointCrossover(),
        "mutation": BitflipMutation(),
        "eliminate_duplicates": True,
    }
    free = BitStringProblem(STRINGS["two objectives"].table, LATTICES["two objectives"].objectives)
    check_algorithm(NSGA2(8, **own), free, n_gen=2)
    # A taxonomy asks for one argument more, and says so.
    with pytest.raises(
        ValueError, match=r"got '10'.*; ClosestValidRepair makes cuts of strings, PartitionCrossover keeps"
    ):
        minimize(STRINGS["two objectives"], NSGA2(20, **own), ("n_gen", 5), seed=1)
    check_algorithm(NSGA2(8, repair=ClosestValidRepair(), **own), STRINGS["constraints"], n_gen=2)


def through_pickles(function, X):
    """Copy function and problem for each call, as several processes do."""
    return [pickle.loads(pickle.dumps(function))(x) for x in X]


def parallelization_works(runner):
    plain = LATTICES["constraints"]
    asked = plain.table, plain.objectives, plain.suppression, plain.constraints
    found = [
        minimize(own, of_integers(), ("n_gen", 3), seed=1)
        for own in (plain, LatticeProblem(*asked, elementwise_runner=runner))
    ]
    assert np.array_equal(found[0].X, found[1].X)
    assert np.array_equal(found[0].F, found[1].F)


def test_parallelization_of_pymoo_works():
    with ThreadPool(2) as pool:
        parallelization_works(StarmapParallelization(pool.starmap))
    parallelization_works(JoblibParallelization(n_jobs=2, prefer="threads"))
    parallelization_works(through_pickles)


@pytest.mark.slow
def test_joblib_works_in_processes():
    parallelization_works(JoblibParallelization(n_jobs=2))
