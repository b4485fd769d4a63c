"""Lattice problems of any size: decoding, memory, frames, options of pymoo users, and fronts, Adult's by pandas."""

import copy
import pickle
import tracemalloc
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from errors import refused
from hypothesis import given
from hypothesis import strategies as st
from plain import PlainTable, read_levels
from pymoo.constraints.as_obj import ConstraintsAsObjective
from pymoo.indicators.hv import HV
from pymoo.indicators.igd import IGD
from pymoo.optimize import minimize
from tasks import OF_ADULT, eights, minimal, nsga2

import pymoo_anon
from pymoo_anon.algorithms import PBGEA, BranchAndBound, ExhaustiveSearch
from pymoo_anon.datasets import fetch_adult, fetch_adult_frame, make_census
from pymoo_anon.datasets.adult import QUASI_IDENTIFIERS
from pymoo_anon.objectives import *
from pymoo_anon.problems import BitStringProblem, LatticeProblem, base, journaled, lattice
from pymoo_anon.problems.requirements import impossible
from pymoo_anon.table import Below, Hierarchy, Microdata, Violating

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


TABLE = eights("abc")


def with_options(names="abc", **kwargs):
    kwargs.setdefault("constraints", [DistinctLDiversity("s") >= 2])
    return LatticeProblem(eights(names), [KAnonymity(), GeneralLossMetric()], **{"suppression": 5, **kwargs})


def test_points_may_be_evaluated_one_by_one():
    calls = []

    def runner(evaluate, X):
        calls.append(len(X))
        return [evaluate(x) for x in X]

    own, plain = with_options(elementwise_runner=runner), with_options()
    X = own.nodes(0, 64)
    for wanted in ("F", "G"):
        assert np.array_equal(*(one.evaluate(X, return_values_of=[wanted]) for one in (own, plain)))
    assert np.array_equal(own.evaluate(X[5])[0], plain.evaluate(X[5])[0])
    assert calls == [64, 64, 1]
    assert own.n_unique == 64
    found = minimize(own, nsga2(), ("n_gen", 4), seed=1)
    assert np.array_equal(found.F, minimize(plain, nsga2(), ("n_gen", 4), seed=1).F)
    strings = BitStringProblem(TABLE, [KAnonymity()], elementwise_runner=runner)
    bits = strings.sample(6, np.random.default_rng(0))
    assert np.array_equal(strings.evaluate(bits), BitStringProblem(TABLE, [KAnonymity()]).evaluate(bits))
    plain.elementwise = True
    assert np.array_equal(plain.evaluate(X[:9])[0], with_options().evaluate(X[:9])[0])


def in_another_process(evaluate, X):
    return [pickle.loads(pickle.dumps(evaluate))(x) for x in X]


def test_what_other_processes_evaluate_is_remembered_and_written(tmp_path):
    own, again = with_options(elementwise_runner=in_another_process), with_options()
    X = own.nodes(0, 9)[[0, 4, 4, 8, 2]]
    with journaled(own, tmp_path / "journal"):
        F, G = own.evaluate(X)
    with journaled(again, tmp_path / "journal", resume=True):
        assert own.n_unique == again.n_unique == 4
    assert all(np.array_equal(*both) for both in zip((F, G), with_options().evaluate(X), strict=True))
    assert np.array_equal(again.measure(X), with_options().measure(X))
    assert own.evaluate(X, return_as_dictionary=True).keys() == {"F", "G"}


def test_threads_are_kept_by_copies():
    own = with_options()
    assert own.n_threads == 1
    own.n_threads = np.int64(2)
    for twin in (copy.deepcopy(own), pickle.loads(pickle.dumps(own))):
        assert twin.n_threads == 2


def test_arrays_of_objects_are_what_they_hold():
    own = with_options()
    X = own.nodes(0, 10)
    for points in (X.astype(object), X.astype(float).astype(object), X.tolist()):
        assert np.array_equal(own.evaluate(points)[0], own.evaluate(X)[0])
    assert own.n_unique == 10
    strings = BitStringProblem(TABLE, [KAnonymity()])
    bits = strings.sample(5, np.random.default_rng(0))
    assert np.array_equal(strings.evaluate(bits.astype(object)), strings.evaluate(bits))


