"""Proofs of stored lattices: bounds, rules and orders of nodes beside slow twins, threads, and visits of all nodes."""

import pickle
import time
from itertools import pairwise, product
from math import isqrt

import numpy as np
import pandas as pd
import pytest
from loops import leave_uncompiled
from numba.core.event import install_timer
from pymoo.optimize import minimize
from pymoo.termination.max_gen import MaximumGenerationTermination
from strategies import times
from tasks import Task, found, invented, limited, members_stand, nsga2, sorted_rows

from pymoo_anon.algorithms import PBGEA, BranchAndBound, ExhaustiveSearch, ParetoLocalSearch
from pymoo_anon.datasets import make_census
from pymoo_anon.engine.compiled import njit
from pymoo_anon.objectives import *
from pymoo_anon.objectives.bounds import _SMALL, AdditiveLoss, Kind, _write_fewest
from pymoo_anon.problems import LatticeProblem, base, journaled
from pymoo_anon.problems.lattice import layer_sizes
from pymoo_anon.proofs import covering, stored
from pymoo_anon.proofs.base import tolerance
from pymoo_anon.proofs.covering import ADDITIVE, FIXED, SQUARES, THRESHOLD, Members, NodeBounds, Rules
from pymoo_anon.proofs.stored import MeasureRules, find_open, node_scratch
from pymoo_anon.table import Below, Hierarchy, Microdata, Violating

pytestmark = pytest.mark.filterwarnings("ignore:the hierarchies of .* do not end in one group")

# Two thresholds, two losses, a bound that stands as it is, and perhaps two sums of squares, which make the number of
# suppressed rows a threshold.
KINDS = np.array([THRESHOLD, ADDITIVE, FIXED, THRESHOLD, ADDITIVE, SQUARES, SQUARES])
N_ROWS, N_VAR, N_MEMBERS = 6, 2, 4


@pytest.fixture
def uncompiled(monkeypatch):
    leave_uncompiled(monkeypatch, covering, stored)


def drawn(seed):
    """Draw rules, nodes, members and scratch as integers, for frequent ties."""
    rng = np.random.default_rng(seed)
    has_sums = int(seed % 3 > 0)
    kinds = KINDS if has_sums else KINDS[:-2]
    n = len(kinds)
    places = np.where(kinds == ADDITIVE, np.cumsum(kinds == ADDITIVE) - 1, -1)
    own = np.flatnonzero(np.isin(kinds, [FIXED, SQUARES]))
    places[own] = rng.permutation(len(own))
    rules = Rules(
        lengths=np.ones(N_VAR, dtype=np.int64),
        strides=np.array([2, 1]),
        kinds=kinds.copy(),
        places=places,
        limits=np.where(rng.random(n) < 0.2, rng.integers(-25, 15, n), np.inf),
        first=np.append(rng.choice([-np.inf, 1, 2], 2, p=[0.6, 0.3, 0.1]), [-1.0] * has_sums),
        terms=np.zeros((2, N_VAR, 2)),
        least=rng.integers(0, 4, (2, N_VAR, 2)).astype(float),
        limit=int(rng.integers(0, 5)) if seed % 4 else N_ROWS,
        n_inherited=0,
    )
    bounds = rng.integers(0, 6, (1, len(own))).astype(float)
    bounds[0, places[kinds == SQUARES]] -= 25
    nodes = NodeBounds(rng.integers(1, 6, (1, 2)).astype(float), bounds, np.zeros(1, dtype=bool))
    scratch = node_scratch(rules)
    scratch.x[:] = rng.integers(0, 2, N_VAR)
    scratch.floors[:] = rng.integers(0, 6, 2)
    return rules, nodes, members_for(rng, rules, nodes, scratch), scratch


