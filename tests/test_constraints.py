"""Constraints: what is infeasible, exact fronts under them, and branch and bound with all that states bounds."""

import copy
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.evaluator import Evaluator
from pymoo.core.population import Population
from pymoo.optimize import minimize
from strategies import populations, tables

from pymoo_anon.algorithms.branch_and_bound import BranchAndBound
from pymoo_anon.algorithms.exhaustive import ExhaustiveSearch
from pymoo_anon.algorithms.pbgea import PBGEA
from pymoo_anon.datasets import make_census
from pymoo_anon.hierarchy import Hierarchy
from pymoo_anon.microdata import Microdata
from pymoo_anon.objectives.base import Objective
from pymoo_anon.objectives.loss import (
    AverageClassSize,
    ClassificationMetric,
    Discernibility,
    GeneralLossMetric,
    KLDivergence,
    NonUniformEntropy,
    NormalizedClassDispersion,
    NormalizedWeightedPenalty,
    Precision,
)
from pymoo_anon.objectives.privacy import (
    AlphaKAnonymity,
    AverageRisk,
    BasicBetaLikeness,
    ClassSizeSum,
    DeltaDisclosure,
    DistinctLDiversity,
    EnhancedBetaLikeness,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    MaximumRisk,
    RecursiveCLDiversity,
    SensitiveCountSum,
    TCloseness,
)
from pymoo_anon.operators.crossover import LevelCrossover, PartitionCrossover
from pymoo_anon.operators.mutation import PerAttributeBitMutation, SingleStepMutation
from pymoo_anon.operators.sampling import LatticeSampling, ValidSampling
from pymoo_anon.problems.lattice import LatticeProblem
from pymoo_anon.problems.partition import PartitionProblem

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")


def kinds(sensitive, label, values):
    """One objective of every kind; `values` are those of the sensitive column."""
    half = len(values) // 2
    halves = Hierarchy.from_levels([values, ["a"] * half + ["b"] * (len(values) - half), ["*"] * len(values)])
    return (
        KAnonymity(),
        DistinctLDiversity(sensitive),
        ClassSizeSum(),
        SensitiveCountSum(sensitive),
        EntropyLDiversity(sensitive),
        RecursiveCLDiversity(sensitive, 2),
        TCloseness(sensitive),
        TCloseness(sensitive, values),
        TCloseness(sensitive, halves),
        AlphaKAnonymity(sensitive),
        BasicBetaLikeness(sensitive),
        EnhancedBetaLikeness(sensitive),
        DeltaDisclosure(sensitive),
        DeltaDisclosure(sensitive, strict=True),
        MaximumRisk(),
        AverageRisk(),
        GeneralLossMetric(),
        NormalizedWeightedPenalty(),
        NormalizedClassDispersion(),
        ClassificationMetric(label),
        Discernibility(),
        AverageClassSize(),
        NonUniformEntropy(),
        Precision(),
        KLDivergence(),
    )


KINDS = kinds("s0", "s1", list("abcd"))
BOUNDED = [objective for objective in KINDS if objective.has_bounds]
CENSUS = make_census(300, seed=5)
CENSUS_KINDS = kinds("occupation", "salary-class", list(CENSUS.values("occupation")))


def sorted_rows(F):
    F = np.asarray(F)
    return F[np.lexsort(F.T[::-1])]


def values_of(table, objectives, **suppression):
    """(n_nodes, n) array: every node's values, without a constraint."""
    problem = LatticeProblem(table, objectives, **suppression)
    return problem.natural(problem.compute(problem.nodes(0, problem.n_nodes)))


def minimal(F):
    """The points that no other dominates, each once and in lexicographic order, by comparing all pairs."""
    distinct = np.unique(F, axis=0)
    no_worse = (distinct[:, np.newaxis] <= distinct).all(axis=2)
    np.fill_diagonal(no_worse, False)
    return distinct[~no_worse.any(axis=0)]


@dataclass
class Task:
    """A constrained problem and what plain comparisons make of the values of all nodes.

    Attributes:
        table: The table.
        objectives: The objectives.
        limits: Constraints as an objective, whether it is at least or at most something, and that something.
        limit: At most so many tuples are suppressed.
    """

    table: Microdata
    objectives: list[Objective]
    limits: list[tuple[Objective, bool, float]]
    limit: int

    @property
    def problem(self):
        constraints = [kind >= bound if at_least else kind <= bound for kind, at_least, bound in self.limits]
        return LatticeProblem(self.table, self.objectives, constraints=constraints, suppression=self.limit)

    @property
    def F(self):
        signs = [-1 if objective.maximize else 1 for objective in self.objectives]
        return values_of(self.table, self.objectives, suppression=self.limit) * signs + 0.0

    @property
    def G(self):
        """(n_nodes, n_constraints) array."""
        columns = []
        for kind, at_least, bound in self.limits:
            values = values_of(self.table, [kind], suppression=self.limit)[:, 0]
            columns.append(bound - values if at_least else values - bound)
        return np.array(columns).reshape(len(self.limits), -1).T

    @property
    def front(self):
        return minimal(self.F[(self.G <= 0).all(axis=1)] if self.limits else self.F)


