"""Tables of gains, nested bounds, walks and searches, against sums and enumeration."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from strategies import a_third_at_once
from string_instances import invented, paths

from pymoo_anon.proofs.base import Limits
from pymoo_anon.proofs.instance import _best_multiplier
from pymoo_anon.proofs.strings import StringSearch
from pymoo_anon.proofs.tables import DONE, FOUND, SPENT, StringWalk, bound_block, nested_bound


def plain_table(strings, fixed, tabled, free, multiplier):
    """Compute gain and kept rows of every four-attribute box, tuple by tuple."""
    own, k = strings.space, strings.k
    spans, worths = own.spans, own.worths
    codes = np.column_stack([own.codes, np.zeros(len(own.codes), dtype=np.int64)])
    gains, kept = np.zeros([len(spans[a]) for a in tabled]), np.zeros([len(spans[a]) for a in tabled])
    classes = {}
    for t, code in enumerate(own.codes.tolist()):
        box = tuple(strings.group_of(a, cut, code[a]) for a, cut in fixed.items())
        classes.setdefault(box, []).append(t)
    most = sum(worths[a].max() for a in free)
    for box in product(*(range(len(spans[a])) for a in tabled)):
        for groups, tuples in classes.items():
            inside = np.array(tuples)
            for a, g in zip(tabled, box, strict=True):
                low, high = spans[a][g]
                inside = inside[(low <= codes[inside, a]) & (codes[inside, a] < high)]
            rows = int(own.counts[inside].sum())
            if rows < k:
                continue
            saved = most + sum(worths[a][g] for a, g in zip(fixed, groups, strict=True))
            saved += sum(worths[a][g] for a, g in zip(tabled, box, strict=True))
            gains[box] += rows * (saved + multiplier)
            kept[box] += rows
    return gains, kept


@pytest.mark.parametrize("seed", range(24))
def test_tables_hold_the_gain_of_every_box(seed):
    """Vary the fixed attributes, table four, and leave the others out."""
    rng = np.random.default_rng(seed)
    strings = invented(seed, sizes=tuple(rng.integers(1, 4, 6).tolist()))
    order = rng.permutation(6).tolist()
    n_fixed = int(rng.integers(0, 3))
    cuts = strings.random_string(rng)
    fixed, tabled = {a: cuts[a] for a in order[:n_fixed]}, order[n_fixed : n_fixed + 4]
    if seed % 4 == 0:
        tabled[int(rng.integers(4))] = 6
    free = set(range(6)) - {*fixed, *tabled}
    multiplier = float(rng.integers(0, 9))
    space = strings.space
    gains, kept = plain_table(strings, fixed, tabled, free, multiplier)
    ids, base, gone = space.classes(fixed, strings.k)
    assert gone == space.counts[ids < 0].sum()
    assert np.array_equal(space.table(ids, base, tabled, free, strings.k, multiplier), gains)
    rows = space.rows(ids, len(base), tabled, strings.k)
    assert np.array_equal(rows, kept)
    # A returned table is filled anew when it is taken again.
    space.take_back(rows)
    assert np.array_equal(space.table(ids, base, tabled, free, strings.k, multiplier), gains)


def all_spans(rng, n):
    """Return all or some intervals, including all single values."""
    return [(i, j) for i in range(n) for j in range(i + 1, n + 1) if j == i + 1 or rng.random() < 0.7]


class Tabled:
    """A random table of four small attributes, with every string's gain."""

    def __init__(self, rng, sizes):
        of = [all_spans(rng, n) for n in sizes]
        self.shape = np.array([sizes, [len(own) for own in of]])
        self.spans = np.array([span for own in of for span in own], dtype=np.int64)
        self.table = rng.integers(0, 9, self.shape[1]) * (rng.random(self.shape[1]) < 0.6) * 1.0
        self.rows = rng.integers(0, 5, self.shape[1]) * 1.0
        self.of, self.sizes = of, sizes
        strings = list(product(*(paths(own, n) for own, n in zip(of, sizes, strict=True))))
        self.gains = {string: self.table[np.ix_(*map(list, string))].sum() for string in strings}

    def path(self, values, attribute):
        """Return the greatest sum over the paths of one attribute."""
        return max(sum(values[g] for g in path) for path in paths(self.of[attribute], self.sizes[attribute]))

    def pair(self, block):
        own = [self.path([self.path(row, 3) for row in block], 2), self.path([self.path(row, 2) for row in block.T], 3)]
        return min(own)

    def bound(self, block, stage):
        """Compute the nested bound by its definition."""
        if stage == 3:
            return block
        if stage == 2:
            return self.path(block, 3)
        if stage == 1:
            return self.pair(block)
        inside = np.apply_along_axis(self.path, 0, block, 1)
        return min(self.pair(inside), self.path([self.pair(own) for own in block], 1))


@pytest.mark.parametrize("seed", range(12))
def test_nested_bounds_are_longest_paths_of_longest_paths(seed):
    rng = np.random.default_rng(seed)
    own = Tabled(rng, rng.integers(1, 4, 4).tolist())
    for stage in range(4):
        block = own.table[tuple(rng.integers(0, own.shape[1, : stage + 1]))]
        flat = np.ascontiguousarray(block).reshape(-1)
        assert bound_block(flat, stage, own.shape, own.spans) == own.bound(block, stage)
    whole = own.path([own.bound(block, 0) for block in own.table], 0)
    assert nested_bound(own.table, own.shape, own.spans) == whole
    assert whole >= max(own.gains.values())