def members_for(rng, rules, nodes, scratch):
    """Draw members that just epsilon-cover some threshold values, or just fail."""
    needs, reaches = np.empty((N_MEMBERS, len(rules.kinds))), np.empty((N_MEMBERS, 2))
    for m in range(N_MEMBERS):
        n_suppressed = int(rng.integers(0, 3)) if (rules.kinds == SQUARES).any() else 0
        bounds = bounds_at(n_suppressed, rules, nodes, scratch)
        bounds[rules.kinds == SQUARES] -= n_suppressed**2
        needs[m] = np.ceil(bounds) + rng.choice([0, 0, 0, 1], len(bounds))
        reaches[m] = rng.integers(1, 5, 2) + rng.choice([0, 0, 1, np.inf], 2)
    # Of few measures a case says more than of all.
    needs[:, (rng.random(len(rules.kinds)) < rng.choice([0.3, 0.6, 0.8])) | (rules.kinds == THRESHOLD)] = -np.inf
    furthest = np.argsort(-reaches[:, 0], kind="stable")
    return Members(needs[furthest], reaches[furthest])


def bounds_at(n_suppressed, rules, nodes, scratch):
    """Return each measure's bound at n suppressed rows, infinity for thresholds."""
    bounds = []
    for kind, place in zip(rules.kinds, rules.places, strict=True):
        bound = nodes.bounds[0, place] if kind in (FIXED, SQUARES) else np.inf
        if kind == ADDITIVE:
            lost = n_suppressed * sum(rules.least[place, j, x] for j, x in enumerate(scratch.x))
            # Sums may be rounded, so equality proves nothing.
            bound = scratch.floors[place] + lost - 1e-9 * (lost > 0)
        bounds.append(bound)
    return np.array(bounds)


def stand_for_all(rules, nodes, members, scratch):
    """Check slowly that members epsilon-cover every possible threshold."""
    squares = rules.kinds == SQUARES
    values_of = [range(int(max(f, 0)) + 1, int(top) + 1) for f, top in zip(rules.first[:2], nodes.tops[0], strict=True)]
    for values in product(*values_of):
        for n_suppressed in range(rules.limit + 1) if squares.any() else [0]:
            bounds = bounds_at(n_suppressed, rules, nodes, scratch)
            most = np.where(squares, bounds - rules.limit**2, np.where(rules.kinds == THRESHOLD, -np.inf, bounds))
            if (most > rules.limits).any():
                continue
            bounds[squares] -= n_suppressed**2
            stands = (members.needs <= np.where(rules.kinds == THRESHOLD, np.inf, bounds)).all(axis=1)
            if not (stands & (members.reaches >= values).all(axis=1)).any():
                return False
    return True


def test_a_node_is_covered_where_members_stand_for_all_that_it_can_be(uncompiled):
    answers = []
    for seed in range(times(1200)):
        rules, nodes, members, scratch = drawn(seed)
        expected = stand_for_all(rules, nodes, members, scratch)
        assert covering.is_covered(0, rules, nodes, members, scratch) == expected, seed
        answers.append(expected)
    # Both happen, and often.
    assert 0.1 < np.mean(answers) < 0.9


def test_open_nodes_are_found_one_after_the_other():
    """Skip evaluated nodes, and allow a call to end at any node."""
    n_open = 0
    for seed in range(200):
        rules, nodes, members, scratch = drawn(seed)
        rules.terms[:, 0] = scratch.floors[:, np.newaxis]
        rng = np.random.default_rng(seed)
        nodes = NodeBounds(nodes.tops[[0] * 4].copy(), nodes.bounds[[0] * 4].copy(), rng.random(4) < 0.3)
        every, found, position, left = np.arange(4), np.empty(2, dtype=np.int64), 0, []
        while position < 4:
            position, n = find_open(every, position, min(position + 3, 4), found, rules, nodes, members, scratch)
            left += found[:n].tolist()
        expected = []
        for node in np.flatnonzero(~nodes.done):
            scratch.x[:] = divmod(int(node), 2)
            scratch.floors[:] = rules.terms[:, 0, 0]
            if not stand_for_all(rules, nodes, members, scratch):
                expected.append(int(node))
        assert left == expected, seed
        n_open += len(left)
    assert n_open > 50


