"""Results of one objective: X and F with or without rows."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.constraints.eps import AdaptiveEpsilonConstraintHandling
from pymoo.core.algorithm import Algorithm
from pymoo.optimize import minimize
from tasks import LEVELS

from pymoo_anon.algorithms import *
from pymoo_anon.datasets import census_rows, load_hierarchy
from pymoo_anon.objectives import EntropyLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import BitStringProblem, LatticeProblem, LocalRecodingProblem, refine
from pymoo_anon.publishing import codebook, explain, release
from pymoo_anon.table import Microdata
from pymoo_anon.testing import check_algorithm, small_problems

(FRAME,) = census_rows(300)
WAYS = {name: load_hierarchy(name).with_numbers(int) for name in ("age", "race", "sex")}
FRAME = FRAME[[*WAYS, "occupation"]]
TABLE = Microdata.from_frame(FRAME, WAYS, sensitive="occupation")
ASKED = {"objectives": [GeneralLossMetric()], "constraints": [KAnonymity() >= 5]}
LATTICE = LatticeProblem(TABLE, suppression=0.01, **ASKED)
STRINGS, LOCAL = BitStringProblem(TABLE, suppression=0.01, **ASKED), LocalRecodingProblem(TABLE, **ASKED)

SEARCHES = [
    (LATTICE, BranchAndBound()),
    (LATTICE, ExhaustiveSearch()),
    (LATTICE, ParetoLocalSearch()),
    (LATTICE, PBGEA(pop_size=20)),
    (LATTICE, SamaratiSearch()),
    (LATTICE, GA(pop_size=20, **LEVELS)),
    (STRINGS, BitStringLocalSearch(n_starts=2)),
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
    [*(one for one in SEARCHES if not isinstance(one[1], GA)), (LATTICE, Datafly()), (STRINGS, GENITOR(20))],
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
@pytest.mark.parametrize(
    "name", ["adversaries", "bit_strings", "constraint_preserving_crossover", "constraints", "suppression_rules"]
)
def test_examples_of_one_objective_run_with_rows(name, with_rows, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    runpy.run_path(str(path), run_name="__main__")
    alone = capsys.readouterr().out
    with_rows()
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out == alone != ""
