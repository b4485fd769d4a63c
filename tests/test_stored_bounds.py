"""Bounds of stored lattices where a single line decides: loops over many small cases, each beside its slow twin."""

from itertools import product
from math import isqrt

import numpy as np
import pandas as pd
import pytest
from pymoo.optimize import minimize
from tasks import found, sorted_rows

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.algorithms.proofs.base import tolerance
from pymoo_anon.algorithms.proofs.stored.covering import _reach, gather, is_covered, is_plainly_covered, write_down
from pymoo_anon.algorithms.proofs.stored.known import (
    ADDITIVE,
    FIXED,
    MAJORITY,
    SQUARES,
    THRESHOLD,
    Evidence,
    Measures,
    Members,
    Nodes,
    Rules,
    members_of,
    scratch_for,
)
from pymoo_anon.algorithms.proofs.stored.union import FINISHED, _keep_refuted, _lowers_sums, _read_on, settle
from pymoo_anon.engine.refuting import Cells, blocks_for, cells_of
from pymoo_anon.objectives import DistinctLDiversity, GeneralLossMetric, KAnonymity, ProsecutorRisk, SquaredClassSizes
from pymoo_anon.problems import LatticeProblem
from pymoo_anon.table import Hierarchy, Microdata

# Two thresholds, two losses, a majority, a bound that stands as it is, and perhaps two sums of squares, which make the
# number of suppressed rows a threshold.
KINDS = np.array([THRESHOLD, ADDITIVE, FIXED, THRESHOLD, MAJORITY, ADDITIVE, SQUARES, SQUARES])
N_TUPLES, N_VAR, N_MEMBERS = 4, 2, 4


def drawn(seed):
    """Rules, cells, nodes, members and scratch of one node, in whole numbers, so that equality is common."""
    rng = np.random.default_rng(seed)
    has_sums = int(seed % 3 > 0)
    kinds = KINDS if has_sums else KINDS[:-2]
    n = len(kinds)
    columns = np.full(n, -1)
    own = np.flatnonzero(np.isin(kinds, [FIXED, MAJORITY, SQUARES]))
    columns[own] = rng.permutation(len(own))
    counts = rng.integers(1, 4, N_TUPLES)
    n_rows = int(counts.sum())
    left = rng.integers(1, 5, (2, 2, N_VAR * N_TUPLES)).astype(float)
    rules = Rules(
        lengths=np.ones(N_VAR, dtype=np.int64),
        strides=np.array([2, 1]),
        groups=np.zeros((2, N_VAR * N_TUPLES), dtype=np.int64),
        kinds=kinds.copy(),
        places=np.array([np.count_nonzero(kinds[:o] == kinds[o]) for o in range(n)]),
        columns=columns,
        limits=np.where(rng.random(n) < 0.2, rng.integers(-25, 15, n), np.inf),
        first=np.append(rng.choice([-np.inf, 1, 2], 2, p=[0.6, 0.3, 0.1]), [-1.0] * has_sums),
        terms=np.zeros((2, N_VAR, 2)),
        left=left,
        least=left.reshape(2, 2, N_VAR, N_TUPLES).min(axis=3).transpose(0, 2, 1).copy(),
        most=np.zeros(2),
        labels=rng.integers(0, 3, (1, N_TUPLES, 3)),
        weights=np.zeros(0, dtype=np.int64),
        segments=np.zeros(2 * has_sums + 1, dtype=np.int64),
        amounts=np.array([rng.integers(0, 5) if seed % 4 else n_rows, 1, -1, 0, n_rows]),
    )
    places = np.arange(N_VAR * N_TUPLES, dtype=np.uint32).reshape(N_VAR, N_TUPLES)
    cells = Cells(places, counts, np.arange(N_VAR + 1) * N_TUPLES, np.zeros(N_VAR * N_TUPLES, dtype=np.uint64))
    bounds = rng.integers(0, 6, (1, len(own))).astype(float)
    bounds[0, columns[kinds == SQUARES]] -= 25
    nodes = Nodes(rng.integers(1, 6, (1, 2)).astype(float), bounds, np.zeros(1, dtype=bool))
    scratch = scratch_for(rules, cells, 2)
    scratch.x[:] = rng.integers(0, 2, N_VAR)
    scratch.floors[:] = rng.integers(0, 6, 2)
    # Without any row left it is no less than what all of them lose, and may be more.
    all_lost = sum(left[:, x, places[j]] @ counts for j, x in enumerate(scratch.x))
    rules.most[:] = scratch.floors + all_lost + rng.integers(0, 3, 2)
    scratch.squares[:] = -bounds[0, columns[kinds == SQUARES]]
    touched = rng.permutation(N_TUPLES)[: rng.integers(0, N_TUPLES + 2)]
    scratch.env[:] = np.inf
    scratch.env[:, touched] = rng.choice([1, 2, 3, np.inf], (2, len(touched))) if seed % 8 else 1
    scratch.touched[: len(touched)], scratch.touched[-1] = touched, len(touched)
    return rules, cells, nodes, members_for(rng, rules, cells, nodes, scratch), scratch