def test_a_node_is_plainly_covered_where_one_member_stands_for_all_bounds(uncompiled):
    answers = []
    for seed in range(times(700)):
        rules, nodes, members, scratch = drawn(seed)
        bounds, own = np.full(len(rules.kinds), np.inf), np.isin(rules.kinds, [FIXED, SQUARES])
        bounds[own], bounds[rules.kinds == ADDITIVE] = nodes.bounds[0, rules.places[own]], scratch.floors
        bounds[rules.kinds == SQUARES] -= rules.limit**2
        stands = (members.needs <= bounds).all(axis=1) & (members.reaches >= nodes.tops[0]).all(axis=1)
        m = covering.is_plainly_covered(0, seed % N_MEMBERS, rules, nodes, members, scratch)
        if (rules.first[:2] >= nodes.tops[0]).any():
            assert m == -2, seed
        else:
            assert stands[m] if m >= 0 else not stands.any(), seed
        answers.append(m)
    assert set(answers) == {-2, -1, *range(N_MEMBERS)}


def test_numbers_beyond_53_bits_are_not_rounded_to_a_better_bound(uncompiled):
    rules, nodes, members, _ = drawn(1)
    # sqrt(r * r - 1) is r in floats.
    room = 94_906_265**2 - 1
    nodes.bounds[:] = 0
    members.needs[0, rules.kinds == SQUARES] = -float(room), -np.inf
    members.needs[1, rules.kinds == SQUARES] = 1, -25
    assert [covering._furthest_reach(m, 2, 0, rules, nodes, members) for m in (0, 1)] == [isqrt(room), -1]


