"""Bounds of stored lattices where a single line decides: loops over many small cases, each beside its slow twin."""

from itertools import product
from math import isqrt

import numpy as np
import pandas as pd
import pytest
from pymoo.optimize import minimize
from tasks import found, sorted_rows

from pymoo_anon.algorithms import BranchAndBound
from pymoo_anon.algorithms.proofs.stored.covering import _reach, is_covered, is_plainly_covered
from pymoo_anon.algorithms.proofs.stored.known import (
    ADDITIVE,
    FIXED,
    MAJORITY,
    SQUARES,
    THRESHOLD,
    Members,
    Nodes,
    Rules,
)
from pymoo_anon.algorithms.proofs.stored.node import lower_top
from pymoo_anon.algorithms.proofs.stored.rules import scratch_for
from pymoo_anon.algorithms.proofs.stored.union import _lowers_sums
from pymoo_anon.engine.refuting import Cells
from pymoo_anon.objectives import ClassSizeSum, DistinctLDiversity, GeneralLossMetric, KAnonymity
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
    nodes = Nodes(rng.integers(1, 5, (1, 2)).astype(float), bounds, np.zeros(1, dtype=bool))
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
    needs, reaches = np.empty((N_MEMBERS, len(rules.kinds))), np.empty((N_MEMBERS, 2))
    for m in range(N_MEMBERS):
        values = rng.integers(1, 5, 2)
        gone = gone_at(values, scratch)
        n_more = int(rng.integers(0, 3)) if (rules.kinds == SQUARES).any() else 0
        bounds = bounds_at(values, n_more, gone, rules, cells, nodes, scratch)
        bounds[rules.kinds == SQUARES] -= (cells.counts[gone].sum() + n_more) ** 2
        needs[m] = np.ceil(bounds) + rng.choice([0, 0, 0, 1], len(bounds))
        reaches[m] = values + rng.choice([0, 0, 1, np.inf], 2)
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
    values_of = [range(int(max(f, 0)) + 1, int(top) + 1) for f, top in zip(rules.first, nodes.tops[0], strict=False)]
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
    for seed in range(2500):
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


def test_the_top_of_a_node_is_the_least_value_that_too_many_rows_have_at_most():
    for seed in range(300):
        rules, cells, nodes, _, scratch = drawn(seed)
        touched, before = scratch.touched[: scratch.touched[-1]], nodes.tops[0, 0]
        held = {v: cells.counts[touched[scratch.env[0, touched] <= v]].sum() for v in scratch.env[0, touched]}
        too_many = [v for v, rows in held.items() if rows > rules.amounts[0]]
        lower_top(0, rules, cells, nodes, scratch)
        assert nodes.tops[0, 0] == min([before, *too_many]), seed


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
    """A lattice with more steps than a mask has bits: the first attribute takes all of them."""
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
        [ClassSizeSum(), GeneralLossMetric()],
    ],
    ids=["k, GLM", "k, l, GLM", "S_k, GLM"],
)
def test_levels_are_compared_where_they_are_more_than_bits_of_a_mask(goals):
    for seed in range(2):
        problem = LatticeProblem(tall(seed), goals, suppression=15)
        res = minimize(problem, BranchAndBound(), seed=seed)
        np.testing.assert_array_equal(found(res, problem), sorted_rows(problem.pareto_front()))