def members_for(rng, rules, cells, nodes, scratch):
    """Members that just stand for some values of the thresholds, or just do not."""
    n_values = len(scratch.env)
    needs, reaches = np.empty((N_MEMBERS, len(rules.kinds))), np.empty((N_MEMBERS, n_values))
    for m in range(N_MEMBERS):
        values = rng.integers(1, 5, n_values)
        gone = gone_at(values, scratch)
        n_more = int(rng.integers(0, 3)) if (rules.kinds == SQUARES).any() else 0
        bounds = bounds_at(values, n_more, gone, rules, cells, nodes, scratch)
        bounds[rules.kinds == SQUARES] -= (cells.counts[gone].sum() + n_more) ** 2
        needs[m] = np.ceil(bounds) + rng.choice([0, 0, 0, 1], len(bounds))
        reaches[m] = values + rng.choice([0, 0, 1, np.inf], n_values)
    # Of few measures a case says more than of all.
    needs[:, (rng.random(len(rules.kinds)) < rng.choice([0.3, 0.6, 0.8])) | (rules.kinds == THRESHOLD)] = -np.inf
    furthest = np.argsort(-reaches[:, 0], kind="stable")
    return Members(needs[furthest], reaches[furthest])


def gone_at(values, scratch):
    """The tuples that are suppressed where the thresholds have these values."""
    touched = scratch.touched[: scratch.touched[-1]]
    return touched[(scratch.env[:, touched] < np.array(values)[:, np.newaxis]).any(axis=0)]


def bounds_at(values, n_more, gone, rules, cells, nodes, scratch):
    """The bound of each measure where the thresholds have these values and the tuples in `gone` are suppressed."""
    weight = int(cells.counts[gone].sum())
    bounds = []
    for kind, place, column in zip(rules.kinds, rules.places, rules.columns, strict=True):
        bound = nodes.bounds[0, column] if column >= 0 else np.inf
        if kind == ADDITIVE:
            own = [rules.left[place, x] for x in scratch.x]
            lost = sum(left[cells.places[j, gone]] @ cells.counts[gone] for j, left in enumerate(own))
            lost += n_more * sum(left[cells.places[j]].min() for j, left in enumerate(own))
            # What is added up may be rounded, so that equality proves nothing.
            bound = scratch.floors[place] + lost - 1e-9 * (lost > 0)
            bound = rules.most[place] if weight == rules.amounts[4] else bound
        elif kind == MAJORITY:
            bound += rules.labels[place, gone].sum(axis=0).max()
        bounds.append(bound)
    return np.array(bounds)


def stand_for_all(rules, cells, nodes, members, scratch):
    """The slow twin: whether some member stands for each value of the thresholds that is possible."""
    limit = rules.amounts[0]
    squares = rules.kinds == SQUARES
    n = min(len(rules.first), len(nodes.tops[0]))
    firsts = zip(rules.first[:n], nodes.tops[0][:n], strict=True)
    values_of = [range(int(max(f, 0)) + 1, int(top) + 1) for f, top in firsts]
    for values in product(*values_of):
        gone = gone_at(values, scratch)
        weight = cells.counts[gone].sum()
        if weight > limit:
            continue
        for n_suppressed in range(limit + 1) if squares.any() else [weight]:
            n_more = max(n_suppressed - weight, 0)
            bounds = bounds_at(values, n_more, gone, rules, cells, nodes, scratch)
            most = np.where(squares, bounds - limit**2, np.where(rules.kinds == THRESHOLD, -np.inf, bounds))
            if (most > rules.limits).any():
                continue
            bounds[squares] -= n_suppressed**2
            stands = (members.needs <= np.where(rules.kinds == THRESHOLD, np.inf, bounds)).all(axis=1)
            if not (stands & (members.reaches >= values).all(axis=1)).any():
                return False
    return True