def test_constraints_may_be_an_objective():
    own = with_options()
    res = minimize(ConstraintsAsObjective(own), nsga2(), ("n_gen", 5), seed=1, verbose=True)
    assert res.F.shape[1] == 3
    F, G = own.evaluate(res.X)
    assert np.array_equal(res.F, np.column_stack([np.maximum(G, 0), F]))
    assert own.to_frame(res)["feasible"].tolist() == (res.F[:, 0] == 0).tolist()
    front = ConstraintsAsObjective(own).pareto_front()
    assert np.array_equal(front, np.column_stack([np.zeros(len(own.pareto_front())), own.pareto_front()]))


@pytest.mark.parametrize("rule", [0, 5, Violating(20)], ids=repr)
def test_frames_tell_what_is_suppressed_and_what_is_feasible(rule, monkeypatch):
    own = with_options(suppression=rule, constraints=[KAnonymity() >= 3, DistinctLDiversity("s") >= 2])
    X = own.nodes(0, own.n_nodes)
    G = own.evaluate(X, return_values_of=["G"])
    counts = [own.equivalence_classes(x).n_suppressed[0] for x in X]
    # All of it is remembered.
    monkeypatch.setattr(LatticeProblem, "_measure", lambda self, X: pytest.fail("measured again"))
    shown = own.to_frame(X)
    assert list(shown.columns) == ["a", "b", "c", "k", "GLM", "l", "suppressed", "feasible"]
    assert [str(dtype) for dtype in shown.dtypes] == [*["int64"] * 4, "float64", "int64", "int64", "bool"]
    assert shown["suppressed"].tolist() == counts
    assert shown["feasible"].tolist() == (G <= 0).all(axis=1).tolist()
    assert 0 < shown["feasible"].sum() < len(X)
    assert (shown["suppressed"] > 0).any() == (rule != 0)


def test_quasi_identifiers_may_be_named_like_columns_of_a_frame():
    own = with_options(["suppressed", "feasible", "k"])
    shown = own.to_frame(own.nodes(0, 4))
    assert list(shown.columns) == [
        "suppressed", "feasible", "k", "k (objective)", "GLM", "l", "suppressed (measured)", "feasible (measured)",
    ]  # fmt: skip
    assert shown.iloc[:, :3].to_numpy().tolist() == own.nodes(0, 4).tolist()


SUPPRESSION = 301
HIERARCHIES = Path(pymoo_anon.__file__).parent / "datasets" / "hierarchies"


@lru_cache
def adult_by_pandas():
    """Adult's rows with the packaged hierarchies."""
    levels = {
        name: read_levels(HIERARCHIES / f"{name}.csv", int if name == "age" else str) for name in QUASI_IDENTIFIERS
    }
    return PlainTable(fetch_adult_frame(), levels)


def adult_nodes():
    """Return all nodes, the last level changing fastest."""
    table = adult_by_pandas()
    return list(product(*(range(sum(name == column for name, _ in table.groups)) for column in table.columns)))


NAMES = ["k", "GLM", "S_k", "l", "S_l", "CM"]


def values_by_pandas(nodes):
    """Return the values at some nodes per class label, a column for each objective.

    A column that is the label and no quasi-identifier tells nobody apart, as one that is wholly generalized does not;
    what the latter costs, 1 for every row, is taken off.
    """
    table, rows = adult_by_pandas(), []
    for node in nodes:
        # The label is measured only where it separates no classes.
        label = "salary-class" if is_without_salary(node) else None
        found = table.measure(node, "occupation", label, limit=SUPPRESSION)
        rows.append([getattr(found, name) for name in NAMES])
    values = pd.DataFrame(rows, columns=NAMES)
    without = values[list(map(is_without_salary, nodes))]
    return {None: values, "salary-class": without.assign(GLM=without.GLM - len(table.frame))}


def is_without_salary(node):
    """Return whether the salary class is wholly generalized."""
    return node[adult_by_pandas().columns.index("salary-class")] == 1


def signed(objectives, values):
    """Return one row per node, with rounded losses, since sums depend on order."""
    rows = values[[one.name for one in objectives]] * [-1 if one.maximize else 1 for one in objectives]
    return list(rows.round(6).itertuples(index=False, name=None))