def tall(seed):
    """Build a lattice with more levels than a word has bits."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.integers(0, 67, 150), "b": rng.integers(0, 4, 150), "c": rng.integers(0, 4, 150)})
    frame["s"] = rng.choice(list("abc"), 150)
    steps = Hierarchy([[max(value, level) for value in range(67)] for level in range(67)])
    halves = Hierarchy([[0, 1, 2, 3], [0, 0, 1, 1], [0, 0, 0, 0]])
    return Microdata.from_frame(frame, {"a": steps, "b": halves, "c": halves}, sensitive="s")


@pytest.mark.parametrize(
    "goals",
    [
        [KAnonymity(), GeneralLossMetric()],
        [KAnonymity(), DistinctLDiversity("s"), GeneralLossMetric()],
        [SquaredClassSizes(), GeneralLossMetric()],
    ],
    ids=["k, GLM", "k, l, GLM", "S_k, GLM"],
)
def test_levels_may_be_more_than_bits_of_a_word(goals):
    for seed in range(2):
        problem = LatticeProblem(tall(seed), goals, suppression=15)
        res = minimize(problem, BranchAndBound(), seed=seed)
        np.testing.assert_array_equal(found(res, problem), sorted_rows(problem.pareto_front()))


def test_rules_and_members_say_what_table_and_front_allow():
    table = tall(0)
    problem = LatticeProblem(table, [KAnonymity(), GeneralLossMetric()], constraints=[ProsecutorRisk() <= 0.5])
    own, tuples = MeasureRules(problem), table.tuples
    left = own.families[1].left_by_value(tuples, problem.groups)
    for j, level in product(range(3), range(len(problem.groups))):
        assert own.rules.least[0, j, level] == left[level, tuples.offsets[j] : tuples.offsets[j + 1]].min()
    assert own.first_tops().tolist() == [150]
    # A constraint limits no member, even with another function of k.
    F = np.array([[-3.0, 5.0], [-4.0, 7.0]])
    members = own.members_of(F, tolerance(None, 2))
    assert members.reaches.tolist() == [[4], [3]]
    np.testing.assert_allclose(members.needs, [[-4, 7, -np.inf], [-3, 5, -np.inf]], rtol=1e-13)


# Whole numbers that are counted one by one, others, and those beyond both.
VALUES = [-1.0, 0.0, 1.0, 1.5, 2.0, 3.0, _SMALL - 1.0, float(_SMALL), _SMALL + 0.5, np.inf]


def test_fewest_are_the_least_values_that_too_many_rows_have():
    for seed in range(times(300)):
        rng = np.random.default_rng(seed)
        starts = np.cumsum([0, *rng.integers(1, 7, rng.integers(1, 4))])
        n = int(starts[-1])
        # Few values, so that classes share some.
        sizes, values = rng.integers(1, 6, n), rng.choice(rng.choice(VALUES[:: 1 + seed % 2], 4), n)
        limit, gone = int(rng.integers(0, sizes.sum() + 1)), np.minimum(rng.choice([0, 0, 1, 5], n), sizes)
        fewest = np.empty(len(starts) - 1)
        _write_fewest(values, starts, sizes, gone, limit, np.empty(_SMALL, dtype=np.int64), fewest)
        for own, (a, b) in zip(fewest, pairwise(starts.tolist()), strict=True):
            left, out = (sizes - gone)[a:b], int(gone[a:b].sum())
            too_many = [v for v in [-np.inf, *values[a:b]] if out + left[values[a:b] <= v].sum() > limit]
            assert own == min(too_many, default=np.inf), seed


@pytest.mark.parametrize("lengths", [[2, 1, 3], [1], [4, 0, 2], [0, 0]], ids=str)
def test_layers_hold_every_node_once_in_the_order_of_numbers(lengths, uncompiled):
    lengths = np.array(lengths)
    every = np.array(np.unravel_index(np.arange(np.prod(lengths + 1)), tuple(lengths + 1))).T
    sizes = layer_sizes(lengths)
    for total in range(lengths.sum() + 1):
        seen = []
        for first in range(max(total - lengths[1:].sum(), 0), min(lengths[0], total) + 1):
            x = np.full(len(lengths), first)
            stored._fill(1, total - first, lengths, x)
            is_more = True
            while is_more:
                seen.append(x.tolist())
                is_more = stored._next(x, lengths)
        assert seen == every[every.sum(axis=1) == total].tolist()
        assert len(seen) == sizes[total]


TABLE = invented(0)


def measures(objectives, constraints=(), suppression=3):
    problem = LatticeProblem(TABLE, objectives, suppression=suppression, constraints=list(constraints))
    return MeasureRules(problem)


@pytest.mark.parametrize(("suppression", "limit"), [(3, 3), (Violating(3), 3), (Below(4), 60)], ids=str)
def test_without_a_limit_no_number_of_rows_is_too_many(suppression, limit):
    constraints = [KAnonymity() >= 2] if isinstance(suppression, Violating) else []
    assert measures([KAnonymity(), GeneralLossMetric()], constraints, suppression).rules.limit == limit


def test_a_constraint_is_about_its_own_threshold():
    own = measures([KAnonymity(person="s1"), GeneralLossMetric()], [DistinctLDiversity("s0") >= 3])
    assert own.rules.first.tolist() == pytest.approx([-np.inf, 3])


def test_bounds_of_nodes_are_floors_and_what_is_known_of_each():
    """Expect nothing suppressed at floors, and the limit at greatest squares."""
    objectives = [KAnonymity(), DistinctLDiversity("s0"), SquaredClassSizes(), GeneralLossMetric()]
    problem = LatticeProblem(TABLE, objectives, suppression=5)
    proof = BranchAndBound().setup(problem, seed=0).proof
    for _ in range(3):
        proof.advance()
    nodes, every = problem.nodes(0, problem.n_nodes), np.arange(problem.n_nodes)
    known, bounds = proof._nodes, proof.bounds.bounds_of(every, proof._nodes)
    np.testing.assert_array_equal(bounds[:, :2], -known.tops)
    losses = LatticeProblem(TABLE, [GeneralLossMetric()]).compute(nodes)[:, 0]
    leeway = AdditiveLoss(GeneralLossMetric()).leeway(TABLE.tuples)
    assert (losses * (1 - leeway) <= bounds[:, 3]).all()
    assert (bounds[:, 3] <= losses).all()
    F = problem.compute(nodes)
    assert (bounds <= F).all()
    # Bounds of an evaluated node hold for itself, too. Thresholds may have none.
    assert known.done.any()
    assert np.isfinite(bounds[known.done][:, 2:]).all()
    # Suppressed rows may add up to more than they did in their classes.
    assert (F[:, 2] - bounds[:, 2]).min() < 5**2


def test_the_first_bounds_are_below_all_nodes():
    objectives = [ClassificationMetric("s0"), Discernibility(), EntropyLDiversity("s0")]
    problem = LatticeProblem(TABLE, objectives)
    own = MeasureRules(problem)
    least = problem.compute(problem.nodes(0, problem.n_nodes)).min(axis=0)
    bounds = own.first_bounds()[:, np.argsort(own.columns)]
    assert (bounds <= least).all()
    assert bounds[:, 0].tolist() == [0] * problem.n_nodes


class Floored(AdditiveLoss):
    """Floors by attribute, and nothing on top of them."""

    kind = Kind.FIXED


def test_floors_of_generalizations_are_not_those_of_their_specializations(monkeypatch):
    monkeypatch.setattr(GeneralLossMetric, "bounding", Floored)
    for seed in range(4):
        problem = LatticeProblem(invented(seed), [GeneralLossMetric(), EntropyLDiversity("s0")], suppression=3)
        res = minimize(problem, BranchAndBound(), seed=0)
        np.testing.assert_array_equal(found(res, problem), sorted_rows(problem.pareto_front()))
        assert res.algorithm.n_pruned > 0


GOALS = {
    "k, GLM": [KAnonymity(), GeneralLossMetric()],
    "k, l, GLM": [KAnonymity(), DistinctLDiversity("s0"), GeneralLossMetric()],
    "S_k, S_l, GLM": [SquaredClassSizes(), SquaredValueCounts("s0"), GeneralLossMetric()],
    "k, S_k, GLM": [KAnonymity(), SquaredClassSizes(), GeneralLossMetric()],
    "k, GLM, CM": [KAnonymity(), GeneralLossMetric(), ClassificationMetric("s0")],
    "entropy l, GLM": [EntropyLDiversity("s0"), GeneralLossMetric()],
    "persons, GLM": [KAnonymity(person="s1"), KAnonymity(), GeneralLossMetric()],
}


@pytest.fixture
def threads_at_once(monkeypatch):
    """Let threads begin for the smallest batch."""
    monkeypatch.setattr(base, "_TUPLES_OF_A_THREAD", 1)
    monkeypatch.setattr(stored, "_FEWEST_IN_THREADS", 1)


@pytest.mark.parametrize("goals", GOALS.values(), ids=list(GOALS))
def test_larger_lattices_where_projections_come_first(goals):
    """Use 625 nodes, most of them neither projections nor in the front."""
    pruned = 0
    for seed in range(8):
        limit, below = [(0, 0), (3, 0), (12, 0), (0, 4)][seed % 4]
        task = Task(invented(seed), goals, [], limit, below=below)
        res = minimize(task.problem, BranchAndBound(), seed=seed)
        np.testing.assert_array_equal(found(res, task.problem), task.front)
        pruned += res.algorithm.n_pruned
    assert pruned > 8 * 150


def test_what_is_known_of_every_node_does_not_depend_on_threads(threads_at_once):
    """Screen each layer in one part, without hints between parts."""
    known = []
    for n_threads in (1, 2):
        own = LatticeProblem(make_census(1000, seed=3), [KAnonymity(), GeneralLossMetric()], suppression=0.01)
        own.n_threads = n_threads
        known.append(minimize(own, BranchAndBound(), seed=1).algorithm.proof._nodes.tops)
    np.testing.assert_array_equal(*known)


@pytest.mark.parametrize("module", [base, stored])
def test_a_proof_of_a_small_table_begins_no_thread(module, monkeypatch):
    """Starting threads for each of its small batches took longer than the batches."""
    monkeypatch.setattr(module, "ThreadPoolExecutor", None)
    own = LatticeProblem(make_census(500, seed=3), [KAnonymity(), GeneralLossMetric()], suppression=0.01)
    own.n_threads = 2
    assert minimize(own, BranchAndBound(), seed=1).algorithm.certified


CENSUS = make_census(400, seed=3)
SETS = {
    "layers": [KAnonymity(), TCloseness("occupation"), GeneralLossMetric()],
    "in random order": [TCloseness("occupation"), GeneralLossMetric(), ClassificationMetric("salary-class")],
}


def census(objectives):
    return LatticeProblem(CENSUS, objectives, suppression=0.01)


@pytest.mark.parametrize("objectives", SETS.values(), ids=list(SETS))
def test_all_is_visited_where_bounds_settle_less_than_half(objectives):
    """Keep every missing front member within the open bounds."""
    problem = census(objectives)
    exact = problem.pareto_front()
    algorithm = limited(batch_of_all=1500).setup(problem, seed=1)
    visited, resumed, pruned = [], None, 0
    while algorithm.has_next():
        algorithm.next()
        visited.append(algorithm.proof.visits_all)
        if visited[-1] and resumed is None:
            resumed = pickle.loads(pickle.dumps(algorithm))
        if visited[-1] or len(visited) % 10 == 0:
            assert members_stand(algorithm.proof.F, algorithm.open_bounds, exact)
        # A node that is pruned is not visited later.
        earlier, pruned = pruned, algorithm.n_pruned
        assert earlier <= pruned == problem.n_nodes - algorithm.n_evaluated - algorithm.n_undecided
    assert algorithm.certified
    assert not visited[0]
    assert visited[-1]
    np.testing.assert_array_equal(sorted_rows(algorithm.proof.F), exact)
    resumed.run()
    np.testing.assert_array_equal(resumed.proof.F, algorithm.proof.F)
    assert resumed.n_evaluated == algorithm.n_evaluated


def test_what_another_version_learned_is_read_or_refused(tmp_path):
    """Ignore extra numbers behind a bound, and refuse missing ones."""
    own = census(SETS["layers"])
    with journaled(own, tmp_path / "a.journal") as journal:
        minimize(own, BranchAndBound(), ("n_gen", 2), seed=1)
        learned = dict(journal.bounds)
    for lessons, refused in (("longer", False), ("shorter", True)):
        again = census(SETS["layers"])
        with journaled(again, tmp_path / "a.journal", resume=True) as journal:
            learned = journal.bounds
            for key, lesson in learned.items():
                learned[key] = np.append(lesson, [1.0, 2.0]) if lessons == "longer" else lesson[:1]
            assert learned
            if refused:
                with pytest.raises(ValueError, match="holds bounds of another version; search anew"):
                    minimize(again, BranchAndBound(), seed=1)
            else:
                assert minimize(again, BranchAndBound(), seed=1).algorithm.certified


def test_what_nodes_teach_is_spread_to_all_above_and_below(monkeypatch):
    """Compare with a slow twin that compares levels node by node."""
    problem = census([KAnonymity(), Discernibility()])
    proof = BranchAndBound().setup(problem, seed=1).proof
    every, rng = problem.nodes(0, problem.n_nodes), np.random.default_rng(0)
    for _ in range(5):
        X = every[rng.choice(len(every), 3, replace=False)]
        lessons = rng.integers(0, 9, (3, 3)).astype(float)
        lessons[:, 1] -= 5
        nodes = proof._nodes
        tops, bounds = nodes.tops[:, 0].copy(), nodes.bounds[:, 0].copy()
        for x, (top, special, general) in zip(X, lessons, strict=True):
            below, above = (every <= x).all(axis=1), (every >= x).all(axis=1)
            tops[below] = np.minimum(tops[below], top)
            bounds[below] = np.maximum(bounds[below], special)
            bounds[above] = np.maximum(bounds[above], general)
        proof._apply(X @ proof.bounds.rules.strides, X, lessons)
        np.testing.assert_array_equal(nodes.tops[:, 0], tops)
        np.testing.assert_array_equal(nodes.bounds[:, 0], bounds)


@pytest.mark.parametrize("kind", [BranchAndBound, ExhaustiveSearch, ParetoLocalSearch, PBGEA, nsga2])
def test_a_budget_of_seconds_does_not_count_compilation(monkeypatch, kind):
    measure, update = LatticeProblem._measure, MaximumGenerationTermination._update
    spent, moved = [], []

    def compiling(self, *arguments):
        with install_timer("numba:compiler_lock", spent.append):
            njit()(lambda x: x + 1)(1)
        return measure(self, *arguments)

    def checked(self, algorithm):
        moved.append(algorithm.start_time - began - 0.9 * sum(spent))
        return update(self, algorithm)

    monkeypatch.setattr(LatticeProblem, "_measure", compiling)
    monkeypatch.setattr(MaximumGenerationTermination, "_update", checked)
    began = time.time()
    minimize(census(SETS["layers"][::2]), kind(), ("n_gen", 2), seed=1)
    assert min(*moved, sum(spent)) > 0.0
