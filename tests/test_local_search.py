"""Pareto local search: the exact front at its own end, bounds that can fail, and life inside pymoo."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.core.termination import NoTermination
from pymoo.optimize import minimize
from pymoo.termination import get_termination
from tasks import BOUNDED, KINDS, Task, found, invented, minimal, sorted_rows, states, tasks, values_of

from pymoo_anon.algorithms import ParetoLocalSearch
from pymoo_anon.algorithms.lessons import LearnedBounds, can_settle
from pymoo_anon.datasets import make_census
from pymoo_anon.fronts.archive import boxes
from pymoo_anon.objectives import (
    ClassificationMetric,
    DeltaDisclosure,
    Discernibility,
    DistinctLDiversity,
    GeneralLossMetric,
    KAnonymity,
    NormalizedWeightedPenalty,
)
from pymoo_anon.objectives.bounds import FollowsK
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Below

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

CENSUS = make_census(500, seed=2)


def census(objectives=None, **asked):
    return LatticeProblem(CENSUS, objectives or [KAnonymity(), GeneralLossMetric()], suppression=0.02, **asked)


def to_the_end(problem, seed=0, **options):
    return minimize(problem, ParetoLocalSearch(termination=NoTermination(), **options), seed=seed)


@given(tasks(), st.integers(0, 3), st.sampled_from([1, 5, 16]), st.booleans())
def test_at_its_own_end_the_front_is_exact(task, seed, n_offsprings, bounds):
    problem = task.problem
    res = to_the_end(problem, seed, n_offsprings=n_offsprings, bounds=bounds)
    assert res.algorithm.certified
    assert res.algorithm.evaluator.n_eval == problem.n_unique
    np.testing.assert_array_equal(found(res, problem), task.front)


@given(tasks(of=BOUNDED, violating=True), st.integers(0, 3))
def test_classes_that_break_a_constraint_are_suppressed(task, seed):
    res = to_the_end(task.problem, seed)
    assert res.algorithm.certified
    np.testing.assert_array_equal(found(res, task.problem), task.front)


@given(tasks(of=BOUNDED), st.integers(1, 6))
def test_classes_below_a_size_are_suppressed_without_limit(task, k):
    problem = LatticeProblem(task.table, task.objectives, Below(min(k, task.table.n_rows)), task.constraints)
    res = to_the_end(problem)
    F, G = problem.evaluate(problem.nodes(0, problem.n_nodes), return_values_of=["F", "G"])
    assert res.algorithm.certified
    np.testing.assert_array_equal(found(res, problem), minimal(F[(G <= 0).all(axis=1)]))


@given(tasks(of=BOUNDED), st.sampled_from([1.0, 3.0, 10.0]))
def test_boxes_give_one_feasible_node_of_each_that_is_not_dominated(task, epsilon):
    problem = task.problem
    res = to_the_end(problem, epsilon=epsilon)
    maximize = [objective.maximize for objective in task.objectives]
    expected = minimal(boxes(task.front, epsilon, maximize))
    np.testing.assert_array_equal(sorted_rows(boxes(found(res, problem), epsilon, maximize)), expected)


@given(tasks(of=BOUNDED), st.data())
def test_no_node_of_the_front_is_settled_by_others(task, data):
    """Whatever was learned, a node is settled only where a member is as good or it breaks a constraint."""
    problem = task.problem
    X = problem.nodes(0, problem.n_nodes)
    learned = data.draw(st.lists(st.integers(0, len(X) - 1), max_size=10, unique=True))
    bounds = LearnedBounds(problem, np.zeros(problem.n_obj))
    bounds.learn(X[learned], problem.measure_with_bounds(X[learned], partial(map, bounds.lesson))[1])
    assert len(bounds) == len(learned)
    F, feasible = task.F, (task.G <= 0).all(axis=1) if task.limits else np.ones(len(X), dtype=bool)
    members = F[learned][feasible[learned]]
    covered = (members[:, np.newaxis] <= F).all(axis=2).any(axis=0)
    assert not (bounds.settles(X, members) & feasible & ~covered).any()


def plainly_settled(problem, learned, x, members):
    """Whether lessons settle a node, from the classes of single nodes and with one k after the other."""
    bounds = LearnedBounds(problem, np.zeros(problem.n_obj))
    every = [(node, *bounds.lesson(problem.table.equivalence_classes(problem.decode(node), problem.suppression)))
             for node in learned]  # fmt: skip
    for r in range(len(bounds.ranges)):
        own, more, worst = (
            bounds.terms[:, 0, x[0]].copy(),
            np.zeros(len(bounds.limits)),
            np.full(len(bounds.limits), -np.inf),
        )
        for j in range(1, len(x)):
            own += bounds.terms[:, j, x[j]]
        for node, below, above in every:
            if (node >= x).all():
                more, worst = np.maximum(more, below[r]), np.maximum(worst, below[r])
            if (node <= x).all():
                own = np.maximum(own, above)
        with np.errstate(invalid="ignore"):
            summed = np.where(more > 0, (own + more) * (1 - 1e-12), own)
        bound = np.where(bounds.floors, summed, np.maximum(own, worst))
        if (bound <= bounds.limits).all() and not any((f <= bound[: len(f)]).all() for f in members):
            return False
    return True


@given(tasks(of=BOUNDED), st.data())
def test_lessons_hold_together_as_in_a_plain_twin(task, data):
    problem = LatticeProblem(task.table, task.objectives, suppression=task.limit)
    X = problem.nodes(0, problem.n_nodes)
    learned = X[data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=12, unique=True))]
    asked = X[data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=5))]
    bounds = LearnedBounds(problem, np.zeros(problem.n_obj))
    bounds.learn(learned, problem.measure_with_bounds(learned, partial(map, bounds.lesson))[1])
    members = problem.compute(learned)
    members -= bounds.leeway * np.abs(np.where(np.isfinite(members), members, 0.0))
    expected = [plainly_settled(problem, learned, x, members) for x in asked]
    assert bounds.settles(asked, problem.compute(learned)).tolist() == expected


LOSS = "pymoo_anon.objectives.loss"
METHODS = ("attribute_floors", "floor_of_generalizations", "best_of_specializations")
STATED = [
    (objective, method)
    for objective in BOUNDED
    for method in (("at",) if issubclass(objective.bounding, FollowsK) else METHODS)
    if states(objective, method)
]


def planted(seed, objective):
    """A problem whose front depends on an objective's bounds."""
    table, limit = invented(seed), [0, 3][seed % 2]
    if seed % 4 < 2:
        partner = KAnonymity() if type(objective).__module__.startswith(LOSS) else GeneralLossMetric()
        return Task(table, [objective, partner], [], limit)
    values = values_of(table, [objective], suppression=limit)
    bound = float(np.quantile(values[np.isfinite(values)], [0.25, 0.5, 0.75, 0.9, 0.97][seed % 5]))
    others = [KAnonymity(), GeneralLossMetric(), NormalizedWeightedPenalty()]
    if objective.bounding.floor_rises:
        others = [KAnonymity(), ClassificationMetric("s0"), Discernibility()]
    chosen = [one for one in others if type(one) is not type(objective)][:2]
    return Task(table, chosen, [(objective, objective.maximize, bound)], limit)