def problem_of(objectives):
    return LatticeProblem(fetch_adult(label=objectives[-1].column), objectives, suppression=SUPPRESSION)


@pytest.fixture(scope="module")
def at_some_nodes(adult_rows):
    """Measure a sample of the lattice's nodes by pandas."""
    nodes = adult_nodes()[:: len(adult_nodes()) // 230]
    return nodes, values_by_pandas(nodes)


@pytest.fixture(scope="module")
def at_every_node(adult_rows):
    return values_by_pandas(adult_nodes())


def front_of(F):
    """Return the nondominated rows of F by a plain scan."""
    front = []
    for f in sorted(set(F)):
        if not any(all(a <= b for a, b in zip(g, f, strict=True)) for g in front):
            front.append(f)
    return front


@pytest.mark.parametrize("objectives", OF_ADULT.values(), ids=list(OF_ADULT))
def test_values_are_those_of_a_plain_program(objectives, at_some_nodes):
    label = objectives[-1].column
    nodes, values = at_some_nodes
    if label:
        salary = adult_by_pandas().columns.index("salary-class")
        nodes = [(*node[:salary], *node[salary + 1 :]) for node in nodes if is_without_salary(node)]
    F = signed(objectives, values[label])
    assert len(nodes) > 100
    np.testing.assert_allclose(problem_of(objectives).compute(np.array(nodes)), np.array(F), rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("objectives", OF_ADULT.values(), ids=list(OF_ADULT))
def test_exact_fronts_are_those_of_a_plain_program(objectives, at_every_node):
    problem = problem_of(objectives)
    F = signed(objectives, at_every_node[objectives[-1].column])
    assert len(F) == problem.n_nodes
    expected = front_of(F)
    found = problem.pareto_front()
    assert len(found) == len(expected)
    np.testing.assert_allclose(found[np.lexsort(found.T[::-1])], np.array(expected), rtol=0, atol=1e-6)
    # Every node of the lattice agrees, not only the fronts.
    np.testing.assert_allclose(problem.compute(problem.nodes(0, problem.n_nodes)), np.array(F), rtol=0, atol=1e-6)


def wide_table(lengths, n_rows=60):
    """Return a table with a quasi-identifier of 2 ** length values each.

    Each level halves the number of values.
    """
    rng = np.random.default_rng(0)
    hierarchies = {
        f"q{j}": Hierarchy([[value >> level for value in range(2**length)] for level in range(length + 1)])
        for j, length in enumerate(lengths)
    }
    frame = pd.DataFrame({name: rng.integers(0, own.n_values, n_rows) for name, own in hierarchies.items()})
    return Microdata.from_frame(frame, hierarchies)


def wide(lengths, **kwargs):
    return LatticeProblem(wide_table(lengths), [KAnonymity(), GeneralLossMetric()], **kwargs)


@given(st.lists(st.integers(1, 3), min_size=1, max_size=5), st.integers(0, 20), st.integers(0, 300), st.integers(1, 40))
def test_nodes_are_numbered_like_digits(lengths, start, stop, size):
    own = wide(lengths)
    every = list(product(*(range(length + 1) for length in lengths)))
    assert own.n_nodes == len(every)
    found = own.nodes(start, stop)
    assert (found.dtype, found.shape[1]) == (np.int64, len(lengths))
    assert list(map(tuple, found)) == every[start:stop]
    assert list(map(tuple, np.concatenate(list(own.batches(size))))) == every


def test_nodes_of_a_lattice_that_no_integer_counts():
    own = wide([3] * 70)
    assert own.n_nodes == 4**70
    last = own.nodes(own.n_nodes - 3, own.n_nodes + 10)
    assert last[:, :-1].tolist() == [[3] * 69] * 3
    assert last[:, -1].tolist() == [1, 2, 3]
    middle = own.nodes(4**50 - 1, 4**50 + 1)
    assert middle.tolist() == [[0] * 20 + [3] * 50, [0] * 19 + [1] + [0] * 50]
    assert own.nodes(4**70, 4**70 + 5).shape == (0, 70)
    assert own.nodes(5, 5).shape == (0, 70)


@pytest.mark.parametrize("n_attributes", [24, 70])
@pytest.mark.parametrize("make", [lambda: PBGEA(pop_size=10), nsga2], ids=["PBGEA", "NSGA2"])
def test_many_quasi_identifiers_are_searched(n_attributes, make, capsys):
    own = wide([3] * n_attributes, suppression=0.1)
    res = minimize(own, make(), ("n_gen", 4), seed=1, verbose=True)
    assert capsys.readouterr().out
    assert own.to_frame(res).shape == (len(res.X), n_attributes + 3)
    for x, f in zip(res.X, res.F, strict=True):
        classes = own.equivalence_classes(x)
        assert [-KAnonymity().evaluate(classes)[0], GeneralLossMetric().evaluate(classes)[0]] == f.tolist()


@pytest.mark.parametrize("n_attributes", [24, 70])
def test_what_is_too_large_is_said_before_anything_is_allocated(n_attributes):
    own = wide([3] * n_attributes)
    count = f"{4**n_attributes:,}"
    too_many = (
        f"problem must have at most 1,000,000,000 nodes to visit all of them, got {count}; PBGEA and NSGA2 search a "
        "part of them"
    )
    tracemalloc.start()
    assert refused(ValueError, lambda: own.batches(10)) == too_many
    assert refused(ValueError, lambda: minimize(own, ExhaustiveSearch())) == too_many
    assert refused(ValueError, lambda: minimize(own, ExhaustiveSearch(), ("n_gen", 1))) == too_many
    assert refused(ValueError, lambda: own.pareto_front(max_nodes=own.n_nodes)) == too_many
    assert refused(ValueError, lambda: own.nodes(0, own.n_nodes)) == (
        f"{count} of the lattice's {count} nodes would take {4**n_attributes * n_attributes * 8 / 2**30:,.0f} GiB; "
        "ask for fewer at a time, or search a part of them with PBGEA or NSGA2"
    )
    for known in (own.pareto_front, own.pareto_set, own.ideal_point, own.nadir_point):
        assert known() is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**7


def test_many_nodes_of_a_large_domain_take_little_memory():
    """Avoid 340 MB for the groups of all values at all nodes."""
    own = wide([14, 2, 2, 2, 2])
    X = own.nodes(0, 2_600)[::2]
    expected = own.compute(X[::100])
    tracemalloc.start()
    values = own.compute(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200_000_000
    np.testing.assert_array_equal(values[::100], expected)


def test_nodes_times_tuples_bound_the_unasked_front_and_no_clock_does(monkeypatch, capsys):
    own = wide([3, 3, 3])
    work = own.n_nodes * len(own.table.tuples)
    monkeypatch.setattr(lattice, "_UNASKED_WORK", work - 1)
    minimize(own, nsga2(), ("n_gen", 1), seed=1, verbose=True)
    assert "igd" not in capsys.readouterr().out
    assert own.pareto_front() is None
    monkeypatch.setattr(lattice, "_UNASKED_WORK", work)
    front = own.pareto_front()
    assert len(front) > 1
    minimize(own, nsga2(), ("n_gen", 1), seed=1, verbose=True)
    assert "igd" in capsys.readouterr().out
    assert np.array_equal(own.pareto_front(max_nodes=1), front)
    monkeypatch.setattr(lattice, "_UNASKED_WORK", 0)
    assert np.array_equal(own.pareto_front(), front)
    other = wide([3, 3, 3])
    assert other.pareto_front() is None
    assert other.pareto_front(max_nodes=other.n_nodes).tolist() == front.tolist()


def test_a_larger_budget_is_asked_for_by_the_call(monkeypatch):
    monkeypatch.setattr(lattice, "_UNASKED_NODES", 15)
    own = wide([3, 3])
    assert own.pareto_front() is None
    assert own.pareto_front(max_nodes=15) is None
    expected = minimal(own.compute(own.nodes(0, 16)))
    assert own.nadir_point(max_nodes=15) is None
    assert np.array_equal(own.nadir_point(max_nodes=16), expected.max(axis=0))
    assert np.array_equal(own.ideal_point(), expected.min(axis=0))
    assert np.array_equal(own.pareto_front(), expected)
    assert np.array_equal(own.compute(own.pareto_set()), expected)
    monkeypatch.setattr(lattice, "_UNASKED_NODES", 16)
    assert np.array_equal(wide([3, 3]).pareto_front(), expected)
