"""Branch and bound: exhaustive search's front, failing proofs, runs in pymoo."""

import pickle

import numpy as np
import pytest
from pymoo.optimize import minimize
from pymoo.termination import get_termination
from tasks import sorted_rows

from pymoo_anon.algorithms import PBGEA, BranchAndBound
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.fronts import BoxArchive
from pymoo_anon.objectives import (
    ClassificationMetric,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    SquaredClassSizes,
    SquaredValueCounts,
)
from pymoo_anon.operators import LatticeSampling
from pymoo_anon.problems import LatticeProblem

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

CENSUS = make_census(2000, seed=2)


def census_problem(objectives=None):
    objectives = objectives or [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()]
    return LatticeProblem(CENSUS, objectives, suppression=0.01)


def check(problem, seed=0):
    """Check that the certified front is the exact one."""
    res = minimize(problem, BranchAndBound(), seed=seed)
    algorithm = res.algorithm
    assert algorithm.certified
    assert algorithm.n_undecided == 0
    assert algorithm.n_evaluated + algorithm.n_pruned == problem.n_nodes
    assert algorithm.n_evaluated == problem.n_unique
    F = res.F.reshape(-1, problem.n_obj)
    np.testing.assert_array_equal(sorted_rows(F), sorted_rows(problem.pareto_front()))
    np.testing.assert_array_equal(problem.compute(res.X.reshape(-1, problem.n_var)), F)
    return algorithm


@pytest.mark.parametrize(
    ("objectives", "label", "most"),
    [
        ([KAnonymity(), GeneralLossMetric()], None, 1000),
        ([KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()], None, 1300),
        ([SquaredClassSizes(), GeneralLossMetric()], None, 1000),
        ([SquaredClassSizes(), SquaredValueCounts("occupation"), GeneralLossMetric()], None, 1000),
        ([KAnonymity(), GeneralLossMetric(), ClassificationMetric("salary-class")], "salary-class", 5400),
    ],
    ids=["k, GLM", "k, l, GLM", "S_k, GLM", "S_k, S_l, GLM", "k, GLM, CM"],
)
def test_adults_fronts_are_proven_from_few_nodes(adult_rows, objectives, label, most):
    problem = LatticeProblem(fetch_adult(label=label), objectives, suppression=301)
    assert check(problem, seed=1).n_evaluated <= most


@pytest.mark.parametrize("termination", [("n_gen", 3), ("n_eval", 120)], ids=str)
def test_stopped_early_it_has_the_best_so_far_and_goes_on(termination):
    own = census_problem()
    part = minimize(own, BranchAndBound(), termination, seed=1)
    algorithm = part.algorithm
    assert not algorithm.certified
    assert 0 < algorithm.n_undecided < own.n_nodes
    assert algorithm.n_evaluated + algorithm.n_pruned + algorithm.n_undecided == own.n_nodes
    seen = np.frombuffer(b"".join(own._memory._rows), dtype=np.int64).reshape(-1, own.n_var)
    best = BoxArchive(1e-9).add(_evaluated(own.compute(seen)))
    np.testing.assert_array_equal(sorted_rows(part.F), sorted_rows(best.F))
    resumed = pickle.loads(pickle.dumps(algorithm))
    resumed.termination = get_termination("n_gen", 10_000)
    while resumed.has_next():
        resumed.next()
    assert resumed.certified
    whole = minimize(census_problem(), BranchAndBound(), seed=1)
    assert resumed.result().F.tolist() == whole.F.tolist()
    assert resumed.n_evaluated == whole.algorithm.n_evaluated


def _evaluated(F):
    from pymoo.core.population import Population

    return Population.new(X=np.arange(len(F))[:, None], F=F)


@pytest.mark.parametrize("other", [GeneralLossMetric(), ClassificationMetric("sex")], ids=repr)
def test_ctrl_c_ends_the_search_and_loses_nothing(monkeypatch, other):
    own = census_problem([KAnonymity(), other])
    compute = LatticeProblem._measure
    calls = []

    def interrupted(self, *arguments):
        calls.append(arguments[0])
        if len(calls) == 4:
            raise KeyboardInterrupt
        return compute(self, *arguments)

    monkeypatch.setattr(LatticeProblem, "_measure", interrupted)
    res = minimize(own, BranchAndBound(), seed=1)
    assert not res.algorithm.certified
    assert res.algorithm.n_evaluated == sum(map(len, calls[:3])) == own.n_unique
    resumed = res.algorithm
    resumed.termination = get_termination("n_gen", 10_000)
    while resumed.has_next():
        resumed.next()
    assert resumed.certified
    np.testing.assert_array_equal(sorted_rows(np.atleast_2d(resumed.result().F)), sorted_rows(own.pareto_front()))


@pytest.mark.parametrize("sampling", ["population", "array", "operator"])
def test_it_may_begin_with_nodes_of_another_search(sampling):
    own = census_problem()
    short = minimize(own, PBGEA(), ("n_gen", 5), seed=1)
    twice = np.concatenate([short.X, short.X])
    given_ = {"population": short.opt, "array": twice, "operator": LatticeSampling()}[sampling]
    fresh = census_problem()
    res = minimize(fresh, BranchAndBound(sampling=given_), seed=1)
    assert res.algorithm.certified
    assert res.algorithm.proof.n_evaluated == fresh.n_unique
    np.testing.assert_array_equal(sorted_rows(res.F), sorted_rows(own.pareto_front()))


def test_verbose_shows_what_is_left(capsys):
    res = minimize(census_problem(), BranchAndBound(), seed=1, verbose=True)
    lines = capsys.readouterr().out.splitlines()
    heads = [head.strip() for head in lines[1].split("|")]
    assert heads == ["n_gen", "n_eval", "evaluated", "pruned", "undecided", "front", "gap"]
    last = [cell.strip() for cell in lines[-1].split("|")]
    algorithm = res.algorithm
    n_evaluated = str(algorithm.n_evaluated)
    assert last[1:] == [n_evaluated, n_evaluated, str(algorithm.n_pruned), "0", str(len(res.F)), "0.00%"]
