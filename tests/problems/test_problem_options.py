"""Options of pymoo users: runners, threads, arrays, wrappers, infeasible rows."""

import copy
import pickle

import numpy as np
import pytest
from pymoo.constraints.as_obj import ConstraintsAsObjective
from pymoo.optimize import minimize
from tasks import eights, nsga2

from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity
from pymoo_anon.problems import BitStringProblem, LatticeProblem, journaled
from pymoo_anon.table import Violating

TABLE = eights("abc")


def problem(names="abc", **kwargs):
    kwargs.setdefault("constraints", [DistinctLDiversity("s") >= 2])
    return LatticeProblem(eights(names), [KAnonymity(), GeneralLossMetric()], **{"suppression": 5, **kwargs})


def test_points_may_be_evaluated_one_by_one():
    calls = []

    def runner(evaluate, X):
        calls.append(len(X))
        return [evaluate(x) for x in X]

    own, plain = problem(elementwise_runner=runner), problem()
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
    assert np.array_equal(plain.evaluate(X[:9])[0], problem().evaluate(X[:9])[0])


def in_another_process(evaluate, X):
    return [pickle.loads(pickle.dumps(evaluate))(x) for x in X]


def test_what_other_processes_evaluate_is_remembered_and_written(tmp_path):
    own, again = problem(elementwise_runner=in_another_process), problem()
    X = own.nodes(0, 9)[[0, 4, 4, 8, 2]]
    with journaled(own, tmp_path / "journal"):
        F, G = own.evaluate(X)
    with journaled(again, tmp_path / "journal", resume=True):
        assert own.n_unique == again.n_unique == 4
    assert all(np.array_equal(*both) for both in zip((F, G), problem().evaluate(X), strict=True))
    assert np.array_equal(again.measure(X), problem().measure(X))
    assert own.evaluate(X, return_as_dictionary=True).keys() == {"F", "G"}


def test_threads_are_kept_by_copies():
    own = problem()
    assert own.n_threads == 1
    own.n_threads = np.int64(2)
    for twin in (copy.deepcopy(own), pickle.loads(pickle.dumps(own))):
        assert twin.n_threads == 2


def test_arrays_of_objects_are_what_they_hold():
    own = problem()
    X = own.nodes(0, 10)
    for given in (X.astype(object), X.astype(float).astype(object), X.tolist()):
        assert np.array_equal(own.evaluate(given)[0], own.evaluate(X)[0])
    assert own.n_unique == 10
    strings = BitStringProblem(TABLE, [KAnonymity()])
    bits = strings.sample(5, np.random.default_rng(0))
    assert np.array_equal(strings.evaluate(bits.astype(object)), strings.evaluate(bits))


def test_constraints_may_be_an_objective():
    own = problem()
    res = minimize(ConstraintsAsObjective(own), nsga2(), ("n_gen", 5), seed=1, verbose=True)
    assert res.F.shape[1] == 3
    F, G = own.evaluate(res.X)
    assert np.array_equal(res.F, np.column_stack([np.maximum(G, 0), F]))
    assert own.to_frame(res)["feasible"].tolist() == (res.F[:, 0] == 0).tolist()
    front = ConstraintsAsObjective(own).pareto_front()
    assert np.array_equal(front, np.column_stack([np.zeros(len(own.pareto_front())), own.pareto_front()]))


@pytest.mark.parametrize("rule", [0, 5, Violating(20)], ids=repr)
def test_frames_tell_what_is_suppressed_and_what_is_feasible(rule, monkeypatch):
    own = problem(suppression=rule, constraints=[KAnonymity() >= 3, DistinctLDiversity("s") >= 2])
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
    own = problem(["suppressed", "feasible", "k"])
    shown = own.to_frame(own.nodes(0, 4))
    assert list(shown.columns) == [
        "suppressed", "feasible", "k", "k (objective)", "GLM", "l", "suppressed (measured)", "feasible (measured)",
    ]  # fmt: skip
    assert shown.iloc[:, :3].to_numpy().tolist() == own.nodes(0, 4).tolist()
