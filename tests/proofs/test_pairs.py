"""Gain tables and best cut pairs of two attributes, against enumeration."""

from itertools import combinations

import numpy as np
import pytest
from loops import with_a_way_in
from string_instances import invented

from pymoo_anon.proofs import pairs, tables
from pymoo_anon.proofs.pairs import PairSearch, best_pair

longest_cut = with_a_way_in(pairs.longest_cut)
longest_path, completions = with_a_way_in(tables.longest_path), with_a_way_in(tables.completions)


def plain_table(strings, string, pair, multiplier):
    """Compute the gain of all pairs of groups tuple by tuple."""
    p, q = pair
    spans, worths = strings.instance.spans, strings.instance.worths
    others = [a for a in strings.names if a not in pair]
    table = np.zeros((len(spans[p]), len(spans[q])))
    for i, j in np.ndindex(table.shape):
        for box, tally in strings.boxes(string, without=pair, within={p: spans[p][i], q: spans[q][j]}).items():
            worth = sum(worths[a][g] for a, g in zip(others, box, strict=True)) + worths[p][i] + worths[q][j]
            table[i, j] += strings.gain_of_box(worth, tally, multiplier)
    return table


def table_of(strings, string, pair, multiplier):
    search = PairSearch(strings.space, strings.k, 0, np.random.default_rng(0))
    return search.gains([np.array(cut) for cut in string], pair, multiplier)


@pytest.mark.parametrize("seed", range(40))
def test_tables_hold_the_gain_of_every_box(seed):
    strings, rng = invented(seed), np.random.default_rng(seed)
    string = strings.random_string(rng)
    for pair in combinations(strings.names, 2):
        for multiplier in (0, 7):
            table = table_of(strings, string, pair, multiplier)
            assert np.array_equal(table, plain_table(strings, string, pair, multiplier))
            assert np.array_equal(table_of(strings, string, pair[::-1], multiplier), table.T)
            assert table[np.ix_(*[string[a] for a in pair])].sum() == strings.gain(string, multiplier)


@pytest.mark.parametrize("seed", range(40))
def test_longest_paths_are_those_of_all_cuts(seed):
    strings, rng = invented(seed, sizes=(6, 5)), np.random.default_rng(seed)
    for a in strings.names:
        spans = strings.instance.spans[a]
        gains = rng.normal(size=len(spans))
        values = {cut: gains[list(cut)].sum() for cut in strings.cuts(a)}
        best = max(values, key=values.__getitem__)
        n = strings.instance.sizes[a]
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
    p, q = strings.instance.spans
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
    p, q = strings.instance.spans
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