@pytest.mark.parametrize("seed", range(24))
def test_a_walk_finds_all_that_gains_more(seed):
    """Vary the needed gain, the budget and the rows to keep."""
    rng = np.random.default_rng(seed)
    own = Tabled(rng, rng.integers(1, 4, 4).tolist())
    values = sorted(set(own.gains.values()))
    for need in (-1.0, *(values[place] - 1 for place in (0, len(values) // 2, -1)), values[-1]):
        for last in range(4):
            best = {}
            for string, gain in own.gains.items():
                best[string[: last + 1]] = max(gain, best.get(string[: last + 1], -1.0))
            for budget in (1, 10**9):
                walk = StringWalk(own.table, own.shape, own.spans, last)
                found = found_by(walk, need, budget)
                assert len(dict(found)) == len(found)
                assert {path for path, gain in best.items() if gain > need} <= dict(found).keys()
                for path, gain in found:
                    assert gain > need
                    assert gain >= best[path]
                    assert last < 3 or gain == best[path]
    fewest = float(rng.integers(5, 30))
    walk = StringWalk(own.table, own.shape, own.spans, 3, own.rows, fewest)
    kept = {string: own.rows[np.ix_(*map(list, string))].sum() for string in own.gains}
    need = values[len(values) // 2] - 1
    wanted = {string for string, gain in own.gains.items() if gain > need and kept[string] >= fewest}
    assert {path for path, _ in found_by(walk, need, 10**9)} == wanted


def found_by(walk, need, budget):
    """Return all strings found by a walk, with their gain bounds."""
    found = []
    while (told := walk.go(need, budget)) != DONE:
        assert told == FOUND or budget == 1
        if told == SPENT:
            continue
        found.append((tuple(tuple(cut.tolist()) for cut in walk.cuts), walk.found_gain))
    return found


def test_what_is_needed_may_rise_on_the_way():
    """Raise it at every find, so the last string is the best."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        own = Tabled(rng, [3, 2, 3, 3])
        for budget in (1, 10**9):
            walk, need = StringWalk(own.table, own.shape, own.spans, 3), -1.0
            while (told := walk.go(need, budget)) != DONE:
                if told == FOUND:
                    assert walk.found_gain > need
                    need = walk.found_gain
            assert need == max(own.gains.values())


@pytest.mark.parametrize("lowest", [1, 7, 40, 300, 5000])
def test_the_multiplier_is_one_that_no_step_makes_better(lowest):
    """Use a convex bound in both directions, and one low at once."""

    def bound(multiplier):
        assert 4 <= multiplier <= 2000
        return 10 + abs(multiplier - lowest)

    steps = (2.0, 1.25)
    for begin in (4.0, 50.0, 2000.0):
        multiplier, gain = _best_multiplier(bound, (begin, bound(begin)), (4, 2000), 0.0, steps)
        assert gain == bound(multiplier) <= bound(begin)
        for factor in (steps[-1], 1 / steps[-1]):
            assert bound(np.rint(np.clip(multiplier * factor, 4, 2000))) >= gain
    assert _best_multiplier(bound, (50.0, bound(50.0)), (4, 2000), 1e9, steps) == (50.0, bound(50.0))


@pytest.mark.parametrize("seed", a_third_at_once(range(24)))
def test_a_search_finds_what_gains_one_unit_more_for_one_k_after_the_other(seed):
    """Request only the best strings. Where memory lacks, every k begins anew."""
    strings = invented(seed, sizes=(2, 3, 2, 3, 2, 1))
    space, n_rows, ks = strings.space, strings.space.n_rows, (2, 3, 5, 8, 12)
    limit = (0, reached_by_the_best(strings, ks[seed % 5], n_rows // 3), n_rows)[seed % 3]
    search = StringSearch(space, ks[0], limit, space.most, Limits((1 << 30, 1)[seed % 2]), True)
    found = set()
    for k in ks:
        if k > search.k:
            search.raise_k(k, space.most)
        assert search.k == k
        at = replace(strings, k=k)
        gains = {string: at.gain(string) for string in at.strings() if at.suppressed(string) <= limit}
        need = max(gains.values(), default=0.0) - 1
        wanted = {string for string, gain in gains.items() if gain > need}
        slices = 100_000
        while search.n_open and slices:
            search.work(1, 1, lambda need=need: need, lambda cuts: found.add(tuple(map(tuple, cuts))))
            assert search.gain >= max((gains[string] for string in wanted - found), default=-np.inf)
            slices -= 1
        assert slices
        assert wanted <= found


def reached_by_the_best(strings, k, limit):
    """Count the rows that the best string within a limit suppresses."""
    at = replace(strings, k=k)
    suppressed = {string: at.suppressed(string) for string in at.strings()}
    return suppressed[max((one for one in suppressed if suppressed[one] <= limit), key=at.gain)]