def test_a_node_is_covered_where_members_stand_for_all_that_it_can_be():
    answers = []
    # In the last one a member just fails to stand for the node without any row.
    for seed in [*range(2500), 2672]:
        rules, cells, nodes, members, scratch = drawn(seed)
        expected = stand_for_all(rules, cells, nodes, members, scratch)
        assert is_covered(0, rules, cells, nodes, members, scratch) == expected, seed
        answers.append(expected)
    # Both happen, and often.
    assert 0.1 < np.mean(answers) < 0.9


def test_a_node_is_plainly_covered_where_one_member_stands_for_all_bounds():
    answers = []
    for seed in range(1500):
        rules, _, nodes, members, scratch = drawn(seed)
        bounds = np.array([nodes.bounds[0, c] if c >= 0 else np.inf for c in rules.columns])
        bounds[rules.kinds == ADDITIVE] = scratch.floors
        bounds[rules.kinds == SQUARES] -= rules.amounts[0] ** 2
        stands = (members.needs <= bounds).all(axis=1) & (members.reaches >= nodes.tops[0]).all(axis=1)
        m = is_plainly_covered(0, seed % N_MEMBERS, rules, nodes, members, scratch)
        if (rules.first[:2] >= nodes.tops[0]).any():
            assert m == -2, seed
        else:
            assert stands[m] if m >= 0 else not stands.any(), seed
        answers.append(m)
    assert set(answers) == {-2, -1, *range(N_MEMBERS)}


def least_top(rules, cells, scratch):
    """The least value that more touched rows than the limit have at most."""
    touched = scratch.touched[: scratch.touched[-1]]
    held = {v: cells.counts[touched[scratch.env[0, touched] <= v]].sum() for v in scratch.env[0, touched]}
    return min([v for v, rows in held.items() if rows > rules.amounts[0]], default=np.inf)


def with_evidence(seed):
    """The same of four nodes with lists of tuples instead of touched ones, and what all of these lists say of one."""
    rng = np.random.default_rng(seed)
    rules, cells, nodes, _, scratch = drawn(seed)
    n_values = 1 if len(rules.first) == 2 else 2
    rules.terms[:, 0] = scratch.floors[:, np.newaxis]
    if n_values == 1:
        left = np.arange(len(rules.kinds)) != np.flatnonzero(rules.kinds == THRESHOLD)[1]
        named = {name: getattr(rules, name)[left] for name in ("kinds", "places", "columns", "limits")}
        rules = rules._replace(first=rules.first[:1].copy(), **named)
    n_sums, n = len(rules.segments) - 1, int(rng.integers(1, 6))
    rules = rules._replace(
        weights=rng.integers(1, 4, n_sums * N_TUPLES), segments=np.arange(n_sums + 1, dtype=np.int64) * N_TUPLES
    )
    nodes = Nodes(nodes.tops[[0] * 4, :n_values].copy(), nodes.bounds[[0] * 4].copy(), np.zeros(4, dtype=bool))
    x, levels = scratch.x, rng.integers(0, 2, (n + 2, N_VAR))
    speaks = (levels[:n] >= x).all(axis=1)
    env, lists, starts = np.full((n_values, N_TUPLES), np.inf), [], [0]
    for e, h in product(range(n), range(n_values)):
        ids = rng.permutation(N_TUPLES)[: rng.integers(0, N_TUPLES + 1)]
        lists += sorted(zip(rng.choice([1.0, 2.0, 3.0, 4.0], len(ids)).tolist(), ids.tolist(), strict=True))
        starts.append(len(lists))
        for value, t in lists[starts[-2] :]:
            env[h, t] = min(env[h, t], value if speaks[e] else np.inf)
    counts = rng.integers(1, 4, (n, n_sums * N_TUPLES)).astype(np.uint32)
    filled = [*lists, *[(0.0, 0)] * N_TUPLES]
    evidence = Evidence(
        numbers=np.array([n, len(lists)]),
        levels=levels,
        reached=np.zeros((int(rules.lengths.sum()), 1), dtype=np.uint64),
        whole=np.zeros(n + 2, dtype=bool),
        tops=np.zeros(n + 2),
        starts=np.append(starts, np.zeros(2 * n_values, dtype=np.int64)),
        ids=np.array([t for _, t in filled], dtype=np.int32),
        values=np.array([value for value, _ in filled]),
        orders=np.full(n + 2, -1, dtype=np.int32),
        dense=np.append(np.arange(n), [-1, -1]).astype(np.int32),
        order=np.empty((0, N_TUPLES), dtype=np.int32),
        ends=np.empty((0, N_TUPLES), dtype=np.int32),
        counts=counts,
    )
    for e, own in enumerate(levels[:n].copy()):
        write_down(e, own, rules.lengths, levels, evidence.reached)
    memory = scratch_for(rules, cells, n_values)
    places = np.zeros((2, n + 2), dtype=np.int64)
    memory = memory._replace(words=np.zeros(1, dtype=np.uint64), accepted=places[0], places=places[1])
    # What all of it says: every tuple touched, the fewest rows of each entry.
    scratch = scratch._replace(env=env, squares=scratch.squares.copy())
    scratch.touched[:] = [*range(N_TUPLES), 0, N_TUPLES]
    fewest = counts[speaks].min(axis=0, initial=2**32 - 1) * rules.weights
    scratch.squares[:] = np.minimum(scratch.squares, fewest.reshape(n_sums, N_TUPLES).sum(axis=1))
    members = members_for(rng, rules, cells, nodes, scratch)
    return (rules, cells, nodes, members, evidence, memory), scratch


