"""Scripts of a pymoo user, and results of one objective, with or without rows."""

import pickle
import runpy
from multiprocessing.pool import ThreadPool
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.moo.spea2 import SPEA2
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.constraints.eps import AdaptiveEpsilonConstraintHandling
from pymoo.core.algorithm import Algorithm
from pymoo.operators.crossover.pntx import TwoPointCrossover
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.bitflip import BitflipMutation
from pymoo.operators.mutation.pm import PM
from pymoo.operators.repair.rounding import RoundingRepair
from pymoo.operators.sampling.rnd import BinaryRandomSampling, IntegerRandomSampling
from pymoo.optimize import minimize
from pymoo.parallelization import JoblibParallelization, StarmapParallelization
from tasks import LEVELS

from pymoo_anon.algorithms import *
from pymoo_anon.datasets import census_rows, load_hierarchy
from pymoo_anon.objectives import EntropyLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.operators import ClosestValidRepair
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem, refine
from pymoo_anon.publishing import codebook, explain, release
from pymoo_anon.table import Microdata
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


(FRAME,) = census_rows(300)
WAYS = {name: load_hierarchy(name).with_numbers(int) for name in ("age", "race", "sex")}
FRAME = FRAME[[*WAYS, "occupation"]]
TABLE = Microdata.from_frame(FRAME, WAYS, sensitive="occupation")
ASKED = {"objectives": [GeneralLossMetric()], "constraints": [KAnonymity() >= 5]}
LATTICE = LatticeProblem(TABLE, suppression=0.01, **ASKED)
STRING, LOCAL = BitStringProblem(TABLE, suppression=0.01, **ASKED), LocalRecodingProblem(TABLE, **ASKED)

SEARCHES = [
    (LATTICE, BranchAndBound()),
    (LATTICE, ExhaustiveSearch()),
    (LATTICE, ParetoLocalSearch()),
    (LATTICE, PBGEA(pop_size=20)),
    (LATTICE, SamaratiSearch()),
    (LATTICE, GA(pop_size=20, **LEVELS)),
    (STRING, BitStringLocalSearch(n_starts=2)),
    (LOCAL, TargetSweep()),
]


@pytest.fixture
def with_rows(monkeypatch):
    """Return a function that gives results rows, as in pymoo 0.7."""
    alone = Algorithm.result

    def result(self):
        res = alone(self)
        for key in ("X", "F", "G", "H", "CV"):
            value = getattr(res, key)
            setattr(res, key, value if value is None else np.atleast_2d(value))
        return res

    return lambda: monkeypatch.setattr(Algorithm, "result", result)


def told_of(problem, res):
    """Return all that the package makes of a result or its X."""
    choice = problem.front(res).choose()
    made = release(FRAME, problem, res.X, suppressed="drop")
    return SimpleNamespace(
        F=np.ravel(res.F).tolist(),
        decoded=str(problem.decode(res.X)),
        sizes=problem.equivalence_classes(res.X).sizes.tolist(),
        frame=problem.to_frame(res).to_csv(),
        front=repr(problem.front(res)),
        explained=str(explain(problem, res, choice)),
        book=codebook(problem, res.X).to_csv(),
        released=made.frame.to_csv(),
        claims=made.claims.to_csv(),
    )


@pytest.mark.parametrize(("problem", "algorithm"), SEARCHES, ids=lambda one: type(one).__name__)
def test_all_reads_a_result_with_and_without_rows(problem, algorithm, with_rows):
    flat = minimize(problem, algorithm, ("n_gen", 8), seed=1)
    with_rows()
    rows = minimize(problem, algorithm, ("n_gen", 8), seed=1)
    assert rows.X.shape == (1, problem.n_var)
    assert rows.F.shape == (1, 1)
    assert told_of(problem, rows) == told_of(problem, flat)


@pytest.mark.parametrize(
    ("problem", "algorithm"),
    [*(one for one in SEARCHES if not isinstance(one[1], GA)), (LATTICE, Datafly()), (STRING, GENITOR(20))],
    ids=lambda one: type(one).__name__,
)
def test_pymoos_wrappers_tolerate_for_the_time_being_alone(problem, algorithm):
    """Start without `_setup`, which wrappers skip, on the problem's grid."""
    res = minimize(problem, AdaptiveEpsilonConstraintHandling(algorithm), ("n_gen", 30), seed=1)
    history = minimize(problem, AdaptiveEpsilonConstraintHandling(algorithm), ("n_gen", 2), save_history=True).history
    assert 0 < len(history) <= 2
    assert (problem.evaluate(np.atleast_2d(res.X), return_values_of=["G"]) <= 0).all()
    if isinstance(algorithm, PBGEA):
        fine = LatticeProblem(TABLE, [EntropyLDiversity("occupation")], suppression=0.01)
        res = minimize(fine, AdaptiveEpsilonConstraintHandling(PBGEA(pop_size=20)), ("n_gen", 2), seed=1)
        assert res.algorithm.box_archive.epsilon.tolist() == fine.steps.tolist() == [0.01]


def test_a_result_is_refined_bounded_and_gone_on_from(with_rows):
    flat = minimize(LATTICE, BranchAndBound(), seed=1)
    bound = LOCAL.lower_bound(LOCAL.x_of(5), ("n_iter", 5))
    with_rows()
    rows = minimize(LATTICE, BranchAndBound(), seed=1)
    parts = [TABLE.equivalence_classes(refine(LATTICE, res.X)).sizes.tolist() for res in (flat, rows)]
    assert parts[0] == parts[1]
    again = minimize(LATTICE, BranchAndBound(sampling=rows.X), seed=1)
    assert again.algorithm.certified
    assert again.F.item() == flat.F.item()
    assert LOCAL.lower_bound(LOCAL.x_of(5)[np.newaxis], ("n_iter", 5)) == bound


def test_the_contract_of_algorithms_reads_both(with_rows):
    with_rows()
    check_algorithm(ExhaustiveSearch(), small_problems()["one objective"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["adversaries", "bit_strings", "constraints", "suppression_rules"])
def test_examples_of_one_objective_run_with_rows(name, with_rows, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    runpy.run_path(str(path), run_name="__main__")
    alone = capsys.readouterr().out
    with_rows()
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out == alone != ""
