"""Branch and bound: exhaustive search's front, failing proofs, runs in pymoo."""

import pickle

import numpy as np
import pytest
from limits import limited
from pymoo.optimize import minimize
from pymoo.termination import get_termination

from pymoo_anon.algorithms import PBGEA, BranchAndBound
from pymoo_anon.datasets import fetch_adult, make_census
from pymoo_anon.fronts import BoxArchive
from pymoo_anon.objectives import (
    ClassificationMetric,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    Objective,
    SquaredClassSizes,
    SquaredValueCounts,
)
from pymoo_anon.operators import LatticeSampling
from pymoo_anon.problems import LatticeProblem

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

CENSUS = make_census(2000, seed=2)


def sorted_rows(F):
    return F[np.lexsort(F.T[::-1])]


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


BUGS = {
    "k": (KAnonymity, "values_of", -1),
    "k of members": (KAnonymity, "reach", 1),
    "l": (DistinctLDiversity, "values_of", -1),
    "S_k": (SquaredClassSizes, "most_of_specializations", -60),
    "S_l": (SquaredValueCounts, "most_of_specializations", -60),
    "GLM without suppression": (GeneralLossMetric, "attribute_floors", 2),
    "CM from below": (ClassificationMetric, "floor_of_generalizations", 3),
}


def shifted(value, more):
    """Add to a number or array, or to the last of several."""
    return (*value[:-1], value[-1] + more) if isinstance(value, tuple) else value + more


@pytest.mark.parametrize(("kind", "method", "more"), BUGS.values(), ids=list(BUGS))
def test_a_wrong_bound_is_found_out(monkeypatch, kind, method, more):
    """Break each bound once, and expect an inexact front."""
    names = {DistinctLDiversity: "occupation", SquaredValueCounts: "occupation", ClassificationMetric: "salary-class"}
    objective = kind(*([names[kind]] if kind in names else []))
    family = objective.bounding
    broken = {method: lambda self, *arguments: shifted(getattr(family, method)(self, *arguments), more)}
    monkeypatch.setattr(kind, "bounding", type("Broken", (family,), broken))
    partner = [GeneralLossMetric()] if kind is not GeneralLossMetric else [KAnonymity()]
    if kind is ClassificationMetric:
        partner.append(KAnonymity())

    def is_exact(seed):
        table = make_census(60 + 20 * seed, seed=seed)
        problem = LatticeProblem(table, [objective, *partner], suppression=0.05)
        res = minimize(problem, limited(batch=1), seed=seed)
        exact = problem.pareto_front()
        return np.array_equal(sorted_rows(np.atleast_2d(res.F)), exact[np.lexsort(exact.T[::-1])])

    assert not all(map(is_exact, range(12)))


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


def test_every_other_algorithm_is_beaten_where_it_counts():
    own = census_problem()
    minimize(own, BranchAndBound())
    assert own.n_unique < own.n_nodes / 4


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


def test_what_has_no_bounds_is_refused_by_name():
    class Largest(Objective):
        name, maximize = "largest", False

        def evaluate_one(self, classes):
            return classes.sizes.max()

    with pytest.raises(ValueError) as caught:
        minimize(census_problem([KAnonymity(), Largest()]), BranchAndBound())
    assert str(caught.value) == "Largest() states no bounds; ExhaustiveSearch or PBGEA search without any"
    from pymoo.problems import get_problem

    with pytest.raises(TypeError) as caught:
        minimize(get_problem("zdt1"), BranchAndBound())
    assert str(caught.value) == "problem must be a LatticeProblem or a BitStringProblem, got ZDT1"