def test_lists_settle_what_they_say_together():
    """The slow twin has one list: the least value of every tuple."""
    answers = []
    # In the last one the threshold rises twice, and what was lost before must not be lost again.
    for seed in [*range(1500), 3900]:
        (rules, cells, nodes, members, evidence, memory), scratch = with_evidence(seed)
        node, sums = int(scratch.x @ rules.strides), rules.columns[rules.kinds == SQUARES]
        every = nodes._replace(bounds=nodes.bounds.copy(), tops=nodes.tops.copy())
        every.bounds[0, sums] = -scratch.squares
        expected = stand_for_all(rules, cells, every, members, scratch)
        groups = (rules, cells, nodes, members, evidence, memory, blocks_for(N_TUPLES))
        arrays = [array for group in groups for array in group]
        _, why, n_open = settle(np.array([node]), 0, np.empty(2, dtype=np.int64), False, *arrays)
        assert (why, n_open) == (FINISHED, 0 if expected else 1), seed
        # What is noted for specializations is no more than all lists say.
        assert (nodes.bounds[node, sums] <= every.bounds[0, sums]).all(), seed
        assert nodes.tops[node, 0] >= min(every.tops[0, 0], least_top(rules, cells, scratch)), seed
        answers.append(expected)
    assert 0.1 < np.mean(answers) < 0.9


def test_what_reading_teaches_is_kept_in_order_of_values():
    (rules, _, _, _, evidence, memory), _ = with_evidence(3)
    e, first = evidence.numbers.tolist()
    evidence.ids[first : first + 4], evidence.values[first : first + 4] = [2, 0, 3, 1], [3, 1, 4, 2]
    memory.x[:] = [1, 0]
    _keep_refuted(first + 4, rules, evidence, memory)
    assert evidence.ids[first : first + 4].tolist() == [0, 1, 2, 3]
    assert evidence.values[first : first + 4].tolist() == [1, 2, 3, 4]
    assert (evidence.numbers.tolist(), evidence.starts[e + 1]) == ([e + 1, first + 4], first + 4)
    assert (evidence.levels[e].tolist(), evidence.whole[e]) == ([1, 0], False)
    assert (evidence.reached[:, 0] >> np.uint64(63 - e) & np.uint64(1)).tolist() == [1, 0]


