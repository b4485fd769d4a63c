"""Lattice problems: decoding, memory, frames, exact fronts, and refusals."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from pymoo.indicators.hv import HV
from pymoo.indicators.igd import IGD
from pymoo.optimize import minimize
from tasks import minimal, nsga2

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.datasets import make_census
from pymoo_anon.objectives import *
from pymoo_anon.problems import LatticeProblem, base
from pymoo_anon.problems.requirements import impossible
from pymoo_anon.table import Below, Hierarchy, Microdata

SIX = [
    KAnonymity(),
    DistinctLDiversity("occupation"),
    SquaredClassSizes(),
    SquaredValueCounts("occupation"),
    GeneralLossMetric(),
    ClassificationMetric("salary-class"),
]


@pytest.fixture(scope="module")
def census():
    return make_census(400, seed=3)


def small_table(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 20, n_rows),
            "sex": rng.choice(["Female", "Male"], n_rows),
            "zip": rng.choice(["07", "7", "8"], n_rows),
            "diagnosis": rng.choice(["flu", "cold", "measles"], n_rows),
            "note": np.arange(n_rows),
        }
    )
    quasi_identifiers = {
        "age": Hierarchy.intervals(0, 20, widths=[5, 10]),
        "sex": Hierarchy.flat(["Female", "Male"]),
        "zip": Hierarchy([["07", "7", "8"], ["7x", "7x", "8"], ["*", "*", "*"]]),
    }
    return Microdata.from_frame(frame, quasi_identifiers, sensitive="diagnosis")


@pytest.fixture
def problem():
    return LatticeProblem(
        small_table(), [KAnonymity(), DistinctLDiversity("diagnosis"), GeneralLossMetric()], suppression=0.05
    )


def test_pymoos_upper_bounds_are_a_node(problem):
    assert np.array_equal(problem.evaluate(problem.xu), problem.evaluate(np.array([3, 1, 2])))


def test_decode_gives_groups_and_labels(problem):
    generalization = problem.decode([1, 1, 0])
    assert generalization.labels["age"] == ("0–4", "5–9", "10–14", "15–19")
    assert generalization.groups["age"].tolist() == [i // 5 for i in range(20)]
    assert generalization.labels["sex"] == ("*",)
    assert generalization.labels["zip"] == ("07", "7", "8")
    assert generalization.n_groups == (4, 1, 3)


@pytest.mark.parametrize("policy", [{"suppression": 0.01}, {"suppression": Below(3)}])
def test_values_do_not_depend_on_what_is_computed_together_or_by_how_many_threads(census, policy, monkeypatch):
    own = LatticeProblem(census, [*SIX, NormalizedWeightedPenalty(), NormalizedClassDispersion()], **policy)
    X = np.random.default_rng(0).integers(0, own.lengths + 1, size=(300, own.n_var))
    alone = np.concatenate([own.compute(x[np.newaxis]) for x in X])
    monkeypatch.setattr(base, "_TUPLES_OF_A_THREAD", 1)
    for n_threads in (1, 2, 3):
        own.n_threads = n_threads
        assert np.array_equal(own.compute(X), alone)
        assert np.array_equal(own.compute(X[:40]), alone[:40])
        with monkeypatch.context() as patch:
            patch.setattr(base, "_POINTS_OF_A_PART", 30)
            assert np.array_equal(own.compute(X), alone)
    assert own.compute(X[:0]).shape == (0, own.n_obj)


def test_the_pareto_front_is_exact_and_costs_no_distinct_nodes(problem, monkeypatch):
    front, nodes = problem.pareto_front(), problem.pareto_set()
    assert np.array_equal(front, minimal(problem.compute(problem.nodes(0, 24))))
    assert np.array_equal(problem.compute(nodes), front)
    assert problem.n_unique == 0
    assert IGD(front)(front) == 0
    assert HV(ref_point=front.max(axis=0) + 1)(front) > 0
    # It is found once, and what a caller does with it changes nothing.
    monkeypatch.setattr(LatticeProblem, "compute_feasible", None)
    natural = front * [-1, -1, 1]
    front *= [-1, -1, 1]
    assert np.array_equal(problem.natural(problem.pareto_front()), natural)


def test_a_hierarchy_without_a_root_is_announced():
    frame = pd.DataFrame({"zip": ["a", "b"]})
    table = Microdata.from_frame(frame, {"zip": Hierarchy([["a", "b"]])})
    with pytest.warns(UserWarning, match=r"the hierarchies of 'zip' do not end in one group.*with_root"):
        LatticeProblem(table, [KAnonymity()])


def test_a_second_search_says_in_verbose_output_that_points_are_in_memory(capsys):
    """Print nothing for a copy without memory or a search without output."""

    def said(own, **options):
        minimize(own, nsga2(8), ("n_gen", 3), seed=1, **options)
        return capsys.readouterr().out

    own = LatticeProblem(make_census(200), [KAnonymity(), GeneralLossMetric()])
    assert "evaluated before" not in said(own, verbose=True)
    n = own.n_unique
    told = f"{n} points of this problem were evaluated before and take no time now; search problem.fresh_copy() to"
    assert said(own.fresh_copy(), verbose=True).count("evaluated before") == 0
    assert said(own) == ""
    assert said(own, verbose=True).startswith(told)
    assert own.n_unique == n


@pytest.mark.parametrize("name", ["pareto_front", "pareto_set", "ideal_point", "nadir_point"])
def test_the_front_may_be_cached_as_in_pymoo(problem, name, monkeypatch):
    calls = []
    compute = type(problem).compute_feasible
    monkeypatch.setattr(type(problem), "compute_feasible", lambda self, X: calls.append(1) or compute(self, X))
    get = getattr(problem, name)
    first = get(set_cache=False)
    assert len(calls) == 1
    assert np.array_equal(get(), first)
    assert len(calls) == 2
    get()
    assert len(calls) == 2
    assert np.array_equal(get(use_cache=False), first)
    assert len(calls) == 3


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_proof_asks_for_the_values_of_each_point_once(n_threads, monkeypatch):
    own = LatticeProblem(make_census(300), [KAnonymity(), GeneralLossMetric()], suppression=3)
    own.n_threads, asked = n_threads, []
    for way in ("evaluate", "measure", "measure_with_bounds"):
        method = getattr(LatticeProblem, way)

        def noted(self, X, *args, method=method, **kwargs):
            asked.extend(map(tuple, np.atleast_2d(X).tolist()))
            return method(self, X, *args, **kwargs)

        monkeypatch.setattr(LatticeProblem, way, noted)
    res = minimize(own, BranchAndBound(), seed=1)
    assert res.algorithm.certified
    assert len(asked) == len(set(asked)) == res.algorithm.n_evaluated == res.algorithm.evaluator.n_eval


@pytest.mark.parametrize("n_threads", [1, 3])
def test_classes_of_points_that_are_evaluated_together_are_those_of_each(census, n_threads):
    own = LatticeProblem(census, [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()], suppression=3)
    own.n_threads = n_threads
    X = np.unique(np.random.default_rng(0).integers(0, own.lengths + 1, size=(60, 8)), axis=0)

    def lesson(classes):
        assert len(classes) == 1
        counts = classes.columns["occupation"]
        return sorted(classes.sizes.tolist()), int(classes.n_suppressed[0]), int(np.diff(counts.starts).sum())

    # Some of them are remembered from before.
    own.evaluate(X[:7])
    lessons = own.measure_with_bounds(X, partial(map, lesson))[1]
    assert own.n_unique == len(X)
    single = LatticeProblem(census, own.objectives, suppression=3)
    assert lessons == [lesson(single.equivalence_classes(x)) for x in X]
    assert np.array_equal(own.evaluate(X), single.compute(X))
    # Nothing is measured again, and nothing remembered twice.
    own.measure_with_bounds(X[::-1], partial(map, lesson))
    assert own.n_unique == len(X)


HUNDRED = make_census(100)
N_HELD = len(np.unique(HUNDRED.tuples.columns["occupation"].values))


@pytest.mark.parametrize(
    ("constraint", "holds"),
    [
        (KAnonymity() >= 100, True),
        (KAnonymity() >= 101, False),
        (DistinctLDiversity("occupation") >= N_HELD, True),
        (DistinctLDiversity("occupation") >= N_HELD + 1, False),
        (GeneralLossMetric() <= 0, True),
        (GeneralLossMetric() <= -1, False),
    ],
)
def test_the_ends_of_the_lattice_decide(constraint, holds):
    assert impossible(HUNDRED, [constraint]) == ([] if holds else [constraint])
    problem = LatticeProblem(HUNDRED, [KAnonymity(), GeneralLossMetric()], constraints=[constraint])
    found = [len(problem.front([x])) for x in (problem.xl.astype(int), problem.xu.astype(int))]
    assert any(found) == holds