@st.composite
def tasks(draw, of=KINDS, most_objectives=3):
    """Random tables, objectives and suppression, and constraints that some of the nodes may satisfy."""
    table = draw(tables())
    limit = draw(st.integers(0, len(table.frame) - 1) | st.integers(0, len(table.frame) // 3))
    k_map = KMap(draw(populations(table))[1])
    of = [*of, k_map] if k_map.has_bounds or of is KINDS else of
    objectives = draw(st.lists(st.sampled_from(of), min_size=1, max_size=most_objectives, unique_by=repr))
    limits = []
    for kind, at_least in draw(st.lists(st.tuples(st.sampled_from(of), st.booleans()), max_size=2, unique_by=repr)):
        values = values_of(table.microdata, [kind], suppression=limit)
        bound = draw(st.sampled_from(np.unique(values[np.isfinite(values)]).tolist() or [1.0]))
        limits.append((kind, at_least, bound + draw(st.sampled_from([0.0, 0.0, 0.25, -0.25]))))
    return Task(table.microdata, objectives, limits, limit)


@given(tasks())
def test_G_is_how_far_each_bound_is_missed(task):
    problem = task.problem
    assert problem.n_ieq_constr == len(task.limits)
    X = problem.nodes(0, problem.n_nodes)
    F, G = problem.evaluate(X, return_values_of=["F", "G"])
    np.testing.assert_array_equal(F, task.F)
    np.testing.assert_array_equal(G, task.G)
    pop = Evaluator().eval(problem, Population.new(X=X))
    np.testing.assert_array_equal(pop.get("FEAS")[:, 0], (task.G <= 0).all(axis=1))


@given(tasks())
def test_exact_fronts_are_of_the_feasible_nodes(task):
    problem, expected = task.problem, task.front
    np.testing.assert_array_equal(problem.pareto_front(), expected)
    np.testing.assert_array_equal(problem.compute(problem.pareto_set()), expected)
    res = minimize(problem, ExhaustiveSearch(batch_size=7))
    np.testing.assert_array_equal(found(res, problem), expected)


def found(res, problem):
    """The front of a result, in lexicographic order; empty where nothing feasible was found."""
    return np.empty((0, problem.n_obj)) if res.F is None else sorted_rows(np.reshape(res.F, (-1, problem.n_obj)))


@settings(max_examples=300)
@given(tasks(of=BOUNDED), st.integers(0, 3))
def test_the_certified_front_is_exact(task, seed):
    problem = task.problem
    res = minimize(problem, BranchAndBound(), seed=seed)
    algorithm = res.algorithm
    assert algorithm.certified
    assert algorithm.n_undecided == 0
    assert algorithm.n_evaluated + algorithm.n_pruned == problem.n_nodes
    assert algorithm.n_evaluated == problem.n_unique
    np.testing.assert_array_equal(found(res, problem), task.front)
    np.testing.assert_array_equal(found(minimize(problem, ExhaustiveSearch()), problem), task.front)


METHODS = ("attribute_terms", "floor_of_generalizations", "best_of_specializations")
STATED = [
    (objective, method)
    for objective in CENSUS_KINDS
    for method in METHODS
    if getattr(type(objective), method) is not getattr(Objective, method)
]


def planted(table, objective, constrained):
    """A problem whose front depends on an objective's bounds: as one of the objectives, or as a constraint."""
    objectives = [other for other in (KAnonymity(), GeneralLossMetric()) if type(other) is not type(objective)]
    if not constrained:
        return Task(table, [objective, *objectives], [], table.n_rows // 20)
    values = values_of(table, [objective], suppression=table.n_rows // 20)
    bound = float(np.median(values[np.isfinite(values)]))
    return Task(table, objectives, [(objective, objective.maximize, bound)], table.n_rows // 20)


@pytest.mark.parametrize("constrained", [False, True], ids=["objective", "constraint"])
@pytest.mark.parametrize(("objective", "method"), STATED, ids=str)
def test_a_wrong_bound_is_found_out(monkeypatch, objective, method, constrained):
    """A test of the test: each bound is broken once, and a front is no longer exact."""
    values = values_of(CENSUS, [objective], suppression=15)
    worse = np.ptp(values[np.isfinite(values)]) * (-0.3 if objective.maximize else 0.3)
    original = getattr(type(objective), method)

    def broken(self, *arguments):
        bounds = original(self, *arguments)
        return None if bounds is None else bounds + worse

    def is_exact(seed):
        problem = planted(make_census(60 + 20 * seed, seed=seed), objective, constrained).problem
        with monkeypatch.context() as patch:
            patch.setattr(type(objective), method, broken)
            res = minimize(problem, BranchAndBound(), seed=seed)
        return np.array_equal(found(res, problem), sorted_rows(problem.pareto_front()))

    assert not all(map(is_exact, range(12)))


# Life inside pymoo


def small_problem(*constraints):
    objectives = [KAnonymity(), GeneralLossMetric()]
    return LatticeProblem(CENSUS, objectives, constraints=constraints, suppression=0.02)


def two_constraints():
    return KAnonymity() >= 5, TCloseness("occupation") <= 0.3


def searches():
    nsga2 = NSGA2(pop_size=25, sampling=LatticeSampling(), crossover=LevelCrossover(), mutation=SingleStepMutation())
    return [nsga2, PBGEA(), ExhaustiveSearch(), BranchAndBound()]


@pytest.mark.parametrize("algorithm", searches(), ids=lambda algorithm: type(algorithm).__name__)
def test_searches_return_feasible_points(algorithm):
    problem = small_problem(*two_constraints())
    res = minimize(problem, algorithm, ("n_gen", 60), seed=1)
    k, t = values_of_nodes(res.X)
    assert len(res.X) > 1
    assert (k >= 5).all()
    assert (t <= 0.3).all()
    np.testing.assert_array_equal(problem.compute(res.X), res.F)
    assert (res.G <= 0).all()


def values_of_nodes(X):
    free = LatticeProblem(CENSUS, [KAnonymity(), TCloseness("occupation")], suppression=0.02)
    return free.natural(free.compute(X)).T


@pytest.mark.parametrize("algorithm", searches(), ids=lambda algorithm: type(algorithm).__name__)
def test_where_nothing_is_feasible_nothing_is_returned(algorithm):
    problem = small_problem(KAnonymity() >= 301)
    res = minimize(problem, algorithm, ("n_gen", 60), seed=1)
    assert res.F is None
    assert problem.to_frame(res).shape == (0, 10)
    assert len(problem.pareto_front()) == 0


def test_bit_strings_have_constraints_too():
    problem = PartitionProblem(
        CENSUS, [KAnonymity(), GeneralLossMetric()], suppression=0.02, constraints=list(two_constraints())
    )
    free = PartitionProblem(CENSUS, [KAnonymity(), TCloseness("occupation")], suppression=0.02)
    X = problem.sample(60, np.random.default_rng(0)) & (np.random.default_rng(1).random((60, problem.n_var)) < 0.1)
    k, t = free.natural(free.compute(X)).T
    G = problem.evaluate(X, return_values_of=["G"])
    np.testing.assert_array_equal(G, np.column_stack([5 - k, t - 0.3]))
    nsga2 = NSGA2(
        pop_size=30, sampling=ValidSampling(), crossover=PartitionCrossover(), mutation=PerAttributeBitMutation()
    )
    res = minimize(problem, nsga2, ("n_gen", 60), seed=1)
    k, t = free.natural(free.compute(res.X)).T
    assert (k >= 5).all()
    assert (t <= 0.3).all()


def test_a_constraint_changes_no_column_of_a_frame():
    problem = small_problem(*two_constraints())
    res = minimize(problem, PBGEA(), ("n_gen", 60), seed=1)
    frame = problem.to_frame(res)
    assert list(frame.columns)[-2:] == ["k", "GLM"]
    assert frame["k"].min() >= 5


def test_the_memory_holds_constraints():
    problem = small_problem(*two_constraints())
    X = problem.nodes(0, 40)
    first = problem.evaluate(np.concatenate([X, X]), return_values_of=["F", "G"])
    assert problem.n_unique == 40
    for values, again in zip(first, problem.evaluate(X, return_values_of=["F", "G"]), strict=True):
        np.testing.assert_array_equal(values, np.concatenate([again, again]))
    assert problem.n_unique == 40
    twin, other = copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))
    for one in (twin, other):
        assert one.n_unique == 40
        for values, again in zip(first, one.evaluate(X, return_values_of=["F", "G"]), strict=True):
            np.testing.assert_array_equal(values[:40], again)
    twin.evaluate(problem.nodes(40, 41))
    assert (problem.n_unique, other.n_unique) == (41, 40)
    assert repr(pickle.loads(pickle.dumps(two_constraints()))) == repr(two_constraints())


def test_one_objective_may_be_bounded_on_both_sides():
    problem = small_problem(KAnonymity() >= 5, KAnonymity() <= 20)
    k = problem.natural(problem.pareto_front())[:, 0]
    assert k.min() >= 5
    assert k.max() <= 20


# What is refused


def test_strict_comparisons_and_chains_are_refused():
    for compare in (lambda: KAnonymity() < 5, lambda: KAnonymity() > 5, lambda: 2 <= KAnonymity() <= 5):
        with pytest.raises(TypeError):
            compare()
    with pytest.raises(TypeError):
        bool(KAnonymity() >= 5)