@pytest.mark.parametrize("n", [1, 63, 64, 65, 130])
def test_lists_are_read_up_to_a_rising_value_and_every_tuple_counts_once(n):
    rng = np.random.default_rng(n)
    (rules, cells, _, _, evidence, _), _ = with_evidence(3)
    cells = cells._replace(counts=rng.integers(1, 4, n))
    # The last list is of all tuples: no room is left.
    lists = [rng.permutation(n)[: rng.integers(0, n + 1)] for _ in range(4)] + [rng.permutation(n)]
    values = [np.sort(rng.integers(1, 9, len(own)).astype(float)) for own in lists]
    starts = np.cumsum([0, *map(len, lists)])
    ids = np.concatenate(lists).astype(np.int32)
    evidence = evidence._replace(starts=starts, ids=ids, values=np.concatenate(values))
    scratch = scratch_for(rules, cells, 1)
    scratch = scratch._replace(accepted=np.arange(5)[::-1].copy(), places=starts[:-1][::-1].copy())
    seen, weight = set(), 0
    for above in (0.0, 3.0, 3.5, 7.0, 8.0):
        for a, (own, of) in enumerate(zip(lists[::-1], values[::-1], strict=True)):
            weight += _read_on(a, above, cells, evidence, scratch)
            seen |= set(own[of <= above].tolist())
            assert weight == cells.counts[sorted(seen)].sum()
            assert sorted(scratch.touched[: scratch.touched[-1]].tolist()) == sorted(seen)
    assert len(seen) == n
    assert scratch.work[3] == len(ids)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 127, 128, 200])
def test_the_evidence_of_all_generalizations_is_gathered(n):
    """One comparison of levels after the other."""
    for seed in range(10):
        rng = np.random.default_rng([n, seed])
        lengths = rng.integers(0, 5, rng.integers(1, 8))
        levels = np.empty((256, len(lengths)), dtype=np.int64)
        reached = np.zeros((lengths.sum(), 4), dtype=np.uint64)
        # A call that was interrupted before its node counted: another node takes the place.
        write_down(n, lengths, lengths, levels, reached)
        nodes = rng.integers(0, lengths + 1, (n + 1, len(lengths)))
        for e, x in enumerate(nodes):
            write_down(e, x, lengths, levels, reached)
        np.testing.assert_array_equal(levels[: n + 1], nodes)
        words, accepted = np.empty(4, dtype=np.uint64), np.empty(256, dtype=np.int64)
        for n_evidence in (n, n + 1):
            for x in rng.integers(0, lengths + 1, (20, len(lengths))):
                found = accepted[: gather(n_evidence, x, lengths, reached, words, accepted)]
                assert found.tolist() == [e for e in range(n_evidence - 1, -1, -1) if (nodes[e] >= x).all()]


def test_numbers_beyond_53_bits_are_not_rounded_to_a_better_bound():
    rules, _, _, members, scratch = drawn(1)
    # sqrt(r * r - 1) is r in floats.
    room = 94_906_265**2 - 1
    scratch.squares[:] = 0
    members.needs[0, rules.kinds == SQUARES] = -float(room), -np.inf
    members.needs[1, rules.kinds == SQUARES] = 1, -25
    assert [_reach(m, 2, rules, members, scratch) for m in (0, 1)] == [isqrt(room), -1]
    weights, least = np.array([1 << 31, 1, 3, 5]), np.array([1 << 31, 1, 2, 4], dtype=np.uint32)
    rules = rules._replace(weights=weights, segments=np.array([0, 2, 4]))
    scratch = scratch._replace(least=least)
    scratch.squares[:] = np.inf, 26
    assert _lowers_sums(rules, scratch)
    assert int(scratch.squares[0]) >= (1 << 62) + 1
    assert scratch.squares[1] == 26
    assert not _lowers_sums(rules, scratch)


def tall(seed):
    """A lattice with more levels than a word has bits: the first attribute takes all of them."""
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
    own, offsets = Measures(problem, cells_of(table.tuples)), table.tuples.offsets
    for j, level in product(range(3), range(len(own.rules.groups))):
        assert own.rules.least[0, j, level] == own.rules.left[0, level, offsets[j] : offsets[j + 1]].min()
    assert own.first_tops().tolist() == [150]
    # A constraint limits no member, whatever else is a function of k.
    F, maximize = np.array([[-3.0, 5.0], [-4.0, 7.0]]), np.array([True, False])
    members = members_of(F, tolerance(None, 2), maximize, own.families, own.thresholds)
    assert members.reaches.tolist() == [[4], [3]]
    assert members.needs.tolist() == [[-4, 7, -np.inf], [-3, 5, -np.inf]]