@pytest.mark.parametrize(("objective", "method"), STATED, ids=str)
def test_a_wrong_bound_is_found_out(monkeypatch, objective, method):
    """A test of the test: each bound is broken once, and a front is no longer exact."""
    family = objective.bounding

    def is_exact(seed):
        task = planted(seed, objective)
        values = values_of(task.table, [objective], suppression=task.limit)
        worse = np.ptp(values[np.isfinite(values)]) * [0.1, 0.3, 1.0][seed % 3]
        worse = np.ceil(worse) if objective.whole else worse
        if objective.maximize and not family.has_floor and method != "at":
            worse = -worse

        def broken(self, *arguments):
            return getattr(family, method)(self, *arguments) + worse

        problem = task.problem
        with monkeypatch.context() as patch:
            patch.setattr(type(objective), "bounding", type("Broken", (family,), {method: broken}))
            res = to_the_end(problem, seed)
        return np.array_equal(found(res, problem), task.front)

    assert not all(map(is_exact, range(60)))


def test_bounds_save_evaluations_and_change_nothing_else():
    own, without = (Task(invented(1), [KAnonymity(), GeneralLossMetric()], [], 3).problem for _ in range(2))
    res, plain = to_the_end(own, 1), to_the_end(without, 1, bounds=False)
    assert found(res, own).tolist() == found(plain, without).tolist()
    assert without.n_unique == own.n_nodes
    assert own.n_unique < own.n_nodes / 4


