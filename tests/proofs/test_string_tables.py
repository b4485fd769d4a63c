"""Tables of gains, nested bounds, walks, and best cuts of two attributes, against sums and enumeration."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from loops import with_a_way_in
from strategies import a_third_at_once, grown

from pymoo_anon.proofs import tables
from pymoo_anon.proofs.base import Limits
from pymoo_anon.proofs.instance import StringSpace, _best_multiplier
from pymoo_anon.proofs.strings import PairSearch, StringSearch
from pymoo_anon.proofs.tables import DONE, FOUND, SPENT, StringWalk, best_pair, bound_block, nested_bound
from pymoo_anon.table import Taxonomy


def paths(spans: Any, n: int, at: int = 0) -> list[tuple[int, ...]]:
    """Return every path of groups from a value to n, as their indices."""
    if at == n:
        return [()]
    return [(i, *rest) for i, (low, high) in enumerate(spans) if low == at for rest in paths(spans, n, high)]


@dataclass
class Strings:
    """An instance with its sums over strings by definition, tuple by tuple.

    Attributes:
        space: The arrays.
        k: The smallest class that is kept.
    """

    space: StringSpace
    k: int

    @property
    def names(self) -> list[int]:
        return list(range(self.space.none))

    def cuts(self, attribute: int) -> list[tuple[int, ...]]:
        """Return every cut of an attribute, as indices of its groups."""
        return paths(self.space.spans[attribute].tolist(), self.space.sizes[attribute])

    def strings(self) -> list[tuple[tuple[int, ...], ...]]:
        """Return every string, as a cut of every attribute."""
        return list(product(*map(self.cuts, self.names)))

    def group_of(self, attribute: int, cut: Any, value: int) -> int:
        """Return the index of the group that holds a value."""
        spans = self.space.spans[attribute]
        (place,) = (i for i in cut if spans[i, 0] <= value < spans[i, 1])
        return int(place)

    def boxes(self, string: Any) -> dict[tuple[int, ...], int]:
        """Count the rows of each block."""
        found: dict[tuple[int, ...], int] = Counter()
        for t, code in enumerate(self.space.codes.tolist()):
            box = tuple(self.group_of(a, string[a], code[a]) for a in self.names)
            found[box] += int(self.space.counts[t])
        return found

    def gain(self, string: Any, multiplier: float = 0.0) -> float:
        """Sum the gain of all blocks of a string."""
        worths = self.space.worths
        return sum(
            rows * (sum(worths[a][i] for a, i in enumerate(box)) + multiplier)
            for box, rows in self.boxes(string).items()
            if rows >= self.k
        )

    def suppressed(self, string: Any) -> int:
        return sum(rows for rows in self.boxes(string).values() if rows < self.k)

    def random_string(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        return tuple(np.array(cuts[rng.integers(len(cuts))]) for cuts in map(self.cuts, self.names))


def invented(seed: int, sizes: tuple[int, ...] = ()) -> Strings:
    """Draw tuples over small domains, with tree spans or all intervals."""
    rng = np.random.default_rng(seed)
    sizes = sizes or tuple(rng.integers(1, 6, rng.integers(1, 5)).tolist())
    codes = np.unique(np.column_stack([rng.integers(0, n, 30) for n in sizes]), axis=0)
    counts = rng.integers(1, 5, len(codes))
    spans, worths = [], []
    for n in sizes:
        own = [(i, j) for i in range(n) for j in range(i + 1, n + 1)]
        if n > 1 and rng.random() < 0.4:
            tree = Taxonomy(grown(lambda low, high: int(rng.integers(low, high + 1)), n))
            own = sorted(set(map(tuple, tree.spans[:, :2].tolist())))
        spans.append(np.array(own, dtype=np.int64))
        worths.append(float(rng.integers(1, 4)) * (n - np.diff(spans[-1], axis=1)[:, 0]))
    # A kept row gains something even if no attribute has two values.
    worths[0] += 1.0
    most = int(counts.sum()) * sum(own.max() for own in worths)
    space = StringSpace(codes.astype(np.int64), counts, spans, worths, float(most))
    return Strings(space, int(rng.integers(1, 12)))


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
    assert np.array_equal(space.rows(ids, len(base), tabled, strings.k), kept)


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


longest_cut = with_a_way_in(tables.longest_cut)
longest_path, completions = with_a_way_in(tables.longest_path), with_a_way_in(tables.completions)


@pytest.mark.parametrize("seed", range(40))
def test_longest_paths_are_those_of_all_cuts(seed):
    strings, rng = invented(seed, sizes=(6, 5)), np.random.default_rng(seed)
    for a in strings.names:
        spans = strings.space.spans[a]
        # Small whole numbers have ties, of which the first groups win, from the last place on.
        gains = rng.normal(size=len(spans)) if seed % 2 else rng.integers(-2, 3, len(spans)).astype(float)
        values = {cut: gains[list(cut)].sum() for cut in strings.cuts(a)}
        best = min(values, key=lambda cut: (-values[cut], cut[::-1]))
        n = strings.space.sizes[a]
        assert longest_path(gains, spans, n) == pytest.approx(values[best])
        assert tuple(longest_cut(gains, spans)) == best
        rest = np.empty(n + 1)
        completions(gains, spans, n, rest)
        for at in range(n + 1):
            tails = {tuple(i for i in cut if spans[i, 0] >= at) for cut in values if at in {0, *spans[list(cut), 1]}}
            assert rest[at] == pytest.approx(max(gains[list(tail)].sum() for tail in tails))


@pytest.mark.parametrize("seed", range(60))
def test_the_best_pair_is_the_best_of_all(seed):
    """Include tables that no table of tuples gives: gains of either sign."""
    strings, rng = invented(seed, sizes=(int(2 + seed % 6), 6)), np.random.default_rng(seed)
    p, q, _ = strings.space.spans
    table = rng.integers(-9, 10, (len(p), len(q))).astype(float)
    values = {(one, other): table[np.ix_(one, other)].sum() for one in strings.cuts(0) for other in strings.cuts(1)}
    best = max(values.values())
    for floor in (-np.inf, best - 1, *sorted(values.values())[-2:-1]):
        if floor >= best:
            continue
        one, other, proven = best_pair(table, p, q, floor, 10**6)
        assert proven
        assert values[tuple(one), tuple(other)] == best
    one, other, proven = best_pair(table, p, q, best, 10**6)
    assert (len(one), len(other), proven) == (0, 0, True)


def test_the_bounds_leave_prefixes_and_the_limit_ends_the_search():
    """Use tables that need the search, which proves nothing without nodes."""
    rng, strings = np.random.default_rng(3), invented(0, sizes=(7, 7))
    p, q, _ = strings.space.spans
    looked = []
    for _ in range(30):
        table = rng.integers(-9, 10, (len(p), len(q))).astype(float)
        best = max(table[np.ix_(a, b)].sum() for a in strings.cuts(0) for b in strings.cuts(1))
        least = next(n for n in range(10**6) if best_pair(table, p, q, -np.inf, n)[2])
        one, other, _ = best_pair(table, p, q, -np.inf, least)
        assert table[np.ix_(one, other)].sum() == best
        looked.append(least)
        one, other, proven = best_pair(table, p, q, -np.inf, 0)
        assert not proven
        assert table[np.ix_(one, other)].sum() <= best
    assert np.mean(looked) < 0.5 * sum(len(cuts) for cuts in strings.cuts(0))


def search_of(strings, limit=0, seed=0):
    return PairSearch(strings.space, strings.k, limit, np.random.default_rng(seed))


def with_pair(strings, string, pair):
    """Return every string that differs in at most the two attributes."""
    choices = [strings.cuts(a) if a in pair else [string[a]] for a in strings.names]
    return product(*choices)


@pytest.mark.parametrize("seed", range(40))
def test_no_pair_makes_a_local_optimum_better(seed):
    strings, rng = invented(seed), np.random.default_rng(seed)
    start = strings.random_string(rng)
    for multiplier in (0.0, 5.0):
        found = search_of(strings, seed=seed).improve(start, multiplier)
        value = strings.gain(found, multiplier)
        assert value >= strings.gain(start, multiplier)
        assert search_of(strings).gain_of(found) == (
            strings.gain(found),
            strings.suppressed(found),
        )
        every = list(combinations(strings.names, 2)) or [(0,)]
        # Of a few pairs, which differ from seed to seed.
        for pair in every[seed % 3 :: 3]:
            assert max(strings.gain(one, multiplier) for one in with_pair(strings, found, pair)) == value
        again = search_of(strings, seed=seed).improve(start, multiplier)
        assert all(map(np.array_equal, found, again))


@pytest.mark.parametrize("seed", range(24))
def test_few_enough_rows_are_suppressed(seed):
    strings = invented(seed, sizes=(4, 1, 3, 4))
    start = strings.random_string(np.random.default_rng(seed))
    suppressed = {string: strings.suppressed(string) for string in strings.strings()}
    gains = {string: strings.gain(string) for string in suppressed}
    for limit in (0, 3, strings.space.n_rows // 5):
        (best, *others), _ = search_of(strings, limit, seed=1).within(start)
        key = tuple(map(tuple, best))
        keys = [tuple(map(tuple, one)) for one in others]
        few = [string for string, gone in suppressed.items() if gone <= limit]
        assert suppressed[key] <= limit or not few
        assert gains[key] >= max((gains[one] for one in keys if suppressed[one] <= limit), default=0)


def test_a_string_that_suppresses_everything_gains_nothing():
    strings = invented(0)
    string = strings.random_string(np.random.default_rng(0))
    n_rows = strings.space.n_rows
    search = PairSearch(strings.space, n_rows + 1, n_rows - 1, np.random.default_rng(0))
    assert search.gain_of(string) == (0.0, n_rows)
    (best, *_), _ = search.within(string)
    assert search.gain_of(best) == (0.0, n_rows)


def test_a_pair_that_takes_too_long_gets_the_best_so_far():
    strings, rng = invented(4, sizes=(5, 5, 4)), np.random.default_rng(0)
    start = strings.random_string(rng)
    search = PairSearch(strings.space, strings.k, 0, rng)
    search.most_prefixes = 0
    found = search.improve(start)
    assert strings.gain(found) >= strings.gain(start)


def test_pairs_under_a_limit_keep_to_it_and_gain():
    """Start at the least gain, and end near the constrained best."""
    sizes, shares = (3, 4, 3), []
    for seed in range(12):
        strings = invented(4 * seed, sizes=sizes)
        whole = [
            np.flatnonzero(np.ptp(spans, axis=1) == size)
            for spans, size in zip(strings.space.spans[:-1], sizes, strict=True)
        ]
        all_strings = [(strings.suppressed(one), strings.gain(one)) for one in strings.strings()]
        for limit in (0, 2, 10):
            found = search_of(strings, limit, seed).improve_each(whole)
            assert strings.suppressed(found) <= limit
            best = max(gain for suppressed, gain in all_strings if suppressed <= limit)
            shares.append(strings.gain(found) / best)
            assert strings.gain(whole) / best <= shares[-1] <= 1
    assert np.mean(shares) > 0.97


@pytest.mark.parametrize("least", [1, 40, 41, 70])
def test_the_multiplier_is_the_lowest_that_was_enough(least):
    strings, tried = invented(0), []
    search = search_of(strings, limit=1)
    search.improve = lambda cuts, multiplier=0.0: tried.append(multiplier) or list(cuts)
    search.improve_each = list
    search.gain_of = lambda cuts: (-tried[-1], 0 if tried[-1] >= least else 2)
    _, multiplier = search.within(strings.random_string(np.random.default_rng(0)))
    assert multiplier == min(one for one in tried if one >= least)
    # The largest multiplier that failed is near. Each step halves the interval.
    assert multiplier - max(one for one in tried if one < least) <= max(tried) / 2**4


def test_where_no_multiplier_is_enough_the_general_string_is_the_start():
    strings = invented(0)
    search = search_of(strings, limit=0)
    search.improve, search.improve_each = lambda cuts, multiplier=0.0: list(cuts), list
    whole = [np.flatnonzero(np.ptp(own, axis=1) == own.max()) for own in strings.space.spans[:-1]]

    finest = [np.array(max(strings.cuts(a), key=len)) for a in strings.names]
    assert strings.suppressed(finest) > 0
    (best, *_), _ = search.within(finest)
    assert all(map(np.array_equal, best, whole))


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