def test_what_bounds_can_settle():
    k, loss, delta = KAnonymity(), GeneralLossMetric(), DeltaDisclosure("occupation")
    assert can_settle(census())
    assert not can_settle(census([k, delta]))
    assert can_settle(census([k, delta], constraints=[loss <= 100]))
    assert not can_settle(census([k, delta], constraints=[loss >= 100]))
    assert not can_settle(LatticeProblem(CENSUS, [k, loss], Below(5)))
    assert can_settle(LatticeProblem(CENSUS, [loss], Below(5)))
    assert can_settle(LatticeProblem(CENSUS, [k, delta], Below(5), constraints=[loss <= 100]))


def test_threads_change_nothing():
    path = [KAnonymity(), DistinctLDiversity("occupation"), GeneralLossMetric()]
    runs = []
    for n_threads in (1, 3):
        own = census(path)
        own.n_threads = n_threads
        res = minimize(own, ParetoLocalSearch(n_offsprings=64), ("n_eval", 400), seed=1)
        runs.append((res.X.tolist(), res.F.tolist(), list(own._memory._rows)))
    assert runs[0] == runs[1]


def test_every_kind_without_bounds_is_searched():
    for unbounded in (kind for kind in KINDS if kind.bounding is None):
        task = Task(invented(0), [KAnonymity(), unbounded], [], 3)
        problem = task.problem
        res = to_the_end(problem)
        assert problem.n_unique == problem.n_nodes
        np.testing.assert_array_equal(found(res, problem), task.front)


def test_copies_learn_by_themselves():
    problem = Task(invented(0), [KAnonymity(), GeneralLossMetric()], [], 3).problem
    X, members = problem.nodes(0, problem.n_nodes), problem.pareto_front()

    def learned(bounds, *nodes):
        chosen = X[list(nodes)]
        bounds.learn(chosen, problem.measure_with_bounds(chosen, partial(map, bounds.lesson))[1])
        return bounds

    first = learned(LearnedBounds(problem, np.zeros(2)), 0, 600)
    second = learned(copy.deepcopy(first), 300, 450, 500)
    learned(first, 100, 620, 610)
    for bounds, nodes in ((first, (0, 600, 100, 620, 610)), (second, (0, 600, 300, 450, 500))):
        alone = learned(LearnedBounds(problem, np.zeros(2)), *nodes)
        assert bounds.settles(X, members).tolist() == alone.settles(X, members).tolist()
        assert all(map(np.array_equal, bounds._known(), alone._known()))
        assert [x in bounds for x in X] == [x in alone for x in X]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))], ids=["copy", "pickle"])
def test_a_copy_at_any_iteration_goes_on_as_the_search_does(again):
    own = Task(invented(1), [KAnonymity(), GeneralLossMetric()], [], 3).problem
    algorithm = ParetoLocalSearch(termination=NoTermination())
    algorithm.setup(own, seed=1)
    for _ in range(8):
        algorithm.next()
        twins = again(algorithm), again(algorithm)
        for one in twins:
            one.termination = get_termination("n_eval", 80)
            one.run()
        assert twins[0].opt.get("X").tolist() == twins[1].opt.get("X").tolist()
        assert len(twins[0]._bounds) == len(twins[0]._seen) > len(algorithm._bounds)
    while algorithm.has_next():
        algorithm.next()
    assert algorithm.certified
    # Copies beside it have changed nothing.
    assert algorithm.opt.get("X").tolist() == to_the_end(own, 1).X.tolist()
